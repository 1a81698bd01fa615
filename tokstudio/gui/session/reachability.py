"""Finds out which tokens of a run no text becomes, once and in a job, for all who show tokens."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QTimer, Signal

from tokstudio.core.analysis.reachability import reachability_work
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.session.jobs import Jobs
from tokstudio.gui.session.latest_job import LatestJob
from tokstudio.gui.session.run_list import RunList
from tokstudio.gui.state.run import StudioRun

_PAINTED = 200  # milliseconds after which what has made somebody ask is on the screen


class Reachability(QObject):
    """Has `RunTokens.reach` worked out for the run that is asked about last.

    Args:
        jobs: Where it is worked out.
        runs: The runs; one that is gone is not worked out.
        parent: The owner.
    """

    #: The reach of a run is known now.
    changed = Signal()

    def __init__(self, jobs: Jobs, runs: RunList, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._runs = runs
        self._run: StudioRun | None = None
        self._soon = QTimer(self, singleShot=True, interval=_PAINTED)
        self._soon.timeout.connect(self._begin)
        self._latest = LatestJob(jobs, self, asked=False)
        self._latest.done.connect(self._take)
        self._latest.failed.connect(self._fail)
        runs.changed.connect(self._let_go)

    @property
    def busy(self) -> bool:
        """Whether an answer is still to come."""
        return self._run is not None

    def ask(self, run: StudioRun) -> None:
        """Begins with a run that is complete, unless that is known or under way."""
        if run is self._run or run.ended is None or not run.ready or run.tokens.reach is not None:
            return
        self._latest.cancel()
        self._run = run
        self._soon.start()

    def _begin(self) -> None:
        if self._run is not None:
            tokenizer, ids = self._run.tokenizer, self._run.tokens.ids
            self._latest.run(lambda: _by_slot_work(tokenizer, ids))

    def _take(self, reach: NDArray[np.uint8]) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.tokens.take_reach(reach)
            self.changed.emit()

    def _fail(self, error: Exception) -> None:
        self._run = None
        # Cancelled, it is asked for again when somebody wants to know.
        if not isinstance(error, TokStudioError):
            self._jobs.report(error)

    def _let_go(self) -> None:
        if self._run is not None and self._run not in self._runs.all:
            self._latest.cancel()
            self._run = None


def _by_slot_work(tokenizer: Tokenizer, ids: NDArray[np.int32]) -> Work[NDArray[np.uint8]]:
    return (yield from reachability_work(tokenizer))[ids]
