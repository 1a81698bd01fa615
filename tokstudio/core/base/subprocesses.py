"""How a module of TokStudio is run in a process of its own, from its sources or from a bundle, which has no Python."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from pathlib import Path

# The hidden first argument that makes the program such a process; what `__main__` runs for it.
PROCESS = "--process"
MODULES = ("tokstudio.core.libraries.server", "tokstudio.core.warm_up")
# The package is taken from where this one is. Its folder does not stay on the path, where it would stand before the
# standard library.
_START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from tokstudio.__main__ import main; del sys.path[0]; "
    "sys.exit(main())"
)


def is_bundle() -> bool:
    """Whether this is a program that PyInstaller has made."""
    return bool(getattr(sys, "frozen", False))


def own_command(module: str, *arguments: str) -> list[str]:
    """The command that runs the `main` of one of `MODULES`; start it in `own_folder`.

    Modules that lie in the folder in which a person starts the program are not run: Python is not to look there.
    """
    assert module in MODULES
    python = () if is_bundle() else ("-I" if sys.flags.isolated else "-P", "-c", _START, str(own_folder()))
    return [sys.executable, *python, PROCESS, module, *arguments]


def own_folder() -> Path:
    """The folder of the package `tokstudio`; a relative name in a variable such as PYTHONPATH then leads there."""
    return Path(__file__).resolve().parents[3]
