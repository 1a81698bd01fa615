"""The base tokens of a vocabulary that a library encodes with, as far as they can be told."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from tokstudio.core.alphabet import BYTES, Alphabet


def shown_alphabet(tokens: Mapping[int, bytes], byte_level: bool) -> Alphabet:
    """All bytes, if the tokens are byte-level and every byte is there, else the tokens of one character.

    Args:
        tokens: The bytes of each token that may be a base token, by id; of equal ones the first counts.
        byte_level: Whether tokens are made of bytes.
    """
    backwards = list(tokens.items())[::-1]
    if byte_level:
        ids = {token[0]: number for number, token in backwards if len(token) == 1}
        if len(ids) == BYTES:
            return Alphabet.of_bytes([ids[byte] for byte in range(BYTES)])
    characters = {character: number for number, token in backwards if (character := _character(token)) is not None}
    return Alphabet.of_characters("".join(characters), list(characters.values()))


def _character(token: bytes) -> str | None:
    """The one character that a token is; None for any other."""
    if not 1 <= len(token) <= 4:
        return None
    text = token.decode("utf-8", "ignore")
    return text if len(text) == 1 and len(text.encode()) == len(token) else None
