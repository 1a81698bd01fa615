"""How often the sequence of each position occurs, in four bytes a position.

A number below 0 stands for a weight that does not fit: -1 for the first of the array `heavy`, -2 for the second.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportReturnType=false
from __future__ import annotations

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.tables import Int32, Int64


@njit(nogil=True, cache=True, inline="always")
def weight_at(weights: Int32, heavy: Int64, at: int) -> int:
    """The weight of a position."""
    weight = weights[at]
    return weight if weight >= 0 else heavy[-1 - weight]


@njit(nogil=True, cache=True)
def count_tokens(symbols: Int32, weights: Int32, heavy: Int64) -> int:
    """The number of tokens of a corpus in which each token has one position, weighted."""
    total = 0
    for at in range(symbols.size):
        if symbols[at] >= 0:
            total += weight_at(weights, heavy, at) if weights.size > 0 else 1
    return total
