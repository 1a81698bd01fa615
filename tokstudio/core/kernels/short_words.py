"""Encoding short words: after each merge all pairs of the word are looked at, which is faster than a heap.

A word is in a scratch of five rows of `_ROW` numbers of 32 bits, number k of a row for its k-th base token, from 1 on:
the token that begins there; its order, which is rank << 8 | k for the pair with the next token, and with the highest
rank where no merge joins them; what the merge makes; the places of the next token and of the one before. On both sides
of the word is a token that no pair has, so that the ends need no branches. Where no token begins is the highest order.
"""

# SPDX-License-Identifier: MIT
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.encode import find_likely, prefetch_pair, slots_of
from tokstudio.core.kernels.intrinsics import (
    address_of,
    byte_at,
    inner,
    int32_at,
    int64_at,
    set_int32,
    uint32_at,
)
from tokstudio.core.kernels.tables import Int32, Int64

# numpy's stubs cannot tell an element from an array where the index came out of an array itself.


Bytes = NDArray[np.uint8]

#: The most base tokens of a short word, the bits of a place in one, and the merges whose ranks fit beside a place.
SHORT, PLACE_BITS = 256, 8
MOST_RANKS = (1 << 32 - PLACE_BITS) - 1
PLACE = SHORT - 1
# The ends of a word, and up to seven orders behind it that are looked at with the last ones, are in a row, too.
_ROW = SHORT + 16
_BYTES_OF_ROW = 4 * _ROW
SCRATCH = 5 * _ROW
EDGE = np.int64(-3)  # no token of a table of merges, not even of one that leaves merges out

# The results of the loops.
DONE, NEED_ROOM, TOO_LONG, UNKNOWN = range(4)
_TOO_LONG, _UNKNOWN = np.int64(-TOO_LONG), np.int64(-UNKNOWN)


class WordMerges(NamedTuple):
    """What words are encoded with: numbers, and addresses of arrays that the caller keeps alive."""

    unit_ids: int
    byte_pairs: int  # 0 for characters
    unknown: int
    slots: int
    mask: int
    bits: int
    bit_mask: int
    limit: int
    scratch: int


@njit(nogil=True, cache=True, inline="always")
def merging_of(
    unit_ids: Int32, unknown: int, byte_pairs: Int64, pairs: Int64, bits: Bytes, limit: int, scratch: Int32
) -> WordMerges:
    """The second argument of `encode_short`; see `many_words.encode_words`.

    `scratch` is int32, of at least `SCRATCH` elements. Where it is the caller's own, it is to be used once more at the
    end: else it is freed.
    """
    slots, mask = slots_of(pairs)
    pairs_of_bytes = address_of(byte_pairs) if byte_pairs.size > 0 else np.int64(0)
    units, bits_at, bit_mask = address_of(unit_ids), address_of(bits), 8 * bits.size - 1
    return WordMerges(units, pairs_of_bytes, unknown, slots, mask, bits_at, bit_mask, limit, address_of(scratch))


@njit(nogil=True, cache=True, inline="always")
def _enter(scratch: int, place: int, token: int, value: int) -> None:
    """Writes a token of a word that is not merged yet; `value` is that of its pair with the next one, as of `find`."""
    set_int32(scratch, place, token)
    set_int32(scratch + _BYTES_OF_ROW, place, (value >> 32) << PLACE_BITS | place)
    set_int32(scratch + 2 * _BYTES_OF_ROW, place, value)
    set_int32(scratch + 3 * _BYTES_OF_ROW, place, place + 1)
    set_int32(scratch + 4 * _BYTES_OF_ROW, place, place - 1)


@njit(nogil=True, cache=True, inline="always")
def _enter_ends(of: WordMerges, n: int) -> None:
    """Writes what is on both sides of a word of `n` base tokens."""
    set_int32(of.scratch, 0, EDGE)
    set_int32(of.scratch, n + 1, EDGE)
    for place in range(n + 1, n + 8):
        set_int32(of.scratch + _BYTES_OF_ROW, place, -1)


@njit(nogil=True, cache=True, inline="always")
def enter_bytes(of: WordMerges, word: int, size: int) -> int:
    """Writes the base tokens of a word of `size` bytes at an address; returns how many, or `_UNKNOWN`."""
    byte, lowest = byte_at(word, 0), np.int64(0)
    for place in range(1, size):
        following = byte_at(word, place)
        token = int32_at(of.unit_ids, byte)
        lowest |= token
        _enter(of.scratch, place, token, int64_at(of.byte_pairs, byte << 8 | following))
        byte = following
    token = int32_at(of.unit_ids, byte)
    _enter(of.scratch, size, token, np.int64(-1))
    _enter_ends(of, size)
    return _UNKNOWN if (lowest | token) < 0 else size


@njit(nogil=True, cache=True, inline="always")
def _enter_characters(of: WordMerges, word: int, size: int) -> int:
    """Writes the base tokens of a word of characters; returns how many, `_UNKNOWN` or `_TOO_LONG`."""
    at, n, before = np.int64(0), np.int64(0), np.int64(0)
    while at < size:
        if n == SHORT:
            return _TOO_LONG
        point = byte_at(word, at)
        length = 1 if point < 0x80 else 2 if point < 0xE0 else 3 if point < 0xF0 else 4
        if length > 1:
            point &= 0x7F >> length
            for k in range(at + 1, at + length):
                point = (point << 6) | (byte_at(word, k) & 0x3F)
        token = int32_at(of.unit_ids, point)
        if token < 0:
            if of.unknown < 0:
                return _UNKNOWN
            token = of.unknown
        if n > 0:
            value = find_likely(of.slots, of.mask, of.bits, of.bit_mask, before, token, of.limit)
            _enter(of.scratch, n, before, value)
        n += 1
        before = token
        at += length
    _enter(of.scratch, n, before, np.int64(-1))
    _enter_ends(of, n)
    return n


