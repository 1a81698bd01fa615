"""Finds facts about the tokens of a run in jobs: the index that filters and sorting read, and unreachable tokens."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal

from tokstudio.core.analysis.reachability import REACHED
from tokstudio.core.analysis.token_index import TokenIndex, index_work
from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.session.common.jobs import Jobs, LatestJob
from tokstudio.gui.session.common.run_list import RunList
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.run_tokens import RunTokens

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Reachability(QObject):
    """Computes `RunTokens.reach` of the run that was requested last."""

    changed = Signal()  # the reach of a run is known now

    def __init__(self, jobs: Jobs, runs: RunList, store: TokenStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs, self._runs, self._store = jobs, runs, store
        self._run: StudioRun | None = None
        self._soon = QTimer(self, singleShot=True, interval=jobs.pauses.facts)
        self._soon.timeout.connect(self._begin)
        self._latest = LatestJob(jobs, self, self._take, self._fail, asked=False)
        runs.changed.connect(self._cancel_deleted)

    @property
    def busy(self) -> bool:
        """Whether an answer is still to come."""
        return self._run is not None

    def ask(self, run: StudioRun) -> None:
        """Starts with a complete run, unless its reach is known or being computed."""
        if run is self._run or run.ended is None or not run.ready or run.tokens.reach is not None:
            return
        self._latest.cancel()
        self._run = run
        self._soon.start()

    def _begin(self) -> None:
        if self._run is not None:
            tokenizer, ids = self._run.tokenizer, self._run.tokens.ids
            self._latest.run(lambda: _by_slot_work(tokenizer, ids, self._store))

    def _take(self, reach: NDArray[np.uint8]) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.tokens.take_reach(reach)
            self.changed.emit()

    def _fail(self, error: Exception) -> None:
        self._run = None
        # If the job was cancelled, the next request starts it again.
        if not isinstance(error, TokStudioError):
            self._jobs.report(error)

    def _cancel_deleted(self) -> None:
        if self._run is not None and self._run not in self._runs.shown:
            self._latest.cancel()
            self._run = None


def _by_slot_work(tokenizer: Tokenizer, ids: NDArray[np.int32], store: TokenStore) -> Work[NDArray[np.uint8]]:
    reach = yield from store.reach_work(tokenizer)
    return np.append(reach, REACHED)[np.minimum(ids, len(reach))]  # a removed token may have the highest id


class TokenIndexing(QObject):
    """Makes one index at a time, for the run that was requested last."""

    changed = Signal()  # the requested tokens have a newer index
    failed = Signal()  # the job failed, which has been reported, or was cancelled

    def __init__(self, jobs: Jobs) -> None:
        super().__init__(jobs)
        self.jobs = jobs
        self._tokens: RunTokens | None = None
        self._latest = LatestJob(jobs, self, self._take, self._fail, asked=False)

    def ask(self, tokens: RunTokens) -> bool:
        """Returns whether a run has an index of all its tokens; if not, starts to make it."""
        if tokens.index is not None and len(tokens.index) == len(tokens):
            return True
        if tokens is not self._tokens and tokens.run.ready:
            self._tokens = tokens
            snapshot, earlier = tokens.snapshot(), tokens.index
            self._latest.run(lambda: index_work(snapshot, earlier))
        return False

    def _take(self, index: TokenIndex) -> None:
        tokens, self._tokens = self._tokens, None
        if tokens is not None:
            tokens.take_index(index)
            self.changed.emit()

    def _fail(self, error: Exception) -> None:
        self._tokens = None
        if not isinstance(error, TokStudioError):
            self.jobs.report(error)
        self.failed.emit()
