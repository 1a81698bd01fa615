"""Background work: a `Job` for each task, with progress, pause, cancel and exactly one result.

The work is a generator (`core.base.progress`): a job runs it in its own thread and acts between two steps. Progress is
not a signal but a value to read. Of the requests to a `LatestJob` only the newest counts.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from PySide6.QtCore import QObject, QThread, QTimer, Signal

from tokstudio.core.base.atomic_files import write_files
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.gui.state.problems import Problem, problem_of

_log = logging.getLogger(__name__)
_REPLACED = "TokStudio was replaced or removed while it was open. Save your work, and start it again."


class Notice(NamedTuple):
    """A message about an unrequested action, with a button."""

    text: str
    verb: str  # of the button
    act: Callable[[], None]  # what the button does: it undoes the action
    holds: Callable[[], bool]  # whether that is still possible
    asks: bool = False  # whether it is a question, which stays longer


class _Thread(QThread):
    """Drives one generator. Emits "finished", "failed" or "cancelled", and the value or the error."""

    outcome = Signal(str, object)

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
        except Exception as error:  # every error is a value; `failed` shows it to the user
            outcome = "failed", error
        except SystemExit:
            # Programs in a bundle exit when their files have changed; in a job, this would end only the thread.
            outcome = "failed", TokStudioError(_REPLACED)
        self.outcome.emit(*outcome)

    def _drive(self) -> tuple[str, Any]:
        steps = self._work()
        try:
            while not self.cancelled.is_set():
                self.progress = next(steps)
                self.go.wait()
        except StopIteration as end:
            return "finished", end.value
        finally:
            steps.close()
        return "cancelled", None


class Job(QObject):
    """A background task. It emits exactly one of `finished`, `failed` and `cancelled`, and then `ended`.

    Connect only bound methods of QObjects: other functions would run in the worker's thread, as `work` does, which
    makes the generator. The status bar does not show a `quiet` one; one that `writes` a file does so for the user.
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
        self._begin = QTimer(self, singleShot=True)
        self._begin.timeout.connect(self._thread.start)
        self._started = self._over = False
        self.quiet, self.writes = quiet, writes

    @property
    def progress(self) -> Progress:
        """The current progress."""
        return self._thread.progress

    @property
    def running(self) -> bool:
        """Whether it has started and not ended; also while it is paused."""
        return self._started and not self._over

    @property
    def paused(self) -> bool:
        """Whether it waits before its next step."""
        return not self._thread.go.is_set()

    @property
    def is_cancelled(self) -> bool:
        """Whether it was asked to end early."""
        return self._thread.cancelled.is_set()

    def start(self, *, held: bool = False) -> None:
        """Starts the thread once the current event is handled: until then, it would only slow down the window.

        The thread of one that is `held` waits for the next call.
        """
        self._started = True
        if not held:
            self._begin.start()

    def pause(self) -> None:
        """Waits before the next step. May be called from any thread, including the worker."""
        self._thread.go.clear()
        if self.is_cancelled:
            self._thread.go.set()

    def resume(self) -> None:
        """Continues after a pause."""
        self._thread.go.set()

    def cancel(self) -> None:
        """Ends the work before its next step."""
        self._thread.cancelled.set()
        self._thread.go.set()

    def wait(self) -> None:
        """Blocks until the thread has ended, if it has begun; for the end of the program, after `cancel`."""
        self._begin.stop()
        self._thread.wait()

    def reveal(self) -> None:
        """Shows a job that began as `quiet`."""
        self.quiet = False

    def _settle(self, outcome: str, value: Any) -> None:  # noqa: ANN401  a work may return anything
        self._thread.wait()
        self._over = True
        if outcome == "finished":
            self.finished.emit(value)
        elif outcome == "failed":
            if isinstance(value, TokStudioError | MemoryError):
                _log.info("A job failed: %s", value)  # the user can act on it
            else:
                _log.error("A job failed: %s", value, exc_info=value)
            self.failed.emit(value)
        else:
            self.cancelled.emit()
        self.ended.emit()


