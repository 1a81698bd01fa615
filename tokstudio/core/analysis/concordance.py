"""Finds the occurrences of a token in a corpus, each with its line, as many as are asked for.

The token's bytes are searched for, and only the text around them is encoded. With a pattern that is exact. Without one
a document is a single sequence: of a document longer than 10 KiB a window is encoded, with at least 4 KiB on either
side. A merge may differ where it depends on text farther away, such as in long repetitions. Where another library
encodes, text is changed before it is split, or words are joined, whole lines are encoded: see `library_concordance`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.sampling import blocks_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.pretokenization.patterns import NONE, OWN, cut, splitter
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.pretokenization.special_tokens import Pieces, SpecialFinder
from tokstudio.core.text.utf8 import is_utf8
from tokstudio.core.tokenizer.tokenizer import Tokenizer

FIRST_PIECE, _PIECE = 1 << 13, 1 << 18  # bytes searched at once
LEAST_CORE, MOST_CORE = 1 << 11, 1 << 15  # bytes encoded at once: more where the token's bytes occur often
MARGIN = 1 << 12
AROUND = 1 << 8  # bytes to look for a place to cut in, at first
_MOST_WORDS = 1 << 16


@dataclass(frozen=True, slots=True)
class Hit:
    """One occurrence of a token."""

    source: int  # the number of the source in the corpus, from 0
    document: int  # the number of the document in the source, from 0
    position: int  # the byte in the source's data where the token begins
    left: str  # the text before it in its line, cut where it is long
    # The token, or the character that became the unknown token. A character that is only partly in the token becomes
    # U+FFFD here and beside it.
    text: str
    right: str  # the text after it in its line, cut likewise
    count: int  # how often the document occurs: once, except in word counts


class Concordance:
    """The occurrences of one token, in the order of the corpus. Special tokens are recognised, as in training.

    The share `held_out` of the corpus is not searched. With characters as base tokens, text that is not UTF-8 is left
    out. At most `width` characters are shown on each side of the token.

    Raises:
        ConfigError: The token is not in the vocabulary.
    """

    def __init__(
        self, corpus: Corpus, tokenizer: Tokenizer, token: int, held_out: float = 0.0, width: int = 60
    ) -> None:
        if not tokenizer.tokens.in_use(token):
            raise ConfigError(f"Id {token} is not in the vocabulary.")
        self.hits: list[Hit] = []  # the occurrences so far
        self.done = False  # whether these are all
        self.limit: int | None = None  # how many bytes were searched, where the search ends before the corpus
        self._corpus = corpus
        self._held_out = held_out
        self._width = width
        self._finder = SpecialFinder(special.encode() for special in tokenizer.special_tokens)
        self._special = -1
        if token in tokenizer.special_tokens.values():
            self._special = self._finder.texts.index(tokenizer.tokens[token] or b"")
        self._is_in_text = self._special < 0 or token == tokenizer.alphabet.unknown
        self._splitter = splitter(tokenizer.pattern)
        self._asked = tokenizer, token
        self._places = _Places(tokenizer, token)
        self._searched = self._before = 0
        self._search = self._search_work()

    def find_work(self, most: int = 200) -> Work[list[Hit]]:
        """Returns about `most` more occurrences, none once there are no more; cancelled work keeps those found."""
        first = len(self.hits)
        total = sum(len(source.data) for source in self._corpus.sources)
        while not self.done and len(self.hits) < first + most:
            # Not `yield from`: a cancelled search can be continued.
            if next(self._search, None) is None:
                self.done = True
            yield Progress("searching", self._before + self._searched, total)
        return self.hits[first:]

    def _search_work(self) -> Work[None]:
        sources = self._corpus.sources
        blocks = [(source.ends, np.zeros(source.documents, np.bool_)) for source in sources]
        if self._held_out:
            blocks = yield from blocks_work(sources, self._held_out, self._corpus.weights)
        for number, (source, (ends, is_held)) in enumerate(zip(sources, blocks, strict=True)):
            text = _Text(number, source, ends, is_held)
            tokenizer, token = self._asked
            by_lines = tokenizer.library is not None or tokenizer.supermerges is not None
            if by_lines or not tokenizer.preparation.is_plain:
                yield from self._lines_work(text, ends, tokenizer, token)
                if self.limit is not None:
                    return
                self._before, self._searched = self._before + len(source.data), 0
                continue
            if source.counts is not None:
                pieces = Pieces(np.concatenate([[0], ends[:-1]]), ends, ~np.zeros(len(ends), np.int32))
            else:
                pieces = yield from self._finder.cut_work(source.data, ends)
            if self._is_in_text:
                yield from self._tokens_work(text, pieces)
            else:
                yield from self._specials_work(text, pieces, 0, len(pieces.stops))
            self._before, self._searched = self._before + len(source.data), 0

    def _lines_work(self, text: _Text, ends: NDArray[np.int64], tokenizer: Tokenizer, token: int) -> Work[None]:
        """Encodes lines, where tokens are no parts of the text or a library encodes; up to the limit."""
        for spans in spans_of(text.source.data, ends):
            if self._before + spans[-1].last > MOST:
                self.limit = self._before + spans[0].first
                return
            for document, begin, end in (yield from occurrences_work(tokenizer, token, spans)):
                self._take(text, begin, end, document)
            yield self._searched_to(spans[-1].last)

    def _specials_work(self, text: _Text, pieces: Pieces, first: int, last: int) -> Work[None]:
        """Takes the occurrences of the special token after pieces `first` to `last`, exclusive."""
        if self._special < 0:
            return
        length = len(self._finder.texts[self._special])
        rows = first + np.flatnonzero(pieces.specials[first:last] == self._special)
        for place in pieces.stops[rows].tolist():
            self._take(text, place, place + length)
            yield self._searched_to(place + length)

    def _tokens_work(self, text: _Text, pieces: Pieces) -> Work[None]:
        """Goes from one occurrence of the token's bytes to the next, and encodes the text around it."""
        at = behind = passed = 0
        size, needle, core = len(text.source.data), self._places.needle, LEAST_CORE
        while (at := (yield from self._next_work(text.source.data, at))) < size:
            row = int(np.searchsorted(pieces.stops, at, side="right"))
            # An unknown token may be written out in the text as well.
            yield from self._specials_work(text, pieces, passed, row)
            passed = row
            if row == len(pieces.stops):
                return
            start, stop = int(pieces.starts[row]), int(pieces.stops[row])
            if at < start or at + len(needle) > stop:
                # It is in a special token, or extends into one or into the next document.
                at = max(at + 1, start)
                yield self._searched_to(at)
            elif text.held[text.document(at)]:
                at = stop
                yield self._searched_to(at)
            else:
                core = min(2 * core, MOST_CORE) if at - behind < core else LEAST_CORE
                at = behind = yield from self._around_work(text, start, stop, at, core)
        yield from self._specials_work(text, pieces, passed, len(pieces.stops))

    def _next_work(self, data: NDArray[np.uint8], at: int) -> Work[int]:
        """The next occurrence of the token's bytes; after the end if there is none."""
        needle, size = self._places.needle, FIRST_PIECE
        while at < len(data):
            offset = data[at : at + size + len(needle)].tobytes().find(needle)
            if offset >= 0:
                return at + offset
            at += size
            size = min(4 * size, _PIECE)
            self._searched = min(at, len(data))
            yield Progress("searching")
        return at

    def _around_work(self, text: _Text, start: int, stop: int, at: int, core: int) -> Work[int]:
        """Finds the token in about `core` bytes from `at` on, within `start` to `stop`; returns where to continue."""
        kind, places = NONE if text.source.counts is not None else self._splitter.kind, self._places
        if kind == NONE:
            margin = MARGIN + 2 * len(places.needle)
            first, last, behind = _window(text.source.data, start, stop, at, core, margin)
        else:
            first, last = (start, stop) if kind == OWN else _region(text.source.data, start, stop, at, core)
            behind = max(last, at + 1)
        raw = np.asarray(text.source.data[first:last])
        if kind == NONE or (kind != OWN and places.can_encode(raw.tobytes())):
            # Tokens that begin outside are known, or belong to another window, where they are farther from the edge.
            for begin, end in (yield from places.in_text_work(raw.tobytes(), is_sequence=kind == NONE)):
                if at <= first + begin < behind:
                    self._take(text, first + begin, first + end)
            yield self._searched_to(behind)
            return behind
        done = 0
        for ends in self._splitter.ends_work(raw, 0, len(raw)):
            if len(ends):
                words, before_match = raw[done : ends[-1]].tobytes(), max(0, at - first - done)
                for begin, end in (yield from places.in_words_work(words, ends - done, before_match)):
                    self._take(text, first + done + begin, first + done + end)
                done = int(ends[-1])
            yield self._searched_to(first + done)
        return behind

    def _searched_to(self, at: int) -> Progress:
        self._searched = at
        return Progress("searching")

    def _take(self, text: _Text, begin: int, end: int, document: int | None = None) -> None:
        # A token without text may be at the end of its document, where the next one begins.
        document = text.document(begin) if document is None else document
        if not text.held[document]:
            self.hits.append(text.hit(document, begin, end, self._width))


