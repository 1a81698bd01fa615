"""Signals that end a program: at a logout, at a shutdown, or by Ctrl+C in a terminal."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import signal
import socket

from PySide6.QtCore import QObject, QSocketNotifier, Signal

_NAMES = ("SIGTERM", "SIGHUP", "SIGINT")


class EndSignals(QObject):
    """Reports the first such signal in the event loop; a second one ends the process as usual."""

    asked = Signal(int)  # the system asks the program to end: the number of the signal

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        # Python runs no handler while Qt waits, but writes the number to a socket at once.
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._read)
        self._before: dict[int, object] = {}

    def install(self) -> None:
        """Installs the handlers, except on Windows. Ignored signals stay ignored, as under nohup."""
        if os.name != "posix":
            return
        self._descriptor = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for name in _NAMES:
            number = getattr(signal, name)
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, _take)

    def remove(self) -> None:
        """Restores the earlier handlers."""
        self._notifier.setEnabled(False)
        if self._before:
            signal.set_wakeup_fd(self._descriptor)
            for number, handler in self._before.items():
                signal.signal(number, handler)  # pyright: ignore[reportArgumentType]
            self._before = {}
        self._reader.close()
        self._writer.close()

    def _read(self) -> None:
        number = self._reader.recv(1)[0]
        for caught in self._before:
            signal.signal(caught, signal.SIG_DFL)
        self.asked.emit(number)


def _take(_number: int, _frame: object) -> None:
    """Does nothing: Python writes to the socket only for signals with a handler."""
