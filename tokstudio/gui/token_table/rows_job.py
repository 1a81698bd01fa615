"""Works out in the background which rows a table has, and lets it wait for the index of the tokens."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.gui.session.latest_job import LatestJob
from tokstudio.gui.session.token_indexing import TokenIndexing
from tokstudio.gui.state.run_tokens import RunTokens


class RowsJob(QObject):
    """One request at a time: a new one takes the place of the one before. Until it is answered the old rows stay.

    Signals:
        done: The answer to the newest request.
        failed: It could not be found, or the person cancelled it (Exception).

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
        """Whether an answer is still to come."""
        return self._waiting is not None or self._latest.busy

    @property
    def waiting(self) -> bool:
        """Whether the index is still to be made."""
        return self._waiting is not None

    def run(self, tokens: RunTokens, work: Callable[[], Work[Any]], *, indexed: bool) -> None:
        """Begins work.

        Args:
            tokens: Whose rows they are.
            work: Gives the work that finds the answer; called in the GUI thread, once the index is there.
            indexed: Whether `tokens.index` must first have all tokens that there are now.
        """
        self.cancel()
        self._waiting = tokens, len(tokens) if indexed else 0, work
        self._go_on()

    def cancel(self) -> None:
        """Lets go of the request."""
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