class _Places:
    """Finds a token in text that it encodes; `needle` has its bytes, none for the unknown token."""

    def __init__(self, tokenizer: Tokenizer, token: int) -> None:
        self.needle = b"" if token == tokenizer.alphabet.unknown else tokenizer.tokens[token] or b""
        self._token = token
        self._in_characters = tokenizer.alphabet.base == "characters"
        self._known: dict[bytes, list[tuple[int, int]]] = {}
        self._tokenizer = tokenizer
        self._without_pattern = tokenizer.changed(pattern="none", preparation=Preparation(), supermerges=None)

    def can_encode(self, raw: bytes) -> bool:
        """Whether bytes can be encoded without changing their length."""
        return not self._in_characters or is_utf8(raw)

    def in_text_work(self, raw: bytes, is_sequence: bool) -> Work[list[tuple[int, int]]]:
        """The start and end of each occurrence in some bytes: as one sequence, or split by the pattern."""
        if not self.can_encode(raw):
            return []
        tokenizer = self._without_pattern if is_sequence else self._tokenizer
        ids, ends = yield from tokenizer.encode_with_ends_work(raw)
        here = np.flatnonzero(ids == self._token)
        starts = np.concatenate([[0], ends[:-1]])
        return list(zip(starts[here].tolist(), ends[here].tolist(), strict=True))

    def in_words_work(self, raw: bytes, ends: NDArray[np.int64], at: int) -> Work[list[tuple[int, int]]]:
        """The start and end of each occurrence in pre-tokens from byte `at` on; `ends` has the ends of these."""
        spans: list[tuple[int, int]] = []
        while 0 <= (at := raw.find(self.needle, at)) < len(raw):
            number = int(np.searchsorted(ends, at, side="right"))
            start, stop = int(ends[number - 1]) if number else 0, int(ends[number])
            if at + len(self.needle) > stop:
                at += 1
                continue
            places = self._known.get(raw[start:stop])
            if places is None:
                places = yield from self.in_text_work(raw[start:stop], is_sequence=True)
                if len(self._known) > _MOST_WORDS:
                    self._known.clear()
                self._known[raw[start:stop]] = places
            spans += [(start + begin, start + end) for begin, end in places]
            at = stop
        return spans


