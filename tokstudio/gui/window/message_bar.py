"""A card at the bottom of the window that shows an error until it is closed, without blocking the window.

Only one is shown: a newer error replaces it and lists the earlier ones under Details.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import traceback

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QPushButton, QWidget

from tokstudio.gui.state.problem import Problem
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.card import BottomCard
from tokstudio.gui.window.offer_cards import close_button

_DETAILS_HEIGHT = 180
_MOST_KEPT = 20


class MessageBar(BottomCard):
    """Shows one error at a time: its sentence, and on request the traceback, which can be copied."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        self._problems: list[Problem] = []
        self.details_button = QPushButton("Details")
        self.details_button.setCheckable(True)
        self.copy_button = QPushButton("Copy")
        self.close_button = close_button(theme, "Close the message", "Close (Esc)")
        buttons = (self.details_button, self.copy_button, self.close_button)
        super().__init__(theme, parent, "Message", ("warning", "error"), buttons)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        # Selectable text is drawn a little lower than it is measured.
        self.text.setContentsMargins(0, 0, 0, 4)
        self.details = QPlainTextEdit(readOnly=True)
        self.details.setMaximumHeight(_DETAILS_HEIGHT)
        self.details.setAccessibleName("Details")
        self.column.addWidget(self.details)
        self.details_button.toggled.connect(self._show_details)
        self.copy_button.clicked.connect(self._copy)
        self.close_button.clicked.connect(self.clear)

    def show_problem(self, problem: Problem) -> None:
        """Shows a sentence, and under Details the traceback of its error and earlier errors."""
        earlier = [one for one in self._problems if one.text != problem.text] if self.isVisible() else []
        self._problems = [problem, *earlier][:_MOST_KEPT]
        trace = "".join(traceback.format_exception(problem.error)) if problem.error is not None else ""
        before = "\n".join(f"Earlier: {one.text}" for one in self._problems[1:])
        self.details.setPlainText("\n\n".join(filter(None, (trace.strip(), before))))
        self.details_button.setChecked(False)
        self.details.hide()
        self.details_button.setVisible(bool(trace or before))
        self.offer(problem.text)

    def clear(self) -> None:
        """Hides the card and forgets its errors."""
        self._problems = []
        self.hide()

    def clear_of_training(self) -> None:
        """Hides the card if it shows an error of a training, which may be solved now."""
        if self._problems and self._problems[0].of_training:
            self.clear()

    def _show_details(self, shown: bool) -> None:
        self.details.setVisible(shown)
        self.place()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(f"{self.text.text()}\n\n{self.details.toPlainText()}".strip())
