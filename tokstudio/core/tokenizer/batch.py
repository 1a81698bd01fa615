"""Batches of encoded texts, with padding to one length."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import index

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.model.tokens import Tokens
from tokstudio.core.text.utf8 import Text

# --- The offsets of tokens in a text, for a tokenizer whose tokens are parts of the text ------------------------------

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


# Common spellings in files: <pad>, <PAD>, [PAD], <|padding|>, <|pad|>.
_PADDING_TOKEN = re.compile(r"(?:<\|pad(?:ding)?\|>|<pad(?:ding)?>|\[pad\])", re.IGNORECASE)
_END_OF_TEXT = "<|endoftext|>"


@dataclass(frozen=True)
class Batch:
    """Several encoded texts, as lists that `numpy.array` and tensor libraries accept once padded."""

    ids: list[list[int]]  # the ids of each text; with padding, all rows are as long as the longest
    attention_mask: list[list[int]]  # for each id, 1 for text and 0 for padding


def encode_texts(
    encode: Callable[[Text], list[int]], texts: Iterable[Text], padding: bool | int = False, pad_id: int | None = 0
) -> Batch:
    """Encodes each text and optionally pads all of them on the right to the longest.

    `encode` returns a new list. `padding` is True to pad with `pad_id`, False not to pad, or the id to pad with.

    Raises:
        ConfigError: `texts` is one text, `padding` is not an id, there is no id to pad with, or a text cannot be
            encoded.
    """
    _check_several(texts)
    filler = _filler(padding, pad_id)
    ids = [encode(text) for text in texts]
    attention_mask = [[1] * len(row) for row in ids]
    if filler is not None:
        longest = max(map(len, ids), default=0)
        for row, mask in zip(ids, attention_mask, strict=True):
            missing = longest - len(row)
            row += [filler] * missing
            mask += [0] * missing
    return Batch(ids, attention_mask)


def encode_each(encode: Callable[[Text], list[int]], texts: Iterable[Text]) -> Iterator[int]:
    """Yields the ids of one text after another; takes a text only when all ids before it are taken.

    Raises:
        ConfigError: `texts` is one text; later, a text cannot be encoded.
    """
    _check_several(texts)
    return (token for text in texts for token in encode(text))


def padding_id(special_tokens: Mapping[str, int]) -> int | None:
    """The id to pad with: that of a padding token if there is one, else that of `<|endoftext|>`, else None.

    Padding has mask 0 and is not read; models were trained with these.
    """
    named = [number for token, number in special_tokens.items() if _PADDING_TOKEN.fullmatch(token)]
    return min(named, default=special_tokens.get(_END_OF_TEXT))


def check_text(text: Text) -> None:
    """Raises ConfigError for anything that is not one text, such as a list of several."""
    if not isinstance(text, (str, bytes)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(
            f"A text must be str or bytes, not {type(text).__name__}: encode takes one text, encode_batch several."
        )


def _check_several(texts: Iterable[Text]) -> None:
    if isinstance(texts, (str, bytes)):
        raise ConfigError("A batch must be a list of texts, not one text.")


def _filler(padding: bool | int, pad_id: int | None) -> int | None:
    if isinstance(padding, bool):
        if padding and pad_id is None:
            raise ConfigError(
                "This tokenizer has no padding token: give the id to pad with, as in padding=0, or add a special token "
                "such as <|pad|>."
            )
        return pad_id if padding else None
    try:
        number = index(padding)
    except TypeError:
        number = -1
    if number < 0:
        raise ConfigError(f"Padding must be True, False or an id, not {padding!r}.")
    return number
