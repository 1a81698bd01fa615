"""Long texts in the Text pane: 1 MB scrolled from end to end, 10 MB opened; with the longest that any frame takes.

A frame is a step of the scroll bar and the painting that follows, drawn offscreen at 1440x900.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from _common import machine, parser, table, texts
from _window import HEAD, Clock, busy, open_studio
from PySide6.QtWidgets import QApplication

from tokstudio.gui.app.app import Studio
from tokstudio.gui.state.training_settings import Settings

_FRAMES = 600
_SCREEN = 1000 / 60


def main() -> None:
    """Opens both texts and prints frames and gaps."""
    arguments = parser(__doc__)
    parsed = arguments.parse_args()
    print(machine())
    frames: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder, texts(parsed, "mixed_10mb.txt") as (path,):
        whole = path.read_bytes().decode("utf-8", "ignore")
        with open_studio(Path(folder)) as studio:
            clock, session = Clock(), studio.session
            session.corpus.open_paths([path])
            clock.during("", lambda: session.corpus.statistics is None or bool(session.jobs.running))
            session.training.set_settings(Settings(vocabulary_size=32_768, pattern="gpt2"))
            session.training.start()
            clock.during("", lambda: session.training.current is not None)
            session.view.set_text(whole[: 1 << 20])
            gaps = [clock.during("1 MB opened in the Text pane", lambda: bool(session.jobs.running))]
            # Measured is the view, not what else begins after a training.
            clock.during("", busy(studio))
            for name, way in (("a row at a time", 20), ("a page at a time", 400), ("from end to end", None)):
                frames.append(_scroll(studio, f"1 MB scrolled {name}", way))
            session.view.set_text(whole)
            gaps.append(clock.during("10 MB opened in the Text pane", lambda: bool(session.jobs.running)))
            clock.during("", busy(studio))
            frames.append(_scroll(studio, "10 MB scrolled from end to end", None))
    table(["frames", "number", "median", "99 %", "longest", "longer than 1/60 s"], frames)
    table(HEAD, gaps)


def _scroll(studio: Studio, name: str, way: int | None) -> list[str]:
    """Takes the scroll bar down by `way` pixels a frame, or over all of it, and measures each frame."""
    scroll = studio.window.text.encode.view
    bar = scroll.verticalScrollBar()
    bar.setValue(0)
    step = way if way is not None else max(1, bar.maximum() // _FRAMES)
    taken = []
    for frame in range(_FRAMES):
        started = time.perf_counter()
        bar.setValue(frame * step)
        scroll.viewport().repaint()
        QApplication.processEvents()
        taken.append(1000 * (time.perf_counter() - started))
    taken.sort()
    late = sum(one > _SCREEN for one in taken)
    return [
        name,
        str(_FRAMES),
        f"{taken[_FRAMES // 2]:.1f} ms",
        f"{taken[int(0.99 * _FRAMES)]:.1f} ms",
        f"{taken[-1]:.1f} ms",
        str(late),
    ]


if __name__ == "__main__":
    main()
