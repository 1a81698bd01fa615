"""The merges of a run as rows, the newest first; grows while it trains. Filtered by what tokens hold."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator

import numpy as np
from PySide6.QtCore import QModelIndex, QObject

from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.token_table.model import Cell, Column, Index, TokenTable
from tokstudio.gui.token_table.query import Query
from tokstudio.gui.token_table.search import TokenSearch, search_of
from tokstudio.gui.token_text.spelling import copied, figure, marked
from tokstudio.gui.widgets.sliced_work import Slices

_NUMBER, _TOKEN, _LEFT, _RIGHT, _COUNT, _AFTER, _RATIO = range(7)
_COPIED_BYTES = 4096
_NO_INDEX = QModelIndex()


class MergesModel(TokenTable):
    """Row 0 is the newest merge. Merges are numbered from 1; those after the playhead are dimmed, its own is marked."""

    columns = (
        Column("#", "number", "Number of the merge"),
        Column("Token", "token", "The token that was made", 5, 8),
        Column("Left", "token", "Its left part", 3, 5, muted=True),
        Column("Right", "token", "Its right part", 3, 5, muted=True),
        Column("Count", "number", "How often the pair occurred when it was chosen"),
        Column("Tokens after", "number", "Tokens in the corpus after this merge", yields=1, muted=True),
        Column("Bytes/token", "number", "Bytes per token of the corpus after this merge", yields=2, muted=True),
    )

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.query = Query("")
        self.playhead = 0
        self._size = 0
        self._scanned = 0
        self._found = array("i")
        self._search: TokenSearch | None = None
        self._slices = Slices(self)

    # ---- what is shown

    def set_run(self, run: StudioRun | None, playhead: int = 0) -> None:
        """Shows the merges of a run."""
        with self.changes():
            self.beginResetModel()
            self.hold(run)
            self.playhead = playhead
            self._restart()
            self.endResetModel()
        self._scan()

    def set_query(self, query: Query) -> None:
        """Shows the rows that pass, as they are found; an empty query shows all."""
        with self.changes():
            self.beginResetModel()
            self.query = query
            self._restart()
            self.endResetModel()
        self._scan()

    def grow(self) -> None:
        """Shows the merges that the run has got since."""
        if self.run is None:
            return
        if self.query:
            if not self._slices.running:
                self._scan()
        elif len(self.run) > self._size:
            with self.changes():
                self.beginInsertRows(QModelIndex(), 0, len(self.run) - self._size - 1)
                self._size = len(self.run)
                self.endInsertRows()

    def set_playhead(self, merges: int) -> None:
        """Moves the border between what is made and what is dimmed."""
        before, self.playhead = self.playhead, merges
        rows = self.rowCount()
        if before == merges or not rows:
            return
        first = self._first_row_up_to(max(before, merges))
        last = min(self._first_row_up_to(min(before, merges)), rows - 1)
        if first <= last:
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(self.columns) - 1))

    @property
    def searching(self) -> bool:
        """Whether a filter still goes through the merges."""
        return self._slices.running

    def number_at(self, row: int) -> int:
        """The number of the merge in a row."""
        return self._found[-1 - row] + 1 if self.query else self._size - row

    def row_of_number(self, number: int) -> int:
        """The row of a merge; -1 where it is not shown."""
        row = self._first_row_up_to(number)
        return row if number > 0 and row < self.rowCount() and self.number_at(row) == number else -1

    def slot_at(self, row: int) -> int:
        """The slot of the token that was made."""
        return self._first + self.number_at(row) - 1

    def slots_between(self, top: int, bottom: int) -> list[int]:
        """The slots of some rows."""
        if self.query:
            return [self.slot_at(row) for row in range(top, bottom + 1)]
        return list(range(self.slot_at(top), self.slot_at(bottom) - 1, -1))

    def row_of(self, slot: int) -> int:
        """The row of the merge that made a token."""
        return self.row_of_number(slot - self._first + 1)

    def may_list(self, slot: int) -> bool:
        """Whether a merge has made the token."""
        return self._first <= slot < self._first + self._size

    def cell(self, row: int, column: int) -> Cell:
        """What is drawn there."""
        number = self.number_at(row)
        text, tokens = "", ()
        if column in (_TOKEN, _LEFT, _RIGHT):
            tokens = (self.shown(self._slot(number, column)),)
            text = marked(tokens[0])
        elif column == _NUMBER:
            text = f"{number:,}"
        else:
            text = self._figure(number, column)
        return Cell(text, tokens, number > self.playhead, number == self.playhead)

    def copied_slot(self, slot: int) -> str:
        """The row of a token for the clipboard: numbers without separators, tokens as `copied` writes them."""
        assert self.run is not None
        assert self.tokens is not None
        number = slot - self._first + 1
        slots = [self._slot(number, column) for column in (_TOKEN, _LEFT, _RIGHT)]
        texts = [copied(self.tokens.head(slot, _COPIED_BYTES)) for slot in slots]
        figures = ["", "", ""]
        if self.run.has_counts:
            count, after = int(self.run.log.count[number - 1]), self.run.log.tokens_at(number)
            figures = [str(count), str(after), f"{self.run.bytes_per_token(number):.4f}"]
        return "\t".join([str(number), *texts, *figures])

    def widest(self, column: int) -> str:
        """The longest number of a column, or one as long."""
        run = self.run
        if run is None or not len(run):
            return "0,000"
        if column == _NUMBER:
            return figure(len(run))
        if not run.has_counts:
            return "–"
        if column == _RATIO:
            return f"{run.bytes_per_token(len(run)):,.3f}"
        # Counts and tokens only fall, so the first is the longest.
        return figure(run.log.tokens_at(0) if column == _AFTER else int(run.log.count[0]))

    # ---- Qt's own

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        """How many merges are shown; below a row none."""
        if parent.isValid():
            return 0
        return len(self._found) if self.query else self._size

    # ---- private

    @property
    def _first(self) -> int:
        """The slot of the first merge."""
        return self.tokens.first if self.tokens is not None else 0

    def _slot(self, number: int, column: int) -> int:
        slot = self._first + number - 1
        if column == _TOKEN:
            return slot
        assert self.tokens is not None
        parts = self.tokens.parts_of(slot)
        assert parts is not None
        return parts[column - _LEFT]

    def _figure(self, number: int, column: int) -> str:
        run = self.run
        if run is None or not run.has_counts:
            return "–"
        if column == _COUNT:
            return f"{int(run.log.count[number - 1]):,}"
        return f"{run.log.tokens_at(number):,}" if column == _AFTER else f"{run.bytes_per_token(number):,.3f}"

    def _first_row_up_to(self, number: int) -> int:
        """The first row whose merge has at most this number."""
        if self.query:
            return len(self._found) - bisect_left(self._found, number)
        return min(max(self._size - number, 0), self._size)

    def _restart(self) -> None:
        self._slices.stop()
        self._scanned, self._found, self._search = 0, array("i"), None
        self._size = len(self.run) if self.run is not None else 0

    def _scan(self) -> None:
        if self.query and self.run is not None:
            self._size = len(self.run)
            self._slices.start(self._scan_steps(), self.matches_changed.emit)
        self.matches_changed.emit()

    def _scan_steps(self) -> Iterator[None]:
        tokens = self.tokens
        assert tokens is not None
        yield from tokens.gather()
        while self._scanned < len(tokens.heads) - tokens.first:
            self._search = self._search or search_of(self.query, tokens)
            for _ in self._search.go_on():
                self._take_found(self._search.found)
                yield
            yield from tokens.gather()

    def _take_found(self, passes: bytearray) -> None:
        """Takes over which tokens have been found since, by slot."""
        assert self.tokens is not None
        first, end = self._scanned, len(passes) - self._first
        if end <= first:
            return
        slots = slice(self._first + first, self._first + end)
        fits = np.frombuffer(passes[slots], np.bool_) & self.query.within(self.tokens.lengths()[slots])
        found = (np.flatnonzero(fits) + first).tolist() + self._numbered(self.query, first, end)
        self._scanned = end
        if found:
            self._add(sorted(set(found)))

    def _numbered(self, query: Query, first: int, end: int) -> list[int]:
        if query.number is None or self.tokens is None:
            return []
        ranks = (query.number - 1, self.tokens.slot_of(query.number) - self._first)
        lengths = self.tokens.lengths()[self._first :]
        return [rank for rank in ranks if first <= rank < end and query.within(lengths[rank : rank + 1])[0]]

    def _add(self, ranks: list[int]) -> None:
        with self.changes():
            self.beginInsertRows(QModelIndex(), 0, len(ranks) - 1)
            self._found.extend(ranks)
            self.endInsertRows()
