"""`tokenizer_config.json`, with which transformers loads a `tokenizer.json`: the roles of special tokens.

A special token has the role that it was given, or that of its name, in either case: see `model.roles`. Of several with
one role, the one with the lowest id has it; all others are additional special tokens.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokstudio.core.model.roles import ROLES

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer


def config_json(tokenizer: Tokenizer) -> bytes:
    """The content of the file."""
    by_id = sorted(tokenizer.special_tokens, key=tokenizer.special_tokens.__getitem__)
    roles = _roles(tokenizer, by_id)
    others = [token for token in by_id if token not in roles.values()]
    settings: dict[str, object] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        # Otherwise versions before 5 remove spaces from decoded text.
        "clean_up_tokenization_spaces": False,
        **roles,
    }
    if others:
        # Version 5 accepts this name as well as its own; version 4 accepts no other for a list.
        settings["additional_special_tokens"] = others
    return json.dumps(settings, indent=2, ensure_ascii=False).encode() + b"\n"


def _roles(tokenizer: Tokenizer, by_id: list[str]) -> dict[str, str]:
    given = tokenizer.roles
    roles = dict(given)
    unknown = tokenizer.alphabet.unknown
    for token in by_id:
        if token in given.values():
            continue
        for role, names in ROLES.items():
            is_unknown = role == "unk_token" and role not in given and tokenizer.special_tokens[token] == unknown
            if is_unknown or (token.lower() in names and role not in roles):
                roles[role] = token
                break
    return roles
