"""Loops over many documents in one call: splits them, finds special tokens in them, and sees whether they are UTF-8."""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.addresses import address_of
from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.scan import scan, wide
from tokstudio.core.kernels.tables import Int32, Int64
from tokstudio.core.kernels.words import load_eight

Bytes = NDArray[np.uint8]

_NOT_ASCII = np.uint64(0x8080808080808080)  # the bits by which eight bytes are not all ASCII


@njit(nogil=True, cache=True)
def scan_documents(
    kind: int, data: Bytes, at: int, document: int, stops: Int64, classes: Bytes, ends: Int64
) -> tuple[int, int, int]:
    """Writes where the pre-tokens of some documents end.

    Args:
        kind: The scanner, as `kernels.scan` numbers them.
        data: The documents one after another.
        at: Where to go on; the start of a pre-token.
        document: The document that `at` is in.
        stops: int64, where each document ends.
        classes: uint8 [0x110000], the class of each code point.
        ends: int64, written.

    Returns:
        How many were written; where to go on, and in which document. Nothing is left when that is the last one's end.
    """
    found = 0
    while document < stops.size and found < ends.size:
        stop = stops[document]
        if at < stop:
            found += scan(kind, data, at, stop, classes, ends[found:])
            at = ends[found - 1]
        if at == stop:
            document += 1
    return found, at, document


@njit(nogil=True, cache=True)
def cut_specials(
    data: Bytes,
    documents: Int64,
    first: Int32,
    texts: Bytes,
    offsets: Int64,
    starts: Int64,
    stops: Int64,
    numbers: Int32,
    state: Int64,
    budget: int,
) -> int:
    """Cuts documents into the pieces of text between special tokens: the leftmost, there the longest, and on behind it.

    Args:
        data: uint8, the documents one after another.
        documents: int64, where each of them ends; no special token reaches from one into the next.
        first: int32 [257], where the specials that begin with each byte stand among all.
        texts: uint8, all specials one after another, sorted.
        offsets: int64 [n + 1], where each of them begins in `texts`, and the end of the last.
        starts: int64, written: where each piece of text begins.
        stops: int64, written: where it ends; a piece may be empty.
        numbers: int32, written: the special token behind it, -1 for the end of its document.
        state: int64 [3], where to go on, in which document, and where the piece begins; zeros at first.
        budget: Bytes to look at and to compare; the last place is looked at to its end.

    Returns:
        How many pieces were written.
    """
    at, document, begin = state[0], state[1], state[2]
    found = 0
    while document < documents.size and found < starts.size and budget >= 0:
        stop = documents[document]
        number, length = -1, 0
        while at < stop and budget >= 0:
            budget -= 1
            byte = data[at]
            # The specials from `low` to below `high` begin with the `same` bytes that stand here.
            low, high, same = first[byte], first[byte + 1], 1
            while low < high:
                place = offsets[low]
                if offsets[low + 1] - place == same:
                    # The shortest comes first; the others are longer, and one of them may stand here as well.
                    number, length = low, same
                    low += 1
                    continue
                if at + same >= stop:
                    break
                byte = data[at + same]
                lowest, highest = texts[place + same], texts[offsets[high - 1] + same]
                if byte < lowest or byte > highest:
                    break
                if lowest < highest:
                    # First the end of those whose next byte is not above this one, then the start of those equal to it.
                    left, right = low, high
                    while left < right:
                        middle = (left + right) >> 1
                        if texts[offsets[middle] + same] <= byte:
                            left = middle + 1
                        else:
                            right = middle
                        budget -= 1
                    high = left
                    left = low
                    while left < right:
                        middle = (left + right) >> 1
                        if texts[offsets[middle] + same] < byte:
                            left = middle + 1
                        else:
                            right = middle
                        budget -= 1
                    low = left
                same += 1
                budget -= 1
            if length > 0:
                break
            at += 1
        if length == 0 and at < stop:
            break
        starts[found], stops[found], numbers[found] = begin, at, number
        found += 1
        at += length
        begin = at
        if length == 0:
            document += 1
    state[0], state[1], state[2] = at, document, begin
    return found


@njit(nogil=True, cache=True)
def valid_until(
    data: Bytes, at: int, document: int, stops: Int64, classes: Bytes, budget: int
) -> tuple[int, int, bool]:
    """Looks for a byte that is part of no UTF-8 character; none reaches from one document into the next.

    Args:
        data: uint8, the documents one after another.
        at: Where to go on.
        document: The document that `at` is in.
        stops: int64, where each document ends.
        classes: uint8 [0x110000], the class of each code point.
        budget: Bytes and documents to look at.

    Returns:
        Where to go on, in which document, and whether all is valid until there.
    """
    text, known = address_of(data), address_of(classes)
    last = at + document + budget
    while document < stops.size and at + document < last:
        stop = stops[document]
        until = min(stop, last)
        while at < until:
            if data[at] < 0x80:
                while at + 8 <= until and load_eight(data, at) & _NOT_ASCII == 0:
                    at += 8
                while at < until and data[at] < 0x80:
                    at += 1
            else:
                size = wide(text, at, stop, known) >> 8
                if size == 1:
                    return at, document, False
                at += size
        if at < stop:
            break
        document += 1
    return at, document, True
