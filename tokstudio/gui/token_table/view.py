"""A table of tokens that follows new rows at the top, fits its columns, and copies selected rows."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, chain, islice

from PySide6.QtCore import (
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QRectF,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QAction,
    QColor,
    QFont,
    QFontMetricsF,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QWidget

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.model import TokenCell, TokenColumn, TokenTable
from tokstudio.gui.token_text.spelling import Shown, mark_of, marked
from tokstudio.gui.token_text.token_label import paint_special
from tokstudio.gui.widgets.figures import RowTable, keeps_copy
from tokstudio.gui.widgets.labels import END, ISOLATE, guarded_painter, is_right_to_left, laid_out, utf16_offsets
from tokstudio.gui.widgets.layouts import show_in_body
from tokstudio.gui.widgets.menus import Menu
from tokstudio.gui.widgets.sliced_work import Slices

# --- Draws the cells of tables of tokens: figures, words, tokens with marks of white space, bytes ---------------------
# It paints everything itself: a style sheet takes several times as long per cell.

PADDING = 6  # left and right of the text of a cell
_MARK_WIDTH = 3
_PLUS = " + "
_MOST_MEASURED = 4096  # cells


class TokenCells:
    """Paints the cells of a `TokenTable` in the colours and sizes of the theme."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self.apply_style()

    def apply_style(self) -> None:
        """Updates fonts and colours; call it after a change of the theme."""
        self.figures, self.letters = QFont(self._theme.tabular_font()), QFont(self._theme.monospace_font())
        self.metrics = {True: QFontMetricsF(self.figures), False: QFontMetricsF(self.letters)}
        # Cached, as most cells are painted again, and Qt takes longer to measure a text than to draw it.
        self._fitting = lru_cache(_MOST_MEASURED)(self._fit)
        self._palette = palette = self._theme.palette
        self._text, self._muted = QColor(palette.text), QColor(palette.muted)
        self._mark_in_muted = QColor(palette.control)
        self._accent, self._soft, self._hover = (
            QColor(palette.accent),
            QColor(palette.accent_soft),
            QColor(palette.hover),
        )

    @property
    def row_height(self) -> int:
        """The height of every row in pixels: enough for scripts that are taller than Latin."""
        return round(max(self.metrics[True].height(), self.metrics[False].height())) + self._theme.scaled(8)

    def width_of(self, text: str, column: TokenColumn) -> int:
        """The width in pixels of a cell with this text."""
        metrics = self.metrics[column.kind in ("number", "words")]
        return round(metrics.horizontalAdvance(text) + 0.5) + 2 * PADDING

    def paint(self, painter: QPainter, rect: QRect, model: TokenTable, row: int, at: int, *, selected: bool) -> None:
        """Paints a cell, given by row and column, into a rectangle; changes the state of the painter."""
        cell, column = model.cell(row, at), model.columns[at]
        if selected:
            painter.fillRect(rect, self._soft)
        elif cell.marked:
            painter.fillRect(rect, self._hover)
        if cell.marked and at == 0:
            painter.fillRect(rect.left(), rect.top(), _MARK_WIDTH, rect.height(), self._accent)
        area = QRectF(rect).adjusted(PADDING, 0, -PADDING, 0)
        colour = self._accent if cell.marked and at == 0 else self._text
        if (column.muted or cell.dimmed) and colour == self._text:
            colour = self._muted
        if cell.tokens:
            painter.setFont(self.letters)
            if cell.special:
                width = min(self.metrics[False].horizontalAdvance(cell.text), area.width())
                frame = QRectF(area.left(), area.top(), width, area.height()).adjusted(-4, 3, 4, -3)
                paint_special(painter, frame.toAlignedRect().toRectF(), self._palette)
            self._paint_tokens(painter, area, cell, colour)
        else:
            self._paint_words(painter, area, cell.text, column, colour)

    def _fit(self, text: str, words: bool, room: float) -> tuple[str, float]:
        """The part of a text that fits into a width in pixels, and its width."""
        metrics = self.metrics[words]
        fitting = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room + 1)
        return fitting, metrics.horizontalAdvance(fitting)

    def _paint_words(self, painter: QPainter, area: QRectF, text: str, column: TokenColumn, colour: QColor) -> None:
        words = column.kind in ("number", "words")
        painter.setFont(self.figures if words else self.letters)
        painter.setPen(colour)
        text, width = self._fitting(text, words, area.width())
        left = area.right() - width if column.kind == "number" else area.left()
        painter.drawText(QPointF(left, _baseline(area, self.metrics[words])), text)

    def _paint_tokens(self, painter: QPainter, area: QRectF, cell: TokenCell, colour: QColor) -> None:
        metrics = self.metrics[False]
        text, _ = self._fitting(cell.text, False, area.width())
        paler = self._mark_in_muted if colour == self._muted else self._muted
        marks = [place for place in _marked_places(cell.tokens) if place[0] < len(text)]
        if not marks and text.isascii():
            painter.setPen(colour)
            painter.drawText(QPointF(area.left(), _baseline(area, metrics)), text)
            return
        drawn, units = _isolated(text, cell.tokens) if is_right_to_left(text) else (text, utf16_offsets(text))
        colours = [(0, units[-1], colour), *((units[a], units[min(b, len(text))], paler) for a, b in marks)]
        layout = laid_out(drawn, self.letters, colours)
        painter.setClipRect(area)
        layout.draw(painter, QPointF(area.left(), _baseline(area, metrics) - layout.lineAt(0).ascent()))


