"""Opens the window, or passes the files to an open one."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import builtins
import gc

from tokstudio.cli.process.terminal import DONE
from tokstudio.core.base.errors import TokStudioError


def open_window(arguments: argparse.Namespace) -> int:
    """Runs the command line without a command, and returns the exit code.

    Raises:
        TokStudioError: There is no display, the settings cannot be reset now, or the log cannot be written.
    """
    # Nothing of what is loaded from here on is garbage; the window collects later (`gui.app.process`).
    gc.disable()
    import PySide6.QtCore  # noqa: F401 - the next line needs it

    # PySide6 would read the source of every module, to see whether it wants other names of Qt's methods: none does.
    builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)
    # These imports suffice to pass files on; the window itself takes longer to load.
    from tokstudio.gui.app.single_instance import Claim, address
    from tokstudio.gui.session.preferences import reset_settings, settings_file

    claim = None
    if arguments.reset_settings or not arguments.demo:
        claim = Claim(address(settings_file().parent))
        if arguments.reset_settings:
            from tokstudio.gui.app.crash_report import is_running, reports_folder

            # A demo does not listen for files, but keeps a crash report.
            if claim.is_taken() or is_running(reports_folder()):
                raise TokStudioError("A window is open and would save its settings. Close it, then try again.")
            reset_settings()
        elif not arguments.new_window and claim.hand_over(arguments.files):
            return DONE
        if arguments.demo:
            claim.release()
            claim = None
    from tokstudio.gui.app.app import run

    return run(
        arguments.files,
        demo=arguments.demo,
        screenshot=arguments.screenshot,
        log_file=arguments.log_file,
        claim=claim,
    )
