"""Tokens that are cut out of text before anything else, and how the `tokenizers` library adds them one by one."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tokstudio.core.base.records import dataclass
from tokstudio.core.model.file_settings import ROLES
from tokstudio.core.pretokenization.preparation import Preparation

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer


@dataclass(frozen=True)
class AddedToken:
    """A token that the library cuts out of text before anything else."""

    content: str
    id: int
    normalized: bool  # whether it is searched in the normalized text, after the others
    special: bool  # whether its recognition can be turned off
    strips_left: bool = False  # whether it includes the white space before it
    strips_right: bool = False  # whether it includes the white space after it
    is_word: bool = False  # whether it matches only whole words

    @property
    def flags(self) -> dict[str, bool]:
        """The flags by the names that files give them."""
        return {
            "single_word": self.is_word,
            "lstrip": self.strips_left,
            "rstrip": self.strips_right,
            "normalized": self.normalized,
            "special": self.special,
        }


def preparation_of(nfc: bool, prefix_space: bool, added: Collection[AddedToken]) -> Preparation:
    """What is done to a text before splitting, with added tokens found in it."""
    late = frozenset(token.content for token in added if token.normalized)
    # Without normalization, the order matters only where not all are found in the same text.
    matters = nfc or len(late) < len(added)
    return Preparation(
        nfc,
        prefix_space,
        late if matters else frozenset(),
        frozenset(token.content for token in added if token.strips_left),
        frozenset(token.content for token in added if token.strips_right),
        frozenset(token.content for token in added if token.is_word),
        frozenset(token.content for token in added if not token.special),
        frozenset() if matters else late,
    )


class Adding:
    """Adds tokens to those of a tokenizer, one after another, as the library does."""

    def __init__(self, own: Mapping[str, AddedToken], vocabulary: Mapping[str, int]) -> None:
        self.tokens = dict(own)
        self.log: list[AddedToken] = []
        self.unlike: dict[str, list[str]] = {}  # for each token the flags that count though it was added without them
        self._vocabulary = vocabulary
        self._next = max([len(vocabulary), *(token.id + 1 for token in own.values())])

    def add(self, token: AddedToken) -> None:
        """Adds a token, or gives it other flags."""
        old = self.tokens.get(token.content)
        if old is None:
            number = self._vocabulary.get(token.content, self._next)
            self.tokens[token.content] = replace(token, id=number)
            self._next = max(self._next, number + 1)
            self.log.append(token)
            return
        if old.flags != token.flags:
            self.log.append(token)
        # The library goes on looking for it in the way in which it did before, too.
        normalized = old.normalized and (old.special or token.normalized)
        special = old.special or token.special
        added = self.tokens[token.content] = replace(token, id=old.id, normalized=normalized, special=special)
        self.unlike[token.content] = [name for name, flag in added.flags.items() if token.flags[name] != flag]


def named_roles(specials: Sequence[str], role_texts: Mapping[str, str], unknown: str | None) -> dict[str, str]:
    """The roles of special tokens: those given, and those of names; `unknown` stands for what has no token."""
    roles = dict(role_texts)
    for token in specials:
        if token in role_texts.values():
            continue
        for role, names in ROLES.items():
            is_unknown = role == "unk_token" and role not in role_texts and token == unknown
            if is_unknown or (token.lower() in names and role not in roles):
                roles[role] = token
                break
    return roles


def ends_of_text(tokenizer: Tokenizer, role_texts: Mapping[str, str]) -> tuple[str | None, str | None]:
    """The special tokens for the beginning and the end of a text: those given, and those of names; None for none.

    Names decide also where the files give roles and leave out these.
    """
    ids, ordinary = tokenizer.special_tokens, tokenizer.preparation.ordinary
    specials = [token for token in sorted(ids, key=ids.__getitem__) if token not in ordinary]
    roles = named_roles(specials, role_texts, None)
    return roles.get("bos_token"), roles.get("eos_token")
