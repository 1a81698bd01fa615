"""The page of sizes by text: what each source or language has at each size, and where it has what the base has.

One training is enough for all sizes, and one encoding of each text.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import PurePath

import numpy as np
from PySide6.QtCore import QObject, QSize, Qt
from PySide6.QtGui import QFont, QPixmap
from PySide6.QtWidgets import QHeaderView, QWidget

from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import first_few, several
from tokstudio.core.comparison.sizes import merges_like, parallel_curves_work, ratios_of
from tokstudio.core.comparison.table import SIGNS, TRAINED
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.text.languages import language_name
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.curves import SourceCurves
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.panes.sizes.table import ChoosingTable
from tokstudio.gui.plot.content import Curve, curve_pen, swatch
from tokstudio.gui.plot.curve_plot import CurvePlot
from tokstudio.gui.session.measuring.compared import TextSet
from tokstudio.gui.session.measuring.exploring import Inquiry
from tokstudio.gui.session.measuring.measurers import has_sources
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Choice, ChoiceBox
from tokstudio.gui.widgets.fields import label_for
from tokstudio.gui.widgets.figures import FigureModel
from tokstudio.gui.widgets.labels import isolated, named, paragraph_label
from tokstudio.gui.widgets.layouts import TallBody, column, row, stacked
from tokstudio.gui.widgets.pane import EmptyState
from tokstudio.gui.widgets.work_line import WorkLine
from tokstudio.version import __version__

_ASKER = "sizes"
_SOURCES = Choice(None, "Sources of the corpus", "The text of each source that was trained on")
_MOST_NAMED = 4
_SWATCH = QSize(18, 14)
_EMPTY = "What each source or language has at each size is drawn here. Train a tokenizer, or open one."
_NOT_YET = "It is measured when training has ended."
_OTHER_SCRIPTS = (
    "A character has one byte in English and three in Chinese, so compare bytes per token only within a script; "
    "parallel texts are compared by tokens per line."
)
_SAME_LINES = "All have the same lines: tokens per line compare languages whatever their scripts."

TEXT, RATIO, REACHES = range(3)


class TextsModel(FigureModel):
    """A row for each text: what it has at the playhead, and the size at which it has what the base has there."""

    numbers = (RATIO, REACHES)

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(theme, parent)
        self._name_columns(0, "")
        self.rows: list[tuple[str, str, str]] = []
        self.base = -1
        self.merges: tuple[int | None, ...] = ()  # where each has what the base has
        self._swatches: list[QPixmap] = []

    def clear(self) -> None:
        """Shows nothing."""
        with self.reset():
            self.rows, self.merges, self._swatches = [], (), []

    def set_curves(self, curves: SourceCurves, base: int, sizes: np.ndarray, merges: int, ratio: float) -> None:
        """Shows texts after a number of merges; `sizes` are int64 [n + 1], `ratio` the pixels of a pixel."""
        names = [f"{each} (base)" if number == base else each for number, each in enumerate(curves.names)]
        self.merges = merges_like(curves, base, merges)
        reached = [f"more than {sizes[-1]:,}" if at is None else f"{sizes[at]:,}" for at in self.merges]
        reached[base] = f"{sizes[merges]:,}"
        signs = (_sign(curves, number, merges) for number in range(len(names)))
        rows = zip(names, signs, ratios_of(curves, merges).tolist(), reached, strict=True)
        new = [
            (name, f"{sign}{value:,.2f}" if value else "–", size if value else "–") for name, sign, value, size in rows
        ]
        if len(new) != len(self.rows):
            self.beginResetModel()
        self._name_columns(curves.lines, curves.names[base])
        self.base, before, self.rows = base, self.rows, new
        pens = (curve_pen(self._theme.palette, number, active=number == base) for number in range(len(new)))
        self._swatches = [swatch(pen, _SWATCH, ratio) for pen in pens]
        self.endResetModel() if len(new) != len(before) else self.tell()
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, REACHES)

    def _name_columns(self, lines: int, base: str) -> None:
        unit = "Tokens/line" if lines else "Bytes/token"
        self.titles = ("Text", unit, "Same at (tokens)")
        formula = f"Tokens of the text / its {several(lines, 'line')}" if lines else "Bytes of the text / its tokens"
        formula += ", at the playhead"
        least = f"The smallest vocabulary with what {base or 'the base'} has at the playhead"
        self.tips = ("A source or a language", formula, f"{least}: click a row to move the playhead there")

    def count(self) -> int:
        return len(self.rows)

    def text(self, row: int, column: int) -> str:
        return self.rows[row][column]

    def tip(self, row: int, column: int) -> str:
        if column == TEXT:
            return self.rows[row][TEXT]
        signed = column == RATIO and self.rows[row][RATIO].startswith(TRAINED)
        return f"{self.tips[column]}\n{TRAINED} {SIGNS[TRAINED]}" if signed else self.tips[column]

    def font(self, row: int, column: int) -> QFont:
        font = self._theme.tabular_font()
        font.setBold(row == self.base)
        return font

    def more(self, row: int, column: int, role: int) -> object:
        return self._swatches[row] if column == TEXT and role == Qt.ItemDataRole.DecorationRole else None


class ByTextPage(QWidget):
    """A curve for each source of the active run, or for each language of parallel texts, and the table of them."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self._session, self._theme = session, theme
        self._run: StudioRun | None = None
        self._curves: SourceCurves | None = None
        self._chosen = ""  # the key of the texts that the user has chosen; "" for the sources
        self._first = 0  # the x of the curves before any merge
        self.texts, self.base = named(ChoiceBox([_SOURCES]), "Texts"), named(ChoiceBox([]), "Base")
        self.texts.setToolTip("The texts that are measured; other parallel texts are opened in Compare")
        self.base.setToolTip("The text whose figure at the playhead the others shall have")
        head = row(
            label_for("&Texts", self.texts), (self.texts, 2), label_for("&Base", self.base), (self.base, 1), spacing=8
        )
        self.answer, self.note = paragraph_label(), paragraph_label("muted")
        self.plot = named(CurvePlot(theme), "Sizes by text")
        self.plot.set_log(True, True)
        self.model = TextsModel(theme, self)
        self.table = ChoosingTable("Texts by size", self.model, theme, self._about)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(TEXT, QHeaderView.ResizeMode.Stretch)
        self.empty = EmptyState(_EMPTY)
        found = QWidget()
        column(self.answer, (self.plot, 3), (self.table, 2), self.note, spacing=4, parent=found)
        self._found = TallBody(found, self.table)
        self.stack = stacked(self.empty, self._found)
        self.asked = Inquiry(session.jobs, self)
        self.work = WorkLine("By Text", theme, {}, self._progress, self.asked.cancel, self.asked.again)
        column(head, (self.stack, 1), self.work, spacing=6, parent=self)
        self.texts.currentIndexChanged.connect(self._choose_texts)
        self.base.currentIndexChanged.connect(self._choose_base)
        self.asked.changed.connect(self._show)
        self.table.chosen.connect(self._go_to)
        self.plot.playheadMoved.connect(lambda x: session.view.set_playhead(x - self._first))
        self.plot.curveDoubleClicked.connect(self._take_base)
        session.by_source.changed.connect(self._source_measured)
        theme.follow(self._apply_theme)

    def show_run(self, run: StudioRun | None) -> None:
        """Shows a run, and has measured what is not known of it."""
        self._run = run
        self._list_texts(run)
        texts, ended = self.texts.value, None if run is None or run.ended is None else run
        self._session.by_source.want([ended] if ended is not None and texts is None else [], _ASKER)
        if ended is not None and isinstance(texts, TextSet):
            corpus = ended.corpus or Corpus(())
            work = partial(_curves_work, ended.tokenizer, ended.trained_on, texts, corpus, self._session.store)
            self.asked.ask((ended.identity, len(ended), texts.key), work)
        else:
            self.asked.forget()
        self._show()

    def leave(self) -> None:
        """Ends the work while the page is not seen."""
        self._session.by_source.want((), _ASKER)
        self.asked.leave()
        self.work.rest()

    def show_playhead(self) -> None:
        """Shows what the texts have at the playhead."""
        run, curves = self._run, self._curves
        if run is None or curves is None:
            return
        merges = min(self._session.view.playhead, len(curves.tokens) - 1)
        base, sizes = max(self.base.currentIndex(), 0), run.vocabulary_sizes
        self.model.set_curves(curves, base, sizes, merges, self.devicePixelRatioF())
        value = ratios_of(curves, merges)[base]
        self.answer.setText(_answer(curves, base, merges, sizes, self.model.merges))
        sign = _sign(curves, base, merges)
        self.plot.set_playhead(self._first + merges, f"{sizes[merges]:,} tokens · {sign}{value:.2f}")

    def _list_texts(self, run: StudioRun | None) -> None:
        sets = [texts for texts in self._session.comparison.sets if texts.is_parallel]
        choices = [Choice(texts, texts.title, texts.meaning) for texts in sets]
        if run is not None and has_sources(run):
            choices.insert(0, _SOURCES)
        if [choice.value for choice in choices] != [choice.value for choice in self.texts.choices]:
            self.texts.show_choices(choices, next((texts for texts in sets if texts.key == self._chosen), None))

    def _show(self) -> None:
        run, of_sources = self._run, self.texts.value is None
        known = None if run is None else run.by_source if of_sources else self.asked.answer
        curves = (known.parallel or known) if isinstance(known, SourceCurves) else None
        problem = known if isinstance(known, str) else "" if of_sources else self.asked.problem
        busy = not of_sources and self.asked.busy
        self.work.show_state(busy, "" if of_sources else problem, can_retry=self.asked.can_retry)
        if curves is None or run is None:
            waits = "" if run is None else problem or (_NOT_YET if run.ended is None else "Measuring the texts…")
            self.empty.label.setText(waits or _EMPTY)
            self._drop()
        elif self._list_bases(curves) or curves is not self._curves:
            self._curves = curves
            self._draw(run, curves)
        else:
            self.show_playhead()
        self.stack.setCurrentWidget(self.empty if self._curves is None else self._found)

    def _drop(self) -> None:
        self._curves = None
        self.model.clear()
        for key in list(self.plot.content.curves):
            self.plot.remove_curve(key)

    def _list_bases(self, curves: SourceCurves) -> bool:
        """Lists the texts as bases, and chooses that of Compare; returns whether it is another one than before."""
        names, chosen, before = curves.names, self._session.comparison.base, self.base.value
        base = chosen if chosen in names else next(filter(_is_english, names), names[0])
        self.base.show_choices([Choice(name, name, "") for name in names], base)
        return base != before

    def _draw(self, run: StudioRun, curves: SourceCurves) -> None:
        """Draws a curve for each text; that of the base is the active one."""
        for key in set(self.plot.content.curves) - set(range(len(curves.names))):
            self.plot.remove_curve(key)
        sizes = run.vocabulary_sizes
        # Where merges remove tokens, several numbers of merges have one size.
        by_size = bool((np.diff(sizes) == 1).all())
        self._first = int(sizes[0]) if by_size else 0
        places, values = self._first + np.arange(len(curves.tokens), dtype=np.float64), ratios_of(curves)
        for number, name in enumerate(curves.names):
            role = "active" if number == self.base.currentIndex() else "other"
            self.plot.set_curve(number, Curve(name, role, places, values[:, number], number))
        unit = "tokens per line" if curves.lines else "bytes per token"
        x = "tokens of the vocabulary" if by_size else "merges"
        self.plot.set_labels(x, unit, f"{unit} by {'vocabulary size' if by_size else 'merges'}")
        said = [f"{TRAINED} {SIGNS[TRAINED]}"] if any(curves.trained) else []
        self.note.setText(" ".join((*said, _SAME_LINES if curves.lines else _OTHER_SCRIPTS)))
        self.show_playhead()

    def _progress(self) -> Progress:
        return self.asked.progress

    def _source_measured(self) -> None:
        if self._run is not None and self.texts.value is None and self.isVisible():
            self._show()

    def _apply_theme(self) -> None:
        for label in (self.answer, self.note):
            label.setFont(self._theme.tabular_font())
        rows = 3 * self.table.verticalHeader().defaultSectionSize()
        self._found.set_least(self.table, self.table.horizontalHeader().sizeHint().height() + rows)
        self.show_playhead()

    def _about(self) -> tuple[str, ...]:
        """What copied rows are of."""
        assert self._run is not None
        return self._run.sized_name(), self.answer.text(), f"TokStudio {__version__}"

    def _choose_texts(self) -> None:
        self._chosen = "" if self.texts.value is None else self.texts.value.key
        self._drop()
        self.show_run(self._run)

    def _choose_base(self) -> None:
        name = self.base.value
        if name is not None and self._run is not None and self._curves is not None:
            self._session.comparison.choose_base(name)
            self._draw(self._run, self._curves)

    def _take_base(self, number: object) -> None:
        """Makes the text of a curve the base."""
        if isinstance(number, int):
            self.base.setCurrentIndex(number)

    def _go_to(self, at: int) -> None:
        merges = self.model.merges[at] if at < len(self.model.merges) else None
        if merges is not None and at != self.model.base:
            self._session.view.set_playhead(merges)


