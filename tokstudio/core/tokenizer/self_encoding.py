"""Encodes the bytes of tokens or words by themselves, to see whether they become one token each."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Work
from tokstudio.core.model.alphabet import LARGEST_ID
from tokstudio.core.pretokenization.special_tokens import Pieces
from tokstudio.core.pretokenization.word_table import PADDING
from tokstudio.core.tokenizer.encoder import Encoder
from tokstudio.core.tokenizer.tokenizer import Tokenizer


def pieces_work(tokenizer: Tokenizer, tokens: Sequence[bytes]) -> Work[NDArray[np.int32]]:
    """int32 [tokens], how many tokens merging makes of the bytes of each; whole words are merged like others."""
    return (yield from merged_work(tokenizer, tokens))[0]


def merged_work(tokenizer: Tokenizer, tokens: Sequence[bytes]) -> Work[tuple[NDArray[np.int32], NDArray[np.int64]]]:
    """Merges the bytes of each token by themselves; whole words are merged like others.

    Returns:
        int32 [tokens], how many tokens each becomes, and int64 [tokens], the id of the last of these.
    """
    ids, sizes = yield from each_work(tokenizer.encoder("none", whole_words=False), tokens)
    last = np.append(ids, LARGEST_ID).astype(np.int64)[np.cumsum(sizes) - 1]
    return sizes.astype(np.int32), last


def each_work(encoder: Encoder, texts: Sequence[bytes]) -> Work[tuple[NDArray[np.uint32], NDArray[np.int64]]]:
    """Encodes each text by itself.

    Returns:
        uint32 [tokens], the ids of all texts, one after another, and int64 [texts], how many each has; with characters
        as base tokens, the bytes must be valid UTF-8.
    """
    n = len(texts)
    data = np.frombuffer(b"".join(texts) + bytes(PADDING), np.uint8)
    ends = np.fromiter(accumulate(map(len, texts)), np.int64, n)
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])[:n]
    # The mark after each is not the id of any of its pieces.
    marked = Pieces(starts, ends, np.zeros(n, np.int32))
    mark = LARGEST_ID
    parts = (yield from encoder.encode_work(data, marked, np.array([mark, -1], np.int32))) if n else []
    ids = np.concatenate([np.empty(0, np.uint32), *parts])
    is_mark = ids == mark
    return ids[~is_mark], np.diff(np.flatnonzero(is_mark), prepend=-1).astype(np.int64) - 1
