"""Gives the tokens of a tokenizer other ids; its merges stay as they are.

`order_by_rank`, `order_by_use` and `order_as_in` make orders for `renumber`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.surgery.prune import Pruned, with_ids
from tokstudio.core.tokenizer.library_tokenizer import check_changeable
from tokstudio.core.tokenizer.tokenizer import Tokenizer


def renumber(tokenizer: Tokenizer, order: ArrayLike) -> Pruned:
    """Gives each token its place in `order` as its id: the ids of all tokens, each once, with -1 for a free id.

    Raises:
        ConfigError: An id is missing, named twice or not in use; or a library encodes for the tokenizer.
    """
    check_changeable(tokenizer, whole_words=True)
    new_order = np.asarray(order)
    if new_order.ndim != 1 or new_order.dtype.kind not in "iu":
        raise ConfigError("The order must be a list of ids.")
    places = np.flatnonzero(new_order >= 0)
    named = new_order[places].astype(np.int64)
    if len(strange := named[~tokenizer.tokens.are_in_use(named)]):
        raise ConfigError(f"Id {strange[0]} is not in the vocabulary.")
    times = np.bincount(named, minlength=len(tokenizer.tokens))
    if len(again := np.flatnonzero(times > 1)):
        raise ConfigError(f"The order names id {again[0]} twice.")
    in_use = tokenizer.tokens.ids()
    if len(missing := in_use[times[in_use] == 0]):
        raise ConfigError(f"The order must name every token: id {missing[0]} is missing.")
    new_ids = np.full(len(tokenizer.tokens), -1, np.int32)
    new_ids[named] = places
    return with_ids(tokenizer, new_ids, "renumbered")


def order_by_rank(tokenizer: Tokenizer) -> NDArray[np.int64]:
    """The order: base tokens by id, merges by rank, tokens that no merge makes by id, special tokens by id."""
    base, specials = np.sort(tokenizer.alphabet.ids), sorted(tokenizer.special_tokens.values())
    return _distinct(base[~np.isin(base, specials)], tokenizer.merge_results, tokenizer.tokens.ids(), last=specials)


def order_by_use(tokenizer: Tokenizer, counts: ArrayLike) -> NDArray[np.int64]:
    """The order by `counts`, uses by id, the most used first and of equal ones the lowest id; special tokens last."""
    ids = tokenizer.tokens.ids()
    uses = np.zeros(len(tokenizer.tokens), np.int64)
    counts_of_tokens = np.asarray(counts, np.int64)[: len(uses)]
    uses[: len(counts_of_tokens)] = counts_of_tokens
    return _distinct(ids[np.argsort(-uses[ids], kind="stable")], last=sorted(tokenizer.special_tokens.values()))


def order_as_in(tokenizer: Tokenizer, other: Tokenizer) -> NDArray[np.int64]:
    """The order in which tokens of `other` have its ids, special tokens too, and all others follow after its highest.

    Ids of `other` whose token is not in the tokenizer stay free.
    """
    order = np.full(len(other.tokens), -1, np.int64)
    ids = _ids_by_bytes(tokenizer)
    for token in _ids_by_bytes(other).items():
        order[token[1]] = ids.get(token[0], -1)
    return np.concatenate([order, np.setdiff1d(tokenizer.tokens.ids(), order)])


def _ids_by_bytes(tokenizer: Tokenizer) -> dict[tuple[bool, bytes], int]:
    """The id of each token by its bytes, special tokens apart; of equal ones the lowest."""
    specials = set(tokenizer.special_tokens.values())
    ids: dict[tuple[bool, bytes], int] = {}
    numbers: list[int] = tokenizer.tokens.ids().tolist()
    for number in numbers:
        ids.setdefault((number in specials, tokenizer.tokens[number] or b""), number)
    return ids


def _distinct(*ids: NDArray[np.integer], last: list[int]) -> NDArray[np.int64]:
    """The ids of all arrays, each where it first occurs, and then `last`, which are left out before."""
    whole = np.concatenate(ids).astype(np.int64)
    _, firsts = np.unique(whole, return_index=True)
    kept = whole[np.sort(firsts)]
    return np.concatenate([kept[~np.isin(kept, last)], np.array(last, np.int64)])
