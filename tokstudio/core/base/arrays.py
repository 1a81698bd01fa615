"""Arrays for the compiled loops: read-only ones, to which Numba gives a type of their own, larger and shorter ones."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T", bound="np.generic")

_LARGEST_INT32 = (1 << 31) - 1
_LARGE_PAGE, _ADVISED = 1 << 21, 1 << 22  # bytes; NumPy asks the system for large pages from so many on


def empty_until_set(kind: str) -> Any:  # noqa: ANN401  each attribute names its type
    """An attribute of a class: an empty array, made when it is first asked for: a window opens without NumPy."""
    return cached_property(lambda _: np.zeros(0, kind))


def read_only(array: NDArray[T]) -> NDArray[T]:
    """A read-only view of the same elements."""
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view


def in_large_pages(size: int, value: int) -> NDArray[np.int64]:
    """An array of `size` equal numbers in large pages of memory, where the system has them and it fills half of one.

    What is read at any place is read faster there, as the processor knows the addresses of few pages.
    """
    if 16 * size < _LARGE_PAGE:
        return np.full(size, value, np.int64)
    pages = -(-8 * size // _LARGE_PAGE)
    # What is not written takes no memory.
    memory = np.empty(max((pages + 1) * _LARGE_PAGE, _ADVISED), np.uint8)
    start = -memory.__array_interface__["data"][0] % _LARGE_PAGE
    array = memory[start : start + 8 * size].view(np.int64)
    array.fill(value)
    return array


def grown(array: NDArray[T], size: int) -> NDArray[T]:
    """A copy of an array with `size` rows; the new ones are zeros."""
    larger = np.zeros((size, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


def power_of_two(least: int) -> int:
    """The lowest power of two that is at least `least`."""
    return 1 << max(0, least - 1).bit_length()


def in_four_bytes(weights: NDArray[np.int64], before: int = 0) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The weights of positions as int32, and those that do not fit, which follow so many that are `known`.

    Loops read them with `kernels.weights.weight_at`.

    >>> in_four_bytes(np.array([7, 1 << 40, 1]))
    (array([ 7, -1,  1], dtype=int32), array([1099511627776]))
    """
    small, is_heavy = weights.astype(np.int32), weights > _LARGEST_INT32
    heavy = weights[is_heavy]
    small[is_heavy] = -1 - before - np.arange(len(heavy))
    return small, heavy


def in_eight_bytes(weights: NDArray[np.int32], heavy: NDArray[np.int64]) -> NDArray[np.int64]:
    """Does the reverse of `in_four_bytes`."""
    large = weights.astype(np.int64)
    is_heavy = large < 0
    large[is_heavy] = heavy[-1 - large[is_heavy]]
    return large


def narrowed(numbers: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as int32 where all fit; else as they are."""
    fits = not len(numbers) or (int(numbers.min()) >= -_LARGEST_INT32 and int(numbers.max()) <= _LARGEST_INT32)
    return numbers.astype(np.int32, copy=False) if fits else numbers
