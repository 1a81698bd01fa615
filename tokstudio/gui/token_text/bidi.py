"""The visual positions of the pieces of a row, with right-to-left text from right to left."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple


class PieceBox(NamedTuple):
    """The position of a piece, or of a part of a long one, in its row.

    Attributes:
        x: Its left edge from the left edge of the row.
        width: Its width.
        raw: The bytes of the piece.
        first: Its first token.
        tokens: The number of its tokens.
        colour: The number of its colour.
        plain: Whether each byte is one cell wide.
        special: Whether it is a special token.
        begin: The first character that is drawn; 0 except in parts of a long piece.
        end: The character after the last one drawn, or -1 for all.
    """

    x: float
    width: float
    raw: bytes
    first: int
    tokens: int
    colour: int
    plain: bool
    special: bool
    begin: int = 0
    end: int = -1

    @property
    def mirrored(self) -> bool:
        """Whether it is read from right to left, so that its first token is at the right."""
        return direction(self.raw) > 0

    def mirror(self, number: int) -> int:
        """The index from the left of the token with this number, or the number of the token at this index."""
        return self.tokens - 1 - number if self.mirrored else number


def placed_for_reading(boxes: Sequence[PieceBox]) -> list[PieceBox]:
    """Mirrors the positions of each right-to-left run of pieces in a left-to-right row.

    Args:
        boxes: A row in the order of the text, from left to right.

    Returns:
        The same boxes in the same order; only `x` differs.
    """
    placed = list(boxes)
    for first, last in _right_to_left_runs([direction(box.raw) for box in boxes]):
        left, right = boxes[first].x, boxes[last].x + boxes[last].width
        for index in range(first, last + 1):
            box = boxes[index]
            placed[index] = box._replace(x=left + right - box.x - box.width)
    return placed


@lru_cache(maxsize=1 << 15)
def direction(raw: bytes) -> int:
    """The direction of a piece: 1 from right to left, -1 from left to right, 0 neutral."""
    for character in raw.decode("utf-8", "ignore"):
        kind = unicodedata.bidirectional(character)
        if kind in ("R", "AL"):
            return 1
        if kind == "L":
            return -1
    return 0


def _right_to_left_runs(directions: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and last index of each right-to-left run of two or more pieces, including neutral ones between them."""
    first = last = -1
    for index, way in enumerate([*directions, -1]):
        if way > 0:
            first, last = (index if first < 0 else first), index
        elif way < 0:
            if first < last:
                yield first, last
            first = last = -1
