"""A muted line about something with a name: a long name is cut in its middle, one in any script stays in its place."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QFont, QPaintEvent, QResizeEvent, QTextCharFormat, QTextLayout, QTextOption
from PySide6.QtWidgets import QLabel

from tokstudio.gui.widgets.painting import guarded_painter

_LEFT_TO_RIGHT, _ISOLATE, _END = "\u200e", "\u2068", "\u2069"
_RIGHT_TO_LEFT = ("R", "AL")


class Caption(QLabel):
    """A name and some remarks; where there is no room, the name gives way. The tool tip has all of it."""

    def __init__(self) -> None:
        super().__init__()
        self._name = ""
        self._remarks: tuple[str, ...] = ()
        self.setProperty("role", "muted")
        self.setWordWrap(True)
        self.setMinimumWidth(1)
        self.setTextFormat(Qt.TextFormat.PlainText)

    def say(self, name: str, remarks: Iterable[str] = ()) -> None:
        """Shows a name and the remarks that are not empty."""
        self._name, self._remarks = name, tuple(filter(None, remarks))
        self.setToolTip(plain(name))
        self._elide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Cuts the name for the new width."""
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        metrics, room = self.fontMetrics(), self.contentsRect().width()
        behind = metrics.horizontalAdvance("".join(f" · {remark}" for remark in self._remarks))
        # Short remarks stay in the line of the name; long ones have lines of their own.
        room -= behind if behind < room / 2 else 0
        name = metrics.elidedText(self._name, Qt.TextElideMode.ElideMiddle, max(40, room))
        if is_right_to_left(name) and self._remarks:
            name = f"{_ISOLATE}{name}{_END}"
        self.setText(in_a_sentence(" · ".join(filter(None, (name, *self._remarks)))))


def in_a_sentence(text: str) -> str:
    """Gives an English text that holds a name in a script from right to left, fit to be shown from left to right."""
    return _LEFT_TO_RIGHT + text if is_right_to_left(text) else text


def is_right_to_left(text: str) -> bool:
    """Whether a text holds letters that are written from right to left."""
    return not text.isascii() and any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text)


def plain(text: str) -> str:
    """Gives a text for a tool tip that is shown as it is, even if a file's name looks like HTML."""
    return html.escape(text).replace("\n", "<br>") if "<" in text else text


def paragraph_label(role: str = "") -> QLabel:
    """A label for sentences of any length: plain text, broken into lines at whatever width there is."""
    label = QLabel()
    label.setProperty("role", role)
    label.setWordWrap(True)
    label.setMinimumWidth(1)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


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


class ElidedLabel(QLabel):
    """Shows as much of its text as fits."""

    def setText(self, text: str) -> None:
        """Sets the words, all of which `text()` gives."""
        super().setText(text)
        self._tell_rest()

    def minimumSizeHint(self) -> QSize:
        """Gives a width that no text changes."""
        return QSize(1, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Says by the tool tip what does not fit any more."""
        super().resizeEvent(event)
        self._tell_rest()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draws what fits; an error goes to the hook, never into Qt."""
        with guarded_painter(self) as painter:
            room = self.contentsRect()
            words = painter.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room.width())
            painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)

    def _tell_rest(self) -> None:
        cut = self.fontMetrics().horizontalAdvance(self.text()) > self.contentsRect().width()
        self.setToolTip(plain(self.text()) if cut else "")
