"""Arrays as the compiled loops want them: to the compiler, one that may be written is of another type."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)


def read_only(array: NDArray[T]) -> NDArray[T]:
    """The same elements, not to be written through this view."""
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view
