"""Reads SentencePiece's models: TokStudio shows the content, and their library encodes.

A model holds no merges. Those shown of a byte pair encoding are derived: SentencePiece merges the two adjacent pieces
that make the piece with the best score, so each piece has the two parts that pieces with better scores leave.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.added_tokens import AddedToken
from tokstudio.core.formats.common.beside import Beside, beside_work
from tokstudio.core.formats.common.recover_merges import recover_work
from tokstudio.core.formats.common.text_readers import read_whole
from tokstudio.core.formats.common.vocabulary import sensible_ids, shown_alphabet
from tokstudio.core.model.alphabet import CODE_POINTS
from tokstudio.core.model.file_settings import PLAIN_CLASSES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.tokenizer.library_tokenizer import Vocabulary
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_LARGEST = 1 << 26
MOST_PIECES = 1 << 20
_REPORTED = 1 << 14
_PIECES = 1  # the number of the field
_LENGTH = 2  # the type of a field that begins with its length
_MODELS = {1: "Unigram", 2: "BPE", 3: "Word", 4: "Char"}
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
_SPACE = "▁"
_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_LONGEST_TRIED, _MOST_TRIED = 64, 1000
# A piece, which begins with its text.
_BEGINNING = re.compile(rb"\n([\x02-\x7f]|[\x80-\xff][\x01-\x7f])\n", re.DOTALL)


def is_model(beginning: bytes) -> bool:
    """Whether a file begins like a SentencePiece model."""
    match = _BEGINNING.match(beginning)
    if match is None or len(beginning) <= match.end():
        return False
    outer = match.group(1)
    size = outer[0] if len(outer) == 1 else (outer[0] & 0x7F) | outer[1] << 7
    text = beginning[match.end()]
    return text >= 0x80 or text + 2 <= size


def read_work(files: Sequence[Path], names: Sequence[str], notes: tuple[str, ...] = ()) -> Work[Tokenizer]:
    """Reads a model with the files beside it, and lets its library read it too; `notes` are said of it besides.

    Where files beside it add tokens, text is cut at these and at the control pieces, as transformers does.

    Raises:
        FormatError: It is damaged; the message begins with `name`.
    """
    from tokstudio.core.tokenizer.library_tokenizer import LibraryFile, LibraryTokenizer

    name = names[0]
    content = read_whole(files[0], name, _LARGEST)
    yield from _count_work(content, name)
    model = _parsed(content, name)
    kind = _MODELS[model.trainer_spec.model_type]
    # Every model has this part after the pieces.
    if not model.HasField("normalizer_spec"):
        raise FormatError(f"{name}: the file ends too early: it does not say how text is normalized.")
    pieces = yield from _pieces_work(model, name)
    yield Progress("reading")
    rows, unreachable = np.empty((0, 3), np.int32), frozenset[int]()
    if kind == "BPE":
        rows, unreachable = yield from _merges_work(pieces)
    beside = yield from beside_work(files[1:], names[1:])
    vocabulary, added = _with_added(_vocabulary(pieces, rows, unreachable, kind), pieces, beside, notes)
    # These classes put a space before the beginning of a text alone, others also after each added token.
    class_name = beside.class_name or "Llama"
    first = class_name in PLAIN_CLASSES or class_name.startswith(("Llama", "CodeLlama", "Phi3"))
    with sensible_ids(name):
        tokenizer = LibraryTokenizer(
            LibraryFile(
                "sentencepiece",
                name,
                {"tokenizer.model": content, **beside.files},
                {"added_tokens": added, "prefix_first": first} if added else {},
            ),
            vocabulary,
            "SentencePiece has its own rules" if kind == "BPE" else f"its model is {kind}",
        )
    yield from tokenizer.open_work()
    return tokenizer


def _vocabulary(pieces: _Pieces, rows: NDArray[np.int32], unreachable: frozenset[int], model: str) -> Vocabulary:
    """What the model itself holds; `rows` are its derived merges."""
    from tokstudio.core.tokenizer.content import TokenizerContent
    from tokstudio.core.tokenizer.library_tokenizer import Vocabulary

    not_text = (_UNKNOWN, _CONTROL)
    tokens = {number: token for number, token in enumerate(pieces.bytes) if pieces.kinds[number] not in not_text}
    unknown = next((number for number, kind in enumerate(pieces.kinds) if kind == _UNKNOWN), None)
    alphabet = replace(shown_alphabet({number: tokens[number] for number in pieces.single}, False), unknown=unknown)
    inner = frozenset([*alphabet.ids.tolist(), *rows[:, 2].tolist()])
    specials = {pieces.texts[number]: number for number, kind in enumerate(pieces.kinds) if kind in not_text}
    extra = {number: token for number, token in tokens.items() if number not in inner}
    return Vocabulary(
        TokenizerContent(rows[:, :2], rows[:, 2], alphabet, specials, extra_tokens=extra),
        byte_tokens=frozenset(number for number, kind in enumerate(pieces.kinds) if kind == _BYTE),
        unreachable=unreachable,
        model=model,
        strings={text: number for number, text in enumerate(pieces.texts)},
    )


def _with_added(
    vocabulary: Vocabulary, pieces: _Pieces, beside: Beside, notes: tuple[str, ...]
) -> tuple[Vocabulary, list[dict[str, object]]]:
    """The vocabulary with what the files beside the model say, and the tokens that they add, for the library."""
    content = vocabulary.content
    specials, extra = dict(content.special_tokens), dict(content.extra_tokens)
    own = [AddedToken(text, number, False, True) for text, number in specials.items()] if beside.files else []
    completed = beside.completed(own, {text: i for i, text in enumerate(pieces.texts)}, False)
    added: list[dict[str, object]] = []
    if beside.files:
        added = [{"content": token.content, "id": token.id, **token.flags} for token in completed.tokens]
        specials = {token.content: token.id for token in completed.tokens if token.special}
        others = {token.id: token.content.encode() for token in completed.tokens if not token.special}
        extra = {number: token for number, token in extra.items() if number not in specials.values()} | others
    notes = (*notes, *completed.settings.notes, *beside.class_note(False, None, False))
    own_texts = frozenset(pieces.texts)
    settings = replace(completed.settings, notes=notes)
    content = replace(content, special_tokens=specials, extra_tokens=extra, settings=settings)
    beside_first = tuple(token.content for token in completed.tokens if token.content not in own_texts)
    return replace(vocabulary, content=content, tokens_beside=beside_first), added


def _count_work(content: bytes, name: str) -> Work[None]:
    """Counts the fields of a model, before memory is taken for their content."""
    at = pieces = number = 0
    while at < len(content):
        tag, at = _varint(content, at, name)
        if tag & 7 != _LENGTH:
            raise _damaged(name)
        size, at = _varint(content, at, name)
        at += size
        if at > len(content):
            raise FormatError(f"{name}: the file ends too early, in field {tag >> 3}.")
        pieces += tag >> 3 == _PIECES
        if pieces > MOST_PIECES:
            raise FormatError(f"{name}: there are more than {MOST_PIECES:,} pieces.")
        number += 1
        if number > 2 * MOST_PIECES:
            raise _damaged(name)
        if number % _REPORTED == 0:
            yield Progress("reading", at, len(content))
    if not pieces:
        raise FormatError(f"{name}: this is not a SentencePiece model: it has no pieces.")


def _varint(content: bytes, at: int, name: str) -> tuple[int, int]:
    value = shift = 0
    while at < len(content) and shift < 35:
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    if at >= len(content):
        raise FormatError(f"{name}: the file ends too early.")
    raise _damaged(name)


def _damaged(name: str) -> FormatError:
    return FormatError(f"{name}: this is not a SentencePiece model, or it is damaged.")


def _parsed(content: bytes, name: str) -> Any:  # noqa: ANN401 - its schema is made at import
    from google.protobuf.message import DecodeError
    from sentencepiece import sentencepiece_model_pb2

    schema: Any = sentencepiece_model_pb2
    try:
        return schema.ModelProto.FromString(content)
    except (DecodeError, UnicodeDecodeError) as error:
        raise _damaged(name) from error


class _Pieces:
    """The pieces of a model, by id, and the ids of the normal pieces of one character."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.bytes: list[bytes] = []  # of each in a text
        self.scores: list[float] = []
        self.kinds: list[int] = []
        self.single: list[int] = []


