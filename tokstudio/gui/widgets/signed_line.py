"""A line of words with a sign before it, so that its meaning does not hang on its colour alone."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from tokstudio.gui.icons import icon
from tokstudio.gui.theme import Theme
from tokstudio.gui.widgets.fields import line

_SIGNS = {"warning": "warning", "error": "cross", "good": "check", "muted": "info"}
_SIDE = 14


class SignedLine(QWidget):
    """A sentence that wraps and can be selected, in the colour of its role and with that role's sign.

    Args:
        role: "warning", "error", "good" or "muted".
        text: The sentence.
        theme: Its looks.
    """

    def __init__(self, role: str, text: str, theme: Theme) -> None:
        super().__init__()
        self._role = role
        self._theme = theme
        self._sign = QLabel()
        self._sign.setTextFormat(Qt.TextFormat.PlainText)
        self.words = line(role)
        self.words.setText(text)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self.words, 1)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()

    def _apply_theme(self) -> None:
        side = self._theme.scaled(_SIDE)
        self._sign.setPixmap(icon(_SIGNS[self._role], self._theme, self._role).pixmap(side, side))
