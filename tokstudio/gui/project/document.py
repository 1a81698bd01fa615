"""The project of the window: its file, unsaved changes, saving, opening, and the question before it is closed.

See also `snapshot` for the content of the file and `autosave` for recovery after a crash.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from PySide6.QtCore import QObject, Signal

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import several
from tokstudio.core.project import SUFFIX, ProjectRun, open_work, save_work
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.project.snapshot import OpenedProject, Snapshot, adopt, project_work, reopen_work, snapshot
from tokstudio.gui.session.common.source_jobs import KeptSources
from tokstudio.gui.session.preferences import ASK_BEFORE_CLOSING, Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import is_missing
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.widgets.file_dialogs import Choosers

_FILTER = f"TokStudio projects (*{SUFFIX})"
_NAMED = 3  # runs
_ENDED = "The training has ended."

Stamp = tuple[int, int]  # time of modification and size of a file


class ArrangesPanes(Protocol):
    """An object that knows the layout of the panes."""

    def arrangement(self) -> str:
        """The current layout."""
        ...

    def arrange(self, layout: str) -> None:
        """Restores a layout."""
        ...


class ProjectDocument(QObject):
    """Saves and opens. Call every method from the GUI thread."""

    changed = Signal()  # `path` or `modified`
    done = Signal(str)  # something was saved or opened: a sentence for the status bar
    saved = Signal()  # the file has all changes now

    def __init__(
        self, session: Session, preferences: Preferences, choosers: Choosers, panes: ArrangesPanes, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._session, self._preferences, self._choosers, self._panes = session, preferences, choosers, panes
        self.path: Path | None = None
        self.modified = False  # whether there are changes that the file does not have; False without a file
        self.in_file: object = None  # the state in the file
        self._stamp: Stamp | None = None  # of the file, when it was saved or opened
        self._saving = self._all_saved = False
        self._again: Callable[[], None] | None = None  # how to save once more when saving has ended
        self._save_when_idle = self._asking = False
        self._then: Callable[[], object] | None = None
        self._opened: list[Any] = []  # what was opened and waits for the end of a training
        self._take: Callable[..., None] = self._adopt
        of_training = (session.training.settings_changed, session.training.merges_added)
        of_corpus = (session.corpus.sources_changed, session.corpus.weights_settled, session.corpus.left_out_changed)
        of_compare = (session.comparison.opened_changed, session.comparison.words_changed)
        of_view = (session.view.text_changed, session.view.chat_changed)
        for signal in (*of_training, *of_corpus, *of_compare, *of_view, session.runs.changed):
            signal.connect(self._look)
        session.training.state_changed.connect(self._go_on)

    @property
    def name(self) -> str:
        """The name of the project; "" without a file."""
        return file_name(Path(self.path.stem)) if self.path is not None else ""

    @property
    def state(self) -> object:
        """The state that can be changed, for comparison."""
        return self.state_without(None)

    def state_without(self, left_out: StudioRun | None) -> object:
        """The same without a run, such as the one in training."""
        session = self._session
        sources = tuple((id(one), one.name, len(one.data), one.documents) for one in session.corpus.sources)
        runs = tuple((id(run), run.name, len(run), run.ended) for run in session.runs.all if run is not left_out)
        texts = session.view.text, session.view.chat, session.comparison.kept
        return sources, session.corpus.weights, session.corpus.left_out, runs, session.training.settings, texts

    @property
    def unsaved(self) -> bool:
        """Whether closing would lose something."""
        session = self._session
        return self.modified or session.training.busy or any(run.unsaved for run in session.runs.all)

    # ---- saving

    def save(self) -> None:
        """Saves to the project's file; asks for a file if there is none."""
        if self._saving:
            self._again = self._again or self.save  # that file may become the project's
        elif self.path is None:
            self.save_as()
        else:
            self._save_to(self.path, self._stamp)

    def save_as(self) -> None:
        """Asks for a file and saves there."""
        folder = self.path.parent if self.path is not None else self._preferences.folder
        path = self._choosers.save_file("Save Project", folder / f"{self.name or 'Untitled'}{SUFFIX}", _FILTER)
        if path is not None and path.suffix != SUFFIX:
            path = path.with_name(path.name + SUFFIX)
            # The dialog asked about the name without its extension.
            question = f"{file_name(path)} already exists."
            if path.exists() and not self._choosers.confirm("Save Project", question, "Replace"):
                path = None
        if path is None:
            self._then = None
            return
        self._preferences.folder = path.parent
        self._save_to(path, None)

    def _save_to(self, path: Path, stamp: Stamp | None) -> None:
        if self._session.corpus.splitting:
            self._session.jobs.refuse("The corpus is being divided into documents: save again in a moment.")
            self._then = None
        elif self._saving:
            self._again = partial(self._save_to, path, stamp)
        else:
            self._saving = True
            taken = snapshot(self._session, self._panes.arrangement())
            work = partial(_save_work, taken, self._session.corpus.kept, path, stamp, self.state)
            job = self._session.jobs.start(work, self._take_saved, writes=True)
            job.ended.connect(self._saving_ended)

    def _take_saved(self, saved: tuple[Path, Stamp | None, Snapshot, object]) -> None:
        path, self._stamp, taken, self.in_file = saved
        self.path = path
        for run, merges in taken.lengths:
            run.note(saved=merges)
        self._look()
        self._tell("Saved", path)
        self._all_saved = True

    def _saving_ended(self) -> None:
        all_saved, self._saving, self._all_saved = self._all_saved, False, False
        again, self._again = self._again, None
        if again is not None:
            again()
            return
        then, self._then = self._then, None
        if then is not None and all_saved:
            then()

    # ---- opening

    def ask_and_open(self) -> None:
        """Asks for a project and opens it."""
        paths = self._choosers.open_files("Open Project", self._preferences.folder, _FILTER)
        if paths:
            self.open(paths[0])

    def open(self, path: Path, *, alone: bool = True) -> None:
        """Opens a project instead of the current one, alone even if others were given; asks if work would be lost."""
        begin = partial(self._open, path, alone)
        # While a question or a save is pending, another project is already about to open, as after a double click.
        if not (self._session.training.opening or self._asking or self._then) and self.may_leave("Open Project", begin):
            begin()

    def _open(self, path: Path, alone: bool) -> None:
        self._preferences.folder = path.parent
        self.begin_opening(partial(_open_work, path), partial(self._adopt, alone))

    def begin_opening(self, work: Callable[[], Work], take: Callable[..., None]) -> None:
        """Runs work and replaces everything by its result with `take`; ends a training first."""
        self._take = take
        self._session.training.set_opening(True)
        self._session.queue.cancel()
        self._session.training.stop()
        job = self._session.jobs.start(work, self._take_opened)
        job.ended.connect(self._opening_ended)

    def _take_opened(self, opened: object) -> None:
        self._opened = [opened]
        self._go_on()

    def _opening_ended(self) -> None:
        if not self._opened and self._session.training.opening:
            self._session.training.set_opening(False)

    def _go_on(self) -> None:
        if self._session.training.current is not None:
            return
        if self._opened:
            self._take(self._opened.pop())
        elif self._save_when_idle:
            self._save_when_idle = False
            self.save()

    def _adopt(self, alone: bool, opened: tuple[Path, Stamp | None, OpenedProject]) -> None:
        path, stamp, reopened = opened
        self.take_over(reopened, path)
        self._stamp, self.in_file = stamp, self.state
        for run in self._session.runs.all:
            run.note(saved=len(run))
        self._session.runs.tell()
        gone = len({source.path for source in reopened.sources if is_missing(source)})
        missing = f" {several(gone, 'file of the corpus is', 'files of the corpus are')} missing." if gone else ""
        self._tell("Opened", path, missing + ("" if alone else " Other files are not opened with a project."))

    def _tell(self, verb: str, path: Path, more: str = "") -> None:
        """After saving or opening: the file has everything."""
        self._preferences.add_recent([path], "project")
        self.changed.emit()
        self.done.emit(f"{verb} {file_name(path)}.{more}")
        self.saved.emit()

    def take_over(self, reopened: OpenedProject, path: Path | None) -> None:
        """Replaces everything by a project; its runs count as saved only while its file exists."""
        self.path, self._stamp, self.in_file = path, None, None
        if path is None or not path.exists():
            for run in reopened.runs:
                run.note(saved=min(0, len(run) - 1))
        adopt(self._session, reopened)
        if reopened.layout:
            self._panes.arrange(reopened.layout)
        self._session.training.set_opening(False)
        self._look()
        self.changed.emit()

    # ---- before closing

    def may_leave(self, title: str, then: Callable[[], object], *, closing: bool = False) -> bool:
        """Asks once if unsaved work would be lost; returns whether to continue.

        If the user wants to save first, it returns False and calls `then` after saving. When closing, a preference can
        turn off the question about runs that are not saved.
        """
        of_runs, changed = not closing or self._preferences.of(ASK_BEFORE_CLOSING), self._session.training.state_changed
        if self._question(of_runs) is not None:
            self._asking = True
            try:
                answer = self._choosers.save_or_not(title, lambda: self._question(of_runs) or _ENDED, changed)
            finally:
                self._asking = False
            if answer == "save":
                self._then, self._save_when_idle = then, True
                self._session.queue.cancel()
                self._session.training.stop()
                self._go_on()
            return answer == "discard"
        if any(job.writes for job in self._session.jobs.running):
            question = "A file is being written. This cancels it; an existing file stays unchanged."
            return self._choosers.confirm(title, question, title.partition(" ")[0])
        return True

    def _question(self, of_runs: bool) -> str | None:
        training = self._session.training.current
        ended = [run for run in self._session.runs.all if training is None or run is not training.run]
        unsaved = [run.name for run in ended if run.unsaved and not run.marks.is_demo]
        listed = f"{_listed(unsaved)} not been saved or exported." if unsaved and of_runs else ""
        if training is not None and not training.run.marks.is_demo:
            merges = "Save keeps its merges so far, Don't Save loses them."
            return f"Training is in progress and will stop. {merges} {listed}".rstrip()
        if self._session.training.by_library is not None:
            return f"Training is in progress and will stop. All of it is lost, also with Save. {listed}".rstrip()
        if self.path is not None and self.modified:
            return f"{self.name} has unsaved changes."
        return listed or None

    def _look(self) -> None:
        modified = self.path is not None and self.state != self.in_file
        if modified != self.modified:
            self.modified = modified
            self.changed.emit()


