"""A card that says what was done beside what was asked for, with a button that takes it back."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtWidgets import QPushButton, QToolButton, QWidget

from tokstudio.gui.icons import icon
from tokstudio.gui.notices import Notice
from tokstudio.gui.theme import Theme
from tokstudio.gui.widgets.offer_card import OfferCard


class NoticeCard(OfferCard):
    """Shows the newest notice until its button is pressed, it is closed, or there is nothing to take back any more."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        self._notice: Notice | None = None
        self.act_button = QPushButton()
        self.close_button = QToolButton()
        self.close_button.setIcon(icon("close", theme))
        self.close_button.setAccessibleName("Close the notice")
        self.close_button.setToolTip("Close")
        super().__init__(theme, parent, ("info", "accent"), (self.act_button, self.close_button))
        self.setAccessibleName("Notice")
        self.act_button.clicked.connect(self._act)
        self.close_button.clicked.connect(self.clear)

    def tell(self, notice: Notice) -> None:
        """Shows a notice in the place of the one before."""
        self._notice = notice
        self.act_button.setText(notice.verb)
        self.offer(notice.text)

    def refresh(self) -> None:
        """Goes where there is nothing to take back any more."""
        if self._notice is not None and not self._notice.holds():
            self.clear()

    def clear(self) -> None:
        """Goes."""
        self._notice = None
        self.offer("")

    def _act(self) -> None:
        notice = self._notice
        self.clear()
        if notice is not None:
            notice.act()