def _baseline(area: QRectF, metrics: QFontMetricsF) -> float:
    return area.top() + (area.height() - metrics.height()) / 2 + metrics.ascent()


def _marked_places(tokens: tuple[Shown, ...]) -> list[tuple[int, int]]:
    """The offsets of marks and dots in the tokens' text, joined as in `TokenCell.text`."""
    places: list[tuple[int, int]] = []
    at = 0
    for number, token in enumerate(tokens):
        if number:
            places.append((at, at + len(_PLUS)))
            at += len(_PLUS)
        length = len(marked(token))
        if token.kind == "bytes":
            places.append((at, at + length))
        elif not token.text.isalnum():
            places += [(at + i, at + i + 1) for i, character in enumerate(token.text) if mark_of(character)]
        at += length
    return places


def _isolated(text: str, tokens: tuple[Shown, ...]) -> tuple[str, list[int]]:
    """Isolates the direction of each token in a text; returns the text and the offsets of its original characters.

    A space, a full stop or dots at the end of a token stay at its end, and the left part of a pair stays on the left.
    """
    signs: dict[int, str] = {}
    at = 0
    for token in tokens:
        signs[at], signs[at + len(marked(token))] = ISOLATE, END
        at += len(marked(token)) + len(_PLUS)
    drawn = "".join(signs.get(place, "") + character for place, character in enumerate([*text, ""]))
    units = utf16_offsets(text)
    before = accumulate(int(place in signs) for place in range(len(units)))
    return drawn, [unit + more for unit, more in zip(units, before, strict=True)]


# --- The header of a table of tokens: titles above their columns, with an arrow at the sorted one ---------------------

_ARROW = 12  # pixels for the arrow and the gap to the title


