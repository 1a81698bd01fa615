"""Several texts encoded together, and padded to one length; encoding each is left to a tokenizer."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import index

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.text.utf8 import Text

# As it is written in the files that name one: <pad>, <PAD>, [PAD], <|padding|>, <|pad|>.
_PADDING_TOKEN = re.compile(r"(?:<\|pad(?:ding)?\|>|<pad(?:ding)?>|\[pad\])", re.IGNORECASE)
_END_OF_TEXT = "<|endoftext|>"


@dataclass(frozen=True)
class Batch:
    """Several encoded texts. Two lists of lists, which `numpy.array` and tensor libraries take as they are once padded.

    Attributes:
        ids: The ids of each text; when padded, all as many as those of the longest.
        attention_mask: For each id, 1 where it stands for text and 0 where it is padding.
    """

    ids: list[list[int]]
    attention_mask: list[list[int]]


def encode_texts(
    encode: Callable[[Text], list[int]], texts: Iterable[Text], padding: bool | int = False, pad_id: int = 0
) -> Batch:
    """Encodes each text and, if asked to, pads all of them on the right to the longest.

    Args:
        encode: Gives the ids of one text, in a list of its own.
        texts: The texts.
        padding: True pads with `pad_id`, a number with that id; False leaves each text as long as it is.
        pad_id: See `padding_id`.

    Raises:
        ConfigError: `texts` is one text, `padding` is no id, or a text cannot be encoded.
    """
    if isinstance(texts, (str, bytes)):
        raise ConfigError("A batch must be a list of texts, not one text.")
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


def padding_id(special_tokens: Mapping[str, int]) -> int:
    """The id to pad with: that of a padding token if there is one, else that of `<|endoftext|>`, else 0.

    Padding has mask 0 and is not read, so that any id will do; these are what models were trained with.
    """
    named = [number for token, number in special_tokens.items() if _PADDING_TOKEN.fullmatch(token)]
    return min(named, default=special_tokens.get(_END_OF_TEXT, 0))


def _filler(padding: bool | int, pad_id: int) -> int | None:
    if isinstance(padding, bool):
        return pad_id if padding else None
    try:
        given = index(padding)
    except TypeError:
        given = -1
    if given < 0:
        raise ConfigError(f"Padding must be True, False or an id, not {padding!r}.")
    return given
