"""Counts the distinct pre-tokens of a corpus in threads, and numbers them in the order of their first occurrence."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import closing, suppress
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.arrays import grown, read_only
from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.machine import free_memory, processors
from tokstudio.core.base.progress import Progress, Work, finish, part_of
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.subprocesses import ChildProcess
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.counts_file import SourceTotals
from tokstudio.core.corpus.open_sources import SkippedFiles, read_work
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.readers.folders import Entry, Fetching, at_hand_work, expand_work
from tokstudio.core.corpus.source import CountedWith, EntryNumbers, Source, TextNumbers, entries, entry_name
from tokstudio.core.hub.fetching_texts import connection
from tokstudio.core.pretokenization.patterns import Splitter, check_pattern, cut, splitter, word_ends
from tokstudio.core.pretokenization.special_tokens import Pieces, cut_sources_work
from tokstudio.core.pretokenization.word_counts import FILE, WordCounts
from tokstudio.core.pretokenization.word_table import (
    MOST_WORDS,
    PADDING,
    Joined,
    Rows,
    Spill,
    TableBuilder,
    TablePart,
    WordTable,
)
from tokstudio.core.text.utf8 import AnyPath

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- Counts the pre-tokens of a corpus or of a part of it, for training later or elsewhere ----------------------------


def count(
    corpus: Corpus,
    pattern: str,
    special_tokens: Iterable[str] = (),
    documents: str = "file",
    threads: int | None = None,
) -> WordCounts:
    """Counts the distinct pre-tokens of each source of a corpus.

    The pattern is the name of one or a regular expression, but not "none"; special tokens are cut out before. The table
    keeps what a document of the corpus is, "file" or "line". It does not depend on the threads, None for one per core.

    Raises:
        ConfigError: The pattern is invalid or "none".
        CorpusError: A source cannot be read.
    """
    return finish(count_corpus_work(corpus, CountedWith(pattern, tuple(special_tokens), documents), threads))


def count_shard(
    source: Source | AnyPath,
    pattern: str,
    special_tokens: Iterable[str] = (),
    documents: str = "file",
    *,
    reading: Reading | None = None,
    number: int = 0,
    file: int = 0,
    threads: int | None = None,
) -> WordCounts:
    """Counts one file of a larger corpus as `count`; `WordCounts.merge` joins such tables from anywhere, in any order.

    `number` is that of the source in the whole corpus, `file` that of this file in the order in which one pass would
    read all files; both count from 0. The text of a file is not kept.

    Raises:
        ConfigError: The pattern is invalid or "none".
        CorpusError: The source cannot be read.
    """
    if isinstance(source, Source):
        counts = count(Corpus((source,)), pattern, special_tokens, documents, threads)
    else:
        job = Counting(CountedWith(pattern, tuple(special_tokens), documents), reading or Reading())
        counts = finish(job.count_work([source], threads)).counts
    return counts.moved(number, file)


@dataclass(frozen=True, eq=False)
class CountedPart:
    """The table of adjacent files of a corpus."""

    counts: WordCounts
    sources: tuple[Source, ...]  # without their texts


def numbers_of_parts(parts: Sequence[tuple[Sequence[Source], int]]) -> list[tuple[list[int], int]]:
    """What `WordCounts.renumbered` takes for the tables of adjacent parts of a corpus, to merge them as of one pass.

    Each part is given by its sources and its number of files.
    """
    # The files of one large folder are one source, and so are parts that are joined by value.
    whole = iter(entries([source for sources, _ in parts for source in sources]))
    numbers, before = list[tuple[list[int], int]](), 0
    for sources, files in parts:
        of_part = {own: number for (_, own), (_, number) in zip(entries(sources), whole, strict=False)}
        numbers.append(([of_part[own] for own in range(len(of_part))], before))
        before += files
    return numbers


@dataclass(frozen=True)
class Counting:
    """How files are read and counted; raises ConfigError where the pattern is invalid or "none"."""

    settings: CountedWith
    reading: Reading = field(default_factory=Reading)
    encoding: str | None = None

    def __post_init__(self) -> None:
        _check_pattern(self.settings.pattern)

    def count_work(self, files: Sequence[AnyPath | Entry], threads: int | None = None) -> Work[CountedPart]:
        """Counts files and folders one after another in bounded pieces, and keeps no text.

        Args:
            files: At least one.
            threads: As of `count`.

        Raises:
            CorpusError: There are none, or one cannot be read.
        """
        entries: list[Entry] = []
        fetching = Fetching(self.reading, self.encoding)
        for file in files:
            entries += [file] if isinstance(file, Entry) else (yield from expand_work([file], fetching=fetching))
        if not entries:
            raise CorpusError("No files given: name at least one.")
        sizes, done = list(map(stored_bytes, entries)), 0
        cut_out, sources, skipped = Counter[str](), list[Source](), SkippedFiles()
        with WordCounter(self.settings, sum(sizes), threads) as counter, closing(connection()) as process:
            for entry, size in zip(entries, sizes, strict=True):
                work = self._count_entry_work(entry, process, counter, cut_out, sources, skipped)
                yield from part_of(work, "counting", done, size, sum(sizes))
                done += size
            # Of a corpus that is counted in parts, a part may have no text.
            told = skipped.noted(sources) if sources else ()
            return CountedPart((yield from counter.made_work(cut_out)), told)

    def _count_entry_work(
        self,
        entry: Entry,
        process: ChildProcess,
        counter: WordCounter,
        cut_out: Counter[str],
        sources: list[Source],
        skipped: SkippedFiles,
    ) -> Work[None]:
        entries, fetched = yield from at_hand_work(entry, Fetching(self.reading, self.encoding), process)
        try:
            for one in entries:
                read: Sequence[Source] = ()
                with skipped.if_without_text(one):
                    read = yield from read_work(one, self.settings.documents, self.encoding, self.reading)
                for source in read:
                    none, no_ends = np.empty(0, np.uint8), np.empty(0, np.int64)
                    sources.append(replace(source, data=none, ends=no_ends, places=None, counts=None, rows=None))
                    [(text, pieces)], [cut] = yield from cut_sources_work([source], self.settings.special_tokens)
                    cut_out.update(cut)
                    yield from counter.add_work(text, pieces)
            if fetched is not None:
                yield from counter.wait_work()
        finally:
            if fetched is not None:
                with suppress(OSError):
                    fetched.remove()


def count_corpus_work(corpus: Corpus, settings: CountedWith, threads: int | None = None) -> Work[WordCounts]:
    """Does the same as `count` in bounded pieces."""
    _check_pattern(settings.pattern)
    cut, cut_out = yield from cut_sources_work(corpus.sources, settings.special_tokens)
    total = Counter[str]()
    for each in cut_out:
        total.update(each)
    return (yield from count_work(cut, settings, threads, total))


def _check_pattern(pattern: str) -> None:
    check_pattern(pattern)
    if pattern == "none":
        raise ConfigError("Without a pattern, words cannot be counted: choose a pattern, such as gpt2.")


def stored_bytes(entry: Entry) -> int:
    """The size of the files of an entry; at least 1."""
    size = 1 + entry.size
    for path in entry.shards or (entry.path,):
        with suppress(OSError, ValueError):
            size += os.path.getsize(path)
    return size


CHUNK = 1 << 21  # bytes: some 10 ms
_DOCUMENTS = 1 << 15  # at most in a chunk
_MOST_THREADS = 8
_PATIENCE = 0.02  # seconds to wait for a thread between two reports of progress
_CUT_WINDOW = 1 << 12
_NOTHING_CUT_OUT: Mapping[str, int] = MappingProxyType({})
MOST_OF_FREE = 0.3  # for the counts of all threads; more are written to the disk
_NO_LIMIT = 1 << 62


def count_work(
    texts: Sequence[tuple[Source, Pieces]],
    settings: CountedWith,
    threads: int | None = None,
    cut_out: Mapping[str, int] = _NOTHING_CUT_OUT,
    by_source: bool = True,
) -> Work[WordCounts]:
    """Counts the pre-tokens of sources, each given with its text between special tokens; given word counts are added.

    The pattern is not "none". The result does not depend on the number of threads; None is one per core.
    """
    with WordCounter(settings, sum(len(source.data) for source, _ in texts), threads, by_source) as counter:
        for source, pieces in texts:
            yield from counter.add_work(source, pieces)
        return (yield from counter.made_work(cut_out))


class WordCounter:
    """A context manager that counts the pre-tokens of one source after another, in threads; see `count_work`.

    Args:
        settings: The pattern is not "none".
        size: Bytes of text in all, as far as they are known.
        threads: At most so many; None is one per core.
        by_source: Whether the table tells the sources apart, which takes memory for each word of each source.
    """

    def __init__(self, settings: CountedWith, size: int, threads: int | None = None, by_source: bool = True) -> None:
        self._by_source = by_source
        if threads is None:
            threads = min(processors(), _MOST_THREADS)
        self._settings = settings
        self._splitter = splitter(settings.pattern)
        self._threads = max(1, min(threads, size // (2 * CHUNK)))
        self._pool = ThreadPoolExecutor(self._threads) if self._threads > 1 else None
        self._local = threading.local()
        self._busy: deque[Future[None]] = deque()
        self._spill = Spill()
        free = free_memory()
        self._most = _NO_LIMIT if free is None else int(MOST_OF_FREE * free) // self._threads
        self._counters = [_Counter(self._spill, self._most)]
        self._free = deque(self._counters)
        self._totals: list[SourceTotals] = []
        self._entries = EntryNumbers()
        self._files = self._base = 0
        self._texts, self._text = TextNumbers(), -1  # the parts of a divided text share a base
        self._progress = Progress("counting", 0, size)
        self._before = 0  # bytes of the sources before

    def __enter__(self) -> WordCounter:
        return self

    def __exit__(self, *_: object) -> None:
        self._dismiss()
        self._spill.close()

    def add_work(self, source: Source, pieces: Pieces) -> Work[None]:
        """Counts a source; the last part of it may be counted later, in a thread."""
        place = self._next_place(source)
        if source.counts is not None or self._splitter.kind < 0:
            yield from self._wait_work(0)
            counter = self._counters[0]
            rows_of_source = counter.add_given(source, place)
            for end in (
                rows_of_source
                if source.counts is not None
                else counter.add_split(source, pieces, self._splitter, place)
            ):
                yield self._progress_at(end)
        else:
            for chunk in _chunks(place, source.data, pieces):
                yield from self._take_work(chunk)
                yield self._progress_at(chunk.parts[0][0] - 2 * CHUNK * self._threads)
        self._before += len(source.data)

    def wait_work(self) -> Work[None]:
        """Waits until all that was added is counted, after which its text is needed no more."""
        yield from self._wait_work(0)

    def made_work(self, cut_out: Mapping[str, int] = _NOTHING_CUT_OUT) -> Work[WordCounts]:
        """The table of all sources; nothing can be added afterwards."""
        yield from self._wait_work(0)
        self._dismiss()
        joined = yield from self._joined_work()
        return WordCounts(*joined, tuple(self._totals), self._settings, tuple(sorted(cut_out.items())), self._files)

    def _next_place(self, source: Source) -> _Place:
        """Adds a source to the totals."""
        entry = self._entries.number(source) if self._by_source else 0
        if entry == len(self._totals):
            self._totals.append(SourceTotals(entry_name(source) if self._by_source else "", 0, 0))
        total = self._totals[entry]
        added = SourceTotals(total.name, total.bytes + source.bytes, total.documents + source.documents)
        self._totals[entry] = added
        if (text := self._texts.number(source)) != self._text:
            self._base, self._text = self._files, text
        inner = 0 if source.places is None else int(source.places.max(initial=0)) // FILE
        self._files = max(self._files, self._base + inner + 1)
        return _Place(replace(source, data=np.empty(0, np.uint8)), entry, self._base * FILE)

    def _progress_at(self, position: int) -> Progress:
        """The progress when the text of a source before `position` is counted; it never decreases."""
        size, position = self._progress.total, self._before + position
        self._progress = Progress("counting", min(size, max(self._progress.done, position)), size)
        return self._progress

    def _take_work(self, chunk: _Chunk) -> Work[None]:
        """Submits a chunk; waits while each thread has one, and another waiting."""
        if self._pool is None:
            self._count(chunk)
            return
        self._busy.append(self._pool.submit(self._count, chunk))
        yield from self._wait_work(2 * self._threads)

    def _dismiss(self) -> None:
        """Ends the threads, and drops chunks that were not begun."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _wait_work(self, most: int) -> Work[None]:
        """Waits until at most so many chunks are left to count."""
        while len(self._busy) > most:
            try:
                self._busy[0].result(_PATIENCE)
                self._busy.popleft()
            except NotYet:
                yield self._progress

    def _count(self, chunk: _Chunk) -> None:
        # A thread keeps its counter, so that the counter receives its chunks in order.
        if not hasattr(self._local, "counter"):
            try:
                self._local.counter = self._free.popleft()
            except IndexError:
                self._local.counter = _Counter(self._spill, self._most)
                self._counters.append(self._local.counter)
        self._local.counter.count(chunk, self._splitter)

    def _joined_work(self) -> Work[Joined]:
        """Joins all counts; each counter is released before its words are joined."""
        self._counters.sort(key=lambda counter: len(counter.table))
        if not self._spill.is_empty:
            for counter in self._counters:
                counter.spill()
                yield Progress("joining")
            return (yield from self._spill.joined_work())
        builder = TableBuilder(*self._counters.pop().taken())
        while self._counters:
            table, rows = self._counters.pop(0).taken()
            part = TablePart(table.words, table.offsets, rows)
            del table, rows  # the joined arrays are as large
            yield from builder.add_work(part)
        return (yield from builder.joined_work())


