"""A plot as a scene: pyqtgraph's axes and curves, made from data for any size. `plot_view` shows it on screen.

Data is thinned out here before pyqtgraph gets it: its downsampling leaves 14 of the first 100 merges on a log scale.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QGraphicsItem, QGraphicsPathItem, QStyleOptionGraphicsItem, QWidget

from tokstudio.gui.plot.curve_marks import curve_pen
from tokstudio.gui.plot.scale import FloatArray, range_between, tick_texts, tick_values, to_axis, visible

if TYPE_CHECKING:
    from tokstudio.gui.style.theme import Palette, Theme

Role = Literal["active", "other", "active held-out", "other held-out"]

# A column is about a pixel wide: twice as many points are the most that a curve can show. Broad and dashed lines are
# drawn slowly, so curves to compare with have fewer.
_COLUMNS: dict[Role, int] = {"active": 1_000, "other": 400, "active held-out": 400, "other held-out": 400}
_CAPTIONED = 11  # lines of text from which on a plot has room for its caption
_LEFT, _RIGHT, _TOP, _GAP = 4, 14, 8, 6  # pixels around the plot, and between an axis and its numbers
_OVERHANG = 10.0  # how far a number may stand out at the ends of an axis
_BAR = 0.4  # half of a bar's width
_LOWEST_BAR = 2.0  # pixels of height that a bar has at least, however few it stands for


@dataclass(frozen=True, eq=False)
class Curve:
    """One curve; its data is not copied.

    Attributes:
        name: Its name in the legend of a picture and beside the cross-hair.
        role: `"active"` for the curve that the playhead runs along, `"other"` for one to compare with; with
            `" held-out"` behind it for the text that was kept out of that run.
        x: float64, ascending.
        y: float64, as long as `x`.
        hue: Which colour it has, active or not; the same number always means the same one.
        bars: Whether a bar stands over each x instead.
    """

    name: str
    role: Role
    x: FloatArray
    y: FloatArray
    hue: int = 0
    bars: bool = False
    _logarithmic: dict[tuple[bool, bool], tuple[FloatArray, FloatArray]] = field(default_factory=dict, repr=False)

    @property
    def of_active(self) -> bool:
        """Whether it is of the run the playhead runs along."""
        return self.role.startswith("active")

    @cached_property
    def whole(self) -> bool:
        """Whether its values are whole numbers, by some fifty of them."""
        return bool((np.mod(self.y[:: max(1, len(self.y) // 50)], 1.0) == 0).all())

    def pen(self, palette: Palette) -> QPen:
        """What it is drawn with."""
        return curve_pen(palette, self.hue, active=self.of_active, dotted=self.role.endswith("held-out"))

    def nearest(self, x: float) -> int:
        """The index of the point whose x is nearest."""
        after = min(int(np.searchsorted(self.x, x)), len(self.x) - 1)
        before = max(after - 1, 0)
        return before if abs(self.x[before] - x) <= abs(self.x[after] - x) else after

    def point_at(self, x: float) -> tuple[float, float]:
        """The point whose x is nearest."""
        index = self.nearest(x)
        return float(self.x[index]), float(self.y[index])

    def on_axes(self, log: tuple[bool, bool]) -> tuple[FloatArray, FloatArray]:
        """Its points as they stand on axes; those without a logarithm are left out."""
        if log == (False, False):
            return self.x, self.y
        if log not in self._logarithmic:
            x, y = to_axis(self.x, log[0]), to_axis(self.y, log[1])
            kept = np.isfinite(x) & np.isfinite(y)
            self._logarithmic[log] = x[kept], y[kept]
        return self._logarithmic[log]


@dataclass(frozen=True)
class Content:
    """What a plot shows.

    Attributes:
        curves: The curves, by what callers call them.
        log: Whether x and y are logarithmic.
        zoom: The part of x that is shown, as it stands on the axis; None for all.
        x_label: The unit of x, beside the cross-hair and in exported pictures.
        y_label: The same of y.
        caption: What stands above the plot on screen; labels at the axes would take more of a low pane.
    """

    curves: Mapping[Hashable, Curve] = field(default_factory=dict)
    log: tuple[bool, bool] = (False, False)
    zoom: tuple[float, float] | None = None
    x_label: str = ""
    y_label: str = ""
    caption: str = ""

    def active(self) -> Curve | None:
        """The curve that the playhead runs along."""
        return next((curve for curve in self.curves.values() if curve.role == "active" and len(curve.x)), None)


class _Axis(pg.AxisItem):
    """An axis with one level of tidy ticks and thousands separators, at whole numbers where it is `whole`."""

    whole = True

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        room = min(42.0, max(size / 3, 24.0)) if self.orientation == "left" else 68.0 if abs(maxVal) < 100_000 else 92.0
        return [(0.0, tick_values(minVal, maxVal, size / room, bool(self.logMode), self.whole))]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        return tick_texts([10.0**value for value in values] if self.logMode else values, self.whole)

    def boundingRect(self) -> QRectF:
        # With a grid the axis ends where the plot does, and the label of a tick at its very end would be left out.
        rect = super().boundingRect()
        return rect.adjusted(0, -_OVERHANG, 0, _OVERHANG) if self.orientation == "left" else rect


class _CurveItem(pg.PlotCurveItem):
    """A curve and the ground below it, which is one path: pyqtgraph's many short pieces take four times as long."""

    def __init__(self) -> None:
        super().__init__(antialias=True, skipFiniteCheck=True)
        self.ground = QGraphicsPathItem(self)
        self.ground.setFlag(QGraphicsItem.GraphicsItemFlag.ItemStacksBehindParent)
        self.ground.setPen(QPen(Qt.PenStyle.NoPen))

    def draw(self, x: FloatArray, y: FloatArray, corner: QPointF, pen: QPen, *, filled: bool) -> None:
        """Draws from the corner of the view: an SVG keeps six digits of a number, too few for merge 1,000,000.5."""
        x, y = x - corner.x(), y - corner.y()
        self.setPos(corner)
        self.setPen(pen)
        self.setData(x, y)
        filled = filled and len(x) > 0
        self.ground.setVisible(filled)
        if filled:
            path = pg.arrayToQPath(np.concatenate((x[:1], x, x[-1:])), np.pad(y, 1), finiteCheck=False)
            self.ground.setPath(path)
        # Clear enough to let the grid through: on the surface it gives the theme's soft accent.
        self.ground.setBrush(_faded(pen.color(), 0.12))


