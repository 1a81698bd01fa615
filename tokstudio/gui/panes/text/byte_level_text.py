"""Writes a tokenized text in the byte-level alphabet of GPT-2's files, one character per byte; work for a job."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.text.byte_level import CHARACTER_OF

#: A text, and the end of each token in its bytes.
Written = tuple[bytes, NDArray[np.int64]]

_TOKENS = 1 << 15

# The UTF-8 of the characters, by byte: one or two bytes each.
_SPELLED = [CHARACTER_OF[byte].encode() for byte in range(256)]
_FIRST = np.array([spelled[0] for spelled in _SPELLED], np.uint8)
_LAST = np.array([spelled[-1] for spelled in _SPELLED], np.uint8)
_SIZE = np.array([len(spelled) for spelled in _SPELLED], np.int64)


def byte_level_work(data: bytes, ends: NDArray[np.int64], special: NDArray[np.bool_]) -> Work[Written]:
    """Writes text, or any bytes, in the byte-level alphabet; special tokens are unchanged.

    `ends` is int64 [tokens], the byte after each token; `special` is bool [tokens].
    """
    raw = np.frombuffer(data, np.uint8)
    texts: list[bytes] = []
    new_ends = np.zeros(len(ends), np.int64)
    begin, written = 0, 0
    for first in range(0, len(ends), _TOKENS):
        some = slice(first, first + _TOKENS)
        stop = int(ends[some][-1])
        piece = raw[begin:stop]
        plain = np.repeat(special[some], np.diff(ends[some], prepend=begin))
        size = np.where(plain, 1, _SIZE[piece])
        after = np.cumsum(size)
        text = np.empty(int(after[-1]) if len(after) else 0, np.uint8)
        text[after - 1] = np.where(plain, piece, _LAST[piece])
        two = size == 2
        text[after[two] - 2] = _FIRST[piece[two]]
        new_ends[some] = np.concatenate([[0], after])[ends[some] - begin] + written
        texts.append(text.tobytes())
        begin, written = stop, written + len(texts[-1])
        yield Progress("encoding", first, len(ends))
    return b"".join(texts), new_ends
