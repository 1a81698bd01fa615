"""Tokens as small boxes to click, in a few rows that scroll."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import guarded_painter, isolated
from tokstudio.gui.widgets.layouts import Canvas

_FONT = 12
_GAP = 4
_PADDING = 7
_WIDEST = 180


class Chip(NamedTuple):
    """One token: its id and its text."""

    id: int
    label: str


class TokenChips(Canvas):
    """Boxes in so many rows before it scrolls, for mouse and keyboard."""

    clicked = Signal(int)  # the id of the chosen token
    moreWanted = Signal()  # the last boxes are visible

    def __init__(self, theme: Theme, rows: int = 2, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._theme, self._most_rows = theme, rows
        self.chips: tuple[Chip, ...] = ()
        self._places: list[QRect] = []
        self._current = self._hovered = -1
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self.verticalScrollBar().valueChanged.connect(self._look_ahead)
        theme.follow(self._arrange)

    def set_chips(self, chips: Sequence[Chip]) -> None:
        """Shows tokens in this order; the same ones as before change nothing."""
        if tuple(chips) == self.chips:
            return
        self.chips = tuple(chips)
        self._current, self._hovered = (0 if chips else -1), -1
        self.verticalScrollBar().setValue(0)
        self._arrange()
        self._describe()

    def add_chips(self, chips: Sequence[Chip]) -> None:
        """Adds tokens at the end; the current one and the scroll position stay."""
        self.chips += tuple(chips)
        self._current = max(self._current, 0 if self.chips else -1)
        self._arrange()
        self._describe()

    def show_rows(self, rows: int) -> None:
        """Sets the number of rows before it scrolls."""
        if rows != self._most_rows:
            self._most_rows = rows
            self.updateGeometry()

    def place_of(self, index: int) -> QRect:
        """Returns the rectangle of a box in the viewport."""
        return self._places[index].translated(0, -self.verticalScrollBar().value())

    def sizeHint(self) -> QSize:
        rows = min(self._rows, self._most_rows)
        return QSize(200, max(rows * (self._height + _GAP) - _GAP, 0) + 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, self._height + 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()

    def paintEvent(self, event: QPaintEvent) -> None:
        with guarded_painter(self.viewport()) as painter:
            painter.fillRect(event.rect(), QColor(self._theme.palette.surface))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(self._theme.monospace_font(_FONT))
            shown = event.rect().translated(0, self.verticalScrollBar().value())
            for index in range(self._first_below(shown.top()), len(self.chips)):
                if self._places[index].top() > shown.bottom():
                    break
                self._draw(painter, index)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            index = self._at(event.pos())
            chip = self.chips[index] if index >= 0 else None
            QToolTip.showText(event.globalPos(), f"{chip.label}  id {chip.id:,}" if chip else "", self.viewport())
            return True
        if event.type() == QEvent.Type.Leave:
            self._hover(-1)
        return super().viewportEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self._at(event.position().toPoint()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self._at(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and index >= 0:
            self._go_to(index)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        index = self._at(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and index >= 0 and index == self._current:
            self.clicked.emit(self.chips[index].id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, last = Qt.Key(event.key()), len(self.chips) - 1
        back, forth = (Qt.Key.Key_Left, Qt.Key.Key_Up), (Qt.Key.Key_Right, Qt.Key.Key_Down)
        if last < 0:
            event.ignore()
        elif key in (*back, *forth):
            self._go_to(min(max(self._current + (1 if key in forth else -1), 0), last))
            if self._current >= last - 1:
                self.moreWanted.emit()
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self._go_to(0 if key == Qt.Key.Key_Home else last)
            if key == Qt.Key.Key_End:
                self.moreWanted.emit()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.clicked.emit(self.chips[self._current].id)
        else:
            event.ignore()

    def _draw(self, painter: QPainter, index: int) -> None:
        palette = self._theme.palette
        current = index == self._current and self.hasFocus()
        line = QColor(palette.accent if current or index == self._hovered else palette.border)
        painter.setPen(QPen(line, 2.0 if current else 1.0))
        painter.setBrush(QColor(palette.accent_soft))
        place = self.place_of(index)
        painter.drawRoundedRect(QRectF(place).adjusted(1, 1, -1, -1), 5, 5)
        painter.setPen(QColor(palette.text))
        room = place.adjusted(_PADDING, 0, -_PADDING, 0)
        label = painter.fontMetrics().elidedText(self.chips[index].label, Qt.TextElideMode.ElideMiddle, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignCenter, isolated(label))

    def _arrange(self) -> None:
        metrics = QFontMetrics(self._theme.monospace_font(_FONT))
        self._height = metrics.height() + 6
        room = max(self.width() - self.verticalScrollBar().sizeHint().width(), 40)
        widest = min(self._theme.scaled(_WIDEST), room)
        self._places = []
        x = row = in_row = self._widest_row = 0
        for chip in self.chips:
            width = min(max(metrics.horizontalAdvance(chip.label) + 1 + 2 * _PADDING, self._height), widest)
            if x and x + width > room:
                x, row, in_row = 0, row + 1, 0
            in_row += 1
            self._widest_row = max(self._widest_row, in_row)
            self._places.append(QRect(x, row * (self._height + _GAP), width, self._height))
            x += width + _GAP
        self._rows = row + 1 if self.chips else 0
        self.scroll_through(self._rows * (self._height + _GAP) - _GAP, self._height + _GAP)
        self.updateGeometry()

    def _at(self, place: QPoint) -> int:
        first = self._first_below(place.y() + self.verticalScrollBar().value())
        row = range(first, min(first + self._widest_row, len(self.chips)))
        return next((i for i in row if self.place_of(i).contains(place)), -1)

    def _first_below(self, y: int) -> int:
        """The first box with its lower edge at a height or below."""
        return bisect_left(self._places, y, key=QRect.bottom)

    def _look_ahead(self) -> None:
        bar = self.verticalScrollBar()
        if self.chips and bar.maximum() - bar.value() <= 2 * (self._height + _GAP):
            self.moreWanted.emit()

    def _hover(self, index: int) -> None:
        if index != self._hovered:
            self._hovered = index
            shape = Qt.CursorShape.PointingHandCursor if index >= 0 else Qt.CursorShape.ArrowCursor
            self.viewport().setCursor(shape)
            self.viewport().update()

    def _go_to(self, index: int) -> None:
        self._current = index
        bar, place = self.verticalScrollBar(), self._places[index]
        bar.setValue(min(max(bar.value(), place.bottom() + 1 - self.viewport().height()), place.top()))
        self._describe()
        self.viewport().update()

    def _describe(self) -> None:
        count = len(self.chips)
        text = f"{count:,} token{'' if count == 1 else 's'}."
        if 0 <= self._current < count:
            text += f" {self.chips[self._current].label}, id {self.chips[self._current].id:,}."
        self.setAccessibleDescription(text)
