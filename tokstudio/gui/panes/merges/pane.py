"""The Merges pane: the live log of merges, the newest first. See also `model`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtGui import QAction

from tokstudio.gui.panes.merges.merge_query import CHOOSER_HINT, REMOVAL_HINT, MergeQuery
from tokstudio.gui.panes.merges.model import MergesModel
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.query import FILTER_HINT, Query
from tokstudio.gui.token_table.token_table_pane import TablePane
from tokstudio.gui.widgets.labels import plain_label

_EMPTY = "Merges appear here as they are made, each with its two tokens and their count."
# For what another library trains.
_AT_THE_END = "Merges appear here when the {} library has trained: it makes them all at once."
_NONE = "{} has no merges: its tokens appear in Vocabulary when the {} library has trained."
_HINTS = {"parity": CHOOSER_HINT, "picky": REMOVAL_HINT}  # by algorithm
_MOST_DIGITS = 18  # of the number of a merge; Python refuses thousands
_DERIVED = "Merges derived from the file's {}."


class MergesPane(TablePane):
    """All merges of the active run; Enter or a double click moves the playhead there."""

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        self._merges = MergesModel(session.indexing)
        super().__init__("merges", "Merges", session, theme, self._merges, _EMPTY)
        self._merges.setParent(self)
        self.derived = plain_label("muted")
        self.derived.setContentsMargins(8, 0, 8, 0)
        self.derived.hide()
        self.body.insertWidget(0, self.derived)
        self.follow(actions["byte_level_characters"])
        self._merges.matches_changed.connect(self.show_matches)
        self._merges.failed.connect(self.search_failed)
        self.table.rowActivated.connect(self._go_to)
        self.offer(actions["why_merge"], actions["copy"])
        session.runs.changed.connect(self._runs_changed)
        session.training.settings_changed.connect(self._settings_changed)
        session.training.merges_added.connect(self._merges_added)
        session.view.playhead_changed.connect(self._playhead_changed)
        self.catch_up()

    def catch_up(self) -> None:
        """Shows the current state of the active run."""
        run, playhead = self._session.runs.active, self._session.view.playhead
        if run is not self._merges.run:
            self._merges.set_run(run, playhead)
            self.table.verticalScrollBar().setValue(0)
            self.table.refit()
            config = None if run is None else run.config
            hint = "" if config is None else _HINTS.get(config.algorithm, "")
            self.filter.setToolTip(f"{FILTER_HINT} {hint}".rstrip())
            source = run.merges_derived_from if run is not None else ""
            self.derived.setText(_DERIVED.format(source))
            self.derived.setVisible(bool(source))
        else:
            self._merges.grow()
            self._merges.set_playhead(playhead)
        self.empty.label.setText((run.why_no_merges if run is not None else "") or self._before_training())
        self.choose_page()
        self._show_token(scroll=False)

    def _before_training(self) -> str:
        """What will be shown here after a training with the settings of Configure."""
        config = self._session.training.settings.library_config
        if config is None:
            return _EMPTY
        if config.algorithm == "sentencepiece-bpe":
            return _AT_THE_END.format(config.library)
        return _NONE.format(config.title, config.library)

    def total(self) -> int:
        """The number of merges."""
        return len(self._session.runs.active) if self._session.runs.active is not None else 0

    def make_query(self, text: str) -> Query:
        """The filter for a text."""
        return MergeQuery(text)

    def apply_filter(self, query: Query) -> None:
        """Passes the filter to the model."""
        self._merges.set_query(query)

    def arrive(self, part: str) -> None:
        """Scrolls to the merge of a number."""
        self.catch_up()
        row = self._merges.row_of_number(int(part)) if part.isdecimal() and len(part) <= _MOST_DIGITS else -1
        if row >= 0:
            self.table.show_row(row)
            self.table.reveal(row)

    # ---- the session

    def _runs_changed(self) -> None:
        # A deleted run is released at once, even in a hidden pane.
        if self.seen or self._merges.run not in (None, *self._session.runs.shown):
            self.catch_up()

    def _settings_changed(self) -> None:
        if self.seen and self._session.runs.active is None:
            self.catch_up()

    def _merges_added(self) -> None:
        if self.seen:
            self._merges.grow()
            self._merges.set_playhead(self._session.view.playhead)
            self.choose_page()

    def _playhead_changed(self) -> None:
        session = self._session
        if not self.seen or session.runs.active is not self._merges.run:
            return
        self._merges.set_playhead(session.view.playhead)
        # At the end of a growing run, the playhead moves by itself: then the rows stay still.
        if session.training.state == "idle" or session.view.playhead < self.total():
            row = self._merges.row_of_number(session.view.playhead)
            if row >= 0:
                self.table.reveal(row)

    def _go_to(self, row: int) -> None:
        self._session.view.set_playhead(self._merges.number_at(row))
