"""The sources of a corpus as a table: name, size, and a mark on changed files.

It reads no files; the caller says which have changed or are missing.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from tokstudio.core.base.wording import printable, several, size_text
from tokstudio.core.corpus.source import Source
from tokstudio.gui.state.source_records import CHANGED, GONE, is_missing
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import plain

_Index = QModelIndex | QPersistentModelIndex
_NO_INDEX = QModelIndex()
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

NAME, SIZE, RELOAD = range(3)
MISSING = "missing"


class SourcesModel(QAbstractTableModel):
    """One row per source, in the order of the corpus."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._reload = icon("reload", theme, "accent")
        self._sources: tuple[Source, ...] = ()
        self._changed: dict[Source, str] = {}

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources in the rows."""
        return self._sources

    @property
    def widest_size(self) -> str:
        """The longest text in the column of sizes."""
        counted = (_words(source) for source in self._sources if source.counts is not None)
        return max(("999.9 MB", CHANGED if self._changed else "", *counted), key=len)

    @property
    def any_changed(self) -> bool:
        """Whether any file has changed or disappeared since it was read."""
        return bool(self._changed)

    def is_changed(self, row: int) -> bool:
        """Whether the file of a row has changed or disappeared since it was read."""
        return 0 <= row < len(self._sources) and self._sources[row] in self._changed

    def set_sources(self, sources: tuple[Source, ...]) -> None:
        """Shows other sources; rows added at the end keep selection and scroll position."""
        known = len(self._sources)
        self._changed = _of(sources, self._changed)
        if sources[:known] == self._sources:
            if len(sources) > known:
                self.beginInsertRows(QModelIndex(), known, len(sources) - 1)
                self._sources = sources
                self.endInsertRows()
            return
        self.beginResetModel()
        self._sources = sources
        self.endResetModel()

    def set_changed(self, changed: Mapping[Source, str]) -> None:
        """Marks sources whose files have changed, each with `CHANGED` or `GONE`."""
        marked = _of(self._sources, changed)
        if marked != self._changed:
            self._changed = marked
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._sources) - 1, RELOAD))

    def rowCount(self, parent: _Index = _NO_INDEX) -> int:
        """Returns the number of sources."""
        return 0 if parent.isValid() else len(self._sources)

    def columnCount(self, parent: _Index = _NO_INDEX) -> int:
        """Returns the number of columns."""
        return 0 if parent.isValid() else 3

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Names the columns for a screen reader; the list has no visible header."""
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole and 0 <= section < 3:
            return ("Source", "Size", "Reload")[section]
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Returns the content of a cell."""
        if not index.isValid() or not index.row() < len(self._sources):
            return None
        source, column = self._sources[index.row()], index.column()
        changed = self._changed.get(source, "")
        if role == Qt.ItemDataRole.DisplayRole:
            return _text(source, column, changed)
        if role == Qt.ItemDataRole.ToolTipRole:
            reload_tip = "Read the file again" if changed else ""
            return plain(reload_tip if column == RELOAD else _tip(source, changed))
        if role == Qt.ItemDataRole.TextAlignmentRole and column == SIZE:
            return _RIGHT
        if role == Qt.ItemDataRole.ForegroundRole and column == SIZE:
            wrong = bool(changed) or is_missing(source)
            return QColor(self._theme.palette.warning if wrong else self._theme.palette.muted)
        if role == Qt.ItemDataRole.FontRole and column == SIZE:
            return self._theme.tabular_font(12)
        if role == Qt.ItemDataRole.DecorationRole and column == RELOAD and changed:
            return self._reload
        if role == Qt.ItemDataRole.AccessibleTextRole and column == RELOAD and changed:
            return f"Reload {source.name}"
        return None


def counted_text(source: Source) -> str:
    """Says how many words have given counts: "12,345 words, counted"."""
    return f"{_words(source)}, counted"


def read_text(source: Source) -> str:
    """Says how a source was read: its encoding, the column of a data set, or that its words were counted."""
    if source.counts is not None:
        return counted_text(source)
    reading = source.reading
    if not source.is_rows or reading is None or reading.field is None:
        return encoding_text(source.encoding)
    value = f", {reading.split_by} {source.value}" if source.value is not None else ""
    return printable(f"{source.kind or 'data set'}, column {reading.field}{value}")


def encoding_text(encoding: str) -> str:
    """Formats the name of an encoding: `encoding_text("utf-16-le")` is "UTF-16 LE"."""
    if encoding == "bytes":
        return "Bytes, not decoded"
    first, _, order = encoding.removeprefix("utf-").partition("-")
    return f"UTF-{first} {order.upper()}".strip() if encoding.startswith("utf-") else encoding


def _text(source: Source, column: int, changed: str) -> str | None:
    if column == SIZE:
        size = size_text(source.bytes) if source.counts is None else _words(source)
        return MISSING if is_missing(source) else changed or size
    return source.name if column == NAME else None


def _of(sources: tuple[Source, ...], changed: Mapping[Source, str]) -> dict[Source, str]:
    known = set(sources)
    return {source: word for source, word in changed.items() if source in known}


def _words(source: Source) -> str:
    return several(source.documents, "word")


def outdated_text(changed: str) -> str:
    """Describes a file that has `CHANGED` or is `GONE`: "changed on disk since it was read"."""
    return f"{changed} {'from' if changed == GONE else 'on'} disk since it was read"


def _tip(source: Source, changed: str) -> str:
    if is_missing(source):
        return f"{printable(str(source.path))}\nNot found when the project was opened."
    lines = [printable(str(source.path or source.name)), f"{read_text(source)} · {source.bytes:,} bytes"]
    if source.documents != 1 and source.counts is None:
        lines.append(f"{source.documents:,} documents")
    if source.note and source.counts is None:
        lines.append(source.note)
    if changed:
        lines.append(f"{outdated_text(changed).capitalize()}.")
    return "\n".join(lines)
