"""Runs the command line as `python -m tokstudio`; of a bundle this is the program."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import sys
from importlib import import_module

from tokstudio.core.base.subprocesses import MODULES, PROCESS, is_bundle


def main() -> int:
    """Runs a command, or a module that another process of ours asks for."""
    if is_bundle():
        _give_back_libraries()
    if sys.argv[1:2] == [PROCESS] and sys.argv[2:3] and sys.argv[2] in MODULES:
        module = import_module(sys.argv[2])
        del sys.argv[1:3]
        return module.main()
    from tokstudio.cli import main

    return main()


def _give_back_libraries() -> None:
    """What the program starts, such as a file manager, is to load the system's libraries, not the bundle's."""
    before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
    if before is not None:
        os.environ["LD_LIBRARY_PATH"] = before
    else:
        os.environ.pop("LD_LIBRARY_PATH", None)


if __name__ == "__main__":
    sys.exit(main())
