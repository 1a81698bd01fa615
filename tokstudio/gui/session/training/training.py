"""A training in the background: the Trainer in a job, its merges in a queue that a timer of the window empties.

Merges are not signals, as one signal for each would block the window. The worker waits while too many are unread, so
nothing is dropped and memory is bounded. What another library trains has no merges to show before its end.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from tokstudio.core.algorithms.common.prepare_corpus import CountedText, PreparedCorpus, count_text_work
from tokstudio.core.analysis.token_counts import measure_work
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import several
from tokstudio.core.comparison.texts import held_out_marks
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.library_training.config import LibraryConfig
from tokstudio.core.library_training.train import TrainedByLibrary, train_by_library_work
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.run import STOPPED, MergeBatch, Run
from tokstudio.core.project import ProjectRun, ProjectSource, ProjectTokenizer, Recorder, TokenizerFile
from tokstudio.core.training.trainer import Trainer
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.session.common.corpus import CorpusState
from tokstudio.gui.session.common.jobs import Job
from tokstudio.gui.session.common.run_list import RunList
from tokstudio.gui.session.common.view_state import ViewState
from tokstudio.gui.state.run import HeldOutState, RunOrigin, StudioRun, whole_state
from tokstudio.gui.state.training_settings import Settings as Settings

_MOST_UNREAD = 40
# At most the interval of the window's timer, so that the log grows evenly and a pause takes effect at once.
_LONGEST_BATCH = 2000
# A played training begins with merges that one can read, goes on with ten a second, and becomes faster.
_READ, _SLOW, _STEADY = 5, 15, 100  # merges
_READING, _STEP = 2.0, 0.1  # seconds between two merges
_NAP = 0.01
_HELD = 1.0  # seconds that the window shows a merge of a played training, at least: its sentence can be read


def played_interval(merges: int) -> float:
    """Seconds from a merge of a played training to the next, where so many are made."""
    if merges <= _READ:
        return _READING
    if merges <= _SLOW:
        return _READING * (_STEP / _READING) ** ((merges - _READ) / (_SLOW - _READ))
    return _STEP * min(1.0, _STEADY / merges)


class Training(QObject):
    """A run in training, or one that continues an earlier run. It belongs to the GUI thread; `job` emits its end.

    It pauses after one merge if that is to be the `single` one; while it is `played`, it merges so slowly that one can
    watch. The run has the configuration and the corpus; `corpus` has the records of the sources, for the recorder.
    """

    def __init__(
        self,
        run: StudioRun,
        earlier: Run | None,
        single: bool,
        played: bool,
        recorder: Recorder | None,
        corpus: CorpusState,
        threads: int | None,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self.run, self._threads, self._earlier = run, threads, earlier
        self._recorder, self._kept, self._counts = recorder, corpus.kept, corpus.counts
        assert run.corpus is not None
        self._wholes = tuple(map(corpus.whole, run.corpus.sources))
        self.prepared = earlier is not None  # whether the base of the run is known
        self._seconds = self.waited = 0.0  # of work, and between the merges of a played training
        self._single = threading.Event()
        if single:
            self._single.set()
        self._stop = threading.Event()
        self._played = threading.Event()
        if played:
            self._played.set()
        self._unread: deque[tuple[PreparedCorpus, Run] | MergeBatch] = deque()
        self.job = Job(self._work, self)

    def step(self) -> None:
        """Makes one merge and pauses."""
        self._single.set()
        self.job.resume()

    def resume(self) -> None:
        """Continues until a limit ends it."""
        self._single.clear()
        self.job.resume()

    @property
    def played(self) -> bool:
        """Whether it is slowed down, to be watched."""
        return self._played.is_set()

    def hurry(self) -> None:
        """Makes the rest of the merges at full speed."""
        self._played.clear()
        self.resume()

    def stop(self) -> None:
        """Ends it now; the run is kept."""
        self._stop.set()
        self.job.resume()

    def drain(self) -> bool:
        """Moves new merges into the run; returns whether there were any."""
        news = False
        self.run.spend(self._seconds)
        while self._unread:
            batch = self._unread.popleft()
            if isinstance(batch, MergeBatch):
                self.run.append(batch)
                news = True
            else:
                self.run.prepare(*batch)
                news, self.prepared = news or not self.prepared, True
        return news

    def _work(self) -> Work[Run]:
        """Runs in the worker's thread."""
        config, corpus = self.run.config, self.run.corpus
        assert config is not None
        assert corpus is not None
        for beginning in (prepare_work(every=not config.algorithm.is_plain), corpus.sha256_work()):
            yield from self._until_stopped(beginning)
        earlier, counting = self._earlier, 0.0
        if earlier is None:
            counted = yield from self._counted_work(corpus, config)
            counting = self._seconds
            trainer = Trainer(corpus, config, self._threads, counted, self.run.start)
        else:
            trainer = Trainer.resume(corpus, earlier, config, self._threads)
        is_told = False
        while trainer.ended is None:
            if self._stop.is_set():
                trainer.stop()
                break
            single = self._single.is_set()
            played = self._played.is_set()
            batch = trainer.advance(1 if single or played else _LONGEST_BATCH)
            if not is_told and trainer.prepared is not None:
                # Before the first merge is delivered: a run needs its base to take merges.
                is_told = True
                self._unread.append((trainer.prepared, (yield from self._begin_work(trainer))))
            if len(batch):
                self._seconds = counting + trainer.seconds
                if self._recorder is not None:
                    # Before the merges are shown.
                    self._recorder.append(batch, self._seconds)
                self._unread.append(batch)
                if single and trainer.ended is None:
                    self._hold()
            yield trainer.progress
            if played and len(batch) and trainer.ended is None:
                yield from self._rest_work(trainer, trainer.merges_made + 1)
            while len(self._unread) > _MOST_UNREAD and not self._stop.is_set() and not self.job.is_cancelled:
                time.sleep(0.002)
        # Still to be done after an early stop.
        yield from corpus.sha256_work()
        run = replace(trainer.run, seconds=counting + trainer.seconds)
        if earlier is not None and len(run) < len(earlier):
            # Stopped while the earlier run's merges were repeated: the run has them all.
            run = replace(earlier, config=config, ended=STOPPED)
        if self._recorder is not None:
            self._recorder.finish(run)
        _ = run.falls  # of Picky BPE, for the window
        return run

    def _rest_work(self, trainer: Trainer, merges: int) -> Work[None]:
        """Waits before the next merge of a played training; a step, a stop and the end of playing need not wait."""
        begun = time.monotonic()
        until = begun + played_interval(merges)
        while self._played.is_set() and time.monotonic() < until and not (self._stop.is_set() or self._single.is_set()):
            time.sleep(_NAP)
            yield trainer.progress
        self.waited += time.monotonic() - begun

    def _counted_work(self, corpus: Corpus, config: TrainingConfig) -> Work[CountedText | None]:
        """The count of a corpus whose weights may change; None for another, and after a stop."""
        start = self.run.start
        if not self._counts.wants(corpus, config) or (start is not None and not start.preparation.is_plain):
            return None
        kept = self._counts.find(corpus, config)
        if kept is not None:
            return kept.counted
        counting = count_text_work(corpus, config, self._threads)
        while not self._stop.is_set():
            started = time.perf_counter()
            try:
                progress = next(counting)
            except StopIteration as end:
                self._counts.put(corpus, config, end.value)
                return end.value
            finally:
                self._seconds += time.perf_counter() - started
            yield progress
        counting.close()
        return None

    def _begin_work(self, trainer: Trainer) -> Work[Run]:
        """Starts to record the run; returns it as it is before its first merge."""
        begun = trainer.run
        _ = begun.falls  # loads the loop of Picky BPE here, so that the window never waits for it
        if self._recorder is not None:
            earlier = begun if self._earlier is None else replace(self._earlier, config=trainer.config)
            sources: list[ProjectSource] = []
            for source in self._wholes:
                sources.append((yield from self._kept.keep_work(source)))
            state = {"key": self.run.key, **whole_state(trainer.corpus, self._wholes)}
            entry = ProjectRun(self.run.name, earlier, tuple(range(len(sources))), state)
            yield from self._recorder.begin_work(entry, tuple(sources))
        return begun

    def _until_stopped(self, work: Work[Any]) -> Work[None]:
        """Runs work that a stop may leave unfinished."""
        try:
            for progress in work:
                yield progress
                if self._stop.is_set():
                    return
        finally:
            work.close()

    def _hold(self) -> None:
        """Pauses after a single merge, unless another request has arrived meanwhile."""
        self.job.pause()
        if self._stop.is_set() or not self._single.is_set():
            self.job.resume()


