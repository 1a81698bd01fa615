"""The base of the dialogs that check something in a job, and list what was found; they do not block the window."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from PySide6.QtCore import QSignalBlocker, QSize
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QComboBox, QTextEdit, QWidget

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import printable
from tokstudio.gui.session.common.jobs import LatestJob, write_work
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.fields import label_for
from tokstudio.gui.widgets.figures import FigureModel, ReadOnlyTable
from tokstudio.gui.widgets.file_dialogs import Choosers, dropped_paths
from tokstudio.gui.widgets.labels import named
from tokstudio.gui.widgets.layouts import STRETCH, Item, row
from tokstudio.gui.widgets.menus import push_button
from tokstudio.gui.widgets.pane import WorkDialog


class CheckDialog(WorkDialog):
    """A table of what was found, a job that fills it, and buttons that check, copy and save.

    A subclass lays out, begins the job, says how far it is and what follows when it ends; files can be dropped on it.
    """

    titled = ""
    rows: ClassVar[type[FigureModel]]  # of the table
    model: Any  # one of these
    tabled: tuple[str, Sequence[int]]  # the name of the table, and the usual widths of all columns but the last one
    saved_as = ("checked.csv", "CSV (*.csv)")  # the name to begin with, and the kinds of files

    def __init__(
        self, session: Session, theme: Theme, preferences: Preferences, choosers: Choosers, parent: QWidget | None
    ) -> None:
        super().__init__(self.titled, session.jobs.pauses.dialogs, parent, modal=False)
        self._session, self._preferences, self._choosers, self._theme = session, preferences, choosers, theme
        self._job = LatestJob(session.jobs, self, self._finish, self._fail, quiet=True)
        self.setAcceptDrops(True)
        name, widths = self.tabled
        self.model = self.rows(theme, self)
        self.table = ReadOnlyTable(name, self.model)
        self.table.horizontalHeader().setStretchLastSection(True)
        self.table.horizontalHeader().setHighlightSections(False)
        for number, width in enumerate(widths):
            self.table.setColumnWidth(number, theme.scaled(width))
        self.table.selectionModel().currentRowChanged.connect(self._show_details)
        self.copy_button = push_button("Cop&y Table", self._copy, "Copy the table for a spreadsheet")
        self.save_button = push_button("&Save Table…", self._save)
        self.check_button = push_button("&Check", self._check, is_main=True)
        session.corpus.sources_changed.connect(self._take_corpus)
        self.finished.connect(self._job.cancel)
        self._build()

    # ---- what a subclass does

    def _build(self) -> None:
        """Makes the fields, and fills the dialog."""
        raise NotImplementedError

    def take(self, paths: Sequence[Path]) -> None:
        """Takes files and folders that were dropped."""
        raise NotImplementedError

    @property
    def _reads_corpus(self) -> bool:
        """Whether the corpus of the window is checked with."""
        raise NotImplementedError

    def _forget(self) -> None:
        """Shows nothing that was found."""
        raise NotImplementedError

    def _check(self) -> None:
        """Begins to check."""
        raise NotImplementedError

    def _finish(self, result: Any) -> None:  # noqa: ANN401  of its own work
        raise NotImplementedError

    def _show_details(self) -> None:
        """Shows all about the selected row."""
        raise NotImplementedError

    def _rows_text(self, ending: str) -> str:
        """The table as a file with this ending."""
        raise NotImplementedError

    # ---- checking

    def _take_corpus(self) -> None:
        if self._reads_corpus:
            self._job.cancel()
            self._timer.stop()
            self._forget()
        else:
            self._refresh()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_paths(event.mimeData()) and not self._job.busy:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        self.take(dropped_paths(event.mimeData()))
        event.acceptProposedAction()

    def _settle(self, text: str, role: str = "muted") -> None:
        super()._settle(text, role)
        self._show_details()

    def _fail(self, error: Exception) -> None:
        self._settle(problem_of(error).text, "error")

    def _show_state(self, inputs: Sequence[QWidget], obstacle: str | None, has_rows: bool) -> None:
        """Enables the inputs and the buttons; `obstacle` is why nothing can be checked now, a sentence."""
        busy = self.is_busy
        self._show_busy(*inputs)
        self.check_button.setEnabled(not busy and obstacle is None)
        for button in (self.copy_button, self.save_button):
            button.setEnabled(not busy and has_rows)
        self.say("" if busy else obstacle or "")

    # ---- the table elsewhere

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._rows_text(".csv"))
        self.say("Copied the table.")

    def _save(self) -> None:
        name, kinds = self.saved_as
        path = self._choosers.save_file("Save Table", self._preferences.folder / name, kinds)
        if path is not None:
            self._preferences.folder = path.parent
            text = self._rows_text(path.suffix.lower())
            self._session.jobs.start(partial(write_work, path, text), self._saved, self._fail_saving, writes=True)

    def _saved(self, path: Path) -> None:
        self.say(f"Wrote {file_name(path)}.")

    def _fail_saving(self, error: Exception) -> None:
        self.say(problem_of(error).text, "error")


class TokenizerBox(QComboBox):
    """A choice among the tokenizers of the window; the chosen one stays chosen, at first the active one."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(12)
        self.setPlaceholderText("None is open")

    def list_again(self, path: Path | None = None) -> bool:
        """Lists them, and the file or folder `path`; returns whether another is chosen then, which emits no signal."""
        chosen: StudioRun | Path | None = self.currentData()
        wanted = chosen if chosen is not None else self._session.view.run
        with QSignalBlocker(self):
            self.clear()
            for run in self._session.runs.shown:
                self.addItem(run.name, run)
            if path is not None:
                self.addItem(printable(file_name(path)), path)
            kept = [at for at in range(self.count()) if self.itemData(at) is wanted]
            self.setCurrentIndex(kept[0] if kept else self.count() - 1)
        return self.currentData() is not chosen


