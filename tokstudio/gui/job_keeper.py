"""Whoever starts jobs: keeps them until they have ended, and tells what went wrong."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal

from tokstudio.core.base.progress import Work
from tokstudio.gui.jobs import Job
from tokstudio.gui.problems import problem_of


class JobKeeper(QObject):
    """The jobs of the studio. Every method is to be called from the GUI thread.

    Signals:
        busy_changed: A job began or ended.
        begun: Something that the person asked for has begun.
        failed: Something went wrong (Problem).
    """

    busy_changed = Signal()
    begun = Signal()
    failed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.jobs: list[Job] = []
        self._closed = False

    def start_job(
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

        Without `asked` the work is shown and is not something that the person has begun. After `end_jobs` the job does
        not begin: a timer that was waiting may still ask for one, and nobody would wait for its thread.
        """
        job = Job(work, self)
        job.quiet, job.writes = quiet, writes
        if self._closed:
            job.cancel()
            return job
        if done is not None:
            job.finished.connect(done)
        job.failed.connect(failed or self.report)
        job.ended.connect(self._job_ended)
        self.jobs.append(job)
        job.start()
        self.busy_changed.emit()
        if asked and not quiet:
            self.begun.emit()
        return job

    def end_jobs(self, *others: Job) -> None:
        """Ends every job, and `others`, and waits for their threads; later ones do not begin."""
        self._closed = True
        running = [*self.jobs, *others]
        for job in running:
            job.cancel()
        for job in running:
            job.wait()

    def report(self, error: Exception) -> None:
        """Tells the person what went wrong; anything that is not ours is named as what it is."""
        self.failed.emit(problem_of(error))

    def _job_ended(self) -> None:
        # Only the one that says so: of another the thread may be over, and what came of it still to be told.
        over = self.sender()
        self.jobs = [job for job in self.jobs if job is not over]
        if over is not None:
            over.deleteLater()
        self.busy_changed.emit()
