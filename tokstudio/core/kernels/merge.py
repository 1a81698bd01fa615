"""The merge loop: chooses pairs and merges them, in bounded calls.

A merge makes two passes over the places of its pair, each in order of place: `REPLACE` writes the new id and counts the
neighbours in slots indexed by their id, `WRITE` stores the places of each new pair that reaches the floor. Between the
passes every neighbour is looked up once: the new pair's count is subtracted from the old pair's. Work is bounded by the
number of tokens merged away.
"""

# SPDX-License-Identifier: MIT
# pyright: reportReturnType=false, reportArgumentType=false
# pyright: reportArgumentType=false, reportAssignmentType=false
from __future__ import annotations

from tokstudio.core.kernels import tables as k
from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.intrinsics import prefetch, weight_at
from tokstudio.core.kernels.tables import Int32, Int64, Tables

# --- The lazy heap of pairs for `merge`: highest count first, ties by the rule of the training ------------------------

# numpy's stubs cannot tell an element from an array where the index came out of an array itself.


@njit(nogil=True, cache=True)
def _compare_tokens(spelling: Int64, units: Int32, one: int, other: int) -> int:
    """Negative, zero or positive as the bytes of token `one` sort before, equal to or after those of `other`."""
    if one == other:
        return 0
    one_length, other_length = spelling[one, k.SPELT], spelling[other, k.SPELT]
    one_place, other_place = spelling[one, k.SPELT_AT], spelling[other, k.SPELT_AT]
    for n in range(min(one_length, other_length)):
        difference = units[one_place + n] - units[other_place + n]
        if difference != 0:
            return difference
    return one_length - other_length


@njit(nogil=True, cache=True)
def sorts_after(pairs: Int64, spelling: Int64, units: Int32, pair: int, other: int) -> bool:
    """Whether the bytes of `pair`, left and then right, sort after those of `other`."""
    key, other_key = pairs[pair, k.KEY], pairs[other, k.KEY]
    order = _compare_tokens(spelling, units, key >> 32, other_key >> 32)
    if order == 0:
        order = _compare_tokens(spelling, units, key & k.NUMBER_BITS, other_key & k.NUMBER_BITS)
    return order > 0


@njit(nogil=True, cache=True)
def tie_of_ids(rule: int, left_order: int, right_order: int, left_prefix: int) -> int:
    """The key that decides between equal counts, except by place; the lower is chosen.

    With `BY_BYTES` it is the beginning of the left token; pairs with equal keys are compared completely.
    """
    if rule == k.BY_ORDER:
        return (left_order << 32) | right_order
    return -left_prefix


@njit(nogil=True, cache=True)
def prefix_of(unit_bits: int, left_prefix: int, left_units: int, right_prefix: int) -> int:
    """The first units of a joined token as one number: seven bytes, or three characters."""
    shift = left_units * unit_bits
    return left_prefix if shift >= 63 else left_prefix | (right_prefix >> shift)


@njit(nogil=True, cache=True, inline="always")
def cuts_character(lacking: Int64, key: int) -> bool:
    """Whether a merge would join a part of a character to anything but the rest of it; see `tables`."""
    left, right = lacking[key >> 32], lacking[key & k.NUMBER_BITS]
    if left == 0:
        return right != 0
    return right >= 0 or left + right < (0 if left > 0 else -3)


@njit(nogil=True, cache=True)
def before(count: int, tie: int, other_count: int, other_tie: int) -> bool:
    """Whether a pair is chosen before another, by count and tie key alone."""
    return count > other_count or (count == other_count and tie < other_tie)


