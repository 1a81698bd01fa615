"""A bar code: where in a text something occurs, in one strip from its beginning to its end."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from tokstudio.core.base.arrays import empty_until_set
from tokstudio.gui.style.theme import Palette, Theme
from tokstudio.gui.widgets.labels import guarded_painter, plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEIGHT = 24  # pixels
_FAINTEST = 0.4  # the opacity of a bar with one hit among many
_MORE = 10  # bars at once
_NEAR = 3  # pixels from the pointer to a bar


def paint_bars(painter: QPainter, area: QRectF, bars: NDArray[np.int64], palette: Palette) -> None:
    """Draws how many hits each of equal parts of a text has: the more, the darker; one hit is never invisible."""
    painter.fillRect(area, QColor(palette.grid))
    columns = max(1, int(area.width()))
    taken = np.flatnonzero(bars)
    if not len(taken):
        return
    places, inverse = np.unique(taken * columns // len(bars), return_inverse=True)
    hits = np.bincount(inverse, bars[taken])
    strengths = _FAINTEST + (1 - _FAINTEST) * np.log1p(hits) / np.log1p(hits.max())
    width = max(1.0, area.width() / len(bars))
    colour = QColor(palette.accent)
    for place, strength in zip(places.tolist(), strengths.tolist(), strict=True):
        colour.setAlphaF(strength)
        left = min(area.left() + place * area.width() / columns, area.right() - width)
        painter.fillRect(QRectF(left, area.top(), width, area.height()), colour)


class BarCode(QWidget):
    """One strip; a click, or Enter, chooses a bar.

    With the focus, Left and Right go from one bar with hits to the next, Page Up and Page Down over ten, Home and End
    to the first and the last; the words of the current one are the accessible description.
    """

    chosen = Signal(int)  # the number of a bar with hits
    _bars: NDArray[np.int64] = empty_until_set("int64")  # the hits of each bar
    _taken: NDArray[np.int64] = empty_until_set("int64")  # the bars with hits

    def __init__(self, theme: Theme, name: str, words: Callable[[int, int], str]) -> None:
        super().__init__()
        self._theme, self._words = theme, words
        self._borders: Sequence[float] = ()
        self.current = -1  # the bar that keys have reached; -1 for none
        self._pointed = -1
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        theme.changed.connect(self.updateGeometry)

    def show_bars(self, bars: NDArray[np.int64], borders: Sequence[float] = ()) -> None:
        """Shows the hits in each of equal parts; `borders` are shares of the text at which a thin line stands."""
        self._bars, self._taken, self._borders = bars, np.flatnonzero(bars), borders
        self.current = self._pointed = -1
        self.setAccessibleDescription("")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, self._theme.scaled(_HEIGHT))

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self._theme.scaled(_HEIGHT))

    def bar_at(self, x: float) -> int:
        """The bar with hits that is nearest to a place in the widget; -1 where none is near."""
        if not len(self._taken):
            return -1
        middles = (self._taken + 0.5) * self._area.width() / len(self._bars) + self._area.left()
        nearest = int(np.argmin(np.abs(middles - x)))
        reach = max(_NEAR, self._area.width() / len(self._bars))
        return int(self._taken[nearest]) if abs(middles[nearest] - x) <= reach else -1

    def place_of(self, bar: int) -> QPoint:
        """The middle of a bar in the widget."""
        x = self._area.left() + (bar + 0.5) * self._area.width() / max(1, len(self._bars))
        return QPointF(x, self._area.center().y()).toPoint()

    def paintEvent(self, event: QPaintEvent) -> None:
        palette, area = self._theme.palette, self._area
        with guarded_painter(self) as painter:
            paint_bars(painter, area, self._bars, palette)
            painter.setPen(QPen(QColor(palette.control), 1))
            for share in self._borders:
                x = round(area.left() + share * area.width()) + 0.5
                painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
            marked = self._pointed if self._pointed >= 0 else self.current if self.hasFocus() else -1
            if marked >= 0:
                x = self.place_of(marked).x() + 0.5
                painter.setPen(QPen(QColor(palette.text), 2))
                painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
            if self.hasFocus():
                painter.setPen(QPen(QColor(palette.accent), 2))
                painter.drawRect(QRectF(self.rect()).adjusted(1, 1, -1, -1))

    @property
    def _area(self) -> QRectF:
        return QRectF(self.rect()).adjusted(3, 3, -3, -3)

    # ---- mouse and keys

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            bar = self.bar_at(event.pos().x())
            QToolTip.showText(event.globalPos(), plain(self._text(bar)) if bar >= 0 else "", self)
            return True
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._point(self.bar_at(event.position().x()))

    def leaveEvent(self, event: QEvent) -> None:
        self._point(-1)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        bar = self.bar_at(event.position().x())
        if event.button() == Qt.MouseButton.LeftButton and bar >= 0:
            self._go_to(bar)
            self.chosen.emit(bar)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, taken = Qt.Key(event.key()), self._taken
        at = int(np.searchsorted(taken, self.current)) if self.current >= 0 else -1
        targets = {
            Qt.Key.Key_Left: at - 1,
            Qt.Key.Key_Right: at + 1,
            Qt.Key.Key_PageUp: at - _MORE,
            Qt.Key.Key_PageDown: at + _MORE,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: len(taken) - 1,
        }
        if len(taken) and key in targets:
            self._go_to(int(taken[min(max(targets[key], 0), len(taken) - 1)]))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.current >= 0:
            self.chosen.emit(self.current)
        else:
            super().keyPressEvent(event)

    def _go_to(self, bar: int) -> None:
        self.current = bar
        self.setAccessibleDescription(self._text(bar))
        self.update()

    def _point(self, bar: int) -> None:
        if bar != self._pointed:
            self._pointed = bar
            self.setCursor(Qt.CursorShape.PointingHandCursor if bar >= 0 else Qt.CursorShape.ArrowCursor)
            self.update()

    def _text(self, bar: int) -> str:
        return self._words(bar, int(self._bars[bar]))
