"""The window under a clock: how long it is ever deaf while something goes on in it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication

from tokstudio.core.base.progress import finish
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.app.app import Studio, make_application
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.widgets.file_dialogs import Choosers

TICK = 2  # milliseconds, so that a gap is hardly longer than what holds the window
BAR = 50
_ANSWERS = 0.5  # seconds after which nothing of the start goes on but jobs
_AT_LEAST = 0.4  # seconds that are watched after an action
_AT_MOST = 60.0
HEAD = ["what goes on in the window", "takes", "median gap", "99 %", "worst gap", f"above {BAR} ms"]


class Clock(QObject):
    """Notes every gap between two ticks of a timer, in milliseconds."""

    def __init__(self) -> None:
        super().__init__()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        self._last = 0.0
        self.gaps: list[float] = []

    def during(self, name: str, going_on: Callable[[], bool]) -> list[str]:
        """Lets the window live while `going_on`, and gives a row of the table."""
        started = time.perf_counter()
        self.gaps = []
        self._last = started
        self._timer.start(TICK)
        while going_on():
            QApplication.processEvents()
            time.sleep(0.0005)
        QApplication.processEvents()
        self._tick()
        self._timer.stop()
        gaps = sorted(self.gaps)
        share = gaps[min(len(gaps) - 1, int(0.99 * len(gaps)))]
        over = sum(gap > BAR for gap in gaps)
        taken = f"{time.perf_counter() - started:.1f} s"
        return [name, taken, f"{gaps[len(gaps) // 2]:.0f} ms", f"{share:.0f} ms", f"{gaps[-1]:.0f} ms", str(over)]

    def _tick(self) -> None:
        now = time.perf_counter()
        self.gaps.append(1000 * (now - self._last))
        self._last = now


@contextmanager
def open_studio(choosers: Choosers | None = None, recovery: Path | None = None) -> Iterator[Studio]:
    """The whole window with fresh settings, once it answers; the compiled loops are there before it opens."""
    finish(prepare_work())
    application, folder = make_application(), tempfile.TemporaryDirectory()
    settings = Preferences(Path(folder.name) / "settings.ini")
    studio = Studio(application, settings, choosers=choosers, recovery=recovery)
    studio.window.resize(1440, 900)
    studio.show()
    shown = time.perf_counter()
    while time.perf_counter() - shown < _ANSWERS or studio.session.jobs.running:
        QApplication.processEvents()
    try:
        yield studio
    finally:
        for run in studio.session.runs.all:
            run.note(exported=True)
        studio.window.close()
        studio.close()
        folder.cleanup()


def busy(studio: Studio) -> Callable[[], bool]:
    """Whether anything goes on still: while it does, and for a moment after."""
    began = time.perf_counter()
    last = [began]

    def going_on() -> bool:
        now, session = time.perf_counter(), studio.session
        state = session.training.current is not None and session.training.state == "running"
        if state or session.jobs.running or QApplication.activeModalWidget() is not None:
            last[0] = now
        return now - last[0] < _AT_LEAST and now - began < _AT_MOST

    return going_on
