"""Finds the lines of a corpus with a token, a few hundred at a time, in any thread. See also `core` concordance."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import takewhile, zip_longest

import numpy as np

from tokstudio.core.analysis.concordance import Concordance, Hit
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import known_line, row_of
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.token_text.bidi import direction
from tokstudio.gui.token_text.pieces import beginning, ending, hexadecimal
from tokstudio.gui.token_text.spelling import CUT, mark_of
from tokstudio.gui.token_text.token_label import token_label

_PIECE = 1 << 18
_LONGEST_TOKEN = 400  # characters
_WIDTH = 60  # characters on each side
_ENDS = ("Cc", "Zl", "Zp")  # characters that end a line
_PART = "\ufffd"  # part of a character


@dataclass(frozen=True, slots=True)
class Line:
    """One occurrence of a token, in its line."""

    left: str  # the text before it in its line
    token: str  # the token with marks for white space, or its bytes if it is not text
    right: str  # the text after it in its line
    source: str  # the name of the file or text
    number: int  # the number of the line or row in its file, from 1; the word number for word counts
    count: int  # the count of the word, for word counts; else 1
    unit: str  # what the number counts: "line", "row" of a data set, or "word" of word counts
    right_to_left: bool  # whether the line is read from right to left at the token


class LineSearch:
    """Finds the lines of one token, on request."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer, token: int, held_out: float = 0.0) -> None:
        self.done = False  # whether all lines have been found
        self._made = corpus, tokenizer, token, held_out
        self._concordance: Concordance | None = None
        self._source, self._at, self._number = -1, 0, 1

    @property
    def limit(self) -> int | None:
        """The searched bytes of the corpus, if the search stops before its end; else None."""
        return self._concordance.limit if self._concordance is not None else None

    def more_work(self, most: int) -> Work[list[Line]]:
        """Finds about a number of further lines.

        Raises:
            ConfigError: The token is not in the vocabulary.
            FormatError: The library that encodes for the tokenizer refuses the text.
        """
        if self._concordance is None:
            corpus, tokenizer, token, held_out = self._made
            self._concordance = Concordance(corpus, tokenizer, token, held_out, _WIDTH + 1)
        hits = yield from self._concordance.find_work(most)
        lines: list[Line] = []
        for hit in hits:
            yield from self._count_lines_work(hit)
            lines.append(self._line(hit))
        self.done = self._concordance.done
        return lines

    def _count_lines_work(self, hit: Hit) -> Work[None]:
        """Counts lines up to a hit; hits come in the order of the corpus."""
        source = self._made[0].sources[hit.source]
        if hit.source != self._source:
            self._source = hit.source
            self._at, self._number = known_line(source, 0)
        if source.counts is not None:
            self._number = hit.document + 1
            return
        if source.is_rows:
            return
        at, number = known_line(source, hit.position)
        if at > self._at:
            self._at, self._number = at, number
        while self._at < hit.position:
            end = min(self._at + _PIECE, hit.position)
            self._number += int(np.count_nonzero(source.data[self._at : end] == ord("\n")))
            if end - self._at == _PIECE:
                yield Progress("searching")
            self._at = end

    def _line(self, hit: Hit) -> Line:
        corpus, tokenizer, token, _ = self._made
        source = corpus.sources[hit.source]
        left = hit.left if len(hit.left) <= _WIDTH else CUT + ending(hit.left, _WIDTH)
        right = hit.right if len(hit.right) <= _WIDTH else beginning(hit.right, _WIDTH) + CUT
        if _PART in hit.text and token != tokenizer.alphabet.unknown:
            # A part of a character: its own bytes, and the bytes beside it.
            raw = tokenizer.tokens.prefix(token, _LONGEST_TOKEN)
            end = hit.position + tokenizer.tokens.length(token)
            left = _left_with_bytes(source.data[max(0, hit.position - 3) : hit.position].tobytes(), left)
            right = _right_with_bytes(source.data[end : end + 3].tobytes(), right)
        else:
            # If a library makes several tokens of a character, only one of them has the text.
            raw = hit.text.encode("utf-8", "replace") or tokenizer.tokens.prefix(token, _LONGEST_TOKEN)
        text = token_label(raw, _LONGEST_TOKEN)
        way = _is_right_to_left(hit.left, raw, hit.right)
        name, number, unit = source.name, self._number, "line" if source.counts is None else "word"
        if source.is_rows:
            # A token without text may be where its row ends and the next one begins.
            (name, number), unit = row_of(source, hit.position - (not hit.text and bool(hit.left))), "row"
        return Line(_plain(left), text, _plain(right), name, number, hit.count, unit, way)


def _right_with_bytes(behind: bytes, right: str) -> str:
    """Replaces the U+FFFD of a character that the token cuts at its end by the remaining bytes."""
    rest = bytes(takewhile(_continues, behind))
    return f" {hexadecimal(rest)} {right[1:]}" if rest and right.startswith(_PART) else right


def _left_with_bytes(before: bytes, left: str) -> str:
    """Replaces the U+FFFD of a character that the token cuts at its start by the preceding bytes."""
    inner = len(bytes(takewhile(_continues, reversed(before))))
    rest = before[max(0, len(before) - inner - 1) :]
    if left.endswith(_PART) and rest and rest[0] >= 0xC0:
        return f"{left.rstrip(_PART)} {hexadecimal(rest)} "
    return left


def _continues(byte: int) -> bool:
    """Whether a byte of UTF-8 is not the first of its character."""
    return byte & 0xC0 == 0x80


def _is_right_to_left(left: str, token: bytes, right: str) -> bool:
    """The direction of a line at a token: that of the token, or of the nearest text with letters."""
    if way := direction(token):
        return way > 0
    for before, behind in zip_longest(reversed(left), right, fillvalue=""):
        if way := direction(before.encode()) or direction(behind.encode()):
            return way > 0
    return False


def _plain(text: str) -> str:
    """A text on one line, with a sign for each control character and line end."""
    return "".join(mark_of(c) or _PART if unicodedata.category(c) in _ENDS else c for c in text)
