"""An error as a sentence for the user, with the file it concerns."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tokstudio.core.base.errors import KEEP_WHOLE, READ_ANYWAY, READ_AS_TEXT, BinaryError, TokStudioError
from tokstudio.core.corpus.readers.compression import TruncatedError
from tokstudio.core.corpus.readers.datasets import NoColumnOfTextError


@dataclass(frozen=True)
class Problem:
    """An error for the user: one sentence, and its exception and file if any."""

    text: str
    error: Exception | None = None
    path: Path | None = None
    of_training: bool = False  # whether another corpus or other settings may solve it
    remark: bool = False  # whether it is information and not an error

    @property
    def binary(self) -> Path | None:
        """The file that could be read as bytes, if that is the error."""
        return self.path if isinstance(self.error, BinaryError) else None

    @property
    def truncated(self) -> Path | None:
        """The file of which the beginning could be read, if that is the error."""
        return self.path if isinstance(self.error, TruncatedError) else None

    @property
    def no_column(self) -> Path | None:
        """The file that could be read as plain text, if that is the error."""
        return self.path if isinstance(self.error, NoColumnOfTextError) else None


def problem_of(error: Exception, path: Path | None = None) -> Problem:
    """Describes an exception; one of another library is shown with its type."""
    if isinstance(error, TokStudioError):
        text = str(error)
        for offer in (READ_ANYWAY, KEEP_WHOLE, READ_AS_TEXT):
            text = text.replace(offer, "")  # a button says so in the window
        return Problem(text, error, path)
    if isinstance(error, MemoryError):
        return Problem("There is not enough memory for this. Nothing was lost.", error, path)
    return Problem(f"Something went wrong inside TokStudio: {type(error).__name__}: {error}", error, path)
