"""`tokenizer_config.json`, with which transformers loads a `tokenizer.json`: roles of special tokens, and settings.

A special token has the role that it was given. Where no file gave any, it also has that of its name, in either case:
see `ROLES`. Of several with one role, the one with the lowest id has it; all others are additional special tokens.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokstudio.core.formats.common.beside import template_files
from tokstudio.core.model.file_settings import DEFAULT, ROLES

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_SURROGATE = re.compile("[\ud800-\udfff]")  # half a character, which JSON can spell and UTF-8 cannot


def config_json(tokenizer: Tokenizer) -> bytes:
    """The content of the file."""
    text = json.dumps(dict(_items(tokenizer)), indent=2, ensure_ascii=False) + "\n"
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text).encode()


def _items(tokenizer: Tokenizer) -> Iterator[tuple[str, object]]:
    given, preparation = tokenizer.settings, tokenizer.preparation
    by_id = sorted(tokenizer.special_tokens, key=tokenizer.special_tokens.__getitem__)
    roles = _roles(tokenizer, by_id)
    others = [token for token in by_id if token not in roles.values() and token not in preparation.ordinary]
    if given.config is None:
        yield "tokenizer_class", "PreTrainedTokenizerFast"
        # Otherwise versions before 5 remove spaces from decoded text.
        yield "clean_up_tokenization_spaces", False
    else:
        others = list(given.additional)
        yield from given.config.items()
    yield from ((role, token) for role, token in roles.items() if role.endswith("_token"))
    if named := {role: token for role, token in roles.items() if not role.endswith("_token")}:
        yield "extra_special_tokens", named
    if others:
        # Version 5 accepts this name as well as its own; version 4 accepts no other for a list.
        yield "additional_special_tokens", others
    if given.chat_templates and template_files(given) is None:
        templates = given.chat_templates
        listed = [{"name": name, "template": text} for name, text in templates.items()]
        yield "chat_template", templates[DEFAULT] if list(templates) == [DEFAULT] else listed
    if tokenizer.library is None and (by_id or given.config is not None):
        # With it, transformers ignores older files that may be in the folder.
        yield (
            "added_tokens_decoder",
            {str(tokenizer.special_tokens[token]): flags_of(tokenizer, token) for token in by_id},
        )


def flags_of(tokenizer: Tokenizer, token: str) -> dict[str, object]:
    """An added token as files describe it, without its id."""
    preparation = tokenizer.preparation
    return {
        "content": token,
        "single_word": token in preparation.words,
        "lstrip": token in preparation.strips_left,
        "rstrip": token in preparation.strips_right,
        "normalized": token in preparation.late,
        "special": token not in preparation.ordinary,
    }


def _roles(tokenizer: Tokenizer, by_id: list[str]) -> dict[str, str]:
    given = tokenizer.roles
    roles = dict(given)
    unknown = tokenizer.alphabet.unknown
    if tokenizer.settings.config is not None:
        return roles
    for token in by_id:
        if token in given.values() or token in tokenizer.preparation.ordinary:
            continue
        for role, names in ROLES.items():
            is_unknown = role == "unk_token" and role not in given and tokenizer.special_tokens[token] == unknown
            if is_unknown or (token.lower() in names and role not in roles):
                roles[role] = token
                break
    return roles
