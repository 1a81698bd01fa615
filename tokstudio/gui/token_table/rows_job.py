"""Computes the rows of a table in the background, after the index of the tokens if that is needed."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.gui.session.jobs import LatestJob
from tokstudio.gui.session.token_facts import TokenIndexing
from tokstudio.gui.state.run_tokens import RunTokens


class RowsJob(QObject):
    """Handles one request at a time: a new one replaces the current one. Until it is answered, the old rows stay.

    Signals:
        done: The result of the newest request.
        failed: The request failed or was cancelled (Exception).

    Args:
        indexing: Makes the index of the tokens.
        parent: The owner.
        quiet: Whether the status bar does not show it.
    """

    done = Signal(object)
    failed = Signal(object)

    def __init__(self, indexing: TokenIndexing, parent: QObject, *, quiet: bool = False) -> None:
        super().__init__(parent)
        self._indexing = indexing
        self._waiting: tuple[RunTokens, int, Callable[[], Work[Any]]] | None = None
        self._latest = LatestJob(indexing.jobs, self, quiet=quiet, asked=False)
        self._latest.done.connect(self.done)
        self._latest.failed.connect(self.failed)
        indexing.changed.connect(self._go_on)
        indexing.failed.connect(self._give_up)

    @property
    def busy(self) -> bool:
        """Whether a request has no answer yet."""
        return self._waiting is not None or self._latest.busy

    @property
    def waiting(self) -> bool:
        """Whether the index is not ready yet."""
        return self._waiting is not None

    def run(self, tokens: RunTokens, work: Callable[[], Work[Any]], *, indexed: bool) -> None:
        """Starts a request.

        Args:
            tokens: The tokens of the table.
            work: Returns the work that computes the result; called in the GUI thread, after the index is ready.
            indexed: Whether `tokens.index` must have all current tokens first.
        """
        self.cancel()
        self._waiting = tokens, len(tokens) if indexed else 0, work
        self._go_on()

    def cancel(self) -> None:
        """Cancels the request."""
        self._waiting = None
        self._latest.cancel()

    def _go_on(self) -> None:
        if self._waiting is None:
            return
        tokens, wanted, work = self._waiting
        if wanted and (tokens.index is None or len(tokens.index) < wanted):
            self._indexing.ask(tokens)
        else:
            self._waiting = None
            steps = work()
            self._latest.run(lambda: steps)

    def _give_up(self) -> None:
        if self._waiting is not None:
            self._waiting = None
            self.failed.emit(TokStudioError("There is no index of the tokens."))
