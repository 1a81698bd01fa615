"""The frame that special tokens have wherever they are shown: a tint of its own, an outline and square corners."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter, QPen

from tokstudio.gui.theme import Palette


def paint_special(painter: QPainter, rectangle: QRectF, palette: Palette) -> None:
    """Paints what stands behind a special token's text; pen and brush of the painter are others afterwards."""
    painter.setPen(QPen(QColor(palette.muted), 1))
    painter.setBrush(QColor(palette.special))
    painter.drawRect(rectangle.adjusted(0.5, 0.5, -0.5, -0.5))
