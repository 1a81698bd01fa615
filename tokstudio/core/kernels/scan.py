r"""The scanners of the named patterns: where pre-tokens end, exactly as the regular expression says, without one.

A character is looked at as bits: its class (`unicode_classes` has them), and from bit 8 on how many bytes it takes; no
bits stand for the end of the text. A byte that is no part of valid UTF-8 is a character of its own, of class `OTHER`.

What the branches of the expressions come to, in every family: a run of letters with what may stand before it, a run of
numbers, a run of other characters with what may stand before and behind it, or white space. White space gives up its
last character to what follows, unless it is the only one; but where the pattern has a branch for line breaks, it ends
behind the last of those.

The loops take addresses in place of arrays: see `addresses`.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs do not take its numbers for Python's.
# pyright: reportMissingTypeStubs=false, reportArgumentType=false, reportReturnType=false
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.addresses import address_of, ascii_letters, byte_at
from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.tables import Int64
from tokstudio.core.text.unicode_classes import LETTER, LOWER, NEWLINE, NUMBER, OTHER, SPACE, UPPER

# The scanners by number, in the order of `patterns.NAMES`.
NONE, WHITESPACE, GPT2, CL100K, LLAMA3, QWEN2, O200K = range(7)

_APOSTROPHE, _BLANK, _SLASH, _CR, _LF = 0x27, 0x20, 0x2F, 0x0D, 0x0A
_ONE_BYTE = 1 << 8

# Numbers of numpy's: for each of Python's own, Numba would compile the functions that are given it once more.
_LETTER, _NUMBER, _SPACE, _NEWLINE, _OTHER, _UPPER, _LOWER = (
    np.int64(bit) for bit in (LETTER, NUMBER, SPACE, NEWLINE, OTHER, UPPER, LOWER)
)
_NOT_SPACE = _LETTER | _NUMBER | _OTHER
_AS_IT_IS, _FOLDED = np.int64(0), np.int64(0x20)  # bits that make an ASCII capital a small letter
_ONE, _THREE = np.int64(1), np.int64(3)
# How white space ends; see `_white_space`.
_WHOLE_AT_END, _BREAKS = np.int64(1), np.int64(2)

if TYPE_CHECKING:
    _inner = njit(nogil=True, cache=True)
else:
    # What only other loops call needs no door to Python, which would take as long to compile.
    _inner = njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


@_inner
def wide(data: int, at: int, stop: int, classes: int) -> int:
    """The character at `at`, which is not ASCII: its bits, and its bytes from bit 8 on; one byte where it is none."""
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


@_inner
def _character(data: int, at: int, stop: int, classes: int) -> int:
    """The character at `at`: its bits, and its bytes from bit 8 on; 0 at the end."""
    if at >= stop:
        return 0
    byte = byte_at(data, at)
    if byte < 0x80:
        return byte_at(classes, byte) | _ONE_BYTE
    return wide(data, at, stop, classes)


@_inner
def _run(data: int, at: int, stop: int, classes: int, kinds: int) -> int:
    """Where the characters of some kinds end."""
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


@_inner
def _letters(data: int, at: int, stop: int, classes: int, kinds: int, fold: int) -> int:
    """Does what `_run` does for `_LETTER` and `_FOLDED` or `_LOWER` and `_AS_IT_IS`, sixteen letters at a time."""
    while at + 16 <= stop:
        length = ascii_letters(data, at, fold)
        at += length
        if length < 16:
            if byte_at(data, at) < 0x80:
                return at
            break
    return _run(data, at, stop, classes, kinds)


@_inner
def _numbers(data: int, at: int, stop: int, classes: int, most: int) -> int:
    """Where at most `most` numbers end, of which there is one."""
    while most > 0:
        character = _character(data, at, stop, classes)
        if not character & _NUMBER:
            break
        at += character >> 8
        most -= 1
    return at


@_inner
def _line_breaks(data: int, at: int, stop: int, also: int) -> int:
    """Where the line breaks, and bytes equal to `also`, end."""
    while at < stop:
        byte = byte_at(data, at)
        if byte not in (_LF, _CR, also):
            break
        at += 1
    return at


@_inner
def _contraction(data: int, at: int, stop: int, fold: int) -> int:
    """How many bytes the contraction takes whose apostrophe is at `at`; 0 for none.

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


