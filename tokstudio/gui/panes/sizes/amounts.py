"""The page How Much Text?: trainings on parts of the corpus tell whether more text would change the tokenizer."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from PySide6.QtWidgets import QHeaderView, QWidget

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import capitalized, percent_text, size_text
from tokstudio.core.comparison.how_much_text import HowMuchText, how_much_text_work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.plot.plot_view import ReadingPlot
from tokstudio.gui.session.common.jobs import Cancelled, LatestJob
from tokstudio.gui.session.measuring.measurers import ChosenText
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.figures import FigureModel, ReadOnlyTable
from tokstudio.gui.widgets.labels import named, paragraph_label
from tokstudio.gui.widgets.layouts import column, row, stacked
from tokstudio.gui.widgets.menus import push_button
from tokstudio.gui.widgets.pane import EmptyState
from tokstudio.gui.widgets.work_line import WorkLine
from tokstudio.version import __version__

HELD_OUT = 0.1  # the share of the text where Configure holds out none, as the command does
_EMPTY = (
    "Would more text change the tokenizer? Trainings on 1/64, 1/32 and so on up to all of the corpus, and on two "
    "halves, tell how many tokens each has in common with all of the text. Nothing is added to the runs."
)
_OTHERS = "Corpus, weights or settings have changed since: find out again."
_NOT_OURS = "Only TokStudio itself trains on parts: choose another algorithm in Configure."
_CANCELLED = "It was cancelled."
_PHASES = {"training on parts": "Training on parts of the text"}
_TIPS = (
    "The part of the text that is trained on",
    "Bytes of the part",
    "Bytes of the text that no training has seen, by its tokens",
    "Of the tokens that merges make from all of the text, those that this part makes too",
)


class AmountsModel(FigureModel):
    """A row for each part of the text."""

    titles = ("Share", "Text", "Bytes/token, held out", "Tokens kept")
    tips = _TIPS
    numbers = range(4)

    rows: Sequence[Sequence[str]] = ()

    def set_found(self, found: HowMuchText | None) -> None:
        """Shows an answer, or nothing."""
        with self.reset():
            self.rows = () if found is None else found.table[1:]
            self.titles = self.titles if found is None else tuple(map(capitalized, found.table[0]))

    def count(self) -> int:
        return len(self.rows)

    def text(self, row: int, column: int) -> str:
        return self.rows[row][column]


class AmountsPage(QWidget):
    """Finds out with the corpus and the settings of Configure, and shows the answer."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self._session, self._theme = session, theme
        self.found: HowMuchText | None = None
        self._of: tuple[object, ...] = ()  # what the answer depends on besides the sources
        self._asked: tuple[object, ...] = ()  # the same of the work
        self._problem = ""
        self.start = push_button("&Find Out", self._find)
        self.plan, self.stale, self.answer = (paragraph_label(role) for role in ("muted", "muted", ""))
        self.stale.setText(_OTHERS)
        self.plot = named(ReadingPlot(theme, self._words), "Tokens kept by the amount of text")
        self.plot.set_log(True, False)
        caption = "% of the tokens of all text, by the bytes of a part"
        self.plot.set_labels("bytes of text", "% of the tokens of all text", caption)
        self.model = AmountsModel(theme, self)
        self.table = ReadOnlyTable("Parts of the text", self.model, self._about)
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.empty, self._answered = EmptyState(_EMPTY), QWidget()
        column(self.answer, self.stale, (self.plot, 3), (self.table, 2), spacing=4, parent=self._answered)
        self.stack = stacked(self.empty, self._answered)
        self._job = LatestJob(session.jobs, self, self._take, self._fail)
        self.work = WorkLine("How Much Text?", theme, _PHASES, self._progress, self._cancel, self._find)
        column(row((self.plan, 1), self.start, spacing=8), (self.stack, 1), self.work, spacing=6, parent=self)
        session.corpus.sources_changed.connect(self._forget)
        for signal in (session.corpus.weights_settled, session.corpus.left_out_changed, session.training.state_changed):
            signal.connect(self._changed)
        theme.follow(self._apply_theme)

    def refresh(self) -> None:
        """Shows the answer, and what can be done."""
        busy, obstacle = self._job.busy, self._obstacle()
        self.start.setEnabled(not busy and not obstacle)
        held = f"About {percent_text(self._held_out())} is held out."
        if self.found is not None and self._of == self._now():
            held = self.found.held_out
        self.plan.setText(obstacle or f"With the settings of Configure. {held}")
        self.stale.setVisible(self._of != self._now())
        self.stack.setCurrentWidget(self.empty if self.found is None else self._answered)
        self.work.show_state(busy, self._problem)

    def _changed(self) -> None:
        if self.isVisible():
            self.refresh()

    def _forget(self) -> None:
        """Forgets what is known of another corpus."""
        self._job.cancel()
        self._show(None, "")

    def _show(self, found: HowMuchText | None, problem: str) -> None:
        self.found, self._problem = found, problem
        self.model.set_found(found)
        if found is not None:
            self.answer.setText(found.sentence)
            x, y = zip(*((float(part.bytes), 100 * part.kept) for part in found.rows), strict=True)
            self.plot.set_values(np.array(x), np.array(y))
        self.refresh()

    def _obstacle(self) -> str:
        training = self._session.training
        return _NOT_OURS if training.settings.by_library else training.obstacle or ""

    def _held_out(self) -> float:
        return self._session.training.settings.held_out or HELD_OUT

    def _now(self) -> tuple[object, ...]:
        """What an answer depends on besides the sources."""
        corpus = self._session.corpus
        return corpus.current.weights, corpus.current.bytes, self._session.training.settings

    def _apply_theme(self) -> None:
        for label in (self.answer, self.plan, self.stale):
            label.setFont(self._theme.tabular_font())
        height = self._theme.scaled(28)
        self.table.set_row_height(height)
        self.table.setMinimumHeight(self.table.horizontalHeader().sizeHint().height() + 3 * height)

    def _words(self, x: float, y: float) -> str:
        assert self.found is not None
        part = next(part for part in self.found.rows if part.bytes == round(x))
        ratio = "" if part.bytes_per_token is None else f" · {part.bytes_per_token:,.2f} bytes per token, held out"
        return f"{size_text(part.bytes)} · {y:.1f} % of the tokens{ratio}"

    def _about(self) -> tuple[str, ...]:
        """What copied rows are of."""
        name = ChosenText.of_corpus(self._session.corpus.current).name
        return name, self.answer.text(), f"TokStudio {__version__}"

    # ---- work

    def _find(self) -> None:
        settings, corpus = self._session.training.settings, self._session.corpus.current
        if obstacle := self._obstacle():
            self._show(self.found, obstacle)
            return
        self._asked, self._problem = self._now(), ""
        self._job.run(partial(_found_work, corpus, settings.config(), self._held_out()))
        self.refresh()

    def _cancel(self) -> None:
        self._job.cancel()
        self._show(self.found, _CANCELLED)

    def _progress(self) -> Progress:
        return self._job.progress

    def _take(self, found: HowMuchText) -> None:
        self._of = self._asked
        self._show(found, "")

    def _fail(self, error: Exception) -> None:
        self._show(self.found, _CANCELLED if isinstance(error, Cancelled) else problem_of(error).text)


def _found_work(corpus: Corpus, config: TrainingConfig, held_out: float) -> Work[HowMuchText]:
    yield from prepare_work()
    return (yield from how_much_text_work(corpus, config, held_out))
