r"""The scanners of the named patterns: the ends of pre-tokens, exactly as the regular expression gives them.

A character is represented by bits: its class (see `unicode_classes`), and from bit 8 on its length in bytes; 0 stands
for the end of the text. A byte outside valid UTF-8 is a character of its own, of class `OTHER`.

In every family the branches of the expressions match a run of letters with an optional prefix, a run of numbers, a run
of other characters with an optional prefix and suffix, or white space. White space leaves its last character to the
following pre-token, unless it is the only one; but where the pattern has a branch for line breaks, it ends after the
last of those.

The loops take addresses instead of arrays: see `intrinsics`.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs do not accept its numbers as Python's.
# pyright: reportMissingTypeStubs=false, reportArgumentType=false, reportReturnType=false
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.intrinsics import address_of, bit_count, byte_at, inner, lowest_bit, wide
from tokstudio.core.kernels.scan_blocks import BLOCK, cl100k_block, gpt2_block
from tokstudio.core.kernels.tables import Int64
from tokstudio.core.text.unicode_classes import DIGIT, LETTER, LOWER, NEWLINE, NUMBER, OTHER, SPACE, UPPER

# The scanners by number, in the order of `patterns.NAMES`.
NONE, WHITESPACE, GPT2, CL100K, CL100K_RIGHT, LLAMA3, QWEN2, O200K = range(8)

_APOSTROPHE, _BLANK, _SLASH, _CR, _LF = 0x27, 0x20, 0x2F, 0x0D, 0x0A
_ONE_BYTE = 1 << 8

# These are numpy's numbers: for Python's, Numba would compile the functions that receive them once more.
_LETTER, _NUMBER, _SPACE, _NEWLINE, _OTHER, _UPPER, _LOWER, _DIGIT = (
    np.int64(bit) for bit in (LETTER, NUMBER, SPACE, NEWLINE, OTHER, UPPER, LOWER, DIGIT)
)
_NOT_SPACE = _LETTER | _NUMBER | _OTHER
_AS_IT_IS, _FOLDED = np.int64(0), np.int64(0x20)  # bits that turn an ASCII capital into a small letter
_FROM_RIGHT, _ONE, _THREE = np.int64(0), np.int64(1), np.int64(3)  # how many numbers stand together
# The ends of white space; see `_white_space`.
_WHOLE_AT_END, _BREAKS = np.int64(1), np.int64(2)


@inner
def _character(data: int, at: int, stop: int, classes: int) -> int:
    """The character at `at`: its class, and its length from bit 8 on; 0 at the end."""
    if at >= stop:
        return 0
    byte = byte_at(data, at)
    if byte < 0x80:
        return byte_at(classes, byte) | _ONE_BYTE
    return wide(data, at, stop, classes)


@inner
def _run(data: int, at: int, stop: int, classes: int, kinds: int) -> int:
    """The end of a run of characters of given classes."""
    while at < stop:
        byte = byte_at(data, at)
        if byte < 0x80:
            if not byte_at(classes, byte) & kinds:
                break
            at += 1
        else:
            character = wide(data, at, stop, classes)
            if not character & kinds:
                break
            at += character >> 8
    return at


@inner
def _numbers(data: int, at: int, stop: int, classes: int, most: int) -> int:
    """The end of a run of at most `most` numbers."""
    while most > 0:
        character = _character(data, at, stop, classes)
        if not character & _NUMBER:
            break
        at += character >> 8
        most -= 1
    return at


@inner
def _digit_groups(data: int, at: int, stop: int, classes: int, ends: Int64, written: int) -> int:
    """Writes the ends of groups of three digits, counted from the end of the run at `at`; `written` after as fit.

    Numbers that are no digits end a run. All groups are written at once, as each depends on how many digits follow.
    """
    left, end = 0, at
    while True:
        character = _character(data, end, stop, classes)
        if not character & _DIGIT:
            break
        left += 1
        end += character >> 8
    while left > 0 and written < ends.size:
        size = (left - 1) % 3 + 1
        left -= size
        while size > 0:
            at += _character(data, at, stop, classes) >> 8
            size -= 1
        ends[written] = at
        written += 1
    return written


@inner
def _line_breaks(data: int, at: int, stop: int, also: int) -> int:
    """The end of a run of line breaks and bytes equal to `also`."""
    while at < stop:
        byte = byte_at(data, at)
        if byte not in (_LF, _CR, also):
            break
        at += 1
    return at


@inner
def _contraction(data: int, at: int, stop: int, fold: int) -> int:
    """The length in bytes of the contraction whose apostrophe is at `at`; 0 for none.

    `fold` is `_FOLDED` where capitals count as well (then U+017F, the long s, is an s), else `_AS_IT_IS`.
    """
    if at + 1 >= stop or byte_at(data, at) != _APOSTROPHE:
        return 0
    byte = byte_at(data, at + 1)
    one = byte | fold
    if one in (0x73, 0x64, 0x6D, 0x74):  # s d m t
        return 2
    if at + 2 >= stop:
        return 0
    if fold and byte == 0xC5:
        return 3 if byte_at(data, at + 2) == 0xBF else 0
    two = byte_at(data, at + 2) | fold
    if (one == 0x6C and two == 0x6C) or (two == 0x65 and one in (0x76, 0x72)):  # ll, ve, re
        return 3
    return 0


@inner
def _white_space(data: int, at: int, stop: int, classes: int, how: int) -> int:
    """The end of a pre-token of white space that begins at `at`.

    With `_BREAKS` in `how` it ends after its last line break; with `_WHOLE_AT_END` it extends to the end of the text.
    """
    end = _run(data, at, stop, classes, _SPACE)
    if end == stop and how & _WHOLE_AT_END:
        return end
    if how & _BREAKS:
        last = end
        while last > at and byte_at(data, last - 1) not in (_LF, _CR):
            last -= 1
        if last > at:
            return last
    if end == stop:
        return end
    last = end - 1
    while byte_at(data, last) & 0xC0 == 0x80:
        last -= 1
    return last if last > at else end


@inner
def _whitespace(data: int, at: int, stop: int, classes: int, ends: Int64) -> int:
    written, room = 0, ends.size
    while at < stop and written < room:
        at = _run(data, at, stop, classes, _SPACE)
        at = _run(data, at, stop, classes, _NOT_SPACE)
        ends[written] = at
        written += 1
    return written


@inner
def _write(starts: np.uint64, at: int, ends: Int64, written: int) -> int:
    """Writes the places of the bits of a block at `at`, and returns their number; more of `ends` is overwritten."""
    amount = bit_count(starts)
    for first in range(written, written + amount, 4):
        for place in range(first, first + 4):
            ends[place] = at + lowest_bit(starts)
            starts &= starts - np.uint64(1)
    return amount


@inner
def _gpt2(data: int, at: int, stop: int, classes: int, ends: Int64) -> int:
    written, room = 0, ends.size
    while at < stop and written < room:
        if stop - at > BLOCK and room - written >= BLOCK:
            starts = gpt2_block(data, at, stop, classes)
            if starts:
                written += _write(starts, at, ends, written)
                at = ends[written - 1]
                continue
        # The character after a space decides.
        begin = at + (byte_at(data, at) == _BLANK)
        character = _character(data, begin, stop, classes)
        if character & _LETTER:
            at = _run(data, begin + (character >> 8), stop, classes, _LETTER)
        elif character & _NUMBER:
            at = _run(data, begin + (character >> 8), stop, classes, _NUMBER)
        elif character & _OTHER:
            length = _contraction(data, at, stop, _AS_IT_IS)
            at = at + length if length else _run(data, begin + (character >> 8), stop, classes, _OTHER)
        else:
            at = _white_space(data, at, stop, classes, _WHOLE_AT_END)
        ends[written] = at
        written += 1
    return written


@inner
def _cl100k(data: int, at: int, stop: int, classes: int, numbers: int, white_space: int, ends: Int64) -> int:
    """Also for `cl100k_right`, `llama3` and `qwen2`; `white_space` is for `_white_space`.

    `numbers` is the longest run of numbers, `_FROM_RIGHT` where digits are grouped from the right.
    """
    written, room = 0, ends.size
    while at < stop and written < room:
        if stop - at > BLOCK and room - written >= BLOCK:
            starts = cl100k_block(data, at, stop, classes, numbers, False)
            if starts:
                written += _write(starts, at, ends, written)
                at = ends[written - 1]
                continue
        character = _character(data, at, stop, classes)
        behind = at + (character >> 8)
        if character & _LETTER:
            at = _run(data, behind, stop, classes, _LETTER)
        elif numbers == _FROM_RIGHT and character & _DIGIT:
            written = _digit_groups(data, at, stop, classes, ends, written)
            at = ends[written - 1]
            continue
        elif character & _NUMBER:
            at = _numbers(data, at, stop, classes, numbers or _THREE)
        elif character & _NEWLINE:
            at = _white_space(data, at, stop, classes, white_space)
        else:
            following = _character(data, behind, stop, classes)
            length = _contraction(data, at, stop, _FOLDED)
            if length:
                at += length
            elif following & _LETTER:
                at = _run(data, behind + (following >> 8), stop, classes, _LETTER)
            elif character & _OTHER or (following & _OTHER and byte_at(data, at) == _BLANK):
                at = _run(data, behind, stop, classes, _OTHER)
                at = _line_breaks(data, at, stop, _LF)
            else:
                at = _white_space(data, at, stop, classes, white_space)
        ends[written] = at
        written += 1
    return written


@inner
def _cased_word(data: int, at: int, stop: int, classes: int, character: int) -> int:
    """The end of the word of `o200k` that begins with `character` at `at`; `at` if there is none.

    The two branches are P?U*L+ and P?U+L*, where a mark is in all three of P, U and L, and a letter without case is in
    U and L. The first branch backtracks over characters of U until one is left that is in L as well; before the second
    branch is tried, the first tries a mark as part of the word, not as the prefix.
    """
    behind = at + (character >> 8)
    begin = at if character & _LETTER else behind
    end = both = begin
    while True:
        following = _character(data, end, stop, classes)
        if not following & _UPPER:
            break
        end += following >> 8
        if following & _LOWER:
            both = end
    if following & _LOWER:
        return _run(data, end + (following >> 8), stop, classes, _LOWER)
    if both > begin:
        return both
    if character & _OTHER and character & _LOWER:
        return behind
    return end if end > begin else at


@inner
def _o200k(data: int, at: int, stop: int, classes: int, ends: Int64) -> int:
    written, room = 0, ends.size
    while at < stop and written < room:
        if stop - at > BLOCK and room - written >= BLOCK and byte_at(data, at) < 0x80:
            starts = cl100k_block(data, at, stop, classes, 3, True)
            if starts:
                written += _write(starts, at, ends, written)
                at = ends[written - 1]
                continue
        character = _character(data, at, stop, classes)
        if character & _NUMBER:
            at = _numbers(data, at, stop, classes, _THREE)
        elif character & _NEWLINE:
            at = _white_space(data, at, stop, classes, _BREAKS)
        else:
            end = _cased_word(data, at, stop, classes, character)
            if end > at:
                at = end + _contraction(data, end, stop, _FOLDED)
            else:
                behind = at + (character >> 8)
                if character & _OTHER or (
                    byte_at(data, at) == _BLANK and _character(data, behind, stop, classes) & _OTHER
                ):
                    at = _run(data, behind, stop, classes, _OTHER)
                    at = _line_breaks(data, at, stop, _SLASH)
                else:
                    at = _white_space(data, at, stop, classes, _BREAKS)
        ends[written] = at
        written += 1
    return written


@njit(nogil=True, cache=True)
def scan_at(kind: int, data: int, at: int, stop: int, classes: int, ends: Int64) -> int:
    """Does the same as `scan` with addresses, so that read-only arrays need no compilation of their own."""
    if at >= stop or ends.size == 0:
        return 0
    if kind == GPT2:
        return _gpt2(data, at, stop, classes, ends)
    if kind == O200K:
        return _o200k(data, at, stop, classes, ends)
    if kind == WHITESPACE:
        return _whitespace(data, at, stop, classes, ends)
    if kind == NONE:
        ends[0] = stop
        return 1
    if kind == CL100K:
        return _cl100k(data, at, stop, classes, _THREE, _BREAKS | _WHOLE_AT_END, ends)
    if kind == CL100K_RIGHT:
        return _cl100k(data, at, stop, classes, _FROM_RIGHT, _BREAKS | _WHOLE_AT_END, ends)
    return _cl100k(data, at, stop, classes, _ONE if kind == QWEN2 else _THREE, _BREAKS, ends)


@njit(nogil=True, cache=True)
def scan(kind: int, data: NDArray[np.uint8], at: int, stop: int, classes: NDArray[np.uint8], ends: Int64) -> int:
    """Writes the ends of the pre-tokens of data[at:stop], until `ends` is full or `stop` is reached.

    Args:
        kind: The number of the scanner.
        data: uint8; nothing outside data[at:stop] is read.
        at: The start of a pre-token.
        stop: The end of the text for the pattern.
        classes: uint8 [0x110000], `unicode_classes.classes()`.
        ends: int64, written.

    Returns:
        How many were written; 0 only if `at` is `stop` or `ends` has no room.
    """
    return scan_at(kind, address_of(data), at, stop, address_of(classes), ends)


@njit(nogil=True, cache=True)
def cut_at(data: int, at: int, stop: int, classes: int) -> int:
    """Does the same as `patterns.cut` with addresses."""
    begin = at
    for place in range(begin + 1, stop):
        byte = byte_at(data, place)
        if byte not in (_BLANK, _LF):
            continue
        last = place - 1
        while last > begin and place - last < 4 and byte_at(data, last) & 0xC0 == 0x80:
            last -= 1
        if last == begin and byte_at(data, last) & 0xC0 == 0x80:
            # The character that this continues begins before `at`.
            continue
        character = _character(data, last, place, classes)
        if last + (character >> 8) < place:
            # The bytes are not one character, so the last byte is a character of its own.
            character = _OTHER
        if character & (_LETTER | _NUMBER) or (character & _OTHER and byte == _BLANK):
            return place
    return stop
