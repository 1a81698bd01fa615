"""Encoding: applies merges lowest rank first, leftmost first among equals, in bounded calls.

A long sequence is a doubly linked list of tokens with a heap of (rank, place) for every pair that a merge could join:
O(n log n); outdated entries are skipped. `kernels.short_words` is faster for short ones.

Pairs are in one hash table (`pairs`, int64 [2 s], s a power of two): at 2 k the pair, left << 32 | right, or -1 where
slot k is free; at 2 k + 1 its rank << 32 | the id that the merge makes.
"""

# SPDX-License-Identifier: MIT
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.intrinsics import address_of, byte_at, int64_at, prefetch_at
from tokstudio.core.kernels.tables import Int32, Int64

# numpy's stubs cannot tell an element from an array where the index came out of an array itself.


Bytes = NDArray[np.uint8]

_NONE = -1
MIX = np.uint64(0x9E3779B97F4A7C15)
_LOW = 0xFFFFFFFF

# Indexes of the state of an encoding (int64).
STARTED, HEAP_SIZE, ROOTS, STATE_SIZE = range(4)


@njit(nogil=True, cache=True, inline="always")
def slot_of(pair: int, mask: int) -> int:
    """The first slot to try for a pair in a table of `mask` + 1 slots."""
    return np.int64((np.uint64(pair) * MIX) >> np.uint64(32)) & mask


@njit(nogil=True, cache=True, inline="always")
def set_bit(bits: Bytes, place: int) -> None:
    """Sets a bit."""
    bits[place >> 3] |= 1 << (place & 7)


@njit(nogil=True, cache=True, inline="always")
def find(pairs: int, mask: int, left: int, right: int, limit: int) -> int:
    """The rank << 32 | result of a pair; -1 where no merge below rank `limit` joins it.

    Loops pass the address of the table and its slots - 1, because an array that is passed costs more than the look-up.
    """
    pair = (np.int64(left) << 32) | right
    slot = slot_of(pair, mask)
    held = int64_at(pairs, 2 * slot)
    while held != pair and held != _NONE:
        slot = (slot + 1) & mask
        held = int64_at(pairs, 2 * slot)
    if held == _NONE:
        return _NONE
    value = int64_at(pairs, 2 * slot + 1)
    return value if (value >> 32) < limit else _NONE


@njit(nogil=True, cache=True, inline="always")
def _bit_of(bits: int, bit_mask: int, pair: int) -> int:
    """0 of most pairs that no merge joins, 1 of all others."""
    place = slot_of(pair, bit_mask)
    return (byte_at(bits, place >> 3) >> (place & 7)) & 1


@njit(nogil=True, cache=True, inline="always")
def find_likely(pairs: int, mask: int, bits: int, bit_mask: int, left: int, right: int, limit: int) -> int:
    """Does the same as `find`; `bits` tells of most pairs that no merge joins them, sooner than the table.

    `bits` is an address too, and `bit_mask` the number of bits - 1.
    """
    if _bit_of(bits, bit_mask, (np.int64(left) << 32) | right) == 0:
        return _NONE
    return find(pairs, mask, left, right, limit)


@njit(nogil=True, cache=True, inline="always")
def prefetch_pair(pairs: int, mask: int, left: int, right: int) -> None:
    """Prefetches what `find` reads first; `find_likely` would ask for it only after it has the bit."""
    prefetch_at(pairs + 16 * slot_of((np.int64(left) << 32) | right, mask))


@njit(nogil=True, cache=True, inline="always")
def prefetch_likely(pairs: int, mask: int, bits: int, bit_mask: int, left: int, right: int) -> int:
    """Prefetches what `find` reads first where a merge may join the pair; returns 0 where none does, else 1.

    It is one path without branches: nothing after it waits for the bit.
    """
    pair = (np.int64(left) << 32) | right
    is_likely = _bit_of(bits, bit_mask, pair)
    prefetch_at(pairs + 16 * slot_of(pair, mask) * is_likely)
    return is_likely


@njit(nogil=True, cache=True, inline="always")
def slots_of(pairs: Int64) -> tuple[int, int]:
    """The first two arguments of `find`. The caller keeps the array alive."""
    return address_of(pairs), (pairs.size >> 1) - 1


