"""The base of panes with a table of tokens: filter, notice, empty state, and the current token."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtGui import QAction

from tokstudio.core.analysis.token_index import HEAD
from tokstudio.core.base.errors import TokStudioError
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.filters import FilterEdit
from tokstudio.gui.token_table.model import TokenTable
from tokstudio.gui.token_table.query import FILTER_HINT, FilterQuery, Query
from tokstudio.gui.token_table.view import FollowTable
from tokstudio.gui.widgets.fields import restyle
from tokstudio.gui.widgets.labels import paragraph_label, plain_label
from tokstudio.gui.widgets.layouts import Fitting, stacked
from tokstudio.gui.widgets.menus import offer_actions
from tokstudio.gui.widgets.pane import EmptyState, Pane

_BUSY_AFTER = 150  # milliseconds before a running search is shown
_NOTICE_STAYS = 6000
_INSET = 8  # pixels beside the lines below the filter
_BY_BEGINNING = "For {:,} very long {}, only the first {} bytes were searched."
_NOTHING = "Nothing matches this filter."
_NOT_UNDERSTOOD = "Nothing is listed until the filter is valid."


class TablePane(Fitting, Pane):
    """A pane with a table, or a text where it is `empty`. Subclasses fill it and connect it to the session."""

    def __init__(self, key: str, title: str, session: Session, theme: Theme, model: TokenTable, empty: str) -> None:
        super().__init__(key, title)
        self._session = session
        self._query: Query = Query("")
        self.model = model
        self.table = FollowTable(model, theme, title)
        self.note = plain_label("muted")
        self.filter = FilterEdit(theme, f"Filter {title.lower()}", FILTER_HINT)
        self.header.addWidget(self.note)
        self.header.addWidget(self.filter)
        self.empty = EmptyState(empty)
        self._nothing = EmptyState(_NOTHING)
        self.wrong, self.limit = paragraph_label("error"), paragraph_label("muted")
        for label in (self.wrong, self.limit):
            label.setContentsMargins(_INSET, 0, _INSET, 0)
            label.hide()
        self.stack = stacked(self.empty, self.table, self._nothing)
        self.body.addWidget(self.wrong)
        self.body.addWidget(self.limit)
        self.body.addWidget(self.stack, 1)
        self.body.setContentsMargins(4, 0, 4, 4)
        self._notice = QTimer(self, singleShot=True)
        self._notice.timeout.connect(self._count_matches)
        self._busy = QTimer(self, singleShot=True, interval=_BUSY_AFTER)
        self._busy.timeout.connect(self._say_busy)

        self.filter.textChanged.connect(self._set_filter)
        self.filter.left.connect(self._go_to_table)
        self.table.rowChosen.connect(self._choose)
        # Also the row that is current already: the playhead may have been moved since that was chosen.
        self.table.pressed.connect(lambda index: self._choose(index.row()))
        self.table.copied.connect(self._say_copied)
        session.view.token_changed.connect(self._token_changed)
        # Whether to scroll to what is current, or to the target, when the pane becomes visible.
        self._to_follow = self._to_reveal = False
        self._awaited = False  # or when its rows are ready
        session.view.target_changed.connect(self._follow_found)
        session.runs.changed.connect(self._runs_changed)
        model.matches_changed.connect(self.show_matches)
        model.failed.connect(self.search_failed)

    def follow(self, characters: QAction) -> None:
        """Shows tokens in the byte-level alphabet while an action is checked."""
        self.model.set_in_characters(characters.isChecked())
        characters.toggled.connect(self.model.set_in_characters)

    def offer(self, *actions: QAction) -> None:
        """Adds actions to the context menu of the rows; the row below the pointer is selected first."""
        self.table.customContextMenuRequested.connect(self._choose_current)
        offer_actions(self.table, list(actions))

    def fit(self) -> None:
        """Puts the count below the filter where the two do not fit side by side."""
        items = [self.header.itemAt(place) for place in range(self.header.count())]
        parts = [item.widget() for item in items if item is not None]
        shown = [part for part in parts if part is not None and not part.isHidden() and part is not self.note]
        needed = sum(part.minimumSizeHint().width() + self.header.spacing() for part in (*shown, self.note))
        margins = self.header.contentsMargins()
        beside = needed + margins.left() + margins.right() <= self.width()
        if beside != (self.header.indexOf(self.note) >= 0):
            if beside:
                self.header.insertWidget(self.header.indexOf(self.filter), self.note)
            else:
                self.body.insertWidget(0, self.note)
        self.note.setContentsMargins(0 if beside else _INSET, 0, 0, 0)
        self.note.setVisible(beside or bool(self.note.text()))

    def focus_filter(self) -> None:
        """Moves the focus to the filter."""
        self.filter.setFocus()
        self.filter.selectAll()

    # ---- for the panes

    def current_row(self) -> int:
        """The row to see after a change while the pane was hidden: that of the chosen token; -1 for none."""
        return self.model.row_of_token(self._session.view.chosen)

    def filtered(self) -> bool:
        """Whether some rows are hidden."""
        return bool(self.filter.text())

    def total(self) -> int:
        """The number of rows without a filter."""
        raise NotImplementedError

    def apply_filter(self, query: Query) -> None:
        """Passes the filter to the model."""
        raise NotImplementedError

    def lift_filters(self) -> None:
        """Removes all filters."""
        self.filter.clear()

    def stay(self) -> None:
        """Cancels scrolling to the target: the user views something else."""
        self._awaited = False

    def busy(self) -> bool:
        """Whether rows are still being computed."""
        return self.model.searching

    def show_matches(self) -> None:
        """Shows how many rows pass, and keeps the current token selected."""
        self._show_token(scroll=False)
        self._count_matches()
        if self._awaited and not self.busy():
            self._reveal_found()

    def search_failed(self, error: Exception) -> None:
        """Says that the rows could not be computed."""
        if isinstance(error, TokStudioError):
            self.note.setText("The search was cancelled.")
        else:
            self._session.jobs.report(error)

    def choose_page(self) -> None:
        """Shows the table, or why there is none."""
        page = 0 if not self.total() else 1
        if page and self.filtered() and not self.model.rowCount() and not self.busy():
            page = 2
            self._nothing.label.setText(_NOT_UNDERSTOOD if self._query.error else _NOTHING)
        if self.stack.currentIndex() != page:
            self.stack.setCurrentIndex(page)

    def _runs_changed(self) -> None:
        # A deleted run is released at once, even in a hidden pane.
        if self.seen or self.model.run not in (None, *self._session.runs.shown):
            self.catch_up()

    def _see(self, seen: bool) -> None:
        super()._see(seen)
        if seen and self._to_follow:
            self._to_follow = False
            self.table.reveal(self.current_row())
        if seen and self._to_reveal:
            self._reveal_found()

    def make_query(self, text: str) -> Query:
        """Parses the text of the filter."""
        return FilterQuery(text)

    def _set_filter(self, text: str) -> None:
        self.stay()
        query = self._query = self.make_query(text)
        self._show_error()
        if query.error:
            # The rows stay until the expression is valid.
            self._count_matches()
            return
        self.apply_filter(query)
        self.table.verticalScrollBar().setValue(0)
        self._show_token(scroll=True)

    def _go_to_table(self) -> None:
        self.table.setFocus()
        if self.table.current_row < 0 and self.model.rowCount():
            self.table.setCurrentIndex(self.model.index(0, 0))

    def _choose(self, row: int) -> None:
        self._session.view.look_at(self.model.token_at(row))

    def _choose_current(self) -> None:
        if self.table.current_row >= 0:
            self._choose(self.table.current_row)

    def _token_changed(self) -> None:
        if self.seen and not self._session.view.hover:
            self._show_token(scroll=True)
        elif not self._session.view.hover:
            self._to_follow = True

    def _follow_found(self) -> None:
        self._to_reveal = self._session.view.target is not None
        if self.seen and self._to_reveal:
            self._reveal_found()

    def _reveal_found(self) -> None:
        """Scrolls to the row of the target; filters that hide it are removed."""
        self._to_reveal = self._awaited = False
        target = self._session.view.target
        if self.filtered() and self.model.is_hidden(target):
            self.lift_filters()
        row = self.model.row_of_token(target)
        # Rows come back, or into their order, step by step.
        self._awaited = target is not None and self.busy()
        self.table.show_row(row)
        self.table.reveal(row)

    def _show_token(self, scroll: bool) -> None:
        self.table.show_row(self.model.row_of_token(self._session.view.chosen), scroll=scroll)

    def _count_matches(self) -> None:
        self._notice.stop()
        if self._query.error:
            self._busy.stop()
            self._show_error()
        elif self.busy():
            # A quick search needs no message.
            if not self._busy.isActive():
                self._busy.start()
        else:
            self._busy.stop()
            self.note.setText(f"{self.model.rowCount():,} of {self.total():,}" if self.filtered() else "")
        self.fit()
        self._say_what_was_searched()
        self.choose_page()

    def _show_error(self) -> None:
        """Shows the error of the expression below the filter, where there is room for all of it."""
        error = self._query.error
        self.wrong.setText(error)
        self.wrong.setVisible(bool(error))
        if error:
            self.note.clear()
        restyle(self.filter, "invalid", bool(error))

    def _say_what_was_searched(self) -> None:
        """Says below the filter how many tokens were not searched in full."""
        few = self._query.by_beginning
        self.limit.setText(_BY_BEGINNING.format(few, "token" if few == 1 else "tokens", HEAD) if few else "")
        self.limit.setVisible(bool(few))

    def _say_busy(self) -> None:
        if self.busy():
            self.note.setText("Working…")

    def _say_copied(self, rows: int, selected: int) -> None:
        if rows < selected:
            self.note.setText(f"Copied the first {rows:,} of {selected:,} rows.")
            self._notice.start(_NOTICE_STAYS)
