"""The dialog that checks students' trainings; it does not block the window."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit, QProgressBar, QWidget

from tokstudio.core.base.atomic_files import file_name, write_files
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import printable, several
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.teaching.check import CheckSettings
from tokstudio.core.teaching.exercise import make_exercise_work, sentences, to_csv
from tokstudio.gui.dialogs.check_training.form import Checking, ExerciseForm, OutcomesModel
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.figures import ReadOnlyTable
from tokstudio.gui.widgets.file_dialogs import Choosers, dropped_paths
from tokstudio.gui.widgets.labels import named, paragraph_label
from tokstudio.gui.widgets.layouts import STRETCH, row
from tokstudio.gui.widgets.menus import push_button
from tokstudio.gui.widgets.pane import Dialog

# --- The dialog that writes an exercise for a class; it does not block the window -------------------------------------

_EXERCISE_SIZE = QSize(640, 380)
_HELP = (
    "Writes the text, the settings, a page for the class with the command that checks a training, and the right merges "
    "in several shapes in a folder “expected”. Every mistake that TokStudio can name shows on our own text."
)


class MakeExerciseDialog(Dialog):
    """The text and the settings, and a button that asks for the folder."""

    def __init__(
        self,
        session: Session,
        theme: Theme,
        preferences: Preferences,
        choosers: Choosers,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("Make an Exercise", parent, modal=False)
        self._preferences, self._choosers = preferences, choosers
        self._job = LatestJob(session.jobs, self, self._wrote, self._fail, quiet=True)
        self._folder = Path()
        self.form = ExerciseForm(theme, session.corpus, preferences, choosers)
        self.form.choose_own_text()
        self.bar = named(QProgressBar(maximum=0, textVisible=False), "Progress")
        self.show_button = push_button("S&how Files", self._show_files)
        self.show_button.hide()
        self.close_button = push_button("Close", self.reject)
        self.write_button = push_button("&Write…", self._write, is_main=True)
        buttons = row(self.show_button, STRETCH, self.close_button, self.write_button, spacing=8)
        parts = (paragraph_label("muted", _HELP), self.form, STRETCH, self.note, self.bar, buttons)
        self.fill(theme, _EXERCISE_SIZE, *parts)
        self.form.text.currentIndexChanged.connect(self._refresh)
        self.form.vocabulary_size.valueChanged.connect(self._refresh)
        session.corpus.sources_changed.connect(self._refresh)
        self.finished.connect(self._job.cancel)
        self._refresh()

    def _refresh(self) -> None:
        busy = self._job.busy
        sized = self.form.settings.vocabulary_size is not None
        obstacle = self.form.obstacle or (None if sized else "Enter a vocabulary size.")
        self.form.setEnabled(not busy)
        self.write_button.setEnabled(not busy and obstacle is None)
        self.close_button.setText("Cancel" if busy else "Close")
        self.bar.setVisible(busy)
        self.say("Training and writing…" if busy else obstacle or "")

    def _write(self) -> None:
        folder = self._choosers.open_folder("Folder of the Exercise", self._preferences.folder)
        if folder is not None:
            self._preferences.folder = self._folder = folder
            self._job.run(partial(_exercise_work, folder, self.form.corpus_work, self.form.settings))
            self._refresh()

    def _wrote(self, paths: tuple[Path, ...]) -> None:
        self._refresh()
        self.show_button.show()
        self.say(f"Wrote {several(len(paths), 'file')} to {file_name(self._folder)}: begin with README.txt.")

    def _fail(self, error: Exception) -> None:
        self._refresh()
        self.say(problem_of(error).text, "error")

    def _show_files(self) -> None:
        if not self._choosers.show_file(self._folder / "README.txt"):
            self.say("The folder could not be opened.", "error")

    def reject(self) -> None:
        """Cancels writing; closes the dialog if nothing is being written."""
        if self._job.busy:
            self._job.cancel()
            self._refresh()
            self.say("Cancelled.")
        else:
            super().reject()


def _exercise_work(folder: Path, corpus: Callable[[], Work[Corpus]], settings: CheckSettings) -> Work[tuple[Path, ...]]:
    corpus_of_exercise = yield from corpus()
    text = b"".join(bytes(source.data[: source.bytes]) for source in corpus_of_exercise.sources)
    return (yield from make_exercise_work(folder, text, settings))


_SIZE = QSize(820, 680)
_WIDTHS = (180, 80, 130)
_MERGE_FILES = "Merges (*.txt *.csv *.tsv *.json *.jsonl *.bpe *.model *.pkl *.pickle);;All files (*)"
_EMPTY = (
    "Add the files of students, or drop them here. They may be merges.txt, CSV with a heading, JSON, repr of Python's "
    "bytes, ids, minbpe's models and pickles of plain lists. Nothing in a file is run."
)


class CheckTrainingDialog(Dialog):
    """Submissions, the text and the settings; a table of what was found; and the sentences for the selected one."""

    def __init__(
        self,
        session: Session,
        theme: Theme,
        preferences: Preferences,
        choosers: Choosers,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("Check a Training", parent, modal=False)
        self._session, self._preferences, self._choosers = session, preferences, choosers
        self._given: list[Path] = []
        self._checking: Checking | None = None
        self._job = LatestJob(session.jobs, self, self._finish, self._fail, quiet=True)
        self._timer = QTimer(self, interval=session.jobs.pauses.dialogs)
        self._timer.timeout.connect(self._show_results)
        self.setAcceptDrops(True)
        self.form = ExerciseForm(theme, session.corpus, preferences, choosers)
        self._show_configured()
        if not session.corpus.sources:
            self.form.choose_own_text()
        self.model = OutcomesModel(theme, self)
        self._make_results(theme)
        self.bar = named(QProgressBar(maximum=0, textVisible=False), "Progress")
        self._make_buttons()
        adding = (self.add_button, self.folder_button, self.clear_button, STRETCH, self.configure_button)
        buttons = (self.copy_button, self.save_button, STRETCH, self.close_button, self.check_button)
        results = ((self.table, 3), (self.details, 2), self.note, self.bar)
        self.fill(theme, _SIZE, row(*adding, spacing=8), self.form, *results, row(*buttons, spacing=8))
        self.form.text.currentIndexChanged.connect(self._refresh)
        session.corpus.sources_changed.connect(self._refresh)
        self.table.selectionModel().currentRowChanged.connect(self._show_details)
        self.finished.connect(self._job.cancel)
        self._refresh()

    # ---- construction

    def _make_results(self, theme: Theme) -> None:
        self.table = ReadOnlyTable("Results")
        self.table.setModel(self.model)
        self.table.horizontalHeader().setStretchLastSection(True)
        self.table.horizontalHeader().setHighlightSections(False)
        for number, width in enumerate(_WIDTHS):
            self.table.setColumnWidth(number, theme.scaled(width))
        self.details = named(QPlainTextEdit(readOnly=True), "What was found in the selected submission")
        self.details.setPlaceholderText(_EMPTY)
        self.details.setTabChangesFocus(True)
        flags = Qt.TextInteractionFlag
        self.details.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)

    def _make_buttons(self) -> None:
        self.add_button = push_button("&Add Files…", self._add_files)
        tip = "Add a folder of submissions, or the folder of one training"
        self.folder_button = push_button("Add F&older…", self._add_folder, tip)
        self.clear_button = push_button("C&lear", self._clear)
        tip = "Take over vocabulary size, pattern, tie rule and special tokens"
        self.configure_button = push_button("Settings of Confi&gure", self._show_configured, tip)
        self.copy_button = push_button("Cop&y Table", self._copy, "Copy the table for a spreadsheet")
        self.save_button = push_button("&Save Table…", self._save)
        self.close_button = push_button("Close", self.reject)
        self.check_button = push_button("&Check", self._check, is_main=True)

    def _show_configured(self) -> None:
        self.form.show_settings(self._session.training.settings)

    # ---- submissions

    def add(self, paths: Sequence[Path]) -> None:
        """Adds files and folders; what was found before is no longer shown."""
        self._given += [path for path in paths if path not in self._given]
        self._forget()

    def _add_files(self) -> None:
        paths = self._choosers.open_files("Add Submissions", self._preferences.folder, _MERGE_FILES)
        if paths:
            self._preferences.folder = paths[0].parent
            self.add(paths)

    def _add_folder(self) -> None:
        folder = self._choosers.open_folder("Add a Folder of Submissions", self._preferences.folder)
        if folder is not None:
            self._preferences.folder = folder
            self.add([folder])

    def _clear(self) -> None:
        self._given.clear()
        self._forget()

    def _forget(self) -> None:
        self._checking = None
        self.model.show(list(map(file_name, self._given)), [])
        self.details.clear()
        self._refresh()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_paths(event.mimeData()) and not self._job.busy:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        self.add(dropped_paths(event.mimeData()))
        event.acceptProposedAction()

    # ---- checking

    def _check(self) -> None:
        if not self.check_button.isEnabled():
            return
        self._checking = Checking(tuple(self._given), self.form.corpus_work, self.form.settings)
        self.details.clear()
        self._job.run(self._checking.work)
        self._timer.start()
        self._refresh()
        self.close_button.setFocus()

    def _show_results(self) -> None:
        checking = self._checking
        if checking is None or not checking.names:
            return
        self.model.show(checking.names, checking.outcomes[:])
        progress = self._job.progress
        self.bar.setRange(0, progress.total)
        self.bar.setValue(progress.done)
        if self._job.busy:
            phase = f": {progress.phase}" if progress.phase else ""
            self.say(f"Checking {len(checking.outcomes) + 1:,} of {len(checking.names):,}{phase}…")
        if not self.table.currentIndex().isValid() and checking.outcomes:
            self.table.selectRow(0)

    def _finish(self) -> None:
        self._settle()
        outcomes = self.model.outcomes
        right = sum(outcome.identical for outcome in outcomes)
        self.say(
            f"{right:,} of {several(len(outcomes), 'submission is', 'submissions are')} identical to the right merges."
        )

    def _fail(self, error: Exception) -> None:
        self._settle()
        self.say(problem_of(error).text, "error")

    def _settle(self) -> None:
        self._timer.stop()
        self._show_results()
        self._refresh()
        self._show_details()
        self.table.setFocus()

    def reject(self) -> None:
        """Cancels checking; closes the dialog if nothing is being checked."""
        if self._job.busy:
            self._job.cancel()
            self._settle()
            self.say("Cancelled.")
        else:
            super().reject()

    # ---- what is shown

    def _refresh(self) -> None:
        busy = self._job.busy
        for widget in (self.form, self.add_button, self.folder_button, self.configure_button):
            widget.setEnabled(not busy)
        self.clear_button.setEnabled(not busy and bool(self._given))
        obstacle = "Add a submission." if not self._given else self.form.obstacle
        self.check_button.setEnabled(not busy and obstacle is None)
        for button in (self.copy_button, self.save_button):
            button.setEnabled(not busy and bool(self.model.outcomes))
        self.close_button.setText("Cancel" if busy else "Close")
        self.bar.setVisible(busy)
        self.say("" if busy else obstacle or "")

    def _show_details(self) -> None:
        outcome = self.model.outcome(self.table.currentIndex().row())
        self.details.setPlainText("\n".join(map(printable, sentences(outcome))) if outcome is not None else "")

    # ---- the table elsewhere

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(to_csv(self.model.outcomes))
        self.say("Copied the table.")

    def _save(self) -> None:
        path = self._choosers.save_file("Save Table", self._preferences.folder / "checked.csv", "CSV (*.csv)")
        if path is not None:
            self._preferences.folder = path.parent
            text = to_csv(self.model.outcomes)
            self._session.jobs.start(partial(_write_work, path, text), self._saved, self._fail, writes=True)

    def _saved(self, path: Path) -> None:
        self.say(f"Wrote {file_name(path)}.")


def _write_work(path: Path, text: str) -> Work[Path]:
    yield from write_files({path: [text.encode("utf-8", "replace")]})
    return path
