"""Curves on axes: what is drawn, in which range, and as pictures. The playhead and the mouse are `plot.CurvePlot`'s."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QFontMetricsF,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QGraphicsItem, QGraphicsPathItem, QWidget

from tokstudio.gui.plot.curve_marks import curve_pen
from tokstudio.gui.plot.labels import draw_caption
from tokstudio.gui.plot.scale import FloatArray, tick_texts, tick_values, to_axis, visible

if TYPE_CHECKING:
    from tokstudio.gui.style.theme import Palette, Theme

Role = Literal["active", "other", "active held-out", "other held-out"]

# A column is about a pixel wide: twice as many points are the most that a curve can show. Broad lines are drawn slowly,
# so curves to compare with have fewer.
_COLUMNS: dict[Role, int] = {"active": 1_000, "other": 400, "active held-out": 400, "other held-out": 400}
_CAPTIONED = 11  # lines of text from which on a plot has room for its caption
_OVERHANG = 10.0  # how far a label may stand out at the ends of an axis


class _Axis(pg.AxisItem):
    """An axis with one level of tidy ticks and thousands separators, at whole numbers where it is `whole`."""

    whole = False

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        room = min(42.0, max(size / 3, 24.0)) if self.orientation == "left" else 68.0 if abs(maxVal) < 100_000 else 92.0
        return [(0.0, tick_values(minVal, maxVal, size / room, bool(self.logMode), self.whole))]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        return tick_texts([10.0**value for value in values] if self.logMode else values, self.whole)

    def boundingRect(self) -> QRectF:
        # With a grid the axis ends where the plot does, and the label of a tick at its very end would be left out.
        rect = super().boundingRect()
        return rect.adjusted(0, -_OVERHANG, 0, _OVERHANG) if self.orientation == "left" else rect

    def text_width(self, low: float, high: float, size: float, metrics: QFontMetricsF) -> float:
        texts = self.tickStrings(self.tickValues(low, high, size)[0][1], 1.0, 0.0)
        return max((metrics.horizontalAdvance(text) for text in texts), default=0.0)


@dataclass
class Curve:
    """One curve: its data, which is not copied, and the item that draws it."""

    name: str
    role: Role
    x: FloatArray
    y: FloatArray
    item: pg.PlotCurveItem
    fill: QGraphicsPathItem
    hue: int = 0
    whole: bool = False

    @property
    def of_active(self) -> bool:
        """Whether it is of the run the playhead runs along."""
        return self.role.startswith("active")

    def pen(self, palette: Palette) -> QPen:
        """What it is drawn with."""
        return curve_pen(palette, self.hue, active=self.of_active, dotted=self.role.endswith("held-out"))

    def nearest(self, x: float) -> tuple[float, float]:
        """The point of the curve whose x is nearest."""
        after = min(int(np.searchsorted(self.x, x)), len(self.x) - 1)
        before = max(after - 1, 0)
        index = before if abs(self.x[before] - x) <= abs(self.x[after] - x) else after
        return float(self.x[index]), float(self.y[index])


class PlotCanvas(pg.GraphicsView):
    """Curves over merges on axes that fit what is visible; x may be zoomed, y always fits."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent, useOpenGL=False)
        self._theme = theme
        self._curves: dict[Hashable, Curve] = {}
        self._labels = ("", "")
        self._caption = ""
        self._log = (False, False)
        self._zoom: tuple[float, float] | None = None
        # Pens are as wide as device pixels say, so a picture of twice the size needs pens of twice the width.
        self._pen_width: float | None = None
        self._picture = QPixmap()  # axes and curves as they are, for the playhead to run over
        self._picture_is_old = True
        self._view = pg.ViewBox(enableMouse=False, enableMenu=False)
        self._view.disableAutoRange()
        self._bottom, self._left = _Axis("bottom"), _Axis("left")
        self._bottom.whole = True  # merges, bytes or ranks
        self._layout = pg.GraphicsLayout()
        self._build()
        theme.changed.connect(self._apply_theme)
        self._apply_theme()

    def _build(self) -> None:
        self._layout.setSpacing(0)
        self._layout.addItem(self._left, 0, 0)
        self._layout.addItem(self._view, 0, 1)
        self._layout.addItem(self._bottom, 1, 1)
        for axis in (self._left, self._bottom):
            axis.linkToView(self._view)
            axis.enableAutoSIPrefix(False)
            axis.setStyle(tickLength=0, tickTextOffset=6, tickAlpha=255, hideOverlappingLabels=12)
            axis.setZValue(-200)
        self._left.setGrid(255)
        self.setCentralItem(self._layout)
        if self.sceneObj is not None:
            self.sceneObj.changed.connect(self._scene_changed)

    # What is shown

    def set_curve(self, key: Hashable, x: FloatArray, y: FloatArray, name: str, role: Role, hue: int = 0) -> None:
        """Draw a curve, or draw it anew; cheap enough for a growing array twenty times a second.

        Args:
            key: what `curveDoubleClicked` and `remove_curve` call it.
            x: float64, ascending. Kept as it is, not copied.
            y: float64, as long as `x`.
            name: its name in the legend of an exported picture and beside the cross-hair.
            role: `"active"` for the curve the playhead runs along, `"other"` for one to compare with; with
                `" held-out"` behind it for the text that was kept out of that run.
            hue: which colour it has, active or not; the same number always means the same one.
        """
        curve = self._curves.get(key)
        if curve is None:
            item = pg.PlotCurveItem(antialias=True, skipFiniteCheck=True)
            self._view.addItem(item, ignoreBounds=True)
            # One path: pyqtgraph fills in many short pieces, which takes four times as long.
            fill = QGraphicsPathItem(item)
            fill.setFlag(QGraphicsItem.GraphicsItemFlag.ItemStacksBehindParent)
            curve = self._curves[key] = Curve(name, role, x, y, item, fill, hue)
            self._paint_curve(curve)
        elif (curve.role, curve.hue) != (role, hue):
            curve.role, curve.hue = role, hue
            self._paint_curve(curve)
        curve.name, curve.x, curve.y = name, x, y
        self._refresh()

    def remove_curve(self, key: Hashable) -> None:
        """Take a curve away; one that is not there is no error."""
        curve = self._curves.pop(key, None)
        if curve is not None:
            self._view.removeItem(curve.item)
            self._refresh()

    def clear(self) -> None:
        """Take all curves away."""
        for key in list(self._curves):
            self.remove_curve(key)
        self._zoom = None

    def set_labels(self, x_label: str, y_label: str, caption: str = "") -> None:
        """Name the axes beside the cross-hair and in exported pictures; on screen a caption above names both."""
        words_only = bool(self._caption and caption)  # the axes stay as they are
        self._labels, self._caption = (x_label, y_label), caption
        if words_only:
            self._scene_changed()
        else:
            self._apply_theme()

    def set_log(self, x: bool, y: bool) -> None:
        """Choose logarithmic axes; places that have no logarithm are left out."""
        if (x, y) != self._log:
            self._log = (x, y)
            self._zoom = None
            self._bottom.setLogMode(x=x)  # pyright: ignore[reportArgumentType] (its annotation is wrong)
            self._left.setLogMode(y=y)  # pyright: ignore[reportArgumentType]
            self._refresh()

    def reset_zoom(self) -> None:
        """Show all of every curve again."""
        self._zoom = None
        self._refresh()

    def to_scene(self, x: float, y: float) -> QPointF:
        """Where a point of the data is in the widget, in pixels."""
        place = [float(to_axis(np.array([value]), log)[0]) for value, log in zip((x, y), self._log, strict=True)]
        low = [limits[0] for limits in self._view.viewRange()]
        place = [value if np.isfinite(value) else least for value, least in zip(place, low, strict=True)]
        return self._view.mapViewToScene(QPointF(*place))

    def close(self) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride] (Qt's own type)
        """Hide, as any widget does; pyqtgraph's own close takes the scene apart, and what comes after would fail."""
        return QWidget.close(self)

    # Drawing

    def paintEvent(self, ev: QPaintEvent) -> None:
        """Draw axes and curves, anew only where they have changed, and over them what moves."""
        try:
            ratio, viewport = self.viewport().devicePixelRatioF(), self.viewport()
            size = QSizeF(viewport.size() * ratio).toSize()
            if self._picture_is_old or self._picture.size() != size:
                self._picture_is_old = False
                self._picture = QPixmap(size)
                self._picture.setDevicePixelRatio(ratio)
                self._picture.fill(QColor(self._theme.palette.surface))
                with QPainter(self._picture) as painter:
                    painter.setRenderHints(self.renderHints())
                    self.draw_scene(painter, QRectF(viewport.rect()))
                    if self._has_caption():
                        draw_caption(painter, self.width(), self._theme, self._caption)
            with QPainter(viewport) as painter:
                painter.drawPixmap(0, 0, self._picture)
                self.drawForeground(painter, QRectF(viewport.rect()))
        except Exception as error:  # an exception that leaves an override ends Qt's event loop
            sys.excepthook(type(error), error, error.__traceback__)

    def _scene_changed(self) -> None:
        self._picture_is_old = True
        self.viewport().update()

    def settle(self) -> None:
        """Lay everything out now, for a picture that is not waited for."""
        self._refresh()
        self._layout.layout.activate()  # pyright: ignore[reportAttributeAccessIssue] (an attribute hides the method)

    def draw_scene(self, painter: QPainter, area: QRectF) -> None:
        """Draw axes and curves into a picture."""
        scene = self.sceneObj
        if scene is not None:
            scene.prepareForPaint()
            scene.render(painter, area, area)

    def event(self, event: QEvent) -> bool:
        """Keeps lines as broad as they look when the window comes to a screen of other pixels."""
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._apply_theme()
        return super().event(event)

    def resizeEvent(self, ev: QResizeEvent | None) -> None:
        """Gives the axis the room that the numbers of another height need."""
        super().resizeEvent(ev)
        if ev is not None and ev.size() != ev.oldSize():
            self._make_margins()
            self._refresh()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Shows what keys go to."""
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Shows that keys go elsewhere."""
        super().focusOutEvent(event)
        self.viewport().update()

    def wheelEvent(self, ev: QWheelEvent) -> None:
        """Zooms along x around the pointer."""
        turns = ev.angleDelta().y() / 120
        if not turns or not self._curves:
            ev.ignore()
            return
        centre = self._view.mapSceneToView(ev.position()).x()
        low, high = self._view.viewRange()[0]
        factor = 0.8**turns
        self._show(centre - (centre - low) * factor, centre + (high - centre) * factor)
        ev.accept()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Leaves the menu to the pane."""
        event.ignore()

    def _pixels(self, width: float) -> float:
        return width * (self._pen_width or self.devicePixelRatioF())

    def _apply_theme(self) -> None:
        palette = self._theme.palette
        self.setBackground(QColor(palette.surface))
        self._make_margins()
        for axis, label in ((self._bottom, "" if self._caption else self._labels[0]), (self._left, "")):
            axis.setPen(pg.mkPen(palette.border, width=self._pixels(1.0)))
            axis.setTickPen(pg.mkPen(palette.grid, width=self._pixels(1.0)))
            axis.setTextPen(palette.muted)
            axis.setTickFont(self._theme.tabular_font())
            if axis.label is not None:
                axis.label.setFont(self._theme.tabular_font())
            axis.setLabel(label, color=palette.muted)
            axis.showLabel(bool(label))
        for curve in self._curves.values():
            self._paint_curve(curve)
        self._picture_is_old = True
        self._refresh()

    def _line(self) -> int:
        return round(QFontMetricsF(self._theme.tabular_font()).height())

    def _has_caption(self) -> bool:
        return bool(self._caption) and self.height() >= _CAPTIONED * self._line()

    def _make_margins(self) -> None:
        line = self._line()
        # Half of the topmost tick's number stands above the plot, and below the caption.
        self._layout.setContentsMargins(4, round(1.5 * line) if self._has_caption() else 8, 14, 0)
        self._bottom.setHeight(line + 8 if self._caption else None)

    def _paint_curve(self, curve: Curve) -> None:
        palette = self._theme.palette
        active = curve.role == "active"
        pen = curve.pen(palette)
        pen.setWidthF(self._pixels(pen.widthF()))
        curve.item.setPen(pen)
        ground = QColor(pen.color())
        # Clear enough to let the grid through: on the surface it gives the theme's soft accent.
        ground.setAlphaF(0.12)
        curve.fill.setBrush(ground)
        curve.fill.setPen(QPen(Qt.PenStyle.NoPen))
        curve.fill.setVisible(active)
        curve.item.setZValue(1 if curve.of_active else 0)

    def _refresh(self) -> None:
        """Fit the axes to what is visible, and give each curve the points that its pixels can show."""
        placed = [(curve, *self._placed(curve)) for curve in self._curves.values()]
        ends = [(float(x[0]), float(x[-1])) for _, x, _ in placed if len(x)]
        low, high = min((end[0] for end in ends), default=0.0), max((end[1] for end in ends), default=1.0)
        high = high if high > low else low + 1.0
        pad = (high - low) * 0.01
        shown = self._zoom or (low - pad, high + pad)
        drawn = [(curve, *visible(x, y, shown, _COLUMNS[curve.role])) for curve, x, y in placed]
        heights = [(float(y.min()), float(y.max())) for _, _, y in drawn if len(y)]
        floor, top = min((end[0] for end in heights), default=0.0), max((end[1] for end in heights), default=1.0)
        room = (top - floor) or abs(top) * 0.1 or 1.0
        floor, top = floor - room * 0.03, top + room * 0.08
        for curve, x, y in drawn:
            # Drawn from the corner of the view: an SVG keeps six digits of a number, too few for merge 1,000,000.5.
            curve.item.setPos(shown[0], floor)
            x, y = x - shown[0], y - floor
            curve.item.setData(x, y)
            if curve.role == "active":
                curve.fill.setPath(_path_below(x, y))
            curve.whole = bool((np.mod(curve.y[:: max(1, len(curve.y) // 50)], 1.0) == 0).all())
        self._left.whole = bool(drawn) and all(curve.whole for curve, _, _ in drawn)
        metrics = QFontMetricsF(self._theme.tabular_font())
        tick_width = self._left.text_width(floor, top, max(self.height() - 60.0, 40.0), metrics)
        label_width = metrics.height() + 4 if self._left.labelText else 0.0
        self._left.setWidth(round(tick_width + label_width + 12))
        self._view.setRange(xRange=shown, yRange=(floor, top), padding=0, disableAutoRange=True)
        self._picture_is_old = True
        self.viewport().update()

    def _placed(self, curve: Curve) -> tuple[FloatArray, FloatArray]:
        x, y = to_axis(curve.x, self._log[0]), to_axis(curve.y, self._log[1])
        if self._log == (False, False):
            return x, y
        kept = np.isfinite(x) & np.isfinite(y)
        return x[kept], y[kept]

    # Places

    def _active(self) -> Curve | None:
        return next((curve for curve in self._curves.values() if curve.role == "active" and len(curve.x)), None)

    def _area(self) -> QRectF:
        return self._view.sceneBoundingRect()

    def _to_data(self, scene_x: float) -> float:
        place = self._view.mapSceneToView(QPointF(scene_x, 0)).x()
        return 10.0 ** min(place, 300.0) if self._log[0] else place

    def _show(self, low: float, high: float) -> None:
        """Show a part of x: never less than a few merges, never more than there is."""
        placed = [x for x, _ in map(self._placed, self._curves.values()) if len(x)]
        first, last = min((x[0] for x in placed), default=0.0), max((x[-1] for x in placed), default=1.0)
        width = max(high - low, (last - first) * 1e-5, 0.02 if self._log[0] else 4.0)
        if width >= last - first:
            self.reset_zoom()
            return
        low = min(max(low, float(first)), float(last) - width)
        self._zoom = (low, low + width)
        self._refresh()


def _path_below(x: FloatArray, y: FloatArray) -> QPainterPath:
    if len(x) == 0:
        return QPainterPath()
    return pg.arrayToQPath(np.concatenate((x[:1], x, x[-1:])), np.pad(y, 1), finiteCheck=False)