class Chart(pg.PlotItem):
    """What a plot shows, laid out for a size: y fits what is visible, and each curve has the points that pixels show.

    pyqtgraph's menu, buttons, ranges and mouse are off: a plot fits its range itself, and a drag moves the playhead.

    Args:
        theme: Its colours and fonts.

    Attributes:
        content: What is shown.
        ends: The least and the greatest x of all curves, as they stand on the axis.
        drawn: What draws each curve.
    """

    def __init__(self, theme: Theme) -> None:
        self._box = pg.ViewBox(enableMouse=False, enableMenu=False)
        self._box.disableAutoRange()
        self._theme = theme
        self._bottom, self._left = _Axis("bottom"), _Axis("left")
        super().__init__(viewBox=self._box, axisItems={"left": self._left, "bottom": self._bottom}, enableMenu=False)
        self.hideButtons()
        self.showGrid(y=True, alpha=1.0)
        for axis in (self._left, self._bottom):
            axis.enableAutoSIPrefix(False)
            axis.setStyle(tickLength=0, tickTextOffset=_GAP, tickAlpha=255, hideOverlappingLabels=12)
            axis.setZValue(-200)
        self.content = Content()
        self.ends = 0.0, 1.0
        self._caption = ""
        self.drawn: dict[Hashable, _CurveItem | pg.BarGraphItem] = {}

    def lay_out(
        self, content: Content, width: float, height: float, pixels: float = 1.0, *, labelled: bool = False
    ) -> None:
        """Shows content in a size.

        Args:
            content: What to show.
            width: Of the whole, in pixels.
            height: The same.
            pixels: Device pixels in one of these. pyqtgraph's pens are as wide as device pixels say.
            labelled: Whether the axes have labels, as in an exported picture, instead of the caption above.
        """
        self.content = content
        line = round(QFontMetricsF(self._theme.tabular_font()).height())
        self._caption = content.caption if not labelled and height >= _CAPTIONED * line else ""
        # Half of the topmost number stands above the plot, and below the caption.
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
        grid: Any = self.layout  # pyqtgraph's attribute hides Qt's method of that name
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
        """Writes the caption."""
        if self._caption:
            painter.setFont(self._theme.tabular_font())
            painter.setPen(QColor(self._theme.palette.muted))
            metrics = QFontMetricsF(painter.font())
            words = metrics.elidedText(self._caption, Qt.TextElideMode.ElideRight, self.size().width() - 2 * _GAP)
            painter.drawText(QPointF(_GAP, metrics.ascent()), words)

    # ---- places

    @property
    def area(self) -> QRectF:
        """The pixels of the plot itself, between its axes."""
        return self._box.sceneBoundingRect()

    @property
    def x_range(self) -> tuple[float, float]:
        """The part of x that is shown, as it stands on the axis."""
        low, high = self._box.viewRange()[0]
        return low, high

    def place(self, x: float, y: float) -> QPointF:
        """Where a point of the data is, in pixels; what has no logarithm is at the end of its axis."""
        places = (
            (math.log10(value) if value > 0 else shown[0]) if log else value
            for value, log, shown in zip((x, y), self.content.log, self._box.viewRange(), strict=True)
        )
        return self._box.mapViewToScene(QPointF(*places))

    def axis_at(self, pixel: float) -> float:
        """The place on the axis of x at a pixel."""
        return self._box.mapSceneToView(QPointF(pixel, 0)).x()

    def x_at(self, pixel: float) -> float:
        """The x of the data at a pixel."""
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
            axis.setLabel(label, color=palette.muted)
            axis.showLabel(bool(label))

    def _left_numbers(self, floor: float, roof: float, size: float) -> float:
        texts = self._left.tickStrings(self._left.tickValues(floor, roof, size)[0][1], 1.0, 0.0)
        metrics = QFontMetricsF(self._theme.tabular_font())
        return max((metrics.horizontalAdvance(text) for text in texts), default=0.0)

    def _show_curves(
        self, drawn: Mapping[Hashable, tuple[FloatArray, FloatArray]], corner: QPointF, pixels: float, tall: float
    ) -> None:
        """Draws thinned out curves; `corner` is the lowest place that is shown, and `tall` the height of a pixel."""
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
