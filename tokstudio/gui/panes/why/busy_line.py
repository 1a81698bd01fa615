"""Says that something is being worked out, how far it is, and offers to let it be."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from tokstudio.core.base.progress import Progress

_TICK = 100  # milliseconds


class BusyLine(QWidget):
    """Words, a bar and Cancel; looks at the progress by itself while it is shown.

    Signals:
        cancelAsked: The person has pressed Cancel.

    Args:
        words: What is being done.
        progress: Tells how far it is.
        named: What the phases of the work are called; others as they call themselves.
    """

    cancelAsked = Signal()

    def __init__(self, words: str, progress: Callable[[], Progress], named: dict[str, str]) -> None:
        super().__init__()
        self._progress = progress
        self._named = named
        self.label = QLabel(words)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setWordWrap(True)
        self.label.setMinimumWidth(1)
        self.phase = QLabel()
        self.phase.setTextFormat(Qt.TextFormat.PlainText)
        self.phase.setProperty("role", "muted")
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Progress")
        self.cancel = QPushButton("Cancel")
        self.cancel.clicked.connect(self.cancelAsked)
        self._timer = QTimer(self)
        self._timer.setInterval(_TICK)
        self._timer.timeout.connect(self._refresh)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.label)
        column.addWidget(self.bar)
        row = QHBoxLayout()
        row.addWidget(self.phase, 1)
        row.addWidget(self.cancel)
        column.addLayout(row)
        column.addStretch(1)

    def showEvent(self, event: QShowEvent) -> None:
        """Begins to look."""
        super().showEvent(event)
        self._refresh()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Looks no more."""
        super().hideEvent(event)
        self._timer.stop()

    def _refresh(self) -> None:
        progress = self._progress()
        self.bar.setRange(0, 1000 if progress.total else 0)
        if progress.total:
            self.bar.setValue(1000 * progress.done // progress.total)
        words = self._named.get(progress.phase, progress.phase.capitalize())
        self.phase.setText(f"{words}…" if words else "")
