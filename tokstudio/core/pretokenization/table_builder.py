"""Joins words that were counted in different tables, such as those of several threads or computers."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.pretokenization.word_table import PADDING, WordTable

_GATHERED = 1 << 20  # words copied by one call of a loop that holds no lock


@dataclass(frozen=True, eq=False)
class Rows:
    """Counted words of one source, each once. Joining overwrites the counts."""

    source: int
    words: NDArray[np.int32]  # [n], numbers in the table that they were counted with
    counts: NDArray[np.int64]  # [n]
    firsts: NDArray[np.int64]  # [n], places

    def by_place(self) -> Rows:
        """The same, sorted by place."""
        if np.all(self.firsts[1:] > self.firsts[:-1]):
            return self
        order = np.argsort(self.firsts, kind="stable")
        return Rows(self.source, self.words.take(order), self.counts.take(order), self.firsts.take(order))


class TablePart(NamedTuple):
    """The words of a table, one after another, with `PADDING`, and the start of each; rows that refer to them."""

    words: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    rows: Sequence[Rows]


class Joined(NamedTuple):
    """The arrays of `WordCounts`."""

    data: NDArray[np.uint8]
    ends: NDArray[np.int64]
    words: NDArray[np.int32]
    sources: NDArray[np.int32]
    counts: NDArray[np.int64]
    firsts: NDArray[np.int64]


class TableBuilder:
    """Collects rows that refer to different tables, and joins them.

    Args:
        table: The words that the first rows refer to.
        rows: These rows.
    """

    def __init__(self, table: WordTable | None = None, rows: Sequence[Rows] = ()) -> None:
        self._table = table or WordTable()
        self._rows = list(rows)

    def add_work(self, part: TablePart) -> Work[None]:
        """Adds the rows of another table."""
        numbers = yield from self._table.join_work(part.words, part.offsets)
        self._rows += [replace(each, words=numbers[each.words]) for each in part.rows]

    def joined_work(self) -> Work[Joined]:
        """All rows, sorted by place, and the words in this order; the builder is empty afterwards."""
        return (yield from sorted_work([(yield from self.part_work())]))

    def part_work(self) -> Work[TablePart]:
        """The words, and the rows, one for each word and source; the builder is empty afterwards."""
        words, offsets, self._table = self._table.words, self._table.offsets, WordTable()
        by_source: dict[int, deque[Rows]] = {}
        for each in self._rows:
            by_source.setdefault(each.source, deque()).append(each)
        made, self._rows = list[Rows](), []
        scratch = np.zeros(len(offsets) - 1, np.int32)
        for source in sorted(by_source):
            parts = by_source.pop(source)
            while len(parts) > 1:
                parts.append(_joined(parts.popleft().by_place(), parts.popleft().by_place(), scratch))
                yield Progress("joining")
            made += parts
        return TablePart(words, offsets, made)


def _joined(one: Rows, other: Rows, scratch: NDArray[np.int32]) -> Rows:
    """The rows of a source in one list; `scratch` has a 0 for each word of the table."""
    from tokstudio.core.kernels.words import join_rows

    size = len(one.words) + len(other.words)
    words, counts, firsts = np.empty(size, np.int32), np.empty(size, np.int64), np.empty(size, np.int64)
    given = [(read_only(each.words), each.counts, read_only(each.firsts)) for each in (one, other)]
    used = join_rows(*given[0], *given[1], scratch, words, counts, firsts)
    return Rows(one.source, words[:used], counts[:used], firsts[:used])


def sorted_work(parts: Sequence[TablePart]) -> Work[Joined]:
    """Sorts rows by place; the tables of several parts have no word in common."""
    from tokstudio.core.kernels.words import gather, renumber

    known = sum(len(part.offsets) - 1 for part in parts)
    rows = list(_renumbered(parts))
    words = np.concatenate([np.empty(0, np.int32), *(each.words for each in rows)])
    counts = np.concatenate([np.empty(0, np.int64), *(each.counts for each in rows)])
    firsts = np.concatenate([np.empty(0, np.int64), *(each.firsts for each in rows)])
    sources = np.repeat(np.array([each.source for each in rows], np.int32), [len(each.words) for each in rows])
    if not np.all(firsts[1:] > firsts[:-1]):
        order = np.argsort(firsts, kind="stable")
        words, sources = words.take(order), sources.take(order)
        counts, firsts = counts.take(order), firsts.take(order)
    order = np.empty(known, np.int64)
    renumber(words, np.full(known, -1, np.int32), order)
    arena, offsets = _words_of(parts)
    data, ends = np.empty(int(offsets[-1]) + PADDING, np.uint8), np.empty(known, np.int64)
    arena, offsets, order = read_only(arena), read_only(offsets), read_only(order)
    for first in range(0, known, _GATHERED):
        gather(arena, offsets, order, data, ends, first, min(known, first + _GATHERED))
        yield Progress("joining", first, known)
    return Joined(data, ends, words, sources, counts, firsts)


def _renumbered(parts: Sequence[TablePart]) -> Iterator[Rows]:
    """The rows with the numbers that the words have in all tables together."""
    before = 0
    for part in parts:
        for each in part.rows:
            yield replace(each, words=each.words + np.int32(before)) if before else each
        before += len(part.offsets) - 1


def _words_of(parts: Sequence[TablePart]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    if len(parts) == 1:
        return parts[0].words, parts[0].offsets
    sizes = [int(part.offsets[-1]) for part in parts]
    begins = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    arena = np.concatenate([part.words[:size] for part, size in zip(parts, sizes, strict=True)])
    offsets = [part.offsets[:-1] + begin for part, begin in zip(parts, begins, strict=False)]
    return arena, np.concatenate([*offsets, begins[-1:]])
