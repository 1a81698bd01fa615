"""A plot with a playhead to drag and values to read. Curves and axes are `plot_canvas`'s, their meaning a pane's."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyqtgraph as pg
import shiboken6
from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPen,
)
from PySide6.QtWidgets import QApplication, QWidget

from tokstudio.gui.plot.curve_marks import draw_legend, legend_width
from tokstudio.gui.plot.labels import PlotLabels
from tokstudio.gui.plot.plot_canvas import Curve, PlotCanvas
from tokstudio.gui.plot.scale import range_between, value_text
from tokstudio.gui.widgets.svg import drawing_of

if TYPE_CHECKING:
    from tokstudio.gui.style.theme import Theme

# How close to a line, in pixels, a pointer counts as on it.
_REACH = 6.0


@dataclass
class _Press:
    place: QPointF
    on_playhead: bool
    moved: bool = False


class CurvePlot(PlotCanvas):
    """Curves over merges, a playhead, and a cross-hair that reads values.

    The wheel zooms along x; a double click or `A` shows everything again; y always fits what is visible. Left and
    Right, Page Up and Page Down move the playhead while the plot has the focus. A click moves it too; a double click on
    the curve of another run asks for that run.
    """

    playheadDragged = Signal(int)
    playheadClicked = Signal(int)
    curveDoubleClicked = Signal(object)
    _pointed = Signal(QPointF)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._playhead: float | None = None
        self._playhead_text = ""
        self._pointer: QPointF | None = None
        self._press: _Press | None = None
        self._before_click: float | None = None
        # A mouse reports up to a thousand places a second; sixty are as many as anyone sees.
        self._pointing = pg.SignalProxy(self._pointed, rateLimit=60, slot=self._point_at, threadSafe=False)
        self._pointing.setParent(self)
        self._pointing.timer.setParent(self._pointing)

        self.setAccessibleName("Plot")
        self.setMinimumSize(160, 120)
        self.viewport().setMouseTracking(True)

    def set_playhead(self, x: float | None, text: str) -> None:
        """Move the playhead, with the words to write beside it; None takes it away. Emits nothing."""
        self._playhead, self._playhead_text = x, text
        self.setAccessibleDescription(text)
        self.viewport().update()

    def clear(self) -> None:
        """Take all curves and the playhead away."""
        super().clear()
        self.set_playhead(None, "")

    # Drawing

    def drawForeground(self, painter: QPainter, rect: QRectF | QRect) -> None:
        """Draw the playhead and the cross-hair over the curves; an error goes to the hook, never into Qt."""
        try:
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(self._theme.tabular_font())
            labels = PlotLabels(painter, self._area(), self._theme.palette, self._curves_between)
            self._draw_playhead_line(painter)
            self._draw_cross_hair(painter, labels)
            place = self._playhead_place()
            if place is not None:
                labels.write(place, self._playhead_text, framed=False)
        except Exception as error:  # an exception that leaves an override ends Qt's event loop
            sys.excepthook(type(error), error, error.__traceback__)
        finally:
            painter.restore()

    def _playhead_place(self) -> QPointF | None:
        """Where the playhead meets the active curve; None while it is out of sight."""
        area, x, curve = self._area(), self._playhead, self._active()
        if x is None or not self._curves:
            return None
        line = round(self.to_scene(x, 1.0).x()) + 0.5
        if not area.left() - 1 <= line <= area.right() + 1:
            return None
        return QPointF(line, area.top() + 12 if curve is None else self.to_scene(*curve.nearest(x)).y())

    def _draw_playhead_line(self, painter: QPainter) -> None:
        area, place, palette = self._area(), self._playhead_place(), self._theme.palette
        if place is None:
            return
        painter.setPen(QPen(QColor(palette.text), 1))
        painter.drawLine(QPointF(place.x(), area.top()), QPointF(place.x(), area.bottom()))
        if self._active() is None:
            return
        painter.setPen(QPen(QColor(palette.accent), 2))
        painter.setBrush(QColor(palette.surface))
        painter.drawEllipse(place, 4.5, 4.5)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(palette.accent), 1))
            painter.drawEllipse(place, 8.5, 8.5)

    def _draw_cross_hair(self, painter: QPainter, labels: PlotLabels) -> None:
        if self._pointer is None or self._press is not None or not self._area().contains(self._pointer):
            return
        if self._near_playhead(self._pointer) and self._curve_at(self._pointer) is None:
            # What is to be read there stands beside the playhead.
            return
        key = self._curve_at(self._pointer)
        curve = self._active() if key is None else self._curves[key]
        if curve is None or not len(curve.x):
            return
        x, y = curve.nearest(self._to_data(self._pointer.x()))
        place, area = self.to_scene(x, y), self._area()
        palette = self._theme.palette
        painter.setPen(QPen(QColor(palette.muted), 1, Qt.PenStyle.DotLine))
        painter.drawLine(QPointF(place.x(), area.top()), QPointF(place.x(), area.bottom()))
        painter.drawLine(QPointF(area.left(), place.y()), QPointF(area.right(), place.y()))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(curve.pen(palette).color())
        painter.drawEllipse(place, 3, 3)
        labels.write(place, self._cross_hair_text(curve, x, y), framed=True)

    def _cross_hair_text(self, curve: Curve, x: float, y: float) -> str:
        x_text, y_text = (
            f"{x:,.0f} {self._labels[0]}".strip(),
            f"{value_text(y, curve.whole)} {self._labels[1]}".strip(),
        )
        if curve.role == "active":
            held_out = next(
                (one for one in self._curves.values() if one.role == "active held-out" and len(one.x)), None
            )
            beside = "" if held_out is None else f" · held-out {value_text(held_out.nearest(x)[1], held_out.whole)}"
            return f"{x_text} · {y_text}{beside}"
        # Rather the name is cut than the values.
        metrics = QFontMetricsF(self._theme.tabular_font())
        name = metrics.elidedText(curve.name, Qt.TextElideMode.ElideRight, self._area().width() / 3)
        return f"{name}: {x_text} · {y_text}"

    def _curves_between(self, left: float, right: float) -> list[tuple[float, float]]:
        """The highest and the lowest place of each curve between two of x."""
        low, high = self._to_data(left), self._to_data(right)
        ranges = (range_between(curve.x, curve.y, low, high) for curve in self._curves.values())
        return [(self.to_scene(low, one[1]).y(), self.to_scene(low, one[0]).y()) for one in ranges if one is not None]

    # Places

    def _merge(self, x: float) -> int | None:
        """The whole number nearest to x among those where the playhead can be."""
        curve = self._active()
        return None if curve is None else round(min(max(x, float(curve.x[0])), float(curve.x[-1])))

    def _near_playhead(self, place: QPointF) -> bool:
        return self._playhead is not None and abs(self.to_scene(self._playhead, 1.0).x() - place.x()) <= _REACH

    def _curve_at(self, place: QPointF) -> Hashable | None:
        """The key of the other curve that passes close to a place."""
        low, high = self._to_data(place.x() - _REACH), self._to_data(place.x() + _REACH)
        for key, curve in self._curves.items():
            if curve.role == "active" or not len(curve.x) or high < curve.x[0] or low > curve.x[-1]:
                continue
            heights = [self.to_scene(*curve.nearest(x)).y() for x in (low, self._to_data(place.x()), high)]
            if min(heights) - _REACH <= place.y() <= max(heights) + _REACH:
                return key
        return None

    # Pictures

    def to_image(self, width: int, height: int, scale: float = 1.0) -> QImage:
        """The plot on its background as a picture of `width` by `height`, times `scale`, pixels."""
        image = QImage(round(width * scale), round(height * scale), QImage.Format.Format_ARGB32_Premultiplied)
        image.setDevicePixelRatio(scale)
        with QPainter(image) as painter:
            self._render(width, height, scale, painter)
        return image

    def to_svg(self, width: int, height: int) -> bytes:
        """The plot on its background as an SVG drawing."""
        return drawing_of(self, width, height, "sans-serif", partial(self._render, width, height, 1.0)).encode()

    def _render(self, width: int, height: int, scale: float, painter: QPainter) -> None:
        # A copy takes the picture's size, so that the plot on screen is left alone.
        copy = CurvePlot(self._theme)
        try:
            font, names = self._theme.tabular_font(), [curve.name for curve in self._curves.values()]
            beside = legend_width(names, QFontMetricsF(font), width)
            copy.resize(int(width - beside), height)
            # A widget that is never shown gets no resize event of its own.
            copy.resizeEvent(None)
            copy.set_log(*self._log)
            copy._zoom, copy._pen_width = self._zoom, scale
            for key, curve in self._curves.items():
                copy.set_curve(key, curve.x, curve.y, curve.name, curve.role, curve.hue)
            copy.set_labels(*self._labels)
            copy._left.setLabel(self._labels[1], color=self._theme.palette.muted)
            copy.set_playhead(self._playhead, self._playhead_text)
            copy.settle()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(font)
            painter.fillRect(QRectF(0, 0, width, height), QColor(self._theme.palette.surface))
            plot = QRectF(0, 0, copy.width(), height)
            copy.draw_scene(painter, plot)
            copy.drawForeground(painter, plot)
            if beside:
                copy._draw_names(painter, QRectF(plot.right() + 4, 12, width - plot.right() - 4, height - 24))
        finally:
            shiboken6.delete(copy)

    def _draw_names(self, painter: QPainter, area: QRectF) -> None:
        palette = self._theme.palette
        curves = sorted(self._curves.values(), key=lambda curve: not curve.of_active)
        rows = [(curve.pen(palette), curve.name) for curve in curves]
        draw_legend(painter, area, palette, rows)

    # What a person does

    def mousePressEvent(self, ev: QMouseEvent) -> None:
        """Take hold of the playhead, or remember where a click or a drag begins."""
        place = ev.position()
        if ev.button() != Qt.MouseButton.LeftButton or not self._area().adjusted(-_REACH, 0, _REACH, 0).contains(place):
            ev.ignore()
            return
        self._press = _Press(place, self._near_playhead(place))
        self.viewport().update()

    def mouseMoveEvent(self, ev: QMouseEvent) -> None:
        """Drag the playhead (or what is visible, while zoomed), or read values under the pointer."""
        place, press = ev.position(), self._press
        if press is None:
            self._pointed.emit(place)
            return
        if not press.moved:
            reach = 1 if press.on_playhead else QApplication.startDragDistance()
            press.moved = (place - press.place).manhattanLength() >= reach
        if not press.moved:
            return
        if self._zoom is not None and not press.on_playhead:
            shift = self._view.mapSceneToView(press.place).x() - self._view.mapSceneToView(place).x()
            press.place = place
            self._show(self._zoom[0] + shift, self._zoom[1] + shift)
            return
        merge = self._merge(self._to_data(place.x()))
        if merge is not None and merge != self._playhead:
            self._playhead = merge
            self.viewport().update()
            self.playheadDragged.emit(merge)

    def mouseReleaseEvent(self, ev: QMouseEvent) -> None:
        """End a drag, or act on a click."""
        press, self._press = self._press, None
        self._pointer = ev.position()
        self.viewport().update()
        if press is None or press.moved:
            return
        self._before_click = self._playhead
        if not press.on_playhead:
            self._move_to(self._to_data(ev.position().x()))

    def mouseDoubleClickEvent(self, ev: QMouseEvent) -> None:
        """Ask for the run whose curve is there, else show everything again; the playhead is where it was before."""
        self._press = None
        if ev.button() != Qt.MouseButton.LeftButton:
            return
        key = self._curve_at(ev.position())
        if key is None and self._zoom is None:
            return
        if self._before_click is not None:
            self._move_to(self._before_click)
        if key is None:
            self.reset_zoom()
        else:
            self.curveDoubleClicked.emit(key)

    def leaveEvent(self, ev: QEvent) -> None:
        """Hide the cross-hair."""
        self._pointing.flush()
        self._point_at((None,))

    def _point_at(self, places: tuple[QPointF | None]) -> None:
        self._pointer = place = places[0]
        shape = Qt.CursorShape.ArrowCursor
        if place is not None and self._area().contains(place):
            if self._near_playhead(place):
                shape = Qt.CursorShape.SplitHCursor
            elif self._curve_at(place) is not None:
                shape = Qt.CursorShape.PointingHandCursor
        self.viewport().setCursor(shape)
        self.viewport().update()

    def keyPressEvent(self, ev: QKeyEvent) -> None:
        """Move the playhead, or show everything again."""
        curve, key = self._active(), Qt.Key(ev.key())
        if key == Qt.Key.Key_A and not ev.modifiers():
            self.reset_zoom()
            return
        if curve is None or self._playhead is None or ev.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            ev.ignore()
            return
        page = max(1.0, round(float(curve.x[-1] - curve.x[0]) * 0.05))
        targets = {
            Qt.Key.Key_Left: self._playhead - 1,
            Qt.Key.Key_Right: self._playhead + 1,
            Qt.Key.Key_PageUp: self._playhead + page,
            Qt.Key.Key_PageDown: self._playhead - page,
        }
        if key in targets:
            self._move_to(targets[key])
        else:
            ev.ignore()

    def _move_to(self, x: float) -> None:
        merge = self._merge(x)
        if merge is not None and merge != self._playhead:
            self._playhead = merge
            self.viewport().update()
            self.playheadClicked.emit(merge)
