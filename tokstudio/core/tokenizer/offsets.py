"""Where the tokens of a text end in it, for a tokenizer whose tokens are pieces of the text itself."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.model.tokens import Tokens

_PLACES = 1 << 15


def ends_work(
    tokens: Tokens, unknown: int | None, data: bytes, ids: NDArray[np.uint32], recognised: bool
) -> Work[NDArray[np.int64]]:
    """int64 [tokens], the byte behind each token in the text that it was made of.

    Args:
        tokens: The tokens of the tokenizer.
        unknown: The id of its unknown token, if it has one.
        data: The text.
        ids: uint32 [tokens].
        recognised: Whether special tokens in the text were recognised.
    """
    if not len(ids):
        return np.zeros(0, np.int64)
    distinct = np.flatnonzero(np.bincount(ids)).tolist()
    lengths = np.zeros(distinct[-1] + 1, np.int64)
    lengths[distinct] = [tokens.length(token) for token in distinct]
    ends = np.cumsum(lengths[ids])
    yield Progress("encoding")
    written = None if unknown is None else tokens[unknown]
    if written is None:
        return ends
    return (yield from _cover_work(data, np.flatnonzero(ids == unknown), ends, written, recognised))


def _cover_work(
    data: bytes, places: NDArray[np.int64], ends: NDArray[np.int64], written: bytes, recognised: bool
) -> Work[NDArray[np.int64]]:
    """The same ends where the unknown token, at these places, is as long as the character it stands for."""
    shorter = np.zeros(len(ends), np.int64)
    shift = 0
    for number, place in enumerate(places.tolist()):
        begin = int(ends[place]) - len(written) - shift
        # Where special tokens are recognised, it may stand for itself.
        if not recognised or data[begin : begin + len(written)] != written:
            shorter[place] = len(written) - _length_of_character(data[begin])
            shift += int(shorter[place])
        if number % _PLACES == _PLACES - 1:
            yield Progress("encoding", number, len(places))
    return ends - np.cumsum(shorter)


def _length_of_character(first: int) -> int:
    """Bytes of a character in UTF-8, by its first one."""
    return 1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0)
