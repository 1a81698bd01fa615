"""A table of lines with a token in the middle column."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPalette,
    QResizeEvent,
    QTextLayout,
)
from PySide6.QtWidgets import QAbstractItemView, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from tokstudio.gui.panes.token.line_search import Line
from tokstudio.gui.panes.token.lines_model import LEFT, PLACE, RIGHT, TOKEN, ConcordanceModel
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.bidi import direction
from tokstudio.gui.token_text.pieces import CIRCLE, standing
from tokstudio.gui.token_text.spelling import mark_of
from tokstudio.gui.widgets.labels import laid_out, utf16_offsets
from tokstudio.gui.widgets.painting import guarded_painter
from tokstudio.gui.widgets.tables import ReadOnlyTable, keeps_copy

_FONT = 12
_NEAR = 40  # rows before the end at which more are requested
_PLACE_FROM = 340  # pixels of width from which line numbers are shown
_LARGEST_SHARE = 0.4  # of the width, for the token
_LOOKED_AT = 200  # rows that determine the width of the token's column
_MOST_COPIED = 20_000
_MARGIN = 6  # at the outer edges of a line; the texts touch the token


class _Cells(QStyledItemDelegate):
    """Draws lines in reading order: the text before the token on its left, or on its right in right-to-left lines.

    The texts beside the token are cut at their outer ends. The token has the accent
    colour; marks and numbers are muted.
    """

    def __init__(self, model: ConcordanceModel, theme: Theme, parent: QTableView) -> None:
        super().__init__(parent)
        self._model = model
        self._theme = theme
        self.apply_style()

    def apply_style(self) -> None:
        self.letters = self._theme.monospace_font(_FONT)
        self.bold = QFont(self.letters)
        self.bold.setWeight(QFont.Weight.DemiBold)
        self.figures = self._theme.tabular_font(_FONT)
        self.metrics, self.bold_metrics = QFontMetricsF(self.letters), QFontMetricsF(self.bold)

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        super().initStyleOption(option, index)
        if index.column() != PLACE:
            option.text = ""  # pyright: ignore[reportAttributeAccessIssue] (`paint` draws it)
        option.font = self.figures  # pyright: ignore[reportAttributeAccessIssue]
        for role in (QPalette.ColorRole.Text, QPalette.ColorRole.HighlightedText):
            option.palette.setColor(role, QColor(self._theme.palette.muted))  # pyright: ignore[reportAttributeAccessIssue]

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Paints one cell."""
        super().paint(painter, option, index)
        if index.column() == PLACE:
            return
        rect: QRect = option.rect  # pyright: ignore[reportAttributeAccessIssue]
        with guarded_painter(painter):
            painter.setClipRect(rect)
            self._paint(painter, QRectF(rect), index.row(), index.column())

    def _paint(self, painter: QPainter, area: QRectF, row: int, column: int) -> None:
        layout = self.laid_out(row, column, area.width())
        line = layout.lineAt(0)
        left = area.left() if column == RIGHT else area.right() - line.naturalTextWidth()
        if column == TOKEN:
            left = area.left() + (area.width() - self.width_of(layout.text())) / 2
        metrics = self.metrics
        base = area.top() + (area.height() - metrics.height()) / 2 + metrics.ascent()
        layout.draw(painter, QPointF(left - line.naturalTextRect().left(), base - line.ascent()))

    def width_of(self, token: str) -> float:
        """The width of a token in pixels."""
        metrics = self.bold_metrics
        # In many fonts, a combining mark extends beyond the measured width.
        beside = metrics.horizontalAdvance(CIRCLE) if token.startswith(CIRCLE) else 0.0
        return metrics.horizontalAdvance(token) + beside

    def cut(self, token: str, room: float) -> str:
        """The part of a token that fits into a width in pixels."""
        return self.bold_metrics.elidedText(token, Qt.TextElideMode.ElideMiddle, room)

    def laid_out(self, row: int, column: int, room: float) -> QTextLayout:
        """Lays out the text of a cell for a width in pixels: the text before or after the token, or the token."""
        line, palette = self._model.line(row), self._theme.palette
        if column == TOKEN:
            text = self.cut(line.token, room)
            accent = QColor(palette.accent)
            return laid_out(text, self.bold, [(0, utf16_offsets(text)[-1], accent)], _token_direction(line))
        is_before = (column == LEFT) != line.right_to_left
        # White space is marked only next to the token, as more marks would be distracting.
        whole, edge = (_end_marked if is_before else _beginning_marked)(line)
        cut = Qt.TextElideMode.ElideLeft if is_before else Qt.TextElideMode.ElideRight
        text = self.metrics.elidedText(whole, cut, room - _MARGIN)
        units, edge = utf16_offsets(text), min(edge, len(text))
        first, end = (units[-1 - edge], units[-1]) if is_before else (0, units[edge])
        colours = [(0, units[-1], QColor(palette.text)), (first, end, QColor(palette.muted))]
        return laid_out(text, self.letters, colours, line.right_to_left)


