"""The one state of the studio: corpus, settings, runs, the playhead, the token and the text being looked at.

Panes change it through its methods and listen to its signals; they never talk to each other. It shows nothing itself.
"""

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
from tokstudio.gui.session.held_out import HeldOutMeasurer
from tokstudio.gui.session.jobs import Job
from tokstudio.gui.session.player import Player
from tokstudio.gui.session.reachability import Reachability
from tokstudio.gui.session.run_list import RunList
from tokstudio.gui.session.token_indexing import TokenIndexing
from tokstudio.gui.session.training import Recording, Training
from tokstudio.gui.state.notice import Notice
from tokstudio.gui.state.problem import problem_of
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.source_records import is_missing
from tokstudio.gui.state.training_settings import Documents, Settings

_TICK = 50  # milliseconds between two looks at the training


class Session(RunList):
    """The studio's state. Every method is to be called from the GUI thread.

    Signals (beside those of runs, of the corpus and of jobs):
        settings_changed: `settings`.
        forecast_changed: `forecast`.
        merges_added: The active run has grown; at most every 50 ms.
        training_changed: Training began, paused, went on or ended, or whether it can begin.

    Args:
        parent: The owner.
        recorder: Keeps what a crash would lose; None where nothing is kept.

    Attributes:
        opening: Whether a project is being opened.
        player: Moves the playhead by itself.
        reaches: Knows which tokens no text becomes.
        indexing: Makes the index of a run's tokens.
    """

    settings_changed = Signal()
    forecast_changed = Signal()
    merges_added = Signal()
    training_changed = Signal()

    def __init__(self, parent: QObject | None = None, recorder: Recorder | None = None) -> None:
        super().__init__(parent)
        self.recorder = recorder
        self.opening = False
        self.settings = Settings()
        self.forecast: Forecast | None = None
        self.field_problem = ""
        self.training: Training | None = None
        self._held_out = HeldOutMeasurer(self)
        self.player = Player(self)
        self.reaches = Reachability(self)
        self.indexing = TokenIndexing(self)
        self._sampling: Job | None = None
        self._undone: tuple[StudioRun, StudioRun] | None = None
        self._paused_before = False
        self._timer = QTimer(self)
        self._timer.setInterval(_TICK)
        self._timer.timeout.connect(self._tick)
        self.sources_changed.connect(self._forget_forecast)
        self.sources_changed.connect(self.training_changed)
        self.division_cancelled.connect(self._keep_division)

    # ---- settings and training

    def set_settings(self, settings: Settings) -> None:
        """Takes over what was entered; it may be something that cannot work."""
        if settings != self.settings:
            self.settings = settings
            self._forget_forecast()
            self.set_documents(settings.documents)
            self.settings_changed.emit()
            self.training_changed.emit()

    def _keep_division(self, documents: Documents) -> None:
        self.set_settings(replace(self.settings, documents=documents))

    @property
    def obstacle(self) -> str | None:
        """Why training cannot begin, in one sentence; None if it can."""
        if self.training is not None:
            return "Training is in progress."
        if self.opening:
            return "A project is being opened."
        if not self.sources:
            return "Open a text first."
        if (gone := next(filter(is_missing, self.sources), None)) is not None:
            return f"{gone.name} is missing: restore and reload it, or remove it from the corpus."
        if self.corpus.bytes == 0:
            return "The corpus holds no text."
        if self.splitting:
            return "The corpus is being divided into documents."
        return self.settings.problem or self.field_problem or self._foreseen

    @property
    def lacks_memory_alone(self) -> bool:
        """Whether nothing but a forecast that there is too little memory keeps a training from beginning."""
        forecast = self.forecast
        return forecast is not None and forecast.too_large and self.obstacle == forecast.problem

    def set_field_problem(self, problem: str) -> None:
        """Takes over what a field found wrong with the settings on this corpus; "" for nothing."""
        if problem != self.field_problem:
            self.field_problem = problem
            self.training_changed.emit()

    @property
    def state(self) -> str:
        """Of the training: "idle", "running" or "paused"."""
        if self.training is None:
            return "idle"
        return "paused" if self.training.job.paused else "running"

    def train(self, *, single: bool = False, anyway: bool = False) -> None:
        """Begins a run on the corpus with the settings.

        Args:
            single: Whether to pause after one merge.
            anyway: Whether to begin even if memory will likely not do.
        """
        if self.obstacle is None or (anyway and self.lacks_memory_alone):
            self._train_on(self.corpus, single=single)

    @property
    def sample_size(self) -> int | None:
        """Bytes of the corpus that could be trained on where all of it does not fit; None where it does."""
        forecast = self.forecast
        if forecast is None or self.field_problem:
            return None
        return forecast.sample if 0 < forecast.sample < self.corpus.bytes else None

    def set_forecast(self, forecast: Forecast) -> None:
        """Takes over what a training of this corpus with these settings will likely take."""
        self.forecast = forecast
        self.forecast_changed.emit()
        self.training_changed.emit()

    def train_on_sample(self) -> None:
        """Begins a run on as much of the corpus as will fit; the corpus stays as it is."""
        size = self.sample_size
        if self.training is None and self.settings.problem is None and size is not None:
            corpus = self.corpus
            self._sampling = self.start_job(lambda: sample_work(corpus, size), self._train_on_sample)

    def _train_on_sample(self, corpus: Corpus) -> None:
        if self.sender() is self._sampling and self.training is None and self.settings.problem is None:
            self._train_on(corpus, f" (sample of {size_text(corpus.bytes)})")

    def _train_on(self, corpus: Corpus, remark: str = "", *, single: bool = False) -> None:
        run = self._new_run(corpus, remark)
        self.runs.append(run)
        self._begin(run, None, single=single)

    def _new_run(self, corpus: Corpus, remark: str = "") -> StudioRun:
        self._made_runs += 1
        self._trained_runs += 1
        run = StudioRun(self._made_runs, f"Run {self._trained_runs}{remark}", self.settings.config(), corpus)
        run.number = self._trained_runs
        return run

    def can_continue(self, run: StudioRun | None) -> bool:
        """Whether training would go on where `run` ended: same corpus and settings, but a larger limit."""
        return run is not None and self.obstacle is None and run.may_continue(self.settings.config(), self.sources)

    def continue_run(self, run: StudioRun) -> None:
        """Goes on where `run` ended, as a run of its own; the earlier one stays."""
        if not self.can_continue(run):
            return
        assert run.run is not None
        assert run.corpus is not None
        longer = self._new_run(run.corpus)
        longer.begin_with(run.run)
        self.runs.append(longer)
        self._begin(longer, run.run)

    def pause(self) -> None:
        """Waits between two pieces of work."""
        if self.training is not None:
            self.training.job.pause()
            self._tick()
            self.training_changed.emit()

    def resume(self) -> None:
        """Goes on after a pause."""
        if self.training is not None:
            self.training.resume()
            self.training_changed.emit()

    def step(self) -> None:
        """One merge: of the paused training, or of a new one."""
        if self.training is None:
            self._step_anew()
        elif self.training.job.paused:
            self.training.step()
            # It may be paused again before the next tick, which must not look as if nothing had happened.
            self._paused_before = False
            self.training_changed.emit()

    def stop(self) -> None:
        """Ends the training where it is and keeps the run."""
        if self.training is not None:
            self.training.stop()

    def measure_held_out(self) -> None:
        """Measures the held-out text of the active run anew, where that was cancelled or failed."""
        if self.active is not None:
            self.active.held_out_problem = ""
            self.runs_changed.emit()

    def close(self, *, leave: bool = False) -> None:
        """Ends every job and waits for its thread; what was kept for a crash is not needed any more.

        Args:
            leave: It is left to the next start all the same.
        """
        self._timer.stop()
        self._held_out.close()
        self.player.pause()
        self.end_jobs(*([self.training.job] if self.training else []))
        if self.recorder is not None:
            if leave:
                self.recorder.leave()
            self.recorder.close()

    # ---- private

    def _step_anew(self) -> None:
        """Begins a run for one merge, and offers the way back to the run that was shown before."""
        before = self.active
        self.train(single=True)
        if before is None or self.training is None:
            return
        run = self.training.run

        def undo() -> None:
            self._undone = run, before
            self.stop()

        def holds() -> bool:
            return self.training is not None and self.training.run is run and before in self.runs

        text = f"Step started {run.name}. {before.name} is still in Runs, unchanged."
        self.noticed.emit(Notice(text, "Undo", undo, holds))

    @property
    def _in_training(self) -> StudioRun | None:
        return self.training.run if self.training is not None else None

    @property
    def _foreseen(self) -> str | None:
        """Why a training would come to nothing: what a part of the corpus refuses, all of it refuses."""
        return self.forecast.problem or None if self.forecast is not None else None

    def _forget_forecast(self) -> None:
        if self.forecast is not None:
            self.forecast = None
            self.forecast_changed.emit()

    def _begin(self, run: StudioRun, earlier: Run | None, *, single: bool = False) -> None:
        recording = None if self.recorder is None else Recording(self.recorder, self.kept)
        self.training = training = Training(run, earlier, single, recording, self)
        self._paused_before = False
        training.job.finished.connect(self._training_finished)
        training.job.failed.connect(self._training_failed)
        training.job.ended.connect(self._training_ended)
        self.activate(training.run)
        self.runs_changed.emit()
        training.job.start()
        self.begun.emit()
        self._timer.start()
        self.training_changed.emit()

    def _tick(self) -> None:
        training = self.training
        if training is None:
            return
        paused, made, known = training.job.paused, len(training.run), training.run.base_counts is not None
        told = training.drain() or known != (training.run.base_counts is not None)
        if told and training.run is self.active:
            self._keep_token(training.run, made)
            self._merges_added()
        if paused != self._paused_before:
            self._paused_before = paused
            self.training_changed.emit()

    def _keep_token(self, run: StudioRun, made: int) -> None:
        """Stays with the token that is looked at: the ids of special tokens behind the merges move as a run grows."""
        if made == len(run):
            return
        first, by = run.base_size + made, len(run) - made
        before = self.token, self.chosen
        self.token, self.chosen = (token + by if token is not None and token >= first else token for token in before)
        if (self.token, self.chosen) != before:
            self.token_changed.emit()
        if self.found is not None and self.found >= first:
            # Not by `find`, which would look at it: a person may be looking at another.
            self.found += by
            self.found_changed.emit()

    def _merges_added(self) -> None:
        assert self.active is not None
        before = self.playhead
        self.playhead = len(self.active) if self._following else min(before, len(self.active))
        self.merges_added.emit()
        if self._following or self.playhead != before:
            self.playhead_changed.emit()

    def _training_finished(self, run: Run) -> None:
        training = self.training
        assert training is not None
        self._tick()
        if training.run.base_counts is None:
            # Stopped before there was anything to merge: as if it had never begun.
            return
        training.run.complete(run)
        if training.run is self.active:
            self._merges_added()

    def _training_failed(self, error: Exception) -> None:
        training = self.training
        assert training is not None
        self._tick()
        training.run.ended = "failed"
        self.failed.emit(replace(problem_of(error), of_training=True))

    def _training_ended(self) -> None:
        training, self.training = self.training, None
        self._timer.stop()
        if training is not None:
            training.deleteLater()
            run = training.run
            if run.base_counts is None or (run.ended == "failed" and len(run) == 0):
                self.delete(run)
            self._go_back(run)
        self.training_changed.emit()
        self.runs_changed.emit()

    def _go_back(self, run: StudioRun) -> None:
        """Shows what was shown before a run whose beginning was undone, and forgets that run."""
        undone, self._undone = self._undone, None
        if undone is None or undone[0] is not run:
            return
        if run in self.runs:
            self.delete(run)
        if undone[1] in self.runs:
            self.activate(undone[1])
