"""The few exceptions the core raises; each message says what happened, to what, and what to do."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from tokstudio.core.base.wording import printable


class TokStudioError(Exception):
    """Anything a person can act on; its text is one sentence fit to be shown.

    Args:
        message: That sentence; what a file's name or content brings into it is made fit to be shown.
        of_a_part: What to say instead where only a part of the corpus was looked at, so that a place or a number of
            that part is not taken for the corpus's; the same sentence if not given.
    """

    def __init__(self, message: str, of_a_part: str | None = None) -> None:
        super().__init__(printable(message))
        self.of_a_part = printable(message if of_a_part is None else of_a_part)


class ConfigError(TokStudioError, ValueError):
    """A setting or an argument that cannot work."""


class CorpusError(TokStudioError):
    """A source that cannot be read, or a corpus that cannot be trained on."""


class BinaryError(CorpusError):
    """A file that is no text in any encoding; read as bytes, it is a source all the same."""


class MissingCharacterError(CorpusError):
    """A character of the corpus that is no base token, where none stands for those that are missing.

    Attributes:
        character: It.
    """

    def __init__(self, message: str, character: str, of_a_part: str | None = None) -> None:
        super().__init__(message, of_a_part)
        self.character = character


class FormatError(TokStudioError):
    """A tokenizer file that is damaged, not what its name says, or unable to hold what it is given."""
