"""How a module of TokStudio is run in a process of its own, from its sources or from a bundle, which has no Python."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys

# The hidden first argument that makes the program such a process; what `__main__` runs for it.
PROCESS = "--process"
MODULES = ("tokstudio.core.formats.owner_process", "tokstudio.core.kernels.prepare")


def is_bundle() -> bool:
    """Whether this is a program that PyInstaller has made."""
    return bool(getattr(sys, "frozen", False))


def own_command(module: str, *arguments: str) -> list[str]:
    """The command that runs the `main` of one of `MODULES`."""
    assert module in MODULES
    return [sys.executable, *((PROCESS,) if is_bundle() else ("-m",)), module, *arguments]