@njit(nogil=True, cache=True, inline="always")
def sift_in(heap: Int64, size: int, entry: int) -> None:
    """Adds an entry to a heap of `size` entries."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if heap[parent] <= entry:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = entry


@njit(nogil=True, cache=True, inline="always")
def replace_top(heap: Int64, size: int, entry: int) -> None:
    """Replaces the lowest of `size` entries."""
    at, child = 0, 1
    while child < size:
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if entry <= heap[child]:
            break
        heap[at] = heap[child]
        at, child = child, 2 * child + 1
    heap[at] = entry


@njit(nogil=True, cache=True)
def fill_pairs(merges: Int32, results: Int32, pairs: Int64, bits: Bytes) -> None:
    """Enters the rows of `merges` (int32 [n, 2]) with their ranks; of a repeated pair, the first counts.

    `bits` is uint8 [a power of two], zeros at first; afterwards the first bit that each pair hashes to is set.
    """
    mask = (pairs.size >> 1) - 1
    for rank in range(len(merges)):
        pair = (np.int64(merges[rank, 0]) << 32) | merges[rank, 1]
        set_bit(bits, slot_of(pair, 8 * bits.size - 1))
        slot = slot_of(pair, mask)
        while pairs[2 * slot] != pair and pairs[2 * slot] != _NONE:
            slot = (slot + 1) & mask
        if pairs[2 * slot] == _NONE:
            pairs[2 * slot] = pair
            pairs[2 * slot + 1] = (np.int64(rank) << 32) | results[rank]


@njit(nogil=True, cache=True)
def encode_sequence(
    pairs: Int64,
    limit: int,
    symbols: Int32,
    following: Int32,
    previous: Int32,
    pending: Int64,
    heap: Int64,
    state: Int64,
    budget: int,
) -> bool:
    """Encodes one sequence with the merges below rank `limit`, for about `budget` steps per call.

    Args:
        pairs: The hash table of merges; see the module.
        limit: The number of merges to apply.
        symbols: int32 [n], base tokens; afterwards the tokens, at the places that `following` links from 0 on.
        following: int32 [n], scratch; afterwards the place of the next token, n after the last.
        previous: int32 [n], scratch.
        pending: int64 [n], scratch: the value in `pairs` of the pair that begins at each place, -1 for none.
        heap: int64 [2 n], scratch: rank << 32 | place.
        state: int64 [STATE_SIZE], zeros at first.
        budget: Steps.

    Returns:
        Whether the sequence is encoded.
    """
    n = len(symbols)
    slots, mask = slots_of(pairs)
    if state[STARTED] < n:
        begin = state[STARTED]
        end = min(n, begin + budget)
        size = state[HEAP_SIZE]
        for i in range(begin, end):
            following[i], previous[i], pending[i] = i + 1, i - 1, _NONE
            if i + 1 < n:
                value = find(slots, mask, symbols[i], symbols[i + 1], limit)
                pending[i] = value
                if value != _NONE:
                    heap[size] = (value & ~_LOW) | i
                    size += 1
        state[HEAP_SIZE] = size
        state[STARTED] = end
        if end < n:
            return False
        budget -= end - begin
        state[ROOTS] = size // 2

    # Builds the heap from the bottom up.
    size, root = state[HEAP_SIZE], state[ROOTS]
    while root > 0 and budget > 0:
        budget -= 1
        root -= 1
        at, entry, child = root, heap[root], 2 * root + 1
        while child < size:
            if child + 1 < size and heap[child + 1] < heap[child]:
                child += 1
            if entry <= heap[child]:
                break
            heap[at] = heap[child]
            at, child = child, 2 * child + 1
        heap[at] = entry
    state[ROOTS] = root
    if root > 0:
        return False

    while size > 0 and budget > 0:
        budget -= 1
        top = heap[0]
        size -= 1
        replace_top(heap, size, heap[size])

        place = top & _LOW
        if pending[place] >> 32 != top >> 32:
            continue
        gone = following[place]
        after = following[gone]
        symbols[place] = pending[place] & _LOW
        following[place] = after
        pending[gone] = pending[place] = _NONE
        if after < n:
            previous[after] = place
        # The pair that begins here, then the pair that ends here.
        for begin, end in ((place, np.int64(after)), (np.int64(previous[place]), place)):
            if begin < 0 or end >= n:
                continue
            value = find(slots, mask, symbols[begin], symbols[end], limit)
            if value != pending[begin]:
                pending[begin] = value
                if value != _NONE:
                    sift_in(heap, size, (value & ~_LOW) | begin)
                    size += 1
    state[HEAP_SIZE] = size
    return size == 0


@njit(nogil=True, cache=True)
def collect(symbols: Int32, following: Int32, place: int, ids: NDArray[np.uint32]) -> tuple[int, int]:
    """Writes tokens of an encoded sequence from `place` on, as many as fit; returns their number and the next place."""
    written = 0
    while place < len(symbols) and written < len(ids):
        ids[written] = symbols[place]
        written += 1
        place = following[place]
    return written, place


@njit(nogil=True, cache=True)
def add_tokens(
    words: Int32, sources: Int32, counts: Int64, ids: NDArray[np.uint32], id_offsets: Int64, totals: Int64
) -> None:
    """Adds the tokens of counted words to those of their sources.

    Args:
        words: int32 [rows], the number of a word.
        sources: int32 [rows], where it occurs.
        counts: int64 [rows], how often.
        ids: uint32, the tokens of all words.
        id_offsets: int64 [n + 1], the start of the tokens of each word, by number, and the end of the last.
        totals: int64 [sources, tokens], added to.
    """
    for row in range(words.size):
        word, source = words[row], sources[row]
        for k in range(id_offsets[word], id_offsets[word + 1]):
            totals[source, ids[k]] += counts[row]


@njit(nogil=True, cache=True)
def count_tokens(ids: NDArray[np.uint32], weight: int, totals: Int64) -> None:
    """Adds `weight` to the total of each id, int64 [tokens], once for each time that it occurs; other ids are marks."""
    for token in ids:
        if token < totals.size:
            totals[token] += weight


@njit(nogil=True, cache=True)
def take_apart(merges: Int32, results: Int32, counts: Int64) -> None:
    """Adds the occurrences of each token inside longer ones to its count.

    Args:
        merges: int32 [n, 2], ids of left and right, made by no later row.
        results: int32 [n], the id that each row made.
        counts: int64, occurrences of each token in a text, by id. Afterwards: how often it was made, including by
            merges whose results were merged again.
    """
    # Backwards: a longer token was made later, and its count is complete already.
    for row in range(len(merges) - 1, -1, -1):
        times = counts[results[row]]
        counts[merges[row, 0]] += times
        counts[merges[row, 1]] += times


# --- Encoding with BPE-dropout: like `kernels.encode`, but merges are passed over at random ---------------------------
# The random numbers are those of SplitMix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195), begun anew for
# each pre-token, so the same text with the same seed becomes the same tokens wherever a part of it is encoded.

# numpy's stubs cannot tell an element from an array where the index came out of an array itself.


_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_SHARE = 2.0**-53


@njit(nogil=True, cache=True)
def encode_with_dropout(
    symbols: Int32,
    sizes: Int64,
    seeds: NDArray[np.uint64],
    pairs: Int64,
    limit: int,
    probability: float,
    ids: NDArray[np.uint32],
) -> int:
    """Encodes words; at each step every merge that applies is tried, lowest rank first, and the first kept one is done.

    A merge that is tried is passed over with the probability, at this step. The end is where all are passed over.

    Args:
        symbols: int32, the base tokens of the words, one word after another; changed.
        sizes: int64 [words], how many each has.
        seeds: uint64 [words], where the random numbers of each begin.
        pairs: The hash table of merges; see `kernels.encode`.
        limit: The number of merges to apply.
        probability: From 0 to 1.
        ids: uint32, as long as `symbols`; written: the tokens.

    Returns:
        The number of tokens.
    """
    slots, mask = slots_of(pairs)
    longest = 0
    for size in sizes:
        longest = max(longest, size)
    following, previous = np.empty(longest, np.int32), np.empty(longest, np.int32)
    pending = np.empty(longest, np.int64)
    # Each merge removes an entry at least, and adds two at most; those passed over return to the heap.
    heap, passed = np.empty(2 * longest + 2, np.int64), np.empty(2 * longest + 2, np.int64)
    begin = total = 0
    for word in range(sizes.size):
        n, state, size = sizes[word], seeds[word], 0
        for i in range(n):
            following[i], previous[i], pending[i] = i + 1, i - 1, _NONE
            if i + 1 < n:
                pending[i] = find(slots, mask, symbols[begin + i], symbols[begin + i + 1], limit)
                if pending[i] != _NONE:
                    sift_in(heap, size, (pending[i] & ~_LOW) | i)
                    size += 1
        skipped, last = 0, np.int64(_NONE)
        while size > 0:
            top = heap[0]
            size -= 1
            replace_top(heap, size, heap[size])
            place = top & _LOW
            # An entry can be outdated, or there twice.
            if top == last or pending[place] == _NONE or pending[place] >> 32 != top >> 32:
                continue
            last = top
            state += _STEP
            mixed = (state ^ (state >> np.uint64(30))) * _FIRST
            mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
            mixed ^= mixed >> np.uint64(31)
            if np.float64(mixed >> np.uint64(11)) * _SHARE < probability:
                passed[skipped] = top
                skipped += 1
                continue
            gone = following[place]
            after = following[gone]
            symbols[begin + place] = pending[place] & _LOW
            following[place] = after
            pending[gone] = pending[place] = _NONE
            if after < n:
                previous[after] = place
            for left, right in ((place, np.int64(after)), (np.int64(previous[place]), place)):
                if left < 0 or right >= n:
                    continue
                pending[left] = find(slots, mask, symbols[begin + left], symbols[begin + right], limit)
                if pending[left] != _NONE:
                    sift_in(heap, size, (pending[left] & ~_LOW) | left)
                    size += 1
            for k in range(skipped):
                sift_in(heap, size, passed[k])
                size += 1
            skipped, last = 0, np.int64(_NONE)
        place = 0
        while place < n:
            ids[total] = symbols[begin + place]
            total += 1
            place = following[place]
        begin += n
    return total


# --- Joins words of an encoded text by supermerges, in bounded calls: see `model.word_runs` ---------------------------
# A token that is a whole pre-token and holds a letter is marked with the bit `ALONE`. Adjacent marked tokens are a run.

# numpy's stubs cannot tell an element from an array where the index came out of an array itself.


UInt32 = NDArray[np.uint32]

# The bit of a token in a run; and what stands between two texts, which is no token.
ALONE, BREAK = 1 << 31, (1 << 31) - 1
# The most tokens of a run that is joined here.
LONG = 1 << 12

_ALL = np.int64(1 << 62)


@njit(nogil=True, cache=True)
def join_runs(ids: UInt32, at: int, to: int, pairs: Int64, limit: int, budget: int) -> tuple[int, int, int]:
    """Joins the runs from `at` on with the supermerges below rank `limit`; about `budget` tokens per call.

    Args:
        ids: uint32, tokens with their marks; overwritten from `to` on, which is never above `at`, without marks.
        at: The first token to look at.
        to: Where to write.
        pairs: The hash table of supermerges; see `kernels.encode`.
        limit: The number of merges to apply.
        budget: Tokens.

    Returns:
        `at` and `to` for the next call; and the end of the run at `at` where it is longer than `LONG`, else 0.
    """
    symbols, following, previous = np.empty(LONG, np.int32), np.empty(LONG, np.int32), np.empty(LONG, np.int32)
    pending, heap, state = np.empty(LONG, np.int64), np.empty(2 * LONG, np.int64), np.empty(STATE_SIZE, np.int64)
    until = min(ids.size, at + budget)
    while at < until:
        if ids[at] < ALONE:
            if ids[at] != BREAK:
                ids[to] = ids[at]
                to += 1
            at += 1
            continue
        end = at + 1
        while end < ids.size and ids[end] >= ALONE:
            end += 1
        n = end - at
        if n > LONG:
            return at, to, end
        for k in range(n):
            symbols[k] = ids[at + k] & BREAK
        if n > 1:
            state[:] = 0
            encode_sequence(
                pairs, limit, symbols[:n], following[:n], previous[:n], pending[:n], heap[: 2 * n], state, _ALL
            )
        else:
            following[0] = 1
        place = 0
        while place < n:
            ids[to] = symbols[place]
            to += 1
            place = following[place]
        at = end
    return at, to, 0
