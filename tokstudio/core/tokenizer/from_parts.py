"""A tokenizer from its parts, a vocabulary and merges as bytes: ids are looked up, and all of it is checked."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.wording import shown
from tokstudio.core.model.alphabet import BYTES, LARGEST_ID, Alphabet, missing_byte
from tokstudio.core.model.tokens import whole_number
from tokstudio.core.pretokenization.patterns import check_pattern


def arguments_of_parts(
    vocabulary: Mapping[int, bytes],
    merges: Sequence[tuple[bytes, bytes]],
    pattern: str,
    special_tokens: Mapping[str, int],
) -> dict[str, Any]:
    """The arguments of `Tokenizer`; see `Tokenizer.from_parts`."""
    if not isinstance(vocabulary, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError("The vocabulary must be a mapping from ids to bytes.")
    check_pattern(pattern)
    specials = {token: _id(shown(token), number) for token, number in special_tokens.items()}
    ids = _ids_of_tokens(vocabulary, specials)
    if (byte := missing_byte({token[0] for token in ids if len(token) == 1})) is not None:
        raise ConfigError(f"The byte {byte} has no token in the vocabulary: each of the 256 bytes needs one.")
    rows = np.array([_row(ids, number, pair) for number, pair in enumerate(merges, 1)], np.int32).reshape(-1, 3)
    made: dict[int, int] = {}
    for number, result in enumerate(rows[:, 2].tolist(), 1):
        if (earlier := made.setdefault(result, number)) != number:
            token = _shown(b"".join(merges[number - 1]))
            raise ConfigError(f"Merges {earlier:,} and {number:,} make the same token, {token}.")
    others = {number: token for token, number in ids.items() if len(token) > 1 and number not in made}
    return {
        "merges": rows[:, :2].copy(),
        "merge_results": rows[:, 2].copy(),
        "alphabet": Alphabet.of_bytes([ids.get(bytes([byte]), -1) for byte in range(BYTES)]),
        "special_tokens": specials,
        "pattern": pattern,
        "extra_tokens": others,
    }


def _ids_of_tokens(vocabulary: Mapping[int, bytes], specials: Mapping[str, int]) -> dict[bytes, int]:
    """The id of each token that is not special."""
    texts = {number: token.encode() for token, number in specials.items()}
    ids: dict[bytes, int] = {}
    for given, token in vocabulary.items():
        if not isinstance(token, bytes) or not token:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"Token {given!r} must be bytes, at least one, not {token!r}.")
        number = _id(_shown(token), given)
        if texts.get(number) == token:
            continue
        if (earlier := ids.setdefault(token, number)) != number:
            raise ConfigError(f"Tokens {earlier:,} and {number:,} have the same bytes, {_shown(token)}.")
    return ids


def _row(ids: Mapping[bytes, int], number: int, pair: tuple[bytes, bytes]) -> tuple[int, int, int]:
    """The ids of a merge: left, right and what it makes."""
    match pair:
        case [bytes() as left, bytes() as right]:
            tokens = (left, right, left + right)
        case _:
            raise ConfigError(f"Merge {number:,} must be two tokens as bytes, not {pair!r}.")
    if (missing := next((token for token in tokens if token not in ids), None)) is not None:
        raise ConfigError(f"Merge {number:,} needs the token {_shown(missing)}, which the vocabulary does not have.")
    return ids[left], ids[right], ids[left + right]


def _id(name: str, given: object) -> int:
    number = whole_number(f"The id of {name}", given)
    if not 0 <= number <= LARGEST_ID:
        raise ConfigError(f"The id of {name} must be from 0 to {LARGEST_ID:,}, not {number:,}.")
    return number


def _shown(token: bytes) -> str:
    return shown(token[:200].decode("utf-8", "backslashreplace"))
