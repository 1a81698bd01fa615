"""A card that offers the report of a crash; what the person does with it is up to them, and nothing is sent."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtWidgets import QPushButton, QWidget

from tokstudio.gui.theme import Theme
from tokstudio.gui.widgets.offer_card import OfferCard


class ReportCard(OfferCard):
    """One sentence, Copy Report, Show File and Dismiss."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        self.copy_button = QPushButton("Copy Report")
        self.show_button = QPushButton("Show File")
        self.dismiss_button = QPushButton("Dismiss")
        buttons = (self.copy_button, self.show_button, self.dismiss_button)
        super().__init__(theme, parent, ("warning", "error"), buttons)
        self.setAccessibleName("Crash report")
