"""Finding a text or a regular expression in the documents of a source, piece by piece.

A finder is an iterator over pieces of a source: how far it is searched, and the hits there in their order. Hits do not
overlap: the leftmost is taken, and the next begins at its end or later. None extends over two documents.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from tokstudio.core.base.arguments import told
from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.corpus.source import Source, groups
from tokstudio.core.pretokenization.custom_regex import (
    CHARACTERS_IN_A_SECOND,
    SECONDS_OF_A_MATCH,
    SECONDS_OF_A_PIECE,
    compile_expression,
)
from tokstudio.core.text.unicode_classes import LETTER, LOWER, NUMBER, UPPER, classes
from tokstudio.core.text.utf8 import Text, to_utf8

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from regex import Pattern

FIRST_PIECE, PIECE = 1 << 16, 1 << 21  # bytes searched at once
HITS = 1 << 15  # written by one call of a loop
_CHARACTER = 4  # bytes at most
_NO_WORDS = read_only(np.zeros(0, np.bool_))
_NO_LEADS = np.zeros((0, 2), np.int64)
NOTHING = np.zeros(0, np.int64)


class HitBatch(NamedTuple):
    """The hits of a piece of a source, in their order."""

    at: int  # up to this byte the source is searched
    begins: NDArray[np.int64] = NOTHING  # [n], the first byte of each hit
    ends: NDArray[np.int64] = NOTHING  # [n], the byte after its last
    documents: NDArray[np.int64] = NOTHING  # [n]


class HitFinder(Protocol):
    """Finds something in one source after another."""

    def found(self, source: Source, ends: NDArray[np.int64]) -> Iterator[HitBatch]:
        """Yields the hits of a source, whose documents end at `ends`, in bounded pieces."""
        ...


@cache
def word_characters() -> NDArray[np.bool_]:
    """Which characters make words: letters, marks, numbers and the underscore of Unicode 16; bool [0x110000]."""
    table = (classes() & (LETTER | NUMBER | UPPER | LOWER)) != 0
    table[ord("_")] = True
    return read_only(table)


@cache
def foldings() -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The full case folding of Unicode (`str.casefold`): int32 [0x110000] and [rows, 3]; see `kernels.find_folded`."""
    folded, longer = np.arange(0x110000, dtype=np.int32), list[list[int]]()
    for first in range(0, 0x20000, 0x80):  # letters with case are in the first two planes
        text = "".join(map(chr, range(first, first + 0x80)))
        if text.casefold() == text:
            continue
        for code in range(first, first + 0x80):
            codes = list(map(ord, chr(code).casefold()))
            if len(codes) > 1:
                longer.append(codes + [0] * (3 - len(codes)))
            folded[code] = codes[0] if len(codes) == 1 else -len(longer)
    return read_only(folded), read_only(np.array(longer, np.int32))


