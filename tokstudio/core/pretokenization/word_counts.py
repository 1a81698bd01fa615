"""Counted pre-tokens: how often each distinct word occurs in each source, and where it occurs first.

The table is small beside the text, so a corpus is counted once and trained on with any weights. Adding counts and
taking the least place is associative and commutative, so parts may be counted in any order and anywhere.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.counts_file import CountedRows, CountFacts, RowBlock, SourceTotals, write_counted_rows_work
from tokstudio.core.corpus.source import CountedWith
from tokstudio.core.pretokenization.word_table import Joined, Partitions, Rows, TableBuilder, TablePart
from tokstudio.core.text.utf8 import AnyPath

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = 1 << 40  # places from the beginning of one file to that of the next


@dataclass(frozen=True, eq=False)
class Sequences:
    """The byte sequences that merges are made in: no merge crosses from one sequence into another."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]  # [n], the start of each sequence
    stops: NDArray[np.int64]  # [n], the end of each sequence
    counts: NDArray[np.int64] | None = None  # [n], how often each occurs; None where each occurs once

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64 [n], the bytes of each sequence."""
        return self.stops - self.starts

    @property
    def times(self) -> NDArray[np.int64]:
        """int64 [n], how often each occurs."""
        return np.ones(len(self.starts), np.int64) if self.counts is None else self.counts

    @property
    def size(self) -> int:
        """The bytes of all occurrences."""
        return int((self.lengths * self.times).sum())


@dataclass(frozen=True, eq=False)
class WordCounts:
    """The table: a row for each word and source, in the order of places.

    A place is the number of a file x 2^40 + an offset in its text. No two rows have the same place.

    Attributes:
        data: uint8, the distinct words one after another, followed by padding.
        ends: int64 [words], the end of each word.
        words: int32 [rows], the word of each row; words are numbered in the order of their first rows.
        sources: int32 [rows], the source of each row: an entry of the corpus (see `Corpus.weights`).
        counts: int64 [rows], how often the word occurs in the source, at least once.
        firsts: int64 [rows], the place of the word's first occurrence in the source.
        totals: One for each source.
        settings: The settings that the words were counted with.
        cut_out: How often each special token was cut out of the text.
        files: The number of files.
    """

    data: NDArray[np.uint8]
    ends: NDArray[np.int64]
    words: NDArray[np.int32]
    sources: NDArray[np.int32]
    counts: NDArray[np.int64]
    firsts: NDArray[np.int64]
    totals: tuple[SourceTotals, ...]
    settings: CountedWith
    cut_out: tuple[tuple[str, int], ...] = ()
    files: int = 1

    def __post_init__(self) -> None:
        for array in (self.data, self.ends, self.words, self.sources, self.counts, self.firsts):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.ends)

    def __sizeof__(self) -> int:
        """Bytes of memory; a Dask cluster decides by them which worker goes on with a table."""
        arrays = self.data, self.ends, self.words, self.sources, self.counts, self.firsts
        return object.__sizeof__(self) + sum(array.nbytes for array in arrays)

    @property
    def facts(self) -> CountFacts:
        """What its file says of all rows."""
        return CountFacts(self.totals, self.settings, dict(self.cut_out))

    def weighted(self, weights: Sequence[int]) -> Sequences:
        """The words with their counts times the weight of each source, in the order of first occurrence.

        `weights` has a whole number for each source. Words that occur only in sources of weight 0 are left out.
        """
        starts = np.zeros(len(self), np.int64)
        starts[1:] = self.ends[:-1]
        if len(self.words) == len(self) and set(weights) == {1}:
            return Sequences(self.data, starts, self.ends, self.counts)
        from tokstudio.core.kernels.words import weigh

        totals, rows = np.zeros(len(self), np.int64), np.zeros(len(self), np.int64)
        factors = np.array(weights, np.int64)
        weigh(read_only(self.words), read_only(self.sources), read_only(self.counts), factors, totals, rows)
        if np.all(factors > 0):
            return Sequences(self.data, starts, self.ends, totals)
        order = np.flatnonzero(totals)
        order = order[np.argsort(rows[order])]
        return Sequences(self.data, starts[order], self.ends[order], totals[order])

    def moved(self, sources: int, files: int) -> WordCounts:
        """The same table as a part of a larger one, after so many sources and files."""
        return self.renumbered(range(sources, sources + len(self.totals)), files)

    def renumbered(self, sources: Sequence[int], files: int) -> WordCounts:
        """The same where the sources have these numbers in the larger table."""
        totals = dict(zip(sources, self.totals, strict=True))
        return replace(
            self,
            sources=np.array(sources, np.int32)[self.sources],
            firsts=self.firsts + files * FILE,
            totals=tuple(totals.get(number, _NO_SOURCE) for number in range(max(totals, default=-1) + 1)),
            files=self.files + files,
        )

    def at_least(self, least: int) -> WordCounts:
        """The table of the words that occur so often in all sources together; the totals stay those of all words.

        That is for a whole table, or one that `divided` gave of it: words that are rare in every part of a corpus may
        be frequent in all.
        """
        whole = np.zeros(len(self), np.int64)
        np.add.at(whole, self.words, self.counts)
        kept = whole >= least
        rows, lengths = kept[self.words], np.diff(self.ends, prepend=0)
        size = int(self.ends[-1]) if len(self) else 0
        numbers = (np.cumsum(kept) - 1).astype(np.int32)
        return replace(
            self,
            data=np.concatenate([self.data[:size][np.repeat(kept, lengths)], self.data[size:]]),
            ends=np.cumsum(lengths[kept], dtype=np.int64),
            words=numbers[self.words[rows]],
            sources=self.sources[rows],
            counts=self.counts[rows],
            firsts=self.firsts[rows],
        )

    def divided(self, partitions: int) -> list[WordCounts]:
        """Divides the table by a hash of the word, the same for any table; the totals of each part stay those of all.

        The tables of the parts of a corpus can so be merged by partition, each with all that is counted of its words.
        """
        parts, tables = Partitions(self.data, np.concatenate([[0], self.ends]), partitions), list[WordCounts]()
        for number, here in enumerate(parts.of_rows(self.words)):
            words, offsets = parts.words(number)
            rows = parts.numbers[self.words[here]], self.sources[here], self.counts[here], self.firsts[here]
            tables.append(replace(self, **Joined(words, offsets[1:], *rows)._asdict()))
        return tables

    def between(self, first: int, last: int) -> RowBlock:
        """The rows with places from `first` to before `last`, copied."""
        from tokstudio.core.kernels.words import gather

        here = slice(*np.searchsorted(self.firsts, (first, last)).tolist())
        words, offsets = self.words[here].astype(np.int64), np.concatenate([[0], self.ends])
        ends = np.empty(len(words), np.int64)
        text = np.empty(int((offsets[words + 1] - offsets[words]).sum()), np.uint8)
        gather(read_only(self.data), read_only(offsets), read_only(words), text, ends, 0, len(words))
        return RowBlock(text, ends, self.sources[here].copy(), self.counts[here].copy(), self.firsts[here].copy())

    def save(self, path: AnyPath) -> Path:
        """Writes the table to a Parquet file; raises FormatError where it cannot be written."""
        return finish(self.save_work(path))

    def save_work(self, path: AnyPath) -> Work[Path]:
        """Does the same as `save` in bounded pieces."""
        arrays = self.data, self.ends, self.sources, self.counts, self.firsts
        content = CountedRows(*arrays, self.totals, self.settings, dict(self.cut_out), self.words)
        return (yield from write_counted_rows_work(content, Path(path)))

    @classmethod
    def merge(cls, parts: Sequence[WordCounts]) -> WordCounts:
        """Joins the tables of several parts of a corpus, in any order; see `moved`.

        Raises:
            CorpusError: There is none, they were counted with different settings, or two have the same places.
        """
        return finish(cls.merge_work(parts))

    @classmethod
    def merge_work(cls, parts: Sequence[WordCounts]) -> Work[WordCounts]:
        """Does the same as `merge` in bounded pieces."""
        if not parts:
            raise CorpusError("No word counts given: name at least one table.")
        if any(part.settings != parts[0].settings for part in parts):
            raise CorpusError("The word counts were made with different settings: count the texts again.")
        builder = TableBuilder()
        for part in parts:
            yield from builder.add_work(_table_of(part))
        totals = [_added(each) for each in zip_longest(*(part.totals for part in parts), fillvalue=_NO_SOURCE)]
        cut_out = Counter[str]()
        for part in parts:
            cut_out.update(dict(part.cut_out))
        joined = yield from builder.joined_work()
        _refuse_equal(joined.firsts)
        files = max(part.files for part in parts)
        return cls(*joined, tuple(totals), parts[0].settings, tuple(sorted(cut_out.items())), files)


_NO_SOURCE = SourceTotals("", 0, 0)


def _added(parts: Sequence[SourceTotals]) -> SourceTotals:
    """The facts about a source of which several parts were counted."""
    name = next((part.name for part in parts if part.name), "")
    return SourceTotals(name, sum(part.bytes for part in parts), sum(part.documents for part in parts))


def sorted_rows(blocks: Sequence[RowBlock]) -> RowBlock:
    """The rows of several blocks, at least one, in the order of places; raises CorpusError where two have the same."""
    from tokstudio.core.kernels.words import gather

    rows = RowBlock.joined(blocks)
    order = np.argsort(rows.firsts, kind="stable")
    text, ends = np.empty_like(rows.text), np.empty_like(rows.ends)
    offsets = np.concatenate([[0], rows.ends])
    gather(read_only(rows.text), read_only(offsets), read_only(order), text, ends, 0, len(order))
    firsts = rows.firsts.take(order)
    _refuse_equal(firsts)
    return RowBlock(text, ends, rows.sources.take(order), rows.counts.take(order), firsts)


def _refuse_equal(firsts: NDArray[np.int64]) -> None:
    if not np.all(firsts[1:] > firsts[:-1]):
        raise CorpusError("Two tables have words of the same file: give each its own number of source and file.")


def _table_of(table: WordCounts) -> TablePart:
    order = np.argsort(table.sources, kind="stable")
    borders = np.flatnonzero(np.diff(table.sources[order])) + 1
    rows = [
        Rows(int(table.sources[rows[0]]), table.words[rows], table.counts[rows], table.firsts[rows])
        for rows in np.split(order, borders)
        if len(rows)
    ]
    return TablePart(table.data, np.concatenate([[0], table.ends]), rows)
