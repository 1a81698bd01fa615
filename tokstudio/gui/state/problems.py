"""What can be wrong: problems as sentences for the user, and sources whose text is missing or has changed."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import numpy as np

from tokstudio.core.base.errors import KEEP_WHOLE, READ_ANYWAY, READ_AS_TEXT, BinaryError, TokStudioError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import printable
from tokstudio.core.corpus.readers.compression import TruncatedError
from tokstudio.core.corpus.readers.datasets import NoColumnOfTextError
from tokstudio.core.corpus.source import Source
from tokstudio.core.project import ProjectSource

# --- An error as a sentence for the user, with the file it concerns ---------------------------------------------------


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


# --- Sources whose text is missing or has changed, and placeholders for them ------------------------------------------


def missing_source(kept: ProjectSource) -> Source:
    """A placeholder for a source whose text is not available, with what is known of it."""
    nothing = np.empty(0, np.uint8)
    return Source(printable(kept.name), kept.path, kept.encoding, kept.note, nothing, np.zeros(1, np.int64))


def is_missing(source: Source) -> bool:
    """Whether a source is a placeholder."""
    return source.path is not None and source.modified is None and not len(source.data)


def is_data_set(source: Source) -> bool:
    """Whether a source is of a data set, of which another column can be read."""
    reading = source.reading
    has_columns = reading is not None and (reading.field is not None or reading.as_text)
    return source.path is not None and has_columns and not is_missing(source)


def read_together(one: Source, other: Source) -> bool:
    """Whether two sources are of the same data set, read in the same way."""
    return (one.path, one.member, one.reading) == (other.path, other.member, other.reading)


def changed_since(kept: ProjectSource) -> str:
    """Says that the file of a source has changed."""
    return f"{kept.name} has changed on disk since the project was saved."


CHANGED, GONE = "changed", "gone"
