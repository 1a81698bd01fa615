"""The How Large? pane: which vocabulary size is enough.

The table has what each size compresses and what its embeddings cost; a size is a place of the playhead.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QModelIndex, QObject, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QFont, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QCheckBox, QWidget

from tokstudio.core.base.wording import in_units, percent_text, size_text, whole_text
from tokstudio.core.comparison.sizes import (
    PERCENTS,
    TAIL,
    Size,
    embedding_parameters,
    merges_for,
    size_after,
    table_of_sizes,
)
from tokstudio.core.guide.glossary import explained
from tokstudio.gui.session.measuring.measurers import MeasuredText, measured_text
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Number
from tokstudio.gui.widgets.figures import ReadOnlyTable, TableModel
from tokstudio.gui.widgets.labels import ElidedLabel, TermLabel, named, paragraph_label, plain, set_word
from tokstudio.gui.widgets.layouts import Fitting, TallBody, column, row, stacked
from tokstudio.gui.widgets.pane import EmptyState, Pane
from tokstudio.version import __version__

# --- The sizes of a run as rows: the one at the playhead, those with a remark, and the others, ascending --------------


@dataclass(frozen=True)
class _Column:
    """A column."""

    title: str  # its heading
    tip: str  # its tool tip, with the formula
    text: Callable[[SizesModel, Size], str]
    widest: str  # the widest text besides the heading
    yields: int = 0  # columns with the highest number are hidden first if there is no room
    word: str = ""  # the word of the glossary that the title is


class SizesModel(TableModel):
    """Row 0 is the size at the playhead; it has no other place, so that the other rows stay where they are."""

    untitled = "Remark"

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.titles = [column.title for column in COLUMNS]
        self.tips = [explained(column.tip, column.word) for column in COLUMNS]
        self.numbers = range(1, len(COLUMNS))
        self._theme = theme
        self._text: MeasuredText | None = None
        self._vocabularies = np.zeros(1, np.int64)
        self._rows: list[Size] = []
        self._notes: dict[int, str] = {}  # by merges
        self.width, self.tied = 0, True

    # ---- content

    def clear(self) -> None:
        """Shows nothing."""
        self.beginResetModel()
        self._text, self._rows, self._notes = None, [], {}
        self.endResetModel()

    def set_text(self, text: MeasuredText, vocabularies: NDArray[np.int64], playhead: int) -> None:
        """Shows the sizes of a run, int64 [n + 1], after 0, 1, ... n merges."""
        self.beginResetModel()
        self._text, self._vocabularies, self._rows, self._notes = text, vocabularies, [], {}
        end = len(text.tokens) - 1
        self._notes = {merges_for(text.tokens, percent): percent_text(percent / 100) for percent in PERCENTS}
        self._notes[end] = ", ".join(filter(None, (self._notes.get(end), "end")))
        sizes = table_of_sizes(text.tokens, text.bytes, vocabularies)
        # What the pane is for is seen without scrolling.
        sizes = sorted(sizes, key=lambda size: size.merges not in self._notes)
        self._rows = [self._size_at(text, playhead), *sizes]
        last = f"Last {TAIL:,} merges" if end > TAIL else "Merges"
        tip = f"Tokens of the text that {_LAST if end > TAIL else 'the merges of this size'} save"
        self.titles = [*self.titles[:SAVED], f"{last} save (tokens)", *self.titles[SAVED + 1 :]]
        self.tips = [*self.tips[:SAVED], tip, *self.tips[SAVED + 1 :]]
        self.endResetModel()

    def set_playhead(self, playhead: int) -> None:
        """Shows the size at the playhead in the first row."""
        if self._text is not None and playhead != self._rows[0].merges:
            self._rows[0] = self._size_at(self._text, playhead)
            self.tell(0, 0)

    def set_embedding(self, width: int, tied: bool) -> None:
        """Sets the model's width, and whether its output layer is the input embedding."""
        self.width, self.tied = width, tied
        self.tell()

    def size_at(self, row: int) -> Size | None:
        """The size of a row."""
        return self._rows[row] if 0 <= row < len(self._rows) else None

    def note_of(self, size: Size) -> str:
        """What is special about a row: the playhead, the share that it is the first to reach, or the end."""
        return "playhead" if size is self._rows[0] else self._notes.get(size.merges, "")

    def saved_text(self, size: Size) -> str:
        """The tokens that the last tokens of a vocabulary save."""
        return whole_text(size.saved, self._text.scale if self._text is not None else 1)

    def _size_at(self, text: MeasuredText, playhead: int) -> Size:
        return size_after(text.tokens, text.bytes, min(playhead, len(text.tokens) - 1), self._vocabularies)

    def count(self) -> int:
        return len(self._rows)

    def text(self, row: int, column: int) -> str:
        return COLUMNS[column].text(self, self._rows[row])

    def tip(self, row: int, column: int) -> str:
        """Returns all of a row, as a narrow table shows only a part."""
        lines = (f"{one.title}: {one.text(self, self._rows[row])}" for one in COLUMNS if one.title)
        return "\n".join((*lines, "Click to move the playhead to this size."))

    def font(self, row: int, column: int) -> QFont:
        font = self._theme.tabular_font()
        font.setBold(bool(row and self.note_of(self._rows[row])))
        return font

    def colour(self, row: int, column: int) -> str | None:
        return self._theme.palette.muted if column == NOTE else None


