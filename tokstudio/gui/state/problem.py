"""What went wrong, in a sentence for the person to read, and with which file."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tokstudio.core.base.errors import BinaryError, TokStudioError


@dataclass(frozen=True)
class Problem:
    """Something that went wrong, for the person to read: one sentence, and the error and the file behind it if any.

    Attributes:
        of_training: Whether another corpus or other settings may mend it.
        remark: Whether nothing is wrong, and the person is only told.
    """

    text: str
    error: Exception | None = None
    path: Path | None = None
    of_training: bool = False
    remark: bool = False

    @property
    def binary(self) -> Path | None:
        """The file that could be read as bytes, if that is what is wrong."""
        return self.path if isinstance(self.error, BinaryError) else None


def problem_of(error: Exception, path: Path | None = None) -> Problem:
    """Puts an error into words; one that is not ours is named as what it is."""
    if isinstance(error, TokStudioError):
        return Problem(str(error), error, path)
    if isinstance(error, MemoryError):
        return Problem("There is not enough memory for this. Nothing was lost.", error, path)
    return Problem(f"Something went wrong inside TokStudio: {type(error).__name__}: {error}", error, path)
