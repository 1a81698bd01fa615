"""The offsets of tokens in a text, for a tokenizer whose tokens are parts of the text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.model.tokens import Tokens

_TOKENS = 1 << 15


def ends_work(
    tokens: Tokens, unknown: int | None, data: bytes, ids: NDArray[np.uint32], recognised: bool
) -> Work[NDArray[np.int64]]:
    """int64 [tokens], the end in `data` of each of `ids`, uint32; `recognised` if special tokens were recognised."""
    if not len(ids):
        return np.zeros(0, np.int64)
    distinct = np.flatnonzero(np.bincount(ids)).tolist()
    lengths = np.zeros(distinct[-1] + 1, np.int64)
    lengths[distinct] = [tokens.length(token) for token in distinct]
    ends = np.cumsum(lengths[ids])
    yield Progress("encoding")
    spelling = None if unknown is None else tokens[unknown]
    if spelling is None:
        return ends
    return (yield from _cover_work(data, np.flatnonzero(ids == unknown), ends, spelling, recognised))


def _cover_work(
    data: bytes, unknowns: NDArray[np.int64], ends: NDArray[np.int64], spelling: bytes, recognised: bool
) -> Work[NDArray[np.int64]]:
    """Corrects the ends where the unknown token is: it is as long as the character that it stands for."""
    shorter = np.zeros(len(ends), np.int64)
    shift = 0
    for number, at in enumerate(unknowns.tolist()):
        begin = int(ends[at]) - len(spelling) - shift
        # Where special tokens are recognised, the text may contain the unknown token itself.
        if not recognised or data[begin : begin + len(spelling)] != spelling:
            first = data[begin]  # of a character in UTF-8, whose length it tells
            shorter[at] = len(spelling) - (1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0))
            shift += int(shorter[at])
        if number % _TOKENS == _TOKENS - 1:
            yield Progress("encoding", number, len(unknowns))
    return ends - np.cumsum(shorter)
