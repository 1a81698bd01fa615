"""Vocabularies of Hugging Face's and GPT-2's files: JSON objects of tokens as text with their ids."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.json_reader import JsonReader
from tokstudio.core.formats.common.merge_list import id_problem
from tokstudio.core.model.alphabet import BYTES, Alphabet, missing_byte
from tokstudio.core.text.byte_level import CHARACTER_OF, to_bytes
from tokstudio.core.text.utf8 import has_surrogates

IS_EMPTY = "is the empty token: no text becomes it, and it is decoded to nothing."  # the end of a remark


def empty_remarks(extra_tokens: Mapping[int, bytes]) -> tuple[str, ...]:
    """A remark on the empty token, where it is among the tokens that no merge makes."""
    return tuple(f"Id {number:,} of its file {IS_EMPTY}" for number, token in extra_tokens.items() if not token)


def read_vocabulary_work(reader: JsonReader) -> Work[dict[str, int]]:
    """Reads the next object; FormatError where a token or an id is repeated, or a value is not an id."""
    vocabulary: dict[str, int] = {}
    used = set[int]()
    for token in reader.items():
        value = reader.value()
        if problem := id_problem(value):
            raise reader.fault_before(f"token {shown(token)}: {problem}")
        number = cast("int", value)
        if token in vocabulary:
            raise reader.fault_before(f"token {shown(token)} appears twice")
        if number in used:
            raise reader.fault_before(f"token {shown(token)}: id {number} appears twice")
        used.add(number)
        vocabulary[token] = number
        yield from reader.progress()
    return vocabulary


def byte_level_ids(vocabulary: Mapping[str, int]) -> list[int]:
    """The id of each byte; -1 where it has none."""
    return [vocabulary.get(CHARACTER_OF[byte], -1) for byte in range(BYTES)]


def spelled(token: str) -> bytes:
    """The bytes of a byte-level token, or the UTF-8 of a token that is spelled otherwise; see `utf8`."""
    try:
        return to_bytes(token)
    except KeyError:
        return utf8(token)


def utf8(token: str) -> bytes:
    """The UTF-8 of a token; empty where it is not valid text."""
    return b"" if has_surrogates(token) else token.encode()


def missing_part(vocabulary: Mapping[str, int], number: int, *parts: str) -> str | None:
    """What is wrong with a merge of which a part or the result is not in the vocabulary; None where all are."""
    for part in parts:
        if part not in vocabulary:
            return f"merge {number:,} needs the token {shown(part)}, which the vocabulary does not have"
    return None


def shown_alphabet(tokens: Mapping[int, bytes], byte_level: bool) -> Alphabet:
    """All bytes, if the tokens are byte-level and every byte is among them; otherwise the one-character tokens.

    The tokens are those that can be base tokens, by id; of equal ones the first counts.
    """
    backwards = list(tokens.items())[::-1]
    if byte_level:
        ids = {token[0]: number for number, token in backwards if len(token) == 1}
        if missing_byte(ids) is None:
            return Alphabet.of_bytes([ids.get(byte, -1) for byte in range(BYTES)])
    characters = {character: number for number, token in backwards if (character := _character(token)) is not None}
    return Alphabet.of_characters("".join(characters), list(characters.values()))


def _character(token: bytes) -> str | None:
    """The token as one character; None for any other token."""
    if not 1 <= len(token) <= 4:
        return None
    text = token.decode("utf-8", "ignore")
    return text if len(text) == 1 and len(text.encode()) == len(token) else None
