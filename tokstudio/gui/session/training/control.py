"""The settings and the forecast of the next training, and the training in progress."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, Signal

from tokstudio.core.algorithms.common.from_tokenizer import check_start
from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.wording import shown, size_text
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.sampling import sample_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.library_training.config import LibraryConfig
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.run import Run
from tokstudio.core.pretokenization.patterns import NAMES
from tokstudio.core.project import Recorder
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.forecast import Forecast
from tokstudio.gui.session.common.corpus import CorpusState
from tokstudio.gui.session.common.jobs import Job, Jobs
from tokstudio.gui.session.common.run_list import RunList
from tokstudio.gui.session.common.view_state import ViewState
from tokstudio.gui.session.training.training import Delivery, Training, train_for_runs_work
from tokstudio.gui.state.problems import Problem, is_missing, problem_of
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_settings import Documents, Settings

BY_LIBRARY = "Another library trains, as a whole: it cannot pause."  # why a training is not paused


class TrainingControl(QObject):
    """Starts, pauses and stops trainings. Call every method from the GUI thread."""

    state_changed = Signal()  # training started, paused, resumed or ended, or `obstacle` changed
    # the active run has new merges; at most every 50 ms. If the playhead has followed them, the view says so in the
    # next event.
    merges_added = Signal()
    settings_changed = Signal()  # `settings`
    forecast_changed = Signal()  # `forecast`

    def __init__(
        self,
        jobs: Jobs,
        corpus: CorpusState,
        runs: RunList,
        view: ViewState,
        recorder: Recorder | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._jobs, self._corpus, self._runs, self._recorder = jobs, corpus, runs, recorder
        self.current: Training | None = None  # in progress, unless another library trains
        self.by_library: Job | None = None  # in which another library trains
        self.from_library: StudioRun | None = None  # what the last training made if another library trained
        self.failure: Problem | None = None  # that ended the last training
        self.settings = self.defaults = Settings()  # what is entered, which may be invalid
        self.threads: int | None = None  # that count pre-tokens; None for one per core
        self.forecast: Forecast | None = None  # of the time and memory of the training; None while unknown
        self.field_problem = ""  # what a field found wrong in the settings for this corpus
        self.opening = False  # whether a project is being opened
        self._sampling: Job | None = None
        self._undone: tuple[StudioRun, StudioRun] | None = None
        self._plays = False
        self._delivery = Delivery(runs, view, jobs.pauses.training, self)
        self._delivery.merges_added.connect(self.merges_added)
        self._delivery.pause_changed.connect(self.state_changed)
        corpus.sources_changed.connect(self._forget_forecast)
        corpus.sources_changed.connect(self.state_changed)
        corpus.weights_settled.connect(self.state_changed)
        corpus.left_out_changed.connect(self.state_changed)
        corpus.division_cancelled.connect(self._keep_division)
        corpus.texts_added.connect(self._take_over)

    # ---- settings

    def set_settings(self, settings: Settings) -> None:
        """Sets the entered settings; they may be invalid."""
        if settings != self.settings:
            self.settings = settings
            self._forget_forecast()
            self._corpus.set_documents(settings.documents)
            self.settings_changed.emit()
            self.state_changed.emit()

    def set_defaults(self, defaults: Settings, threads: int | None) -> None:
        """Sets the default settings, and the number of threads that count pre-tokens (None: one per core)."""
        changed, self.defaults, self.threads = defaults != self.defaults, defaults, threads
        if changed:
            self.settings_changed.emit()

    def set_forecast(self, forecast: Forecast) -> None:
        """Sets the forecast for this corpus and these settings."""
        self.forecast = forecast
        self.forecast_changed.emit()
        self.state_changed.emit()

    def set_field_problem(self, problem: str) -> None:
        """Sets the problem that a field found in the settings for this corpus; "" for none."""
        if problem != self.field_problem:
            self.field_problem = problem
            self.state_changed.emit()

    def set_opening(self, opening: bool) -> None:
        """Prevents the start of a training while a project is being opened."""
        self.opening = opening
        self.state_changed.emit()

    # ---- conditions of a start

    @property
    def obstacle(self) -> str | None:
        """The reason why training cannot start, in one sentence; None if it can."""
        # The forecast uses a part of the corpus; its problem holds for the whole corpus too.
        foreseen = self.forecast.problem if self.forecast is not None else ""
        return self.corpus_obstacle or self.settings.problem or self.field_problem or foreseen or None

    @property
    def corpus_obstacle(self) -> str | None:
        """The reason why training cannot start with any settings, in one sentence; None if there is none."""
        if self.busy:
            return "Training is in progress."
        if self.opening:
            return "A project is being opened."
        sources = self._corpus.sources
        if not sources:
            return "Open a text first."
        if (gone := next(filter(is_missing, sources), None)) is not None:
            return f"{gone.name} is missing: restore and reload it, or remove it from the corpus."
        if self._corpus.current.bytes == 0:
            return "The corpus has no text."
        if not any(self._corpus.weights):
            return "All sources have the weight 0: give one a larger weight."
        if self._corpus.splitting:
            return "The corpus is being divided into documents."
        if self._corpus.is_leaving_out:
            return "Documents and lines are being left out of the corpus."
        return None

    @property
    def busy(self) -> bool:
        """Whether there is a training, here or by another library."""
        return self.current is not None or self.by_library is not None

    @property
    def step_obstacle(self) -> str | None:
        """Why a training cannot start with one merge, in one sentence; None if it can."""
        config = self.settings.library_config
        if self.by_library is not None:
            return BY_LIBRARY
        if config is not None and self.current is None:
            return f"The {config.library} library trains {config.title} as a whole: it cannot pause."
        return self.obstacle

    @property
    def lacks_memory_alone(self) -> bool:
        """Whether a forecast of too little memory is the only obstacle."""
        forecast = self.forecast
        return forecast is not None and forecast.too_large and self.obstacle == forecast.problem

    @property
    def sample_size(self) -> int | None:
        """The size in bytes of a sample of the corpus that fits into memory; None if the whole corpus fits."""
        forecast = self.forecast
        if forecast is None or self.field_problem:
            return None
        return forecast.sample if 0 < forecast.sample < self._corpus.current.bytes else None

    def can_continue(self, run: StudioRun | None) -> bool:
        """Whether training can continue where `run` ended: same corpus and settings, but a larger limit."""
        if run is None or run is self._runs.live or self.obstacle is not None or self.settings.by_library:
            return False
        return run.may_continue(self.settings.config(), self._corpus.current)

    @property
    def state(self) -> str:
        """The state of the training: "idle", "running" or "paused"."""
        if self.current is None:
            return "idle"
        return "paused" if self.current.job.paused else "running"

    def set_played(self, played: bool) -> None:
        """Sets whether the trainings that start from now on are played, as by `start`."""
        self._plays = played

    @property
    def played(self) -> bool:
        """Whether the training in progress is slowed down, to be watched."""
        return self.current is not None and self.current.played

    # ---- start, pause and stop

    def start(self, *, single: bool = False, anyway: bool = False, played: bool = False) -> None:
        """Starts a run on the corpus, `anyway` even if a forecast says that there is too little memory.

        It pauses after a `single` merge. If it is `played`, it merges so slowly that one can watch, until `hurry`.
        """
        if single and self.step_obstacle is not None:
            return
        if self.obstacle is None or (anyway and self.lacks_memory_alone):
            self._start_on(self._corpus.current, single=single, played=played)

    def start_on_sample(self) -> None:
        """Starts a run on a sample of the corpus that fits into memory; the corpus stays unchanged."""
        size = self.sample_size
        if not self.busy and self.settings.problem is None and size is not None:
            corpus = self._corpus.current
            self._sampling = self._jobs.start(lambda: sample_work(corpus, size), self._take_sample)

    def start_with(
        self, config: TrainingConfig | LibraryConfig, corpus: Corpus, remark: str = "", title: str = ""
    ) -> str:
        """Starts a run with settings of its own, unless there is a training; returns its name.

        The remark follows its name, and a title comes before its number. The tokenizer of another library becomes a run
        when it is complete; it is named by the title alone.
        """
        if self.busy:
            return ""
        if isinstance(config, TrainingConfig):
            run = self._runs.new(config, corpus, remark, title=title)
            self._begin(run, None)
            return run.name
        self.failure = self.from_library = None
        name = title or f"{config.title} {config.vocabulary_size:,}{remark}"
        work = partial(train_for_runs_work, corpus, config, name)
        self.by_library = self._jobs.start(work, self._take_from_library, self._report)
        self.by_library.ended.connect(self._library_ended)
        self.state_changed.emit()
        return name

    def start_from(self, start: Tokenizer, config: TrainingConfig, corpus: Corpus, remark: str) -> None:
        """Starts a run from a tokenizer; the remark follows its name.

        Raises:
            ConfigError: The tokenizer cannot be trained further, or not with these settings.
        """
        config = check_start(start, config)
        if not self.busy:
            self._begin(self._runs.new(config, corpus, remark, start=start), None)

    def continue_run(self, run: StudioRun | None) -> None:
        """Continues where `run` ended, as a new run; `run` stays unchanged."""
        if run is None or not self.can_continue(run):
            return
        assert run.run is not None
        assert run.corpus is not None
        longer = self._runs.new(run.own_config(self.settings.config()), run.corpus, start=run.start)
        longer.begin_with(run.run)
        self._begin(longer, run.run)
        self._tell_of_new("Continue Run", run)

    def pause(self) -> None:
        """Pauses before the next step of the work."""
        if self.current is not None:
            self.current.job.pause()
            self._delivery.deliver()
            self.state_changed.emit()

    def resume(self) -> None:
        """Resumes after a pause."""
        if self.current is not None:
            self.current.resume()
            self.state_changed.emit()

    def step(self) -> None:
        """Makes one merge in the paused training, or in a new one."""
        if self.current is None:
            self._step_anew()
        elif self.current.job.paused:
            self.current.step()
            self._delivery.expect_pause()
            self.state_changed.emit()

    def hurry(self) -> None:
        """Makes the rest of a played training at full speed."""
        if self.played:
            assert self.current is not None
            self.current.hurry()
            self.state_changed.emit()

    def stop(self) -> None:
        """Stops the training and keeps the run; another library's training is given up."""
        if self.current is not None:
            self.current.stop()
        elif self.by_library is not None:
            self.by_library.cancel()

    def close(self) -> None:
        """Delivers no more merges, at the end of the session."""
        self._delivery.stop()

    def _keep_division(self, documents: Documents) -> None:
        self.set_settings(replace(self.settings, documents=documents))

    def _take_over(self) -> None:
        """Sets the pattern and the special tokens that all words of the corpus were counted with."""
        settings = counted_settings(self.settings, self._corpus.sources)
        what: list[str] = []
        if (pattern := settings.pattern) != self.settings.pattern:
            what.append(f"pattern {pattern if pattern in NAMES else shown(pattern)}")
        if settings.special_tokens != self.settings.special_tokens:
            what.append("special tokens" if settings.special_tokens else "special tokens (none)")
        path = self._corpus.sources[-1].path if what else None
        if path is not None:
            self.set_settings(settings)
            words = " and ".join(what)
            self._jobs.tell(f"{words[0].upper()}{words[1:]} taken over from {file_name(path)}.")

    def _forget_forecast(self) -> None:
        if self.forecast is not None:
            self.forecast = None
            self.forecast_changed.emit()

    def _take_sample(self, corpus: Corpus) -> None:
        if self.sender() is self._sampling and not self.busy and self.settings.problem is None:
            self._start_on(corpus, f" (sample of {size_text(corpus.bytes)})")

    def _start_on(self, corpus: Corpus, remark: str = "", *, single: bool = False, played: bool = False) -> None:
        if (by_library := self.settings.library_config) is not None:
            self.start_with(by_library, corpus, remark)
            return
        self._begin(self._runs.new(self.settings.config(), corpus, remark), None, single=single, played=played)

    def _step_anew(self) -> None:
        before = self._runs.active
        self.start(single=True)
        if before is not None and self.current is not None:
            self._tell_of_new("Step", before)

    def _tell_of_new(self, what: str, before: StudioRun) -> None:
        """Notifies the user of a new run; the notice can be undone to return to the run shown before."""
        assert self.current is not None
        run = self.current.run

        def undo() -> None:
            self._undone = run, before
            self.stop()

        def holds() -> bool:
            return self.current is not None and self.current.run is run and before in self._runs.all

        text = f"{what} started {run.name}. {before.name} is still in Tokenizers, unchanged."
        self._jobs.notify(text, "Undo", undo, holds)

    def _begin(self, run: StudioRun, earlier: Run | None, *, single: bool = False, played: bool = False) -> None:
        begun = Training(run, earlier, single, played or self._plays, self._recorder, self._corpus, self.threads, self)
        self.current = training = begun
        self.failure = self.from_library = None
        training.job.finished.connect(self._finished)
        training.job.failed.connect(self._failed)
        training.job.ended.connect(self._ended)
        self._runs.begin(run)
        self._jobs.begin(training.job)
        self._delivery.start(training)
        self.state_changed.emit()

    def _take_from_library(self, result: tuple[StudioRun, str]) -> None:
        self.from_library, message = result
        self._runs.add(self.from_library)
        self._jobs.tell(message)

    def _library_ended(self) -> None:
        self.by_library = None
        self.state_changed.emit()

    def _finished(self, run: Run) -> None:
        self._delivery.complete(run)

    def _failed(self, error: Exception) -> None:
        assert self.current is not None
        self._delivery.deliver()
        self.current.run.fail()
        self._report(error)

    def _report(self, error: Exception) -> None:
        self.failure = replace(problem_of(error), of_training=True)
        self._jobs.report(self.failure)

    def _ended(self) -> None:
        self._delivery.stop()
        training, self.current = self.current, None
        self._runs.release()
        if training is not None:
            training.deleteLater()
            run = training.run
            # Delete a run that was stopped during the preparation or failed before its first merge.
            if not training.prepared or (run.ended == "failed" and len(run) <= run.before):
                self._runs.delete(run)
            self._go_back(run)
        self.state_changed.emit()
        self._runs.tell()

    def _go_back(self, run: StudioRun) -> None:
        """After the notice of a new run was undone, deletes the run and shows the one before."""
        undone, self._undone = self._undone, None
        if undone is None or undone[0] is not run:
            return
        if run in self._runs.all:
            self._runs.delete(run)
        if undone[1] in self._runs.all:
            self._runs.activate(undone[1])


def counted_settings(settings: Settings, sources: Sequence[Source]) -> Settings:
    """The settings with the pattern and the special tokens that all words of the sources were counted with."""
    splittings = {one.counted_with and (one.counted_with.pattern, one.counted_with.special_tokens) for one in sources}
    if len(splittings) != 1 or (counted := splittings.pop()) is None:
        return settings
    of_base = () if settings.problem or settings.by_library else settings.config().base_specials
    tokens = tuple(token for token in counted[1] if token not in of_base)
    if set(tokens) == set(settings.special_tokens):
        tokens = settings.special_tokens  # in the user's order
    return replace(settings, pattern=counted[0], special_tokens=tokens)