_LAST = f"the last {TAIL:,} merges of this size, or all where there are fewer,"
NOTE, VOCABULARY, MERGES, RATIO, SHARE, SAVED, SAVED_SHARE, PARAMETERS = range(8)
COLUMNS: tuple[_Column, ...] = (
    _Column("", "The smallest size with 90, 95 and 99 % of the compression at the end", SizesModel.note_of, "playhead"),
    _Column("Size (tokens)", "Tokens of the vocabulary in all", lambda model, size: f"{size.vocabulary:,}", "100,000",
            word="vocabulary"),
    _Column("Merges", "The merges of this size", lambda model, size: f"{size.merges:,}", "100,000", 4, "merge"),
    _Column("Bytes/token", "Compression: bytes of the text / its tokens",
            lambda model, size: f"{size.bytes_per_token:,.3f}", "10.000", word="bytes-per-token"),
    _Column("Of that at the end", "Bytes per token at this size / bytes per token at the end",
            lambda model, size: percent_text(size.of_end, 1), "100.0 %", 1),
    _Column(f"Last {TAIL:,} merges save (tokens)", "", SizesModel.saved_text, "10,000,000", 3),  # as the run is long
    _Column("Saved (%)", "The same in percent of the tokens before these merges",
            lambda model, size: percent_text(size.saved_share, 2), "10.00 %", 2),
    _Column("Embedding parameters",
            "Parameters of the embeddings: vocabulary × model width; twice that if the output layer has its own",
            lambda model, size: f"{embedding_parameters(size.vocabulary, model.width, model.tied):,}",
            "100,000,000", word="embedding"),
)  # fmt: skip


# --- The table of sizes: hides columns that do not fit; a click or Enter asks for the size of a row -------------------

