"""A card that stands over the window and blocks nothing; what it says is left to its kinds.

It stands at the bottom if no control is there, else as far below as there is room without covering one: text and rows
of a table may be covered for a while, a button or a field may not.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence

from PySide6.QtCore import QEvent, QObject, QRect, QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QBoxLayout,
    QComboBox,
    QDockWidget,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenuBar,
    QPlainTextEdit,
    QScrollBar,
    QTabBar,
    QWidget,
)

_WIDEST = 820
_NARROWEST = 260
_NARROW = 560  # pixels of width below which the buttons stand under the sentence
_MARGIN = 16
_ABOVE_STATUS = 40
_STEP = 8
_AT_REST = 100  # milliseconds, in which panes take their places
_CONTROLS = (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QMenuBar,
    QPlainTextEdit,
    QTabBar,
)


class BottomCard(QFrame):
    """A frame over its parent, as wide as is good to read."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._row: QBoxLayout | None = None
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.setInterval(_AT_REST)
        self._again.timeout.connect(self._place_again)
        parent.installEventFilter(self)
        self._docks: list[QDockWidget] = []
        self.setProperty("card", "true")

    def make_row(self, sign: QLabel, text: QLabel, buttons: Sequence[QWidget]) -> QBoxLayout:
        """A sign and a sentence, and buttons beside or below them."""
        told, beside = QHBoxLayout(), QHBoxLayout()
        told.addWidget(sign)
        told.addWidget(text, 1)
        beside.addStretch(1)
        for button in buttons:
            beside.addWidget(button)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._row.addLayout(told, 1)
        self._row.addLayout(beside)
        for row in (told, beside, self._row):
            row.setSpacing(8)
        return self._row

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Takes a place again when the window's size changes."""
        if event.type() == QEvent.Type.Resize:
            self.place()
            # The panes take their new places after this.
            self._place_later()
        return False

    def place(self) -> None:
        """Takes its place, with the height that its content needs now."""
        around = self.parentWidget()
        if around is None or self.layout() is None:
            return
        taken = [_in_sight(widget, around) for widget in self._controls(around)]
        shapes = [(x, width, self._height_at(width)) for x, width in _stretches(around)]
        places = [
            QRect(x, around.height() - height - _ABOVE_STATUS - higher, width, height)
            for higher in range(0, max(around.height() // 2, 1), _STEP)
            for x, width, height in shapes
        ]
        free = (one for one in places if one.top() >= 0 and not any(one.intersects(other) for other in taken))
        place = next(free, places[0])
        self._height_at(place.width())
        self.setGeometry(place)

    def showEvent(self, event: QShowEvent) -> None:
        """Follows the panes from now on."""
        super().showEvent(event)
        for dock in self.window().findChildren(QDockWidget):
            if dock not in self._docks:
                self._docks.append(dock)
                dock.visibilityChanged.connect(self._place_later)

    def _place_later(self) -> None:
        if self.isVisible():
            self._again.start()

    def _place_again(self) -> None:
        if self.isVisible():
            self.place()
            # A pane that comes to the front comes before everything.
            self.raise_()

    def _height_at(self, width: int) -> int:
        layout = self.layout()
        assert layout is not None
        if self._row is not None:
            narrow = width < _NARROW
            self._row.setDirection(QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight)
        layout.activate()
        return max(layout.heightForWidth(width), layout.minimumSize().height())

    def _controls(self, around: QWidget) -> Iterator[QWidget]:
        """What must stay within reach: controls, and other cards."""
        for widget in around.findChildren(QWidget):
            if isinstance(widget, QScrollBar) or not widget.isVisible() or self.isAncestorOf(widget):
                continue
            if isinstance(widget, _CONTROLS) or (isinstance(widget, BottomCard) and widget is not self):
                yield widget


def _stretches(around: QWidget) -> Iterator[tuple[int, int]]:
    """Where a card can stand from left to right, and how wide: in the middle, or over one of the panes."""
    width = min(_WIDEST, around.width() - 2 * _MARGIN)
    yield (around.width() - width) // 2, width
    docks = [dock for dock in around.findChildren(QDockWidget) if not dock.visibleRegion().isEmpty()]
    for dock in sorted(docks, key=lambda dock: -dock.width()):
        room = min(_WIDEST, dock.width() - _MARGIN)
        if not dock.isFloating() and room >= _NARROWEST:
            yield dock.x() + (dock.width() - room) // 2, room


def _in_sight(widget: QWidget, around: QWidget) -> QRect:
    """What is to be seen of a widget, whatever card is over it, in the coordinates of what is around it."""
    seen, inner = QRect(widget.rect()), widget
    while inner is not around:
        outer = inner.parentWidget()
        if outer is None:
            return QRect()
        seen = seen.translated(inner.pos()).intersected(outer.rect())
        inner = outer
    return seen
