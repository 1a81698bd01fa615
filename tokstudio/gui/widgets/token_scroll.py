"""A scroll area over rows of pieces: lays them out a little at a time and keeps the place that is looked at.

`token_view.py` builds on it: painting, selection, mouse and keys.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QElapsedTimer, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from tokstudio.gui.theme import Theme
from tokstudio.gui.widgets.pieces import PieceTable
from tokstudio.gui.widgets.token_painter import INSET
from tokstudio.gui.widgets.token_rows import ROW_GAP, Shaper, TokenRows

MARGIN = 4
_FONT = 14
_HEX_FONT = 12
_ID_FONT = 10
_SLICE_MILLISECONDS = 6  # how long rows are laid out before events get their turn
_NO_TOKENS = (b"", np.zeros(0, np.int64), np.zeros(0, np.uint32))


class TokenScroll(QAbstractScrollArea):
    """Rows of pieces under a scroll bar.

    Rows are laid out until the view is full, and the rest while nothing else is to do; so a text of any length is there
    at once, and its scroll bar grows for a moment.

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
        self._table = PieceTable(*_NO_TOKENS)
        self._make_fonts()
        self._rows = self._new_rows()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._grow_a_while)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def set_tokens(
        self,
        data: bytes,
        ends: NDArray[np.int64],
        ids: NDArray[np.uint32],
        special: NDArray[np.bool_] | None = None,
    ) -> None:
        """Shows a text; for the same text as before the place that is looked at stays.

        Args:
            data: The text.
            ends: For every token the byte after its last one.
            ids: For every token its id.
            special: For every token whether it is a special one; None where none is.
        """
        table = PieceTable(data, ends, ids, special)
        if data != self._table.data:
            self._top_byte = 0
        self._table = table
        self._lay_out_anew()

    def clear(self) -> None:
        """Shows no text."""
        self.set_tokens(*_NO_TOKENS)

    def set_show_ids(self, shown: bool) -> None:
        """Switches the ids below the pieces."""
        if shown != self._show_ids:
            self._show_ids = shown
            self._rows.set_id_cell(self._id_cell())
            self._settle()

    def sizeHint(self) -> QSize:
        """Gives room for a few rows."""
        return QSize(360, round(self._row_height() * 6))

    def token_rectangle(self, token: int) -> QRectF:
        """Gives where the piece of `token` begins, in the viewport; empty where there is no such token."""
        if not 0 <= token < self._table.tokens:
            return QRectF()
        row = self._row_of(token)
        piece = self._table.index_of(token)
        box = next(box for box in self._rows.boxes(row) if box.piece == piece)
        top = MARGIN + row * self._row_height() - self.verticalScrollBar().value()
        return QRectF(MARGIN + box.x, top, box.width, self._rows.height + 2 * INSET)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Remembers what is at the top and paints anew."""
        row = self._row_at(MARGIN)
        if not self._settling and 0 <= row < len(self._rows):
            self._top_byte = int(self._table.edges[self._table.first[self._rows.first_piece(row)]])
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Breaks the rows for the new width; the text at the top stays there."""
        self._rows.set_width(self._row_width())
        self._settle()

    def _make_fonts(self) -> None:
        self._text_size = self._theme.text_size
        font = self._theme.monospace_font
        self._id_font = font(_ID_FONT)
        self._shaper = Shaper(font(_FONT), font(_HEX_FONT))

    def _new_rows(self) -> TokenRows:
        return TokenRows(self._table, self._shaper, self._id_cell(), self._row_width())

    def _id_cell(self) -> float:
        return QFontMetricsF(self._id_font).horizontalAdvance("0") if self._show_ids else 0.0

    def _row_width(self) -> float:
        # The room of the scroll bar stays free without one, so that its coming moves nothing.
        bar = self.verticalScrollBar().sizeHint().width()
        return max(40.0, self.width() - bar - 2.0 * MARGIN)

    def _row_height(self) -> float:
        ids = QFontMetricsF(self._id_font).height() + 2 if self._show_ids else 0.0
        return round(self._rows.height + 2 * INSET + ids + ROW_GAP)

    def _row_at(self, y: float) -> int:
        return int((y - MARGIN + self.verticalScrollBar().value()) // self._row_height())

    def _row_of(self, token: int) -> int:
        while not self._rows.complete and (token >= self._table.done or self._table.index_of(token) >= self._rows.done):
            self._rows.grow()
        return self._rows.row_of(self._table.index_of(token))

    def _lay_out_anew(self) -> None:
        self._rows = self._new_rows()
        self._settle()

    def _settle(self) -> None:
        """Lays out rows until the view is full below the byte that was at its top, and shows them."""
        if self._table.tokens:
            token = int(np.searchsorted(self._table.edges, self._top_byte, side="right")) - 1
            top = self._row_of(min(token, self._table.tokens - 1))
            wanted = top + self.viewport().height() / self._row_height() + 2
            while len(self._rows) < wanted and not self._rows.complete:
                self._rows.grow()
        else:
            top = 0
        self._settling = True
        self._update_range()
        self.verticalScrollBar().setValue(round(top * self._row_height()) if top else 0)
        self._settling = False
        if not self._rows.complete:
            self._timer.start(0)
        self.viewport().update()

    def _update_range(self) -> None:
        page = self.viewport().height()
        total = 2 * MARGIN + len(self._rows) * self._row_height()
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, round(total - page)))
        bar.setPageStep(page)
        bar.setSingleStep(round(self._row_height()))

    def _grow_a_while(self) -> None:
        clock = QElapsedTimer()
        clock.start()
        height = self._row_height()
        while not self._rows.complete and clock.elapsed() < _SLICE_MILLISECONDS:
            self._rows.grow()
        if not self._rows.complete:
            self._timer.start(0)
        if self._row_height() != height:
            self._settle()  # a taller script came: the same text stays at the top
        else:
            self._update_range()

    def _bring_into_view(self, token: int) -> None:
        height = self._row_height()
        top = self._row_of(token) * height
        self._update_range()
        bar = self.verticalScrollBar()
        if top < bar.value():
            bar.setValue(round(top))
        elif top + height + 2 * MARGIN > bar.value() + self.viewport().height():
            bar.setValue(round(top + height + 2 * MARGIN - self.viewport().height()))

    def _follow_theme(self) -> None:
        if self._text_size != self._theme.text_size:
            self._make_fonts()
            self._lay_out_anew()
        self.viewport().update()
