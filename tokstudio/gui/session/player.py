"""Plays a run: moves the playhead through the merges at a chosen speed, and stops when the user moves it.

At up to thirty merges a second, every state is shown, however long the panes take; at higher speeds, the clock decides
how many merges lie between two states.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import time

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from tokstudio.core.base.records import dataclass
from tokstudio.gui.session.common.run_list import RunList
from tokstudio.gui.session.common.view_state import ViewState
from tokstudio.gui.state.run import StudioRun

_EVERY_STATE = 30.0  # merges per second up to which no state is skipped
_FRAME = 0.025  # seconds between two states at higher speeds


@dataclass(frozen=True)
class Speed:
    """A speed of playing."""

    key: str  # its name in the settings
    text: str  # its name in the menu
    short: str
    merges: float = 0.0  # per second; 0 if the length of the run decides
    seconds: float = 0.0  # the duration of the whole run, in that case

    def rate(self, length: int) -> float:
        """Merges per second in a run with a number of merges."""
        return self.merges or max(length / self.seconds, 1.0)


SPEEDS = (
    Speed("1", "1 Merge a Second", "1/s", merges=1),
    Speed("5", "5 Merges a Second", "5/s", merges=5),
    Speed("30", "30 Merges a Second", "30/s", merges=30),
    Speed("100", "100 Merges a Second", "100/s", merges=100),
    Speed("1000", "1,000 Merges a Second", "1,000/s", merges=1000),
    Speed("run in 30", "The Whole Run in 30 Seconds", "all in 30 s", seconds=30),
    Speed("run in 10", "The Whole Run in 10 Seconds", "all in 10 s", seconds=10),
)


class Player(QObject):
    """Moves the playhead of the active run; stops at its end, and when the playhead is moved otherwise."""

    changed = Signal()  # `playing` or the speed

    def __init__(self, runs: RunList, view: ViewState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs, self._view = runs, view
        self.speed = SPEEDS[-1]
        self._run: StudioRun | None = None
        self._moving = False
        self._begun = self._due = 0.0
        self._from = 0
        self._timer = QTimer(self, singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._go_on)
        view.playhead_changed.connect(self._moved)
        runs.changed.connect(self._runs_changed)

    @property
    def playing(self) -> bool:
        """Whether it is playing."""
        return self._run is not None

    def play(self) -> None:
        """Starts at the playhead; at the end, from the beginning."""
        run = self._runs.active
        if run is None or not len(run) or run.no_playhead is not None or self.playing:
            return
        self._run = run
        if self._view.playhead >= len(run):
            self._move(0)
        self._set_out()
        self.changed.emit()

    def pause(self) -> None:
        """Stops at the current state."""
        if self.playing:
            self._run = None
            self._timer.stop()
            self.changed.emit()

    def set_playing(self, playing: bool) -> None:
        """Plays or pauses."""
        if playing:
            self.play()
        else:
            self.pause()

    def set_speed(self, key: str) -> None:
        """Sets the speed with this name, at once while playing; unknown names are ignored."""
        speed = next((speed for speed in SPEEDS if speed.key == key), self.speed)
        if speed is not self.speed:
            self.speed = speed
            if self.playing:
                self._set_out()
            self.changed.emit()

    def _set_out(self) -> None:
        self._from, self._begun = self._view.playhead, time.monotonic()
        self._due = self._begun
        self._wait()

    def _wait(self) -> None:
        """Waits for the next state; a late one is shown at once, and the next ones keep their distance."""
        assert self._run is not None
        rate, now = self.speed.rate(len(self._run)), time.monotonic()
        self._due = max(self._due + (1 / rate if rate <= _EVERY_STATE else _FRAME), now)
        self._timer.start(round(1000 * (self._due - now)))

    def _go_on(self) -> None:
        run = self._run
        if run is None:
            return
        rate = self.speed.rate(len(run))
        target = self._view.playhead + 1
        if rate > _EVERY_STATE:
            target = max(target, self._from + int((time.monotonic() - self._begun) * rate))
        self._move(min(target, len(run)))
        if self._run is None:
            return
        if self._view.playhead >= len(run):
            self.pause()
        else:
            self._wait()

    def _move(self, merges: int) -> None:
        self._moving = True
        try:
            self._view.set_playhead(merges)
        finally:
            self._moving = False

    def _moved(self) -> None:
        if not self._moving:
            self.pause()

    def _runs_changed(self) -> None:
        if self._runs.active is not self._run:
            self.pause()
