"""The pairs that a merge was chosen from, as rows: the chosen one first, then the next candidates."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from PySide6.QtCore import QModelIndex, QObject, Qt

from tokstudio.core.analysis.why_this_merge import PairCount, WhyMerge
from tokstudio.core.base.wording import in_units
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.token_table.model import Index, TokenCell, TokenColumn, TokenTable
from tokstudio.gui.token_text.spelling import copied, marked
from tokstudio.gui.widgets.labels import plain

_PLACE, _PAIR, _COUNT, _BEHIND, _LATER = range(5)
_COPIED_BYTES = 4096
_TIP_BYTES = 400
_NO_INDEX = QModelIndex()


class RunnersModel(TokenTable):
    """Row 0 is the chosen pair, which is marked. Rows are not tokens: the slot of a row is its number."""

    columns = (
        TokenColumn("#", "number", "Their order by this run's rule"),
        TokenColumn("Pair", "token", "The two tokens", 1, 9, word="pair"),
        TokenColumn("Count", "number", "How often the pair occurred at that moment", word="count"),
        TokenColumn("Behind", "number", "How much rarer it was than the pair that was merged", yields=2, muted=True),
        TokenColumn("Merge", "number", "The merge that joined this pair, if any did", yields=1, word="merge"),
    )

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pairs: tuple[PairCount, ...] = ()
        self._merges: list[int] = []
        self._scale = 1  # counts are in units of 1 / this

    # ---- content

    def set_answer(self, run: StudioRun | None, why: WhyMerge | None) -> None:
        """Shows the candidates of a merge; None shows nothing."""
        with self.changes():
            self.beginResetModel()
            self.hold(run)
            self._pairs = () if why is None else (why.chosen, *why.runners_up)
            self._merges = [] if run is None else merges_of(run, self._pairs)
            self._scale = 1 if why is None else why.scale
            self.endResetModel()

    def grow(self) -> None:
        """Updates which pairs were merged, as the run has grown."""
        if self.run is not None and self._pairs:
            self._merges = merges_of(self.run, self._pairs)
            self.dataChanged.emit(self.index(0, _LATER), self.index(len(self._pairs) - 1, _LATER))

    def merge_at(self, row: int) -> int:
        """The number of the merge that joined the pair in a row; 0 for none."""
        return self._merges[row]

    def behind(self, row: int) -> int:
        """The difference between the count of the chosen pair and that of a row."""
        return self._pairs[0].count - self._pairs[row].count

    def token_at(self, row: int) -> int | None:
        """The id of the token that the pair in a row became; None if it was never joined."""
        if self.run is None or not 0 <= row < len(self._pairs) or not self._merges[row]:
            return None
        return self.run.id_of_merge(self._merges[row])

    def slot_at(self, row: int) -> int:
        """The row's number."""
        return row

    def slots_between(self, top: int, bottom: int) -> list[int]:
        """The numbers of some rows."""
        return list(range(top, bottom + 1))

    def row_of(self, slot: int) -> int:
        """The row with a number; -1 if there is none."""
        return slot if 0 <= slot < len(self._pairs) else -1

    def cell(self, row: int, column: int) -> TokenCell:
        """The content of a cell."""
        pair, chosen = self._pairs[row], row == 0
        if column == _PAIR and self.tokens is not None:
            tokens = tuple(self.shown(self.tokens.slot_of(token)) for token in (pair.left, pair.right))
            return TokenCell(" + ".join(map(marked, tokens)), tokens, marked=chosen)
        if column == _PLACE:
            text = f"{row + 1:,}"
        elif column == _COUNT:
            text = _exact(pair.count, self._scale)
        elif column == _BEHIND:
            behind = self.behind(row)
            text = _exact(behind, self._scale) if behind else "–" if chosen else "tied"
        else:
            text = f"{self._merges[row]:,}" if self._merges[row] else "–"
        return TokenCell(text, marked=chosen)

    def copied_slot(self, slot: int) -> str:
        """A row for the clipboard: numbers without separators, tokens as in `copied`."""
        assert self.tokens is not None
        pair = self._pairs[slot]
        texts = [copied(self.tokens.head(self.tokens.slot_of(one), _COPIED_BYTES)) for one in (pair.left, pair.right)]
        counts = (in_units(count, self._scale) for count in (pair.count, self.behind(slot)))
        figures = (*counts, self._merges[slot] or "")
        return "\t".join([str(slot + 1), *texts, *map(str, figures)])

    def widest(self, column: int) -> str:
        """A number as wide as the widest of a column."""
        return max((self.cell(row, column).text for row in range(len(self._pairs))), key=len, default="")

    # ---- Qt's own

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        """The number of pairs; 0 below a row."""
        return 0 if parent.isValid() else len(self._pairs)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The text of a cell, with both tokens of a pair in full as the tip."""
        if role != Qt.ItemDataRole.ToolTipRole:
            return super().data(index, role)
        if not index.isValid() or self.tokens is None or index.column() != _PAIR:
            return None
        pair = self._pairs[index.row()]
        texts = [marked(self._read(self.tokens.slot_of(token), _TIP_BYTES)) for token in (pair.left, pair.right)]
        return plain(f"{texts[0]} + {texts[1]}\nids {pair.left:,} and {pair.right:,}")


def _exact(count: int, scale: int) -> str:
    """A count with the decimals that decide, the same for all rows."""
    return f"{count:,}" if scale == 1 else f"{count / scale:,.3f}"


def merges_of(run: StudioRun, pairs: tuple[PairCount, ...]) -> list[int]:
    """The number of the merge that joins each pair, from 1; 0 for none."""
    merges = run.merges
    keys = (merges[:, 0].astype(np.int64) << 32) | merges[:, 1]
    wanted = [(pair.left << 32) | pair.right for pair in pairs]
    rows = np.flatnonzero(np.isin(keys, np.array(wanted, np.int64)))
    number = {int(keys[row]): int(row) + 1 for row in rows[::-1]}
    return [number.get(key, 0) for key in wanted]
