"""Recovers the merges of a ranked vocabulary by encoding the bytes of each token.

A token that merging does not make of its own bytes is never made: within any text, the bytes of the token are merged as
if they were alone, up to the merge that makes it.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.model.alphabet import BYTES

_BUDGET = 200_000


def recover_merges_work(tokens: Sequence[bytes]) -> Work[NDArray[np.int32]]:
    """The two tokens that each token joins: int32 [n, 2], -1 for single bytes and for tokens that no merge makes.

    The tokens are distinct, include the bytes that text can have, and are numbered in the order of their ranks.
    """
    n = len(tokens)
    offsets = np.fromiter(accumulate(map(len, tokens), initial=0), np.int64, n + 1)
    # Bytes without a token are numbered after all tokens.
    number_of = np.arange(n, n + BYTES, dtype=np.int32)
    for number in np.flatnonzero(np.diff(offsets) == 1).tolist():
        number_of[tokens[number][0]] = number
    yield Progress("reading", 0, n)
    parts = yield from recover_work(number_of[np.frombuffer(b"".join(tokens), np.uint8)], offsets)
    parts[np.any(parts >= n, axis=1)] = -1
    return parts


def recover_work(units: NDArray[np.int32], offsets: NDArray[np.int64]) -> Work[NDArray[np.int32]]:
    """Like `recover_merges_work`, for tokens of any base.

    Args:
        units: The tokens one after another, each as the numbers of its base tokens.
        offsets: [n + 1], the start of each, and the end of the last.
    """
    from tokstudio.core.kernels.encode import STATE_SIZE
    from tokstudio.core.kernels.recover_merges import recover

    n = len(offsets) - 1
    longest = int(np.diff(offsets).max(initial=1))
    pairs = np.full(2 << max(4, (2 * n).bit_length()), -1, np.int64)
    parts = np.full((n, 2), -1, np.int32)
    symbols, following, previous = (np.empty(longest, np.int32) for _ in range(3))
    pending, heap = np.empty(longest, np.int64), np.empty(2 * longest, np.int64)
    scratch = (symbols, following, previous, pending, heap, np.zeros(STATE_SIZE, np.int64))
    token = 0
    while token < n:
        token = recover(units, offsets, token, pairs, parts, *scratch, _BUDGET)
        yield Progress("reading", token, n)
    return parts
