"""A card over the bottom of the window that does not block the window.

The card may cover text and table rows, but never a button or a field. It moves up until it covers no control; where
there is no such position, it stays at the bottom.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt, QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QBoxLayout,
    QComboBox,
    QDockWidget,
    QFrame,
    QLabel,
    QLineEdit,
    QMenuBar,
    QPlainTextEdit,
    QSlider,
    QTabBar,
    QWidget,
)

from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.layouts import STRETCH, column, row

_ICON = 18
_WIDEST = 820
_NARROWEST = 260
_NARROW = 560  # pixels of width below which the buttons are below the sentence
_MARGIN = 16
_ABOVE_STATUS = 40
_STEP = 8
_AT_REST = 100  # milliseconds without a change before the card is placed again
_CONTROLS = (QAbstractButton, QAbstractSpinBox, QComboBox, QLineEdit, QMenuBar, QPlainTextEdit, QSlider, QTabBar)


class BottomCard(QFrame):
    """One sentence between an icon and buttons over its parent, hidden until there is something to say.

    Its `sign` is the icon before the sentence, and the role of its colour.
    """

    def __init__(
        self, theme: Theme, parent: QWidget, name: str, sign: tuple[str, str], buttons: Sequence[QAbstractButton]
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setProperty("card", "true")
        self._theme, self._drawing = theme, sign
        self._sign = QLabel()
        self.text = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
        texts, beside = row(self._sign, (self.text, 1), spacing=8), row(STRETCH, *buttons, spacing=8)
        self._row = row((texts, 1), beside, spacing=8)
        self.column = column(self._row, margins=(12, 8, 8, 8), parent=self)
        self._again = QTimer(self, singleShot=True, interval=_AT_REST)
        self._again.timeout.connect(self._place_again)
        self._docks: list[QDockWidget] = []
        parent.installEventFilter(self)
        theme.follow(self._paint_sign)
        self.hide()

    def offer(self, sentence: str) -> None:
        """Shows a sentence; an empty one hides the card."""
        self.text.setText(sentence)
        focus = QApplication.focusWidget()
        if not sentence and focus is not None and self.isAncestorOf(focus):
            # Otherwise the focus would move to an arbitrary control.
            self.window().setFocus()
        if sentence:
            self.place()
        self.setVisible(bool(sentence))
        if sentence:
            self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Places the card again when the window is resized."""
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self.place()
            # The panes are laid out after this event.
            self._again.start()
        return False

    def place(self) -> None:
        """Moves and resizes the card to fit its content now."""
        around = self.parentWidget()
        if around is None:
            return
        taken = list(self._taken(around))
        shapes = [(x, width, self._height_at(width)) for x, width in _spans(around)]
        positions = [
            QRect(x, around.height() - height - _ABOVE_STATUS - higher, width, height)
            for higher in range(0, max(around.height() // 2, 1), _STEP)
            for x, width, height in shapes
        ]
        free = (one for one in positions if one.top() >= 0 and not any(one.intersects(other) for other in taken))
        place = next(free, positions[0])
        self._height_at(place.width())
        self.setGeometry(place)

    def showEvent(self, event: QShowEvent) -> None:
        """Starts to follow the panes."""
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
            # Raising a pane would put it above the card.
            self.raise_()

    def _height_at(self, width: int) -> int:
        narrow = width < _NARROW
        self._row.setDirection(QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight)
        self.column.activate()
        return max(self.column.heightForWidth(width), self.column.minimumSize().height())

    def _paint_sign(self) -> None:
        name, role = self._drawing
        self._sign.setPixmap(icon(name, self._theme, role).pixmap(_ICON, _ICON))

    def _taken(self, around: QWidget) -> Iterator[QRect]:
        """What the card must not cover, in the coordinates of `around`: the visible parts of controls and other cards.

        What is above them, as the card itself, is ignored.
        """
        waiting = [(around, QPoint(), around.rect())]
        while waiting:
            # One walk over what is seen; otherwise all widgets would be looked at for each class.
            outer, origin, part = waiting.pop()
            for child in outer.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly):
                if child is self or child.isWindow() or not child.isVisible():
                    continue
                seen = child.geometry().translated(origin).intersected(part)
                if seen.isEmpty():
                    continue
                if isinstance(child, (*_CONTROLS, BottomCard)):
                    yield seen
                else:
                    waiting.append((child, origin + child.pos(), seen))


def _spans(around: QWidget) -> Iterator[tuple[int, int]]:
    """The left edge and the width of each possible position: in the middle, then over each pane."""
    width = min(_WIDEST, around.width() - 2 * _MARGIN)
    yield (around.width() - width) // 2, width
    docks = [dock for dock in around.children() if isinstance(dock, QDockWidget) and not dock.visibleRegion().isEmpty()]
    for dock in sorted(docks, key=lambda dock: -dock.width()):
        room = min(_WIDEST, dock.width() - _MARGIN)
        if not dock.isFloating() and room >= _NARROWEST:
            yield dock.x() + (dock.width() - room) // 2, room
