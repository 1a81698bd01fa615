"""Lays sequences out as symbols with a separator after each, and counts the base tokens on the way."""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportAssignmentType=false, reportArgumentType=false
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.intrinsics import load_eight, store_eight, weight_at, wide
from tokstudio.core.kernels.tables import Int32, Int64
from tokstudio.core.text.unicode_classes import LETTER

Bytes = NDArray[np.uint8]

# Indexes of the state of a layout (int64).
AT, SEQUENCE, SYMBOL, NEXT_ID, UNKNOWN, STRANGE, STATE_SIZE = range(7)


@njit(nogil=True, cache=True)
def lay_out_bytes(
    data: Bytes,
    starts: Int64,
    stops: Int64,
    counts: Int32,
    heavy: Int64,
    state: Int64,
    first_id: int,
    symbols: Int32,
    weights: Int32,
    base_counts: Int64,
    budget: int,
) -> None:
    """Lays out about `budget` bytes of sequences, continuing from `state`.

    Args:
        data: uint8, the sequences.
        starts: int64 [n], the start of each.
        stops: int64 [n], the end of each.
        counts: int32 [n], how often each occurs: see `weights`; [0] for once each.
        heavy: int64, the counts that do not fit into it.
        state: int64 [STATE_SIZE]: the next byte (if above the start of its sequence), sequence and symbol.
        first_id: The id of byte 0.
        symbols: int32, written.
        weights: int32, written: the count of each symbol's sequence; [0] where all are 1.
        base_counts: int64, added to, by id.
        budget: Bytes.
    """
    at, sequence, to = state[AT], state[SEQUENCE], state[SYMBOL]
    weight = mark = 1
    while sequence < starts.size and budget > 0:
        at = max(at, starts[sequence])
        end = min(stops[sequence], at + budget)
        if counts.size > 0:
            weight, mark = weight_at(counts, heavy, sequence), counts[sequence]
        if weights.size > 0:
            weights[to : to + end - at + 1] = mark
        for i in range(at, end):
            symbol = first_id + data[i]
            symbols[to] = symbol
            base_counts[symbol] += weight
            to += 1
        budget -= end - at + 1
        at = end
        if end < stops[sequence]:
            break
        symbols[to] = -1
        to += 1
        sequence += 1
        at = 0
    state[AT], state[SEQUENCE], state[SYMBOL] = at, sequence, to


@njit(nogil=True, cache=True)
def lay_out_characters(
    data: Bytes,
    starts: Int64,
    stops: Int64,
    counts: Int32,
    heavy: Int64,
    state: Int64,
    ids: Int32,
    growing: bool,
    symbols: Int32,
    weights: Int32,
    base_counts: Int64,
    budget: int,
) -> None:
    """Lays out about `budget` bytes of valid UTF-8 as characters, continuing from `state`.

    A character without an id gets the next one (`state[NEXT_ID]`) while the alphabet is growing. Otherwise it becomes a
    separator, because unknown tokens take part in no merge: `state[UNKNOWN]` counts them, and `state[STRANGE]` keeps
    the offset of the first one + 1.

    `ids` is int32 [0x110000], the id of each code point, -1 for none; written while growing. All other arguments are
    those of `lay_out_bytes`.
    """
    at, sequence, to = state[AT], state[SEQUENCE], state[SYMBOL]
    weight = mark = 1
    while sequence < starts.size and budget > 0:
        at = max(at, starts[sequence])
        stop = stops[sequence]
        end = min(stop, at + budget)
        if counts.size > 0:
            weight, mark = weight_at(counts, heavy, sequence), counts[sequence]
        budget -= end - at + 1
        while at < end:
            place = at
            lead = data[at]
            if lead < 0x80:
                point = np.int64(lead)
                at += 1
            elif lead < 0xE0:
                point = (np.int64(lead & 0x1F) << 6) | (data[at + 1] & 0x3F)
                at += 2
            elif lead < 0xF0:
                point = (np.int64(lead & 0x0F) << 12) | (np.int64(data[at + 1] & 0x3F) << 6) | (data[at + 2] & 0x3F)
                at += 3
            else:
                point = (
                    (np.int64(lead & 0x07) << 18)
                    | (np.int64(data[at + 1] & 0x3F) << 12)
                    | (np.int64(data[at + 2] & 0x3F) << 6)
                    | (data[at + 3] & 0x3F)
                )
                at += 4
            symbol = ids[point]
            if symbol < 0:
                if growing:
                    symbol = state[NEXT_ID]
                    ids[point] = symbol
                    state[NEXT_ID] += 1
                else:
                    if state[UNKNOWN] == 0:
                        state[STRANGE] = place + 1
                    state[UNKNOWN] += weight
            if symbol >= 0:
                base_counts[symbol] += weight
            symbols[to] = symbol
            if weights.size > 0:
                weights[to] = mark
            to += 1
        if at < stop:
            break
        symbols[to] = -1
        if weights.size > 0:
            weights[to] = mark
        to += 1
        sequence += 1
        at = 0
    state[AT], state[SEQUENCE], state[SYMBOL] = at, sequence, to


