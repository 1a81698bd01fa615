"""`tokenizer_config.json`, with which transformers loads a `tokenizer.json`: roles of special tokens, and settings.

A special token has the role that it was given. Where no file could give any, it also has that of its name, in either
case: see `ROLES`. Of several with one role, the one with the lowest id has it; all others are additional ones.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tokstudio.core.formats.common.beside import template_files
from tokstudio.core.model.file_settings import DEFAULT, ROLES

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

# Versions before 5 remove spaces from decoded text where they are not told.
_PLAIN = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
_SURROGATE = re.compile("[\ud800-\udfff]")  # half a character, which JSON can spell and UTF-8 cannot


def config_json(tokenizer: Tokenizer) -> bytes:
    """The content of the file."""
    return _json(dict(_items(tokenizer)))


def config_of_names(specials: Sequence[str]) -> bytes:
    """The content of the file for special tokens, by id, that have the roles of their names."""
    roles = _named_roles(specials, {}, None)
    others = [token for token in specials if token not in roles.values()]
    return _json({**_PLAIN, **roles, **({"additional_special_tokens": others} if others else {})})


def _json(items: Mapping[str, object]) -> bytes:
    text = json.dumps(items, indent=2, ensure_ascii=False) + "\n"
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text).encode()


def _items(tokenizer: Tokenizer) -> Iterator[tuple[str, object]]:
    given, preparation, ids = tokenizer.settings, tokenizer.preparation, tokenizer.special_tokens
    by_id = sorted(ids, key=ids.__getitem__)
    roles, others = dict(given.roles), list(given.additional)
    if given.names_give_roles:
        specials = [token for token in by_id if token not in preparation.ordinary]
        unknown = next((token for token in specials if ids[token] == tokenizer.alphabet.unknown), None)
        roles = _named_roles(specials, roles, unknown)
        others = [token for token in specials if token not in roles.values()]
    yield from (_PLAIN if given.config is None else given.config).items()
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
        # With it, transformers ignores older files that may be in the folder. A token with a role that is listed there
        # becomes special.
        listed = [token for token in by_id if token not in preparation.ordinary or token not in roles.values()]
        yield "added_tokens_decoder", {str(ids[token]): flags_of(tokenizer, token) for token in listed}


def flags_of(tokenizer: Tokenizer, token: str) -> dict[str, object]:
    """An added token as files describe it, without its id."""
    preparation = tokenizer.preparation
    return {
        "content": token,
        "single_word": token in preparation.words,
        "lstrip": token in preparation.strips_left,
        "rstrip": token in preparation.strips_right,
        "normalized": token in (preparation.late or preparation.normalized),
        "special": token not in preparation.ordinary,
    }


def _named_roles(specials: Sequence[str], given: Mapping[str, str], unknown: str | None) -> dict[str, str]:
    """The roles of special tokens: those given, and those of names; `unknown` stands for what has no token."""
    roles = dict(given)
    for token in specials:
        if token in given.values():
            continue
        for role, names in ROLES.items():
            is_unknown = role == "unk_token" and role not in given and token == unknown
            if is_unknown or (token.lower() in names and role not in roles):
                roles[role] = token
                break
    return roles
