"""The command line: runs a command of the core, or opens the window.

May import the core, and `gui.app` to open the window. Every error ends here, as a sentence and an exit code. See also
`arguments`.
"""

# SPDX-License-Identifier: MIT
# Nothing that is slow to import stands up here, so that --help and --version answer at once.
from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence

from tokstudio.cli.arguments import parse
from tokstudio.cli.signals import Signals
from tokstudio.cli.terminal import DONE, FAILED, Console, complain
from tokstudio.core.base.errors import TokStudioError


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: The arguments after the program's name; None for those of this process.

    Returns:
        The exit code: 0 done, 1 a `TokStudioError`, 2 wrong usage, 130 interrupted (143 when asked to terminate, 129
        when the terminal was closed).
    """
    for stream in (sys.stdout, sys.stderr):
        # A folder's name need not be text, and the locale's encoding need not hold all text.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    signals = Signals()
    try:
        return _run(sys.argv[1:] if argv is None else argv, signals)
    except BrokenPipeError:  # the reader has seen enough
        return signals.code if signals.received else DONE
    except KeyboardInterrupt:
        complain("Interrupted.")
        return signals.code
    except MemoryError:
        complain("This computer does not have enough free memory for that.")
    except (TokStudioError, OSError) as error:
        complain(str(error))
    return signals.code if signals.received else FAILED


def _run(words: Sequence[str], signals: Signals) -> int:
    try:
        arguments = parse(words)
    except SystemExit as end:  # the parser has said why, or shown its help
        return int(end.code or DONE)
    # The window says what happens in its own place, and answers to signals in its own way.
    if arguments.command is None:
        return _open_window(arguments)
    with Console(not arguments.quiet and not getattr(arguments, "json", False)) as console, signals.caught():
        if arguments.command == "train":
            from tokstudio.cli.training import train

            return train(arguments, console, signals)
        if arguments.command == "convert":
            from tokstudio.cli.converting import convert

            return convert(arguments, console)
        if arguments.command == "inspect":
            from tokstudio.cli.inspecting import inspect

            inspect(arguments, console)
            return DONE
        from tokstudio.cli.coding import decode, encode

        work = encode if arguments.command == "encode" else decode
        work(arguments, console)
        return DONE


def _open_window(arguments: argparse.Namespace) -> int:
    from tokstudio.cli.failed_start import forget_word, leave_word, missing_words

    forget_word()
    try:
        # The window loads more libraries as it opens.
        from tokstudio.cli.window import open_window

        return open_window(arguments)
    except ImportError as error:
        if (error.name or "").startswith("tokstudio"):
            raise  # a fault of ours, not of this computer
        failure: Exception = TokStudioError(missing_words(error))
    except (TokStudioError, OSError) as error:
        failure = error
    # Who resets the settings has typed that, and reads the answer where it was typed.
    leave_word(str(failure), lasting=not arguments.reset_settings)
    raise failure
