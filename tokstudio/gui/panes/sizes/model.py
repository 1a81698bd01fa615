"""The sizes of a run as rows: the one at the playhead, those with a remark, and the others, ascending."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFont

from tokstudio.core.base.wording import percent_text, whole_text
from tokstudio.core.comparison.sizes import PERCENTS, Size, embedding_parameters, merges_for, size_after, table_of_sizes
from tokstudio.core.guide.glossary import explained
from tokstudio.gui.state.measured_texts import MeasuredText
from tokstudio.gui.style.theme import Theme

_Index: TypeAlias = QModelIndex | QPersistentModelIndex
_NO_INDEX = QModelIndex()
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


@dataclass(frozen=True)
class _Column:
    """A column."""

    title: str  # its heading
    tip: str  # its tool tip, with the formula
    text: Callable[[SizesModel, Size], str]
    widest: str  # the widest text besides the heading
    yields: int = 0  # columns with the highest number are hidden first if there is no room
    alignment: int = _RIGHT
    word: str = ""  # the word of the glossary that the title is


class SizesModel(QAbstractTableModel):
    """Row 0 is the size at the playhead; it has no other place, so that the other rows stay where they are."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._text: MeasuredText | None = None
        self._vocabularies = np.zeros(1, np.int64)
        self._rows: list[Size] = []
        self._notes: dict[int, str] = {}  # by merges
        self.width, self.tied = 0, True

    # ---- content

    def clear(self) -> None:
        """Shows nothing."""
        self.beginResetModel()
        self._text, self._rows, self._notes = None, [], {}
        self.endResetModel()

    def set_text(self, text: MeasuredText, vocabularies: NDArray[np.int64], playhead: int) -> None:
        """Shows the sizes of a run, int64 [n + 1], after 0, 1, ... n merges."""
        self.beginResetModel()
        self._text, self._vocabularies, self._rows, self._notes = text, vocabularies, [], {}
        end = len(text.tokens) - 1
        self._notes = {merges_for(text.tokens, percent): percent_text(percent / 100) for percent in PERCENTS}
        self._notes[end] = ", ".join(filter(None, (self._notes.get(end), "end")))
        sizes = table_of_sizes(text.tokens, text.bytes, vocabularies)
        # What the pane is for is seen without scrolling.
        sizes = sorted(sizes, key=lambda size: size.merges not in self._notes)
        self._rows = [self._size_at(text, playhead), *sizes]
        self.endResetModel()

    def set_playhead(self, playhead: int) -> None:
        """Shows the size at the playhead in the first row."""
        if self._text is not None and playhead != self._rows[0].merges:
            self._rows[0] = self._size_at(self._text, playhead)
            self.dataChanged.emit(self.index(0, 0), self.index(0, len(COLUMNS) - 1))

    def set_embedding(self, width: int, tied: bool) -> None:
        """Sets the model's width, and whether its output layer is the input embedding."""
        self.width, self.tied = width, tied
        if self._rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, len(COLUMNS) - 1))

    def size_at(self, row: int) -> Size | None:
        """The size of a row."""
        return self._rows[row] if 0 <= row < len(self._rows) else None

    def note_of(self, size: Size) -> str:
        """What is special about a row: the playhead, the share that it is the first to reach, or the end."""
        return "playhead" if size is self._rows[0] else self._notes.get(size.merges, "")

    def saved_text(self, size: Size) -> str:
        """The tokens that the last tokens of a vocabulary save."""
        return whole_text(size.saved, self._text.scale if self._text is not None else 1)

    def _size_at(self, text: MeasuredText, playhead: int) -> Size:
        return size_after(text.tokens, text.bytes, min(playhead, len(text.tokens) - 1), self._vocabularies)

    # ---- Qt's own

    def rowCount(self, parent: _Index = _NO_INDEX) -> int:
        """Returns the number of sizes."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: _Index = _NO_INDEX) -> int:
        """Returns the number of columns."""
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Returns the headings, aligned like their columns."""
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(COLUMNS):
            return None
        column = COLUMNS[section]
        texts = {
            Qt.ItemDataRole.DisplayRole: column.title,
            Qt.ItemDataRole.AccessibleTextRole: column.title or "Remark",
            Qt.ItemDataRole.ToolTipRole: explained(column.tip, column.word),
            Qt.ItemDataRole.TextAlignmentRole: column.alignment,
        }
        return texts.get(Qt.ItemDataRole(role))

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Returns the content of a cell; the tip has all of a row, as a narrow table shows only a part."""
        size = self.size_at(index.row()) if index.isValid() else None
        if size is None:
            return None
        column = COLUMNS[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.text(self, size)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return column.alignment
        if role == Qt.ItemDataRole.ForegroundRole:
            return QColor(self._theme.palette.muted) if index.column() == NOTE else None
        if role == Qt.ItemDataRole.FontRole:
            return self._font(size)
        if role == Qt.ItemDataRole.ToolTipRole:
            told = (f"{one.title}: {one.text(self, size)}" for one in COLUMNS if one.title)
            return "\n".join((*told, "Click to move the playhead to this size."))
        return None

    def _font(self, size: Size) -> QFont:
        font = self._theme.tabular_font()
        font.setBold(bool(self.note_of(size)) and size is not self._rows[0])
        return font


NOTE, VOCABULARY, MERGES, RATIO, SHARE, SAVED, SAVED_SHARE, PARAMETERS = range(8)
COLUMNS: tuple[_Column, ...] = (
    _Column(
        "",
        "The smallest size with 90, 95 and 99 % of the compression at the end",
        SizesModel.note_of,
        "playhead",
        alignment=_LEFT,
    ),
    _Column(
        "Size (tokens)",
        "Tokens of the vocabulary in all",
        lambda model, size: f"{size.vocabulary:,}",
        "100,000",
        word="vocabulary",
    ),
    _Column("Merges", "The merges of this size", lambda model, size: f"{size.merges:,}", "100,000", 4, word="merge"),
    _Column(
        "Bytes/token",
        "Compression: bytes of the text / its tokens",
        lambda model, size: f"{size.bytes_per_token:,.3f}",
        "10.000",
        word="bytes-per-token",
    ),
    _Column(
        "Of the end",
        "Bytes per token at this size / bytes per token at the end",
        lambda model, size: percent_text(size.of_end, 1),
        "100.0 %",
        1,
    ),
    _Column(
        "Last 1,000 save (tokens)",
        "Tokens of the text that the last 1,000 merges of this size save; all merges if there are fewer",
        SizesModel.saved_text,
        "10,000,000",
        3,
    ),
    _Column(
        "Saved",
        "The same in percent of the tokens before these merges",
        lambda model, size: percent_text(size.saved_share, 2),
        "10.00 %",
        2,
    ),
    _Column(
        "Parameters",
        "Parameters of the embeddings: vocabulary × model width; twice that if the output layer has its own",
        lambda model, size: f"{embedding_parameters(size.vocabulary, model.width, model.tied):,}",
        "100,000,000",
        word="embedding",
    ),
)
