"""The pens of curves and the legend of a picture."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from tokstudio.gui.style.theme import LIGHT, Palette

COLOURS = 1 + len(LIGHT.curves)  # of curves
GREY = COLOURS - 1  # the last of them, which is grey

_SWATCH = 18.0
_GAP = 8.0
_WIDEST = 0.3  # maximum share of the picture width for the legend
_DASHES = ([], [5.0, 3.0], [9.0, 3.0, 2.0, 3.0])  # in pixels, by how often all colours were used before; [] for none


def curve_pen(palette: Palette, hue: int, *, active: bool, dotted: bool = False) -> QPen:
    """The pen of a curve: wide for the active run; dashed after the last colour.

    The curve of held-out text is dotted, in the colour of its run.
    """
    colours = (palette.accent, *palette.curves)
    turn, place = divmod(hue, len(colours))
    pen = QPen(QColor(colours[place]), 2.0 if active else 1.0)
    pen.setCosmetic(True)
    if dotted:
        pen.setDashPattern([1.5, 2.0] if active else [2.0, 3.0])
    elif dashes := _DASHES[turn % len(_DASHES)]:
        pen.setDashPattern([part / pen.widthF() for part in dashes])
    return pen


def draw_mark(painter: QPainter, pen: QPen, place: QPointF, radius: float, *, active: bool) -> None:
    """Draws the mark of a curve with this pen: a disc for the active run, else a ring; broken for a dashed curve."""
    dashed = pen.style() == Qt.PenStyle.CustomDashLine
    ring = QPen(pen.color(), 1.5)
    if dashed:
        ring.setDashPattern([1.5, 1.4] if len(pen.dashPattern()) == 2 else [4.0, 1.6])
        ring.setCapStyle(Qt.PenCapStyle.FlatCap)
    painter.setPen(ring)
    painter.setBrush(pen.color() if active and not dashed else Qt.BrushStyle.NoBrush)
    painter.drawEllipse(place, radius, radius)
    if active and dashed:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(pen.color())
        painter.drawEllipse(place, radius / 2, radius / 2)


def legend_width(names: Sequence[str], metrics: QFontMetricsF, width: float) -> float:
    """The width of the legend in a picture of `width` pixels; a single curve needs no legend."""
    if len(names) < 2:
        return 0.0
    return min(max(map(metrics.horizontalAdvance, names)) + _SWATCH + 3 * _GAP, _WIDEST * width)


def draw_legend(painter: QPainter, area: QRectF, palette: Palette, rows: Sequence[tuple[QPen, str, str]]) -> None:
    """Draws one row per curve: a line sample, the name, and what follows it, which is never shortened.

    If there are too many, the last row counts the rest.
    """
    metrics = QFontMetricsF(painter.font())
    height = metrics.height() + 4
    fitting = int(area.height() // height)
    shown = list(rows) if len(rows) <= fitting else [*rows[: max(fitting - 1, 0)]]
    for number, (pen, name, more) in enumerate(shown):
        middle = area.top() + (number + 0.5) * height
        painter.setPen(pen)
        painter.drawLine(QPointF(area.left(), middle), QPointF(area.left() + _SWATCH, middle))
        _write(painter, _row(area, number, height), palette.text, name, more)
    if len(shown) < len(rows):
        _write(painter, _row(area, len(shown), height), palette.muted, f"{len(rows) - len(shown)} more")


def _row(area: QRectF, number: int, height: float) -> QRectF:
    left = area.left() + _SWATCH + _GAP
    return QRectF(left, area.top() + number * height, area.right() - left - _GAP, height)


def _write(painter: QPainter, place: QRectF, colour: str, text: str, more: str = "") -> None:
    metrics = QFontMetricsF(painter.font())
    room = max(0.0, place.width() - metrics.horizontalAdvance(more))
    elided = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
    painter.setPen(QColor(colour))
    painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, elided + more)
