"""What a plot shows: its curves, and how they are placed on axes. `chart` draws it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Literal

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPixmap

from tokstudio.core.base.records import dataclass
from tokstudio.gui.plot.scale import FloatArray, to_axis
from tokstudio.gui.style.theme import LIGHT, Palette

# --- The pens of curves and the legend of a picture -------------------------------------------------------------------

COLOURS = 1 + len(LIGHT.curves)  # of curves
GREY = COLOURS - 1  # the last of them, which is grey

_SWATCH = 18.0
_GAP = 8.0
_WIDEST = 0.3  # maximum share of the picture width for the legend
_DASHES = ([], [5.0, 3.0], [9.0, 3.0, 2.0, 3.0])  # in pixels, by how often all colours were used before; [] for none


def curve_pen(palette: Palette, hue: int, *, active: bool, dotted: bool = False) -> QPen:
    """The pen of a curve: wide for the active run; dashed after the last colour.

    The curve of held-out text is dotted, in the colour of its run.
    """
    colours = (palette.accent, *palette.curves)
    turn, place = divmod(hue, len(colours))
    pen = QPen(QColor(colours[place]), 2.0 if active else 1.0)
    pen.setCosmetic(True)
    if dotted:
        pen.setDashPattern([1.5, 2.0] if active else [2.0, 3.0])
    elif dashes := _DASHES[turn % len(_DASHES)]:
        pen.setDashPattern([part / pen.widthF() for part in dashes])
    return pen


def swatch(pen: QPen, size: QSize, ratio: float) -> QPixmap:
    """A piece of a curve with this pen, to stand before its name; `ratio` is the device pixels per pixel."""
    picture = QPixmap(size * ratio)
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    with QPainter(picture) as painter:
        pen.setWidthF(pen.widthF() * 1.3 * ratio)
        painter.setPen(pen)
        painter.drawLine(0, size.height() // 2, size.width() - 4, size.height() // 2)
    return picture


def draw_mark(painter: QPainter, pen: QPen, place: QPointF, radius: float, *, active: bool) -> None:
    """Draws the mark of a curve with this pen: a disc for the active run, else a ring; broken for a dashed curve."""
    dashed = pen.style() == Qt.PenStyle.CustomDashLine
    ring = QPen(pen.color(), 1.5)
    if dashed:
        ring.setDashPattern([1.5, 1.4] if len(pen.dashPattern()) == 2 else [4.0, 1.6])
        ring.setCapStyle(Qt.PenCapStyle.FlatCap)
    painter.setPen(ring)
    painter.setBrush(pen.color() if active and not dashed else Qt.BrushStyle.NoBrush)
    painter.drawEllipse(place, radius, radius)
    if active and dashed:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(pen.color())
        painter.drawEllipse(place, radius / 2, radius / 2)


def legend_width(names: Sequence[str], metrics: QFontMetricsF, width: float) -> float:
    """The width of the legend in a picture of `width` pixels; a single curve needs no legend."""
    if len(names) < 2:
        return 0.0
    return min(max(map(metrics.horizontalAdvance, names)) + _SWATCH + 3 * _GAP, _WIDEST * width)


def draw_legend(painter: QPainter, area: QRectF, palette: Palette, rows: Sequence[tuple[QPen, str, str]]) -> None:
    """Draws one row per curve: a line sample, the name, and what follows it, which is never shortened.

    If there are too many, the last row counts the rest.
    """
    metrics = QFontMetricsF(painter.font())
    height = metrics.height() + 4
    fitting = int(area.height() // height)
    shown = list(rows) if len(rows) <= fitting else [*rows[: max(fitting - 1, 0)]]
    for number, (pen, name, more) in enumerate(shown):
        middle = area.top() + (number + 0.5) * height
        painter.setPen(pen)
        painter.drawLine(QPointF(area.left(), middle), QPointF(area.left() + _SWATCH, middle))
        _write(painter, _row(area, number, height), palette.text, name, more)
    if len(shown) < len(rows):
        _write(painter, _row(area, len(shown), height), palette.muted, f"{len(rows) - len(shown)} more")


def _row(area: QRectF, number: int, height: float) -> QRectF:
    left = area.left() + _SWATCH + _GAP
    return QRectF(left, area.top() + number * height, area.right() - left - _GAP, height)


def _write(painter: QPainter, place: QRectF, colour: str, text: str, more: str = "") -> None:
    metrics = QFontMetricsF(painter.font())
    room = max(0.0, place.width() - metrics.horizontalAdvance(more))
    elided = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
    painter.setPen(QColor(colour))
    painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, elided + more)


#: What follows the name of a curve that is measured on another text than that of the active run.
OTHER_CORPUS = ", not comparable"

Role = Literal["active", "other", "active held-out", "other held-out"]


@dataclass(frozen=True, eq=False)
class Curve:
    """One curve; its data is not copied."""

    name: str  # its name in the legend and beside the cross-hair
    # `"active"` for the curve of the active run, `"other"` for one to compare with; with the suffix `" held-out"` for
    # the held-out text of that run
    role: Role
    x: FloatArray  # float64, ascending
    y: FloatArray  # float64, same length as `x`
    hue: int = 0  # the number of its colour, for active and other curves alike
    bars: bool = False  # whether bars are drawn instead of a line
    # whether its values are counts, which are told as whole numbers also where weights made fractions
    counts: bool = False
    size: str = ""  # what follows its name in a picture: the size of the vocabulary, such as " (5,000 tokens)"
    other_corpus: bool = False  # whether its values are of another corpus than those of the active run
    sign: str = ""  # what stands before its values, such as a dagger where they are of the text of the training
    _logarithmic: dict[tuple[bool, bool], tuple[FloatArray, FloatArray]] = field(default_factory=dict, repr=False)

    @property
    def of_active(self) -> bool:
        """Whether it belongs to the active run."""
        return self.role.startswith("active")

    @property
    def mark(self) -> str:
        """What follows its name where it is of another corpus, else ""."""
        return OTHER_CORPUS if self.other_corpus else ""

    @cached_property
    def whole(self) -> bool:
        """Whether its values are whole numbers, judged from about fifty of them."""
        return self.counts or bool((np.mod(self.y[:: max(1, len(self.y) // 50)], 1.0) == 0).all())

    def pen(self, palette: Palette) -> QPen:
        """The pen of the curve."""
        return curve_pen(palette, self.hue, active=self.of_active, dotted=self.role.endswith("held-out"))

    def nearest(self, x: float) -> int:
        """The index of the point with the nearest x."""
        after = min(int(np.searchsorted(self.x, x)), len(self.x) - 1)
        before = max(after - 1, 0)
        return before if abs(self.x[before] - x) <= abs(self.x[after] - x) else after

    def point_at(self, x: float) -> tuple[float, float]:
        """The point with the nearest x."""
        index = self.nearest(x)
        return float(self.x[index]), float(self.y[index])

    def on_axes(self, log: tuple[bool, bool]) -> tuple[FloatArray, FloatArray]:
        """Its points in axis coordinates; points without a logarithm are omitted."""
        if log == (False, False):
            return self.x, self.y
        if log not in self._logarithmic:
            x, y = to_axis(self.x, log[0]), to_axis(self.y, log[1])
            kept = np.isfinite(x) & np.isfinite(y)
            self._logarithmic[log] = x[kept], y[kept]
        return self._logarithmic[log]


PART = " · "  # between the parts of a caption


def fitted_caption(caption: str, metrics: QFontMetricsF, room: float) -> str:
    """As many parts of a caption as a width has room for, from the first on; the first is elided if it must be."""
    parts = caption.split(PART)
    while len(parts) > 1 and metrics.horizontalAdvance(PART.join(parts)) > room:
        parts.pop()
    return metrics.elidedText(PART.join(parts), Qt.TextElideMode.ElideRight, room)


@dataclass(frozen=True)
class Content:
    """The content of a plot."""

    curves: Mapping[Hashable, Curve] = field(default_factory=dict)  # the curves by key
    log: tuple[bool, bool] = (False, False)  # whether x and y are logarithmic
    zoom: tuple[float, float] | None = None  # the shown range of x in axis coordinates; None for all
    x_label: str = ""  # the unit of x, shown beside the cross-hair and in exported pictures
    y_label: str = ""  # the unit of y
    caption: str = ""  # the caption above the plot on screen; axis labels would need more height

    def active(self) -> Curve | None:
        """The curve of the active run."""
        return next((curve for curve in self.curves.values() if curve.role == "active" and len(curve.x)), None)
