"""Shows a text as its tokens, in coloured pieces: any length, only visible rows painted, mouse, keys and selection.

What the tokens are its pane says; pieces, rows, scrolling and painting are `pieces.py` and the `token_*.py` beside it.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import logging
from collections.abc import Callable, Collection

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QWidget

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.bidi import Box
from tokstudio.gui.token_text.blocks import EncodedText
from tokstudio.gui.token_text.painter import RowPainter, TextStyle
from tokstudio.gui.token_text.scroll import MARGIN, TokenScroll

_log = logging.getLogger(__name__)


class TokenView(TokenScroll):
    """A text in coloured pieces, one a token, with graphemes kept whole; tokens are counted from 0.

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
        super().__init__(theme, parent)
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

    def show_table(self, table: EncodedText) -> None:
        """Shows a text and selects none of it; for the same text as before the place that is looked at stays."""
        self.select(-1, -1)
        self._set_hovered(-1)
        self._marked = frozenset()
        super().show_table(table)
        self._describe()
        self._look_for_places()

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

    # Events

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paints the visible rows; an error is logged, as Qt's event loop would not survive it."""
        try:
            self._paint(event)
        except Exception:
            _log.exception("The tokens could not be painted")

    def _paint(self, event: QPaintEvent) -> None:
        palette = self._theme.palette
        with QPainter(self.viewport()) as painter:
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