def _curves_work(
    tokenizer: Tokenizer, trained_on: frozenset[str], texts: TextSet, corpus: Corpus, store: TokenStore
) -> Work[SourceCurves]:
    """Measures parallel texts in the languages of a corpus, or in all."""
    yield from prepare_work()
    read = yield from texts.read()
    named = read.in_languages_of(corpus)
    curves = yield from parallel_curves_work(tokenizer, named, store)
    measured = Corpus(tuple(source for _, source in named))
    yield from measured.sha256_work()
    return replace(curves, trained=tuple(text in trained_on for text in measured.text_hashes))


def _sign(curves: SourceCurves, number: int, merges: int) -> str:
    """The sign before a figure of a text that was trained on."""
    return TRAINED if curves.is_trained_on(number, merges) else ""


def _is_english(name: str) -> bool:
    return name.startswith("English") or language_name(PurePath(name).stem).startswith("English")


def _answer(curves: SourceCurves, base: int, merges: int, sizes: np.ndarray, reached: tuple[int | None, ...]) -> str:
    """Which texts need a larger vocabulary for what the base has, as a sentence."""
    names, value = curves.names, ratios_of(curves, merges)[base]
    unit = "tokens per line" if curves.lines else "bytes per token"
    sign = _sign(curves, base, merges)
    has = f"With {sizes[merges]:,} tokens, {isolated(names[base])} has {sign}{value:,.2f} {unit}."
    others = [number for number in range(len(names)) if number != base and curves.tokens[-1, number]]
    if not value or not others:
        return has
    never = [names[number] for number in others if reached[number] is None]
    if never:
        which = first_few(never, _MOST_NAMED, isolated)
        return f"{has} Even all {sizes[-1]:,} tokens are too few for {which} to have that."
    last = max(others, key=lambda number: reached[number] or 0)
    return f"{has} {isolated(names[last])} is the last to have that, with {sizes[reached[last] or 0]:,} tokens."
