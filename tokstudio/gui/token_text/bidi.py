"""Where the pieces of a row stand for a reader: what is written from right to left goes from right to left."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple


class Box(NamedTuple):
    """Where a piece, or the part of a long one, stands in its row.

    Attributes:
        x: Its left edge from the left edge of the row.
        width: Its width.
        raw: The bytes of the piece.
        first: Its first token.
        tokens: How many tokens it holds.
        colour: Which of the colours of tokens it has.
        plain: Whether it is one cell a byte.
        special: Whether it is a special token.
        begin: The first character that is drawn; 0 but in parts of a long piece.
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
        """Whether it is read from right to left, so that the first of its tokens stands at the right."""
        return direction(self.raw) > 0

    def mirror(self, number: int) -> int:
        """Which of its tokens, from the left, the one with this number is; or the other way round."""
        return self.tokens - 1 - number if self.mirrored else number


def placed_for_reading(boxes: Sequence[Box]) -> list[Box]:
    """Mirrors the places of each stretch that is read from right to left, in a row that is read from the left.

    Args:
        boxes: A row in the order of the text, from left to right.

    Returns:
        The same boxes in the same order; only `x` differs.
    """
    placed = list(boxes)
    for first, last in _stretches([direction(box.raw) for box in boxes]):
        left, right = boxes[first].x, boxes[last].x + boxes[last].width
        for index in range(first, last + 1):
            box = boxes[index]
            placed[index] = box._replace(x=left + right - box.x - box.width)
    return placed


@lru_cache(maxsize=1 << 15)
def direction(raw: bytes) -> int:
    """How a piece is read: 1 from right to left, -1 from left to right, 0 as what stands around it."""
    for character in raw.decode("utf-8", "ignore"):
        kind = unicodedata.bidirectional(character)
        if kind in ("R", "AL"):
            return 1
        if kind == "L":
            return -1
    return 0


def _stretches(directions: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of two or more pieces from right to left, with what is neutral between them."""
    first = last = -1
    for index, way in enumerate([*directions, -1]):
        if way > 0:
            first, last = (index if first < 0 else first), index
        elif way < 0:
            if first < last:
                yield first, last
            first = last = -1
