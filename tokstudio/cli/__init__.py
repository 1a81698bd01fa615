"""The command line: runs a command of the core, or opens the window.

Imports the core, and `gui.app` to open the window. Every error becomes a sentence and an exit code here.
"""

# SPDX-License-Identifier: MIT
# Slow imports are inside functions, so that --help and --version answer at once.
from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence

from tokstudio.cli.arguments.parse import parse
from tokstudio.cli.process.terminal import DONE, FAILED, Console, Signals, complain, reason
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.model.settings import LIBRARY_ALGORITHMS


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
    from tokstudio.cli.exporting import check_results

    with Console(not arguments.quiet and not getattr(arguments, "json", False)) as console, signals.caught():
        check_results(arguments, console)
        if arguments.command == "train" and arguments.algorithm in LIBRARY_ALGORITHMS:
            from tokstudio.cli.library_training import train_by_library

            return train_by_library(arguments, console, signals)
        if arguments.command in ("train", "extend"):
            from tokstudio.cli.training import extend, train

            return (train if arguments.command == "train" else extend)(arguments, console, signals)
        if arguments.command == "how-much-text":
            from tokstudio.cli.mixing import how_much_text

            how_much_text(arguments, console)
            return DONE
        if arguments.command == "run":
            from tokstudio.cli.running import run

            return run(arguments, console, signals)
        if arguments.command == "mixture":
            from tokstudio.cli.mixing import mixture

            return mixture(arguments, console, signals)
        if arguments.command in ("prune", "join", "renumber", "specials"):
            from tokstudio.cli.surgery import change

            return change(arguments, console)
        if arguments.command == "convert":
            from tokstudio.cli.exporting import convert

            return convert(arguments, console)
        if arguments.command == "export-bytes":
            from tokstudio.cli.exporting import export_bytes

            return export_bytes(arguments, console)
        if arguments.command in ("compare", "report"):
            from tokstudio.cli.comparing import compare, report

            return (compare if arguments.command == "compare" else report)(arguments, console)
        if arguments.command in ("diff", "engines"):
            from tokstudio.cli.comparing import diff, engines

            return (diff if arguments.command == "diff" else engines)(arguments, console)
        if arguments.command == "check":
            from tokstudio.cli.checking import check

            return check(arguments, console)
        if arguments.command == "lint":
            from tokstudio.cli.linting import lint

            return lint(arguments, console)
        if arguments.command == "explore":
            from tokstudio.cli.exploring import explore

            explore(arguments, console)
        elif arguments.command == "count":
            from tokstudio.cli.counting import count

            count(arguments, console)
        elif arguments.command == "inspect":
            from tokstudio.cli.inspecting import inspect

            inspect(arguments, console)
        else:
            from tokstudio.cli.coding import decode, encode

            work = encode if arguments.command == "encode" else decode
            work(arguments, console)
        return DONE


def _open_window(arguments: argparse.Namespace) -> int:
    from tokstudio.cli.process.terminal import import_problem, keep_failure, remove_failure

    remove_failure()
    if arguments.log_file is not None:
        from tokstudio.cli.exporting import check_results

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
