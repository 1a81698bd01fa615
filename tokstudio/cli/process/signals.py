"""Handles Ctrl-C, the request to terminate, and a closed terminal."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import FrameType

# A terminal that is closed; Windows has no such signal.
_HANGUP: int | None = getattr(signal, "SIGHUP", None)


class Signals:
    """Turns signals into KeyboardInterrupt, so that no file is left half-written.

    A closed terminal is one request: the system and the shell both send the signal, so a second one is ignored.
    """

    def __init__(self) -> None:
        self._last = 0
        self._block = ""

    @property
    def received(self) -> bool:
        """Whether a signal was received."""
        return self._last != 0

    @property
    def code(self) -> int:
        """The exit code after an interruption."""
        return 128 + (self._last or signal.SIGINT)

    @contextmanager
    def caught(self) -> Generator[None]:
        """Handles signals during the block."""
        with ExitStack() as before:
            for number in filter(None, (signal.SIGINT, signal.SIGTERM, _HANGUP)):
                # Ignored signals, as of a job in the background or by nohup, stay ignored.
                if signal.getsignal(number) != signal.SIG_IGN:
                    before.callback(signal.signal, number, signal.signal(number, self._receive))
            yield

    @contextmanager
    def held(self) -> Generator[None]:
        """Delays the first signal until the end of the block; a second one interrupts it."""
        with self._within("held"):
            yield
        if self._last:
            raise KeyboardInterrupt

    def finishing(self) -> AbstractContextManager[None]:
        """Lets the block finish after the terminal is closed; other signals interrupt it."""
        return self._within("finishing")

    def saving(self) -> AbstractContextManager[None]:
        """Lets the block finish after any signal, because its work would be lost."""
        return self._within("saving")

    @contextmanager
    def _within(self, block: str) -> Generator[None]:
        self._block = block
        try:
            yield
        finally:
            self._block = ""

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        first = not self._last
        if number == _HANGUP and not first:
            return
        self._last = number
        finishes = self._block == "held" or (self._block == "finishing" and number == _HANGUP)
        if not (self._block == "saving" or (first and finishes)):
            raise KeyboardInterrupt
