r"""Splitting 64 bytes at a time: the starts of pre-tokens as bits, found with a few operations for all of them.

A block begins at the start of a pre-token. Bit i of a mask belongs to byte i; every byte of a character has the bit of
its class. A block gives the starts after its first byte, up to the first place that needs more than these rules know:
the end of the block, white space of several bytes, an apostrophe that may begin a contraction. What a block does not
give, the scanners of `scan` find.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs do not accept its numbers as Python's.
# pyright: reportMissingTypeStubs=false, reportArgumentType=false, reportReturnType=false
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tokstudio.core.kernels.intrinsics import bytes_between, highest_zeros, inner, lowest_bit, wide
from tokstudio.core.text.unicode_classes import LETTER, LOWER, NUMBER, SPACE, UPPER

BLOCK = 64

_LETTER, _NUMBER, _SPACE, _UPPER, _LOWER = (np.int64(bit) for bit in (LETTER, NUMBER, SPACE, UPPER, LOWER))
_ONE, _TWO, _THREE = np.uint64(1), np.uint64(2), np.uint64(3)
_ALL = ~np.uint64(0)
_LAST = np.uint64(63)


class _Masks(NamedTuple):
    """The bytes of a block by the class of their character."""

    letters: np.uint64
    numbers: np.uint64
    others: np.uint64
    spaces: np.uint64
    firsts: np.uint64  # the first bytes of characters
    hard: np.uint64  # white space of several bytes; where case counts, marks and letters without case
    uppers: np.uint64  # where case counts


@inner
def _masks(data: int, at: int, stop: int, classes: int, cased: bool) -> _Masks:
    """The classes of the 64 bytes from `at` on; `cased` is whether case counts."""
    letters = bytes_between(data, at, 0x20, 0x61, 26)
    numbers = bytes_between(data, at, 0, 0x30, 10)
    spaces = bytes_between(data, at, 0, 0x20, 1) | bytes_between(data, at, 0, 0x09, 5)
    wides = bytes_between(data, at, 0, 0x80, 0x80)
    firsts, hard, uppers = ~wides, np.uint64(0), np.uint64(0)
    if cased:
        uppers = bytes_between(data, at, 0, 0x41, 26)
    if wides:
        # Most letters of two bytes: U+00C0 to U+00FF without two signs, U+0100 to U+02BF, U+0400 to U+047F.
        latin = bytes_between(data, at, 0, 0xC3, 1) & ~(bytes_between(data, at, 0x20, 0xB7, 1) >> _ONE)
        latin |= bytes_between(data, at, 0, 0xC4, 7) | bytes_between(data, at, 0, 0xD0, 2)
        latin &= bytes_between(data, at, 0, 0x80, 0x40) >> _ONE
        if cased:
            latin = np.uint64(0)
        letters |= latin | (latin << _ONE)
        firsts |= latin
        rest = wides & ~letters
        while rest:
            first = lowest_bit(rest)
            character = wide(data, at + first, stop, classes)
            bits = ((_ONE << np.uint64(character >> 8)) - _ONE) << np.uint64(first)
            firsts |= _ONE << np.uint64(first)
            rest &= ~bits
            if cased and character & _UPPER:
                uppers |= bits
                if character & _LOWER:
                    hard |= bits
                    break
            if character & _LETTER:
                letters |= bits
            elif character & _NUMBER:
                numbers |= bits
            elif character & _SPACE:
                spaces |= bits
                hard |= bits
    return _Masks(letters, numbers, ~(letters | numbers | spaces), spaces, firsts, hard, uppers)


@inner
def _known(places: np.uint64, limit: int) -> np.uint64:
    """The bits from 1 up to `limit`."""
    return places & ((_TWO << np.uint64(limit)) - _TWO)


@inner
def gpt2_block(data: int, at: int, stop: int, classes: int) -> np.uint64:
    """The starts in the block from `at` on; all its bytes and the classes of their characters can be read."""
    of = _masks(data, at, stop, classes, False)
    blanks = bytes_between(data, at, 0, 0x20, 1)
    changes = of.letters & ~(of.letters << _ONE) | of.numbers & ~(of.numbers << _ONE) | of.others & ~(of.others << _ONE)
    starts = changes & ~(blanks << _ONE)
    # White space leaves its last character to what follows.
    starts |= of.spaces & (~(of.spaces << _ONE) | ~(of.spaces >> _ONE))
    # What follows an apostrophe is clear only where it does not begin a pre-token, or no letter follows.
    apostrophes = bytes_between(data, at, 0, 0x27, 1) & (starts | _ONE) & (of.letters >> _ONE)
    limit = min(lowest_bit(of.hard) - 2, lowest_bit(apostrophes), 62)
    return _known(starts, limit) if limit > 0 else np.uint64(0)


@inner
def cl100k_block(data: int, at: int, stop: int, classes: int, numbers: int, cased: bool) -> np.uint64:
    """Like `gpt2_block`, for `cl100k`, `cl100k_right`, `llama3`, `qwen2` and `o200k`.

    `numbers` is the longest run of numbers, 1 or 3, or 0 where digits are grouped from the right; `cased` is
    whether a capital after a small letter begins a word.
    """
    of = _masks(data, at, stop, classes, cased)
    blanks, limit = bytes_between(data, at, 0, 0x20, 1), 62
    breaks = bytes_between(data, at, 0, 0x0A, 1) | bytes_between(data, at, 0, 0x0D, 1)
    # Line breaks belong to the other characters before them: a sum carries through a run to the place after it.
    spaces = of.spaces & ~(breaks & ~(breaks + (breaks & (of.others << _ONE))))
    inline = spaces & ~breaks
    others = of.others & ~(of.others << _ONE) & ~(blanks << _ONE)
    # One other character before letters belongs to them.
    behind = others << _ONE
    for _ in range(3):
        behind = (behind & of.firsts) | ((behind & ~of.firsts) << _ONE)
    starts = others | of.letters & ~((of.letters | inline) << _ONE) & ~behind
    # White space up to its last line break is one pre-token; after that, it leaves its last character to what follows.
    indents = inline & (breaks << _ONE)
    starts |= spaces & ~(spaces << _ONE) | inline & ~(spaces >> _ONE) | indents
    if (inline + indents) & ~inline & breaks:
        limit = lowest_bit(indents) - 1
    if of.spaces >> _LAST:
        limit = min(limit, 64 - highest_zeros(~of.spaces))
    hard = of.hard
    apostrophes = bytes_between(data, at, 0, 0x27, 1) & (of.letters >> _ONE)
    if cased:
        starts |= of.uppers & ((of.letters & ~of.uppers) << _ONE)
        # A contraction belongs to the letters before it, and a slash to line breaks that belong to what is before.
        hard |= apostrophes & (of.letters << _ONE) | bytes_between(data, at, 0, 0x2F, 1) & (breaks << _ONE)
    else:
        limit = min(limit, lowest_bit(apostrophes & others))
    if numbers == 1:
        starts |= of.numbers & of.firsts
    else:
        starts |= of.numbers & ~(of.numbers << _ONE)
        hard |= of.numbers & ~of.firsts
        fourth = of.numbers & (of.numbers << _ONE) & (of.numbers << _TWO) & (of.numbers << _THREE)
        if numbers == 3:
            starts |= fourth
            limit = min(limit, lowest_bit(fourth))
        else:
            # How digits are grouped is known where all of them are: from the end of the run.
            limit = min(limit, lowest_bit(fourth) - 3)
            if of.numbers >> _LAST:
                limit = min(limit, 64 - highest_zeros(~of.numbers))
    limit = min(limit, lowest_bit(hard) - 2)
    return _known(starts, limit) if limit > 0 else np.uint64(0)
