"""The merging of a corpus: owns the arrays, drives the compiled loops in bounded calls, and makes room.

It knows base units, weights and limits on a pair; what a vocabulary size or a minimum frequency mean to a person, and
when to stop, is left to the Trainer.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels import tables as k
from tokstudio.core.kernels.found import found, has_eligible_pair
from tokstudio.core.kernels.merge import merge
from tokstudio.core.kernels.tables import Tables

TieBreak = Literal["first", "lowest-id", "huggingface", "bytes"]

# A round's floor as a share of the highest count that can stand in it. Each round costs a pass over what is left of the
# corpus and makes it denser; the lower the floor, the more pairs are stored that are never merged. 8 is best for
# 100 MB; for 10 MB 8 to 64 are the same.
_FLOOR_STEP = 8
_FIRST_FLOOR_SHARE = 512
_BUDGET = 400_000  # visits of places a call: 10 to 40 ms
_BATCH = 4096
_NO_LIMIT = 1 << 62
_LARGEST_GRID = 1 << 22
_UNIT_BITS = 8
_PREFIX_UNITS = 7
_POOL_SHARE = 1.15  # places a position that the pool begins with; it must hold every pair of neighbours once
_SLACK = 1024
_PAIRS_AT_FIRST = 1 << 14

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class Units:
    """A corpus as base units, ready to be merged.

    Attributes:
        symbols: int32 [n], ids of the base units; -1 at both ends and between sequences. The engine takes it over.
        weights: int64 [n], how often the sequence of each position occurs; empty where each occurs once.
        token_bytes: int64 [base], UTF-8 length of each base unit.
        tie_order: int32 [base], order of the base units where ties go by the order of ids.
    """

    symbols: NDArray[np.int32]
    weights: NDArray[np.int64]
    token_bytes: NDArray[np.int64]
    tie_order: NDArray[np.int32]


@dataclass(frozen=True)
class Merges:
    """Some merges in order: ids of left and right, the count when chosen, tokens left in the corpus afterwards."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    count: NDArray[np.int64]
    tokens_after: NDArray[np.int64]


