"""The class and the length of one character of UTF-8, and the decorator of loops that only other loops call."""

# SPDX-License-Identifier: MIT
# numpy's stubs do not accept its numbers as Python's.
# pyright: reportMissingTypeStubs=false, reportArgumentType=false, reportReturnType=false
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.intrinsics import byte_at
from tokstudio.core.text.unicode_classes import OTHER

_OTHER, _ONE_BYTE = np.int64(OTHER), np.int64(1 << 8)

if TYPE_CHECKING:
    inner = njit(nogil=True, cache=True)
else:
    # Loops that only other loops call need no wrappers for Python, which would take as long to compile.
    inner = njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


@inner
def wide(data: int, at: int, stop: int, classes: int) -> int:
    """The non-ASCII character at `at`: its class, and its length from bit 8 on; one byte where it is invalid."""
    lead, left = byte_at(data, at), stop - at
    if 0xC2 <= lead < 0xE0:
        if left >= 2:
            second = byte_at(data, at + 1)
            if second & 0xC0 == 0x80:
                return byte_at(classes, (lead & 0x1F) << 6 | (second & 0x3F)) | 2 << 8
    elif 0xE0 <= lead < 0xF0:
        if left >= 3:
            second, third = byte_at(data, at + 1), byte_at(data, at + 2)
            code = (lead & 0x0F) << 12 | (second & 0x3F) << 6 | (third & 0x3F)
            if (second & third) & 0x80 and not (second | third) & 0x40 and code >= 0x800 and code >> 11 != 0x1B:
                return byte_at(classes, code) | 3 << 8
    elif 0xF0 <= lead < 0xF5 and left >= 4:
        second, third, fourth = byte_at(data, at + 1), byte_at(data, at + 2), byte_at(data, at + 3)
        code = (lead & 0x07) << 18 | (second & 0x3F) << 12 | (third & 0x3F) << 6 | (fourth & 0x3F)
        if (second & third & fourth) & 0x80 and not (second | third | fourth) & 0x40 and 0x10000 <= code < 0x110000:
            return byte_at(classes, code) | 4 << 8
    return _OTHER | _ONE_BYTE
