"""The lines of the corpus with the current token, as encoded at the playhead.

The search starts when the page is visible and the token has not changed for a moment; scrolling finds more.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import partial

from PySide6.QtCore import QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from tokstudio.core.base.wording import several
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.hits_table import WIDTH, FoundHits, HitRows, HitSearch, HitsTable
from tokstudio.gui.widgets.labels import named, plain_label
from tokstudio.gui.widgets.layouts import column, row, stacked
from tokstudio.gui.widgets.menus import link_button
from tokstudio.gui.widgets.pane import EmptyState

_FIRST, _MORE = 200, 500
_NO_CORPUS = "Lines with the token come from the corpus: open a text."
_LET_GO = "The corpus of this run is no longer available."
_NOWHERE = "The token does not occur in the corpus at this playhead position."
_ONLY_SPECIAL = "The token does not occur in the corpus as a special token."
_WAITING = "The search for lines starts in a moment."
_REMOVED = "The token is not in the vocabulary at this playhead position: it was removed."
_SEARCHING = "Looking for the token…"


class LinesPage(QWidget):
    """The lines with the token."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self._corpus, self._runs, self._view = session.corpus, session.runs, session.view
        self._wanted: tuple[object, ...] | None = None
        self._begun: tuple[object, ...] | None = None
        self._search: HitSearch | None = None
        self._uses: int | None = None
        self.model = HitRows(self)
        self.table = HitsTable(self.model, theme, "Lines with the token")
        self._build()
        self._rest = QTimer(self, singleShot=True, interval=session.jobs.pauses.updates)
        self._rest.timeout.connect(self._begin)
        self._jobs = LatestJob(session.jobs, self, self._take, self._failed, asked=False)
        self.table.moreWanted.connect(self._more)
        self.table.copied.connect(self._say_copied)
        session.corpus.sources_changed.connect(self.refresh)
        session.runs.changed.connect(self._runs_changed)

    @property
    def searching(self) -> bool:
        """Whether a search is running or about to start."""
        return self._jobs.busy or self._rest.isActive()

    def refresh(self) -> None:
        """Starts another search if the token, the playhead or the corpus has changed."""
        run, token, wanted = self._runs.active, self._view.token, None
        corpus = self._corpus_of(run)
        if run is not None and token is not None and corpus is not None:
            wanted = (run, token, self._view.playhead, corpus.sources)
        if wanted is not None and wanted == self._wanted:
            return
        self._wanted = wanted
        self._forget()
        if wanted is None:
            self._say(_LET_GO if run is not None and run.has_counts else _NO_CORPUS)
        elif self.isVisible():
            self._say(_WAITING)
            self._rest.start()

    def showEvent(self, event: QShowEvent) -> None:
        """Starts a search that waited for the page to be visible."""
        super().showEvent(event)
        self.refresh()
        if self._wanted is not None and self._begun != self._wanted:
            self._rest.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Ends the search; it starts again when the page is shown."""
        super().hideEvent(event)
        self._rest.stop()
        if self._jobs.busy:
            self._forget()

    def _build(self) -> None:
        self.note = plain_label("muted")
        self.note.setMinimumWidth(1)
        self.stop = named(link_button("Stop", self._stop), "Stop looking for the token")
        self.stop.hide()
        self.empty = EmptyState(_NO_CORPUS)
        self.empty.setMinimumWidth(1)
        self.stack = stacked(self.empty, self.table)
        column(row((self.note, 1), self.stop, spacing=8), (self.stack, 1), spacing=4, parent=self)
        QWidget.setTabOrder(self.stop, self.table)

    def _runs_changed(self) -> None:
        # A deleted run and its corpus are released at once, even on a hidden page.
        if self._wanted is not None and self._wanted[0] not in self._runs.shown:
            self.refresh()

    def _begin(self) -> None:
        from tokstudio.core.exploration.search import Search
        from tokstudio.core.exploration.token_finder import TokenFinder

        if self._wanted is None or not self.isVisible():
            return
        self._forget()
        run, token = self._runs.active, self._view.token
        corpus, tokenizer = self._corpus_of(run), self._view.tokenizer
        if run is None or token is None or corpus is None or tokenizer is None:
            return
        self._begun = self._wanted
        if run.corpus_problem is not None:
            self._say(f"{run.corpus_problem}.")
            return
        if not tokenizer.tokens.in_use(token):
            removed_by = run.removals.removed_by(token)
            is_gone = removed_by is not None and removed_by <= self._view.playhead
            self._say(_REMOVED if is_gone else "The token is not made yet at this playhead position.")
            return
        held_out = run.config.held_out if run.config is not None else 0.0
        # Weighted uses are not a number of places.
        weighted = run.has_counts and corpus.weights is not None
        self._uses = None if weighted else run.uses.of(token, self._view.playhead)
        finder = TokenFinder(tokenizer, [token])
        begin = partial(Search, corpus, finder, held_out=held_out, width=WIDTH)
        self._search = HitSearch(corpus, begin, (tokenizer, token))
        self._look(_FIRST)

    def _look(self, most: int) -> None:
        search = self._search
        assert search is not None
        self._jobs.run(lambda: search.more_work(most))
        self.stop.show()
        if not self.model.rowCount():
            self._say(_SEARCHING)

    def _more(self) -> None:
        found = self.model.found
        if self._search is not None and found is not None and not found.search.done and not self._jobs.busy:
            self._look(_MORE)

    def _take(self, found: FoundHits) -> None:
        self.stop.hide()
        self.model.show(found, grown=True)
        rows = self.model.rowCount()
        if not rows:
            tokenizer, token = self._view.tokenizer, self._view.token
            is_special = tokenizer is not None and token in tokenizer.special_tokens.values()
            self._say(_ONLY_SPECIAL if is_special else _NOWHERE)
            return
        if self.stack.currentWidget() is not self.table:
            self.stack.setCurrentWidget(self.table)
            self.table.scrollToTop()
        done = found.search.done
        more = "" if rows == (found.search.places if done else self._uses) else "; scroll for more"
        more = "; no more are listed" if found.search.is_cut else more
        self.note.setText(self._count(rows, done) + more)

    def _count(self, rows: int, done: bool) -> str:
        places = several(rows, "place")
        search = self.model.found.search if self.model.found is not None else None
        known = search.places if search is not None and done else self._uses
        if rows == known:
            return places
        return f"The first {rows:,} of {known:,} places" if known else f"The first {places}"

    def _failed(self, error: Exception) -> None:
        self._search = None
        message = problem_of(error).text
        self._end_early(message, message)

    def _stop(self) -> None:
        self._jobs.cancel()
        self._end_early("Stopped.", "Stopped before the token was found. Select it again to restart the search.")

    def _end_early(self, why: str, without_lines: str) -> None:
        self.stop.hide()
        if rows := self.model.rowCount():
            self.note.setText(f"{self._count(rows, False)}. {why}")
        else:
            self._say(without_lines)
        # Later results of the job are not delivered, so a search to be continued starts again.
        self._search = None

    def _forget(self) -> None:
        self._rest.stop()
        self._jobs.cancel()
        self._begun = self._search = None
        self.stop.hide()
        self.model.clear()

    def _say(self, text: str) -> None:
        self.note.setText("")
        self.empty.label.setText(text)
        self.stack.setCurrentWidget(self.empty)

    def _say_copied(self, lines: int) -> None:
        self.note.setText(f"Copied {several(lines, 'line')}.")

    def _corpus_of(self, run: StudioRun | None) -> Corpus | None:
        """The training text of a run; for an opened tokenizer the open corpus."""
        if run is not None and run.has_counts:
            return run.corpus
        return self._corpus.current if self._corpus.sources else None
