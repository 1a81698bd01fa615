"""The graphics item of a plot: pyqtgraph's axes and curves in a given size. `plot_view` shows it on screen.

It is imported when a plot is drawn first, as pyqtgraph takes a tenth of a second to load.

Data is decimated here, as pyqtgraph's downsampling leaves only 14 of the first 100 merges on a log scale.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QGraphicsItem, QGraphicsPathItem, QStyleOptionGraphicsItem, QWidget

from tokstudio.gui.plot.content import Content, Role, fitted_caption
from tokstudio.gui.plot.scale import FloatArray, apart, range_between, tick_texts, tick_values, visible
from tokstudio.gui.style.theme import BODY_PIXELS, Theme

# A column is about a pixel wide and has at most about two points. Wide and dashed lines are slow to draw, so curves
# for comparison have fewer columns.
_COLUMNS: dict[Role, int] = {"active": 1_000, "other": 400, "active held-out": 400, "other held-out": 400}
_CAPTIONED = 12  # minimum height in lines of text for a caption
_LEFT, _RIGHT, _TOP, _GAP = 4, 14, 8, 6  # pixels around the plot, and between an axis and its numbers
_OVERHANG = 10.0  # pixels that a number may extend beyond the end of an axis
_BETWEEN = 8  # pixels between two numbers side by side
_BAR = 0.4  # half the width of a bar
_LOWEST_BAR = 2.0  # minimum height of a bar in pixels


class _Axis(pg.AxisItem):
    """An axis with one level of round ticks and thousands separators; with `whole`, at whole numbers only.

    No number overlaps another.
    """

    whole = True

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        style: Any = self.style  # pyqtgraph's attribute hides Qt's method of the same name
        font, is_left = style["tickFont"] or QFont(), self.orientation == "left"
        room = min(42.0, max(size / 3, 24.0)) if is_left else 68.0 if abs(maxVal) < 100_000 else 92.0
        room *= max(font.pixelSize() / BODY_PIXELS, 1.0)
        values = tick_values(minVal, maxVal, size / room, bool(self.logMode), self.whole)
        metrics = QFontMetricsF(font)
        texts = self.tickStrings(values, 1.0, 0.0)
        lengths = [metrics.height() if is_left else metrics.horizontalAdvance(text) + _BETWEEN for text in texts]
        places = [(value - minVal) / (maxVal - minVal) * size for value in values]
        return [(0.0, [values[at] for at in apart(places, lengths)])]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        return tick_texts([10.0**value for value in values] if self.logMode else values, self.whole)

    def boundingRect(self) -> QRectF:
        # With a grid, the axis would end with the plot and omit the label of a tick at its end.
        rect = super().boundingRect()
        return rect.adjusted(0, -_OVERHANG, 0, _OVERHANG) if self.orientation == "left" else rect


class _CurveItem(pg.PlotCurveItem):
    """A curve and the area below it as one path: pyqtgraph's own fill of many short pieces takes four times as long."""

    def __init__(self) -> None:
        super().__init__(antialias=True, skipFiniteCheck=True)
        self.ground = QGraphicsPathItem(self)
        self.ground.setFlag(QGraphicsItem.GraphicsItemFlag.ItemStacksBehindParent)
        self.ground.setPen(QPen(Qt.PenStyle.NoPen))

    def draw(self, x: FloatArray, y: FloatArray, corner: QPointF, pen: QPen, *, filled: bool) -> None:
        """Draws relative to the corner of the view: SVG keeps six digits, too few for merge 1,000,000.5."""
        x, y = x - corner.x(), y - corner.y()
        self.setPos(corner)
        self.setPen(pen)
        self.setData(x, y)
        filled = filled and len(x) > 0
        self.ground.setVisible(filled)
        if filled:
            path = pg.arrayToQPath(np.concatenate((x[:1], x, x[-1:])), np.pad(y, 1), finiteCheck=False)
            self.ground.setPath(path)
        # Transparent enough to show the grid; on the surface colour, it gives the theme's soft accent.
        self.ground.setBrush(_faded(pen.color(), 0.12))


