"""The results of Find as rows, in the order of `search.py`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QObject

from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.run_tokens import KINDS
from tokstudio.gui.token_table.model import Index, TokenCell, TokenColumn, TokenTable
from tokstudio.gui.token_text.spelling import copied, figure, marked

_TOKEN, _ORIGIN, _ID = range(3)
_COPIED_BYTES = 4096
_NOT_YET, _REMOVED = "not yet", "removed"
_NO_INDEX = QModelIndex()


class FoundModel(TokenTable):
    """A token in each row, with its merge; tokens that are not there at the playhead are dimmed, and say so."""

    columns = (
        TokenColumn("Token", "token", "The token as text, or as bytes if it is not text", 5, 8),
        TokenColumn("Made by", "words", "The merge that made it, or its kind", muted=True),
        TokenColumn("Id", "number", "Number of the token in the tokenizer's output"),
    )

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.playhead = 0
        self._slots: list[int] = []

    def set_run(self, run: StudioRun | None) -> None:
        """Sets the run and clears the list."""
        self.beginResetModel()
        self.hold(run)
        self._slots = []
        self.endResetModel()

    def set_slots(self, slots: Sequence[int]) -> None:
        """Lists tokens."""
        with self.changes():
            self.beginResetModel()
            self._slots = list(slots)
            self.endResetModel()

    def set_playhead(self, merges: int) -> None:
        """Sets which tokens exist."""
        if merges != self.playhead:
            self.playhead = merges
            if self._slots:
                self.dataChanged.emit(self.index(0, 0), self.index(len(self._slots) - 1, _ID))

    def merge_of(self, slot: int) -> int:
        """The number of the merge that makes a token; 0 for one without a merge."""
        return max(slot - self.tokens.first + 1, 0) if self.tokens is not None else 0

    def slot_at(self, row: int) -> int:
        """The slot of the token in a row."""
        return self._slots[row]

    def slots_between(self, top: int, bottom: int) -> list[int]:
        """The slots of some rows."""
        return self._slots[top : bottom + 1]

    def row_of(self, slot: int) -> int:
        """The row of a token; -1 if it is not listed."""
        return self._slots.index(slot) if slot in self._slots else -1

    def cell(self, row: int, column: int) -> TokenCell:
        """The content of a cell."""
        slot = self._slots[row]
        assert self.tokens is not None
        absent = self._absence(slot)
        if column == _TOKEN:
            token = self.shown(slot)
            return TokenCell(marked(token), (token,), bool(absent), special=self.tokens.kind_of(slot) == "special")
        if column == _ID:
            return TokenCell(f"id {self.tokens.id_of(slot):,}", dimmed=bool(absent))
        number = self.merge_of(slot)
        words = f"merge {number:,}{absent and f', {absent}'}" if number else self.tokens.kind_of(slot)
        return TokenCell(words, dimmed=bool(absent))

    def _absence(self, slot: int) -> str:
        """Why a token is not there at the playhead; "" if it is."""
        number = self.merge_of(slot)
        if number > self.playhead:
            return _NOT_YET
        return (
            _REMOVED if number and self.run is not None and self.run.removals.is_absent(number, self.playhead) else ""
        )

    def copied_slot(self, slot: int) -> str:
        """The row of a token for the clipboard."""
        assert self.tokens is not None
        origin = str(self.merge_of(slot) or self.tokens.kind_of(slot))
        return "\t".join((copied(self.tokens.head(slot, _COPIED_BYTES)), origin, str(self.tokens.id_of(slot))))

    def widest(self, column: int) -> str:
        """A text as wide as the longest of a column."""
        number = figure(max(len(self.tokens), 1000)) if self.tokens is not None else "0,000"
        if column == _ID:
            top = int(self.tokens.ids.max(initial=0)) if self.tokens is not None and not self.tokens.ids_ascend else 0
            return f"id {max(number, figure(top), key=len)}"
        return max(f"merge {number}, {_NOT_YET}", *KINDS, key=len)

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        """The number of listed tokens; 0 below a row."""
        return 0 if parent.isValid() else len(self._slots)
