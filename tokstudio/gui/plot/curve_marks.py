"""How one curve is told from another: its pen, a short piece of it beside its name, and the names in a picture."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

if TYPE_CHECKING:
    from tokstudio.gui.style.theme import Palette

_SWATCH = 18.0
_GAP = 8.0
_WIDEST = 0.3  # share of a picture that names may take


def curve_pen(palette: Palette, hue: int, *, active: bool, dotted: bool = False) -> QPen:
    """The pen of a curve: the active one's is broad; when the colours are used up, lines of other runs are dashed.

    Dotted is the curve of text that was held out, in the colour of its run.
    """
    colours = (palette.accent, *palette.curves)
    turn, place = divmod(hue, len(colours))
    pen = QPen(QColor(colours[place]), 2.0 if active else 1.0)
    pen.setCosmetic(True)
    if dotted:
        pen.setDashPattern([1.5, 2.0] if active else [2.0, 3.0])
    elif turn % 2 and not active:
        pen.setDashPattern([5.0, 3.0])
    return pen


def legend_width(names: Sequence[str], metrics: QFontMetricsF, width: float) -> float:
    """What the names need at the side of a picture of so many pixels; one curve alone needs no name."""
    if len(names) < 2:
        return 0.0
    return min(max(map(metrics.horizontalAdvance, names)) + _SWATCH + 3 * _GAP, _WIDEST * width)


def draw_legend(painter: QPainter, area: QRectF, palette: Palette, rows: Sequence[tuple[QPen, str]]) -> None:
    """Writes the names below each other, each behind a piece of its curve; the last row counts what has no room."""
    metrics = QFontMetricsF(painter.font())
    height = metrics.height() + 4
    fitting = int(area.height() // height)
    shown = list(rows) if len(rows) <= fitting else [*rows[: max(fitting - 1, 0)]]
    for number, (pen, name) in enumerate(shown):
        middle = area.top() + (number + 0.5) * height
        painter.setPen(pen)
        painter.drawLine(QPointF(area.left(), middle), QPointF(area.left() + _SWATCH, middle))
        _write(painter, _row(area, number, height), palette.text, name)
    if len(shown) < len(rows):
        _write(painter, _row(area, len(shown), height), palette.muted, f"{len(rows) - len(shown)} more")


def _row(area: QRectF, number: int, height: float) -> QRectF:
    left = area.left() + _SWATCH + _GAP
    return QRectF(left, area.top() + number * height, area.right() - left - _GAP, height)


def _write(painter: QPainter, place: QRectF, colour: str, text: str) -> None:
    elided = QFontMetricsF(painter.font()).elidedText(text, Qt.TextElideMode.ElideRight, place.width())
    painter.setPen(QColor(colour))
    painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, elided)
