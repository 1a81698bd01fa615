"""Arrays for the compiled loops: read-only ones, to which Numba gives a type of their own, and larger ones."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)


def read_only(array: NDArray[T]) -> NDArray[T]:
    """A read-only view of the same elements."""
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view


def grown(array: NDArray[T], size: int) -> NDArray[T]:
    """A copy of an array with `size` rows; the new ones are zeros."""
    made = np.zeros((size, *array.shape[1:]), array.dtype)
    made[: len(array)] = array
    return made


def power_of_two(least: int) -> int:
    """The lowest power of two that is at least `least`."""
    return 1 << max(0, least - 1).bit_length()
