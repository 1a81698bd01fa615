"""Loops that find near duplicates: signatures of documents, the values they are compared by, and which documents stay.

The min-wise hashes follow Broder, "On the resemblance and containment of documents" (1997).
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.intrinsics import address_of, byte_at, inner
from tokstudio.core.kernels.lines import Bools, Bytes, UInt64, mixed
from tokstudio.core.kernels.tables import Int32, Int64

UInt32 = NDArray[np.uint32]

#: A shingle is so many units; a signature is so many bands of so many hashes.
SHINGLE, BANDS, ROWS = 5, 18, 7
HASHES = BANDS * ROWS
#: The size of the state of `sketch`: the unit so far, whether there is one, how many units there were, their sum, two
#: hashes of all units, and the last eight of them.
STATE = 14
_UNIT, _INSIDE, _COUNT, _SUM, _FIRST, _SECOND, _LAST = range(7)

#: The first unit of a state, before any document.
SEED, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x00000100000001B3)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_FACTOR_5 = np.uint64(pow(0x9E3779B97F4A7C15, SHINGLE, 1 << 64))
_OTHER = np.uint64(0xD6E8FEB86659FD93)
_NONE, _ONE = np.uint64(0), np.uint64(1)


@inner
def _decoded(data: int, at: int, stop: int) -> int:
    """The code point of the non-ASCII character at `at`, and its length from bit 24 on; 0 and 1 where it is invalid."""
    lead, left = byte_at(data, at), stop - at
    if 0xC2 <= lead < 0xE0 and left >= 2:
        second = byte_at(data, at + 1)
        if second & 0xC0 == 0x80:
            return (lead & 0x1F) << 6 | (second & 0x3F) | 2 << 24
    elif 0xE0 <= lead < 0xF0 and left >= 3:
        second, third = byte_at(data, at + 1), byte_at(data, at + 2)
        code = (lead & 0x0F) << 12 | (second & 0x3F) << 6 | (third & 0x3F)
        if (second & third) & 0x80 and not (second | third) & 0x40 and code >= 0x800 and code >> 11 != 0x1B:
            return code | 3 << 24
    elif 0xF0 <= lead < 0xF5 and left >= 4:
        second, third, fourth = byte_at(data, at + 1), byte_at(data, at + 2), byte_at(data, at + 3)
        code = (lead & 0x07) << 18 | (second & 0x3F) << 12 | (third & 0x3F) << 6 | (fourth & 0x3F)
        if (second & third & fourth) & 0x80 and not (second | third | fourth) & 0x40 and 0x10000 <= code < 0x110000:
            return code | 4 << 24
    return 1 << 24


@njit(nogil=True, cache=True)
def sketch(
    data: Bytes,
    starts: Int64,
    stops: Int64,
    goes_on: bool,
    units: Int32,
    factors: UInt32,
    state: UInt64,
    signature: UInt32,
    keys: UInt64,
    hashes: UInt64,
    sizes: Int64,
    values: UInt64,
    filled: int,
) -> int:
    """Writes the keys of documents, or the values of their shingles.

    Args:
        data: A text that the documents are in.
        starts: int64 [n], the start of each document.
        stops: int64 [n], its end.
        goes_on: Whether the last document goes on in the next call; its end must be that of a character.
        units: int32 [0x110000], of each code point: 0 where it is in no unit, the code point in lower case where it is
            part of one, and less than 0 where it is one.
        factors: uint32 [2, HASHES], those of the hashes.
        state: uint64 [STATE], of a document that goes on; the first unit is `SEED`, others are zeros at first.
        signature: uint32 [HASHES], the least hashes of that document so far; all ones at first.
        keys: uint64 [n, BANDS], written: a key of each band; documents that are alike have some in common.
        hashes: uint64 [n, 2], written: the hash of all units; 0 where there are none.
        sizes: int64 [n], written: how many units there are.
        values: uint64, written unless it is empty, instead of keys: the value of each shingle of each document.
        filled: How many values there are already.

    Returns:
        How many values there are.
    """
    text, collects = address_of(data), values.size > 0
    for number in range(starts.size):
        at, stop = starts[number], stops[number]
        is_last = goes_on and number == starts.size - 1
        while True:
            value = np.int64(0)
            if at < stop:
                if data[at] < 0x80:
                    value = np.int64(units[data[at]])
                    at += 1
                else:
                    code = _decoded(text, at, stop)
                    value = np.int64(units[code & 0xFFFFFF])
                    at += code >> 24
            elif is_last:
                break
            if value > 0:
                state[_UNIT] = (state[_UNIT] ^ np.uint64(value)) * _PRIME
                state[_INSIDE] = _ONE
                continue
            # A unit that ends, then a character that is one.
            for turn in range(2):
                if turn == 0:
                    if state[_INSIDE] == _NONE:
                        continue
                    unit = mixed(state[_UNIT])
                    state[_UNIT], state[_INSIDE] = SEED, _NONE
                elif value < 0:
                    unit = mixed((SEED ^ np.uint64(-value)) * _PRIME)
                else:
                    break
                count = np.int64(state[_COUNT])
                state[_FIRST] = mixed((state[_FIRST] ^ unit) + _ONE)
                state[_SECOND] = mixed(state[_SECOND] * _OTHER + unit)
                state[_SUM] = state[_SUM] * _FACTOR + unit
                if count >= SHINGLE:
                    state[_SUM] -= state[_LAST + ((count - SHINGLE) & 7)] * _FACTOR_5
                state[_LAST + (count & 7)] = unit
                state[_COUNT] = np.uint64(count + 1)
                if count + 1 >= SHINGLE:
                    shingle = mixed(state[_SUM])
                    if collects:
                        values[filled] = shingle
                        filled += 1
                    else:
                        low, high = np.uint32(shingle), np.uint32(shingle >> np.uint64(32))
                        for row in range(HASHES):
                            hashed = np.uint32(factors[0, row] * low + factors[1, row] * high)
                            signature[row] = min(signature[row], hashed)
            if at >= stop and value == 0 and state[_INSIDE] == _NONE:
                # The document has ended, and so has its last unit.
                break
        if is_last:
            break
        count = np.int64(state[_COUNT])
        if 0 < count < SHINGLE:
            shingle = mixed(state[_SUM] ^ np.uint64(count) * _OTHER)
            if collects:
                values[filled] = shingle
                filled += 1
        sizes[number] = count
        hashes[number, 0], hashes[number, 1] = state[_FIRST] if count > 0 else _NONE, state[_SECOND]
        if not collects:
            for band in range(BANDS):
                key = np.uint64(band)
                for row in range(ROWS):
                    key = mixed(key * _FACTOR + np.uint64(signature[band * ROWS + row]))
                keys[number, band] = key
            signature[:] = np.uint32(0xFFFFFFFF)
        state[:] = _NONE
        state[_UNIT] = SEED
    return filled


@njit(nogil=True, cache=True)
def join_documents(keys: UInt64, order: Int64, parents: Int32, amounts: Int32) -> None:
    """Gives the documents that have a key in common, also by way of others, the number of the first of them.

    Args:
        keys: uint64 [n], a key of each document; the next call has others.
        order: int64 [n], the documents by their keys, ascending.
        parents: int32 [n], of each document its own number at first; updated.
        amounts: int32 [n], how many keys each has in common with others; added to.
    """
    is_next = False  # whether the document has the key of the one before it
    for at in range(1, order.size):
        head, own = order[at - 1], order[at]
        if keys[head] != keys[own]:
            is_next = False
            continue
        if not is_next:
            amounts[head] += 1
        amounts[own] += 1
        is_next = True
        while parents[head] != head:
            parents[head] = parents[parents[head]]
            head = np.int64(parents[head])
        while parents[own] != own:
            parents[own] = parents[parents[own]]
            own = np.int64(parents[own])
        parents[max(head, own)] = min(head, own)
    for document in range(parents.size):
        # Parents have lower numbers, which are final.
        parents[document] = parents[parents[document]]


@njit(nogil=True, cache=True)
def sort_values(values: UInt64, offsets: Int64, sizes: Int64) -> None:
    """Sorts the values of each document, and writes how many different ones come first in their place."""
    for document in range(sizes.size):
        own = values[offsets[document] : offsets[document + 1]]
        own.sort()
        size = min(1, own.size)
        for at in range(1, own.size):
            if own[at] != own[size - 1]:
                own[size] = own[at]
                size += 1
        sizes[document] = size


@inner
def _are_alike(values: UInt64, at: int, size: int, other: int, other_size: int, least: float) -> bool:
    """Whether two ascending rows of values have at least this Jaccard index."""
    if min(size, other_size) < least * max(size, other_size):
        return False
    stop, other_stop, common = at + size, other + other_size, 0
    while at < stop and other < other_stop:
        if values[at] == values[other]:
            common, at, other = common + 1, at + 1, other + 1
        elif values[at] < values[other]:
            at += 1
        else:
            other += 1
    return common >= least * (size + other_size - common)


@njit(nogil=True, cache=True)
def choose_documents(
    at: int,
    budget: int,
    offsets: Int64,
    buckets: Int32,
    places: Int64,
    sizes: Int64,
    values: UInt64,
    least: float,
    most: int,
    heads: Int32,
    amounts: Int32,
    links: Int32,
    owners: Int32,
    stamps: Int32,
    stays: Bools,
) -> int:
    """Says which documents stay: those that are not alike one before them that stays and has a bucket in common.

    Args:
        at: The document to continue at.
        budget: Values to look at.
        offsets: int64 [n + 1], where the buckets of each document begin, and where the last end.
        buckets: int32, the keys that it has in common with others, by numbers; for all documents, one after another.
        places: int64 [n], where the values of each document begin.
        sizes: int64 [n], how many different ones it has, ascending.
        values: uint64, the values of all documents.
        least: The lowest Jaccard index of documents that are alike.
        most: With so many documents of a bucket, the first ones, others are compared.
        heads: int32 [buckets], the last entry of each; -1 each at first.
        amounts: int32 [buckets], how many there are; zeros at first.
        links: int32 [entries], the entry before it in its bucket.
        owners: int32 [entries], its document.
        stamps: int32 [n], with which document each was compared last; -1 each at first.
        stays: bool [n], written.

    Returns:
        The document to continue at.
    """
    while at < stays.size and budget > 0:
        stays[at] = True
        budget -= 1
        for entry in range(offsets[at], offsets[at + 1]):
            kept = heads[buckets[entry]]
            while kept >= 0 and stays[at]:
                other = owners[kept]
                if stamps[other] != at:
                    stamps[other] = at
                    budget -= sizes[at]
                    stays[at] = not _are_alike(values, places[at], sizes[at], places[other], sizes[other], least)
                kept = links[kept]
            if not stays[at]:
                break
        if stays[at]:
            for entry in range(offsets[at], offsets[at + 1]):
                bucket = buckets[entry]
                if amounts[bucket] < most:
                    amounts[bucket] += 1
                    owners[entry], links[entry], heads[bucket] = at, heads[bucket], entry
        at += 1
    return at
