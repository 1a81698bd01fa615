"""SVG drawings made with a painter; what is painted is the widgets' own."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QBuffer, QIODevice, QRect, QSize
from PySide6.QtGui import QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget


def svg_of(widget: QWidget, width: int, height: int, paint: Callable[[QPainter], None]) -> bytes:
    """Gives what `paint` draws on `width` by `height` pixels, named as `widget` names itself."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    drawing = QSvgGenerator(QSvgGenerator.SvgVersion.Svg11)
    drawing.setOutputDevice(buffer)
    drawing.setSize(QSize(width, height))
    drawing.setViewBox(QRect(0, 0, width, height))
    drawing.setResolution(widget.logicalDpiX())
    drawing.setTitle(widget.accessibleName())
    drawing.setDescription(widget.accessibleDescription())
    with QPainter(drawing) as painter:
        paint(painter)
    return bytes(buffer.data().data())