class Engine:
    """Merges the most frequent pair, again and again, down to counts of `final_floor`."""

    def __init__(self, units: Units, tie_break: TieBreak, final_floor: int, max_token_bytes: int | None) -> None:
        n, base = len(units.symbols), len(units.token_bytes)
        self._base = base
        self._final_floor = final_floor
        self._state = state = np.zeros(k.STATE_SIZE, np.int64)
        state[k.STAGE] = k.COMPACT
        state[k.LENGTH] = n
        state[k.VOCABULARY] = base
        state[k.TIE_RULE] = {"first": k.BY_PLACE, "bytes": k.BY_BYTES}.get(tie_break, k.BY_ORDER)
        state[k.MAX_BYTES] = _NO_LIMIT if max_token_bytes is None else max_token_bytes
        state[k.UNIT_BITS] = _UNIT_BITS
        state[k.FLOOR] = max(final_floor, n // _FIRST_FLOOR_SHARE)
        in_corpus = units.symbols >= 0
        state[k.TOKENS] = units.weights[in_corpus].sum() if len(units.weights) else np.count_nonzero(in_corpus)
        del in_corpus
        self.tokens_before = int(state[k.TOKENS])
        self._founding = True
        self._tables = self._allocate(units, tie_break == "bytes")
        self._lay_grid()

    @property
    def vocabulary(self) -> int:
        """Ids in use: base units and merges."""
        return int(self._state[k.VOCABULARY])

    @property
    def tokens(self) -> int:
        """Tokens left in the corpus, weighted."""
        return int(self._state[k.TOKENS])

    @property
    def founding(self) -> float | None:
        """How much of the first count of pairs is done, from 0 to 1; None once merging has begun."""
        if not self._founding or self.vocabulary > self._base:
            return None
        stage, last = int(self._state[k.STAGE]), k.PLACE_PAIRS if len(self._tables.grid) else k.STORE_PAIRS
        if stage > last:
            return 1.0
        length = max(1, int(self._state[k.LENGTH]))
        return (stage + min(1.0, int(self._state[k.CURSOR]) / length)) / (last + 1)

    def advance(self, merges: int = _BATCH) -> Merges | None:
        """Does one bounded piece of work, and at most so many merges.

        Returns:
            The merges made, which may be none; or None when no pair reaches the final floor.
        """
        state = self._state
        self._ensure_tokens(merges)
        state[k.OUT] = 0
        if self._founding:
            if self._call(found, _BUDGET) == k.ROUND_OVER:
                self._founding = False
                self._tables = self._tables._replace(grid=np.zeros(0, np.int64))
        elif self._call(merge, _BUDGET, min(merges, _BATCH)) == k.ROUND_OVER:
            if state[k.FLOOR] == self._final_floor and state[k.OUT] == 0:
                return None
            if state[k.FLOOR] > self._final_floor:
                self._begin_round()
        t, made = self._tables, int(state[k.OUT])
        out = (t.out_left[:made], t.out_right[:made], t.out_count[:made], t.out_tokens[:made])
        return Merges(out[0].copy(), out[1].copy(), out[2].copy(), out[3].copy())

    def has_eligible_pair(self) -> bool:
        """Whether two neighbours are left that may be merged, however rare. To be asked when `advance` gave None."""
        return bool(has_eligible_pair(self._tables, self._state))

    def _begin_round(self) -> None:
        state = self._state
        floor = int(state[k.FLOOR])
        # Where floor 1 is allowed, floor 2 comes before it: it stores far fewer pairs.
        lowest = 2 if floor > 2 else 1
        state[k.FLOOR] = max(self._final_floor, lowest, floor // _FLOOR_STEP)
        state[k.STAGE], state[k.CURSOR], state[k.TARGET] = k.COMPACT, 0, 0
        self._founding = True
        self._lay_grid()

    def _lay_grid(self) -> None:
        """Counts pairs in a grid while it takes less memory than the corpus."""
        cells = self.vocabulary**2
        size = cells if cells <= min(_LARGEST_GRID, max(1 << 16, int(self._state[k.LENGTH]) // 8)) else 0
        self._tables = self._tables._replace(grid=np.zeros(size, np.int64))

    def _call(self, kernel: Callable[..., int], *arguments: int) -> int:
        """Calls a loop; where it wants room, squeezes or grows, and leaves the rest to the next call."""
        code = kernel(self._tables, self._state, *arguments)
        if code == k.NEED_ROOM:
            self._make_room()
        return code

    def _make_room(self) -> None:
        state, t = self._state, self._tables
        if state[k.STAGE] in (k.NUMBER_PAIRS, k.STORE_PAIRS):
            self._grow_pairs(4 * len(t.pair_count))
            return
        pair = int(t.heap_pair[0])
        places = 2 * int(t.pair_end[pair] - t.pair_start[pair])
        alive = self._alive_places()
        if alive + places > 0.9 * len(t.pool):
            self._grow_pool(int(1.3 * (alive + places)) + _SLACK)
        pairs = int(np.count_nonzero(t.pair_count[1 : state[k.PAIRS]] >= state[k.FLOOR]))
        new_pairs = 2 * min(places // 2, self.vocabulary + 1)
        if pairs + new_pairs > 0.75 * len(t.pair_count):
            self._grow_pairs(int(1.5 * (pairs + new_pairs)) + _SLACK)
        state[k.STAGE], state[k.CURSOR], state[k.TARGET], state[k.MERGED] = k.SQUEEZE, 1, 1, 0

    def _alive_places(self) -> int:
        """At least the places in the pool that a squeeze would leave."""
        t, pairs = self._tables, int(self._state[k.PAIRS])
        counts = t.pair_count[1:pairs]
        kept = counts >= self._state[k.FLOOR]
        stored = (t.pair_end[1:pairs] - t.pair_start[1:pairs])[kept]
        if len(t.weights):
            return int(stored.sum())
        return int(np.minimum(stored, counts[kept]).sum())

    def _allocate(self, units: Units, by_bytes: bool) -> Tables:
        n, base = len(units.symbols), len(units.token_bytes)
        tokens, pairs = base + _BATCH, _PAIRS_AT_FIRST
        empty32 = np.empty(0, np.int32)
        # What only ties by bytes need takes no room without them.
        spelled = tokens if by_bytes else 0
        token_prefix, token_place = np.zeros(spelled, np.int64), np.zeros(spelled, np.int32)
        origin = sort_units = empty32
        if by_bytes:
            token_place[:base] = np.arange(base)
            origin = np.arange(base, base + n, dtype=np.int32)
            sort_units = np.concatenate([token_place[:base], units.symbols])
            token_prefix[:base] = np.arange(base) << (_UNIT_BITS * (_PREFIX_UNITS - 1))
        return Tables(
            symbols=units.symbols,
            pairs_at=np.zeros(n, np.int32),
            weights=units.weights,
            origin=origin,
            units=sort_units,
            pool=np.empty(int(_POOL_SHARE * n) + _SLACK, np.int32),
            pair_left=np.zeros(pairs, np.int32),
            pair_right=np.zeros(pairs, np.int32),
            pair_count=np.zeros(pairs, np.int64),
            pair_start=np.zeros(pairs, np.int64),
            pair_end=np.zeros(pairs, np.int64),
            heap_count=np.zeros(pairs, np.int64),
            heap_tie=np.zeros(pairs, np.int64),
            heap_pair=np.zeros(pairs, np.int32),
            token_span=np.ones(tokens, np.int32),
            token_bytes=_padded(units.token_bytes, tokens),
            token_units=np.ones(spelled, np.int64),
            token_order=_padded(units.tie_order, tokens),
            token_prefix=token_prefix,
            token_place=token_place,
            left_slot=np.zeros(tokens, np.int32),
            right_slot=np.zeros(tokens, np.int32),
            left_count=np.zeros(tokens, np.int64),
            right_count=np.zeros(tokens, np.int64),
            touched=np.zeros(2 * tokens, np.int32),
            grid=np.zeros(0, np.int64),
            out_left=np.zeros(_BATCH, np.int32),
            out_right=np.zeros(_BATCH, np.int32),
            out_count=np.zeros(_BATCH, np.int64),
            out_tokens=np.zeros(_BATCH, np.int64),
        )

    def _ensure_tokens(self, merges: int) -> None:
        t = self._tables
        needed = self.vocabulary + min(merges, _BATCH) + 1
        if needed <= len(t.token_order):
            return
        size = max(needed, int(1.5 * len(t.token_order)))
        names = [name for name in Tables._fields if name.startswith(("token_", "left_", "right_"))]
        grown = {name: _padded(getattr(t, name), size) for name in names}
        if not len(t.origin):
            grown |= {name: getattr(t, name) for name in ("token_units", "token_prefix", "token_place")}
        self._tables = t._replace(**grown, touched=_padded(t.touched, 2 * size))

    def _grow_pairs(self, size: int) -> None:
        t = self._tables
        names = [name for name in Tables._fields if name.startswith(("pair_", "heap_"))]
        self._tables = t._replace(**{name: _padded(getattr(t, name), size) for name in names})

    def _grow_pool(self, size: int) -> None:
        if size > len(self._tables.pool):
            self._tables = self._tables._replace(pool=_padded(self._tables.pool, size))


def _padded(array: NDArray[T], size: int) -> NDArray[T]:
    grown = np.zeros(size, array.dtype)
    grown[: len(array)] = array
    return grown
