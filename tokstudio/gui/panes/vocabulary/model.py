"""The vocabulary at the playhead as rows: sorted by any column, filtered by text, length, kinds and uses.

With an index of the tokens that is a matter of milliseconds; without one it takes bounded steps.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QModelIndex, QObject, Qt, QTimer

from tokstudio.gui.panes.vocabulary.kinds import notes
from tokstudio.gui.panes.vocabulary.selection import (
    BYTES,
    ID,
    KIND,
    LENGTH,
    MERGE,
    NOTES,
    PARTS,
    TOKEN,
    USES,
    TokenChoice,
)
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.run_tokens import KINDS
from tokstudio.gui.state.token_uses import TokenUses
from tokstudio.gui.token_table.index import TokenIndex
from tokstudio.gui.token_table.model import Cell, Column, Index, TokenTable
from tokstudio.gui.token_table.query import Query
from tokstudio.gui.token_text.spelling import copied, figure, hex_head, marked
from tokstudio.gui.widgets.sliced_work import Slices

_HEX_BYTES = 24
_COPIED_BYTES = 4096
_LATER = 250  # milliseconds: what costs more than adding rows is done at most this often
_MOST_AT_ONCE = 200_000  # tokens that are put in order in one go, their uses counted at every move of the playhead
_STEP = 512
_NO_INDEX = QModelIndex()


class VocabularyModel(TokenTable):
    """What there is before any merge, and what the first merges have made, as many of them as the playhead says.

    By id or merge and without a filter a move of the playhead adds or removes rows at the end, or at the top where the
    newest merges come first, and counts uses anew. Any other order or selection is worked out again at most four times
    a second.
    """

    columns = (
        Column("Id", "number", "Number of the token in the tokenizer's output"),
        Column("Token", "token", "The token as text, or as bytes if it is not text", 5, 13),
        Column("Bytes", "bytes", "Its bytes in hexadecimal", 4, 11, yields=4, muted=True),
        Column("Length", "number", "How many bytes it has", yields=2),
        Column("Made by", "token", "The two tokens that were merged into it", 4, 11, yields=3, muted=True),
        Column("Merge", "number", "Number of the merge that made it", yields=6, muted=True),
        Column("Uses", "number", "How often it occurs in the corpus at the playhead"),
        Column("Kind", "words", "Byte, character, merge, special, whole word or unreachable", yields=1, muted=True),
        Column("Notes", "words", "Not UTF-8, white space, or why it is not used", 2, 14, yields=5, muted=True),
    )

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.query = Query("")
        self.kinds: frozenset[str] = frozenset()
        self.lengths: tuple[int, int] | None = None
        self.playhead = 0
        self._size = 0  # tokens that exist at the playhead
        self._column, self._descending = ID, False
        self._rows: NDArray[np.int32] | None = None  # slots by row; None: in the order of making
        self._newest_first = False  # where `_rows` is None: the merges from the last to the first, then the rest
        self._places: NDArray[np.int32] | None = None
        self._uses = TokenUses()
        self._choice: TokenChoice | None = None
        self._found: tuple[int, NDArray[np.int32]] | None = None  # how many tokens there were, and which rows
        self._slices = Slices(self)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(_LATER)
        self._later.timeout.connect(self._refresh_when_free)

    # ---- what is shown

    def set_run(self, run: StudioRun | None, playhead: int = 0) -> None:
        """Shows the vocabulary of a run as it was after so many merges."""
        with self.changes():
            self.beginResetModel()
            self._slices.stop()
            self._later.stop()
            self.hold(run)
            self.playhead = playhead
            self._size = self._first + playhead
            self._choice = self._fresh_choice()
            # Rows in the order of making, until the wanted order is worked out.
            self._rows = self._places = None
            self._newest_first = self._wants_newest_first
            self._uses = self._uses_at(playhead) if self._size <= _MOST_AT_ONCE else TokenUses()
            self.endResetModel()
        self._refresh()

    def set_playhead(self, merges: int) -> None:
        """Shows the tokens that exist after so many merges, and their uses then."""
        run = self.run
        if run is None or (merges == self.playhead and self._uses.known == (run.uses(merges) is not None)):
            return
        self.playhead = merges
        if self._direct:
            self._resize(self._first + merges)
        else:
            if self._rows is None:
                self._hold_rows(self._in_order_of_making(self._size))
            self._size = self._first + merges
            self._schedule()
        if self._size <= _MOST_AT_ONCE:
            self._uses = self._uses_at(merges)
            self._say_uses()
        else:
            self._schedule()

    def set_index(self, index: TokenIndex) -> None:
        """Takes an index of all tokens of the run; rows that are being worked out are worked out anew."""
        if self._choice is not None:
            self._choice.set_index(index)
            # It knows more of long tokens.
            self._say_uses()
            if self._slices.running:
                self._refresh()

    def show_reach(self) -> None:
        """Shows which tokens no text becomes, now that it is known."""
        self._refresh()

    def set_query(self, query: Query, passes: NDArray[np.bool_] | None = None) -> None:
        """Shows the tokens that pass, which may be known; an empty query shows all."""
        self.query = query
        if self._choice is not None:
            self._choice.choose(self.query, self.kinds, self.lengths)
            if passes is not None:
                self._choice.know(passes)
        self._refresh()

    def set_choice(self, chosen: Collection[str], lengths: tuple[int, int] | None = None) -> None:
        """Shows the tokens of some kinds and of so many bytes, the fewest and the most; None for any length."""
        self.kinds, self.lengths = frozenset(chosen), lengths
        self._choose()

    @property
    def filtered(self) -> bool:
        """Whether something is asked for that not all tokens are."""
        return bool(self.query or self.kinds or self.lengths)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sorts by a column; ties stay in the order of making."""
        if 0 <= column < len(self.columns):
            self._column, self._descending = column, order == Qt.SortOrder.DescendingOrder
            self._refresh()

    @property
    def searching(self) -> bool:
        """Whether an order or a filter is still being worked out."""
        return self._slices.running

    @property
    def size(self) -> int:
        """How many tokens there are at the playhead, shown or not."""
        return self._size

    def slot_at(self, row: int) -> int:
        """The slot of the token in a row."""
        if self._rows is not None:
            return int(self._rows[row])
        if not self._newest_first:
            return row
        merges = self._size - self._first
        return self._size - 1 - row if row < merges else row - merges

    def slots_between(self, top: int, bottom: int) -> list[int]:
        """The slots of some rows."""
        if self._rows is None:
            return [self.slot_at(row) for row in range(top, bottom + 1)]
        return self._rows[top : bottom + 1].tolist()

    def row_of(self, slot: int) -> int:
        """The row of a token; -1 where it is not shown."""
        if self._rows is None:
            if slot >= self._size:
                return -1
            if not self._newest_first:
                return slot
            return slot + self._size - self._first if slot < self._first else self._size - 1 - slot
        if self._places is None:
            self._places = np.full(max(self._size, int(self._rows.max(initial=0)) + 1), -1, np.int32)
            self._places[self._rows] = np.arange(len(self._rows), dtype=np.int32)
        return int(self._places[slot]) if slot < len(self._places) else -1

    def may_list(self, slot: int) -> bool:
        """Whether the token exists at the playhead."""
        return slot < self._size

    def cell(self, row: int, column: int) -> Cell:
        """What is drawn there."""
        slot = self.slot_at(row)
        assert self.tokens is not None
        if column == TOKEN:
            token = self.shown(slot)
            return Cell(marked(token), (token,), special=self.tokens.kind_of(slot) == "special")
        if column == PARTS:
            parts = self.tokens.parts_of(slot)
            tokens = tuple(self.shown(part) for part in parts) if parts else ()
            return Cell(" + ".join(marked(token) for token in tokens), tokens)
        return Cell(self._words(slot, column))

    def copied_slot(self, slot: int) -> str:
        """The row of a token for the clipboard: numbers without separators, tokens as `copied` writes them."""
        tokens = self.tokens
        assert tokens is not None
        head = tokens.head(slot, _COPIED_BYTES)
        parts = tokens.parts_of(slot)
        made_by = " + ".join(copied(tokens.head(part, _COPIED_BYTES)) for part in parts) if parts else ""
        uses = self._uses.count_of(slot)
        merge = str(slot - self._first + 1) if parts else ""
        fields = (tokens.id_of(slot), copied(head), hex_head(head, _COPIED_BYTES), tokens.length(slot), made_by, merge)
        more = ("" if uses is None else str(uses), tokens.kind_of(slot), notes(slot, tokens, self._uses))
        return "\t".join([*map(str, fields), *more])

    def widest(self, column: int) -> str:
        """The longest text of a column, or one as long."""
        if self.run is None or self.tokens is None:
            return "0,000"
        if column == ID:
            return figure(max(len(self.tokens), int(self.tokens.ids.max(initial=0))))
        if column == MERGE:
            return figure(len(self.run))
        if column == USES:
            # No token stands there more often than the most frequent byte at first.
            known = self.run.base_counts
            if known is None and self.run.counted is not None:
                known = self.run.counted.uses
            return "–" if known is None else figure(int(known.max(initial=0)))
        return max(KINDS, key=len) if column == KIND else "00,000"

    # ---- Qt's own

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        """How many tokens are shown; below a row none."""
        if parent.isValid() or self.run is None:
            return 0
        return self._size if self._rows is None else len(self._rows)

    # ---- cells

    def _words(self, slot: int, column: int) -> str:
        assert self.tokens is not None
        if column == ID:
            return f"{self.tokens.id_of(slot):,}"
        if column == BYTES:
            return hex_head(self.tokens.head(slot, _HEX_BYTES + 1), _HEX_BYTES)
        if column == LENGTH:
            return f"{self.tokens.length(slot):,}"
        if column == MERGE:
            return figure(slot - self._first + 1 if slot >= self._first else None)
        if column == USES:
            return figure(self._uses.count_of(slot))
        return self.tokens.kind_of(slot) if column == KIND else notes(slot, self.tokens, self._uses)

    def _say_uses(self) -> None:
        if rows := self.rowCount():
            self.dataChanged.emit(self.index(0, ID), self.index(rows - 1, NOTES))

    # ---- rows

    @property
    def _first(self) -> int:
        return self.tokens.first if self.tokens is not None else 0

    @property
    def _direct(self) -> bool:
        """Whether the rows are in the order that is asked for without being worked out."""
        if self.filtered or self.tokens is None or self._rows is not None:
            return False
        if self._newest_first or self._descending:
            return self._newest_first and self._wants_newest_first
        return self._column == MERGE or (self._column == ID and self.tokens.ids_ascend)

    @property
    def _wants_newest_first(self) -> bool:
        return self._column == MERGE and self._descending

    def _in_order_of_making(self, size: int) -> NDArray[np.int32]:
        """The slots by row where `_rows` is None."""
        slots = np.arange(size, dtype=np.int32)
        return np.concatenate([slots[self._first :][::-1], slots[: self._first]]) if self._newest_first else slots

    def _resize(self, size: int) -> None:
        before, least = self._size, min(size, self._size)
        top = 0 if self._newest_first else least
        with self.changes():
            if size > before:
                self.beginInsertRows(QModelIndex(), top, top + size - least - 1)
                self._size = size
                self.endInsertRows()
            elif size < before:
                self.beginRemoveRows(QModelIndex(), top, top + before - least - 1)
                self._size = size
                self.endRemoveRows()

    def _schedule(self) -> None:
        if not self._later.isActive():
            self._later.start()

    def _refresh_when_free(self) -> None:
        # What is being sorted would never come to its end if every merge began it anew.
        if self._slices.running:
            self._schedule()
        else:
            self._refresh()

    def _refresh(self) -> None:
        """Works out which rows there are; what takes longer than a moment goes on in slices."""
        self._slices.stop()
        self._found = None
        if self.run is not None:
            self._slices.start(self._prepare(), self._settle)
        self.matches_changed.emit()

    def _prepare(self) -> Iterator[None]:
        choice = self._choice
        assert choice is not None
        yield from choice.prepare(self._column)
        if self.query.error:
            # It took too long: what was shown stays.
            return
        if self._size > _MOST_AT_ONCE:
            self._uses = self._uses_at(self.playhead)
            yield
            yield from self._arrange(choice, self._size)
        else:
            for _ in self._arrange(choice, self._size):
                pass

    def _arrange(self, choice: TokenChoice, size: int) -> Iterator[None]:
        """Finds the rows: those of the first `size` tokens that pass, in the order that was asked for."""
        if not self._direct:
            self._found = size, (yield from choice.rows(size, self._column, self._descending, self._uses))

    def _settle(self) -> None:
        if self._found is not None:
            (size, rows), self._found = self._found, None
            self._replace(rows)
            self._hold_rows(rows)
            self._newest_first = self._wants_newest_first
            if len(rows) == size and bool((rows == self._in_order_of_making(size)).all()):
                # The playhead may have moved since; new and lost rows are put right at once, as it would have done.
                self._rows = None
                now, self._size = self._size, size
                self._resize(now)
        self._say_uses()
        self.matches_changed.emit()

    def _choose(self) -> None:
        if self._choice is not None:
            self._choice.choose(self.query, self.kinds, self.lengths)
        self._refresh()

    def _fresh_choice(self) -> TokenChoice | None:
        if self.tokens is None:
            return None
        made = TokenChoice(self.tokens)
        made.choose(self.query, self.kinds, self.lengths)
        return made

    def _uses_at(self, merges: int) -> TokenUses:
        ids = self.tokens.ids if self.tokens is not None and self.run is not None and not self.run.has_counts else None
        return TokenUses(self.run, merges, ids)

    def _replace(self, rows: NDArray[np.int32]) -> None:
        """Puts other rows in place of these; what is selected stays selected where it still exists."""
        old = self._rows if self._rows is not None else self._in_order_of_making(self.rowCount())
        if len(old) == len(rows) and bool((old == rows).all()):
            return
        size = int(max(old.max(initial=-1), rows.max(initial=-1))) + 1
        wanted, held = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        wanted[rows], held[old] = True, True
        with self.changes():
            kept = old[wanted[old]]
            if len(kept) < len(old):
                self._permute(np.concatenate([kept, old[~wanted[old]]]))
                self.beginRemoveRows(QModelIndex(), len(kept), len(old) - 1)
                self._hold_rows(kept)
                self.endRemoveRows()
            if len(kept) < len(rows):
                self.beginInsertRows(QModelIndex(), len(kept), len(rows) - 1)
                self._hold_rows(np.concatenate([kept, rows[~held[rows]]]))
                self.endInsertRows()
            self._permute(rows)

    def _permute(self, rows: NDArray[np.int32]) -> None:
        self.reordering.emit()
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        slots = [self.slot_at(index.row()) for index in before]
        self._hold_rows(rows)
        after = [self.index(self.row_of(slot), index.column()) for slot, index in zip(slots, before, strict=True)]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    def _hold_rows(self, rows: NDArray[np.int32]) -> None:
        self._rows, self._places = rows, None
