"""Ctrl-C and the request to terminate; what they end is left to the commands."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from types import FrameType


class Signals:
    """Makes signals raise KeyboardInterrupt, so that nothing half-written is left behind."""

    def __init__(self) -> None:
        self._last = 0
        self._held = False

    @property
    def code(self) -> int:
        """The exit code of a program that was interrupted."""
        return 128 + (self._last or signal.SIGINT)

    @contextmanager
    def caught(self) -> Generator[None]:
        """Answers to signals in the block."""
        with ExitStack() as before:
            for number in (signal.SIGINT, signal.SIGTERM):
                # One that is ignored, as for a job in the background, stays ignored.
                if signal.getsignal(number) != signal.SIG_IGN:
                    before.callback(signal.signal, number, signal.signal(number, self._receive))
            yield

    @contextmanager
    def held(self) -> Generator[None]:
        """Holds back the first signal until the end of the block; a second one gets through."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
        if self._last:
            raise KeyboardInterrupt

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        first, self._last = not self._last, number
        if not (first and self._held):
            raise KeyboardInterrupt
