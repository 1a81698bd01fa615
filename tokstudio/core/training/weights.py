"""Weights of positions in four bytes each, as the loops read them; see `kernels.weights`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_LARGEST = (1 << 31) - 1


def in_four_bytes(weights: NDArray[np.int64], known: int = 0) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The weights as int32, and those that do not fit, which follow so many that are `known`.

    >>> in_four_bytes(np.array([7, 1 << 40, 1]))
    (array([ 7, -1,  1], dtype=int32), array([1099511627776]))
    """
    made, is_heavy = weights.astype(np.int32), weights > _LARGEST
    heavy = weights[is_heavy]
    made[is_heavy] = -1 - known - np.arange(len(heavy))
    return made, heavy


def in_eight_bytes(weights: NDArray[np.int32], heavy: NDArray[np.int64]) -> NDArray[np.int64]:
    """Does the reverse of `in_four_bytes`."""
    made = weights.astype(np.int64)
    is_heavy = made < 0
    made[is_heavy] = heavy[-1 - made[is_heavy]]
    return made
