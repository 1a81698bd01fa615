"""The lazy heap of pairs for `merge`: highest count first, ties by the rule of the training."""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportReturnType=false, reportArgumentType=false
from __future__ import annotations

from tokstudio.core.kernels import tables as k
from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.tables import Int32, Int64


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
