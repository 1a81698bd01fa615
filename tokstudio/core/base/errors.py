"""The exceptions of the core; each message says what happened, to what, and what to do."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from tokstudio.core.base.wording import printable


class TokStudioError(Exception):
    """An error that the user can act on; its text is one sentence.

    Args:
        message: The sentence; unprintable characters in it are escaped.
        of_a_part: The sentence for a check of only a part of the corpus, without places and numbers that hold for that
            part alone; None if the sentence is the same.
    """

    def __init__(self, message: str, of_a_part: str | None = None) -> None:
        super().__init__(printable(message))
        self.of_a_part = printable(message if of_a_part is None else of_a_part)


class ConfigError(TokStudioError, ValueError):
    """A setting or an argument is invalid."""


class CorpusError(TokStudioError):
    """A source cannot be read, or a corpus cannot be trained on."""


#: The end of the sentences of `BinaryError`, `TruncatedError` and `NoColumnOfTextError` that say what to do, for which
#: the window has buttons.
READ_ANYWAY = '; use the encoding "bytes" to read it anyway'
KEEP_WHOLE = ", and can be read without the rest"
READ_AS_TEXT = ", else read the file as plain text, with its braces and names"


class EmptyError(CorpusError):
    """A file, or other input, has no text."""


class BinaryError(CorpusError):
    """A file is not text in any encoding; the encoding "bytes" reads it all the same."""


class MissingCharacterError(CorpusError):
    """A `character` of the corpus is not a base token, and there is no unknown token."""

    def __init__(self, message: str, character: str, of_a_part: str | None = None) -> None:
        super().__init__(message, of_a_part)
        self.character = character


class FormatError(TokStudioError):
    """A tokenizer file is damaged, has another format than its name says, or cannot hold the tokenizer."""