def _listed(names: list[str]) -> str:
    """The names of some runs with their verb: "Run 1 has", "Run 1 and Run 2 have"."""
    more = len(names) - _NAMED
    if more > 0:
        return f"{', '.join(names[:_NAMED])} and {more} more have"
    return f"{', '.join(names[:-1])} and {names[-1]} have" if len(names) > 1 else f"{names[0]} has"


def _save_work(
    taken: Snapshot, kept: KeptSources, path: Path, stamp: Stamp | None, state: object
) -> Work[tuple[Path, Stamp | None, Snapshot, object]]:
    """Writes a project, unless the file has another stamp than the one that is `known`; `state` is returned."""
    project = yield from project_work(taken, kept, path.absolute().parent)
    now = _stamp(path)
    if stamp is not None and now not in (None, stamp):
        raise FormatError(
            f"{file_name(path)}: another program has changed it since it was opened. Save it as another file."
        )
    yield from save_work(project, path)
    return path, _stamp(path), taken, state


def _open_work(path: Path) -> Work[tuple[Path, Stamp | None, OpenedProject]]:
    path = path.absolute()
    stamp = _stamp(path)
    project = yield from open_work(path)
    if project.runs:
        # Else the window itself would wait for the compiler at a first start.
        trained = [one.run for one in project.runs if isinstance(one, ProjectRun)]
        yield from prepare_work(every=not all(run.config.algorithm.is_plain for run in trained))
    return path, stamp, (yield from reopen_work(project))


def _stamp(path: Path) -> Stamp | None:
    """The stamp of a file, which changes with its content; None if it cannot be read."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
