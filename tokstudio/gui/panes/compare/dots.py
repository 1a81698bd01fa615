"""A dot for each text and tokenizer on a common axis, the best texts first."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QFontMetricsF,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QToolTip

from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import percent_text, printable
from tokstudio.core.comparison.table import TRAINED
from tokstudio.gui.panes.compare.matrix import MatrixContent
from tokstudio.gui.plot.content import COLOURS, GREY, curve_pen
from tokstudio.gui.plot.scale import tick_texts, tick_values
from tokstudio.gui.style.theme import LIGHT, Palette, Theme
from tokstudio.gui.widgets.figures import drawing_of, pdf_of
from tokstudio.gui.widgets.labels import guarded_painter, plain
from tokstudio.gui.widgets.layouts import Canvas, Fitting

Corners: TypeAlias = tuple[tuple[float, float], ...]

_ROW = 22  # pixels
_RADIUS = 4.5
_SWATCH = 14  # pixels from the left of a mark in the legend to its name
_LONGEST = 150  # pixels of a name in the legend
_PICTURE = 720  # pixels of the width of a picture
_NAMES = 0.34  # the most of the width for the names of texts
_TICK = 90  # pixels between two ticks at least
_RELATIVE = ("premium", "normalised_length")
_ALIGN = Qt.AlignmentFlag.AlignVCenter


def _star(points: int, inner: float) -> tuple[tuple[float, float], ...]:
    """The corners of a star in a circle, or of a polygon where `inner` is 1; the first is at the top."""
    turns = [math.pi * (corner / points - 0.5) for corner in range(2 * points)]
    radii = (1.25, 1.25 * inner) * points
    return tuple((radius * math.cos(turn), radius * math.sin(turn)) for radius, turn in zip(radii, turns, strict=True))


def _turned(corners: Corners, quarters: float) -> Corners:
    cosine, sine = math.cos(math.pi / 2 * quarters), math.sin(math.pi / 2 * quarters)
    return tuple((x * cosine - y * sine, x * sine + y * cosine) for x, y in corners)


_TRIANGLE, _DIAMOND, _CROSS = _star(3, 0.5), _star(4, math.sqrt(0.5)), _star(4, 0.34)
#: The shapes of markers: corners in radii from the middle; none for a disc.
SHAPES: tuple[Corners, ...] = (
    (), _turned(_DIAMOND, 0.5), _TRIANGLE, _DIAMOND, _turned(_TRIANGLE, 2), _CROSS, _turned(_CROSS, 0.5), _star(5, 0.42)
)  # fmt: skip


@dataclass(frozen=True)
class Marker:
    """How a tokenizer is drawn: no two have the same colour with the same shape and label."""

    colour: int  # as of `curve_pen`
    corners: Corners = ()
    label: str = ""  # a number on it


def markers(hues: Sequence[int | None]) -> tuple[Marker, ...]:
    """A marker for each tokenizer, in the colour of its curve, grey without one; its number where no shape is left."""
    marks: list[Marker] = []
    for number, hue in enumerate(hues):
        colour = GREY if hue is None else hue % COLOURS
        order = SHAPES if hue is not None else (*SHAPES[2:], *SHAPES[:2])
        free = (Marker(colour, corners) for corners in order)
        marks.append(next((each for each in free if each not in marks), Marker(colour, label=f"{number + 1}")))
    return tuple(marks)


@dataclass(frozen=True, eq=False)
class _View:
    """How dots are laid out: on screen a part of them, in a picture all."""

    palette: Palette
    width: int
    height: int  # the axis is at its bottom
    legend: Sequence[tuple[QRectF, str]]  # the place and the name of each tokenizer
    above: int  # the height of the legend
    top: int  # of what scrolls
    offset: int = 0
    pointed: int = -1  # the row under the pointer


class Dots(Fitting, Canvas):
    """Rows of dots; the axis stays in view while the rows scroll, and so does the legend unless it is too high."""

    def __init__(self, theme: Theme) -> None:
        super().__init__("Figures of the texts as dots")
        self._theme = theme
        self._content: MatrixContent | None = None
        self._markers: tuple[Marker, ...] = ()
        self._values = np.zeros((0, 0))
        self.order: list[int] = []  # the numbers of the texts from top to bottom
        self._pointed = -1
        self.legend: list[tuple[QRectF, str]] = []  # the place and the name of each tokenizer
        self._above = 0  # the height of the legend
        self._top = 0  # of what scrolls
        theme.changed.connect(self.fit)

    def show_content(self, content: MatrixContent | None) -> None:
        """Shows another state."""
        self._content = content
        self._markers = () if content is None else markers(content.hues)
        values = np.zeros((0, 0)) if content is None else content.table.values
        self._values = values
        self.order = []
        if content is not None:
            is_measured = ~np.isnan(values)
            means = np.where(is_measured, values, 0).sum(axis=1) / np.maximum(1, is_measured.sum(axis=1))
            self.order = content.in_groups(-means if content.figure.better == "more" else means).tolist()
        self.fit()

    def sizeHint(self) -> QSize:
        return QSize(400, 240)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.MouseMove and isinstance(event, QMouseEvent):
            self._point(self._row_at(event.position().toPoint()))
        elif event.type() == QEvent.Type.Leave:
            self._point(-1)
        elif event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            row = self._row_at(event.pos())
            QToolTip.showText(event.globalPos(), plain(self.row_text(row)) if row >= 0 else "", self)
            return True
        return super().viewportEvent(event)

    def row_text(self, row: int) -> str:
        """The name of a row with the values of all tokenizers."""
        assert self._content is not None
        table, text = self._content.table, self.order[row]
        values = (
            f"{name}: {table.signed(text, number)} {table.interval(text, number)}".rstrip()
            for number, name in enumerate(table.tokenizers)
        )
        return "\n".join([table.texts[text], *values])

    def paintEvent(self, event: QPaintEvent) -> None:
        with guarded_painter(self.viewport()) as painter:
            painter.fillRect(self.viewport().rect(), QColor(self._theme.palette.surface))
            if self._content is not None and self._values.size and not np.isnan(self._values).all():
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.setFont(self._theme.tabular_font(12))
                size, palette, offset = self.viewport().size(), self._theme.palette, self.verticalScrollBar().value()
                laid_out = self.legend, self._above, self._top, offset, self._pointed
                self._draw(painter, self._content, _View(palette, size.width(), size.height(), *laid_out))

    # ---- pictures

    def picture(self, content: MatrixContent, about: str, *, is_pdf: bool) -> bytes:
        """All rows with the formula below them in light colours, as an SVG drawing or a page of PDF.

        The heading of the figure and what it is `about` are in the metadata.
        """
        self.show_content(content)
        self.setAccessibleName(printable(content.table.heading))
        width, height, paint = self._picture(content)
        if is_pdf:
            return pdf_of(width, height, paint, self.accessibleName(), about)
        return drawing_of(self, width, height, "sans-serif", paint, about).encode()

    def _picture(self, content: MatrixContent) -> tuple[int, int, Callable[[QPainter], None]]:
        """Width and height of a picture, and what paints it."""
        width, line = self._theme.scaled(_PICTURE), self._head()
        legend, above = self._legend(content, width, [each.sized_name for each in content.comparison.compared])
        bottom = above + len(self.order) * self._theme.scaled(_ROW) + line
        view = _View(LIGHT, width, bottom, legend, above, 0)
        font = self._theme.tabular_font(12)
        below = QRectF(12, bottom, width - 24, 40 * line)
        about = "\n".join((content.table.heading, *content.table.legend, *content.table.of_intervals))
        flags = Qt.AlignmentFlag.AlignHCenter | Qt.TextFlag.TextWordWrap
        needed = QFontMetricsF(font).boundingRect(below, flags, about).height()

        def paint(painter: QPainter) -> None:
            painter.fillRect(QRectF(0, 0, width, bottom + needed + line), QColor(LIGHT.surface))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(font)
            if self._values.size and not np.isnan(self._values).all():
                self._draw(painter, content, view)
            painter.setClipping(False)
            painter.setPen(QColor(LIGHT.text))
            painter.drawText(below, flags, about)

        return width, math.ceil(bottom + needed + line / 2), paint

    def _draw(self, painter: QPainter, content: MatrixContent, view: _View) -> None:
        palette, metrics = view.palette, painter.fontMetrics()
        top, bottom = view.top, view.height - self._head()
        first = view.above - view.offset  # where the rows begin
        names, left = content.comparison.texts, self._left(content, view.width)
        right = view.width - 18
        low, high = self._range(content)
        scale = (right - left - 12) / (high - low)

        def x_of(value: float) -> float:
            return left + 12 + (value - low) * scale

        ticks = tick_values(low, high, max(2, (right - left) / self._theme.scaled(_TICK)))
        painter.setPen(QPen(QColor(palette.grid), 1))
        for tick in ticks:
            painter.drawLine(QPointF(x_of(tick), max(top, first)), QPointF(x_of(tick), bottom))
        if content.figure.name in _RELATIVE:
            painter.setPen(QPen(QColor(palette.control), 1.5))
            painter.drawLine(QPointF(x_of(1), max(top, first)), QPointF(x_of(1), bottom))
        painter.save()
        painter.setClipRect(QRectF(0, top, view.width, bottom - top))
        height = self._theme.scaled(_ROW)
        for row, text in enumerate(self.order):
            y = first + row * height
            if y + height < top or y > bottom:
                continue
            if row == view.pointed:
                painter.fillRect(QRectF(0, y, view.width, height), QColor(palette.hover))
            painter.setPen(QColor(palette.text))
            name = metrics.elidedText(names[text], Qt.TextElideMode.ElideRight, left - 12)
            painter.drawText(QRectF(4, y, left - 8, height), _ALIGN | Qt.AlignmentFlag.AlignRight, name)
            for number, value in enumerate(self._values[text].tolist()):
                if not np.isnan(value):
                    at = QPointF(x_of(value), y + height / 2)
                    if not np.isnan(ends := content.table.ends(text, number)).any():
                        painter.setPen(QPen(curve_pen(palette, self._markers[number].colour, active=True).color(), 1))
                        painter.drawLine(QPointF(x_of(ends[0]), at.y()), QPointF(x_of(ends[1]), at.y()))
                    self._draw_mark(painter, palette, number, at)
                    if TRAINED in content.table.signs(text, number):
                        painter.setPen(QColor(palette.text))
                        painter.drawText(QRectF(at.x() + _RADIUS, y - 2, 12, height / 2 + 2), _ALIGN, TRAINED)
        painter.restore()
        painter.setPen(QColor(palette.muted))
        percent = content.figure.is_share
        texts = [percent_text(tick) for tick in ticks] if percent else tick_texts(ticks)
        for tick, text in zip(ticks, texts, strict=True):
            painter.drawText(QRectF(x_of(tick) - 50, bottom, 100, self._head()), Qt.AlignmentFlag.AlignCenter, text)
        painter.setClipRect(QRectF(0, 0, view.width, bottom))
        for number, (place, name) in enumerate(view.legend):
            at = place.translated(0, 0 if view.top else -view.offset)
            self._draw_mark(painter, palette, number, QPointF(at.left() + _RADIUS, at.center().y()))
            painter.setPen(QColor(palette.text))
            painter.drawText(at.adjusted(_SWATCH, 0, 0, 0), _ALIGN, name)

    def _left(self, content: MatrixContent, width: int) -> int:
        """The width of the names of texts."""
        longest = max(map(self._metrics().horizontalAdvance, content.comparison.texts))
        return min(longest + 16, round(_NAMES * width))

    def _metrics(self) -> QFontMetrics:
        return QFontMetrics(self._theme.tabular_font(12))

    def _legend(self, content: MatrixContent, whole: int, names: Sequence[str]) -> tuple[list[tuple[QRectF, str]], int]:
        """The names of all tokenizers, in as many lines as they need in a width, and the height of these."""
        metrics, head = self._metrics(), self._head()
        left = self._left(content, whole) + 12
        longest = self._theme.scaled(_LONGEST) if names == content.comparison.tokenizers else whole - left - _SWATCH
        x, line, legend = left, 0, list[tuple[QRectF, str]]()
        for name in names:
            short = metrics.elidedText(name, Qt.TextElideMode.ElideRight, longest)
            width = _SWATCH + metrics.horizontalAdvance(short) + 2
            if x > left and x + width > whole:
                x, line = left, line + 1
            legend.append((QRectF(x, line * head, width, head), short))
            x += width + 16
        return legend, (line + 1) * head

    def _lay_out_legend(self, content: MatrixContent) -> None:
        self.legend, self._above = self._legend(content, self.viewport().width(), content.comparison.tokenizers)
        # A legend that leaves too little room scrolls with the rows.
        self._top = self._above if 2 * self._above <= self.viewport().height() else 0

    def _draw_mark(self, painter: QPainter, palette: Palette, number: int, place: QPointF) -> None:
        mark = self._markers[number]
        painter.setPen(QPen(QColor(palette.surface), 1))
        painter.setBrush(curve_pen(palette, mark.colour, active=True).color())
        if mark.corners:
            painter.drawPolygon(QPolygonF([QPointF(x, y) * _RADIUS + place for x, y in mark.corners]))
            return
        radius = _RADIUS if not mark.label else _RADIUS + 3
        painter.drawEllipse(place, radius, radius)
        if mark.label:
            with guarded_painter(painter):
                painter.setFont(self._theme.tabular_font(9))
                painter.setPen(QColor(palette.surface))
                around = QRectF(place.x() - 10, place.y() - 8, 20, 16)
                painter.drawText(around, Qt.AlignmentFlag.AlignCenter, mark.label)

    def _range(self, content: MatrixContent) -> tuple[float, float]:
        """The ends of the axis: from 0, unless all values are far from it."""
        values = self._values
        if content.table.intervals is not None:
            values = np.concatenate([values.ravel(), content.table.intervals.ravel()])
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        if content.figure.name in _RELATIVE:
            low, high = min(low, 1), max(high, 1)
        if low > 0.6 * high:
            margin = max((high - low) * 0.08, high * 0.01)
            return low - margin, high + margin
        return min(0, low), high * 1.04 if high > 0 else 1.0

    def _head(self) -> int:
        return self._theme.scaled(26)

    def _row_at(self, place: QPoint) -> int:
        if not self._top <= place.y() < self.viewport().height() - self._head():
            return -1
        row = (place.y() - self._above + self.verticalScrollBar().value()) // self._theme.scaled(_ROW)
        return row if 0 <= row < len(self.order) else -1

    def _point(self, row: int) -> None:
        if row != self._pointed:
            self._pointed = row
            self.viewport().update()

    def fit(self) -> None:
        if self._content is None:
            self.legend, self._above, self._top = [], self._head(), self._head()
        else:
            self._lay_out_legend(self._content)
        room = self.viewport().height() - self._top - self._head()
        needed = self._above - self._top + len(self.order) * self._theme.scaled(_ROW)
        self.scroll_through(needed, self._theme.scaled(_ROW), room)
