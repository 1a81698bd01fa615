"""Joins words of an encoded text by supermerges, in bounded calls: see `model.word_runs`.

A token that is a whole pre-token and holds a letter is marked with the bit `ALONE`. Adjacent marked tokens are a run.
"""

# SPDX-License-Identifier: MIT
# numpy's stubs cannot tell an element from an array where the index came out of an array itself.
# pyright: reportArgumentType=false, reportReturnType=false, reportAssignmentType=false
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.kernels.compiled import njit
from tokstudio.core.kernels.encode import STATE_SIZE, encode_sequence
from tokstudio.core.kernels.tables import Int64

UInt32 = NDArray[np.uint32]

# The bit of a token in a run; and what stands between two texts, which is no token.
ALONE, BREAK = 1 << 31, (1 << 31) - 1
# The most tokens of a run that is joined here.
LONG = 1 << 12

_ALL = np.int64(1 << 62)


@njit(nogil=True, cache=True)
def join_runs(ids: UInt32, at: int, to: int, pairs: Int64, limit: int, budget: int) -> tuple[int, int, int]:
    """Joins the runs from `at` on with the supermerges below rank `limit`; about `budget` tokens per call.

    Args:
        ids: uint32, tokens with their marks; overwritten from `to` on, which is never above `at`, without marks.
        at: The first token to look at.
        to: Where to write.
        pairs: The hash table of supermerges; see `kernels.encode`.
        limit: The number of merges to apply.
        budget: Tokens.

    Returns:
        `at` and `to` for the next call; and the end of the run at `at` where it is longer than `LONG`, else 0.
    """
    symbols, following, previous = np.empty(LONG, np.int32), np.empty(LONG, np.int32), np.empty(LONG, np.int32)
    pending, heap, state = np.empty(LONG, np.int64), np.empty(2 * LONG, np.int64), np.empty(STATE_SIZE, np.int64)
    until = min(ids.size, at + budget)
    while at < until:
        if ids[at] < ALONE:
            if ids[at] != BREAK:
                ids[to] = ids[at]
                to += 1
            at += 1
            continue
        end = at + 1
        while end < ids.size and ids[end] >= ALONE:
            end += 1
        n = end - at
        if n > LONG:
            return at, to, end
        for k in range(n):
            symbols[k] = ids[at + k] & BREAK
        if n > 1:
            state[:] = 0
            encode_sequence(
                pairs, limit, symbols[:n], following[:n], previous[:n], pending[:n], heap[: 2 * n], state, _ALL
            )
        else:
            following[0] = 1
        place = 0
        while place < n:
            ids[to] = symbols[place]
            to += 1
            place = following[place]
        at = end
    return at, to, 0
