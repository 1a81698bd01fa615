"""A token in its lines, one below the other with the token in the middle; which lines, the caller says."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QGuiApplication, QKeyEvent, QKeySequence, QPalette, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from tokstudio.gui.models.concordance import LEFT, PLACE, RIGHT, TOKEN, ConcordanceModel
from tokstudio.gui.theme import Theme
from tokstudio.gui.widgets.edit_keys import keeps_copy

_FONT = 12
_NEAR = 40  # rows from the end at which more are asked for
_PLACE_FROM = 340  # pixels of width from which line numbers have room
_LARGEST_SHARE = 0.4  # of the width, for the token
_LOOKED_AT = 200  # rows by which the token's column is measured
_MOST_COPIED = 20_000


class _Cells(QStyledItemDelegate):
    """Draws what is before the token cut at its left, the token in the accent's colour, and line numbers muted."""

    def __init__(self, theme: Theme, parent: QTableView) -> None:
        super().__init__(parent)
        self._theme = theme
        self.dress()

    def dress(self) -> None:
        self.letters = self._theme.monospace_font(_FONT)
        self.bold = QFont(self.letters)
        self.bold.setWeight(QFont.Weight.DemiBold)
        self.figures = self._theme.tabular_font(_FONT)

    def initStyleOption(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        super().initStyleOption(option, index)
        column, palette = index.column(), self._theme.palette
        font = self.bold if column == TOKEN else self.figures if column == PLACE else self.letters
        colour = palette.accent if column == TOKEN else palette.muted if column == PLACE else palette.text
        cut = Qt.TextElideMode.ElideLeft if column == LEFT else Qt.TextElideMode.ElideRight
        cut = Qt.TextElideMode.ElideMiddle if column == TOKEN else cut
        option.font = font  # pyright: ignore[reportAttributeAccessIssue]
        option.textElideMode = cut  # pyright: ignore[reportAttributeAccessIssue]
        for role in (QPalette.ColorRole.Text, QPalette.ColorRole.HighlightedText):
            option.palette.setColor(role, QColor(colour))  # pyright: ignore[reportAttributeAccessIssue]


class ConcordanceTable(QTableView):
    """Shows a `ConcordanceModel`; asks for more lines when one comes near the end of those that are there.

    Signals:
        moreWanted: The last lines are in sight.
        copied: How many lines are now on the clipboard.
    """

    moreWanted = Signal()
    copied = Signal(int)

    def __init__(self, model: ConcordanceModel, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._model = model
        self._cells = _Cells(theme, self)
        self.setItemDelegate(self._cells)
        self.setModel(model)
        self.setAccessibleName("Lines with the token")
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.horizontalHeader().hide()
        self.horizontalHeader().setMinimumSectionSize(8)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalScrollBar().valueChanged.connect(self._look_ahead)
        self.verticalScrollBar().rangeChanged.connect(self._look_ahead)
        model.rowsInserted.connect(self.fit)
        theme.tell_sizes(self._dress)
        self._dress()

    def fit(self) -> None:
        """Shares out the width: the token in the middle, as wide as it is, and the same room on both sides."""
        rows = self._model.rowCount()
        letters, figures = QFontMetricsF(self._cells.bold), QFontMetricsF(self._cells.figures)
        texts = {self._model.line(row).token for row in range(min(rows, _LOOKED_AT))}
        padding = 24  # of the cell, and of the frame that Qt leaves room for
        widest = max((letters.horizontalAdvance(text) for text in texts), default=0.0) + padding
        room = self.viewport().width()
        token = round(min(max(widest, 24.0), _LARGEST_SHARE * room))
        number = figures.horizontalAdvance(f"{max((self._model.line(rows - 1).number if rows else 0), 9_999):,}")
        place = round(number) + padding if room >= _PLACE_FROM else 0
        self.setColumnHidden(PLACE, not place)
        side = max((room - token - place) // 2, 10)
        for column, width in ((LEFT, side), (TOKEN, token), (RIGHT, room - token - place - side), (PLACE, place)):
            if width:
                self.setColumnWidth(column, width)

    def copy(self) -> None:
        """Puts the selected lines on the clipboard: before, token, behind, source and line, separated by tabs."""
        ranges = list(self.selectionModel().selection())  # pyright: ignore[reportArgumentType] (it can be gone through)
        rows = sorted({row for part in ranges for row in range(part.top(), part.bottom() + 1)})[:_MOST_COPIED]
        lines = [self._model.line(row) for row in rows]
        if lines:
            fields = [(line.left, line.token, line.right, line.source, str(line.number)) for line in lines]
            QGuiApplication.clipboard().setText("\n".join("\t".join(one) for one in fields))
            self.copied.emit(len(lines))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Shares out the new width."""
        super().resizeEvent(event)
        self.fit()

    def event(self, event: QEvent) -> bool:
        """Keeps Copy and Select All for itself while it has the focus."""
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

    def _dress(self) -> None:
        self._cells.dress()
        height = round(QFontMetricsF(self._cells.letters).height()) + self._theme.scaled(6)
        self.verticalHeader().setMinimumSectionSize(1)
        self.verticalHeader().setDefaultSectionSize(height)
        self.fit()
        self.viewport().update()
