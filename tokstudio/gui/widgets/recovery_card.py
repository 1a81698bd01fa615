"""A card that offers what an earlier start has left unsaved; taking it or leaving it is up to the person."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QToolButton, QWidget

from tokstudio.gui.icons import icon
from tokstudio.gui.theme import Theme
from tokstudio.gui.widgets.bottom_card import BottomCard

_ICON = 18


class RecoveryCard(BottomCard):
    """One sentence, Restore and Discard; closed, it comes again at the next start."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setAccessibleName("Unsaved work")
        self._sign = QLabel()
        self.text = QLabel()
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.restore_button = QPushButton("Restore")
        self.restore_button.setProperty("primary", "true")
        self.discard_button = QPushButton("Discard")
        self.close_button = QToolButton()
        self.close_button.setIcon(icon("close", theme))
        self.close_button.setAccessibleName("Not now")
        self.close_button.setToolTip("Not now: offered again at the next start")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 8, 8, 8)
        row.setSpacing(8)
        row.addWidget(self._sign)
        row.addWidget(self.text, 1)
        for button in (self.restore_button, self.discard_button, self.close_button):
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
        self._sign.setPixmap(icon("info", self._theme, "accent").pixmap(_ICON, _ICON))
