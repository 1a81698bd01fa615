"""A plot on screen: shows a chart and zooms along x. Subclasses add the cross-hair."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from tokstudio.gui.plot.content import Content, Curve
from tokstudio.gui.plot.labels import PlotLabels
from tokstudio.gui.plot.scale import FloatArray
from tokstudio.gui.style.theme import Theme

if TYPE_CHECKING:
    from tokstudio.gui.plot.chart import Chart


class PlotView(QWidget):
    """Curves on axes that fit the visible data; the wheel zooms along x, `reset_zoom` shows all.

    Axes and curves are drawn once to a pixmap, which is reused while a playhead moves over them.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.content = Content()
        self._laid_out: tuple[Content, QSize, float] | None = None
        self._picture: QPixmap | None = None
        self._chart: Chart | None = None
        self._pointer: QPointF | None = None
        self.setMinimumSize(160, 90)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        theme.changed.connect(self._draw_anew)

    @property
    def chart(self) -> Chart:
        """The chart with the content, laid out for the size of the widget."""
        if self._chart is None:
            from tokstudio.gui.plot.chart import Chart

            self._chart = Chart(self._theme, self)
        wanted = self.content, self.size(), self.devicePixelRatioF()
        if self._laid_out != wanted:
            self._laid_out, self._picture = wanted, None
            content, size, ratio = wanted
            self._chart.lay_out(content, size.width(), size.height(), ratio)
        return self._chart

    def set_curve(self, key: Hashable, curve: Curve) -> None:
        """Adds or replaces the curve under `key`; fast enough for 20 calls a second during a training."""
        self._show(replace(self.content, curves={**self.content.curves, key: curve}))

    def remove_curve(self, key: Hashable) -> None:
        """Removes a curve if it exists."""
        if key in self.content.curves:
            curves = {other: curve for other, curve in self.content.curves.items() if other != key}
            self._show(replace(self.content, curves=curves))

    def set_labels(self, x_label: str, y_label: str, caption: str = "") -> None:
        """Sets the labels of x and y and the caption."""
        self._show(replace(self.content, x_label=x_label, y_label=y_label, caption=caption))

    def set_caption(self, caption: str) -> None:
        """Sets the caption."""
        if caption != self.content.caption:
            self._show(replace(self.content, caption=caption))

    def set_log(self, x: bool, y: bool) -> None:
        """Chooses logarithmic axes; points without a logarithm are omitted."""
        if (x, y) != self.content.log:
            self._show(replace(self.content, log=(x, y), zoom=None))

    def show_part(self, low: float, high: float) -> None:
        """Shows a range of x in axis coordinates: at least a few merges, at most all data."""
        first, last = self.chart.ends
        width = max(high - low, (last - first) * 1e-5, 0.02 if self.content.log[0] else 4.0)
        low = min(max(low, first), last - width)
        self._show(replace(self.content, zoom=(low, low + width) if width < last - first else None))

    def fit_zoom(self) -> None:
        """Moves the shown range to where there is data, after curves have been replaced by others."""
        if self.content.zoom is not None:
            self.show_part(*self.content.zoom)

    def reset_zoom(self) -> None:
        """Shows the whole range of x."""
        self._show(replace(self.content, zoom=None))

    def _show(self, content: Content) -> None:
        self.content = content
        self.update()

    def _draw_anew(self) -> None:
        self._laid_out = None
        self.update()

    def draw_over(self, painter: QPainter) -> None:
        """Draws moving parts over the curves; for subclasses."""

    def paintEvent(self, ev: QPaintEvent) -> None:
        """Draws axes and curves, from the pixmap unless they have changed, and then the moving parts."""
        try:
            with QPainter(self) as painter:
                painter.drawPixmap(0, 0, self._drawn())
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.setFont(self._theme.tabular_font())
                self.draw_over(painter)
        except Exception as error:  # an exception that leaves an override ends Qt's event loop
            sys.excepthook(type(error), error, error.__traceback__)

    def _drawn(self) -> QPixmap:
        chart = self.chart
        if self._picture is None:
            ratio = self.devicePixelRatioF()
            self._picture = QPixmap((QSizeF(self.size()) * ratio).toSize())
            self._picture.setDevicePixelRatio(ratio)
            with QPainter(self._picture) as painter:
                chart.draw(painter)
        return self._picture

    def draw_cross_hair(self, painter: QPainter, curve: Curve, x: float, y: float) -> QPointF:
        """Draws the cross-hair through a point of a curve; returns its position."""
        area, palette, place = self.chart.area, self._theme.palette, self.chart.place(x, y)
        painter.setPen(QPen(QColor(palette.muted), 1, Qt.PenStyle.DotLine))
        painter.drawLine(QPointF(place.x(), area.top()), QPointF(place.x(), area.bottom()))
        painter.drawLine(QPointF(area.left(), place.y()), QPointF(area.right(), place.y()))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(curve.pen(palette).color())
        painter.drawEllipse(place, 3, 3)
        return place

    def event(self, event: QEvent) -> bool:
        """Redraws when the focus changes."""
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.update()
        return super().event(event)

    def mouseMoveEvent(self, ev: QMouseEvent) -> None:
        self._pointer = ev.position()
        self.update()

    def leaveEvent(self, ev: QEvent) -> None:
        self._pointer = None
        self.update()

    def wheelEvent(self, ev: QWheelEvent) -> None:
        turns = ev.angleDelta().y() / 120
        if not turns or not self.content.curves:
            ev.ignore()
            return
        chart, factor = self.chart, 0.8**turns
        centre, (low, high) = chart.axis_at(ev.position().x()), chart.x_range
        self.show_part(centre - (centre - low) * factor, centre + (high - centre) * factor)
        ev.accept()


