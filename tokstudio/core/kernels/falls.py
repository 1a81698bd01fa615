"""What tokens that Picky BPE removes fall into: the nearest of their parts that are present."""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportReturnType=false
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.tables import HASH_LEFT, Int32, Int64


@njit(nogil=True, cache=True)
def _first_spelled_so(units: NDArray[Any], starts: Int64, index: Int32, row: int) -> int:
    """The first row whose base tokens are those of `row`, which is entered where there is none."""
    begin, length, mask = starts[row], starts[row + 1] - starts[row], index.size - 1
    key = np.int64(length)
    for n in range(length):
        key = (key ^ np.int64(units[begin + n])) * HASH_LEFT
    slot = (key >> 32) & mask
    while index[slot] >= 0:
        other = np.int64(index[slot])
        at, n = starts[other], 0
        if starts[other + 1] - at == length:
            while n < length and units[at + n] == units[begin + n]:
                n += 1
            if n == length:
                return other
        slot = (slot + 1) & mask
    index[slot] = row
    return row


@njit(nogil=True, cache=True)
def list_falls(
    merges: Int32, results: Int64, gone: NDArray[np.bool_], base: int, narrow: NDArray[Any]
) -> tuple[Int64, Int64, Int32]:
    """What each removal of a run does, in their order.

    Args:
        merges: int32 [n, 2].
        results: int64 [n], the id that each makes: its own, base + its row, or that of a token that is present.
        gone: bool [n, 2], which parts are removed after it; never a base token.
        base: Ids before those of the merges.
        narrow: An array of the narrowest type that has room for them: the base tokens of all merges may be many.

    Returns:
        int64 [n], the base tokens of each merge; int64 [removals + 1], where the parts of each removed token begin, and
        the end of the last; int32, these parts.
    """
    n = len(merges)
    starts = np.zeros(n + 1, np.int64)
    for row in range(n):
        starts[row + 1] = starts[row]
        for side in range(2):
            part = np.int64(merges[row, side]) - base
            starts[row + 1] += 1 if part < 0 else starts[part + 1] - starts[part]
    units, size = np.empty(starts[n], narrow.dtype), 16
    while size < 2 * n:
        size *= 2
    index = np.full(size, -1, np.int32)
    # By row: the first row of the same base tokens; there, the newest token made of them. And what is there.
    alike, newest, present = np.empty(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.bool_)
    ends, parts, removals, found = np.zeros(gone.sum() + 1, np.int64), np.empty(64, np.int32), 0, 0
    for row in range(n):
        to = starts[row]
        for side in range(2):
            part = np.int64(merges[row, side]) - base
            if part < 0:
                units[to] = merges[row, side]
                to += 1
            else:
                for at in range(starts[part], starts[part + 1]):
                    units[to] = units[at]
                    to += 1
        alike[row] = _first_spelled_so(units, starts, index, row)
        if results[row] == base + row:
            newest[alike[row]] = row
            present[row] = True
        for side in range(2):
            if gone[row, side]:
                present[merges[row, side] - base] = False
        for side in range(2):
            if not gone[row, side]:
                continue
            token = np.int64(merges[row, side]) - base
            span = starts[token + 1] - starts[token]
            waiting = np.empty(span + 1, np.int64)
            waiting[0], waiting[1], left = merges[token, 1], merges[token, 0], 2
            if found + span > parts.size:
                parts = np.concatenate((parts, np.empty(parts.size + span, np.int32)))
            while left > 0:
                left -= 1
                part = waiting[left] - base
                if part >= 0:
                    part = newest[alike[part]]
                if part < 0 or present[part]:
                    parts[found] = base + part
                    found += 1
                else:
                    waiting[left], waiting[left + 1] = merges[part, 1], merges[part, 0]
                    left += 2
            removals += 1
            ends[removals] = found
    return np.diff(starts), ends, parts[:found].copy()
