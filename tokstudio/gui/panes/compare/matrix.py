"""The matrix on screen: the table of texts, and the summaries below it, in the same columns."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QContextMenuEvent, QFontMetrics, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from tokstudio.gui.panes.compare.matrix_model import BEST, GRADE, SHARE, MatrixContent, MatrixModel
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.layouts import column, rule
from tokstudio.gui.widgets.painting import guarded_painter
from tokstudio.gui.widgets.tables import ReadOnlyTable
from tokstudio.version import __version__

_ROW = 26  # pixels
_BAR = 3  # pixels of the bar in a cell
_TEXT_COLUMN, _UNIT_COLUMN, _VALUE_COLUMN = 130, 104, 78  # the least widths in pixels
_WIDEST = 180
_STRONGEST = 0.30  # opacity of the colour of the best value
_NO_INDEX = QModelIndex()


def _headings(names: Sequence[str], metrics: QFontMetrics, room: int) -> dict[str, str]:
    """The ends of names that would look the same where only their beginnings fit."""
    short = [metrics.elidedText(name, Qt.TextElideMode.ElideRight, room) for name in names]
    same = (name for name, text in zip(names, short, strict=True) if short.count(text) > 1)
    return {name: metrics.elidedText(name, Qt.TextElideMode.ElideLeft, room) for name in same}


class Matrix(QWidget):
    """Shows a `MatrixContent`; a click on a heading sorts."""

    menuAsked = Signal(int, int, QPoint)  # the menu of a row and a column, -1 for no row; at a point of the screen

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.model = MatrixModel(theme, self)
        self.summary_model = MatrixModel(theme, self, summaries=True)
        self.table, self.summary = (ReadOnlyTable(name, self._about) for name in ("Figures of the texts", "Summaries"))
        self.table.setModel(self.model)
        self.summary.setModel(self.summary_model)
        for table in (self.table, self.summary):
            table.setItemDelegate(_Value(theme, table))
            table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectItems)
            table.setSelectionMode(QAbstractItemView.SelectionMode.ContiguousSelection)
        header = self.table.horizontalHeader()
        header.setHighlightSections(False)
        header.setMinimumSectionSize(40)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        header.setProperty("wide", True)
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
        theme.changed.connect(self._apply_style)
        self._apply_style()

    def show_content(self, content: MatrixContent | None) -> None:
        """Shows another state; columns get their widths anew where there are others."""
        before = self.model.columnCount(), [self.model.tokenizer_of(at) for at in range(self.model.columnCount())]
        self.model.show(content)
        self.summary_model.show(content)
        after = self.model.columnCount(), [self.model.tokenizer_of(at) for at in range(self.model.columnCount())]
        rows = self.summary_model.rowCount()
        self.summary.setVisible(rows > 0)
        self._line.setVisible(rows > 0)
        self.summary.setFixedHeight(rows * self.summary.verticalHeader().defaultSectionSize() + 2)
        if before != after:
            # The scroll bar appears after the layout.
            QTimer.singleShot(0, self, self._spread)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fits the columns to the new width."""
        super().resizeEvent(event)
        self._spread()

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        """Asks for the menu of a cell."""
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
        told = () if content is None else (content.table.heading, *content.table.legend)
        return (*told, f"TokStudio {__version__}")

    def _ask_column_menu(self, place: QPoint) -> None:
        header = self.table.horizontalHeader()
        self.menuAsked.emit(-1, header.logicalIndexAt(place), header.mapToGlobal(place))

    def _spread(self) -> None:
        """Gives each tokenizer the same width, and the names of texts the rest."""
        first, columns = self.model.first, self.model.columnCount()
        if not columns:
            return
        header, metrics = self.table.horizontalHeader(), self.table.fontMetrics()
        room = self.table.viewport().width()
        least = self._theme.scaled(_VALUE_COLUMN)
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

    def _apply_style(self) -> None:
        for table in (self.table, self.summary):
            table.verticalHeader().setDefaultSectionSize(self._theme.scaled(_ROW))
        self._spread()


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