class TokenHeader(QHeaderView):
    """Aligns titles with the cells; room is reserved for the arrow, so that no title is cut."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._theme = theme
        self.setHighlightSections(False)
        self.setMinimumSectionSize(32)
        self.apply_style()

    def apply_style(self) -> None:
        """Updates fonts and sizes; call it after a change of the theme."""
        self._font = QFont(self.font())
        self._font.setPixelSize(self._theme.scaled(11))
        self._font.setWeight(QFont.Weight.DemiBold)
        self._metrics = QFontMetricsF(self._font)
        self.setFixedHeight(round(self._metrics.height()) + 14)
        self.viewport().update()

    def width_of(self, title: str) -> int:
        """The width in pixels of a column with this title."""
        arrow = _ARROW if self.sectionsClickable() else 0
        return round(self._metrics.horizontalAdvance(title) + 0.5) + 2 * PADDING + arrow

    def paintSection(self, painter: QPainter, rect: QRect, logicalIndex: int) -> None:
        with guarded_painter(painter):
            model = self.model()
            if isinstance(model, TokenTable):
                self._paint(painter, QRectF(rect), model, logicalIndex)

    def _paint(self, painter: QPainter, rect: QRectF, model: TokenTable, index: int) -> None:
        palette, column = self._theme.palette, model.columns[index]
        sorted_by = self.isSortIndicatorShown() and self.sortIndicatorSection() == index
        painter.fillRect(rect, QColor(palette.surface))
        painter.setPen(QPen(QColor(palette.grid), 1))
        painter.drawLine(QPointF(rect.left(), rect.bottom() - 0.5), QPointF(rect.right(), rect.bottom() - 0.5))
        area = rect.adjusted(PADDING, 0, -PADDING, 0)
        right = column.kind == "number"
        title = self._metrics.elidedText(column.title, Qt.TextElideMode.ElideRight, area.width() + 1)
        width = self._metrics.horizontalAdvance(title)
        painter.setFont(self._font)
        painter.setPen(QColor(palette.text if sorted_by else palette.muted))
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        painter.drawText(area, side | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, title)
        if sorted_by:
            middle = area.right() - width - _ARROW / 2 - 1 if right else area.left() + width + _ARROW / 2 + 1
            self._paint_arrow(painter, QPointF(middle, area.center().y()))

    def _paint_arrow(self, painter: QPainter, middle: QPointF) -> None:
        tip = -2.0 if self.sortIndicatorOrder() == Qt.SortOrder.AscendingOrder else 2.0
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.palette.text), 1.4, c=Qt.PenCapStyle.RoundCap))
        for reach in (-3.5, 3.5):
            painter.drawLine(middle + QPointF(0, tip), middle + QPointF(reach, -tip))


MOST_COPIED = 100_000  # the most rows that are copied; they are some megabytes of text
_COPY_STEP = 64
_MOST_MOVED = 1000  # selected rows that are kept when the order changes: Qt asks for the new row of each

_Index = QModelIndex | QPersistentModelIndex
_VISIBLE = QAbstractItemView.ScrollHint.EnsureVisible


class FollowTable(RowTable):
    """Shows a `TokenTable`."""

    rowChosen = Signal(int)  # the user has made another row current
    rowActivated = Signal(int)  # Enter, or a double click
    copied = Signal(int, int)  # the number of rows on the clipboard, and of selected rows
    columnsChosen = Signal(str)  # the user has shown or hidden columns: `choices_text`

    def __init__(self, model: TokenTable, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme, self._model = theme, model
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
        self.columns_menu = self._make_columns_menu()
        model.reordering.connect(self._lighten_selection)
        theme.follow(self._apply_style)

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

    # ---- optional columns

    @property
    def choices_text(self) -> str:
        """The optional columns that are shown, as a text for the preferences."""
        return ",".join(action.text() for action in self.columns_menu.actions() if action.isChecked())

    def set_choices(self, text: str) -> None:
        """Restores `choices_text`; unknown columns are ignored."""
        titles = set(text.split(","))
        for action in self.columns_menu.actions():
            action.setChecked(action.text() in titles)
        self._choose_columns()

    def show_columns(self, *columns: int) -> None:
        """Shows optional columns, as if the user had chosen them."""
        actions = [action for action in self.columns_menu.actions() if action.data() in columns]
        if not all(action.isChecked() for action in actions):
            for action in actions:
                action.setChecked(True)
            self._tell_choice()

    def _make_columns_menu(self) -> Menu:
        menu = Menu(self)
        for number, column in enumerate(self._model.columns):
            if column.optional:
                action = QAction(column.title, menu, checkable=True, statusTip=f"{column.tip}.")
                action.setData(number)
                menu.addAction(action)
        menu.triggered.connect(self._tell_choice)
        if not menu.isEmpty():
            self._header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            self._header.customContextMenuRequested.connect(
                lambda place: menu.popup(self._header.viewport().mapToGlobal(place))
            )
        return menu

    def _choose_columns(self) -> None:
        chosen = [action.data() for action in self.columns_menu.actions() if action.isChecked()]
        if frozenset(chosen) != self._model.chosen:
            self._model.choose_columns(chosen)
            self._fitted = ()
            self.refit()

    def _tell_choice(self) -> None:
        self._choose_columns()
        self.columnsChosen.emit(self.choices_text)

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
        """Scrolls to a row, to the middle if it was not visible; -1 changes nothing."""
        if row < 0:
            return
        height = self.verticalHeader().defaultSectionSize()
        top = self.rowViewportPosition(row)
        if top < 0 or top + height > self.viewport().height():
            # Whole rows, so that none is cut at the upper edge.
            self.verticalScrollBar().setValue((row - (self.viewport().height() // height - 1) // 2) * height)
        show_in_body(self.viewport(), QRect(0, self.rowViewportPosition(row), 1, height))

    def scrollTo(
        self, index: _Index, hint: QAbstractItemView.ScrollHint = QAbstractItemView.ScrollHint.EnsureVisible
    ) -> None:
        """Scrolls to a row; also the body around the table."""
        super().scrollTo(index, hint)
        show_in_body(self.viewport(), self.visualRect(index))

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
        kept = {i for i, one in enumerate(columns) if not one.optional or i in self._model.chosen}
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
            height = self.verticalHeader().defaultSectionSize()
            self.verticalScrollBar().setValue(-(-(self.verticalScrollBar().value() + hidden) // height) * height)
        self.refit()

    def _bottom_of_current(self) -> int:
        """The lower edge of the current row in the viewport; 0 for none."""
        row = self.current_row
        return self.rowViewportPosition(row) + self.verticalHeader().defaultSectionSize() if row >= 0 else 0

    def _apply_style(self) -> None:
        self._cells.apply_style()
        self._header.apply_style()
        self.set_row_height(self._cells.row_height)
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
        return keeps_copy(event) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
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
