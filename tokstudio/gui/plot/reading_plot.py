"""A plot of values as bars or as a curve, with a cross-hair that follows the pointer or keys."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import QWidget

from tokstudio.gui.plot.content import Curve
from tokstudio.gui.plot.labels import PlotLabels
from tokstudio.gui.plot.plot_view import PlotView
from tokstudio.gui.plot.scale import FloatArray
from tokstudio.gui.style.theme import Theme

_MORE = 20


class ReadingPlot(PlotView):
    """Values over whole numbers, as bars or as a curve.

    The cross-hair shows the value nearest to the pointer. With the focus, Left and Right, Page Up and Page Down, Home
    and End move it, and Enter is a click. `A` resets the zoom.

    Signals:
        chosen: The user clicked the value with this x.
    """

    chosen = Signal(float)

    def __init__(self, theme: Theme, words: Callable[[float, float], str], parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._words = words
        self._current = -1  # the index of the value selected by keys
        self._curve = Curve("", "active", np.zeros(0), np.zeros(0))

    @property
    def curve(self) -> Curve:
        """The values."""
        return self._curve

    def set_values(self, x: FloatArray, y: FloatArray, *, bars: bool = False) -> None:
        """Draws a curve through the values, or a bar over each x; x ascends."""
        self._curve = Curve("", "active", x, y, bars=bars)
        self._current = min(self._current, len(x) - 1)
        self.set_curve("values", self._curve)

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
            place = self.draw_cross_hair(painter, self._curve, x, y)
            labels = PlotLabels(painter, self.chart.area, self._theme.palette, lambda left, right: [])
            labels.write(place, self._words(x, y), framed=True)

    def mousePressEvent(self, ev: QMouseEvent) -> None:
        """Takes the focus; the release completes a click."""
        ev.accept()

    def mouseReleaseEvent(self, ev: QMouseEvent) -> None:
        """Emits the clicked value."""
        index = self._index_at(ev.position())
        if ev.button() == Qt.MouseButton.LeftButton and index >= 0:
            self._go_to(index)
            self.chosen.emit(self._value(index)[0])

    def keyPressEvent(self, ev: QKeyEvent) -> None:
        """Moves the cross-hair, emits a value, or resets the zoom."""
        key, last = Qt.Key(ev.key()), len(self._curve.x) - 1
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
        return float(self._curve.x[index]), float(self._curve.y[index])

    def _index_at(self, place: QPointF) -> int:
        """The index of the value with the nearest x; below 0 outside the plot."""
        if not len(self._curve.x) or not self.chart.area.contains(place):
            return -1
        return self._curve.nearest(self.chart.x_at(place.x()))

    def _go_to(self, index: int) -> None:
        self._current = index
        self.setAccessibleDescription(self._words(*self._value(index)))
        self.update()
