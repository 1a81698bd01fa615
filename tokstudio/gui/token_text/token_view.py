"""Shows a text as its tokens, in coloured pieces: any length, only visible rows painted, mouse, keys and selection.

The pane says what the tokens are. See also `pieces.py`, `rows.py`, `blocks.py` and `painter.py`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import NDArray
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
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.bidi import Box
from tokstudio.gui.token_text.blocks import EncodedText, TokenBlocks
from tokstudio.gui.token_text.painter import INSET, RowPainter, TextStyle
from tokstudio.gui.token_text.rows import ROW_GAP, Shaper
from tokstudio.gui.widgets.painting import guarded_painter

MARGIN = 4
_FONT = 14
_HEX_FONT = 12
_ID_FONT = 10
_NO_TOKENS = (b"", np.zeros(0, np.int64), np.zeros(0, np.uint32))


class TokenView(QAbstractScrollArea):
    """A text in coloured pieces, one a token, with graphemes kept whole; tokens are counted from 0.

    Only what is in sight is laid out. The scroll bar estimates the length of the rest, and corrects it while the person
    scrolls there. So a text of any length is shown at once, at any place, and what is in sight does not jump.

    Args:
        theme: Its colours and text size; followed while it changes.
        parent: The owner.
    """

    #: The token below the mouse, or -1.
    tokenHovered = Signal(int)
    #: The first and the last selected token, or -1 and -1.
    selectionChanged = Signal(int, int)
    #: Which place of the found token is selected, from 1 on, or 0; and how many there are.
    placesChanged = Signal(int, int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._show_ids = False
        self._top_byte = 0  # the byte that stays at the top while rows are broken anew
        self._settling = False
        self._table = EncodedText(*_NO_TOKENS)
        self._make_fonts()
        self._rows = self._new_rows()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._white_space = True
        self._placeholder = ""
        self._anchor = self._current = self._hovered = -1
        self._found = -1
        self._places = np.empty(0, np.int64)
        self._marked: frozenset[int] = frozenset()
        self._ids_known = True
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.setAccessibleName("Tokens")
        self._describe()
        theme.changed.connect(self._follow_theme)

    # What is shown

    def set_tokens(
        self,
        data: bytes,
        ends: NDArray[np.int64],
        ids: NDArray[np.uint32],
        special: NDArray[np.bool_] | None = None,
    ) -> None:
        """Shows a text that is short; see `show_table`.

        Args:
            data: The text.
            ends: For every token the byte after its last one.
            ids: For every token its id.
            special: For every token whether it is a special one; None where none is.
        """
        self.show_table(EncodedText(data, ends, ids, special))

    def show_table(self, table: EncodedText) -> None:
        """Shows a text and selects none of it.

        For the same text as before, or the same tokens written otherwise, the place that is looked at stays.
        """
        self.select(-1, -1)
        self._set_hovered(-1)
        self._marked = frozenset()
        before = self._table
        if table.data != before.data:
            top = int(np.searchsorted(before.edges, self._top_byte, side="right")) - 1
            same = 0 <= top < table.tokens and np.array_equal(table.ids, before.ids)
            self._top_byte = int(table.edges[top]) if same else 0
        self._table = table
        self._lay_out_anew()
        self._describe()
        self._look_for_places()

    def clear(self) -> None:
        """Shows no text."""
        self.set_tokens(*_NO_TOKENS)

    def set_show_ids(self, shown: bool) -> None:
        """Switches the ids below the pieces."""
        if shown != self._show_ids:
            self._show_ids = shown
            self._lay_out_anew()

    def mark(self, tokens: Collection[int]) -> None:
        """Lets some tokens stand out, and brings the first of them into view if none of them is."""
        self._marked = frozenset(tokens)
        if tokens and self._marked.isdisjoint(self._in_sight()):
            self._bring_into_view(min(tokens))
        self.viewport().update()

    def marked(self) -> frozenset[int]:
        """Gives the tokens that stand out."""
        return self._marked

    def set_ids_known(self, known: bool) -> None:
        """Says whether the pieces are tokens, whose ids can be told; else the ids give them their colours alone."""
        self._ids_known = known
        self._describe()

    def set_show_white_space(self, shown: bool) -> None:
        """Switches the marks of white space beside other text; pieces of white space alone always have theirs."""
        self._white_space = shown
        self.viewport().update()

    def set_placeholder(self, text: str) -> None:
        """Sets what is said while there are no tokens."""
        self._placeholder = text
        self._describe()
        self.viewport().update()

    # Places of a token that was found

    def set_found(self, token: int) -> None:
        """Marks every place of the token with an id; -1 for none."""
        if token != self._found:
            self._found = token
            self._look_for_places()

    def place(self) -> tuple[int, int]:
        """Gives what `placesChanged` tells."""
        selection = self.selection()
        if selection is None or selection[0] != selection[1]:
            return 0, len(self._places)
        at = int(np.searchsorted(self._places, selection[0]))
        here = at < len(self._places) and int(self._places[at]) == selection[0]
        return at + 1 if here else 0, len(self._places)

    def go_to_place(self, step: int) -> None:
        """Selects the next place (1) or the one before (-1) of what is selected; from the end on, the first again."""
        if not len(self._places):
            return
        begin = self._current if self._current >= 0 else -1 if step > 0 else self._table.tokens
        at = int(np.searchsorted(self._places, begin, side="right" if step > 0 else "left")) - (step < 0)
        place = int(self._places[at % len(self._places)])
        self.select(place, place)

    def _look_for_places(self) -> None:
        ids = self._table.ids
        self._places = np.flatnonzero(ids == self._found) if self._found >= 0 else np.empty(0, np.int64)
        self.viewport().update()
        self.placesChanged.emit(*self.place())

    # Selection

    def select(self, first: int, last: int) -> None:
        """Selects tokens and brings the last of them into view; -1 and -1 select none."""
        limit = self._table.tokens - 1
        inside = min(first, last) >= 0 and max(first, last) <= limit
        self._move_selection(*((first, last) if inside else (-1, -1)))

    def selection(self) -> tuple[int, int] | None:
        """Gives the first and the last selected token."""
        if self._current < 0:
            return None
        return min(self._anchor, self._current), max(self._anchor, self._current)

    def select_all(self) -> None:
        """Selects every token and stays where it is."""
        if self._table.tokens:
            self._move_selection(0, self._table.tokens - 1, show=False)

    def selected_text(self) -> str:
        """Gives the text of the selected tokens; what is cut off a character becomes U+FFFD."""
        selection = self.selection()
        if selection is None:
            return ""
        first, last = selection
        data = self._table.data[self._table.edges[first] : self._table.edges[last + 1]]
        return data.decode("utf-8", "replace")

    def copy(self) -> None:
        """Copies the text of the selected tokens."""
        if self.selection() is not None:
            QGuiApplication.clipboard().setText(self.selected_text())

    def copy_ids(self) -> None:
        """Copies the ids of the selected tokens, or of all where none is selected, with spaces between them."""
        first, last = self.selection() or (0, self._table.tokens - 1)
        if self._table.tokens:
            QGuiApplication.clipboard().setText(" ".join(map(str, self._table.ids[first : last + 1].tolist())))

    def token_rectangle(self, token: int) -> QRectF:
        """Gives where the piece of `token` begins, in the viewport; empty where there is no such token."""
        if not 0 <= token < self._table.tokens:
            return QRectF()
        row = self._row_of(token)
        box = next(box for box in self._rows.boxes(row) if box.first <= token < box.first + box.tokens)
        top = MARGIN + row * self._row_height() - self.verticalScrollBar().value()
        return QRectF(MARGIN + box.x, top, box.width, self._rows.height + 2 * INSET)

    def token_at(self, point: QPoint) -> int:
        """Gives the token at a point of the viewport, or -1."""
        row = self._row_at(point.y())
        if not 0 <= row < len(self._rows) or not self._table.tokens:
            return -1
        x = point.x() - MARGIN
        for box in self._rows.boxes(row):
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
            if len(self._places):
                self.placesChanged.emit(*self.place())

    def _describe(self) -> None:
        count = self._table.tokens
        what = "Token" if self._ids_known else "Piece"
        text = f"{count:,} {what.lower()}{'' if count == 1 else 's'}." if count else self._placeholder
        if 0 <= self._current < count:
            piece = self._rows.piece_of(self._current)
            special = "special token, " if self._table.special[self._current] else ""
            told = f", {special}id {int(self._table.ids[self._current])}" if self._ids_known else ""
            text += f" {what} {self._current + 1:,}: {piece.text!r}{told}."
        self.setAccessibleDescription(text)

    # Rows and scrolling

    def _make_fonts(self) -> None:
        self._text_size = self._theme.text_size
        font = self._theme.monospace_font
        self._id_font = font(_ID_FONT)
        self._shaper = Shaper(font(_FONT), font(_HEX_FONT))

    def _new_rows(self) -> TokenBlocks:
        return TokenBlocks(self._table, self._shaper, self._id_cell(), self._row_width())

    def _id_cell(self) -> float:
        return QFontMetricsF(self._id_font).horizontalAdvance("0") if self._show_ids else 0.0

    def _row_width(self) -> float:
        # The room of the scroll bar stays free without one, so that its coming moves nothing.
        bar = self.verticalScrollBar().sizeHint().width()
        return max(40.0, self.width() - bar - 2.0 * MARGIN)

    def _row_height(self) -> int:
        ids = QFontMetricsF(self._id_font).height() + 2 if self._show_ids else 0.0
        return round(self._rows.height + 2 * INSET + ids + ROW_GAP)

    def _row_at(self, y: float) -> int:
        return int((y - MARGIN + self.verticalScrollBar().value()) // self._row_height())

    def _row_of(self, token: int) -> int:
        self._lay_out(self._rows.block_of_token(token))
        return self._rows.row_of(token)

    def _lay_out(self, block: int) -> None:
        """Lays out a block; what is in sight stays where it is."""
        if self._rows.knows(block):
            return
        row, rest = divmod(self.verticalScrollBar().value(), self._row_height())
        above = block < self._rows.block_of_row(row)
        more = self._rows.lay_out(block)
        self._scroll_to(row + more if above else row, rest)

    def _reach(self, row: int, upwards: bool) -> int:
        """Lays out the block that a row is in, and gives the row that stands in its place now.

        Of a block that is come to from below the rows are counted from its end, as that is what one has seen of it.
        """
        rows = self._rows
        block = rows.block_of_row(row)
        local, expected = row - rows.first_row(block), rows.count(block)
        self._lay_out(block)
        if upwards:
            local += rows.count(block) - expected
        return rows.first_row(block) + min(max(local, 0), rows.count(block) - 1)

    def _lay_out_anew(self) -> None:
        """Begins the rows anew, with the text that was at the top."""
        self._rows = self._new_rows()
        row = 0
        if self._table.tokens:
            token = int(np.searchsorted(self._table.edges, np.int64(self._top_byte), side="right")) - 1
            row = self._rows.row_of(min(token, self._table.tokens - 1))
        self._show_from(row, 0)

    def _arrive(self, upwards: bool) -> None:
        """Lays out what is in sight at the place that was scrolled to."""
        bar = self.verticalScrollBar()
        if bar.value() == bar.maximum() and bar.value():
            self._show_end()
            return
        row, rest = divmod(bar.value(), self._row_height())
        self._show_from(self._reach(row, upwards), rest)

    def _show_from(self, row: int, rest: int) -> None:
        """Scrolls to `rest` pixels below the top of a row that is laid out, and lays out the rows that follow."""
        rows = self._rows
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
        """Scrolls to the end, with the rows that lead there."""
        rows = self._rows
        block = rows.blocks - 1
        rows.lay_out(block)
        while block > 0 and len(rows) - rows.first_row(block) < self._page_rows():
            block -= 1
            rows.lay_out(block)
        self._scroll_to(len(rows), 0)

    def _page_rows(self) -> float:
        return self.viewport().height() / self._row_height() + 2

    def _scroll_to(self, row: int, rest: int) -> None:
        height, page = self._row_height(), self.viewport().height()
        bar = self.verticalScrollBar()
        self._settling = True
        bar.setRange(0, max(0, round(2 * MARGIN + len(self._rows) * height - page)))
        bar.setPageStep(page)
        bar.setSingleStep(height)
        bar.setValue(row * height + rest)
        self._settling = False
        self.viewport().update()

    def _bring_into_view(self, token: int) -> None:
        row = self._row_of(token)
        bar, height = self.verticalScrollBar(), self._row_height()
        top = row * height
        if top < bar.value():
            bar.setValue(top)
        elif top + height + 2 * MARGIN > bar.value() + self.viewport().height():
            bar.setValue(top + height + 2 * MARGIN - self.viewport().height())

    def _in_sight(self) -> range:
        """The tokens of the rows that are wholly in sight."""
        height, top = self._row_height(), self.verticalScrollBar().value() - MARGIN
        first = max(0, -(-top // height))
        room = self.viewport().height() - math.ceil(self._rows.height + 2 * INSET)
        last = min(len(self._rows) - 1, (top + room) // height)
        if not self._table.tokens or first > last:
            return range(0)
        begin, end = next(iter(self._rows.boxes(first))), list(self._rows.boxes(last))[-1]
        return range(begin.first, end.first + end.tokens)

    def _follow_theme(self) -> None:
        if self._text_size != self._theme.text_size:
            self._make_fonts()
            self._lay_out_anew()
        self.viewport().update()

    # Events

    def sizeHint(self) -> QSize:
        """Gives room for a few rows."""
        return QSize(360, round(self._row_height() * 6))

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Lays out what has come into sight, remembers what is at the top, and paints anew."""
        if not self._settling and self._table.tokens:
            self._arrive(upwards=dy > 0)
            top = self._rows.first_token(min(self._row_at(MARGIN), len(self._rows) - 1))
            self._top_byte = int(self._table.edges[top])
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Breaks the rows for the new width; the text at the top stays there."""
        self._lay_out_anew()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paints the visible rows."""
        palette = self._theme.palette
        with guarded_painter(self.viewport()) as painter:
            painter.fillRect(event.rect(), QColor(palette.surface))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            if not self._table.tokens:
                painter.setPen(QColor(palette.muted))
                room = QRectF(self.viewport().rect()).adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
                painter.drawText(room, Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft, self._placeholder)
            self._paint_rows(painter, event)
            if self.hasFocus() and self._current < 0:
                painter.setPen(QPen(QColor(palette.accent), 1))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(QRectF(self.viewport().rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)

    def _paint_rows(self, painter: QPainter, event: QPaintEvent) -> None:
        id_font = self._id_font if self._show_ids else None
        look = TextStyle(self._white_space, id_font, self.selection(), self._hovered, self._places, self._marked)
        rows = RowPainter(painter, self._rows, self._theme.palette, look)
        height, scrolled = self._row_height(), self.verticalScrollBar().value()
        first = max(self._row_at(event.rect().top()), 0)
        last = min(self._row_at(event.rect().bottom()), len(self._rows) - 1)
        for row in range(first, last + 1):
            rows.paint_row(row, MARGIN, MARGIN + row * height - scrolled)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Selects the token below the mouse; with Shift as far as there; beside the tokens, none.

        The right button, whose menu is about what is selected, selects only what was not.
        """
        token = self.token_at(event.position().toPoint())
        first, last = self.selection() or (-1, -1)
        if event.button() == Qt.MouseButton.RightButton and token >= 0 and not first <= token <= last:
            self._move_selection(token, token)
        if event.button() == Qt.MouseButton.LeftButton:
            extends = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier) and self._anchor >= 0 <= token
            self._move_selection(self._anchor if extends else token, token)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Ends a click or a drag, of which nothing is left to do."""
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Points at a token; with the button down, selects as far as there."""
        token = self.token_at(event.position().toPoint())
        self._set_hovered(token)
        if event.buttons() & Qt.MouseButton.LeftButton and token >= 0 and self._anchor >= 0:
            self._move_selection(self._anchor, token)

    def viewportEvent(self, event: QEvent) -> bool:
        """Notices the mouse leaving."""
        if event.type() == QEvent.Type.Leave:
            self._set_hovered(-1)
        return super().viewportEvent(event)

    def event(self, event: QEvent) -> bool:
        """Keeps Copy and Select All for itself while it has the focus."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and self._edit_of(event):
            event.accept()
            return True
        return super().event(event)

    def inputMethodQuery(self, query: Qt.InputMethodQuery) -> object:
        """Says where the token is that the keyboard has reached: a menu that is asked for by a key opens there."""
        if query == Qt.InputMethodQuery.ImCursorRectangle and self._current >= 0:
            place = self.token_rectangle(self._current).toRect() & self.viewport().rect()
            return place.translated(self.viewport().pos())
        return super().inputMethodQuery(query)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Moves the current token, extends the selection with Shift, copies."""
        edit = self._edit_of(event)
        if edit is not None:
            edit()
            return
        modifiers = event.modifiers() & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier)
        control = modifiers == Qt.KeyboardModifier.ControlModifier
        target = None
        if self._table.tokens and (control or modifiers == Qt.KeyboardModifier.NoModifier):
            target = self._target(Qt.Key(event.key()), control)
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

    def _target(self, key: Qt.Key, control: bool) -> int | None:
        """Gives the token a key leads to, or None for a key that leads nowhere."""
        current, last = self._current, self._table.tokens - 1
        page = max(1, int(self.viewport().height() // self._row_height()) - 1)
        rows = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -page, Qt.Key.Key_PageDown: page}
        if control:
            return {Qt.Key.Key_Home: 0, Qt.Key.Key_End: last}.get(key)
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            return min(max(current + (1 if key == Qt.Key.Key_Right else -1), 0), last)
        if key in rows:
            return 0 if current < 0 else self._token_beside(rows[key])
        if key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            boxes = list(self._rows.boxes(self._row_of(max(current, 0))))
            box = boxes[0 if key == Qt.Key.Key_Home else -1]
            return self._token_in(box, box.x if key == Qt.Key.Key_Home else box.x + box.width - 0.01)
        return None

    def _token_beside(self, rows: int) -> int:
        """Gives the token so many rows below the current one, or in the last row there is, that is nearest to it."""
        row = min(max(self._row_of(self._current) + rows, 0), len(self._rows) - 1)
        row = self._reach(row, upwards=rows < 0)
        middle = self.token_rectangle(self._current).center() - QPointF(MARGIN, 0)
        boxes = list(self._rows.boxes(row))
        nearest = min(boxes, key=lambda box: max(box.x - middle.x(), middle.x() - box.x - box.width, 0))
        return self._token_in(nearest, middle.x())

    def _token_in(self, box: Box, x: float) -> int:
        share = (x - box.x) / max(box.width, 1.0)
        return box.first + box.mirror(min(max(int(share * box.tokens), 0), box.tokens - 1))

    def _set_hovered(self, token: int) -> None:
        if token != self._hovered:
            self._hovered = token
            self.viewport().update()
            self.tokenHovered.emit(token)
