"""Work that must run in the GUI thread, in short slices: copying many rows, or measuring fonts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from PySide6.QtCore import QObject, QTimer

_SLICE = 0.008  # seconds, half of what a slot may take
_PAUSE = 4  # milliseconds between two slices, for other events


class Slices(QObject):
    """Advances one iterator for some milliseconds at a time and ignores its values.

    Steps must be short, as the clock is read only between two steps.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._steps: Iterator[None] | None = None
        self._done: Callable[[], None] | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(_PAUSE)
        self._timer.timeout.connect(self._advance)

    @property
    def running(self) -> bool:
        """Whether work is left."""
        return self._steps is not None

    def start(self, steps: Iterator[None], done: Callable[[], None] | None = None) -> None:
        """Starts work and drops any earlier one; the first slice runs at once. Calls `done` after the last."""
        self._steps, self._done = steps, done
        self._timer.start()
        self._advance()

    def stop(self) -> None:
        """Drops the work."""
        self._steps = self._done = None
        self._timer.stop()

    def _advance(self) -> None:
        steps = self._steps
        if steps is None:
            return
        until = time.perf_counter() + _SLICE
        for _ in steps:
            if time.perf_counter() > until:
                return
        # A step may have started other work.
        if steps is self._steps:
            done = self._done
            self.stop()
            if done is not None:
                done()
