"""Counts the distinct pre-tokens of a corpus in threads, and numbers them in the order of their first occurrence."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.arrays import grown, read_only
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.source import Source
from tokstudio.core.pretokenization.patterns import Splitter, cut
from tokstudio.core.pretokenization.special_tokens import Pieces
from tokstudio.core.pretokenization.word_table import MOST_WORDS, PADDING, WordTable
from tokstudio.core.text.unicode_classes import classes

_CHUNK = 1 << 21  # bytes: some 10 ms
_DOCUMENTS = 1 << 15  # at most in a chunk
_MOST_THREADS = 8
_PATIENCE = 0.02  # seconds to wait for a thread between two reports of progress
_NO_WEIGHTS = np.empty(0, np.int64)
_CUT_WINDOW = 1 << 12
_NEVER = np.iinfo(np.int64).max
_GATHERED = 1 << 20
_SECONDS_OF_A_PIECE = 0.01


@dataclass(frozen=True, eq=False)
class Sequences:
    """The byte sequences that merges are made in: no merge crosses from one sequence into another."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]  # [n], the start of each sequence
    stops: NDArray[np.int64]  # [n], the end of each sequence
    counts: NDArray[np.int64] | None = None  # [n], how often each occurs; None where each occurs once


def count_work(
    texts: Sequence[tuple[Source, Pieces]], splitter: Splitter, threads: int | None = None
) -> Work[Sequences]:
    """Counts the pre-tokens of sources, each given with its text between special tokens; given word counts are added.

    The splitter is not that of "none". The result does not depend on the number of threads; None is one per core.

    Returns:
        The distinct pre-tokens in the order of first occurrence, with their counts.
    """
    size = sum(len(source.data) for source, _ in texts)
    if threads is None:
        threads = min(os.cpu_count() or 1, _MOST_THREADS)
    crew = _Counters(splitter, max(1, min(threads, size // (2 * _CHUNK))), size)
    position = 0
    try:
        for source, pieces in texts:
            if source.counts is not None:
                yield from crew.wait_work(0)
                for end in crew.counters[0].add_given(source, position):
                    yield crew.progress_at(position + end)
            elif splitter.kind < 0:
                for end in crew.counters[0].add_split(source, pieces, splitter, position):
                    yield crew.progress_at(position + end)
            else:
                for chunk in _chunks(source.data, pieces, position):
                    yield from crew.take_work(chunk)
                    yield crew.progress_at(chunk.position - 2 * _CHUNK * threads)
            position += len(source.data) + 1
        yield from crew.wait_work(0)
    finally:
        crew.dismiss()
    return (yield from _joined(crew.counters))


def word_ends(
    splitter: Splitter, text: NDArray[np.uint8], at: int, stops: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Finds the ends of the pre-tokens of texts, in bounded pieces.

    `text` has the texts one after another, uint8, the first from `at` on; `stops` is int64, the end of each.

    Yields:
        At most `MOST_WORDS` ends, perhaps none, valid until the next piece; and how many texts are complete.
    """
    if splitter.kind < 0:
        yield from _custom_ends(splitter, text, at, stops)
        return
    from tokstudio.core.kernels.documents import scan_documents

    ends = np.empty(min(MOST_WORDS, max(1, int(stops[-1]) - at)), np.int64)
    document = 0
    while document < len(stops):
        n, at, document = scan_documents(splitter.kind, text, at, document, stops, classes(), ends)
        yield ends[:n], document


def _custom_ends(
    splitter: Splitter, text: NDArray[np.uint8], at: int, stops: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Does the same as `word_ends` for a custom regular expression; many short texts give one piece."""
    nothing, half = np.empty(0, np.int64), MOST_WORDS // 2
    gathered, size, until = [nothing], 0, monotonic() + _SECONDS_OF_A_PIECE
    for done, stop in enumerate(stops.tolist()):
        for ends in splitter.ends_work(text, at, stop):
            for first in range(0, max(1, len(ends)), half):
                gathered.append(ends[first : first + half])
                size += len(gathered[-1])
                if size >= half or monotonic() > until:
                    yield np.concatenate(gathered), done
                    gathered, size, until = [nothing], 0, monotonic() + _SECONDS_OF_A_PIECE
        at = stop
    yield np.concatenate(gathered), len(stops)


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Text to be counted: parts of documents, and their position in the corpus."""

    data: NDArray[np.uint8]
    parts: Sequence[tuple[int, int]]
    position: int

    def laid_out(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The parts one after another, with padding; and the end of each."""
        lengths = [stop - start for start, stop in self.parts]
        ends = np.cumsum(lengths, dtype=np.int64)
        text = np.empty(int(ends[-1]) + PADDING, np.uint8)
        text[-PADDING:] = 0
        first, last = self.parts[0][0], self.parts[-1][1]
        parts = [(first, last)] if last - first == ends[-1] else self.parts
        at = 0
        for start, stop in parts:
            text[at : at + stop - start] = self.data[start:stop]
            at += stop - start
        return text, ends


def _chunks(data: NDArray[np.uint8], pieces: Pieces, position: int) -> Iterator[_Chunk]:
    """Groups short pieces of text and splits long ones, so that each chunk is about `_CHUNK` long."""
    parts: list[tuple[int, int]] = []
    size = 0
    for first in range(0, len(pieces.starts), _DOCUMENTS):
        here = slice(first, first + _DOCUMENTS)
        for start, stop in zip(pieces.starts[here].tolist(), pieces.stops[here].tolist(), strict=True):
            at = start
            while at < stop:
                end = stop if stop - at <= _CHUNK else _cut(data, at + _CHUNK, stop)
                parts.append((at, end))
                size += end - at
                at = end
                if size >= _CHUNK or len(parts) == _DOCUMENTS:
                    yield _Chunk(data, parts, position + parts[0][0])
                    parts, size = [], 0
    if parts:
        yield _Chunk(data, parts, position + parts[0][0])


def _cut(data: NDArray[np.uint8], at: int, stop: int) -> int:
    """The next place to split text, reading no more of it than necessary: it may be in a file."""
    size = _CUT_WINDOW
    while True:
        # A character takes four bytes at most.
        start, end = max(0, at - 4), min(stop, at + size)
        window = data[start:end]
        place = start + cut(window, at - start, len(window))
        if place < end or end == stop:
            return place
        size *= 4


class _Counter:
    """The counts of one thread, which receives chunks in the order of the corpus."""

    def __init__(self) -> None:
        self.table = WordTable(1 << 12)
        self.counts = np.zeros(self.table.room, np.int64)
        self.firsts = np.zeros(self.table.room, np.int64)

    def count(self, chunk: _Chunk, splitter: Splitter) -> None:
        """Splits a chunk and counts its pre-tokens."""
        text, stops = chunk.laid_out()
        at = 0
        for ends, _ in word_ends(splitter, text, at, stops):
            self.add(text, at, ends, chunk.position)
            at = int(ends[-1])

    def add(
        self,
        data: NDArray[np.uint8],
        start: int,
        ends: NDArray[np.int64],
        position: int,
        weights: NDArray[np.int64] = _NO_WEIGHTS,
    ) -> None:
        """Counts adjacent words, at most `MOST_WORDS`."""
        from tokstudio.core.kernels.words import add_up

        known = len(self.table)
        numbers = self.table.look_up(data, start, ends)
        self._make_room()
        add_up(numbers, read_only(ends), start, position, read_only(weights), self.counts, self.firsts, known)

    def add_given(self, source: Source, position: int) -> Iterator[int]:
        """Counts the words of a source of word counts in bounded pieces; yields the end of each."""
        assert source.counts is not None
        padded = np.concatenate([np.asarray(source.data), np.zeros(PADDING, np.uint8)])
        start = 0
        for first in range(0, source.documents, MOST_WORDS):
            here = slice(first, first + MOST_WORDS)
            self.add(padded, start, source.ends[here], position, source.counts[here])
            start = int(source.ends[here][-1])
            yield start

    def add_split(self, source: Source, pieces: Pieces, splitter: Splitter, position: int) -> Iterator[int]:
        """Splits by a custom regular expression and counts, in bounded pieces; yields the end of each."""
        for group in pieces.groups(_CHUNK):
            text, stops = pieces.joined(source.data, *group)
            start, at = int(pieces.starts[group[0]]), 0
            for ends, _ in word_ends(splitter, text, at, stops):
                if len(ends):
                    self.add(text, at, ends, position + start)
                    at = int(ends[-1])
                yield start + at

    def absorb_work(self, other: _Counter) -> Work[None]:
        """Adds the counts of another thread, from other parts of the corpus."""
        offsets, n = other.table.offsets, len(other.table)
        for first in range(0, n, MOST_WORDS):
            last = min(first + MOST_WORDS, n)
            known = len(self.table)
            numbers = self.table.look_up(other.table.words, int(offsets[first]), offsets[first + 1 : last + 1])
            self._make_room()
            self.firsts[known : len(self.table)] = _NEVER
            # A table has no word twice, so these numbers are distinct.
            self.counts[numbers] += other.counts[first:last]
            self.firsts[numbers] = np.minimum(self.firsts[numbers], other.firsts[first:last])
            yield Progress("joining", last, n)

    def _make_room(self) -> None:
        if len(self.counts) < self.table.room:
            self.counts = grown(self.counts, self.table.room)
            self.firsts = grown(self.firsts, self.table.room)


class _Counters:
    """Threads that each count into a table of their own."""

    def __init__(self, splitter: Splitter, threads: int, size: int) -> None:
        self._splitter = splitter
        self._progress = Progress("counting", 0, size)
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._threads = threads
        self._local = threading.local()
        self._busy: deque[Future[None]] = deque()
        self.counters: list[_Counter] = [_Counter()]
        self._free = deque(self.counters)

    def progress_at(self, position: int) -> Progress:
        """The progress when the text before `position` is counted; it never decreases."""
        size = self._progress.total
        self._progress = Progress("counting", min(size, max(self._progress.done, position)), size)
        return self._progress

    def take_work(self, chunk: _Chunk) -> Work[None]:
        """Submits a chunk; waits while each thread has one, and another waiting."""
        if self._pool is None:
            self._count(chunk)
            return
        self._busy.append(self._pool.submit(self._count, chunk))
        yield from self.wait_work(2 * self._threads)

    def dismiss(self) -> None:
        """Ends the threads, and drops chunks that were not begun."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def wait_work(self, most: int) -> Work[None]:
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
                self._local.counter = _Counter()
                self.counters.append(self._local.counter)
        self._local.counter.count(chunk, self._splitter)


def _joined(counters: list[_Counter]) -> Work[Sequences]:
    """Joins all counts, in the order of first occurrence; the counters are emptied one by one."""
    from tokstudio.core.kernels.words import gather

    counters.sort(key=lambda counter: -len(counter.table))
    joined = counters[0]
    while len(counters) > 1:
        yield from joined.absorb_work(counters.pop())
    n = len(joined.table)
    counts, firsts, offsets = joined.counts[:n], joined.firsts[:n], joined.table.offsets
    if np.all(firsts[1:] > firsts[:-1]):
        return Sequences(joined.table.words, offsets[:-1], offsets[1:], counts)
    order = np.argsort(firsts, kind="stable")
    words, ends = np.empty(int(offsets[-1]), np.uint8), np.empty(n, np.int64)
    for first in range(0, n, _GATHERED):
        gather(joined.table.words, offsets, order, words, ends, first, min(n, first + _GATHERED))
        yield Progress("joining", first, n)
    return Sequences(words, np.concatenate([[0], ends[:-1]]), ends, counts[order])
