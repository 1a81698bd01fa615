"""The tokens that a source becomes, block by block, with the bytes that each stands for; and the search for tokens.

Special tokens are recognised, as in training. Of a document of any length, tokens are those of the whole document where
a named pattern splits text; else a document of more than 8 MiB is encoded in parts with 64 KiB of the text around them,
which may differ only where a merge depends on text that is farther away.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.source import Source
from tokstudio.core.exploration.finders import HITS, NOTHING, HitBatch
from tokstudio.core.pretokenization.patterns import NONE, place_to_cut, splitter
from tokstudio.core.pretokenization.preparation import PreparedText, prepare_work
from tokstudio.core.pretokenization.special_tokens import Pieces, SpecialFinders, documents_of
from tokstudio.core.pretokenization.word_table import PADDING
from tokstudio.core.tokenizer.batch import ends_work
from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")

FIRST_BLOCK, BLOCK, LIBRARY_BLOCK = 1 << 16, 1 << 23, 1 << 17  # bytes encoded together
PART = 1 << 16  # bytes of a long document that are encoded or passed over together
LONG, MARGIN = 1 << 23, 1 << 16  # see the module
MOST_DOCUMENTS = 1 << 17
_ALL = 0.25  # the share of parts that hold a text from which on all are encoded
_NO_IDS = np.zeros(0, np.uint32)


class Block(NamedTuple):
    """The tokens of some documents of a source, or of parts of them, in their order."""

    at: int  # up to this byte the source is encoded
    ids: NDArray[np.uint32] = _NO_IDS  # [tokens]
    begins: NDArray[np.int64] = NOTHING  # [tokens], the first byte of each in the source
    ends: NDArray[np.int64] = NOTHING  # [tokens], the byte after its last
    documents: NDArray[np.int64] = NOTHING  # [parts], the document of each part, ascending
    counts: NDArray[np.int64] = NOTHING  # [parts], the tokens of each

    def documents_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64 [rows], the documents of tokens."""
        return self.documents[np.searchsorted(np.cumsum(self.counts), rows, side="right")]


Blocks = Generator[Block, None, T]


