"""The settings and the forecast of the next training, and the training in progress."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from tokstudio.core.algorithms.common.from_tokenizer import check_start
from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.wording import shown, size_text
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.sampling import sample_work
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
from tokstudio.gui.session.training.training import Training, train_for_runs_work
from tokstudio.gui.state.problems import Problem, is_missing, problem_of
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_settings import Documents, Settings

#: Why a training is not paused.
BY_LIBRARY = "Another library trains, as a whole: it cannot pause."


class TrainingControl(QObject):
    """Starts, pauses and stops trainings. Call every method from the GUI thread.

    Signals:
        state_changed: Training started, paused, resumed or ended, or `obstacle` changed.
        merges_added: The active run has new merges; at most every 50 ms. If the playhead has followed them, the view
            says so in the next event.
        settings_changed: `settings`.
        forecast_changed: `forecast`.

    Attributes:
        current: The training in progress, unless another library trains.
        by_library: The job in which another library trains; None while none does.
        from_library: What the last training made if another library trained; else None.
        failure: The error that ended the last training; None if none did.
        settings: The entered settings; they may be invalid.
        threads: How many threads count pre-tokens; None for one per core.
        forecast: The expected time and memory of the training; None while unknown.
        field_problem: A problem that a field found in the settings for this corpus; "" for none.
        opening: Whether a project is being opened.
    """

    state_changed = Signal()
    merges_added = Signal()
    settings_changed = Signal()
    forecast_changed = Signal()

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
        self._jobs = jobs
        self._corpus = corpus
        self._runs = runs
        self._view = view
        self._recorder = recorder
        self.current: Training | None = None
        self.by_library: Job | None = None
        self.from_library: StudioRun | None = None
        self.failure: Problem | None = None
        self.settings = self.defaults = Settings()
        self.threads: int | None = None
        self.forecast: Forecast | None = None
        self.field_problem = ""
        self.opening = False
        self._sampling: Job | None = None
        self._undone: tuple[StudioRun, StudioRun] | None = None
        self._paused_before = False
        self._plays = False
        self._timer = QTimer(self, interval=jobs.pauses.training)
        self._timer.timeout.connect(self._tick)
        # The new merges are drawn before everything else follows the playhead: together, both would take too long.
        self._followed = QTimer(self, singleShot=True, interval=0)
        self._followed.timeout.connect(view.tell_playhead)
        corpus.sources_changed.connect(self._forget_forecast)
        corpus.sources_changed.connect(self.state_changed)
        corpus.weights_settled.connect(self.state_changed)
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
        """Prevents the start of a training while a project is being opened; call `tell` to emit the signal."""
        self.opening = opening

    def tell(self) -> None:
        """Emits `state_changed`, as `obstacle` may have changed."""
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
        """Starts a run on the corpus.

        Args:
            single: It pauses after one merge.
            anyway: A forecast of too little memory does not prevent it.
            played: It merges so slowly that one can watch, until `hurry`.
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
        self.by_library = self._jobs.start(work, self._take_from_library, self._library_failed)
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
            self._tick()
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
            # It may pause again before the next tick, which must still notice the change.
            self._paused_before = False
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
        """Stops the timer at the end of the session."""
        self._timer.stop()

    # ---- private

    def _keep_division(self, documents: Documents) -> None:
        self.set_settings(replace(self.settings, documents=documents))

    def _take_over(self) -> None:
        """Sets the pattern and the special tokens that all words of the corpus were counted with."""
        sources, before = self._corpus.sources, self.settings
        found = {one.counted_with and (one.counted_with.pattern, one.counted_with.special_tokens) for one in sources}
        counted, path = found.pop() if len(found) == 1 else None, sources[-1].path if sources else None
        if counted is None or path is None:
            return
        pattern, of_base = counted[0], () if before.problem or before.by_library else before.config().base_specials
        tokens = tuple(token for token in counted[1] if token not in of_base)
        if set(tokens) == set(before.special_tokens):
            tokens = before.special_tokens  # in the user's order
        what = [f"pattern {pattern if pattern in NAMES else shown(pattern)}"] if pattern != before.pattern else []
        if tokens != before.special_tokens:
            what.append("special tokens" if tokens else "special tokens (none)")
        if what:
            self.set_settings(replace(before, pattern=pattern, special_tokens=tokens))
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
        """Starts a run and makes one merge."""
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

        text = f"{what} started {run.name}. {before.name} is still in Runs, unchanged."
        self._jobs.notify(text, "Undo", undo, holds)

    def _begin(self, run: StudioRun, earlier: Run | None, *, single: bool = False, played: bool = False) -> None:
        begun = Training(run, earlier, single, played or self._plays, self._recorder, self._corpus, self.threads, self)
        self.current = training = begun
        self._paused_before, self.failure, self.from_library = False, None, None
        training.job.finished.connect(self._finished)
        training.job.failed.connect(self._failed)
        training.job.ended.connect(self._ended)
        self._runs.begin(run)
        training.job.start()
        self._jobs.announce()
        self._timer.start()
        self.state_changed.emit()

    def _take_from_library(self, made: tuple[StudioRun, str]) -> None:
        self.from_library, told = made
        self._runs.add(self.from_library)
        self._jobs.tell(told)

    def _library_failed(self, error: Exception) -> None:
        self.failure = replace(problem_of(error), of_training=True)
        self._jobs.report(self.failure)

    def _library_ended(self) -> None:
        self.by_library = None
        self.state_changed.emit()

    def _tick(self) -> None:
        training = self.current
        if training is None:
            return
        run, paused, made = training.run, training.job.paused, len(training.run)
        if training.drain() and run is self._runs.active:
            if made != len(run) and run.start is None:
                # Special tokens come after the merges, so their ids change as the run grows.
                self._view.shift_tokens(run.base_size + made, len(run) - made)
            self._tell_merges()
        if paused != self._paused_before:
            self._paused_before = paused
            self.state_changed.emit()

    def _tell_merges(self) -> None:
        moved = self._view.follow()
        self.merges_added.emit()
        if moved:
            self._followed.start()

    def _finished(self, run: Run) -> None:
        training = self.current
        assert training is not None
        self._tick()
        if training.prepared:
            training.run.complete(run)
            if training.run is self._runs.active:
                self._tell_merges()

    def _failed(self, error: Exception) -> None:
        training = self.current
        assert training is not None
        self._tick()
        training.run.note(ended="failed")
        self.failure = replace(problem_of(error), of_training=True)
        self._jobs.report(self.failure)

    def _ended(self) -> None:
        if self._followed.isActive():
            self._followed.stop()
            self._view.tell_playhead()
        training, self.current = self.current, None
        self._timer.stop()
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
