"""The Compare pane: what the shown tokenizers make of a set of texts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton, QWidget

from tokstudio.core.comparison.figures import FIGURES
from tokstudio.gui.panes.compare.dots import Dots
from tokstudio.gui.panes.compare.matrix import Matrix
from tokstudio.gui.panes.compare.matrix_model import Content
from tokstudio.gui.panes.compare.same_text import SameTextView
from tokstudio.gui.panes.compare.vocabularies import VocabulariesView
from tokstudio.gui.panes.compare.words import WordsView
from tokstudio.gui.session.comparison import MOST, SIMPLE
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Choice, ChoiceBox
from tokstudio.gui.widgets.labels import paragraph_label, plain_label
from tokstudio.gui.widgets.layouts import column, row, stacked
from tokstudio.gui.widgets.pane import EmptyState, HeaderTabs, Pane

_TABS = {
    "Figures": "A row for each text, a column for each tokenizer",
    "Dots": "The same figures on a common axis, the best texts first",
    "Same Text": "One line in each tokenizer, one below another",
    "Vocabularies": "The tokens that only one of two tokenizers has, and those of both",
    "Words": "Words with their pieces in each tokenizer, those that are split most first",
}
_SAME_TEXT, _VOCABULARIES, _WORDS = 2, 3, 4
_LEAST = QSize(240, 150)
_NO_TOKENIZER = "Tokenizers are compared here, text by text. Train one or two, or open one."
_NO_TEXT = {
    "corpus": "Tokenizers are compared here on the sources of the corpus. Open a text, or choose other texts.",
    "held out": "The active run has no held-out text. Choose a share under More in Configure, or choose other texts.",
    "text": "The Text pane is empty: type a text there, or choose other texts.",
}
_NO_TEXTS = "There is no text in this set."
_BETTER = {"more": "More is better.", "less": "Less is better.", None: ""}


class ComparePane(Pane):
    """A matrix of one figure, and the same as dots."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("compare", "Compare")
        self._session, self._state, self._actions = session, session.comparison, actions
        self.matrix, self.dots, self.vocabularies = Matrix(theme), Dots(theme), VocabulariesView(session, theme)
        self.same_text, self.words = SameTextView(session, theme), WordsView(session, theme)
        self.tabs = HeaderTabs("Views of the comparison", _TABS)
        self.tabs.currentChanged.connect(self._refresh)
        self.header.insertWidget(1, self.tabs)
        self.texts = ChoiceBox(())
        self.texts.setAccessibleName("Texts")
        self.texts.currentIndexChanged.connect(self._choose_texts)
        self.figures = ChoiceBox([Choice(each.name, each.title, each.formula) for each in FIGURES.values()])
        self.figures.setAccessibleName("Figure")
        self.figures.currentIndexChanged.connect(self._choose_figure)
        self.tokenizers = QToolButton(popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        self.tokenizers.setAccessibleName("Tokenizers")
        self.tokenizers.setToolTip(f"Choose up to {MOST} tokenizers")
        self.tokenizers_menu = QMenu("Tokenizers", self)
        self.tokenizers_menu.aboutToShow.connect(self._fill_tokenizers)
        self.tokenizers.setMenu(self.tokenizers_menu)
        labels = plain_label("muted", "Texts"), plain_label("muted", "Figure")
        choices = row(labels[0], (self.texts, 1), 8, labels[1], (self.figures, 1), 8, self.tokenizers)
        self.meaning = paragraph_label("muted")
        self.empty = EmptyState(_NO_TOKENIZER)
        self._views = stacked(self.matrix, self.dots)
        page = QWidget()
        column(choices, (self._views, 1), self.meaning, spacing=8, parent=page)
        self._stack = stacked(page, self.empty, self.vocabularies, self.same_text, self.words)
        # A narrow column is as narrow as other panes let it be.
        self._stack.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._stack.setMinimumSize(_LEAST)
        self.body.addWidget(self._stack)
        self._seen = False
        self.visibilityChanged.connect(self._set_seen)
        self._state.changed.connect(self._refresh)
        self._state.stack_asked.connect(self._show_stack)
        self.vocabularies.tokenAsked.connect(self._show_token)
        self.same_text.tokenAsked.connect(self._show_token)
        self.matrix.rowMenuAsked.connect(self._show_row_menu)
        self.matrix.columnMenuAsked.connect(self._show_column_menu)
        self._fill_texts()
        self._refresh()

    def fill_row_menu(self, menu: QMenu, number: int) -> None:
        """Fills the menu of a row of the matrix."""
        text = self.matrix.model.text_of(number)
        if text is not None:
            menu.addAction("Use as &Base of Premiums", partial(self._state.choose_base, text.name))
        menu.addAction("&Original Order", partial(self.matrix.table.sortByColumn, -1, Qt.SortOrder.AscendingOrder))

    def fill_column_menu(self, menu: QMenu, number: int) -> None:
        """Fills the menu of a column of the matrix."""
        name = self.matrix.model.tokenizer_of(number)
        if name is not None:
            menu.addAction("Relate &Lengths to This", partial(self._state.choose_against, name))
        menu.addAction("&Original Order", partial(self.matrix.table.sortByColumn, -1, Qt.SortOrder.AscendingOrder))

    # ---- updates

    def _set_seen(self, seen: bool) -> None:
        self._seen = seen
        self._state.set_seen(seen)
        self._refresh()

    def _refresh(self) -> None:
        state, columns = self._state, self._state.columns
        self.vocabularies.forget_missing()
        if not self._seen:
            # Deleted runs are released at once, even in a hidden pane.
            self.matrix.show_content(None)
            self.dots.show_content(None)
            return
        self._fill_texts()
        comparison = state.comparison
        if not columns:
            self._say(_NO_TOKENIZER)
        elif self.tabs.currentIndex() == _VOCABULARIES:
            self.vocabularies.refresh()
            self._stack.setCurrentWidget(self.vocabularies)
        elif self.tabs.currentIndex() == _WORDS:
            self.words.refresh()
            self._stack.setCurrentWidget(self.words)
        elif state.problem:
            self._say(state.problem)
        elif self.tabs.currentIndex() == _SAME_TEXT:
            self.same_text.refresh()
            self._stack.setCurrentWidget(self.same_text)
        elif comparison is not None and not comparison.measured:
            self._say(_NO_TEXT.get(state.texts.key, _NO_TEXTS), keep_choices=True)
        else:
            active = self._session.runs.active
            figure = FIGURES[state.figure]
            content = None if comparison is None else Content(comparison, figure, active.name if active else None)
            self.matrix.show_content(content)
            self.dots.show_content(content)
            self._views.setCurrentIndex(min(self.tabs.currentIndex(), 1))
            self._stack.setCurrentIndex(0)
            unit = f" {figure.unit[0].upper()}{figure.unit[1:]}." if figure.unit else ""
            sentences = (f"{figure.formula}.{unit}", _BETTER[figure.better], figure.note)
            self.meaning.setText(" ".join(filter(None, sentences)))
        names = f"{len(columns)} of {MOST}" if len(columns) == MOST else f"{len(columns)}"
        self.tokenizers.setText(f"Tokenizers: {names}")

    def _say(self, text: str, *, keep_choices: bool = False) -> None:
        if keep_choices:
            self.matrix.show_content(None)
            self.dots.show_content(None)
            self.meaning.setText(text)
            self._stack.setCurrentIndex(0)
        else:
            self.empty.label.setText(text)
            self._stack.setCurrentIndex(1)

    def _fill_texts(self) -> None:
        sets = self._state.sets
        if [choice.value for choice in self.texts.choices] != [each.key for each in sets]:
            self.texts.blockSignals(True)
            self.texts.set_choices([Choice(each.key, each.title, each.meaning) for each in sets])
            self.texts.blockSignals(False)
        at = sets.index(self._state.texts)
        if self.texts.currentIndex() != at:
            self.texts.setCurrentIndex(at)

    def _fill_tokenizers(self) -> None:
        menu, runs, state = self.tokenizers_menu, self._session.runs, self._state
        menu.clear()
        for run in runs.shown:
            action = menu.addAction(run.name.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(run is runs.active or not run.curve_hidden)
            action.setEnabled(run is not runs.active)
            action.toggled.connect(partial(runs.show_curve, run))
        menu.addSeparator()
        for name in SIMPLE:
            action = menu.addAction(name)
            action.setCheckable(True)
            action.setChecked(name in state.simple)
            action.toggled.connect(partial(state.show_simple, name))

    # ---- user actions

    def _choose_texts(self, at: int) -> None:
        sets = self._state.sets
        if 0 <= at < len(sets):
            self._state.choose_texts(sets[at])

    def _choose_figure(self, at: int) -> None:
        self._state.choose_figure(self.figures.choices[at].value)

    def _show_stack(self) -> None:
        self.tabs.setCurrentIndex(_SAME_TEXT)
        self.show()
        self.raise_()

    def _show_token(self, name: str, token: int) -> None:
        active = self._session.runs.active
        if active is not None and active.name == name:
            self._session.view.look_at(token)

    def _show_row_menu(self, number: int, place: QPoint) -> None:
        menu = QMenu(self)
        self.fill_row_menu(menu, number)
        menu.popup(place)

    def _show_column_menu(self, number: int, place: QPoint) -> None:
        menu = QMenu(self)
        self.fill_column_menu(menu, number)
        menu.popup(place)
