"""The command line: runs a command of the core, or opens the window.

Imports the core, and `gui.app` to open the window. Every error becomes a sentence and an exit code here.
"""

# SPDX-License-Identifier: MIT
# Slow imports are inside functions, so that --help and --version answer at once.
from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from tokstudio.cli.arguments.parse import parse
from tokstudio.cli.process.terminal import DONE, FAILED, Console, Signals, complain, reason
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.machine import ONE_THREAD
from tokstudio.core.model.settings import LIBRARY_ALGORITHMS

#: The module of each command in this folder, and its function, which may return an exit code.
_COMMANDS = {
    "train": ("training", "train"),
    "extend": ("training", "extend"),
    "run": ("running", "run"),
    "mixture": ("mixing", "mixture"),
    "how-much-text": ("mixing", "how_much_text"),
    "infer-mixture": ("mixing", "infer_mixture"),
    "count": ("counting", "count"),
    "encode": ("coding", "encode"),
    "decode": ("coding", "decode"),
    "convert": ("exporting", "convert"),
    "export-bytes": ("exporting", "export_bytes"),
    "inspect": ("inspecting", "inspect"),
    "compare": ("comparing", "compare"),
    "report": ("comparing", "report"),
    "diff": ("comparing", "diff"),
    "engines": ("comparing", "engines"),
    "explore": ("exploring", "explore"),
    "lint": ("linting", "lint"),
    "check": ("checking", "check"),
    "prune": ("surgery", "change"),
    "join": ("surgery", "change"),
    "renumber": ("surgery", "change"),
    "specials": ("surgery", "change"),
}
_BY_LIBRARY = ("library_training", "train_by_library")  # of `train`, with an algorithm of another library


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command: `argv` has the arguments after the program's name; None for those of this process.

    Returns:
        The exit code: 0 done, 1 a `TokStudioError`, 2 wrong usage, 130 interrupted (143 when asked to terminate, 129
        when the terminal was closed).
    """
    for stream in (sys.stdout, sys.stderr):
        # File names may be invalid text, and the locale's encoding may not support all characters.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)
    signals = Signals()
    try:
        return _run(sys.argv[1:] if argv is None else argv, signals)
    except BrokenPipeError:  # the reader has closed the pipe
        return signals.code if signals.received else DONE
    except KeyboardInterrupt:
        complain("Interrupted.")
        return signals.code
    except MemoryError:
        complain("This computer does not have enough free memory for that.")
    except (TokStudioError, OSError) as error:
        complain(reason(error))
    return signals.code if signals.received else FAILED


def _run(words: Sequence[str], signals: Signals) -> int:
    try:
        arguments = parse(words)
    except SystemExit as end:  # the parser has printed an error or its help
        return int(end.code or DONE)
    # The window shows progress and handles signals itself.
    if arguments.command is None:
        return _open_window(arguments)
    from tokstudio.cli.results import check_results

    chatty = not arguments.quiet and not getattr(arguments, "json", False)
    with Console(chatty, signals) as console, signals.caught():
        check_results(arguments, console)
        by_library = arguments.command == "train" and arguments.algorithm in LIBRARY_ALGORITHMS
        module, function = _BY_LIBRARY if by_library else _COMMANDS[arguments.command]
        command: Callable[[argparse.Namespace, Console], int | None]
        command = getattr(import_module(f"tokstudio.cli.{module}"), function)
        return command(arguments, console) or DONE


def _open_window(arguments: argparse.Namespace) -> int:
    from tokstudio.cli.process.terminal import import_problem, keep_failure, remove_failure

    remove_failure()
    if arguments.log_file is not None:
        from tokstudio.cli.results import check_results

        check_results(arguments, Console(chatty=False))
    try:
        # The window loads more libraries while it opens.
        from tokstudio.cli.window import open_window

        return open_window(arguments)
    except ImportError as error:
        if (error.name or "").startswith("tokstudio"):
            raise  # a bug of TokStudio
        failure: Exception = TokStudioError(import_problem(error))
    except (TokStudioError, OSError) as error:
        failure = error
    # A reset of the settings is typed in a terminal, so the error is read there.
    keep_failure(str(failure), lasting=not arguments.reset_settings)
    raise failure