class TokenizerCheckDialog(CheckDialog):
    """Checks a tokenizer of the window; all about the selected row stands below the table."""

    about = ""  # what stands there, for a screen reader
    usual_size: QSize

    def _build(self) -> None:
        self._path: Path | None = None  # of a tokenizer that is not in the window
        self._checked = ""  # the name of the tokenizer of the rows
        self.tokenizer = TokenizerBox(self._session)
        fields = self._fields()
        self.tokenizer.currentIndexChanged.connect(self._forget)
        self.details = named(QTextEdit(readOnly=True), self.about)
        self.details.setTabChangesFocus(True)
        fields = row(label_for("&Tokenizer", self.tokenizer), (self.tokenizer, 3), *fields, spacing=8)
        buttons = row(self.copy_button, self.save_button, STRETCH, self.close_button, self.check_button, spacing=8)
        self.fill(
            self._theme, self.usual_size, fields, (self.table, 3), (self.details, 2), self.note, self.bar, buttons
        )
        self._session.runs.changed.connect(self._list_runs)
        self._theme.changed.connect(self._show_details)
        self._list_runs()
        self._forget()

    def _fields(self) -> Sequence[Item]:
        """Makes the fields beside the tokenizer."""
        raise NotImplementedError

    def _work(self) -> Callable[[], Work[Any]]:
        """The work with what is chosen."""
        raise NotImplementedError

    def _told(self, result: Any) -> tuple[str, str]:  # noqa: ANN401  of its own work
        """What is said of the result, and in which role."""
        raise NotImplementedError

    def _list_runs(self) -> None:
        if self.tokenizer.list_again(self._path):
            self._forget()
        else:
            self._refresh()

    def _forget(self) -> None:
        """Shows no rows: those of another tokenizer would mislead."""
        self.model.show()
        self._refresh()
        self._show_details()

    def _check(self) -> None:
        if self.check_button.isEnabled():
            self._checked = self.tokenizer.currentText()
            work = self._work()
            self._forget()
            self._begin(work)

    def _finish(self, result: Any) -> None:  # noqa: ANN401  of its own work
        self.model.show(result)
        said, role = self._told(result)
        self._settle(f"{self._checked}: {said}", role)
        self.table.selectRow(0)
        self.table.setFocus()
