"""A scroll area over rows of pieces: lays out what comes into sight and keeps the place that is looked at.

`token_view.py` builds on it: painting, selection, mouse and keys.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.blocks import EncodedText, TokenBlocks
from tokstudio.gui.token_text.painter import INSET
from tokstudio.gui.token_text.rows import ROW_GAP, Shaper

MARGIN = 4
_FONT = 14
_HEX_FONT = 12
_ID_FONT = 10
_NO_TOKENS = (b"", np.zeros(0, np.int64), np.zeros(0, np.uint32))


class TokenScroll(QAbstractScrollArea):
    """Rows of pieces under a scroll bar.

    Only what is in sight is laid out; how long the rest is the scroll bar guesses, and corrects while one goes there.
    So a text of any length is there at once, at any place of it, and what is in sight never jumps.

    Args:
        theme: Its fonts.
        parent: The owner.
    """

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
        """Shows a text; for the same text as before, or the same tokens written otherwise, what is looked at stays."""
        before = self._table
        if table.data != before.data:
            top = int(np.searchsorted(before.edges, self._top_byte, side="right")) - 1
            same = 0 <= top < table.tokens and np.array_equal(table.ids, before.ids)
            self._top_byte = int(table.edges[top]) if same else 0
        self._table = table
        self._lay_out_anew()

    def clear(self) -> None:
        """Shows no text."""
        self.set_tokens(*_NO_TOKENS)

    def set_show_ids(self, shown: bool) -> None:
        """Switches the ids below the pieces."""
        if shown != self._show_ids:
            self._show_ids = shown
            self._lay_out_anew()

    def sizeHint(self) -> QSize:
        """Gives room for a few rows."""
        return QSize(360, round(self._row_height() * 6))

    def token_rectangle(self, token: int) -> QRectF:
        """Gives where the piece of `token` begins, in the viewport; empty where there is no such token."""
        if not 0 <= token < self._table.tokens:
            return QRectF()
        row = self._row_of(token)
        box = next(box for box in self._rows.boxes(row) if box.first <= token < box.first + box.tokens)
        top = MARGIN + row * self._row_height() - self.verticalScrollBar().value()
        return QRectF(MARGIN + box.x, top, box.width, self._rows.height + 2 * INSET)

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
