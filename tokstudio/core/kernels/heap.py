"""The lazy heap of pairs: highest count first, ties by the rule of the training."""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportReturnType=false
from __future__ import annotations

from numba import njit

from tokstudio.core.kernels.tables import (
    BY_BYTES,
    BY_ORDER,
    HEAP,
    TIE_RULE,
    UNIT_BITS,
    Heap,
    Int32,
    Int64,
    Spellings,
    Tables,
)


@njit(nogil=True, cache=True)
def spellings_of(t: Tables) -> Spellings:
    """The few arrays that comparing by bytes takes: handing over all of `Tables` would cost more than it does."""
    return Spellings(t.pair_left, t.pair_right, t.token_units, t.token_place, t.units)


@njit(nogil=True, cache=True)
def _compare_tokens(s: Spellings, one: int, other: int) -> int:
    """Below, at or above 0 as the bytes of token `one` sort before, with or after those of `other`."""
    if one == other:
        return 0
    one_length, other_length = s.token_units[one], s.token_units[other]
    one_place, other_place = s.token_place[one], s.token_place[other]
    # Where a token grows by one pair after another, as all do in the end, the longer one begins with the shorter one.
    if one_place == other_place:
        return one_length - other_length
    for k in range(min(one_length, other_length)):
        difference = s.units[one_place + k] - s.units[other_place + k]
        if difference != 0:
            return difference
    return one_length - other_length


@njit(nogil=True, cache=True)
def sorts_after(s: Spellings, pair: int, other: int) -> bool:
    """Whether the bytes of `pair`, left and then right, sort after those of `other`."""
    order = _compare_tokens(s, s.pair_left[pair], s.pair_left[other])
    if order == 0:
        order = _compare_tokens(s, s.pair_right[pair], s.pair_right[other])
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
def sift_down(h: Heap, s: Spellings, state: Int64, at: int) -> None:
    """Lets the entry at `at` sink below better ones."""
    by_bytes, size = state[TIE_RULE] == BY_BYTES, state[HEAP]
    count, tie, pair = h.counts[at], h.ties[at], h.pairs[at]
    child = 2 * at + 1
    while child < size:
        other = child + 1
        if other < size and (
            before(h.counts[other], h.ties[other], h.counts[child], h.ties[child])
            or (
                by_bytes
                and h.counts[other] == h.counts[child]
                and h.ties[other] == h.ties[child]
                and sorts_after(s, h.pairs[other], h.pairs[child])
            )
        ):
            child = other
        if before(count, tie, h.counts[child], h.ties[child]) or (
            by_bytes and count == h.counts[child] and tie == h.ties[child] and sorts_after(s, pair, h.pairs[child])
        ):
            break
        h.counts[at], h.ties[at], h.pairs[at] = h.counts[child], h.ties[child], h.pairs[child]
        at, child = child, 2 * child + 1
    h.counts[at], h.ties[at], h.pairs[at] = count, tie, pair


@njit(nogil=True, cache=True)
def prefix_of(state: Int64, left_prefix: int, left_units: int, right_prefix: int) -> int:
    """The first units of a joined token as one number: seven bytes, or three characters."""
    shift = left_units * state[UNIT_BITS]
    return left_prefix if shift >= 63 else left_prefix | (right_prefix >> shift)
