"""A growing table of distinct words, which counting and encoding look up."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from tokstudio.core.base.arrays import grown, power_of_two, read_only
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.machine import in_threads
from tokstudio.core.base.private_folders import TemporaryFolder, remove_left_folders
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Words looked up at once: their data stays in the processor's cache.
MOST_WORDS = 1 << 16
# The same as `kernels.words.PADDING`, without loading the compiler.
PADDING = 8
IN_A_THREAD = 1 << 17  # words that a thread looks up at once


def _free_slots(count: int, size: int) -> NDArray[np.uint64]:
    # NumPy advises the system to use huge pages for `empty` from 4 MiB on, and not for `zeros`.
    slots = np.empty((count, size), np.uint64)
    slots[:] = 0
    return slots


class HashedWords:
    """Distinct words (bytes, none empty), numbered from 0 in the order of first occurrence. Not thread-safe.

    A subclass has the loops that look words up, and what a slot of the hash table has beside a word.

    Args:
        words: How many fit at first.
        slot_size: The numbers of 8 bytes in a slot.
    """

    _fullest = 1, 2  # the most words for so many slots, as in the loops

    def __init__(self, words: int, slot_size: int) -> None:
        self._slots = _free_slots(power_of_two(max(16, 2 * words)), slot_size)
        self._offsets = np.zeros(words + 1, np.int64)
        self._arena = np.zeros(8 * words + PADDING, np.uint8)
        self._used: int = 0

    def __len__(self) -> int:
        return self._used

    @property
    def words(self) -> NDArray[np.uint8]:
        """uint8, all words in the order of their numbers, followed by `PADDING` bytes."""
        return self._arena

    @property
    def offsets(self) -> NDArray[np.int64]:
        """int64 [len + 1], the start of each word, and the end of the last."""
        return self._offsets[: self._used + 1]

    def _find_all(
        self, find: Callable[[int, NDArray[np.int64], int], tuple[int, int]], start: int, ends: NDArray[np.int64]
    ) -> None:
        """Looks up words of a text, of which the first begins at `start` and each other one at the end before.

        `find` gets a start, the ends from there on and how many words came before; it returns how many words it has
        looked up, fewer where the table is full, and how many are in the table.
        """
        done, n, ends = 0, len(ends), read_only(ends)
        while done < n:
            more, self._used = find(start, ends[done:], done)
            done += more
            if more:
                start = int(ends[done - 1])
            if done < n:
                self._grow(int(ends[done]) - start)

    def _spread(self, larger: NDArray[np.uint64]) -> None:
        """Enters all slots into a larger, empty array of slots."""
        raise NotImplementedError

    def _enlarge(self, slots: int) -> None:
        """Makes the hash table larger."""
        larger = _free_slots(slots, self._slots.shape[1])
        self._spread(larger)
        self._slots = larger

    def _grow(self, length: int) -> None:
        """Grows the arrays that are full; a word of `length` must fit."""
        words, slots = self._fullest
        if slots * (self._used + 1) > words * len(self._slots):
            self._enlarge(2 * len(self._slots))
        if self._used + 2 > len(self._offsets):
            self._offsets = grown(self._offsets, 2 * len(self._offsets))
        needed = int(self._offsets[self._used]) + length + PADDING
        if needed > len(self._arena):
            self._arena = grown(self._arena, max(needed, len(self._arena) + len(self._arena) // 2))


class WordTable(HashedWords):
    """The words that are counted."""

    def __init__(self, words: int = 1 << 9) -> None:
        super().__init__(words, 2)
        self._numbers, self._keys = np.empty(0, np.int32), np.empty(0, np.uint64)  # as long as a look-up needs
        self._entered = 0  # words that are in the slots

    @property
    def room(self) -> int:
        """The number of words that fit without growing."""
        return len(self._offsets) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self._slots.nbytes + self._offsets.nbytes + self._arena.nbytes

    def look_up(self, data: NDArray[np.uint8], start: int, ends: NDArray[np.int64]) -> NDArray[np.int32]:
        """The number of each word of `data`; new words are added.

        Args:
            data: uint8, with `PADDING` arbitrary bytes after the last word.
            start: The start of the first word; each other one begins at the end of the one before.
            ends: int64 [n], the end of each word; at most `MOST_WORDS`.

        Returns:
            int32 [n], valid until the next call.
        """
        from tokstudio.core.kernels.words import look_up

        self._enter()
        if (n := len(ends)) > len(self._keys):
            size = min(MOST_WORDS, power_of_two(n))
            self._numbers, self._keys = np.empty(size, np.int32), np.empty(size, np.uint64)
        data = read_only(data)

        def find(start: int, ends: NDArray[np.int64], done: int) -> tuple[int, int]:
            arrays = (self._numbers[done:n], self._keys, self._slots, self._offsets, self._arena)
            return look_up(data, start, ends, *arrays, self._used, True)

        self._find_all(find, start, ends)
        self._entered = self._used
        return self._numbers[:n]

    def join_work(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Work[NDArray[np.int32]]:
        """The number of each word of another table, int32; new words are added. Threads look them up.

        `data` has the distinct words of the other table, with `PADDING`; `offsets` has their starts, and the last end.
        """
        from tokstudio.core.kernels.words import gather

        self._enter()
        data, offsets = read_only(data), read_only(offsets)
        numbers = np.empty(len(offsets) - 1, np.int32)
        firsts = range(0, len(numbers), IN_A_THREAD)
        works = [partial(self._find_work, data, offsets, numbers, first) for first in firsts]
        yield from in_threads("joining", works, _ignore)
        new = np.flatnonzero(numbers < 0)
        before, used = self._used, self._used + len(new)
        numbers[new] = np.arange(before, used)
        at = int(self._offsets[before])
        size = at + int((offsets[new + 1] - offsets[new]).sum()) + PADDING
        self._offsets = grown(self.offsets, max(used + 1, len(self._offsets)))
        self._arena = grown(self._arena[:at], max(size, len(self._arena)))
        ends = self._offsets[before + 1 : used + 1]
        gather(data, offsets, read_only(new), self._arena[at:], ends, 0, len(new))
        ends += at
        self._used = used
        return numbers

    def _find_work(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64], numbers: NDArray[np.int32], first: int
    ) -> Work[bool]:
        """Looks up words from number `first` on without adding any; their number is then -1."""
        from tokstudio.core.kernels.words import look_up

        last = min(first + IN_A_THREAD, len(numbers))
        arrays = (numbers[first:last], np.empty(last - first, np.uint64), self._slots, self._offsets, self._arena)
        look_up(data, int(offsets[first]), offsets[first + 1 : last + 1], *arrays, self._used, False)
        return True
        yield

    def _enter(self) -> None:
        """Enters words that `join_work` added into the slots, which need not be done for the last table."""
        from tokstudio.core.kernels.words import enter

        if self._entered == self._used:
            return
        if 2 * (self._used + 1) > len(self._slots):
            self._slots = np.zeros((power_of_two(2 * (self._used + 1)), 2), np.uint64)
            self._entered = 0
        enter(self._arena, self._offsets, self._slots, self._entered, self._used)
        self._entered = self._used

    def _spread(self, larger: NDArray[np.uint64]) -> None:
        from tokstudio.core.kernels.words import spread

        spread(self._slots, larger)


def _ignore(_number: int, _result: object) -> None:
    """Takes results that say nothing."""


# --- Joins words that were counted in different tables, such as those of several threads or computers -----------------

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
        rows, self._rows = list[Rows](), []
        scratch = np.zeros(len(offsets) - 1, np.int32)
        for source in sorted(by_source):
            parts = by_source.pop(source)
            while len(parts) > 1:
                parts.append(_joined(parts.popleft().by_place(), parts.popleft().by_place(), scratch))
                yield Progress("joining")
            rows += parts
        return TablePart(words, offsets, rows)


def _joined(one: Rows, other: Rows, scratch: NDArray[np.int32]) -> Rows:
    """The rows of a source in one list; `scratch` has a 0 for each word of the table."""
    from tokstudio.core.kernels.words import join_rows

    size = len(one.words) + len(other.words)
    words, counts, firsts = np.empty(size, np.int32), np.empty(size, np.int64), np.empty(size, np.int64)
    tables = [(read_only(each.words), each.counts, read_only(each.firsts)) for each in (one, other)]
    used = join_rows(*tables[0], *tables[1], scratch, words, counts, firsts)
    return Rows(one.source, words[:used], counts[:used], firsts[:used])


def sorted_work(parts: list[TablePart]) -> Work[Joined]:
    """Sorts rows by place; the tables of several parts have no word in common. Empties the list, to free its memory."""
    from tokstudio.core.kernels.words import gather, renumber

    words, sources, counts, firsts, arena, offsets = _together(parts)
    number_of_words = len(offsets) - 1
    if not np.all(firsts[1:] > firsts[:-1]):
        order = np.argsort(firsts, kind="stable")
        words, sources = words.take(order), sources.take(order)
        counts, firsts = counts.take(order), firsts.take(order)
        yield Progress("joining")
    order = np.empty(number_of_words, np.int64)
    renumber(words, np.full(number_of_words, -1, np.int32), order)
    data, ends = np.empty(int(offsets[-1]) + PADDING, np.uint8), np.empty(number_of_words, np.int64)
    arena, offsets, order = read_only(arena), read_only(offsets), read_only(order)
    for first in range(0, number_of_words, _GATHERED):
        gather(arena, offsets, order, data, ends, first, min(number_of_words, first + _GATHERED))
        yield Progress("joining", first, number_of_words)
    return Joined(data, ends, words, sources, counts, firsts)


def _together(
    parts: list[TablePart],
) -> tuple[
    NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]
]:
    """Words, sources, counts and places of all rows; and the words of all tables, with the start of each.

    A part is freed when it is copied.
    """
    size = sum(len(each.words) for part in parts for each in part.rows)
    words, sources = np.empty(size, np.int32), np.empty(size, np.int32)
    counts, firsts = np.empty(size, np.int64), np.empty(size, np.int64)
    is_one = len(parts) == 1
    arena = parts[0].words if is_one else np.empty(sum(int(part.offsets[-1]) for part in parts), np.uint8)
    offsets = parts[0].offsets if is_one else np.zeros(1 + sum(len(part.offsets) - 1 for part in parts), np.int64)
    row = before = at = 0
    parts.reverse()
    while parts:
        table, starts, rows = parts.pop()
        for each in rows:
            here = slice(row, row + len(each.words))
            words[here], sources[here] = each.words, each.source
            words[here] += np.int32(before)
            counts[here], firsts[here] = each.counts, each.firsts
            row = here.stop
        if not is_one:
            arena[at : at + int(starts[-1])] = table[: int(starts[-1])]
            offsets[before + 1 : before + len(starts)] = starts[1:] + at
        before, at = before + len(starts) - 1, at + int(starts[-1])
    return words, sources, counts, firsts, arena, offsets


# --- Parts of a table by a hash of the word: a word is in one of them, whichever table it is counted in ---------------

PARTITIONS = 32


class Partitions:
    """The words of a table by their hashes, in at most 256 partitions.

    Args:
        words: As in `TablePart`.
        offsets: As there.
        partitions: How many there are.
    """

    def __init__(self, words: NDArray[np.uint8], offsets: NDArray[np.int64], partitions: int = PARTITIONS) -> None:
        from tokstudio.core.kernels.words import partition

        self._words, self._offsets = read_only(words), read_only(offsets)
        which = np.empty(len(offsets) - 1, np.int32)
        partition(self._words, self._offsets, partitions, which)
        self._which = which.astype(np.uint8)  # such numbers are sorted in linear time
        self._partitions = partitions
        self._chosen = self.of_rows(np.arange(len(which), dtype=np.int32))
        self.numbers = np.empty(len(which), np.int32)  # of each word in its partition
        for chosen in self._chosen:
            self.numbers[chosen] = np.arange(len(chosen))

    def of_rows(self, words: NDArray[np.int32]) -> list[NDArray[np.int64]]:
        """Which rows are in each partition, in their order; `words` has the word of each row."""
        which = self._which[words]
        borders = np.cumsum(np.bincount(which, minlength=self._partitions))
        return np.split(np.argsort(which, kind="stable"), borders[:-1])

    def words(self, number: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The words of a partition, with `PADDING`, and their starts."""
        from tokstudio.core.kernels.words import gather

        chosen = read_only(self._chosen[number])
        ends = np.empty(len(chosen), np.int64)
        data = np.zeros(int((self._offsets[chosen + 1] - self._offsets[chosen]).sum()) + PADDING, np.uint8)
        gather(self._words, self._offsets, chosen, data, ends, 0, len(chosen))
        return data, np.concatenate([[0], ends])


