"""Loops over lines: finding them, their hashes, which of them repeat, and the tests of rules that read a line alone.

A line ends after its line feed or with its document. Each test looks at it without white space at its ends.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false
from __future__ import annotations

from math import log2

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.intrinsics import address_of, byte_at, eight_at, inner, load_eight, wide
from tokstudio.core.kernels.tables import Int64

Bytes = NDArray[np.uint8]
Bools = NDArray[np.bool_]
UInt64 = NDArray[np.uint64]

_FEEDS, _LOWEST, _HIGHEST = np.uint64(0x0A0A0A0A0A0A0A0A), np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_LF = 10
_SIZE = (1 << 32) - 1  # the bits of `owners` that have bytes


@njit(nogil=True, cache=True)
def split_lines(
    data: Bytes,
    at: int,
    base: int,
    document: int,
    line: int,
    ends: Int64,
    starts: Int64,
    stops: Int64,
    documents: Int64,
    lines: Int64,
) -> tuple[int, int, int, int]:
    """Finds the lines that end in a piece of text; an empty document has none.

    Args:
        data: The piece.
        at: The offset in it to continue at; the start of a line.
        base: The offset of the piece in the whole text.
        document: The document that `at` is in.
        line: The number of the line there in its document, from 0.
        ends: int64, the end of each document in the whole text.
        starts: int64, written: the start of each line in the piece.
        stops: int64, written: its end, after its line feed.
        documents: int64, written: its document.
        lines: int64, written: its number in the document.

    Returns:
        How many lines were written; the offset, the document and the line to continue at.
    """
    written = 0
    while written < starts.size and document < ends.size:
        end = ends[document] - base
        if at >= end:
            document, line = document + 1, 0
            continue
        limit, stop = min(end, data.size), at
        while stop + 8 <= limit:
            differences = load_eight(data, stop) ^ _FEEDS
            if (differences - _LOWEST) & ~differences & _HIGHEST != 0:
                break
            stop += 8
        while stop < limit and data[stop] != _LF:
            stop += 1
        if stop < limit:
            stop += 1
        elif limit < end:
            break  # the line goes on after the piece
        starts[written], stops[written], documents[written], lines[written] = at, stop, document, line
        written, line, at = written + 1, line + 1, stop
    return written, at, document, line


@inner
def _space_after(data: int, at: int, stop: int) -> int:
    """The length of the character at an offset if it is white space, as of `str.isspace`; else 0."""
    byte, left = byte_at(data, at), stop - at
    if byte < 0x80:
        return 1 if 9 <= byte <= 13 or 28 <= byte <= 32 else 0
    if byte == 0xC2:
        return 2 if left > 1 and (byte_at(data, at + 1) == 0x85 or byte_at(data, at + 1) == 0xA0) else 0
    if left < 3 or not (byte == 0xE1 or byte == 0xE2 or byte == 0xE3):
        return 0
    second, third = byte_at(data, at + 1), byte_at(data, at + 2)
    if byte == 0xE2 and second == 0x80:
        return 3 if 0x80 <= third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF else 0
    is_space = (
        (byte == 0xE1 and second == 0x9A and third == 0x80)
        or (byte == 0xE2 and second == 0x81 and third == 0x9F)
        or (byte == 0xE3 and second == 0x80 and third == 0x80)
    )
    return 3 if is_space else 0


@inner
def stripped(data: int, start: int, stop: int) -> tuple[int, int]:
    """The start and the stop of a text without the white space at both ends, as of `str.strip`."""
    while start < stop:
        size = _space_after(data, start, stop)
        if size == 0:
            break
        start += size
    while start < stop:
        # Each lead byte of white space begins a character, whatever stands before it.
        if byte_at(data, stop - 1) < 0x80:
            size = _space_after(data, stop - 1, stop)
        else:
            size = _space_after(data, stop - 2, stop) if stop - start > 1 else 0
            if size != 2:
                size = _space_after(data, stop - 3, stop) if stop - start > 2 else 0
                size = size if size == 3 else 0
        if size == 0:
            break
        stop -= size
    return start, stop


# --- Hashes of 128 bits: MurmurHash3 for x64 by Austin Appleby, with seed 0 -------------------------------------------

_FIRST, _SECOND = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
_FIVE = np.uint64(5)
_ADD_FIRST, _ADD_SECOND = np.uint64(0x52DCE729), np.uint64(0x38495AB5)
_MIX_FIRST, _MIX_SECOND = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)


@inner
def _rotated(number: np.uint64, bits: int) -> np.uint64:
    return number << np.uint64(bits) | number >> np.uint64(64 - bits)


@inner
def mixed(number: np.uint64) -> np.uint64:
    """A number in which each bit depends on all bits of another; different numbers stay different."""
    number = (number ^ number >> np.uint64(33)) * _MIX_FIRST
    number = (number ^ number >> np.uint64(33)) * _MIX_SECOND
    return number ^ number >> np.uint64(33)


@inner
def _hashed_on(data: int, start: int, stop: int, first: np.uint64, second: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Goes on with a hash by 16 bytes at a time; fewer are left for `_hashed_end`."""
    for at in range(start, stop - 15, 16):
        first ^= _rotated(eight_at(data, at) * _FIRST, 31) * _SECOND
        first = (_rotated(first, 27) + second) * _FIVE + _ADD_FIRST
        second ^= _rotated(eight_at(data, at + 8) * _SECOND, 33) * _FIRST
        second = (_rotated(second, 31) + first) * _FIVE + _ADD_SECOND
    return first, second


