"""What the window holds after hours of work: texts are added and removed, runs trained, stopped, saved and deleted.

A round adds a file to the corpus, trains, stops, opens a tokenizer, saves the project, and deletes and removes all of
it again, by the same actions as a person. Memory and the numbers of objects are printed at intervals; offscreen.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from _common import machine, memory, parser, table
from _window import open_studio
from PySide6 import __version__ as qt
from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication

from tokstudio import Corpus, TrainingConfig, save, train
from tokstudio.core.base.resources import sample_text
from tokstudio.gui.app.app import Studio
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.widgets.file_dialogs import Choosers

_MERGES = 300  # before a training is stopped
_PATIENCE = 600.0  # seconds that a step of a round may take
Steps = Iterator[Callable[[], bool]]
_HEAD = ["minutes", "rounds", "memory", "without files", "Python objects", "Qt objects"]


class _Answers(Choosers):
    """Saves the project to one file and discards the rest."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def save_file(self, title: str, suggestion: Path, filters: str) -> Path | None:
        return self._folder / "soak.tokstudio"

    def save_or_not(self, title: str, text: str):
        return "discard"

    def confirm(self, title: str, text: str, verb: str, over=None) -> bool:
        return True


def main() -> None:
    """Goes round and prints what is held."""
    arguments = parser(__doc__)
    arguments.add_argument("--minutes", type=float, default=60.0)
    arguments.add_argument("--every", type=float, default=5.0, help="minutes between two lines of the table")
    parsed = arguments.parse_args()
    print(f"{machine()}, PySide6 {qt}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = folder / "text.txt"
        text.write_text(sample_text("article") * 4)
        made = train(Corpus.from_text(sample_text("python")), TrainingConfig(vocabulary_size=600))
        save(made, folder / "tokenizer", format="huggingface")
        with open_studio(folder, _Answers(folder), folder / "recovery") as studio:
            rows: list[list[str]] = []
            driver = _Driver(_soak(studio, text, folder / "tokenizer", 60 * parsed.minutes, 60 * parsed.every, rows))
            code = QApplication.exec()
            del driver
            table(_HEAD, rows)
    sys.exit(code)


class _Driver(QObject):
    """Goes on with the steps from the event loop, as a person does, so that what is deleted later is deleted."""

    def __init__(self, steps: Steps) -> None:
        super().__init__()
        self._steps = steps
        self._there = next(steps)
        self._since = time.perf_counter()
        self._timer = QTimer(self, interval=1)
        self._timer.timeout.connect(self._go_on)
        self._timer.start()

    def _go_on(self) -> None:
        if self._there():
            self._since = time.perf_counter()
            there = next(self._steps, None)
            if there is None:
                self._end(0)
            else:
                self._there = there
        elif time.perf_counter() - self._since > _PATIENCE:
            print("A step has not come about.")
            self._end(1)

    def _end(self, code: int) -> None:
        self._timer.stop()
        QApplication.exit(code)


def _soak(studio: Studio, text: Path, tokenizer: Path, seconds: float, every: float, rows: list[list[str]]) -> Steps:
    began, rounds, due = time.perf_counter(), 0, 0.0
    while due <= seconds:
        yield from go_round(studio, text, tokenizer)
        rounds += 1
        passed = time.perf_counter() - began
        if passed >= due:
            rows.append([f"{passed / 60:.0f}", f"{rounds:,}", *_held(studio)])
            print(*rows[-1], sep="  ", flush=True)
            due += every


def _held(studio: Studio) -> list[str]:
    gc.collect()
    tops = [studio, *QApplication.topLevelWidgets()]
    objects = sum(len(top.findChildren(QObject)) for top in tops)
    held = [f"{memory(field) / 1e6:.1f} MB" for field in ("VmRSS", "RssAnon")]
    return [*held, f"{len(gc.get_objects()):,}", f"{objects:,}"]


def go_round(studio: Studio, text: Path, tokenizer: Path) -> Steps:
    """One round; gives what to wait for before the next step."""
    session, opening, actions = studio.session, studio.window.opening, studio.window.actions_by_id
    opening.open_paths([text])
    yield lambda: session.corpus.statistics is not None and not session.jobs.running
    session.training.set_settings(Settings(vocabulary_size=20_000))
    yield lambda: session.training.obstacle is None and not session.jobs.running
    actions["train"].trigger()
    training = session.training.current
    assert training is not None
    yield lambda: len(training.run) >= _MERGES or session.training.current is None
    actions["stop"].trigger()
    yield lambda: session.training.current is None and not session.jobs.running
    session.view.look_at(training.run.base_size + _MERGES // 2)
    opening.load_tokenizer(tokenizer)
    yield lambda: len(session.runs.all) == 2 and not session.jobs.running
    actions["save_project"].trigger()
    yield lambda: not studio.window.projects.modified and not session.jobs.running
    while session.runs.all:
        actions["delete_run"].trigger()
        yield lambda: not session.jobs.running
    session.corpus.remove_sources(list(range(len(session.corpus.sources))))
    yield lambda: not session.jobs.running
    # What can be undone is kept.
    session.history.clear()


if __name__ == "__main__":
    main()
