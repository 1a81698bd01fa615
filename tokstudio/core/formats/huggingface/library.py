"""Opens a `tokenizer.json` through its own library, where it needs something that TokStudio does not support.

Collects what can be shown of it: tokens, special tokens, the merges that form a tree.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.formats.common.line_reader import read_whole
from tokstudio.core.formats.common.merge_list import sensible_ids
from tokstudio.core.formats.common.vocabulary import shown_alphabet, spelled
from tokstudio.core.formats.huggingface import models
from tokstudio.core.formats.huggingface.parts import ParsedFile, parts_in

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer

_LARGEST = 1 << 28
_REPORTED = 1 << 14
_BYTE_PIECE = re.compile(r"<0x([0-9A-F]{2})>")


def library_work(path: Path | bytes, name: str, parsed: ParsedFile, reason: str) -> Work[LibraryTokenizer]:
    """The tokenizer that the library makes of the file, for a reason that `LibraryTokenizer` explains.

    Raises:
        FormatError: The library refuses the file, or it is too large; the message begins with `name`.
    """
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
    with sensible_ids(name):
        tokenizer = LibraryTokenizer(
            LibraryFile("tokenizers", name, files, {"added_tokens": added} if added else {}),
            Vocabulary(
                alphabet,
                rows,
                specials,
                extra,
                pieces,
                model=parsed.kind,
                remarks=(*parsed.remarks, *models.remarks(parsed.kind, parsed.model, parsed.vocabulary)),
                settings=parsed.noted(None, False),
                tokens_beside=parsed.tokens_beside,
            ),
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
    made = set(rows[:, 2].tolist())
    there = {token for token in tokens if token in base or token not in made}
    tree: list[tuple[int, int, int]] = []
    for number, (left, right, result) in enumerate(rows.tolist()):
        is_next = left in there and right in there and result in tokens and result not in there
        if is_next and tokens[left] + tokens[right] == tokens[result]:
            there.add(result)
            tree.append((left, right, result))
        if number % _REPORTED == 0:
            yield Progress("reading", number, len(rows))
    return np.array(tree, np.int32).reshape(-1, 3)
