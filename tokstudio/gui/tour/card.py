"""The card of the tour: what a stop says and asks for, and the buttons to go on, back, or out."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QFrame, QPushButton, QWidget

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import paragraph_label, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, column, row

_WIDTH = 340  # pixels at the normal text size
_NARROWEST = 220
_GAP = 12


class TourCard(QFrame):
    """Says what a stop is about.

    Signals:
        next: The person asked for the next stop.
        back: The person asked for the stop before.
        left: The person asked to leave the tour.
        helped: The person pressed the button that `offer` showed.
    """

    next = Signal()
    back = Signal()
    left = Signal()
    helped = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._told = ""
        self.setProperty("card", "true")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Tour")
        self.number = plain_label("muted")
        self.title = plain_label("headline")
        self.title.setWordWrap(True)
        self.text, self.caption, self.task = paragraph_label(), paragraph_label(), paragraph_label()
        self.help_button = QPushButton()
        self.leave_button, self.back_button, self.next_button = (
            QPushButton(text) for text in ("&Leave", "&Back", "&Next")
        )
        self.help_button.clicked.connect(self.helped)
        self.leave_button.clicked.connect(self.left)
        self.back_button.clicked.connect(self.back)
        self.next_button.clicked.connect(self.next)
        self.leave_button.setToolTip("Leave the tour (Esc); Continue the Tour in the menu Help goes on here.")
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
        told = " ".join(filter(None, (f"{number}: {title}.", text, task)))
        if told != self._told:
            self._told = told
            self.setAccessibleDescription(told)
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, told))

    def offer(self, verb: str) -> None:
        """Shows a button that helps with the task; "" for none."""
        self.help_button.setText(verb)
        self.help_button.setVisible(bool(verb))

    def set_steps(self, *, first: bool, last: bool, done: bool) -> None:
        """Sets what the buttons say and do at this stop."""
        self.back_button.setVisible(not first)
        self.next_button.setText(("&Finish" if last else "&Next") if done else "&Skip")
        if self.next_button.property("primary") != done:
            self.next_button.setProperty("primary", done)
            self.next_button.style().unpolish(self.next_button)
            self.next_button.style().polish(self.next_button)

    def stand_beside(self, place: QRect) -> None:
        """Moves beside a place, where there is the most room, and over it only where there is none."""
        around = self.parentWidget()
        assert around is not None
        room = around.rect().adjusted(_GAP, _GAP, -_GAP, -_GAP)
        spaces = (
            QRect(place.right() + _GAP, room.top(), room.right() - place.right() - _GAP, room.height()),
            QRect(room.left(), room.top(), place.left() - _GAP - room.left(), room.height()),
            QRect(room.left(), place.bottom() + _GAP, room.width(), room.bottom() - place.bottom() - _GAP),
            QRect(room.left(), room.top(), room.width(), place.top() - _GAP - room.top()),
        )
        fitting = (space for space in spaces if self._fits(space.size()))
        space = next(fitting, None) if not place.isEmpty() else room
        if space is None:
            space = max(spaces, key=lambda one: min(one.width(), self._size(one.width()).width()) * one.height())
        size = self._size(space.width())
        # Level with the place, as far as there is room.
        x = min(max(place.center().x() - size.width() // 2, space.left()), space.right() - size.width() + 1)
        y = min(max(place.center().y() - size.height() // 2, space.top()), space.bottom() - size.height() + 1)
        x, y = min(x, room.right() - size.width() + 1), min(y, room.bottom() - size.height() + 1)
        self.setGeometry(QRect(max(x, room.left()), max(y, room.top()), size.width(), size.height()))

    def _fits(self, space: QSize) -> bool:
        size = self._size(space.width())
        return size.width() <= space.width() and size.height() <= space.height()

    def _size(self, width: int) -> QSize:
        """The size in a space of a width."""
        narrowest = max(self._theme.scaled(_NARROWEST), self._column.minimumSize().width())
        width = max(min(self._theme.scaled(_WIDTH), width), narrowest)
        self._column.activate()
        return QSize(width, max(self._column.totalHeightForWidth(width), self._column.totalMinimumSize().height()))
