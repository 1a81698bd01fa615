"""SVG drawings made with a painter; what is painted is the widgets' own."""

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


def drawing_of(widget: QWidget, width: int, height: int, generic: str, paint: Callable[[QPainter], None]) -> str:
    """Gives what `paint` draws on `width` by `height` pixels as SVG, named as `widget` names itself.

    A viewer that lacks its fonts takes others of the family `generic`, such as "sans-serif".
    """
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
    return _FAMILIES.sub(rf'font-family="\1,{generic}"', bytes(buffer.data().data()).decode())


def svg_of(widget: QWidget, width: int, height: int, font: QFont, paint: Callable[[QPainter], None]) -> bytes:
    """Gives the drawing of `drawing_of` with its text in `font`, which has one pitch.

    A viewer that lacks that font takes another of one pitch, and each text has its middle where it had it.
    """
    metrics = QFontMetricsF(font)

    def centred(found: re.Match[str]) -> str:
        before, left, after, words = found.groups()
        middle = float(left) + metrics.horizontalAdvance(unescape(words)) / 2
        return f'{before} x="{middle:g}" text-anchor="middle"{after}{words}'

    return _TEXT.sub(centred, drawing_of(widget, width, height, "monospace", paint)).encode()
