"""Opens a `tokenizer.json` through its own library, where it needs something that TokStudio does not support.

Collects what can be shown of it: tokens, special tokens, the merges that form a tree.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.text_readers import JsonReader, read_whole
from tokstudio.core.formats.common.vocabulary import LARGEST_ID, sensible_ids, shown_alphabet, spelled
from tokstudio.core.formats.huggingface.parts import ParsedFile, parts_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer

# --- The kinds of models in a `tokenizer.json`, and the vocabularies of those without merges --------------------------

BPE = "BPE"
#: The first character of the vocabulary, by the kind of model.
OPENINGS: Mapping[str, str] = {BPE: "{", "Unigram": "[", "WordPiece": "{", "WordLevel": "{"}
_MOST = sys.float_info.max  # a score that the library can hold
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
            case [str(piece), int() | float() as score] if not isinstance(score, bool) and abs(score) <= _MOST:
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


def remarks(kind: str, model: Mapping[str, object], vocabulary: Mapping[str, int]) -> Iterator[str]:
    """Remarks on a model that passes over merges at random, or that lacks the token for what is unknown."""
    if dropout := model.get("dropout"):
        yield f"The file passes over merges at random (dropout {dropout}); encode does not."
    token = model.get("unk_token")
    if kind != "Unigram" and isinstance(token, str) and token not in vocabulary:
        yield f"Its unknown token {shown(token)} is not in the vocabulary: unknown text is an error."


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


_LARGEST = 1 << 28
_REPORTED = 1 << 14
_BYTE_PIECE = re.compile(r"<0x([0-9A-F]{2})>")


def library_work(path: Path | bytes, name: str, parsed: ParsedFile, reason: str) -> Work[LibraryTokenizer]:
    """The tokenizer that the library makes of the file, for a reason that `LibraryTokenizer` explains.

    Raises:
        FormatError: The library refuses the file, or it is too large; the message begins with `name`.
    """
    from tokstudio.core.tokenizer.content import TokenizerContent
    from tokstudio.core.tokenizer.library_tokenizer import LibraryFile, LibraryTokenizer, Vocabulary

    content = read_whole(path, name, _LARGEST)
    yield Progress("reading")
    specials = {token.content: token.id for token in parsed.added if token.special}
    others = {token.id: token.content.encode() for token in parsed.added if not token.special}
    spelling = _Spelling(parsed)
    special_ids = frozenset(specials.values())
    tokens = {number: spelling.of(token) for token, number in parsed.vocabulary.items()} | others
    tokens = {number: token for number, token in tokens.items() if number not in special_ids}
    pieces = frozenset(number for token, number in parsed.vocabulary.items() if spelling.is_byte(token))
    not_base = pieces | others.keys()
    may_be_base = {number: token for number, token in tokens.items() if number not in not_base}
    alphabet = replace(shown_alphabet(may_be_base, spelling.byte_level), unknown=_unknown(parsed))
    rows = yield from _tree_work(parsed.rows, tokens, frozenset(alphabet.ids.tolist()))
    inner = frozenset([*alphabet.ids.tolist(), *rows[:, 2].tolist()])
    extra = {number: token for number, token in tokens.items() if number not in inner}
    added = [{"content": token.content, **token.flags} for token in parsed.new]
    files = {"tokenizer.json": content, **parsed.beside.files}
    strings = {**parsed.vocabulary, **{token.content: token.id for token in parsed.added}}
    shown = TokenizerContent(
        *(rows[:, :2], rows[:, 2], alphabet, specials),
        extra_tokens=extra,
        remarks=(*parsed.remarks, *remarks(parsed.kind, parsed.model, parsed.vocabulary)),
        settings=parsed.noted(None, False),
    )
    with sensible_ids(name):
        tokenizer = LibraryTokenizer(
            LibraryFile("tokenizers", name, files, {"added_tokens": added} if added else {}),
            Vocabulary(shown, pieces, model=parsed.kind, tokens_beside=parsed.tokens_beside, strings=strings),
            reason,
        )
    yield from tokenizer.open_work()
    return tokenizer


def _unknown(parsed: ParsedFile) -> int | None:
    """The id of the token for what is not in the vocabulary, where there is one."""
    number, token = parsed.model.get("unk_id"), parsed.model.get("unk_token")
    if isinstance(number, int):
        return number
    return parsed.vocabulary.get(token) if isinstance(token, str) else None


class _Spelling:
    """The texts of the tokens of a file."""

    def __init__(self, parsed: ParsedFile) -> None:
        parts = list(parts_in((parsed.settings.get("pre_tokenizer"), parsed.settings.get("decoder"))))
        self.byte_level = any(part.get("type") == "ByteLevel" for part in parts)
        self._spaces = {space for part in parts if (space := _space(part))}
        self._has_bytes = parsed.model.get("byte_fallback") is True

    def of(self, token: str) -> bytes:
        """The bytes of a token; empty where it is not valid text."""
        if self.byte_level:
            return spelled(token)
        if self._has_bytes and (match := _BYTE_PIECE.fullmatch(token)):
            return bytes.fromhex(match.group(1))
        for space in self._spaces:
            token = token.replace(space, " ")
        return token.encode("utf-8", "replace")

    def is_byte(self, token: str) -> bool:
        """Whether a token stands for a byte of a character without a token of its own."""
        return self._has_bytes and not self.byte_level and _BYTE_PIECE.fullmatch(token) is not None


def _space(part: Mapping[str, object]) -> str:
    """The text that stands for a space in tokens, by a part of the file; or ""."""
    match part:
        case {"type": "Metaspace", "replacement": str(space)}:
            return space
        case {"type": "Replace", "pattern": {"String": str(space)}, "content": " "}:
            return space
        case _:
            return ""


def _tree_work(rows: NDArray[np.int32], tokens: Mapping[int, bytes], base: frozenset[int]) -> Work[NDArray[np.int32]]:
    """The first merge that makes each token of existing parts with the right spelling."""
    results = set(rows[:, 2].tolist())
    there = {token for token in tokens if token in base or token not in results}
    tree: list[tuple[int, int, int]] = []
    for number, (left, right, result) in enumerate(rows.tolist()):
        is_next = left in there and right in there and result in tokens and result not in there
        if is_next and tokens[left] + tokens[right] == tokens[result]:
            there.add(result)
            tree.append((left, right, result))
        if number % _REPORTED == 0:
            yield Progress("reading", number, len(rows))
    return np.array(tree, np.int32).reshape(-1, 3)
