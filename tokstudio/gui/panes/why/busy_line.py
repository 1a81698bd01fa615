"""A line that shows running work, its progress, and a button to cancel it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QProgressBar, QPushButton, QWidget

from tokstudio.core.base.progress import Progress
from tokstudio.gui.widgets.labels import paragraph_label, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, column, row

_TICK = 100  # milliseconds


class BusyLine(QWidget):
    """A text, a bar and Cancel; it reads the progress by a timer while it is visible.

    `named` has texts for the phases of the work; other phases are shown by their name.
    """

    cancelAsked = Signal()  # the user has pressed Cancel

    def __init__(self, words: str, progress: Callable[[], Progress], named: dict[str, str]) -> None:
        super().__init__()
        self._progress = progress
        self._named = named
        self.label, self.phase = paragraph_label("", words), plain_label("muted")
        self.bar = QProgressBar(textVisible=False)
        self.bar.setAccessibleName("Progress")
        self.cancel = QPushButton("Cancel")
        self.cancel.clicked.connect(self.cancelAsked)
        self._timer = QTimer(self, interval=_TICK)
        self._timer.timeout.connect(self._refresh)
        below = row((self.phase, 1), self.cancel)
        column(self.label, self.bar, below, STRETCH, spacing=8, margins=(0, 4, 0, 0), parent=self)

    def showEvent(self, event: QShowEvent) -> None:
        """Starts the timer."""
        super().showEvent(event)
        self._refresh()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stops the timer."""
        super().hideEvent(event)
        self._timer.stop()

    def _refresh(self) -> None:
        progress = self._progress()
        self.bar.setRange(0, 1000 if progress.total else 0)
        if progress.total:
            self.bar.setValue(1000 * progress.done // progress.total)
        words = self._named.get(progress.phase, progress.phase.capitalize())
        self.phase.setText(f"{words}…" if words else "")
