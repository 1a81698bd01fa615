"""The dialog that writes an exercise for a class; it does not block the window."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QDialog, QProgressBar, QPushButton, QWidget

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.teaching.check import CheckSettings
from tokstudio.core.teaching.exercise import make_exercise_work
from tokstudio.gui.dialogs.check_training.form import ExerciseForm
from tokstudio.gui.session.jobs import LatestJob
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problem import problem_of
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.fields import set_role
from tokstudio.gui.widgets.file_dialogs import Choosers
from tokstudio.gui.widgets.labels import paragraph_label
from tokstudio.gui.widgets.layouts import STRETCH, column, resize_on_screen, row

_SIZE = QSize(640, 380)
_HELP = (
    "Writes the text, the settings, a page for the class with the command that checks a training, and the right merges "
    "in several shapes in a folder “expected”. Every mistake that TokStudio can name shows on our own text."
)


class MakeExerciseDialog(QDialog):
    """The text and the settings, and a button that asks for the folder."""

    def __init__(
        self,
        session: Session,
        theme: Theme,
        preferences: Preferences,
        choosers: Choosers,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._preferences, self._choosers = preferences, choosers
        self._job = LatestJob(session.jobs, self, quiet=True)
        self._folder = Path()
        self.setWindowTitle("Make an Exercise")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.form = ExerciseForm(theme, self._ask_text, lambda: session.corpus.current)
        self.form.choose_own_text()
        self.note = paragraph_label("muted")
        self.bar = QProgressBar(maximum=0, textVisible=False)
        self.bar.setAccessibleName("Progress")
        self.show_button = QPushButton("S&how Files", autoDefault=False)
        self.show_button.hide()
        self.close_button = QPushButton("Close", autoDefault=False)
        self.write_button = QPushButton("&Write…", default=True)
        self.write_button.setProperty("primary", "true")
        buttons = row(self.show_button, STRETCH, self.close_button, self.write_button, spacing=8)
        parts = (paragraph_label("muted", _HELP), self.form, STRETCH, self.note, self.bar, buttons)
        column(*parts, spacing=10, margins=(20, 16, 20, 16), parent=self)
        self.write_button.clicked.connect(self._write)
        self.show_button.clicked.connect(self._show_files)
        self.close_button.clicked.connect(self.reject)
        self.form.text.currentIndexChanged.connect(self._refresh)
        self.form.vocabulary_size.valueChanged.connect(self._refresh)
        session.corpus.sources_changed.connect(self._refresh)
        self._job.done.connect(self._wrote)
        self._job.failed.connect(self._fail)
        self.finished.connect(self._job.cancel)
        resize_on_screen(self, theme, _SIZE)
        self._refresh()

    def _refresh(self) -> None:
        busy = self._job.busy
        sized = self.form.settings.vocabulary_size is not None
        obstacle = self.form.obstacle or (None if sized else "Enter a vocabulary size.")
        self.form.setEnabled(not busy)
        self.write_button.setEnabled(not busy and obstacle is None)
        self.close_button.setText("Cancel" if busy else "Close")
        self.bar.setVisible(busy)
        self._say("Training and writing…" if busy else obstacle or "")

    def _write(self) -> None:
        folder = self._choosers.open_folder("Folder of the Exercise", self._preferences.folder)
        if folder is not None:
            self._preferences.folder = self._folder = folder
            self._job.run(partial(_exercise_work, folder, self.form.corpus_work, self.form.settings))
            self._refresh()

    def _wrote(self, paths: tuple[Path, ...]) -> None:
        self._refresh()
        self.show_button.show()
        self._say(f"Wrote {several(len(paths), 'file')} to {file_name(self._folder)}: begin with README.txt.")

    def _fail(self, error: Exception) -> None:
        self._refresh()
        self._say(problem_of(error).text, "error")

    def _show_files(self) -> None:
        if not self._choosers.show_file(self._folder / "README.txt"):
            self._say("The folder could not be opened.", "error")

    def _ask_text(self) -> Path | None:
        paths = self._choosers.open_files("Text of the Exercise", self._preferences.folder)
        return paths[0] if paths else None

    def _say(self, text: str, role: str = "muted") -> None:
        self.note.setText(text)
        set_role(self.note, role)

    def reject(self) -> None:
        """Cancels writing; closes the dialog if nothing is being written."""
        if self._job.busy:
            self._job.cancel()
            self._refresh()
            self._say("Cancelled.")
        else:
            super().reject()


def _exercise_work(folder: Path, corpus: Callable[[], Work[Corpus]], settings: CheckSettings) -> Work[tuple[Path, ...]]:
    made = yield from corpus()
    text = b"".join(bytes(source.data[: source.bytes]) for source in made.sources)
    return (yield from make_exercise_work(folder, text, settings))
