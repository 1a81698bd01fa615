"""A list of error messages that stay until they are dismissed or solved."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from tokstudio.gui.state.problem import Problem
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.fields import set_role
from tokstudio.gui.widgets.labels import in_a_sentence

_SHOWN = 3


class ProblemList(QWidget):
    """Shows the newest three problems and the number of the others; hidden if empty. Escape dismisses all."""

    bytesAsked = Signal(object)  # the user wants to read a binary file as bytes (its path)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._problems: list[Problem] = []
        self._rows = [_Row(theme) for _ in range(_SHOWN)]
        self._more = QLabel()
        self._more.setTextFormat(Qt.TextFormat.PlainText)
        self._more.setProperty("role", "muted")
        self._dismiss_all = QPushButton("Dismiss all")
        self._dismiss_all.setProperty("link", "true")
        self._dismiss_all.clicked.connect(self.clear)
        self._last = QWidget()
        last = QHBoxLayout(self._last)
        last.setContentsMargins(0, 0, 0, 0)
        last.addWidget(self._more, 1)
        last.addWidget(self._dismiss_all)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        for row in self._rows:
            row.close_button.clicked.connect(self._dismiss)
            row.bytes_button.clicked.connect(self._ask_for_bytes)
            layout.addWidget(row)
        layout.addWidget(self._last)
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

    def _dismiss(self) -> None:
        sender = self.sender()
        self._problems = [
            problem
            for number, problem in enumerate(self._problems)
            if number >= _SHOWN or self._rows[number].close_button is not sender
        ]
        self._show()

    def _ask_for_bytes(self) -> None:
        sender = self.sender()
        number = next(number for number, row in enumerate(self._rows) if row.bytes_button is sender)
        self.bytesAsked.emit(self._problems[number].binary)

    def _show(self) -> None:
        for number, row in enumerate(self._rows):
            row.show_problem(self._problems[number] if number < len(self._problems) else None)
        more = len(self._problems) - _SHOWN
        self._more.setText(f"and {more:,} more")
        self._last.setVisible(more > 0)
        self._escape.setEnabled(bool(self._problems))
        self.setVisible(bool(self._problems))


class _Row(QWidget):
    """One sentence and the button that dismisses it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._label = QLabel()
        self._label.setProperty("role", "error")
        self._label.setWordWrap(True)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.bytes_button = QPushButton("Read as Bytes")
        self.bytes_button.setProperty("link", "true")
        self.close_button = QToolButton()
        self.close_button.setIcon(icon("close", theme, "muted"))
        self.close_button.setToolTip("Dismiss (Esc dismisses all)")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self._label, 1)
        layout.addWidget(self.bytes_button, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)

    def show_problem(self, problem: Problem | None) -> None:
        """Shows a problem; None hides the row."""
        text = problem.text if problem is not None else ""
        set_role(self._label, "muted" if problem is not None and problem.remark else "error")
        self._label.setText(in_a_sentence(text))
        binary = problem.binary if problem is not None else None
        self.bytes_button.setVisible(binary is not None)
        self.bytes_button.setAccessibleName(f"Read {binary.name} as bytes" if binary is not None else "Read as Bytes")
        self.close_button.setAccessibleName(f"Dismiss: {text}" if text else "Dismiss")
        self.setVisible(problem is not None)
