"""Trains several plans one after another on the corpus as it was at the start, counting once what they share."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from tokstudio.core.base.wording import several
from tokstudio.core.corpus.corpus import ONCE, Corpus
from tokstudio.core.corpus.sampling import numbered_sample_work
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.run import STOPPED
from tokstudio.gui.session.common.corpus import CorpusState
from tokstudio.gui.session.common.jobs import Cancelled, Jobs, LatestJob
from tokstudio.gui.session.training.control import TrainingControl
from tokstudio.gui.state.problems import Problem, problem_of
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_plans import TrainingPlan, in_order_of_counts, names_of_plans, problem_of_plans


class TrainingQueue(QObject):
    """Starts the next training when one has ended. Call every method from the GUI thread.

    A training that is stopped or fails does not keep the next from starting; errors are shown until the end.

    Attributes:
        total: How many trainings there are, without those that were cancelled; 0 while there is no queue.
        number: The number of the training in progress, from 1 on.
        what: What sets the training in progress apart from the others, such as its algorithm; else its name.
    """

    changed = Signal()  # `total`, `number` or `waiting`

    def __init__(
        self, jobs: Jobs, corpus: CorpusState, training: TrainingControl, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._jobs, self._corpus, self._training = jobs, corpus, training
        self.total = self.number = 0
        self._waiting: deque[tuple[TrainingPlan, str]] = deque()
        self._shared: Counter[tuple[object, ...]] = Counter()  # how many trainings need each count
        self._whole = Corpus(())
        # The last one with the numbers of its sources in the corpus, and of how many percent it is.
        self._sample: tuple[int, Corpus, list[int]] | None = None
        self._sampling = LatestJob(jobs, self, self._take, self._fail)
        self.what = ""
        self._name = ""  # of the run in training, if the queue started it; else ""
        self._failures: list[str] = []
        self._runs: list[StudioRun] = []  # those of the queue
        self._then: Callable[[Sequence[StudioRun]], object] | None = None
        self._before_next: Callable[[Callable[[], object]], object] = lambda then: then()
        training.state_changed.connect(self._look)

    @property
    def waiting(self) -> int:
        """How many trainings have not begun."""
        return len(self._waiting)

    @property
    def corpus(self) -> Corpus:
        """The corpus that a queue would be trained on."""
        return self._corpus.current

    def start(self, plans: Sequence[TrainingPlan], then: Callable[[Sequence[StudioRun]], object] | None = None) -> None:
        """Trains the plans, those that share a count one after another, unless there is a queue or an obstacle.

        `then` shows the runs in Compare when all have ended; their names begin with what sets them apart.
        """
        obstacle = self._training.corpus_obstacle or problem_of_plans(plans, self.corpus)
        if self.total or obstacle is not None:
            return
        ordered = in_order_of_counts(plans)
        self._waiting = deque(zip(ordered, names_of_plans(ordered), strict=True))
        self._shared = Counter(plan.count_key for plan in ordered)
        self._whole, self._failures, self._runs, self._then = self.corpus, [], [], then
        self.total, self.number = len(ordered), 0
        self._next()

    def set_before_next(self, before: Callable[[Callable[[], object]], object]) -> None:
        """Sets what is done between two trainings; it calls its argument when the next may begin."""
        self._before_next = before

    def cancel(self) -> None:
        """Drops the trainings that have not begun; the one in progress goes on."""
        self._waiting.clear()
        self._sampling.cancel()
        if self.total and not self._name:
            self._finish()
        elif self.total:
            self.total = self.number
            self.changed.emit()

    def close(self) -> None:
        """Drops the trainings that have not begun, at the end of the session."""
        self._waiting.clear()
        self._runs, self._then = [], None
        self.total = 0

    def _look(self) -> None:
        """Goes on after the end of a training."""
        if not self.total or self._training.busy:
            return
        if self._name:
            if self._training.failure is not None:
                self._failures.append(f"{self._name}: {self._training.failure.text}")
            if (run := self._training.from_library) is not None and run not in self._runs:
                self._runs.append(run)
            self._name = ""
        # After the other slots of the signal.
        QTimer.singleShot(0, self, partial(self._before_next, self._next))

    def _next(self) -> None:
        """Starts the next training, or first takes its sample."""
        if not self.total or self._training.busy or self._sampling.busy:
            return
        if not self._waiting:
            self._finish()
            return
        plan, name = self._waiting[0]
        corpus = self._corpus_of(plan)
        if corpus is None:
            size = self._whole.bytes * plan.percent // 100
            self._sampling.run(partial(numbered_sample_work, self._whole, size))
            return
        self._waiting.popleft()
        self.number += 1
        by_library = plan.settings.library_config
        config = by_library or plan.settings.config()
        shared = config if isinstance(config, TrainingConfig) and self._shared[plan.count_key] > 1 else None
        self._corpus.counts.share(corpus, shared)
        # What is compared stands first in the names, as narrow columns show no more.
        first = self._then is not None or by_library is not None
        title, remark = (name, "") if first else ("", f" ({name})" if name else "")
        self._name = self._training.start_with(config, corpus, remark, title)
        self.what = name or self._name
        if self._training.current is not None:
            self._runs.append(self._training.current.run)
        # The start of a training removes the last error.
        self._report()
        self.changed.emit()

    def _corpus_of(self, plan: TrainingPlan) -> Corpus | None:
        """The corpus of a plan or its sample, with its weights; None if the sample has not been taken."""
        whole = plan.weighted(self._whole)
        if plan.percent == 100:
            return whole
        if self._sample is None or self._sample[0] != plan.percent:
            return None
        _, sample, numbers = self._sample
        if not plan.weights:
            return sample
        weights = whole.weights or (ONCE,) * len(whole.sources)
        return sample.weighted([weights[number] for number in numbers])

    def _take(self, numbered: tuple[Corpus, list[int]]) -> None:
        self._sample = self._waiting[0][0].percent, *numbered
        self._next()

    def _fail(self, error: Exception) -> None:
        """Drops the training whose sample could not be taken, or all that wait where the user cancelled it."""
        if isinstance(error, Cancelled):
            self.cancel()
            return
        plan, name = self._waiting.popleft()
        self.number += 1
        self._failures.append(f"{name or f'{plan.percent} % sample'}: {problem_of(error).text}")
        self._next()

    def _finish(self) -> None:
        done = sum(run.ended not in (None, STOPPED, "failed") for run in self._runs)
        stopped = self.number - len(self._failures) - done
        runs, then, self._runs, self._then = self._runs, self._then, [], None
        if then is not None:
            then(runs)
        if done > 1:
            hint = "compare them in Tokenizers" if then is None else "Compare shows only them"
            others = f", {several(stopped, 'was stopped', 'were stopped')}" if stopped else ""
            self._jobs.tell(f"{done:,} trainings are done{others}: {hint}.")
        self._report()
        self.total = self.number = 0
        self._whole, self._sample, self._failures = Corpus(()), None, []
        self._corpus.counts.share(None, None)
        self.changed.emit()

    def _report(self) -> None:
        if self._failures:
            count = f"{len(self._failures)} of {self.total} trainings failed."
            self._jobs.report(Problem(" ".join((count, *self._failures)), of_training=True))