@njit(nogil=True, cache=True)
def sift_down(
    heap: Int64,
    size: int,
    at: int,
    entry: tuple[int, int, int],
    by_bytes: bool,
    pairs: Int64,
    spelling: Int64,
    units: Int32,
) -> None:
    """Moves an entry down from `at` to its position; better ones move up. An entry has four children."""
    count, tie, pair = entry
    child = 4 * at + 1
    while child < size:
        best, best_count, best_tie = child, heap[child, k.HEAP_COUNT], heap[child, k.HEAP_TIE]
        for other in range(child + 1, min(child + 4, size)):
            other_count, other_tie = heap[other, k.HEAP_COUNT], heap[other, k.HEAP_TIE]
            if before(other_count, other_tie, best_count, best_tie) or (
                by_bytes
                and other_count == best_count
                and other_tie == best_tie
                and sorts_after(pairs, spelling, units, heap[other, k.HEAP_PAIR], heap[best, k.HEAP_PAIR])
            ):
                best, best_count, best_tie = other, other_count, other_tie
        if before(count, tie, best_count, best_tie) or (
            by_bytes
            and count == best_count
            and tie == best_tie
            and sorts_after(pairs, spelling, units, pair, heap[best, k.HEAP_PAIR])
        ):
            break
        best_pair = heap[best, k.HEAP_PAIR]
        heap[at, k.HEAP_COUNT], heap[at, k.HEAP_TIE], heap[at, k.HEAP_PAIR] = best_count, best_tie, best_pair
        at, child = best, 4 * best + 1
    heap[at, k.HEAP_COUNT], heap[at, k.HEAP_TIE], heap[at, k.HEAP_PAIR] = count, tie, pair


@njit(nogil=True, cache=True)
def build_heap(
    pairs: Int64,
    heap: Int64,
    pool: Int32,
    token_order: Int32,
    spelling: Int64,
    units: Int32,
    state: Int64,
    budget: int,
) -> int:
    """Fills the heap with all pairs that reach the floor, then orders it; the first place of a run must be valid."""
    rule, size = state[k.TIE_RULE], state[k.HEAP]
    if state[k.STAGE] == k.FILL_HEAP:
        start = max(1, state[k.CURSOR])
        if start == 1:
            size = 0
        end = min(state[k.PAIRS], start + budget)
        for pair in range(start, end):
            count = pairs[pair, k.COUNT]
            if count >= state[k.FLOOR]:
                if rule == k.BY_PLACE:
                    tie = pool[pairs[pair, k.START]]
                else:
                    left, right = pairs[pair, k.KEY] >> 32, pairs[pair, k.KEY] & k.NUMBER_BITS
                    prefix = spelling[left, k.PREFIX] if rule == k.BY_BYTES else 0
                    tie = tie_of_ids(rule, token_order[left], token_order[right], prefix)
                heap[size, k.HEAP_COUNT], heap[size, k.HEAP_TIE], heap[size, k.HEAP_PAIR] = count, tie, pair
                size += 1
        state[k.HEAP], state[k.CURSOR] = size, end
        if end == state[k.PAIRS]:
            state[k.STAGE], state[k.CURSOR] = k.BUILD_HEAP, (size + 2) // 4
        return budget - (end - start) - 1
    start = state[k.CURSOR]
    end = max(0, start - budget)
    for at in range(start - 1, end - 1, -1):
        entry = heap[at, k.HEAP_COUNT], heap[at, k.HEAP_TIE], heap[at, k.HEAP_PAIR]
        sift_down(heap, size, at, entry, rule == k.BY_BYTES, pairs, spelling, units)
    state[k.CURSOR] = end
    if end == 0:
        state[k.STAGE] = k.CHOOSE
    return budget - (start - end) - 1


# numpy's stubs cannot tell an element from an array where the index came out of an array itself.


_AHEAD = 16


@njit(nogil=True, cache=True)
def squeeze(symbols: Int32, pool: Int32, pairs: Int64, token_span: Int32, state: Int64, budget: int) -> int:
    """Drops invalid places and pairs below the floor, and renumbers the rest in place, because runs stay in order.

    `CURSOR` is the next pair to look at, `TARGET` its new number, `MERGED` the new end of the pool.
    """
    pair, new, used = state[k.CURSOR], state[k.TARGET], state[k.MERGED]
    while pair < state[k.PAIRS] and budget > 0:
        start, stop, key = pairs[pair, k.START], pairs[pair, k.STOP], pairs[pair, k.KEY]
        if pairs[pair, k.COUNT] >= state[k.FLOOR]:
            left, right = key >> 32, key & k.NUMBER_BITS
            span, first = token_span[left], used
            for n in range(start, stop):
                prefetch(symbols, pool[min(n + _AHEAD, stop - 1)])
                i = pool[n]
                if symbols[i] == left and symbols[i + span] == right:
                    pool[used] = i
                    used += 1
            pairs[new, k.COUNT], pairs[new, k.KEY] = pairs[pair, k.COUNT], key
            pairs[new, k.START], pairs[new, k.STOP] = first, used
            new += 1
            budget -= stop - start
        budget -= 1
        pair += 1
    state[k.CURSOR], state[k.TARGET], state[k.MERGED] = pair, new, used
    if pair == state[k.PAIRS]:
        state[k.PAIRS], state[k.POOL] = new, used
        state[k.INDEXED] = 1
        state[k.STAGE], state[k.CURSOR] = k.FILL_HEAP, 0
    return budget


