"""Garbage collection in the GUI thread only."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimerEvent

_INTERVAL = 100  # milliseconds


class GarbageCollector(QObject):
    """Collects cyclic garbage in the GUI thread, until `stop`.

    Python collects in whichever thread allocates. In the thread of a job that would destroy widgets and other QObjects
    while the GUI thread uses them, and end the program.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = self.startTimer(_INTERVAL)

    def stop(self) -> None:
        """Lets Python collect again."""
        self.killTimer(self._timer)
        gc.enable()

    def timerEvent(self, event: QTimerEvent) -> None:
        """Collects the oldest generation that is due."""
        due = (count > limit for count, limit in zip(gc.get_count(), gc.get_threshold(), strict=True))
        oldest = max((generation for generation, over in enumerate(due) if over), default=-1)
        if oldest >= 0:
            gc.collect(oldest)
