"""Draws a tree of merges in its natural size. See also `merge_tree`, which places it in a window."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from bisect import bisect_left

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen

from tokstudio.gui.panes.token.tree_layout import TreeBox, TreeNode, lay_out
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import isolated

# in pixels
_LONGEST_LABEL = 220.0
_ROW_GAP = 18.0
_GAP, _WIDE_GAP = 10.0, 26.0


class DrawnTree:
    """The boxes of a tree and the lines between them; sizes and positions in pixels from the corner of the tree."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self.boxes: list[TreeBox] = []  # in the order of `lay_out`
        self.rows: list[list[int]] = []  # the boxes of each row, from left to right
        self.width = self.height = 0.0  # of the tree
        self._box_height = self._wide_width = self._arranged_for = 0.0

    @property
    def font(self) -> QFont:
        """The font of the labels."""
        return self._theme.monospace_font(12)

    def arrange(self, root: TreeNode | None, room: float) -> None:
        """Lays out a tree, or none: with wide gaps if these fit into `room` pixels, else with narrow ones."""
        metrics = QFontMetricsF(self.font)
        self._box_height = round(metrics.height() + 6)
        least = self._box_height

        def width_of(label: str) -> float:
            return max(least, min(metrics.horizontalAdvance(label), _LONGEST_LABEL) + 14)

        self.boxes = lay_out(root, width_of, _WIDE_GAP) if root is not None else []
        self._wide_width, self._arranged_for = _width(self.boxes), room
        if root is not None and self._wide_width > room:
            self.boxes = lay_out(root, width_of, _GAP)
        self.rows = [[] for _ in range(self.boxes[-1].row + 1)] if self.boxes else []
        for index, box in enumerate(self.boxes):
            self.rows[box.row].append(index)
        self.width, self.height = _width(self.boxes), max(len(self.rows) * self._pitch - _ROW_GAP, 0.0)

    def would_change(self, room: float) -> bool:
        """Whether the layout would differ for a width in pixels."""
        return (self._wide_width <= room) != (self._wide_width <= self._arranged_for)

    def rect(self, index: int) -> QRectF:
        """The rectangle of a box."""
        box = self.boxes[index]
        return QRectF(box.x - box.width / 2, box.row * self._pitch, box.width, self._box_height)

    def index_at(self, point: QPointF) -> int:
        """The box at a point; -1 for none."""
        row = int(point.y() // self._pitch)
        if not 0 <= row < len(self.rows):
            return -1
        indices = self.rows[row]
        nearest = bisect_left(indices, point.x(), key=lambda index: self.boxes[index].x)
        close = indices[max(nearest - 1, 0) : nearest + 1]
        return next((index for index in close if self.rect(index).contains(point)), -1)

    def draw(self, painter: QPainter, seen: QRectF, current: int = -1, hovered: int = -1) -> None:
        """Draws the part within `seen`, and highlights the current box and the one under the pointer."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self.font)
        first = max(int(seen.top() // self._pitch), 0)
        shown = [index for row in self.rows[first : int(seen.bottom() // self._pitch) + 2] for index in row]
        painter.setPen(QPen(self._line_colour(), 1.2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for index in shown:
            self._draw_line(painter, self.boxes[index], seen)
        for index in shown:
            if self.rect(index).intersects(seen):
                self._draw_box(painter, index, index == current, index in (current, hovered))

    @property
    def _pitch(self) -> float:
        return self._box_height + _ROW_GAP

    def _line_colour(self) -> QColor:
        colour = QColor(self._theme.palette.muted)
        colour.setAlphaF(0.45)
        return colour

    def _draw_line(self, painter: QPainter, box: TreeBox, seen: QRectF) -> None:
        if box.parent < 0:
            return
        start = QPointF(self.boxes[box.parent].x, box.row * self._pitch - _ROW_GAP)
        end = QPointF(box.x, box.row * self._pitch)
        if max(start.x(), end.x()) < seen.left() or min(start.x(), end.x()) > seen.right():
            return
        bend = QPointF(0.0, _ROW_GAP * 0.6)
        line = QPainterPath(start)
        line.cubicTo(start + bend, end - bend, end)
        painter.drawPath(line)

    def _draw_box(self, painter: QPainter, index: int, current: bool, marked: bool) -> None:
        palette, box = self._theme.palette, self.boxes[index]
        pen = QPen(QColor(palette.accent) if marked else self._line_colour(), 2.0 if current else 1.0)
        if box.kind == "more":
            pen.setStyle(Qt.PenStyle.DashLine)
        painter.setPen(pen)
        painter.setBrush(QColor(palette.accent_soft if box.kind == "merge" else palette.surface))
        rect = self.rect(index)
        painter.drawRoundedRect(rect, 5, 5)
        painter.setPen(QColor(palette.muted if box.kind == "more" else palette.text))
        label = QFontMetricsF(painter.font()).elidedText(box.label, Qt.TextElideMode.ElideMiddle, _LONGEST_LABEL + 1)
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, isolated(label))


def _width(boxes: list[TreeBox]) -> float:
    return max((box.x + box.width / 2 for box in boxes), default=0.0)