class Delivery(QObject):
    """Moves new merges of a training into its run, and lets the playhead follow them, every so many milliseconds.

    Those of a played training come once a second where they are made faster: the sentence about a merge, its row and
    the text are of the same merge, and stay long enough to be read.
    """

    merges_added = Signal()  # the active run has new merges
    pause_changed = Signal()  # the training has paused or resumed by itself

    def __init__(self, runs: RunList, view: ViewState, tick: int, parent: QObject) -> None:
        super().__init__(parent)
        self._runs, self._view = runs, view
        self._training: Training | None = None
        self._was_paused = False
        self._held_until = 0.0
        self._timer = QTimer(self, interval=tick)
        self._timer.timeout.connect(self.deliver)
        # The new merges are drawn before everything else follows the playhead: together, both would take too long.
        self._followed = QTimer(self, singleShot=True, interval=0)
        self._followed.timeout.connect(view.tell_playhead)

    def start(self, training: Training) -> None:
        """Delivers the merges of a training from now on."""
        self._training, self._was_paused, self._held_until = training, False, 0.0
        self._timer.start()

    def expect_pause(self) -> None:
        """Tells of the next pause, also of one that comes before the next delivery."""
        self._was_paused = False

    def deliver(self) -> None:
        """Delivers what there is."""
        training = self._training
        if training is None:
            return
        run, paused, merges = training.run, training.job.paused, len(training.run)
        is_held = training.played and not paused and time.monotonic() < self._held_until
        if not is_held and training.drain() and run is self._runs.active:
            self._held_until = time.monotonic() + (_HELD if len(run) > merges else 0.0)
            if merges != len(run) and run.start is None:
                # Special tokens come after the merges, so their ids change as the run grows.
                self._view.shift_tokens(run.base_size + merges, len(run) - merges)
            self._tell()
        if paused != self._was_paused:
            self._was_paused = paused
            self.pause_changed.emit()

    def complete(self, run: Run) -> None:
        """Delivers the rest, and the ended run."""
        self._held_until = 0.0
        self.deliver()
        if self._training is not None and self._training.prepared:
            self._training.run.complete(run)
            if self._training.waited:
                self._training.run.note_played(self._training.waited + run.seconds)
            if self._training.run is self._runs.active:
                self._tell()

    def stop(self) -> None:
        """Ends the delivery; what follows the playhead does so at once."""
        self._training = None
        self._timer.stop()
        if self._followed.isActive():
            self._followed.stop()
            self._view.tell_playhead()

    def _tell(self) -> None:
        moved = self._view.follow()
        self.merges_added.emit()
        if moved:
            self._followed.start()