@dataclass(frozen=True)
class Pauses:
    """What the window waits for, in milliseconds. Tests hand in shorter ones."""

    training: int = 50  # between two queries of a training
    resized: int = 50  # after a change of the window's size, before panes share out the room
    painted: int = 50  # until the rows of the vocabulary are painted
    compared: int = 60  # in which figures of Compare are shown together
    dialogs: int = 100  # between two updates of a dialog's progress
    moves: int = 100  # of the playhead, between two pictures of the distribution
    merge: int = 120  # without another merge, before its pairs are counted
    changes: int = 150  # after the last change of what Compare, the pattern and Token show
    live: int = 200  # between two updates of the run in training
    filtered: int = 200  # after the last key in the filter of compared vocabularies
    facts: int = 200  # until what asks for facts about tokens is painted
    updates: int = 250  # between two updates of what grows, and after the last change of a text
    keys: int = 300  # after the last key in words and in dialogs of the Tokenizer menu
    forecast: int = 400  # after the last change of a setting
    weights: int = 600  # after the last change of a weight
    quiet: int = 1000  # before a measurement is shown as a job
    shown_bar: int = 2000  # before a job has a bar
    copy: int = 3000  # before the work is copied for recovery
    notice: int = 10_000  # a notice that asks nothing
    brief_message: int = 5000  # a message that hides the progress of a job


