"""A table of tokens that follows new rows at the top, fits its columns, and copies selected rows."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from PySide6.QtCore import QEvent, QItemSelectionModel, QModelIndex, QPersistentModelIndex, QRect, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QMouseEvent, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.cells import TokenCells
from tokstudio.gui.token_table.header import TokenHeader
from tokstudio.gui.token_table.model import TokenColumn, TokenTable
from tokstudio.gui.widgets.painting import guarded_painter
from tokstudio.gui.widgets.sliced_work import Slices
from tokstudio.gui.widgets.tables import keeps_copy

#: The most rows that are copied; they are some megabytes of text.
MOST_COPIED = 100_000
_COPY_STEP = 64
_MOST_MOVED = 1000  # selected rows that are kept when the order changes: Qt asks for the new row of each

_Index = QModelIndex | QPersistentModelIndex


class FollowTable(QTableView):
    """Shows a `TokenTable`.

    Signals:
        rowChosen: The user has made another row current.
        rowActivated: Enter, or a double click.
        copied: The number of rows on the clipboard, and of selected rows.
    """

    rowChosen = Signal(int)
    rowActivated = Signal(int)
    copied = Signal(int, int)

    def __init__(self, model: TokenTable, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._model = model
        self._quiet = self._choosing = False
        self._fitting = False
        self._chosen_widths: dict[int, int] = {}
        self._fitted: tuple[object, ...] = ()
        self._slices = Slices(self)
        self._cells = TokenCells(theme)
        self._header = TokenHeader(theme, self)
        self.setHorizontalHeader(self._header)
        self.setModel(model)
        self.setAccessibleName(name)
        self._set_up()
        model.reordering.connect(self._lighten_selection)
        theme.changed.connect(self._apply_style)
        self._apply_style()

    def _set_up(self) -> None:
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        rows, columns = self.verticalHeader(), self._header
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        columns.sectionResized.connect(self._keep_width)
        # With the table's selection model, a header asks for every selected row, up to a million, at every repaint.
        columns.setSelectionModel(QItemSelectionModel(self._model, self))

    def sort_by_columns(self, column: int, order: Qt.SortOrder) -> None:
        """Sorts by a click on a title; initially by the given column and order."""
        self._header.setSectionsClickable(True)
        self.setSortingEnabled(True)
        self.sortByColumn(column, order)

    # ---- rows

    @property
    def current_row(self) -> int:
        """The current row; -1 for none."""
        return self.currentIndex().row()

    def show_row(self, row: int, *, scroll: bool = True) -> None:
        """Selects a row without `rowChosen`, -1 for none; scrolls to it."""
        is_selected = row < 0 or self._choosing or self.selectionModel().isRowSelected(row)
        if row == self.current_row and is_selected:
            return
        self._quiet = True
        try:
            if row < 0:
                self.selectionModel().clear()
            else:
                rows = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
                place = self.horizontalScrollBar().value(), self.verticalScrollBar().value()
                self.selectionModel().setCurrentIndex(self._model.index(row, 0), rows)
                self.horizontalScrollBar().setValue(place[0])
                self.verticalScrollBar().setValue(place[1])
        finally:
            self._quiet = False
        if scroll and row >= 0:
            self.reveal(row)

    def reveal(self, row: int) -> None:
        """Scrolls to a row, to the middle if it was not visible."""
        height = self.verticalHeader().defaultSectionSize()
        top = self.rowViewportPosition(row)
        if top < 0 or top + height > self.viewport().height():
            self.verticalScrollBar().setValue(row * height - (self.viewport().height() - height) // 2)

    def currentChanged(self, current: _Index, previous: _Index) -> None:
        """Emits `rowChosen`, unless the program has made the change."""
        super().currentChanged(current, previous)
        if not self._quiet and not self._model.changing and current.isValid() and current.row() != previous.row():
            # Qt selects afterwards: only this row, or with Ctrl or Shift others too.
            self._choosing = True
            try:
                self.rowChosen.emit(current.row())
            finally:
                self._choosing = False

    def rowsInserted(self, parent: _Index, start: int, end: int) -> None:
        """Keeps the visible rows still while others are added above; at the top, the newest are shown."""
        bar, height = self.verticalScrollBar(), self.verticalHeader().defaultSectionSize()
        before = bar.value()
        super().rowsInserted(parent, start, end)
        if before > 0 and start * height <= before and self._model.rowCount() > end - start + 1:
            self.updateGeometries()
            bar.setValue(before + (end - start + 1) * height)
        self.refit()

    def _lighten_selection(self) -> None:
        if sum(bottom - top + 1 for top, bottom in self._selected()) > _MOST_MOVED:
            current = self.currentIndex()
            rows = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            self.selectionModel().select(current, rows)

    # ---- columns

    def refit(self) -> None:
        """Fits the columns if the width or the longest texts have changed."""
        if self._fitting:
            return
        columns = self._model.columns
        longest = [len(columns), *(len(self._model.widest(i)) for i, one in enumerate(columns) if not one.share)]
        # Fitting may show or hide a scroll bar, which changes the width: then once more.
        for _ in range(2):
            state = (self.viewport().width(), self._theme.text_size, *longest)
            if state == self._fitted:
                return
            self._fitted = state
            self._fit()

    def _fit(self) -> None:
        columns, room = self._model.columns, self.viewport().width()
        least = [self._least_width(i, one) for i, one in enumerate(columns)]
        kept = set(range(len(columns)))
        yielding = sorted((i for i in kept if columns[i].yields), key=lambda i: -columns[i].yields)
        while yielding and sum(least[i] for i in kept) > room:
            kept.remove(yielding.pop(0))
        spare = max(room - sum(least[i] for i in kept), 0)
        shares = sum(columns[i].share for i in kept if i not in self._chosen_widths) or 1
        self._fitting = True
        try:
            for i, one in enumerate(columns):
                self.setColumnHidden(i, i not in kept)
                grows = one.share if i not in self._chosen_widths else 0
                self.setColumnWidth(i, least[i] + spare * grows // shares)
        finally:
            self._fitting = False

    def _least_width(self, index: int, column: TokenColumn) -> int:
        if index in self._chosen_widths:
            return self._chosen_widths[index]
        title = self._header.width_of(column.title)
        text = "0" * column.least if column.share else self._model.widest(index)
        return max(title, self._cells.width_of(text, column), self._header.minimumSectionSize())

    def sizeHintForColumn(self, column: int) -> int:
        """The width in pixels of the widest cell that is in sight, for a double click on the border of a column."""
        rows, one = self._rows_in(self.viewport().rect()), self._model.columns[column]
        return max((self._cells.width_of(self._model.cell(row, column).text, one) for row in rows), default=0)

    def _keep_width(self, column: int, before: int, after: int) -> None:
        if not self._fitting and after > 0:
            self._chosen_widths[column] = after

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fits the columns; keeps the current row visible as the height shrinks."""
        super().resizeEvent(event)
        hidden = self._bottom_of_current() - self.viewport().height()
        if 0 < hidden <= event.oldSize().height() - self.viewport().height():
            self.verticalScrollBar().setValue(self.verticalScrollBar().value() + hidden)
        self.refit()

    def _bottom_of_current(self) -> int:
        """The lower edge of the current row in the viewport; 0 for none."""
        row = self.current_row
        return self.rowViewportPosition(row) + self.verticalHeader().defaultSectionSize() if row >= 0 else 0

    def _apply_style(self) -> None:
        self._cells.apply_style()
        self.verticalHeader().setDefaultSectionSize(self._cells.row_height)
        self._header.apply_style()
        self._fitted = ()
        self.refit()
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draws the rows.

        Qt would call a delegate and the model for each cell, and wait for the interpreter each time during a training.
        """
        with guarded_painter(self.viewport()) as painter:
            areas: list[QRect] = list(event.region())  # pyright: ignore[reportArgumentType] (it can be gone through)
            rows = {row for area in areas for row in self._rows_in(area)}
            selected = self._selected()
            for row in sorted(rows):
                is_selected = any(top <= row <= bottom for top, bottom in selected)
                for column, place in self._places(row):
                    painter.save()
                    self._cells.paint(painter, place, self._model, row, column, selected=is_selected)
                    painter.restore()

    def _rows_in(self, area: QRect) -> range:
        """The rows in an area of the viewport."""
        first, last = self.rowAt(area.top()), self.rowAt(area.bottom())
        return range(first, last + 1 if last >= 0 else self._model.rowCount()) if first >= 0 else range(0)

    def _places(self, row: int) -> Iterator[tuple[int, QRect]]:
        """The columns that have a cell in a row, each with its place in the viewport."""
        top, height = self.rowViewportPosition(row), self.verticalHeader().defaultSectionSize()
        column, end = 0, len(self._model.columns)
        while column < end:
            left, after = self.columnViewportPosition(column), column + self.columnSpan(row, column)
            if width := sum(map(self.columnWidth, range(column, after))):
                yield column, QRect(left, top, width, height)
            column = after

    # ---- keys

    def event(self, event: QEvent) -> bool:
        """Handles Copy and Select All itself while it has the focus."""
        return keeps_copy(event) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copies and activates; Home and End go to the first and last row."""
        key, control = event.key(), event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.current_row >= 0:
            self.rowActivated.emit(self.current_row)
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End) and not control and self._model.rowCount():
            # Qt would move between columns, which means nothing here.
            row = 0 if key == Qt.Key.Key_Home else self._model.rowCount() - 1
            self.setCurrentIndex(self._model.index(row, 0))
        else:
            super().keyPressEvent(event)

    def keyboardSearch(self, search: str) -> None:
        """Does nothing: the filter is better, and Qt would search all rows at each letter."""

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Activates the row below the mouse."""
        super().mouseDoubleClickEvent(event)
        row = self.rowAt(event.position().toPoint().y())
        if row >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.rowActivated.emit(row)

    def selected_rows(self) -> list[int]:
        """The selected rows from the top, at most `MOST_COPIED`."""
        ranges = (range(top, bottom + 1) for top, bottom in self._selected())
        return list(islice(chain.from_iterable(ranges), MOST_COPIED))

    # ---- copying

    def copy(self) -> None:
        """Copies the selected rows in their order, at most `MOST_COPIED`; what several are of stands above them."""
        ranges = self._selected()
        total = sum(bottom - top + 1 for top, bottom in ranges)
        if total:
            # By slot, as rows may change while they are copied.
            slots: list[int] = []
            for top, bottom in ranges:
                slots += self._model.slots_between(top, min(bottom, top + MOST_COPIED - len(slots) - 1))
            self._slices.start(self._copy_steps(slots, total))

    def _copy_steps(self, slots: list[int], total: int) -> Iterator[None]:
        lines = [about] if len(slots) > 1 and (about := self._model.about()) else []
        for start in range(0, len(slots), _COPY_STEP):
            lines += [self._model.copied_slot(slot) for slot in slots[start : start + _COPY_STEP]]
            yield
        QGuiApplication.clipboard().setText("\n".join(lines))
        self.copied.emit(len(slots), total)

    def _selected(self) -> list[tuple[int, int]]:
        """The first and last row of every selected range, from the top."""
        parts = list(self.selectionModel().selection())  # pyright: ignore[reportArgumentType] (it can be gone through)
        return sorted((part.top(), part.bottom()) for part in parts)
