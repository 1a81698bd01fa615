"""Draws the cells of tables of tokens: figures, words, tokens with marks of white space, bytes.

It paints everything itself: a style sheet takes several times as long per cell.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import lru_cache
from itertools import accumulate

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.model import TokenCell, TokenColumn, TokenTable
from tokstudio.gui.token_text.spelling import Shown, mark_of, marked
from tokstudio.gui.token_text.token_label import paint_special
from tokstudio.gui.widgets.labels import END, ISOLATE, is_right_to_left, laid_out, utf16_offsets

PADDING = 6  # left and right of the text of a cell
_MARK_WIDTH = 3
_DIMMED = 0.6
_PLUS = " + "
_MOST_MEASURED = 4096  # cells


class TokenCells:
    """Paints the cells of a `TokenTable` in the colours and sizes of the theme."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self.apply_style()

    def apply_style(self) -> None:
        """Updates fonts and colours; call it after a change of the theme."""
        self.figures, self.letters = QFont(self._theme.tabular_font()), QFont(self._theme.monospace_font())
        self.metrics = {True: QFontMetricsF(self.figures), False: QFontMetricsF(self.letters)}
        # Cached, as most cells are painted again, and Qt takes longer to measure a text than to draw it.
        self._fitting = lru_cache(_MOST_MEASURED)(self._fit)
        self._palette = palette = self._theme.palette
        self._text, self._muted = QColor(palette.text), QColor(palette.muted)
        self._mark_in_muted = QColor(palette.control)
        self._accent, self._soft, self._hover = (
            QColor(palette.accent),
            QColor(palette.accent_soft),
            QColor(palette.hover),
        )

    @property
    def row_height(self) -> int:
        """The height of every row in pixels: enough for scripts that are taller than Latin."""
        return round(max(self.metrics[True].height(), self.metrics[False].height())) + self._theme.scaled(8)

    def width_of(self, text: str, column: TokenColumn) -> int:
        """The width in pixels of a cell with this text."""
        metrics = self.metrics[column.kind in ("number", "words")]
        return round(metrics.horizontalAdvance(text) + 0.5) + 2 * PADDING

    def paint(self, painter: QPainter, rect: QRect, model: TokenTable, row: int, at: int, *, selected: bool) -> None:
        """Paints a cell, given by row and column, into a rectangle; changes the state of the painter."""
        cell, column = model.cell(row, at), model.columns[at]
        if selected:
            painter.fillRect(rect, self._soft)
        elif cell.marked:
            painter.fillRect(rect, self._hover)
        if cell.marked and at == 0:
            painter.fillRect(rect.left(), rect.top(), _MARK_WIDTH, rect.height(), self._accent)
        if cell.dimmed:
            painter.setOpacity(_DIMMED)
        area = QRectF(rect).adjusted(PADDING, 0, -PADDING, 0)
        colour = self._accent if cell.marked and at == 0 else self._muted if column.muted else self._text
        if cell.tokens:
            painter.setFont(self.letters)
            if cell.special:
                width = min(self.metrics[False].horizontalAdvance(cell.text), area.width())
                frame = QRectF(area.left(), area.top(), width, area.height()).adjusted(-4, 3, 4, -3)
                paint_special(painter, frame.toAlignedRect().toRectF(), self._palette)
            self._paint_tokens(painter, area, cell, colour)
        else:
            self._paint_words(painter, area, cell.text, column, colour)

    def _fit(self, text: str, words: bool, room: float) -> tuple[str, float]:
        """The part of a text that fits into a width in pixels, and its width."""
        metrics = self.metrics[words]
        fitting = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room + 1)
        return fitting, metrics.horizontalAdvance(fitting)

    def _paint_words(self, painter: QPainter, area: QRectF, text: str, column: TokenColumn, colour: QColor) -> None:
        words = column.kind in ("number", "words")
        painter.setFont(self.figures if words else self.letters)
        painter.setPen(colour)
        text, width = self._fitting(text, words, area.width())
        left = area.right() - width if column.kind == "number" else area.left()
        painter.drawText(QPointF(left, _baseline(area, self.metrics[words])), text)

    def _paint_tokens(self, painter: QPainter, area: QRectF, cell: TokenCell, colour: QColor) -> None:
        metrics = self.metrics[False]
        text, _ = self._fitting(cell.text, False, area.width())
        paler = self._mark_in_muted if colour == self._muted else self._muted
        marks = [place for place in _marked_places(cell.tokens) if place[0] < len(text)]
        if not marks and text.isascii():
            painter.setPen(colour)
            painter.drawText(QPointF(area.left(), _baseline(area, metrics)), text)
            return
        drawn, units = _isolated(text, cell.tokens) if is_right_to_left(text) else (text, utf16_offsets(text))
        colours = [(0, units[-1], colour), *((units[a], units[min(b, len(text))], paler) for a, b in marks)]
        layout = laid_out(drawn, self.letters, colours)
        painter.setClipRect(area)
        layout.draw(painter, QPointF(area.left(), _baseline(area, metrics) - layout.lineAt(0).ascent()))


def _baseline(area: QRectF, metrics: QFontMetricsF) -> float:
    return area.top() + (area.height() - metrics.height()) / 2 + metrics.ascent()


def _marked_places(tokens: tuple[Shown, ...]) -> list[tuple[int, int]]:
    """The offsets of marks and dots in the tokens' text, joined as in `TokenCell.text`."""
    places: list[tuple[int, int]] = []
    at = 0
    for number, token in enumerate(tokens):
        if number:
            places.append((at, at + len(_PLUS)))
            at += len(_PLUS)
        length = len(marked(token))
        if token.kind == "bytes":
            places.append((at, at + length))
        elif not token.text.isalnum():
            places += [(at + i, at + i + 1) for i, character in enumerate(token.text) if mark_of(character)]
        at += length
    return places


def _isolated(text: str, tokens: tuple[Shown, ...]) -> tuple[str, list[int]]:
    """Isolates the direction of each token in a text; returns the text and the offsets of its original characters.

    A space, a full stop or dots at the end of a token stay at its end, and the left part of a pair stays on the left.
    """
    signs: dict[int, str] = {}
    at = 0
    for token in tokens:
        signs[at], signs[at + len(marked(token))] = ISOLATE, END
        at += len(marked(token)) + len(_PLUS)
    drawn = "".join(signs.get(place, "") + character for place, character in enumerate([*text, ""]))
    units = utf16_offsets(text)
    before = accumulate(int(place in signs) for place in range(len(units)))
    return drawn, [unit + more for unit, more in zip(units, before, strict=True)]
