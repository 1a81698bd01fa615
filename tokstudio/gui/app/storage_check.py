"""Folders that cannot be written on this computer, told in one sentence, so that nothing fails silently."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tokstudio.core.base.private_folders import check_space

SETTINGS = "the settings"
COPIES = "copies for recovery after a crash"
ENGINE = "the compiled engine"

_BLOCK = 4096  # bytes, more than a full disk can take


class Limits:
    """Collects the folders that cannot be written, as they are found."""

    def __init__(self) -> None:
        self._faults: dict[str, str] = {}

    def add(self, faults: Mapping[str, str]) -> str:
        """One sentence about everything that cannot be stored, with the reasons; "" if nothing of it is new."""
        if not faults.keys() - self._faults.keys():
            return ""
        self._faults = {**faults, **self._faults}
        listed = ", ".join(f"{what} ({fault})" for what, fault in sorted(self._faults.items(), reverse=True))
        later = " The engine is compiled again at every start." if ENGINE in self._faults else ""
        return f"TokStudio cannot save everything on this computer: {listed}.{later}"


def faults(kept: Mapping[str, Path]) -> dict[str, str]:
    """Returns what cannot be stored, with the reason; `kept` has the folder of each thing."""
    return {what: fault for what, folder in kept.items() if (fault := _fault(folder))}


def _fault(folder: Path) -> str | None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # What is recovered and reported is for this user alone, and the first who makes the folder closes it.
        folder.mkdir(mode=0o700, exist_ok=True)
        check_space(folder, _BLOCK)
    except OSError as error:
        return f"{folder}: {error.strerror or error}"
    return None
