"""The How Large? pane: which vocabulary size is enough.

The table has what each size compresses and what its embeddings cost; a size is a place of the playhead.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QSignalBlocker, QTimer, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QCheckBox, QWidget

from tokstudio.core.base.wording import in_units, percent_text, size_text
from tokstudio.core.comparison.sizes import merges_for, size_after
from tokstudio.gui.panes.sizes.model import SizesModel
from tokstudio.gui.panes.sizes.table import SizesTable
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.measured_texts import MeasuredText, measured_text
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Number
from tokstudio.gui.widgets.labels import ElidedLabel, TermLabel
from tokstudio.gui.widgets.layouts import column, row, stacked
from tokstudio.gui.widgets.pane import EmptyState, Pane
from tokstudio.version import __version__

_LATER = 250  # milliseconds between two updates during a training
_ENOUGH = 95  # percent, for the sentence above the table
_LOW = 300  # pixels at the normal text size; a lower pane has fewer lines around the table
_WIDEST = 1_000_000
MODEL_WIDTH = 4096
_EMPTY = "Each vocabulary size of a run is listed here, with what it compresses. Train a tokenizer first."
_NO_SIZES = "Its sizes cannot be compared."
_FORMULAS = (
    "A size has 95 % if its bytes per token are at least 0.95 × those at the end. "
    "Click a row to move the playhead there: no other training is needed. Export can write the tokenizer at the "
    "playhead."
)


class SizesPane(Pane):
    """The sizes of the active run, and the field for a model's width."""

    widthChosen = Signal(int)  # the user changed the model's width
    tiedChosen = Signal(bool)  # the user changed whether the embeddings are tied

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("sizes", "How Large?")
        self._session, self._theme = session, theme
        self._seen = False
        self._shown: tuple[object, ...] = ()
        self._model = SizesModel(theme, self)
        self._make_fields()
        self.answer = ElidedLabel()
        self.measured, self.formulas = ElidedLabel(), ElidedLabel()
        for label in (self.measured, self.formulas):
            label.setProperty("role", "muted")
        self.formulas.setText(_FORMULAS)
        self.table = SizesTable(self._model, theme, self._about)
        self.empty = EmptyState(_EMPTY)
        page = QWidget()
        column(self.answer, self.measured, 2, (self.table, 1), self.formulas, spacing=2, parent=page)
        self.stack = stacked(self.empty, page)
        self.body.addWidget(self.stack)
        self._later = QTimer(self, singleShot=True, interval=_LATER)
        self._later.timeout.connect(self.catch_up)
        self.table.chosen.connect(self._go_to)
        session.view.playhead_changed.connect(self._follow)
        session.runs.changed.connect(self._changed)
        session.training.merges_added.connect(self._grow)
        self.visibilityChanged.connect(self._set_seen)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()

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
        self.model_width = Number(_WIDEST)
        self.model_width.setMinimum(1)
        self.model_width.setAccessibleName("Model width")
        self.model_width.setToolTip("The numbers in each embedding of a model: its hidden size")
        label = TermLabel("Model &width", "embedding")
        label.setBuddy(self.model_width)
        self.tied = QCheckBox("Tie&d")
        self.tied.setToolTip(
            "The output layer uses the input embedding: vocabulary × width parameters, else twice that"
        )
        self._fields = QWidget()
        row(label, self.model_width, self.tied, spacing=8, parent=self._fields)
        self.header.addWidget(self._fields)
        self.set_model(MODEL_WIDTH, tied=True)
        self.model_width.valueChanged.connect(self._choose_width)
        self.tied.toggled.connect(self._choose_tied)

    # ---- updates

    def catch_up(self) -> None:
        """Shows the sizes of the active run."""
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
        if not self._seen:
            # A deleted run is released at once, even in a hidden pane.
            self._shown = ()
            self._model.clear()
        elif self._shown != _state(self._session.runs.active):
            self.catch_up()

    def _grow(self) -> None:
        if self._seen and not self._later.isActive():
            self._later.start()

    def _follow(self) -> None:
        if self._seen and self._shown == _state(self._session.runs.active):
            self._model.set_playhead(self._session.view.playhead)

    def _set_seen(self, seen: bool) -> None:
        if seen != self._seen:
            self._seen = seen
            if seen:
                self.catch_up()

    def _apply_theme(self) -> None:
        self.model_width.apply_style(self._theme)
        for label in (self.answer, self.measured, self.formulas):
            label.setFont(self._theme.tabular_font())

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
    return (
        f"{enough.vocabulary:,} tokens have {percent_text(_ENOUGH / 100)} of the compression of all "
        f"{whole.vocabulary:,}{so_far}: {enough.bytes_per_token:,.3f} of {whole.bytes_per_token:,.3f} bytes per token."
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