class SourceEncoder:
    """Encodes sources block by block.

    Args:
        tokenizer: The tokenizer, with a pattern of its own; dropout is ignored.
        needle: Bytes without which documents and parts are left out, if that is known to change no token; b"" for none.
    """

    def __init__(self, tokenizer: Tokenizer, needle: bytes = b"") -> None:
        self._tokenizer = tokenizer
        is_plain = tokenizer.preparation.is_plain and not isinstance(tokenizer, LibraryTokenizer)
        is_plain = is_plain and tokenizer.alphabet.base == "bytes"
        # Text that is not changed has a token where it has its bytes.
        self._needle = needle if is_plain else b""
        self._can_cut = is_plain and splitter(tokenizer.pattern).kind > NONE and tokenizer.supermerges is None
        self._finders = SpecialFinders(tokenizer.special_tokens)

    def blocks(self, source: Source, ends: NDArray[np.int64]) -> Iterator[Block]:
        """Yields the tokens of a source, whose documents end at `ends`, in bounded pieces; a block may be empty.

        Raises:
            ConfigError: A character is not in the vocabulary.
            FormatError: The library that encodes for the tokenizer refuses the text.
        """
        if not len(ends):
            return iter(())
        if self._can_cut and source.counts is None:
            return self._cut_blocks(source, ends)
        return self._whole_blocks(source, ends)

    # --- Where a named pattern splits text: documents are cut where it does not notice -------------------------------

    def _cut_blocks(self, source: Source, ends: NDArray[np.int64]) -> Iterator[Block]:
        tokenizer, finder = self._tokenizer, self._finders.of("all")
        pieces = yield from _passed(finder.cut_work(source.data, ends), 0)
        ids_of = [*(tokenizer.special_tokens[text.decode()] for text in finder.texts), -1]
        special_ids = np.array(ids_of, np.int32)
        special_lengths = np.array([*map(len, finder.texts), 0], np.int64)
        documents, encoder, size = documents_of(pieces), tokenizer.encoder(tokenizer.pattern), FIRST_BLOCK
        row, at = 0, int(pieces.starts[0])
        while row < len(pieces.starts):
            parts, rows, row, at = self._parts(source, pieces, row, at, size)
            size = min(4 * size, BLOCK)
            base, until = int(parts.starts[0]), int(parts.stops[-1])
            # Of special tokens, what is before the next piece.
            behind = min(len(source.data), until + int(special_lengths.max()) + PADDING)
            window = np.zeros(behind - base + PADDING, np.uint8)
            window[: behind - base] = source.data[base:behind]
            chosen = self._holding(source, parts, special_lengths)
            if not len(chosen):
                yield Block(until)
                continue
            starts, stops, specials = parts.starts[chosen], parts.stops[chosen], parts.specials[chosen]
            here = Pieces(starts - base, stops - base, specials)
            encoded = yield from _passed(encoder.encode_work(window, here, special_ids), base)
            ids = np.concatenate([_NO_IDS, *encoded])
            sizes = stops - starts + special_lengths[specials]
            lasts = np.cumsum(self._lengths[ids])
            behind_parts = np.cumsum(sizes)
            counts = np.diff(np.searchsorted(lasts, behind_parts, side="right"), prepend=0)
            shifts = np.repeat(starts - (behind_parts - sizes), counts)
            begins = lasts - self._lengths[ids] + shifts
            yield Block(until, ids, begins, lasts + shifts, documents[rows[chosen]], counts)

    def _parts(
        self, source: Source, pieces: Pieces, row: int, at: int, size: int
    ) -> tuple[Pieces, NDArray[np.int64], int, int]:
        """About `size` bytes of pieces from byte `at` of piece `row` on, long ones in parts.

        Returns:
            The parts, the piece of each, and the piece and byte to continue at.
        """
        starts, stops, rows = list["NDArray[np.int64]"](), list["NDArray[np.int64]"](), list["NDArray[np.int64]"]()
        begin, n = at, len(pieces.starts)
        while row < n and at < begin + size and (not rows or row - int(rows[0][0]) < MOST_DOCUMENTS):
            most = min(n, row + MOST_DOCUMENTS)
            short = pieces.stops[row:most] - pieces.starts[row:most] <= PART
            short &= pieces.stops[row:most] <= begin + size
            last = row + (len(short) if short.all() else int(np.argmin(short)))
            if last > row and at == int(pieces.starts[row]):
                starts.append(pieces.starts[row:last])
                stops.append(pieces.stops[row:last])
                rows.append(np.arange(row, last))
                row = last
            else:
                stop = int(pieces.stops[row])
                end = place_to_cut(source.data, at + PART, stop) if stop - at > PART else stop
                starts.append(np.array([at]))
                stops.append(np.array([end]))
                rows.append(np.array([row]))
                at = end
                row += end == stop
                if end < stop:
                    continue
            at = int(pieces.starts[row]) if row < n else at
        every = np.concatenate(rows)
        made = Pieces(np.concatenate(starts), np.concatenate(stops), pieces.specials[every])
        # Only the last part of a piece has the special token after it.
        made = replace(made, specials=np.where(made.stops == pieces.stops[every], made.specials, np.int32(-1)))
        return made, every, row, at

    def _holding(self, source: Source, parts: Pieces, special_lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """The parts that an occurrence of the needle touches; all where most are."""
        every, length = np.arange(len(parts.starts)), len(self._needle)
        if not length:
            return every
        # Several tokens may extend over the border of two blocks.
        base = max(0, int(parts.starts[0]) - length + 1)
        behind = parts.stops + special_lengths[parts.specials]
        begins = _places(np.asarray(source.data[base : int(behind[-1]) + length - 1]), self._needle) + base
        first = np.searchsorted(behind, begins, side="right")
        # Occurrences that overlap this one, and were passed over, may extend as far again.
        last = np.searchsorted(parts.starts, begins + 2 * length, side="left")
        marks = np.zeros(len(every) + 1, np.int64)
        np.add.at(marks, np.minimum(first, len(every)), 1)
        np.add.at(marks, np.maximum(last, first), -1)
        chosen = np.flatnonzero(np.cumsum(marks)[:-1] > 0)
        return every if len(chosen) > _ALL * len(every) else chosen

    @cached_property
    def _lengths(self) -> NDArray[np.int64]:
        """int64 [ids], the bytes of each token."""
        lengths = self._tokenizer.tokens.lengths()
        for text, token in self._tokenizer.special_tokens.items():
            lengths[token] = len(text.encode())
        return lengths

    # --- All other documents are encoded whole, unless they are very long --------------------------------------------

    def _whole_blocks(self, source: Source, ends: NDArray[np.int64]) -> Iterator[Block]:
        is_library = isinstance(self._tokenizer, LibraryTokenizer)
        most, size = LIBRARY_BLOCK if is_library else BLOCK // 4, FIRST_BLOCK
        first = start = 0
        while first < len(ends):
            last = int(np.searchsorted(ends[: first + MOST_DOCUMENTS], start + size, side="right"))
            last = max(first + 1, last)
            stop, size = int(ends[last - 1]), min(4 * size, most)
            if last == first + 1 and stop - start > LONG:
                for text in _long_texts(source, first, start, stop):
                    yield from self._texts(source, [text], text.last)
            else:
                raw = np.asarray(source.data[start:stop])
                texts = [
                    _Text(number, begin, end, begin, end, end)
                    for number, (begin, end) in enumerate(pairwise([start, *ends[first:last].tolist()]), first)
                ]
                if self._needle:
                    texts = self._texts_with_needle(raw, start, ends[first:last], texts)
                yield from self._texts(source, texts, stop)
            first, start = last, stop

    def _texts_with_needle(
        self, raw: NDArray[np.uint8], start: int, ends: NDArray[np.int64], texts: list[_Text]
    ) -> list[_Text]:
        begins = _places(raw, self._needle) + start
        # One that overlaps this one, and was passed over, may be in the document of its last byte.
        touched = np.concatenate([begins, begins + len(self._needle) - 1])
        return [texts[owner] for owner in np.unique(np.searchsorted(ends, touched, side="right")).tolist()]

    def _texts(self, source: Source, texts: Sequence[_Text], at: int) -> Iterator[Block]:
        """The tokens of texts, those that begin in them."""
        if not texts:
            yield Block(at)
            return
        raws = [source.data[text.start : text.stop].tobytes() for text in texts]
        is_text = isinstance(self._tokenizer, LibraryTokenizer) or self._tokenizer.alphabet.base == "characters"
        repaired = [_repaired(raw) if is_text else (raw, None) for raw in raws]
        work = self._encode_work([raw for raw, _ in repaired], source.counts is not None)
        ids, lasts, counts = yield from _passed(work, texts[0].start)
        for number, (_, rows) in enumerate(repaired):
            if rows is not None:
                here = slice(int(counts[:number].sum()), int(counts[: number + 1].sum()))
                lasts[here] = PreparedText(np.zeros(PADDING, np.uint8), _NO_PIECES, (), (rows,)).original(lasts[here])
        of = np.repeat(np.arange(len(texts)), counts)
        begins = np.concatenate([np.zeros(1, np.int64), lasts[:-1]])[: len(lasts)]
        begins[np.flatnonzero(np.diff(of, prepend=-1))] = 0
        shifts = np.array([text.start for text in texts], np.int64)[of]
        begins, lasts = begins + shifts, lasts + shifts
        documents = np.array([text.document for text in texts], np.int64)
        if len(texts) == 1 and (texts[0].first, texts[0].last) != (texts[0].start, texts[0].stop):
            # Tokens that begin outside belong to another part, where more of the text around them is known.
            kept = (begins >= texts[0].first) & ((begins < texts[0].last) | (texts[0].last == texts[0].end))
            ids, begins, lasts = ids[kept], begins[kept], lasts[kept]
            counts = np.array([len(ids)])
        yield Block(at, ids, begins, lasts, documents, counts)

    def _encode_work(
        self, texts: list[bytes], are_words: bool
    ) -> Work[tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]]:
        """The ids of texts, the end of each token in its text, and the number of tokens of each."""
        tokenizer = self._tokenizer
        if isinstance(tokenizer, LibraryTokenizer):
            ids, lasts, counts = yield from tokenizer.encode_texts_with_ends_work(texts, "all")
            return ids, lasts.copy(), counts
        preparation = replace(tokenizer.preparation, prefix_space=False) if are_words else tokenizer.preparation
        encoder = tokenizer.encoder("none" if are_words else tokenizer.pattern)
        data = np.frombuffer(b"".join([*texts, bytes(PADDING)]), np.uint8)
        ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
        prepared = yield from prepare_work(preparation, self._finders, data, ends, "all")
        special_ids = [*(tokenizer.special_tokens[text.decode()] for text in prepared.specials), -1]
        parts = yield from encoder.encode_work(prepared.data, prepared.pieces, np.array(special_ids, np.int32))
        ids = np.concatenate([_NO_IDS, *parts])
        raw = prepared.data[: prepared.size].tobytes()
        lasts = yield from ends_work(tokenizer.tokens, tokenizer.alphabet.unknown, raw, ids, True)
        stops = prepared.pieces.stops[prepared.pieces.specials < 0]
        counts = np.diff(np.searchsorted(lasts, stops, side="right"), prepend=0)
        # Special tokens beside each other may stand for the same white space.
        lasts = np.maximum.accumulate(prepared.original(lasts))
        return ids, lasts - np.repeat(ends - [len(text) for text in texts], counts), counts


