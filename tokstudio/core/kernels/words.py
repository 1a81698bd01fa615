"""A hash table of distinct words (pre-tokens, as bytes), numbered in the order of their first occurrence.

It uses open addressing. A slot is two numbers: a key, 0 where it is free, and the number of a word. The key of a word
of up to 7 bytes is these bytes and its length, so that most words need no more; that of a longer one is 0xFF and 56
bits of a hash, and the words themselves are one after another in one array, so that nothing refers to the original
text. Words are read eight bytes at a time: wherever they are read, eight bytes must be readable after the last one.
(The bytes after a word's end are masked away, on the assumption of a little-endian processor.)
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.intrinsics import load_eight, prefetch
from tokstudio.core.kernels.tables import Int32, Int64

Bytes = NDArray[np.uint8]
UInt64 = NDArray[np.uint64]

PADDING = 8  # bytes that must be readable after the last word

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_SHORT, _LENGTH_AT = 7, np.uint64(56)
_LONG = np.uint64(0xFF << 56)  # of the keys of longer words
_HALF = np.uint64(32)
_BATCH = 1 << 9  # words whose slots are prefetched


@njit(nogil=True, cache=True, inline="always")
def _head(data: Bytes, at: int, length: int) -> np.uint64:
    """The first `length` bytes from `at` on, from 1 to 8, as a number."""
    return load_eight(data, at) & (_ALL >> np.uint64(8 * (8 - length)))


@njit(nogil=True, cache=True, inline="always")
def _key(data: Bytes, at: int, end: int) -> np.uint64:
    """The key of the word from `at` to `end`."""
    length = end - at
    if length <= _SHORT:
        return _head(data, at, length) | np.uint64(length) << _LENGTH_AT
    mixed = np.uint64(length) * _MULTIPLIER
    while end - at > 8:
        mixed = (mixed ^ load_eight(data, at)) * _MULTIPLIER
        mixed ^= mixed >> _HALF
        at += 8
    mixed = (mixed ^ _head(data, at, end - at)) * _MULTIPLIER
    return mixed >> np.uint64(8) | _LONG


@njit(nogil=True, cache=True, inline="always")
def _slot(key: np.uint64, mask: np.uint64) -> np.uint64:
    """The first slot to try for a key in a table of `mask` + 1 slots."""
    mixed = key * _MULTIPLIER
    return (mixed ^ mixed >> _HALF) & mask


@njit(nogil=True, cache=True, inline="always")
def is_at(data: Bytes, at: int, length: int, arena: Bytes, place: int) -> bool:
    """Whether a word of more than 8 bytes stands at `place` of the arena."""
    while length > 8:
        if load_eight(data, at) != load_eight(arena, place):
            return False
        at += 8
        place += 8
        length -= 8
    return _head(data, at, length) == _head(arena, place, length)


@njit(nogil=True, cache=True)
def look_up(
    data: Bytes,
    start: int,
    ends: Int64,
    numbers: Int32,
    keys: UInt64,
    slots: UInt64,
    offsets: Int64,
    arena: Bytes,
    used: int,
    adds: bool,
) -> tuple[int, int]:
    """Writes the number of each word of `data` to `numbers`, and adds new words.

    Several threads may look up words at once while none of them adds words.

    Args:
        data: uint8, the words one after another, from `start` on.
        start: The start of the first word.
        ends: int64 [n], the end of each word; no word is empty.
        numbers: int32 [n], written.
        keys: uint64 [n], scratch.
        slots: uint64 [a power of two, 2], the key and number of the word in each; a key of 0 is a free slot.
        offsets: int64, the start of each word of the table in `arena`, and the end of the last.
        arena: uint8, the words of the table.
        used: The number of words in the table.
        adds: Whether new words are added; else their number is -1.

    Returns:
        How many words of `data` were looked up (fewer than n where the table is full), and how many are in the table.
    """
    mask = np.uint64(len(slots) - 1)
    for first in range(0, ends.size, _BATCH):
        batch, at = range(first, min(first + _BATCH, ends.size)), start
        for k in batch:
            keys[k] = _key(data, at, ends[k])
            prefetch(slots, np.int64(_slot(keys[k], mask)) * 2)
            at = ends[k]
        for k in batch:
            end, key = ends[k], keys[k]
            slot, length, is_long = _slot(key, mask), end - start, key >= _LONG
            while slots[slot, 0] != 0:
                if slots[slot, 0] == key:
                    place = offsets[slots[slot, 1]]
                    if not is_long or (
                        offsets[slots[slot, 1] + np.uint64(1)] - place == length
                        and is_at(data, start, length, arena, place)
                    ):
                        break
                slot = (slot + np.uint64(1)) & mask
            if slots[slot, 0] == 0:
                if not adds:
                    numbers[k] = -1
                    start = end
                    continue
                into = offsets[used]
                if 2 * (used + 1) > len(slots) or used + 2 > offsets.size or into + length + PADDING > arena.size:
                    return k, used
                for i in range(length):
                    arena[into + i] = data[start + i]
                slots[slot, 0], slots[slot, 1] = key, used
                used += 1
                offsets[used] = into + length
            numbers[k] = slots[slot, 1]
            start = end
    return ends.size, used


@njit(nogil=True, cache=True)
def spread(slots: UInt64, larger: UInt64) -> None:
    """Enters the slots of a table into a larger, empty array of slots."""
    mask = np.uint64(len(larger) - 1)
    for held in range(len(slots)):
        if slots[held, 0] != 0:
            slot = _slot(slots[held, 0], mask)
            while larger[slot, 0] != 0:
                slot = (slot + np.uint64(1)) & mask
            larger[slot, 0], larger[slot, 1] = slots[held, 0], slots[held, 1]


@njit(nogil=True, cache=True)
def enter(arena: Bytes, offsets: Int64, slots: UInt64, first: int, last: int) -> None:
    """Enters the words from number `first` to `last` of a table, none of which is there, into its slots."""
    mask, keys = np.uint64(len(slots) - 1), np.empty(_BATCH, np.uint64)
    for start in range(first, last, _BATCH):
        stop = min(start + _BATCH, last)
        for number in range(start, stop):
            keys[number - start] = _key(arena, offsets[number], offsets[number + 1])
            prefetch(slots, np.int64(_slot(keys[number - start], mask)) * 2)
        for number in range(start, stop):
            slot = _slot(keys[number - start], mask)
            while slots[slot, 0] != 0:
                slot = (slot + np.uint64(1)) & mask
            slots[slot, 0], slots[slot, 1] = keys[number - start], number


@njit(nogil=True, cache=True)
def add_up(
    numbers: Int32,
    ends: Int64,
    start: int,
    stops: Int64,
    shifts: Int64,
    ascending: bool,
    weights: Int64,
    counts: Int64,
    firsts: Int64,
    rows: Int32,
    used: int,
) -> int:
    """Counts the words of a text by their number, and keeps the least place of each.

    Args:
        numbers: int32 [n], the words.
        ends: int64 [n], the end of each.
        start: The start of the first.
        stops: int64 [parts], ascending, the end of each part of the text; the last is not before the last word's.
        shifts: int64 [parts], the place of a word less its start in the text.
        ascending: Whether each place is after all places that were added before.
        weights: int64 [n], how often each occurs; [0] for once each.
        counts: int64 by number, added to; 0 for words that were not found before.
        firsts: int64 by number, written: the least place of each word.
        rows: int32, written: the words in the order in which they were found.
        used: How many words were found before.

    Returns:
        How many words have been found.
    """
    weighted, part = weights.size > 0, 0
    for k in range(numbers.size):
        number = numbers[k]
        while stops[part] <= start:
            part += 1
        if counts[number] == 0:
            firsts[number] = start + shifts[part]
            rows[used] = number
            used += 1
        elif not ascending:
            firsts[number] = min(firsts[number], start + shifts[part])
        counts[number] += weights[k] if weighted else 1
        start = ends[k]
    return used


@njit(nogil=True, cache=True)
def join_rows(
    words: Int32,
    counts: Int64,
    firsts: Int64,
    other_words: Int32,
    other_counts: Int64,
    other_firsts: Int64,
    rows: Int32,
    into_words: Int32,
    into_counts: Int64,
    into_firsts: Int64,
) -> int:
    """Joins two lists of distinct words that are sorted by first occurrence: counts are added, the least first is kept.

    Args:
        words: int32 [n], the words of one list.
        counts: int64 [n], overwritten.
        firsts: int64 [n], ascending.
        other_words: int32 [m], the words of the other list.
        other_counts: int64 [m], overwritten.
        other_firsts: int64 [m], ascending.
        rows: int32 by word, scratch; all are 0 before and afterwards.
        into_words: int32 [n + m], written.
        into_counts: int64 [n + m], written.
        into_firsts: int64 [n + m], written.

    Returns:
        The number of words in the joined list.
    """
    for row in range(words.size):
        rows[words[row]] = row + 1
    # A word of both lists keeps the row with its first occurrence; the count of the other row becomes 0.
    for other in range(other_words.size):
        row = rows[other_words[other]] - 1
        if row >= 0:
            total = counts[row] + other_counts[other]
            is_earlier = firsts[row] <= other_firsts[other]
            counts[row] = total if is_earlier else 0
            other_counts[other] = 0 if is_earlier else total
    for row in range(words.size):
        rows[words[row]] = 0
    row = other = used = 0
    while row < words.size or other < other_words.size:
        if other == other_words.size or (row < words.size and firsts[row] <= other_firsts[other]):
            into_words[used], into_counts[used], into_firsts[used] = words[row], counts[row], firsts[row]
            used += counts[row] > 0
            row += 1
        else:
            into_words[used], into_counts[used] = other_words[other], other_counts[other]
            into_firsts[used] = other_firsts[other]
            used += other_counts[other] > 0
            other += 1
    return used


@njit(nogil=True, cache=True)
def take_rows(counted_rows: Int32, counts: Int64, firsts: Int64, rows: Int64, row_firsts: Int64) -> None:
    """Writes the counts and first occurrences of the words `found`, and sets their counts to 0."""
    for k in range(counted_rows.size):
        number = counted_rows[k]
        rows[k], row_firsts[k] = counts[number], firsts[number]
        counts[number] = 0


@njit(nogil=True, cache=True)
def renumber(words: Int32, renumbered: Int32, order: Int64) -> None:
    """Numbers the words of rows in the order of their first rows.

    Args:
        words: int32 [rows], the number of each row's word, overwritten.
        renumbered: int32 by old number, -1, overwritten.
        order: int64 by new number, written: the old number.
    """
    used = 0
    for row in range(words.size):
        old = words[row]
        if renumbered[old] < 0:
            renumbered[old] = used
            order[used] = old
            used += 1
        words[row] = renumbered[old]


@njit(nogil=True, cache=True)
def weigh(words: Int32, sources: Int32, counts: Int64, weights: Int64, totals: Int64, rows: Int64) -> None:
    """Adds the weighted counts of all sources.

    Args:
        words: int32 [rows], the word of each row.
        sources: int32 [rows], the source of each row.
        counts: int64 [rows], how often the word occurs in the source.
        weights: int64 by source.
        totals: int64 by word, 0, added to.
        rows: int64 by word, written: its first row in a source with a weight above 0.
    """
    for row in range(words.size):
        weight = weights[sources[row]]
        if weight > 0:
            if totals[words[row]] == 0:
                rows[words[row]] = row
            totals[words[row]] += weight * counts[row]


@njit(nogil=True, cache=True)
def gather(arena: Bytes, offsets: Int64, order: Int64, into: Bytes, ends: Int64, first: int, last: int) -> None:
    """Copies the words `order[first:last]` one after another; writes the end of each to `ends`."""
    at = ends[first - 1] if first > 0 else 0
    for k in range(first, last):
        number = order[k]
        for i in range(offsets[number], offsets[number + 1]):
            into[at] = arena[i]
            at += 1
        ends[k] = at


@njit(nogil=True, cache=True)
def partition(arena: Bytes, offsets: Int64, partitions: int, into: Int32) -> None:
    """Writes a number below `partitions` for each word, the same for the same word."""
    for number in range(into.size):
        mixed = np.uint64(0)
        for at in range(offsets[number], offsets[number + 1]):
            mixed = (mixed ^ np.uint64(arena[at])) * _MULTIPLIER
            mixed ^= mixed >> np.uint64(32)
        into[number] = np.int32(mixed % np.uint64(partitions))
