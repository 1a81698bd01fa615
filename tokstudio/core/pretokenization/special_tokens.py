"""Special tokens: the allowed ones, and cutting them out of text, leftmost first, then longest."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

import numpy as np

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work, together
from tokstudio.core.base.records import dataclass
from tokstudio.core.pretokenization.word_table import PADDING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.corpus.source import Source

MOST_PIECES = 1 << 12
BUDGET = 1 << 22
_MOST_FINDERS = 16

AllowedSpecial = Literal["all"] | Collection[str]


@dataclass(frozen=True, eq=False)
class Pieces:
    """Pieces of text between special tokens."""

    starts: NDArray[np.int64]  # [n], the start of each piece; a piece may be empty
    stops: NDArray[np.int64]  # [n], the end of each piece
    specials: NDArray[np.int32]  # [n], the special token after each piece; -1 at the end of a document

    def groups(self, size: int) -> Iterator[tuple[int, int]]:
        """Yields groups of pieces as first and stop: at most `size` bytes, or one longer piece."""
        first, n = 0, len(self.starts)
        while first < n:
            last = first + 1
            if last < n:
                stops = self.stops[first : first + MOST_PIECES]
                last = max(last, first + int(np.searchsorted(stops, int(self.starts[first]) + size, side="right")))
            yield first, last
            first = last

    def joined(self, data: NDArray[np.uint8], first: int, last: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The text of a group of pieces, with padding; and the end of each piece there."""
        starts, stops = self.starts[first:last], self.stops[first:last]
        ends = np.cumsum(stops - starts, dtype=np.int64)
        text = np.zeros(int(ends[-1]) + PADDING, np.uint8)
        span = np.asarray(data[int(starts[0]) : int(stops[-1])])
        if len(span) > ends[-1]:
            lengths = np.empty(2 * len(starts) - 1, np.int64)
            lengths[::2], lengths[1::2] = stops - starts, starts[1:] - stops[:-1]
            span = span[np.repeat(np.arange(len(lengths)) % 2 == 0, lengths)]
        text[: ends[-1]] = span
        return text, ends


class SpecialFinder:
    """Finds special tokens, distinct and none empty; `texts` has them in the order of their numbers in `Pieces`."""

    def __init__(self, specials: Iterable[bytes]) -> None:
        self.texts = tuple(sorted(specials))
        firsts = [text[0] for text in self.texts]
        self._first = np.searchsorted(firsts, np.arange(257)).astype(np.int32)
        self._bytes = np.frombuffer(b"".join(self.texts), np.uint8)
        self._offsets = np.array(list(accumulate(map(len, self.texts), initial=0)), np.int64)

    def __len__(self) -> int:
        return len(self.texts)

    def cut_work(self, data: NDArray[np.uint8], ends: NDArray[np.int64]) -> Work[Pieces]:
        """Cuts documents, uint8 with int64 ends, at the special tokens, none of which extends over two documents."""
        if not self.texts:
            starts = np.zeros(len(ends), np.int64)
            starts[1:] = ends[:-1]
            return Pieces(starts, ends, ~np.zeros(len(ends), np.int32))
        from tokstudio.core.kernels.documents import cut_specials

        state = np.zeros(3, np.int64)
        buffers = np.empty(MOST_PIECES, np.int64), np.empty(MOST_PIECES, np.int64), np.empty(MOST_PIECES, np.int32)
        parts: list[Pieces] = []
        tables = (self._first, read_only(self._bytes), self._offsets)
        longest = max(map(len, self.texts))
        while state[1] < len(ends):
            # Only this part of a `FileText` is read into memory.
            at = int(state[0])
            window = read_only(data[at : at + BUDGET + longest])
            state[[0, 2]] -= at
            first = int(state[1])
            last = int(np.searchsorted(ends, at + len(window), side="right")) + 1
            # Each document makes at least one piece.
            last = min(last, first + MOST_PIECES)
            state[1] = 0
            n = cut_specials(window, ends[first:last] - at, *tables, *buffers, state, BUDGET)
            state += (at, first, at)
            if n:
                parts.append(Pieces(buffers[0][:n] + at, buffers[1][:n] + at, buffers[2][:n].copy()))
            yield Progress("cutting", int(state[0]), len(data))
        return Pieces(
            np.concatenate([np.empty(0, np.int64), *(part.starts for part in parts)]),
            np.concatenate([np.empty(0, np.int64), *(part.stops for part in parts)]),
            np.concatenate([np.empty(0, np.int32), *(part.specials for part in parts)]),
        )


