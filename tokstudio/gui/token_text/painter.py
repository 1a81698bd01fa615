"""Draws rows of pieces: boxes, text, white space marks, ticks of shared pieces, ids, selection.

See also `rows.py` for the layout, and `token_view.py` for the selection and the pointer.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QPainter, QPen

from tokstudio.core.base.records import dataclass
from tokstudio.gui.style.theme import Palette
from tokstudio.gui.token_text.blocks import TokenBlocks
from tokstudio.gui.token_text.rows import PADDING, PieceBox
from tokstudio.gui.token_text.token_label import paint_special

if TYPE_CHECKING:
    from numpy.typing import NDArray

INSET = 3.0  # between the edge of a box and its text, above and below
_RADIUS = 4.0
_TICK_HEIGHT = 2.0
_MARK_HEIGHT = 2.5


@dataclass(frozen=True)
class TextStyle:
    """The state of the view that affects painting."""

    white_space: bool  # whether spaces next to other characters are marked
    id_font: QFont | None  # the font of the ids below the pieces; None to show no ids
    selection: tuple[int, int] | None  # first and last selected token, or None
    hovered: int  # the token below the mouse, or -1
    occurrences: NDArray[np.int64] | tuple[()]  # the occurrences of the target, ascending
    marked: frozenset[int] = frozenset()  # highlighted tokens


class RowPainter:
    """Paints rows with one painter, which is active and antialiased, during one paint event."""

    def __init__(self, painter: QPainter, rows: TokenBlocks, palette: Palette, look: TextStyle) -> None:
        self._painter, self._rows, self._look, self._palette = painter, rows, look, palette
        self._long = QBrush(QColor(palette.hover))
        self._colours = [QBrush(QColor(colour)) for colour in palette.tokens]
        self._text = QPen(QColor(palette.text))
        self._muted = QPen(QColor(palette.muted))
        self._dashes = QPen(QColor(palette.muted), 1, Qt.PenStyle.DotLine)
        self._mark = QPen(QColor(palette.muted), 1.2, c=Qt.PenCapStyle.RoundCap, j=Qt.PenJoinStyle.RoundJoin)
        self._dot = QPen(QColor(palette.muted), 2.4, c=Qt.PenCapStyle.RoundCap)
        self._occurrence_pen = QPen(QColor(palette.text), 1.5)
        self._outline = QPen(QColor(palette.accent), 2)
        self._accent = QColor(palette.accent)
        self._box_height = rows.height + 2 * INSET

    def paint_row(self, row: int, left: float, top: float) -> None:
        """Paints one row whose boxes begin at (`left`, `top`)."""
        painter = self._painter
        boxes = list(self._rows.boxes(row))
        for box in boxes:
            rectangle = self._rectangle(box, left, top)
            if box.special:
                paint_special(painter, rectangle, self._palette)
                continue
            painter.setPen(Qt.PenStyle.NoPen)
            # A piece that fills whole rows is pale: in its colour it would dominate all others.
            painter.setBrush(self._colours[box.colour] if box.end < 0 else self._long)
            painter.drawRoundedRect(rectangle, _RADIUS, _RADIUS)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setFont(self._rows.shaper.font)
        dots: list[QPointF] = []
        for box in boxes:
            self._paint_text(box, left + box.x + PADDING, top + INSET, dots)
        if dots:
            painter.setPen(self._dot)
            painter.drawPoints(dots)
        for box in boxes:
            self._paint_signs(box, self._rectangle(box, left, top))
        if self._look.id_font is not None:
            self._paint_ids(boxes, self._look.id_font, left, top + self._box_height)

    def _rectangle(self, box: PieceBox, left: float, top: float) -> QRectF:
        return QRectF(left + box.x, top, box.width, self._box_height)

    def _paint_text(self, box: PieceBox, x: float, y: float, dots: list[QPointF]) -> None:
        room = box.width - 2 * PADDING  # wider than the text if ticks or ids need more; then centred
        if box.plain:
            spare = room - len(box.raw) * self._rows.shaper.cell
            self._paint_plain(box.raw.decode("ascii"), x + max(0.0, spare / 2), y, dots)
            return
        shape = self._rows.shaper.shape(box.raw, box.begin, box.end)
        self._painter.setPen(self._text)
        x += max(0.0, (room - shape.width) / 2)
        shape.layout.draw(self._painter, QPointF(x, y + self._rows.ascent - shape.ascent))
        if self._look.white_space or shape.kind == "space":
            for character, middle in shape.marks():
                self._paint_mark(character, x + middle, y, dots)

    def _paint_plain(self, text: str, x: float, y: float, dots: list[QPointF]) -> None:
        cell = self._rows.shaper.cell
        blank = text.isspace()
        if not blank:
            self._painter.setPen(self._text)
            shown = text if text.isprintable() else text.replace("\n", " ").replace("\t", " ")
            self._painter.drawText(QPointF(x, y + self._rows.ascent), shown)
        if self._look.white_space or blank:
            for index, character in enumerate(text):
                if character in " \n\t":
                    self._paint_mark(character, x + (index + 0.5) * cell, y, dots)

    def _paint_mark(self, character: str, middle: float, y: float, dots: list[QPointF]) -> None:
        """Draws one mark with lines, as not every font has the characters."""
        centre = y + self._rows.ascent - self._rows.shaper.cell * 0.55
        if character == " ":
            dots.append(QPointF(middle, centre))
            return
        reach = self._rows.shaper.cell * 0.4
        self._painter.setPen(self._mark)
        if character == "\n":
            strokes = [(1, -0.9, 1, 0.4), (1, 0.4, -1, 0.4), (-1, 0.4, -0.35, -0.25), (-1, 0.4, -0.35, 1.05)]
        elif character == "\r":
            strokes = [(1, 0.4, -1, 0.4), (-1, 0.4, -0.35, -0.25), (-1, 0.4, -0.35, 1.05)]
        elif character == "\t":
            strokes = [(-1, 0, 0.8, 0), (0.8, 0, 0.1, -0.7), (0.8, 0, 0.1, 0.7), (1.1, -0.8, 1.1, 0.8)]
        else:  # any other space: an open box, so that it differs from a plain space
            strokes = [(-1, 0.3, -1, 1), (-1, 1, 1, 1), (1, 1, 1, 0.3)]
        for x1, y1, x2, y2 in strokes:
            start = QPointF(middle + x1 * reach, centre + y1 * reach)
            self._painter.drawLine(start, QPointF(middle + x2 * reach, centre + y2 * reach))

    def _paint_signs(self, box: PieceBox, rectangle: QRectF) -> None:
        selection = self._look.selection
        selected = selection is not None and selection[0] < box.first + box.tokens and selection[1] >= box.first
        inner = rectangle.adjusted(0.5, 0.5, -0.5, -0.5)
        if not box.plain and self._rows.shaper.shape(box.raw, box.begin, box.end).kind == "bytes":
            self._painter.setPen(self._dashes)
            self._painter.drawRoundedRect(inner, _RADIUS, _RADIUS)
        if box.tokens > 1:
            self._paint_ticks(box, rectangle)
        if not self._look.marked.isdisjoint(range(box.first, box.first + box.tokens)):
            self._painter.setPen(self._text)
            self._painter.drawRoundedRect(inner, _RADIUS, _RADIUS)
            bar = QRectF(rectangle.left() + 1, rectangle.bottom() - _MARK_HEIGHT, rectangle.width() - 2, _MARK_HEIGHT)
            self._painter.fillRect(bar, self._text.color())
        if selected:
            self._painter.setPen(self._outline)
            self._painter.drawRoundedRect(rectangle.adjusted(1, 1, -1, -1), _RADIUS - 1, _RADIUS - 1)
        elif self._is_occurrence(box):
            self._painter.setPen(self._occurrence_pen)
            self._painter.drawRoundedRect(rectangle.adjusted(0.75, 0.75, -0.75, -0.75), _RADIUS, _RADIUS)
        elif box.first <= self._look.hovered < box.first + box.tokens:
            self._painter.setPen(self._muted)
            self._painter.drawRoundedRect(inner, _RADIUS, _RADIUS)

    def _is_occurrence(self, box: PieceBox) -> bool:
        first, last = np.searchsorted(self._look.occurrences, (box.first, box.first + box.tokens))
        return bool(first < last)

    def _paint_ticks(self, box: PieceBox, rectangle: QRectF) -> None:
        """Draws a tick along the lower edge for each token that shares the piece."""
        selection = self._look.selection
        step = (rectangle.width() - 4) / box.tokens
        for token in range(box.first, box.first + box.tokens):
            selected = selection is not None and selection[0] <= token <= selection[1]
            height = _TICK_HEIGHT + (1 if selected else 0)
            tick = QRectF(
                rectangle.left() + 2 + box.mirror(token - box.first) * step + 0.75,
                rectangle.bottom() - height - (2.5 if selected else 1.5),
                max(step - 1.5, 1.0),
                height,
            )
            self._painter.fillRect(tick, self._accent if selected else self._muted.color())

    def _paint_ids(self, boxes: list[PieceBox], font: QFont, left: float, top: float) -> None:
        self._painter.setFont(font)
        self._painter.setPen(self._muted)
        height = self._painter.fontMetrics().height()
        flags = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextDontClip
        for box in boxes:
            if box.begin == 0:
                text = self._rows.id_text(box)
                self._painter.drawText(QRectF(left + box.x, top + 1, box.width, height), flags, text)
