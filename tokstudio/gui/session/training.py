"""A training in the background: the Trainer in a job, its merges on a queue that the window drains by a timer.

Merges are never signals: a signal a merge would stall the window. The worker waits when too many are unread, so nothing
is dropped and memory stays bounded.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QObject

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.run import STOPPED, MergeBatch, Run
from tokstudio.core.project import ProjectRun, ProjectSource, Recorder
from tokstudio.core.training.prepare_corpus import Prepared
from tokstudio.core.training.trainer import Trainer
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.session.jobs import Job
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.source_records import KeptSources
from tokstudio.gui.state.training_settings import Settings as Settings

_MOST_UNREAD = 40
# At most as long as the window's timer waits, so that the log streams and a pause takes hold at once.
_LONGEST_BATCH = 2000


class Training(QObject):
    """One run in the making. Lives in the GUI thread; `job` says when it ends.

    Args:
        run: Where the merges go, and what is trained on what.
        earlier: The run to go on from, if any.
        single: Whether to make one merge and pause.
        recording: Keeps what a crash would lose; None where nothing is kept.
        parent: The owner.

    Attributes:
        prepared: Whether the run has what merging begins with.
    """

    def __init__(
        self,
        run: StudioRun,
        earlier: Run | None,
        single: bool,
        recording: Recording | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.run = run
        self._earlier = earlier
        self._recording = recording
        self.prepared = earlier is not None
        self._seconds = 0.0
        self._single = threading.Event()
        if single:
            self._single.set()
        self._stop = threading.Event()
        self._unread: deque[tuple[Prepared, Run] | MergeBatch] = deque()
        self.job = Job(self._work, self)

    @property
    def progress(self) -> Progress:
        """What is being done: "compiling", "loading", and what `Trainer.progress` says."""
        return self.job.progress

    def step(self) -> None:
        """Makes one merge and pauses."""
        self._single.set()
        self.job.resume()

    def resume(self) -> None:
        """Goes on until a limit ends it."""
        self._single.clear()
        self.job.resume()

    def stop(self) -> None:
        """Ends it where it is; the run is kept."""
        self._stop.set()
        self.job.resume()

    def drain(self) -> bool:
        """Moves what was made since the last call into the run; gives whether there was anything."""
        news = False
        self.run.set_seconds(self._seconds)
        while self._unread:
            made = self._unread.popleft()
            if isinstance(made, MergeBatch):
                self.run.append(made)
                news = True
            else:
                self.run.prepare(*made)
                news, self.prepared = news or not self.prepared, True
        return news

    def _work(self) -> Work[Run]:
        """Runs in the worker's thread."""
        config: TrainingConfig | None = self.run.config
        corpus = self.run.corpus
        assert config is not None
        assert corpus is not None
        for beginning in (prepare_work(), corpus.sha256_work()):
            yield from self._until_stopped(beginning)
        earlier = self._earlier
        trainer = Trainer(corpus, config) if earlier is None else Trainer.resume(corpus, earlier, config)
        told = False
        while trainer.ended is None:
            if self._stop.is_set():
                trainer.stop()
                break
            single = self._single.is_set()
            batch = trainer.advance(1 if single else _LONGEST_BATCH)
            if not told and trainer.prepared is not None:
                # Before the first merge is told: a run must know its base to take merges.
                told = True
                self._unread.append((trainer.prepared, (yield from self._begin_work(trainer))))
            if len(batch):
                self._keep(batch, trainer.seconds)
                self._unread.append(batch)
                if single and trainer.ended is None:
                    self._hold()
            yield trainer.progress
            while len(self._unread) > _MOST_UNREAD and not self._stop.is_set() and not self.job.is_cancelled:
                time.sleep(0.002)
        # After a stop that came early this is still to be done.
        yield from corpus.sha256_work()
        made = trainer.run
        if earlier is not None and len(made) < len(earlier):
            # Stopped while the earlier run's merges were being made again: they are there all the same.
            made = replace(earlier, config=config, ended=STOPPED)
        if self._recording is not None:
            self._recording.recorder.finish(made)
        return made

    def _begin_work(self, trainer: Trainer) -> Work[Run]:
        """Begins to record the run; gives it as it is before its first merge."""
        begun = trainer.run
        if self._recording is not None:
            earlier = begun if self._earlier is None else replace(self._earlier, config=trainer.config)
            yield from self._recording.begin_work(self.run.key, self.run.name, earlier, trainer.corpus)
        return begun

    def _keep(self, batch: MergeBatch, seconds: float) -> None:
        """Before anyone sees the merges, they are safe."""
        self._seconds = seconds
        if self._recording is not None:
            self._recording.recorder.append(batch, seconds)

    def _until_stopped(self, work: Work[Any]) -> Work[None]:
        """Drives work that may be left undone."""
        try:
            for progress in work:
                yield progress
                if self._stop.is_set():
                    return
        finally:
            work.close()

    def _hold(self) -> None:
        """Pauses after a single merge, unless the person has asked for something else in this very moment."""
        self.job.pause()
        if self._stop.is_set() or not self._single.is_set():
            self.job.resume()


@dataclass(frozen=True)
class Recording:
    """Who records, and what is known of the sources.

    Attributes:
        recorder: Writes to the disk.
        kept: What projects keep of the sources.
    """

    recorder: Recorder
    kept: KeptSources

    def begin_work(self, key: int, name: str, begun: Run, corpus: Corpus) -> Work[None]:
        """Begins with the run as it is before its next merge."""
        sources: list[ProjectSource] = []
        for source in corpus.sources:
            sources.append((yield from self.kept.keep_work(source)))
        entry = ProjectRun(name, begun, tuple(range(len(sources))), {"key": key})
        yield from self.recorder.begin_work(entry, tuple(sources))
