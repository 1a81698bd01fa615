"""A card that offers what an earlier start has left unsaved; taking it or leaving it is up to the person."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtWidgets import QPushButton, QToolButton, QWidget

from tokstudio.gui.icons import icon
from tokstudio.gui.theme import Theme
from tokstudio.gui.widgets.offer_card import OfferCard


class RecoveryCard(OfferCard):
    """One sentence, Restore and Discard; closed, it comes again at the next start."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        self.restore_button = QPushButton("Restore")
        self.restore_button.setProperty("primary", "true")
        self.discard_button = QPushButton("Discard")
        self.close_button = QToolButton()
        self.close_button.setIcon(icon("close", theme))
        self.close_button.setAccessibleName("Not now")
        self.close_button.setToolTip("Not now: ask again at the next start")
        buttons = (self.restore_button, self.discard_button, self.close_button)
        super().__init__(theme, parent, ("info", "accent"), buttons)
        self.setAccessibleName("Unsaved work")
