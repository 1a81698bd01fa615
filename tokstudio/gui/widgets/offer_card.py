"""A card at the bottom of the window that offers something from an earlier start: a sentence and buttons."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLabel, QVBoxLayout, QWidget

from tokstudio.gui.icons import icon
from tokstudio.gui.theme import Theme
from tokstudio.gui.widgets.bottom_card import BottomCard

_ICON = 18


class OfferCard(BottomCard):
    """One sentence between a sign and buttons; hidden until there is something to offer.

    Args:
        theme: Its looks.
        parent: The window that it stands in.
        sign: The drawing before the sentence, and the role of its colour.
        buttons: What the person can do, from left to right.
    """

    def __init__(
        self, theme: Theme, parent: QWidget, sign: tuple[str, str], buttons: Sequence[QAbstractButton]
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._drawing = sign
        self._sign = QLabel()
        self.text = QLabel()
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 8, 8)
        column.addLayout(self.make_row(self._sign, self.text, buttons))
        theme.changed.connect(self._paint_sign)
        self._paint_sign()
        self.hide()

    def offer(self, sentence: str) -> None:
        """Says what there is; without words it goes."""
        self.text.setText(sentence)
        if self.isVisible() and not sentence:
            # Else the keyboard would be with whatever control comes next.
            self.window().setFocus()
        if sentence:
            self.place()
        self.setVisible(bool(sentence))
        if sentence:
            self.raise_()

    def _paint_sign(self) -> None:
        name, role = self._drawing
        self._sign.setPixmap(icon(name, self._theme, role).pixmap(_ICON, _ICON))
