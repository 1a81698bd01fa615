"""How long the window is ever deaf: the worst gap of a timer in the GUI thread while a corpus trains, offscreen.

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
from _window import HEAD, Clock, open_studio

from tokstudio.gui.state.training_settings import Settings


def main() -> None:
    """Trains each text in the window and prints the gaps."""
    arguments = parser(__doc__)
    arguments.add_argument("--text", action="append", help="mixed_10mb.txt unless given; may be repeated")
    parsed = arguments.parse_args()
    print(machine())
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder, texts(parsed, *(parsed.text or ["mixed_10mb.txt"])) as paths:
        for path in paths:
            rows += _measure(path, Path(folder))
    table(HEAD, rows)


def _measure(path: Path, folder: Path) -> list[list[str]]:
    with open_studio(folder) as studio:
        clock, session = Clock(), studio.session
        until = time.perf_counter() + 2
        rows = [clock.during("nothing", lambda: time.perf_counter() < until)]
        session.corpus.open_paths([path])
        reading = f"{path.name}: read and counted"
        rows.append(clock.during(reading, lambda: session.corpus.statistics is None or bool(session.jobs.running)))
        session.view.set_text(session.corpus.sources[0].data[:10_000].tobytes().decode("utf-8", "ignore"))
        session.training.set_settings(Settings(vocabulary_size=32_768))
        session.training.start()
        training = f"{path.name}: trained to 32,768 tokens"
        rows.append(clock.during(training, lambda: session.training.current is not None))
        position, step = [0], len(session.runs.active) // 200 if session.runs.active is not None else 1

        def drag() -> bool:
            position[0] += step
            session.view.set_playhead(position[0])
            return position[0] < 200 * step

        session.view.set_playhead(0)
        rows.append(clock.during("the playhead dragged over all merges in 200 steps", drag))
    return rows


if __name__ == "__main__":
    main()
