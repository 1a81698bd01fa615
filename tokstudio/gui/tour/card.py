"""The card of the tour: what a stop says and asks for, and the buttons to go on, back, or out."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QColor, QPaintEvent, QPen, QRegion
from PySide6.QtWidgets import QFrame, QWidget

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.fields import restyle
from tokstudio.gui.widgets.labels import guarded_painter, paragraph_label, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, column, row
from tokstudio.gui.widgets.menus import push_button

# --- A shade over the window that leaves one place light, to see and to use -------------------------------------------

_DARKNESS = 150  # of 255
_FRAME = 2  # pixels around the place
#: What the pointer does to the dark part has no effect.
_HELD_BACK = (
    QEvent.Type.MouseButtonPress,
    QEvent.Type.MouseButtonRelease,
    QEvent.Type.MouseButtonDblClick,
    QEvent.Type.Wheel,
    QEvent.Type.ContextMenu,
)


class Shade(QWidget):
    """Darkens its parent but for one place. Pointer events in the place go to what is there."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.place = QRect()
        theme.changed.connect(self.update)
        self.hide()

    def light(self, place: QRect) -> None:
        """Covers the parent but for a place; an empty one covers all of it."""
        around = self.parentWidget()
        assert around is not None
        place = place.intersected(around.rect())
        if (place, around.rect()) == (self.place, self.geometry()):
            return
        self.place = place
        self.setGeometry(around.rect())
        self.setMask(QRegion(self.rect()) - QRegion(self.place))
        self.update()

    def event(self, event: QEvent) -> bool:
        """Keeps clicks from what is below."""
        if event.type() in _HELD_BACK:
            event.accept()
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        with guarded_painter(self) as painter:
            painter.fillRect(event.rect(), QColor(0, 0, 0, _DARKNESS))
            if not self.place.isEmpty():
                pen = QPen(QColor(self._theme.palette.accent), 2 * _FRAME)
                pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
                painter.setPen(pen)
                # The mask hides the inner half of the line.
                painter.drawRect(self.place)


_WIDTH = 340  # pixels at the normal text size
_NARROWEST = 220
_GAP = 12
_BUTTON = 100  # pixels; what is lower is a button
_NEW = 500  # milliseconds after a change in which a click was meant for the card before
_PRESSES = (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick)


