"""Adds and renames special tokens, such as reserved ones that get a meaning, and gives them roles; all ids stay."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, cast

import numpy as np

from tokstudio.core.base.arguments import items_of, several_of, whole_number
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.wording import first_few, shown
from tokstudio.core.model.alphabet import LARGEST_ID
from tokstudio.core.model.file_settings import ROLES
from tokstudio.core.model.validation import check_special
from tokstudio.core.tokenizer.library_tokenizer import check_changeable
from tokstudio.core.tokenizer.origin import Origin, unchanged_ids
from tokstudio.core.tokenizer.tokenizer import Tokenizer

_MOST_NAMED = 8


def replace_specials(tokenizer: Tokenizer, names: Mapping[str, str]) -> Tokenizer:
    """Gives special tokens, by their text, other texts with the same ids: `{"<|reserved_0|>": "<|user|>"}`.

    Raises:
        ConfigError: There is no such special token, a new text is empty or already another special token, or a library
            encodes for the tokenizer.
    """
    for token, name in items_of("New texts of special tokens", names):
        check_there(tokenizer, token)
        check_special(name)
    renamed: dict[str, int] = {}
    for token, number in tokenizer.special_tokens.items():
        name = names.get(token, token)
        if name in renamed:
            raise ConfigError(f"Two special tokens cannot both be {shown(name)}.")
        renamed[name] = number
    changed = {old: new for old, new in names.items() if new != old}
    preparation = tokenizer.preparation.of({token: names.get(token, token) for token in tokenizer.special_tokens})
    settings = tokenizer.settings.renamed(changed)
    return _with(tokenizer, [*names.values()], special_tokens=renamed, preparation=preparation, settings=settings)


def add_specials(tokenizer: Tokenizer, tokens: Iterable[str] | Mapping[str, int]) -> Tokenizer:
    """Adds special tokens, with the ids given, or with those that follow the highest.

    Raises:
        ConfigError: One is empty or already special, an id is not free, or a library encodes for the tokenizer.
    """
    given_ids = (
        list(cast("Mapping[str, int]", tokens).items())
        if isinstance(tokens, Mapping)
        else list(zip(cast("list[str]", several_of("Special tokens", tokens)), count(len(tokenizer.tokens))))
    )
    ids: dict[str, int] = {}
    taken = set(tokenizer.tokens.ids().tolist())
    for token, given_id in given_ids:
        check_special(token)
        if token in ids or token in tokenizer.special_tokens:
            raise ConfigError(f"The special token {shown(token)} is already there.")
        number = whole_number(f"The id of {shown(token)}", given_id)
        if not 0 <= number <= LARGEST_ID:
            raise ConfigError(f"The id of {shown(token)} must be from 0 to {LARGEST_ID:,}, not {number:,}.")
        if number in taken:
            raise ConfigError(f"The id {number:,} of {shown(token)} is not free.")
        taken.add(number)
        ids[token] = number
    settings = tokenizer.settings
    if not settings.names_give_roles:
        settings = replace(settings, additional=(*settings.additional, *ids))
    preparation = tokenizer.preparation
    if preparation.normalized:
        # All are found in one search, as before.
        preparation = replace(preparation, normalized=preparation.normalized.union(ids))
    specials = {**tokenizer.special_tokens, **ids}
    return _with(tokenizer, list(ids), special_tokens=specials, preparation=preparation, settings=settings)


def set_roles(tokenizer: Tokenizer, roles: Mapping[str, str]) -> Tokenizer:
    """Gives special tokens roles, by role: `{"eos": "<|end|>", "pad": "<|end|>"}`; "eos_token" is the same as "eos".

    Exports to Hugging Face name them, and `encode_batch` pads with "pad". The roles that are not given stay.

    Raises:
        ConfigError: A role is unknown, there is no such special token, or a library encodes for the tokenizer.
    """
    named: dict[str, str] = {}
    for role_name, token in items_of("Roles with their tokens", roles):
        there = ROLES.keys() | tokenizer.roles.keys()
        role = role_name if role_name in there else f"{role_name}_token"
        if role not in there:
            names = ", ".join(name.removesuffix("_token") for name in ROLES)
            raise ConfigError(f"There is no role {shown(str(role_name))}. Choose from: {names}.")
        check_there(tokenizer, token)
        named[role] = token
    settings = tokenizer.settings
    others = tuple(token for token in settings.additional if token not in named.values())
    return _with(tokenizer, [], settings=replace(settings, roles={**settings.roles, **named}, additional=others))


def check_there(tokenizer: Tokenizer, token: str) -> None:
    """Raises ConfigError where there is no such special token."""
    if token not in tokenizer.special_tokens:
        raise ConfigError(f"There is no special token {shown(str(token))}. {_named(tokenizer.special_tokens)}")


def check_text(tokenizer: Tokenizer, token: str) -> None:
    """Raises ConfigError where no special token can have a text, such as that of an ordinary token."""
    check_special(token)
    specials = set(tokenizer.special_tokens.values())
    # Files that name tokens by their text hold each text once.
    ordinary = [number for number in tokenizer.tokens.spelling(token.encode()) if number not in specials]
    if ordinary:
        message = f"{shown(token)} is an ordinary token already, with the id {ordinary[0]:,}"
        raise ConfigError(f"{message}: choose another text.")
    if token.replace(" ", "").isalnum():
        raise ConfigError(
            f"{shown(token)} is plain text, and libraries find a special token in any text: give it signs that texts "
            f"do not have, such as {shown(f'<|{token}|>')}."
        )


def _with(tokenizer: Tokenizer, new: list[str], **changes: Any) -> Tokenizer:  # noqa: ANN401
    """The tokenizer with the given arguments of `Tokenizer`; `new` are its new texts."""
    check_changeable(tokenizer, whole_words=True)
    for token in new:
        check_text(tokenizer, token)
    origin = Origin(tokenizer, "specials", unchanged_ids(tokenizer.tokens.ids()))
    return tokenizer.changed(origin=origin, **changes)


def _named(specials: Mapping[str, int]) -> str:
    if not specials:
        return "The tokenizer has none."
    return f"The tokenizer has {first_few(specials, _MOST_NAMED)}."


# --- Gives the ids of reserved special tokens to the first new tokens of an extended tokenizer ------------------------

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
