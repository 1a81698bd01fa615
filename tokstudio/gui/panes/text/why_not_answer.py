"""The answer to "Why not one token?": sentences, and links to the merges that they name."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QToolButton, QVBoxLayout

from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import paragraph_label


class WhyNotLine(QFrame):
    """An answer that can be closed."""

    linkClicked = Signal(int)  # the id of the token of the clicked merge
    closed = Signal()  # the user has closed the answer

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("card", True)
        self.words = paragraph_label()
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.links = [QPushButton(), QPushButton()]
        self._tokens: list[int] = []
        self.close_button = QToolButton()
        self.close_button.setIcon(icon("close", theme, "muted"))
        self.close_button.setIconSize(QSize(14, 14))
        self.close_button.setAccessibleName("Close the answer")
        self.close_button.setToolTip("Close")
        self.close_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.close_button.clicked.connect(self.closed)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 6, 6, 6)
        column.setSpacing(2)
        top = QHBoxLayout()
        top.addWidget(self.words, 1)
        top.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(top)
        row = QHBoxLayout()
        for link in self.links:
            link.setProperty("link", True)
            link.setAccessibleName("Show a merge")
            link.clicked.connect(self._tell)
            row.addWidget(link)
        row.addStretch(1)
        column.addLayout(row)

    def show_answer(self, words: str, merges: Mapping[int, int]) -> None:
        """Shows sentences, and a link for each merge: its number, with the id of its token."""
        self.words.setText(words)
        self.setAccessibleName(words)
        self._tokens = list(merges.values())
        numbers = list(merges)
        for place, link in enumerate(self.links):
            link.setVisible(place < len(numbers))
            if place < len(numbers):
                link.setText(f"Show merge {numbers[place]:,}")
                link.setAccessibleName(link.text())

    def _tell(self) -> None:
        link = self.sender()
        if isinstance(link, QPushButton) and self.links.index(link) < len(self._tokens):
            self.linkClicked.emit(self._tokens[self.links.index(link)])
