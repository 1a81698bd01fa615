"""Changes a window a part in a turn: what touches all of its 900 widgets never holds it up."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QWidget

_TURN = 0.004  # seconds that may go by before the window hears its events again
_BETWEEN = 1  # milliseconds; a timer of none would go off again before others that are due


class Turns(QObject):
    """Does one piece after the other; meanwhile nothing is painted, so that the person sees one change.

    Args:
        window: What the pieces change; it owns this.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._waiting: dict[QObject, Callable[[], None]] = {}
        self._turn = QTimer(self, singleShot=True, interval=_BETWEEN)
        self._turn.timeout.connect(self._do_some)

    def begin(self, pieces: Mapping[QObject, Callable[[], None]]) -> None:
        """Does a piece for each object after those that wait; one that waits for the same object is let go of."""
        for one in pieces:
            self._waiting.pop(one, None)
        self._waiting.update(pieces)
        self._window.setUpdatesEnabled(False)
        # Whoever begins may have much to do still: the millisecond counts from the end of that.
        QTimer.singleShot(0, self._turn, self._turn.start)

    def _do_some(self) -> None:
        if not self._waiting:
            self._end()
            return
        began = time.perf_counter()
        try:
            while self._waiting and time.perf_counter() - began < _TURN:
                self._waiting.pop(next(iter(self._waiting)))()
        finally:
            self._turn.start()

    def _end(self) -> None:
        self._window.setUpdatesEnabled(True)
        # A dock that has become a window of its own meanwhile is not reached by that.
        for part in self._window.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly):
            if not part.updatesEnabled():
                part.setUpdatesEnabled(True)
                _paint(part)
        _paint(self._window)


def _paint(window: QWidget) -> None:
    # An update that was asked for meanwhile was passed over, and Qt waits for that one for ever. `repaint` would paint
    # everything once more.
    QCoreApplication.sendEvent(window, QEvent(QEvent.Type.UpdateRequest))