@njit(nogil=True, cache=True)
def merge(t: Tables, state: Int64, budget: int, batch: int) -> int:
    """Merges for about `budget` visits of places, or until `batch` merges are written to `out`.

    It is one long loop over local variables: passing `Tables` to a function for each stage of each merge takes longer
    than most merges do.

    Returns:
        `BUDGET_SPENT`; `BATCH_FULL`; `NEED_ROOM` when the chosen pair's merge doesn't fit (squeeze or grow, then call
        again); `ASKS` when the chosen pair, the top of the heap, may not be allowed (allow it or set its count to 0,
        then call again); `ROUND_OVER` when no stored pair reaches the floor.
    """
    symbols, weights, pool, pairs, index, heap = t.symbols, t.weights, t.pool, t.pairs, t.pair_index, t.heap
    spans, sizes, order, spelling, units = t.token_span, t.token_bytes, t.token_order, t.spelling, t.units
    left_slot, right_slot, left_count, right_count = t.left_slot, t.right_slot, t.left_count, t.right_count
    touched, lacking, heavy = t.touched, t.token_lacking, t.heavy
    weighted, by_bytes = weights.size > 0, state[k.TIE_RULE] == k.BY_BYTES
    rule, floor, longest = state[k.TIE_RULE], state[k.FLOOR], state[k.MAX_BYTES]
    mask = index.size - 1
    while budget > 0:
        stage = state[k.STAGE]
        if stage == k.CHOOSE:
            if state[k.OUT] == batch:
                return k.BATCH_FULL
            pair, count = 0, 0
            size = state[k.HEAP]
            while size > 0 and budget > 0:
                budget -= 1
                pair = heap[0, k.HEAP_PAIR]
                count = pairs[pair, k.COUNT]
                if count == heap[0, k.HEAP_COUNT]:
                    break
                # Outdated. Counts only decrease: update it and let it sink, or replace it by the last entry.
                tie = heap[0, k.HEAP_TIE]
                if count < floor:
                    size -= 1
                    count, tie, pair = heap[size, k.HEAP_COUNT], heap[size, k.HEAP_TIE], heap[size, k.HEAP_PAIR]
                elif rule == k.BY_PLACE:
                    left, right = pairs[pair, k.KEY] >> 32, pairs[pair, k.KEY] & k.NUMBER_BITS
                    start, span = pairs[pair, k.START], spans[left]
                    while symbols[pool[start]] != left or symbols[pool[start] + span] != right:
                        start += 1
                    pairs[pair, k.START], tie = start, pool[start]
                sift_down(heap, size, 0, (count, tie, pair), by_bytes, pairs, spelling, units)
                pair = 0
            state[k.HEAP] = size
            if size == 0:
                state[k.STAGE] = k.EXHAUSTED
                return k.ROUND_OVER
            if pair == 0:
                continue
            if lacking.size > 0 and cuts_character(lacking, pairs[pair, k.KEY]):
                pairs[pair, k.COUNT] = 0
                continue
            if state[k.ALLOWED] != k.ANY and state[k.ALLOWED] != pairs[pair, k.KEY]:
                return k.ASKS

            # Each place can make two new places and two new pairs, and needs room for two neighbours meanwhile.
            start = pairs[pair, k.START]
            places = pairs[pair, k.STOP] - start
            if not weighted:
                places = min(places, count)
            if state[k.POOL] + 4 * places > pool.size or (
                state[k.PAIRS] + 2 * min(places, state[k.VOCABULARY] + 1) > len(pairs)
            ):
                return k.NEED_ROOM

            left, right, token = pairs[pair, k.KEY] >> 32, pairs[pair, k.KEY] & k.NUMBER_BITS, state[k.VOCABULARY]
            spans[token] = spans[left] + spans[right]
            sizes[token] = sizes[left] + sizes[right]
            order[token] = token
            if lacking.size > 0:
                lacking[token] = lacking[left] + lacking[right]
            if by_bytes:
                spelling[token, k.SPELT] = spelling[left, k.SPELT] + spelling[right, k.SPELT]
                spelling[token, k.PREFIX] = prefix_of(
                    state[k.UNIT_BITS], spelling[left, k.PREFIX], spelling[left, k.SPELT], spelling[right, k.PREFIX]
                )
                span = spans[left]
                while symbols[pool[start]] != left or symbols[pool[start] + span] != right:
                    start += 1
                spelling[token, k.SPELT_AT] = t.origin[pool[start]]
            # One of these is likely to be chosen next.
            for n in range(1, min(5, size)):
                prefetch(pairs, 4 * heap[n, k.HEAP_PAIR])
            pairs[pair, k.START] = start
            state[k.PAIR], state[k.CHOSEN] = pair, count
            state[k.CURSOR] = state[k.MERGED] = start
            state[k.SCRATCH], state[k.TOUCHED] = state[k.POOL] + 2 * places, 0
            state[k.STAGE] = k.REPLACE

        elif stage == k.REPLACE:
            pair, token = state[k.PAIR], state[k.VOCABULARY]
            left, right = pairs[pair, k.KEY] >> 32, pairs[pair, k.KEY] & k.NUMBER_BITS
            left_span, span = spans[left], spans[token]
            start, merged, met = state[k.CURSOR], state[k.MERGED], state[k.TOUCHED]
            stop = pairs[pair, k.STOP]
            end = min(stop, start + budget)
            scratch = state[k.SCRATCH] + 2 * (merged - pairs[pair, k.START])
            weight, total = 1, 0
            for n in range(start, min(start + _AHEAD, end)):
                prefetch(symbols, pool[n])
            for n in range(start, end):
                ahead = pool[min(n + _AHEAD, stop - 1)]
                prefetch(symbols, ahead)
                prefetch(symbols, ahead + span)
                if weighted:
                    prefetch(weights, ahead)
                i = pool[n]
                if symbols[i] != left or symbols[i + left_span] != right:
                    continue
                if weighted:
                    weight = weight_at(weights, heavy, i)
                total += weight
                before_it, after_it = symbols[i - 1] & k.TOKEN, symbols[i + span]
                symbols[i + left_span] = k.INSIDE
                symbols[i] = token
                symbols[i + span - 1] = token | k.END
                # Two adjacent new tokens are counted once, from the left one.
                if after_it == left and symbols[i + span + left_span] == right:
                    after_it = token
                if before_it != k.TOKEN and before_it != token:
                    if left_slot[before_it] == 0:
                        touched[met] = before_it
                        met += 1
                        prefetch(index, ((before_it * k.HASH_LEFT + left * k.HASH_RIGHT) >> k.INDEX_SHIFT) & mask)
                    left_slot[before_it] += 1
                    if weighted:
                        left_count[before_it] += weight
                if after_it >= 0:
                    if right_slot[after_it] == 0:
                        touched[met] = -1 - after_it
                        met += 1
                        prefetch(index, ((right * k.HASH_LEFT + after_it * k.HASH_RIGHT) >> k.INDEX_SHIFT) & mask)
                    right_slot[after_it] += 1
                    if weighted:
                        right_count[after_it] += weight
                pool[merged] = i
                pool[scratch], pool[scratch + 1] = before_it, after_it
                merged += 1
                scratch += 2
            budget -= end - start
            state[k.CURSOR], state[k.MERGED], state[k.TOUCHED] = end, merged, met
            state[k.TOKENS] -= total
            if end < stop:
                continue

            # Updates the counts of old pairs and adds the new ones. The slots turn from numbers of places into numbers
            # of pairs: 0 for those below the floor.
            new, used = state[k.PAIRS], state[k.POOL]
            for n in range(met):
                on_left = touched[n] >= 0
                if on_left:
                    neighbour = touched[n]
                    places = left_slot[neighbour]
                    old_left, old_right, new_left, new_right = neighbour, left, neighbour, token
                    count = left_count[neighbour] if weighted else places
                else:
                    neighbour = -1 - touched[n]
                    places = right_slot[neighbour]
                    old_left, old_right, new_left, new_right = right, neighbour, token, neighbour
                    if neighbour == token:
                        old_right = left
                    count = right_count[neighbour] if weighted else places
                key = (old_left << 32) | old_right
                hashed = old_left * k.HASH_LEFT + old_right * k.HASH_RIGHT
                slot = (hashed >> k.INDEX_SHIFT) & mask
                number = index[slot] & k.NUMBER_BITS
                while number > 0 and (((index[slot] ^ hashed) >> 32) != 0 or pairs[number, k.KEY] != key):
                    slot = (slot + 1) & mask
                    number = index[slot] & k.NUMBER_BITS
                if number > 0:
                    pairs[number, k.COUNT] -= count
                number = 0
                if count >= floor and sizes[neighbour] + sizes[token] <= longest:
                    number = new
                    pairs[new, k.COUNT], pairs[new, k.KEY] = count, (new_left << 32) | new_right
                    pairs[new, k.START] = pairs[new, k.STOP] = used
                    hashed = new_left * k.HASH_LEFT + new_right * k.HASH_RIGHT
                    slot = (hashed >> k.INDEX_SHIFT) & mask
                    while index[slot] != 0:
                        slot = (slot + 1) & mask
                    index[slot] = (hashed & k.HASH_BITS) | new
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
            pairs[pair, k.COUNT] = 0
            state[k.TARGET], state[k.PAIRS], state[k.INDEXED], state[k.POOL] = state[k.PAIRS], new, new, used
            state[k.STAGE], state[k.CURSOR] = k.WRITE, pairs[pair, k.START]

        elif stage == k.WRITE:
            pair, token = state[k.PAIR], state[k.VOCABULARY]
            for n in range(1, min(5, state[k.HEAP])):
                prefetch(pool, pairs[heap[n, k.HEAP_PAIR], k.START])
            start, merged = state[k.CURSOR], state[k.MERGED]
            end = min(merged, start + budget)
            scratch = state[k.SCRATCH] + 2 * (start - pairs[pair, k.START])
            for n in range(start, end):
                before_it, after_it = pool[scratch], pool[scratch + 1]
                scratch += 2
                if before_it != k.TOKEN and before_it != token:
                    number = left_slot[before_it]
                    to = pairs[number, k.STOP]
                    pool[to] = pool[n] - spans[before_it]
                    pairs[number, k.STOP] = to + (number > 0)
                if after_it >= 0:
                    number = right_slot[after_it]
                    to = pairs[number, k.STOP]
                    pool[to] = pool[n]
                    pairs[number, k.STOP] = to + (number > 0)
            budget -= end - start
            state[k.CURSOR] = end
            if end < merged:
                continue
            for n in range(state[k.TOUCHED]):
                if touched[n] >= 0:
                    left_slot[touched[n]] = 0
                else:
                    right_slot[-1 - touched[n]] = 0
            size = state[k.HEAP]
            for new in range(state[k.TARGET], state[k.PAIRS]):
                count = pairs[new, k.COUNT]
                if rule == k.BY_PLACE:
                    tie = pool[pairs[new, k.START]]
                else:
                    left, right = pairs[new, k.KEY] >> 32, pairs[new, k.KEY] & k.NUMBER_BITS
                    prefix = spelling[left, k.PREFIX] if by_bytes else 0
                    tie = tie_of_ids(rule, order[left], order[right], prefix)
                at = size
                size += 1
                while at > 0:
                    parent = (at - 1) >> 2
                    parent_count, parent_tie = heap[parent, k.HEAP_COUNT], heap[parent, k.HEAP_TIE]
                    if not before(count, tie, parent_count, parent_tie) and not (
                        by_bytes
                        and count == parent_count
                        and tie == parent_tie
                        and sorts_after(pairs, spelling, units, new, heap[parent, k.HEAP_PAIR])
                    ):
                        break
                    heap[at, k.HEAP_COUNT], heap[at, k.HEAP_TIE] = parent_count, parent_tie
                    heap[at, k.HEAP_PAIR] = heap[parent, k.HEAP_PAIR]
                    at = parent
                heap[at, k.HEAP_COUNT], heap[at, k.HEAP_TIE], heap[at, k.HEAP_PAIR] = count, tie, new
            state[k.HEAP] = size
            out, key = state[k.OUT], pairs[pair, k.KEY]
            pairs[pair, k.STOP] = pairs[pair, k.START]
            t.out[out, 0], t.out[out, 1] = key >> 32, key & k.NUMBER_BITS
            t.out[out, 2], t.out[out, 3] = state[k.CHOSEN], state[k.TOKENS]
            state[k.OUT], state[k.VOCABULARY] = out + 1, token + 1
            state[k.STAGE] = k.CHOOSE

        else:
            return k.ROUND_OVER
    return k.BUDGET_SPENT
