"""Places labels inside a plot, beside their points and without overlap."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from tokstudio.core.base.records import dataclass
from tokstudio.gui.style.theme import Palette

if TYPE_CHECKING:
    from tokstudio.gui.plot.chart import Chart


_PADDING = 6.0
_BESIDE = 4.0  # pixels between a point and its name
_MOST_LINES = 3  # from a point to its name


class PlotLabels:
    """Writes the labels of one picture into an area; call it for the most important first.

    `curves_between` gives the highest and the lowest pixel of each curve between two x pixels.
    """

    def __init__(
        self,
        painter: QPainter,
        area: QRectF,
        palette: Palette,
        curves_between: Callable[[float, float], list[tuple[float, float]]],
    ) -> None:
        self._painter = painter
        self._area = area.adjusted(0, 2, 0, -2)
        self._palette, self._curves_between = palette, curves_between
        self._written: list[QRectF] = []

    def write(self, place: QPointF, text: str, *, framed: bool) -> None:
        """Writes a text beside a point where it covers no curve and no earlier text.

        A text without a frame is broken into lines and then shortened until it fits, or else omitted. A framed text
        that does not fit is written above its point, and omitted only if it would cover an earlier text.
        """
        for words in (text,) if framed else filter(None, _versions(text)):
            box = self._nearest(place, words, framed)
            if box is not None:
                self._draw(box, words, framed)
                return
        if framed and text:
            metrics = QFontMetricsF(self._painter.font())
            words = metrics.elidedText(text, Qt.TextElideMode.ElideRight, self._area.width() - 2 * _PADDING)
            size = self._size(words)
            box = self._inside(QRectF(QPointF(place.x() + _PADDING, place.y() - 8 - size.height()), size))
            if not any(box.intersects(other) for other in self._written):
                self._draw(box, words, framed)

    def name(self, points: Sequence[tuple[QPointF, str]]) -> None:
        """Writes the muted names of points, all of them alike: below their points or, for want of room, above.

        Where two would overlap, the left one is written farther left, but not outside the area. Where names below their
        points would cover a steep curve, they are written below it. A name without room in the area, or
        farther from its point than it is wide, or than three lines, is left out.
        """
        below, above = (self._beside(points, sign) for sign in (1, -1))
        boxes = min(below, [self._below_curves(box) for box in below], above, key=self._faults)
        room = self._area.adjusted(-1, -1, 1, 1)
        for box, (place, text) in zip(boxes, points, strict=True):
            away = box.center() - place
            if room.contains(box) and abs(away.x()) <= box.width() and abs(away.y()) <= _MOST_LINES * box.height():
                self._written.append(box)
                self._write(box, text, self._palette.muted)

    def _beside(self, points: Sequence[tuple[QPointF, str]], sign: int) -> list[QRectF]:
        """Boxes for the names of points, on one side of them."""
        boxes, start, end = dict[int, QRectF](), self._area.left(), self._area.right()
        order = sorted(range(len(points)), key=lambda number: points[number][0].x())
        for number in reversed(order):
            place, text = points[number]
            box = QRectF(QPointF(), self._size(text))
            box.moveCenter(place + QPointF(0, sign * (_BESIDE + box.height() / 2)))
            box.moveLeft(min(box.left(), end - box.width()))
            boxes[number], end = box, box.left()
        for number in order:
            box = boxes[number]
            box.moveLeft(max(box.left(), start))
            start = box.right()
        return [boxes[number] for number in range(len(points))]

    def _below_curves(self, box: QRectF) -> QRectF:
        lowest = (low for top, low in self._curves_between(box.left(), box.right()) if top < box.bottom())
        return box.translated(0, max(max(lowest, default=box.top()) - box.top(), 0))

    def _faults(self, boxes: Sequence[QRectF]) -> tuple[int, int]:
        """How many boxes are not in the area, and how many cover a curve."""
        outside = sum(box.top() < self._area.top() or box.bottom() > self._area.bottom() for box in boxes)
        curves = ((box, self._curves_between(box.left(), box.right())) for box in boxes)
        covered = sum(any(top < box.bottom() and low > box.top() for top, low in spans) for box, spans in curves)
        return outside, covered

    def _size(self, words: str) -> QSizeF:
        metrics, lines = QFontMetricsF(self._painter.font()), words.split("\n")
        return QSizeF(max(map(metrics.horizontalAdvance, lines)) + 2 * _PADDING, len(lines) * metrics.lineSpacing() + 4)

    def _draw(self, box: QRectF, words: str, framed: bool) -> None:
        self._written.append(box)
        ground = QColor(self._palette.surface)
        ground.setAlphaF(0.94 if framed else 0.85)
        self._painter.setPen(QPen(QColor(self._palette.border), 1) if framed else Qt.PenStyle.NoPen)
        self._painter.setBrush(ground)
        self._painter.drawRoundedRect(box, 4, 4)
        self._write(box, words, self._palette.text)

    def _write(self, box: QRectF, words: str, colour: str) -> None:
        self._painter.setPen(QColor(colour))
        inner = box.adjusted(_PADDING, 0, 0, 0)
        self._painter.drawText(inner, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, words)

    def _nearest(self, place: QPointF, words: str, above: bool) -> QRectF | None:
        """The nearest free box for a text beside a point."""
        boxes = sorted(self._free(place, self._size(words), above), key=lambda box: abs(box.center().y() - place.y()))
        return boxes[0] if boxes else None

    def _free(self, place: QPointF, size: QSizeF, above: bool) -> Iterator[QRectF]:
        """Yields boxes beside a point that cover nothing: on each side, the nearest above and the nearest below."""
        area, reach = self._area, 8.0
        for left in (place.x() + _PADDING, place.x() - _PADDING - size.width()):
            right = left + size.width()
            if left < area.left() or right > area.right():
                continue
            taken = [(top - 2, bottom + 2) for top, bottom in self._curves_between(left, right)]
            taken += [(box.top(), box.bottom()) for box in self._written if box.left() < right and box.right() > left]
            for up in (above, not above):
                top = place.y() - reach - size.height() if up else place.y() + reach
                for low, high in sorted(taken, reverse=up):
                    if low < top + size.height() and high > top:
                        top = low - size.height() if up else high
                if area.top() <= top and top + size.height() <= area.bottom():
                    yield QRectF(QPointF(left, top), size)

    def _inside(self, box: QRectF) -> QRectF:
        area = self._area
        box.moveLeft(max(min(box.left(), area.right() - box.width()), area.left()))
        box.moveTop(max(min(box.top(), area.bottom() - box.height()), area.top()))
        return box


def _versions(text: str) -> Iterator[str]:
    """Yields the text on one line, on several lines, and its first part."""
    parts = [part.strip() for part in text.replace("   ", " · ").split(" · ")]
    yield text
    yield "\n".join(parts)
    yield "\n".join(parts[:2])
    yield " · ".join(parts[1:2])


# --- Marked points of a curve: small rings with a label; a click on one moves the playhead there ----------------------

_RADIUS = 3.5


@dataclass(frozen=True)
class Mark:
    """A point of a curve."""

    x: float
    y: float
    text: str  # its label, a word or a number
    tip: str  # what it means, shown while the pointer is on it

    def place(self, chart: Chart) -> QPointF | None:
        """Its position in pixels; None outside the visible range."""
        place = chart.place(self.x, self.y)
        return place if chart.area.contains(place) else None


def draw_marks(painter: QPainter, chart: Chart, palette: Palette, labels: PlotLabels, marks: tuple[Mark, ...]) -> None:
    """Draws the visible marks and their labels."""
    seen = [(mark, place) for mark in marks if (place := mark.place(chart)) is not None]
    for _, place in seen:
        painter.setPen(QPen(QColor(palette.muted), 1.5))
        painter.setBrush(QColor(palette.surface))
        painter.drawEllipse(place, _RADIUS, _RADIUS)
    labels.name([(place, mark.text) for mark, place in seen])
