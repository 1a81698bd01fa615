"""How many true states a second the whole window shows while the playhead moves, offscreen, with 10 kB of text.

Plot, Merges, Vocabulary, Text and Token are all in sight; a state counts when each of them shows it and is painted.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from _common import machine, parser, record, table, texts
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QApplication

from tokstudio.core.base.progress import finish
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.app.app import Studio, make_application
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.window.main_window import MainWindow

_BAR = 30
_TEXT = 10_000
_STEPS = 300
_RUNS = {
    "32,768 tokens, no pattern": Settings(vocabulary_size=32_768),
    "32,768 tokens, cl100k": Settings(vocabulary_size=32_768, pattern="cl100k"),
    "frequency 2, no pattern": Settings(vocabulary_size=None, min_frequency=2),
}


class _Painted(QObject):
    """Notes which of some widgets have been painted."""

    def __init__(self, widgets: Sequence[QObject]) -> None:
        super().__init__()
        self.count = dict.fromkeys(widgets, 0)
        for widget in widgets:
            widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self.count[watched] += 1
        return False


def main() -> None:
    """Trains the runs, moves the playhead in several ways and prints the states a second."""
    parsed = parser(__doc__).parse_args()
    finish(prepare_work())
    print(machine())
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder, texts(parsed, "mixed_10mb.txt") as paths:
        application = make_application()
        studio = Studio(application, Preferences(Path(folder) / "settings.ini"))
        window = studio.window
        window.resize(1440, 900)
        studio.show()
        # Else it shares its place with Merges, and one of them is hidden.
        window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, window.vocabulary)
        window.merges.raise_()
        application.processEvents()
        session = studio.session
        session.corpus.open_paths(paths)
        _until(application, lambda: bool(session.corpus.sources) and not session.jobs.running)
        session.view.set_text(session.corpus.sources[0].data[:_TEXT].tobytes().decode("utf-8", "ignore"))
        for name, settings in _RUNS.items():
            session.training.set_settings(settings)
            session.training.start()
            _until(application, lambda: session.training.current is None and not session.jobs.running)
            assert session.runs.active is not None
            session.view.look_at(session.runs.active.base_size + 100)
            rows += _measure(f"{name}: {len(session.runs.active):,} merges", window, application)
        for run in session.runs.all:
            run.note(exported=True)
        window.close()
        studio.close()
    table(["run", "moved", "states", "a second", f"{_BAR} and more", "slowest", "work a state"], rows)
    least = min(float(row[3]) for row in rows)
    record("states while the playhead moves, the slowest way", "10 kB of text", least, "states/s", bar=f"{_BAR}")


def _measure(name: str, window: MainWindow, application: QApplication) -> list[list[str]]:
    session = window.session
    n, middle = len(session.runs.active or ()), len(session.runs.active or ()) // 2
    chosen = random.Random(1)
    ways = {
        "forward by one merge": [middle + step for step in range(1, _STEPS + 1)],
        "back by one merge": [middle - step for step in range(1, _STEPS + 1)],
        "dragged over all": [n * step // _STEPS for step in range(_STEPS)],
        "anywhere": [chosen.randrange(n) for _ in range(_STEPS)],
    }
    panes = (window.merges.table.viewport(), window.vocabulary.table.viewport(), window.compression.plot)
    painted = _Painted((*panes, window.text.encode.view.viewport()))
    rows: list[list[str]] = []
    for way, places in ways.items():
        session.view.set_playhead(places[0] + 1)
        _until(application, lambda: not session.jobs.running)
        painted.count = dict.fromkeys(painted.count, 0)
        worked = time.process_time()
        taken = _move(places, window, application)
        # A jump from one end of a table to the other may be no change to what is in sight.
        least = min(painted.count.values())
        assert least >= 0.99 * len(places), f"{least} of {len(places)} states were painted"
        rate, work = len(taken) / sum(taken), (time.process_time() - worked) / len(taken)
        rows.append(
            [
                name,
                way,
                str(len(taken)),
                f"{rate:.0f}",
                "yes" if rate >= _BAR else "NO",
                f"{1000 * max(taken):.0f} ms",
                f"{1000 * work:.0f} ms",
            ]
        )
    return rows


def _move(places: Sequence[int], window: MainWindow, application: QApplication) -> list[float]:
    """Seconds that each state took until it was in sight."""
    session, taken = window.session, list[float]()
    for place in places:
        started = time.perf_counter()
        session.view.set_playhead(place)
        application.processEvents()
        shown = window.text.encode._shown
        assert shown is not None
        assert shown[1] == place, "the text shows another state"
        assert window.merges.model.playhead == window.vocabulary.model.playhead == place
        taken.append(time.perf_counter() - started)
    return taken


def _until(application: QApplication, done: Callable[[], bool]) -> None:
    while not done():
        application.processEvents()
        time.sleep(0.001)


if __name__ == "__main__":
    main()
