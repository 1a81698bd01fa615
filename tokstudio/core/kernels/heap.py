"""The lazy heap of pairs: highest count first, ties by the rule of the training."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from numba import njit

from tokstudio.core.kernels.tables import BY_BYTES, BY_ORDER, HEAP, TIE_RULE, UNIT_BITS, Heap, Int32, Int64, Names, Tables


@njit(nogil=True, cache=True)
def names_of(t: Tables) -> Names:
    """The few arrays that comparing by bytes takes: handing over all of `Tables` would cost more than it does."""
    return Names(t.pair_left, t.pair_right, t.token_units, t.token_place, t.units)


@njit(nogil=True, cache=True)
def _compare_tokens(n: Names, one: int, other: int) -> int:
    """Below, at or above 0 as the bytes of token `one` sort before, with or after those of `other`."""
    if one == other:
        return 0
    one_length, other_length = n.token_units[one], n.token_units[other]
    one_place, other_place = n.token_place[one], n.token_place[other]
    for k in range(min(one_length, other_length)):
        difference = n.units[one_place + k] - n.units[other_place + k]
        if difference != 0:
            return difference
    return one_length - other_length


@njit(nogil=True, cache=True)
def sorts_after(n: Names, pair: int, other: int) -> bool:
    """Whether the bytes of `pair`, left and then right, sort after those of `other`."""
    order = _compare_tokens(n, n.pair_left[pair], n.pair_left[other])
    if order == 0:
        order = _compare_tokens(n, n.pair_right[pair], n.pair_right[other])
    return order > 0


@njit(nogil=True, cache=True)
def before(count: int, tie: int, other_count: int, other_tie: int) -> bool:
    """Whether a pair is to be chosen before another, by count and tie key alone.

    Takes numbers only: a compiled function that is given arrays counts references to them, at ten times the price.
    """
    return count > other_count or (count == other_count and tie < other_tie)


@njit(nogil=True, cache=True)
def first_place(pairs_at: Int32, pool: Int32, start: int, pair: int) -> int:
    """Where in the pool the first place of `pair` is that still stands, from `start` on; there must be one."""
    while pairs_at[pool[start]] != pair:
        start += 1
    return start


@njit(nogil=True, cache=True)
def tie_of_tokens(rule: int, order: Int32, prefixes: Int64, left: int, right: int) -> int:
    """What decides between equal counts where places don't, lower first.

    With `BY_BYTES` it is the beginning of the left token; equal keys are then compared in full.
    """
    if rule == BY_ORDER:
        return (order[left] << 32) | order[right]
    return -prefixes[left]


@njit(nogil=True, cache=True)
def sift_down(h: Heap, n: Names, state: Int64, at: int) -> None:
    """Lets the entry at `at` sink below better ones."""
    by_bytes, size = state[TIE_RULE] == BY_BYTES, state[HEAP]
    count, tie, pair = h.count[at], h.tie[at], h.pair[at]
    child = 2 * at + 1
    while child < size:
        other = child + 1
        if other < size and (
            before(h.count[other], h.tie[other], h.count[child], h.tie[child])
            or (
                by_bytes
                and h.count[other] == h.count[child]
                and h.tie[other] == h.tie[child]
                and sorts_after(n, h.pair[other], h.pair[child])
            )
        ):
            child = other
        if before(count, tie, h.count[child], h.tie[child]) or (
            by_bytes and count == h.count[child] and tie == h.tie[child] and sorts_after(n, pair, h.pair[child])
        ):
            break
        h.count[at], h.tie[at], h.pair[at] = h.count[child], h.tie[child], h.pair[child]
        at, child = child, 2 * child + 1
    h.count[at], h.tie[at], h.pair[at] = count, tie, pair


@njit(nogil=True, cache=True)
def prefix_of(state: Int64, left_prefix: int, left_units: int, right_prefix: int) -> int:
    """The first units of a joined token as one number: seven bytes, or three characters."""
    shift = left_units * state[UNIT_BITS]
    return left_prefix if shift >= 63 else left_prefix | (right_prefix >> shift)
