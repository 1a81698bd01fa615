"""The merge loop: chooses pairs and merges them, in bounded calls.

A merge makes three passes over the places of its pair, each in order of place: `REPLACE` writes the new id and lets the
old neighbours' counts fall, `GATHER` counts the new neighbours in slots indexed by their id, `WRITE` stores the places
of each new pair that reaches the floor. Work is bounded by the number of tokens merged away.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportAssignmentType=false
from __future__ import annotations

from numba import njit

from tokstudio.core.kernels.found import build_heap
from tokstudio.core.kernels.heap import before, first_place, prefix_of, sorts_after, spellings_of, tie_of_tokens
from tokstudio.core.kernels.prefetch import prefetch
from tokstudio.core.kernels.tables import (
    BATCH_FULL,
    BUDGET_SPENT,
    BUILD_HEAP,
    BY_BYTES,
    BY_PLACE,
    CHOOSE,
    COUNT,
    CURSOR,
    EXHAUSTED,
    FLOOR,
    GATHER,
    HEAP,
    MAX_BYTES,
    MERGED,
    NEED_ROOM,
    OUT,
    PAIR,
    PAIRS,
    POOL,
    REPLACE,
    ROUND_OVER,
    SQUEEZE,
    STAGE,
    TARGET,
    TIE_RULE,
    TOKENS,
    TOUCHED,
    VOCABULARY,
    WRITE,
    Int64,
    Tables,
)


@njit(nogil=True, cache=True)
def squeeze(t: Tables, state: Int64, budget: int) -> int:
    """Drops dead places and pairs below the floor, and numbers the rest anew; runs stay in order, so it works in place.

    `CURSOR` is the next pair to look at, `TARGET` its new number, `MERGED` the new end of the pool. A new number is
    never above an old one that is still to come, so the two cannot be confused in `pairs_at`.
    """
    pair, new, used = state[CURSOR], state[TARGET], state[MERGED]
    pool, pairs_at = t.pool, t.pairs_at
    while pair < state[PAIRS] and budget > 0:
        start, end = t.pair_start[pair], t.pair_end[pair]
        keep = t.pair_count[pair] >= state[FLOOR]
        number = new if keep else 0
        first = used
        for k in range(start, end):
            i = pool[k]
            if pairs_at[i] == pair:
                pairs_at[i] = number
                if keep:
                    pool[used] = i
                    used += 1
        if keep:
            t.pair_left[new], t.pair_right[new] = t.pair_left[pair], t.pair_right[pair]
            t.pair_count[new] = t.pair_count[pair]
            t.pair_start[new], t.pair_end[new] = first, used
            new += 1
        budget -= end - start + 1
        pair += 1
    state[CURSOR], state[TARGET], state[MERGED] = pair, new, used
    if pair == state[PAIRS]:
        state[PAIRS], state[POOL] = new, used
        state[STAGE], state[CURSOR] = BUILD_HEAP, 0
    return budget


@njit(nogil=True, cache=True)
def merge(t: Tables, state: Int64, budget: int, batch: int) -> int:
    """Merges for about `budget` visits of places, or until `batch` merges are written to the `out` arrays.

    One long loop over local names: handing `Tables` to a function for each stage of each merge takes longer than most
    merges do.

    Returns:
        `BUDGET_SPENT`; `BATCH_FULL`; `NEED_ROOM` when the chosen pair's merge doesn't fit (squeeze or grow, then call
        again); `ROUND_OVER` when no stored pair reaches the floor.
    """
    symbols, pairs_at, weights, pool = t.symbols, t.pairs_at, t.weights, t.pool
    lefts, rights, counts, starts, ends = t.pair_left, t.pair_right, t.pair_count, t.pair_start, t.pair_end
    spans, sizes, order, prefixes = t.token_span, t.token_bytes, t.token_order, t.token_prefix
    left_slot, right_slot, touched = t.left_slot, t.right_slot, t.touched
    heap_count, heap_tie, heap_pair, spellings = t.heap_count, t.heap_tie, t.heap_pair, spellings_of(t)
    token_units, token_place = t.token_units, t.token_place
    weighted, by_bytes = weights.size > 0, state[TIE_RULE] == BY_BYTES
    rule, floor, longest = state[TIE_RULE], state[FLOOR], state[MAX_BYTES]
    while budget > 0:
        stage = state[STAGE]
        if stage == CHOOSE:
            if state[OUT] == batch:
                return BATCH_FULL
            pair, count = 0, 0
            size = state[HEAP]
            while size > 0 and budget > 0:
                budget -= 1
                pair = heap_pair[0]
                count = counts[pair]
                if count == heap_count[0]:
                    break
                # Out of date. Counts only fall: re-key it and let it sink, or put the last in its place.
                if count < floor:
                    size -= 1
                    count, tie, pair = heap_count[size], heap_tie[size], heap_pair[size]
                elif rule == BY_PLACE:
                    start = starts[pair]
                    while pairs_at[pool[start]] != pair:
                        start += 1
                    starts[pair], tie = start, pool[start]
                else:
                    tie = heap_tie[0]
                at, child = 0, 1
                while child < size:
                    other = child + 1
                    if other < size and (
                        before(heap_count[other], heap_tie[other], heap_count[child], heap_tie[child])
                        or (
                            by_bytes
                            and heap_count[other] == heap_count[child]
                            and heap_tie[other] == heap_tie[child]
                            and sorts_after(spellings, heap_pair[other], heap_pair[child])
                        )
                    ):
                        child = other
                    if before(count, tie, heap_count[child], heap_tie[child]) or (
                        by_bytes
                        and count == heap_count[child]
                        and tie == heap_tie[child]
                        and sorts_after(spellings, pair, heap_pair[child])
                    ):
                        break
                    heap_count[at], heap_tie[at], heap_pair[at] = heap_count[child], heap_tie[child], heap_pair[child]
                    at, child = child, 2 * child + 1
                heap_count[at], heap_tie[at], heap_pair[at] = count, tie, pair
                pair = 0
            state[HEAP] = size
            if size == 0:
                state[STAGE] = EXHAUSTED
                return ROUND_OVER
            if pair == 0:
                continue

            # Each place can make two new ones, and two new pairs.
            places = ends[pair] - starts[pair]
            if not weighted:
                places = min(places, count)
            if state[POOL] + 2 * places > pool.size or (
                state[PAIRS] + 2 * min(places, state[VOCABULARY] + 1) > counts.size
            ):
                return NEED_ROOM

            left, right, token = lefts[pair], rights[pair], state[VOCABULARY]
            spans[token] = spans[left] + spans[right]
            sizes[token] = sizes[left] + sizes[right]
            order[token] = token
            if by_bytes:
                token_units[token] = token_units[left] + token_units[right]
                prefixes[token] = prefix_of(state, prefixes[left], token_units[left], prefixes[right])
                starts[pair] = first_place(pairs_at, pool, starts[pair], pair)
                token_place[token] = t.origin[pool[starts[pair]]]
            state[PAIR], state[COUNT] = pair, count
            state[CURSOR] = state[MERGED] = starts[pair]
            state[STAGE] = REPLACE

        elif stage == REPLACE:
            pair, token = state[PAIR], state[VOCABULARY]
            left_span, span = spans[lefts[pair]], spans[token]
            start, merged = state[CURSOR], state[MERGED]
            end = min(ends[pair], start + budget)
            weight, total = 1, 0
            for k in range(start, end):
                ahead = pool[min(k + 16, end - 1)]
                prefetch(symbols, ahead)
                prefetch(pairs_at, ahead)
                i = pool[k]
                if pairs_at[i] != pair:
                    continue
                if weighted:
                    weight = weights[i]
                neighbour = symbols[i - 1]
                if neighbour >= 0:
                    place = i - spans[neighbour]
                    counts[pairs_at[place]] -= weight
                    pairs_at[place] = 0
                place = i + left_span
                counts[pairs_at[place]] -= weight
                pairs_at[place] = 0
                pairs_at[i] = 0
                symbols[i] = token
                symbols[i + span - 1] = token
                pool[merged] = i
                merged += 1
                total += weight
            budget -= end - start
            state[CURSOR], state[MERGED] = end, merged
            state[TOKENS] -= total
            if end == ends[pair]:
                counts[pair] = 0
                state[STAGE], state[CURSOR], state[TOUCHED] = GATHER, starts[pair], 0

        elif stage == GATHER:
            pair, token = state[PAIR], state[VOCABULARY]
            span = spans[token]
            start, met = state[CURSOR], state[TOUCHED]
            end = min(state[MERGED], start + budget)
            for k in range(start, end):
                i = pool[k]
                left, right = symbols[i - 1], symbols[i + span]
                # (token, token) is counted once, from its left one.
                if left >= 0 and left != token:
                    if left_slot[left] == 0:
                        touched[met] = left
                        met += 1
                    left_slot[left] += 1
                    if weighted:
                        t.left_count[left] += weights[i]
                if right >= 0:
                    if right_slot[right] == 0:
                        touched[met] = -1 - right
                        met += 1
                    right_slot[right] += 1
                    if weighted:
                        t.right_count[right] += weights[i]
            budget -= end - start
            state[CURSOR], state[TOUCHED] = end, met
            if end < state[MERGED]:
                continue
            # The slots turn from numbers of places into numbers of pairs: 0 for those that the floor drops.
            new, used = state[PAIRS], state[POOL]
            for k in range(met):
                if touched[k] >= 0:
                    neighbour = touched[k]
                    places = left_slot[neighbour]
                    count = places
                    if weighted:
                        count, t.left_count[neighbour] = t.left_count[neighbour], 0
                    stored = count >= floor and sizes[neighbour] + sizes[token] <= longest
                    left_slot[neighbour] = new if stored else 0
                    lefts[new], rights[new] = neighbour, token
                else:
                    neighbour = -1 - touched[k]
                    places = right_slot[neighbour]
                    count = places
                    if weighted:
                        count, t.right_count[neighbour] = t.right_count[neighbour], 0
                    stored = count >= floor and sizes[neighbour] + sizes[token] <= longest
                    right_slot[neighbour] = new if stored else 0
                    lefts[new], rights[new] = token, neighbour
                if stored:
                    counts[new] = count
                    starts[new] = ends[new] = used
                    used += places
                    new += 1
            state[TARGET], state[PAIRS], state[POOL] = state[PAIRS], new, used
            state[STAGE], state[CURSOR] = WRITE, starts[pair]

        elif stage == WRITE:
            pair, token = state[PAIR], state[VOCABULARY]
            span = spans[token]
            start = state[CURSOR]
            end = min(state[MERGED], start + budget)
            for k in range(start, end):
                i = pool[k]
                left, right = symbols[i - 1], symbols[i + span]
                if left >= 0 and left != token:
                    number = left_slot[left]
                    if number > 0:
                        place = i - spans[left]
                        pool[ends[number]] = place
                        ends[number] += 1
                        pairs_at[place] = number
                if right >= 0:
                    number = right_slot[right]
                    if number > 0:
                        pool[ends[number]] = i
                        ends[number] += 1
                        pairs_at[i] = number
            budget -= end - start
            state[CURSOR] = end
            if end < state[MERGED]:
                continue
            for k in range(state[TOUCHED]):
                if touched[k] >= 0:
                    left_slot[touched[k]] = 0
                else:
                    right_slot[-1 - touched[k]] = 0
            ends[pair] = starts[pair]
            size = state[HEAP]
            for new in range(state[TARGET], state[PAIRS]):
                count = counts[new]
                if rule == BY_PLACE:
                    tie = pool[starts[new]]
                else:
                    tie = tie_of_tokens(rule, order, prefixes, lefts[new], rights[new])
                at = size
                size += 1
                while at > 0:
                    parent = (at - 1) >> 1
                    if not before(count, tie, heap_count[parent], heap_tie[parent]) and not (
                        by_bytes
                        and count == heap_count[parent]
                        and tie == heap_tie[parent]
                        and sorts_after(spellings, new, heap_pair[parent])
                    ):
                        break
                    heap_count[at], heap_tie[at] = heap_count[parent], heap_tie[parent]
                    heap_pair[at] = heap_pair[parent]
                    at = parent
                heap_count[at], heap_tie[at], heap_pair[at] = count, tie, new
            state[HEAP] = size
            out = state[OUT]
            t.out_left[out], t.out_right[out] = lefts[pair], rights[pair]
            t.out_count[out], t.out_tokens[out] = state[COUNT], state[TOKENS]
            state[OUT], state[VOCABULARY] = out + 1, token + 1
            state[STAGE] = CHOOSE

        elif stage == SQUEEZE:
            budget = squeeze(t, state, budget)
        elif stage == BUILD_HEAP:
            budget = build_heap(t, state, budget)
        else:
            return ROUND_OVER
    return BUDGET_SPENT