# --- Counts that do not fit into memory: on disk, in partitions by a hash of the word, each of which fits -------------


class Spill:
    """A folder of counts, removed by `close`; several threads may add to it.

    Raises:
        CorpusError: The disk is full or cannot be written to.
    """

    def __init__(self) -> None:
        remove_left_folders()
        self._folder: TemporaryFolder | None = None
        self._making = threading.Lock()
        self._numbers = count()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added."""
        return self._folder is None

    def add(self, table: WordTable, rows: list[Rows]) -> None:
        """Writes the words of a table, and rows that refer to them."""
        try:
            with self._making:  # two folders would lose the counts in one of them
                if self._folder is None:
                    self._folder = TemporaryFolder()
            number, partitions = next(self._numbers), Partitions(table.words, table.offsets, PARTITIONS)
            rows_of = [partitions.of_rows(each.words) for each in rows]
            for which in range(PARTITIONS):
                with (self._folder.path / f"{which}-{number}").open("wb") as file:
                    _write(file, *partitions.words(which), np.array([len(rows)]))
                    for each, of_each in zip(rows, rows_of, strict=True):
                        here = of_each[which]
                        row = partitions.numbers[each.words[here]], each.counts[here], each.firsts[here]
                        _write(file, np.array([each.source]), *row)
        except OSError as error:
            what = "there is no space left on the disk" if error.errno == errno.ENOSPC else f"{error.strerror}"
            raise CorpusError(f"The counts do not fit into memory, and {what} for them: free some.") from error

    def joined_work(self) -> Work[Joined]:
        """All rows, joined partition by partition."""
        parts: list[TablePart] = []
        for which in range(PARTITIONS):
            builder = TableBuilder()
            for part in self._read(which):
                yield from builder.add_work(part)
            parts.append((yield from builder.part_work()))
        self.close()
        return (yield from sorted_work(parts))

    def close(self) -> None:
        """Removes the folder."""
        if self._folder is not None:
            self._folder.close()
            self._folder = None

    def _read(self, which: int) -> Iterator[TablePart]:
        assert self._folder is not None
        for path in sorted(self._folder.path.glob(f"{which}-*")):
            with path.open("rb") as file:
                data, offsets, number = _read(file), _read(file), int(_read(file)[0])
                rows = [Rows(int(_read(file)[0]), _read(file), _read(file), _read(file)) for _ in range(number)]
            yield TablePart(data, offsets, rows)


def _write(file: BinaryIO, *arrays: NDArray[Any]) -> None:
    for array in arrays:
        np.save(file, array, allow_pickle=False)


def _read(file: BinaryIO) -> NDArray[Any]:
    return np.load(file, allow_pickle=False)
