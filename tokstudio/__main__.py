"""Runs the command line, as `python -m tokstudio` and as a script; this is also the main module of a bundle."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import sys
from importlib import import_module

_INTERRUPTED = 130  # the exit code


def main() -> int:
    """Runs a command, or a module in a child process that TokStudio has started; returns the exit code."""
    _leave_current_folder()
    try:
        return _run()
    except KeyboardInterrupt:  # while modules are loaded, before a command handles signals
        return _INTERRUPTED


def _run() -> int:
    from tokstudio.core.base.subprocesses import MODULES, PROCESS, is_bundle

    if is_bundle():
        _restore_library_path()
    if sys.argv[1:2] == [PROCESS] and sys.argv[2:3] and sys.argv[2] in MODULES:
        module = import_module(sys.argv[2])
        del sys.argv[1:3]
        return module.main()
    from tokstudio.cli import main

    return main()


def _leave_current_folder() -> None:
    """Imports nothing from the current folder, where `python -m` looks first, unless TokStudio itself lies there."""
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        here = os.getcwd()
    except OSError:  # the folder is gone
        return
    if sys.path[:1] in ([""], [here]) and here != own:
        del sys.path[0]


def _restore_library_path() -> None:
    """Lets programs that this one starts, such as a file manager, load the system's libraries, not the bundle's."""
    before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
    if before is not None:
        os.environ["LD_LIBRARY_PATH"] = before
    else:
        os.environ.pop("LD_LIBRARY_PATH", None)


if __name__ == "__main__":
    sys.exit(main())
