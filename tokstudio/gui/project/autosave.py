"""Copies of unsaved work for recovery after a crash, kept at intervals and offered at the next start.

The training records its own run; `core.project.recorder` writes both. The copies are in the user's data folder: the
project's own file changes only when the user saves.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.corpus import Corpus
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
from tokstudio.gui.session.common.source_jobs import KeptSources
from tokstudio.gui.session.session import Session
from tokstudio.gui.widgets.file_dialogs import Choosers

_GONE = "What is discarded cannot be restored later."


class Recovery(QObject):
    """Keeps copies while the program runs, and offers those of an earlier start."""

    offered = Signal()  # `sentence`
    failed = Signal(str)  # copies cannot be written: the reason

    def __init__(
        self, session: Session, projects: ProjectDocument, choosers: Choosers, panes: ArrangesPanes, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._session, self._projects, self._choosers, self._panes = session, projects, choosers, panes
        self._left: list[LeftBehind] = []
        self._restored: LeftBehind | None = None
        self._copied: object = None  # the state in the copy
        self._copying = self._again = self._training = False
        self._then: Callable[[], object] | None = None
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.copy)
        self._limit = QTimer(self, singleShot=True, interval=session.jobs.pauses.copy)  # how long `keep` waits
        self._limit.timeout.connect(self._go_on)
        self._enabled = False  # until `set_autosave`
        if session.recorder is not None:
            session.training.state_changed.connect(self._training_changed)
            session.queue.set_before_next(self._keep_trained)
            session.corpus.sources_changed.connect(self._sources_changed)
            projects.saved.connect(self._saved)

    @property
    def sentence(self) -> str:
        """A description of what can be restored; "" if there is nothing."""
        return _sentence(self._left[0]) if self._left else ""

    def set_autosave(self, enabled: bool, seconds: int) -> None:
        """Keeps copies so often, or none; a run in training is recorded all the same."""
        self._enabled = enabled and self._session.recorder is not None
        self._timer.setInterval(1000 * seconds)
        if not self._enabled:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def look(self, folder: Path) -> None:
        """Looks for copies of a killed program in a folder."""
        self._session.jobs.start(partial(recoverable_work, folder), self._take_left, quiet=True)

    def restore(self) -> None:
        """Restores the copies; asks first if that would lose unsaved work."""
        if not self._left or self._session.training.opening:
            return
        left = self._left[0]
        if left.project is None:
            # This only adds a run, so that nothing can be lost.
            corpus = self._session.corpus
            work = partial(_reopen_work, left, corpus.sources, corpus.kept, corpus.reduced)
            self._session.jobs.start(work, self._take_reopened)
        elif self._projects.may_leave("Restore", begin := partial(self._restore, left)):
            begin()

    def discard(self) -> None:
        """Removes the copies that are offered, after a question."""
        if self._left and self._choosers.confirm("Discard Unsaved Work", f"{self.sentence} {_GONE}", "Discard"):
            self._discard(self._left.pop(0))
            self.offered.emit()

    def put_off(self) -> None:
        """Keeps the copies that are offered for the next start."""
        self._left.clear()
        self.offered.emit()

    # ---- writing copies

    def copy(self) -> None:
        """Writes a copy of unsaved work that has changed; a run in training is recorded separately."""
        recorder, state = self._session.recorder, self._projects.state
        if recorder is None or self._copying or state == self._copied:
            return
        if not self._would_lose:
            self._forget(recorder)
            return
        if self._session.training.opening and self._then is None:
            # The current state is about to be replaced; the copy is needed only if the program ends before that.
            return
        self._copying = True
        taken = snapshot(self._session, self._panes.arrangement(), self._projects.path, in_training=False)
        work = partial(_copy_work, recorder, taken, self._session.corpus.kept, state)
        job = self._session.jobs.start(work, self._take_copied, quiet=True)
        job.ended.connect(self._copy_ended)

    def keep(self, then: Callable[[], object]) -> None:
        """Writes a copy of everything, if that is quick, and then calls `then`."""
        if self._then is None:
            self._limit.start()
        self._then = then
        self.copy()
        if not self._copying:
            self._go_on()

    def _go_on(self) -> None:
        self._limit.stop()
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
            # The project was saved while the copy was written.
            self._forget(recorder)
        elif self._session.training.current is None and state == self._projects.state:
            # The copy has the run that was recorded.
            recorder.discard()
        self._forget_restored()

    def _copy_ended(self) -> None:
        self._copying = False
        again, self._again = self._again, False
        if self._then is not None:
            self.keep(self._then)
        elif again:
            self.copy()

    def _training_changed(self) -> None:
        training, before = self._session.training.current, self._training
        self._training = training is not None
        if before == self._training or not self._enabled:
            return
        if training is not None:
            # The copy must have the weights and settings of the run that is recorded.
            state = self._projects.state_without(training.run)
            if state == self._projects.in_file:
                self._copied = None  # There is no copy of what is saved.
            elif not self._copying and state == self._copied:
                return
            self._again = self._copying
        self.copy()

    def _keep_trained(self, then: Callable[[], object]) -> None:
        """Writes a copy with the run that was trained last before its recording is replaced."""
        if self._enabled and self._then is None:
            self.keep(then)
        else:
            then()

    def _sources_changed(self) -> None:
        if self._session.training.current is not None and self._enabled:
            QTimer.singleShot(self._session.jobs.pauses.copy, self, self.copy)

    def _saved(self) -> None:
        """Removes copies, which are not needed after saving."""
        self._copied = None
        self.copy()

    @property
    def _would_lose(self) -> bool:
        """Whether a crash would lose anything besides the run in training, such as which project it belongs to."""
        session = self._session
        if session.training.current is not None and self._projects.path is not None:
            return True
        corpus = session.training.current.run.corpus if session.training.current is not None else None
        # The recording of a training has the texts of its start.
        added = corpus is not None and corpus.sources != session.corpus.remaining
        unsaved = any(run.unsaved and run.ended is not None for run in session.runs.all)
        return added or self._projects.modified or unsaved

    def _forget(self, recorder: Recorder) -> None:
        """Removes the copies; a run in training is still recorded."""
        if self._session.training.current is None:
            recorder.close()
            self._copied = self._projects.state
        self._forget_restored()

    def _forget_restored(self) -> None:
        if self._restored is not None:
            self._discard(self._restored)
            self._restored = None

    def _discard(self, left: LeftBehind) -> None:
        self._session.jobs.start(partial(_discard_work, left), quiet=True)

    # ---- restoring

    def _take_left(self, left: tuple[LeftBehind, ...]) -> None:
        self._left = list(left)
        self.offered.emit()

    def _restore(self, left: LeftBehind) -> None:
        self._projects.begin_opening(
            partial(_reopen_work, left, (), self._session.corpus.kept, None), self._take_reopened
        )

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
    left: LeftBehind, sources: tuple[Source, ...], kept: KeptSources, reduced: Corpus | None
) -> Work[tuple[LeftBehind, OpenedProject | None, OpenedProject | None]]:
    """Reads both; the recorded run takes its texts from the project, or from `sources` if they have them."""
    project = recording = None
    if left.project is not None:
        project = yield from reopen_work(left.project)
        sources, reduced = project.sources, project.reduced
        for source, entry in project.kept:
            kept.put(source, entry)
    if left.recording is not None:
        reopened = yield from reopen_work(left.recording)
        recording = yield from use_sources_work(reopened, sources, kept, reduced)
    return left, project, recording


def _discard_work(left: LeftBehind) -> Work[None]:
    yield Progress("writing")
    left.discard()


def _sentence(left: LeftBehind) -> str:
    """Describes what can be restored, such as: A training was interrupted: Run 1, 12,345 merges."""
    if left.recording is not None:
        entry = left.recording.runs[0]
        assert isinstance(entry, ProjectRun)
        sentence = f"Training was interrupted: {entry.name}, {several(len(entry.run), 'merge')}."
        others = _listed(left.project, without=entry.name)
        return sentence + (f" With it: {others}." if others else "")
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