@njit(nogil=True, cache=True)
def order_merges(merges: Int32, row_of: Int32, rows: Int32, complete: Int32) -> int:
    """Finds an order in which each merge comes after those that make its parts.

    Args:
        merges: int32 [n, 2], ids of left and right in rank order.
        row_of: int32 [ids], the merge that makes each token; -1 for none.
        rows: int32 [n], written: the merges in the order.
        complete: int32 [n], zeros at first; written: how many of the first merges lead to the result of each.

    Returns:
        How many merges are in the order: fewer than all where a token is a part of itself.
    """
    stack = np.empty(len(merges), np.int32)
    written = 0
    for first in range(len(merges)):
        if complete[first] != 0:
            continue
        stack[0], size = first, 1
        while size > 0:
            row = stack[size - 1]
            complete[row], most, waits = -1, np.int64(row) + 1, False
            for side in range(2):
                part = row_of[merges[row, side]]
                if part < 0:
                    continue
                # Only the merges on the stack wait for others.
                if complete[part] < 0:
                    return written
                if complete[part] == 0:
                    stack[size], waits = part, True
                    size += 1
                    break
                most = max(most, np.int64(complete[part]))
            if not waits:
                complete[row] = most
                rows[written] = row
                written += 1
                size -= 1
    return written


@njit(nogil=True, cache=True)
def measure_tokens(merges: Int32, results: Int32, lengths: Int64) -> None:
    """Writes the length in bytes of every merge's result; the parts of a merge precede it."""
    for k in range(len(merges)):
        lengths[results[k]] = lengths[merges[k, 0]] + lengths[merges[k, 1]]


@njit(nogil=True, cache=True)
def all_in_use(ids: NDArray[np.uint32], in_use: NDArray[np.bool_]) -> bool:
    """Whether all of some ids, each below the size of `in_use`, are in use."""
    unused = False
    for i in range(ids.size):
        unused |= not in_use[ids[i]]
    return not unused


@njit(nogil=True, cache=True)
def spelled_size(ids: NDArray[np.uint32], rows: Int64) -> int:
    """The bytes of tokens together; -1 where some are not in `rows`, see `spell`."""
    size = missing = 0
    for i in range(ids.size):
        length = rows[ids[i], 1]
        size += length
        missing |= length  # below 0 if one of them is
    return size if missing >= 0 else -1


@njit(nogil=True, cache=True)
def spell(ids: NDArray[np.uint32], rows: Int64, spelled: Bytes, out: Bytes, at: int) -> int:
    """Writes the bytes of tokens one after another.

    Args:
        ids: uint32, the tokens.
        rows: int64 [ids, 2], where the bytes of each token begin in `spelled`, and how many they are.
        spelled: uint8, with eight bytes after the last token.
        out: uint8, written from `at` on, with eight bytes after the last token.
        at: The first byte to write.

    Returns:
        The end of what was written.
    """
    for i in range(ids.size):
        token = ids[i]
        start, length = rows[token, 0], rows[token, 1]
        for k in range(0, length, 8):  # what is too much is written again by the next token
            store_eight(out, at + k, load_eight(spelled, start + k))
        at += length
    return at


@njit(nogil=True, cache=True)
def mark_letters(
    merges: Int32, results: Int32, edges: Bytes, sizes: Int64, holds_letter: NDArray[np.bool_], classes: Bytes
) -> None:
    """Writes whether the result of each merge holds a letter; the parts of a merge precede it.

    Args:
        merges: int32 [n, 2].
        results: int32 [n].
        edges: uint8 [ids, 6], the first three bytes of each token and, up to the end of its row, the last three.
        sizes: int64 [ids], how many of three there are.
        holds_letter: bool [ids].
        classes: uint8 [0x110000], `unicode_classes.classes()`.
    """
    border = np.empty(6, np.uint8)
    for k in range(len(merges)):
        left, right, result = merges[k, 0], merges[k, 1], results[k]
        before, after = sizes[left], sizes[right]
        for i in range(before):
            border[i] = edges[left, 6 - before + i]
        for i in range(after):
            border[before + i] = edges[right, i]
        has_letter = holds_letter[left] or holds_letter[right]
        # Characters that begin in the left part and end in the right one.
        for i in range(before):
            kind = wide(border.ctypes.data, i, before + after, classes.ctypes.data)
            has_letter = has_letter or (kind & LETTER != 0 and i + (kind >> 8) > before)
        holds_letter[result], sizes[result] = has_letter, min(3, before + after)
        for i in range(3):
            edges[result, i] = edges[left, i] if i < before else edges[right, i - before]
            edges[result, 5 - i] = edges[right, 5 - i] if i < after else edges[left, 5 - i + after]