_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class SizesTable(Fitting, ReadOnlyTable):
    """One row per size."""

    chosen = Signal(int)  # a row was clicked, or Enter was pressed on it

    def __init__(self, model: SizesModel, theme: Theme, about: Callable[[], Sequence[str]]) -> None:
        super().__init__("Sizes", about)
        self._theme = theme
        self.setModel(model)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setMinimumSectionSize(24)
        # Headings are aligned with the texts of the cells.
        header.setProperty("wide", True)
        self.clicked.connect(self._clicked)
        theme.follow(self._apply_style)

    def event(self, event: QEvent) -> bool:
        """Handles Enter before the window's actions while it has the focus."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and event.key() in _ENTER:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _ENTER and self.currentIndex().isValid():
            self.chosen.emit(self.currentIndex().row())
        else:
            super().keyPressEvent(event)

    def _clicked(self, index: QModelIndex) -> None:
        self.chosen.emit(index.row())

    def fit(self) -> None:
        """Hides columns until the rest fits; the tip of a row has all of them."""
        header = self.horizontalHeader()
        for number in range(len(COLUMNS)):
            self.setColumnHidden(number, False)
        for number in sorted(range(len(COLUMNS)), key=lambda number: -COLUMNS[number].yields):
            if header.length() > self.viewport().width() and COLUMNS[number].yields:
                self.setColumnHidden(number, True)

    def _apply_style(self) -> None:
        self.verticalHeader().setDefaultSectionSize(self._theme.scaled(28))
        metrics = self.fontMetrics()
        for number, each in enumerate(COLUMNS):
            width = max(metrics.horizontalAdvance(text) for text in (each.widest, each.title)) + 22
            self.horizontalHeader().resizeSection(number, width)
        self.fit()


_LATER = 250  # milliseconds between two updates during a training
_ENOUGH = 95  # percent, for the sentence above the table
_NEARLY_ALL = 0.8  # of the merges; a size with more is no answer
_CANNOT_SHOW = " That is nearly all, so this text cannot show which size is enough."
_LOW = 300  # pixels at the normal text size; a lower pane has fewer lines around the table
_WIDEST = 1_000_000
_LEAST_ROWS = 5  # of the table, where the texts above leave it so much room
MODEL_WIDTH = 4096
_EMPTY = "Each vocabulary size of a run is listed here, with what it compresses. Train a tokenizer first."
_NO_SIZES = "Its sizes cannot be compared."
_FORMULAS = (
    "95 %: at least 0.95 × the bytes per token at the end. Click a row to move the playhead there. Export can write "
    "the tokenizer at the playhead."
)


class SizesPane(Pane):
    """The sizes of the active run, and the field for a model's width."""

    widthChosen = Signal(int)  # the user changed the model's width
    tiedChosen = Signal(bool)  # the user changed whether the embeddings are tied

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("sizes", "How Large?")
        self._session, self._theme = session, theme
        self._shown: tuple[object, ...] = ()
        self._model = SizesModel(theme, self)
        self._make_fields()
        # What limits the answer stands before it, and whole.
        self.measured, self.answer, self.formulas = paragraph_label("muted"), paragraph_label(), ElidedLabel("muted")
        self.formulas.setText(_FORMULAS)
        self.table = SizesTable(self._model, theme, self._about)
        self.empty = EmptyState(_EMPTY)
        page = QWidget()
        column(self.measured, self.answer, 2, (self.table, 1), self.formulas, spacing=2, parent=page)
        self._page = TallBody(page, self.table)
        self.stack = stacked(self.empty, self._page)
        self.body.addWidget(self.stack)
        self._later = QTimer(self, singleShot=True, interval=_LATER)
        self._later.timeout.connect(self.catch_up)
        self.table.chosen.connect(self._go_to)
        session.view.playhead_changed.connect(self._follow)
        session.runs.changed.connect(self._changed)
        session.training.merges_added.connect(self._grow)
        theme.follow(self._apply_theme)

    def set_model(self, width: int, tied: bool) -> None:
        """Sets the model's width, and whether its embeddings are tied."""
        with QSignalBlocker(self.model_width), QSignalBlocker(self.tied):
            self.model_width.setValue(width)
            self.tied.setChecked(tied)
        self._model.set_embedding(self.model_width.value(), tied)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leaves the room of a low pane to the table."""
        super().resizeEvent(event)
        self.formulas.setVisible(self.height() >= self._theme.scaled(_LOW))

    # ---- construction

    def _make_fields(self) -> None:
        self.model_width = named(Number(self._theme, _WIDEST), "Model width")
        self.model_width.setMinimum(1)
        self.model_width.setToolTip("The numbers in each embedding of a model: its hidden size")
        label = TermLabel("Model &width", "embedding")
        label.setBuddy(self.model_width)
        self.tied = QCheckBox("Tie&d")
        tip = "The output layer uses the input embedding: vocabulary × width parameters, else twice as many"
        self.tied.setToolTip(plain(explained(tip, "tied")))
        set_word(self.tied, "tied")
        self._fields = QWidget()
        row(label, self.model_width, self.tied, spacing=8, parent=self._fields)
        self.header.addWidget(self._fields)
        self.set_model(MODEL_WIDTH, tied=True)
        self.model_width.valueChanged.connect(self._choose_width)
        self.tied.toggled.connect(self._choose_tied)

    # ---- updates

    def catch_up(self) -> None:
        run = self._session.runs.active
        text = measured_text(run) if run is not None else None
        if run is None or text is None:
            self._model.clear()
            self.empty.label.setText(_EMPTY if run is None or run.has_counts else _why_no_sizes(run))
            self.stack.setCurrentIndex(0)
        else:
            self._model.set_text(text, run.vocabulary_sizes, self._session.view.playhead)
            self.answer.setText(_answer(run, text))
            self.measured.setText(_measured_on(run, text))
            self.stack.setCurrentIndex(1)
        self._shown = _state(run)

    def _changed(self) -> None:
        if not self.seen:
            # A deleted run is released at once, even in a hidden pane.
            self._shown = ()
            self._model.clear()
        elif self._shown != _state(self._session.runs.active):
            self.catch_up()

    def _grow(self) -> None:
        if self.seen and not self._later.isActive():
            self._later.start()

    def _follow(self) -> None:
        if self.seen and self._shown == _state(self._session.runs.active):
            self._model.set_playhead(self._session.view.playhead)

    def _apply_theme(self) -> None:
        for label in (self.answer, self.measured, self.formulas):
            label.setFont(self._theme.tabular_font())
        rows = _LEAST_ROWS * self.table.verticalHeader().defaultSectionSize()
        self._page.set_least(self.table, self.table.horizontalHeader().sizeHint().height() + rows)

    def _about(self) -> tuple[str, ...]:
        """What copied rows are of."""
        run = self._session.runs.active
        assert run is not None
        return run.sized_name(), self.measured.text(), f"TokStudio {__version__}"

    # ---- user actions

    def _go_to(self, at: int) -> None:
        size = self._model.size_at(at)
        if size is not None:
            self._session.view.set_playhead(size.merges)

    def _choose_width(self, width: int) -> None:
        self._model.set_embedding(width, self.tied.isChecked())
        self.widthChosen.emit(width)

    def _choose_tied(self, tied: bool) -> None:
        self._model.set_embedding(self.model_width.value(), tied)
        self.tiedChosen.emit(tied)


def _state(run: StudioRun | None) -> tuple[object, ...]:
    """What the table depends on, besides the playhead."""
    if run is None:
        return ()
    return run.identity, len(run), run.ended, run.held_out.tokens is None, run.held_out.problem


def _why_no_sizes(run: StudioRun) -> str:
    """Why a tokenizer that was not trained here has no sizes."""
    if run.was_changed:
        return f"How many tokens each merge saves is not known: {run.how_made}. {_NO_SIZES}"
    return f"The file of this tokenizer does not say how many tokens each merge saves. {_NO_SIZES}"


def _answer(run: StudioRun, text: MeasuredText) -> str:
    """The smallest vocabulary with most of the compression, as a sentence."""
    sizes, end = run.vocabulary_sizes, len(text.tokens) - 1
    enough, whole = (
        size_after(text.tokens, text.bytes, merges, sizes) for merges in (merges_for(text.tokens, _ENOUGH), end)
    )
    so_far = "" if run.ended is not None else " so far"
    nearly_all = enough.merges > _NEARLY_ALL * whole.merges
    return (
        f"{enough.vocabulary:,} tokens have {percent_text(_ENOUGH / 100)} of the compression of all "
        f"{whole.vocabulary:,}{so_far}: {enough.bytes_per_token:,.3f} of {whole.bytes_per_token:,.3f} bytes per token."
        f"{_CANNOT_SHOW if nearly_all else ''}"
    )


def _measured_on(run: StudioRun, text: MeasuredText) -> str:
    """Which text is measured, and what that does not say."""
    size = size_text(round(in_units(text.bytes, text.scale)))
    if text.held_out:
        return f"Measured on the held-out text ({size}). Text unlike this corpus can need a larger vocabulary."
    pending = run.config is not None and run.config.held_out and not run.held_out.problem
    why = "The held-out text is measured later." if pending else "Hold out a share to measure other text."
    return (
        f"Measured on the training text ({size}), where large vocabularies look better than on other text. {why} "
        "A small corpus cannot show what a large vocabulary is worth."
    )
