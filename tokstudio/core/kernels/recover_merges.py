"""Finds the merges of a vocabulary that is only ranked: each token is encoded with the merges of the tokens before it.

Where that ends in two tokens, those are what its merge joins: what stands where the token does is merged as if it were
alone, so that no other pair that spells it is ever joined. A token that ends in more can be reached at most by way of
one with a higher rank, which no list of merges in order can say; see `formats.ranks`.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false
from __future__ import annotations

import numpy as np

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.encode import (
    STATE_SIZE,
    encode_sequence,
    slot_of,  # pyright: ignore[reportPrivateUsage] - the table of pairs is the same
)
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
    """Goes on from `token` for about `budget` steps.

    Args:
        units: int32, the tokens one after another in base tokens, lowest rank first; they are numbered in this order.
        offsets: int64 [n + 1], where each begins, and the end of the last.
        token: The token to go on with, and 0 at first.
        pairs: int64 [2 s], the table of pairs that `kernels.encode` describes, at most half full at the end.
        parts: int32 [n, 2], written: the tokens that each one's merge joins, -1 for none.
        symbols: int32, scratch, like all that follow as long as the longest token; see `encode_sequence`.
        following: int32, scratch.
        previous: int32, scratch.
        pending: int64, scratch.
        heap: int64, twice as long, scratch.
        state: int64 [STATE_SIZE], zeros at first.
        budget: Steps.

    Returns:
        The token to go on with; n at the end.
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
                while pairs[slot] != _NONE:
                    slot = (slot + 1) & mask
                pairs[slot] = pair
                pairs[mask + 1 + slot] = (np.int64(token) << 32) | token
        token += 1
    return token
