"""Read-only arrays, as the compiled loops expect them: Numba gives writable arrays another type."""

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
