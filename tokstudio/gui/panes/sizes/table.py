"""The sizes of a run as rows: what each compresses, and what its embeddings cost."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QFont, QKeyEvent
from PySide6.QtWidgets import QAbstractItemView

from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import percent_text, whole_text
from tokstudio.core.comparison.sizes import (
    PERCENTS,
    TAIL,
    Size,
    embedding_parameters,
    merges_for,
    size_after,
    table_of_sizes,
)
from tokstudio.core.guide.glossary import explained
from tokstudio.gui.session.measuring.measurers import MeasuredText
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.figures import ReadOnlyTable, TableModel
from tokstudio.gui.widgets.layouts import Fitting

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- The sizes of a run as rows: the one at the playhead, those with a remark, and the others, ascending --------------


@dataclass(frozen=True)
class _Column:
    """A column."""

    title: str  # its heading
    tip: str  # its tool tip, with the formula
    text: Callable[[SizesModel, Size], str]
    widest: str  # the widest text besides the heading
    yields: int = 0  # columns with the highest number are hidden first if there is no room
    word: str = ""  # the word of the glossary that the title is


class SizesModel(TableModel):
    """Row 0 is the size at the playhead; it has no other place, so that the other rows stay where they are."""

    untitled = "Remark"

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.titles = [column.title for column in COLUMNS]
        self.tips = [explained(column.tip, column.word) for column in COLUMNS]
        self.numbers = range(1, len(COLUMNS))
        self._theme = theme
        self._text: MeasuredText | None = None
        self._vocabularies = np.zeros(1, np.int64)
        self._rows: list[Size] = []
        self._notes: dict[int, str] = {}  # by merges
        self.width, self.tied = 0, True

    def clear(self) -> None:
        """Shows nothing."""
        with self.reset():
            self._text, self._rows, self._notes = None, [], {}

    def set_text(self, text: MeasuredText, vocabularies: NDArray[np.int64], playhead: int) -> None:
        """Shows the sizes of a run, int64 [n + 1], after 0, 1, ... n merges."""
        with self.reset():
            self._text, self._vocabularies, self._rows, self._notes = text, vocabularies, [], {}
            end = len(text.tokens) - 1
            self._notes = {merges_for(text.tokens, percent): percent_text(percent / 100) for percent in PERCENTS}
            self._notes[end] = ", ".join(filter(None, (self._notes.get(end), "end")))
            sizes = table_of_sizes(text.tokens, text.bytes, vocabularies)
            # What the pane is for is seen without scrolling.
            sizes = sorted(sizes, key=lambda size: size.merges not in self._notes)
            self._rows = [self._size_at(text, playhead), *sizes]
            last = f"Last ≤ {TAIL:,} merges" if end > TAIL else "Merges"
            tip = f"Tokens of the text that {_LAST if end > TAIL else 'the merges of this size'} save"
            self.titles = [*self.titles[:SAVED], f"{last} save (tokens)", *self.titles[SAVED + 1 :]]
            share = f"{tip}, in percent of its tokens before these merges"
            self.tips = [*self.tips[:SAVED], tip, share, *self.tips[SAVED_SHARE + 1 :]]

    def set_playhead(self, playhead: int) -> None:
        """Shows the size at the playhead in the first row."""
        if self._text is not None and playhead != self._rows[0].merges:
            self._rows[0] = self._size_at(self._text, playhead)
            self.tell(0, 0)

    def set_embedding(self, width: int, tied: bool) -> None:
        """Sets the model's width, and whether its output layer is the input embedding."""
        self.width, self.tied = width, tied
        self.tell()

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

    def count(self) -> int:
        return len(self._rows)

    def text(self, row: int, column: int) -> str:
        return COLUMNS[column].text(self, self._rows[row])

    def tip(self, row: int, column: int) -> str:
        """Returns all of a row, as a narrow table shows only a part."""
        lines = (f"{one.title}: {one.text(self, self._rows[row])}" for one in COLUMNS if one.title)
        return "\n".join((*lines, "Click to move the playhead to this size."))

    def font(self, row: int, column: int) -> QFont:
        font = self._theme.tabular_font()
        font.setBold(bool(row and self.note_of(self._rows[row])))
        return font

    def colour(self, row: int, column: int) -> str | None:
        return self._theme.palette.muted if column == NOTE else None


