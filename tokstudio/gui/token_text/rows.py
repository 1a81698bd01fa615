"""Measures pieces and breaks them into rows of a given width.

It neither draws nor scrolls. See also `blocks.py`, which uses these rows for the parts of a text.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetricsF, QTextLayout, QTextLine, QTextOption

from tokstudio.core.base.records import dataclass
from tokstudio.core.pretokenization.custom_regex import compiled
from tokstudio.gui.token_text.spelling import ENDS_ROW, PLAIN, SPECIAL, Kind, PieceTable, describe, standing

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- The visual positions of the pieces of a row, with right-to-left text from right to left --------------------------


class PieceBox(NamedTuple):
    """The position of a piece, or of a part of a long one, in its row."""

    x: float  # its left edge from the left edge of the row
    width: float  # its width
    raw: bytes  # the bytes of the piece
    first: int  # its first token
    tokens: int  # the number of its tokens
    colour: int  # the number of its colour
    plain: bool  # whether each byte is one cell wide
    special: bool  # whether it is a special token
    begin: int = 0  # the first character that is drawn; 0 except in parts of a long piece
    end: int = -1  # the character after the last one drawn, or -1 for all

    @property
    def mirrored(self) -> bool:
        """Whether it is read from right to left, so that its first token is at the right."""
        return direction(self.raw) > 0

    def mirror(self, number: int) -> int:
        """The index from the left of the token with this number, or the number of the token at this index."""
        return self.tokens - 1 - number if self.mirrored else number


def placed_for_reading(boxes: Sequence[PieceBox]) -> list[PieceBox]:
    """The boxes of a row in the order of the text, with the places of each right-to-left run mirrored."""
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


PADDING = 4.0  # between the edge of a piece and its text
GAP = 2.0  # between two pieces
TICK = 3.0  # the least width of the tick of each token that shares a piece
ROW_GAP = 5.0
_KEPT_SHAPES = 20_000
_LONGEST_TEXT = 20_000  # characters of one piece that are drawn
_SPACE = r"\s"


@dataclass(frozen=True)
class Shape:
    """The layout of a text that is not plain ASCII."""

    text: str  # the text, for `marks`
    kind: Kind  # as in `Piece`
    layout: QTextLayout  # the text laid out on one line; white space in it is not drawn
    width: float  # its advance in pixels
    ascent: float  # from its top to its baseline
    height: float  # from its top to its bottom

    def marks(self) -> Iterator[tuple[str, float]]:
        """Yields each white space character with its horizontal centre."""
        if self.kind == "bytes" or compiled(_SPACE).search(self.text) is None:
            return
        line, position = self.layout.lineAt(0), 0
        for character in self.text:
            width = 2 if ord(character) > 0xFFFF else 1
            if character.isspace():
                yield character, (_cursor_x(line, position) + _cursor_x(line, position + width)) / 2
            position += width


class Shaper:
    """Lays out texts in one font and caches them.

    Args:
        font: A monospaced font for text.
        hex_font: A smaller one for pieces shown as bytes.
    """

    def __init__(self, font: QFont, hex_font: QFont) -> None:
        self.font, self.hex_font = font, hex_font
        metrics = QFontMetricsF(font)
        self.cell = metrics.horizontalAdvance("M" * 100) / 100
        self.ascent = metrics.ascent()
        self.height = metrics.height()
        self._hex_cell = QFontMetricsF(hex_font).horizontalAdvance("0" * 100) / 100
        self._one_line = _option(QTextOption.WrapMode.NoWrap)
        self._shapes: OrderedDict[tuple[bytes, int, int], Shape] = OrderedDict()

    def measure(self, raw: bytes) -> tuple[float, float, float]:
        """Returns width, ascent and height of the piece with these bytes."""
        text, kind = describe(raw)
        if kind == "bytes":
            return len(text) * self._hex_cell, self.ascent, self.height
        shape = self.shape(raw)
        return shape.width, shape.ascent, shape.height

    def shape(self, raw: bytes, begin: int = 0, end: int = -1) -> Shape:
        """Returns the shape of the characters `begin` to `end` (-1: all) of the piece with these bytes."""
        key = (raw, begin, end)
        shape = self._shapes.get(key)
        if shape is None:
            if len(self._shapes) >= _KEPT_SHAPES:
                self._shapes.popitem(last=False)
            text, kind = describe(raw)
            shape = self._shapes[key] = self._lay_out(text[begin : None if end < 0 else end], kind)
        return shape

    def parts(self, raw: bytes, width: float) -> list[tuple[int, int]]:
        """Breaks the text of a long piece for lines of `width`: the first character and the end of each."""
        text, kind = describe(raw)
        text = text[:_LONGEST_TEXT]
        layout = QTextLayout(_blank(text), self.hex_font if kind == "bytes" else self.font)
        layout.setTextOption(_option(QTextOption.WrapMode.WrapAnywhere))
        ends: list[int] = []
        layout.beginLayout()
        while (line := layout.createLine()).isValid():
            line.setLineWidth(width)
            ends.append(line.textStart() + line.textLength())
        layout.endLayout()
        ends = [_characters(text, end) for end in ends]
        return list(zip([0, *ends], ends, strict=False))

    def _lay_out(self, text: str, kind: Kind) -> Shape:
        text = standing(text[:_LONGEST_TEXT])
        layout = QTextLayout(_blank(text), self.hex_font if kind == "bytes" else self.font)
        layout.setTextOption(self._one_line)
        layout.setCacheEnabled(True)
        layout.beginLayout()
        line = layout.createLine()
        if line.isValid():
            line.setLineWidth(1e7)
        layout.endLayout()
        if not line.isValid():
            return Shape("", kind, layout, 0.0, self.ascent, self.height)
        return Shape(text, kind, layout, line.naturalTextWidth(), line.ascent(), line.height())


class TokenRows:
    """The rows of a short text.

    Args:
        table: Its pieces.
        shaper: Measures pieces that are not plain ASCII.
        id_cell: The width of a digit of the ids below the pieces, or 0 if no ids are shown.
        width: The width of a row.
    """

    def __init__(self, table: PieceTable, shaper: Shaper, id_cell: float, width: float) -> None:
        self.table, self.shaper = table, shaper
        self.height = shaper.height  # the height of the tallest piece
        self.ascent = shaper.ascent  # the ascent of the same piece
        self._id_cell, self._width = id_cell, width
        self._id_room = id_room(width, id_cell)
        self._left = self._find_lefts()  # the left edge of each piece if all were in one row
        self._firsts: list[int] = []  # row -> its first piece
        self._parts: dict[int, tuple[int, int]] = {}  # row -> the characters of its part of a long piece
        self._break()

    def __len__(self) -> int:
        return len(self._firsts)

    def row_of(self, piece: int) -> int:
        """Returns the row where `piece` begins."""
        row = bisect_right(self._firsts, piece) - 1
        return bisect_left(self._firsts, self._firsts[row])  # a long piece is the first of several rows

    def first_piece(self, row: int) -> int:
        """Returns the first piece of a row."""
        return self._firsts[row]

    def boxes(self, row: int) -> Iterator[PieceBox]:
        """Returns the boxes of a row in the order of the text, with right-to-left runs mirrored."""
        boxes = list(self._boxes_in_order(row))
        if all(box.plain for box in boxes):
            return iter(boxes)
        return iter(placed_for_reading(boxes))

    def _boxes_in_order(self, row: int) -> Iterator[PieceBox]:
        table, begin = self.table, self._firsts[row]
        part = self._parts.get(row)
        after = begin + 1 if part else self._firsts[row + 1] if row + 1 < len(self._firsts) else table.count
        lefts = (self._left[begin : after + 1] - self._left[begin]).tolist()
        tokens = table.first[begin : after + 1].tolist()
        edges = table.edges[tokens].tolist()
        flags = table.flags[begin:after].tolist()
        colours = table.colours[begin:after].tolist()
        for index, colour in enumerate(colours):
            raw = table.data[edges[index] : edges[index + 1]]
            count = tokens[index + 1] - tokens[index]
            width = lefts[index + 1] - lefts[index] - GAP
            plain, special = bool(flags[index] & PLAIN), bool(flags[index] & SPECIAL)
            box = PieceBox(lefts[index], width, raw, tokens[index], count, colour, plain, special)
            yield self._part_box(box, part) if part else box

    def _part_box(self, box: PieceBox, part: tuple[int, int]) -> PieceBox:
        width = self.shaper.shape(box.raw, *part).width
        if part[0] == 0:
            ids = self.table.ids[box.first : box.first + box.tokens].tolist()
            width = max(width, len(id_text(ids, self._id_room)) * self._id_cell)
        width = min(width + 2 * PADDING, self._width)
        return box._replace(width=width, begin=part[0], end=part[1], plain=False)

    def _find_lefts(self) -> NDArray[np.float64]:
        table, first = self.table, self.table.first
        widths = np.diff(table.edges[first]) * self.shaper.cell
        for index in np.flatnonzero((table.flags & PLAIN) == 0).tolist():
            widths[index], ascent, height = self.shaper.measure(table.raw(index))
            self.ascent = max(self.ascent, ascent)
            self.height = max(self.height, self.ascent + height - ascent)
        counts = np.diff(first)
        # Ticks and ids make no piece wider than a row: only a text can be broken.
        room = self._width - 2 * PADDING
        widths = np.maximum(widths, np.where(counts > 1, np.minimum(counts * TICK, room), 0.0))
        if self._id_cell:
            # The width of `id_text`: digits, and a space between two ids.
            digits = np.append(0, np.cumsum(_digits(table.ids)))
            characters = np.diff(digits[first]) + counts - 1
            for index in np.flatnonzero(characters > self._id_room).tolist():
                ids = table.ids[first[index] : first[index + 1]].tolist()
                characters[index] = len(id_text(ids, self._id_room))
            widths = np.maximum(widths, np.minimum(characters * self._id_cell, room))
        return np.append(0.0, np.cumsum(widths + (2 * PADDING + GAP)))

    def _break(self) -> None:
        """Breaks the pieces into rows. Every row begins where the one before ended; a newline ends a row."""
        lefts = self._left.tolist()  # searching a list is four times as fast as searching an array
        room = self._width + GAP + 0.01
        ends, newline = np.flatnonzero(self.table.flags & ENDS_ROW).tolist(), 0
        start = 0
        while start < self.table.count:
            end = bisect_right(lefts, lefts[start] + room, lo=start) - 1
            while newline < len(ends) and ends[newline] < start:
                newline += 1
            if newline < len(ends) and ends[newline] < end:
                end = ends[newline] + 1
            if end == start:
                self._break_long(start)
                end = start + 1
            else:
                self._firsts.append(start)
            start = end

    def _break_long(self, piece: int) -> None:
        for part in self.shaper.parts(self.table.raw(piece), max(self._width - 2 * PADDING, 1.0)):
            self._parts[len(self._firsts)] = part
            self._firsts.append(piece)


def id_room(width: float, id_cell: float) -> int:
    """Returns how many characters of ids fit below a piece of this width; 0 if no ids are shown."""
    return int((width - 2 * PADDING) / id_cell + 0.01) if id_cell else 0


def id_text(ids: Sequence[int], room: int) -> str:
    """Returns the first ids that fit, and the number of the others.

    `[240, 159, 143]` -> `"240 159 143"` in 11 characters, `"240 159 +1"` in 10, `"240 +2"` in 9.
    """
    texts = [str(token) for token in ids]
    text = " ".join(texts)
    if len(text) <= room:
        return text
    shown = length = 0
    for shown, token in enumerate(texts):
        length += len(token) + 1
        if length + len(f"+{len(texts) - shown - 1}") > room:
            break
    return " ".join([*texts[:shown], f"+{len(texts) - shown}"])


def _option(mode: QTextOption.WrapMode) -> QTextOption:
    # Absolute, so that a right-to-left text begins at the left edge of its box too.
    option = QTextOption(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignAbsolute)
    option.setWrapMode(mode)
    return option


def _blank(text: str) -> str:
    # Unlike spaces, non-breaking spaces count in the width at the end of a line; marks are drawn over them.
    return compiled(_SPACE).sub("\u00a0", text)


def _digits(numbers: NDArray[Any]) -> NDArray[np.int64]:
    return np.searchsorted(10 ** np.arange(1, 10), numbers, side="right") + 1


def _cursor_x(line: QTextLine, position: int) -> float:
    return cast("tuple[float, int]", line.cursorToX(position))[0]


def _characters(text: str, units: int) -> int:
    """Returns how many characters the first `units` UTF-16 units of `text` are."""
    return len(text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore"))
