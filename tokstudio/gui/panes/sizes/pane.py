"""The How Large? pane: which vocabulary size is enough, for all text and for each source or language; how much text is.

A size is a place of the playhead.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QSignalBlocker, QTimer, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QCheckBox, QWidget

from tokstudio.core.base.wording import in_units, percent_text, several, size_text
from tokstudio.core.comparison.sizes import merges_for, size_after
from tokstudio.core.guide.glossary import explained
from tokstudio.core.training.forecast import fitting_merges
from tokstudio.gui.panes.sizes.amounts import AmountsPage
from tokstudio.gui.panes.sizes.by_text import ByTextPage
from tokstudio.gui.panes.sizes.table import SizesModel, SizesTable
from tokstudio.gui.session.measuring.measurers import MeasuredText, measured_text
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Number
from tokstudio.gui.widgets.labels import TermLabel, named, paragraph_label, plain, set_word
from tokstudio.gui.widgets.layouts import STRETCH, TallBody, column, row, set_tab_order, stacked
from tokstudio.gui.widgets.pane import EmptyState, HeaderTabs, Pane
from tokstudio.version import __version__

_LATER = 250  # milliseconds between two updates during a training
_ENOUGH = 95  # percent, for the sentence above the table
_NEARLY_ALL = 0.8  # of the merges; a size with more is no answer
_CANNOT_SHOW = " That is nearly all, so this text cannot show which size is enough."
_LOW = 300  # pixels at the normal text size; a lower pane has fewer lines around the table
_WIDEST = 1_000_000
_LEAST_ROWS = 5  # of the table, where the texts above leave it so much room
_MODEL_WIDTH = 4096
_BY_TEXT, _AMOUNTS = 1, 2  # the numbers of tabs
_EMPTY = "Each vocabulary size of a run is listed here, with what it compresses. Train a tokenizer first."
_NO_SIZES = "Its sizes cannot be compared."
_FORMULAS = (
    "95 %: at least 0.95 × the bytes per token at the end. Click a row to move the playhead there. Export can write "
    "the tokenizer at the playhead."
)
_TABS = {
    "Sizes": "What each size compresses, and what its embeddings cost",
    "By Text": "Which size a source or a language needs for what another one has",
    "How Much Text?": "Whether more text would change the tokenizer",
}


class SizesPane(Pane):
    """The sizes of the active run, and the field for a model's width; pages by source or language, and on more text."""

    widthChosen = Signal(int)  # the user changed the model's width
    tiedChosen = Signal(bool)  # the user changed whether the embeddings are tied

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("sizes", "How Large?")
        self._session, self._theme = session, theme
        self._shown: tuple[object, ...] = ()
        self._model = SizesModel(theme, self)
        self._make_fields()
        # What limits the answer stands before it, and whole.
        self.measured, self.answer = paragraph_label("muted"), paragraph_label()
        self.formulas = paragraph_label("muted", _FORMULAS)
        self.table = SizesTable("Sizes", self._model, theme, self._about)
        self.empty = EmptyState(_EMPTY)
        page = QWidget()
        below = row((self.formulas, 1), self._fields, spacing=12)
        column(self.measured, self.answer, 2, (self.table, 1), below, spacing=2, parent=page)
        self._page = TallBody(page, self.table)
        self.by_text = ByTextPage(session, theme)
        self.amounts = AmountsPage(session, theme)
        self._amounts = TallBody(self.amounts, self.amounts.table)
        self.stack = stacked(self.empty, self._page, self.by_text, self._amounts)
        self.body.addWidget(self.stack)
        self.tabs = HeaderTabs("Views of the sizes", _TABS)
        self.tabs.currentChanged.connect(self._turn)
        self.header.insertWidget(1, self.tabs)
        set_tab_order(self.tabs, self.table, self.model_width, self.tied)
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

    def _make_fields(self) -> None:
        self.model_width = named(Number(self._theme, _WIDEST), "Model width")
        self.model_width.setMinimum(1)
        tip = "The numbers in each embedding of a model: its hidden size"
        self.model_width.setToolTip(plain(explained(tip, "model-width")))
        label = TermLabel("Model &width", "model-width")
        label.setBuddy(self.model_width)
        self.tied = QCheckBox("Tie&d")
        tip = "The output layer uses the input embedding: vocabulary × width parameters, else twice as many"
        self.tied.setToolTip(plain(explained(tip, "tied")))
        set_word(self.tied, "tied")
        self._fields = QWidget()
        row(STRETCH, label, self.model_width, self.tied, spacing=8, parent=self._fields)
        self.set_model(_MODEL_WIDTH, tied=True)
        self.model_width.valueChanged.connect(self._choose_width)
        self.tied.toggled.connect(self._choose_tied)

    def catch_up(self) -> None:
        run = self._session.runs.active
        if self.tabs.currentIndex() == _BY_TEXT:
            self.by_text.show_run(run)
            self.stack.setCurrentWidget(self.by_text)
            return
        if self.tabs.currentIndex() == _AMOUNTS:
            self.amounts.refresh()
            self.stack.setCurrentWidget(self._amounts)
            return
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

    def leave(self) -> None:
        self.by_text.leave()
        self.amounts.work.rest()

    def _turn(self) -> None:
        if self.tabs.currentIndex() != _BY_TEXT:
            self.by_text.leave()
        self.catch_up()

    def _changed(self) -> None:
        if not self.seen or self.tabs.currentIndex():
            # A deleted run is released at once, even in a hidden pane.
            self._shown = ()
            self._model.clear()
        if not self.seen or self.tabs.currentIndex() != _BY_TEXT:
            self.by_text.show_run(None)
        if self.seen and (self.tabs.currentIndex() or self._shown != _state(self._session.runs.active)):
            self.catch_up()

    def _grow(self) -> None:
        if self.seen and not self._later.isActive():
            self._later.start()

    def _follow(self) -> None:
        if self.seen and self.tabs.currentIndex() == _BY_TEXT:
            self.by_text.show_playhead()
        elif self.seen and self._shown == _state(self._session.runs.active):
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
        f"{_supported(run)}{enough.vocabulary:,} tokens have {percent_text(_ENOUGH / 100)} of the compression of all "
        f"{whole.vocabulary:,} trained{so_far}: {enough.bytes_per_token:,.3f} of {whole.bytes_per_token:,.3f} bytes "
        f"per token.{_CANNOT_SHOW if nearly_all else ''}"
    )


def _supported(run: StudioRun) -> str:
    """What the rule of thumb says of its corpus, as a sentence."""
    if run.corpus is None:
        return ""
    size = run.corpus.bytes
    merges = fitting_merges(size)
    return (
        f"Begin with {run.base_size + merges:,} tokens: by the rule of thumb, {size_text(size)} of text support about "
        f"{several(merges, 'merge')}. "
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
