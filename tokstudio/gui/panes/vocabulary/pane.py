"""The Vocabulary pane: every token that exists at the playhead. See also `model`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.corpus.corpus import ONCE
from tokstudio.gui.panes.vocabulary.model import VocabularyModel
from tokstudio.gui.panes.vocabulary.selection import BUNCHED, MERGE, TOP
from tokstudio.gui.panes.vocabulary.spread import Spread, spread_work, written
from tokstudio.gui.session.availability import why_no_counts
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.measuring.exploring import Inquiry, WrittenTable
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.filters import MOSTLY_REPEATED, PLACES, FilterButton, UsesOffer
from tokstudio.gui.token_table.query import FilterQuery, Query
from tokstudio.gui.token_table.token_table_pane import TablePane
from tokstudio.gui.widgets.labels import paragraph_label
from tokstudio.gui.widgets.menus import button_of
from tokstudio.gui.widgets.work_line import WorkLine

_EMPTY = (
    "The tokens of the vocabulary are listed here, with their parts and their uses in the corpus. "
    "Train a tokenizer, or open one."
)
_PHASES = {"encoding": "Encoding the corpus", "measuring dispersion": "Measuring", "counting uses": "Counting uses"}


class VocabularyPane(TablePane):
    """All tokens at the playhead, in any order, filtered by text, kind, script, use and length."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        self._tokens = VocabularyModel(session.indexing)
        super().__init__("vocabulary", "Vocabulary", session, theme, self._tokens, _EMPTY)
        self._tokens.setParent(self)
        self._as_expressions = self._in_places = False
        self.follow(actions["byte_level_characters"])
        self.offer(actions["why_merge"], actions["forbid_tokens"], actions["prune_tokens"], actions["copy"])
        self.kinds = FilterButton(theme, places=PLACES)
        self.panel = self.kinds.panel
        self.header.addWidget(self.kinds)
        self.header.addWidget(button_of(actions["export_vocabulary_csv"], "Export the vocabulary as CSV"))
        self.uses_offer = UsesOffer(actions["count_uses"], theme)
        self.body.insertWidget(0, self.uses_offer)
        self._exploring = session.exploring
        self.spreading = asked = Inquiry(session.jobs, self)
        self.work = WorkLine("Vocabulary", theme, _PHASES, lambda: asked.progress, asked.cancel, asked.again)
        self.weights_note = paragraph_label("muted", "Weights do not change the figures of documents and dispersion.")
        self.weights_note.hide()
        self.body.addWidget(self.weights_note)
        self.body.addWidget(self.work)
        session.corpus.weights_changed.connect(self._show_work)
        asked.changed.connect(self._take_spread)
        session.exploring.changed.connect(self._forget_spread)
        self.table.columnsChosen.connect(self._ask_spread)
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
        self._ask_spread()
        self._show_token(scroll=False)
        self._count_matches()

    def leave(self) -> None:
        self.spreading.leave()
        self.work.rest()

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
        chosen = self.panel.chosen()
        if not chosen.isdisjoint(PLACES) and self.spreading.busy:
            return True
        return super().busy() or ("Unreachable" in chosen and self._session.reachability.busy)

    def selected_tokens(self) -> list[int]:
        """The ids of the selected rows, while the pane is seen."""
        rows = self.table.selected_rows() if self.seen and self._tokens.run is self._session.runs.active else []
        return [token for each in rows if (token := self._tokens.token_at(each)) is not None]

    def written(self) -> WrittenTable | None:
        """The listed rows with the figures of the corpus, as a table that can be written; None while none is shown."""
        spread, model = self._tokens.spread, self._tokens
        return None if spread is None or not model.chosen else written(spread, model.listed_ids())

    # ---- where in the corpus the tokens are

    def _ask_spread(self) -> None:
        """Asks where the tokens are, if a column or a filter needs it and the tokenizer is that of the exploration."""
        exploration, needed = self._exploring.exploration, self._tokens.needs_spread
        fits = self._exploring.place == (self._tokens.run, self._tokens.playhead)
        if not self.seen or not needed or exploration is None or exploration.tokenizer is None or not fits:
            if not self.spreading.busy or not needed:
                self.spreading.forget()
            self._show_work()
            return
        with_lines = MOSTLY_REPEATED in self.panel.chosen()
        self.spreading.ask((exploration, with_lines), partial(spread_work, exploration, with_lines))

    def _take_spread(self) -> None:
        answer, (run, playhead) = self.spreading.answer, self._exploring.place
        if isinstance(answer, Spread) and answer.exploration is self._exploring.exploration:
            self._tokens.show_spread(answer, run, playhead)
            self.table.refit()
        self._show_work()
        self._count_matches()

    def _forget_spread(self) -> None:
        """Follows another exploration; what is known of the last is released at once."""
        self._tokens.show_spread(None)
        self.spreading.forget()
        self._ask_spread()

    def _show_work(self) -> None:
        problem, corpus = self.spreading.problem, self._session.corpus
        weighted = self._tokens.spread is not None and set(corpus.weights) != {ONCE}
        self.weights_note.setVisible(weighted and self._tokens.needs_spread)
        if self._tokens.needs_spread and self._tokens.run is not None:
            problem = problem or self._exploring.problem
        self.work.show_state(self.spreading.busy, problem, can_retry=self.spreading.can_retry)

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
        in_places = not panel.chosen().isdisjoint(PLACES)
        if in_places and not self._in_places:
            # What the tokens are chosen by; junk comes first.
            self.table.show_columns(TOP, BUNCHED)
            self.table.sortByColumn(BUNCHED, Qt.SortOrder.DescendingOrder)
        self._in_places = in_places
        tokens.set_choice(panel.chosen(), panel.lengths())
        self._ask_spread()
        self.table.verticalScrollBar().setValue(0)

    def _sorted(self) -> None:
        # After sorting, the user wants to see the first rows.
        self.stay()
        self.table.verticalScrollBar().setValue(0)
