"""A widget with the binary tree of a token's merges. See also `tree_drawing` and `tree_layout`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip, QWidget

from tokstudio.core.base.arrays import empty_until_set
from tokstudio.core.base.wording import several
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.token.tree_drawing import DrawnTree, TreeBox, TreeNode
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.spelling import whole_characters
from tokstudio.gui.token_text.token_chips import Chip, TokenChips
from tokstudio.gui.token_text.token_label import in_characters, token_label
from tokstudio.gui.widgets.figures import svg_of
from tokstudio.gui.widgets.labels import guarded_painter, named, paragraph_label
from tokstudio.gui.widgets.layouts import Fitting, column

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MergeTree", "TreeNode"]

_MARGIN = 8.0  # pixels
# The tree shrinks to its room down to this scale, where the text is just readable.
_SMALLEST_FIT = 0.6
_SMALLEST, _LARGEST = 0.25, 3.0
_STEP = 1.2


class MergeTree(QAbstractScrollArea):
    """The tree of a token's merges, for mouse and keyboard.

    It shrinks to the room there is, down to a readable size, then to the width, and scrolls. Ctrl and the wheel (or
    `+`, `-`, `0`) zoom, arrows move between boxes, Enter is a click. A click emits the id of the box's token; for "…",
    that of its parent.
    """

    nodeClicked = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._root: TreeNode | None = None
        self.drawn = DrawnTree(theme)
        self._zoom: float | None = None
        self._current = self._hovered = -1
        self._grip: QPoint | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.setAccessibleName("Merge tree")
        theme.follow(self._arrange)

    def set_tree(self, node: TreeNode | None) -> None:
        """Shows the tree of a token; None shows nothing."""
        self._root, self._zoom = node, None
        self._current = 0 if node is not None else -1
        self._hovered = -1
        self._arrange()
        self._show_root()
        self._describe()

    def to_svg(self, about: str = "") -> bytes:
        """The whole tree on its background as an SVG drawing in its natural size; `about` ends its description."""
        drawn = self.drawn
        width, height = (max(1, round(side + 2 * _MARGIN)) for side in (drawn.width, drawn.height))

        def paint(painter: QPainter) -> None:
            painter.fillRect(QRect(0, 0, width, height), QColor(self._theme.palette.surface))
            painter.translate(_MARGIN, _MARGIN)
            drawn.draw(painter, QRectF(0, 0, drawn.width, drawn.height))

        description = " · ".join(filter(None, (self.accessibleDescription(), about)))
        return svg_of(self, width, height, drawn.font, paint, description)

    def zoom_in(self) -> None:
        """Enlarges the tree."""
        self._zoom_to(self._scale() * _STEP)

    def zoom_out(self) -> None:
        """Shrinks the tree."""
        self._zoom_to(self._scale() / _STEP)

    def fit(self) -> None:
        """Fits the tree to the room."""
        self._zoom_to(None)
        self._show_root()

    def box_at(self, place: QPoint) -> TreeBox | None:
        """Returns the box at a point of the viewport."""
        return self.drawn.boxes[index] if (index := self._index_at(place)) >= 0 else None

    def place_of(self, index: int) -> QRectF:
        """Returns the rectangle of a box (in the order of `lay_out`) in the viewport."""
        box, scale, origin = self.drawn.rect(index), self._scale(), self._origin()
        return QRectF(box.topLeft() * scale + origin, box.size() * scale)

    def sizeHint(self) -> QSize:
        width, height = (round(side + 2 * _MARGIN) for side in (self.drawn.width, self.drawn.height))
        return QSize(min(max(width, 160), 480), min(max(height, 80), 260))

    # Layout

    def _show_root(self) -> None:
        if self.drawn.boxes:
            middle = self.drawn.boxes[0].x * self._scale() + _MARGIN
            self.horizontalScrollBar().setValue(round(middle - self.viewport().width() / 2))
            self.verticalScrollBar().setValue(0)

    def _arrange(self) -> None:
        self.drawn.arrange(self._root, self._room())
        self._fit()
        self.updateGeometry()

    def _room(self) -> float:
        return self.maximumViewportSize().width() - 2 * _MARGIN

    def _scale(self) -> float:
        if self._zoom is not None:
            return self._zoom
        if not self.drawn.boxes:
            return 1.0
        # From the room without scroll bars: with the remaining room, they could appear and disappear for ever.
        room = self.maximumViewportSize()
        whole = min(self._scale_for(room.width()), (room.height() - 2 * _MARGIN) / self.drawn.height)
        if whole >= _SMALLEST_FIT:
            return whole
        scale = self._scale_for(room.width())
        if self.drawn.height * scale + 2 * _MARGIN > room.height():
            scale = self._scale_for(room.width() - self.verticalScrollBar().sizeHint().width())
        return scale

    def _scale_for(self, width: int) -> float:
        return min(1.0, max((width - 2 * _MARGIN) / self.drawn.width, _SMALLEST_FIT))

    def _origin(self) -> QPointF:
        """The position of the tree's corner in the viewport."""
        spare = self.viewport().width() - 2 * _MARGIN - self.drawn.width * self._scale()
        left = _MARGIN + max(spare / 2, 0.0) - self.horizontalScrollBar().value()
        return QPointF(left, _MARGIN - self.verticalScrollBar().value())

    def _fit(self) -> None:
        """Updates the scroll bars."""
        scale, room = self._scale(), self.viewport().size()
        bars = (self.horizontalScrollBar(), room.width()), (self.verticalScrollBar(), room.height())
        for (bar, page), side in zip(bars, (self.drawn.width, self.drawn.height), strict=True):
            # Rounded down, with half a pixel to spare, so that a tree that fits the width needs no scroll bar.
            bar.setRange(0, max(0, int(side * scale + 2 * _MARGIN - 0.5) - page))
            bar.setPageStep(page)
            bar.setSingleStep(24)
        self.viewport().update()

    def _zoom_to(self, scale: float | None, around: QPointF | None = None) -> None:
        if around is None:
            around = QPointF(self.viewport().rect().center())
        before = (around - self._origin()) / self._scale()
        self._zoom = None if scale is None else min(max(scale, _SMALLEST), _LARGEST)
        self._fit()
        shift = before * self._scale() + self._origin() - around
        self._scroll_by(round(shift.x()), round(shift.y()))

    def _scroll_by(self, x: int, y: int) -> None:
        self.horizontalScrollBar().setValue(self.horizontalScrollBar().value() + x)
        self.verticalScrollBar().setValue(self.verticalScrollBar().value() + y)

    def _index_at(self, place: QPoint) -> int:
        return self.drawn.index_at((QPointF(place) - self._origin()) / self._scale())

    # Drawing

    def paintEvent(self, event: QPaintEvent) -> None:
        with guarded_painter(self.viewport()) as painter:
            painter.fillRect(event.rect(), QColor(self._theme.palette.surface))
            origin, scale = self._origin(), self._scale()
            painter.translate(origin)
            painter.scale(scale, scale)
            seen = QRectF((QPointF(event.rect().topLeft()) - origin) / scale, event.rect().size() / scale)
            self.drawn.draw(painter, seen, self._current if self.hasFocus() else -1, self._hovered)

    # User actions

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.drawn.would_change(self._room()):
            self._arrange()
        self._fit()
        if self._zoom is None and event.oldSize().width() != event.size().width():
            self._show_root()

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            box = self.box_at(event.pos())
            QToolTip.showText(event.globalPos(), f"{box.label}  id {box.id:,}" if box else "", self.viewport())
            return True
        if event.type() == QEvent.Type.Leave:
            self._hovered = -1
            self.viewport().update()
        return super().viewportEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            event.ignore()
            return
        index = self._index_at(event.position().toPoint())
        if index >= 0:
            self._make_current(index)
        else:
            self._grip = event.position().toPoint()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        place = event.position().toPoint()
        if self._grip is not None:
            self._scroll_by(self._grip.x() - place.x(), self._grip.y() - place.y())
            self._grip = place
            return
        index = self._index_at(place)
        if index != self._hovered:
            self._hovered = index
            self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if index >= 0 else Qt.CursorShape.ArrowCursor)
            self.viewport().update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        gripped, self._grip = self._grip is not None, None
        index = self._index_at(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and not gripped and index >= 0 and index == self._current:
            self.nodeClicked.emit(self.drawn.boxes[index].id)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._zoom_to(self._scale() * _STEP ** (event.angleDelta().y() / 120), event.position())
            event.accept()
        else:
            super().wheelEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        # On many keyboards, the key of + gives = without Shift.
        zooms = {"+": self.zoom_in, "=": self.zoom_in, "-": self.zoom_out, "0": self.fit}
        target = self._neighbour(key)
        if target is not None:
            self._make_current(target)
            self._reveal(target)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self._current >= 0:
            self.nodeClicked.emit(self.drawn.boxes[self._current].id)
        elif event.text() in zooms:
            zooms[event.text()]()
        else:
            event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def _neighbour(self, key: Qt.Key) -> int | None:
        """The neighbour of the current box in the direction of an arrow."""
        if self._current < 0:
            return None
        box = self.drawn.boxes[self._current]
        row = self.drawn.rows[box.row]
        place = self._current - row[0]
        targets = {
            Qt.Key.Key_Up: box.parent,
            Qt.Key.Key_Down: box.children[0] if box.children else -1,
            Qt.Key.Key_Left: row[place - 1] if place else -1,
            Qt.Key.Key_Right: row[place + 1] if place + 1 < len(row) else -1,
            Qt.Key.Key_Home: 0,
        }
        return target if (target := targets.get(key, -1)) >= 0 else None

    def _make_current(self, index: int) -> None:
        self._current = index
        self._describe()
        self.viewport().update()

    def _reveal(self, index: int) -> None:
        place, room = self.place_of(index), self.viewport().rect()
        x = min(place.left() - _MARGIN, 0.0) + max(place.right() + _MARGIN - room.width(), 0.0)
        y = min(place.top() - _MARGIN, 0.0) + max(place.bottom() + _MARGIN - room.height(), 0.0)
        self._scroll_by(round(x), round(y))

    def _describe(self) -> None:
        if self._current < 0:
            self.setAccessibleDescription("No token")
            return
        box = self.drawn.boxes[self._current]
        parts = " and ".join(self.drawn.boxes[child].label for child in box.children)
        origin = f", merged from {parts}" if parts else ", a base token" if box.kind == "leaf" else ""
        words = "the parts of this token" if box.kind == "more" else box.label
        self.setAccessibleDescription(f"{words}, id {box.id:,}{origin}")


# --- The origin of a token and its use: the tree of its merges, and the tokens that contain it as a part --------------

_LONGEST_LABEL = 48  # characters of a token in the tree and in boxes
_MOST_NODES = 300
_CHIPS_AT_ONCE = 50
_ROOM_FOR_MORE = 100  # pixels of height below which the tokens built from it are hidden
_ROWS_BESIDE_TREE = 2
_ROWS_ALONE = 6


class MergesPage(Fitting, QWidget):
    """The tree of one token, and the tokens that are built from it."""

    #: A token was clicked (id).
    chosen = Signal(int)
    _rows: NDArray[np.intp] = empty_until_set("intp")  # the merges that have the token as a part

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._tokenizer: Tokenizer | None = None
        self._as_characters = False
        self.tree = MergeTree(theme)
        self.tree.setMinimumHeight(40)
        self.tree.nodeClicked.connect(self.chosen)
        self.built = paragraph_label("muted")
        self.chips = named(TokenChips(theme), "Built from it")
        self.chips.clicked.connect(self.chosen)
        self.chips.moreWanted.connect(self._more)
        self._filler = QWidget()
        column((self.tree, 1), self.built, self.chips, (self._filler, 1), spacing=4, parent=self)
        QWidget.setTabOrder(self.tree, self.chips)
        theme.changed.connect(self.fit)

    def show_token(self, tokenizer: Tokenizer, token: int, as_characters: bool) -> None:
        """Shows the tree of a token, in the byte-level alphabet if that is switched on."""
        self._tokenizer, self._as_characters = tokenizer, as_characters
        self.chips.set_chips([])
        is_merged = tokenizer.parts(token) is not None and tokenizer.kind(token) != "whole word"
        self.tree.set_tree(self._tree(tokenizer, token) if is_merged else None)
        self.tree.setVisible(is_merged)
        self.chips.show_rows(_ROWS_BESIDE_TREE if is_merged else _ROWS_ALONE)
        self._filler.setVisible(not is_merged)

    def show_built(self, tokenizer: Tokenizer, token: int, playhead: int) -> None:
        """Shows the tokens that the first merges have built from it; of very many, scrolling shows more."""
        self._tokenizer = tokenizer
        left, right = tokenizer.merges[:playhead].T
        self._rows = np.flatnonzero((left == token) | (right == token))
        ids = [chip.id for chip in self.chips.chips]
        results = tokenizer.merge_results[self._rows[: max(_CHIPS_AT_ONCE, len(ids))]].tolist()
        same = min(len(ids), len(results))
        if not same or results[:same] != ids[:same]:
            results = results[:_CHIPS_AT_ONCE]
        if results != ids:
            self.chips.set_chips([Chip(result, self._label(tokenizer, result)) for result in results])
        count = len(self._rows)
        self.built.setText(f"Built from it: {several(count, 'token')}" if count else "")
        self.fit()

    def forget(self) -> None:
        """Releases the tokenizer and everything shown of it."""
        self._tokenizer, self._rows = None, np.empty(0, np.intp)
        self.chips.set_chips([])
        self.tree.set_tree(None)

    def _more(self) -> None:
        tokenizer, number_shown = self._tokenizer, len(self.chips.chips)
        if tokenizer is not None and number_shown < len(self._rows):
            more = tokenizer.merge_results[self._rows[number_shown : number_shown + _CHIPS_AT_ONCE]].tolist()
            self.chips.add_chips([Chip(token, self._label(tokenizer, token)) for token in more])

    def _label(self, tokenizer: Tokenizer, token: int) -> str:
        limit = 4 * _LONGEST_LABEL  # a character has four bytes at most
        raw = whole_characters(tokenizer.tokens.prefix(token, limit + 4), limit)
        as_characters = self._as_characters and tokenizer.kind(token) != "special"
        return in_characters(raw, _LONGEST_LABEL) if as_characters else token_label(raw, _LONGEST_LABEL)

    def _tree(self, tokenizer: Tokenizer, token: int) -> TreeNode:
        """Builds the tree level by level; not recursively, as a long token is a chain of thousands of merges."""
        ids = [token]
        first_parts: list[int] = []  # places; 0 for a base token, and where it is cut short
        for one in ids:  # which grows
            parts = tokenizer.parts(one) if len(ids) + 2 <= _MOST_NODES else None
            first_parts.append(len(ids) if parts is not None else 0)
            ids += parts or ()
        labels = {one: self._label(tokenizer, one) for one in set(ids)}
        nodes: dict[int, TreeNode] = {}
        for place, (one, part) in reversed(list(enumerate(zip(ids, first_parts, strict=True)))):
            if part:
                nodes[place] = TreeNode(one, labels[one], nodes[part], nodes[part + 1])
            else:
                nodes[place] = TreeNode(one, labels[one], truncated=tokenizer.parts(one) is not None)
        return nodes[0]

    def fit(self) -> None:
        # Without a tree, there is room at any height.
        roomy = self.tree.isHidden() or self.height() >= self._theme.scaled(_ROOM_FOR_MORE)
        for widget in (self.built, self.chips):
            widget.setVisible(roomy and bool(self.chips.chips))
