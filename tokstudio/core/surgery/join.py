"""Joins two tokenizers: the second one's tokens that the first cannot spell in one are appended to the first.

The first one's merges come first, so text is encoded as before until they are all done. Where they cut a token of the
second otherwise than its parts are cut, its own merge finds nothing to join: such tokens are left out.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.analysis.reachability import REACHED, reachability_work
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.tokenizer.library_tokenizer import check_changeable
from tokstudio.core.tokenizer.self_encoding import merged_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer

_Rows = list[tuple[int, int]]


def join(a: Tokenizer, b: Tokenizer) -> Tokenizer:
    """The tokenizer `a` with the tokens of `b` that it lacks, in the order of `b`, with ids after its highest.

    The pattern and the special tokens are those of `a`. Tokens that no text would become are left out.

    Raises:
        ConfigError: One of the tokenizers cannot be changed (see `changeable`), or is not made of bytes.
    """
    return finish(join_work(a, b))


def join_work(a: Tokenizer, b: Tokenizer) -> Work[Tokenizer]:
    """Does the same as `join` in bounded pieces."""
    for tokenizer in (a, b):
        check_changeable(tokenizer)
        if tokenizer.alphabet.base != "bytes":
            raise ConfigError("Only tokenizers made of bytes can be joined: one of these is made of characters.")
    rows = yield from _missing_work(a, b)
    while True:
        joined = a.extended(np.array(rows, np.int32).reshape(-1, 2), len(a.tokens))
        reached = (yield from reachability_work(joined))[len(a.tokens) :] == REACHED
        left = _needed(rows, reached, len(a.tokens))
        if left.all():
            return joined
        rows = _kept(rows, left, len(a.tokens))


def _missing_work(a: Tokenizer, b: Tokenizer) -> Work[_Rows]:
    """The merges of `b` to append; the results have the ids after those of `a`, in order."""
    results: list[int] = b.merge_results.tolist()
    spelled = [b.tokens[token] or b"" for token in results]
    pieces, last = yield from merged_work(a, spelled)
    same_bytes = zip(b.byte_ids.tolist(), a.byte_ids.tolist(), strict=True)
    ids = {of_b: of_a for of_b, of_a in same_bytes if of_b >= 0 and of_a >= 0}
    token_of: dict[bytes, int] = {}
    rows: _Rows = []
    specials = {token.encode() for token in a.special_tokens}
    whole = zip(b.merges.tolist(), results, spelled, pieces.tolist(), last.tolist(), strict=True)
    for (left, right), result, token, size, is_there in whole:
        if size == 1:
            ids[result] = is_there
        elif token in token_of:
            ids[result] = token_of[token]
        # A part may be a token that no merge makes; and the text of a special token is no other token.
        elif left in ids and right in ids and token not in specials:
            ids[result] = token_of[token] = len(a.tokens) + len(rows)
            rows.append((ids[left], ids[right]))
    return rows


def _needed(rows: _Rows, reached: NDArray[np.bool_], first: int) -> NDArray[np.bool_]:
    """Which of the appended tokens stay: those that some text becomes, and the parts of these."""
    stays = reached.copy()
    for number in range(len(rows) - 1, -1, -1):
        if stays[number]:
            stays[[part - first for part in rows[number] if part >= first]] = True
    return stays


def _kept(rows: _Rows, stays: NDArray[np.bool_], first: int) -> _Rows:
    """The merges that stay, with new ids."""
    new: list[int] = (first + np.cumsum(stays) - 1).tolist()
    return [
        (left if left < first else new[left - first], right if right < first else new[right - first])
        for (left, right), kept in zip(rows, stays.tolist(), strict=True)
        if kept
    ]
