"""Gives the ids of reserved special tokens to the first new tokens of an extended tokenizer."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.wording import shown
from tokstudio.core.surgery.specials import check_there
from tokstudio.core.tokenizer.origin import Origin
from tokstudio.core.tokenizer.tokenizer import Tokenizer

_RESERVED = re.compile("[0-9]|reserved|unused", re.IGNORECASE)


def fill_reserved(tokenizer: Tokenizer, reserved: Sequence[str]) -> Tokenizer:
    """Gives the ids of reserved special tokens to the first new tokens; later new ones have those after the old ids.

    The lowest of these ids is given first. Where there are fewer new tokens, the last reserved ones stay as they are.

    Raises:
        ConfigError: The tokenizer was not extended, or a reserved token is not there, named twice or not reserved.
    """
    origin = tokenizer.origin
    if origin is None or origin.change != "extended":
        raise ConfigError("Only a tokenizer that was extended has new tokens that can take the ids of reserved ones.")
    check_reserved(tokenizer, reserved)
    new = tokenizer.merge_results[len(origin.old.merges) :]
    free = sorted(tokenizer.special_tokens[token] for token in reserved)[: len(new)]
    specials = {token: number for token, number in tokenizer.special_tokens.items() if number not in free}
    ids = np.arange(len(tokenizer.tokens), dtype=np.int32)
    ids[new] = [*free, *new[: len(new) - len(free)].tolist()]
    new_ids = origin.new_ids.copy()
    new_ids[free] = -1
    return tokenizer.changed(
        merges=ids[tokenizer.merges],
        merge_results=ids[tokenizer.merge_results],
        special_tokens=specials,
        preparation=tokenizer.preparation.of({token: token for token in specials}),
        settings=tokenizer.settings.without(tokenizer.special_tokens.keys() - specials),
        origin=Origin(origin.old, "extended", new_ids),
        checked=True,
    )


def is_reserved(tokenizer: Tokenizer, token: str) -> bool:
    """Whether a special token seems to be one that nobody uses yet, such as `<|reserved_special_token_0|>`.

    Such a token has a number or the word "reserved" or "unused" in its name, and no role.
    """
    return _RESERVED.search(token) is not None and token not in tokenizer.settings.needed


def check_reserved(tokenizer: Tokenizer, reserved: Collection[str]) -> None:
    """Raises ConfigError where a reserved token is not a special token, named twice or not reserved."""
    seen: set[str] = set()
    for token in reserved:
        check_there(tokenizer, token)
        if not is_reserved(tokenizer, token):
            raise ConfigError(
                f"The special token {shown(token)} is not reserved: it has a role, or neither a number nor "
                '"reserved" or "unused" in its name.'
            )
        if token in seen:
            raise ConfigError(f"The special token {shown(token)} is named twice.")
        seen.add(token)
