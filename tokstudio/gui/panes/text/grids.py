"""The grids of the Text pane: how often each token occurs, and the ids of a text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from tokstudio.core.base.wording import several
from tokstudio.core.guide.glossary import explained
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.spelling import figure
from tokstudio.gui.token_text.token_label import paint_special
from tokstudio.gui.widgets.figures import keeps_copy
from tokstudio.gui.widgets.labels import ask_word, guarded_painter, mark_word
from tokstudio.gui.widgets.layouts import Canvas

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# --- Names with counts in columns of equal width, in up to two rows; a tool tip has those that do not fit -------------

_FONT = 12
_NARROWEST = 112  # of a column
_GAP = 20  # between columns
_MOST_ROWS = 2

#: Names that have another meaning in everyday language, with their words of the glossary.
_TERMS = {"Words and marks": "words-and-marks"}

Count = tuple[str, int | None]


class CountsGrid(QWidget):
    """The number of tokens of the same text with several tokenizers."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.counts: tuple[Count, ...] = ()  # all counts, visible or not
        self._columns = 1
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Tokens of the same text with other tokenizers")
        self.setMouseTracking(True)
        theme.follow(self._follow_theme)

    def set_counts(self, counts: Sequence[Count]) -> None:
        """Shows names and counts; None is an unknown count."""
        self.counts = tuple(counts)
        self.setAccessibleDescription(", ".join(f"{name} {figure(count)}" for name, count in counts))
        self._arrange()

    def shown(self) -> tuple[str, ...]:
        """Returns the text of each cell: "GPT-2 51", and "3 more" for those that do not fit."""
        return tuple(f"{name} {count}".strip() for name, count in self._cells())

    def place_of(self, index: int) -> QRect:
        """Returns the rectangle of a cell."""
        row, column = divmod(index, self._columns)
        width = (self.width() + _GAP) // self._columns
        return QRect(column * width, row * self._height, width - _GAP, self._height)

    def sizeHint(self) -> QSize:
        return QSize(240, self.minimumHeight())

    def minimumSizeHint(self) -> QSize:
        """Returns a width that does not depend on the counts."""
        return QSize(80, self._height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.tip_at(event.pos()), self)
            return True
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Shows by the pointer which names a click explains."""
        asks = self._word_at(event.position().toPoint())
        self.setCursor(Qt.CursorShape.WhatsThisCursor if asks else Qt.CursorShape.ArrowCursor)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and (word := self._word_at(event.position().toPoint())):
            ask_word(self, word)

    def tip_at(self, place: QPoint) -> str:
        """Returns the tip at a point; "" beside the cells."""
        cells, index = self._cells(), self._index_at(place)
        if index < 0:
            return ""
        hidden = self.counts[index:] if len(cells) < len(self.counts) and index == len(cells) - 1 else ()
        return "\n".join(_tip_of(count) for count in hidden or (self.counts[index],))

    def paintEvent(self, event: QPaintEvent) -> None:
        with guarded_painter(self) as painter:
            painter.setFont(self._font)
            for index, (name, count) in enumerate(self._cells()):
                self._draw(painter, self.place_of(index), name, count)

    def _draw(self, painter: QPainter, place: QRect, name: str, count: str) -> None:
        metrics, palette = painter.fontMetrics(), self._theme.palette
        room = place.width() - (metrics.horizontalAdvance(count + " ") if count else 0)
        painter.setPen(QColor(palette.muted if self.isEnabled() else palette.disabled))
        name = metrics.elidedText(name, Qt.TextElideMode.ElideRight, room)
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(place, left, name)
        if name in _TERMS:
            mark_word(painter, metrics.boundingRect(place, left, name), self)
        painter.setPen(QColor(palette.text if self.isEnabled() else palette.disabled))
        painter.drawText(place, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, count)

    def _index_at(self, place: QPoint) -> int:
        """The cell at a point; -1 beside the cells."""
        return next((index for index in range(len(self._cells())) if self.place_of(index).contains(place)), -1)

    def _word_at(self, place: QPoint) -> str:
        """The word of the glossary at a point; "" for none."""
        index = self._index_at(place)
        return _TERMS.get(self._cells()[index][0], "") if index >= 0 else ""

    def _cells(self) -> list[tuple[str, str]]:
        room = self._columns * _MOST_ROWS
        kept = len(self.counts) if len(self.counts) <= room else room - 1
        cells = [(name, figure(count)) for name, count in self.counts[:kept]]
        more = len(self.counts) - kept
        return [*cells, (f"{more} more", "")] if more else cells

    def _arrange(self) -> None:
        # Columns are wide enough for whole names, unless cells would then need more rows.
        metrics, narrowest = QFontMetrics(self._font), self._theme.scaled(_NARROWEST)
        cells = (metrics.horizontalAdvance(f"{name} {figure(count)}") for name, count in self.counts)
        widest = max(narrowest, *cells, 0)
        most, whole = ((self.width() + _GAP) // (width + _GAP) for width in (narrowest, widest))
        needed = -(-len(self.counts) // _MOST_ROWS)
        self._columns = max(1, whole, min(needed, most))
        rows = min(-(-len(self.counts) // self._columns), _MOST_ROWS)
        self.setFixedHeight(max(rows, 1) * self._height)
        self.update()

    def _follow_theme(self) -> None:
        self._font = self._theme.tabular_font(_FONT)
        self._height = QFontMetrics(self._font).height() + 3
        self._arrange()


def _tip_of(count: Count) -> str:
    name, tokens = count
    text = f"{name}: cannot encode this text" if tokens is None else f"{name}: {several(tokens, 'token')} of this text"
    return explained(text, _TERMS.get(name, ""))


# --- A list of any number of ids in aligned columns, which draws the visible ones and has a selection -----------------


_ROWS = 3


class IdGrid(Canvas):
    """The ids of a text, counted from 0."""

    #: The first and the last id that the user selected; -1 and -1 for none.
    selectionChanged = Signal(int, int)

    def __init__(self, theme: Theme) -> None:
        super().__init__("Ids")
        self._theme = theme
        # NumPy is loaded after the window answers.
        self._ids: NDArray[np.uint32] | array[int] = array("I")
        self._special: NDArray[np.bool_] | array[int] = array("b")
        self._largest = 0
        self._first = self._last = self._anchor = -1
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        theme.follow(self._follow_theme)
        self._describe()

    def set_ids(self, ids: NDArray[np.uint32], special: NDArray[np.bool_]) -> None:
        """Shows ids, with which are special tokens, without a selection; the scroll position stays if possible."""
        self._ids, self._special = ids, special
        self._largest = int(ids.max()) if len(ids) else 0
        self._first = self._last = self._anchor = -1
        self._measure()
        self._describe()

    def select(self, first: int, last: int) -> None:
        """Highlights ids and scrolls to the first of them, without emitting a signal; -1 and -1 for none."""
        if not 0 <= first <= last < len(self._ids):
            first = last = -1
        if (first, last) == (self._first, self._last):
            return
        self._first, self._last, self._anchor = first, last, first
        self._show(first)

    def selection(self) -> tuple[int, int] | None:
        """Returns the first and the last highlighted id."""
        return (self._first, self._last) if self._first >= 0 else None

    def copy(self) -> None:
        """Copies the highlighted ids, or all, separated by spaces."""
        first, last = self.selection() or (0, len(self._ids) - 1)
        QGuiApplication.clipboard().setText(" ".join(map(str, self._ids[first : last + 1].tolist())))

    def place_of(self, index: int) -> QRect:
        """Returns the rectangle of an id in the viewport."""
        row, column = divmod(index, self._columns)
        return QRect(column * self._cell, row * self._height - self._scrolled(), self._cell, self._height)

    def sizeHint(self) -> QSize:
        rows = min(max(-(-len(self._ids) // self._columns), 1), _ROWS)
        return QSize(240, rows * self._height + 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, self._height + 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._measure()

    def showEvent(self, event: QShowEvent) -> None:
        """Scrolls to a selection that was made while it was hidden."""
        super().showEvent(event)
        self._show(self._first)

    def paintEvent(self, event: QPaintEvent) -> None:
        with guarded_painter(self.viewport()) as painter:
            painter.fillRect(event.rect(), QColor(self._theme.palette.surface))
            painter.setFont(self._font)
            self._draw(painter, event.rect())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._choose(self._at(event.position().toPoint()), event.modifiers())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        index = self._at(event.position().toPoint())
        if event.buttons() & Qt.MouseButton.LeftButton and index >= 0 and self._anchor >= 0:
            self._choose(index, Qt.KeyboardModifier.ShiftModifier)

    def event(self, event: QEvent) -> bool:
        """Handles Copy itself while it has the focus."""
        return keeps_copy(event) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
            return
        last = len(self._ids) - 1
        current = self._last if self._anchor == self._first else self._first
        targets = {
            Qt.Key.Key_Left: current - 1,
            Qt.Key.Key_Right: current + 1,
            Qt.Key.Key_Up: current - self._columns,
            Qt.Key.Key_Down: current + self._columns,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        key = Qt.Key(event.key())
        if key in targets and last >= 0:
            self._choose(min(max(targets[key], 0), last), event.modifiers())
        else:
            event.ignore()

    def _choose(self, index: int, modifiers: Qt.KeyboardModifier) -> None:
        extends = bool(modifiers & Qt.KeyboardModifier.ShiftModifier) and self._anchor >= 0 <= index
        if not extends:
            self._anchor = index
        first, last = min(self._anchor, index), max(self._anchor, index)
        if (first, last) != (self._first, self._last):
            self._first, self._last = first, last
            self._show(index)
            self.selectionChanged.emit(first, last)

    def _show(self, index: int) -> None:
        if index >= 0:
            top, bar = index // self._columns * self._height, self.verticalScrollBar()
            lowest = top + self._height - self.viewport().height()
            bar.setValue(min(max(bar.value(), lowest), top))
        self._describe()
        self.viewport().update()

    def _draw(self, painter: QPainter, area: QRect) -> None:
        palette = self._theme.palette
        first = (area.top() + self._scrolled()) // self._height * self._columns
        after = ((area.bottom() + self._scrolled()) // self._height + 1) * self._columns
        flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        gap = self._cell - self._digits
        for index, token in enumerate(self._ids[first:after].tolist(), first):
            place = self.place_of(index)
            lit = self._first <= index <= self._last and self._first >= 0
            if self._special[index]:
                paint_special(painter, QRectF(place.adjusted(gap - 3, 0, 3, 0)), palette)
            if lit:
                edge = int(self._special[index])
                lit_up = place.adjusted(gap - 3 + edge, edge, 3 - edge, -edge)
                painter.fillRect(lit_up, QColor(palette.accent_soft))
            painter.setPen(QColor(palette.text if lit else palette.muted))
            painter.drawText(place, flags, str(token))
        if self.hasFocus():
            painter.setPen(QColor(palette.accent))
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))

    def _at(self, place: QPoint) -> int:
        column = place.x() // self._cell
        index = (place.y() + self._scrolled()) // self._height * self._columns + column
        return index if 0 <= column < self._columns and 0 <= index < len(self._ids) else -1

    def _scrolled(self) -> int:
        return self.verticalScrollBar().value()

    def _measure(self) -> None:
        metrics = QFontMetrics(self._font)
        digits = len(str(self._largest))
        self._height = metrics.height() + 1
        self._digits = metrics.horizontalAdvance("0") * digits
        self._cell = self._digits + metrics.horizontalAdvance("0")
        # The room of the scroll bar is always reserved, so that showing it moves nothing.
        room = self.width() - self.verticalScrollBar().sizeHint().width()
        self._columns = max(1, room // self._cell)
        self.scroll_through(-(-len(self._ids) // self._columns) * self._height, self._height)
        self.updateGeometry()

    def _follow_theme(self) -> None:
        self._font = self._theme.monospace_font(_FONT)
        self._measure()

    def _describe(self) -> None:
        count = len(self._ids)
        text = f"{several(count, 'id')}."
        if self._first >= 0:
            text += f" Selected: {int(self._ids[self._first])}, number {self._first + 1:,}."
        self.setAccessibleDescription(text)
