"""The settings of the next training, what it will likely take, and the training in progress."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject, QTimer, Signal

from tokstudio.core.base.wording import size_text
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.sampling import sample_work
from tokstudio.core.model.run import Run
from tokstudio.core.project import Recorder
from tokstudio.core.training.forecast import Forecast
from tokstudio.gui.session.corpus import CorpusState
from tokstudio.gui.session.jobs import Job, Jobs
from tokstudio.gui.session.run_list import RunList
from tokstudio.gui.session.training import Recording, Training
from tokstudio.gui.session.view_state import ViewState
from tokstudio.gui.state.notice import Notice
from tokstudio.gui.state.problem import problem_of
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.source_records import is_missing
from tokstudio.gui.state.training_settings import Documents, Settings

_TICK = 50  # milliseconds between two looks at the training


class TrainingControl(QObject):
    """Begins, pauses and ends trainings. Call every method from the GUI thread.

    Signals:
        state_changed: Training began, paused, went on or ended, or whether it can begin.
        merges_added: The active run has grown; at most every 50 ms.
        settings_changed: `settings`.
        forecast_changed: `forecast`.

    Args:
        jobs: Where a sample is taken; tells what went wrong.
        corpus: What is trained on.
        runs: Where the runs are listed.
        view: Whose playhead follows a run that grows.
        recorder: Keeps what a crash would lose; None where nothing is kept.
        parent: The owner.

    Attributes:
        current: The training in progress.
        settings: What was entered, which may be something that cannot work.
        defaults: The settings of a new training, until something is entered.
        threads: How many threads count pre-tokens; None for one per core.
        forecast: What a training with them will likely take; None while it is not known.
        field_problem: What a field found wrong with the settings on this corpus; "" for nothing.
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
        self.settings = self.defaults = Settings()
        self.threads: int | None = None
        self.forecast: Forecast | None = None
        self.field_problem = ""
        self.opening = False
        self._sampling: Job | None = None
        self._undone: tuple[StudioRun, StudioRun] | None = None
        self._paused_before = False
        self._timer = QTimer(self)
        self._timer.setInterval(_TICK)
        self._timer.timeout.connect(self._tick)
        corpus.sources_changed.connect(self._forget_forecast)
        corpus.sources_changed.connect(self.state_changed)
        corpus.division_cancelled.connect(self._keep_division)

    # ---- settings

    def set_settings(self, settings: Settings) -> None:
        """Takes over what was entered; it may be something that cannot work."""
        if settings != self.settings:
            self.settings = settings
            self._forget_forecast()
            self._corpus.set_documents(settings.documents)
            self.settings_changed.emit()
            self.state_changed.emit()

    def set_defaults(self, defaults: Settings, threads: int | None) -> None:
        """Takes over the settings of a new training, and how many threads count pre-tokens (None: one per core)."""
        changed, self.defaults, self.threads = defaults != self.defaults, defaults, threads
        if changed:
            self.settings_changed.emit()

    def set_forecast(self, forecast: Forecast) -> None:
        """Takes over what a training of this corpus with these settings will likely take."""
        self.forecast = forecast
        self.forecast_changed.emit()
        self.state_changed.emit()

    def set_field_problem(self, problem: str) -> None:
        """Takes over what a field found wrong with the settings on this corpus; "" for nothing."""
        if problem != self.field_problem:
            self.field_problem = problem
            self.state_changed.emit()

    def set_opening(self, opening: bool) -> None:
        """Keeps trainings from beginning while a project is being opened; `tell` says so to others."""
        self.opening = opening

    def tell(self) -> None:
        """Tells that a training may be able to begin, or not any more."""
        self.state_changed.emit()

    # ---- whether one can begin

    @property
    def obstacle(self) -> str | None:
        """Why training cannot begin, in one sentence; None if it can."""
        if self.current is not None:
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
        if self._corpus.splitting:
            return "The corpus is being divided into documents."
        # What a part of the corpus refuses, all of it refuses.
        foreseen = self.forecast.problem if self.forecast is not None else ""
        return self.settings.problem or self.field_problem or foreseen or None

    @property
    def lacks_memory_alone(self) -> bool:
        """Whether nothing but a forecast that there is too little memory keeps a training from beginning."""
        forecast = self.forecast
        return forecast is not None and forecast.too_large and self.obstacle == forecast.problem

    @property
    def sample_size(self) -> int | None:
        """Bytes of the corpus that could be trained on where all of it does not fit; None where it does."""
        forecast = self.forecast
        if forecast is None or self.field_problem:
            return None
        return forecast.sample if 0 < forecast.sample < self._corpus.current.bytes else None

    def can_continue(self, run: StudioRun | None) -> bool:
        """Whether training would go on where `run` ended: same corpus and settings, but a larger limit."""
        if run is None or self.obstacle is not None:
            return False
        return run.may_continue(self.settings.config(), self._corpus.sources)

    @property
    def state(self) -> str:
        """Of the training: "idle", "running" or "paused"."""
        if self.current is None:
            return "idle"
        return "paused" if self.current.job.paused else "running"

    # ---- what begins, pauses and ends it

    def start(self, *, single: bool = False, anyway: bool = False) -> None:
        """Begins a run on the corpus with the settings.

        Args:
            single: Whether to pause after one merge.
            anyway: Whether to begin even if memory will likely not do.
        """
        if self.obstacle is None or (anyway and self.lacks_memory_alone):
            self._start_on(self._corpus.current, single=single)

    def start_on_sample(self) -> None:
        """Begins a run on as much of the corpus as will fit; the corpus stays as it is."""
        size = self.sample_size
        if self.current is None and self.settings.problem is None and size is not None:
            corpus = self._corpus.current
            self._sampling = self._jobs.start(lambda: sample_work(corpus, size), self._take_sample)

    def continue_run(self, run: StudioRun | None) -> None:
        """Goes on where `run` ended, as a run of its own; the earlier one stays."""
        if run is None or not self.can_continue(run):
            return
        assert run.run is not None
        assert run.corpus is not None
        longer = self._runs.new(self.settings.config(), run.corpus)
        longer.begin_with(run.run)
        self._begin(longer, run.run)
        self._tell_of_new("Continue Run", run)

    def pause(self) -> None:
        """Waits between two pieces of work."""
        if self.current is not None:
            self.current.job.pause()
            self._tick()
            self.state_changed.emit()

    def resume(self) -> None:
        """Goes on after a pause."""
        if self.current is not None:
            self.current.resume()
            self.state_changed.emit()

    def step(self) -> None:
        """One merge: of the paused training, or of a new one."""
        if self.current is None:
            self._step_anew()
        elif self.current.job.paused:
            self.current.step()
            # It may be paused again before the next tick, which must not look as if nothing had happened.
            self._paused_before = False
            self.state_changed.emit()

    def stop(self) -> None:
        """Ends the training where it is and keeps the run."""
        if self.current is not None:
            self.current.stop()

    def close(self) -> None:
        """Looks no more at what the training makes: the session ends."""
        self._timer.stop()

    # ---- private

    def _keep_division(self, documents: Documents) -> None:
        self.set_settings(replace(self.settings, documents=documents))

    def _forget_forecast(self) -> None:
        if self.forecast is not None:
            self.forecast = None
            self.forecast_changed.emit()

    def _take_sample(self, corpus: Corpus) -> None:
        if self.sender() is self._sampling and self.current is None and self.settings.problem is None:
            self._start_on(corpus, f" (sample of {size_text(corpus.bytes)})")

    def _start_on(self, corpus: Corpus, remark: str = "", *, single: bool = False) -> None:
        self._begin(self._runs.new(self.settings.config(), corpus, remark), None, single=single)

    def _step_anew(self) -> None:
        """Begins a run for one merge."""
        before = self._runs.active
        self.start(single=True)
        if before is not None and self.current is not None:
            self._tell_of_new("Step", before)

    def _tell_of_new(self, what: str, before: StudioRun) -> None:
        """Says that a run has begun, and offers the way back to the run that was shown before."""
        assert self.current is not None
        run = self.current.run

        def undo() -> None:
            self._undone = run, before
            self.stop()

        def holds() -> bool:
            return self.current is not None and self.current.run is run and before in self._runs.all

        text = f"{what} started {run.name}. {before.name} is still in Runs, unchanged."
        self._jobs.notify(Notice(text, "Undo", undo, holds))

    def _begin(self, run: StudioRun, earlier: Run | None, *, single: bool = False) -> None:
        recording = None if self._recorder is None else Recording(self._recorder, self._corpus.kept)
        self.current = training = Training(run, earlier, single, recording, self, self.threads)
        self._paused_before = False
        training.job.finished.connect(self._finished)
        training.job.failed.connect(self._failed)
        training.job.ended.connect(self._ended)
        self._runs.begin(run)
        training.job.start()
        self._jobs.announce()
        self._timer.start()
        self.state_changed.emit()

    def _tick(self) -> None:
        training = self.current
        if training is None:
            return
        run, paused, made = training.run, training.job.paused, len(training.run)
        if training.drain() and run is self._runs.active:
            if made != len(run):
                # The ids of special tokens behind the merges move as a run grows.
                self._view.shift_tokens(run.base_size + made, len(run) - made)
            self._tell_merges()
        if paused != self._paused_before:
            self._paused_before = paused
            self.state_changed.emit()

    def _tell_merges(self) -> None:
        moved = self._view.follow()
        self.merges_added.emit()
        if moved:
            self._view.tell_playhead()

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
        training.run.fail()
        self._jobs.report(replace(problem_of(error), of_training=True))

    def _ended(self) -> None:
        training, self.current = self.current, None
        self._timer.stop()
        self._runs.release()
        if training is not None:
            training.deleteLater()
            run = training.run
            # One that was stopped before there was anything to merge is as if it had never begun.
            if not training.prepared or (run.ended == "failed" and len(run) == 0):
                self._runs.delete(run)
            self._go_back(run)
        self.state_changed.emit()
        self._runs.tell()

    def _go_back(self, run: StudioRun) -> None:
        """Shows what was shown before a run whose beginning was undone, and forgets that run."""
        undone, self._undone = self._undone, None
        if undone is None or undone[0] is not run:
            return
        if run in self._runs.all:
            self._runs.delete(run)
        if undone[1] in self._runs.all:
            self._runs.activate(undone[1])
