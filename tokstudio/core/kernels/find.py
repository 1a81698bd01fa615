"""Finding a text in documents: as it is written, or with case folded; and keys to sort hits by what is beside them.

Hits do not overlap and lie in one document: the first from the left is taken, and the next begins at its end or later.
Text is UTF-8; a byte that is not is no character, and nothing is found in it by its case or as a whole word.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportReturnType=false
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.intrinsics import address_of, byte_at, bytes_between, inner, lowest_bit
from tokstudio.core.kernels.tables import Int32, Int64

Bytes = NDArray[np.uint8]

_INVALID = -7  # as a character of code -1 and length 1
_LINE_FEED = 10
_BLOCK, _ONE = 64, np.uint64(1)
CODES_IN_A_KEY, KEYS = 3, 5  # characters of 21 bits in a number, and numbers of a hit
_NOT_TEXT = 0x110000


@inner
def character_at(data: int, at: int, stop: int) -> int:
    """The character at `at`: its length in the three low bits, above them its code; -1 for a byte that is not UTF-8."""
    lead, left = byte_at(data, at), stop - at
    if lead < 0x80:
        return lead << 3 | 1
    if 0xC2 <= lead < 0xE0 and left >= 2:
        second = byte_at(data, at + 1)
        if second & 0xC0 == 0x80:
            return ((lead & 0x1F) << 6 | (second & 0x3F)) << 3 | 2
    elif 0xE0 <= lead < 0xF0 and left >= 3:
        second, third = byte_at(data, at + 1), byte_at(data, at + 2)
        code = (lead & 0x0F) << 12 | (second & 0x3F) << 6 | (third & 0x3F)
        if second & 0xC0 == 0x80 and third & 0xC0 == 0x80 and code >= 0x800 and code >> 11 != 0x1B:
            return code << 3 | 3
    elif 0xF0 <= lead < 0xF5 and left >= 4:
        second, third, fourth = byte_at(data, at + 1), byte_at(data, at + 2), byte_at(data, at + 3)
        code = (lead & 0x07) << 18 | (second & 0x3F) << 12 | (third & 0x3F) << 6 | (fourth & 0x3F)
        if second & 0xC0 == third & 0xC0 == fourth & 0xC0 == 0x80 and 0x10000 <= code < 0x110000:
            return code << 3 | 4
    return _INVALID


@inner
def character_before(data: int, at: int, start: int) -> int:
    """The character that ends at `at`, not before `start`, in the form of `character_at`."""
    length = 1
    while length <= 4 and at - length >= start:
        if byte_at(data, at - length) & 0xC0 != 0x80:
            found = character_at(data, at - length, at)
            return found if found & 7 == length else _INVALID
        length += 1
    return _INVALID


@inner
def _is_alone(data: int, begin: int, end: int, start: int, stop: int, words: int) -> bool:
    """Whether neither side of a hit is between two characters of a word, of which `words` has the table."""
    if begin > start:
        before, after = character_before(data, begin, start), character_at(data, begin, stop)
        if before >= 0 and after >= 0 and byte_at(words, before >> 3) and byte_at(words, after >> 3):
            return False
    if end < stop:
        before, after = character_before(data, end, start), character_at(data, end, stop)
        if before >= 0 and after >= 0 and byte_at(words, before >> 3) and byte_at(words, after >> 3):
            return False
    return True


@njit(nogil=True, cache=True)
def find_text(
    data: Bytes,
    base: int,
    at: int,
    stop: int,
    ends: Int64,
    document: int,
    needle: Bytes,
    words: NDArray[np.bool_],
    hits: Int64,
    lasts: Int64,
    documents: Int64,
) -> tuple[int, int, int]:
    """Finds the hits that begin from `at` to before `stop`.

    Args:
        data: uint8, a window of the documents, with `needle.size` and four bytes more on both sides as far as there are
            any. All offsets but its own are those of the whole: byte 0 of it is `base`.
        base: The offset of the window.
        at: Where to begin.
        stop: Where hits no longer begin.
        ends: int64, the end of each document.
        document: A document that `at` is not before.
        needle: uint8, what is looked for; not empty.
        words: bool [0x110000], the characters of words, to find whole words only; else [0].
        hits: int64, written: the start of each hit.
        lasts: int64, written: the end of each.
        documents: int64, written: the document of each.

    Returns:
        How many were written, where to continue, and a document that this is not before.
    """
    asked = stop
    size, written, free, address = needle.size, 0, at, address_of(data)
    first, final, last = np.int64(needle[0]), np.int64(needle[size - 1]), base + data.size
    stop, whole, table = min(stop, last - size + 1), words.size > 0, address_of(words)
    while at < stop:
        offset = at - base
        # The places in the next 64 bytes where the first and the last byte are.
        if offset + size - 1 + _BLOCK <= data.size:
            mask, step = bytes_between(address, offset, 0, first, 1), _BLOCK
            if mask:
                mask &= bytes_between(address, offset + size - 1, 0, final, 1)
        else:
            mask, step = np.uint64(data[offset] == first and data[offset + size - 1] == final), 1
        while mask:
            begin = at + lowest_bit(mask)
            mask &= mask - _ONE
            if begin >= stop:
                break
            if begin < free:
                continue
            same = 1
            while same < size - 1 and data[begin - base + same] == needle[same]:
                same += 1
            if same < size - 1:
                continue
            while ends[document] <= begin:
                document += 1
            start, limit = max(base, ends[document - 1] if document else 0) - base, min(last, ends[document])
            if begin + size > limit:
                continue
            if whole and not _is_alone(address, begin - base, begin - base + size, start, limit - base, table):
                continue
            if written == hits.size:
                return written, begin, document
            hits[written], lasts[written], documents[written] = begin, begin + size, document
            written += 1
            free = begin + size
        at += step
    return written, max(free, asked), document


@njit(nogil=True, cache=True)
def find_folded(
    data: Bytes,
    base: int,
    at: int,
    stop: int,
    ends: Int64,
    document: int,
    needle: Int32,
    words: NDArray[np.bool_],
    hits: Int64,
    lasts: Int64,
    documents: Int64,
    firsts: Int64,
    seconds: Int64,
    folded: Int32,
    longer: Int32,
) -> tuple[int, int, int]:
    """Does the same as `find_text` for text whose case is folded; a hit consists of whole characters.

    `needle` is int32, the folded characters that are looked for, and `firsts` int64 [ranges, 2], the bytes that a
    character begins with whose folding begins like it: the first of each range, and their number; `seconds` are those
    for its second character, [0, 2] if there is none. `folded` is int32 [0x110000], the folding of each character;
    below 0, ~row in `longer`, int32 [rows, 3], foldings of several characters, 0 for none.
    """
    size, written, free, last, address = needle.size, 0, at, base + data.size, address_of(data)
    whole, table = words.size > 0, address_of(words)
    while at < stop:
        offset = at - base
        if offset + _BLOCK < data.size:
            mask, step = np.uint64(0), _BLOCK
            for k in range(firsts.shape[0]):
                mask |= bytes_between(address, offset, 0, firsts[k, 0], firsts[k, 1])
            if mask and seconds.shape[0]:
                # An ASCII character has one byte, and its folding is one character.
                follows = bytes_between(address, offset, 0, 0x80, 0x80)
                for k in range(seconds.shape[0]):
                    follows |= bytes_between(address, offset + 1, 0, seconds[k, 0], seconds[k, 1])
                mask &= follows
        else:
            mask, step = np.uint64(0), 1
            for k in range(firsts.shape[0]):
                mask |= np.uint64(firsts[k, 0] <= data[offset] < firsts[k, 0] + firsts[k, 1])
        while mask:
            begin = at + lowest_bit(mask)
            mask &= mask - _ONE
            if begin >= stop:
                break
            if begin < free:
                continue
            while ends[document] <= begin:
                document += 1
            limit = min(last, ends[document])
            end, same, fits = begin, 0, True
            while fits and same < size and end < limit:
                found = character_at(address, end - base, limit - base)
                if found < 0:
                    break
                code = folded[found >> 3]
                if code >= 0:
                    fits = code == needle[same]
                    same += 1
                else:
                    for k in range(3):
                        if longer[~code, k] != 0:
                            fits = fits and same < size and longer[~code, k] == needle[min(same, size - 1)]
                            same += 1
                end += found & 7
            if not fits or same != size:
                continue
            start = max(base, ends[document - 1] if document else 0) - base
            if whole and not _is_alone(address, begin - base, end - base, start, limit - base, table):
                continue
            if written == hits.size:
                return written, begin, document
            hits[written], lasts[written], documents[written] = begin, end, document
            written += 1
            free = end
        at += step
    return written, max(free, stop), document


@njit(nogil=True, cache=True)
def alone(
    data: Bytes, base: int, ends: Int64, hits: Int64, lasts: Int64, documents: Int64, words: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which hits are whole words, bool [hits]; the arguments are as those of `find_text`."""
    result, address, table = np.zeros(hits.size, np.bool_), address_of(data), address_of(words)
    for k in range(hits.size):
        document = documents[k]
        start = max(base, ends[document - 1] if document else 0) - base
        stop = min(base + data.size, ends[document]) - base
        result[k] = _is_alone(address, hits[k] - base, lasts[k] - base, start, stop, table)
    return result


