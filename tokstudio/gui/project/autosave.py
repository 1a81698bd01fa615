"""What a crash would lose: copies of it kept from time to time, and offered at the next start.

A run in training is recorded by the training itself; how both are written is `core.project.recovery`. The copies lie in
the person's data folder: a project's own file changes only when the person saves.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.source import Source
from tokstudio.core.project import LeftBehind, Project, ProjectRun, Recorder, recoverable_work
from tokstudio.gui.project.document import ArrangesPanes, ProjectDocument
from tokstudio.gui.project.snapshot import (
    OpenedProject,
    Snapshot,
    adopt_run,
    project_work,
    reopen_work,
    snapshot,
    use_sources_work,
)
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.source_records import KeptSources

_EVERY = 60_000  # milliseconds between two looks at what has changed
_SOON = 3000  # milliseconds


class Recovery(QObject):
    """Keeps copies while the program runs, and offers what an earlier one has left.

    Signals:
        offered: `sentence`.
        failed(reason): Copies cannot be kept.

    Args:
        session: Whose state is kept.
        projects: Who knows what is not saved.
        panes: Who knows how they are arranged.
        parent: The owner.
    """

    offered = Signal()
    failed = Signal(str)

    def __init__(self, session: Session, projects: ProjectDocument, panes: ArrangesPanes, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._projects = projects
        self._panes = panes
        self._left: list[LeftBehind] = []
        self._restored: LeftBehind | None = None
        self._copied: object = None  # the state that the copy holds
        self._copying = self._training = False
        self._then: Callable[[], object] | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(_EVERY)
        self._timer.timeout.connect(self.copy)
        if session.recorder is not None:
            self._timer.start()
            session.training.state_changed.connect(self._training_changed)
            session.corpus.sources_changed.connect(self._sources_changed)
            projects.saved.connect(self._saved)

    @property
    def sentence(self) -> str:
        """What there is to restore; empty where there is nothing."""
        return _sentence(self._left[0]) if self._left else ""

    def look(self, folder: Path) -> None:
        """Looks for what a program that was killed has left in a folder."""
        self._session.jobs.start(partial(recoverable_work, folder), self._take_left, quiet=True)

    def restore(self) -> None:
        """Takes over what is offered; what would be lost by that is asked about."""
        if not self._left or self._session.training.opening:
            return
        left = self._left[0]
        if left.project is None:
            # Nothing goes for it.
            sources = self._session.corpus.sources
            self._session.jobs.start(
                partial(_reopen_work, left, sources, self._session.corpus.kept), self._take_reopened
            )
        elif self._projects.may_leave("Restore", begin := partial(self._restore, left)):
            begin()

    def discard(self) -> None:
        """Removes what is offered."""
        if self._left:
            self._session.jobs.start(partial(_discard_work, self._left.pop(0)), quiet=True)
            self.offered.emit()

    def put_off(self) -> None:
        """Leaves what is offered for the next start."""
        self._left.clear()
        self.offered.emit()

    # ---- keeping copies

    def copy(self) -> None:
        """Keeps a copy of what is not saved, if that has changed; a run in training is recorded besides."""
        recorder, state = self._session.recorder, self._projects.state
        if recorder is None or self._copying or state == self._copied:
            return
        if not self._would_lose:
            self._forget(recorder)
            return
        if self._session.training.opening and self._then is None:
            # What is there is about to go; only where the program ends first it is kept.
            return
        self._copying = True
        taken = snapshot(self._session, self._panes.arrangement(), self._projects.path, in_training=False)
        work = partial(_copy_work, recorder, taken, self._session.corpus.kept, state)
        job = self._session.jobs.start(work, self._take_copied, quiet=True)
        job.ended.connect(self._copy_ended)

    def keep(self, then: Callable[[], object]) -> None:
        """Keeps a copy of everything as it is now, as far as that is soon done, and then does something."""
        if self._then is None:
            QTimer.singleShot(_SOON, self, self._go_on)
        self._then = then
        self.copy()
        if not self._copying:
            self._go_on()

    def _go_on(self) -> None:
        then, self._then = self._then, None
        if then is not None:
            then()

    def _take_copied(self, state: object) -> None:
        recorder = self._session.recorder
        assert recorder is not None
        self._copied = state
        if recorder.problem is not None:
            self.failed.emit(recorder.problem)
            return
        if not self._would_lose:
            # Saved while the copy was made.
            self._forget(recorder)
        elif self._session.training.current is None and state == self._projects.state:
            # The copy has the run that was recorded.
            recorder.discard()
        self._let_go_of_restored()

    def _copy_ended(self) -> None:
        self._copying = False
        if self._then is not None:
            self.keep(self._then)

    def _training_changed(self) -> None:
        before, self._training = self._training, self._session.training.current is not None
        if before and not self._training:
            self.copy()

    def _sources_changed(self) -> None:
        if self._session.training.current is not None:
            QTimer.singleShot(_SOON, self, self.copy)

    def _saved(self) -> None:
        """A copy from before would be offered for nothing."""
        self._copied = None
        self.copy()

    @property
    def _would_lose(self) -> bool:
        """Whether a crash would lose something that is not in training."""
        session = self._session
        corpus = session.training.current.run.corpus if session.training.current is not None else None
        # The recording of a training has the texts that it began with.
        added = corpus is not None and corpus.sources != session.corpus.sources
        return (
            added or self._projects.modified or any(run.unsaved and run.ended is not None for run in session.runs.all)
        )

    def _forget(self, recorder: Recorder) -> None:
        """Removes the copies; while a run is in training it is recorded all the same."""
        if self._session.training.current is None:
            recorder.close()
            self._copied = self._projects.state
        self._let_go_of_restored()

    def _let_go_of_restored(self) -> None:
        if self._restored is not None:
            self._session.jobs.start(partial(_discard_work, self._restored), quiet=True)
            self._restored = None

    # ---- restoring

    def _take_left(self, left: tuple[LeftBehind, ...]) -> None:
        self._left = list(left)
        self.offered.emit()

    def _restore(self, left: LeftBehind) -> None:
        self._projects.begin_opening(partial(_reopen_work, left, (), self._session.corpus.kept), self._take_reopened)

    def _take_reopened(self, reopened: tuple[LeftBehind, OpenedProject | None, OpenedProject | None]) -> None:
        left, project, recording = reopened
        if left not in self._left:
            return
        self._left.remove(left)
        if project is not None:
            file = project.text("file")
            self._projects.take_over(project, Path(file) if file else None)
        if recording is not None and (run := adopt_run(self._session, recording)) is not None:
            self._session.runs.activate(run)
        self._restored = left
        self._copied = None
        self.copy()
        self.offered.emit()


def _copy_work(recorder: Recorder, taken: Snapshot, kept: KeptSources, state: object) -> Work[object]:
    project = yield from project_work(taken, kept)
    yield from recorder.autosave_work(project)
    return state


def _reopen_work(
    left: LeftBehind, sources: tuple[Source, ...], kept: KeptSources
) -> Work[tuple[LeftBehind, OpenedProject | None, OpenedProject | None]]:
    """Reads both; the recorded run takes its texts from the project, else from `sources`, where they hold them."""
    project = recording = None
    if left.project is not None:
        project = yield from reopen_work(left.project)
        sources = project.sources
        for source, entry in project.kept:
            kept.put(source, entry)
    if left.recording is not None:
        reopened = yield from reopen_work(left.recording)
        recording = yield from use_sources_work(reopened, sources, kept)
    return left, project, recording


def _discard_work(left: LeftBehind) -> Work[None]:
    yield Progress("writing")
    left.discard()


def _sentence(left: LeftBehind) -> str:
    """Says what there is, such as: A training was interrupted: Run 1, 12,345 merges."""
    if left.recording is not None:
        entry = left.recording.runs[0]
        assert isinstance(entry, ProjectRun)
        said = f"Training was interrupted: {entry.name}, {several(len(entry.run), 'merge')}."
        others = _listed(left.project, without=entry.name)
        return said + (f" Also not saved: {others}." if others else "")
    how = "The session ended before everything was saved" if left.ended else "TokStudio did not close properly"
    return f"{how}. Not saved: {_listed(left.project) or 'some changes'}."


def _listed(project: Project | None, without: str = "") -> str:
    if project is None:
        return ""
    file = project.state.get("file")
    name = Path(file).stem if isinstance(file, str) else ""
    others = [entry.name for entry in project.runs if isinstance(entry, ProjectRun) and entry.name != without]
    runs = others[0] if len(others) == 1 else f"{len(others):,} runs" if others else ""
    return f"{name} ({runs})" if name and runs else name or runs