@dataclass(frozen=True, eq=False)
class _Place:
    """Where a source stands in the whole corpus."""

    source: Source  # without its text
    entry: int  # the number of its entry
    base: int  # the place of its beginning

    def of(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of offsets in the source: the number of a file x 2^40 + an offset there."""
        return self.source.places_at(offsets) + self.base

    def shifts(self, begins: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.int64]:
        """What is added to an offset in parts of documents for its place; each begins there, and ends at its stop."""
        return self.of(begins) - np.concatenate([[0], stops[:-1]])


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Text of a source to be counted: parts of documents."""

    place: _Place
    data: NDArray[np.uint8]
    parts: Sequence[tuple[int, int]]

    def laid_out(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The parts one after another, with padding; and the end of each."""
        lengths = [stop - start for start, stop in self.parts]
        ends = np.cumsum(lengths, dtype=np.int64)
        size, first, last = int(ends[-1]) + PADDING, self.parts[0][0], self.parts[-1][1]
        parts = self.parts
        if last - first == ends[-1]:
            # What follows serves as padding.
            text = np.asarray(self.data[first : last + PADDING])
            if len(text) == size:
                return text, ends
            parts = [(first, last)]
        text = np.empty(size, np.uint8)
        text[-PADDING:] = 0
        at = 0
        for start, stop in parts:
            text[at : at + stop - start] = self.data[start:stop]
            at += stop - start
        return text, ends


def _chunks(place: _Place, data: NDArray[np.uint8], pieces: Pieces) -> Iterator[_Chunk]:
    """Groups short pieces of text and splits long ones, so that each chunk is about `CHUNK` long."""
    parts: list[tuple[int, int]] = []
    size = 0
    for first in range(0, len(pieces.starts), _DOCUMENTS):
        here = slice(first, first + _DOCUMENTS)
        for start, stop in zip(pieces.starts[here].tolist(), pieces.stops[here].tolist(), strict=True):
            at = start
            while at < stop:
                end = stop if stop - at <= CHUNK else _cut(data, at + CHUNK, stop)
                parts.append((at, end))
                size += end - at
                at = end
                if size >= CHUNK or len(parts) == _DOCUMENTS:
                    yield _Chunk(place, data, parts)
                    parts, size = [], 0
    if parts:
        yield _Chunk(place, data, parts)


def _cut(data: NDArray[np.uint8], at: int, stop: int) -> int:
    """The next place to split text, reading no more of it than necessary: it may be in a file."""
    size = _CUT_WINDOW
    while True:
        # A character takes four bytes at most.
        start, end = max(0, at - 4), min(stop, at + size)
        window = np.asarray(data[start:end])
        place = start + cut(window, at - start, len(window))
        if place < end or end == stop:
            return place
        size *= 4


class _Counter:
    """The counts of one thread, which receives chunks in the order of the sources.

    That is not the order of places where a text is divided: what comes later may lie before.
    """

    def __init__(self, spill: Spill, most: int) -> None:
        self._place: _Place | None = None
        self._spill, self._most = spill, most
        self._start()

    def _start(self) -> None:
        self.rows: list[Rows] = []
        self.table = WordTable(1 << 12)
        self._begin_counts()

    def _begin_counts(self) -> None:
        self._counts = np.zeros(self.table.room, np.int64)
        self._firsts = np.zeros(self.table.room, np.int64)
        self._found = np.zeros(self.table.room, np.int32)
        self._used = 0

    def count(self, chunk: _Chunk, splitter: Splitter) -> None:
        """Splits a chunk and counts its pre-tokens."""
        self._begin(chunk.place)
        text, stops = chunk.laid_out()
        shifts = chunk.place.shifts(np.array([start for start, _ in chunk.parts], np.int64), stops)
        at = 0
        for ends, _ in word_ends(splitter, text, at, stops):
            self._add(text, at, ends, stops, shifts)
            at = int(ends[-1])

    def _begin(self, place: _Place) -> None:
        """Counts for a source from now on."""
        if self._place is not None and place.entry != self._place.entry:
            self.end()
        self._place = place
        if self._size() > self._most:
            self.spill()

    def spill(self) -> None:
        """Writes all counts so far to the disk, and begins anew."""
        self._spill.add(*self.taken())

    def taken(self) -> tuple[WordTable, list[Rows]]:
        """All counts so far, which the counter forgets."""
        self.end()
        table, rows = self.table, self.rows
        self._start()
        return table, rows

    def _size(self) -> int:
        """Bytes of memory for the counts so far."""
        in_rows = sum(each.words.nbytes + each.counts.nbytes + each.firsts.nbytes for each in self.rows)
        return self.table.nbytes + self._counts.nbytes + self._firsts.nbytes + self._found.nbytes + in_rows

    def end(self) -> None:
        """Makes rows of the counts so far."""
        from tokstudio.core.kernels.words import take_rows

        if not self._used or self._place is None:
            return
        rows, counts, firsts = self._found[: self._used], self._counts[: self._used], self._firsts[: self._used]
        if not self.rows and self._used == len(self.table):
            # These are all words, in the order of their numbers: the arrays become the rows.
            self._begin_counts()
        else:
            rows, counts, firsts = rows.copy(), np.empty(self._used, np.int64), np.empty(self._used, np.int64)
            take_rows(rows, self._counts, self._firsts, counts, firsts)
            self._used = 0
        self.rows.append(Rows(self._place.entry, rows, counts, firsts))

    def add_given(self, source: Source, place: _Place) -> Iterator[int]:
        """Counts the words of a source of word counts in bounded pieces; yields the end of each."""
        assert source.counts is not None
        padded = np.concatenate([np.asarray(source.data), np.zeros(PADDING, np.uint8)])
        start = 0
        for first in range(0, source.documents, MOST_WORDS):
            ends, counts = source.ends[first : first + MOST_WORDS], source.counts[first : first + MOST_WORDS]
            starts = np.concatenate([[start], ends[:-1]])
            self._begin(place)
            self._add(padded, start, ends, ends, place.of(starts) - starts, counts)
            start = int(ends[-1])
            yield start

    def add_split(self, source: Source, pieces: Pieces, splitter: Splitter, place: _Place) -> Iterator[int]:
        """Splits by a custom regular expression and counts, in bounded pieces; yields the end of each."""
        for group in pieces.groups(CHUNK):
            self._begin(place)
            text, stops = pieces.joined(source.data, *group)
            begins, at = pieces.starts[group[0] : group[1]], 0
            shifts = place.shifts(begins, stops)
            for ends, _ in word_ends(splitter, text, at, stops):
                if len(ends):
                    self._add(text, at, ends, stops, shifts)
                    at = int(ends[-1])
                yield int(begins[0]) + at

    def _add(
        self,
        data: NDArray[np.uint8],
        start: int,
        ends: NDArray[np.int64],
        stops: NDArray[np.int64],
        shifts: NDArray[np.int64],
        weights: NDArray[np.int64] | None = None,
    ) -> None:
        """Counts adjacent words, at most `MOST_WORDS`; `stops` and `shifts` are of the parts of `data`."""
        from tokstudio.core.kernels.words import add_up

        numbers = self.table.look_up(data, start, ends)
        if len(self._counts) < self.table.room:
            for name in ("_counts", "_firsts", "_found"):
                setattr(self, name, grown(getattr(self, name), self.table.room))
        assert self._place is not None
        ascending = self._place.source.places is None
        weights = np.empty(0, np.int64) if weights is None else weights
        counted = (read_only(weights), self._counts, self._firsts, self._found, self._used)
        self._used = add_up(numbers, read_only(ends), start, read_only(stops), read_only(shifts), ascending, *counted)
