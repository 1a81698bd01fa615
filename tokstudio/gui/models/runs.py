"""The runs of the studio as a table. It changes none of them: a new name is only passed on."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QColor, QFont

from tokstudio.gui.studio_run import StudioRun
from tokstudio.gui.theme import Theme

_Index = QModelIndex | QPersistentModelIndex
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_CENTER = int(Qt.AlignmentFlag.AlignCenter)
_NOTHING = "–"

MARK, NAME, CORPUS, SIZE, FREQUENCY, MERGES, RATIO, ENDED, SECONDS = range(9)


@dataclass(frozen=True)
class _Column:
    """A column: its heading, what a tool tip says of it, and the text of a run in it."""

    title: str
    tip: str
    text: Callable[[StudioRun], str]
    alignment: int = _RIGHT


class RunsModel(QAbstractTableModel):
    """One row a run, in the order they were made.

    Signals:
        renamed: The person gave a run another name: StudioRun, str.

    Args:
        theme: Whose colours and fonts the cells have.
        parent: The owner.
    """

    renamed = Signal(object, object)

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._runs: list[StudioRun] = []
        self._active: StudioRun | None = None
        self._state = ""

    def set_runs(self, runs: Sequence[StudioRun], active: StudioRun | None, state: str) -> None:
        """Shows the runs; rows that stay keep selections and places.

        Args:
            runs: All of them.
            active: The one that all panes show.
            state: What to say of a run that has not ended: "training" or "paused".
        """
        self._active, self._state = active, state
        for row in reversed(range(len(self._runs))):
            if self._runs[row] not in runs:
                self.beginRemoveRows(QModelIndex(), row, row)
                del self._runs[row]
                self.endRemoveRows()
        known = len(self._runs)
        if list(runs[:known]) != self._runs:
            self.beginResetModel()
            self._runs = list(runs)
            self.endResetModel()
        elif len(runs) > known:
            self.beginInsertRows(QModelIndex(), known, len(runs) - 1)
            self._runs += runs[known:]
            self.endInsertRows()
        if self._runs:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._runs) - 1, SECONDS))

    def refresh(self, run: StudioRun) -> None:
        """Shows how far a run has come."""
        row = self.row_of(run)
        if row >= 0:
            self.dataChanged.emit(self.index(row, MERGES), self.index(row, SECONDS))

    def run(self, row: int) -> StudioRun | None:
        """Gives the run of a row."""
        return self._runs[row] if 0 <= row < len(self._runs) else None

    def row_of(self, run: StudioRun | None) -> int:
        """Gives the row of a run, or -1."""
        return next((row for row, one in enumerate(self._runs) if one is run), -1)

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  Qt's own default
        """Gives the number of runs."""
        return 0 if parent.isValid() else len(self._runs)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        """Gives the number of columns."""
        return 0 if parent.isValid() else len(_COLUMNS)

    def flags(self, index: _Index) -> Qt.ItemFlag:
        """Says that names can be edited."""
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsEditable if index.column() == NAME else flags

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Gives the headings, aligned as what is below them."""
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(_COLUMNS):
            return None
        column = _COLUMNS[section]
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return column.title or "Active"
        shown = {
            Qt.ItemDataRole.DisplayRole: column.title,
            Qt.ItemDataRole.ToolTipRole: column.tip,
            Qt.ItemDataRole.TextAlignmentRole: column.alignment,
        }
        return shown.get(Qt.ItemDataRole(role)) if role in iter(Qt.ItemDataRole) else None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Gives what a cell shows."""
        run = self.run(index.row()) if index.isValid() else None
        if run is None or not 0 <= index.column() < len(_COLUMNS):
            return None
        number = index.column()
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return self._text(run, number)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _COLUMNS[number].alignment
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._colour(run, number)
        if role == Qt.ItemDataRole.FontRole:
            return self._font(run, number)
        if role == Qt.ItemDataRole.AccessibleTextRole and number == MARK:
            return "active" if run is self._active else "not active"
        if role == Qt.ItemDataRole.ToolTipRole and number == MARK:
            return "This run is shown everywhere" if run is self._active else "Show this run everywhere"
        return None

    def setData(self, index: _Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Passes a new name on."""
        run = self.run(index.row()) if index.isValid() else None
        if run is None or index.column() != NAME or role != Qt.ItemDataRole.EditRole or not str(value).strip():
            return False
        self.renamed.emit(run, str(value))
        return True

    def _text(self, run: StudioRun, number: int) -> str:
        if number == MARK:
            return "●" if run is self._active else "○"
        if number == ENDED and run.ended is None:
            return self._state
        return _COLUMNS[number].text(run)

    def _colour(self, run: StudioRun, number: int) -> QColor | None:
        palette = self._theme.palette
        if number == MARK:
            return QColor(palette.accent if run is self._active else palette.control)
        if number == ENDED and run.ended == "failed":
            return QColor(palette.error)
        quiet = number in (CORPUS, SIZE, FREQUENCY, ENDED, SECONDS) or self._text(run, number) == _NOTHING
        return QColor(palette.muted) if quiet else None

    def _font(self, run: StudioRun, number: int) -> QFont | None:
        if number in (NAME, MARK):
            font = self._theme.tabular_font()
            font.setBold(run is self._active)
            return font
        return self._theme.tabular_font() if _COLUMNS[number].alignment == _RIGHT else None


def _number(value: int | None) -> str:
    return _NOTHING if value is None else f"{value:,}"


def _seconds(run: StudioRun) -> str:
    if run.run is None:
        return _NOTHING
    return f"{run.run.seconds:,.2f}" if run.run.seconds < 100 else f"{run.run.seconds:,.0f}"


_COLUMNS: tuple[_Column, ...] = (
    _Column("", "The run that all panes show", lambda run: "", _CENTER),
    _Column("Run", "Its name; F2 changes it", lambda run: run.name, _LEFT),
    _Column("Corpus bytes", "Bytes it was trained on", lambda run: _number(run.corpus_bytes if run.config else None)),
    _Column(
        "Vocab. limit",
        "The vocabulary size that was asked for",
        lambda run: _number(run.config.vocabulary_size if run.config else None),
    ),
    _Column(
        "Min. frequency",
        "The minimum frequency that was asked for",
        lambda run: _number(run.config.min_frequency if run.config else None),
    ),
    _Column("Merges", "How many merges it has", lambda run: _number(len(run))),
    _Column(
        "Bytes/token",
        "Bytes of the corpus per token, after all merges: higher is shorter",
        lambda run: f"{run.bytes_per_token(len(run)):.3f}" if run.has_counts else _NOTHING,
    ),
    _Column("Ended", "Why it ended", lambda run: run.ended or "", _LEFT),
    _Column("Seconds", "Time it took, without pauses", _seconds),
)
