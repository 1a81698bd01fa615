"""A muted line about something with a name: a long name is cut in its middle, one in any script stays in its place."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel

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
