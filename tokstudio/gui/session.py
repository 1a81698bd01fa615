"""The one state of the studio: corpus, settings, runs, the playhead, the token and the text being looked at.

Panes change it through its methods and listen to its signals; they never talk to each other. It shows nothing itself.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from tokstudio.core.corpus import Corpus, Source
from tokstudio.core.progress import Work
from tokstudio.core.run import Run
from tokstudio.core.statistics import Statistics, statistics_work
from tokstudio.core.tokenizer import Tokenizer
from tokstudio.gui.jobs import Job
from tokstudio.gui.problems import problem_of
from tokstudio.gui.reading import read_all, read_text, reread
from tokstudio.gui.studio_run import StudioRun
from tokstudio.gui.training import Settings, Training

_TICK = 50  # milliseconds between two looks at the training
_LONG_TEXT = 1 << 20  # characters; longer texts are turned into bytes by a job
_UNTITLED_RUN = "Run {}"


class Session(QObject):
    """The studio's state. Every method is to be called from the GUI thread.

    Signals:
        sources_changed: The list of sources, or what one of them holds.
        statistics_changed: `statistics`: counted anew, or None while that goes on.
        settings_changed: `settings`.
        runs_changed: The list of runs, a run's name, or which is active.
        merges_added: The active run has grown; at most every 50 ms.
        training_changed: Training began, paused, went on or ended.
        playhead_changed: `playhead`, or the tokenizer there.
        token_changed: `token`, the one that is looked at.
        text_changed: `text`.
        busy_changed: A job began or ended.
        corpus_failed: A source could not be read (Problem).
        failed: Anything else that went wrong (Problem).
    """

    sources_changed = Signal()
    statistics_changed = Signal()
    settings_changed = Signal()
    runs_changed = Signal()
    merges_added = Signal()
    training_changed = Signal()
    playhead_changed = Signal()
    token_changed = Signal()
    text_changed = Signal()
    busy_changed = Signal()
    corpus_failed = Signal(object)
    failed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.sources: tuple[Source, ...] = ()
        self.statistics: Statistics | None = None
        self.settings = Settings()
        self.runs: list[StudioRun] = []
        self.active: StudioRun | None = None
        self.training: Training | None = None
        self.playhead = 0
        self.token: int | None = None
        self.text = ""
        self.jobs: list[Job] = []
        self._following = True
        self._made_runs = 0
        self._counting: Job | None = None
        self._paused_before = False
        self._timer = QTimer(self)
        self._timer.setInterval(_TICK)
        self._timer.timeout.connect(self._tick)

    # ---- corpus

    @property
    def corpus(self) -> Corpus:
        """All sources, in their order."""
        return Corpus(self.sources)

    def open_paths(self, paths: list[Path], encoding: str | None = None) -> None:
        """Reads files and folders in the background and adds what could be read to the corpus."""
        self.start_job(lambda: read_all(paths, encoding), self._add_sources, self._reading_failed)

    def add_text(self, text: str, name: str = "Pasted text") -> None:
        """Adds a text at hand to the corpus."""
        if len(text) > _LONG_TEXT:
            self.start_job(lambda: read_text(text, name), self._add_sources)
        else:
            self.set_sources((*self.sources, Source.from_texts([text], name)))

    def set_sources(self, sources: tuple[Source, ...]) -> None:
        """Replaces the sources, and counts anew what they hold."""
        self.sources = sources
        self.statistics = None
        if self._counting is not None:
            self._counting.cancel()
            self._counting = None
        if sources:
            corpus = self.corpus
            self._counting = self.start_job(lambda: statistics_work(corpus), self._set_statistics, quiet=True)
        self.sources_changed.emit()
        self.statistics_changed.emit()
        self.training_changed.emit()

    def remove_sources(self, indexes: list[int]) -> None:
        """Takes sources out of the corpus."""
        gone = set(indexes)
        self.set_sources(tuple(source for i, source in enumerate(self.sources) if i not in gone))

    def reread(self, index: int, encoding: str | None) -> None:
        """Reads a source's file again, in another encoding or because it has changed; the others stay."""
        old = self.sources[index]
        if old.path is None:
            return
        self.start_job(lambda: reread(old, encoding), self._replace_source, self._reading_failed)

    # ---- settings and training

    def set_settings(self, settings: Settings) -> None:
        """Takes over what was entered; it may be something that cannot work."""
        if settings != self.settings:
            self.settings = settings
            self.settings_changed.emit()
            self.training_changed.emit()

    @property
    def obstacle(self) -> str | None:
        """Why training cannot begin, in one sentence; None if it can."""
        if self.training is not None:
            return "A training is under way."
        if not self.sources:
            return "Open a text first."
        if self.corpus.bytes == 0:
            return "The corpus holds no text."
        return self.settings.problem

    @property
    def state(self) -> str:
        """Of the training: "idle", "running" or "paused"."""
        if self.training is None:
            return "idle"
        return "paused" if self.training.job.paused else "running"

    def train(self, *, single: bool = False) -> None:
        """Begins a run on the corpus with the settings; with `single` it pauses after one merge."""
        if self.obstacle is not None:
            return
        self._made_runs += 1
        run = StudioRun(self._made_runs, _UNTITLED_RUN.format(self._made_runs), self.settings.config(), self.corpus)
        self.runs.append(run)
        self._begin(Training(run, None, single, self))

    def can_continue(self, run: StudioRun | None) -> bool:
        """Whether training would go on where `run` ended: same corpus and settings, but a larger limit."""
        return run is not None and self.obstacle is None and run.may_continue(self.settings.config(), self.sources)

    def continue_run(self, run: StudioRun) -> None:
        """Goes on where `run` ended, as a run of its own; the earlier one stays."""
        if not self.can_continue(run):
            return
        self._made_runs += 1
        longer = StudioRun(self._made_runs, _UNTITLED_RUN.format(self._made_runs), self.settings.config(), run.corpus)
        assert run.run is not None
        longer.begin_with(run.run)
        self.runs.append(longer)
        self._begin(Training(longer, run.run, False, self))

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
            self.train(single=True)
        elif self.training.job.paused:
            self.training.step()
            # It may be paused again before the next tick, which must not look as if nothing had happened.
            self._paused_before = False
            self.training_changed.emit()

    def stop(self) -> None:
        """Ends the training where it is and keeps the run."""
        if self.training is not None:
            self.training.stop()

    # ---- runs

    def activate(self, run: StudioRun | None) -> None:
        """Makes a run the one that all panes show; the playhead goes to its end."""
        if run is self.active:
            return
        self.active = run
        self._following = True
        self.playhead = len(run) if run is not None else 0
        self.token = None
        self.runs_changed.emit()
        self.playhead_changed.emit()
        self.token_changed.emit()

    def rename(self, run: StudioRun, name: str) -> None:
        """Gives a run another name; an empty one changes nothing."""
        if name.strip():
            run.name = name.strip()
            self.runs_changed.emit()

    def delete(self, run: StudioRun) -> None:
        """Forgets a run that is not being trained."""
        if self.training is not None and self.training.run is run:
            return
        at = self.runs.index(run)
        self.runs.remove(run)
        if run is self.active:
            self.activate(self.runs[min(at, len(self.runs) - 1)] if self.runs else None)
        self.runs_changed.emit()

    def add_tokenizer(self, tokenizer: Tokenizer, name: str) -> None:
        """Shows a tokenizer that was opened from a file, beside the runs."""
        self._made_runs += 1
        run = StudioRun.opened(self._made_runs, name, tokenizer)
        self.runs.append(run)
        self.activate(run)

    def run_exported(self, run: StudioRun) -> None:
        """Notes that a run was written to a file, so that closing need not ask about it."""
        run.exported = True
        self.runs_changed.emit()

    # ---- what is looked at

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer at the playhead."""
        if self.active is None:
            return None
        return self.active.tokenizer.at(min(self.playhead, len(self.active)))

    def set_playhead(self, merges: int) -> None:
        """Moves the playhead; at the end of a run that grows it follows."""
        if self.active is None:
            return
        merges = min(max(merges, 0), len(self.active))
        self._following = merges == len(self.active)
        if merges != self.playhead:
            self.playhead = merges
            self.playhead_changed.emit()

    def look_at(self, token: int | None) -> None:
        """Shows a token in the Token pane."""
        if token != self.token:
            self.token = token
            self.token_changed.emit()

    def set_text(self, text: str) -> None:
        """Sets the text that is shown in tokens."""
        if text != self.text:
            self.text = text
            self.text_changed.emit()

    # ---- jobs

    def start_job(
        self,
        work: Callable[[], Work],
        done: Callable[[Any], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
        *,
        quiet: bool = False,
        writes: bool = False,
    ) -> Job:
        """Runs work in the background. `done` and `failed` must be bound methods of QObjects."""
        job = Job(work, self)
        job.quiet, job.writes = quiet, writes
        if done is not None:
            job.finished.connect(done)
        job.failed.connect(failed or self.report)
        job.ended.connect(self._job_ended)
        self.jobs.append(job)
        job.start()
        self.busy_changed.emit()
        return job

    def close(self) -> None:
        """Ends every job and waits for its thread."""
        self._timer.stop()
        running = [*self.jobs, *([self.training.job] if self.training else [])]
        for job in running:
            job.cancel()
        for job in running:
            job.wait()

    def report(self, error: Exception) -> None:
        """Tells the person what went wrong; anything that is not ours is named as what it is."""
        self.failed.emit(problem_of(error))

    # ---- private

    def _begin(self, training: Training) -> None:
        self.training = training
        self._paused_before = False
        training.job.finished.connect(self._training_finished)
        training.job.failed.connect(self._training_failed)
        training.job.ended.connect(self._training_ended)
        self.activate(training.run)
        self.runs_changed.emit()
        training.job.start()
        self._timer.start()
        self.training_changed.emit()

    def _tick(self) -> None:
        training = self.training
        if training is None:
            return
        paused = training.job.paused
        if training.drain() and training.run is self.active:
            self._merges_added()
        if paused != self._paused_before:
            self._paused_before = paused
            self.training_changed.emit()

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
        training.run.complete(run)
        if training.run is self.active:
            self._merges_added()

    def _training_failed(self, error: Exception) -> None:
        training = self.training
        assert training is not None
        self._tick()
        training.run.ended = "failed"
        self.report(error)

    def _training_ended(self) -> None:
        training, self.training = self.training, None
        self._timer.stop()
        if training is not None:
            training.deleteLater()
            if training.run.ended == "failed" and len(training.run) == 0:
                self.delete(training.run)
        self.training_changed.emit()
        self.runs_changed.emit()

    def _add_sources(self, sources: object) -> None:
        read, problems = sources  # pyright: ignore[reportGeneralTypeIssues]
        if read:
            self.set_sources((*self.sources, *read))
        for error in problems:
            self.corpus_failed.emit(problem_of(error))

    def _replace_source(self, sources: tuple[Source, Source]) -> None:
        old, new = sources
        if old in self.sources:
            self.set_sources(tuple(new if source is old else source for source in self.sources))

    def _reading_failed(self, error: Exception) -> None:
        self.corpus_failed.emit(problem_of(error))

    def _set_statistics(self, statistics: Statistics) -> None:
        # What was counted of sources that have been replaced since may still arrive.
        if self.sender() is self._counting:
            self.statistics = statistics
            self.statistics_changed.emit()

    def _job_ended(self) -> None:
        over = [job for job in self.jobs if not job.running]
        self.jobs = [job for job in self.jobs if job.running]
        for job in over:
            job.deleteLater()
        self.busy_changed.emit()
