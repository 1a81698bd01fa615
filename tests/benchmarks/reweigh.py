"""How long a changed weight takes to become a finished run, and how long the window is deaf meanwhile, offscreen.

The text is cut into four files of equal size. It is counted once, by the first training.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from _common import machine, parser, table, texts
from _window import HEAD, Clock, busy, open_studio
from PySide6.QtWidgets import QApplication

from tokstudio.gui.app.app import Studio
from tokstudio.gui.state.training_settings import Settings

_FILES = 4
_CHANGES = 6
_DRAGGED = 12.0  # seconds
_STEP = 0.04  # seconds between two positions of the slider
_BAR = 1.5


def main() -> None:
    """Changes weights in the window and prints times and gaps."""
    arguments = parser(__doc__)
    arguments.add_argument("--text", default="mixed_100mb.txt")
    arguments.add_argument("--pattern", default="cl100k")
    parsed = arguments.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder, texts(parsed, parsed.text) as paths:
        files = _cut(paths[0], Path(folder))
        with open_studio(Path(folder)) as studio:
            _measure(studio, files, parsed.pattern)


def _cut(path: Path, folder: Path) -> list[Path]:
    """Four files of equal size; what a cut damages are single characters."""
    data = path.read_bytes()
    made: list[Path] = []
    for number in range(_FILES):
        part = data[number * len(data) // _FILES : (number + 1) * len(data) // _FILES]
        made.append(folder / f"part{number + 1}.txt")
        made[-1].write_bytes(part.decode("utf-8", "ignore").encode())
    return made


def _measure(studio: Studio, files: list[Path], pattern: str) -> None:
    clock, session = Clock(), studio.session
    session.corpus.open_paths(files)
    clock.during("", busy(studio))
    studio.window.corpus.tabs.setCurrentIndex(1)
    session.training.set_settings(Settings(vocabulary_size=32_768, pattern=pattern))
    clock.during("", busy(studio))
    session.training.start()
    rows = [clock.during("the first training, which counts", lambda: session.training.current is not None)]
    clock.during("", busy(studio))
    mixture = studio.window.corpus.mixture
    took: list[float] = []
    for change in range(_CHANGES):
        before, started = session.runs.active, time.perf_counter()
        mixture.rows[change % _FILES].field.setValue(0.5 + change)
        session.corpus.settle_weights()
        rows.append(clock.during(f"change {change + 1}", lambda before=before: session.runs.active is before))
        took.append(time.perf_counter() - started)
        clock.during("", busy(studio))
    slider, seen, moved = mixture.rows[0].slider, {session.runs.active}, [0.0]
    until = time.perf_counter() + _DRAGGED
    slider.setSliderDown(True)

    def drag() -> bool:
        now = time.perf_counter()
        if now - moved[0] > _STEP:
            moved[0] = now
            slider.setValue(int(60 * (until - now) / _DRAGGED))
            seen.add(session.runs.active)
        return now < until

    rows.append(clock.during("a slider dragged", drag))
    slider.setSliderDown(False)
    rows.append(clock.during("released", lambda: session.live.busy))
    QApplication.processEvents()
    table(HEAD, rows)
    middle = statistics.median(took)
    print(f"\nFrom a changed weight to the finished run: {middle:.2f} s, at most {max(took):.2f} s (bar {_BAR} s).")
    print(f"While the slider was dragged: {len(seen) - 1} runs in {_DRAGGED:.0f} s.")


if __name__ == "__main__":
    main()
