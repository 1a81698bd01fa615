"""A text laid out on one line, parts of it in other colours, read from the side that the caller says."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QTextCharFormat, QTextLayout, QTextOption

from tokstudio.gui.widgets.caption import is_right_to_left

ISOLATE, END = "\u2068", "\u2069"  # between them text has its own direction
_WIDE = 100_000.0  # pixels: no line is as long


def laid_out(
    text: str,
    font: QFont,
    colours: Iterable[tuple[int, int, QColor]],
    right_to_left: bool = False,
) -> QTextLayout:
    """Gives a text as its first line, at the left; each colour has the first character and the one behind the last.

    The places are those in UTF-16, which Qt counts in: see `utf16_places`.
    """
    layout = QTextLayout(text, font)
    option = QTextOption(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignAbsolute)
    option.setTextDirection(Qt.LayoutDirection.RightToLeft if right_to_left else Qt.LayoutDirection.LeftToRight)
    option.setWrapMode(QTextOption.WrapMode.NoWrap)
    layout.setTextOption(option)
    layout.setFormats([_format(first, end, colour) for first, end, colour in colours])
    layout.beginLayout()
    layout.createLine().setLineWidth(_WIDE)
    layout.endLayout()
    return layout


def isolated(text: str) -> str:
    """Gives a text that is drawn in its own direction, alone or among words from left to right."""
    return f"{ISOLATE}{text}{END}" if is_right_to_left(text) else text


def utf16_places(text: str) -> list[int]:
    """For each character, and for the end, where it stands in UTF-16."""
    places = [0]
    for character in text:
        places.append(places[-1] + (2 if ord(character) > 0xFFFF else 1))
    return places


def _format(first: int, end: int, colour: QColor) -> QTextLayout.FormatRange:
    made = QTextLayout.FormatRange()
    made.start, made.length = first, end - first  # pyright: ignore[reportAttributeAccessIssue]
    look = QTextCharFormat()
    look.setForeground(colour)
    made.format = look  # pyright: ignore[reportAttributeAccessIssue]
    return made
