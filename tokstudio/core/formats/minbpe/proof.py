"""Proves minbpe's model with an independent, slow implementation of minbpe's reader and encoder."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.proof import Ids, compare_work, trials_work
from tokstudio.core.pretokenization.custom_regex import without_newer
from tokstudio.core.pretokenization.patterns import splitter

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_HOW = "read back as minbpe reads it"
# Each step compares one pair of tokens; about two million take a second.
_MOST_STEPS = 4_000_000
_LARGEST_SAMPLE = 200_000
_PIECE = 1 << 10  # without a pattern, twice the text takes four times as long
_MANY = 1 << 16


def prove_work(held: Tokenizer, path: Path, name: str, sample: str) -> Work[str]:
    """Proves that minbpe, given the pattern in the file, has the ids and texts of `held`; otherwise FormatError.

    Encodes a hard text, and as much of the sample as takes a second or two, without characters that only a newer
    Unicode has.
    """
    hard = yield from trials_work(held, "")
    sample = without_newer(sample[:_LARGEST_SAMPLE])
    pieces = [sample[start : start + _PIECE] for start in range(0, len(sample), _PIECE)]
    model = _Model(path.read_text(encoding="utf-8"))
    if model.special_tokens != held.special_tokens:
        raise FormatError(f"{name}: {_HOW}, its special tokens differ.")
    ours, theirs = Ids(), Ids()
    for text in (*(trial.text for trial in hard.texts), *pieces):
        # TokStudio's encoding first, because it has a time limit and the bare expression has none.
        ours.append((yield from held.encode_work(text, "all")))
        # Where few pre-tokens have merges, equal ids would prove little.
        if fault := _first_split(model.split(text), splitter(held.pattern).split(text)):
            raise FormatError(f"{name}: {_HOW}, {fault}.")
        ids = yield from model.encode_work(text)
        theirs.append(np.array(ids, np.uint32))
        if np.array_equal(ours[-1], theirs[-1]) and model.decode(ids) != held.decode(ids):
            raise FormatError(f"{name}: {_HOW}, its ids do not decode to {shown(text)}.")
        if model.steps > _MOST_STEPS:
            break
    return (yield from compare_work(held, name, _HOW, ours, theirs))


def _first_split(theirs: list[str], ours: list[bytes]) -> str | None:
    """The first difference of two ways to split a text, as the end of a sentence; None where they are equal."""
    for piece, our_piece in zip_longest(theirs, ours):
        if piece is None or our_piece is None or piece.encode() != our_piece:
            ours_shown = shown((our_piece or b"").decode("utf-8", "replace"))
            return f"text is split differently: {shown(piece or '')} instead of {ours_shown}"
    return None


class _Model:
    """A model by its lines: each merge has the next id, and the lowest id is merged first; `steps` counts pairs."""

    def __init__(self, content: str) -> None:
        import regex

        lines = iter(content.removesuffix("\n").split("\n"))
        assert next(lines).strip() == "minbpe v1"
        pattern = next(lines)
        self._pattern = regex.compile(pattern) if pattern else None
        special_lines = [next(lines).split() for _ in range(int(next(lines)))]
        self.special_tokens = {token: int(number) for token, number in special_lines}
        self._merges = {(int(left), int(right)): 256 + row for row, (left, right) in enumerate(map(str.split, lines))}
        self._vocabulary = {byte: bytes([byte]) for byte in range(256)}
        for (left, right), made in self._merges.items():
            self._vocabulary[made] = self._vocabulary[left] + self._vocabulary[right]
        self._vocabulary |= {number: token.encode() for token, number in self.special_tokens.items()}
        self._known: dict[str, list[int]] = {}
        self.steps = 0

    def encode_work(self, text: str) -> Work[list[int]]:
        ids: list[int] = []
        for part in self._parts(text):
            if part in self.special_tokens:
                ids.append(self.special_tokens[part])
                continue
            for piece in self.split(part):
                if piece not in self._known:
                    self._known[piece] = yield from self._merged_work(list(piece.encode()))
                ids += self._known[piece]
        return ids

    def split(self, text: str) -> list[str]:
        return self._pattern.findall(text) if self._pattern is not None else [text] if text else []

    def decode(self, ids: list[int]) -> str:
        return b"".join(self._vocabulary[token] for token in ids).decode("utf-8", "replace")

    def _parts(self, text: str) -> Iterator[str]:
        """The special tokens of a text, and the texts between them."""
        if not self.special_tokens:
            return iter([text])
        either = "|".join(map(re.escape, self.special_tokens))
        return filter(None, re.split(f"({either})", text))

    def _rank(self, pair: tuple[int, int]) -> int:
        return self._merges.get(pair, len(self._vocabulary))

    def _merged_work(self, ids: list[int]) -> Work[list[int]]:
        looked_at = 0
        while len(ids) > 1:
            looked_at += len(ids)
            pair = min(set(pairwise(ids)), key=self._rank)
            if pair not in self._merges:
                break
            ids = _joined(ids, pair, self._merges[pair])
            if looked_at > _MANY:
                self.steps += looked_at
                looked_at = 0
                yield Progress("proving")
        self.steps += looked_at
        return ids


def _joined(ids: list[int], pair: tuple[int, int], made: int) -> list[int]:
    """Merges every occurrence of a pair, from the left: `([1, 1, 1], (1, 1), 2)` gives `[2, 1]`."""
    joined: list[int] = []
    at = 0
    while at < len(ids):
        is_pair = at + 1 < len(ids) and (ids[at], ids[at + 1]) == pair
        joined.append(made if is_pair else ids[at])
        at += 2 if is_pair else 1
    return joined
