"""The merging of Picky BPE: holds the arrays of its own loop, calls it in bounded pieces, and grows the arrays."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.algorithms.common.engines import Allows, ChosenMerges, Merging, Pairs, Room, Task
from tokstudio.core.algorithms.common.progress_estimate import next_floor
from tokstudio.core.algorithms.common.units import Units
from tokstudio.core.base.arrays import grown, power_of_two
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.kernels import picky_tables as k
from tokstudio.core.kernels.intrinsics import count_tokens
from tokstudio.core.kernels.picky import first_places, train_picky
from tokstudio.core.kernels.picky_tables import PickyTables, index_pairs, index_tokens
from tokstudio.core.kernels.tables import ASKS, NEED_ROOM, NUMBER_BITS, ROUND_OVER
from tokstudio.core.model.algorithms import Picky
from tokstudio.core.model.config import TrainingConfig

_BUDGET = 100_000  # visits of places per call
_BATCH = 4096
_SECONDS = 0.02  # of a call where each pair is asked for
_NO_LIMIT = 1 << 62
_FIRST_FLOOR_SHARE = 256  # of the corpus, as in `engine`
_AT_FIRST = 1 << 16


class PickyEngine:
    """Merges the most frequent pair, and removes its parts that are hardly used otherwise, again and again.

    It is full when merges have made `wanted` tokens that are present.
    """

    def __init__(
        self,
        units: Units,
        threshold: float,
        wanted: int | None,
        final_floor: int,
        max_token_bytes: int | None,
        scale: int = 1,
        allows: Allows | None = None,
    ) -> None:
        n, base = len(units.symbols), len(units.token_bytes)
        self._final_floor, self._allows, self._threshold = final_floor, allows, float(threshold)
        self._state = state = np.zeros(k.STATE_SIZE, np.int64)
        state[k.TOKENS] = count_tokens(units.symbols, units.weights, units.heavy)
        state[k.FLOOR] = max(final_floor, scale * n // _FIRST_FLOOR_SHARE)
        state[k.VOCABULARY] = state[k.BASE] = base
        state[k.PAIRS] = state[k.NODES] = 1
        state[k.WANTED] = _NO_LIMIT if wanted is None else wanted
        state[k.MAX_BYTES] = _NO_LIMIT if max_token_bytes is None else max_token_bytes
        state[k.ALLOWED] = -1 if allows is None else -2
        values = np.arange(base, dtype=np.int32) if units.values is None else units.values
        tokens = np.zeros((base + _BATCH, 12), np.int64)
        ids = np.arange(base)
        tokens[:base, k.SPAN], tokens[:base, k.BYTES] = 1, units.token_bytes
        tokens[:base, k.SPELT_AT] = tokens[:base, k.NEWEST] = ids
        tokens[:base, k.HASH], tokens[:base, k.FACTOR] = ids + 1, k.HASH_BASE
        tokens[:base, k.IS_PRESENT] = 1
        self._tables = PickyTables(
            symbols=units.symbols,
            weights=units.weights,
            heavy=units.heavy,
            # Separators are never compared.
            units=np.concatenate([values, np.append(values, np.int32(0))[units.symbols]]),
            tokens=tokens,
            token_index=np.zeros(power_of_two(2 * len(tokens)), np.int32),
            pairs=np.zeros((_AT_FIRST, 6), np.int64),
            pair_index=np.zeros(power_of_two(2 * _AT_FIRST), np.int32),
            nodes=np.zeros((n + _AT_FIRST, 2), np.int32),
            heap=np.zeros((_AT_FIRST, 2), np.int64),
            touched=np.zeros(_AT_FIRST, np.int32),
            parts=np.zeros(64, np.int32),
            out=np.zeros((_BATCH, 8), np.int64),
        )

    @property
    def vocabulary(self) -> int:
        """Ids given: base units and merges."""
        return int(self._state[k.VOCABULARY])

    @property
    def tokens(self) -> int:
        """Tokens left in the corpus, weighted."""
        return int(self._state[k.TOKENS])

    @property
    def is_full(self) -> bool:
        """Whether all wanted tokens are present."""
        return bool(self._state[k.PRESENT] >= self._state[k.WANTED])

    @property
    def first_count(self) -> float | None:
        """The progress of the count of pairs, from 0 to 1; None once merging has begun."""
        return self.counted if self._state[k.STAGE] == k.COUNT else None

    @property
    def floor(self) -> int:
        """The lowest count of the pairs that are in the heap."""
        return int(self._state[k.FLOOR])

    @property
    def counted(self) -> float:
        """The progress of the count of pairs, from 0 to 1."""
        if self._state[k.STAGE] != k.COUNT:
            return 1.0
        return int(self._state[k.CURSOR]) / max(1, len(self._tables.symbols))

    def advance(self, merges: int = _BATCH) -> ChosenMerges | None:
        """Makes at most `merges` merges, with their removals, in one piece of work; a merge is made whole.

        Returns:
            The merges; None when no pair reaches the final floor.
        """
        state = self._state
        state[k.OUT] = 0
        code = self._merge(min(merges, _BATCH))
        if code == ROUND_OVER:
            if state[k.FLOOR] > self._final_floor:
                state[k.FLOOR] = next_floor(self.floor, self._final_floor)
                state[k.STAGE], state[k.CURSOR] = k.FILL, 1
            elif state[k.OUT] == 0:
                return None
        out = self._tables.out[: state[k.OUT]].copy()
        left, right = out[:, k.OUT_LEFT].astype(np.int32), out[:, k.OUT_RIGHT].astype(np.int32)
        rows = out[:, k.OUT_RESULT :].copy()
        return ChosenMerges(left, right, out[:, k.OUT_COUNT], out[:, k.OUT_TOKENS], columns={"removals": rows})

    def _merge(self, merges: int) -> int:
        """Merges, makes room, and asks for each pair where some are not allowed."""
        until = time.perf_counter() + _SECONDS
        while True:
            code = int(train_picky(self._tables, self._state, self._threshold, _BUDGET, merges))
            if code == NEED_ROOM:
                self._make_room()
            elif code == ASKS and self._allows is not None:
                pair = self._state[k.PAIR]
                key = int(self._tables.pairs[pair, k.KEY])
                if self._allows(key >> 32, key & NUMBER_BITS, self.vocabulary):
                    self._state[k.ALLOWED] = key
                else:
                    self._tables.pairs[pair, k.MARK] = k.REFUSED
                if time.perf_counter() > until:
                    return code
            else:
                return code

    def has_eligible_pair(self) -> bool:
        """Whether any two neighbours may still be merged, however rare. For use after `advance` returned None."""
        keys, _, _ = self._pairs(1)
        return any(self._may_merge(key >> 32, key & NUMBER_BITS) for key in keys.tolist())

    def _may_merge(self, left: int, right: int) -> bool:
        return self._allows is None or self._allows(left, right, self.vocabulary)

    def recount_work(self, floor: int) -> Work[tuple[Pairs, Pairs]]:
        """All pairs that occur at least `floor` times: those that may be merged, and those refused.

        For use between two merges.
        """
        while self.first_count is not None:
            self.advance(1)
            yield Progress("counting")
        keys, counts, rows = self._pairs(floor)
        places = np.zeros(len(self._tables.pairs), np.int32)
        first_places(self._tables, self._state, places)
        yield Progress("counting")
        return Pairs.divided(keys, counts, places[rows], None if self._allows is None else self._may_merge)

    def _pairs(self, floor: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.intp]]:
        """The keys, counts and rows of pairs that occur so often and make no token that is too long."""
        t, stop = self._tables, self._state[k.PAIRS]
        keys, sizes = t.pairs[:stop, k.KEY], t.tokens[:, k.BYTES]
        short = sizes[keys >> 32] + sizes[keys & NUMBER_BITS] <= self._state[k.MAX_BYTES]
        rows = np.flatnonzero(short & (t.pairs[:stop, k.PAIR_COUNT] >= floor))
        return keys[rows], t.pairs[rows, k.PAIR_COUNT], rows

    def _make_room(self) -> None:
        """Grows the arrays that are too short for what comes next."""
        state, t = self._state, self._tables
        if state[k.VOCABULARY] == len(t.tokens):
            tokens = grown(t.tokens, 2 * len(t.tokens))
            index = np.zeros(power_of_two(2 * len(tokens)), np.int32)
            index_tokens(tokens, index, int(state[k.BASE]), int(state[k.VOCABULARY]))
            t = t._replace(tokens=tokens, token_index=index)
        if state[k.PAIRS_NEEDED] > len(t.pairs):
            size = max(int(state[k.PAIRS_NEEDED]), 2 * len(t.pairs))
            pair_index = np.zeros(power_of_two(2 * size), np.int32)
            pairs = grown(t.pairs, size)
            index_pairs(pairs, pair_index, int(state[k.PAIRS]))
            t = t._replace(pairs=pairs, pair_index=pair_index, touched=grown(t.touched, size))
        for name, needed in (("nodes", k.NODES_NEEDED), ("heap", k.HEAP_NEEDED), ("parts", k.PARTS_NEEDED)):
            array = getattr(t, name)
            if state[needed] > len(array):
                t = t._replace(**{name: grown(array, max(int(state[needed]), int(1.5 * len(array))))})
        self._tables = t


class PickyRoom(Room):
    """Picky BPE, whose merger knows how many tokens are left."""

    def merger(
        self, units: Units, config: TrainingConfig, floor: int, scale: int, allows: Allows | None
    ) -> PickyEngine:
        """See `Room`."""
        assert isinstance(config.algorithm, Picky)
        wanted = config.max_merges(len(units.token_bytes))
        return PickyEngine(units, config.algorithm.threshold, wanted, floor, config.max_token_bytes, scale, allows)

    def engine(self, task: Task, units: Units) -> Merging:
        """See `Room`; there may be more merges than tokens."""
        return Merging(self.new_merger(task, units), task.prepared.positions, None, task.limit, task.floor)


ROOM = PickyRoom()
