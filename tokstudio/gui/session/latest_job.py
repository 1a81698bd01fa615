"""Background work of which only the newest request counts: a new request replaces the current one."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.gui.session.jobs import Job, Jobs


class LatestJob(QObject):
    """Runs one job at a time. Emits `done` or `failed` for the newest request, and only for that.

    Args:
        quiet: Whether the status bar does not show them.
        asked: Whether they begin at the user's request, not in the course of something else.
    """

    done = Signal(object)
    failed = Signal(object)

    def __init__(self, jobs: Jobs, parent: QObject | None = None, *, quiet: bool = False, asked: bool = True) -> None:
        super().__init__(parent)
        self._quiet, self._asked = quiet, asked
        self._jobs = jobs
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
        self._job = self._jobs.start(work, self._take, self._fail, quiet=self._quiet, asked=self._asked)
        self._job.cancelled.connect(self._cancelled)

    def cancel(self) -> None:
        """Cancels the current work and drops its answer."""
        if self._job is not None:
            self._job.cancel()
            self._job = None

    def _take(self, value: object) -> None:
        if self._is_over():
            self.done.emit(value)

    def _fail(self, error: Exception) -> None:
        if self._is_over():
            self.failed.emit(error)

    def _cancelled(self) -> None:
        """The user has cancelled the job in the status bar."""
        if self._is_over():
            self.failed.emit(TokStudioError("Cancelled."))

    def _is_over(self) -> bool:
        """Whether the signal comes from the newest job, which has ended then; earlier jobs are ignored."""
        if self._job is None or self.sender() is not self._job:
            return False
        self._job = None
        return True
