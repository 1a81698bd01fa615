"""The exceptions of the core; each message says what happened, to what, and what to do."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

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
    """A setting or an argument is invalid.

    Args:
        field: The name of the setting; "" for none, or several together.

    Attributes:
        faults: The errors of settings, each by the name of its setting; also of others that are wrong beside it.
    """

    def __init__(self, message: str, of_a_part: str | None = None, *, field: str = "") -> None:
        super().__init__(message, of_a_part)
        self.faults = {field: str(self)} if field else {}


class Faults:
    """Collects the errors of settings that are checked together, to raise the first one with all of them."""

    def __init__(self) -> None:
        self._first: ConfigError | None = None
        self.by_name: dict[str, str] = {}  # the first error of each setting, by its name

    @contextmanager
    def of(self, field: str) -> Generator[None]:
        """Collects an error inside the block, of this setting unless it names its own."""
        try:
            yield
        except ConfigError as error:
            self._first = self._first or error
            for name, message in (error.faults or ({field: str(error)} if field else {})).items():
                self.by_name.setdefault(name, message)

    def refuse(self) -> None:
        """Raises the first error, if there is any."""
        if self._first is not None:
            self._first.faults = self.by_name
            raise self._first


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
