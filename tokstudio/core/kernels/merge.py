"""The merge loop: chooses pairs and merges them, in bounded calls.

A merge makes two passes over the places of its pair, each in order of place: `REPLACE` writes the new id and counts the
neighbours in slots indexed by their id, `WRITE` stores the places of each new pair that reaches the floor. Between the
passes every neighbour is looked up once: the new pair's count is subtracted from the old pair's. Work is bounded by the
number of tokens merged away.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportAssignmentType=false
from __future__ import annotations

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.heap import before, prefix_of, sift_down, sorts_after, tie_of_ids
from tokstudio.core.kernels.prefetch import prefetch
from tokstudio.core.kernels.tables import (
    BATCH_FULL,
    BUDGET_SPENT,
    BY_BYTES,
    BY_PLACE,
    CHOOSE,
    CHOSEN,
    COUNT,
    CURSOR,
    END,
    EXHAUSTED,
    FILL_HEAP,
    FLOOR,
    HASH_BITS,
    HASH_LEFT,
    HASH_RIGHT,
    HEAP,
    HEAP_COUNT,
    HEAP_PAIR,
    HEAP_TIE,
    INDEX_SHIFT,
    INDEXED,
    INSIDE,
    KEY,
    MAX_BYTES,
    MERGED,
    NEED_ROOM,
    NUMBER_BITS,
    OUT,
    PAIR,
    PAIRS,
    POOL,
    PREFIX,
    REPLACE,
    ROUND_OVER,
    SCRATCH,
    SPELT,
    SPELT_AT,
    STAGE,
    START,
    STOP,
    TARGET,
    TIE_RULE,
    TOKEN,
    TOKENS,
    TOUCHED,
    UNIT_BITS,
    VOCABULARY,
    WRITE,
    Int32,
    Int64,
    Tables,
)

_AHEAD = 16


@njit(nogil=True, cache=True)
def squeeze(symbols: Int32, pool: Int32, pairs: Int64, token_span: Int32, state: Int64, budget: int) -> int:
    """Drops invalid places and pairs below the floor, and renumbers the rest in place, because runs stay in order.

    `CURSOR` is the next pair to look at, `TARGET` its new number, `MERGED` the new end of the pool.
    """
    pair, new, used = state[CURSOR], state[TARGET], state[MERGED]
    while pair < state[PAIRS] and budget > 0:
        start, stop, key = pairs[pair, START], pairs[pair, STOP], pairs[pair, KEY]
        if pairs[pair, COUNT] >= state[FLOOR]:
            left, right = key >> 32, key & NUMBER_BITS
            span, first = token_span[left], used
            for k in range(start, stop):
                prefetch(symbols, pool[min(k + _AHEAD, stop - 1)])
                i = pool[k]
                if symbols[i] == left and symbols[i + span] == right:
                    pool[used] = i
                    used += 1
            pairs[new, COUNT], pairs[new, KEY] = pairs[pair, COUNT], key
            pairs[new, START], pairs[new, STOP] = first, used
            new += 1
            budget -= stop - start
        budget -= 1
        pair += 1
    state[CURSOR], state[TARGET], state[MERGED] = pair, new, used
    if pair == state[PAIRS]:
        state[PAIRS], state[POOL] = new, used
        state[INDEXED] = 1
        state[STAGE], state[CURSOR] = FILL_HEAP, 0
    return budget


@njit(nogil=True, cache=True)
def merge(t: Tables, state: Int64, budget: int, batch: int) -> int:
    """Merges for about `budget` visits of places, or until `batch` merges are written to `out`.

    It is one long loop over local variables: passing `Tables` to a function for each stage of each merge takes longer
    than most merges do.

    Returns:
        `BUDGET_SPENT`; `BATCH_FULL`; `NEED_ROOM` when the chosen pair's merge doesn't fit (squeeze or grow, then call
        again); `ROUND_OVER` when no stored pair reaches the floor.
    """
    symbols, weights, pool, pairs, index, heap = t.symbols, t.weights, t.pool, t.pairs, t.pair_index, t.heap
    spans, sizes, order = t.token_span, t.token_bytes, t.token_order
    spelling, units = t.spelling, t.units
    left_slot, right_slot, left_count, right_count = t.left_slot, t.right_slot, t.left_count, t.right_count
    touched = t.touched
    weighted, by_bytes = weights.size > 0, state[TIE_RULE] == BY_BYTES
    rule, floor, longest = state[TIE_RULE], state[FLOOR], state[MAX_BYTES]
    mask = index.size - 1
    while budget > 0:
        stage = state[STAGE]
        if stage == CHOOSE:
            if state[OUT] == batch:
                return BATCH_FULL
            pair, count = 0, 0
            size = state[HEAP]
            while size > 0 and budget > 0:
                budget -= 1
                pair = heap[0, HEAP_PAIR]
                count = pairs[pair, COUNT]
                if count == heap[0, HEAP_COUNT]:
                    break
                # Outdated. Counts only decrease: update it and let it sink, or replace it by the last entry.
                tie = heap[0, HEAP_TIE]
                if count < floor:
                    size -= 1
                    count, tie, pair = heap[size, HEAP_COUNT], heap[size, HEAP_TIE], heap[size, HEAP_PAIR]
                elif rule == BY_PLACE:
                    start, left, right = pairs[pair, START], pairs[pair, KEY] >> 32, pairs[pair, KEY] & NUMBER_BITS
                    span = spans[left]
                    while symbols[pool[start]] != left or symbols[pool[start] + span] != right:
                        start += 1
                    pairs[pair, START], tie = start, pool[start]
                sift_down(heap, size, 0, (count, tie, pair), by_bytes, pairs, spelling, units)
                pair = 0
            state[HEAP] = size
            if size == 0:
                state[STAGE] = EXHAUSTED
                return ROUND_OVER
            if pair == 0:
                continue

            # Each place can make two new places and two new pairs, and needs room for two neighbours meanwhile.
            start = pairs[pair, START]
            places = pairs[pair, STOP] - start
            if not weighted:
                places = min(places, count)
            if state[POOL] + 4 * places > pool.size or (
                state[PAIRS] + 2 * min(places, state[VOCABULARY] + 1) > len(pairs)
            ):
                return NEED_ROOM

            left, right, token = pairs[pair, KEY] >> 32, pairs[pair, KEY] & NUMBER_BITS, state[VOCABULARY]
            spans[token] = spans[left] + spans[right]
            sizes[token] = sizes[left] + sizes[right]
            order[token] = token
            if by_bytes:
                spelling[token, SPELT] = spelling[left, SPELT] + spelling[right, SPELT]
                spelling[token, PREFIX] = prefix_of(
                    state[UNIT_BITS], spelling[left, PREFIX], spelling[left, SPELT], spelling[right, PREFIX]
                )
                span = spans[left]
                while symbols[pool[start]] != left or symbols[pool[start] + span] != right:
                    start += 1
                spelling[token, SPELT_AT] = t.origin[pool[start]]
            # One of these is likely to be chosen next.
            for k in range(1, min(5, size)):
                prefetch(pairs, 4 * heap[k, HEAP_PAIR])
            pairs[pair, START] = start
            state[PAIR], state[CHOSEN] = pair, count
            state[CURSOR] = state[MERGED] = start
            state[SCRATCH], state[TOUCHED] = state[POOL] + 2 * places, 0
            state[STAGE] = REPLACE

        elif stage == REPLACE:
            pair, token = state[PAIR], state[VOCABULARY]
            left, right = pairs[pair, KEY] >> 32, pairs[pair, KEY] & NUMBER_BITS
            left_span, span = spans[left], spans[token]
            start, merged, met = state[CURSOR], state[MERGED], state[TOUCHED]
            stop = pairs[pair, STOP]
            end = min(stop, start + budget)
            scratch = state[SCRATCH] + 2 * (merged - pairs[pair, START])
            weight, total = 1, 0
            for k in range(start, min(start + _AHEAD, end)):
                prefetch(symbols, pool[k])
            for k in range(start, end):
                ahead = pool[min(k + _AHEAD, stop - 1)]
                prefetch(symbols, ahead)
                prefetch(symbols, ahead + span)
                i = pool[k]
                if symbols[i] != left or symbols[i + left_span] != right:
                    continue
                if weighted:
                    weight = weights[i]
                total += weight
                before_it, after_it = symbols[i - 1] & TOKEN, symbols[i + span]
                symbols[i + left_span] = INSIDE
                symbols[i] = token
                symbols[i + span - 1] = token | END
                # Two adjacent new tokens are counted once, from the left one.
                if after_it == left and symbols[i + span + left_span] == right:
                    after_it = token
                if before_it != TOKEN and before_it != token:
                    if left_slot[before_it] == 0:
                        touched[met] = before_it
                        met += 1
                        prefetch(index, ((before_it * HASH_LEFT + left * HASH_RIGHT) >> INDEX_SHIFT) & mask)
                    left_slot[before_it] += 1
                    if weighted:
                        left_count[before_it] += weight
                if after_it >= 0:
                    if right_slot[after_it] == 0:
                        touched[met] = -1 - after_it
                        met += 1
                        prefetch(index, ((right * HASH_LEFT + after_it * HASH_RIGHT) >> INDEX_SHIFT) & mask)
                    right_slot[after_it] += 1
                    if weighted:
                        right_count[after_it] += weight
                pool[merged] = i
                pool[scratch], pool[scratch + 1] = before_it, after_it
                merged += 1
                scratch += 2
            budget -= end - start
            state[CURSOR], state[MERGED], state[TOUCHED] = end, merged, met
            state[TOKENS] -= total
            if end < stop:
                continue

            # Updates the counts of old pairs and adds the new ones. The slots turn from numbers of places into numbers
            # of pairs: 0 for those below the floor.
            new, used = state[PAIRS], state[POOL]
            for k in range(met):
                on_left = touched[k] >= 0
                if on_left:
                    neighbour = touched[k]
                    places = left_slot[neighbour]
                    old_left, old_right, new_left, new_right = neighbour, left, neighbour, token
                    count = left_count[neighbour] if weighted else places
                else:
                    neighbour = -1 - touched[k]
                    places = right_slot[neighbour]
                    old_left, old_right, new_left, new_right = right, neighbour, token, neighbour
                    if neighbour == token:
                        old_right = left
                    count = right_count[neighbour] if weighted else places
                key = (old_left << 32) | old_right
                hashed = old_left * HASH_LEFT + old_right * HASH_RIGHT
                slot = (hashed >> INDEX_SHIFT) & mask
                number = index[slot] & NUMBER_BITS
                while number > 0 and (((index[slot] ^ hashed) >> 32) != 0 or pairs[number, KEY] != key):
                    slot = (slot + 1) & mask
                    number = index[slot] & NUMBER_BITS
                if number > 0:
                    pairs[number, COUNT] -= count
                number = 0
                if count >= floor and sizes[neighbour] + sizes[token] <= longest:
                    number = new
                    pairs[new, COUNT], pairs[new, KEY] = count, (new_left << 32) | new_right
                    pairs[new, START] = pairs[new, STOP] = used
                    hashed = new_left * HASH_LEFT + new_right * HASH_RIGHT
                    slot = (hashed >> INDEX_SHIFT) & mask
                    while index[slot] != 0:
                        slot = (slot + 1) & mask
                    index[slot] = (hashed & HASH_BITS) | new
                    used += places
                    new += 1
                if on_left:
                    left_slot[neighbour] = number
                    if weighted:
                        left_count[neighbour] = 0
                else:
                    right_slot[neighbour] = number
                    if weighted:
                        right_count[neighbour] = 0
            pairs[pair, COUNT] = 0
            state[TARGET], state[PAIRS], state[INDEXED], state[POOL] = state[PAIRS], new, new, used
            state[STAGE], state[CURSOR] = WRITE, pairs[pair, START]

        elif stage == WRITE:
            pair, token = state[PAIR], state[VOCABULARY]
            for k in range(1, min(5, state[HEAP])):
                prefetch(pool, pairs[heap[k, HEAP_PAIR], START])
            start, merged = state[CURSOR], state[MERGED]
            end = min(merged, start + budget)
            scratch = state[SCRATCH] + 2 * (start - pairs[pair, START])
            for k in range(start, end):
                before_it, after_it = pool[scratch], pool[scratch + 1]
                scratch += 2
                if before_it != TOKEN and before_it != token:
                    number = left_slot[before_it]
                    to = pairs[number, STOP]
                    pool[to] = pool[k] - spans[before_it]
                    pairs[number, STOP] = to + (number > 0)
                if after_it >= 0:
                    number = right_slot[after_it]
                    to = pairs[number, STOP]
                    pool[to] = pool[k]
                    pairs[number, STOP] = to + (number > 0)
            budget -= end - start
            state[CURSOR] = end
            if end < merged:
                continue
            for k in range(state[TOUCHED]):
                if touched[k] >= 0:
                    left_slot[touched[k]] = 0
                else:
                    right_slot[-1 - touched[k]] = 0
            size = state[HEAP]
            for new in range(state[TARGET], state[PAIRS]):
                count = pairs[new, COUNT]
                if rule == BY_PLACE:
                    tie = pool[pairs[new, START]]
                else:
                    left, right = pairs[new, KEY] >> 32, pairs[new, KEY] & NUMBER_BITS
                    prefix = spelling[left, PREFIX] if by_bytes else 0
                    tie = tie_of_ids(rule, order[left], order[right], prefix)
                at = size
                size += 1
                while at > 0:
                    parent = (at - 1) >> 2
                    parent_count, parent_tie = heap[parent, HEAP_COUNT], heap[parent, HEAP_TIE]
                    if not before(count, tie, parent_count, parent_tie) and not (
                        by_bytes
                        and count == parent_count
                        and tie == parent_tie
                        and sorts_after(pairs, spelling, units, new, heap[parent, HEAP_PAIR])
                    ):
                        break
                    heap[at, HEAP_COUNT], heap[at, HEAP_TIE] = parent_count, parent_tie
                    heap[at, HEAP_PAIR] = heap[parent, HEAP_PAIR]
                    at = parent
                heap[at, HEAP_COUNT], heap[at, HEAP_TIE], heap[at, HEAP_PAIR] = count, tie, new
            state[HEAP] = size
            out, key = state[OUT], pairs[pair, KEY]
            pairs[pair, STOP] = pairs[pair, START]
            t.out[out, 0], t.out[out, 1] = key >> 32, key & NUMBER_BITS
            t.out[out, 2], t.out[out, 3] = state[CHOSEN], state[TOKENS]
            state[OUT], state[VOCABULARY] = out + 1, token + 1
            state[STAGE] = CHOOSE

        else:
            return ROUND_OVER
    return BUDGET_SPENT
