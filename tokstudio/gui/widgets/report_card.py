"""A card that offers the report of a crash; what the person does with it is up to them, and nothing is sent."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from tokstudio.gui.icons import icon
from tokstudio.gui.theme import Theme
from tokstudio.gui.widgets.bottom_card import BottomCard

_ICON = 18


class ReportCard(BottomCard):
    """One sentence, Copy Report, Show File and Dismiss."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setAccessibleName("Crash report")
        self._sign = QLabel()
        self.text = QLabel()
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.copy_button = QPushButton("Copy Report")
        self.show_button = QPushButton("Show File")
        self.dismiss_button = QPushButton("Dismiss")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 8, 8, 8)
        row.setSpacing(8)
        row.addWidget(self._sign)
        row.addWidget(self.text, 1)
        for button in (self.copy_button, self.show_button, self.dismiss_button):
            row.addWidget(button)
        theme.changed.connect(self._paint_sign)
        self._paint_sign()
        self.hide()

    def offer(self, sentence: str) -> None:
        """Says what there is; without words it goes."""
        self.text.setText(sentence)
        if self.isVisible() and not sentence:
            # Else the keyboard would be with whatever control comes next.
            self.window().setFocus()
        self.setVisible(bool(sentence))
        if sentence:
            self.place()
            self.raise_()

    def _paint_sign(self) -> None:
        self._sign.setPixmap(icon("warning", self._theme, "error").pixmap(_ICON, _ICON))
