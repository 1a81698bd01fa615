"""The lines with a token as rows: the text before it, the token, the text after it, and the line number."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from tokstudio.gui.panes.token.line_search import Line
from tokstudio.gui.widgets.labels import plain

LEFT, TOKEN, RIGHT, PLACE = range(4)
_TITLES = ("Before", "Token", "After", "Line")
_NO_INDEX = QModelIndex()

_Index = QModelIndex | QPersistentModelIndex


class ConcordanceModel(QAbstractTableModel):
    """Lines in the order of the corpus, added at the end as they are found."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lines: list[Line] = []

    def clear(self) -> None:
        """Removes all lines."""
        self.beginResetModel()
        self._lines = []
        self.endResetModel()

    def append(self, lines: Sequence[Line]) -> None:
        """Adds lines at the end."""
        if lines:
            first = len(self._lines)
            self.beginInsertRows(QModelIndex(), first, first + len(lines) - 1)
            self._lines += lines
            self.endInsertRows()

    def line(self, row: int) -> Line:
        """The line of a row."""
        return self._lines[row]

    def rowCount(self, parent: _Index = _NO_INDEX) -> int:
        """The number of lines so far; 0 below a row."""
        return 0 if parent.isValid() else len(self._lines)

    def columnCount(self, parent: _Index = _NO_INDEX) -> int:
        """Before, token, after, line; 0 below a row."""
        return 0 if parent.isValid() else len(_TITLES)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The text of a cell, with its location as the tip."""
        if not index.isValid():
            return None
        line, column = self._lines[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return (line.left, line.token, line.right, f"{line.number:,}")[column]
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain(f"{line.source}, {place(line)}")
        if role == Qt.ItemDataRole.TextAlignmentRole:
            sides = (Qt.AlignmentFlag.AlignRight, Qt.AlignmentFlag.AlignHCenter, Qt.AlignmentFlag.AlignLeft)
            return (*sides, Qt.AlignmentFlag.AlignRight)[column] | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The titles of the columns, for a screen reader."""
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return _TITLES[section]
        return None


def place(line: Line) -> str:
    """Describes a line in its source: `"line 1,204"`, `"row 7"`, `"word 7, which occurs 31 times"`."""
    if line.unit != "word":
        return f"{line.unit} {line.number:,}"
    often = "once" if line.count == 1 else f"{line.count:,} times"
    return f"word {line.number:,}, which occurs {often}"
