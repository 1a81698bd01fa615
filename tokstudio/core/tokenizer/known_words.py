"""A cache of pre-tokens and their tokens."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.base.arrays import grown, power_of_two, read_only
from tokstudio.core.pretokenization.word_table import MOST_WORDS, PADDING, HashedWords

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Pre-tokens cached with their tokens: a text of `PIECE` bytes rarely has more than the difference to a power of two, so
# that the table does not grow once more before it is replaced.
MOST_KNOWN = (1 << 19) - (1 << 16)
_MOST_BYTES = 1 << 26
LONGEST = 1 << 13  # bytes of a short text
SPARE = 3  # the same as `kernels.known_words.FEW`, without loading the compiler
_SLOT_SIZE = 4  # likewise
_FIRST, _MOST_EXPECTED = 1 << 9, 1 << 17  # words that fit at first, and in a text of any size
_BYTES_A_WORD = 1 << 7  # of text for each distinct word, at most: English has one in 160 at 4 MB, many languages in 70


class KnownWords(HashedWords):
    """Words, and the tokens of the first `encoded` of them; `whole_words` are known from the beginning."""

    _fullest = 3, 5

    def __init__(self, whole_words: Mapping[bytes, int]) -> None:
        from tokstudio.core.kernels.known_words import write_words
        from tokstudio.core.kernels.short_words import NEED_ROOM

        super().__init__(_FIRST, _SLOT_SIZE)
        self._packed, self._packed_words = np.zeros(_FIRST, np.uint64), 0
        self._values = np.empty(0, np.int64)  # as long as a look-up needs
        self._ids, self._id_offsets = np.zeros(8 * _FIRST, np.uint32), np.zeros(_FIRST + 1, np.int64)
        self._whole_words = whole_words
        # An import with each text would take long.
        self._write_words: Callable[..., tuple[int, int, int, int]] = write_words
        self._need_room = NEED_ROOM
        # For the ends and the tokens of a short text.
        self.few_ends, self.few_ids = np.empty(LONGEST, np.int64), np.empty(LONGEST + SPARE, np.uint32)
        self.few_ends_read_only = read_only(self.few_ends)
        self._enter_whole_words()

    def expect(self, size: int) -> None:
        """Makes room for a text of so many bytes: the arrays hardly grow if it has as many words as others have."""
        words = min(size // _BYTES_A_WORD, _MOST_EXPECTED)
        if words < len(self._offsets):
            return
        if (slots := power_of_two(2 * words)) > len(self._slots):
            self._enlarge(slots)
        self._offsets, self._id_offsets = grown(self._offsets, words + 1), grown(self._id_offsets, words + 1)
        self._packed = grown(self._packed, words)
        self._arena = grown(self._arena, max(len(self._arena), 8 * words + PADDING))
        self._ids = grown(self._ids, max(len(self._ids), 8 * words))

    def emptied(self) -> KnownWords:
        """A cache of the whole words alone: this one, whose memory is used again, or another one after long words."""
        if self._offsets[self._used] > _MOST_BYTES:
            return KnownWords(self._whole_words)
        self._used = self._packed_words = 0
        self._slots.fill(0)
        self._packed.fill(0)
        self._enter_whole_words()
        return self

    def _enter_whole_words(self) -> None:
        self.encoded: int = 0
        data, start = np.frombuffer(b"".join([*self._whole_words, bytes(PADDING)]), np.uint8), 0
        ends = np.cumsum(list(map(len, self._whole_words)), dtype=np.int64)
        for first in range(0, len(ends), MOST_WORDS):
            here = ends[first : first + MOST_WORDS]
            self.look_up(data, start, here)
            start = int(here[-1])
        self.make_room()
        self.encoded = self._given = len(ends)
        self._ids[: len(ends)] = list(self._whole_words.values())
        self._id_offsets[: len(ends) + 1] = np.arange(len(ends) + 1)

    @property
    def arrays(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The tokens of all words, and the start of those of each word."""
        return self._ids, self._id_offsets

    @property
    def full(self) -> bool:
        """Whether to go on with an empty one."""
        return self._used > max(MOST_KNOWN, 2 * self._given) or self._offsets[self._used] > _MOST_BYTES

    def look_up(
        self, data: NDArray[np.uint8], start: int, ends: NDArray[np.int64], numbered: bool = False
    ) -> NDArray[np.int64]:
        """The value of each word of `data` for `write_tokens`, or with `numbered` its number; new words are added.

        Args:
            data: uint8, with `PADDING` arbitrary bytes after the last word.
            start: The start of the first word; each other one begins at the end of the one before.
            ends: int64 [n], the end of each word; at most `MOST_WORDS`.
            numbered: What to give.

        Returns:
            int64 [n], valid until the next call.
        """
        from tokstudio.core.kernels.known_words import find_tokens

        if (n := len(ends)) > len(self._values):
            self._values = np.empty(min(MOST_WORDS, power_of_two(n)), np.int64)
        data = read_only(data)

        def find(start: int, ends: NDArray[np.int64], done: int) -> tuple[int, int]:
            arrays = (self._values[done:n], self._slots, self._offsets, self._arena)
            return find_tokens(data, start, ends, *arrays, self._used, self._packed, numbered)

        self._find_all(find, start, ends)
        return self._values[:n]

    def _spread(self, larger: NDArray[np.uint64]) -> None:
        from tokstudio.core.kernels.known_words import spread_slots

        spread_slots(self._slots, larger)

    def _grow(self, length: int) -> None:
        super()._grow(length)
        if len(self._packed) < len(self._offsets) - 1:
            self._packed = grown(self._packed, len(self._offsets) - 1)

    def make_room(self, more: int = 0) -> None:
        """Allocates space for the tokens of all words that have none yet, and of `more` bytes."""
        if len(self._id_offsets) < len(self._offsets):
            self._id_offsets = grown(self._id_offsets, len(self._offsets))
        most = int(self._id_offsets[self.encoded] + self._offsets[self._used] - self._offsets[self.encoded]) + more
        if most > len(self._ids):
            self._ids = grown(self._ids, max(most, 2 * len(self._ids)))

    def add(self, ids: NDArray[np.uint32]) -> None:
        """Adds the tokens of the next word."""
        start = int(self._id_offsets[self.encoded])
        self._ids[start : start + len(ids)] = ids
        self.encoded += 1
        self._id_offsets[self.encoded] = start + len(ids)

    def write_tokens(self, values: NDArray[np.int64], out: NDArray[np.uint32], at: int) -> int:
        """Writes the tokens of words to `out` from `at` on, with room for `SPARE` more; returns their end."""
        from tokstudio.core.kernels.known_words import emit, pack

        pack(self._ids, self._id_offsets, self._packed_words, self.encoded, self._packed)
        self._packed_words = self.encoded
        return emit(values, self._packed, self._ids, self._id_offsets, out, at)

    def write_words(
        self,
        data: NDArray[np.uint8],
        start: int,
        ends: NDArray[np.int64],
        merging: tuple[Any, ...],
        adds: bool,
        out: NDArray[np.uint32],
        at: int,
    ) -> tuple[int, int]:
        """Writes the tokens of words up to the first that is not in the table; short ones are added where it `adds`.

        All words of the table must be encoded. `data`, `start` and `ends` are as for `look_up`, and read-only; `out`
        and `at` as for `write_tokens`; `merging` has the arguments of the loop from `unit_ids` to `limit`. Returns how
        many words were written, and the end of their tokens.
        """
        done, merges = 0, (adds, *merging)
        while True:
            words = self._slots, self._offsets, self._arena, self._used, self._packed
            tokens = self._ids, self._id_offsets, out, at
            here = ends[done:] if done else ends
            why, more, self._used, at = self._write_words(data, start, here, *words, *merges, *tokens)
            self.encoded = self._packed_words = self._used
            done += more
            if why != self._need_room:
                return done, at
            start = int(ends[done - 1]) if done else start
            length = int(ends[done]) - start
            self._grow(length)
            self.make_room(length)
