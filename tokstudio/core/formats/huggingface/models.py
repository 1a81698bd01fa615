"""The kinds of models in a `tokenizer.json`, and the vocabularies of those without merges."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Mapping

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Work
from tokstudio.core.formats.common.json_reader import JsonReader, shown
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
    if model.get("dropout") not in (None, False, 0):
        raise FormatError(f"{reader.name}: it skips merges at random (dropout), so the ids of a text change each time.")
    return kind


def check_unknown(name: str, kind: str, model: Mapping[str, object], vocabulary: Mapping[str, int]) -> None:
    """Raises FormatError where a model without merges names an unknown token that its vocabulary lacks."""
    if kind == "Unigram":
        number = model.get("unk_id")
        is_there = number is None or (type(number) is int and 0 <= number < len(vocabulary))
    else:
        is_there = model.get("unk_token") in vocabulary if isinstance(model.get("unk_token"), str) else False
    if not is_there:
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
