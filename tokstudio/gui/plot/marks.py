"""Marked points of a curve: small rings with a label; a click on one moves the playhead there."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QPainter, QPen

from tokstudio.gui.plot.labels import PlotLabels
from tokstudio.gui.style.theme import Palette

if TYPE_CHECKING:
    from tokstudio.gui.plot.chart import Chart

_RADIUS = 3.5


@dataclass(frozen=True)
class Mark:
    """A point of a curve."""

    x: float
    y: float
    text: str  # its label, a word or a number
    tip: str  # what it means, shown while the pointer is on it

    def place(self, chart: Chart) -> QPointF | None:
        """Its position in pixels; None outside the visible range."""
        place = chart.place(self.x, self.y)
        return place if chart.area.contains(place) else None


def draw_marks(painter: QPainter, chart: Chart, palette: Palette, labels: PlotLabels, marks: tuple[Mark, ...]) -> None:
    """Draws the visible marks and their labels."""
    seen = [(mark, place) for mark in marks if (place := mark.place(chart)) is not None]
    for mark, place in seen:
        painter.setPen(QPen(QColor(palette.muted), 1.5))
        painter.setBrush(QColor(palette.surface))
        painter.drawEllipse(place, _RADIUS, _RADIUS)
        labels.name(place, mark.text, [other for one, other in seen if one is not mark])