@inner
def _hashed_end(data: int, stop: int, size: int, first: np.uint64, second: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The hash of a text of `size` bytes, of which the last are not in it yet; its first number is never 0."""
    low, high, start = np.uint64(0), np.uint64(0), stop - size % 16
    for at in range(stop - 1, start - 1, -1):
        if at - start >= 8:
            high = high << np.uint64(8) | np.uint64(byte_at(data, at))
        else:
            low = low << np.uint64(8) | np.uint64(byte_at(data, at))
    second ^= _rotated(high * _SECOND, 33) * _FIRST
    first ^= _rotated(low * _FIRST, 31) * _SECOND
    first, second = first ^ np.uint64(size), second ^ np.uint64(size)
    first += second
    second += first
    first, second = mixed(first), mixed(second)
    first += second
    second += first
    return first if first != np.uint64(0) else np.uint64(1), second


@njit(nogil=True, cache=True)
def hash_texts(data: Bytes, starts: Int64, stops: Int64, least: int, strips: bool, hashes: UInt64) -> None:
    """Writes the hash of each text, uint64 [n, 2]; zeros where it has fewer than `least` bytes.

    With `strips`, of each without the white space at its ends.
    """
    text = address_of(data)
    for number in range(starts.size):
        start, stop = starts[number], stops[number]
        if strips:
            start, stop = stripped(text, start, stop)
        first, second = np.uint64(0), np.uint64(0)
        if stop - start >= least:
            first, second = _hashed_on(text, start, stop, first, second)
            first, second = _hashed_end(text, stop, stop - start, first, second)
        hashes[number, 0], hashes[number, 1] = first, second


@njit(nogil=True, cache=True)
def hash_part(data: Bytes, size: int, state: UInt64) -> None:
    """Goes on with the hash of a long text, uint64 [2], zeros at first; all parts but the last have 16 n bytes.

    `size` is that of the whole text with its last part, and 0 with the others.
    """
    text = address_of(data)
    first, second = _hashed_on(text, 0, data.size, state[0], state[1])
    if size > 0:
        first, second = _hashed_end(text, data.size, size, first, second)
    state[0], state[1] = first, second


@njit(nogil=True, cache=True)
def find_repeated(
    hashes: UInt64,
    at: int,
    part: int,
    parts: int,
    keys: UInt64,
    used: int,
    documents: Int64,
    sizes: Int64,
    owners: Int64,
    sums: Int64,
    marks: Bools,
) -> tuple[int, int]:
    """Marks the texts whose hash was there before, and enters those that were not into a table.

    Args:
        hashes: uint64 [n, 2]; those that begin with 0 are passed over.
        at: The text to continue at.
        part: Which part of all hashes to look at.
        parts: How many parts there are; a power of two.
        keys: uint64 [m, 2], the table, m a power of two; zeros where nothing is.
        used: How many hashes are in the table; it stays less than three quarters full.
        documents: int64 [n], the document of each text, below 2^31.
        sizes: int64 [n], its bytes, below 2^32.
        owners: int64 [m], the document of the first text of each hash, shifted by 32 bits, and the bytes of that text;
            -1 when these were added to `sums`. May be empty.
        sums: int64, the bytes of repeated texts of each document, the first of each included; added to.
        marks: bool [n], written: which were there before.

    Returns:
        The text to continue at, after the table has grown, and how many hashes are in it.
    """
    last, chosen = np.uint64(len(keys) - 1), np.uint64(parts - 1)
    most = len(keys) - (len(keys) >> 2)
    while at < len(hashes):
        first, second = hashes[at, 0], hashes[at, 1]
        if first != np.uint64(0) and second & chosen == np.uint64(part):
            slot = first & last
            while keys[slot, 0] != np.uint64(0) and not (keys[slot, 0] == first and keys[slot, 1] == second):
                slot = (slot + np.uint64(1)) & last
            if keys[slot, 0] != np.uint64(0):
                marks[at] = True
                if owners.size > 0:
                    sums[documents[at]] += sizes[at]
                    if owners[slot] >= 0:
                        sums[owners[slot] >> 32] += owners[slot] & _SIZE
                        owners[slot] = -1
            else:
                if used >= most:
                    return at, used
                keys[slot, 0], keys[slot, 1] = first, second
                if owners.size > 0:
                    owners[slot] = documents[at] << 32 | sizes[at]
                used += 1
        at += 1
    return at, used


@njit(nogil=True, cache=True)
def move_hashes(keys: UInt64, owners: Int64, larger: UInt64, new_owners: Int64) -> None:
    """Moves the content of a table of `find_repeated` into a larger one."""
    last = np.uint64(len(larger) - 1)
    for old in range(len(keys)):
        if keys[old, 0] != np.uint64(0):
            slot = keys[old, 0] & last
            while larger[slot, 0] != np.uint64(0):
                slot = (slot + np.uint64(1)) & last
            larger[slot, 0], larger[slot, 1] = keys[old, 0], keys[old, 1]
            if owners.size > 0:
                new_owners[slot] = owners[old]


# --- The tests of the rules; `core.corpus.rules` says in words what each finds ----------------------------------------

_FEWEST_DISTINCT = 3.0  # bits a byte of hexadecimal or decimal digits; 64 of them at random have some 3.8 or 3.2
_FEWEST_BITS = 5.0  # likewise of others; 64 of base64 have some 5.3, words and addresses some 4.3
_LONGEST_UNIT = 32  # bytes
_LEAST_REPETITION, _MOST_REPETITION = 20, 1 << 16  # bytes of a line that are looked at


@inner
def _is_noise(data: int, start: int, stop: int, counts: Int64) -> bool:
    counts[:] = 0
    for at in range(start, stop):
        counts[byte_at(data, at)] += 1
    size, total, hexadecimal = stop - start, 0.0, 0
    for byte in range(0x21, 0x7F):
        count = counts[byte]
        if count > 0:
            total += count * log2(count)
            if 0x30 <= byte <= 0x39 or 0x41 <= byte <= 0x46 or 0x61 <= byte <= 0x66:
                hexadecimal += count
    bits = log2(size) - total / size
    return bits >= (_FEWEST_DISTINCT if hexadecimal == size else _FEWEST_BITS)


@njit(nogil=True, cache=True)
def find_blobs(data: Bytes, starts: Int64, stops: Int64, least: float, marks: Bools) -> None:
    """Marks lines of which at least half lies in runs of `least` bytes of ASCII without a space that are noise."""
    text, counts = address_of(data), np.zeros(256, np.int64)
    for number in range(starts.size):
        start, stop = stripped(text, starts[number], stops[number])
        noise, at = 0, start
        while at < stop and stop - start >= least:
            begin = at
            while at < stop and 0x21 <= data[at] <= 0x7E:
                at += 1
            if at - begin >= least and _is_noise(text, begin, at, counts):
                noise += at - begin
            at += 1
        marks[number] = noise > 0 and 2 * noise >= stop - start


@inner
def _ends_character(data: int, at: int, stop: int) -> bool:
    return at + 1 == stop or byte_at(data, at + 1) & 0xC0 != 0x80


@njit(nogil=True, cache=True)
def find_repetition(data: Bytes, starts: Int64, stops: Int64, share: float, marks: Bools) -> None:
    """Marks lines in which a unit of 1 to 32 bytes is repeated at least four times.

    Of the bytes that end a character, `share` must equal those so many bytes before. Of a line, the first 64 KiB count.
    """
    text = address_of(data)
    for number in range(starts.size):
        start, stop = stripped(text, starts[number], stops[number])
        stop = min(stop, start + _MOST_REPETITION)
        marks[number] = False
        if stop - start < _LEAST_REPETITION:
            continue
        left = 0
        for at in range(start, stop):
            left += _ends_character(text, at, stop)
        for unit in range(1, min(_LONGEST_UNIT, (stop - start) // 4) + 1):
            left -= _ends_character(text, start + unit - 1, stop)
            allowed = int(left - share * left)
            different = 0
            for at in range(start + unit, stop):
                if data[at] != data[at - unit] and _ends_character(text, at, stop):
                    different += 1
                    if different > allowed:
                        break
            if different <= allowed and left > 0:
                marks[number] = True
                break


@inner
def _misread(data: int, at: int, stop: int) -> int:
    """The length of a character that stands for a byte from 80 to BF read as Windows-1252 or Latin-1; else 0."""
    left = stop - at
    if left < 2:
        return 0
    byte, second = byte_at(data, at), byte_at(data, at + 1)
    if byte == 0xC2:
        return 2 if 0x80 <= second <= 0xBF else 0
    if byte == 0xC5:  # Œœ Šš Ÿ Žž
        is_one = second in (0x92, 0x93, 0xA0, 0xA1, 0xB8, 0xBD, 0xBE)
        return 2 if is_one else 0
    if (byte == 0xC6 and second == 0x92) or (byte == 0xCB and (second == 0x86 or second == 0x9C)):  # ƒ ˆ ˜
        return 2
    if byte != 0xE2 or left < 3:
        return 0
    third = byte_at(data, at + 2)
    if second == 0x80:  # – — ‘ ’ ‚ “ ” „ † ‡ • … ‰ ‹ ›
        is_one = third in (0x93, 0x94, 0x98, 0x99, 0x9A, 0x9C, 0x9D, 0x9E, 0xA0, 0xA1, 0xA2, 0xA6, 0xB0, 0xB9, 0xBA)
        return 3 if is_one else 0
    return 3 if (second == 0x82 and third == 0xAC) or (second == 0x84 and third == 0xA2) else 0  # € ™


@njit(nogil=True, cache=True)
def find_mojibake(data: Bytes, starts: Int64, stops: Int64, least: float, marks: Bools) -> None:
    """Marks lines with at least so many characters that were UTF-8 and were read as Windows-1252 or Latin-1."""
    text = address_of(data)
    for number in range(starts.size):
        stop, found = stops[number], 0
        at = starts[number]
        while at + 1 < stop:
            # U+00C2 to U+00F4 stand for the first byte of a character of two to four.
            if data[at] != 0xC3 or not 0x82 <= data[at + 1] <= 0xB4:
                at += 1
                continue
            lead = data[at + 1]
            following = 1 if lead < 0xA0 else 2 if lead < 0xB0 else 3
            at += 2
            place, seen = at, 0
            while seen < following and place < stop:
                size = _misread(text, place, stop)
                if size == 0:
                    break
                place, seen = place + size, seen + 1
            if seen == following:
                found, at = found + 1 + following, place
        marks[number] = found >= least


@njit(nogil=True, cache=True)
def find_controls(data: Bytes, starts: Int64, stops: Int64, least: float, marks: Bools) -> None:
    """Marks lines with at least so many control characters, other than white space, or U+FFFD."""
    for number in range(starts.size):
        stop, found = stops[number], 0
        for at in range(starts[number], stop):
            byte = data[at]
            if byte < 0x20:
                found += not 9 <= byte <= 13
            elif byte == 0x7F:
                found += 1
            elif byte == 0xC2 and at + 1 < stop:
                found += 0x80 <= data[at + 1] <= 0x9F and data[at + 1] != 0x85
            elif byte == 0xEF and at + 2 < stop:
                found += data[at + 1] == 0xBF and data[at + 2] == 0xBD
        marks[number] = found >= least


@inner
def _is_letter(byte: int) -> bool:
    return 0x41 <= byte <= 0x5A or 0x61 <= byte <= 0x7A


@inner
def _begins_name(byte: int) -> bool:
    """Whether a name of XML may begin with a byte; of other characters than ASCII, those that are mostly letters."""
    return _is_letter(byte) or byte == 0x5F or (0xC3 <= byte <= 0xF4 and byte != 0xE2)


@inner
def _continues_name(byte: int) -> bool:
    return _begins_name(byte) or 0x30 <= byte <= 0x3A or byte == 0x2D or byte == 0x2E or 0x80 <= byte <= 0xBF


@inner
def _markup_end(data: int, at: int, stop: int) -> int:
    """The end of the tag or the entity at an offset; the offset itself where there is none."""
    begin, byte = at + 1, 0
    at += 1
    if byte_at(data, at - 1) == 0x26:  # &
        at += at < stop and byte_at(data, at) == 0x23  # #
        name = at
        while at < stop:
            byte = byte_at(data, at)
            if not (_is_letter(byte) or 0x30 <= byte <= 0x39):
                break
            at += 1
        return at + 1 if name < at < min(stop, begin + 32) and byte == 0x3B else begin - 1
    if at < stop and (byte_at(data, at) == 0x21 or byte_at(data, at) == 0x3F):  # ! ?
        at += 1
    else:
        at += at < stop and byte_at(data, at) == 0x2F  # /
        name = at
        while at < stop:
            byte = byte_at(data, at)
            if not (_begins_name(byte) or (at > name and _continues_name(byte))):
                break
            at += 1
        if at in (name, stop) or not (byte == 0x3E or byte == 0x2F or byte == 0x20 or byte == 9):
            return begin - 1
        # Not an address, such as <https://example.org>.
        if byte == 0x2F and (at + 1 == stop or byte_at(data, at + 1) != 0x3E):
            return begin - 1
    while at < stop and byte_at(data, at) != 0x3E and byte_at(data, at) != 0x3C:
        at += 1
    return at + 1 if at < stop and byte_at(data, at) == 0x3E else begin - 1


@njit(nogil=True, cache=True)
def find_markup(data: Bytes, starts: Int64, stops: Int64, share: float, marks: Bools) -> None:
    """Marks lines of which at least `share` is tags and entities of HTML or XML."""
    text = address_of(data)
    for number in range(starts.size):
        start, stop = stripped(text, starts[number], stops[number])
        at, found = start, 0
        while at < stop:
            if data[at] == 0x3C or data[at] == 0x26:
                end = _markup_end(text, at, stop)
                found += end - at
                at = max(end, at + 1)
            else:
                at += 1
        marks[number] = found > 0 and found >= share * (stop - start)


@njit(nogil=True, cache=True)
def find_scripts(
    data: Bytes, starts: Int64, stops: Int64, scripts: Bytes, is_rare: Bools, least: int, totals: Int64, marks: Bools
) -> None:
    """Counts letters by script, and marks lines of which most letters are in a script that is rare.

    Args:
        data: The text.
        starts: int64 [n], the start of each line.
        stops: int64 [n], its end.
        scripts: uint8 [0x110000], the number of the script of each code point; 0 for what is in none.
        is_rare: bool [m], which scripts are rare.
        least: So many letters of that script must be in a line.
        totals: int64 [m], the letters of each script; added to.
        marks: bool [n], written.
    """
    text, table = address_of(data), address_of(scripts)
    counts = np.zeros(is_rare.size, np.int64)
    for number in range(starts.size):
        counts[:] = 0
        at, stop = starts[number], stops[number]
        while at < stop:
            if data[at] < 0x80:
                counts[scripts[data[at]]] += 1
                at += 1
            else:
                character = wide(text, at, stop, table)
                if character >> 8 > 1:
                    counts[character & 0xFF] += 1
                at += character >> 8
        best = 1
        for script in range(1, counts.size):
            totals[script] += counts[script]
            if counts[script] > counts[best]:
                best = script
        marks[number] = is_rare[best] and counts[best] >= least
