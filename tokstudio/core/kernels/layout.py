"""Lays documents out as symbols with a separator after each, and counts the base tokens on the way."""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportAssignmentType=false
from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tokstudio.core.kernels.tables import Int32, Int64


@njit(nogil=True, cache=True)
def lay_out_bytes(
    data: NDArray[np.uint8], ends: Int64, position: Int64, symbols: Int32, counts: Int64, budget: int
) -> None:
    """Lays out about `budget` bytes of `data` (documents end at `ends`), going on from `position`.

    `position` holds the next byte, the next document and the next symbol; it is moved on.
    """
    at, document, to = position
    stop = min(len(data), at + budget)
    while document < len(ends) and budget > 0:
        end = min(ends[document], stop)
        for i in range(at, end):
            symbols[to] = data[i]
            counts[data[i]] += 1
            to += 1
        budget -= end - at + 1
        at = end
        if end < ends[document]:
            break
        symbols[to] = -1
        to += 1
        document += 1
    position[0], position[1], position[2] = at, document, to


@njit(nogil=True, cache=True)
def measure_tokens(merges: Int32, results: Int32, lengths: Int64) -> None:
    """Enters the length of every merge's result, in bytes; the parts of a merge come before it."""
    for k in range(len(merges)):
        lengths[results[k]] = lengths[merges[k, 0]] + lengths[merges[k, 1]]