@_inner
def _white_space(data: int, at: int, stop: int, classes: int, how: int) -> int:
    """Where a pre-token of white space ends that begins at `at`.

    With `_BREAKS` in `how` it ends behind its last line break; with `_WHOLE_AT_END`, even so, at the end of the text.
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


@_inner
def _whitespace(data: int, at: int, stop: int, classes: int, ends: Int64) -> int:
    found, room = 0, ends.size
    while at < stop and found < room:
        at = _run(data, at, stop, classes, _SPACE)
        at = _run(data, at, stop, classes, _NOT_SPACE)
        ends[found] = at
        found += 1
    return found


@_inner
def _gpt2(data: int, at: int, stop: int, classes: int, ends: Int64) -> int:
    found, room = 0, ends.size
    while at < stop and found < room:
        # What decides is the character behind a blank.
        begin = at + (byte_at(data, at) == _BLANK)
        character = _character(data, begin, stop, classes)
        if character & _LETTER:
            at = _letters(data, begin + (character >> 8), stop, classes, _LETTER, _FOLDED)
        elif character & _NUMBER:
            at = _run(data, begin + (character >> 8), stop, classes, _NUMBER)
        elif character & _OTHER:
            length = _contraction(data, at, stop, _AS_IT_IS)
            at = at + length if length else _run(data, begin + (character >> 8), stop, classes, _OTHER)
        else:
            at = _white_space(data, at, stop, classes, _WHOLE_AT_END)
        ends[found] = at
        found += 1
    return found


@_inner
def _cl100k(data: int, at: int, stop: int, classes: int, numbers: int, white_space: int, ends: Int64) -> int:
    """Also `llama3` and `qwen2`; `numbers` stand together, `white_space` is for `_white_space`."""
    found, room = 0, ends.size
    while at < stop and found < room:
        character = _character(data, at, stop, classes)
        behind = at + (character >> 8)
        if character & _LETTER:
            at = _letters(data, behind, stop, classes, _LETTER, _FOLDED)
        elif character & _NUMBER:
            at = _numbers(data, at, stop, classes, numbers)
        elif character & _NEWLINE:
            at = _white_space(data, at, stop, classes, white_space)
        else:
            following = _character(data, behind, stop, classes)
            length = _contraction(data, at, stop, _FOLDED)
            if length:
                at += length
            elif following & _LETTER:
                at = _letters(data, behind + (following >> 8), stop, classes, _LETTER, _FOLDED)
            elif character & _OTHER or (following & _OTHER and byte_at(data, at) == _BLANK):
                at = _run(data, behind, stop, classes, _OTHER)
                at = _line_breaks(data, at, stop, _LF)
            else:
                at = _white_space(data, at, stop, classes, white_space)
        ends[found] = at
        found += 1
    return found


@_inner
def _cased_word(data: int, at: int, stop: int, classes: int, character: int) -> int:
    """Where the word of `o200k` ends that begins with `character` at `at`; `at` if there is none.

    The two branches are P?U*L+ and P?U+L*, where a mark is in all three of P, U and L, and a letter without case is in
    U and L. The first branch gives back characters of U until one is left that is in L as well; before the second
    branch comes up, the first tries a mark as part of the word, not as what stands before it.
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
        return _letters(data, end + (following >> 8), stop, classes, _LOWER, _AS_IT_IS)
    if both > begin:
        return both
    if character & _OTHER and character & _LOWER:
        return behind
    return end if end > begin else at


@_inner
def _o200k(data: int, at: int, stop: int, classes: int, ends: Int64) -> int:
    found, room = 0, ends.size
    while at < stop and found < room:
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
        ends[found] = at
        found += 1
    return found


@njit(nogil=True, cache=True)
def scan_at(kind: int, data: int, at: int, stop: int, classes: int, ends: Int64) -> int:
    """Does what `scan` does with addresses, so that arrays that may not be written are no kind of their own."""
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
    return _cl100k(data, at, stop, classes, _ONE if kind == QWEN2 else _THREE, _BREAKS, ends)


@njit(nogil=True, cache=True)
def scan(kind: int, data: NDArray[np.uint8], at: int, stop: int, classes: NDArray[np.uint8], ends: Int64) -> int:
    """Writes where pre-tokens of data[at:stop] end, until `ends` is full or `stop` is reached.

    Args:
        kind: The scanner.
        data: uint8; nothing is read outside of data[at:stop].
        at: Where a pre-token begins.
        stop: The end of the text, as patterns see it.
        classes: uint8 [0x110000], `unicode_classes.classes()`.
        ends: int64, written.

    Returns:
        How many were written; none only if `at` is `stop` or `ends` has no room.
    """
    return scan_at(kind, address_of(data), at, stop, address_of(classes), ends)


@njit(nogil=True, cache=True)
def cut_at(data: int, at: int, stop: int, classes: int) -> int:
    """Does what `patterns.cut` does, with addresses."""
    begin = at
    for place in range(begin + 1, stop):
        byte = byte_at(data, place)
        if byte not in (_BLANK, _LF):
            continue
        last = place - 1
        while last > begin and place - last < 4 and byte_at(data, last) & 0xC0 == 0x80:
            last -= 1
        if last == begin and byte_at(data, last) & 0xC0 == 0x80:
            # Nobody knows what this is the rest of.
            continue
        character = _character(data, last, place, classes)
        if last + (character >> 8) < place:
            # Not all of it is one character, so its last byte is one of its own.
            character = _OTHER
        if character & (_LETTER | _NUMBER) or (character & _OTHER and byte == _BLANK):
            return place
    return stop
