"""A plot with a playhead and a cross-hair, and its export as a picture. The panes supply the curves."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QKeyEvent, QMouseEvent, QPainter, QPen
from PySide6.QtWidgets import QApplication, QWidget

from tokstudio.core.base.records import dataclass
from tokstudio.gui.plot.content import Content, Curve, draw_legend, legend_width
from tokstudio.gui.plot.labels import Mark, PlotLabels, draw_marks
from tokstudio.gui.plot.plot_view import PlotView
from tokstudio.gui.plot.scale import value_text
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.figures import drawing_of

if TYPE_CHECKING:
    from tokstudio.gui.plot.chart import Chart

# Maximum distance in pixels at which the pointer is on a line.
_REACH = 6.0


@dataclass
class _Press:
    place: QPointF
    on_playhead: bool
    moved: bool = False


@dataclass(frozen=True)
class Playhead:
    """A vertical line over the curves: its x and the text beside it."""

    x: float
    text: str

    def place(self, chart: Chart) -> QPointF | None:
        """Its intersection with the active curve; None if it is not visible."""
        area, curve = chart.area, chart.content.active()
        line = round(chart.place(self.x, 1.0).x()) + 0.5
        if not chart.content.curves or not area.left() - 1 <= line <= area.right() + 1:
            return None
        return QPointF(line, area.top() + 12 if curve is None else chart.place(*curve.point_at(self.x)).y())

    def draw_line(self, painter: QPainter, chart: Chart, theme: Theme, *, focus: bool = False) -> None:
        """Draws the line and a ring on the active curve; with `focus`, a second ring."""
        place, area, palette = self.place(chart), chart.area, theme.palette
        if place is None:
            return
        painter.setPen(QPen(QColor(palette.text), 1))
        painter.drawLine(QPointF(place.x(), area.top()), QPointF(place.x(), area.bottom()))
        if chart.content.active() is None:
            return
        painter.setPen(QPen(QColor(palette.accent), 2))
        painter.setBrush(QColor(palette.surface))
        painter.drawEllipse(place, 4.5, 4.5)
        if focus:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(palette.accent), 1))
            painter.drawEllipse(place, 8.5, 8.5)

    def write(self, labels: PlotLabels, chart: Chart) -> None:
        """Writes its text beside its intersection with the active curve."""
        place = self.place(chart)
        if place is not None:
            labels.write(place, self.text, framed=False)


def draw_picture(
    painter: QPainter,
    content: Content,
    theme: Theme,
    size: tuple[int, int],
    scale: float,
    playhead: Playhead | None,
    marks: tuple[Mark, ...] = (),
    about: str = "",
) -> None:
    """Draws a plot with axis labels, the playhead, a legend at the right, and below it a line: what it is `about`.

    `size` is its width and height in pixels, `scale` the device pixels per pixel.
    """
    from tokstudio.gui.plot.chart import Chart

    width, height = size
    painter.setFont(theme.tabular_font())
    curves = sorted(content.curves.values(), key=lambda curve: not curve.of_active)
    metrics = QFontMetricsF(painter.font())
    beside = legend_width([curve.name + curve.size + curve.mark for curve in curves], metrics, width)
    painter.fillRect(QRectF(0, 0, width, height), QColor(theme.palette.surface))
    if about:
        height -= math.ceil(metrics.height()) + 8
        elided = metrics.elidedText(about, Qt.TextElideMode.ElideRight, width - 24)
        painter.setPen(QColor(theme.palette.muted))
        painter.drawText(QPointF(12, height + metrics.ascent()), elided)
    chart = Chart(theme)
    try:
        chart.lay_out(content, int(width - beside), height, scale, labelled=True)
        chart.draw(painter)
        labels = PlotLabels(painter, chart.area, theme.palette, chart.curves_between)
        draw_marks(painter, chart, theme.palette, labels, marks)
        if playhead is not None:
            playhead.draw_line(painter, chart, theme)
            playhead.write(labels, chart)
    finally:
        chart.close()
        shiboken6.delete(chart.view)
    if beside:
        rows = [(curve.pen(theme.palette), curve.name, curve.size + curve.mark) for curve in curves]
        draw_legend(painter, QRectF(width - beside + 4, 12, beside - 4, height - 24), theme.palette, rows)


class CurvePlot(PlotView):
    """Curves over merges, a playhead, and a cross-hair that shows values.

    The wheel zooms along x; a double click or `A` resets the zoom; y always fits the visible data. Left and Right, Page
    Up and Page Down move the playhead while the plot has the focus. A click moves it too; a double click on the curve
    of another run asks for that run; a click on a mark moves the playhead to it.
    """

    playheadMoved = Signal(int)  # a drag, a click or a key moved the playhead to this number of merges
    curveDoubleClicked = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._playhead: Playhead | None = None
        self._marks: tuple[Mark, ...] = ()
        self._press: _Press | None = None
        self._before_click: float | None = None
        self.setAccessibleName("Plot")

    def set_playhead(self, x: float | None, text: str) -> None:
        """Sets the playhead and the text beside it; None removes it. Emits nothing."""
        self._playhead = None if x is None else Playhead(x, text)
        self.setAccessibleDescription(text)
        self.update()

    def set_marks(self, marks: tuple[Mark, ...]) -> None:
        """Marks points of the curves, the most important first; a click on one moves the playhead there."""
        if marks != self._marks:
            self._marks = marks
            self.update()

    def to_image(self, width: int, height: int, scale: float = 1.0, about: str = "") -> QImage:
        """The plot with its background as a picture of `width` by `height`, times `scale`, pixels; see `draw_picture`.

        The text of the playhead and `about` are also the description in the file.
        """
        image = QImage(round(width * scale), round(height * scale), QImage.Format.Format_ARGB32_Premultiplied)
        image.setDevicePixelRatio(scale)
        with QPainter(image) as painter:
            draw_picture(painter, self.content, self._theme, (width, height), scale, self._playhead, self._marks, about)
        image.setText("Description", self._described(about))
        return image

    def to_svg(self, width: int, height: int, about: str = "") -> bytes:
        """The plot with its background as SVG; see `to_image`."""
        seen = (self.content, self._theme, (width, height), 1.0, self._playhead, self._marks, about)
        description = self._described(about)
        svg = drawing_of(self, width, height, "sans-serif", lambda painter: draw_picture(painter, *seen), description)
        return svg.encode()

    def _described(self, about: str) -> str:
        return " · ".join(filter(None, (self.accessibleDescription(), about)))

    def draw_over(self, painter: QPainter) -> None:
        chart, playhead = self.chart, self._playhead
        labels = PlotLabels(painter, chart.area, self._theme.palette, chart.curves_between)
        draw_marks(painter, chart, self._theme.palette, labels, self._marks)
        if playhead is not None:
            playhead.draw_line(painter, chart, self._theme, focus=self.hasFocus())
        self._point(painter, labels)
        if playhead is not None:
            playhead.write(labels, chart)

    def _point(self, painter: QPainter, labels: PlotLabels) -> None:
        """Shows the values under the pointer, and sets the cursor for a drag or a double click there."""
        place, shape = self._pointer, Qt.CursorShape.ArrowCursor
        if place is not None and self.chart.area.contains(place):
            key, at_playhead, mark = self._curve_at(place), self._near_playhead(place), self._mark_at(place)
            if mark is not None:
                shape = Qt.CursorShape.PointingHandCursor
            elif at_playhead:
                shape = Qt.CursorShape.SplitHCursor
            elif key is not None:
                shape = Qt.CursorShape.PointingHandCursor
            curve = self.content.active() if key is None else self.content.curves[key]
            # The text beside the playhead has its values already.
            if mark is not None and curve is not None:
                labels.write(self.draw_cross_hair(painter, curve, mark.x, mark.y), mark.tip, framed=True)
            elif curve is not None and self._press is None and not (at_playhead and key is None):
                x, y = curve.point_at(self.chart.x_at(place.x()))
                labels.write(self.draw_cross_hair(painter, curve, x, y), self.reading(curve, x, y), framed=True)
        if self.cursor().shape() != shape:
            self.setCursor(shape)

    def reading(self, curve: Curve, x: float, y: float) -> str:
        """The text beside the cross-hair on a point of a curve."""
        content = self.content
        x_text = f"{x:,.0f} {content.x_label}".strip()
        y_text = f"{curve.sign}{value_text(y, curve.whole)} {content.y_label}".strip()
        if curve.role == "active":
            others = (one for one in content.curves.values() if one.role == "active held-out" and len(one.x))
            held_out = next(others, None)
            beside = "" if held_out is None else f" · held-out {value_text(held_out.point_at(x)[1], held_out.whole)}"
            return f"{x_text} · {y_text}{beside}"
        # Shorten the name, not the values.
        metrics = QFontMetricsF(self._theme.tabular_font())
        name = metrics.elidedText(curve.name, Qt.TextElideMode.ElideRight, self.chart.area.width() / 3)
        return f"{name}{curve.mark}: {x_text} · {y_text}"

    # ---- hit tests

    def _near_playhead(self, place: QPointF) -> bool:
        return self._playhead is not None and abs(self.chart.place(self._playhead.x, 1.0).x() - place.x()) <= _REACH

    def _mark_at(self, place: QPointF) -> Mark | None:
        """The mark near a position."""
        for mark in self._marks:
            at = mark.place(self.chart)
            if at is not None and (at - place).manhattanLength() <= 1.5 * _REACH:
                return mark
        return None

    def _curve_at(self, place: QPointF) -> Hashable | None:
        """The key of another run's curve near a position."""
        chart = self.chart
        low, middle, high = (chart.x_at(place.x() + side) for side in (-_REACH, 0.0, _REACH))
        for key, curve in self.content.curves.items():
            if curve.role == "active" or not len(curve.x) or high < curve.x[0] or low > curve.x[-1]:
                continue
            heights = [chart.place(*curve.point_at(x)).y() for x in (low, middle, high)]
            if min(heights) - _REACH <= place.y() <= max(heights) + _REACH:
                return key
        return None

    def mousePressEvent(self, ev: QMouseEvent) -> None:
        place = ev.position()
        area = self.chart.area.adjusted(-_REACH, 0, _REACH, 0)
        if ev.button() != Qt.MouseButton.LeftButton or not area.contains(place):
            ev.ignore()
            return
        self._press = _Press(place, self._near_playhead(place))
        self.update()

    def mouseMoveEvent(self, ev: QMouseEvent) -> None:
        """Drags the playhead (or the visible range, while zoomed), or shows the values under the pointer."""
        place, press = ev.position(), self._press
        if press is None:
            super().mouseMoveEvent(ev)
            return
        if not press.moved:
            reach = 1 if press.on_playhead else QApplication.startDragDistance()
            press.moved = (place - press.place).manhattanLength() >= reach
        if not press.moved:
            return
        chart = self.chart
        if self.content.zoom is not None and not press.on_playhead:
            shift = chart.axis_at(press.place.x()) - chart.axis_at(place.x())
            press.place = place
            self.show_part(chart.x_range[0] + shift, chart.x_range[1] + shift)
        else:
            self._move_to(chart.x_at(place.x()))

    def mouseReleaseEvent(self, ev: QMouseEvent) -> None:
        press, self._press = self._press, None
        self._pointer = ev.position()
        self.update()
        if press is None or press.moved:
            return
        self._before_click = None if self._playhead is None else self._playhead.x
        mark = self._mark_at(ev.position())
        if mark is not None:
            self._move_to(mark.x)
        elif not press.on_playhead:
            self._move_to(self.chart.x_at(ev.position().x()))

    def mouseDoubleClickEvent(self, ev: QMouseEvent) -> None:
        """Asks for the run of the curve there, else resets the zoom; undoes the move by the first click."""
        self._press = None
        if ev.button() != Qt.MouseButton.LeftButton or self._mark_at(ev.position()) is not None:
            return
        key = self._curve_at(ev.position())
        if key is None and self.content.zoom is None:
            return
        if self._before_click is not None:
            self._move_to(self._before_click)
        if key is None:
            self.reset_zoom()
        else:
            self.curveDoubleClicked.emit(key)

    def keyPressEvent(self, ev: QKeyEvent) -> None:
        curve, playhead, key = self.content.active(), self._playhead, Qt.Key(ev.key())
        if key == Qt.Key.Key_A and not ev.modifiers():
            self.reset_zoom()
            return
        if curve is None or playhead is None or ev.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            ev.ignore()
            return
        page = max(1.0, round(float(curve.x[-1] - curve.x[0]) * 0.05))
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_PageUp: page, Qt.Key.Key_PageDown: -page}
        if key in steps:
            self._move_to(playhead.x + steps[key])
        else:
            ev.ignore()

    def _move_to(self, x: float) -> None:
        """Moves the playhead to the merge nearest to x."""
        curve = self.content.active()
        if curve is None:
            return
        merge = round(min(max(x, float(curve.x[0])), float(curve.x[-1])))
        if self._playhead is None or merge != self._playhead.x:
            self._playhead = Playhead(merge, "" if self._playhead is None else self._playhead.text)
            self.update()
            self.playheadMoved.emit(merge)
