"""What cannot be kept on this computer, told in one sentence: nothing that depends on it then fails silently."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tokstudio.core.base.private_folders import check_space

SETTINGS = "the settings"
COPIES = "copies for recovery after a crash"
ENGINE = "the compiled engine"

_BLOCK = 4096  # bytes: what a full disk has no room for


class Limits:
    """Gathers what cannot be kept, as it is found out."""

    def __init__(self) -> None:
        self._faults: dict[str, str] = {}

    def add(self, faults: Mapping[str, str]) -> str:
        """One sentence on all that cannot be kept; empty where nothing of this is new.

        Args:
            faults: What it is, with the reason.
        """
        if not faults.keys() - self._faults.keys():
            return ""
        self._faults = {**faults, **self._faults}
        listed = ", ".join(f"{what} ({fault})" for what, fault in sorted(self._faults.items(), reverse=True))
        later = " The engine is compiled again at every start." if ENGINE in self._faults else ""
        return f"TokStudio cannot save everything on this computer: {listed}.{later}"


def faults(kept: Mapping[str, Path]) -> dict[str, str]:
    """What cannot be written, with the reason.

    Args:
        kept: What is kept in which folder.
    """
    return {what: fault for what, folder in kept.items() if (fault := _fault(folder))}


def _fault(folder: Path) -> str | None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_space(folder, _BLOCK)
    except OSError as error:
        return f"{folder}: {error.strerror or error}"
    return None