class TourCard(QFrame):
    """Says what a stop is about."""

    next = Signal()  # the person asked for the next stop
    back = Signal()  # the person asked for the stop before
    left = Signal()  # the person asked to leave the tour
    helped = Signal()  # the person pressed the button that `offer` showed

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._told = ""
        self._new = QTimer(self, singleShot=True, interval=_NEW)
        self.setProperty("card", "true")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Tour")
        self.number = plain_label("muted")
        self.title = plain_label("headline")
        self.title.setWordWrap(True)
        self.text, self.caption, self.task = paragraph_label(), paragraph_label(), paragraph_label()
        self.help_button = push_button("", self.helped)
        tip = "Leave the tour (Esc); Continue the Tour in the menu Help goes on here."
        self.leave_button = push_button("Le&ave", self.left, tip)
        self.back_button, self.next_button = push_button("&Back", self.back), push_button("&Next", self.next)
        for button in (self.help_button, self.leave_button, self.back_button, self.next_button):
            button.installEventFilter(self)
        font = self.task.font()
        font.setBold(True)
        self.task.setFont(font)
        font = self.caption.font()
        font.setItalic(True)
        self.caption.setFont(font)
        buttons = row(self.leave_button, STRETCH, self.back_button, self.next_button, spacing=8)
        helping = row(self.help_button, STRETCH)
        self._column = column(
            self.number, self.title, self.text, self.caption, self.task, helping, 4, buttons,
            spacing=6, margins=(16, 12, 16, 12), parent=self,
        )  # fmt: skip
        self.hide()

    def say(self, number: str, title: str, text: str, task: str = "", caption: str = "") -> None:
        """Shows a stop, and tells a screen reader what is new but for the caption."""
        for label, words in zip(
            (self.number, self.title, self.text, self.caption, self.task),
            (number, title, text, caption, task),
            strict=True,
        ):
            label.setText(words)
            label.setVisible(bool(words))
        description = " ".join(filter(None, (f"{number}: {title}.", text, task)))
        if description != self._told:
            self._told = description
            self._new.start()
            self.setAccessibleDescription(description)
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, description))

    def offer(self, verb: str) -> None:
        """Shows a button that helps with the task; "" for none."""
        self.help_button.setText(verb)
        self.help_button.setVisible(bool(verb))

    def set_steps(self, *, first: bool, last: bool, done: bool) -> None:
        """Sets what the buttons say and do at this stop."""
        self.back_button.setVisible(not first)
        self.leave_button.setVisible(not last)
        self.next_button.setText("Fi&nish" if last else "&Next" if done else "&Skip")
        restyle(self.next_button, "primary", done)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Ignores a click on a button that has just come below the pointer; keys are not ignored."""
        return event.type() in _PRESSES and self._new.isActive()

    def stand_beside(self, place: QRect, spared: Sequence[QRect]) -> None:
        """Moves beside a place, which it covers only where there is no other room; it spares the others if possible."""
        around = self.parentWidget()
        assert around is not None
        room = around.rect().adjusted(_GAP, _GAP, -_GAP, -_GAP)
        spaces = _beside(place, room)
        if place.isEmpty():
            spaces, place, spared = (room,), room, ()
        spots = [QRect(at, size) for space in spaces for at, size in self._spots(place, space, room)]

        def covered(spot: QRect) -> tuple[int, int]:
            return _common(spot, place), sum(_common(spot, other) for other in spared)

        self.setGeometry(min(spots, key=covered))

    def _spots(self, place: QRect, space: QRect, room: QRect) -> Iterator[tuple[QPoint, QSize]]:
        """Where it can be in a space: level with the middle of a place, with its start, or with its end."""
        size = self._size(space.width())
        inside = QRect(space.topLeft(), space.size() - size + QSize(1, 1))
        allowed = QRect(room.topLeft(), room.size() - size + QSize(1, 1))
        middle = QRect(QPoint(), size)
        middle.moveCenter(place.center())
        end = place.bottomRight() - QPoint(size.width() - 1, size.height() - 1)
        for at in (middle.topLeft(), place.topLeft(), end):
            yield _within(_within(at, inside), allowed), size

    def _size(self, width: int) -> QSize:
        """The size in a space of a width."""
        narrowest = max(self._theme.scaled(_NARROWEST), self._column.minimumSize().width())
        width = max(min(self._theme.scaled(_WIDTH), width), narrowest)
        self._column.activate()
        return QSize(width, max(self._column.totalHeightForWidth(width), self._column.totalMinimumSize().height()))


def _beside(place: QRect, room: QRect) -> tuple[QRect, ...]:
    """The spaces right of a place, left of it, below and above; for a button, first below."""
    beside = (
        QRect(QPoint(place.right() + _GAP, room.top()), room.bottomRight()),
        QRect(room.topLeft(), QPoint(place.left() - _GAP, room.bottom())),
    )
    below = QRect(QPoint(room.left(), place.bottom() + _GAP), room.bottomRight())
    above = QRect(room.topLeft(), QPoint(room.right(), place.top() - _GAP))
    return (below, *beside, above) if place.height() < _BUTTON else (*beside, below, above)


def _within(at: QPoint, area: QRect) -> QPoint:
    """The point of an area that is nearest to a point; its top left corner if it is empty."""
    x = max(min(at.x(), area.right()), area.left())
    return QPoint(x, max(min(at.y(), area.bottom()), area.top()))


def _common(one: QRect, other: QRect) -> int:
    """How many pixels two rectangles share."""
    shared = one.intersected(other)
    return shared.width() * shared.height()
