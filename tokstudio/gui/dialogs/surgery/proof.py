"""What stayed the same in a changed tokenizer: the nine points, changed lines, the embedding map."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import QComboBox, QGridLayout, QHBoxLayout, QHeaderView, QLabel, QWidget

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.sampling import sample_in_one
from tokstudio.core.surgery.embedding_map import NPZ, embedding_map_work, python_lines
from tokstudio.core.surgery.proof import ChangedLine, changed_lines_work, verify_all_work
from tokstudio.core.tokenizer.origin import Point, Proof
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.dialogs.surgery.works import LARGEST_REFERENCE, SAMPLE, beginning_of
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.spelling import marked, shown
from tokstudio.gui.widgets.fields import label_for, say
from tokstudio.gui.widgets.figures import ReadOnlyTable, TableModel
from tokstudio.gui.widgets.file_dialogs import Choosers
from tokstudio.gui.widgets.labels import Caption, paragraph_label
from tokstudio.gui.widgets.layouts import STRETCH, TallBody, row
from tokstudio.gui.widgets.menus import push_button
from tokstudio.gui.widgets.pane import Dialog

# --- The lines of a text that have other ids after a change, side by side ---------------------------------------------

MOST = 200  # lines
_AROUND = 2  # tokens before the first that differs
_PIECES = 14  # tokens of a line
_CUT = "…"


def _pieces(tokenizer: Tokenizer, ids: NDArray[np.uint32], first: int) -> str:
    start = max(0, first - _AROUND)
    some: list[int] = ids[start : start + _PIECES].tolist()
    lead, tail = _CUT if start else "", _CUT if start + _PIECES < len(ids) else ""
    return lead + "|".join(marked(shown(tokenizer.tokens[token] or b"")) for token in some) + tail


class ChangedLinesModel(TableModel):
    """A row per line, with its tokens from a little before the first that differs."""

    titles = ("Line", "Before", "After")

    def __init__(self, tokenizer: Tokenizer, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        assert tokenizer.origin is not None
        self._theme, self._old, self._new = theme, tokenizer.origin.old, tokenizer
        self.lines: Sequence[ChangedLine] = ()

    def show(self, lines: Sequence[ChangedLine]) -> None:
        """Replaces the rows."""
        with self.reset():
            self.lines = lines

    def count(self) -> int:
        return len(self.lines)

    def text(self, row: int, column: int) -> str:
        line = self.lines[row]
        if not column:
            return f"{line.number:,}"
        of_column = (self._old, line.before) if column == 1 else (self._new, line.after)
        return _pieces(*of_column, line.first)

    tip = text  # a column can be too narrow

    def font(self, row: int, column: int) -> QFont | None:
        return self._theme.monospace_font() if column else None


_SIZE = QSize(920, 720)
_PATIENCE = 2000  # milliseconds after which the status bar shows the work
_BEGINNING = 1 << 16  # bytes of the corpus whose lines are compared
_LEAST_DETAILS = 3
_NEUTRAL = "•"  # before a point that holds, but tells a change
_MAP_FILTERS = "NumPy (*.npz);;JSON (*.json)"
OF_TEXT, OF_CORPUS = "The text of the Text pane", "The first lines of the corpus"
OF_FILE = "A file…"


class ProofDialog(Dialog):
    """Proves the nine points in a job, and shows them as they are."""

    #: The tokenizer before and the run with the one after are to be compared.
    compareAsked = Signal(object, object)

    def __init__(
        self,
        session: Session,
        run: StudioRun,
        theme: Theme,
        preferences: Preferences,
        choosers: Choosers,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("What Stayed the Same", parent)
        self._session, self._run = session, run
        self._preferences, self._choosers = preferences, choosers
        self._tokenizer = run.tokenizer
        self.proof: Proof | None = None
        self.caption = Caption()
        self.caption.say(run.name, [several(len(self._tokenizer), "token")])
        self.verdict = paragraph_label()
        self.labels: list[QLabel] = []
        self._points = QWidget()
        self._grid = QGridLayout(self._points)
        self._grid.setContentsMargins(0, 0, 8, 0)
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(4)
        for side in range(2):
            self._grid.setColumnStretch(side, 1)
        self._make_lines(theme)
        self.body = TallBody(self._points)
        self.body.room_changed.connect(self._fit)
        # The points get the room that they need, the lines the rest.
        parts = ((self.body, 4), self._reference_row(), (self.table, 1), self.note, self._buttons())
        self.fill(theme, _SIZE, self.caption, self.verdict, *parts)
        self._proofs = LatestJob(session.jobs, self, self._take, self._fail, quiet=True, patience=_PATIENCE)
        self.finished.connect(self._proofs.cancel)
        self._known = 0  # the row of the reference text
        self._map = Path(f"embedding{NPZ}")  # the last that was saved for NumPy
        self._prove()

    def _make_lines(self, theme: Theme) -> None:
        self.model = ChangedLinesModel(self._tokenizer, theme, self)
        self.table = ReadOnlyTable("Lines with other tokens", self.model)
        header = self.table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)

    def _reference_row(self) -> QHBoxLayout:
        self.reference = QComboBox()
        if self._session.view.text:
            self.reference.addItem(OF_TEXT)
        if self._session.corpus.sources:
            self.reference.addItem(OF_CORPUS)
        self.reference.addItem(OF_FILE)
        self.reference.activated.connect(self._choose)
        self.lines_note = paragraph_label("muted")
        label = label_for("&Reference text", self.reference)
        return row(label, self.reference, (self.lines_note, 1), spacing=8)

    def _buttons(self) -> QHBoxLayout:
        tip = "Write which row of a model's embedding becomes which, for NumPy or as JSON"
        self.map_button = push_button("Save Embedding &Map…", self._save_map, tip)
        tip = "Copy the lines that resize a model's embedding by the map"
        self.python_button = push_button("Copy &Python Lines", self._copy_python, tip)
        tip = "Show both tokenizers in the Compare pane"
        self.compare_button = push_button("&Compare Before and After", self._compare, tip)
        self.close_button = push_button("Close", self.accept, is_main=True)
        return row(self.map_button, self.python_button, self.compare_button, STRETCH, self.close_button, spacing=8)

    # ---- the proof

    def _choose(self) -> None:
        """Takes the chosen reference text; asks for a file where that is wanted."""
        if self.reference.currentText() == OF_FILE:
            paths = self._choosers.open_files("Open a Reference Text", self._preferences.texts_folder)
            if not paths:
                self.reference.setCurrentIndex(self._known)
                return
            self.reference.insertItem(self.reference.count() - 1, file_name(paths[0]), paths[0])
            self.reference.setCurrentIndex(self.reference.count() - 2)
        self._known = self.reference.currentIndex()
        self._prove()

    def _prove(self) -> None:
        say(self.verdict, "Proving what stayed the same…", "muted")
        chosen = self.reference.currentText()
        reference = self._session.view.text if chosen == OF_TEXT else self.reference.currentData()
        self._proofs.run(partial(_proof_work, self._tokenizer, self._session.corpus.current, reference))

    def _take(self, result: tuple[Proof, list[ChangedLine]]) -> None:
        self.proof, lines = result
        self._show_points(self.proof.points)
        failed = sum(not point.holds for point in self.proof.points)
        number = len(self.proof.points)
        if failed:
            say(self.verdict, f"{several(failed, 'point fails', 'points fail')} of {number}.", "error")
        else:
            neutral = sum(point.neutral for point in self.proof.points)
            note = f" {_NEUTRAL} marks {neutral:,} that tell a change, or what was not checked." if neutral else ""
            say(self.verdict, f"All {number} points hold.{note}", "")
        self.model.show(lines)
        first = "The first " if len(lines) == MOST else ""
        self.lines_note.setText(f"{first}{len(lines):,} with other tokens" if lines else "No line has other tokens.")

    def _fail(self, error: Exception) -> None:
        say(self.verdict, problem_of(error).text, "error")

    def _show_points(self, points: tuple[Point, ...]) -> None:
        for label in self.labels:
            self._grid.removeWidget(label)
            label.deleteLater()
        self.labels = []
        for point in points:
            mark = _NEUTRAL if point.neutral else "✓" if point.holds else "✗"
            self.labels.append(paragraph_label("" if point.holds else "error", f"{mark} {point.number}. {point.name}"))
            # The changed lines stand in a table of their own.
            shown = point.details[:_LEAST_DETAILS] if point.number != 6 else ()
            details = "\n".join((point.sentence, *shown))
            self.labels.append(paragraph_label("muted" if point.holds else "error", details))
        for number, label in enumerate(self.labels):
            self._grid.addWidget(label, number // 2, number % 2, Qt.AlignmentFlag.AlignTop)
            label.ensurePolished()  # the font decides the height
        self._fit()

    def _fit(self) -> None:
        height = max(0, self._grid.totalHeightForWidth(self.body.viewport().width()))  # -1 without points
        # Without it, the content is as high as narrow labels would be.
        self._points.setMinimumHeight(height)
        self.body.setMaximumHeight(height + 1)

    def _save_map(self) -> None:
        suggestion = self._preferences.folder / f"embedding{NPZ}"
        path = self._choosers.save_file("Save Embedding Map", suggestion, _MAP_FILTERS)
        if path is not None:
            self._preferences.folder = path.parent
            if path.suffix.lower() not in (NPZ, ".json"):
                path = path.with_name(path.name + NPZ)
            self._session.jobs.start(
                partial(_map_work, self._tokenizer, path), self._saved, self._map_failed, writes=True
            )

    def _saved(self, path: Path) -> None:
        if path.suffix.lower() == NPZ:
            self._map = path
        self.say(f"Wrote {file_name(path)}.")

    def _map_failed(self, error: Exception) -> None:
        self.say(problem_of(error).text, "error")

    def _copy_python(self) -> None:
        QGuiApplication.clipboard().setText(python_lines(self._map))
        self.say("Copied the Python lines that resize the embedding of a model.")

    def _compare(self) -> None:
        origin = self._tokenizer.origin
        assert origin is not None
        self.accept()
        self.compareAsked.emit(origin.old, self._run)


def _proof_work(
    tokenizer: Tokenizer, corpus: Corpus, reference: str | Path | None
) -> Work[tuple[Proof, list[ChangedLine]]]:
    # Those of word counts have words, one after another.
    texts = (np.asarray(source.data).tobytes() for source in sample_in_one(corpus, SAMPLE).sources)
    if isinstance(reference, Path):
        text = _beginning(Corpus.from_files([reference]), LARGEST_REFERENCE)
    else:
        text = reference if reference is not None else _beginning(corpus, _BEGINNING)
    proof = yield from verify_all_work(tokenizer, texts, text)
    return proof, (yield from changed_lines_work(tokenizer, text))[:MOST]


def _beginning(corpus: Corpus, size: int) -> str:
    """The first lines of the corpus."""
    return beginning_of(corpus.sources[0], size) if corpus.sources else ""


def _map_work(tokenizer: Tokenizer, path: Path) -> Work[Path]:
    table = yield from embedding_map_work(tokenizer)
    yield from table.write_work(path)
    return path