def any_of(specials: Collection[str]) -> re.Pattern[bytes] | None:
    """Finds any of these special tokens in a short text; None where there are none."""
    return re.compile(b"|".join(re.escape(token.encode()) for token in sorted(specials))) if specials else None


class SpecialFinders:
    """The finders for sets of a vocabulary's special tokens (with their ids), made on first use."""

    def __init__(self, specials: Mapping[str, int]) -> None:
        self._specials = specials
        self._made: dict[frozenset[str], SpecialFinder] = {}

    def allowed(self, allowed: AllowedSpecial) -> frozenset[str]:
        """The allowed special tokens as a set; raises ConfigError where one is unknown."""
        if allowed == "all":
            return frozenset(self._specials)
        if isinstance(allowed, str):
            raise ConfigError('Give the allowed special tokens as a list, or "all".')
        chosen = frozenset(allowed)
        for token in sorted(chosen - self._specials.keys()):
            raise ConfigError(f'There is no special token "{token}".')
        return chosen

    def of(self, allowed: AllowedSpecial) -> SpecialFinder:
        """The finder of the allowed special tokens; raises the same as `allowed`."""
        chosen = self.allowed(allowed)
        finder = self._made.get(chosen)
        if finder is None:
            finder = SpecialFinder(token.encode() for token in chosen)
            if len(self._made) >= _MOST_FINDERS:
                self._made.clear()
            self._made[chosen] = finder
        return finder


# --- Cuts special tokens out of the sources of a corpus, and counts them ----------------------------------------------


def cut_sources_work(
    sources: Sequence[Source], special_tokens: Iterable[str]
) -> Work[tuple[list[tuple[Source, Pieces]], list[dict[str, int]]]]:
    """Finds the text between special tokens in every source.

    Returns:
        Each source with its pieces, word counts without special tokens; and how often each special token was cut out of
        each source.
    """
    specials = SpecialFinder(token.encode() for token in special_tokens)
    works = ((len(source.data), specials.cut_work(source.data, source.ends)) for source in sources)
    cut = list(zip(sources, (yield from together("cutting", works)), strict=True))
    texts = [text.decode() for text in specials.texts]
    cut_out = [dict(zip(texts, _cut_out(*each, len(specials)).tolist(), strict=True)) for each in cut]
    cut = [(source if source.counts is None else _cut_counts(source, pieces), pieces) for source, pieces in cut]
    return cut, cut_out


def _cut_out(source: Source, pieces: Pieces, specials: int) -> NDArray[np.int64]:
    """How often each special token was cut out; int64 [specials]."""
    marked = np.flatnonzero(pieces.specials >= 0)
    numbers = pieces.specials[marked]
    if source.counts is None:
        return np.bincount(numbers, minlength=specials)
    counts = np.zeros(specials, np.int64)
    np.add.at(counts, numbers, source.counts[documents_of(pieces)[marked]])
    return counts


def _cut_counts(source: Source, pieces: Pieces) -> Source:
    """The same word counts without special tokens: the parts of a word before and after one become words."""
    assert source.counts is not None
    if len(pieces.starts) == source.documents:
        return source
    document = documents_of(pieces)
    kept = np.flatnonzero(pieces.stops > pieces.starts)
    words = Pieces(pieces.starts[kept], pieces.stops[kept], pieces.specials[kept])
    if len(kept):
        padded, ends = words.joined(source.data, 0, len(kept))
        data = padded[: int(ends[-1])]
    else:
        data, ends = np.empty(0, np.uint8), np.empty(0, np.int64)
    places = None if source.places is None else source.places_at(words.starts)
    return replace(source, data=data, ends=ends, counts=source.counts[document[kept]], places=places)


def documents_of(pieces: Pieces) -> NDArray[np.int64]:
    """The document of each piece."""
    ends_document = pieces.specials < 0
    return np.cumsum(ends_document) - ends_document
