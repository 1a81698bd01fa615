"""A plot to read values from, as bars or as a curve: a cross-hair, and a place to click or to go to by keys.

Curves and axes are `plot_canvas`'s, what they mean a pane's.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPen,
)
from PySide6.QtWidgets import QWidget

from tokstudio.gui.plot.labels import PlotLabels
from tokstudio.gui.plot.plot_canvas import Curve, PlotCanvas
from tokstudio.gui.plot.scale import FloatArray

if TYPE_CHECKING:
    from tokstudio.gui.style.theme import Theme

_KEY = "values"
_BAR = 0.4  # half of a bar's width
_MORE = 20
_LEAST = 2  # pixels of height that a bar has at least, however few it stands for
_GROUND = 0.6  # how much of the accent's colour bars have


class ReadingPlot(PlotCanvas):
    """Values over whole numbers, as bars or as a curve.

    The pointer reads the nearest value; with the focus Left and Right, Page Up and Page Down, Home and End go from one
    to the next, and Enter is a click.

    Signals:
        chosen: A value was clicked, by its x.
    """

    chosen = Signal(float)
    _pointed = Signal(QPointF)

    def __init__(self, theme: Theme, words: Callable[[float, float], str], parent: QWidget | None = None) -> None:
        self._bars = False
        self._x: FloatArray = np.zeros(0)
        self._y: FloatArray = np.zeros(0)
        super().__init__(theme, parent)
        self._words = words
        self._current = -1  # the value that keys have gone to
        self._pointer: QPointF | None = None
        self._pointing = pg.SignalProxy(self._pointed, rateLimit=60, slot=self._point_at, threadSafe=False)
        self._pointing.setParent(self)
        self._pointing.timer.setParent(self._pointing)
        self.setMinimumSize(160, 120)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)

    def set_bars(self, x: FloatArray, y: FloatArray) -> None:
        """Draws a bar over each x, which ascend."""
        self._take(x, y)
        self._bars = True
        xs = np.repeat(x, 4) + np.tile([-_BAR, -_BAR, _BAR, _BAR], len(x))
        ys = np.repeat(y, 4) * np.tile([0.0, 1.0, 1.0, 0.0], len(y))
        self.set_curve(_KEY, xs, ys, "", "active")

    def set_line(self, x: FloatArray, y: FloatArray) -> None:
        """Draws a curve through the values; x ascends."""
        self._take(x, y)
        self.set_curve(_KEY, x, y, "", "active")

    def read(self, place: QPointF) -> tuple[float, float] | None:
        """The value whose x is nearest to a place of the widget; None beside the plot."""
        index = self._index_at(place)
        return None if index < 0 else (float(self._x[index]), float(self._y[index]))

    def drawForeground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        """Draws the cross-hair over the curve; an error goes to the hook, never into Qt."""
        try:
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(self._theme.tabular_font())
            pointed = self._index_at(self._pointer) if self._pointer is not None else -1
            index = pointed if pointed >= 0 else self._current if self.hasFocus() else -1
            if 0 <= index < len(self._x):
                self._draw_value(painter, float(self._x[index]), float(self._y[index]))
        except Exception as error:  # an exception that leaves an override ends Qt's event loop
            sys.excepthook(type(error), error, error.__traceback__)
        finally:
            painter.restore()

    def _draw_value(self, painter: QPainter, x: float, y: float) -> None:
        area, palette, place = self._area(), self._theme.palette, self.to_scene(x, y)
        painter.setPen(QPen(QColor(palette.muted), 1, Qt.PenStyle.DotLine))
        painter.drawLine(QPointF(place.x(), area.top()), QPointF(place.x(), area.bottom()))
        painter.drawLine(QPointF(area.left(), place.y()), QPointF(area.right(), place.y()))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(palette.accent))
        painter.drawEllipse(place, 3, 3)
        PlotLabels(painter, area, palette, lambda left, right: []).write(place, self._words(x, y), framed=True)

    def mouseMoveEvent(self, ev: QMouseEvent) -> None:
        """Reads the value under the pointer."""
        self._pointed.emit(ev.position())

    def mousePressEvent(self, ev: QMouseEvent) -> None:
        """Takes the keyboard; a click counts when it is over."""
        ev.accept()

    def mouseReleaseEvent(self, ev: QMouseEvent) -> None:
        """Chooses the value that was clicked."""
        index = self._index_at(ev.position())
        if ev.button() == Qt.MouseButton.LeftButton and index >= 0:
            self._go_to(index)
            self.chosen.emit(float(self._x[index]))

    def mouseDoubleClickEvent(self, ev: QMouseEvent) -> None:
        """Is two clicks."""
        ev.accept()

    def leaveEvent(self, ev: QEvent) -> None:
        """Hides the cross-hair."""
        self._pointing.flush()
        self._point_at((None,))

    def keyPressEvent(self, ev: QKeyEvent) -> None:
        """Goes from value to value, chooses one, or shows everything again (`A`)."""
        key, last = Qt.Key(ev.key()), len(self._x) - 1
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
        elif last >= 0 and key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and 0 <= self._current <= last:
            self.chosen.emit(float(self._x[self._current]))
        elif key == Qt.Key.Key_A and not ev.modifiers():
            self.reset_zoom()
        else:
            ev.ignore()

    def _paint_curve(self, curve: Curve) -> None:
        super()._paint_curve(curve)
        if self._bars:
            curve.item.setPen(pg.mkPen(None))
            ground = QColor(self._theme.palette.accent)
            ground.setAlphaF(_GROUND)
            curve.fill.setBrush(ground)

    def _refresh(self) -> None:
        super()._refresh()
        curve = self._curves.get(_KEY)
        if self._bars and curve is not None:
            # Not what is below the curve, which would go on between the bars and below the axis.
            corner, path = curve.item.pos(), QPainterPath()
            (low, high), (bottom, top) = self._view.viewRange()
            least = _LEAST * (top - bottom) / max(self._area().height(), 1.0)
            for x, y in zip(self._x.tolist(), self._y.tolist(), strict=True):
                left, right = max(x - _BAR, low), min(x + _BAR, high)
                if left < right:
                    path.addRect(QRectF(left - corner.x(), -corner.y(), right - left, max(y, least)))
            curve.fill.setPath(path)

    def _take(self, x: FloatArray, y: FloatArray) -> None:
        self._x, self._y = x, y
        self._current = min(self._current, len(x) - 1)

    def _point_at(self, places: tuple[QPointF | None]) -> None:
        self._pointer = places[0]
        self.viewport().update()

    def _index_at(self, place: QPointF) -> int:
        """The value whose x is nearest, of the values drawn."""
        if not len(self._x) or not self._area().contains(place):
            return -1
        x = self._to_data(place.x())
        after = min(int(np.searchsorted(self._x, x)), len(self._x) - 1)
        before = max(after - 1, 0)
        return before if abs(self._x[before] - x) <= abs(self._x[after] - x) else after

    def _go_to(self, index: int) -> None:
        self._current = index
        self.setAccessibleDescription(self._words(float(self._x[index]), float(self._y[index])))
        self.viewport().update()