_LAST = f"the last {TAIL:,} merges of this size, or all where there are fewer,"
NOTE, VOCABULARY, MERGES, RATIO, SHARE, SAVED, SAVED_SHARE, PARAMETERS = range(8)
COLUMNS: tuple[_Column, ...] = (
    _Column("", "The smallest size with 90, 95 and 99 % of the compression at the end", SizesModel.note_of, "playhead"),
    _Column("Size (tokens)", "Tokens of the vocabulary in all", lambda model, size: f"{size.vocabulary:,}", "100,000",
            word="vocabulary"),
    _Column("Merges", "The merges of this size", lambda model, size: f"{size.merges:,}", "100,000", 4, "merge"),
    _Column("Bytes/token", "Compression: bytes of the text / its tokens",
            lambda model, size: f"{size.bytes_per_token:,.3f}", "10.000", word="bytes-per-token"),
    _Column("Of that at the end", "Bytes per token at this size / bytes per token at the end",
            lambda model, size: percent_text(size.of_end, 1), "100.0 %", 1),
    # Its title is for a long run.
    _Column(f"Last ≤ {TAIL:,} merges save (tokens)", "", SizesModel.saved_text, "10,000,000", 3),
    _Column("Saved (%)", "", lambda model, size: percent_text(size.saved_share, 2), "10.00 %", 2),
    _Column("Embedding parameters",
            "Parameters of the embeddings: vocabulary × model width; twice that if the output layer has its own",
            lambda model, size: f"{embedding_parameters(size.vocabulary, model.width, model.tied):,}",
            "100,000,000", word="embedding"),
)  # fmt: skip


# --- The tables: that of sizes hides columns that do not fit ----------------------------------------------------------

_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_BESIDE_TEXT = 22  # pixels of a column


class ChoosingTable(ReadOnlyTable):
    """A table in which a click on a row, or Enter, asks for something."""

    chosen = Signal(int)  # a row was clicked, or Enter was pressed on it

    def __init__(self, name: str, model: TableModel, theme: Theme, about: Callable[[], Sequence[str]]) -> None:
        super().__init__(name, model, about)
        self._theme = theme
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setMinimumSectionSize(24)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.clicked.connect(self._clicked)
        theme.follow(self._apply_style)

    def event(self, event: QEvent) -> bool:
        """Handles Enter before the window's actions while it has the focus."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and event.key() in _ENTER:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _ENTER and self.currentIndex().isValid():
            self.chosen.emit(self.currentIndex().row())
        else:
            super().keyPressEvent(event)

    def _clicked(self, index: QModelIndex) -> None:
        self.chosen.emit(index.row())

    def _apply_style(self) -> None:
        self.set_row_height(self._theme.scaled(28))


class SizesTable(Fitting, ChoosingTable):
    """One row per size."""

    def fit(self) -> None:
        """Hides columns until the rest fits, or else shortens titles; the tip of a row has all of them."""
        header, advance = self.horizontalHeader(), self.fontMetrics().horizontalAdvance
        for whole in (True, False):
            for number, each in enumerate(COLUMNS):
                width = max(advance(each.widest), advance(each.title) if whole else 0) + _BESIDE_TEXT
                header.resizeSection(number, width)
                self.setColumnHidden(number, False)
            for number in sorted(range(len(COLUMNS)), key=lambda number: -COLUMNS[number].yields):
                if header.length() > self.viewport().width() and COLUMNS[number].yields:
                    self.setColumnHidden(number, True)
            if header.length() <= self.viewport().width():
                break

    def _apply_style(self) -> None:
        super()._apply_style()
        self.fit()
