"""How long the window is ever deaf: the worst gap of a 16 ms timer in the GUI thread while a corpus trains, offscreen.

The whole window is there, with a text of 10 kB in tokens, following the newest merge.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from _common import machine, parser, table, texts
from PySide6.QtCore import QObject, Qt, QTimer

from tokstudio.core.kernels.prepare import prepare_work
from tokstudio.core.progress import finish
from tokstudio.gui.app import Studio, make_application
from tokstudio.gui.settings import Preferences
from tokstudio.gui.training import Settings

_TICK = 16
_BAR = 50


class _Clock(QObject):
    """Notes every gap between two ticks."""

    def __init__(self) -> None:
        super().__init__()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        self._last = 0.0
        self.gaps: list[float] = []

    def start(self) -> None:
        self.gaps = []
        self._last = time.perf_counter()
        self._timer.start(_TICK)

    def stop(self) -> None:
        self._timer.stop()

    def _tick(self) -> None:
        now = time.perf_counter()
        self.gaps.append(1000 * (now - self._last))
        self._last = now


def main() -> None:
    """Trains each text in the window and prints the gaps."""
    arguments = parser(__doc__)
    arguments.add_argument("--text", action="append", help="mixed_10mb.txt unless given; may be repeated")
    parsed = arguments.parse_args()
    finish(prepare_work())
    print(machine())
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder, texts(parsed, *(parsed.text or ["mixed_10mb.txt"])) as paths:
        for path in paths:
            rows += _measure(path, Path(folder))
    table(["what goes on in the window", "takes", "median gap", "99 %", "worst gap", f"above {_BAR} ms"], rows)


def _measure(path: Path, folder: Path) -> list[list[str]]:
    application = make_application()
    studio = Studio(application, Preferences(folder / "settings.ini"))
    studio.window.resize(1440, 900)
    studio.show()
    clock, session = _Clock(), studio.session
    rows: list[list[str]] = []

    def during(name: str, going_on) -> None:
        started = time.perf_counter()
        clock.start()
        while going_on():
            application.processEvents()
            time.sleep(0.0005)
        clock.stop()
        gaps = sorted(clock.gaps) or [0.0]
        share = gaps[min(len(gaps) - 1, int(0.99 * len(gaps)))]
        over = sum(gap > _BAR for gap in gaps)
        taken = f"{time.perf_counter() - started:.1f} s"
        rows.append([name, taken, f"{gaps[len(gaps) // 2]:.0f} ms", f"{share:.0f} ms", f"{gaps[-1]:.0f} ms", str(over)])

    until = time.perf_counter() + 2
    during("nothing", lambda: time.perf_counter() < until)
    session.open_paths([path])
    during(f"{path.name}: read and counted", lambda: session.statistics is None or bool(session.jobs))
    session.set_text(session.sources[0].data[:10_000].tobytes().decode("utf-8", "ignore"))
    session.set_settings(Settings(vocabulary_size=32_768))
    session.train()
    during(f"{path.name}: trained to 32,768 tokens", lambda: session.training is not None)
    position, step = [0], len(session.active) // 200 if session.active is not None else 1

    def drag() -> bool:
        position[0] += step
        session.set_playhead(position[0])
        return position[0] < 200 * step

    session.set_playhead(0)
    during("the playhead dragged over all merges in 200 steps", drag)
    for run in session.runs:
        run.exported = True
    studio.window.close()
    studio.close()
    return rows


if __name__ == "__main__":
    main()
