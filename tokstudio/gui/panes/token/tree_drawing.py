"""Draws a tree of merges in its natural size. See also `merge_tree`, which places it in a window."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import field
from typing import Literal

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen

from tokstudio.core.base.records import dataclass
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import isolated

# --- Computes the positions of the boxes of a binary tree of merges; without Qt ---------------------------------------
# See also `tree_drawing`.

Kind = Literal["merge", "leaf", "more"]

# Equal parts with many parents make a tree exponentially larger than its tokens: the rest becomes "…".
_MOST_BOXES = 20_000


@dataclass(frozen=True, eq=False)
class TreeNode:
    """A token and the two that were merged into it; a base token has none. Compared by identity.

    `truncated` means that its parts are omitted: they are drawn as one box, "…".
    """

    id: int
    label: str
    left: TreeNode | None = field(default=None, repr=False)
    right: TreeNode | None = field(default=None, repr=False)
    truncated: bool = False


@dataclass(frozen=True)
class TreeBox:
    """One box: the middle of its top edge in rows and pixels, and its place in the tree."""

    id: int
    label: str
    kind: Kind
    x: float
    row: int
    width: float
    parent: int
    children: tuple[int, ...]


def lay_out(root: TreeNode, width_of: Callable[[str], float], gap: float = 10.0) -> list[TreeBox]:
    """Places the boxes: leaves side by side, each parent above the middle of its children, without overlap.

    Boxes come row by row from the top and from left to right within a row. x begins at 0. It is not recursive, as
    a token of thousands of bytes may be a chain of thousands of merges. Widths and the least gap between two subtrees
    are in pixels.
    """
    nodes, kinds, parents, rows, children = _flatten(root)
    labels = ["…" if kind == "more" else node.label for node, kind in zip(nodes, kinds, strict=True)]
    widths = [width_of(label) for label in labels]
    # The extent of each subtree to the left and right of its root. Subtrees are side by side in separate strips, so no
    # two boxes can overlap.
    reach_left = [width / 2 for width in widths]
    reach_right = reach_left.copy()
    apart = [0.0] * len(nodes)
    for index in range(len(nodes) - 1, -1, -1):
        if not children[index]:
            continue
        left, right = children[index][0], children[index][-1]
        if left != right:
            apart[index] = (reach_right[left] + gap + reach_left[right]) / 2
        reach_left[index] = max(reach_left[index], apart[index] + reach_left[left])
        reach_right[index] = max(reach_right[index], apart[index] + reach_right[right])
    xs = [reach_left[0]] * len(nodes)
    for index, below in enumerate(children):
        for child, side in zip(below, (-1, 1), strict=False):
            xs[child] = xs[index] + side * apart[index]
    ids = [node.id for node in nodes]
    return list(map(TreeBox, ids, labels, kinds, xs, rows, widths, parents, map(tuple, children)))


def _flatten(root: TreeNode) -> tuple[list[TreeNode], list[Kind], list[int], list[int], list[list[int]]]:
    nodes, parents, rows = [root], [-1], [0]
    kinds: list[Kind] = [_kind(root)]
    children: list[list[int]] = [[]]
    index = 0
    while index < len(nodes):
        node = nodes[index]
        if kinds[index] != "more":
            parts: list[tuple[TreeNode, Kind]] = [(part, _kind(part)) for part in (node.left, node.right) if part]
            if node.truncated or (parts and len(nodes) >= _MOST_BOXES):
                parts = [(node, "more")]
            for part, kind in parts:
                children[index].append(len(nodes))
                nodes.append(part)
                kinds.append(kind)
                parents.append(index)
                rows.append(rows[index] + 1)
                children.append([])
        index += 1
    return nodes, kinds, parents, rows, children


def _kind(node: TreeNode) -> Kind:
    return "merge" if node.left or node.right or node.truncated else "leaf"


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
