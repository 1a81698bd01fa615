"""What is behind a window, without the window: its session, its project and its copies."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import platformdirs
from pytestqt.qtbot import QtBot

from tests.gui.person import PAUSES, Answers
from tokstudio.core.project import Recorder
from tokstudio.gui.project.autosave import Recovery
from tokstudio.gui.project.document import ProjectDocument
from tokstudio.gui.session import availability
from tokstudio.gui.session.common.jobs import Pauses
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.state.run import StudioRun

BOOK = "".join(f"the cat number {n} sat on the mat of the rat, {n * n} times.\n" for n in range(300))


def recovery_folder() -> Path:
    """Where the program keeps copies."""
    return Path(platformdirs.user_data_dir("tokstudio", appauthor=False)) / "recovery"


class Behind:
    """A session with a project and copies, and with these texts."""

    def __init__(self, qtbot: QtBot, paths: Iterable[Path] = (), pauses: Pauses = PAUSES) -> None:
        self._qtbot = qtbot
        self.answers = Answers()
        self.problems: list[str] = []
        self.session = Session(None, Recorder(recovery_folder()), pauses)
        self.session.jobs.failed.connect(lambda problem: self.problems.append(problem.text))
        self.projects = ProjectDocument(self.session, Preferences(), self.answers, self, self.session)
        self.recovery = Recovery(self.session, self.projects, self.answers, self, self.session)
        self.recovery.set_autosave(True, 3600)
        self.read(*paths)

    def arrangement(self) -> str:
        """No layout."""
        return ""

    def arrange(self, layout: str) -> None:
        """Nothing to arrange."""

    def read(self, *paths: Path) -> None:
        """Opens texts."""
        self.session.corpus.open_paths(list(paths))
        self.wait()

    def wait(self) -> None:
        """Waits until nothing trains and no job runs."""
        session = self.session
        self._qtbot.waitUntil(lambda: session.training.current is None and not session.jobs.running)

    def rest(self) -> None:
        """Waits until no job runs but that of a training."""
        training = self.session.training.current
        self._qtbot.waitUntil(
            lambda: all(training is not None and job is training.job for job in self.session.jobs.running)
        )

    def train(self, size: int) -> StudioRun:
        """Trains to a vocabulary size, and gives the run."""
        self.session.training.set_settings(Settings(size))
        self.session.training.start()
        self.wait()
        assert self.session.runs.active is not None
        return self.session.runs.active

    def go_on(self) -> None:
        """Continues the active run to its end."""
        assert (problem := availability.cannot_continue(self.session)) is None, problem
        run = self.session.runs.active
        assert run is not None
        self.session.training.continue_run(run)
        self.wait()

    def step(self, merges: int) -> None:
        """Makes so many merges of a new run, and stays in its training."""
        training, runs = self.session.training, self.session.runs
        for made in range(1, merges + 1):
            training.step()
            self._qtbot.waitUntil(lambda made=made: training.state == "paused" and len(runs.active) == made)

    def save(self, path: Path) -> None:
        """Saves the project."""
        self.answers.target = path
        self.projects.save()
        self.rest()
        assert path.exists(), self.problems

    def open(self, path: Path) -> None:
        """Opens a project."""
        self.projects.open(path)
        self.wait()
        assert self.projects.path == path

    def look(self) -> str:
        """Looks for copies of an earlier start, and says what can be restored."""
        self.recovery.look(recovery_folder())
        self._qtbot.waitSignal(self.recovery.offered).wait()
        return self.recovery.sentence

    def restore(self) -> None:
        """Looks for copies, and restores the first."""
        assert self.look()
        with self._qtbot.waitSignal(self.recovery.offered):
            self.recovery.restore()
        self.wait()

    def close(self, *, leave: bool = False) -> None:
        """Ends every job, and removes the copies, or leaves them as at the end of a session of the system."""
        self.recovery.set_autosave(False, 3600)
        self.session.close(leave=leave)


def at_a_session(qtbot: QtBot, act: Callable[[Behind], None], paths: Iterable[Path] = (), **pauses: int) -> None:
    """Opens texts, lets `act` do things, and closes."""
    behind = Behind(qtbot, paths, replace(PAUSES, **pauses))
    try:
        act(behind)
    finally:
        behind.close()


def killed(qtbot: QtBot, image: Path, act: Callable[[Behind], None], paths: Iterable[Path] = (), **pauses: int) -> None:
    """As `at_a_session`, but the copies are there afterwards that were there when all was done: as after a kill."""
    folder = recovery_folder()

    def act_and_copy(behind: Behind) -> None:
        act(behind)
        shutil.copytree(folder, image)

    at_a_session(qtbot, act_and_copy, paths, **pauses)
    assert list(folder.iterdir()) == [], "whoever closes the window has nothing to recover"
    shutil.copytree(image, folder, dirs_exist_ok=True)