class Chart(pg.PlotItem):
    """The content of a plot in a given size: y fits the visible data, and curves are decimated to the pixels.

    pyqtgraph's menu, buttons, ranges and mouse are off: the plot sets its ranges, and a drag moves the playhead.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        self._box = pg.ViewBox(enableMouse=False, enableMenu=False)
        self._box.disableAutoRange()
        self._theme = theme
        self._bottom, self._left = _Axis("bottom"), _Axis("left")
        super().__init__(viewBox=self._box, axisItems={"left": self._left, "bottom": self._bottom}, enableMenu=False)
        self.hideButtons()
        self.showGrid(y=True, alpha=1.0)
        for hidden in ("right", "top"):
            # Else it lays out a label that is never seen for each change.
            self.getAxis(hidden).enableAutoSIPrefix(False)
        for axis in (self._left, self._bottom):
            axis.enableAutoSIPrefix(False)
            axis.setStyle(tickLength=0, tickTextOffset=_GAP, tickAlpha=255, hideOverlappingLabels=12)
            axis.setZValue(-200)
        self.content = Content()
        self.ends = 0.0, 1.0  # the least and the greatest x of all curves in axis coordinates
        self._caption = ""
        self.drawn: dict[Hashable, _CurveItem | pg.BarGraphItem] = {}  # the item of each curve
        self.view = pg.GraphicsView(parent)  # the invisible view of the item; without one, an axis draws nothing
        self.view.hide()
        self.view.scene().addItem(self)

    def lay_out(
        self, content: Content, width: float, height: float, pixels: float = 1.0, *, labelled: bool = False
    ) -> None:
        """Lays out content in a total width and height in pixels, with `pixels` of the device per pixel.

        With `labelled`, the axes have labels instead of the caption, as in an exported picture.
        """
        self.content = content
        line = round(QFontMetricsF(self._theme.tabular_font()).height())
        self._caption = content.caption if not labelled and height >= _CAPTIONED * line else ""
        # Half of the topmost number is between the plot and the caption.
        top, beside = round(1.5 * line) if self._caption else _TOP, line if labelled else 0
        self._style_axes(pixels, labelled)

        points = {key: curve.on_axes(content.log) for key, curve in content.curves.items()}
        side = _BAR if any(curve.bars for curve in content.curves.values()) else 0.0
        ends = [(float(x[0]) - side, float(x[-1]) + side) for x, _ in points.values() if len(x)]
        low, high = min((end[0] for end in ends), default=0.0), max((end[1] for end in ends), default=1.0)
        self.ends = low, high if high > low else low + 1.0
        pad = (self.ends[1] - low) * 0.01
        shown = content.zoom or (low - pad, self.ends[1] + pad)
        drawn = {
            key: _bars(*points[key], shown) if curve.bars else visible(*points[key], shown, _COLUMNS[curve.role])
            for key, curve in content.curves.items()
        }
        heights = [(float(y.min()), float(y.max())) for _, y in drawn.values() if len(y)]
        floor, roof = min((end[0] for end in heights), default=0.0), max((end[1] for end in heights), default=1.0)
        floor = 0.0 if side else floor
        room = (roof - floor) or abs(roof) * 0.1 or 1.0
        floor, roof = floor - (0.0 if side else room * 0.03), roof + room * 0.08

        bottom = line + 8 + beside
        self._left.whole = bool(drawn) and all(curve.whole for curve in content.curves.values())
        size = max(height - top - bottom, 1.0)
        self._left.setWidth(round(self._left_numbers(floor, roof, size) + beside + 2 * _GAP))
        self._bottom.setHeight(bottom)
        grid: Any = self.layout  # pyqtgraph's attribute hides Qt's method of the same name
        grid.setContentsMargins(_LEFT, top, _RIGHT, 0)
        self.setGeometry(QRectF(0, 0, width, height))
        grid.activate()
        self._box.setRange(xRange=shown, yRange=(floor, roof), padding=0, disableAutoRange=True)
        self._show_curves(drawn, QPointF(shown[0], floor), pixels, (roof - floor) / size)

    def draw(self, painter: QPainter) -> None:
        """Draws the background, the axes and the curves."""
        area, scene = self.sceneBoundingRect(), self.scene()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(area, QColor(self._theme.palette.surface))
        scene.prepareForPaint()
        scene.render(painter, area, area)

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        if self._caption:
            painter.setFont(self._theme.tabular_font())
            painter.setPen(QColor(self._theme.palette.muted))
            metrics = QFontMetricsF(painter.font())
            words = fitted_caption(self._caption, metrics, self.size().width() - 2 * _GAP)
            painter.drawText(QPointF(_GAP, metrics.ascent()), words)

    # ---- coordinates

    @property
    def area(self) -> QRectF:
        """The rectangle between the axes in pixels."""
        return self._box.sceneBoundingRect()

    @property
    def x_range(self) -> tuple[float, float]:
        """The shown range of x in axis coordinates."""
        low, high = self._box.viewRange()[0]
        return low, high

    def place(self, x: float, y: float) -> QPointF:
        """The pixel position of a data point; a value without a logarithm is at the end of its axis."""
        places = (
            (math.log10(value) if value > 0 else shown[0]) if log else value
            for value, log, shown in zip((x, y), self.content.log, self._box.viewRange(), strict=True)
        )
        return self._box.mapViewToScene(QPointF(*places))

    def axis_at(self, pixel: float) -> float:
        """The x in axis coordinates at a pixel."""
        return self._box.mapSceneToView(QPointF(pixel, 0)).x()

    def x_at(self, pixel: float) -> float:
        """The data x at a pixel."""
        place = self.axis_at(pixel)
        return 10.0 ** min(place, 300.0) if self.content.log[0] else place

    def curves_between(self, left: float, right: float) -> list[tuple[float, float]]:
        """The highest and the lowest pixel of each curve between two pixels."""
        low, high = self.x_at(left), self.x_at(right)
        ranges = (range_between(curve.x, curve.y, low, high) for curve in self.content.curves.values())
        return [(self.place(low, one[1]).y(), self.place(low, one[0]).y()) for one in ranges if one is not None]

    # ---- items

    def _style_axes(self, pixels: float, labelled: bool) -> None:
        palette, font, content = self._theme.palette, self._theme.tabular_font(), self.content
        labels = (content.x_label, content.y_label) if labelled else ("", "")
        for axis, label, log in zip((self._bottom, self._left), labels, content.log, strict=True):
            axis.setLogMode(log, log)  # pyright: ignore[reportArgumentType] (its annotation is wrong)
            axis.setPen(pg.mkPen(palette.border, width=pixels))
            axis.setTickPen(pg.mkPen(palette.grid, width=pixels))
            axis.setTextPen(palette.muted)
            axis.setTickFont(font)
            if axis.label is not None:
                axis.label.setFont(font)
            if label or axis.labelText:
                axis.setLabel(label, color=palette.muted)
            axis.showLabel(bool(label))

    def _left_numbers(self, floor: float, roof: float, size: float) -> float:
        texts = self._left.tickStrings(self._left.tickValues(floor, roof, size)[0][1], 1.0, 0.0)
        metrics = QFontMetricsF(self._theme.tabular_font())
        return max((metrics.horizontalAdvance(text) for text in texts), default=0.0)

    def _show_curves(
        self, drawn: Mapping[Hashable, tuple[FloatArray, FloatArray]], corner: QPointF, pixels: float, tall: float
    ) -> None:
        """Draws decimated curves; `corner` is the lower left corner of the range, and `tall` the height of a pixel."""
        for key in self.drawn.keys() - drawn.keys():
            self._box.removeItem(self.drawn.pop(key))
        for key, (x, y) in drawn.items():
            curve = self.content.curves[key]
            item = self.drawn.get(key)
            if item is None:
                item = self.drawn[key] = pg.BarGraphItem(x0=x, x1=x, height=y) if curve.bars else _CurveItem()
                self._box.addItem(item, ignoreBounds=True)
            pen = curve.pen(self._theme.palette)
            pen.setWidthF(pen.widthF() * pixels)
            item.setZValue(1 if curve.of_active else 0)
            if isinstance(item, _CurveItem):
                item.draw(x, y, corner, pen, filled=curve.role == "active")
            else:
                low, high = self.x_range
                item.setOpts(
                    x0=np.clip(x - _BAR, low, high),
                    x1=np.clip(x + _BAR, low, high),
                    y0=0,
                    height=np.maximum(y, _LOWEST_BAR * tall),
                    pen=None,
                    brush=_faded(pen.color(), 0.6),
                )


def _bars(x: FloatArray, y: FloatArray, shown: tuple[float, float]) -> tuple[FloatArray, FloatArray]:
    kept = (x > shown[0] - _BAR) & (x < shown[1] + _BAR)
    return x[kept], y[kept]


def _faded(colour: QColor, alpha: float) -> QColor:
    faded = QColor(colour)
    faded.setAlphaF(alpha)
    return faded
