"""A line of words that may be longer than there is room for: its end is cut, and the tool tip has all of it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel

from tokstudio.gui.widgets.caption import plain


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
        try:
            with QPainter(self) as painter:
                room = self.contentsRect()
                words = painter.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room.width())
                painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)
        except Exception as error:  # an exception that leaves an override ends Qt's event loop
            sys.excepthook(type(error), error, error.__traceback__)

    def _tell_rest(self) -> None:
        cut = self.fontMetrics().horizontalAdvance(self.text()) > self.contentsRect().width()
        self.setToolTip(plain(self.text()) if cut else "")