def train_for_runs_work(corpus: Corpus, config: LibraryConfig, name: str) -> Work[tuple[StudioRun, str]]:
    """Trains, and makes a run of what the library made, with a sentence about it; raises as `train_by_library`."""
    trained = yield from train_by_library_work(corpus, config)
    yield from corpus.sha256_work()
    files = tuple(TokenizerFile(file, content) for file, content in trained.files.items())
    how = f"trained by {config.library} {trained.version}, {_settings(config)}"
    marks = held_out_marks(corpus.sha256, corpus.weights, config.held_out)
    kept, texts = ProjectTokenizer(name, files), (*corpus.counted_hashes, *sorted(marks))
    origin = RunOrigin(Path(name), (), how, True, kept, how, trained_on=texts)
    run = StudioRun.opened(0, name, trained.tokenizer, origin)
    if trained.held_out:
        try:
            measured = yield from measure_work(trained.tokenizer, trained.held_out, config.as_plain)
            run.take_held_out(HeldOutState(ratio=measured.bytes_per_token, bytes=measured.bytes))
        except ConfigError as error:
            run.take_held_out(str(error))
    return run, _told(run, trained)


def _settings(config: LibraryConfig) -> str:
    """What the library was given, as the end of a sentence."""
    facts = [f"vocabulary size {config.vocabulary_size:,}"]
    if config.special_tokens:
        facts.append(several(len(config.special_tokens), "special token"))
    if config.min_frequency is not None:
        facts.append(f"minimum frequency {config.min_frequency:,}")
    if config.character_coverage is not None:
        facts.append(f"{100 * config.character_coverage:.10g}\u00a0% of the characters")
    if config.byte_fallback:
        facts.append("bytes for rare characters")
    if config.held_out:
        facts.append(f"{100 * config.held_out:.10g}\u00a0% held out")
    return ", ".join(facts)


def _told(run: StudioRun, trained: TrainedByLibrary) -> str:
    sentence = f"{run.name} is in Tokenizers: {several(run.vocabulary_size, 'token')}."
    if trained.skipped:
        sentence += (
            f" The library passed over {several(trained.skipped, 'line')}: longer than 65,000 bytes, or with U+2585."
        )
    if trained.replaced:
        sentence += (
            f" {several(trained.replaced, 'byte sequence was', 'byte sequences were')} not UTF-8 and became U+FFFD."
        )
    return sentence
