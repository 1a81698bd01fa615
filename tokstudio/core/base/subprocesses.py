"""Commands that run a module of TokStudio in a child process, from the sources or from a bundle."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import sys
from pathlib import Path

# The hidden first argument by which `__main__` runs one of the modules.
PROCESS = "--process"
MODULES = ("tokstudio.core.libraries.server", "tokstudio.core.hub.server", "tokstudio.core.warm_up")
# The child process imports the package from the same folder as this process. That folder does not stay on the path,
# where it would come before the standard library.
_START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from tokstudio.__main__ import main; del sys.path[0]; "
    "sys.exit(main())"
)


def is_bundle() -> bool:
    """Whether this program is a bundle made by PyInstaller."""
    return bool(getattr(sys, "frozen", False))


def module_command(module: str, *arguments: str) -> list[str]:
    """The command that runs the `main` of one of `MODULES`, without the current folder; start it in `import_folder`."""
    assert module in MODULES
    python = () if is_bundle() else ("-I" if sys.flags.isolated else "-P", "-c", _START, str(import_folder()))
    return [sys.executable, *python, PROCESS, module, *arguments]


def import_folder() -> Path:
    """The folder that contains the package `tokstudio`."""
    return Path(__file__).resolve().parents[3]


def end_with_parent() -> None:
    """Ends this process when the parent has ended, which closes standard input; for a thread of its own.

    What the parent still sends is lost.
    """
    # Not through sys.stdin, whose lock this thread would still hold when the program ends.
    while os.read(0, 1):
        pass
    os._exit(1)
