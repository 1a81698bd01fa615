"""A person who does anything: random menus, clicks, keys and changes of state, by a seed, offscreen.

Memory and the numbers of objects are printed at intervals, and at once, with the last acts: errors that nothing caught,
and warnings of Qt.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
import os
import random
import sys
import tempfile
import time
import traceback
from collections import deque
from pathlib import Path
from typing import cast

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).parents[2]))

from _common import machine, memory, parser
from _window import open_studio
from PySide6.QtCore import QObject, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from tests.gui.random_acts import RandomActs, RandomAnswers, small_files
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.machine import return_freed_memory
from tokstudio.gui.app.app import Studio
from tokstudio.gui.widgets.file_dialogs import Choosers

_SETTLES = 2000  # milliseconds after all is cleared
_HEAD = "minutes, acts, memory, without files, Python objects, Qt objects, runs, sources"


class _Driver(QObject):
    """Acts from the event loop, also inside the loops of dialogs."""

    def __init__(self, studio: Studio, acts: RandomActs, arguments) -> None:
        super().__init__()
        self._studio, self._acts, self._arguments = studio, acts, arguments
        self.number, self.depth, self.last = 0, 0, deque[str](maxlen=40)
        self.faults = 0
        self._began, self._due = time.perf_counter(), 0.0
        self._settles = False
        QTimer.singleShot(0, self._act)

    def _act(self) -> None:
        now = time.perf_counter()
        if self._settles:
            QTimer.singleShot(self._arguments.pause, self._act)
            return
        passed = now - self._began
        if passed >= self._due:
            self._due += self._arguments.every * 60
            if self._arguments.clear:
                self._settles = True
                self._clear()
                QTimer.singleShot(_SETTLES, self._clear)  # of a training that was stopped, the run is left
                QTimer.singleShot(2 * _SETTLES, self._tell_settled)
                QTimer.singleShot(self._arguments.pause, self._act)
                return
            print(*self._held(passed), sep="  ", flush=True)
        if passed > self._arguments.minutes * 60 or not self._studio.window.isVisible():
            for dialog in QApplication.topLevelWidgets():
                if dialog is not self._studio.window:
                    dialog.close()
            self._end()
            return
        # A timer does not go on within its own event, so each act in the loop of a dialog needs another one.
        QTimer.singleShot(self._arguments.pause, self._act)
        self.number += 1
        self.last.append(f"({self.number}) …")
        self.depth += 1
        try:
            self.last[-1] = f"({self.number}) {self._acts.act()}"
        finally:
            self.depth -= 1

    def _tell_settled(self) -> None:
        """Tells what is held when the work of clearing is done, and goes on."""
        print(*self._held(time.perf_counter() - self._began), sep="  ", flush=True)
        self._settles = False

    def _end(self) -> None:
        """Shows what is held, and what of it is left without runs, texts and what can be undone."""
        self._clear()
        QTimer.singleShot(_SETTLES, self._leave)

    def _clear(self) -> None:
        for dialog in QApplication.topLevelWidgets():
            if dialog is not self._studio.window:
                dialog.close()
        session = self._studio.session
        session.training.stop()
        for run in list(session.runs.all):
            session.runs.delete(run)
        session.corpus.set_sources(())
        session.view.set_text("")
        session.history.clear()

    def _leave(self) -> None:
        print("without runs and texts", *self._held(time.perf_counter() - self._began), sep="  ", flush=True)
        QApplication.exit(0)

    def say(self, what: str) -> None:
        print(f"!! act {self.number}, {self.depth} deep: {what}; last: {list(self.last)[-4:]}", flush=True)

    def _held(self, passed: float) -> list[str]:
        gc.collect()
        return_freed_memory()
        tops = [self._studio, *QApplication.topLevelWidgets()]
        objects = sum(len(top.findChildren(QObject)) for top in tops)
        session = self._studio.session
        return [
            f"{passed / 60:.1f}",
            f"{self.number:,}",
            *(f"{memory(field) / 1e6:.1f} MB" for field in ("VmRSS", "RssAnon")),
            f"{len(gc.get_objects()):,}",
            f"{objects:,}",
            str(len(session.runs.all)),
            str(len(session.corpus.sources)),
        ]


def _is_ours(error: Exception | None) -> bool:
    """Whether an error is a fault of the program."""
    return error is not None and not isinstance(error, TokStudioError)


def main() -> None:
    """Acts, and prints what is found."""
    arguments = parser(__doc__)
    arguments.add_argument("--minutes", type=float, default=10.0)
    arguments.add_argument("--every", type=float, default=1.0, help="minutes between two lines of the table")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--pause", type=int, default=5, help="milliseconds between two acts")
    arguments.add_argument("--clear", action="store_true", help="remove all runs and texts before each line")
    parsed = arguments.parse_args()
    os.environ["HF_ENDPOINT"] = "http://127.0.0.1:9"
    print(f"{machine()}, seed {parsed.seed}", _HEAD, sep="  ", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder, choice = Path(name), random.Random(parsed.seed)
        answers = RandomAnswers(folder, choice)
        answers.texts, answers.tokenizers = small_files(folder)
        with open_studio(cast("Choosers", answers), folder / "recovery") as studio:
            driver = _Driver(studio, RandomActs(studio.window, answers, choice), parsed)

            def failed(kind, error, trace) -> None:
                sys.setrecursionlimit(5000)
                driver.faults += 1
                driver.say("".join(traceback.format_exception(error)))
                print("   ", *driver.last, sep="\n    ", flush=True)

            def told(kind, context, text) -> None:
                if kind != QtMsgType.QtDebugMsg and "plugin does not support" not in (text or ""):
                    driver.faults += 1
                    driver.say(f"Qt: {text}")
                    print("".join(traceback.format_stack(limit=8)), flush=True)

            studio.session.jobs.failed.connect(
                lambda problem: failed(None, problem.error, None) if _is_ours(problem.error) else None
            )
            before, hook = qInstallMessageHandler(told), sys.excepthook
            sys.excepthook = failed
            QApplication.exec()
            sys.excepthook = hook
            qInstallMessageHandler(before)
            print(f"{driver.faults} errors and warnings of Qt")


if __name__ == "__main__":
    main()
