"""The dialog that searches weights of the corpus for a goal, and shows each training on the way as a dot."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QHelpEvent, QPaintEvent, QPen
from PySide6.QtWidgets import QToolTip, QWidget

from tokstudio.core.algorithms.common.prepare_corpus import CountedText
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import capitalized, several
from tokstudio.core.comparison.mixture import MixtureSearch, parallel_of_work
from tokstudio.core.comparison.mixture_goal import FoundMixture, MixtureFigures, MixtureGoal, MixtureTrial
from tokstudio.core.corpus.corpus import ONCE, Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import TrainingConfig
from tokstudio.gui.plot.plot_view import ReadingPlot
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.measuring.compared import ReadTexts
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.state.training_plans import MixtureEntry, TrainingPlan, entries_of, weight_text, weights_text
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Choice
from tokstudio.gui.widgets.fields import ChoiceField, DecimalField, NumberField, TicksField
from tokstudio.gui.widgets.labels import guarded_painter, named, paragraph_label
from tokstudio.gui.widgets.layouts import STRETCH, column, row, stacked
from tokstudio.gui.widgets.menus import push_button
from tokstudio.gui.widgets.pane import Dialog, HeaderTabs

_SIZE = QSize(620, 720)
_USUAL_SIZE = 32_000
_MOST = 1_000.0
_LIST_HEIGHT = 84
_BEST = 5  # trainings to compare
_LANGUAGES = "Only those that are ticked count."
_NOT_OURS = "Only trainings by TokStudio itself follow weights so fast: choose another algorithm in Configure."
_GOALS = (
    Choice("worst_premium", "Worst premium at most", "Tokens of the worst language by those of the base language."),
    Choice("above_average", "Above the average by at most (%)", "Tokens of the worst language by the average of all."),
    Choice("base_loss", "Base language worse by at most (%)", "Beside a tokenizer that is trained for it alone."),
)
_TITLES = {
    "worst_premium": "worst premium",
    "above_average": "worst above the average, in %",
    "base_loss": "base language worse, in %",
}
_TABS = {
    "Trainings": "What each training of the search reached",
    "By Size": "The worst premium at each smaller vocabulary of the best training",
}
_BY_SIZE = "Worst premium by tokens of the vocabulary, of the best training, on the lines that were not looked at."
_FIRST = {"worst_premium": 1.3, "above_average": 10.0, "base_loss": 3.0}


def _premium_words(size: float, premium: float) -> str:
    return f"{size:,.0f} tokens · worst premium {premium:.3f}"


def _value(figures: MixtureFigures, kind: str) -> float:
    """The figure that a goal limits."""
    value: float | None = getattr(figures, kind)
    return 0.0 if value is None else value


class _Path(QWidget):
    """The trainings as dots: tokens per line from left to right, the figure of the goal upwards; the goal is a line."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.dots: tuple[tuple[float, float], ...] = ()
        self.best: int | None = None
        self.goal, self._title = 0.0, ""
        self._words: list[str] = []
        self.setMinimumHeight(theme.scaled(120))
        self.setAccessibleName("The trainings of the search, as dots")
        theme.changed.connect(self.update)

    def show_path(
        self, trials: Sequence[MixtureTrial], best: int | None, kind: str, goal: float, mixed: Sequence[MixtureEntry]
    ) -> None:
        """Shows trainings of a mixture; `best` is the number of the one that is marked."""
        self.dots = tuple((trial.measured.mean, _value(trial.measured, kind)) for trial in trials)
        self.best, self.goal, self._title = best, goal, _TITLES[kind]
        self._words = [
            f"Training {number}: {value:.3f}, {mean:.2f} tokens per line. Weights "
            + ", ".join(f"{entry.name} {weight_text(trial.weights[entry.places[0]])}" for entry in mixed)
            for number, (trial, (mean, value)) in enumerate(zip(trials, self.dots, strict=True), 1)
        ]
        described = "" if best is None else f"{several(len(self.dots), 'training')}. The best: {self._words[best]}."
        self.setAccessibleDescription(described)
        self.update()

    def places(self) -> list[QPointF]:
        """Where the dots are, in pixels."""
        return [QPointF(self._x(mean), self._y(value)) for mean, value in self.dots]

    @property
    def _frame(self) -> QRectF:
        edge, line = self._theme.scaled(8), self.fontMetrics().height()
        left = self.fontMetrics().horizontalAdvance("000.00") + edge
        return QRectF(self.rect()).adjusted(left, edge + line, -edge, -2 * line - edge)

    def _ends(self, values: Sequence[float]) -> tuple[float, float]:
        low, high = min(values), max(values)
        room = (high - low) * 0.05 or max(abs(high) * 0.01, 0.01)
        return low - room, high + room

    def _x(self, mean: float) -> float:
        low, high = self._ends([each for each, _ in self.dots])
        return self._frame.left() + self._frame.width() * (mean - low) / (high - low)

    def _y(self, value: float) -> float:
        low, high = self._ends([*(each for _, each in self.dots), self.goal])
        return self._frame.bottom() - self._frame.height() * (value - low) / (high - low)

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.dots:
            return
        palette, frame, size = self._theme.palette, self._frame, self._theme.scaled(4)
        with guarded_painter(self) as painter:
            painter.setRenderHint(painter.RenderHint.Antialiasing)
            painter.setPen(QColor(palette.border))
            painter.drawRect(frame)
            painter.setPen(QPen(QColor(palette.accent), 1, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(frame.left(), self._y(self.goal)), QPointF(frame.right(), self._y(self.goal)))
            painter.setPen(QColor(palette.muted))
            right, line = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, self.fontMetrics().height()
            for value in {self.goal, max(value for _, value in self.dots)}:
                painter.drawText(QRectF(0, self._y(value) - line / 2, frame.left() - size, line), right, f"{value:.2f}")
            means = [mean for mean, _ in self.dots]
            below = QRectF(frame.left(), frame.bottom() + size, frame.width(), line)
            above = QRectF(frame.left(), 0, frame.width(), line)
            painter.drawText(above, Qt.AlignmentFlag.AlignRight, self._title)
            painter.drawText(below, Qt.AlignmentFlag.AlignLeft, f"{min(means):.2f}")
            painter.drawText(below, Qt.AlignmentFlag.AlignHCenter, "tokens per line, mean of all languages")
            painter.drawText(below, Qt.AlignmentFlag.AlignRight, f"{max(means):.2f}")
            for number, place in enumerate(self.places()):
                is_best = number == self.best
                painter.setPen(QPen(QColor(palette.accent if is_best else palette.muted), 2 if is_best else 1))
                painter.setBrush(QColor(palette.accent) if is_best else Qt.BrushStyle.NoBrush)
                painter.drawEllipse(place, size, size)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            at = QPointF(event.pos())
            near = [number for number, place in enumerate(self.places()) if (place - at).manhattanLength() <= 12]
            QToolTip.showText(event.globalPos(), self._words[near[-1]] if near else "", self)
            return True
        return super().event(event)


class _Searching:
    """A search in its job: what the window reads of it, and how it stops it."""

    def __init__(self) -> None:
        self.search: MixtureSearch | None = None
        self._stops = False

    @property
    def trials(self) -> tuple[MixtureTrial, ...]:
        """The trainings so far."""
        return () if self.search is None else tuple(self.search.trials)

    def stop(self) -> None:
        """Ends the search with the best so far."""
        self._stops = True
        if self.search is not None:
            self.search.stop()

    def work(
        self,
        corpus: Corpus,
        config: TrainingConfig,
        goal: MixtureGoal,
        title: str,
        named: Sequence[tuple[str, Source]],
        base: str | None,
        counted: CountedText | None,
    ) -> Work[FoundMixture]:
        """Searches with parallel texts of this title."""
        lines = {name: [bytes(line) for line in Corpus((source,)).iter_documents()] for name, source in named}
        parallel = replace((yield from parallel_of_work(lines)), name=title)
        self.search = MixtureSearch(corpus, config, goal, parallel, base, counted=counted)
        if self._stops:
            self.search.stop()
        return (yield from self.search.work())


class GoalDialog(Dialog):
    """Asks for a goal, searches, and sets the weights that were found; they can be undone.

    `show_plans` shows several trainings, to be started together, with a remark.
    """

    def __init__(
        self,
        session: Session,
        theme: Theme,
        parent: QWidget | None,
        show_plans: Callable[[Sequence[TrainingPlan], str], object],
    ) -> None:
        super().__init__("Weights for a Goal", parent)
        self._show_plans = show_plans
        self._session, self._corpus = session, session.corpus
        self._job = LatestJob(session.jobs, self, self._take, self._fail, quiet=True)
        self._reading = LatestJob(session.jobs, self, self._take_texts, self._fail, quiet=True)
        self._read: ReadTexts | None = None  # the parallel texts
        self._searching = _Searching()
        self._asked: tuple[Any, ...] = ()  # the values of the fields at the beginning of the search
        self._told = ""  # what it has found
        self._timer = QTimer(self, interval=session.jobs.pauses.dialogs)
        self._timer.timeout.connect(self._show_path)
        self.goal = ChoiceField("&Goal", _GOALS, theme)
        self.limit = DecimalField("&Limit", "", _MOST, theme)
        self.size_field = NumberField("&Vocabulary size", "", theme)
        self.size_field.set_value(session.training.settings.vocabulary_size or _USUAL_SIZE)
        sets = [texts for texts in session.comparison.sets if texts.is_parallel]
        self.texts = ChoiceField("&Parallel texts", [Choice(each, each.title, each.meaning) for each in sets], theme)
        chosen = session.comparison.texts
        self.texts.set_value(chosen if chosen in sets else sets[0])
        self.languages = TicksField("Lan&guages", _LANGUAGES, theme)
        self.languages.list.setMaximumHeight(theme.scaled(_LIST_HEIGHT))
        self.path = _Path(theme)
        self.sizes = named(ReadingPlot(theme, _premium_words), "Worst premium by vocabulary size")
        self.sizes.set_log(True, False)
        self.sizes.set_labels("tokens of the vocabulary", "worst premium")
        by_size = QWidget()
        column((self.sizes, 1), paragraph_label("muted", _BY_SIZE), spacing=2, parent=by_size)
        self.tabs = HeaderTabs("Views of the search", _TABS)
        views = stacked(self.path, by_size)
        self.tabs.currentChanged.connect(views.setCurrentIndex)
        self.stop = push_button("&Stop", self._stop)
        self.start = push_button("&Find", self._find, is_main=True)
        self.use = push_button("&Use These Weights", self._use)
        tip = "Train with the weights of the trainings nearest to the goal, to compare the tokenizers"
        self.several = push_button("&Train the Best…", self._train_best, tip)
        self._close = push_button("Close", self.reject)
        self._fields = (self.goal, self.limit, self.size_field, self.texts, self.languages)
        buttons = row(self.several, STRETCH, self._close, self.stop, self.start, self.use, spacing=8)
        numbers = row((self.limit, 1), (self.size_field, 1), spacing=24)
        above = self.goal, numbers, self.texts, self.languages
        self.fill(theme, _SIZE, *above, self.tabs, (views, 1), self.note, buttons)
        self.goal.changed.connect(self._choose)
        self.texts.changed.connect(self._read_texts)
        self.languages.changed.connect(self._tell_base)
        for field in self._fields:
            field.changed.connect(self._tell_found)
        self.finished.connect(self._job.cancel)
        self.finished.connect(self._reading.cancel)
        self._corpus.sources_changed.connect(self.reject)
        self._choose()
        self._begin()
        self.say(
            "The search trains again and again with other weights, from the present ones on. It measures the first of "
            "every two lines; the others are reported. Other parallel texts are opened in Compare."
        )
        self._read_texts()

    def _choose(self) -> None:
        self.limit.set_value(_FIRST[self.goal.value])

    @property
    def _values(self) -> tuple[Any, ...]:
        return tuple(field.value for field in self._fields)

    def _begin(self) -> None:
        self._searching, self._asked, self._told = _Searching(), self._values, ""
        self._show_sizes(None)
        self._refresh()

    def _show_sizes(self, found: FoundMixture | None) -> None:
        """Draws the worst premium at each size, where more than the last can be measured."""
        has_sizes = found is not None and len(found.sizes) > 1
        if found is not None and has_sizes:
            self.sizes.set_values(found.sizes.astype(np.float64), found.premiums)
        else:
            self.tabs.setCurrentIndex(0)
        self.tabs.setTabEnabled(1, has_sizes)

    def _read_texts(self) -> None:
        self._read = None
        self.languages.set_entries(())
        self._reading.run(self.texts.value.read)
        self._refresh()

    def _take_texts(self, read: ReadTexts) -> None:
        """Ticks the languages of which the corpus has a text, or all where it has fewer than two; lists them first."""
        self._read, there = read, [name for name, _ in read.in_languages_of(self._corpus.current)]
        listed = sorted((name for name, _ in read.named), key=lambda name: name not in there)
        self.languages.set_entries(zip(listed, listed, strict=True), there)
        self._tell_base()
        self._refresh()

    def _tell_found(self) -> None:
        """Says what was found; where the fields have other values by now, that it is of those before."""
        if self._told:
            self.say(self._told if self._values == self._asked else f"For the values before: {self._told}")

    def _base(self) -> str | None:
        """The base language: that of Compare, else English, else the first that is ticked."""
        ticked: tuple[str, ...] = self.languages.value
        english = (name for name in ticked if name.startswith("English"))
        base = self._session.comparison.base
        return base if base in ticked else next(english, next(iter(ticked), None))

    def _tell_base(self) -> None:
        base = self._base()
        self.languages.set_help(_LANGUAGES if base is None else f"{_LANGUAGES} The base language is {base}.")

    def _refresh(self) -> None:
        busy = self._job.busy
        for field in self._fields:
            field.setEnabled(not busy)
        self.start.setEnabled(not busy and self._read is not None)
        self.stop.setEnabled(busy)
        for button in (self.use, self.several):
            button.setEnabled(not busy and bool(self._searching.trials))
        search = self._searching.search
        best = None if search is None else search.best
        mixed = entries_of(self._corpus.remaining)
        goal, limit, *_ = self._asked
        self.path.show_path(self._searching.trials, best, goal, limit, mixed)

    def _find(self) -> None:
        settings, read, ticked = self._session.training.settings, self._read, set(self.languages.value)
        if read is None:
            return
        if len(ticked) < 2:
            self.say("Tick at least two languages.", "error")
            return
        try:
            if settings.by_library:
                self.say(_NOT_OURS, "error")
                return
            config = replace(settings.config(), vocabulary_size=self.size_field.value)
            goal = MixtureGoal(**{self.goal.value: self.limit.value})
        except TokStudioError as error:
            self.say(str(error), "error")
            return
        corpus = self._corpus.current
        kept = self._corpus.counts.find(corpus, config)
        self._begin()
        chosen = [(name, source) for name, source in read.named if name in ticked]
        counted = None if kept is None else kept.counted
        given = (corpus, config, goal, self.texts.value.title, chosen, self._base(), counted)
        self._job.run(partial(self._searching.work, *given))
        self._timer.start()
        self.say("Reading the parallel texts…")
        self._refresh()

    def _show_path(self) -> None:
        progress = self._job.progress
        if progress.phase:
            self.say(f"{capitalized(progress.phase)}{progress.detail}…")
        if len(self._searching.trials) != len(self.path.dots):
            self._refresh()

    def _stop(self) -> None:
        self._searching.stop()
        self.say("Stopping…")

    def _take(self, found: FoundMixture) -> None:
        self._timer.stop()
        self._refresh()
        self._show_sizes(found)
        self._told = found.told
        self._tell_found()
        self.use.setFocus()

    def _fail(self, error: Exception) -> None:
        self._timer.stop()
        self._refresh()
        self.say(problem_of(error).text, "error")

    def _train_best(self) -> None:
        """Plans trainings with the weights nearest to the goal, in place of the dialog."""
        search = self._searching.search
        if search is None:
            return
        settings = self._session.training.settings.with_size(search.config.vocabulary_size)
        trials, mixed = search.trials, entries_of(self._corpus.remaining)
        weights = [[trials[n].weights[entry.places[0]] / ONCE for entry in mixed] for n in search.ranked[:_BEST]]
        plans = [TrainingPlan(settings, weights=weights_text(each)) for each in weights]
        self.accept()
        self._show_plans(plans, "The weights of the trainings nearest to the goal.")

    def _use(self) -> None:
        search = self._searching.search
        if search is not None and (best := search.best) is not None:
            self._corpus.set_weights(search.trials[best].weights)
        self.accept()