def _pieces_work(model: Any, name: str) -> Work[_Pieces]:  # noqa: ANN401
    pieces, seen = _Pieces(), set[str]()
    spaces: bool = model.normalizer_spec.escape_whitespaces
    for number, piece in enumerate(model.pieces):
        text, kind, score = piece.piece, piece.type, piece.score
        if not isinstance(text, str):
            raise FormatError(f"{name}: piece {number} is not UTF-8.")
        if not text:
            raise FormatError(f"{name}: piece {number} is empty.")
        if text in seen:
            raise FormatError(f"{name}: the piece {shown(text)} appears twice.")
        if not math.isfinite(score):
            raise FormatError(f"{name}: the score of piece {number} is not a number.")
        match = _BYTE_PIECE.fullmatch(text)
        if kind == _BYTE and match is None:
            raise FormatError(f"{name}: piece {number}, {shown(text)}, is not a byte.")
        seen.add(text)
        pieces.texts.append(text)
        pieces.kinds.append(kind)
        pieces.scores.append(score)
        if kind == _BYTE and match is not None:
            pieces.bytes.append(bytes.fromhex(match.group(1)))
        else:
            pieces.bytes.append((text.replace(_SPACE, " ") if spaces else text).encode())
        if kind == _NORMAL and len(text) == 1:
            pieces.single.append(number)
        if number % _REPORTED == 0:
            yield Progress("reading", number, len(model.pieces))
    return pieces


