"""Makes the index of a run's tokens (`RunTokens.index`) in a job, once for search, filters and sorting."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from tokstudio.core.base.errors import TokStudioError
from tokstudio.gui.session.jobs import Jobs, LatestJob
from tokstudio.gui.state.run_tokens import RunTokens
from tokstudio.gui.state.token_index import TokenIndex, index_work


class TokenIndexing(QObject):
    """Makes one index at a time, for the run that was requested last."""

    changed = Signal()  # the requested tokens have a newer index
    failed = Signal()  # the job failed, which has been reported, or was cancelled

    def __init__(self, jobs: Jobs) -> None:
        super().__init__(jobs)
        self.jobs = jobs
        self._tokens: RunTokens | None = None
        self._latest = LatestJob(jobs, self, asked=False)
        self._latest.done.connect(self._take)
        self._latest.failed.connect(self._fail)

    def ask(self, tokens: RunTokens) -> bool:
        """Returns whether a run has an index of all its tokens; if not, starts to make it."""
        if tokens.index is not None and len(tokens.index) == len(tokens):
            return True
        if tokens is not self._tokens and tokens.run.ready:
            self._tokens = tokens
            made, earlier = tokens.snapshot(), tokens.index
            self._latest.run(lambda: index_work(made, earlier))
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
