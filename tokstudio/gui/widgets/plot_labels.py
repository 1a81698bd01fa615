"""Texts written into a plot: inside it, beside their places, never over one another. What they say is the plot's."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

if TYPE_CHECKING:
    from tokstudio.gui.theme import Palette, Theme

_PADDING = 6.0
_OVER_ANOTHER = 4  # the cost of a place where another label stands
_DISTANCES = (8.0, 36.0, 64.0, 92.0)


def draw_caption(painter: QPainter, width: float, theme: Theme, text: str) -> None:
    """Writes above a plot what its axes are: beside and below them it would take more of a low pane."""
    painter.setFont(theme.tabular_font())
    painter.setPen(QColor(theme.palette.muted))
    metrics = QFontMetricsF(painter.font())
    words = metrics.elidedText(text, Qt.TextElideMode.ElideRight, width - 2 * _PADDING)
    painter.drawText(QPointF(_PADDING, metrics.ascent()), words)


class PlotLabels:
    """Writes the labels of one picture, those that matter most first.

    Args:
        painter: What to write with, its font set.
        area: Where labels may stand.
        palette: Their colours.
        covers_curve: Whether a label there would hide the curve.
    """

    def __init__(
        self, painter: QPainter, area: QRectF, palette: Palette, covers_curve: Callable[[QRectF], bool]
    ) -> None:
        self._painter = painter
        self._area = area.adjusted(0, 2, 0, -2)
        self._palette = palette
        self._covers_curve = covers_curve
        self._written: list[QRectF] = []

    def write(self, place: QPointF, text: str, *, framed: bool) -> None:
        """Writes beside a place, a framed text rather above it; where an earlier text leaves no room, not at all."""
        metrics = QFontMetricsF(self._painter.font())
        text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, self._area.width() - 2 * _PADDING)
        if not text:
            return
        box = self._box(place, QSizeF(metrics.horizontalAdvance(text) + 2 * _PADDING, metrics.height() + 4), framed)
        if self._overlaps(box):
            return
        self._written.append(box)
        ground = QColor(self._palette.surface)
        ground.setAlphaF(0.94 if framed else 0.85)
        self._painter.setPen(QPen(QColor(self._palette.border), 1) if framed else Qt.PenStyle.NoPen)
        self._painter.setBrush(ground)
        self._painter.drawRoundedRect(box, 4, 4)
        self._painter.setPen(QColor(self._palette.text))
        self._painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    def _box(self, place: QPointF, size: QSizeF, above: bool) -> QRectF:
        lefts = place.x() + _PADDING, place.x() - _PADDING - size.width()
        sides = [(place.y() + far, place.y() - far - size.height()) for far in _DISTANCES]
        tops = [top for below, over in sides for top in ((over, below) if above else (below, over))]
        choices = [QRectF(QPointF(left, top), size) for left in lefts for top in tops]
        costs = {number: self._cost(box) for number, box in enumerate(choices)}
        best = sorted(costs, key=costs.__getitem__)
        places = (self._inside(choices[number]) for number in best if costs[number] < _OVER_ANOTHER)
        # Where the curve runs is asked last, for as few places as will do: it takes the longest.
        free = next((box for box in places if not self._covers_curve(box)), None)
        return self._inside(choices[best[0]]) if free is None else free

    def _cost(self, box: QRectF) -> int:
        inside = self._inside(QRectF(box))
        return _OVER_ANOTHER * self._overlaps(inside) + 2 * (inside.left() != box.left()) + (inside != box)

    def _inside(self, box: QRectF) -> QRectF:
        area = self._area
        box.moveLeft(max(min(box.left(), area.right() - box.width()), area.left()))
        box.moveTop(max(min(box.top(), area.bottom() - box.height()), area.top()))
        return box

    def _overlaps(self, box: QRectF) -> bool:
        return any(box.intersects(other) for other in self._written)
