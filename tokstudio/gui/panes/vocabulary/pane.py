"""The Vocabulary pane: every token that exists at the playhead. See also `model`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction

from tokstudio.core.base.errors import TokStudioError
from tokstudio.gui.panes.vocabulary.model import VocabularyModel
from tokstudio.gui.panes.vocabulary.selection import MERGE
from tokstudio.gui.session.availability import why_no_counts
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.filters import FilterButton, UsesOffer
from tokstudio.gui.token_table.query import FilterQuery, Query
from tokstudio.gui.token_table.token_table_pane import TablePane
from tokstudio.gui.widgets.menus import button_of

_EMPTY = (
    "The tokens of the vocabulary are listed here, with their parts and their uses in the corpus. "
    "Train a tokenizer, or open one."
)


class VocabularyPane(TablePane):
    """All tokens at the playhead, in any order, filtered by text, kind, script, use and length."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        self._tokens = VocabularyModel(session.indexing)
        super().__init__("vocabulary", "Vocabulary", session, theme, self._tokens, _EMPTY)
        self._tokens.setParent(self)
        self._as_expressions = False
        self.follow(actions["byte_level_characters"])
        self.offer(actions["why_merge"], actions["forbid_tokens"], actions["prune_tokens"], actions["copy"])
        self.kinds = FilterButton(theme)
        self.panel = self.kinds.panel
        self.header.addWidget(self.kinds)
        self.header.addWidget(button_of(actions["export_vocabulary_csv"], "Export the vocabulary as CSV"))
        self.uses_offer = UsesOffer(actions["count_uses"], theme)
        self.body.insertWidget(0, self.uses_offer)
        # The latest merges first, as the bytes 00, 01, 02 are of little interest.
        self.table.sort_by_columns(MERGE, Qt.SortOrder.DescendingOrder)

        self.table.horizontalHeader().sortIndicatorChanged.connect(self._sorted)
        self.panel.changed.connect(self._set_kinds)
        self._completing = LatestJob(session.jobs, self, self.panel.set_scripts, self._completing_failed, asked=False)
        session.indexing.changed.connect(self._complete_index)
        # The rows are painted first.
        self._soon = QTimer(self, singleShot=True, interval=session.jobs.pauses.painted)
        self._soon.timeout.connect(self._begin_index)
        self._indexed: StudioRun | None = None
        session.reachability.changed.connect(self._tokens.show_reach)
        session.view.playhead_changed.connect(self._playhead_changed)
        session.corpus.sources_changed.connect(self._offer_uses)
        self.catch_up()

    def catch_up(self) -> None:
        run, playhead = self._session.runs.active, self._session.view.playhead
        if run is not self._tokens.run:
            self._forget_index()
            self._tokens.set_run(run, playhead)
            self.table.verticalScrollBar().setValue(0)
        else:
            self._tokens.set_playhead(playhead)
        # Counts may have become wider.
        self.table.refit()
        self._offer_uses()
        self._make_index()
        self._show_token(scroll=False)
        self._count_matches()

    def _count_matches(self) -> None:
        super()._count_matches()
        self.panel.matches.setText(self.note.text())

    def total(self) -> int:
        return self._tokens.total

    def filtered(self) -> bool:
        return super().filtered() or self._tokens.filtered

    def apply_filter(self, query: Query) -> None:
        self._tokens.set_query(query)
        self._count_matches()

    def lift_filters(self) -> None:
        super().lift_filters()
        self.panel.ask_for_all()

    def busy(self) -> bool:
        return super().busy() or ("Unreachable" in self.panel.chosen() and self._session.reachability.busy)

    def selected_tokens(self) -> list[int]:
        """The ids of the selected rows, while the pane is seen."""
        rows = self.table.selected_rows() if self.seen and self._tokens.run is self._session.runs.active else []
        return [token for each in rows if (token := self._tokens.token_at(each)) is not None]

    # ---- the session

    def _playhead_changed(self) -> None:
        if self.seen and self._session.runs.active is self._tokens.run:
            self._tokens.set_playhead(self._session.view.playhead)
            self._offer_uses()
            # The token may have disappeared, or come back.
            self._show_token(scroll=False)

    def _offer_uses(self) -> None:
        self.uses_offer.offer(why_no_counts(self._session))

    def make_query(self, text: str) -> Query:
        return FilterQuery(text, self.panel.expression.isChecked())

    def show_lengths(self, low: int, high: int) -> None:
        """Lists all tokens of a length, and removes other filters."""
        self.filter.clear()
        self.panel.clear()
        self.panel.set_lengths(low, high)

    def _make_index(self) -> None:
        """Computes all data for filters and orders of a complete run."""
        run = self._session.runs.active
        if run is self._indexed or not self.seen:
            return
        self._forget_index()
        if run is not None and run.ended is not None and run.ready:
            self._indexed = run
            self._soon.start()

    def _begin_index(self) -> None:
        if self._indexed is not None:
            if self._session.indexing.ask(self._indexed.tokens):
                self._complete_index()
            self._session.reachability.ask(self._indexed)

    def _complete_index(self) -> None:
        index = self._indexed.tokens.index if self._indexed is not None else None
        if index is not None and not self._completing.busy:
            self._completing.run(index.complete_work)

    def _forget_index(self) -> None:
        """Releases the data of a run."""
        self._soon.stop()
        self._completing.cancel()
        self._indexed = None
        self.panel.set_scripts(())

    def _completing_failed(self, error: Exception) -> None:
        # A cancelled job leaves the scripts unlisted; other errors are reported.
        if not isinstance(error, TokStudioError):
            self._session.jobs.report(error)

    def _set_kinds(self) -> None:
        self.stay()
        panel, tokens = self.panel, self._tokens
        if panel.expression.isChecked() != self._as_expressions:
            self._as_expressions = panel.expression.isChecked()
            self.filter.setPlaceholderText("Expression" if self._as_expressions else "Filter")
            self._set_filter(self.filter.text())
        if tokens.run is not None and "Unreachable" in panel.chosen():
            self._session.reachability.ask(tokens.run)
        tokens.set_choice(panel.chosen(), panel.lengths())
        self.table.verticalScrollBar().setValue(0)

    def _sorted(self) -> None:
        # After sorting, the user wants to see the first rows.
        self.stay()
        self.table.verticalScrollBar().setValue(0)
