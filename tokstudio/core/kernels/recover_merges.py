"""Recovers the merges of a ranked vocabulary: each token is encoded with the merges of the tokens before it.

Where that gives two tokens, its merge joins these. Text inside a longer sequence is merged as if it were alone, so no
other pair with the same spelling is ever joined. A token that gives more than two can be made at most through a token
with a higher rank, which an ordered list of merges cannot express; see `formats.common.recover_merges`.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false
from __future__ import annotations

import numpy as np

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.encode import STATE_SIZE, encode_sequence, slot_of
from tokstudio.core.kernels.tables import Int32, Int64

_NONE = -1


@njit(nogil=True, cache=True)
def recover(
    units: Int32,
    offsets: Int64,
    token: int,
    pairs: Int64,
    parts: Int32,
    symbols: Int32,
    following: Int32,
    previous: Int32,
    pending: Int64,
    heap: Int64,
    state: Int64,
    budget: int,
) -> int:
    """Continues from `token` for about `budget` steps.

    Args:
        units: int32, the tokens one after another in base tokens, lowest rank first; they are numbered in this order.
        offsets: int64 [n + 1], the start of each, and the end of the last.
        token: The token to continue with; 0 at first.
        pairs: int64 [2 s], the hash table that `kernels.encode` describes, at most half full at the end.
        parts: int32 [n, 2], written: the tokens that each one's merge joins, -1 for none.
        symbols: int32, scratch for `encode_sequence`, as long as the longest token; so are the next three.
        following: int32.
        previous: int32.
        pending: int64.
        heap: int64, scratch, twice as long.
        state: int64 [STATE_SIZE], zeros at first.
        budget: Steps.

    Returns:
        The token to continue with; n at the end.
    """
    mask = (pairs.size >> 1) - 1
    while token < offsets.size - 1 and budget > 0:
        start = offsets[token]
        size = offsets[token + 1] - start
        budget -= 2 * size
        if size > 1:
            if state[0] == 0:
                for i in range(size):
                    symbols[i] = units[start + i]
            if not encode_sequence(
                pairs, token, symbols[:size], following, previous, pending, heap, state, max(budget, size)
            ):
                return token
            for i in range(STATE_SIZE):
                state[i] = 0
            second = following[0]
            if second < size and following[second] == size:
                left, right = symbols[0], symbols[second]
                parts[token, 0], parts[token, 1] = left, right
                pair = (np.int64(left) << 32) | right
                slot = slot_of(pair, mask)
                while pairs[2 * slot] != _NONE:
                    slot = (slot + 1) & mask
                pairs[2 * slot] = pair
                pairs[2 * slot + 1] = (np.int64(token) << 32) | token
        token += 1
    return token


@njit(nogil=True, cache=True)
def choose(
    units: Int32,
    offsets: Int64,
    candidates: Int32,
    begins: Int64,
    ends: Int64,
    merges: Int32,
    token: int,
    pairs: Int64,
    chosen: Int32,
    symbols: Int32,
    following: Int32,
    previous: Int32,
    pending: Int64,
    heap: Int64,
    state: Int64,
    budget: int,
) -> int:
    """Finds which of several merges makes each token of its own text, continuing from `token` for `budget` steps.

    Merging the text of a token leaves two tokens before the last merge, which is the one.

    Args:
        units: int32, the tokens to decide about one after another, in the ids of their base tokens.
        offsets: int64 [n + 1], the start of each, and the end of the last.
        candidates: int32, the rows of `merges` that make each token together.
        begins: int64 [n], the start of those of each token.
        ends: int64 [n], their end.
        merges: int32 [rows, 2], ids of left and right in rank order.
        token: The token to continue with; 0 at first.
        pairs: The hash table of all these merges; see `kernels.encode`. It is the same in the end.
        chosen: int32 [n], written: the row that makes each token; -1 for none.
        symbols: int32, scratch for `encode_sequence`, as long as the longest token; so are the next three.
        following: int32.
        previous: int32.
        pending: int64.
        heap: int64, scratch, twice as long.
        state: int64 [STATE_SIZE], zeros at first.
        budget: Steps.

    Returns:
        The token to continue with; n at the end.
    """
    mask = (pairs.size >> 1) - 1
    while token < offsets.size - 1 and budget > 0:
        start, first, last = offsets[token], begins[token], ends[token]
        size = offsets[token + 1] - start
        budget -= 2 * size
        if state[0] == 0:
            for i in range(size):
                symbols[i] = units[start + i]
        # Without these, merging ends with the two tokens.
        slots, values = np.empty(last - first, np.int64), np.empty(last - first, np.int64)
        for k in range(last - first):
            row = candidates[first + k]
            pair = (np.int64(merges[row, 0]) << 32) | merges[row, 1]
            slots[k] = slot_of(pair, mask)
            while pairs[2 * slots[k]] != pair:
                slots[k] = (slots[k] + 1) & mask
            values[k] = pairs[2 * slots[k] + 1]
            pairs[2 * slots[k] + 1] = _NONE
        done = encode_sequence(
            pairs, len(merges), symbols[:size], following, previous, pending, heap, state, max(budget, size)
        )
        for k in range(last - first):
            pairs[2 * slots[k] + 1] = values[k]
        if not done:
            return token
        for i in range(STATE_SIZE):
            state[i] = 0
        second = np.int64(following[0]) if size > 1 else size
        chosen[token] = _NONE
        if second < size and following[second] == size:
            for k in range(first, last):
                row = candidates[k]
                if merges[row, 0] == symbols[0] and merges[row, 1] == symbols[second]:
                    chosen[token] = row
        token += 1
    return token
