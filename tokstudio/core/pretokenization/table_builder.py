"""Joins words that were counted in different tables, such as those of several threads or computers."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.pretokenization.word_table import MOST_WORDS, PADDING, WordTable

_GATHERED = 1 << 20  # words copied by one call of a loop that holds no lock


@dataclass(frozen=True, eq=False)
class Rows:
    """Counted words of one source, each once."""

    source: int
    words: NDArray[np.int32]  # [n], numbers in the table that they were counted with
    counts: NDArray[np.int64]  # [n]
    firsts: NDArray[np.int64]  # [n], places


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

    def add_work(self, data: NDArray[np.uint8], offsets: NDArray[np.int64], rows: Sequence[Rows]) -> Work[None]:
        """Adds rows whose words are numbered in `data`, uint8 with padding; `offsets` has their starts and one end."""
        n = len(offsets) - 1
        numbers = np.empty(n, np.int32)
        for first in range(0, n, MOST_WORDS):
            last = min(first + MOST_WORDS, n)
            numbers[first:last] = self._table.look_up(data, int(offsets[first]), offsets[first + 1 : last + 1])
            yield Progress("joining", last, n)
        self._rows += [replace(each, words=numbers[each.words]) for each in rows]

    def joined_work(self) -> Work[Joined]:
        """All rows, sorted by place, and the words in this order."""
        return (yield from sorted_work([(yield from self.part_work())]))

    def part_work(self) -> Work[tuple[WordTable, list[Rows]]]:
        """The words, and the rows in no order, one for each word and source."""
        from tokstudio.core.kernels.words import add_rows, take_rows

        known = len(self._table)
        by_source: dict[int, list[Rows]] = {}
        for each in self._rows:
            by_source.setdefault(each.source, []).append(each)
        made, self._rows = list[Rows](), []
        counts = firsts = np.zeros(0, np.int64)
        found = np.empty(known, np.int32)
        for source in sorted(by_source):
            parts = by_source.pop(source)
            if len(parts) > 1:
                if not len(counts):
                    counts, firsts = np.zeros(known, np.int64), np.zeros(known, np.int64)
                used = 0
                for part in parts:
                    more = read_only(part.words), read_only(part.counts), read_only(part.firsts)
                    used = add_rows(*more, counts, firsts, found, used)
                    yield Progress("joining")
                here = Rows(source, found[:used].copy(), np.empty(used, np.int64), np.empty(used, np.int64))
                take_rows(here.words, counts, firsts, here.counts, here.firsts)
                parts = [here]
            made += parts
        return self._table, made


def sorted_work(parts: Sequence[tuple[WordTable, list[Rows]]]) -> Work[Joined]:
    """Sorts rows by place; the tables of several parts have no word in common."""
    from tokstudio.core.kernels.words import gather, renumber

    known = sum(len(table) for table, _ in parts)
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
    arena, offsets = _words_of([table for table, _ in parts])
    data, ends = np.empty(int(offsets[-1]) + PADDING, np.uint8), np.empty(known, np.int64)
    arena, offsets, order = read_only(arena), read_only(offsets), read_only(order)
    for first in range(0, known, _GATHERED):
        gather(arena, offsets, order, data, ends, first, min(known, first + _GATHERED))
        yield Progress("joining", first, known)
    return Joined(data, ends, words, sources, counts, firsts)


def _renumbered(parts: Sequence[tuple[WordTable, list[Rows]]]) -> Iterator[Rows]:
    """The rows with the numbers that the words have in all tables together."""
    before = 0
    for table, rows in parts:
        for each in rows:
            yield replace(each, words=each.words + np.int32(before)) if before else each
        before += len(table)


def _words_of(tables: Sequence[WordTable]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    if len(tables) == 1:
        return tables[0].words, tables[0].offsets
    sizes = [int(table.offsets[-1]) for table in tables]
    begins = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    arena = np.concatenate([table.words[:size] for table, size in zip(tables, sizes, strict=True)])
    offsets = [table.offsets[:-1] + begin for table, begin in zip(tables, begins, strict=False)]
    return arena, np.concatenate([*offsets, begins[-1:]])
