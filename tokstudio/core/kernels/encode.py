"""Encoding: applies merges lowest rank first, leftmost first among equals, in bounded calls.

A long sequence is a doubly linked list of tokens with a heap of (rank, place) that holds every pair a merge could join:
O(n log n); an entry that is out of date by the time it is taken is passed over. A short word is searched anew for its
lowest rank after each merge, which is faster there.

Pairs are looked up in one array (`pairs`, int64 [2 s], s a power of two): at k the pair, left << 32 | right, or -1 for
a free slot; at s + k its rank << 32 | the id that the merge makes. Most pairs that are asked for are joined by no
merge, and need the first half only.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.tables import Int32, Int64

Bytes = NDArray[np.uint8]

_NONE = -1
_MIX = np.uint64(0x9E3779B97F4A7C15)
_LOW = 0xFFFFFFFF

# Places in the state of an encoding (int64).
STARTED, HEAP_SIZE, ROOTS, STATE_SIZE = range(4)

# Base tokens that a word may have to be encoded as a short one.
SHORT = 48

# What `encode_words` came back for.
DONE, NEED_ROOM, TOO_LONG, UNKNOWN = range(4)


@njit(nogil=True, cache=True, inline="always")
def slot_of(pair: int, mask: int) -> int:
    """Where to begin looking for a pair in a table of `mask` + 1 slots."""
    return np.int64((np.uint64(pair) * _MIX) >> np.uint64(32)) & mask


@njit(nogil=True, cache=True, inline="always")
def _find(pairs: Int64, left: int, right: int, limit: int) -> int:
    """The rank << 32 | result of a pair, or -1 where no merge below rank `limit` joins it."""
    pair = (np.int64(left) << 32) | right
    mask = (pairs.size >> 1) - 1
    slot = slot_of(pair, mask)
    held = pairs[slot]
    while held != pair and held != _NONE:
        slot = (slot + 1) & mask
        held = pairs[slot]
    if held == _NONE:
        return _NONE
    found = pairs[mask + 1 + slot]
    return found if (found >> 32) < limit else _NONE


@njit(nogil=True, cache=True)
def fill_pairs(merges: Int32, results: Int32, pairs: Int64) -> None:
    """Enters the rows of `merges` (int32 [n, 2]) under their rank; of a pair that stands twice, the first counts."""
    mask = (pairs.size >> 1) - 1
    for rank in range(len(merges)):
        pair = (np.int64(merges[rank, 0]) << 32) | merges[rank, 1]
        slot = slot_of(pair, mask)
        while pairs[slot] != pair and pairs[slot] != _NONE:
            slot = (slot + 1) & mask
        if pairs[slot] == _NONE:
            pairs[slot] = pair
            pairs[mask + 1 + slot] = (np.int64(rank) << 32) | results[rank]


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
    """Encodes one sequence with the merges below rank `limit`, for about `budget` steps a call.

    Args:
        pairs: The merges; see the module's head.
        limit: How many of them count.
        symbols: int32 [n], base tokens; afterwards the tokens, at the places that `following` leads through from 0.
        following: int32 [n], scratch; afterwards the place of the next token, n after the last.
        previous: int32 [n], scratch.
        pending: int64 [n], scratch: what `pairs` says of the pair that begins at each place, -1 for none.
        heap: int64 [2 n], scratch: rank << 32 | place.
        state: int64 [STATE_SIZE], zeros at first.
        budget: Steps.

    Returns:
        Whether the sequence is encoded.
    """
    n = len(symbols)
    if state[STARTED] < n:
        begin = state[STARTED]
        end = min(n, begin + budget)
        size = state[HEAP_SIZE]
        for i in range(begin, end):
            following[i], previous[i], pending[i] = i + 1, i - 1, _NONE
            if i + 1 < n:
                found = _find(pairs, symbols[i], symbols[i + 1], limit)
                pending[i] = found
                if found != _NONE:
                    heap[size] = (found & ~_LOW) | i
                    size += 1
        state[HEAP_SIZE] = size
        state[STARTED] = end
        if end < n:
            return False
        budget -= end - begin
        state[ROOTS] = size // 2

    # The heap is made from the bottom up.
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
        # The last entry takes the top's place and sinks.
        size -= 1
        entry, at, child = heap[size], 0, 1
        while child < size:
            if child + 1 < size and heap[child + 1] < heap[child]:
                child += 1
            if entry <= heap[child]:
                break
            heap[at] = heap[child]
            at, child = child, 2 * child + 1
        heap[at] = entry

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
        # The pair that begins here, then the one that ends here.
        for begin, end in ((place, np.int64(after)), (np.int64(previous[place]), place)):
            if begin < 0 or end >= n:
                continue
            found = _find(pairs, symbols[begin], symbols[end], limit)
            if found != pending[begin]:
                pending[begin] = found
                if found != _NONE:
                    entry, at = (found & ~_LOW) | begin, size
                    size += 1
                    while at > 0:
                        parent = (at - 1) >> 1
                        if heap[parent] <= entry:
                            break
                        heap[at] = heap[parent]
                        at = parent
                    heap[at] = entry
    state[HEAP_SIZE] = size
    return size == 0


@njit(nogil=True, cache=True)
def collect(symbols: Int32, following: Int32, place: int, ids: NDArray[np.uint32]) -> tuple[int, int]:
    """Writes the tokens of an encoded sequence from `place` on into `ids`, as many as have room.

    Returns:
        How many those are, and the place to go on at; n at the end.
    """
    found = 0
    while place < len(symbols) and found < len(ids):
        ids[found] = symbols[place]
        found += 1
        place = following[place]
    return found, place


@njit(nogil=True, cache=True)
def encode_words(
    words: Bytes,
    offsets: Int64,
    first: int,
    unit_ids: Int32,
    unknown: int,
    pairs: Int64,
    limit: int,
    ids: NDArray[np.uint32],
    id_offsets: Int64,
) -> tuple[int, int]:
    """Encodes the words from number `first` on.

    Args:
        words: uint8, the words one after another.
        offsets: int64 [n + 1], where each begins, and the end of the last.
        first: The first one to encode.
        unit_ids: int32 [256] for bytes or [0x110000] for characters: their ids, -1 for none.
        unknown: The id for a character that has none; -1 to come back for it.
        pairs: The merges; see the module's head.
        limit: How many of them count.
        ids: uint32, written: the tokens of all words.
        id_offsets: int64 [n + 1], written: where the tokens of each word begin, and the end of the last.

    Returns:
        Why it came back, and at which word.
    """
    symbols, found = np.empty(SHORT, np.int64), np.empty(SHORT, np.int64)
    in_bytes = unit_ids.size == 256
    for word in range(first, offsets.size - 1):
        at, end, to = offsets[word], offsets[word + 1], id_offsets[word]
        if to + end - at > ids.size:
            return NEED_ROOM, word
        n = 0
        while at < end:
            if n == SHORT:
                return TOO_LONG, word
            point = np.int64(words[at])
            size = 1
            if not in_bytes and point >= 0x80:
                size = 2 if point < 0xE0 else 3 if point < 0xF0 else 4
                point &= 0x7F >> size
                for k in range(at + 1, at + size):
                    point = (point << 6) | (words[k] & 0x3F)
            symbol = np.int64(unit_ids[point])
            if symbol < 0:
                if unknown < 0:
                    return UNKNOWN, word
                symbol = unknown
            symbols[n] = symbol
            n += 1
            at += size
        # The pairs whose rank is not known yet.
        begin, stop = 0, n - 1
        while n > 1:
            for i in range(begin, stop):
                found[i] = _find(pairs, symbols[i], symbols[i + 1], limit)
            best, where = np.int64(0x7FFFFFFFFFFFFFFF), -1
            for i in range(n - 1):
                if found[i] != _NONE and found[i] < best:
                    best, where = found[i], i
            if where < 0:
                break
            symbols[where] = best & _LOW
            n -= 1
            for i in range(where + 1, n):
                symbols[i] = symbols[i + 1]
                found[i - 1] = found[i]
            begin, stop = max(0, where - 1), min(n - 1, where + 1)
        for i in range(n):
            ids[to + i] = symbols[i]
        id_offsets[word + 1] = to + n
    return DONE, offsets.size - 1


@njit(nogil=True, cache=True)
def emit(numbers: Int32, ids: NDArray[np.uint32], id_offsets: Int64, out: NDArray[np.uint32]) -> int:
    """Writes the tokens of some words, given by number, to `out`; -1 - id stands for that id itself.

    Returns:
        How many tokens those are; where there is no room for all, how many there would be, and `out` is incomplete.
    """
    total = 0
    for number in numbers:
        if number < 0:
            if total < out.size:
                out[total] = -1 - number
            total += 1
            continue
        start, end = id_offsets[number], id_offsets[number + 1]
        if total + end - start <= out.size:
            for k in range(start, end):
                out[total + k - start] = ids[k]
        total += end - start
    return total


@njit(nogil=True, cache=True)
def take_apart(merges: Int32, first_id: int, standing: Int64) -> None:
    """Adds to the number of each token how often it stands inside the longer ones.

    Args:
        merges: int32 [n, 2], ids of left and right; row k made the id `first_id` + k, of tokens made before it.
        first_id: The id that the first row made.
        standing: int64, how often each token stands in a text, by id. Afterwards: how often it was made, later merges
            having taken it up again.
    """
    # Backwards: what takes a token up was made after it, and is counted already.
    for row in range(len(merges) - 1, -1, -1):
        times = standing[first_id + row]
        standing[merges[row, 0]] += times
        standing[merges[row, 1]] += times
