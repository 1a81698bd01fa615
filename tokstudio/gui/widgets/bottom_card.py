"""A card that stands over the bottom of the window and blocks nothing; what it says is left to its kinds."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QFrame, QWidget

_WIDEST = 820
_MARGIN = 16
_ABOVE_STATUS = 40


class BottomCard(QFrame):
    """A frame in the middle above the bottom of its parent, as wide as is good to read."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        parent.installEventFilter(self)
        self.setProperty("card", "true")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stays in its place when the window's size changes."""
        if event.type() == QEvent.Type.Resize:
            self.place()
        return False

    def place(self) -> None:
        """Takes its place, with the height that its content needs now."""
        around = self.parentWidget()
        layout = self.layout()
        if around is None or layout is None:
            return
        width = min(_WIDEST, around.width() - 2 * _MARGIN)
        layout.activate()
        height = max(layout.heightForWidth(width), layout.minimumSize().height())
        self.setGeometry((around.width() - width) // 2, around.height() - height - _ABOVE_STATUS, width, height)
