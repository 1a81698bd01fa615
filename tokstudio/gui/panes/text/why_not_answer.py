"""The answer to "Why not one token?": sentences, and links to the merges that they name."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import zip_longest

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QToolButton

from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.buttons import link_button
from tokstudio.gui.widgets.labels import paragraph_label
from tokstudio.gui.widgets.layouts import STRETCH, column, row


class WhyNotLine(QFrame):
    """An answer that can be closed."""

    linkClicked = Signal(int)  # the id of the token of the clicked merge
    closed = Signal()  # the user has closed the answer

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("card", True)
        self.words = paragraph_label()
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.links = [link_button("", partial(self._tell, place)) for place in range(2)]
        for link in self.links:
            link.setAccessibleName("Show a merge")
        self._tokens: list[int] = []
        self.close_button = QToolButton()
        self.close_button.setIcon(icon("close", theme, "muted"))
        self.close_button.setIconSize(QSize(14, 14))
        self.close_button.setAccessibleName("Close the answer")
        self.close_button.setToolTip("Close")
        self.close_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.close_button.clicked.connect(self.closed)
        top = row((self.words, 1), (self.close_button, Qt.AlignmentFlag.AlignTop))
        column(top, row(*self.links, STRETCH), spacing=2, margins=(8, 6, 6, 6), parent=self)

    def show_answer(self, words: str, merges: Mapping[int, int]) -> None:
        """Shows sentences, and a link for each merge: its number, with the id of its token."""
        self.words.setText(words)
        self.setAccessibleName(words)
        self._tokens = list(merges.values())
        for link, number in zip_longest(self.links, merges):
            link.setVisible(number is not None)
            if number is not None:
                link.setText(f"Show merge {number:,}")
                link.setAccessibleName(link.text())

    def _tell(self, place: int) -> None:
        self.linkClicked.emit(self._tokens[place])
