"""The base of the dialogs that check something in a job, and list what was found; they do not block the window."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QComboBox, QWidget

from tokstudio.core.base.atomic_files import file_name, write_files
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import printable
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.figures import ReadOnlyTable, TableModel
from tokstudio.gui.widgets.file_dialogs import Choosers, dropped_paths
from tokstudio.gui.widgets.menus import push_button
from tokstudio.gui.widgets.pane import WorkDialog


class CheckDialog(WorkDialog):
    """A table of what was found, a job that fills it, and buttons that check, copy and save.

    A subclass begins the job, says how far it is and what follows when it ends; files can be dropped on it.

    Args:
        model: The rows of the table.
        table: The name of the table, and the widths of all columns but the last one, designed for the usual text.
    """

    saved_as = ("checked.csv", "CSV (*.csv)")  # the name to begin with, and the kinds of files

    def __init__(
        self,
        title: str,
        session: Session,
        theme: Theme,
        preferences: Preferences,
        choosers: Choosers,
        model: TableModel,
        table: tuple[str, Sequence[int]],
        parent: QWidget | None,
    ) -> None:
        super().__init__(title, session.jobs.pauses.dialogs, parent, modal=False)
        self._session, self._preferences, self._choosers = session, preferences, choosers
        self._job = LatestJob(session.jobs, self, self._finish, self._fail, quiet=True)
        self.setAcceptDrops(True)
        name, widths = table
        self.table = ReadOnlyTable(name)
        self.table.setModel(model)
        self.table.horizontalHeader().setStretchLastSection(True)
        self.table.horizontalHeader().setHighlightSections(False)
        for number, width in enumerate(widths):
            self.table.setColumnWidth(number, theme.scaled(width))
        self.table.selectionModel().currentRowChanged.connect(self._show_details)
        self.copy_button = push_button("Cop&y Table", self._copy, "Copy the table for a spreadsheet")
        self.save_button = push_button("&Save Table…", self._save)
        self.check_button = push_button("&Check", self._check, is_main=True)
        session.corpus.sources_changed.connect(self._refresh)
        self.finished.connect(self._job.cancel)

    # ---- what a subclass does

    def take(self, paths: Sequence[Path]) -> None:
        """Takes files and folders that were dropped."""
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
            self._session.jobs.start(partial(_write_work, path, text), self._saved, self._fail_saving, writes=True)

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


def _write_work(path: Path, text: str) -> Work[Path]:
    yield from write_files({path: [text.encode("utf-8", "replace")]})
    return path
