"""Finds tokens of the active run while the user types, fills the list, and shows the chosen token.

See also `find_box.py` for the field and its list, and `search.py` for the order of the results.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from tokstudio.core.base.progress import Work
from tokstudio.gui.find.find_box import FindBox
from tokstudio.gui.find.results_model import FoundModel
from tokstudio.gui.find.search import MOST, search_work
from tokstudio.gui.session.availability import are_specials_off, not_in_text
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.query import Query
from tokstudio.gui.token_table.rows_job import RowsJob

_NO_RUN = "Train a tokenizer first, or open one."
_READING = "Reading the vocabulary…"
_SEARCHING = "Searching…"
_BUSY_AFTER = 100  # milliseconds before a running search is shown


class Finder(QObject):
    """The controller of the Find field."""

    message = Signal(str)  # a sentence for the status bar
    found = Signal()  # the user chose a token of the list, which is now the target

    def __init__(self, session: Session, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.model = FoundModel(self)
        self.box = FindBox(theme, self.model)
        self._wanted = False  # whether to list the results
        self._entered = False  # whether to show the first token when it is found
        self._searching = RowsJob(session.indexing, self, quiet=True)
        self._searching.done.connect(self._take_found)
        self._searching.failed.connect(session.jobs.report)
        self._busy = QTimer(self, singleShot=True, interval=_BUSY_AFTER)
        self._busy.timeout.connect(self._say_busy)
        self.box.asked.connect(self._ask)
        self.box.entered.connect(self._enter)
        self.box.chosen.connect(self._choose)
        self.box.dismissed.connect(self._dismiss)
        self.box.left.connect(self._searching.cancel)
        session.runs.changed.connect(self._follow_run)
        session.view.playhead_changed.connect(self._follow_playhead)
        session.view.target_changed.connect(self._show_occurrence)
        session.view.occurrences_changed.connect(self._show_occurrence)
        self._follow_run()

    def begin(self) -> None:
        """Moves the focus to the field, and makes the index."""
        self.box.take_keyboard()
        if self._session.runs.active is not None:
            self._session.indexing.ask(self._session.runs.active.tokens)

    def _follow_run(self) -> None:
        run = self._session.runs.active
        if run is not self.model.run:
            self._searching.cancel()
            self._wanted = False
            self.box.close_list()
            self.model.set_run(run)

    def _follow_playhead(self) -> None:
        self.model.set_playhead(self._session.view.playhead)

    # ---- finding

    def _ask(self, text: str) -> None:
        self._wanted, self._entered = bool(text), False
        self._searching.cancel()
        self._show_occurrence()
        if not text:
            self.box.close_list()
            # Without the text, nothing explains the marks in the text pane.
            self._session.view.set_target(None)
            return
        if self._session.runs.active is None:
            self.model.set_slots(())
            self.box.show_found(_NO_RUN)
            return
        self._search()

    def _search(self) -> None:
        """Starts a search; the earlier results stay until it ends."""
        tokens, text = self.model.tokens, self.box.text()
        if tokens is None or not text:
            return
        if not tokens.run.ready:
            self.model.set_slots(())
            self.box.show_found(_READING)
            return

        def work() -> Work[list[int]]:
            number = Query(text).number
            assert tokens.index is not None
            return search_work(tokens.index, text, tokens.ids, -1 if number is None else tokens.slot_of(number))

        self._searching.run(tokens, work, indexed=True)
        self._busy.start()

    def _say_busy(self) -> None:
        if self._searching.busy:
            self.model.set_slots(())
            self.box.show_found(_READING if self._searching.waiting else _SEARCHING, final=False)
            if self._searching.waiting:
                self._busy.start()

    def _take_found(self, slots: list[int]) -> None:
        self._list(slots)
        if self._entered and slots:
            self.box.close_list()
            self._choose(0)

    def _list(self, slots: list[int]) -> None:
        """Shows the results."""
        tokens = self.model.tokens
        if tokens is None:
            return
        self.model.set_playhead(self._session.view.playhead)
        self.model.set_slots(slots)
        note = "" if slots else _nothing(Query(self.box.text()).number, len(tokens.ids))
        if len(slots) == MOST:
            note = f"The first {MOST}; type more to see fewer."
        self.box.show_found(note)

    def _choose(self, row: int) -> None:
        tokens, run = self.model.tokens, self.model.run
        if tokens is None or not 0 <= row < self.model.rowCount():
            return
        self._wanted = False
        slot = self.model.slot_at(row)
        self._session.view.set_target(tokens.id_of(slot))
        self.found.emit()
        if not self._session.view.occurrences[0]:
            self._session.view.go_to_occurrence(1)
        merge = self.model.merge_of(slot)
        if merge > self._session.view.playhead:
            self.message.emit(f"This token does not exist at the playhead yet: merge {merge:,} makes it.")
        elif merge and run is not None and run.removals.is_absent(merge, self._session.view.playhead):
            removed_by = run.removals.removed_by(tokens.id_of(slot))
            why = "another has its bytes" if removed_by is None else f"merge {removed_by:,} removed it"
            self.message.emit(f"This token is not in the vocabulary at the playhead: {why}.")
        elif self._session.view.text and not self._session.view.occurrences[1]:
            self.message.emit(not_in_text(self._session))

    def _enter(self) -> None:
        if self._searching.busy:
            self._entered = True
        elif self._session.view.occurrences[1]:
            self._session.view.go_to_occurrence(1)
        else:
            self._ask(self.box.text())

    def _dismiss(self) -> None:
        self._wanted = False
        self._searching.cancel()
        self._session.view.set_target(None)

    def _show_occurrence(self) -> None:
        place, places = self._session.view.occurrences
        # There is no message on earlier results while the text changes.
        if self._wanted or self._session.view.target is None or not self._session.view.text:
            self.box.show_occurrence("")
        elif place:
            self.box.show_occurrence(f"{place:,} of {places:,}")
        else:
            off = not places and are_specials_off(self._session)
            self.box.show_occurrence("special tokens off" if off else f"{places:,} in text")


def _nothing(number: int | None, tokens: int) -> str:
    """Why there are no results."""
    if number is not None:
        return f"No token has the id {number:,}; there are {tokens:,} tokens."
    return "No token contains this."
