"""Finds tokens of the active run while the user types, fills the list, and shows the chosen token.

See also `find_box.py` for the field and its list, and `search.py` for the order of the results.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal

from tokstudio.core.analysis.token_index import HEAD, Texts, TokenIndex
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import several
from tokstudio.gui.find.find_box import FindBox, FoundModel
from tokstudio.gui.session.availability import are_specials_off, not_in_text
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.query import Query
from tokstudio.gui.token_table.search import RowsJob, TokenSearch

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- Finds tokens by the text typed into Find, the best first ---------------------------------------------------------
# See also `state/token_index.py`.

MOST = 200  # the most results

# The space before a word, and SentencePiece's sign for it.
_SPACES = (b" ", "▁".encode())


def search_work(
    index: TokenIndex, text: str, ids: NDArray[np.int32], slot_of_id: int, most: int = MOST
) -> Work[list[int]]:
    """Finds tokens by the typed text, the best first.

    The order: equal to the text; the token with that id; equal to the bytes; the text after a space; equal except for
    case; the byte of two hexadecimal digits; beginning with the text, after a space or not; containing it. Ties are
    ordered by id. Bytes respect case.

    `ids` has the id of each slot; `slot_of_id` is the slot of the token with the typed id, -1 for none. Returns slots.
    """
    query, lengths = Query(text), index.made.lengths
    spelled, raw = {one for one in query.spellings if one}, query.raw
    after_space = {space + one for one in spelled for space in _SPACES}
    wanted = dict.fromkeys((one.lower(), index.small) for one in (*query.spellings, *query.cases) if one)
    begun = [*wanted, *((space + one, row) for one, row in wanted for space in _SPACES)]
    if raw:
        wanted[raw, index.raw] = None
        begun.append((raw, index.raw))
    search = yield from _long_work(index, list(wanted), max([len(one) for one, _ in begun], default=0))
    rows = [(len(one), _beginning(index, row, one, search)) for one, row in begun]
    whole = np.concatenate([np.empty(0, np.int64), *(slots[lengths[slots] == size] for size, slots in rows)])
    longer = np.concatenate([np.empty(0, np.int64), *(slots[lengths[slots] > size] for size, slots in rows)])
    alike = _by_id(whole, ids, len(whole))
    # Tokens as long as a spelling are compared as a whole here.
    bytes_of = index.heads.__getitem__ if search is None else search.beginning
    slots_found = dict.fromkeys(slot for slot in alike if bytes_of(slot) in spelled)
    if 0 <= slot_of_id < len(index):
        slots_found[slot_of_id] = None
    slots_found.update(dict.fromkeys(slot for slot in alike if bytes_of(slot) == raw))
    slots_found.update(dict.fromkeys(slot for slot in alike if bytes_of(slot) in after_space))
    slots_found.update(dict.fromkeys(alike))
    if query.byte is not None:
        slots = _beginning(index, index.raw, query.byte, search)
        slots_found.update(dict.fromkeys(_by_id(slots[lengths[slots] == 1], ids, most)))
    slots_found.update(dict.fromkeys(_by_id(longer, ids, most)))
    if len(slots_found) < most:
        inside = set[int]()
        for one, row in wanted:
            yield Progress("searching tokens")
            inside.update(np.flatnonzero(row.holding(one))[: most + len(slots_found)].tolist())
        if search is not None:
            inside.update(index.long[np.frombuffer(search.found, np.bool_)[index.long]].tolist())
        slots_found.update(dict.fromkeys(_by_id(np.array(sorted(inside), np.int64), ids, len(inside))))
    return list(slots_found)[:most]


def _long_work(index: TokenIndex, wanted: list[tuple[bytes, Texts]], longest: int) -> Work[TokenSearch | None]:
    """Finds the long tokens that contain something, by all of their bytes; None if there are no long tokens."""
    if not len(index.long) or not wanted:
        return None
    small = [one for one, row in wanted if row is index.small]
    exact = [one for one, row in wanted if row is index.raw]

    def accepts(raw: bytes) -> bool:
        lower = raw.lower()
        return any(one in lower for one in small) or any(one in raw for one in exact)

    search = TokenSearch(accepts, longest, index)
    for _ in search.go_on_long():
        yield Progress("searching tokens")
    return search


def _by_id(slots: NDArray[np.int64], ids: NDArray[np.int32], most: int) -> list[int]:
    slots = np.unique(slots)
    return slots[np.argsort(ids[slots], kind="stable")[:most]].tolist()


def _beginning(index: TokenIndex, row: Texts, wanted: bytes, search: TokenSearch | None) -> NDArray[np.int64]:
    """The tokens that begin with some bytes, or equal them."""
    slots = row.beginning(wanted[:HEAD])
    if len(wanted) <= HEAD or search is None:
        return slots
    begins = ((slot, search.beginning(slot)) for slot in slots.tolist())
    small = row is index.small
    return np.array([s for s, one in begins if (one.lower() if small else one).startswith(wanted)], np.int64)


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
        return f"No token has the id {number:,}; the vocabulary has {several(tokens, 'token')}."
    return "No token contains this."
