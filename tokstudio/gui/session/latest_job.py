"""Background work of which only the newest request counts: a new request replaces the current one."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Signal

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.gui.session.jobs import Job, Jobs


@dataclass(frozen=True)
class _Answer:
    """The result of one request: a value or an error."""

    ticket: int
    value: Any = None
    error: Exception | None = None


class LatestJob(QObject):
    """Runs one job at a time. Emits `done` or `failed` for the newest request, and only for that.

    Args:
        jobs: Runs the jobs.
        parent: The owner.
        quiet: Whether the status bar does not show them.
        asked: Whether they begin at the user's request, not in the course of something else.
    """

    done = Signal(object)
    failed = Signal(object)

    def __init__(self, jobs: Jobs, parent: QObject | None = None, *, quiet: bool = False, asked: bool = True) -> None:
        super().__init__(parent)
        self._quiet, self._asked = quiet, asked
        self._jobs = jobs
        self._ticket = 0
        self._job: Job | None = None

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
        ticket = self._ticket
        self._job = self._jobs.start(lambda: _answer(ticket, work), self._take, quiet=self._quiet, asked=self._asked)
        self._job.cancelled.connect(self._cancelled)

    def cancel(self) -> None:
        """Cancels the current work and drops its answer."""
        self._ticket += 1
        if self._job is not None:
            self._job.cancel()
            self._job = None

    def _cancelled(self) -> None:
        """The user has cancelled the job in the status bar."""
        if self._job is not None and self._job is self.sender():
            self._job = None
            self.failed.emit(TokStudioError("Cancelled."))

    def _take(self, answer: object) -> None:
        assert isinstance(answer, _Answer)
        if answer.ticket != self._ticket:
            return
        self._job = None
        if answer.error is not None:
            self.failed.emit(answer.error)
        else:
            self.done.emit(answer.value)


def _answer(ticket: int, work: Callable[[], Work[Any]]) -> Work[_Answer]:
    # As a value, an error of an outdated request can be told from one of the newest.
    try:
        return _Answer(ticket, (yield from work()))
    except Exception as error:
        return _Answer(ticket, error=error)
