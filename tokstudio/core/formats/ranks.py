"""What merging makes of the bytes of each token: the merges of a vocabulary of which only the ranks are known."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.alphabet import BYTES
from tokstudio.core.progress import Progress, Work

if TYPE_CHECKING:
    from tokstudio.core.tokenizer import Tokenizer

_BUDGET = 200_000


def recover_merges_work(tokens: Sequence[bytes]) -> Work[NDArray[np.int32]]:
    """The two tokens that each token joins, all numbered in the order of their ranks.

    Args:
        tokens: Lowest rank first, none twice; the 256 bytes are among them.

    Returns:
        int32 [n, 2]; -1 for single bytes, and for tokens that no merge can reach. Where there is such a token, those
        behind it are not to be trusted.
    """
    from tokstudio.core.kernels.encode import STATE_SIZE
    from tokstudio.core.kernels.recover import recover

    n = len(tokens)
    offsets = np.fromiter(accumulate(map(len, tokens), initial=0), np.int64, n + 1)
    units = np.empty(BYTES, np.int32)
    for number in np.flatnonzero(np.diff(offsets) == 1).tolist():
        units[tokens[number][0]] = number
    yield Progress("reading", 0, n)
    longest = int(np.diff(offsets).max(initial=1))
    pairs = np.full(2 << max(4, (2 * n).bit_length()), -1, np.int64)
    parts = np.full((n, 2), -1, np.int32)
    symbols, following, previous = (np.empty(longest, np.int32) for _ in range(3))
    pending, heap = np.empty(longest, np.int64), np.empty(2 * longest, np.int64)
    scratch = (symbols, following, previous, pending, heap, np.zeros(STATE_SIZE, np.int64))
    data = np.frombuffer(b"".join(tokens), np.uint8)
    token = 0
    while token < n:
        token = recover(data, offsets, units, token, pairs, parts, *scratch, _BUDGET)
        yield Progress("reading", token, n)
    return parts


def unreached_work(tokenizer: Tokenizer) -> Work[bytes | None]:
    """A token that merging does not make of its own bytes, if there is one; the base must be bytes."""
    merges, results = tokenizer.merges, tokenizer.merge_results
    ids: NDArray[np.int32] = np.concatenate([tokenizer.byte_ids, results])
    number_of = np.zeros(int(ids.max()) + 1, np.int32)
    number_of[ids] = np.arange(len(ids))
    tokens: list[bytes] = [tokenizer.tokens[int(token)] or b"" for token in ids.tolist()]
    parts = yield from recover_merges_work(tokens)
    wrong = np.flatnonzero(np.any(parts[BYTES:] != number_of[merges], axis=1))
    return tokens[BYTES + int(wrong[0])] if len(wrong) else None
