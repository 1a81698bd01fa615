"""Counting runs of n items (pre-tokens or tokens) that follow each other in a document, in a hash table.

A row of the table is one cache line of eight numbers: the hash of a run, 0 where the row is free; the place where it
occurs first; how often it occurs on each of two sides; in how many documents and pieces of each, the second in the
upper half; and the last document and the last pieces, from 1. Equal hashes do not make runs equal: their items are
compared. Runs are divided by the highest bits of the hash, so that the table of each part fits into memory.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportReturnType=false
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.intrinsics import prefetch
from tokstudio.core.kernels.tables import Int32, Int64

KEY, FIRST, COUNT_A, COUNT_B, DOCUMENTS, PIECES, LAST_DOCUMENT, LAST_PIECE = range(8)
COLUMNS = 8

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_ONE, _32, _29 = np.uint64(1), np.uint64(32), np.uint64(29)
_BATCH = 1 << 8
_HALF, _LOW = 32, (1 << 32) - 1


@njit(nogil=True, cache=True, inline="always")
def _mixed(rolled: np.uint64) -> np.uint64:
    """The hash of a run from the polynomial of its items; never 0."""
    mixed = (rolled ^ (rolled >> _32)) * _MIX
    mixed = (mixed ^ (mixed >> _29)) * _FACTOR
    return (mixed ^ (mixed >> _32)) | _ONE


@njit(nogil=True, cache=True, inline="always")
def _row_of(table: Int64, hashed: np.uint64, items: Int32, at: int, n: int) -> int:
    """The row of the run at `at`, or the free row for it."""
    mask, key = np.uint64(table.shape[0] - 1), np.int64(hashed)
    row = (hashed >> _ONE) & mask
    while table[row, KEY] != 0:
        if table[row, KEY] == key:
            first, same = table[row, FIRST], 0
            while same < n and items[first + same] == items[at + same]:
                same += 1
            if same == n:
                break
        row = (row + _ONE) & mask
    return np.int64(row)


@njit(nogil=True, cache=True)
def take_runs(
    items: Int32,
    first: int,
    last: int,
    n: int,
    ends: Int64,
    sides: NDArray[np.int8],
    pieces: Int64,
    part: int,
    bits: int,
    table: Int64,
    used: int,
    least: int,
    marks: NDArray[np.uint8],
) -> int:
    """Counts the runs that begin from `first` to before `last`, or marks those that are in many documents.

    Args:
        items: int32, the items of all documents.
        first: The first place.
        last: The place after the last.
        n: The length of the runs.
        ends: int64 [documents], the end of each document.
        sides: int8 [documents], 0 or 1; below 0, its runs do not count.
        pieces: int64 [pieces], the end of each piece.
        part: The highest `bits` bits of the hashes to take.
        bits: How many bits tell parts apart.
        table: int64 [a power of two, COLUMNS], which has a free row.
        used: The rows of the table in use.
        least: The documents of a run to mark.
        marks: uint8 by place, written: 1 where such a run begins. [0] to count instead.

    Returns:
        The rows in use; -1 where the table is more than three quarters full.
    """
    counts, size = marks.size == 0, items.size
    places, hashes = np.empty(_BATCH, np.int64), np.empty(_BATCH, np.uint64)
    rolled, power = np.uint64(0), _ONE
    for _ in range(n - 1):
        power *= _FACTOR
    document = np.searchsorted(ends, first, side="right")
    piece = np.searchsorted(pieces, first, side="right")
    shift, mask = np.uint64(64 - bits), np.uint64(table.shape[0] - 1)
    at, batch_document = first, document
    stop = min(last, size - n + 1)
    if at < stop:
        for k in range(n):
            rolled = rolled * _FACTOR + np.uint64(items[at + k] + 1)
    while at < stop:
        taken = 0
        while at < stop and taken < _BATCH:
            while ends[batch_document] <= at:
                batch_document += 1
            if at + n <= ends[batch_document] and sides[batch_document] >= 0:
                hashed = _mixed(rolled)
                if bits == 0 or np.int64(hashed >> shift) == part:
                    places[taken], hashes[taken] = at, hashed
                    prefetch(table, np.int64((hashed >> _ONE) & mask) * COLUMNS)
                    taken += 1
            if at + n < size:
                rolled = (rolled - np.uint64(items[at] + 1) * power) * _FACTOR + np.uint64(items[at + n] + 1)
            at += 1
        for k in range(taken):
            place = places[k]
            row = _row_of(table, hashes[k], items, place, n)
            if not counts:
                found = table[row, DOCUMENTS]
                marks[place] = (found & _LOW) + (found >> _HALF) >= least
                continue
            while ends[document] <= place:
                document += 1
            while pieces[piece] <= place:
                piece += 1
            side = np.int64(sides[document])
            if table[row, KEY] == 0:
                if 4 * (used + 1) > 3 * table.shape[0]:
                    return -1
                table[row, KEY], table[row, FIRST] = np.int64(hashes[k]), place
                used += 1
            table[row, COUNT_A + side] += 1
            if table[row, LAST_DOCUMENT] != document + 1:
                table[row, LAST_DOCUMENT] = document + 1
                table[row, DOCUMENTS] += 1 << (_HALF * side)
            if (table[row, LAST_PIECE] >> (_HALF * side)) & _LOW != piece + 1:
                other = table[row, LAST_PIECE] & (_LOW << (_HALF * (1 - side)))
                table[row, LAST_PIECE] = other | (piece + 1) << (_HALF * side)
                table[row, PIECES] += 1 << (_HALF * side)
    return used
