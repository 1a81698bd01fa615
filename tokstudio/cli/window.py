"""Opens the window, or passes the files to an open one."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import builtins
import gc
import importlib.util
import sys
from types import ModuleType

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
    # It takes a tenth of a second, and nothing of what is shown first needs it.
    _load_when_used("numpy")
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
        arguments.files, demo=arguments.demo, screenshot=arguments.screenshot, log_file=arguments.log_file, claim=claim
    )


class _LateModule(ModuleType):
    """A library that is loaded when one of its names is first used; `importlib.util.LazyLoader` loads at an import."""

    def __getattr__(self, name: str) -> object:
        assert self.__spec__ is not None
        assert self.__spec__.loader is not None
        object.__setattr__(self, "__class__", ModuleType)
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)


def _load_when_used(name: str) -> None:
    spec = importlib.util.find_spec(name)
    if name not in sys.modules and spec is not None:
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        module.__class__ = _LateModule