def _merges_work(pieces: _Pieces) -> Work[tuple[NDArray[np.int32], frozenset[int]]]:
    """int32 [n, 3], derived merges by score; and the ids of pieces that no merges make."""
    joined = [i for i, kind in enumerate(pieces.kinds) if kind == _NORMAL and len(pieces.texts[i]) > 1]
    joined.sort(key=lambda number: -pieces.scores[number])
    order = np.array(pieces.single + joined, np.int32)
    texts = [pieces.texts[number] for number in pieces.single + joined]
    offsets = np.fromiter(accumulate(map(len, texts), initial=0), np.int64, len(texts) + 1)
    # Characters without a piece are numbered after all pieces.
    number_of = np.arange(len(texts), len(texts) + CODE_POINTS, dtype=np.int32)
    points = np.frombuffer("".join(texts).encode("utf-32-le"), "<u4")
    number_of[points[: len(pieces.single)]] = np.arange(len(pieces.single), dtype=np.int32)
    parts = yield from recover_work(number_of[points], offsets)
    results = np.flatnonzero((parts[:, 0] >= 0) & (parts < len(texts)).all(axis=1))
    rows = np.column_stack((order[parts[results]], order[results])).astype(np.int32)
    others: list[int] = order[parts[:, 0] < 0].tolist()[len(pieces.single) :]
    return rows, frozenset(_unreachable(pieces, others))


def _unreachable(pieces: _Pieces, numbers: list[int]) -> list[int]:
    """The pieces that SentencePiece's merging, best score first, does not make of their texts."""
    score_of = {
        text: score
        for text, score, kind in zip(pieces.texts, pieces.scores, pieces.kinds, strict=True)
        if kind == _NORMAL
    }
    texts = ((number, pieces.texts[number]) for number in numbers[:_MOST_TRIED])
    return [number for number, text in texts if len(text) <= _LONGEST_TRIED and not _is_made(text, score_of)]


def _is_made(text: str, score_of: dict[str, float]) -> bool:
    parts = list(text)
    while len(parts) > 1:
        pairs = [(score_of[pair], -i) for i in range(len(parts) - 1) if (pair := parts[i] + parts[i + 1]) in score_of]
        if not pairs:
            return False
        at = -max(pairs)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return True
