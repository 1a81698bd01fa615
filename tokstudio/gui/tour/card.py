"""The card of the tour: what a stop says and asks for, and the buttons to go on, back, or out."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPaintEvent, QPen, QRegion
from PySide6.QtWidgets import QBoxLayout, QFrame, QPushButton, QWidget

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.fields import restyle
from tokstudio.gui.widgets.labels import guarded_painter, paragraph_label, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, column, row
from tokstudio.gui.widgets.menus import push_button

# --- A shade over the window that leaves some places light, to see and to use -----------------------------------------

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
    """Darkens its parent but for some places. Pointer events in a place go to what is there."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.places: tuple[QRect, ...] = ()  # the first is that of the task
        theme.changed.connect(self.update)
        self.hide()

    @property
    def place(self) -> QRect:
        """The place of the task; empty if it cannot be seen."""
        return self.places[0] if self.places else QRect()

    def light(self, places: Sequence[QRect]) -> bool:
        """Covers the parent but for some places; returns whether they are others than before."""
        around = self.parentWidget()
        assert around is not None
        shown = tuple(place.intersected(around.rect()) for place in places)
        if (shown, around.rect()) == (self.places, self.geometry()):
            return False
        self.places = shown
        self.setGeometry(around.rect())
        dark = QRegion(self.rect())
        for place in shown:
            dark -= place
        self.setMask(dark)
        self.update()
        return True

    def event(self, event: QEvent) -> bool:
        """Keeps clicks from what is below."""
        if event.type() in _HELD_BACK:
            event.accept()
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        with guarded_painter(self) as painter:
            painter.fillRect(event.rect(), QColor(0, 0, 0, _DARKNESS))
            pen = QPen(QColor(self._theme.palette.accent), 2 * _FRAME)
            pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
            painter.setPen(pen)
            # The mask hides the inner half of the lines.
            painter.drawRects([place for place in self.places if not place.isEmpty()])


_WIDTH = 340  # pixels at the normal text size
_NARROWEST = 220
_MARGIN = 16
_GAP = 12
_BUTTON = 100  # pixels; what is lower is a button
_NEW = 500  # milliseconds after a change in which a click was meant for the card before
_MOST_OFFERS = 2
_PRESSES = (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick)


class TourCard(QFrame):
    """Says what a stop is about."""

    next = Signal()  # the person asked for the next stop
    back = Signal()  # the person asked for the stop before
    left = Signal()  # the person asked to leave the tour
    helped = Signal(int)  # the person pressed one of the buttons that `offer` showed, from 0 on

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
        self.help_buttons = [push_button("", partial(self.helped.emit, at)) for at in range(_MOST_OFFERS)]
        self.help_button = self.help_buttons[0]
        self._main = self.help_button
        tip = "Leave the tour (Esc); Continue the Tour in the menu Help goes on here."
        self.leave_button = push_button("Le&ave", self.left, tip)
        self.back_button, self.next_button = push_button("&Back", self.back), push_button("&Next", self.next)
        self._buttons = (*self.help_buttons, self.next_button, self.back_button, self.leave_button)
        for button in self._buttons:
            button.installEventFilter(self)
        font = self.task.font()
        font.setBold(True)
        self.task.setFont(font)
        font = self.caption.font()
        font.setItalic(True)
        self.caption.setFont(font)
        buttons = row(self.leave_button, STRETCH, self.back_button, self.next_button, spacing=8)
        self._helping = row(*self.help_buttons, STRETCH, spacing=8)
        self._column = column(
            self.number, self.title, self.text, self.caption, self.task, self._helping, 4, buttons,
            spacing=6, margins=(_MARGIN, 12, _MARGIN, 12), parent=self,
        )  # fmt: skip
        for before, button in zip((self, *self._buttons), self._buttons, strict=False):
            QWidget.setTabOrder(before, button)
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
            # Here, as to load them takes a part of the time of a start.
            from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent

            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, description))

    def offer(self, *verbs: str, is_main: bool = False) -> None:
        """Shows buttons that do the task or help with it; the first may be the main one of the card."""
        for at, button in enumerate(self.help_buttons):
            self._show_button(button, at < len(verbs))
            button.setText(verbs[at] if at < len(verbs) else "")
            restyle(button, "primary", is_main and not at)
        self._main = self.help_button if verbs and is_main else self.next_button

    def set_steps(self, *, first: bool, last: bool, done: bool) -> None:
        """Sets what the buttons say and do at this stop; after `offer`."""
        self._show_button(self.back_button, not first)
        self._show_button(self.leave_button, not last)
        self.next_button.setText("Fi&nish" if last else "&Next" if done else "&Skip")
        restyle(self.next_button, "primary", done and self._main is self.next_button)

    def go_on(self) -> None:
        """Presses the main button, or the one with the focus."""
        focus = next((button for button in self._buttons if button.hasFocus()), None)
        (focus or self._main).click()

    def _show_button(self, button: QPushButton, shown: bool) -> None:
        if not shown and button.hasFocus():
            self.setFocus()  # else the next button would get it, which nobody chose
        button.setVisible(shown)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Space does nothing, also not in the window behind the card."""
        if event.key() != Qt.Key.Key_Space:
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Ignores a click on a button that has just come below the pointer; keys are not ignored."""
        return event.type() in _PRESSES and self._new.isActive()

    def stand_beside(self, place: QRect, spared: Sequence[QRect], below: int) -> None:
        """Moves to the left edge, `below` a height in pixels, where it always is if it covers nothing there.

        Else it moves beside a place, which it covers only where there is no other room; it spares the others if
        possible.
        """
        around = self.parentWidget()
        assert around is not None
        room = around.rect().adjusted(_GAP, _GAP, -_GAP, -_GAP)
        shown = [one for one in (place, *spared) if not one.isEmpty()]
        beside = [one.left() - _GAP - room.left() for one in shown if one.bottom() > below and one.left() > room.left()]
        home = QRect(QPoint(room.left(), below + _GAP), self._size(min(beside, default=room.width())))
        if room.contains(home) and not any(map(home.intersects, shown)):
            self.setGeometry(home)
            return
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
        # Buttons that do not fit side by side stand one below the other.
        room = min(self._theme.scaled(_WIDTH), width) - 2 * _MARGIN
        widths = [button.sizeHint().width() for button in self.help_buttons if button.text()]
        fits = sum(widths) + max(0, len(widths) - 1) * self._helping.spacing() <= room
        self._helping.setDirection(QBoxLayout.Direction.LeftToRight if fits else QBoxLayout.Direction.TopToBottom)
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
