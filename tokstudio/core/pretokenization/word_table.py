"""A growing table of distinct words, which counting and encoding look up."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.arrays import grown, power_of_two, read_only
from tokstudio.core.base.parallel import in_threads
from tokstudio.core.base.progress import Work

# Words looked up at once: their data stays in the processor's cache.
MOST_WORDS = 1 << 16
# The same as `kernels.words.PADDING`, without loading the compiler.
PADDING = 8
_IN_A_THREAD = 1 << 17  # words that a thread looks up at once


class WordTable:
    """Distinct words (bytes, none empty), numbered from 0 in the order of first occurrence. Not thread-safe."""

    def __init__(self, words: int = 1 << 9) -> None:
        self._slots = np.zeros((power_of_two(max(16, 2 * words)), 2), np.uint64)
        self._offsets = np.zeros(words + 1, np.int64)
        self._arena = np.zeros(8 * words + PADDING, np.uint8)
        self._numbers, self._keys = np.empty(0, np.int32), np.empty(0, np.uint64)  # as long as a look-up needs
        self._used = 0
        self._entered = 0  # words that are in the slots

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
        done, n = 0, len(ends)
        if n > len(self._keys):
            size = min(MOST_WORDS, power_of_two(n))
            self._numbers, self._keys = np.empty(size, np.int32), np.empty(size, np.uint64)
        data, ends = read_only(data), read_only(ends)
        while done < n:
            arrays = (self._numbers[done:n], self._keys, self._slots, self._offsets, self._arena)
            more, self._used = look_up(data, start, ends[done:], *arrays, self._used, True)
            self._entered = self._used
            done += more
            if more:
                start = int(ends[done - 1])
            if done < n:
                self._grow(int(ends[done]) - start)
        return self._numbers[:n]

    def join_work(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Work[NDArray[np.int32]]:
        """The number of each word of another table, int32; new words are added. Threads look them up.

        `data` has the distinct words of the other table, with `PADDING`; `offsets` has their starts, and the last end.
        """
        from tokstudio.core.kernels.words import gather

        self._enter()
        data, offsets = read_only(data), read_only(offsets)
        numbers = np.empty(len(offsets) - 1, np.int32)
        firsts = range(0, len(numbers), _IN_A_THREAD)
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

        last = min(first + _IN_A_THREAD, len(numbers))
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

    def _grow(self, length: int) -> None:
        """Grows the arrays that are full; a word of `length` must fit."""
        from tokstudio.core.kernels.words import spread

        if 2 * (self._used + 1) > len(self._slots):
            larger = np.zeros((2 * len(self._slots), 2), np.uint64)
            spread(self._slots, larger)
            self._slots = larger
        if self._used + 2 > len(self._offsets):
            self._offsets = grown(self._offsets, 2 * len(self._offsets))
        needed = int(self._offsets[self._used]) + length + PADDING
        if needed > len(self._arena):
            self._arena = grown(self._arena, max(needed, len(self._arena) + len(self._arena) // 2))


def _ignore(_number: int, _result: object) -> None:
    """Takes results that say nothing."""
