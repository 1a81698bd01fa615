"""Many texts encoded in one pass: one after another in one array, with a mark after the ids of each."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.model.alphabet import LARGEST_ID
from tokstudio.core.pretokenization.preparation import PreparedText
from tokstudio.core.pretokenization.word_table import PADDING
from tokstudio.core.text.unicode_classes import classes
from tokstudio.core.tokenizer.encoder import Encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

MARK = LARGEST_ID  # stands after the ids of each document; it is not an id
_LOOKED_AT = 1 << 22


def joined_texts(texts: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texts one after another, uint8 with `PADDING` bytes after the last; and int64 [texts], the end of each."""
    data = np.frombuffer(b"".join([*texts, bytes(PADDING)]), np.uint8)
    return data, np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))


def marked_work(
    encoder: Encoder, special_tokens: Mapping[str, int], prepared: PreparedText, threads: int | None = None
) -> Work[list[NDArray[np.uint32]]]:
    """The ids of documents in parts, with `MARK` after those of each; raises as `Encoder.encode_work`."""
    # The encoder cuts long documents itself, with -1 where nothing stands between the parts.
    pieces, number = prepared.pieces, len(prepared.specials)
    specials = np.where(pieces.specials < 0, np.int32(number), pieces.specials)
    ids = [*(special_tokens[text.decode()] for text in prepared.specials), MARK, -1]
    pieces = replace(pieces, specials=specials)
    return (yield from encoder.encode_work(prepared.data, pieces, np.array(ids, np.int32), threads))


def without_marks(marked: Sequence[NDArray[np.uint32]]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Ids in parts without their marks, uint32 [tokens]; and int64 [documents], how many ids each document has."""
    ids = np.concatenate([np.empty(0, np.uint32), *marked])
    is_mark = ids == MARK
    return ids[~is_mark], np.diff(np.flatnonzero(is_mark), prepend=-1).astype(np.int64) - 1


def as_text_work(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> Work[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
    """Documents, uint8 with int64 ends, with U+FFFD for invalid UTF-8."""
    from tokstudio.core.kernels.documents import valid_until

    at = document = 0
    is_valid, data, borders = True, read_only(data), read_only(ends)
    while is_valid and document < len(ends):
        at, document, is_valid = valid_until(data, at, document, borders, classes(), _LOOKED_AT)
        yield Progress("encoding", 0, len(data))
    if is_valid:
        return data, ends
    texts = [part.tobytes().decode("utf-8", "replace").encode() for part in np.split(data, ends[:-1])]
    return np.frombuffer(b"".join(texts), np.uint8), np.cumsum([len(text) for text in texts], dtype=np.int64)
