"""The filter field above a table."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QSizePolicy, QWidget

from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme


class FilterEdit(QLineEdit):
    """Filters while typing; Escape empties it, Down and Enter go to the table (`left`).

    Args:
        theme: Tints its icon.
        name: Its accessible name.
        hint: The tool tip: what can be typed.
        parent: The owner.
    """

    left = Signal()

    def __init__(self, theme: Theme, name: str, hint: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPlaceholderText("Filter")
        self.setClearButtonEnabled(True)
        self.addAction(icon("filter", theme, "muted"), QLineEdit.ActionPosition.LeadingPosition)
        self.setAccessibleName(name)
        self.setAccessibleDescription(hint)
        self.setToolTip(hint)
        self.setMaxLength(256)
        self.setMinimumWidth(84)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Makes room for a word or two."""
        return QSize(180, super().sizeHint().height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Empties or leaves the field; other keys edit it."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.left.emit()
        else:
            super().keyPressEvent(event)