@dataclass(frozen=True, eq=False)
class _Text:
    """A source with its number, and its documents as in training: the end of each, and whether it is held out."""

    number: int
    source: Source
    ends: NDArray[np.int64]
    held: NDArray[np.bool_]

    def document(self, at: int) -> int:
        """The document that a byte is in."""
        return int(np.searchsorted(self.ends, at, side="right"))

    def hit(self, document: int, begin: int, end: int, width: int) -> Hit:
        """An occurrence with its line, at most `width` characters on either side."""
        start, stop = int(self.ends[document - 1]) if document else 0, int(self.ends[document])
        before = max(start, begin - 4 * width)
        left = self.source.data[before:begin].tobytes()
        # A character that begins farther left is left out.
        left = left[_continued(left) if before > start else 0 :].rpartition(b"\n")[2]
        behind = min(stop, end + 4 * width)
        right, feed, _ = self.source.data[end:behind].tobytes().partition(b"\n")
        rest = _continued(right)
        shown = codecs.utf_8_decode(right[rest:], "replace", bool(feed) or behind == stop)[0]
        return Hit(
            source=self.number,
            document=document,
            position=begin,
            left=left.decode("utf-8", "replace")[-width:],
            text=self.source.data[begin:end].tobytes().decode("utf-8", "replace"),
            right=("\ufffd" * (rest > 0) + shown.removesuffix("\r"))[:width],
            count=1 if self.source.counts is None else int(self.source.counts[document]),
        )


def _window(data: NDArray[np.uint8], start: int, stop: int, at: int, core: int, margin: int) -> tuple[int, int, int]:
    """The part of a sequence to encode for tokens that begin from `at` on, and where the next part begins."""
    behind = min(stop, at + core)
    first, last = max(start, at - margin), min(stop, behind + margin)
    if start + core + 2 * margin >= stop:
        return start, stop, stop
    while first > start and data[first] & 0xC0 == 0x80:
        first -= 1
    while last < stop and data[last] & 0xC0 == 0x80:
        last += 1
    return first, last, behind


