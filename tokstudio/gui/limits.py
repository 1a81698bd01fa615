"""What cannot be kept on this computer, told once at the start: nothing that depends on it then fails silently."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

_BLOCK = b"\0" * 4096  # what a full disk has no room for


def limits(kept: Mapping[str, Path]) -> str:
    """One sentence on what cannot be written, and why; empty where all can be.

    Args:
        kept: What is kept in which folder.
    """
    faults = {what: fault for what, folder in kept.items() if (fault := _fault(folder))}
    listed = ", ".join(f"{what} ({fault})" for what, fault in faults.items())
    return f"TokStudio cannot keep everything on this computer: {listed}." if listed else ""


def _fault(folder: Path) -> str | None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(_BLOCK)
            file.flush()
    except OSError as error:
        return f"{folder}: {error.strerror or error}"
    return None
