"""The figures of Compare as a table: the model and its view."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QContextMenuEvent, QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from tokstudio.core.analysis.baselines import SimpleTokenizer
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.comparison.comparison import Comparison
from tokstudio.core.comparison.figures import Figure
from tokstudio.core.comparison.intervals import NOT_DRAWN, OF_GREATEST, Resampling
from tokstudio.core.comparison.table import SIGNS, UNITS, Below, FigureTable
from tokstudio.core.comparison.texts import ComparedText
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.figures import ReadOnlyTable, TableModel
from tokstudio.gui.widgets.labels import guarded_painter, in_a_sentence
from tokstudio.gui.widgets.layouts import Fitting, column, rule
from tokstudio.version import __version__

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- The matrix of one figure: a row for each text, a column for each tokenizer, and rows of totals below -------------


_WAITING, _FAILED = "…", "failed"
_UNITS = ("words", "characters", "syllables")
_WORST = 2.0  # times the best value: without colour

#: Roles of a cell: from 0 for the worst to 1 for the best of a row; its part of the largest value; whether it is the
#: best.
GRADE, SHARE, BEST = (Qt.ItemDataRole.UserRole + number for number in range(3))


@dataclass(frozen=True)
class MatrixContent:
    """What a matrix shows. Two are equal if they are of the same comparison and show the same of it."""

    comparison: Comparison
    figure: Figure
    active: str | None  # the name of the tokenizer that the window shows
    hues: tuple[int | None, ...]  # the colour number of each tokenizer; None for a simple one
    has_intervals: bool = False  # whether its figures are shown with intervals, which must be known

    @cached_property
    def table(self) -> FigureTable:
        """What is known of the figure, which are the best of each row, and how much worse the others are."""
        comparison = self.comparison
        intervals = comparison.known_intervals(self.figure.name) if self.has_intervals else None
        trained = tuple(not self.is_simple(number) for number in range(len(comparison.compared)))
        return FigureTable(
            self.figure,
            comparison.formula(self.figure.name),
            tuple(filter(None, (self.figure.note, comparison.premium_note if self.figure.name == "premium" else ""))),
            comparison.tokenizers,
            comparison.texts,
            comparison.figure(self.figure.name, encode=False),
            (),
            trained if any(trained) else (True,) * len(trained),
            tuple(text.units for text in comparison.measured) if self.figure.is_of_words else None,
            comparison.loses_text,
            comparison.trained_on,
            intervals,
            () if intervals is None else comparison.notes_of_intervals(Resampling(), self.figure.name),
        )

    def is_simple(self, number: int) -> bool:
        """Whether a column is a simple tokenizer, which is shown for comparison and never the best."""
        return isinstance(self.comparison.compared[number].tokenizer, SimpleTokenizer)

    def in_groups(self, keys: NDArray[np.float64]) -> NDArray[np.int64]:
        """The numbers of the texts by ascending keys, float64 [texts]; texts with different units are not ranked."""
        units = [_UNITS.index(text.units) if self.table.units else 0 for text in self.comparison.measured]
        return np.lexsort((np.nan_to_num(keys, nan=np.inf), np.array(units)))


class MatrixModel(TableModel):
    """The rows of texts; they can be sorted by any column. The last ones are summaries if `summaries`."""

    def __init__(self, theme: Theme, parent: QObject | None = None, *, summaries: bool = False) -> None:
        super().__init__(parent)
        self._theme = theme
        self._summaries = summaries
        self.content: MatrixContent | None = None
        self._values: NDArray[np.float64] = np.zeros((0, 0))
        self._titles: list[tuple[str, str]] = []  # of summaries: the title and its meaning
        self._below: list[Below] = []  # the summaries
        self._best: NDArray[np.bool_] = np.zeros((0, 0), np.bool_)  # of the values
        self._order: NDArray[np.int64] = np.zeros(0, np.int64)
        self._sorting: tuple[int, Qt.SortOrder] | None = None
        self._shown_names: Mapping[str, str] = {}  # shown instead of names, by name
        self.first = 1  # the first column of values

    def show(self, content: MatrixContent | None) -> None:
        """Shows another state."""
        shape, heads, before = (self.rowCount(), self.columnCount()), list(self.titles), self._cells()
        self.content = content
        self.first = 2 if content is not None and content.table.units is not None else 1
        self._values, self._best, self._titles, self._below = np.zeros((0, 0)), np.zeros((0, 0), np.bool_), [], []
        if content is not None:
            if self._summaries:
                self._take_summaries(content)
            else:
                self._values, self._best = content.table.values, content.table.best
        self._set_titles()
        self._order = self._sorted()
        after = self.rowCount(), self.columnCount()
        if shape != after:
            self.beginResetModel()
            self.endResetModel()
        else:
            if heads != self.titles:
                self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, shape[1] - 1)
            for row, drawn in enumerate(self._cells()):
                if drawn != before[row]:
                    self.tell(row, row)

    def _cells(self) -> list[list[tuple[object, ...]]]:
        """What is drawn in each cell, by row: while texts are encoded, to draw the other rows again takes long."""

        def drawn(row: int, at: int) -> tuple[object, ...]:
            return (
                self.text(row, at),
                self.colour(row, at),
                *(self.more(row, at, role) for role in (GRADE, SHARE, BEST)),
            )

        return [[drawn(row, at) for at in range(self.columnCount())] for row in range(self.count())]

    def set_headings(self, headings: Mapping[str, str]) -> None:
        """Shows other headings for some tokenizers, by their names."""
        if headings != self._shown_names:
            self._shown_names = headings
            self._set_titles()
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, self.columnCount() - 1)

    def text_of(self, row: int) -> ComparedText | None:
        """The text of a row; None for a summary."""
        if self.content is None or self._summaries or not 0 <= row < len(self._order):
            return None
        return self.content.comparison.measured[int(self._order[row])]

    def tokenizer_of(self, column: int) -> str | None:
        """The name of the tokenizer of a column."""
        names = self.content.comparison.tokenizers if self.content is not None else ()
        return names[column - self.first] if self.first <= column < self.first + len(names) else None

    def count(self) -> int:
        return len(self._values)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Returns the names of the columns, for a screen reader with the sizes of the tokenizers."""
        head = super().headerData(section, orientation, role)
        if role == Qt.ItemDataRole.AccessibleTextRole and head is not None and section >= self.first:
            assert self.content is not None
            return self.content.comparison.compared[section - self.first].sized_name
        return head

    def _set_titles(self) -> None:
        """Sets what is above the text, perhaps the unit, and the tokenizers."""
        content, self.titles, self.tips = self.content, list[str](), list[str]()
        if content is not None:
            self.titles, self.tips = ["Text", UNITS][: self.first], [""] * self.first
            for each in content.comparison.compared:
                shown = "\nThe run that all panes show, at the playhead." if each.name == content.active else ""
                self.titles.append(self._shown_names.get(each.name, each.name))
                self.tips.append(f"{each.sized_name}{shown}\nClick to sort by it.")
        self.numbers = range(self.first, len(self.titles))

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sorts by a column; -1 restores the order of the texts. Missing values are last."""
        self._sorting = None if column < 0 else (column, order)
        self._order = self._sorted()
        self.layoutChanged.emit()

    def text(self, row: int, column: int) -> str:
        content, row = self._shown(row)
        if column >= self.first:
            return self._written(content, row, column - self.first)
        if self._summaries:
            return "" if column else self._titles[row][0]
        text = content.comparison.measured[row]
        base = " (base)" if content.figure.name == "premium" and row == content.comparison.base else ""
        return text.units if column else in_a_sentence(text.name + base)

    def tip(self, row: int, column: int) -> str:
        content, row = self._shown(row)
        if self._summaries:
            return self._titles[row][1]
        if column >= self.first:
            return "\n".join(self._tip(content, row, column - self.first))
        text = content.comparison.measured[row]
        facts = (several(text.bytes, "byte"), several(text.characters, "character"), several(text.lines, "line"))
        return "\n".join((text.name, *facts, f"{text.words:,} {text.units}"))

    def font(self, row: int, column: int) -> QFont | None:
        if column < self.first:
            return None
        font = self._theme.tabular_font()
        font.setBold(bool(self._best[self._order[row], column - self.first]))
        return font

    def colour(self, row: int, column: int) -> str | None:
        (content, row), number, palette = self._shown(row), column - self.first, self._theme.palette
        if number < 0:
            return palette.muted if column and not self._summaries else None
        if not self._summaries and isinstance(content.comparison.result(row, number), TokStudioError):
            return palette.error
        return palette.muted if np.isnan(self._values[row, number]) or content.is_simple(number) else None

    def more(self, row: int, column: int, role: int) -> object:
        (content, row), number = self._shown(row), column - self.first
        if self._summaries or number < 0 or np.isnan(value := float(self._values[row, number])):
            return None
        if role == GRADE:
            worse = float(content.table.ratios[row, number])
            return None if np.isnan(worse) else max(0.0, 1 - (worse - 1) / (_WORST - 1))
        if role == SHARE:
            most = float(np.nanmax(self._values[row]))
            return value / most if most > 0 else 0.0
        return bool(self._best[row, number]) if role == BEST else None

    def _shown(self, row: int) -> tuple[MatrixContent, int]:
        """What is shown, and the number of the text or summary in a row."""
        assert self.content is not None
        return self.content, int(self._order[row])

    def _written(self, content: MatrixContent, row: int, number: int) -> str:
        if self._summaries:
            return content.table.signed_below(self._below[row])[number]
        result = content.comparison.result(row, number)
        if isinstance(result, TokStudioError):
            return _FAILED
        if result is None or (content.figure.need and content.figure.need not in result.parts):
            return _WAITING
        return content.table.signed(row, number)

    def _tip(self, content: MatrixContent, row: int, number: int) -> list[str]:
        result = content.comparison.result(row, number)
        if isinstance(result, TokStudioError):
            return [str(result)]
        if result is None:
            return ["Not measured yet."]
        names = content.comparison.tokenizers[number], content.comparison.texts[row]
        lines = [", ".join(names), f"{content.figure.title}: {content.table.cell(row, number)}"]
        if interval := content.table.interval(row, number):
            lines.append(f"Interval: {interval}")
        worse = float(content.table.ratios[row, number])
        if 1 < worse < float("inf"):
            lines.append(f"The best of the row is {worse:,.2f} times better.")
        signs = (f"{sign} {SIGNS[sign]}" for sign in content.table.signs(row, number))
        return [*lines, several(result.counts.tokens, "token"), *result.counts.remarks, *signs]

    def _take_summaries(self, content: MatrixContent) -> None:
        comparison, figure = content.comparison, content.figure
        rows: list[tuple[str, Below]] = []

        def without(reason: str) -> str:
            return f" {reason}" if content.table.intervals is not None else ""

        if len(comparison.measured) > 1:
            totals = comparison.totals(figure.name, encode=False)
            if not np.isnan(totals).all():
                meaning = f"The figure of all texts together; not the mean of the rows.{without(NOT_DRAWN)}"
                rows.append((meaning, Below("All texts", tuple(totals.tolist()), figure.decimals, figure.is_share)))
            if comparison.base is not None and figure.name in ("tokens", "tokens_per_line", "premium"):
                meaning = "Inequality of tokens per line between the texts: 0 if all are equal; lower is fairer."
                gini, worst = (tuple(comparison.summary(name).tolist()) for name in ("gini", "worst_premium"))
                rows.append((meaning, Below("Gini", gini, 4, better="less")))
                meaning = f"The largest premium of all texts, relative to the base.{without(OF_GREATEST)}"
                rows.append((meaning, Below("Worst premium", worst, 2, better="less")))
        self._titles = [(below.name, meaning) for meaning, below in rows]
        self._below = [below for _, below in rows]
        if rows:
            self._values = np.array([below.values for below in self._below])
            self._best = np.array([content.table.best_below(below) for below in self._below])

    def _sorted(self) -> NDArray[np.int64]:
        rows = np.arange(len(self._values))
        if self._sorting is None or self.content is None or self._summaries:
            return rows
        column, order = self._sorting
        if column < self.first:
            measured = self.content.comparison.measured
            keys = [text.units if column else text.name.casefold() for text in measured]
            return np.array(sorted(rows.tolist(), key=keys.__getitem__, reverse=order != _ASCENDING), np.int64)
        if column - self.first >= self._values.shape[1]:
            return rows
        values = self._values[:, column - self.first]
        return self.content.in_groups(values if order == _ASCENDING else -values)


_ASCENDING = Qt.SortOrder.AscendingOrder


# --- The matrix on screen: the table of texts, and the summaries below it, in the same columns ------------------------

_ROW = 26  # pixels
_BAR = 3  # pixels of the bar in a cell
_TEXT_COLUMN, _UNIT_COLUMN, _VALUE_COLUMN = 130, 104, 78  # the least widths in pixels
_WIDEST = 180
_STRONGEST = 0.30  # opacity of the colour of the best value


def _headings(names: Sequence[str], metrics: QFontMetrics, room: int) -> dict[str, str]:
    """The ends of names that would look the same where only their beginnings fit."""
    short = [metrics.elidedText(name, Qt.TextElideMode.ElideRight, room) for name in names]
    same = (name for name, text in zip(names, short, strict=True) if short.count(text) > 1)
    return {name: metrics.elidedText(name, Qt.TextElideMode.ElideLeft, room) for name in same}


class Matrix(Fitting, QWidget):
    """Shows a `MatrixContent`; a click on a heading sorts."""

    menuAsked = Signal(int, int, QPoint)  # the menu of a row and a column, -1 for no row; at a point of the screen

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.model = MatrixModel(theme, self)
        self.summary_model = MatrixModel(theme, self, summaries=True)
        self.table = ReadOnlyTable("Figures of the texts", self.model, self._about)
        self.summary = ReadOnlyTable("Summaries", self.summary_model, self._about)
        for table in (self.table, self.summary):
            table.setItemDelegate(_Value(theme, table))
            table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectItems)
            table.setSelectionMode(QAbstractItemView.SelectionMode.ContiguousSelection)
        header = self.table.horizontalHeader()
        header.setHighlightSections(False)
        header.setMinimumSectionSize(40)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        header.setSortIndicatorClearable(True)
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.table.setSortingEnabled(True)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._ask_column_menu)
        header.sectionResized.connect(lambda section, _, width: self.summary.setColumnWidth(section, width))
        self.table.installEventFilter(self)
        self.summary.horizontalHeader().hide()
        self.summary.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.summary.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.table.horizontalScrollBar().valueChanged.connect(self.summary.horizontalScrollBar().setValue)
        self._line = rule()
        column((self.table, 1), self._line, self.summary, spacing=0, parent=self)
        theme.follow(self._apply_style)

    def show_content(self, content: MatrixContent | None) -> None:
        """Shows another state; columns get their widths anew where there are others, or a number is too wide."""
        before = self.model.columnCount(), [self.model.tokenizer_of(at) for at in range(self.model.columnCount())]
        self.model.show(content)
        self.summary_model.show(content)
        after = self.model.columnCount(), [self.model.tokenizer_of(at) for at in range(self.model.columnCount())]
        rows = self.summary_model.rowCount()
        self.summary.setVisible(rows > 0)
        self._line.setVisible(rows > 0)
        self.summary.setFixedHeight(rows * self.summary.verticalHeader().defaultSectionSize() + 2)
        first = self.model.first
        if before != after or (after[0] > first and self._widest_value() > self.table.columnWidth(first)):
            # The scroll bar appears after the layout.
            QTimer.singleShot(0, self, self.fit)

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ContextMenu and isinstance(event, QContextMenuEvent):
            by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
            viewport = self.table.viewport()
            index = (
                self.table.currentIndex() if by_key else self.table.indexAt(viewport.mapFrom(self.table, event.pos()))
            )
            if index.isValid():
                place = viewport.mapToGlobal(self.table.visualRect(index).center()) if by_key else event.globalPos()
                self.menuAsked.emit(index.row(), index.column(), place)
            return True
        return False

    def _about(self) -> tuple[str, ...]:
        """What copied cells are of."""
        content = self.model.content
        lines = () if content is None else (content.table.heading, *content.table.legend)
        return (*lines, f"TokStudio {__version__}")

    def _ask_column_menu(self, place: QPoint) -> None:
        header = self.table.horizontalHeader()
        self.menuAsked.emit(-1, header.logicalIndexAt(place), header.mapToGlobal(place))

    def fit(self) -> None:
        """Gives each tokenizer the same width, and the names of texts the rest."""
        first, columns = self.model.first, self.model.columnCount()
        if not columns:
            return
        header, metrics = self.table.horizontalHeader(), self.table.fontMetrics()
        room = self.table.viewport().width()
        least = max(self._theme.scaled(_VALUE_COLUMN), self._widest_value())
        names = [self.model.tokenizer_of(at) or "" for at in range(first, columns)]
        wanted = max([least, *(metrics.horizontalAdvance(name) + 22 for name in names)])
        width = min(wanted, self._theme.scaled(_WIDEST))
        if first == 2:
            header.resizeSection(1, self._theme.scaled(_UNIT_COLUMN))
            room -= header.sectionSize(1)
        text = self._theme.scaled(_TEXT_COLUMN)
        if names:
            width = max(least, min(width, (room - text) // len(names)))
            for at in range(first, columns):
                header.resizeSection(at, width)
            self.model.set_headings(_headings(names, QFontMetrics(header.font()), width - 22))
        header.resizeSection(0, max(text, min(room - width * len(names), 2 * text)))

    def _widest_value(self) -> int:
        """The width for the longest number, which may be bold: none is cut."""
        font = self._theme.tabular_font()
        font.setBold(True)
        models = (self.model, self.summary_model)
        cells = (
            (one, row, at)
            for one in models
            for row in range(one.rowCount())
            for at in range(one.first, one.columnCount())
        )
        longest = max((one.text(row, at) for one, row, at in cells), key=len, default="")
        return QFontMetrics(font).horizontalAdvance(longest) + 22

    def _apply_style(self) -> None:
        for table in (self.table, self.summary):
            table.set_row_height(self._theme.scaled(_ROW))
        self.fit()


class _Value(QStyledItemDelegate):
    """A value on a colour that is stronger the better it is, with a bar as long as it is large."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        rect: QRect = getattr(option, "rect")  # noqa: B009  missing in the stubs
        grade, share = index.data(GRADE), index.data(SHARE)
        colour = QColor(self._theme.palette.accent)
        if grade:
            colour.setAlphaF(_STRONGEST * float(grade))
            painter.fillRect(rect.adjusted(1, 1, -1, -1), colour)
        super().paint(painter, option, index)
        if share is not None:
            with guarded_painter(painter):
                bar = QColor(self._theme.palette.accent if index.data(BEST) else self._theme.palette.control)
                width = round((rect.width() - 8) * max(0.0, min(1.0, float(share))))
                painter.fillRect(QRect(rect.left() + 4, rect.bottom() - _BAR, width, _BAR - 1), bar)