@njit(nogil=True, cache=True)
def keys_beside(
    data: Bytes,
    base: int,
    ends: Int64,
    at: Int64,
    documents: Int64,
    to_the_left: bool,
    folded: Int32,
    longer: Int32,
    keys: NDArray[np.uint64],
) -> None:
    """Writes the next characters of the line from each place on, folded, as numbers that sort like them.

    Args:
        data: uint8, a window of the documents.
        base: The offset of the window.
        ends: int64, the end of each document.
        at: int64 [n], places in the window.
        documents: int64 [n], their documents.
        to_the_left: Whether the characters before the place, from right to left, instead of those after it.
        folded: As of `find_folded`.
        longer: As of `find_folded`; of several characters the first counts.
        keys: uint64 [n, KEYS], written.
    """
    address = address_of(data)
    for k in range(at.size):
        document = documents[k]
        start = max(base, ends[document - 1] if document else 0) - base
        stop = min(base + data.size, ends[document]) - base
        place, more = at[k] - base, True
        for number in range(KEYS):
            key = np.uint64(0)
            for _ in range(CODES_IN_A_KEY):
                code = 0
                more = more and (place > start if to_the_left else place < stop)
                if more:
                    found = (
                        character_before(address, place, start) if to_the_left else character_at(address, place, stop)
                    )
                    code = _NOT_TEXT
                    if found >= 0:
                        code = np.int64(folded[found >> 3])
                        code = code if code >= 0 else np.int64(longer[~code, 0])
                    more = code != _LINE_FEED
                    code = code + 1 if more else 0
                    place += -(found & 7) if to_the_left else found & 7
                key = key << np.uint64(21) | np.uint64(code)
            keys[k, number] = key