@dataclass(frozen=True)
class _Text:
    """A document, or a part of a long one, with the text around it that is encoded with it."""

    document: int
    start: int  # the first byte to encode
    stop: int  # the byte after the last to encode
    first: int  # where the part begins
    last: int  # where it ends
    end: int  # the end of the document


_NO_PIECES = Pieces(NOTHING, NOTHING, np.zeros(0, np.int32))


def _passed(work: Work[T], at: int) -> Blocks[T]:
    """Does a work, and yields an empty block where it reports progress."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value
        yield Block(at)


def _long_texts(source: Source, document: int, start: int, stop: int) -> Iterator[_Text]:
    """Parts of a long document that end with a line if they can, else between characters."""
    first = start
    while first < stop:
        last = min(stop, first + LONG)
        if last < stop:
            feeds = np.flatnonzero(source.data[last - MARGIN : last] == ord("\n"))
            last = last - MARGIN + int(feeds[-1]) + 1 if len(feeds) else _character(source, last)
        low, high = max(start, first - MARGIN), min(stop, last + MARGIN)
        low, high = (place if place in (start, stop) else _character(source, place) for place in (low, high))
        yield _Text(document, low, high, first, last, stop)
        first = last


def _character(source: Source, at: int) -> int:
    """The beginning of the character that a byte is in."""
    return next((at - n for n in range(4) if int(source.data[at - n]) & 0xC0 != 0x80), at)


def _places(data: NDArray[np.uint8], needle: bytes) -> NDArray[np.int64]:
    """Where some bytes occur; of occurrences that overlap, the first."""
    from tokstudio.core.kernels.find import find_text

    out, found, at = [np.empty(HITS, np.int64) for _ in range(3)], list["NDArray[np.int64]"](), 0
    text, ends = read_only(data), read_only(np.array([len(data)], np.int64))
    wanted, no_words = read_only(np.frombuffer(needle, np.uint8)), read_only(np.zeros(0, np.bool_))
    while at < len(data):
        n, at, _ = find_text(text, 0, at, len(data), ends, 0, wanted, no_words, *out)
        found.append(out[0][:n].copy())
    return np.concatenate([NOTHING, *found])


def _repaired(raw: bytes) -> tuple[bytes, NDArray[np.int64] | None]:
    """A text with U+FFFD for invalid UTF-8, as in training; and the changes, as those of `PreparedText`."""
    parts, rows, size, at = list[bytes](), list[tuple[int, int, int, int]](), 0, 0
    while True:
        try:
            raw[at:].decode()
        except UnicodeDecodeError as error:
            valid = raw[at : at + error.start]
            size += len(valid)
            parts += [valid, b"\xef\xbf\xbd"]
            rows.append((at + error.start, at + error.end, size, size + 3))
            size, at = size + 3, at + error.end
        else:
            return b"".join([*parts, raw[at:]]), np.array(rows, np.int64) if rows else None


# --- The search for a token, or for several in a row ------------------------------------------------------------------


class TokenFinder:
    """Finds a token, or several that follow each other in one document; hits do not overlap.

    Args:
        tokenizer: The tokenizer, or one at the playhead of its first merges.
        ids: The ids of the tokens.

    Raises:
        ConfigError: There is no id, or one is not in the vocabulary.
    """

    def __init__(self, tokenizer: Tokenizer, ids: Sequence[int]) -> None:
        if not ids:
            raise ConfigError("There are no ids to search for: give at least one.", field="ids")
        for token in ids:
            if not tokenizer.tokens.in_use(token):
                raise ConfigError(f"Id {token} is not in the vocabulary.", field="ids")
        self._ids, unknown = list(ids), tokenizer.alphabet.unknown
        special = {token: text.encode() for text, token in tokenizer.special_tokens.items()}
        texts = [special.get(token) or tokenizer.tokens[token] or b"" for token in ids]
        self._encoder = SourceEncoder(tokenizer, b"" if unknown in ids else b"".join(texts))

    def found(self, source: Source, ends: NDArray[np.int64]) -> Iterator[HitBatch]:
        """See `finders.HitFinder`; raises the same as `SourceEncoder.blocks`."""
        before = _Row(_NO_IDS, NOTHING, NOTHING, NOTHING)  # the last tokens, of which the first of a hit may be one
        for block in self._encoder.blocks(source, ends):
            if not len(block.ids):
                yield HitBatch(block.at)
                continue
            rows = self._rows(block.ids, block.begins, block.ends, block.documents_of)
            if len(self._ids) == 1:
                yield HitBatch(block.at, block.begins[rows], block.ends[rows], block.documents_of(rows))
                continue
            beside = len(self._ids) - 1
            seam = before.with_more(_Row.of(block, 0, beside))
            across = _without_overlap(self._rows(seam.ids, seam.begins, seam.ends, seam.documents.take), beside + 1)
            across = across[across < len(before.ids)]
            used = int(across[-1]) + beside + 1 - len(before.ids) if len(across) else 0
            rows = _without_overlap(rows[rows >= used], beside + 1)
            yield HitBatch(
                block.at,
                np.concatenate([seam.begins[across], block.begins[rows]]),
                np.concatenate([seam.ends[across + beside], block.ends[rows + beside]]),
                np.concatenate([seam.documents[across], block.documents_of(rows)]),
            )
            used = int(rows[-1]) + beside + 1 if len(rows) else used
            if len(block.ids) >= beside:
                before = _Row.of(block, max(used, len(block.ids) - beside), len(block.ids))
            else:
                # The block is in the seam, and too short for a hit of its own.
                before = seam.rest(max(len(before.ids) + used if used else 0, len(seam.ids) - beside))

    def _rows(
        self,
        ids: NDArray[np.uint32],
        begins: NDArray[np.int64],
        ends: NDArray[np.int64],
        documents_of: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    ) -> NDArray[np.int64]:
        """Where the ids follow each other in one document, without text between them that was left out."""
        last = len(self._ids) - 1
        rows = np.flatnonzero(ids[: max(0, len(ids) - last)] == self._ids[0])
        for before, token in enumerate(self._ids[1:]):
            after = rows + before + 1
            rows = rows[(ids[after] == token) & (begins[after] == ends[after - 1])]
        return rows[documents_of(rows) == documents_of(rows + last)] if last else rows


class _Row(NamedTuple):
    """Tokens with their places and documents."""

    ids: NDArray[np.uint32]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    documents: NDArray[np.int64]

    @classmethod
    def of(cls, block: Block, first: int, last: int) -> _Row:
        rows = np.arange(first, min(last, len(block.ids)))
        return cls(block.ids[rows], block.begins[rows], block.ends[rows], block.documents_of(rows))

    def with_more(self, more: _Row) -> _Row:
        return _Row(
            np.concatenate([self.ids, more.ids]),
            np.concatenate([self.begins, more.begins]),
            np.concatenate([self.ends, more.ends]),
            np.concatenate([self.documents, more.documents]),
        )

    def rest(self, first: int) -> _Row:
        return _Row(self.ids[first:], self.begins[first:], self.ends[first:], self.documents[first:])


def _without_overlap(rows: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The first of rows that are fewer than `size` apart, and so on."""
    if not np.any(np.diff(rows) < size):
        return rows
    kept, last = list[int](), -size
    for row in rows.tolist():
        if row >= last + size:
            kept.append(row)
            last = row
    return np.array(kept, np.int64)
