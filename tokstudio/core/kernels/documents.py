"""Loops over many documents in one call: splitting, finding special tokens, checking UTF-8."""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportReturnType=false
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.intrinsics import address_of, load_eight, wide
from tokstudio.core.kernels.scan import scan
from tokstudio.core.kernels.tables import Int32, Int64
from tokstudio.core.text.unicode_classes import OTHER

Bytes = NDArray[np.uint8]

# What a code point is for `cut_words`: part of a word, as is a byte that is not UTF-8; a word by itself; part of a
# syllable; a mark between two syllables; a space; another mark between words; white space at the ends of a run only.
IN_WORD, ALONE, SYLLABLE, BETWEEN_SYLLABLES, SPACE_BETWEEN, WORD_SPACE, AT_ENDS, NOT_OPEN = OTHER, 1, 2, 3, 4, 5, 6, 7

_NOT_ASCII = np.uint64(0x8080808080808080)  # the high bits of eight bytes; all are clear in ASCII


@njit(nogil=True, cache=True)
def scan_documents(
    kind: int, data: Bytes, at: int, document: int, stops: Int64, classes: Bytes, ends: Int64
) -> tuple[int, int, int]:
    """Writes the ends of the pre-tokens of documents.

    Args:
        kind: The number of the scanner in `kernels.scan`.
        data: The documents one after another.
        at: The offset to continue at; the start of a pre-token.
        document: The document that `at` is in.
        stops: int64, the end of each document.
        classes: uint8 [0x110000], the class of each code point.
        ends: int64, written.

    Returns:
        How many were written; the offset and the document to continue at. The end of the last document means done.
    """
    written = 0
    while document < stops.size and written < ends.size:
        stop = stops[document]
        if at < stop:
            written += scan(kind, data, at, stop, classes, ends[written:])
            at = ends[written - 1]
        if at == stop:
            document += 1
    return written, at, document


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
    """Cuts documents at special tokens: at the leftmost, of several there at the longest, then after it.

    Args:
        data: uint8, the documents one after another.
        documents: int64, the end of each; no special token extends over two documents.
        first: int32 [257], the number of the first special token for each first byte.
        texts: uint8, all special tokens one after another, sorted.
        offsets: int64 [n + 1], the start of each in `texts`, and the end of the last.
        starts: int64, written: the start of each piece of text.
        stops: int64, written: its end; a piece may be empty.
        numbers: int32, written: the special token after it, -1 for the end of its document.
        state: int64 [3], the offset and document to continue at, and the start of the piece; zeros at first.
        budget: Bytes to look at and to compare; the last position is examined completely.

    Returns:
        How many pieces were written.
    """
    at, document, begin = state[0], state[1], state[2]
    written = 0
    while document < documents.size and written < starts.size and budget >= 0:
        stop = documents[document]
        number, length = -1, 0
        while at < stop and budget >= 0:
            budget -= 1
            byte = data[at]
            # The special tokens from `low` to below `high` begin with the `same` bytes of the text here.
            low, high, same = first[byte], first[byte + 1], 1
            while low < high:
                place = offsets[low]
                if offsets[low + 1] - place == same:
                    # The shortest comes first; one of the longer ones may occur here as well.
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
                    # Binary search for the end of those whose next byte is at most this one, then for the start.
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
        starts[written], stops[written], numbers[written] = begin, at, number
        written += 1
        at += length
        begin = at
        if length == 0:
            document += 1
    state[0], state[1], state[2] = at, document, begin
    return written


@njit(nogil=True, cache=True)
def cut_words(
    data: Bytes, ends: Int64, classes: Bytes, out: Bytes, stops: Int64, runs: Int32, kinds: Bytes
) -> tuple[int, int]:
    """Cuts runs between white space into the words that tokenizers are compared by; see `ComparedText`.

    Args:
        data: uint8, the runs one after another, each with the white space at its ends.
        ends: int64 [runs], the end of each.
        classes: uint8 [0x110000], what each code point is: `IN_WORD`, `ALONE`, `SYLLABLE`, or of the numbers below.
        out: uint8, written: the words one after another; as long as the data, and a byte for each run.
        stops: int64, written: the end of each word in `out`; as long as the data.
        runs: int32, as long, written: the run that each is in.
        kinds: uint8, as long, written: what each consists of.

    Returns:
        How many words, and how many bytes of them, were written.
    """
    text, table = address_of(data), address_of(classes)
    start = words = size = 0
    for run in range(ends.size):
        stop = ends[run]
        at, first, last = start, -1, start
        while at < stop:
            found = wide(text, at, stop, table) if data[at] >= 0x80 else np.int64(classes[data[at]]) | 0x100
            if found & 0xFF != SPACE_BETWEEN and found & 0xFF != AT_ENDS:
                first = at if first < 0 else first
                last = at + (found >> 8)
            at += found >> 8
        at, open_kind, is_first = first, NOT_OPEN, True
        while first >= 0 and at < last:
            found = wide(text, at, stop, table) if data[at] >= 0x80 else np.int64(classes[data[at]]) | 0x100
            kind, width = found & 0xFF, found >> 8
            kind = IN_WORD if kind == AT_ENDS else kind
            if open_kind != NOT_OPEN and (kind != open_kind or kind == ALONE):
                stops[words], runs[words], kinds[words] = size, run, open_kind
                words += 1
                open_kind = NOT_OPEN
            if kind in (SPACE_BETWEEN, WORD_SPACE):
                is_first = True
            elif kind != BETWEEN_SYLLABLES:
                if open_kind == NOT_OPEN:
                    if kind == IN_WORD and is_first:
                        out[size] = 0x20
                        size += 1
                    open_kind, is_first = kind, False
                for i in range(width):
                    out[size + i] = data[at + i]
                size += width
            at += width
        if open_kind != NOT_OPEN:
            stops[words], runs[words], kinds[words] = size, run, open_kind
            words += 1
        start = stop
    return words, size


@njit(nogil=True, cache=True)
def valid_until(
    data: Bytes, at: int, document: int, stops: Int64, classes: Bytes, budget: int
) -> tuple[int, int, bool]:
    """Checks documents for invalid UTF-8; no character extends over two documents.

    Args:
        data: uint8, the documents one after another.
        at: The offset to continue at.
        document: The document that `at` is in.
        stops: int64, the end of each document.
        classes: uint8 [0x110000], the class of each code point.
        budget: Bytes and documents to look at.

    Returns:
        The offset and the document to continue at, and whether the text is valid until there.
    """
    text, class_table = address_of(data), address_of(classes)
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
                size = wide(text, at, stop, class_table) >> 8
                if size == 1:
                    return at, document, False
                at += size
        if at < stop:
            break
        document += 1
    return at, document, True