class TextFinder:
    """Finds a text as it is written, or with case folded.

    Args:
        text: The text; bytes are found wherever they are, also in text that is not UTF-8.
        case: Whether case matters. Else texts are equal if their full case foldings are (Unicode, D144): "STRASSE" is
            found in "straße". A hit consists of whole characters: there is no "s" in "ß".
        whole_words: Whether only hits count beside which no word goes on, see `word_characters`.

    Raises:
        ConfigError: The text is empty, or has invalid UTF-8 where case does not matter.
    """

    def __init__(self, text: Text, case: bool = True, whole_words: bool = False) -> None:
        if not isinstance(text, (str, bytes)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"The text to search for must be text or bytes, not {told(text)}.", field="text")
        raw = to_utf8(text)
        if not raw:
            raise ConfigError("The text to search for is empty.", field="text")
        self._words = word_characters() if whole_words else _NO_WORDS
        self._needle, self._beside = read_only(np.frombuffer(raw, np.uint8)), len(raw) + _CHARACTER
        self._codes: NDArray[np.int32] | None = None
        if not case:
            try:
                codes = np.array(list(map(ord, raw.decode().casefold())), np.int32)
            except UnicodeDecodeError:
                raise ConfigError("Bytes that are not UTF-8 have no case: search with case.", field="text") from None
            self._firsts, self._seconds = _leads(codes[0]), _leads(codes[1]) if len(codes) > 1 else _NO_LEADS
            self._codes, self._beside = read_only(codes), _CHARACTER * (len(codes) + 1)

    def found(self, source: Source, ends: NDArray[np.int64]) -> Iterator[HitBatch]:
        """See `HitFinder`."""
        size, last = len(source.data), int(ends[-1]) if len(ends) else 0
        ends, out = read_only(ends), (np.empty(HITS, np.int64), np.empty(HITS, np.int64), np.empty(HITS, np.int64))
        at, document, start, piece = 0, 0, 0, FIRST_PIECE
        while start < last:
            stop, base = min(last, start + piece), max(0, start - _CHARACTER)
            window = read_only(np.asarray(source.data[base : min(size, stop + self._beside)]))
            while at < stop:
                n, at, document = self._find((window, base, at, stop, ends, document), out)
                yield HitBatch(min(at, stop), out[0][:n].copy(), out[1][:n].copy(), out[2][:n].copy())
            start, piece = stop, min(4 * piece, PIECE)

    def _find(self, place: tuple[Any, ...], out: tuple[NDArray[np.int64], ...]) -> tuple[int, int, int]:
        """How many hits of a window were written, where to continue, and in which document."""
        from tokstudio.core.kernels.find import find_folded, find_text

        arguments: tuple[Any, ...] = (*place, self._needle, self._words, *out)
        if self._codes is None:
            return find_text(*arguments)
        arguments = (*place, self._codes, self._words, *out, self._firsts, self._seconds, *foldings())
        return find_folded(*arguments)


def _leads(code: int) -> NDArray[np.int64]:
    """The first bytes of the characters whose folding begins with a character, in ranges: the first, and how many."""
    folded, longer = foldings()
    rows = ~np.flatnonzero(longer[:, 0] == code)
    alike = np.flatnonzero((folded == code) | np.isin(folded, rows)).tolist()
    leads = sorted({chr(each).encode()[0] for each in alike})
    borders = [0, *(np.flatnonzero(np.diff(leads) > 1) + 1).tolist(), len(leads)]
    return np.array([(leads[one], other - one) for one, other in pairwise(borders)], np.int64).reshape(-1, 2)


# --- Regular expressions ----------------------------------------------------------------------------------------------

LONG = 1 << 20  # bytes of a document that is searched in parts
AHEAD, BEHIND = 1 << 16, 1 << 10  # bytes around such a part
_GROUP, _DOCUMENTS = 1 << 17, 1 << 12
_OF_A_BLOCK, _FAILURES = 2 * SECONDS_OF_A_PIECE, 8
_NO_SPANS = np.zeros((0, 2), np.int64)
#: Expressions that look at nothing but what they match and the characters beside it: no groups but plain ones, nothing
#: possessive, no reference, no name of a place but `^`, `$` and the border of a word. `(?i)` changes none of that.
_ESCAPE = r"\\(?:[dDsSwWtnrfv]|[^\w\s]|[pP]\{[^{}]*\})"
_CLASS = rf"\[\^?(?:[^\\\[\]^&|~-]|{_ESCAPE})(?:-(?=[^\\\[\]-])|[^\\\[\]&|~-]|{_ESCAPE})*\]"
_QUANTIFIER = r"(?:[?*+]|\{\d+(?:,\d*)?\})\??(?![?*+{])"
_PLAIN = re.compile(
    rf"(?:\(\?i\))?(?:(?:[^\\()\[\]{{}}?*+|#]|\((?![?*])|[)|]|\(\?:|\\[bB]|{_ESCAPE}|{_CLASS})(?:{_QUANTIFIER})?)+"
)


class RegexTimeout(Exception):
    """A match takes too long; `args` are the document where it was tried, and the seconds."""


