"""Background work: one `Job` a task, with progress, pause, cancel and exactly one ending.

The work is a generator (`core.base.progress`): a job runs it in a thread of its own and acts between two pieces.
Progress is no signal but a value that whoever shows it reads.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, QThread, Signal

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.gui.state.notice import Notice
from tokstudio.gui.state.problem import Problem, problem_of

_log = logging.getLogger(__name__)
_REPLACED = "TokStudio was replaced or removed while it was open. Save your work, and start it again."


@dataclass(frozen=True)
class _Outcome:
    """How the work ended."""

    kind: str
    value: Any = None


class _Thread(QThread):
    """Drives one generator."""

    outcome = Signal(object)

    def __init__(self, work: Callable[[], Work[Any]]) -> None:
        super().__init__()
        self._work = work
        self.go = threading.Event()
        self.go.set()
        self.cancelled = threading.Event()
        self.progress = Progress("")

    def run(self) -> None:
        try:
            outcome = self._drive()
        except Exception as error:  # every error is a value; it reaches the person through `failed`
            outcome = _Outcome("failed", error)
        except SystemExit:
            # How a bundle ends whatever reads its files once they are others: here that would be this thread alone.
            outcome = _Outcome("failed", TokStudioError(_REPLACED))
        self.outcome.emit(outcome)

    def _drive(self) -> _Outcome:
        steps = self._work()
        try:
            while not self.cancelled.is_set():
                self.progress = next(steps)
                self.go.wait()
        except StopIteration as end:
            return _Outcome("finished", end.value)
        finally:
            steps.close()
        return _Outcome("cancelled")


class Job(QObject):
    """One task in the background. Emits exactly one of `finished`, `failed` and `cancelled`, and then `ended`.

    Connect to bound methods of QObjects only: anything else would run in the worker's thread.

    Args:
        work: Makes the generator; it is called in the worker's thread.
        parent: The owner.
        quiet: Whether it is too slight to be shown as something that goes on.
        writes: Whether a file that the person asked for is being written.
    """

    finished = Signal(object)
    failed = Signal(object)
    cancelled = Signal()
    ended = Signal()

    def __init__(
        self, work: Callable[[], Work[Any]], parent: QObject | None = None, *, quiet: bool = False, writes: bool = False
    ) -> None:
        super().__init__(parent)
        self._thread = _Thread(work)
        self._thread.outcome.connect(self._settle)
        self._over = False
        self.quiet = quiet
        self.writes = writes

    @property
    def progress(self) -> Progress:
        """Where the work stands."""
        return self._thread.progress

    @property
    def running(self) -> bool:
        """Whether it has begun and not ended; also while it is paused."""
        return self._thread.isRunning() and not self._over

    @property
    def paused(self) -> bool:
        """Whether it waits before the next piece."""
        return not self._thread.go.is_set()

    @property
    def is_cancelled(self) -> bool:
        """Whether it was asked to end early."""
        return self._thread.cancelled.is_set()

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def pause(self) -> None:
        """Waits before the next piece. May be called from any thread, the worker's own included."""
        self._thread.go.clear()
        if self.is_cancelled:
            self._thread.go.set()

    def resume(self) -> None:
        """Goes on after a pause."""
        self._thread.go.set()

    def cancel(self) -> None:
        """Ends the work before its next piece."""
        self._thread.cancelled.set()
        self._thread.go.set()

    def wait(self) -> None:
        """Blocks until the thread is gone; for the end of the program, after `cancel`."""
        self._thread.wait()

    def reveal(self) -> None:
        """Lets it be shown from now on, though it began as `quiet`."""
        self.quiet = False

    def _settle(self, outcome: _Outcome) -> None:
        self._thread.wait()
        self._over = True
        if outcome.kind == "finished":
            self.finished.emit(outcome.value)
        elif outcome.kind == "failed":
            # What a person can act on needs no traceback.
            expected = isinstance(outcome.value, TokStudioError)
            _log.info("A job failed: %s", outcome.value, exc_info=None if expected else outcome.value)
            self.failed.emit(outcome.value)
        else:
            self.cancelled.emit()
        self.ended.emit()


class Jobs(QObject):
    """The jobs of the studio, and the messages to the person. Call every method from the GUI thread.

    Signals:
        busy_changed: A job began or ended.
        begun: Something that the person asked for has begun.
        failed: Something went wrong (Problem).
        refused: What was asked for cannot be done now, or not as it may be meant: a sentence for the status line.
        told: Something that the person asked for was done: a sentence for the status line.
        noticed: Something was done beside what was asked for, and can be taken back (Notice).

    Attributes:
        running: The jobs that have not ended.
    """

    busy_changed = Signal()
    begun = Signal()
    failed = Signal(object)
    refused = Signal(str)
    told = Signal(str)
    noticed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.running: list[Job] = []
        self._closed = False

    def start(
        self,
        work: Callable[[], Work],
        done: Callable[[Any], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
        *,
        quiet: bool = False,
        writes: bool = False,
        asked: bool = True,
    ) -> Job:
        """Runs work in the background. `done` and `failed` must be bound methods of QObjects.

        Without `asked` the work is shown and is not something that the person has begun. After `end` the job does
        not begin: a timer that was waiting may still ask for one, and nobody would wait for its thread.
        """
        job = Job(work, self, quiet=quiet, writes=writes)
        if self._closed:
            job.cancel()
            return job
        if done is not None:
            job.finished.connect(done)
        job.failed.connect(failed or self.report)
        job.ended.connect(self._job_ended)
        self.running.append(job)
        job.start()
        self.busy_changed.emit()
        if asked and not quiet:
            self.announce()
        return job

    def announce(self) -> None:
        """Tells that something that the person asked for has begun."""
        self.begun.emit()

    def reveal(self, job: Job) -> None:
        """Shows a job that began as quiet."""
        job.reveal()
        self.busy_changed.emit()

    def end(self, *others: Job) -> None:
        """Ends every job, and `others`, and waits for their threads; later ones do not begin."""
        self._closed = True
        running = [*self.running, *others]
        for job in running:
            job.cancel()
        for job in running:
            job.wait()

    def report(self, error: Exception | Problem) -> None:
        """Tells the person what went wrong; an error that is not ours is named as what it is."""
        self.failed.emit(problem_of(error) if isinstance(error, Exception) else error)

    def refuse(self, sentence: str) -> None:
        """Tells the person why something is not done."""
        self.refused.emit(sentence)

    def tell(self, sentence: str) -> None:
        """Tells the person what was done."""
        self.told.emit(sentence)

    def notify(self, notice: Notice) -> None:
        """Tells the person of something that was done besides, and can be taken back."""
        self.noticed.emit(notice)

    def _job_ended(self) -> None:
        # Only the one that says so: of another the thread may be over, and what came of it still to be told.
        over = self.sender()
        self.running = [job for job in self.running if job is not over]
        if over is not None:
            over.deleteLater()
        self.busy_changed.emit()
