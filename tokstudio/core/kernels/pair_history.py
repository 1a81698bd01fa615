"""How the counts of pairs change from merge to merge: a log of the pairs in each word, and sums over the words."""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.encode import replace_top, sift_in, slot_of
from tokstudio.core.kernels.tables import HASH_LEFT, Int32, Int64

Float64 = NDArray[np.float64]

_NONE = -1
_LOW = 0xFFFFFFFF
STEP_BITS = 20  # of a key: the merges before a change; above them, the pair
MOST_IDS = 1 << 21  # so that a key is not negative
CHANGES = 6  # of a word at most, for each of its symbols


@njit(nogil=True, cache=True)
def rank_pairs(merges: Int32, table: Int64) -> None:
    """Fills a table of pairs and their rows, int64 [2 slots] of -1; the slots are a power of two above the merges."""
    mask = (table.size >> 1) - 1
    for row in range(len(merges)):
        pair = (np.int64(merges[row, 0]) << 32) | merges[row, 1]
        slot = slot_of(pair, mask)
        while table[2 * slot] != _NONE:
            slot = (slot + 1) & mask
        table[2 * slot], table[2 * slot + 1] = pair, row


@njit(nogil=True, cache=True)
def _row_of(table: Int64, left: int, right: int) -> int:
    pair = (np.int64(left) << 32) | right
    mask = (table.size >> 1) - 1
    slot = slot_of(pair, mask)
    while table[2 * slot] != pair:
        if table[2 * slot] == _NONE:
            return _NONE
        slot = (slot + 1) & mask
    return table[2 * slot + 1]


@njit(nogil=True, cache=True)
def log_pairs(
    table: Int64,
    merges: Int32,
    results: Int32,
    ids: int,
    symbols: Int32,
    starts: Int64,
    first: int,
    last: int,
    keys: Int64,
    words: Int32,
    changes: NDArray[np.int8],
) -> int:
    """Merges the words from `first` up to `last`, and logs each change of how often they have a pair.

    A row is applied once, to all places from the left, as in training: a pair that a later row brings back stays.

    Args:
        table: See `rank_pairs`.
        merges: int32 [rows, 2].
        results: int32 [rows].
        ids: All symbols are below, and it is at most `MOST_IDS`.
        symbols: int32, those of all words; changed.
        starts: int64 [words + 1], where each word begins.
        first: The first word.
        last: The word after the last.
        keys: int64 [`CHANGES` x symbols], afterwards (left x ids + right) << `STEP_BITS` | rows before the change.
        words: int32, likewise the word.
        changes: int8, likewise 1 or -1.

    Returns:
        How many changes there are. Those that the last row makes are left out.
    """
    used = 0
    heap = np.empty(64, np.int64)
    for word in range(first, last):
        begin = starts[word]
        n = starts[word + 1] - begin
        tokens = symbols[begin : begin + n]
        following, previous = np.empty(n, np.int32), np.empty(n, np.int32)
        size = 0
        if len(heap) < 3 * n + 3:
            heap = np.empty(3 * n + 3, np.int64)
        for i in range(n):
            following[i], previous[i] = i + 1, i - 1
            if i + 1 < n:
                keys[used] = (np.int64(tokens[i]) * ids + tokens[i + 1]) << STEP_BITS
                words[used], changes[used] = word, 1
                used += 1
                row = _row_of(table, tokens[i], tokens[i + 1])
                if row != _NONE:
                    sift_in(heap, size, (np.int64(row) << 32) | i)
                    size += 1
        while size > 0:
            row, place = heap[0] >> 32, heap[0] & _LOW
            size -= 1
            replace_top(heap, size, heap[size])
            gone = np.int64(following[place])
            if tokens[place] != merges[row, 0] or gone >= n or tokens[gone] != merges[row, 1]:
                continue
            after, before = np.int64(following[gone]), np.int64(previous[place])
            logged = row + 1 < len(merges)
            if logged:
                keys[used] = (np.int64(tokens[place]) * ids + tokens[gone]) << STEP_BITS | (row + 1)
                words[used], changes[used] = word, -1
                used += 1
            result = np.int64(results[row])
            for side in range(2):
                beside = before if side == 0 else after
                if beside < 0 or beside >= n:
                    continue
                left, right = (tokens[beside], tokens[place]) if side == 0 else (tokens[gone], tokens[beside])
                new_left, new_right = (np.int64(tokens[beside]), result) if side == 0 else (result, tokens[beside])
                if logged:
                    keys[used] = (np.int64(left) * ids + right) << STEP_BITS | (row + 1)
                    keys[used + 1] = (np.int64(new_left) * ids + new_right) << STEP_BITS | (row + 1)
                    words[used], words[used + 1] = word, word
                    changes[used], changes[used + 1] = -1, 1
                    used += 2
                further = _row_of(table, new_left, new_right)
                if further > row:
                    sift_in(heap, size, (np.int64(further) << 32) | (before if side == 0 else place))
                    size += 1
            tokens[place], tokens[gone] = result, _NONE
            following[place] = after
            if after < n:
                previous[after] = place
    return used


