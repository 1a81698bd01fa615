"""Begins a round: squeezes the corpus to what is left, finds its pairs, and keeps those that reach the floor.

While there are few symbols, a grid of symbols by symbols counts their pairs. With many, the places of all tokens are
sorted by right and then by left symbol (two stable counting sorts), so that every pair's places stand together. Either
way a pair's places end up in order, and nothing is hashed.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from numba import njit

from tokstudio.core.kernels.heap import first_place, sift_down, spellings_of, tie_of_tokens
from tokstudio.core.kernels.tables import (
    BUDGET_SPENT,
    BUILD_HEAP,
    BY_PLACE,
    CHOOSE,
    COMPACT,
    COUNT_PAIRS,
    COUNT_SYMBOLS,
    CURSOR,
    FLOOR,
    HEAP,
    LENGTH,
    MAX_BYTES,
    NEED_ROOM,
    NUMBER_PAIRS,
    PAIRS,
    PLACE_PAIRS,
    PLACES,
    POOL,
    ROUND_OVER,
    SORT_BY_LEFT,
    SORT_BY_RIGHT,
    STAGE,
    STORE_PAIRS,
    TARGET,
    TIE_RULE,
    VOCABULARY,
    Heap,
    Int64,
    Tables,
)


@njit(nogil=True, cache=True)
def _compact(t: Tables, state: Int64, budget: int) -> int:
    """Moves every token to one position of its own."""
    at, target = state[CURSOR], state[TARGET]
    weighted, placed = t.weights.size > 0, t.origin.size > 0
    while at < state[LENGTH] and budget > 0:
        symbol = t.symbols[at]
        t.symbols[target] = symbol
        if weighted:
            t.weights[target] = t.weights[at]
        if placed:
            t.origin[target] = t.origin[at]
        at += 1 if symbol < 0 else t.token_span[symbol]
        target += 1
        budget -= 1
    state[CURSOR], state[TARGET] = at, target
    if at == state[LENGTH]:
        state[LENGTH] = target
        t.token_span[: state[VOCABULARY]] = 1
        t.left_count[: state[VOCABULARY]] = 0
        t.right_count[: state[VOCABULARY]] = 0
        state[STAGE] = COUNT_PAIRS if t.grid.size > 0 else COUNT_SYMBOLS
        state[CURSOR] = state[PLACES] = 0
        state[POOL], state[PAIRS] = 0, 1
    return budget


@njit(nogil=True, cache=True)
def _count_pairs(t: Tables, state: Int64, budget: int) -> int:
    """Counts in the grid where each pair stands."""
    symbols, grid, width = t.symbols, t.grid, state[VOCABULARY]
    start = state[CURSOR]
    end = min(state[LENGTH] - 1, start + budget)
    left = symbols[start]
    for i in range(start, end):
        right = symbols[i + 1]
        if left >= 0 and right >= 0:
            grid[left * width + right] += 1
        left = right
    state[CURSOR] = end
    if end == state[LENGTH] - 1:
        state[STAGE], state[CURSOR] = NUMBER_PAIRS, 0
    return budget - (end - start)


@njit(nogil=True, cache=True)
def _number_pairs(t: Tables, state: Int64, budget: int) -> int:
    """Gives a number and a run of the pool to every pair that can reach the floor.

    With weights a pair's count is only known once its places are; until then every pair is given a number.
    """
    grid, width, pair, used = t.grid, state[VOCABULARY], state[PAIRS], state[POOL]
    weighted = t.weights.size > 0
    start = state[CURSOR]
    end = min(width * width, start + budget)
    at = start
    while at < end and pair < t.pair_count.size:
        places = grid[at]
        if places > 0:
            left, right = at // width, at % width
            grid[at] = 0
            if (weighted or places >= state[FLOOR]) and (
                t.token_bytes[left] + t.token_bytes[right] <= state[MAX_BYTES]
            ):
                grid[at] = pair
                t.pair_left[pair], t.pair_right[pair] = left, right
                t.pair_count[pair] = 0 if weighted else places
                t.pair_start[pair] = t.pair_end[pair] = used
                used += places
                pair += 1
        at += 1
    state[CURSOR], state[PAIRS], state[POOL] = at, pair, used
    if at == width * width:
        state[STAGE], state[CURSOR] = PLACE_PAIRS, 0
    return budget - (at - start)


@njit(nogil=True, cache=True)
def _place_pairs(t: Tables, state: Int64, budget: int) -> int:
    """Writes the places of every numbered pair."""
    symbols, weights, grid, width = t.symbols, t.weights, t.grid, state[VOCABULARY]
    pairs_at, pool, ends, counts = t.pairs_at, t.pool, t.pair_end, t.pair_count
    weighted = weights.size > 0
    start = state[CURSOR]
    end = min(state[LENGTH] - 1, start + budget)
    left = symbols[start]
    for i in range(start, end):
        right = symbols[i + 1]
        pair = grid[left * width + right] if left >= 0 and right >= 0 else 0
        pairs_at[i] = pair
        if pair > 0:
            to = ends[pair]
            pool[to] = i
            ends[pair] = to + 1
            if weighted:
                counts[pair] += weights[i]
        left = right
    state[CURSOR] = end
    if end == state[LENGTH] - 1:
        pairs_at[end] = 0
        state[STAGE], state[CURSOR] = BUILD_HEAP, 0
    return budget - (end - start)


@njit(nogil=True, cache=True)
def _count_symbols(t: Tables, state: Int64, budget: int) -> int:
    """Counts how many places each symbol takes as the left and as the right of two neighbours."""
    start = state[CURSOR]
    end = min(state[LENGTH] - 1, start + budget)
    places = 0
    for i in range(start, end):
        left, right = t.symbols[i], t.symbols[i + 1]
        if left >= 0 and right >= 0:
            t.left_count[left] += 1
            t.right_count[right] += 1
            places += 1
    state[CURSOR] = end
    state[PLACES] += places
    if end == state[LENGTH] - 1:
        left_at, right_at = 0, 0
        for symbol in range(state[VOCABULARY]):
            left, right = t.left_count[symbol], t.right_count[symbol]
            t.left_count[symbol], t.right_count[symbol] = left_at, right_at
            left_at += left
            right_at += right
        state[STAGE], state[CURSOR] = SORT_BY_RIGHT, 0
    return budget - (end - start)


@njit(nogil=True, cache=True)
def _sort_by_right(t: Tables, state: Int64, budget: int) -> int:
    """First sort: `pairs_at` is not in use yet and takes the places."""
    start = state[CURSOR]
    end = min(state[LENGTH] - 1, start + budget)
    for i in range(start, end):
        left, right = t.symbols[i], t.symbols[i + 1]
        if left >= 0 and right >= 0:
            to = t.right_count[right]
            t.pairs_at[to] = i
            t.right_count[right] = to + 1
    state[CURSOR] = end
    if end == state[LENGTH] - 1:
        state[STAGE], state[CURSOR] = SORT_BY_LEFT, 0
    return budget - (end - start)


@njit(nogil=True, cache=True)
def _sort_by_left(t: Tables, state: Int64, budget: int) -> int:
    """Second sort, which leaves the order by right symbol within each left symbol as it is."""
    start = state[CURSOR]
    end = min(state[PLACES], start + budget)
    for k in range(start, end):
        i = t.pairs_at[k]
        left = t.symbols[i]
        to = t.left_count[left]
        t.pool[to] = i
        t.left_count[left] = to + 1
    state[CURSOR] = end
    if end == state[PLACES]:
        t.pairs_at[: state[LENGTH]] = 0
        t.left_count[: state[VOCABULARY]] = 0
        t.right_count[: state[VOCABULARY]] = 0
        state[STAGE], state[CURSOR] = STORE_PAIRS, 0
    return budget - (end - start)


@njit(nogil=True, cache=True)
def _store_pairs(t: Tables, state: Int64, budget: int) -> int:
    """Gives a number to every pair that reaches the floor; its places move down over those that were dropped."""
    at, used, pair = state[CURSOR], state[POOL], state[PAIRS]
    weighted = t.weights.size > 0
    while at < state[PLACES] and budget > 0 and pair < t.pair_count.size:
        first = t.pool[at]
        left, right = t.symbols[first], t.symbols[first + 1]
        end, count = at, 0
        while end < state[PLACES]:
            i = t.pool[end]
            if t.symbols[i] != left or t.symbols[i + 1] != right:
                break
            count += t.weights[i] if weighted else 1
            end += 1
        budget -= end - at
        if count >= state[FLOOR] and t.token_bytes[left] + t.token_bytes[right] <= state[MAX_BYTES]:
            t.pair_left[pair], t.pair_right[pair], t.pair_count[pair] = left, right, count
            t.pair_start[pair] = used
            for k in range(at, end):
                i = t.pool[k]
                t.pool[used] = i
                t.pairs_at[i] = pair
                used += 1
            t.pair_end[pair] = used
            pair += 1
        at = end
    state[CURSOR], state[POOL], state[PAIRS] = at, used, pair
    if at == state[PLACES]:
        state[STAGE], state[CURSOR] = BUILD_HEAP, 0
    return budget


@njit(nogil=True, cache=True)
def build_heap(t: Tables, state: Int64, budget: int) -> int:
    """Fills the heap with all pairs that reach the floor, then orders it from the bottom up."""
    heap, spellings = Heap(t.heap_count, t.heap_tie, t.heap_pair), spellings_of(t)
    rule = state[TIE_RULE]
    if state[CURSOR] == 0:
        size = 0
        for pair in range(1, state[PAIRS]):
            if t.pair_count[pair] >= state[FLOOR]:
                heap.counts[size], heap.pairs[size] = t.pair_count[pair], pair
                if rule == BY_PLACE:
                    start = first_place(t.pairs_at, t.pool, t.pair_start[pair], pair)
                    t.pair_start[pair] = start
                    heap.ties[size] = t.pool[start]
                else:
                    heap.ties[size] = tie_of_tokens(
                        rule, t.token_order, t.token_prefix, t.pair_left[pair], t.pair_right[pair]
                    )
                size += 1
        state[HEAP] = size
        state[CURSOR] = size // 2 + 1
    at = state[CURSOR] - 2
    while at >= 0 and budget > 0:
        sift_down(heap, spellings, state, at)
        at -= 1
        budget -= 1
    state[CURSOR] = at + 2
    if at < 0:
        state[STAGE] = CHOOSE
    return budget


@njit(nogil=True, cache=True)
def has_eligible_pair(t: Tables, state: Int64) -> bool:
    """Whether two neighbours are left that are short enough to be joined; looks no further than the first."""
    at, left = 0, -1
    while at < state[LENGTH]:
        symbol = t.symbols[at]
        if symbol >= 0 and left >= 0 and t.token_bytes[left] + t.token_bytes[symbol] <= state[MAX_BYTES]:
            return True
        at += 1 if symbol < 0 else t.token_span[symbol]
        left = symbol
    return False


@njit(nogil=True, cache=True)
def found(t: Tables, state: Int64, budget: int) -> int:
    """Goes on with the beginning of a round for about `budget` steps.

    Returns:
        `ROUND_OVER` when merging can begin, `NEED_ROOM` when the tables of pairs are full, else `BUDGET_SPENT`.
    """
    while budget > 0:
        stage = state[STAGE]
        if stage == COMPACT:
            budget = _compact(t, state, budget)
        elif stage == COUNT_PAIRS:
            budget = _count_pairs(t, state, budget)
        elif stage == NUMBER_PAIRS:
            budget = _number_pairs(t, state, budget)
            if state[STAGE] == NUMBER_PAIRS and state[PAIRS] == t.pair_count.size:
                return NEED_ROOM
        elif stage == PLACE_PAIRS:
            budget = _place_pairs(t, state, budget)
        elif stage == COUNT_SYMBOLS:
            budget = _count_symbols(t, state, budget)
        elif stage == SORT_BY_RIGHT:
            budget = _sort_by_right(t, state, budget)
        elif stage == SORT_BY_LEFT:
            budget = _sort_by_left(t, state, budget)
        elif stage == STORE_PAIRS:
            budget = _store_pairs(t, state, budget)
            if state[STAGE] == STORE_PAIRS and state[PAIRS] == t.pair_count.size:
                return NEED_ROOM
        elif stage == BUILD_HEAP:
            budget = build_heap(t, state, budget)
        else:
            return ROUND_OVER
    return BUDGET_SPENT