def _region(data: NDArray[np.uint8], start: int, stop: int, at: int, core: int) -> tuple[int, int]:
    """A start before `at` and an end after it between which text is split as if nothing were around it."""
    around = AROUND
    while True:
        low, high = max(start, at - around), min(stop, at + core + around)
        window = np.asarray(data[low:high])
        first = low if low == start else low + cut(window, 0, len(window))
        last = low + cut(window, min(at + core, high) - low, len(window))
        if first <= at and (last < high or high == stop):
            return first, last
        around *= 4


def _continued(raw: bytes) -> int:
    """How many of the first bytes continue a character."""
    rest = 0
    while rest < min(3, len(raw)) and raw[rest] & 0xC0 == 0x80:
        rest += 1
    return rest


# --- Finds the occurrences of a token where text is changed before it is split, some lines at a time ------------------
# Tokens are then no parts of the text, such as where a library changes the case of letters, so all text must be
# encoded: only the first `MOST` bytes of a corpus are. Lines are encoded with the text around them in their document,
# so that tokens are those of the whole document, and tokens that are added before a text occur at its beginning only.

#: The most bytes to search.
MOST = 33_000_000

LIBRARY_PIECE = 1 << 15
LIBRARY_MARGIN = 1 << 10  # bytes on either side


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Some lines of a document, or a part of a long line."""

    document: int  # the number of the document in its source, from 0
    first: int  # the first byte
    last: int  # the byte after the last
    ends: bool  # whether its document ends there
    start: int  # the first byte of the text to encode
    text: bytes  # the text to encode: the span, and some of the document around it


def spans_of(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> Iterator[list[LineSpan]]:
    """Divides documents into spans, and yields about 32 KiB of them together."""
    together: list[LineSpan] = []
    start = size = 0
    for document, end in enumerate(ends.tolist()):
        for first, last in lines_of(data, start, end):
            if together and size + last - first > LIBRARY_PIECE:
                yield together
                together, size = [], 0
            before = _text_before(data, start, first)
            text = before + data[first:last].tobytes() + _text_behind(data, last, end)
            together.append(LineSpan(document, first, last, last == end, first - len(before), text))
            size += last - first
        start = end
    if together:
        yield together


def lines_of(data: NDArray[np.uint8], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Divides a document into spans of whole lines, each about 32 KiB; a longer line is divided between characters.

    Text that is not UTF-8 is left out: such a span is divided into lines, and the valid ones are yielded.
    """
    while start < stop:
        end = min(start + LIBRARY_PIECE, stop)
        if end < stop:
            raw = data[start:end].tobytes()
            end = start + raw.rfind(b"\n") + 1
            if end == start:
                end = start + len(raw)
                while end > start + 1 and data[end] & 0xC0 == 0x80:
                    end -= 1
        raw, at = data[start:end].tobytes(), start
        for line in [raw] if is_utf8(raw) else raw.splitlines(keepends=True):
            if is_utf8(line):
                yield at, at + len(line)
            at += len(line)
        start = end


def occurrences_work(tokenizer: Tokenizer, token: int, spans: Sequence[LineSpan]) -> Work[list[tuple[int, int, int]]]:
    """The document, start and end of each occurrence of a token that begins in the given spans.

    Of several tokens within one character, all but one are where it ends, within their document.
    """
    texts = [span.text for span in spans]
    ids, ends, counts = yield from tokenizer.encode_texts_with_ends_work(texts, "all")
    of = np.repeat(np.arange(len(spans)), counts)
    begins = np.concatenate([np.zeros(1, np.int64), ends[:-1]])[: len(ends)]
    begins[np.flatnonzero(np.diff(of, prepend=-1))] = 0
    rows = np.flatnonzero(ids == token)
    numbers: list[int] = of[rows].tolist()
    occurrences: list[tuple[int, int, int]] = []
    for number, begins_at, ends_at in zip(numbers, begins[rows].tolist(), ends[rows].tolist(), strict=True):
        span = spans[number]
        begin, end = span.start + begins_at, span.start + ends_at
        # Tokens that begin outside belong to another span, where more of the text around them is known.
        if span.first <= begin < span.last or (span.ends and begin == span.last):
            occurrences.append((span.document, begin, end))
    return occurrences


def _text_before(data: NDArray[np.uint8], start: int, stop: int) -> bytes:
    """The text before `stop` to encode with the text after it."""
    raw = data[max(start, stop - LIBRARY_MARGIN) : stop].tobytes()
    while True:
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            raw = raw[error.end :]
        else:
            return raw


def _text_behind(data: NDArray[np.uint8], start: int, stop: int) -> bytes:
    """The text from `start` on to encode with the text before it."""
    raw = data[start : min(stop, start + LIBRARY_MARGIN)].tobytes()
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return raw[: error.start]
    return raw
