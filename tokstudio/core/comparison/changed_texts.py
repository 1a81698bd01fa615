"""Texts with changes that a reader hardly notices, such as another case: how many tokens do they become?

Every change is a fixed rule, so that the same text is changed alike each time.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from tokstudio.core.analysis.baselines import AnyTokenizer, SimpleTokenizer, WordTokenizer
from tokstudio.core.analysis.document_encoder import DocumentEncoder, document_groups
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.comparison.texts import ComparedText
from tokstudio.core.pretokenization.custom_regex import compiled

if TYPE_CHECKING:
    from regex import Match

PIECE = 1 << 16  # characters to change at once
ERROR_EVERY = 10  # words of four letters or more
_ERROR_LETTERS = 4

# Where a text can be cut so that each change is that of the whole: no rule looks over a line end or from letter to
# letter over one space.
_CUT = r"(?<=\n)|(?<=\p{L})(?= \p{L})"
_LETTERS = r"\p{L}[\p{L}\p{M}]*"
_WORD = r"\p{L}[\p{L}\p{M}'’]*"
_SPACES_AT_MARKS = r" +(?=\p{P})|(?<=\p{P}) +"
_SHARED_MARK = r"(?V1)[\p{Mn}&&\p{Script=Inherited}]"
_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")

Change = Callable[[str], str]


@dataclass(frozen=True)
class ChangedTokens:
    """What a tokenizer makes of a changed text."""

    tokens: int
    unknown: int  # of them the unknown one: text that is lost
    is_changed: bool  # whether the text has anything that the rule changes
    failed: bool = False  # whether the tokenizer cannot encode the changed text

    @classmethod
    def joined(cls, parts: Sequence[ChangedTokens]) -> ChangedTokens:
        """Those of several texts, by the same tokenizer."""
        return cls(
            sum(part.tokens for part in parts),
            sum(part.unknown for part in parts),
            any(part.is_changed for part in parts),
            any(part.failed for part in parts),
        )


class _WithoutMarks(dict[int, str]):
    """For `str.translate`: each character without the marks that scripts share, all others as they are."""

    def __missing__(self, point: int) -> str:
        parts = unicodedata.normalize("NFD", chr(point))
        kept = "".join(part for part in parts if not _is_mark(part))
        self[point] = chr(point) if kept == parts else unicodedata.normalize("NFC", kept)
        return self[point]


def _is_mark(character: str) -> bool:
    # The voicing marks of Kana are shared as well, but make another syllable.
    return character not in "\u3099\u309a" and bool(compiled(_SHARED_MARK).match(character))


class TypingErrors:
    """Puts an error into about every tenth word of four or more letters in a document.

    Which words, and which error at which place, follows from the CRC-32 of the word and its number in the document. Two
    letters are swapped, one is left out, one is doubled, or one is replaced by the key to the right of it (to the left
    at the end of a row) on a QWERTY keyboard; other letters than a to z are doubled instead. The first letter stays.
    """

    def __init__(self) -> None:
        self._words = 0

    def __call__(self, text: str) -> str:
        """The next piece of a document, with errors."""
        return compiled(_LETTERS).sub(self._changed, text)

    def _changed(self, match: Match[str]) -> str:
        word = match.group()
        if len(word) < _ERROR_LETTERS:
            return word
        self._words += 1
        number, is_kept = divmod(crc32(f"{self._words} {word}".encode()), ERROR_EVERY)
        return word if is_kept else with_error(word, number % 4, 1 + number // 4 % (len(word) - 2))


def with_error(word: str, kind: int, at: int) -> str:
    """A word with the letter at a place swapped with the next one, left out, doubled or mistyped: kinds 0 to 3."""
    before, letter, after = word[:at], word[at], word[at + 1 :]
    if kind == 0:
        return before + after[0] + letter + after[1:]
    if kind == 1:
        return before + after
    return before + (letter * 2 if kind == 2 else _neighbour(letter) or letter * 2) + after


def _neighbour(letter: str) -> str:
    """The key beside a letter, in its case; "" for other letters than a to z."""
    small = letter.lower()
    row = next((row for row in _KEYS if small in row), "")
    at = row.find(small)
    key = (row[at + 1 : at + 2] or row[at - 1]) if row else ""
    return key.upper() if letter != small else key


_BOLD = (
    {ord("A") + number: chr(0x1D400 + number) for number in range(26)}
    | {ord("a") + number: chr(0x1D41A + number) for number in range(26)}
    | {ord("0") + number: chr(0x1D7CE + number) for number in range(10)}
)


def _capitalised(text: str) -> str:
    return compiled(_WORD).sub(lambda match: match.group().capitalize(), text)


#: What makes each change, by the name of its figure: of a document from its beginning, piece by piece.
CHANGES: dict[str, Callable[[], Change]] = {
    "upper_case": lambda: str.upper,
    "lower_case": lambda: str.lower,
    "title_case": lambda: _capitalised,
    "no_diacritics": lambda: partial(_translated, _without_marks()),
    "doubled_spaces": lambda: lambda text: text.replace(" ", "  "),
    "no_spaces_at_marks": lambda: partial(compiled(_SPACES_AT_MARKS).sub, ""),
    "styled_letters": lambda: partial(_translated, _BOLD),
    "typing_errors": TypingErrors,
}


@cache
def _without_marks() -> dict[int, str]:
    return _WithoutMarks()


def _translated(table: dict[int, str], text: str) -> str:
    return text.translate(table)


def unknown_of(tokenizer: AnyTokenizer) -> int | None:
    """The id of the unknown token; None where there is none."""
    if isinstance(tokenizer, SimpleTokenizer):
        return 0 if isinstance(tokenizer, WordTokenizer) else None
    return tokenizer.alphabet.unknown


def changed_tokens_work(tokenizer: AnyTokenizer, text: ComparedText, name: str) -> Work[ChangedTokens]:
    """Counts the tokens of a text with a change of `CHANGES`, document by document."""
    source, encoder = text.source, DocumentEncoder(tokenizer, recognise=False)
    unknown, tokens, unknowns = unknown_of(tokenizer), 0, 0
    is_changed = False
    for first, last, start, stop in document_groups(source):
        raw, documents = source.data[start:stop].tobytes(), list[bytes]()
        begin = 0
        for end in (source.ends[first:last] - start).tolist():
            documents.append(b"".join((yield from _changed_work(CHANGES[name](), raw[begin:end]))))
            is_changed = is_changed or documents[-1] != raw[begin:end]
            begin = end
        try:
            ids, _ = yield from encoder.texts_work(documents)
        except (ConfigError, FormatError):
            return ChangedTokens(0, 0, is_changed, failed=True)
        tokens += len(ids)
        unknowns += 0 if unknown is None else int(np.count_nonzero(ids == unknown))
        yield Progress("encoding", stop, len(source.data))
    return ChangedTokens(tokens, unknowns, is_changed)


def _changed_work(change: Change, document: bytes) -> Work[list[bytes]]:
    """A document after a change; bytes that are not UTF-8 stay."""
    parts: list[bytes] = []
    text = document.decode("utf-8", "surrogateescape")
    for piece in _pieces(text):
        parts.append(change(piece).encode("utf-8", "surrogateescape"))
        if len(piece) < len(text):
            yield Progress("changing the text")
    return parts


def _pieces(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        cut = compiled(_CUT).search(text, at + PIECE) if at + PIECE < len(text) else None
        stop = cut.start() if cut else len(text)
        yield text[at:stop]
        at = stop
