"""A person at a stop of the tour."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest

from tests.gui.person import quiet
from tokstudio.gui.tour.stops import STOPS

LAST = len(STOPS) - 1
CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


def press(window, key, modifiers=Qt.KeyboardModifier.NoModifier):
    """Presses a key where the focus is."""
    QTest.keyClick(window.focusWidget() or window, key, modifiers)


def tab_to(window, wanted):
    """Presses Tab until a widget has the focus."""
    for _ in range(60):
        if window.focusWidget() is wanted:
            return
        press(window, Qt.Key.Key_Tab)
    raise AssertionError("Tab does not reach it")


def told(qtbot, window, words):
    """Waits until the card says something."""
    qtbot.waitUntil(lambda: words in window.tour.card.text.text())


def lit(window):
    """The rectangle of the place of this stop."""
    buttons = {"train": window.toolbar.train_button, "export": window.toolbar.export_button}
    name = STOPS[window.tour.at].place
    place = buttons.get(name) or getattr(window, name)
    return QRect(place.mapTo(window, QPoint()), place.size())


def begin(qtbot, window, at=0):
    """Starts the tour, and goes on to a stop by its buttons."""
    qtbot.waitUntil(window.isActiveWindow)
    window.actions_by_id["take_tour"].trigger()
    if at:
        window.actions_by_id["train"].trigger()
        qtbot.waitUntil(lambda: window.tour.at == 1)
        quiet(qtbot, window)
    while window.tour.at < at:
        window.tour.card.next_button.click()
    qtbot.wait(1)