@njit(nogil=True, cache=True)
def number_keys(keys: Int64, numbers: Int32, table: Int32, distinct: Int64, count: int) -> tuple[Int32, Int64, int]:
    """Numbers keys in the order in which they are first met; the tables are returned, longer where they had to be.

    Args:
        keys: int64 [n].
        numbers: int32 [n], afterwards the number of each.
        table: int32, a power of two, -1 in empty slots.
        distinct: int64, at least half as long, the distinct keys.
        count: How many of them there are.
    """
    mask = len(table) - 1
    for i in range(len(keys)):
        key = keys[i]
        slot = ((key * HASH_LEFT) >> 24) & mask
        while table[slot] >= 0 and distinct[table[slot]] != key:
            slot = (slot + 1) & mask
        if table[slot] < 0:
            table[slot] = count
            distinct[count] = key
            count += 1
            numbers[i] = count - 1
            if 2 * count >= len(table):
                table = np.full(2 * len(table), -1, np.int32)
                distinct = np.concatenate((distinct, np.empty(len(distinct), np.int64)))
                mask = len(table) - 1
                for number in range(count):
                    slot = ((distinct[number] * HASH_LEFT) >> 24) & mask
                    while table[slot] >= 0:
                        slot = (slot + 1) & mask
                    table[slot] = number
        else:
            numbers[i] = table[slot]
    return table, distinct, count


@njit(nogil=True, cache=True)
def add_counts(
    numbers: Int32,
    words: Int32,
    changes: NDArray[np.int8],
    word_starts: Int64,
    texts: Int32,
    counts: Int64,
    totals: Float64,
) -> None:
    """Adds a part of the log to the changes of the counts in each text.

    Args:
        numbers: int32 [n], the record that a change belongs to.
        words: int32 [n].
        changes: int8 [n].
        word_starts: int64 [words + 1], where the entries of each word begin in the next two.
        texts: int32 [entries].
        counts: int64 [entries], how often the text has the word.
        totals: float64 [records, texts]; whole numbers.
    """
    for i in range(len(numbers)):
        number, change = np.int64(numbers[i]), changes[i]
        for entry in range(word_starts[words[i]], word_starts[words[i] + 1]):
            totals[number, texts[entry]] += change * counts[entry]


@njit(nogil=True, cache=True)
def sum_changes(pairs: Int32, totals: Float64, first: int, last: int) -> None:
    """Makes counts of changes, from record `first` up to `last`; records of a pair follow one another in time."""
    for number in range(max(first, 1), last):
        if pairs[number] == pairs[number - 1]:
            for text in range(totals.shape[1]):
                totals[number, text] += totals[number - 1, text]


@njit(nogil=True, cache=True)
def find_violations(
    totals: Float64,
    weights: Float64,
    pairs: Int32,
    slacks: Float64,
    begins: Int32,
    ends: Int32,
    bounds: Float64,
    least_at: Int32,
    tolerance: float,
    first: int,
    last: int,
    numbers: Int32,
    steps: Int32,
    amounts: Float64,
) -> int:
    """Finds the records whose count is above the bound at some step, from `first` up to `last`.

    Args:
        totals: float64 [records, texts], the counts.
        weights: float64 [texts], of the counts of each text.
        pairs: int32 [records].
        slacks: float64 [pairs], what a count may be above the bound.
        begins: int32 [records], the first step of each.
        ends: int32 [records], the step after the last.
        bounds: float64 [steps], infinite where there is none.
        least_at: int32 [levels, steps], where the least of 2^level bounds from a step on is.
        tolerance: What is above by less is no violation.
        first: The first record.
        last: The record after the last.
        numbers: int32 [last - first], afterwards the records.
        steps: int32, likewise the step where each is farthest above.
        amounts: float64, likewise by how much.

    Returns:
        How many there are.
    """
    found = 0
    for number in range(first, last):
        begin, end = np.int64(begins[number]), np.int64(ends[number])
        value = -slacks[pairs[number]]
        for text in range(len(weights)):
            value += totals[number, text] * weights[text]
        level = 0
        while (2 << level) <= end - begin:
            level += 1
        one, other = np.int64(least_at[level, begin]), np.int64(least_at[level, end - (1 << level)])
        step = one if bounds[one] <= bounds[other] else other
        if value - bounds[step] > tolerance:
            numbers[found], steps[found], amounts[found] = number, step, value - bounds[step]
            found += 1
    return found
