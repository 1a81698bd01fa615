"""The dialogs that check students' trainings, and that write an exercise for a class."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import printable, several
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.teaching.check import CheckSettings
from tokstudio.core.teaching.exercise import make_exercise_work, sentences, to_csv
from tokstudio.gui.dialogs.checking.base import CheckDialog
from tokstudio.gui.dialogs.checking.form import Checking, ExerciseForm, OutcomesModel
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.file_dialogs import Choosers
from tokstudio.gui.widgets.labels import named, paragraph_label
from tokstudio.gui.widgets.layouts import STRETCH, row
from tokstudio.gui.widgets.menus import push_button
from tokstudio.gui.widgets.pane import WorkDialog

# --- The dialog that writes an exercise for a class; it does not block the window -------------------------------------

_EXERCISE_SIZE = QSize(640, 380)
_HELP = (
    "Writes the text, the settings, a page for the class with the command that checks a training, and the right merges "
    "in several shapes in a folder “expected”. Every mistake that TokStudio can name shows on our own text."
)


class MakeExerciseDialog(WorkDialog):
    """The text and the settings, and a button that asks for the folder."""

    def __init__(
        self, session: Session, theme: Theme, preferences: Preferences, choosers: Choosers, parent: QWidget | None
    ) -> None:
        super().__init__("Make an Exercise", session.jobs.pauses.dialogs, parent, modal=False)
        self._preferences, self._choosers = preferences, choosers
        self._job = LatestJob(session.jobs, self, self._wrote, self._fail, quiet=True)
        self._folder = Path()
        self.form = ExerciseForm(theme, session.corpus, preferences, choosers)
        self.form.choose_own_text()
        self.show_button = push_button("S&how Files", self._show_files)
        self.show_button.hide()
        self.write_button = push_button("&Write…", self._write, is_main=True)
        buttons = row(self.show_button, STRETCH, self.close_button, self.write_button, spacing=8)
        parts = (paragraph_label("muted", _HELP), self.form, STRETCH, self.note, self.bar, buttons)
        self.fill(theme, _EXERCISE_SIZE, *parts)
        self.form.changed.connect(self._refresh)
        session.corpus.sources_changed.connect(self._refresh)
        self.finished.connect(self._job.cancel)
        self._refresh()

    def _refresh(self) -> None:
        sized = self.form.settings.vocabulary_size is not None
        obstacle = self.form.obstacle or (None if sized else "Enter a vocabulary size.")
        self._show_busy(self.form)
        self.write_button.setEnabled(not self.is_busy and obstacle is None)
        if not self.is_busy:
            self.say(obstacle or "")

    def _write(self) -> None:
        folder = self._choosers.open_folder("Folder of the Exercise", self._preferences.folder)
        if folder is not None:
            self._preferences.folder = self._folder = folder
            self._begin(partial(_exercise_work, folder, self.form.corpus_work, self.form.settings))

    def _show_progress(self) -> None:
        self.say("Training and writing…")

    def _wrote(self, paths: tuple[Path, ...]) -> None:
        self.show_button.show()
        self._settle(f"Wrote {several(len(paths), 'file')} to {file_name(self._folder)}: begin with README.txt.")

    def _fail(self, error: Exception) -> None:
        self._settle(problem_of(error).text, "error")

    def _show_files(self) -> None:
        if not self._choosers.show_file(self._folder / "README.txt"):
            self.say("The folder could not be opened.", "error")


def _exercise_work(folder: Path, corpus: Callable[[], Work[Corpus]], settings: CheckSettings) -> Work[tuple[Path, ...]]:
    corpus_of_exercise = yield from corpus()
    text = b"".join(bytes(source.data[: source.bytes]) for source in corpus_of_exercise.sources)
    return (yield from make_exercise_work(folder, text, settings))


_SIZE = QSize(820, 680)
_MERGE_FILES = "Merges (*.txt *.csv *.tsv *.json *.jsonl *.bpe *.model *.pkl *.pickle);;All files (*)"
_EMPTY = (
    "Add the files of students, or drop them here. They may be merges.txt, CSV with a heading, JSON, repr of Python's "
    "bytes, ids, minbpe's models and pickles of plain lists. Nothing in a file is run."
)


class CheckTrainingDialog(CheckDialog):
    """Submissions, the text and the settings; a table of what was found; and the sentences for the selected one."""

    titled, rows, tabled = "Check a Training", OutcomesModel, ("Results", (180, 80, 130))
    model: OutcomesModel

    def _build(self) -> None:
        self._given: list[Path] = []
        self._checking: Checking | None = None
        self.form = ExerciseForm(self._theme, self._session.corpus, self._preferences, self._choosers)
        self._show_configured()
        if not self._session.corpus.sources:
            self.form.choose_own_text()
        self._make_details()
        self._make_buttons()
        adding = (self.add_button, self.folder_button, self.clear_button, STRETCH, self.configure_button)
        buttons = (self.copy_button, self.save_button, STRETCH, self.close_button, self.check_button)
        results = ((self.table, 3), (self.details, 2), self.note, self.bar)
        self.fill(self._theme, _SIZE, row(*adding, spacing=8), self.form, *results, row(*buttons, spacing=8))
        self.form.changed.connect(self._forget)
        self._refresh()

    def _make_details(self) -> None:
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

    def _show_configured(self) -> None:
        self.form.show_settings(self._session.training.settings)

    # ---- submissions

    def take(self, paths: Sequence[Path]) -> None:
        """Adds files and folders; what was found before is no longer shown."""
        self._given += [path for path in paths if path not in self._given]
        self._forget()

    def _add_files(self) -> None:
        paths = self._choosers.open_files("Add Submissions", self._preferences.folder, _MERGE_FILES)
        if paths:
            self._preferences.folder = paths[0].parent
            self.take(paths)

    def _add_folder(self) -> None:
        folder = self._choosers.open_folder("Add a Folder of Submissions", self._preferences.folder)
        if folder is not None:
            self._preferences.folder = folder
            self.take([folder])

    def _clear(self) -> None:
        self._given.clear()
        self._forget()

    @property
    def _reads_corpus(self) -> bool:
        return self.form.reads_corpus

    def _forget(self) -> None:
        """Shows no outcomes: those of another text or of other settings would mislead."""
        self._checking = None
        self.model.show(list(map(file_name, self._given)), [])
        self.details.clear()
        self._refresh()

    # ---- checking

    def _check(self) -> None:
        if not self.check_button.isEnabled():
            return
        self._checking = Checking(tuple(self._given), self.form.corpus_work, self.form.settings)
        self.details.clear()
        self._begin(self._checking.work)

    def _show_progress(self) -> None:
        checking = self._checking
        if checking is not None and checking.names:
            self.model.show(checking.names, checking.outcomes[:])
            super()._show_progress()
            if not self.table.currentIndex().isValid() and checking.outcomes:
                self.table.selectRow(0)

    def _doing(self, progress: Progress) -> str:
        assert self._checking is not None
        phase = f": {progress.phase}" if progress.phase else ""
        return f"Checking {len(self._checking.outcomes) + 1:,} of {len(self._checking.names):,}{phase}…"

    def _finish(self, result: None) -> None:
        outcomes = [] if self._checking is None else self._checking.outcomes
        right = sum(outcome.identical for outcome in outcomes)
        self._settle(
            f"{right:,} of {several(len(outcomes), 'submission is', 'submissions are')} identical to the right merges."
        )

    def _settle(self, text: str, role: str = "muted") -> None:
        self._show_progress()
        super()._settle(text, role)
        self.table.setFocus()

    def _refresh(self) -> None:
        inputs = self.form, self.add_button, self.folder_button, self.configure_button
        obstacle = "Add a submission." if not self._given else self.form.obstacle
        self._show_state(inputs, obstacle, bool(self.model.outcomes))
        self.clear_button.setEnabled(not self._job.busy and bool(self._given))

    def _show_details(self) -> None:
        outcome = self.model.outcome(self.table.currentIndex().row())
        self.details.setPlainText("\n".join(map(printable, sentences(outcome))) if outcome is not None else "")

    def _rows_text(self, ending: str) -> str:
        return to_csv(self.model.outcomes)
