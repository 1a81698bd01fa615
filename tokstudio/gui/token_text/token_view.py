"""Shows a text of any length as coloured tokens, with mouse, keyboard and selection; only visible rows are painted.

See also `pieces.py`, `rows.py`, `blocks.py` and `painter.py`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
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
from PySide6.QtWidgets import QWidget

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.blocks import EncodedText, TokenBlocks
from tokstudio.gui.token_text.painter import INSET, RowPainter, TextStyle
from tokstudio.gui.token_text.rows import ROW_GAP, PieceBox, Shaper
from tokstudio.gui.widgets.labels import guarded_painter
from tokstudio.gui.widgets.layouts import Canvas

if TYPE_CHECKING:
    from numpy.typing import NDArray

MARGIN = 4
_FONT = 14
_HEX_FONT = 12
_ID_FONT = 10


class TokenView(Canvas):
    """A text in coloured pieces, one per token, with graphemes kept whole; tokens are counted from 0.

    Only the visible part is laid out. The scroll bar estimates the length of the rest, and corrects it while the user
    scrolls there. So a text of any length is shown at once, at any place, and the visible part does not jump.
    """

    tokenHovered = Signal(int)  # the token below the mouse, or -1
    selectionChanged = Signal(int, int)  # the first and the last selected token, or -1 and -1
    #: The number of the selected occurrence of the target, from 1 on, or 0; and how many there are.
    occurrencesChanged = Signal(int, int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__("Tokens", parent)
        self._theme = theme
        self._show_ids = False
        self._top_byte = 0  # the byte at the top, kept while rows are broken again
        self._settling = False
        # None until a text is shown: NumPy, which it needs, is loaded after the window answers.
        self._table: EncodedText | None = None
        self._rows: TokenBlocks | None = None
        self._make_fonts()
        self._white_space = True
        self._placeholder = ""
        self._anchor = self._current = self._hovered = -1
        self._target = -1
        self.occurrences: NDArray[np.int64] | tuple[()] = ()
        self.marked: frozenset[int] = frozenset()  # the highlighted tokens
        self._ids_known = True
        self._describe()
        theme.changed.connect(self._follow_theme)

    # Content

    @property
    def table(self) -> EncodedText:
        """The text with its tokens."""
        if self._table is None:
            self._table = EncodedText(b"", np.zeros(0, np.int64), np.zeros(0, np.uint32))
        return self._table

    @property
    def rows(self) -> TokenBlocks:
        """The rows of the text."""
        if self._rows is None:
            self._rows = self._new_rows()
        return self._rows

    @property
    def _tokens(self) -> int:
        return self._table.tokens if self._table is not None else 0

    def set_tokens(
        self, data: bytes, ends: NDArray[np.int64], ids: NDArray[np.uint32], special: NDArray[np.bool_] | None = None
    ) -> None:
        """Shows a short text; the arguments are those of `EncodedText`."""
        self.show_table(EncodedText(data, ends, ids, special))

    def show_table(self, table: EncodedText) -> None:
        """Shows a text without a selection.

        The scroll position stays if the text, or its tokens, are the same as before.
        """
        self.select(-1, -1)
        self._set_hovered(-1)
        self.marked = frozenset()
        before = self.table
        if table.data != before.data:
            top = int(np.searchsorted(before.edges, self._top_byte, side="right")) - 1
            same = 0 <= top < table.tokens and np.array_equal(table.ids, before.ids)
            self._top_byte = int(table.edges[top]) if same else 0
        self._table = table
        self._lay_out_anew()
        self._describe()
        self._find_occurrences()

    def clear(self) -> None:
        """Shows no text."""
        if self._table is not None:
            self.set_tokens(b"", np.zeros(0, np.int64), np.zeros(0, np.uint32))

    def set_show_ids(self, shown: bool) -> None:
        """Shows or hides the ids below the pieces."""
        if shown != self._show_ids:
            self._show_ids = shown
            self._lay_out_anew()

    def mark(self, tokens: Collection[int]) -> None:
        """Highlights some tokens, and scrolls to the first of them unless one is visible."""
        self.marked = frozenset(tokens)
        if tokens and self.marked.isdisjoint(self._visible_tokens()):
            self._bring_into_view(min(tokens))
        self.viewport().update()

    def set_ids_known(self, are_known: bool) -> None:
        """Sets whether the pieces are tokens with ids to show; if not, the ids only give them their colours."""
        self._ids_known = are_known
        self._describe()

    def set_show_white_space(self, shown: bool) -> None:
        """Shows or hides marks of white space next to other text; pieces of white space alone always have marks."""
        self._white_space = shown
        self.viewport().update()

    def set_placeholder(self, text: str) -> None:
        """Sets the text that is shown while there are no tokens."""
        self._placeholder = text
        self._describe()
        self.viewport().update()

    # Occurrences of the target

    def set_target(self, token: int) -> None:
        """Marks every occurrence of the token with an id; -1 for none."""
        if token != self._target:
            self._target = token
            self._find_occurrences()

    def occurrence(self) -> tuple[int, int]:
        """Returns the values of `occurrencesChanged`."""
        selection = self.selection()
        if selection is None or selection[0] != selection[1]:
            return 0, len(self.occurrences)
        at = int(np.searchsorted(self.occurrences, selection[0]))
        here = at < len(self.occurrences) and int(self.occurrences[at]) == selection[0]
        return at + 1 if here else 0, len(self.occurrences)

    def go_to_occurrence(self, step: int) -> None:
        """Selects the next (1) or previous (-1) occurrence from the selection, and wraps around."""
        if not len(self.occurrences):
            return
        begin = self._current if self._current >= 0 else -1 if step > 0 else self._tokens
        at = int(np.searchsorted(self.occurrences, begin, side="right" if step > 0 else "left")) - (step < 0)
        token = int(self.occurrences[at % len(self.occurrences)])
        self.select(token, token)

    def _find_occurrences(self) -> None:
        found = self._tokens and self._target >= 0
        self.occurrences = np.flatnonzero(self.table.ids == self._target) if found else ()
        self.viewport().update()
        self.occurrencesChanged.emit(*self.occurrence())

    # Selection

    def select(self, first: int, last: int) -> None:
        """Selects tokens and scrolls to the last of them; -1 and -1 select none."""
        limit = self._tokens - 1
        inside = min(first, last) >= 0 and max(first, last) <= limit
        self._move_selection(*((first, last) if inside else (-1, -1)))

    def selection(self) -> tuple[int, int] | None:
        """Returns the first and the last selected token."""
        if self._current < 0:
            return None
        return min(self._anchor, self._current), max(self._anchor, self._current)

    def select_all(self) -> None:
        """Selects every token without scrolling."""
        if self._tokens:
            self._move_selection(0, self._tokens - 1, show=False)

    def selected_text(self) -> str:
        """Returns the text of the selected tokens; parts of cut characters become U+FFFD."""
        selection = self.selection()
        if selection is None:
            return ""
        first, last = selection
        data = self.table.data[self.table.edges[first] : self.table.edges[last + 1]]
        return data.decode("utf-8", "replace")

    def copy(self) -> None:
        """Copies the text of the selected tokens."""
        if self.selection() is not None:
            QGuiApplication.clipboard().setText(self.selected_text())

    def copy_ids(self) -> None:
        """Copies the ids of the selected tokens, or of all without a selection, separated by spaces."""
        first, last = self.selection() or (0, self._tokens - 1)
        if self._tokens:
            QGuiApplication.clipboard().setText(" ".join(map(str, self.table.ids[first : last + 1].tolist())))

    def token_rectangle(self, token: int) -> QRectF:
        """Returns the rectangle where the piece of `token` begins, in the viewport; empty if there is no such token."""
        if not 0 <= token < self._tokens:
            return QRectF()
        row = self._row_of(token)
        box = next(box for box in self.rows.boxes(row) if box.first <= token < box.first + box.tokens)
        top = MARGIN + row * self._row_height() - self.verticalScrollBar().value()
        return QRectF(MARGIN + box.x, top, box.width, self.rows.height + 2 * INSET)

    def token_at(self, point: QPoint) -> int:
        """Returns the token at a point of the viewport, or -1."""
        row = self._row_at(point.y())
        if not self._tokens or not 0 <= row < len(self.rows):
            return -1
        x = point.x() - MARGIN
        for box in self.rows.boxes(row):
            if box.x <= x < box.x + box.width:
                return self._token_in(box, x)
        return -1

    def _move_selection(self, anchor: int, current: int, show: bool = True) -> None:
        if (anchor, current) == (self._anchor, self._current):
            return
        before = self.selection()
        self._anchor, self._current = anchor, current
        if current >= 0 and show:
            self._bring_into_view(current)
        self._describe()
        self.viewport().update()
        after = self.selection()
        if after != before:
            self.selectionChanged.emit(*(after or (-1, -1)))
            if len(self.occurrences):
                self.occurrencesChanged.emit(*self.occurrence())

    def _describe(self) -> None:
        count = self._tokens
        what = "Token" if self._ids_known else "Piece"
        text = f"{count:,} {what.lower()}{'' if count == 1 else 's'}." if count else self._placeholder
        if 0 <= self._current < count:
            piece = self.rows.piece_of(self._current)
            special = "special token, " if self.table.special[self._current] else ""
            id_text = f", {special}id {int(self.table.ids[self._current])}" if self._ids_known else ""
            text += f" {what} {self._current + 1:,}: {piece.text!r}{id_text}."
        self.setAccessibleDescription(text)

    # Rows and scrolling

    def _make_fonts(self) -> None:
        self._text_size = self._theme.text_size
        font = self._theme.monospace_font
        self._id_font = font(_ID_FONT)
        self._shaper = Shaper(font(_FONT), font(_HEX_FONT))

    def _new_rows(self) -> TokenBlocks:
        id_cell = QFontMetricsF(self._id_font).horizontalAdvance("0") if self._show_ids else 0.0
        return TokenBlocks(self.table, self._shaper, id_cell, self._row_width())

    def _row_width(self) -> float:
        # The room of the scroll bar is always reserved, so that showing it moves nothing.
        bar = self.verticalScrollBar().sizeHint().width()
        return max(40.0, self.width() - bar - 2.0 * MARGIN)

    def _row_height(self) -> int:
        ids = QFontMetricsF(self._id_font).height() + 2 if self._show_ids else 0.0
        height = self._rows.height if self._rows is not None else self._shaper.height
        return round(height + 2 * INSET + ids + ROW_GAP)

    def _row_at(self, y: float) -> int:
        return int((y - MARGIN + self.verticalScrollBar().value()) // self._row_height())

    def _row_of(self, token: int) -> int:
        self._lay_out(self.rows.block_of_token(token))
        return self.rows.row_of(token)

    def _lay_out(self, block: int) -> None:
        """Lays out a block without moving the visible text."""
        if self.rows.knows(block):
            return
        row, rest = divmod(self.verticalScrollBar().value(), self._row_height())
        above = block < self.rows.block_of_row(row)
        more = self.rows.lay_out(block)
        self._scroll_to(row + more if above else row, rest)

    def _reach(self, row: int, upwards: bool) -> int:
        """Lays out the block of a row, and returns the row that is in its place now.

        When scrolling up into a block, rows are counted from its end, which was visible before.
        """
        rows = self.rows
        block = rows.block_of_row(row)
        local, expected = row - rows.first_row(block), rows.count(block)
        self._lay_out(block)
        if upwards:
            local += rows.count(block) - expected
        return rows.first_row(block) + min(max(local, 0), rows.count(block) - 1)

    def _lay_out_anew(self) -> None:
        """Starts the rows again, with the text that was at the top."""
        if self._table is None:
            self._rows = None
            self._scroll_to(0, 0)
            return
        self._rows = self._new_rows()
        row = 0
        if self._tokens:
            token = int(np.searchsorted(self.table.edges, np.int64(self._top_byte), side="right")) - 1
            row = self.rows.row_of(min(token, self.table.tokens - 1))
        self._show_from(row, 0)

    def _arrive(self, upwards: bool) -> None:
        """Lays out the visible part at the new scroll position."""
        bar = self.verticalScrollBar()
        if bar.value() == bar.maximum() and bar.value():
            self._show_end()
            return
        row, rest = divmod(bar.value(), self._row_height())
        self._show_from(self._reach(row, upwards), rest)

    def _show_from(self, row: int, rest: int) -> None:
        """Scrolls to `rest` pixels below the top of a row that is laid out, and lays out the following rows."""
        rows = self.rows
        block = rows.block_of_row(row)
        if block and row == rows.first_row(block):
            # The margin shows the end of the row above.
            row += rows.lay_out(block - 1)
        while block + 1 < rows.blocks and rows.first_row(block + 1) - row < self._page_rows():
            block += 1
            rows.lay_out(block)
        self._scroll_to(row, rest)
        bar = self.verticalScrollBar()
        if bar.value() < row * self._row_height() + rest and bar.value():
            self._show_end()

    def _show_end(self) -> None:
        """Scrolls to the end, and lays out the last rows."""
        rows = self.rows
        block = rows.blocks - 1
        rows.lay_out(block)
        while block > 0 and len(rows) - rows.first_row(block) < self._page_rows():
            block -= 1
            rows.lay_out(block)
        self._scroll_to(len(rows), 0)

    def _page_rows(self) -> float:
        return self.viewport().height() / self._row_height() + 2

    def _scroll_to(self, row: int, rest: int) -> None:
        height, rows = self._row_height(), len(self.rows) if self._tokens else 0
        self._settling = True
        whole = max((self.viewport().height() - 2 * MARGIN) // height, 1) * height
        self.scroll_through(round(2 * MARGIN + rows * height), height, whole + 2 * MARGIN)
        self.verticalScrollBar().setValue(row * height + rest)
        self._settling = False
        self.viewport().update()

    def _bring_into_view(self, token: int) -> None:
        row = self._row_of(token)
        bar, height = self.verticalScrollBar(), self._row_height()
        top = row * height
        if top < bar.value():
            bar.setValue(top)
        elif top + height + 2 * MARGIN > bar.value() + self.viewport().height():
            bar.setValue(-(-(top + height + 2 * MARGIN - self.viewport().height()) // height) * height)

    def _visible_tokens(self) -> range:
        """The tokens of the rows that are fully visible."""
        if not self._tokens:
            return range(0)
        height, top = self._row_height(), self.verticalScrollBar().value() - MARGIN
        first = max(0, -(-top // height))
        room = self.viewport().height() - math.ceil(self.rows.height + 2 * INSET)
        last = min(len(self.rows) - 1, (top + room) // height)
        if first > last:
            return range(0)
        begin, end = next(iter(self.rows.boxes(first))), list(self.rows.boxes(last))[-1]
        return range(begin.first, end.first + end.tokens)

    def _follow_theme(self) -> None:
        if self._text_size != self._theme.text_size:
            self._make_fonts()
            self._lay_out_anew()
        self.viewport().update()

    # Events

    def sizeHint(self) -> QSize:
        return QSize(360, round(self._row_height() * 6))

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Lays out newly visible rows, stores the position, and repaints."""
        if not self._settling and self._tokens:
            self._arrive(upwards=dy > 0)
            top = self.rows.first_token(min(self._row_at(MARGIN), len(self.rows) - 1))
            self._top_byte = int(self.table.edges[top])
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Breaks the rows for the new width; the text at the top stays."""
        self._lay_out_anew()

    def paintEvent(self, event: QPaintEvent) -> None:
        palette = self._theme.palette
        with guarded_painter(self.viewport()) as painter:
            painter.fillRect(event.rect(), QColor(palette.surface))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            if not self._tokens:
                painter.setPen(QColor(palette.muted))
                room = QRectF(self.viewport().rect()).adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
                painter.drawText(room, Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft, self._placeholder)
            else:
                self._paint_rows(painter, event)
            if self.hasFocus() and self._current < 0:
                painter.setPen(QPen(QColor(palette.accent), 1))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(QRectF(self.viewport().rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)

    def _paint_rows(self, painter: QPainter, event: QPaintEvent) -> None:
        id_font = self._id_font if self._show_ids else None
        look = TextStyle(self._white_space, id_font, self.selection(), self._hovered, self.occurrences, self.marked)
        rows = RowPainter(painter, self.rows, self._theme.palette, look)
        height, scrolled = self._row_height(), self.verticalScrollBar().value()
        first = max(self._row_at(event.rect().top()), 0)
        last = min(self._row_at(event.rect().bottom()), len(self.rows) - 1)
        # No row is cut at the lower edge, unless it is the only one.
        last = min(last, max(self._row_at(self.viewport().height() - MARGIN) - 1, self._row_at(MARGIN)))
        for row in range(first, last + 1):
            rows.paint_row(row, MARGIN, MARGIN + row * height - scrolled)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Selects the token below the mouse; with Shift, extends the selection; beside the tokens, clears it.

        The right button, whose menu acts on the selection, selects a token only outside the selection.
        """
        token = self.token_at(event.position().toPoint())
        first, last = self.selection() or (-1, -1)
        if event.button() == Qt.MouseButton.RightButton and token >= 0 and not first <= token <= last:
            self._move_selection(token, token)
        if event.button() == Qt.MouseButton.LeftButton:
            extends = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier) and self._anchor >= 0 <= token
            self._move_selection(self._anchor if extends else token, token)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Ignores the end of a click or a drag."""
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        token = self.token_at(event.position().toPoint())
        self._set_hovered(token)
        if event.buttons() & Qt.MouseButton.LeftButton and token >= 0 and self._anchor >= 0:
            self._move_selection(self._anchor, token)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._set_hovered(-1)
        return super().viewportEvent(event)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._edit_of(event):
            event.accept()
            return True
        return super().event(event)

    def inputMethodQuery(self, query: Qt.InputMethodQuery) -> object:
        """Returns the rectangle of the current token, where a context menu opened by a key appears."""
        if query == Qt.InputMethodQuery.ImCursorRectangle and self._current >= 0:
            rectangle = self.token_rectangle(self._current).toRect() & self.viewport().rect()
            return rectangle.translated(self.viewport().pos())
        return super().inputMethodQuery(query)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        edit = self._edit_of(event)
        if edit is not None:
            edit()
            return
        modifiers = event.modifiers() & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier)
        control = modifiers == Qt.KeyboardModifier.ControlModifier
        target = None
        if self._tokens and (control or modifiers == Qt.KeyboardModifier.NoModifier):
            target = self._key_target(Qt.Key(event.key()), control)
        if target is not None:
            extends = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier) and self._anchor >= 0
            self._move_selection(self._anchor if extends else target, target)
        elif event.key() == Qt.Key.Key_Escape and self._current >= 0:
            self.select(-1, -1)
        else:
            event.ignore()

    def _edit_of(self, event: QKeyEvent) -> Callable[[], None] | None:
        if event.matches(QKeySequence.StandardKey.Copy):
            return self.copy
        return self.select_all if event.matches(QKeySequence.StandardKey.SelectAll) else None

    def _key_target(self, key: Qt.Key, control: bool) -> int | None:
        """Returns the token that a key moves to; None for other keys."""
        current, last = self._current, self._tokens - 1
        page = max(1, int(self.viewport().height() // self._row_height()) - 1)
        rows = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -page, Qt.Key.Key_PageDown: page}
        if control:
            return {Qt.Key.Key_Home: 0, Qt.Key.Key_End: last}.get(key)
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            return min(max(current + (1 if key == Qt.Key.Key_Right else -1), 0), last)
        if key in rows:
            return 0 if current < 0 else self._token_beside(rows[key])
        if key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            boxes = list(self.rows.boxes(self._row_of(max(current, 0))))
            box = boxes[0 if key == Qt.Key.Key_Home else -1]
            return self._token_in(box, box.x if key == Qt.Key.Key_Home else box.x + box.width - 0.01)
        return None

    def _token_beside(self, rows: int) -> int:
        """Returns the nearest token in the row `rows` below the current one, or in the last row."""
        row = min(max(self._row_of(self._current) + rows, 0), len(self.rows) - 1)
        row = self._reach(row, upwards=rows < 0)
        middle = self.token_rectangle(self._current).center() - QPointF(MARGIN, 0)
        boxes = list(self.rows.boxes(row))
        nearest = min(boxes, key=lambda box: max(box.x - middle.x(), middle.x() - box.x - box.width, 0))
        return self._token_in(nearest, middle.x())

    def _token_in(self, box: PieceBox, x: float) -> int:
        share = (x - box.x) / max(box.width, 1.0)
        return box.first + box.mirror(min(max(int(share * box.tokens), 0), box.tokens - 1))

    def _set_hovered(self, token: int) -> None:
        if token != self._hovered:
            self._hovered = token
            self.viewport().update()
            self.tokenHovered.emit(token)
