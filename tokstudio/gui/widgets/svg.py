"""SVG drawings, made with a painter."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

from PySide6.QtCore import QBuffer, QIODevice, QRect, QSize
from PySide6.QtGui import QFont, QFontMetricsF, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

_FAMILIES = re.compile(r'font-family="([^"]*)"')
_TEXT = re.compile(r'(<text [^>]*?) x="([^"]*)"([^>]*>)([^<]*)(?=</text>)')


def drawing_of(
    widget: QWidget, width: int, height: int, generic: str, paint: Callable[[QPainter], None], told: str = ""
) -> str:
    """Returns the SVG that `paint` draws on `width` by `height` pixels, titled with the accessible name of `widget`.

    A viewer without its fonts uses others of the family `generic`, such as "sans-serif". The description is `told`, or
    else that of `widget`.
    """
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    drawing = QSvgGenerator(QSvgGenerator.SvgVersion.Svg11)
    drawing.setOutputDevice(buffer)
    drawing.setSize(QSize(width, height))
    drawing.setViewBox(QRect(0, 0, width, height))
    drawing.setResolution(widget.logicalDpiX())
    drawing.setTitle(widget.accessibleName())
    drawing.setDescription(told or widget.accessibleDescription())
    with QPainter(drawing) as painter:
        paint(painter)
    return _FAMILIES.sub(rf'font-family="\1,{generic}"', bytes(buffer.data().data()).decode())


def svg_of(
    widget: QWidget, width: int, height: int, font: QFont, paint: Callable[[QPainter], None], told: str = ""
) -> bytes:
    """Returns the SVG of `drawing_of` with its text in the monospaced `font`.

    A viewer without that font uses another monospaced one, and each text keeps its centre.
    """
    metrics = QFontMetricsF(font)

    def centred(found: re.Match[str]) -> str:
        before, left, after, words = found.groups()
        middle = float(left) + metrics.horizontalAdvance(unescape(words)) / 2
        return f'{before} x="{middle:g}" text-anchor="middle"{after}{words}'

    return _TEXT.sub(centred, drawing_of(widget, width, height, "monospace", paint, told)).encode()