def _end_marked(line: Line) -> tuple[str, int]:
    """The text before a token with marks for the white space at its end, and the length of that."""
    letters = line.left.rstrip()
    return letters + "".join(map(mark_of, line.left[len(letters) :])), len(line.left) - len(letters)


def _beginning_marked(line: Line) -> tuple[str, int]:
    """The text after a token with marks for the white space at its beginning, and the length of that."""
    letters = standing(line.right.strip())
    edge = len(line.right) - len(line.right.lstrip())
    return "".join(map(mark_of, line.right[:edge])) + letters, edge


def _token_direction(line: Line) -> bool:
    """Whether the token is drawn from right to left, which bytes in hexadecimal are not."""
    return line.right_to_left and direction(line.token.encode()) >= 0


class ConcordanceTable(ReadOnlyTable):
    """Shows a `ConcordanceModel`; asks for more lines near the end of the known ones."""

    moreWanted = Signal()  # the last lines are visible
    copied = Signal(int)  # the number of lines on the clipboard

    def __init__(self, model: ConcordanceModel, theme: Theme) -> None:
        super().__init__("Lines with the token")
        self._theme = theme
        self._model = model
        self._cells = _Cells(model, theme, self)
        self.setItemDelegate(self._cells)
        self.setModel(model)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.horizontalHeader().hide()
        self.horizontalHeader().setMinimumSectionSize(8)
        self.verticalScrollBar().valueChanged.connect(self._look_ahead)
        self.verticalScrollBar().rangeChanged.connect(self._look_ahead)
        model.rowsInserted.connect(self.fit)
        theme.changed.connect(self._apply_style)
        self._apply_style()

    def fit(self) -> None:
        """Fits the columns: the token in the middle with its width, and equal room on both sides."""
        rows, room = self._model.rowCount(), self.viewport().width()
        texts = {self._model.line(row).token for row in range(min(rows, _LOOKED_AT))}
        # Long tokens in their cut form, so that the texts touch them too.
        shown = (self._cells.cut(text, _LARGEST_SHARE * room) for text in texts)
        token = math.ceil(max(map(self._cells.width_of, shown), default=0.0)) + 2
        last = max(self._model.line(rows - 1).number if rows else 0, 9_999)
        number = QFontMetricsF(self._cells.figures).horizontalAdvance(f"{last:,}")
        padding = 24  # of the cell, and of the frame that Qt reserves
        place = round(number) + padding if room >= _PLACE_FROM else 0
        self.setColumnHidden(PLACE, not place)
        side = max((room - token - place) // 2, 10)
        for column, width in ((LEFT, side), (TOKEN, token), (RIGHT, room - token - place - side), (PLACE, place)):
            if width:
                self.setColumnWidth(column, width)

    def copy(self) -> None:
        """Copies the selected lines: before, token, after, source and line, separated by tabs."""
        ranges = list(self.selectionModel().selection())  # pyright: ignore[reportArgumentType] (it can be gone through)
        rows = sorted({row for part in ranges for row in range(part.top(), part.bottom() + 1)})[:_MOST_COPIED]
        lines = map(self._model.line, rows)
        texts = ("\t".join((line.left, line.token, line.right, line.source, str(line.number))) for line in lines)
        if rows:
            QGuiApplication.clipboard().setText("\n".join(texts))
            self.copied.emit(len(rows))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fits the columns to the new width."""
        super().resizeEvent(event)
        self.fit()

    def event(self, event: QEvent) -> bool:
        """Handles Copy and Select All itself while it has the focus."""
        return keeps_copy(event) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copies; Home and End go to the first and last line."""
        key, rows = event.key(), self._model.rowCount()
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End) and rows:
            self.setCurrentIndex(self._model.index(0 if key == Qt.Key.Key_Home else rows - 1, TOKEN))
        else:
            super().keyPressEvent(event)

    def _look_ahead(self) -> None:
        bar = self.verticalScrollBar()
        if bar.maximum() - bar.value() <= _NEAR * self.verticalHeader().defaultSectionSize():
            self.moreWanted.emit()

    def _apply_style(self) -> None:
        self._cells.apply_style()
        height = round(self._cells.metrics.height()) + self._theme.scaled(6)
        self.verticalHeader().setMinimumSectionSize(1)
        self.verticalHeader().setDefaultSectionSize(height)
        self.fit()
        self.viewport().update()
