"""What merging makes of the bytes of each token, by themselves."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Work
from tokstudio.core.model.alphabet import LARGEST_ID
from tokstudio.core.pretokenization.special_tokens import Pieces
from tokstudio.core.pretokenization.word_table import PADDING

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer


def pieces_work(tokenizer: Tokenizer, tokens: Sequence[bytes]) -> Work[NDArray[np.int32]]:
    """int32 [tokens], how many tokens merging makes of the bytes of each; whole words are merged as others are."""
    return (yield from merged_work(tokenizer, tokens))[0]


def merged_work(tokenizer: Tokenizer, tokens: Sequence[bytes]) -> Work[tuple[NDArray[np.int32], NDArray[np.int64]]]:
    """What merging makes of the bytes of some tokens, whole words merged as others are.

    Returns:
        int32 [tokens], how many tokens it makes of each, and int64 [tokens], the id of the last of those; of characters
        tokens must be valid UTF-8.
    """
    encoder = tokenizer.encoder("none", whole_words=False)
    n = len(tokens)
    data = np.frombuffer(b"".join(tokens) + bytes(PADDING), np.uint8)
    ends = np.fromiter(accumulate(map(len, tokens)), np.int64, n)
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])[:n]
    # A mark behind each, which is the id of none of its pieces.
    behind = Pieces(starts, ends, np.zeros(n, np.int32))
    mark = LARGEST_ID
    parts = (yield from encoder.encode_work(data, behind, np.array([mark, -1], np.int32))) if n else []
    ids = np.concatenate([np.empty(0, np.uint32), *parts]).astype(np.int64)
    places = np.flatnonzero(ids == mark)
    return np.diff(places, prepend=-1).astype(np.int32) - 1, ids[places - 1]