# --- A plot of values as bars or as a curve, with a cross-hair that follows the pointer or keys -----------------------

_MORE = 20


class ReadingPlot(PlotView):
    """Values over whole numbers, as bars or as a curve.

    The cross-hair shows the value nearest to the pointer. With the focus, Left and Right, Page Up and Page Down, Home
    and End move it, and Enter is a click. `A` resets the zoom.
    """

    chosen = Signal(float)  # the user clicked the value with this x

    def __init__(self, theme: Theme, words: Callable[[float, float], str]) -> None:
        super().__init__(theme)
        self._words = words
        self._current = -1  # the index of the value selected by keys

    @cached_property
    def curve(self) -> Curve:
        """What is drawn."""
        return Curve("", "active", np.zeros(0), np.zeros(0))

    def set_values(self, x: FloatArray, y: FloatArray, *, bars: bool = False) -> None:
        """Draws a curve through the values, or a bar over each x; x ascends."""
        self.curve = Curve("", "active", x, y, bars=bars)
        self._current = min(self._current, len(x) - 1)
        self.set_curve("values", self.curve)

    def read(self, place: QPointF) -> tuple[float, float] | None:
        """The value with x nearest to a position in the widget; None outside the plot."""
        index = self._index_at(place)
        return None if index < 0 else self._value(index)

    def draw_over(self, painter: QPainter) -> None:
        """Draws the cross-hair at the value under the pointer, or at the one selected by keys."""
        pointed = self._index_at(self._pointer) if self._pointer is not None else -1
        index = pointed if pointed >= 0 else self._current if self.hasFocus() else -1
        if index >= 0:
            x, y = self._value(index)
            place = self.draw_cross_hair(painter, self.curve, x, y)
            labels = PlotLabels(painter, self.chart.area, self._theme.palette, lambda left, right: [])
            labels.write(place, self._words(x, y), framed=True)

    def mousePressEvent(self, ev: QMouseEvent) -> None:
        """Takes the focus; the release completes a click."""
        ev.accept()

    def mouseReleaseEvent(self, ev: QMouseEvent) -> None:
        index = self._index_at(ev.position())
        if ev.button() == Qt.MouseButton.LeftButton and index >= 0:
            self._go_to(index)
            self.chosen.emit(self._value(index)[0])

    def keyPressEvent(self, ev: QKeyEvent) -> None:
        key, last = Qt.Key(ev.key()), len(self.curve.x) - 1
        current = max(self._current, 0)
        targets = {
            Qt.Key.Key_Left: current - 1,
            Qt.Key.Key_Right: self._current + 1,
            Qt.Key.Key_PageUp: current + _MORE,
            Qt.Key.Key_PageDown: current - _MORE,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        if last >= 0 and key in targets:
            self._go_to(min(max(targets[key], 0), last))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._current >= 0:
            self.chosen.emit(self._value(self._current)[0])
        elif key == Qt.Key.Key_A and not ev.modifiers():
            self.reset_zoom()
        else:
            ev.ignore()

    def _value(self, index: int) -> tuple[float, float]:
        return float(self.curve.x[index]), float(self.curve.y[index])

    def _index_at(self, place: QPointF) -> int:
        """The index of the value with the nearest x; below 0 outside the plot."""
        if not len(self.curve.x) or not self.chart.area.contains(place):
            return -1
        return self.curve.nearest(self.chart.x_at(place.x()))

    def _go_to(self, index: int) -> None:
        self._current = index
        self.setAccessibleDescription(self._words(*self._value(index)))
        self.update()
