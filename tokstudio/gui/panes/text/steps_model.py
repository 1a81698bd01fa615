"""The states of an encoding as rows: pre-tokens, base tokens, and a row for each merge or removal at all its places."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QModelIndex, QObject, Qt

from tokstudio.core.analysis.encoding_steps import Round, Rounds
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.token_table.model import Index, TokenCell, TokenColumn, TokenTable
from tokstudio.gui.token_text.spelling import copied, marked
from tokstudio.gui.widgets.labels import plain

_STEP, _MERGE, PARTS, _TOKEN, _PLACES = range(5)
_NO_INDEX = QModelIndex()
_COPIED_BYTES = 4096
_TIP_BYTES = 400


class RoundsModel(TokenTable):
    """Row k is state k; the current one is marked. The slot of a row is its number."""

    columns = (
        TokenColumn("Step", "number", "Number of the step, from 1"),
        TokenColumn("Merge", "number", "The number of the merge"),
        TokenColumn(
            "Left + right", "token", "The two tokens that it joins; dimmed, the token that was removed after it", 3, 7
        ),
        TokenColumn("Token", "token", "What they become; dimmed, what the removed token falls into", 2, 5),
        TokenColumn("Places", "number", "How many times it joins them here; for the first two steps, pieces", yields=1),
    )

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rounds: Rounds | None = None
        self._known: dict[int, Round] = {}
        self._current = -1
        self._pieces = (0, 0)

    def set_rounds(self, run: StudioRun | None, rounds: Rounds | None) -> None:
        """Shows the states of an encoding; None shows nothing."""
        with self.changes():
            self.beginResetModel()
            if run is not self.run:
                self.hold(run)
            self._rounds, self._known, self._current = rounds, {}, -1
            if rounds is not None:
                self._pieces = len(rounds.state(0)), len(rounds.state(1))
            self.endResetModel()

    def set_current(self, row: int) -> None:
        """Marks the current state."""
        before, self._current = self._current, row
        for one in (before, row):
            if 0 <= one < self.rowCount():
                self.dataChanged.emit(self.index(one, 0), self.index(one, _PLACES))

    def round(self, row: int) -> Round:
        """The step to the state in a row."""
        known = self._known.get(row)
        if known is None:
            assert self._rounds is not None
            known = self._known[row] = self._rounds.round(row)
        return known

    def token_at(self, row: int) -> int | None:
        """The id of the token that a row's merge makes; None for the first two rows."""
        return self.round(row).token if 2 <= row < self.rowCount() else None

    def slot_at(self, row: int) -> int:
        """The row's number."""
        return row

    def slots_between(self, top: int, bottom: int) -> list[int]:
        """The numbers of some rows."""
        return list(range(top, bottom + 1))

    def row_of(self, slot: int) -> int:
        """The row with a number; -1 if there is none."""
        return slot if 0 <= slot < self.rowCount() else -1

    def cell(self, row: int, column: int) -> TokenCell:
        """The content of a cell."""
        here, shown = self.round(row), row == self._current
        if column == _STEP:
            return TokenCell(f"{row + 1:,}", marked=shown)
        if column == _PLACES:
            return TokenCell(f"{self._places(row):,}", marked=shown)
        if not here.merge:
            return TokenCell(here.kind.capitalize() if column == PARTS else "", marked=shown)
        if column == _MERGE:
            return TokenCell(f"{here.merge:,}", marked=shown)
        assert self.tokens is not None
        tokens = tuple(self.shown(self.tokens.slot_of(token)) for token in _ids(here)[column == _TOKEN])
        return TokenCell(" + ".join(map(marked, tokens)), tokens, here.kind == "removal", shown)

    def copied_slot(self, slot: int) -> str:
        """A row for the clipboard: numbers without separators, tokens as in `copied`."""
        here = self.round(slot)
        if not here.merge:
            return "\t".join([str(slot + 1), "", here.kind, "", "", str(self._places(slot))])
        assert self.tokens is not None
        before, after = (
            [copied(self.tokens.head(self.tokens.slot_of(token), _COPIED_BYTES)) for token in ids] for ids in _ids(here)
        )
        texts = [*before, *after] if here.kind == "merge" else [*before, "", " + ".join(after)]
        return "\t".join([str(slot + 1), str(here.merge), *texts, str(self._places(slot))])

    def widest(self, column: int) -> str:
        """A number as wide as the widest of a column."""
        rows = self.rowCount()
        if column == _STEP or not rows:
            return f"{rows:,}"
        if column == _MERGE:
            return self.cell(rows - 1, _MERGE).text
        return f"{max(self._pieces):,}"

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        """The number of states; 0 below a row."""
        return 0 if parent.isValid() or self._rounds is None else len(self._rounds)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The text of a cell, with tokens in full as the tip."""
        if role != Qt.ItemDataRole.ToolTipRole:
            return super().data(index, role)
        if not index.isValid() or self.tokens is None or index.column() not in (PARTS, _TOKEN) or index.row() < 2:
            return None
        here = self.round(index.row())
        ids = _ids(here)[index.column() == _TOKEN]
        texts = [marked(self._read(self.tokens.slot_of(token), _TIP_BYTES)) for token in ids]
        removed = f"Removed after merge {here.merge:,}:\n" if here.kind == "removal" else ""
        return plain(f"{removed}{' + '.join(texts)}\nid {' + '.join(f'{token:,}' for token in ids)}")

    def _places(self, row: int) -> int:
        return self._pieces[row] if row < 2 else len(self.round(row).starts)


def _ids(here: Round) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The tokens before a merge or a removal, and those after it."""
    return ((here.left,), here.parts) if here.kind == "removal" else ((here.left, here.right), (here.token,))