class Jobs(QObject):
    """The jobs of the session, and the messages to the user. Call every method from the GUI thread."""

    busy_changed = Signal()  # a job began or ended
    begun = Signal()  # something that the user asked for has begun
    failed = Signal(object)  # an error for the user: a Problem
    refused = Signal(str)  # a request cannot be carried out now, or not as meant: a sentence for the status bar
    told = Signal(str)  # something that the user asked for was done: a sentence for the status bar
    noticed = Signal(object)  # something was done without a request, and can be undone: a Notice

    def __init__(self, parent: QObject | None = None, pauses: Pauses | None = None) -> None:
        super().__init__(parent)
        self.pauses = pauses or Pauses()
        self.running: list[Job] = []  # those that have not ended
        self._held: list[Job] | None = None  # those that wait for `release`; None where none has to
        self._closed = False

    def hold(self) -> None:
        """Lets the threads of jobs wait for `release`."""
        self._held = []

    def release(self) -> None:
        """Starts the threads that have waited; later ones do not wait."""
        held, self._held = self._held or [], None
        for job in held:
            job.start()

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

        Without `asked`, the job is shown but does not count as started by the user. After `end`, the job does not
        start: a timer may still request one, and nothing would wait for its thread.
        """
        job = Job(work, self, quiet=quiet, writes=writes)
        if not quiet:
            _log.info("Job: %s", getattr(getattr(work, "func", work), "__qualname__", work))
        if self._closed:
            job.cancel()
            return job
        if done is not None:
            job.finished.connect(done)
        job.failed.connect(failed or self.report)
        job.ended.connect(self._job_ended)
        self.running.append(job)
        self._start(job)
        self.busy_changed.emit()
        if asked and not quiet:
            self.begun.emit()
        return job

    def begin(self, job: Job) -> None:
        """Starts a job that the user asked for and that another part of the session made and looks after."""
        self._start(job)
        self.begun.emit()

    def _start(self, job: Job) -> None:
        job.start(held=self._held is not None)
        if self._held is not None:
            self._held.append(job)

    def reveal(self, job: Job) -> None:
        """Shows a quiet job."""
        job.reveal()
        self.busy_changed.emit()

    def end(self, *others: Job) -> None:
        """Ends every job, and `others`, and waits for their threads; later ones do not start."""
        self._closed, self._held = True, None
        running = [*self.running, *others]
        for job in running:
            job.cancel()
        for job in running:
            job.wait()

    def report(self, error: Exception | Problem) -> None:
        """Shows an error to the user; one of another library is shown with its type."""
        self.failed.emit(problem_of(error) if isinstance(error, Exception) else error)

    def refuse(self, sentence: str) -> None:
        """Tells the user why something is not done."""
        self.refused.emit(sentence)

    def tell(self, sentence: str) -> None:
        """Tells the user what was done."""
        self.told.emit(sentence)

    def notify(
        self, text: str, verb: str, act: Callable[[], None], holds: Callable[[], bool], *, asks: bool = False
    ) -> None:
        """Tells the user of something done without a request, which can be undone; see `Notice`."""
        self.noticed.emit(Notice(text, verb, act, holds, asks))

    def _job_ended(self) -> None:
        # Only the sender: the thread of another job may have ended while its result still waits to be delivered.
        over = self.sender()
        self.running = [job for job in self.running if job is not over]
        if over is not None:
            over.deleteLater()
        self.busy_changed.emit()


def write_work(path: Path, content: bytes | str) -> Work[Path]:
    """Writes a file, a text in UTF-8, and gives its path."""
    whole = content.encode("utf-8", "replace") if isinstance(content, str) else content
    yield from write_files({path: [whole]})
    return path


class Cancelled(TokStudioError):
    """The user has cancelled a job."""


class LatestJob(QObject):
    """Runs one job at a time. Emits `done` or `failed` for the newest request, and only for that.

    `take` gets each result, `fail` each error. A quiet job is shown after so many milliseconds of `patience`; `asked`
    and `quiet` are as in `Jobs.start`.
    """

    done = Signal(object)
    failed = Signal(object)  # also by `Cancelled`, when the user has cancelled it

    def __init__(
        self,
        jobs: Jobs,
        parent: QObject | None = None,
        take: Callable[..., object] | None = None,
        fail: Callable[[Exception], object] | None = None,
        *,
        quiet: bool = False,
        asked: bool = True,
        patience: int | None = None,
    ) -> None:
        super().__init__(parent)
        if take is not None:
            self.done.connect(take)
        if fail is not None:
            self.failed.connect(fail)
        self._quiet, self._asked = quiet, asked
        self._jobs = jobs
        self._job: Job | None = None
        self._patience: QTimer | None = None
        if patience is not None:
            self._patience = QTimer(self, singleShot=True, interval=patience)
            self._patience.timeout.connect(self._show)

    @property
    def busy(self) -> bool:
        """Whether a request has no answer yet."""
        return self._job is not None

    @property
    def progress(self) -> Progress:
        """The progress of the current work."""
        return self._job.progress if self._job is not None else Progress("")

    def run(self, work: Callable[[], Work[Any]]) -> None:
        """Starts work; the current work is cancelled, and its answer is dropped."""
        self.cancel()
        self._job = self._jobs.start(work, self._take, self._fail, quiet=self._quiet, asked=self._asked)
        self._job.cancelled.connect(self._cancelled)
        if self._patience is not None:
            self._patience.start()

    def cancel(self) -> None:
        """Cancels the current work and drops its answer."""
        if self._job is not None:
            self._job.cancel()
            self._job = None

    def _show(self) -> None:
        if self._job is not None:
            self._jobs.reveal(self._job)

    def _take(self, value: object) -> None:
        if self._is_over():
            self.done.emit(value)

    def _fail(self, error: Exception) -> None:
        if self._is_over():
            self.failed.emit(error)

    def _cancelled(self) -> None:
        """The user has cancelled the job in the status bar."""
        if self._is_over():
            self.failed.emit(Cancelled("Cancelled."))

    def _is_over(self) -> bool:
        """Whether the signal comes from the newest job, which has ended then; earlier jobs are ignored."""
        if self._job is None or self.sender() is not self._job:
            return False
        self._job = None
        return True
