"""Finds a token of the active run as one types: keeps the index, fills the list, and shows what was chosen.

The field and its list are `find_box.py`; what is marked and brought into sight, the panes know.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import time

from PySide6.QtCore import QObject, Signal

from tokstudio.gui.find.find_box import FindBox
from tokstudio.gui.find.index import MOST, FindIndex, index_work, search_work
from tokstudio.gui.find.results_model import FoundModel
from tokstudio.gui.session.availability import are_specials_off, not_in_text
from tokstudio.gui.session.latest_job import LatestJob
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.query import Query

_NO_RUN = "Train a tokenizer first, or open one."
_READING = "Reading the vocabulary…"
_SEARCHING = "Searching…"
_AT_ONCE = 0.02  # seconds before a search is left to a job: long tokens may take long
_MUCH = 1 << 24  # bytes of an index that no step of a search at once may go through


class Finder(QObject):
    """What the field in the toolbar does.

    Args:
        session: The studio's state.
        theme: Its looks.
        parent: The owner.

    Attributes:
        box: The field.
        said: A sentence for the status line.
    """

    said = Signal(str)

    def __init__(self, session: Session, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.model = FoundModel(self)
        self.box = FindBox(theme, self.model)
        self._index: FindIndex | None = None
        self._wanted = False  # whether the list is to be shown when the index is there
        self._indexing = LatestJob(session.jobs, self, quiet=True)
        self._indexing.done.connect(self._take_index)
        self._indexing.failed.connect(session.jobs.report)
        self._entered = False  # whether the first token is to be shown when it is found
        self._searching = LatestJob(session.jobs, self, quiet=True)
        self._searching.done.connect(self._take_found)
        self._searching.failed.connect(session.jobs.report)
        self.box.asked.connect(self._ask)
        self.box.entered.connect(self._enter)
        self.box.chosen.connect(self._choose)
        self.box.dismissed.connect(self._dismiss)
        session.runs.changed.connect(self._follow_run)
        session.view.playhead_changed.connect(self._follow_playhead)
        session.view.target_changed.connect(self._show_place)
        session.view.occurrences_changed.connect(self._show_place)
        self._follow_run()

    def begin(self) -> None:
        """Puts the keyboard into the field, and makes the index ready."""
        self.box.take_keyboard()
        if self._session.runs.active is not None:
            self._prepare()

    # ---- the index

    def _follow_run(self) -> None:
        run = self._session.runs.active
        if run is not self.model.run:
            self._indexing.cancel()
            self._searching.cancel()
            self._index = None
            self._wanted = False
            self.box.close_list()
            self.model.set_run(run)

    def _follow_playhead(self) -> None:
        self.model.set_playhead(self._session.view.playhead)

    def _prepare(self) -> bool:
        """Whether the index has every token; else it is being made."""
        tokens = self.model.tokens
        if tokens is None or not tokens.run.ready:
            return False
        if self._index is not None and len(self._index) == len(tokens):
            return True
        if not self._indexing.busy:
            base, n, earlier = tokens.base, len(tokens.run), self._index
            # What is appended later lies behind what is read here.
            parts = tokens.parts_from(0, n)
            self._indexing.run(lambda: index_work(base, parts, earlier))
        return False

    def _take_index(self, index: FindIndex) -> None:
        self._index = index
        if self._wanted:
            self._search()

    # ---- finding

    def _ask(self, text: str) -> None:
        self._wanted, self._entered = bool(text), False
        self._searching.cancel()
        self._show_place()
        if not text:
            self.box.close_list()
            # Nothing says any more what the marks in the text are of.
            self._session.view.set_target(None)
            return
        if self._session.runs.active is None:
            self.model.set_slots(())
            self.box.show_found(_NO_RUN)
            return
        self._prepare()
        self._search()

    def _search(self) -> None:
        """Lists what is found so far: while a run grows, of the tokens that are in the index."""
        tokens, text = self.model.tokens, self.box.text()
        if tokens is None or not text:
            return
        if self._index is None:
            self.model.set_slots(())
            self.box.show_found(_READING)
            return
        number = Query(text).number
        slot = -1 if number is None else tokens.slot_of(number)
        index, ids = self._index, tokens.ids
        self._searching.cancel()
        work, until = search_work(index, text, ids, slot), time.perf_counter() + _AT_ONCE
        try:
            while len(index.exact.data) < _MUCH and time.perf_counter() < until:
                next(work)
        except StopIteration as end:
            self._list(end.value)
            return
        self.model.set_slots(())
        self.box.show_found(_SEARCHING)
        self._searching.run(lambda: work)

    def _take_found(self, slots: list[int]) -> None:
        if not self.box.popup.isVisible():
            # The person has left the list.
            return
        self._list(slots)
        if self._entered and slots:
            self.box.close_list()
            self._choose(0)

    def _list(self, slots: list[int]) -> None:
        """Shows what has been found."""
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
        tokens = self.model.tokens
        if tokens is None or not 0 <= row < self.model.rowCount():
            return
        self._wanted = False
        slot = self.model.slot_at(row)
        self._session.view.set_target(tokens.id_of(slot))
        if not self._session.view.occurrences[0]:
            self._session.view.go_to_occurrence(1)
        merge = self.model.merge_of(slot)
        if merge > self._session.view.playhead:
            self.said.emit(f"This token does not exist at the playhead yet: merge {merge:,} makes it.")
        elif self._session.view.text and not self._session.view.occurrences[1]:
            self.said.emit(not_in_text(self._session))

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

    def _show_place(self) -> None:
        place, places = self._session.view.occurrences
        # While something else is typed nothing is said of what was found before.
        if self._wanted or self._session.view.target is None or not self._session.view.text:
            self.box.show_place("")
        elif place:
            self.box.show_place(f"{place:,} of {places:,}")
        else:
            off = not places and are_specials_off(self._session)
            self.box.show_place("special tokens off" if off else f"{places:,} in text")


def _nothing(number: int | None, tokens: int) -> str:
    """Why nothing is found."""
    if number is not None:
        return f"No token has the id {number:,}; there are {tokens:,} tokens."
    return "No token contains this."
