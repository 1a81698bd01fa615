"""Sentences about what went wrong, one below the other, that stay until they are dismissed."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from tokstudio.gui.icons import icon
from tokstudio.gui.theme import Theme

_SHOWN = 3


class ProblemList(QWidget):
    """Shows the newest three problems and how many more there are; without any it is hidden."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._problems: list[str] = []
        self._rows = [_Row(theme) for _ in range(_SHOWN)]
        self._more = QLabel()
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
            layout.addWidget(row)
        layout.addWidget(self._last)
        self.setAccessibleName("Problems")
        self._show()

    @property
    def problems(self) -> tuple[str, ...]:
        """What has not been dismissed, the newest first."""
        return tuple(self._problems)

    def add(self, text: str) -> None:
        """Shows a problem above the others; the same words are not shown twice."""
        self._problems = [text, *(one for one in self._problems if one != text)]
        self._show()

    def clear(self) -> None:
        """Dismisses all."""
        self._problems = []
        self._show()

    def _dismiss(self) -> None:
        sender = self.sender()
        self._problems = [
            text
            for number, text in enumerate(self._problems)
            if number >= _SHOWN or self._rows[number].close_button is not sender
        ]
        self._show()

    def _show(self) -> None:
        for number, row in enumerate(self._rows):
            row.show_text(self._problems[number] if number < len(self._problems) else None)
        more = len(self._problems) - _SHOWN
        self._more.setText(f"and {more:,} more")
        self._last.setVisible(more > 0)
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
        self.close_button = QToolButton()
        self.close_button.setIcon(icon("close", theme, "muted"))
        self.close_button.setToolTip("Dismiss")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self._label, 1)
        layout.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)

    def show_text(self, text: str | None) -> None:
        """Shows a sentence, or nothing."""
        self._label.setText(text or "")
        self.close_button.setAccessibleName(f"Dismiss: {text}" if text else "Dismiss")
        self.setVisible(text is not None)
