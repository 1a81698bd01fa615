"""The lines of a text that have other ids after a change, side by side."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.spelling import marked, shown

_Index = QModelIndex | QPersistentModelIndex
_NO_INDEX = QModelIndex()
_COLUMNS = ("Line", "Before", "After")
MOST = 200  # lines
_AROUND = 2  # tokens before the first that differs
_PIECES = 14  # tokens of a line
_CUT = "…"


@dataclass(frozen=True)
class ChangedLine:
    """A line with its tokens from a little before the first that differs."""

    number: int
    before: str
    after: str


def changed_lines_work(tokenizer: Tokenizer, reference: str) -> Work[tuple[ChangedLine, ...]]:
    """The first lines of a text whose tokens are not those of the tokenizer that it was made from; see `lines_work`."""
    origin = tokenizer.origin
    assert origin is not None
    found: list[ChangedLine] = []
    new_specials = tuple(tokenizer.special_tokens.keys() - origin.old.special_tokens.keys())
    for number, line in enumerate(reference.splitlines(), 1):
        before = yield from origin.old.encode_work(line)
        after = yield from tokenizer.encode_work(line, new_specials)
        mapped = origin.new_ids[before]
        if not np.array_equal(mapped, after):
            first = _first_difference(mapped, after)
            found.append(ChangedLine(number, _pieces(origin.old, before, first), _pieces(tokenizer, after, first)))
            if len(found) == MOST:
                break
        yield Progress("comparing lines")
    return tuple(found)


def _first_difference(before: NDArray[np.int32], after: NDArray[np.uint32]) -> int:
    size = min(len(before), len(after))
    return int(np.argmax(np.append(before[:size] != after[:size], True)))


def _pieces(tokenizer: Tokenizer, ids: NDArray[np.uint32], first: int) -> str:
    start = max(0, first - _AROUND)
    some: list[int] = ids[start : start + _PIECES].tolist()
    lead, tail = _CUT if start else "", _CUT if start + _PIECES < len(ids) else ""
    return lead + "|".join(marked(shown(tokenizer.tokens[token] or b"")) for token in some) + tail


class ChangedLinesModel(QAbstractTableModel):
    """A row per line."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.lines: Sequence[ChangedLine] = ()

    def show(self, lines: Sequence[ChangedLine]) -> None:
        """Replaces the rows."""
        self.beginResetModel()
        self.lines = lines
        self.endResetModel()

    def rowCount(self, parent: _Index = _NO_INDEX) -> int:
        """Returns the number of lines."""
        return 0 if parent.isValid() else len(self.lines)

    def columnCount(self, parent: _Index = _NO_INDEX) -> int:
        """Returns the number of columns."""
        return 0 if parent.isValid() else len(_COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Returns the titles."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return _COLUMNS[section] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Returns the number of a line, or its tokens."""
        if not index.isValid():
            return None
        line = self.lines[index.row()]
        text = (f"{line.number:,}", line.before, line.after)[index.column()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return text
        if role == Qt.ItemDataRole.FontRole and index.column():
            return self._theme.monospace_font()
        return None
