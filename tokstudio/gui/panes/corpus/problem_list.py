"""A list of error messages that stay until they are dismissed or solved."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QPushButton, QToolButton, QWidget

from tokstudio.gui.state.problem import Problem
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.buttons import link_button
from tokstudio.gui.widgets.fields import set_role
from tokstudio.gui.widgets.labels import in_a_sentence, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, column, row

_SHOWN = 3


class ProblemList(QWidget):
    """Shows the newest three problems and the number of the others; hidden if empty. Escape dismisses all."""

    bytesAsked = Signal(object)  # the user wants to read a binary file as bytes (its path)
    wholeAsked = Signal(object)  # the user wants to read what is whole of a truncated file (its path)
    textAsked = Signal(object)  # the user wants to read a data set without text as plain text (its path)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._problems: list[Problem] = []
        self._rows = [_Row(theme) for _ in range(_SHOWN)]
        self._more = plain_label("muted")
        self._dismiss_all = link_button("Dismiss all", self.clear)
        self._last = QWidget()
        row((self._more, 1), self._dismiss_all, parent=self._last)
        column(*self._rows, self._last, spacing=2, parent=self)
        for number, one in enumerate(self._rows):
            one.close_button.clicked.connect(partial(self._dismiss, number))
            one.bytes_button.clicked.connect(partial(self._ask_for_bytes, number))
            one.whole_button.clicked.connect(partial(self._ask_for_whole, number))
            one.text_button.clicked.connect(partial(self._ask_for_text, number))
        self._escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), self)
        # Another message of the window may use the same key: whichever is visible is closed.
        for signal in (self._escape.activated, self._escape.activatedAmbiguously):
            signal.connect(self.clear)
        self.setAccessibleName("Problems")
        self._show()

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems that are not dismissed, the newest first."""
        return tuple(problem.text for problem in self._problems)

    def add(self, problem: Problem) -> None:
        """Adds a problem at the top; it replaces one with the same text or the same file."""
        others = [one for one in self._problems if one.text != problem.text]
        self._problems = [problem, *(one for one in others if one.path is None or one.path != problem.path)]
        self._show()

    def mend(self, paths: Collection[Path | None]) -> None:
        """Removes the problems of these files; None stands for problems without a file."""
        left = [problem for problem in self._problems if problem.path not in paths]
        if left != self._problems:
            self._problems = left
            self._show()

    def clear(self) -> None:
        """Dismisses all."""
        self._problems = []
        self._show()

    def _dismiss(self, number: int) -> None:
        del self._problems[number]
        self._show()

    def _ask_for_bytes(self, number: int) -> None:
        self.bytesAsked.emit(self._problems[number].binary)

    def _ask_for_whole(self, number: int) -> None:
        self.wholeAsked.emit(self._problems[number].truncated)

    def _ask_for_text(self, number: int) -> None:
        self.textAsked.emit(self._problems[number].no_column)

    def _show(self) -> None:
        for number, one in enumerate(self._rows):
            one.show_problem(self._problems[number] if number < len(self._problems) else None)
        more = len(self._problems) - _SHOWN
        self._more.setText(f"and {more:,} more")
        self._last.setVisible(more > 0)
        self._escape.setEnabled(bool(self._problems))
        self.setVisible(bool(self._problems))


class _Row(QWidget):
    """One sentence, what can be done below it, and the button that dismisses it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._label = plain_label("error")
        self._label.setWordWrap(True)
        self._label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.bytes_button, self.whole_button = QPushButton("Read as Bytes"), QPushButton("Keep What Was Whole")
        self.text_button = QPushButton("Read as Plain Text")
        buttons = self.bytes_button, self.whole_button, self.text_button
        for button in buttons:
            button.setProperty("link", "true")
        self.close_button = QToolButton()
        self.close_button.setIcon(icon("close", theme, "muted"))
        self.close_button.setToolTip("Dismiss (Esc dismisses all)")
        self.close_button.setAccessibleName("Dismiss")
        top = Qt.AlignmentFlag.AlignTop
        # Beside the sentence, a button would leave it no room in a narrow pane.
        told = column(self._label, row(*buttons, STRETCH), spacing=2)
        row((told, 1), (self.close_button, top), spacing=4, parent=self)

    def show_problem(self, problem: Problem | None) -> None:
        """Shows a problem; None hides the row."""
        if problem is not None:
            set_role(self._label, "muted" if problem.remark else "error")
            self._label.setText(in_a_sentence(problem.text))
            name = problem.path.name if problem.path is not None else ""
            self.bytes_button.setVisible(problem.binary is not None)
            self.bytes_button.setAccessibleName(f"Read {name} as bytes")
            self.whole_button.setVisible(problem.truncated is not None)
            self.whole_button.setAccessibleName(f"Keep what was whole of {name}")
            self.text_button.setVisible(problem.no_column is not None)
            self.text_button.setAccessibleName(f"Read {name} as plain text")
            self.close_button.setAccessibleName(f"Dismiss: {problem.text}")
        # Only now: all buttons together would make the pane wider.
        self.setVisible(problem is not None)
