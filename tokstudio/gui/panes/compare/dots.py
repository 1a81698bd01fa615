"""A dot for each text and tokenizer on a common axis, the best texts first."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QToolTip

from tokstudio.core.base.wording import percent_text
from tokstudio.gui.panes.compare.matrix_model import MatrixContent
from tokstudio.gui.plot.curve_marks import curve_pen, draw_mark
from tokstudio.gui.plot.scale import tick_texts, tick_values
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import plain
from tokstudio.gui.widgets.painting import guarded_painter

_ROW = 22  # pixels
_RADIUS = 4.5
_SWATCH = 14  # pixels from the left of a mark in the legend to its name
_LONGEST = 150  # pixels of a name in the legend
_NAMES = 0.34  # the most of the width for the names of texts
_TICK = 90  # pixels between two ticks at least
_RELATIVE = ("premium", "normalised_length")
_ALIGN = Qt.AlignmentFlag.AlignVCenter


class Dots(QAbstractScrollArea):
    """Rows of dots; the axis and the legend stay in view while the rows scroll."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self._theme = theme
        self._content: MatrixContent | None = None
        self._values = np.zeros((0, 0))
        self._order: list[int] = []
        self._pointed = -1
        self._legend: list[tuple[QRectF, str]] = []  # the place and the name of each tokenizer
        self._top = 0  # of the rows
        self.setAccessibleName("Figures of the texts as dots")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setMouseTracking(True)
        theme.changed.connect(self._lay_out)

    @property
    def legend(self) -> list[tuple[QRectF, str]]:
        """The place and the name, perhaps shortened, of each tokenizer."""
        return self._legend

    @property
    def order(self) -> list[int]:
        """The numbers of the texts from top to bottom."""
        return self._order

    def show_content(self, content: MatrixContent | None) -> None:
        """Shows another state."""
        self._content = content
        values = np.zeros((0, 0)) if content is None else content.table.values
        self._values = values
        self._order = []
        if content is not None:
            known = ~np.isnan(values)
            means = np.where(known, values, 0).sum(axis=1) / np.maximum(1, known.sum(axis=1))
            self._order = content.in_groups(-means if content.figure.better == "more" else means).tolist()
        self._lay_out()

    def sizeHint(self) -> QSize:
        """Returns room for some rows."""
        return QSize(400, 240)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Follows the size."""
        super().resizeEvent(event)
        self._lay_out()

    def viewportEvent(self, event: QEvent) -> bool:
        """Marks the row under the pointer, and shows its values as a tool tip."""
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
        table, text = self._content.table, self._order[row]
        told = (f"{name}: {table.cell(text, number)}" for number, name in enumerate(table.tokenizers))
        return "\n".join([table.texts[text], *told])

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draws rows, axis and legend."""
        with guarded_painter(self.viewport()) as painter:
            painter.fillRect(self.viewport().rect(), QColor(self._theme.palette.surface))
            if self._content is not None and self._values.size and not np.isnan(self._values).all():
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.setFont(self._theme.tabular_font(12))
                self._draw(painter, self._content)

    def _draw(self, painter: QPainter, content: MatrixContent) -> None:
        palette, metrics = self._theme.palette, painter.fontMetrics()
        top, bottom = self._top, self.viewport().height() - self._head()
        names, left = content.comparison.texts, self._left(content)
        right = self.viewport().width() - 18
        low, high = self._range(content)
        scale = (right - left - 12) / (high - low)

        def x_of(value: float) -> float:
            return left + 12 + (value - low) * scale

        ticks = tick_values(low, high, max(2, (right - left) / self._theme.scaled(_TICK)))
        painter.setPen(QPen(QColor(palette.grid), 1))
        for tick in ticks:
            painter.drawLine(QPointF(x_of(tick), top), QPointF(x_of(tick), bottom))
        if content.figure.name in _RELATIVE:
            painter.setPen(QPen(QColor(palette.control), 1.5))
            painter.drawLine(QPointF(x_of(1), top), QPointF(x_of(1), bottom))
        painter.save()
        painter.setClipRect(QRectF(0, top, self.viewport().width(), bottom - top))
        height, offset = self._theme.scaled(_ROW), self.verticalScrollBar().value()
        for row, text in enumerate(self._order):
            y = top + row * height - offset
            if y + height < top or y > bottom:
                continue
            if row == self._pointed:
                painter.fillRect(QRectF(0, y, self.viewport().width(), height), QColor(palette.hover))
            painter.setPen(QColor(palette.text))
            name = metrics.elidedText(names[text], Qt.TextElideMode.ElideRight, left - 12)
            painter.drawText(QRectF(4, y, left - 8, height), _ALIGN | Qt.AlignmentFlag.AlignRight, name)
            for number, value in enumerate(self._values[text].tolist()):
                if not np.isnan(value):
                    self._draw_mark(painter, content.hues, number, QPointF(x_of(value), y + height / 2))
        painter.restore()
        painter.setPen(QColor(palette.muted))
        percent = content.figure.is_share
        texts = [percent_text(tick) for tick in ticks] if percent else tick_texts(ticks)
        for tick, text in zip(ticks, texts, strict=True):
            painter.drawText(QRectF(x_of(tick) - 50, bottom, 100, self._head()), Qt.AlignmentFlag.AlignCenter, text)
        for number, (place, name) in enumerate(self._legend):
            self._draw_mark(painter, content.hues, number, QPointF(place.left() + _RADIUS, place.center().y()))
            painter.setPen(QColor(palette.text))
            painter.drawText(place.adjusted(_SWATCH, 0, 0, 0), _ALIGN, name)

    def _left(self, content: MatrixContent) -> int:
        """The width of the names of texts."""
        longest = max(map(self._metrics().horizontalAdvance, content.comparison.texts))
        return min(longest + 16, round(_NAMES * self.viewport().width()))

    def _metrics(self) -> QFontMetrics:
        return QFontMetrics(self._theme.tabular_font(12))

    def _lay_out_legend(self, content: MatrixContent) -> None:
        """Places the names of all tokenizers above the rows, in as many lines as they need."""
        metrics, head = self._metrics(), self._head()
        left = self._left(content) + 12
        x, line, self._legend = left, 0, list[tuple[QRectF, str]]()
        for name in content.comparison.tokenizers:
            short = metrics.elidedText(name, Qt.TextElideMode.ElideRight, self._theme.scaled(_LONGEST))
            width = _SWATCH + metrics.horizontalAdvance(short) + 2
            if x > left and x + width > self.viewport().width():
                x, line = left, line + 1
            self._legend.append((QRectF(x, line * head, width, head), short))
            x += width + 16
        self._top = (line + 1) * head

    def _draw_mark(self, painter: QPainter, hues: Sequence[int | None], number: int, place: QPointF) -> None:
        """Draws the mark of the run in its colour, and for simple tokenizers a grey triangle, square or pentagon."""
        hue, palette = hues[number], self._theme.palette
        painter.setPen(QPen(QColor(palette.surface), 1))
        if hue is not None:
            painter.setBrush(QColor(palette.surface))
            painter.drawEllipse(place, _RADIUS, _RADIUS)
            # Of two runs with one colour, one has a broken ring.
            draw_mark(painter, curve_pen(palette, hue, active=True), place, _RADIUS - 0.75, active=True)
            return
        painter.setBrush(QColor(palette.muted))
        corners = 3 + hues[:number].count(None)
        turns = [2 * math.pi * (corner / corners - 0.25) for corner in range(corners)]
        ends = [QPointF(math.cos(turn), math.sin(turn)) * (_RADIUS + 1) + place for turn in turns]
        painter.drawPolygon(QPolygonF(ends))

    def _range(self, content: MatrixContent) -> tuple[float, float]:
        """The ends of the axis: from 0, unless all values are far from it."""
        low, high = float(np.nanmin(self._values)), float(np.nanmax(self._values))
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
        row = (place.y() - self._top + self.verticalScrollBar().value()) // self._theme.scaled(_ROW)
        return row if 0 <= row < len(self._order) else -1

    def _point(self, row: int) -> None:
        if row != self._pointed:
            self._pointed = row
            self.viewport().update()

    def _lay_out(self) -> None:
        if self._content is None:
            self._legend, self._top = [], self._head()
        else:
            self._lay_out_legend(self._content)
        room = self.viewport().height() - self._top - self._head()
        needed = len(self._order) * self._theme.scaled(_ROW)
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, needed - room))
        bar.setPageStep(max(1, room))
        bar.setSingleStep(self._theme.scaled(_ROW))
        self.viewport().update()
