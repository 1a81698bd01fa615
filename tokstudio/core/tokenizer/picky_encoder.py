"""Encodes with the merges and removals of Picky BPE, in their order."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.picky import RESULT, falls_of
from tokstudio.core.tokenizer.encoder import Encoder
from tokstudio.core.tokenizer.known_words import KnownWords
from tokstudio.core.tokenizer.merge_table import MergeTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.kernels.replay import Events

_BUDGET = 50_000  # steps per call


def events_of(merges: NDArray[np.int32], rows: NDArray[np.int64], base_size: int) -> Events:
    """The events of a run of Picky BPE: its merges, its rows of removals, and the ids before those of the merges."""
    from tokstudio.core.kernels import replay

    n, falls = len(merges), falls_of(merges, rows, base_size)
    slots = 1 << max(4, (2 * n).bit_length())
    removed, amounts = np.full(base_size + n, -1, np.int64), np.zeros(base_size + n, np.int64)
    # A token that is merged with itself has one removal, as the left part.
    is_right = falls.tokens != merges[falls.merges, 0]
    removed[falls.tokens] = 3 * falls.merges + 1 + is_right
    amounts[falls.tokens] = np.diff(falls.starts)
    part_starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(amounts)])
    parts = np.empty_like(falls.parts)
    # Each token is removed once at most; its parts go from their place in the order of removals to that by ids.
    moved = part_starts[falls.tokens] - falls.starts[:-1]
    parts[np.arange(len(parts)) + np.repeat(moved, np.diff(falls.starts))] = falls.parts
    events = replay.Events(
        pairs=np.full(2 * slots, -1, np.int64),
        following=np.full(n, -1, np.int32),
        merges=read_only(merges),
        results=read_only(rows[:, RESULT].astype(np.int32)),
        removed=removed,
        part_starts=part_starts,
        parts=parts,
        spans=np.concatenate([np.ones(base_size, np.int64), falls.spans]),
    )
    replay.fill_events(events)
    return events


class PickyEncoder(Encoder):
    """Encodes with the events of the first `limit` merges."""

    _merges_words = False

    def __init__(self, alphabet: Alphabet, events: Events, limit: int, pattern: str) -> None:
        # Words are split into base tokens without merges.
        super().__init__(alphabet, MergeTable(np.empty((0, 2), np.int32), np.empty(0, np.int32)), limit, pattern)
        self._events = events

    def _encode_words(self, known_words: KnownWords) -> tuple[int, int]:
        from tokstudio.core.kernels.many_words import encode_words
        from tokstudio.core.kernels.replay import replay_words

        first = known_words.encoded
        # Without merges, this gives the base tokens.
        why, last = encode_words(*self._arguments(known_words, 0))
        ids, offsets = known_words.arrays
        replay_words(self._events, self.limit, ids, offsets, first, last)
        return why, last

    def _encoded_work(self, symbols: NDArray[np.int32], threads: int | None) -> Work[list[NDArray[np.uint32]]]:
        following = yield from self._replay_work(symbols, np.empty(0, np.int64), 0)
        return (yield from self.collected_work(symbols, following))

    def changes_of_words_work(
        self,
        data: NDArray[np.uint8],
        start: int,
        ends: NDArray[np.int64],
        rows: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]],
        changes: NDArray[np.int64],
    ) -> Work[NDArray[np.int64]]:
        """Adds the further tokens that each merge with its removals leaves in words to `changes`, int64 [sources, n].

        `data`, `start` and `ends` are as in `encode_words_work`. `rows` has the number of a word, a source and how
        often it has the word: int32, int32, int64. Returns the base tokens of each word, int64 [words].
        """
        from tokstudio.core.kernels.replay import count_changes

        plain = PickyEncoder(self._alphabet, self._events, 0, "none")
        base = yield from plain.encode_words_work(data, start, ends)
        words, sources, counts = rows
        count_changes(self._events, base.ids, base.offsets, base.numbers[words], sources, counts, changes)
        return np.diff(base.offsets)[base.numbers]

    def changes_of_text_work(self, text: NDArray[np.uint8], weight: int, changes: NDArray[np.int64]) -> Work[int]:
        """Does the same for one text that is not split, with its `weight` and int64 [n]; returns its base tokens."""
        symbols = yield from self.symbols_work(text)
        size = len(symbols)
        yield from self._replay_work(symbols, changes, weight)
        return size

    def _replay_work(
        self, symbols: NDArray[np.int32], changes: NDArray[np.int64], weight: int
    ) -> Work[NDArray[np.int32]]:
        """Encodes a sequence in its place; returns the links between its tokens."""
        from tokstudio.core.kernels import replay

        n = len(symbols)
        following, previous = np.empty(n, np.int32), np.empty(n, np.int32)
        heap, state = np.empty(n + 64, np.int64), np.zeros(replay.STATE_SIZE, np.int64)
        pieces = 0
        while state[replay.STARTED] < n or state[replay.HEAP_SIZE] > 0:
            scratch = symbols, following, previous, heap, state, changes, weight
            heap = replay.replay(self._events, self.limit, *scratch, _BUDGET)
            pieces += 1
            yield Progress("encoding", min(n, pieces * _BUDGET // 3), n)
        return following