@njit(nogil=True, cache=True, inline="always")
def _lower(one: int, other: int) -> int:
    return one if one < other else other


@njit(nogil=True, cache=True, inline="always")
def _lowest_of_eight(orders: int, at: int) -> int:
    """The lowest of eight orders. A wider load would wait until each number that was written just before is stored."""
    return _lower(
        _lower(
            _lower(uint32_at(orders, at), uint32_at(orders, at + 1)),
            _lower(uint32_at(orders, at + 2), uint32_at(orders, at + 3)),
        ),
        _lower(
            _lower(uint32_at(orders, at + 4), uint32_at(orders, at + 5)),
            _lower(uint32_at(orders, at + 6), uint32_at(orders, at + 7)),
        ),
    )


@njit(nogil=True, cache=True, inline="always")
def lowest_order(of: WordMerges, n: int) -> int:
    """The lowest order of a word of `n` base tokens."""
    orders = of.scratch + _BYTES_OF_ROW
    best = _lowest_of_eight(orders, 1)
    for first in range(9, n, 8):
        best = _lower(best, _lowest_of_eight(orders, first))
    return best


@njit(nogil=True, cache=True, inline="always")
def join(of: WordMerges, place: int) -> int:
    """Joins the token at a place with the next one; returns the place of the one before."""
    following, previous = of.scratch + 3 * _BYTES_OF_ROW, of.scratch + 4 * _BYTES_OF_ROW
    gone = int32_at(following, place)
    after = int32_at(following, gone)
    set_int32(of.scratch, place, int32_at(of.scratch + 2 * _BYTES_OF_ROW, place))
    set_int32(following, place, after)
    set_int32(previous, after, place)
    set_int32(of.scratch + _BYTES_OF_ROW, gone, -1)
    return int32_at(previous, place)


@njit(nogil=True, cache=True, inline="always")
def tokens_around(of: WordMerges, place: int, before: int) -> tuple[int, int, int]:
    """The tokens before, at and after a place."""
    after = int32_at(of.scratch + 3 * _BYTES_OF_ROW, place)
    return int32_at(of.scratch, before), int32_at(of.scratch, place), int32_at(of.scratch, after)


@njit(nogil=True, cache=True, inline="always")
def set_pair(of: WordMerges, place: int, value: int) -> None:
    """Writes the value, as of `find`, of the pair that begins at a place."""
    set_int32(of.scratch + _BYTES_OF_ROW, place, (value >> 32) << PLACE_BITS | place)
    set_int32(of.scratch + 2 * _BYTES_OF_ROW, place, value)


@njit(nogil=True, cache=True, inline="always")
def write_tokens(of: WordMerges, n: int, ids: int) -> int:
    """Writes the tokens of a word of `n` base tokens to an address; returns how many."""
    place, written = np.int64(1), np.int64(0)
    while place <= n:
        set_int32(ids, written, int32_at(of.scratch, place))
        written += 1
        place = int32_at(of.scratch + 3 * _BYTES_OF_ROW, place)
    return written


@njit(nogil=True, cache=True, inline="always")
def _merge(of: WordMerges, n: int) -> None:
    """Merges the tokens that a word of `n` base tokens begins with."""
    while True:
        best = lowest_order(of, n)
        if best >> PLACE_BITS >= of.limit:
            break
        place = best & PLACE
        before = join(of, place)
        left, token, right = tokens_around(of, place, before)
        prefetch_pair(of.slots, of.mask, token, right)
        prefetch_pair(of.slots, of.mask, left, token)
        value = find_likely(of.slots, of.mask, of.bits, of.bit_mask, token, right, of.limit)
        other = find_likely(of.slots, of.mask, of.bits, of.bit_mask, left, token, of.limit)
        set_pair(of, place, value)
        set_pair(of, before, other)


@inner
def encode_short(word: int, of: WordMerges, size: int, ids: int) -> int:
    """Encodes the word of `size` bytes at the address `word`, and writes its tokens to the address `ids`.

    Returns:
        The number of tokens, at most one a byte; -TOO_LONG or -UNKNOWN where it cannot be encoded here.
    """
    if of.limit > MOST_RANKS or (of.byte_pairs != 0 and size > SHORT):
        return _TOO_LONG
    n = enter_bytes(of, word, size) if of.byte_pairs != 0 else _enter_characters(of, word, size)
    if n < 0:
        return n
    _merge(of, n)
    return write_tokens(of, n, ids)


@njit(nogil=True, cache=True)
def fill_byte_pairs(unit_ids: Int32, pairs: Int64, bits: Bytes, byte_pairs: Int64) -> None:
    """Writes the value of each pair of bytes, int64 [65536], at first byte << 8 | second: that of `find`."""
    slots, mask = slots_of(pairs)
    bits_at, bit_mask = address_of(bits), 8 * bits.size - 1
    for pair in range(byte_pairs.size):
        left, right = unit_ids[pair >> 8], unit_ids[pair & 0xFF]
        byte_pairs[pair] = find_likely(slots, mask, bits_at, bit_mask, left, right, MOST_RANKS)
