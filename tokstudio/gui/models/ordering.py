"""Sorting a million whole numbers in steps short enough for the GUI thread; taking the steps is left to `Slices`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

_DIGIT = 16  # bits: numpy sorts these by counting, a million in some 10 ms


def order_steps(key: NDArray[np.int64], descending: bool = False) -> Generator[None, None, NDArray[np.int32]]:
    """Gives the places of `key` in the order of its values, those of equal ones ascending.

    It sorts by one digit of 16 bits after the other, the least first: a sort of the whole cannot be interrupted.
    """
    order = np.arange(len(key), dtype=np.int32)
    if not len(key):
        return order
    distance = key.max() - key if descending else key - key.min()
    yield
    for shift in range(0, int(distance.max()).bit_length(), _DIGIT):
        digit = (distance[order] >> shift).astype(np.uint16)
        yield
        places = np.argsort(digit, kind="stable")
        yield
        order = order[places]
        yield
    return order
