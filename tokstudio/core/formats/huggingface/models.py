"""The kinds of models in a `tokenizer.json`, and the vocabularies of those without merges."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Mapping

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.json_reader import JsonReader
from tokstudio.core.formats.common.merge_list import LARGEST_ID

BPE = "BPE"
#: The first character of the vocabulary, by the kind of model.
OPENINGS: Mapping[str, str] = {BPE: "{", "Unigram": "[", "WordPiece": "{", "WordLevel": "{"}
_TITLES = {"{": "an object", "[": "an array"}
# Before models had a type, the library distinguished them by these keys.
_OF_WORD_PIECE = frozenset({"unk_token", "continuing_subword_prefix", "max_input_chars_per_word"})


def may_have(model: Mapping[str, object], opening: str) -> bool:
    """Whether a model, of which some keys are known, can have a vocabulary that begins with a character."""
    kind = model.get("type")
    return opening in OPENINGS.values() if kind is None else isinstance(kind, str) and OPENINGS.get(kind) == opening


def read_pieces_work(reader: JsonReader) -> Work[dict[str, int]]:
    """Reads the next array, of pieces with scores; FormatError where a piece is repeated or a score is no number."""
    pieces: dict[str, int] = {}
    for number in reader.elements():
        if number > LARGEST_ID:
            raise reader.fault(f"there are more than {LARGEST_ID + 1:,} pieces")
        match reader.value():
            case [str(piece), int() | float() as score] if not isinstance(score, bool) and math.isfinite(score):
                if piece in pieces:
                    raise reader.fault_before(f"token {shown(piece)} appears twice")
                pieces[piece] = number
            case _:
                raise reader.fault_before("a piece must be a text and a score")
        yield from reader.progress()
    return pieces


def check_model(reader: JsonReader, model: Mapping[str, object]) -> str:
    """The kind of a model that was read, with the first characters of its vocabulary and merges in their place.

    Raises:
        FormatError: It is of an unknown kind, or a part is missing or has the wrong type.
    """
    kind = _kind(model)
    if kind not in OPENINGS:
        raise FormatError(f"{reader.name}: its model is of another kind than {', '.join(OPENINGS)}.")
    needed = {"vocab": OPENINGS[kind], **({"merges": "["} if kind == BPE else {})}
    for key, opening in needed.items():
        if key not in model:
            raise reader.fault(f'the key "{key}" is missing in the model')
        if model[key] != opening:
            raise reader.fault(f'"{key}" must be {_TITLES[opening]} in the model')
    dropout = model.get("dropout")
    if dropout is not None and not (isinstance(dropout, int | float) and 0 <= dropout <= 1):
        raise FormatError(f"{reader.name}: its dropout is not a number from 0 to 1.")
    return kind


def remarks(kind: str, model: Mapping[str, object], vocabulary: Mapping[str, int]) -> tuple[str, ...]:
    """Remarks on a model that passes over merges at random, or that lacks the token for what is unknown."""
    sentences: list[str] = []
    if dropout := model.get("dropout"):
        sentences.append(f"The file passes over merges at random (dropout {dropout}); encode does not.")
    token = model.get("unk_token")
    if kind != "Unigram" and isinstance(token, str) and token not in vocabulary:
        sentences.append(f"Its unknown token {shown(token)} is not in the vocabulary: unknown text is an error.")
    return tuple(sentences)


def check_unknown(name: str, kind: str, model: Mapping[str, object], vocabulary: Mapping[str, int]) -> None:
    """Raises FormatError where a model without merges names its unknown token otherwise than its library allows."""
    if kind != "Unigram" and not isinstance(model.get("unk_token"), str):
        raise FormatError(f"{name}: its unknown token is not a string.")
    number = model.get("unk_id") if kind == "Unigram" else None
    if number is not None and not (type(number) is int and 0 <= number < len(vocabulary)):
        raise FormatError(f"{name}: its unknown token is not in the vocabulary.")


def _kind(model: Mapping[str, object]) -> str:
    kind = model.get("type")
    if kind is not None:
        return kind if isinstance(kind, str) else ""
    if model.get("vocab") == "[":
        return "Unigram"
    if "merges" in model or "unk_token" not in model:
        return BPE
    return "WordPiece" if model.keys() >= _OF_WORD_PIECE else "WordLevel"
