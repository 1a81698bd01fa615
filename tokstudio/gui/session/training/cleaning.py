"""Trains again without text that Clean Up found, and compares the new run with the one before."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several, size_text
from tokstudio.core.comparison.vocabularies import vocabularies_work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.leaving_out import LeavingOut, named_work
from tokstudio.core.corpus.sampling import hold_out_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.run import STOPPED
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.session.common.corpus import CorpusState
from tokstudio.gui.session.common.jobs import Cancelled, Jobs, LatestJob
from tokstudio.gui.session.common.run_list import RunList
from tokstudio.gui.session.training.control import TrainingControl
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.state.run import StudioRun

LEAVING_OUT, TRAINING, COMPARING = "Leaving text out", "Training", "Comparing the two runs"


@dataclass(frozen=True)
class CleaningOutcome:
    """How the vocabulary of a run differs from that of the run before it."""

    gone: int  # tokens that only the run before has
    come: int  # tokens that only the new one has
    ratios: tuple[float, float] | None  # bytes per token of one text, before and now; None if it cannot be measured
    held_out: bool  # whether that text was held out of the new run


class Cleaning(QObject):
    """One training without some text at a time. Call every method from the GUI thread."""

    changed = Signal()  # `stage`, `problem` or `outcome`

    def __init__(
        self,
        jobs: Jobs,
        corpus: CorpusState,
        runs: RunList,
        training: TrainingControl,
        store: TokenStore,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._corpus, self._runs, self._training, self._store = corpus, runs, training, store
        self.stage = ""  # what goes on: `LEAVING_OUT`, `TRAINING` or `COMPARING`; "" for nothing
        self.problem = ""  # why the last training did not come to its end, or was not compared
        self.outcome: CleaningOutcome | None = None
        self.before: StudioRun | None = None  # the run that is compared with the new one
        self.after: StudioRun | None = None
        self._wish = LeavingOut()
        self._naming = LatestJob(jobs, self, self._leave_named, self._fail, asked=False)
        self._comparing = LatestJob(jobs, self, self._take, self._fail, asked=False)
        # What is left out beside what rules find in some sources, and the sources that they look at.
        self._beside: tuple[list[tuple[Source, list[int]]], tuple[Source, ...]] = [], ()
        corpus.left_out_changed.connect(self._go_on)
        training.state_changed.connect(self._go_on)
        runs.changed.connect(self._forget_deleted)
        corpus.sources_changed.connect(self._forget_other_text)
        self.changed.connect(self._come_first)

    @property
    def obstacle(self) -> str | None:
        """Why no training without some text can start, in one sentence; None if it can."""
        counted = next((source.name for source in self._corpus.sources if source.counts is not None), None)
        if counted is not None:
            return f"{counted} has word counts, which have no documents and lines to leave out."
        settings = self._training.settings.problem if self._config is None else None
        return self._training.corpus_obstacle or settings

    @property
    def progress(self) -> Progress:
        """The progress of the training, or of the comparison."""
        current = self._training.current
        if current is not None:
            return current.job.progress
        return self._naming.progress if self._naming.busy else self._comparing.progress

    def train_without(
        self, rules: list[str], documents: list[tuple[Source, list[int]]], only: Sequence[Source] | None = None
    ) -> None:
        """Leaves text out of the corpus, and trains on the rest with the settings of the active run.

        If that was not trained here, the settings of Configure are used. What rules find goes, or that in some sources
        alone, by name; and documents by their numbers in sources of `CorpusState.remaining`.
        """
        if self.obstacle is not None:
            return
        self.outcome, self.problem, self.after = None, "", None
        self._comparing.cancel()
        self.before = self._comparable
        self.stage = LEAVING_OUT
        if only is None or not rules:
            self._leave_out(self._corpus.with_left_out(rules, documents))
        else:
            self._beside = documents, self._corpus.remaining
            numbers = [self._corpus.remaining.index(source) for source in only]
            self._naming.run(partial(named_work, Corpus(self._corpus.remaining), rules, numbers))
        self.changed.emit()

    def cancel(self) -> None:
        """Cancels what goes on; text that is left out already stays so."""
        if self._naming.busy:
            self._naming.cancel()
            self._end("Cancelled.")
        elif self.stage == LEAVING_OUT:
            self._corpus.leave_out(self._corpus.left_out)
        elif self.stage == TRAINING:
            self._training.stop()
        elif self.stage == COMPARING:
            self._comparing.cancel()
            self._end("Cancelled.")

    @property
    def _config(self) -> TrainingConfig | None:
        return self._runs.active.config if self._runs.active is not None else None

    @property
    def _comparable(self) -> StudioRun | None:
        """The active run, if it was trained here on the text of the corpus with its weights."""
        run = self._runs.active
        if run is None or run.corpus is None or run.run is None:
            return None
        wholes = tuple(map(self._corpus.whole, run.corpus.sources))
        return run if (wholes, run.corpus.weights) == (self._corpus.sources, self._corpus.current.weights) else None

    def _leave_named(self, named: LeavingOut) -> None:
        documents, sources = self._beside
        if self._corpus.remaining == sources:
            self._leave_out(self._corpus.with_left_out((), documents, named))
        else:
            self._end("The corpus has changed.")

    def _leave_out(self, what: LeavingOut) -> None:
        self._wish = what
        self._corpus.leave_out(what)

    def _go_on(self) -> None:
        if self.stage == LEAVING_OUT and not self._naming.busy and not self._corpus.is_leaving_out:
            if self._corpus.left_out == self._wish:
                self.stage = TRAINING
                # After everything else has seen that the text is another.
                QTimer.singleShot(0, self, self._train)
            else:
                self._end(self._corpus.leaving_problem or "Cancelled.")
        elif self.stage == TRAINING and self.after is not None and not self._training.busy:
            self._compare(self.after)

    def _train(self) -> None:
        if self._training.busy or self._corpus.left_out != self._wish:
            self._end(self._training.corpus_obstacle or "The corpus has changed.")
            return
        run, corpus = self._runs.active, self._corpus.current
        remark = f" (without {size_text(int(self._corpus.left.by_source[:, 2].sum()))})"
        if run is None or run.config is None:
            self._training.start()
        elif run.start is not None:
            self._training.start_from(run.start, run.config, corpus, remark)
        else:
            self._training.start_with(run.config, corpus, remark)
        if self._training.current is not None:
            self.after = self._training.current.run
            self.changed.emit()
        else:
            self._end(self._training.obstacle or "")

    def _compare(self, run: StudioRun) -> None:
        before = self.before
        if self._training.failure is not None or run.run is None or run not in self._runs.all:
            self._end(self._training.failure.text if self._training.failure is not None else "Training was stopped.")
        elif run.ended == STOPPED:
            self._end(f"Training was stopped: {run.name} is not compared.")
        elif before is None or before.run is None or run.corpus is None:
            self._end("")
        else:
            self.stage = COMPARING
            tokenizers = before.tokenizer, run.tokenizer
            self._comparing.run(partial(compared_work, tokenizers, run.corpus, run.run.config, self._store))
            self.changed.emit()

    def _take(self, outcome: CleaningOutcome) -> None:
        self.outcome = outcome
        self._end("")

    def _fail(self, error: Exception) -> None:
        self._end("Cancelled." if isinstance(error, Cancelled) else problem_of(error).text)

    def _come_first(self) -> None:
        self._corpus.let_statistics_wait(self.stage in (LEAVING_OUT, TRAINING))

    def _end(self, problem: str) -> None:
        self.stage, self.problem = "", problem
        self.changed.emit()

    def _forget_other_text(self) -> None:
        """The figures are of the text that remained."""
        trained = self.after.corpus if self.after is not None else None
        if not self.stage and trained is not None and trained.sources != self._corpus.remaining:
            self.before = self.after = self.outcome = None
            self._end("")

    def _forget_deleted(self) -> None:
        """A deleted run is released at once."""
        gone = [run for run in (self.before, self.after) if run is not None and run not in self._runs.shown]
        if gone and self.stage != TRAINING:
            self._comparing.cancel()
            self.before = self.after = self.outcome = None
            self._end("")


def compared_work(
    tokenizers: tuple[Tokenizer, Tokenizer], corpus: Corpus, config: TrainingConfig, store: TokenStore
) -> Work[CleaningOutcome]:
    """Compares two tokenizers: on the text held out of the training of the second, else on that it was trained on."""
    vocabularies = yield from vocabularies_work(*tokenizers)
    first, second = vocabularies.is_in.T
    text = corpus.sources
    if config.held_out:
        _, text = yield from hold_out_work(corpus.sources, config.held_out, corpus.weights)
    size, tokens = sum(source.bytes for source in text), list[int]()
    try:
        for tokenizer in tokenizers:
            tokens.append((yield from store.counts_work(tokenizer, Corpus(text), recognise=True)).tokens)
    except ConfigError:
        tokens = []  # a character that one of them lacks
    ratios = (size / tokens[0], size / tokens[1]) if all(tokens) and tokens else None
    gone, come = int((first & ~second).sum()), int((second & ~first).sum())
    return CleaningOutcome(gone, come, ratios, bool(config.held_out))


def outcome_text(outcome: CleaningOutcome) -> str:
    """An outcome in one sentence: "41 tokens went, 41 came, held-out 4.21 to 4.24 bytes per token."."""
    what = f"{several(outcome.gone, 'token')} went, {outcome.come:,} came"
    if outcome.ratios is None:
        return f"{what}."
    old, new = (f"{ratio:,.2f}" for ratio in outcome.ratios)
    change = f"{new} as before" if old == new else f"{old} to {new}"
    return f"{what}, {'held-out ' if outcome.held_out else ''}{change} bytes per token."


def outcome_note(cleaning: Cleaning) -> str:
    """What the figures of an outcome are of; "" where there are none."""
    outcome, before, after = cleaning.outcome, cleaning.before, cleaning.after
    if outcome is None or outcome.ratios is None or before is None or after is None:
        return ""
    if outcome.held_out:
        return f"Both on the text held out of {after.name}; {before.name} was trained on parts of it."
    return "Both on the text that remains, on which both were trained: no share is held out."
