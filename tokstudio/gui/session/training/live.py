"""Trains again while the weights of the corpus change, so that the curve and the vocabulary follow them.

At most one training runs and one waits; the last finished one stays on screen. When the weights stop, its run enters
the list of runs, unless that has a run with the same weights already: then that one is shown.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Signal

from tokstudio.core.algorithms.common.languages import why_no_languages
from tokstudio.core.algorithms.common.prepare_corpus import CountedText, PreparedCorpus
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.algorithms import Boundless
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.run import STOPPED, Run
from tokstudio.core.training.trainer import Trainer
from tokstudio.gui.session.common.corpus import CorpusState
from tokstudio.gui.session.common.jobs import Job, Jobs
from tokstudio.gui.session.common.run_list import RunList
from tokstudio.gui.session.common.view_state import ViewState
from tokstudio.gui.session.training.control import TrainingControl
from tokstudio.gui.state.run import StudioRun


@dataclass(frozen=True, eq=False)
class _Trained:
    corpus: Corpus
    config: TrainingConfig
    prepared: PreparedCorpus
    run: Run


class LiveTraining(QObject):
    """Follows the weights of the corpus. Call every method from the GUI thread."""

    changed = Signal()  # `obstacle` or `busy`

    def __init__(
        self,
        jobs: Jobs,
        corpus: CorpusState,
        runs: RunList,
        training: TrainingControl,
        view: ViewState,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._jobs, self._corpus, self._runs, self._training, self._view = jobs, corpus, runs, training, view
        self._job: Job | None = None
        self._waits = False
        self._origin: StudioRun | None = None  # the active run before the weights began to change
        self._listed: StudioRun | None = None  # the last run that entered the list
        runs.changed.connect(self._forget_deleted)
        corpus.weights_changed.connect(self._follow)
        corpus.weights_settled.connect(self._settle)
        corpus.sources_changed.connect(self._end)
        training.settings_changed.connect(self._end)
        training.state_changed.connect(self._make_room)

    @property
    def obstacle(self) -> str | None:
        """Why no run follows the weights, in one sentence; None if one does."""
        if self._training.settings.by_library:
            return "The weights apply at the next Train."
        if self._training.settings.pattern == "none":
            return "The weights apply at the next Train. With a pattern, the run would follow them."
        if self._training.obstacle is not None:
            return "The weights apply at the next Train."
        if self._training.settings.algorithm == Boundless.name:
            return "The weights apply at the next Train: BoundlessBPE reads the text again for its supermerges."
        if why_no_languages(self._corpus.current, self._training.settings.config()):
            return "The weights apply at the next Train."
        if self._corpus.counts.find(self._corpus.current, self._training.settings.config()) is None:
            return "The weights apply at the next Train. After it, the run follows them."
        return None

    @property
    def busy(self) -> bool:
        """Whether the run on screen does not have the weights yet."""
        return self._job is not None

    @property
    def following(self) -> StudioRun | None:
        """The run of the list that the next live one will replace, unless it was renamed, exported or saved."""
        run = self._listed
        return None if run is None or run.marks.exported or run.marks.saved or run.name != _name(run) else run

    def _follow(self) -> None:
        """Trains with the new weights, or after the training that runs."""
        if self.obstacle is not None:
            self._end()
            return
        if self._job is None and self._runs.live is None:
            self._origin = self._runs.active
        if self._job is None:
            self._begin()
        else:
            self._waits = True

    def _settle(self) -> None:
        if self._job is None and self._runs.live is None:
            return
        if (count := self._known) is not None:
            self._cancel()
            origin, self._origin = self._origin, None
            # The run to whose weights the corpus returned takes the place of the last live one.
            self._runs.stand_down(origin if origin is not count and origin is self.following else None)
            if count is self._runs.active:
                self._runs.tell()
            else:
                self._view.start_in_place(count)
            self.changed.emit()
        elif self._job is None:
            self._origin = None
            if self._runs.live is not None:
                self._stand_in(self._runs.live, listed=True)
                self._runs.tell()
        elif self._waits:
            # Only the last weights matter now.
            self._job.cancel()

    @property
    def _known(self) -> StudioRun | None:
        """The run of the list with these weights, if there is one: the run that was shown before, or the last."""
        origin = [run for run in self._runs.all if run is self._origin]
        ended = [run for run in reversed(self._runs.all) if run.ended != STOPPED]
        return next(filter(self._has_these_weights, origin + ended), None)

    def _has_these_weights(self, run: StudioRun) -> bool:
        corpus = self._corpus.current
        if run.corpus is None or (run.corpus.sources, run.corpus.weights) != (corpus.sources, corpus.weights):
            return False
        settings = self._training.settings
        return run.run is not None and not settings.by_library and run.run.config == settings.config()

    def _make_room(self) -> None:
        """Leaves the place to an ordinary training."""
        if self._training.busy:
            self._end()
        self.changed.emit()

    def _end(self) -> None:
        """Drops the live run; if it was active, shows the run that was active before, or the last of the list."""
        self._cancel()
        run, runs, before = self._runs.live, self._runs, self._origin
        self._origin = None
        runs.stand_down()
        if run is not None and run is runs.active:
            runs.activate(before if before in runs.all else runs.all[-1] if runs.all else None)
        elif run is not None:
            runs.tell()
        self.changed.emit()

    def _cancel(self) -> None:
        if self._job is not None:
            job, self._job, self._waits = self._job, None, False
            job.cancel()

    def _begin(self) -> None:
        config = self._training.settings.config()
        kept = self._corpus.counts.find(self._corpus.current, config)
        if kept is None:
            return
        corpus = kept.corpus.weighted(self._corpus.weights)
        work = partial(_train_work, corpus, config, kept.counted)
        self._job = self._jobs.start(work, self._show, quiet=True, asked=False)
        self._job.ended.connect(self._go_on)
        self.changed.emit()

    def _show(self, trained: _Trained) -> None:
        if self.sender() is not self._job:
            return
        last = self._listed
        if self._runs.live is None and last is not None:
            # Other runs than the active one, or one with other settings, are never replaced.
            self._listed = last if last is self._runs.active and last.config == trained.config else None
        before = self.following
        number = self._runs.next_number if before is None else before.number
        run = StudioRun(0, f"Run {number}, live", trained.config, trained.corpus, number=number)
        run.prepare(trained.prepared, trained.run)
        run.complete(trained.run)
        self._stand_in(run, listed=not self._waits and not self._corpus.moving)
        self._view.start_in_place(run)

    def _stand_in(self, run: StudioRun, *, listed: bool) -> None:
        before = self.following
        if listed:
            run.identify(name=_name(run))
            self._listed = run
        self._runs.stand_in(run, before, listed=listed)

    def _forget_deleted(self) -> None:
        if self._listed not in self._runs.all:
            self._listed = None

    def _go_on(self) -> None:
        if self.sender() is not self._job:
            return
        self._job = None
        if self._waits:
            self._waits = False
            self._begin()
        elif not self._corpus.moving:
            self._origin = None
        self.changed.emit()


def _name(run: StudioRun) -> str:
    return f"Run {run.number}"


def _train_work(corpus: Corpus, config: TrainingConfig, counted: CountedText) -> Work[_Trained]:
    yield from corpus.sha256_work()
    trainer = Trainer(corpus, config, counted=counted)
    while trainer.ended is None:
        trainer.advance()
        yield trainer.progress
    assert trainer.prepared is not None
    return _Trained(corpus, config, trainer.prepared, trainer.run)
