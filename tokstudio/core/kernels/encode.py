"""Encoding: applies merges lowest rank first, leftmost first among equals, in O(n log n), in bounded calls.

The text is a doubly linked list of tokens. A heap of (rank, place) holds every pair that a merge could join; an entry
that is out of date by the time it is taken is passed over.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportReturnType=false
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tokstudio.core.kernels.tables import Int32, Int64

_NONE = -1
_MIX = np.uint64(0x9E3779B97F4A7C15)

# Places in the state of an encoding (int64).
STARTED, HEAP_SIZE, STATE_SIZE = 0, 1, 2


class PairRanks(NamedTuple):
    """A hash table from pair to rank: open addressing, a power of two of slots, -1 in `ranks` for an empty one.

    `results` is indexed by rank and gives the id that the merge makes.
    """

    lefts: Int32
    rights: Int32
    ranks: Int32
    results: Int32


@njit(nogil=True, cache=True)
def _slot(left: int, right: int, mask: int) -> int:
    mixed = ((np.uint64(left) << np.uint64(32)) | np.uint64(right)) * _MIX
    return np.int64(mixed >> np.uint64(32)) & mask


@njit(nogil=True, cache=True)
def fill_ranks(merges: Int32, table: PairRanks) -> None:
    """Enters the rows of `merges` (int32 [n, 2]) under their rank; of a pair that stands twice, the first counts."""
    mask = len(table.ranks) - 1
    for rank in range(len(merges)):
        left, right = merges[rank, 0], merges[rank, 1]
        slot = _slot(left, right, mask)
        while table.ranks[slot] != _NONE and (table.lefts[slot] != left or table.rights[slot] != right):
            slot = (slot + 1) & mask
        if table.ranks[slot] == _NONE:
            table.lefts[slot], table.rights[slot], table.ranks[slot] = left, right, rank


@njit(nogil=True, cache=True)
def _rank(lefts: Int32, rights: Int32, ranks: Int32, left: int, right: int, limit: int) -> int:
    """The rank of a pair, or -1 where no merge below `limit` joins it."""
    mask = len(ranks) - 1
    slot = _slot(left, right, mask)
    while True:
        rank = ranks[slot]
        if rank == _NONE:
            return _NONE
        if lefts[slot] == left and rights[slot] == right:
            return rank if rank < limit else _NONE
        slot = (slot + 1) & mask


@njit(nogil=True, cache=True)
def encode_sequence(
    table: PairRanks,
    limit: int,
    symbols: Int32,
    following: Int32,
    previous: Int32,
    pending: Int32,
    heap: Int64,
    state: Int64,
    budget: int,
) -> bool:
    """Encodes one sequence with the merges below rank `limit`, for about `budget` steps a call.

    Args:
        table: The merges.
        limit: How many of them count.
        symbols: int32 [n], base tokens; afterwards the tokens, at the places that `following` leads through from 0.
        following: int32 [n], scratch; afterwards the place of the next token, n after the last.
        previous: int32 [n], scratch.
        pending: int32 [n], scratch: the rank of the pair that begins at each place, -1 for none.
        heap: int64 [2 n], scratch: rank << 32 | place.
        state: int64 [STATE_SIZE], zeros at first.
        budget: Steps.

    Returns:
        Whether the sequence is encoded.
    """
    lefts, rights, ranks, results = table.lefts, table.rights, table.ranks, table.results
    n = len(symbols)
    if state[STARTED] < n:
        end = min(n, state[STARTED] + budget)
        size = state[HEAP_SIZE]
        for i in range(state[STARTED], end):
            following[i], previous[i], pending[i] = i + 1, i - 1, _NONE
            if i + 1 < n:
                rank = _rank(lefts, rights, ranks, symbols[i], symbols[i + 1], limit)
                pending[i] = rank
                if rank != _NONE:
                    heap[size] = (np.int64(rank) << 32) | i
                    size += 1
        state[HEAP_SIZE] = size
        state[STARTED] = end
        if end < n:
            return False
        budget -= n
        # From the bottom up; in one go, as it is quick.
        for root in range(size // 2 - 1, -1, -1):
            at, entry, child = root, heap[root], 2 * root + 1
            while child < size:
                if child + 1 < size and heap[child + 1] < heap[child]:
                    child += 1
                if entry <= heap[child]:
                    break
                heap[at] = heap[child]
                at, child = child, 2 * child + 1
            heap[at] = entry

    size = state[HEAP_SIZE]
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

        rank, place = top >> 32, top & 0xFFFFFFFF
        if pending[place] != rank:
            continue
        gone = following[place]
        after = following[gone]
        symbols[place] = results[rank]
        following[place] = after
        pending[gone] = pending[place] = _NONE
        if after < n:
            previous[after] = place
            new = _rank(lefts, rights, ranks, symbols[place], symbols[after], limit)
            if new != _NONE:
                pending[place] = new
                size = _push(heap, size, (np.int64(new) << 32) | place)
        before = previous[place]
        if before >= 0:
            new = _rank(lefts, rights, ranks, symbols[before], symbols[place], limit)
            if new != pending[before]:
                pending[before] = new
                if new != _NONE:
                    size = _push(heap, size, (np.int64(new) << 32) | before)
    state[HEAP_SIZE] = size
    return size == 0


@njit(nogil=True, cache=True)
def _push(heap: Int64, size: int, entry: int) -> int:
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if heap[parent] <= entry:
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = entry
    return size + 1


@njit(nogil=True, cache=True)
def collect(symbols: Int32, following: Int32, ids: NDArray[np.uint32]) -> int:
    """Writes the tokens of an encoded sequence into `ids` and returns how many they are."""
    place, found = 0, 0
    while place < len(symbols):
        ids[found] = symbols[place]
        found += 1
        place = following[place]
    return found
