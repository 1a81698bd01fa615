"""Encodes the bytes of tokens or words by themselves, to see whether they become one token each."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.progress import Work
from tokstudio.core.model.alphabet import BYTES, LARGEST_ID
from tokstudio.core.pretokenization.special_tokens import Pieces
from tokstudio.core.pretokenization.word_table import PADDING
from tokstudio.core.tokenizer.documents import MARK as MARK
from tokstudio.core.tokenizer.documents import without_marks
from tokstudio.core.tokenizer.encoder import Encoder
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray


def pieces_work(tokenizer: Tokenizer, tokens: Sequence[bytes]) -> Work[NDArray[np.int32]]:
    """int32 [tokens], how many tokens merging makes of the bytes of each; whole words are merged like others."""
    return (yield from merged_work(tokenizer, tokens))[0]


def merged_work(tokenizer: Tokenizer, tokens: Sequence[bytes]) -> Work[tuple[NDArray[np.int32], NDArray[np.int64]]]:
    """Merges the bytes of each token by themselves; whole words are merged like others.

    Returns:
        int32 [tokens], how many tokens each becomes, and int64 [tokens], the id of the last of these.
    """
    alphabet = tokenizer.alphabet
    if alphabet.base == "bytes" and len(alphabet) < BYTES:
        # A token that no merge makes may have a byte that has no token of its own.
        alphabet = replace(alphabet, unknown=len(tokenizer.tokens))
    ids, sizes = yield from each_work(tokenizer.encoder("none", whole_words=False, alphabet=alphabet), tokens)
    last = np.append(ids, LARGEST_ID).astype(np.int64)[np.cumsum(sizes) - 1]
    return sizes.astype(np.int32), last


def each_work(encoder: Encoder, texts: Sequence[bytes]) -> Work[tuple[NDArray[np.uint32], NDArray[np.int64]]]:
    """Encodes each text by itself.

    Returns:
        uint32 [tokens], the ids of all texts, one after another, and int64 [texts], how many each has; with characters
        as base tokens, the bytes must be valid UTF-8.
    """
    data = np.frombuffer(b"".join(texts) + bytes(PADDING), np.uint8)
    ids = yield from marked_work(encoder, data, np.fromiter(accumulate(map(len, texts)), np.int64, len(texts)))
    return without_marks([ids])


def marked_work(encoder: Encoder, data: NDArray[np.uint8], ends: NDArray[np.int64]) -> Work[NDArray[np.uint32]]:
    """Encodes each of several texts by itself.

    Args:
        encoder: It must not split.
        data: uint8, the texts one after another, with `word_table.PADDING` arbitrary bytes after the last.
        ends: int64 [texts], the end of each.

    Returns:
        uint32, the ids of all texts, with `MARK` after those of each.
    """
    n = len(ends)
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])[:n]
    marked = Pieces(starts, ends, np.zeros(n, np.int32))
    parts = (yield from encoder.encode_work(data, marked, np.array([MARK, -1], np.int32))) if n else []
    return np.concatenate([np.empty(0, np.uint32), *parts])
