"""Runs the work of an export in the background: checks the formats one by one, and writes them one by one."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from tokstudio.core.base.atomic_files import FolderError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.formats import ExportReport
from tokstudio.gui.dialogs.export.plan import ExportOutcome, folders_work
from tokstudio.gui.session.jobs import Job, Jobs, LatestJob
from tokstudio.gui.state.problem import problem_of


@dataclass(frozen=True)
class Order:
    """One format to be written: its name, its folder, and the work."""

    name: str
    folder: Path
    work: Callable[[], Work[ExportReport]]


class InTurn(QObject):
    """Runs quiet checks by name, one job at a time; new ones replace those that are pending."""

    answered = Signal(str, object)  # the name of a check, and its result or an exception

    def __init__(self, jobs: Jobs, parent: QObject) -> None:
        super().__init__(parent)
        self._asked: deque[tuple[str, Callable[[], Work[Any]]]] = deque()
        self._latest = LatestJob(jobs, self, quiet=True)
        self._latest.done.connect(self._answer)
        self._latest.failed.connect(self._answer)

    def ask(self, questions: Iterable[tuple[str, Callable[[], Work[Any]]]]) -> None:
        """Starts checks; the results of earlier ones are dropped."""
        self.cancel()
        self._asked.extend(questions)
        self._next()

    def cancel(self) -> None:
        """Cancels all checks and drops their results."""
        self._latest.cancel()
        self._asked.clear()

    def _next(self) -> None:
        if self._asked:
            self._latest.run(self._asked[0][1])

    def _answer(self, answer: object) -> None:
        name, _ = self._asked.popleft()
        self._next()
        self.answered.emit(name, answer)


class Exporting(QObject):
    """Writes formats one job at a time, after a check that all of their folders can be made."""

    settled = Signal(str, object)  # the name of a format, with its `ExportOutcome`
    refused = Signal(str)  # why a folder cannot be made, in a sentence; the remaining formats are not written
    ended = Signal()  # all work is done

    def __init__(self, jobs: Jobs, parent: QObject) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._orders: deque[Order] = deque()
        self._job: Job | None = None

    @property
    def running(self) -> bool:
        """Whether something is being written or waits to be."""
        return bool(self._orders)

    @property
    def left(self) -> int:
        """The number of formats that are not written yet."""
        return len(self._orders)

    @property
    def current(self) -> str | None:
        """The format that is being written; None if there is none."""
        return self._orders[0].name if self._job is not None else None

    @property
    def progress(self) -> Progress:
        """The progress of the current format."""
        return self._job.progress if self._job is not None else Progress("")

    def begin(self, orders: Iterable[Order]) -> None:
        """Writes formats in the given order."""
        self._orders.extend(orders)
        folders = [order.folder for order in self._orders]
        self._start(partial(folders_work, folders), self._ready)

    def cancel(self) -> None:
        """Cancels the current format and drops the rest; finished files stay."""
        if self._job is not None:
            self._job.cancel()

    def _next(self) -> None:
        if not self._orders:
            self.ended.emit()
            return
        order = self._orders[0]
        self._start(order.work, self._written)

    def _start(self, work: Callable[[], Work[Any]], done: Callable[[Any], None]) -> None:
        self._job = self._jobs.start(work, done, self._failed, writes=True)
        self._job.cancelled.connect(self._cancelled)

    @property
    def _is_stopped(self) -> bool:
        """Whether a job that has just ended was cancelled after its work was done."""
        return self._job is not None and self._job.is_cancelled

    def _go_on(self, stopped: bool) -> None:
        if stopped:
            self._cancelled()
        else:
            self._next()

    def _ready(self, _: object) -> None:
        self._go_on(self._is_stopped)

    def _written(self, report: ExportReport) -> None:
        stopped = self._is_stopped
        self._settle(ExportOutcome(self._orders[0].folder, report))
        self._go_on(stopped)

    def _failed(self, error: Exception) -> None:
        if isinstance(error, FolderError):
            self._job = None
            self._orders.clear()
            self.refused.emit(problem_of(error).text)
            self._next()
            return
        self._settle(ExportOutcome(self._orders[0].folder, problem=problem_of(error).text))
        self._next()

    def _cancelled(self) -> None:
        while self._orders:
            self._settle(ExportOutcome(self._orders[0].folder, problem="Cancelled. Nothing was changed."))
        self._next()

    def _settle(self, outcome: ExportOutcome) -> None:
        self._job = None
        self.settled.emit(self._orders.popleft().name, outcome)
