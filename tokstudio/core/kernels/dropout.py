"""Encoding with BPE-dropout: like `kernels.encode`, but merges are passed over at random.

The random numbers are those of SplitMix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195), begun anew for
each pre-token, so the same text with the same seed becomes the same tokens wherever a part of it is encoded.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.encode import find, replace_top, sift_in
from tokstudio.core.kernels.tables import Int32, Int64

_NONE = -1
_LOW = 0xFFFFFFFF
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
                pending[i] = find(pairs, symbols[begin + i], symbols[begin + i + 1], limit)
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
                pending[left] = find(pairs, symbols[begin + left], symbols[begin + right], limit)
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