class RegexFinder:
    r"""Finds matches of a regular expression of the `regex` library, each in one document; empty ones are no hits.

    `^` and `$` also stand for the ends of lines; `.` matches no line feed, but `\s` does, so a match may extend over
    several lines. A document of more than 1 MiB is searched in parts of that size: an expression sees 1 KiB before its
    part and 64 KiB after it, so that matches of up to 64 KiB are the same as in the whole. Short documents are searched
    together where that finds the same. A byte that is not UTF-8 is
    one character that no class has, `[^a]` and `.` match it.

    Args:
        expression: The expression.
        case: Whether case matters; else it is folded fully, as by `TextFinder`.
        whole_words: As of `TextFinder`; matches that are no whole words are passed over.

    Raises:
        ConfigError: The expression is empty, does not compile or is too large.
    """

    def __init__(self, expression: str, case: bool = True, whole_words: bool = False) -> None:
        import regex

        if not isinstance(expression, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"The regular expression must be text, not {told(expression)}.", field="regex")
        if not expression:
            raise ConfigError("The regular expression is empty.", field="regex")
        flags = regex.MULTILINE | (0 if case else regex.IGNORECASE | regex.FULLCASE)
        self._pattern: Pattern[str] = compile_expression(expression, flags)
        self._whole_words = whole_words
        self._is_plain = _PLAIN.fullmatch(expression) is not None

    def found(self, source: Source, ends: NDArray[np.int64]) -> Iterator[HitBatch]:
        """See `HitFinder`; raises RegexTimeout."""
        patience = _FAILURES if self._is_plain else 0  # so many groups more are searched whole in vain
        for first, last, start, stop in groups(ends, _GROUP, _DOCUMENTS):
            if stop - start > LONG:
                yield from self._in_parts(source, ends, first, start, stop)
                continue
            raw, until = source.data[start:stop].tobytes(), monotonic() + SECONDS_OF_A_PIECE
            borders = [0, *(ends[first:last] - start).tolist()]
            quick, owners, alone = _NO_SPANS, NOTHING, np.arange(last - first)
            if patience and len(alone) > 1:
                quick, owners, alone = self._in_block(raw, ends[first:last] - start) or (quick, owners, alone)
                patience -= 2 * len(alone) > last - first
            # The hits that were found together, and how many of them are in the documents before each of the others.
            together, known = [(begin, end) for begin, end in (quick + start).tolist()], (owners + first).tolist()
            before, taken = np.searchsorted(owners, alone).tolist(), 0
            spans, documents = list[tuple[int, int]](), list[int]()
            for number, behind in zip(alone.tolist(), before, strict=True):
                if behind > taken:
                    spans += together[taken:behind]
                    documents += known[taken:behind]
                    taken = behind
                begin, end = borders[number], borders[number + 1]
                if begin == end:
                    continue
                text = raw[begin:end].decode("utf-8", "surrogateescape")
                try:
                    # A generator for each of millions of lines would take longer than most of them.
                    found = self._pattern.finditer(text, concurrent=False, timeout=SECONDS_OF_A_PIECE)
                    pieces = ([match.span() for match in found],)
                except TimeoutError:
                    pieces = self._matches(text, 0, len(text), first + number)
                for more in pieces:
                    if more:
                        some = _in_bytes(text, end - begin, more)
                        spans += [(start + begin + one, start + begin + other) for one, other in some if one < other]
                        documents += [first + number] * (len(spans) - len(documents))
                    if monotonic() > until:
                        yield self._kept(source, ends, start + begin, spans, documents)
                        spans, documents, until = [], [], monotonic() + SECONDS_OF_A_PIECE
            spans += together[taken:]
            documents += known[taken:]
            yield self._kept(source, ends, stop, spans, documents)

    def _in_block(
        self, raw: bytes, ends: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
        """Searches documents together, with a line feed after each; None where that takes long.

        A plain expression looks at nothing but what it matches and the characters beside it, to which a line feed is
        the same as the end of the text. So a match within a document is one of the document alone, unless another that
        crosses its end has a part of it.

        Returns:
            The matches, int64 [n, 2], and the document of each, int64 [n]; the documents to be searched alone.
        """
        block = np.insert(np.frombuffer(raw, np.uint8), ends, ord("\n")).tobytes()
        feeds, text = ends + np.arange(len(ends)), block.decode("utf-8", "surrogateescape")
        try:
            found = [match.span() for match in self._pattern.finditer(text, concurrent=False, timeout=_OF_A_BLOCK)]
        except TimeoutError:
            return None
        if not found:
            return _NO_SPANS, NOTHING, NOTHING
        spans = np.array(_in_bytes(text, len(block), found), np.int64)
        spans = spans[spans[:, 1] > spans[:, 0]]
        first, last = np.searchsorted(feeds, spans[:, 0]), np.searchsorted(feeds, spans[:, 1] - 1)
        crosses = spans[:, 1] > feeds[first]
        turns = np.zeros(len(ends) + 1, np.int64)
        np.add.at(turns, first[crosses], 1)
        np.subtract.at(turns, last[crosses] + 1, 1)
        is_alone = np.cumsum(turns)[:-1] > 0
        kept = ~is_alone[first]
        return spans[kept] - first[kept, np.newaxis], first[kept], np.flatnonzero(is_alone)

    def _in_parts(
        self, source: Source, ends: NDArray[np.int64], document: int, start: int, stop: int
    ) -> Iterator[HitBatch]:
        """Searches a long document; its parts end between characters."""
        first = at = start  # the part, and where the next match may begin
        while first < stop:
            last = _character_start(source, min(stop, first + LONG), first)
            low = _character_start(source, max(start, at - BEHIND), start)
            part = source.data[low : _character_start(source, min(stop, last + AHEAD), last)].tobytes()
            text = part.decode("utf-8", "surrogateescape")
            before, inside = (len(part[: place - low].decode("utf-8", "surrogateescape")) for place in (at, last))
            for more in self._matches(text, before, inside, document) if at < last else ():
                some = [(low + one, low + other) for one, other in _in_bytes(text, len(part), more)]
                at = some[-1][1] if some else at
                yield self._kept(source, ends, min(at, last), some, [document] * len(some))
            first, at = last, max(at, last)
            yield HitBatch(last)

    def _matches(self, text: str, at: int, until: int, document: int) -> Iterator[list[tuple[int, int]]]:
        """The matches of at least a character that begin from `at` to before `until`, in pieces of bounded time.

        By default `regex` releases the interpreter's lock for every match, and getting it back takes longer than
        thousands of matches; so it is kept for a short time, and released only for a match that takes longer.
        """
        longest = SECONDS_OF_A_MATCH + (len(text) - at) / CHARACTERS_IN_A_SECOND
        while True:
            spans, here = list[tuple[int, int]](), at
            for seconds, concurrent in ((SECONDS_OF_A_PIECE, False), (longest, True)):
                try:
                    for match in self._pattern.finditer(text, here, concurrent=concurrent, timeout=seconds):
                        begin, end = match.span()
                        if begin >= until:
                            yield spans
                            return
                        if end > begin:
                            spans.append((begin, end))
                        elif begin == here:
                            continue
                        here = end
                        if concurrent:
                            break
                    else:
                        yield spans
                        return
                    break
                except TimeoutError:
                    if here > at:
                        break
                    if concurrent:
                        raise RegexTimeout(document, longest) from None
            yield spans
            at = here

    def _kept(
        self, source: Source, ends: NDArray[np.int64], at: int, spans: list[tuple[int, int]], documents: list[int]
    ) -> HitBatch:
        if not spans:
            return HitBatch(at)
        begins, lasts = np.array(spans, np.int64).T.copy()
        numbers = np.array(documents, np.int64)
        if not self._whole_words:
            return HitBatch(at, begins, lasts, numbers)
        from tokstudio.core.kernels.find import alone

        base = max(0, int(begins[0]) - _CHARACTER)
        window = read_only(np.asarray(source.data[base : int(lasts[-1]) + _CHARACTER]))
        kept = alone(window, base, read_only(ends), begins, lasts, numbers, word_characters())
        return HitBatch(at, begins[kept], lasts[kept], numbers[kept])


def _in_bytes(text: str, size: int, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans of characters as spans of bytes of a text of `size` bytes."""
    if len(text) == size:
        return spans
    made, character, byte = list[tuple[int, int]](), 0, 0
    for begin, end in spans:
        first = byte + len(text[character:begin].encode("utf-8", "surrogateescape"))
        byte = first + len(text[begin:end].encode("utf-8", "surrogateescape"))
        character = end
        made.append((first, byte))
    return made


def _character_start(source: Source, at: int, least: int) -> int:
    """The start of the character that a byte is in; of invalid bytes, the byte itself."""
    for before in range(4):
        if at - before <= least or at == len(source.data):
            break
        if int(source.data[at - before]) & 0xC0 != 0x80:
            return at - before
    return at
