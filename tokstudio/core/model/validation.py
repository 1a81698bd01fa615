"""Checks that merges, base tokens and other tokens form one tokenizer."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tokstudio.core.base.arguments import items_of, told, whole_number
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.wording import several, shown
from tokstudio.core.model.alphabet import LARGEST_ID, Alphabet
from tokstudio.core.text.utf8 import has_surrogates

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SPARSEST = 16  # ids per token, beyond a million: tables are as long as the highest id


def check_special(token: object) -> None:
    """Raises ConfigError for what is no text, and so no special token."""
    if not isinstance(token, str) or not token or has_surrogates(token):
        raise ConfigError(f"A special token must be a text, not {told(token)}.")


def check_specials(specials: Mapping[str, int]) -> None:
    """Raises ConfigError unless special tokens are texts with a whole number each."""
    for token, number in items_of("Special tokens with their ids", specials):
        check_special(token)
        if type(number) is not int:
            whole_number(f"The id of {shown(token)}", number)


def check_sparseness(
    results: NDArray[np.int32], alphabet: Alphabet, specials: Mapping[str, int], extra_tokens: Mapping[int, bytes]
) -> None:
    """Raises ConfigError for an id so high that tables by id would take too much memory, as in a damaged file."""
    highest = max(*specials.values(), *extra_tokens, int(alphabet.ids.max(initial=0)), int(results.max(initial=0)))
    tokens = len(alphabet) + len(results) + len(specials) + len(extra_tokens)
    if highest > _SPARSEST * tokens + (1 << 20):
        raise ConfigError(f"The id {highest:,} is far too high for {several(tokens, 'token')}.")


def check_vocabulary(
    merges: NDArray[np.int32],
    results: NDArray[np.int32],
    alphabet: Alphabet,
    specials: Mapping[str, int],
    extra_tokens: Mapping[int, bytes],
    ordered: bool = True,
) -> None:
    """Raises ConfigError unless every merge joins tokens that exist already and makes a new one.

    Unless `ordered`, later merges may make what it joins. The token for unknown characters must exist as well.
    """
    base_ids = set(alphabet.ids.tolist())
    for number, token in extra_tokens.items():
        if not token or number in base_ids or not 0 <= number <= LARGEST_ID:
            raise ConfigError(f"The extra token {token!r} is empty, or its id {number} is not free.")
        base_ids.add(number)
    for token, number in specials.items():
        if number in base_ids or not 0 <= number <= LARGEST_ID:
            raise ConfigError(f'The special token "{token}" has the id {number}, which is not free.')
    later = frozenset[int]() if ordered else frozenset(results.tolist())
    for number, ((left, right), result) in enumerate(zip(merges.tolist(), results.tolist(), strict=True), 1):
        for part in (left, right):
            if part not in base_ids and part not in later:
                raise ConfigError(f"Merge {number:,} joins token {part}, which does not exist yet.")
        if result in base_ids or result < 0:
            raise ConfigError(f"Merge {number:,} makes token {result}, which already exists.")
        base_ids.add(result)
    ids = list(specials.values())
    if len(set(ids)) < len(ids) or base_ids & set(ids):
        raise ConfigError("Two tokens have the same id.")
    if alphabet.unknown is not None and alphabet.unknown not in base_ids.union(ids):
        raise ConfigError(f"No token has the id {alphabet.unknown}, which is to stand for unknown characters.")
