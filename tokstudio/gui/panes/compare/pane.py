"""The Compare pane: what the shown tokenizers make of a set of texts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import TypeVar

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton, QWidget

from tokstudio.core.base.wording import several
from tokstudio.core.comparison.comparison import Comparison
from tokstudio.core.comparison.figures import FIGURES
from tokstudio.core.guide.glossary import meaning, slug
from tokstudio.gui.panes.compare.dots import Dots
from tokstudio.gui.panes.compare.engines import EnginesView
from tokstudio.gui.panes.compare.matrix import Matrix, MatrixContent
from tokstudio.gui.panes.compare.same_text import SameTextView
from tokstudio.gui.panes.compare.vocabularies import VocabulariesView
from tokstudio.gui.panes.compare.words import WordsView
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import SIMPLE
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Choice, ChoiceBox
from tokstudio.gui.widgets.labels import TermLabel, in_a_sentence, named, paragraph_label, plain, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, Fitting, column, give_way, row, set_tab_order, stacked
from tokstudio.gui.widgets.menus import ActionButton, Menu, TickMenu, push_button, set_why_not
from tokstudio.gui.widgets.pane import EmptyState, HeaderTabs, Pane

_View = TypeVar("_View", bound=QWidget)

_TABS = {
    "Figures": "A row for each text, a column for each tokenizer",
    "Dots": "The same figures on a common axis, the best texts first",
    "Same Text": "One line in each tokenizer, one below another",
    "Vocabularies": "The tokens that only one of two tokenizers has, and those of both",
    "Words": "Words with their pieces in each tokenizer, those that are split most first",
    "Engines": "The ids of other libraries beside ours, and why they differ",
}
_SAME_TEXT, _VOCABULARIES, _WORDS, _ENGINES = 2, 3, 4, 5
_LEAST = QSize(240, 150)
_NARROW, _LOW = 520, 300  # pixels
_WIDEST_CHOICE = 360  # pixels
#: What each view will show, by its tab.
_EMPTY = (
    "Each text will have a row here and each tokenizer a column, with the figure that you choose.",
    "The figures will be dots here on a common axis, a line for each text.",
    "A line of a text will stand here once for each tokenizer, one below another, cut into its tokens.",
    "The tokens that only one of two tokenizers has, and those of both, will be listed here.",
    "Words will be listed here with their pieces in each tokenizer, those that are split most first.",
    "Other libraries will encode the texts here beside TokStudio: which lines get other ids, and why.",
)
_FIRST = "Train one with each algorithm, or train or open your own."
_NO_TEXT = {
    "corpus": "Tokenizers are compared here on the sources of the corpus. Open a text, or choose other texts.",
    "held out": "The active run has no held-out text. Choose a share under More in Configure, or choose other texts.",
    "text": "The Text pane is empty: type a text there, or choose other texts.",
}
_NO_TEXTS = "There is no text in this set."
_NO_BASE = "A premium needs the same lines in each text: choose parallel texts, or texts with equal numbers of lines."
_CANCELLED = "Measuring was cancelled."


class ComparePane(Fitting, Pane):
    """A matrix of one figure, and the same as dots."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("compare", "Compare")
        self._session, self._state, self._actions = session, session.comparison, actions
        self.matrix, self.dots = Matrix(theme), Dots(theme)
        self.tabs = HeaderTabs("Views of the comparison", _TABS)
        self.tabs.currentChanged.connect(self._refresh)
        self.header.insertWidget(1, self.tabs)
        self.texts = named(ChoiceBox(()), "Texts")
        self.texts.currentIndexChanged.connect(self._choose_texts)
        self.figures = ChoiceBox([Choice(each.name, each.title, each.explained_formula) for each in FIGURES.values()])
        self.figures.setAccessibleName("Figure")
        self.figures.currentIndexChanged.connect(self._choose_figure)
        self.tokenizers = named(QToolButton(popupMode=QToolButton.ToolButtonPopupMode.InstantPopup), "Tokenizers")
        self.tokenizers.setToolTip("Choose the tokenizers to compare")
        self.tokenizers_menu = TickMenu("Tokenizers", self)
        self.tokenizers_menu.aboutToShow.connect(self._fill_tokenizers)
        self.tokenizers.setMenu(self.tokenizers_menu)
        self._figure_label, self._choices = TermLabel("Figure", "figure"), QWidget()
        self._figure_label.setProperty("role", "muted")
        self._texts_label = plain_label("muted", "Texts")
        texts = self._texts_label, (self.texts, 20), 8
        row(*texts, self._figure_label, (self.figures, 20), 8, self.tokenizers, STRETCH, parent=self._choices)
        for box in (self.texts, self.figures):
            box.setMaximumWidth(_WIDEST_CHOICE)
        self.problem = paragraph_label()
        self.measure = push_button("&Measure", actions["measure_comparison"].trigger)
        self._problem = QWidget()
        row((self.problem, 1), self.measure, spacing=8, parent=self._problem)
        self.meaning = paragraph_label("muted")
        give_way(self.meaning)
        self.algorithms = ActionButton(actions["compare_algorithms"], "Compare Algorithms", theme, "train")
        train = ActionButton(actions["train"], "Train", theme, "train")
        opening = ActionButton(actions["open_tokenizer"], "Open Tokenizer…", theme, "tokenizer")
        self.empty = EmptyState(_FIRST, train, opening, self.algorithms)
        self._views = stacked(self.matrix, self.dots)
        page = QWidget()
        column((self._views, 1), self.meaning, spacing=8, parent=page)
        self._stack = stacked(page, self.empty)
        whole = QWidget()
        column(self._choices, self._problem, (self._stack, 1), spacing=8, parent=whole)
        # A narrow column is as narrow as other panes let it be.
        whole.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        whole.setMinimumSize(_LEAST)
        self.body.addWidget(whole)
        self._theme = theme
        self._connect()
        self._fill_texts()
        self._refresh()

    def _connect(self) -> None:
        self._state.changed.connect(self._refresh)
        self._state.stack_asked.connect(partial(self._show_tab, _SAME_TEXT))
        self._state.words_asked.connect(partial(self._show_tab, _WORDS))
        self._state.vocabularies_asked.connect(self._show_vocabularies)
        self.matrix.menuAsked.connect(self._show_menu)

    # ---- the views that are made when they are first shown

    @cached_property
    def vocabularies(self) -> VocabulariesView:
        """The tokens that one of two tokenizers has, and those of both."""
        view = self._added(VocabulariesView(self._session, self._theme))
        view.tokenAsked.connect(self._show_token)
        return view

    @cached_property
    def same_text(self) -> SameTextView:
        """A line in each tokenizer."""
        view = self._added(SameTextView(self._session, self._theme))
        view.tokenAsked.connect(self._show_token)
        return view

    @cached_property
    def words(self) -> WordsView:
        """Words with their pieces."""
        return self._added(WordsView(self._session, self._theme, self._actions["open_compared_words"]))

    @cached_property
    def engines(self) -> EnginesView:
        """The ids of other libraries."""
        view = self._added(EnginesView(self._session, self._theme, self._actions["save_engines_csv"]))
        view.tokenAsked.connect(self._show_token)
        return view

    def _added(self, view: _View) -> _View:
        """Adds a view; Tab goes through it after the choices above it, not after all other panes."""
        inner: list[QWidget] = [self.tokenizers, self.measure]
        after = view.nextInFocusChain()
        while after is not None and after is not view:
            if after.focusPolicy() & Qt.FocusPolicy.TabFocus and after.focusProxy() is None:
                inner.append(after)
            after = after.nextInFocusChain()
        self._stack.addWidget(view)
        set_tab_order(*inner)
        return view

    def picture(self, comparison: Comparison, about: str, is_pdf: bool) -> bytes:
        """The chosen figure of all texts as dots, an SVG drawing or a page of PDF; its metadata are `about`."""
        dots = Dots(self._theme)
        return dots.picture(self._content_of(comparison), about, is_pdf=is_pdf)

    def fill_menu(self, menu: QMenu, number: int, at: int) -> None:
        """Fills the menu of a row, -1 for none, and a column of the matrix."""
        sort, comparison = self.matrix.table.sortByColumn, self._state.comparison
        text, name = self.matrix.model.text_of(number), self.matrix.model.tokenizer_of(at)
        if text is not None and comparison is not None and comparison.base is not None:
            menu.addAction("Use as &Base of Premiums", partial(self._state.choose_base, text.name))
        if name is not None:
            menu.addAction("Compare &Lengths with This", partial(self._state.choose_against, name))
        if at >= 0:
            menu.addAction("Sort &Ascending", partial(sort, at, Qt.SortOrder.AscendingOrder))
            menu.addAction("Sort &Descending", partial(sort, at, Qt.SortOrder.DescendingOrder))
        menu.addAction("&Original Order", partial(sort, -1, Qt.SortOrder.AscendingOrder))

    def _see(self, seen: bool) -> None:
        super()._see(seen)
        self._state.set_seen(seen)
        self._refresh()

    def _refresh(self) -> None:
        if "vocabularies" in vars(self):  # if it was made
            self.vocabularies.forget_missing()
        if not self.seen:
            # Deleted runs are released at once, even in a hidden pane.
            self._show_content(None)
            return
        state, columns, tab = self._state, self._state.columns, self.tabs.currentIndex()
        self._fill_texts()
        self.figures.choose(state.figure)
        self._choices.setVisible(bool(columns))
        self.fit()
        self._say_problem()
        if not columns:
            self.empty.label.setText(f"{_EMPTY[tab]} {_FIRST}")
            self._stack.setCurrentWidget(self.empty)
        elif tab >= _SAME_TEXT:
            view = self._view_of(tab)
            view.refresh()
            self._stack.setCurrentWidget(view)
        else:
            self._stack.setCurrentIndex(0)
            self._views.setCurrentIndex(tab)
            self._show_figure()
            self.fit()
        self.tokenizers.setText(f"Tokenizers: {len(columns)}")

    def _view_of(self, tab: int) -> SameTextView | VocabulariesView | WordsView | EnginesView:
        if tab == _SAME_TEXT:
            return self.same_text
        return self.vocabularies if tab == _VOCABULARIES else self.words if tab == _WORDS else self.engines

    def fit(self) -> None:
        """Shows what there is room for: in a narrow pane no labels, in a low one no sentences about a figure."""
        has_figure = self.tabs.currentIndex() < _SAME_TEXT
        wide = self.width() >= self._theme.scaled(_NARROW)
        self._texts_label.setVisible(wide)
        self._figure_label.setVisible(wide and has_figure)
        self.figures.setVisible(has_figure)
        low = self.height() < self._theme.scaled(_LOW) and self.matrix.model.rowCount() > 0
        self.meaning.setVisible(not low)
        self.figures.setToolTip(plain(self.meaning.text()) if low else "")

    def _say_problem(self) -> None:
        """Says why something is not measured, beside a button that tries again."""
        state, comparison = self._state, self._state.comparison
        said = state.problem or (_CANCELLED if state.cancelled else "")
        errors = comparison.errors if comparison is not None else ()
        if errors and not said:
            text, name, why = errors[0]
            more = f" {several(len(errors) - 1, 'other')} failed, too." if len(errors) > 1 else ""
            said = f"{name} failed on {text}: {why}{more}"
        self._problem.setVisible(bool(said and state.columns))
        self.measure.setEnabled(not state.busy)
        self.problem.setText(in_a_sentence(said))

    def _show_figure(self) -> None:
        state, comparison, figure = self._state, self._state.comparison, FIGURES[self._state.figure]
        word = slug(figure.title)
        self._figure_label.set_word(word if meaning(word) else "figure")
        said = ""
        if state.problem or comparison is None:
            comparison = None
        elif not comparison.measured:
            said = _NO_TEXT.get(state.texts.key, _NO_TEXTS)
        elif figure.name == "premium" and comparison.base is None:
            said = _NO_BASE
        if said or comparison is None:
            self._show_content(None)
            self.meaning.setText(said)
            return
        content = self._content_of(comparison)
        self._show_content(content)
        unit = f"Unit: {figure.unit}." if figure.unit else ""
        sentences = (
            f"{figure.explained_formula}.",
            unit,
            figure.said_better,
            *content.table.notes,
            *content.table.legend,
            *content.table.of_intervals,
        )
        self.meaning.setText(" ".join(filter(None, sentences)))

    def _content_of(self, comparison: Comparison) -> MatrixContent:
        active, hues = self._session.runs.active, {run.name: run.hue for run in self._session.runs.shown}
        of_columns = tuple(None if name in SIMPLE else hues.get(name) for name in comparison.tokenizers)
        figure = FIGURES[self._state.figure]
        has_intervals = self._state.intervals and comparison.known_intervals(figure.name) is not None
        return MatrixContent(comparison, figure, active.name if active is not None else None, of_columns, has_intervals)

    def _show_content(self, content: MatrixContent | None) -> None:
        if content != self.matrix.model.content:
            self.matrix.show_content(content)
            self.dots.show_content(content)

    def _fill_texts(self) -> None:
        sets = self._state.sets
        if [choice.value for choice in self.texts.choices] != [each.key for each in sets]:
            self.texts.blockSignals(True)
            self.texts.set_choices([Choice(each.key, each.title, each.meaning) for each in sets])
            self.texts.blockSignals(False)
        self.texts.setToolTip(plain(" ".join((self._state.texts.meaning, *self._state.notes))))
        at = sets.index(self._state.texts)
        if self.texts.currentIndex() != at:
            self.texts.setCurrentIndex(at)

    def _fill_tokenizers(self) -> None:
        menu, runs, state = self.tokenizers_menu, self._session.runs, self._state
        menu.clear()
        for run in runs.shown:
            action = menu.addAction(run.name.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(run is runs.active or not run.marks.curve_hidden)
            set_why_not(action, "The active tokenizer is always compared." if run is runs.active else "")
            action.toggled.connect(partial(runs.show_curve, run))
        menu.addSeparator()
        for name in SIMPLE:
            action = menu.addAction(name)
            action.setCheckable(True)
            action.setChecked(name in state.simple)
            action.toggled.connect(partial(state.show_simple, name))
        menu.addSeparator()
        menu.addAction(self._actions["compare_algorithms"])

    def _choose_texts(self, at: int) -> None:
        sets = self._state.sets
        if 0 <= at < len(sets):
            self._state.choose_texts(sets[at])

    def _choose_figure(self, at: int) -> None:
        self._state.choose_figure(self.figures.choices[at].value)

    def _show_tab(self, tab: int) -> None:
        self.tabs.setCurrentIndex(tab)
        self._refresh()

    def _show_vocabularies(self, first: str, second: str) -> None:
        self._show_tab(_VOCABULARIES)
        self.vocabularies.choose(first, second)

    def _show_token(self, name: str, token: int) -> None:
        """Shows a token of a run, which becomes active."""
        runs = self._session.runs
        named = [run for run in runs.shown if run.name == name]
        run = runs.active if runs.active in named else next(iter(named), None)
        if run is not None:
            runs.activate(run)
            if runs.active is run:
                self._session.view.look_at(token)

    def _show_menu(self, number: int, at: int, place: QPoint) -> None:
        menu = Menu(self)
        self.fill_menu(menu, number, at)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(place)
