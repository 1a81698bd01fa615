"""The Vocabulary pane: every token that exists at the playhead. Its rows are `models/vocabulary.py`'s."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QToolButton

from tokstudio.gui.models.kinds import KIND_FILTERS
from tokstudio.gui.models.query import Query
from tokstudio.gui.models.vocabulary import VocabularyModel
from tokstudio.gui.panes.table_pane import TablePane
from tokstudio.gui.session import Session
from tokstudio.gui.theme import Theme

_EMPTY = (
    "The tokens of the vocabulary are listed here: what each is made of, and how often it stands in the corpus. "
    "Train a tokenizer, or open one."
)


class VocabularyPane(TablePane):
    """All tokens at the playhead, in any order, filtered by text and kind.

    Args:
        session: The studio's state.
        theme: Its looks.
        actions: The window's actions by id: `export_vocabulary_csv` and `byte_level_characters`.
    """

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        self._tokens = VocabularyModel()
        super().__init__("vocabulary", "Vocabulary", session, theme, self._tokens, _EMPTY)
        self._tokens.setParent(self)
        self.follow(actions["byte_level_characters"])
        self.kinds = QComboBox()
        self.kinds.addItems(KIND_FILTERS)
        self.kinds.setAccessibleName("Kind of tokens")
        self.kinds.setToolTip("Which kind of tokens to list")
        self.kinds.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.header.addWidget(self.kinds)
        export = QToolButton()
        export.setDefaultAction(actions["export_vocabulary_csv"])
        export.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        export.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        export.setAccessibleName("Export the vocabulary as CSV")
        self.header.addWidget(export)
        self.table.sort_by_columns()

        self.table.horizontalHeader().sortIndicatorChanged.connect(self._sorted)
        self.kinds.currentIndexChanged.connect(self._set_kind)
        self._tokens.matches_changed.connect(self.show_matches)
        session.runs_changed.connect(self._runs_changed)
        session.playhead_changed.connect(self._playhead_changed)
        self.catch_up()

    def catch_up(self) -> None:
        """Shows the active run as it is now."""
        session = self._session
        if session.active is not self._tokens.run:
            self._tokens.set_run(session.active, session.playhead)
            self.table.verticalScrollBar().setValue(0)
            self.table.refit()
        else:
            self._tokens.set_playhead(session.playhead)
        self._show_token(scroll=False)
        self._count_matches()

    def total(self) -> int:
        """How many tokens there are at the playhead."""
        return self._tokens.size

    def filtered(self) -> bool:
        """Whether not all tokens are shown."""
        return super().filtered() or self._tokens.kind != "All"

    def apply_filter(self, query: Query) -> None:
        """Hands the filter to the model."""
        self._tokens.set_query(query)

    # ---- the session

    def _runs_changed(self) -> None:
        # A run that is gone is let go of at once, seen or not.
        if self.seen or self._tokens.run not in self._session.runs:
            self.catch_up()

    def _playhead_changed(self) -> None:
        if self.seen and self._session.active is self._tokens.run:
            self._tokens.set_playhead(self._session.playhead)
            # The token may have gone, or have come back.
            self._show_token(scroll=False)

    def _set_kind(self, index: int) -> None:
        self._tokens.set_kind(KIND_FILTERS[index])
        self.table.verticalScrollBar().setValue(0)

    def _sorted(self) -> None:
        # Who sorts wants to see what comes first.
        self.table.verticalScrollBar().setValue(0)
