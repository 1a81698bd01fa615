"""Texts between two pages of memory that may not be read: a process that reads beyond a text ends at once."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ctypes
import mmap
import random

import numpy as np

from tokstudio.core.kernels.documents import valid_until
from tokstudio.core.kernels.scan import scan
from tokstudio.core.pretokenization.patterns import NAMES, cut
from tokstudio.core.pretokenization.word_table import PADDING, WordTable
from tokstudio.core.text.unicode_classes import classes

PIECES = ("word", " a", "it's", "Ünï", " Москва", "日本", "😀", "\u2003", " ", "\n", "\r\n", ", ", "123456", "\u0301")


def guarded() -> np.ndarray:
    """A page between two that may not be read."""
    size = mmap.PAGESIZE
    memory = mmap.mmap(-1, 3 * size)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None).mprotect
    for first in (start, start + 2 * size):
        assert protect(ctypes.c_void_p(first), ctypes.c_size_t(size), 0) == 0
    return np.frombuffer(memory, np.uint8)[size : 2 * size]


def read_all(text: np.ndarray) -> None:
    """Splits a text by all patterns, with its classes and places to cut."""
    stop = len(text)
    for kind in range(1, len(NAMES)):
        for ends in (np.empty(70, np.int64), np.empty(3, np.int64)):
            at = 0
            while at < stop:
                at = int(ends[scan(kind, text, at, stop, classes(), ends) - 1])
    cut(text, stop // 2, stop)
    valid_until(text, 0, 0, np.array([stop]), classes(), 2 * stop)


def main() -> None:
    """Reads texts at both ends of the page."""
    page, chance = guarded(), random.Random(5)
    for length in range(1, 200):
        data = "".join(chance.choices(PIECES, k=100)).encode()[:length]
        for place in (page[:length], page[len(page) - length :]):
            place[:] = np.frombuffer(data, np.uint8)
            read_all(place)
        if length > PADDING:
            ends = sorted({*chance.choices(range(1, length - PADDING + 1), k=9), length - PADDING})
            WordTable(2).look_up(place, 0, np.array(ends))


if __name__ == "__main__":
    main()
