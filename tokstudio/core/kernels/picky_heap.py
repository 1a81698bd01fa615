"""The heap of pairs of Picky BPE, in which counts may also rise.

It is lazy: `QUEUED` is the highest entry of a pair in it, entries above the count sink when they are met, and a pair
that rises above its entry gets another one.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
from __future__ import annotations

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.picky_tables import (
    BYTES,
    FLOOR,
    HEAP,
    KEY,
    MARK,
    MAX_BYTES,
    PAIR_COUNT,
    QUEUED,
    REFUSED,
    SPAN,
    SPELT_AT,
)
from tokstudio.core.kernels.tables import NUMBER_BITS, Int32, Int64


@njit(nogil=True, cache=True)
def compare(tokens: Int64, units: Int32, one: int, other: int) -> int:
    """Negative, zero or positive as the bytes of token `one` sort before, like or after those of `other`."""
    if one == other:
        return 0
    one_span, other_span = tokens[one, SPAN], tokens[other, SPAN]
    one_at, other_at = tokens[one, SPELT_AT], tokens[other, SPELT_AT]
    for n in range(min(one_span, other_span)):
        difference = units[one_at + n] - units[other_at + n]
        if difference != 0:
            return difference
    return one_span - other_span


@njit(nogil=True, cache=True)
def _before(pairs: Int64, tokens: Int64, units: Int32, count: int, pair: int, other_count: int, other: int) -> bool:
    """Whether an entry comes first: the higher count, then the smaller bytes of left, then of right."""
    if count != other_count:
        return count > other_count
    key, other_key = pairs[pair, KEY], pairs[other, KEY]
    order = compare(tokens, units, key >> 32, other_key >> 32)
    if order == 0:
        order = compare(tokens, units, key & NUMBER_BITS, other_key & NUMBER_BITS)
    return order < 0


@njit(nogil=True, cache=True)
def push(heap: Int64, pairs: Int64, tokens: Int64, units: Int32, state: Int64, pair: int) -> None:
    """Enters a pair with its count."""
    at, count = state[HEAP], pairs[pair, PAIR_COUNT]
    state[HEAP] += 1
    pairs[pair, QUEUED] = count
    while at > 0:
        parent = (at - 1) >> 1
        if not _before(pairs, tokens, units, count, pair, heap[parent, 0], heap[parent, 1]):
            break
        heap[at, 0], heap[at, 1] = heap[parent, 0], heap[parent, 1]
        at = parent
    heap[at, 0], heap[at, 1] = count, pair


@njit(nogil=True, cache=True)
def _replace_top(heap: Int64, pairs: Int64, tokens: Int64, units: Int32, size: int, count: int, pair: int) -> None:
    """Puts an entry in the place of the first of `size` entries."""
    at, child = 0, 1
    while child < size:
        if child + 1 < size and _before(
            pairs, tokens, units, heap[child + 1, 0], heap[child + 1, 1], heap[child, 0], heap[child, 1]
        ):
            child += 1
        if not _before(pairs, tokens, units, heap[child, 0], heap[child, 1], count, pair):
            break
        heap[at, 0], heap[at, 1] = heap[child, 0], heap[child, 1]
        at, child = child, 2 * child + 1
    heap[at, 0], heap[at, 1] = count, pair


@njit(nogil=True, cache=True)
def _drop_top(heap: Int64, pairs: Int64, tokens: Int64, units: Int32, state: Int64) -> None:
    """Takes the first entry out."""
    state[HEAP] -= 1
    size = state[HEAP]
    _replace_top(heap, pairs, tokens, units, size, heap[size, 0], heap[size, 1])


@njit(nogil=True, cache=True)
def may_queue(pairs: Int64, tokens: Int64, state: Int64, pair: int) -> bool:
    """Whether a pair is missing in the heap, though it might be chosen in this round."""
    count, key = pairs[pair, PAIR_COUNT], pairs[pair, KEY]
    if count < state[FLOOR] or count <= pairs[pair, QUEUED] or pairs[pair, MARK] == REFUSED:
        return False
    return tokens[key >> 32, BYTES] + tokens[key & NUMBER_BITS, BYTES] <= state[MAX_BYTES]


@njit(nogil=True, cache=True)
def best(heap: Int64, pairs: Int64, tokens: Int64, units: Int32, state: Int64) -> int:
    """The pair that is merged next, at the top of the heap; 0 where none reaches the floor."""
    while state[HEAP] > 0:
        entry, pair = heap[0, 0], heap[0, 1]
        count = pairs[pair, PAIR_COUNT]
        if pairs[pair, MARK] != REFUSED and count == entry:
            return pair
        if pairs[pair, MARK] == REFUSED or pairs[pair, QUEUED] != entry:
            _drop_top(heap, pairs, tokens, units, state)
        elif count < state[FLOOR]:
            pairs[pair, QUEUED] = 0
            _drop_top(heap, pairs, tokens, units, state)
        else:
            pairs[pair, QUEUED] = count
            _replace_top(heap, pairs, tokens, units, state[HEAP], count, pair)
    return 0
