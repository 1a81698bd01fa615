"""The strongest key items of two texts as dots: those of the first on the right, those of the second on the left."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QToolTip

from tokstudio.core.base.wording import several
from tokstudio.gui.plot.content import curve_pen
from tokstudio.gui.plot.scale import tick_values
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import guarded_painter, plain
from tokstudio.gui.widgets.layouts import Canvas, Fitting
from tokstudio.gui.widgets.menus import Menu

_ROW, _HEAD = 22, 28  # pixels
_RADIUS = 4.5
_NAMES = 0.22  # the most of the width for the items of a side
_TICK = 70  # pixels between two ticks at least
_VALUE = 58  # pixels beside a dot for its ratio
_ALIGN = Qt.AlignmentFlag.AlignVCenter
_Place: TypeAlias = Callable[[float], float]  # where a logarithm is, in pixels from the left


class Dot(NamedTuple):
    """An item that is typical of one side."""

    text: str
    first: int  # uses on the first side
    second: int
    ratio: float
    log_likelihood: float
    is_first: bool  # whether it is typical of the first side


class KeynessPlot(Fitting, Canvas):
    """Two items in each row, with dots at their ratios; arrow keys go from item to item, which is read aloud."""

    opened = Signal(int)  # the number of an item

    def __init__(self, theme: Theme) -> None:
        super().__init__("Items typical of each side, as dots")
        self._theme = theme
        self.dots: tuple[Dot, ...] = ()
        self._names = "", ""
        self.current = self._pointed = -1
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._show_menu)
        theme.changed.connect(self.fit)

    def show_dots(self, dots: Sequence[Dot], names: tuple[str, str]) -> None:
        """Shows items of two sides with these names."""
        if (tuple(dots), names) == (self.dots, self._names):
            return
        self.dots, self._names = tuple(dots), names
        self.current, self._pointed = 0 if dots else -1, -1
        self.verticalScrollBar().setValue(0)
        self.fit()
        self._describe()

    def row_text(self, row: int) -> str:
        """A row in words."""
        dot, (first, second) = self.dots[row], self._names
        times = f"{dot.ratio:,.1f}" if dot.ratio >= 1 else f"1/{1 / dot.ratio:,.1f}"
        uses = f"{several(dot.first, 'use')} in {first}, {dot.second:,} in {second}"
        typical = first if dot.is_first else second
        return (
            f"{dot.text}: typical of {typical}. {uses}. Ratio {times}, log-likelihood {abs(dot.log_likelihood):,.0f}."
        )

    def sizeHint(self) -> QSize:
        return QSize(420, 260)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 2 * self._theme.scaled(_HEAD) + 5 * self._theme.scaled(_ROW))

    def fit(self) -> None:
        head, height = self._theme.scaled(_HEAD), self._theme.scaled(_ROW)
        rows = max(self._firsts, len(self.dots) - self._firsts)
        self.scroll_through(rows * height, height, self.viewport().height() - 2 * head)

    @property
    def _firsts(self) -> int:
        """How many items are typical of the first side; they come first."""
        return sum(dot.is_first for dot in self.dots)

    def _row_of(self, number: int) -> int:
        return number if self.dots[number].is_first else number - self._firsts

    def _number_at(self, row: int, on_first: bool) -> int:
        """The item in a row of a side, or the last of the side above it; -1 for none."""
        first, count = (0, self._firsts) if on_first else (self._firsts, len(self.dots) - self._firsts)
        return first + min(max(row, 0), count - 1) if count else -1

    # ---- mouse and keyboard

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            row = self._item_at(event.pos())
            QToolTip.showText(event.globalPos(), plain(self.row_text(row)) if row >= 0 else "", self)
            return True
        if event.type() == QEvent.Type.Leave:
            self._point(-1)
        return super().viewportEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._point(self._item_at(event.position().toPoint()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        row = self._item_at(event.position().toPoint())
        if row >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self._go_to(row)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        row = self._item_at(event.position().toPoint())
        if row >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.opened.emit(row)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, last = event.key(), len(self.dots) - 1
        page = max(1, self.verticalScrollBar().pageStep() // self._theme.scaled(_ROW))
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -page, Qt.Key.Key_PageDown: page}
        if last < 0:
            event.ignore()
        elif key in steps:
            on_first = self.dots[self.current].is_first
            self._go_to(self._number_at(self._row_of(self.current) + steps[Qt.Key(key)], on_first))
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self._go_to(self._number_at(self._row_of(self.current), key == Qt.Key.Key_Right))
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            on_first = self.dots[self.current].is_first
            self._go_to(self._number_at(0 if key == Qt.Key.Key_Home else last, on_first))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.opened.emit(self.current)
        else:
            event.ignore()

    def _go_to(self, number: int) -> None:
        if number < 0:
            return
        self.current, row = number, self._row_of(number)
        bar, height = self.verticalScrollBar(), self._theme.scaled(_ROW)
        room = self.viewport().height() - 2 * self._theme.scaled(_HEAD)
        bar.setValue(min(max(bar.value(), (row + 1) * height - room), row * height))
        self._describe()
        self.viewport().update()

    def _describe(self) -> None:
        self.setAccessibleDescription(self.row_text(self.current) if self.current >= 0 else "")

    def _point(self, row: int) -> None:
        if row != self._pointed:
            self._pointed = row
            self.viewport().update()

    def _item_at(self, place: QPoint) -> int:
        head = self._theme.scaled(_HEAD)
        if not head <= place.y() < self.viewport().height() - head:
            return -1
        row = (place.y() - head + self.verticalScrollBar().value()) // self._theme.scaled(_ROW)
        on_first = place.x() >= self.viewport().width() / 2
        count = self._firsts if on_first else len(self.dots) - self._firsts
        return self._number_at(row, on_first) if 0 <= row < count else -1

    def _show_menu(self, place: QPoint) -> None:
        menu = Menu(self)
        menu.addAction("&Copy Picture", self.copy).setEnabled(bool(self.dots))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.viewport().mapToGlobal(place))

    def copy(self) -> None:
        """Copies the picture."""
        QGuiApplication.clipboard().setPixmap(self.viewport().grab())

    def paintEvent(self, event: QPaintEvent) -> None:
        with guarded_painter(self.viewport()) as painter:
            painter.fillRect(self.viewport().rect(), QColor(self._theme.palette.surface))
            if self.dots:
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                self._draw(painter)

    def _draw(self, painter: QPainter) -> None:
        palette, head, height = self._theme.palette, self._theme.scaled(_HEAD), self._theme.scaled(_ROW)
        width, bottom = self.viewport().width(), self.viewport().height() - head
        beside = self._theme.scaled(_VALUE)
        names = self._room()
        left, right = names + beside, width - names - beside
        reach = max(max(abs(math.log10(dot.ratio)) for dot in self.dots), 0.3)
        scale = (right - left) / (2 * reach)

        def x_of(place: float) -> float:
            return left + (place + reach) * scale

        painter.setFont(self._theme.tabular_font(12))
        ticks = tick_values(-reach, reach, max(2, (right - left) / self._theme.scaled(_TICK)), log=True)
        painter.setPen(QPen(QColor(palette.grid), 1))
        for tick in ticks:
            painter.drawLine(QPointF(x_of(tick), head), QPointF(x_of(tick), bottom))
        painter.setPen(QPen(QColor(palette.control), 1.5))
        painter.drawLine(QPointF(x_of(0), head), QPointF(x_of(0), bottom))
        painter.save()
        painter.setClipRect(QRectF(0, head, width, bottom - head))
        for number in range(len(self.dots)):
            y = head + self._row_of(number) * height - self.verticalScrollBar().value()
            if head <= y + height and y <= bottom:
                self._draw_item(painter, number, y, x_of)
        painter.restore()
        self._draw_frame(painter, ticks, x_of, bottom)

    def _draw_item(self, painter: QPainter, number: int, y: float, x_of: _Place) -> None:
        dot, palette, height = self.dots[number], self._theme.palette, self._theme.scaled(_ROW)
        half, names = self.viewport().width() / 2, self._room()
        side = QRectF(half if dot.is_first else 0, y, half, height)
        if number == self._pointed or (number == self.current and self.hasFocus()):
            painter.fillRect(side, QColor(palette.hover))
        if number == self.current and self.hasFocus():
            painter.setPen(QPen(QColor(palette.accent), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(side.adjusted(1, 1, -1, -1), 4, 4)
        painter.setPen(QColor(palette.text))
        painter.setFont(self._theme.monospace_font(12))
        text = painter.fontMetrics().elidedText(dot.text, Qt.TextElideMode.ElideRight, names - 12)
        place = QRectF(side.right() - names + 6 if dot.is_first else 6, y, names - 12, height)
        end = Qt.AlignmentFlag.AlignRight if dot.is_first else Qt.AlignmentFlag.AlignLeft
        painter.drawText(place, _ALIGN | end | Qt.AlignmentFlag.AlignAbsolute, text)
        colour = curve_pen(palette, 0 if dot.is_first else 1, active=True).color()
        middle, place = QPointF(x_of(0), y + height / 2), QPointF(x_of(math.log10(dot.ratio)), y + height / 2)
        painter.setPen(QPen(colour, 1.5))
        painter.drawLine(middle, place)
        painter.setPen(QPen(QColor(palette.surface), 1))
        painter.setBrush(colour)
        painter.drawEllipse(place, _RADIUS, _RADIUS)
        painter.setPen(QColor(palette.muted))
        painter.setFont(self._theme.tabular_font(11))
        times, room = _times(dot.ratio), self._theme.scaled(_VALUE)
        if dot.ratio >= 1:
            painter.drawText(QRectF(place.x() + 9, y, room, height), _ALIGN, times)
        else:
            right = _ALIGN | Qt.AlignmentFlag.AlignRight
            painter.drawText(QRectF(place.x() - room - 9, y, room, height), right, times)

    def _draw_frame(self, painter: QPainter, ticks: Sequence[float], x_of: _Place, bottom: float) -> None:
        """Draws the axis below, and above it the names of the sides."""
        palette, head, width = self._theme.palette, self._theme.scaled(_HEAD), self.viewport().width()
        painter.setFont(self._theme.tabular_font(12))
        painter.setPen(QColor(palette.muted))
        for tick in ticks:
            place = QRectF(x_of(tick) - 40, bottom, 80, head)
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, _times(10**tick))
        middle, elided = x_of(0), Qt.TextElideMode.ElideMiddle
        metrics = painter.fontMetrics()
        for number, name in enumerate(self._names):
            painter.setPen(curve_pen(palette, number, active=True).color())
            words = f"more in {name} →" if number == 0 else f"← more in {name}"
            room = (width - middle if number == 0 else middle - 4) - 8
            text = metrics.elidedText(words, elided, int(room))
            side = Qt.AlignmentFlag.AlignLeft if number == 0 else Qt.AlignmentFlag.AlignRight
            place = QRectF(middle + 8, 0, room, head) if number == 0 else QRectF(4, 0, room, head)
            painter.drawText(place, _ALIGN | side, text)

    def _room(self) -> int:
        metrics = QFontMetrics(self._theme.monospace_font(12))
        longest = max((metrics.horizontalAdvance(dot.text) for dot in self.dots), default=0)
        return min(longest + 16, round(_NAMES * self.viewport().width()))


def _times(ratio: float) -> str:
    """A ratio: "12", "1", "1/12"."""
    value = ratio if ratio >= 1 else 1 / ratio
    text = f"{value:,.0f}" if value >= 9.95 or abs(value - round(value)) < 0.05 else f"{value:.1f}"
    return text if ratio >= 1 or text == "1" else f"1/{text}"
