"""Plain BPE, also of whole characters, whose units say what a merge may join: the most frequent pair, again and again.

The merger holds the arrays, calls the compiled loops in bounded pieces, and grows the arrays.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.algorithms.common.engines import Allows, ChosenMerges, Pairs, Room
from tokstudio.core.algorithms.common.progress_estimate import next_floor
from tokstudio.core.algorithms.common.units import Units
from tokstudio.core.base.arrays import grown, power_of_two
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.kernels import tables as k
from tokstudio.core.kernels.count_pairs import count_pairs, eligible_pair
from tokstudio.core.kernels.intrinsics import count_tokens
from tokstudio.core.kernels.merge import cuts_character, merge
from tokstudio.core.kernels.tables import Tables
from tokstudio.core.model.algorithms import TieBreak
from tokstudio.core.model.config import TrainingConfig

_FIRST_FLOOR_SHARE = 256  # of the corpus: see `FLOOR_STEP`
_BUDGET = 400_000  # visits of places per call: 10 to 40 ms
_BATCH = 4096
_SECONDS = 0.02  # of a call where each pair is asked for
_NO_LIMIT = 1 << 62
_LARGEST_GRID = 1 << 22
# Cells per token at a floor of one: fewer let rare pairs through, more don't fit into the processor's cache.
_CELL_SHARE = 4
_FEWEST_CELLS, _MOST_CELLS = 1 << 16, 1 << 25
_PREFIX_BITS = 63  # seven bytes, or three code points
_POOL_SHARE = 1.15  # initial places in the pool per position; it must hold every pair of neighbours once
_SLACK = 1024
_PAIRS_AT_FIRST = 1 << 16
_TIE_RULES: Mapping[TieBreak, int] = {"first": k.BY_PLACE, "bytes": k.BY_BYTES, "mapped-strings": k.BY_BYTES}

_MERGING = (k.CHOOSE, k.REPLACE, k.WRITE, k.EXHAUSTED)
# The stages of counting; in the first round there is no corpus to squeeze before.
_GRID_STAGES = (k.COUNT_CELLS, k.NUMBER_CELLS, k.PLACE_CELLS)
_HASH_STAGES = (k.COUNT_CELLS, k.SIFT_CELLS, k.NUMBER_PAIRS, k.ALLOT, k.PLACE_PAIRS)


class PairEngine:
    """Merges the most frequent pair, again and again, down to counts of `final_floor`, in units of 1 / `scale`.

    With `allows`, each pair is asked for before it is merged, and one that is refused is skipped for good.
    """

    def __init__(
        self,
        units: Units,
        tie_break: TieBreak,
        final_floor: int,
        max_token_bytes: int | None,
        scale: int = 1,
        allows: Allows | None = None,
    ) -> None:
        n, base = len(units.symbols), len(units.token_bytes)
        self._base = base
        self._final_floor = final_floor
        self._allows = allows
        self._state = state = np.zeros(k.STATE_SIZE, np.int64)
        state[k.STAGE] = k.COUNT_CELLS
        state[k.LENGTH] = n
        state[k.PAIRS] = state[k.INDEXED] = state[k.POOL] = 1
        state[k.VOCABULARY] = base
        state[k.TIE_RULE] = _TIE_RULES.get(tie_break, k.BY_ORDER)
        state[k.MAX_BYTES] = _NO_LIMIT if max_token_bytes is None else max_token_bytes
        state[k.ALLOWED] = k.ANY if allows is None else k.NONE
        state[k.FLOOR] = max(final_floor, scale * n // _FIRST_FLOOR_SHARE)
        state[k.TOKENS] = count_tokens(units.symbols, units.weights, units.heavy)
        self._is_counting = True
        self._tables = self._allocate(units, state[k.TIE_RULE] == k.BY_BYTES)
        self._lay_cells()

    @property
    def vocabulary(self) -> int:
        """Ids in use: base units and merges."""
        return int(self._state[k.VOCABULARY])

    @property
    def tokens(self) -> int:
        """Tokens left in the corpus, weighted."""
        return int(self._state[k.TOKENS])

    @property
    def first_count(self) -> float | None:
        """The progress of the first count of pairs, from 0 to 1; None once merging has begun."""
        return self.counted if self._is_counting and self.vocabulary == self._base else None

    @property
    def floor(self) -> int:
        """The lowest count of the pairs that are merged in this round."""
        return int(self._state[k.FLOOR])

    @property
    def counted(self) -> float:
        """The progress of this round's count of pairs, from 0 to 1; 1 during its merging."""
        if not self._is_counting:
            return 1.0
        stages = _GRID_STAGES if self._state[k.WIDTH] else _HASH_STAGES
        stage = int(self._state[k.STAGE])
        if stage not in stages:
            return float(stage > max(stages))
        length = max(1, int(self._state[k.LENGTH]))
        return (stages.index(stage) + min(1.0, int(self._state[k.CURSOR]) / length)) / len(stages)

    @property
    def is_full(self) -> bool:
        """Whether it made all tokens it shall make; only the engine of Picky BPE counts them."""
        return False

    def advance(self, merges: int = _BATCH) -> ChosenMerges | None:
        """Makes at most `merges` merges in one bounded piece of work; None when no pair reaches the final floor."""
        state = self._state
        self._ensure_tokens(merges)
        state[k.OUT] = 0
        if state[k.STAGE] in _MERGING:
            if self._merge(min(merges, _BATCH)) == k.ROUND_OVER:
                if state[k.FLOOR] == self._final_floor and state[k.OUT] == 0:
                    return None
                if state[k.FLOOR] > self._final_floor:
                    self._begin_round(next_floor(self.floor, self._final_floor))
        else:
            code = self._call(count_pairs, _BUDGET)
            if code == k.COMPACTED:
                self._lay_cells()
            elif code == k.ROUND_OVER:
                self._is_counting = False
                none = np.zeros(0, np.int32)
                without = {"cells": none, "cell_weights": np.zeros(0, np.int64), "frequent": none, "numbers": none}
                self._tables = self._tables._replace(**without)
        out = self._tables.out[: state[k.OUT]]
        return ChosenMerges(out[:, 0].astype(np.int32), out[:, 1].astype(np.int32), out[:, 2].copy(), out[:, 3].copy())

    def _merge(self, merges: int) -> int:
        """Merges, and asks for each pair where some are not allowed."""
        until = time.perf_counter() + _SECONDS
        code = self._call(self._loop, _BUDGET, merges)
        while code == k.ASKS and self._allows is not None:
            pair = self._next_pair()
            key = int(self._tables.pairs[pair, k.KEY])
            if self._allows(key >> 32, key & k.NUMBER_BITS, self.vocabulary):
                self._state[k.ALLOWED] = key
            else:
                self._refuse(pair)
            if time.perf_counter() > until:
                break
            code = self._call(self._loop, _BUDGET, merges)
        return code

    def _loop(self, tables: Tables, state: NDArray[np.int64], budget: int, batch: int) -> int:
        return merge(tables, state, budget, batch)

    def _refuse(self, pair: int) -> None:
        """Makes a pair never be chosen."""
        self._tables.pairs[pair, k.COUNT] = 0

    def has_eligible_pair(self) -> bool:
        """Whether any two neighbours may still be merged, however rare. For use after `advance` returned None."""
        return self._has_eligible_pair(0)

    def _has_eligible_pair(self, at: int) -> bool:
        """Whether any two neighbours may be merged from position `at` on, where a token starts."""
        t, refused = self._tables, set[tuple[int, int]]()
        while True:
            left, right, at = eligible_pair(t.symbols, t.token_span, t.token_bytes, self._state, at)
            if left < 0 or (self._allows is None and not len(t.token_lacking)):
                return left >= 0
            if (left, right) not in refused and self._may_merge(left, right):
                return True
            refused.add((left, right))

    def _may_merge(self, left: int, right: int) -> bool:
        lacking = self._tables.token_lacking
        if len(lacking) and cuts_character(lacking, left << 32 | right):
            return False
        return self._allows is None or self._allows(left, right, self.vocabulary)

    def recount_work(self, floor: int) -> Work[tuple[Pairs, Pairs]]:
        """Counts anew all pairs that occur at least `floor` times: those that may be merged, and those refused.

        For use between two merges.
        """
        state = self._state
        self._begin_round(floor)
        while state[k.STAGE] not in _MERGING:
            self.advance()
            yield Progress("counting")
        counts, places = yield from self._counts_work()
        rows = np.flatnonzero(counts >= floor)
        keys = self._tables.pairs[1:, k.KEY][rows]
        may_all = self._allows is None and not len(self._tables.token_lacking)
        return Pairs.divided(keys, counts[rows], places[rows], None if may_all else self._may_merge)

    def _counts_work(self) -> Work[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """The count of each stored pair, and the first of its places; right after they were counted anew."""
        pairs = self._tables.pairs[1 : self._state[k.PAIRS]]
        return pairs[:, k.COUNT].copy(), self._tables.pool[pairs[:, k.START]]
        yield

    def _begin_round(self, floor: int) -> None:
        state = self._state
        state[k.FLOOR] = floor
        state[k.STAGE], state[k.CURSOR], state[k.TARGET] = k.COMPACT, 0, 0
        state[k.PAIRS] = state[k.INDEXED] = state[k.POOL] = 1
        self._is_counting = True

    def _lay_cells(self) -> None:
        """Counts pairs in a grid while it takes less memory than the corpus, otherwise in cells shared by pairs."""
        # A text without characters has no symbols; a grid of width 0 would mean cells, of which there are none.
        state, width, length = self._state, max(self.vocabulary, 1), int(self._state[k.LENGTH])
        weighted = len(self._tables.weights) > 0
        if width**2 <= min(_LARGEST_GRID, max(1 << 16, length // 8)):
            size, sizes, state[k.WIDTH] = width**2, (width**2, 0, 0), width
        else:
            wanted = min(_CELL_SHARE * self.tokens // int(state[k.FLOOR]), 2 * length, _MOST_CELLS)
            size = power_of_two(max(wanted, _FEWEST_CELLS))
            sizes, state[k.WIDTH] = (0 if weighted else size, size // 32, length), 0
        # The part of the corpus that merging has freed is large enough, except in the first round.
        free = self._tables.symbols[length:]
        if len(free) < sum(sizes):
            free = np.empty(sum(sizes), np.int32)
        cells, frequent, numbers, _ = np.split(free, np.cumsum(sizes))
        cells[:] = 0
        cell_weights = np.zeros(size if weighted else 0, np.int64)
        self._tables = self._tables._replace(cells=cells, cell_weights=cell_weights, frequent=frequent, numbers=numbers)

    def _call(self, kernel: Callable[..., int], *arguments: int) -> int:
        """Calls a loop; where it needs room, squeezes or grows the arrays, and the next call goes on."""
        code = kernel(self._tables, self._state, *arguments)
        if code == k.NEED_ROOM:
            self._make_room()
        return code

    def _make_room(self) -> None:
        state, t = self._state, self._tables
        if state[k.STAGE] in (k.NUMBER_CELLS, k.NUMBER_PAIRS):
            self._grow_pairs(max(2 * len(t.pairs), int(1.5 * state[k.TARGET])))
            return
        pair = self._next_pair()
        places = int(t.pairs[pair, k.STOP] - t.pairs[pair, k.START])
        alive = self._alive_places()
        if alive + 4 * places > 0.9 * len(t.pool):
            self._tables = t._replace(pool=grown(t.pool, int(1.3 * (alive + 4 * places)) + _SLACK))
        pairs = int(np.count_nonzero(t.pairs[1 : state[k.PAIRS], k.COUNT] >= state[k.FLOOR]))
        new_pairs = 2 * min(places, self.vocabulary + 1)
        if pairs + new_pairs > 0.75 * len(t.pairs):
            self._grow_pairs(int(1.5 * (pairs + new_pairs)) + _SLACK)
        state[k.STAGE], state[k.CURSOR], state[k.TARGET], state[k.MERGED] = k.SQUEEZE, 1, 1, 1

    def _next_pair(self) -> int:
        """The pair that is chosen, and waits."""
        return int(self._tables.heap[0, k.HEAP_PAIR])

    def _alive_places(self) -> int:
        """At least as many places as a squeeze would leave in the pool."""
        pairs = self._tables.pairs[1 : self._state[k.PAIRS]]
        kept = pairs[pairs[:, k.COUNT] >= self._state[k.FLOOR]]
        stored = kept[:, k.STOP] - kept[:, k.START]
        if len(self._tables.weights):
            return int(stored.sum())
        return int(np.minimum(stored, kept[:, k.COUNT]).sum())

    def _allocate(self, units: Units, by_bytes: bool) -> Tables:
        n, base = len(units.symbols), len(units.token_bytes)
        tokens, pairs = base + _BATCH, _PAIRS_AT_FIRST
        # Arrays that only weights or ties by bytes need are empty without them.
        weighed, spelt = tokens if len(units.weights) else 0, tokens if by_bytes else 0
        spelling = np.zeros((spelt, 3), np.int64)
        origin = sort_units = np.empty(0, np.int32)
        if by_bytes:
            spelling[:base], origin, sort_units, self._state[k.UNIT_BITS] = _spelling(units)
        return Tables(
            symbols=units.symbols,
            weights=units.weights,
            heavy=units.heavy,
            origin=origin,
            units=sort_units,
            pool=np.empty(int(_POOL_SHARE * n) + 1 + _SLACK, np.int32),
            pairs=np.zeros((pairs, 4), np.int64),
            pair_index=np.zeros(power_of_two(2 * pairs), np.int64),
            heap=np.zeros((pairs, 3), np.int64),
            token_span=np.ones(tokens, np.int32),
            token_bytes=grown(units.token_bytes, tokens),
            token_order=grown(units.tie_order, tokens),
            token_lacking=np.zeros(0, np.int64) if units.lacking is None else grown(units.lacking, tokens),
            spelling=spelling,
            cells=np.zeros(0, np.int32),
            cell_weights=np.zeros(0, np.int64),
            frequent=np.zeros(0, np.int32),
            numbers=np.zeros(0, np.int32),
            left_slot=np.zeros(tokens, np.int32),
            right_slot=np.zeros(tokens, np.int32),
            left_count=np.zeros(weighed, np.int64),
            right_count=np.zeros(weighed, np.int64),
            touched=np.zeros(2 * tokens, np.int32),
            out=np.zeros((_BATCH, 4), np.int64),
        )

    def _ensure_tokens(self, merges: int) -> None:
        t = self._tables
        needed = self.vocabulary + min(merges, _BATCH) + 1
        if needed <= len(t.token_order):
            return
        size = max(needed, int(1.5 * len(t.token_order)))
        names = [name for name in Tables._fields if name.startswith(("token_", "spelling", "left_", "right_"))]
        larger = {name: grown(getattr(t, name), size) for name in names if len(getattr(t, name))}
        self._tables = t._replace(**larger, touched=grown(t.touched, 2 * size))

    def _grow_pairs(self, size: int) -> None:
        t = self._tables
        index = np.zeros(power_of_two(2 * size), np.int64)
        self._tables = t._replace(pairs=grown(t.pairs, size), heap=grown(t.heap, size), pair_index=index)
        self._state[k.INDEXED] = 1


def _spelling(units: Units) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], int]:
    """The rows of the base units in `Tables.spelling`, `Tables.origin`, `Tables.units`, and the bits of a unit."""
    base = len(units.token_bytes)
    values = np.arange(base, dtype=np.int32) if units.values is None else units.values
    ends = np.arange(1, len(values) + 1) if units.value_ends is None else units.value_ends
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])[:base]
    sizes = ends - starts
    bits = max(8, int(values.max(initial=0)).bit_length())
    in_prefix = _PREFIX_BITS // bits
    prefixes = np.zeros(base, np.int64)
    for n in range(in_prefix):
        (longer,) = np.nonzero(sizes > n)
        prefixes[longer] |= values[starts[longer] + n].astype(np.int64) << (bits * (in_prefix - 1 - n))
    rows = np.stack([sizes, starts, prefixes], axis=1)
    # Separators are never compared: they take the unit of the last id, if there is one.
    if len(values) == base and np.all(sizes == 1):
        origin = np.arange(base, base + len(units.symbols), dtype=np.int32)
        return rows, origin, np.concatenate([values, np.append(values, np.int32(0))[units.symbols]]), bits
    written = np.append(sizes, 0)[units.symbols]
    begins = len(values) + np.cumsum(written) - written
    where = np.arange(int(written.sum())) + np.repeat(
        np.append(starts, 0)[units.symbols] - (begins - len(values)), written
    )
    return rows, begins.astype(np.int32), np.concatenate([values, values[where]]), bits


class PlainRoom(Room):
    """Plain BPE, and BPE of whole characters."""

    def merger(self, units: Units, config: TrainingConfig, floor: int, scale: int, allows: Allows | None) -> PairEngine:
        """See `Room`."""
        return PairEngine(units, config.tie_break, floor, config.max_token_bytes, scale, allows)


ROOM = PlainRoom()
