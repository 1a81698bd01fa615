"""What a person does in the window beside choosing from its menus: typing, turning the wheel, dragging, sorting."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from _window import Clock, busy
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QWidget

from tokstudio.gui.app.app import Studio

_EVERY = 0.04  # seconds between two acts, as of a hurried person
_TURNS = 40

Acts = Iterator[Callable[[], object]]


def by_hand(studio: Studio) -> list[list[str]]:
    """Does all of it, one thing after the other; rows of the table."""
    window, session = studio.window, studio.session
    vocabulary, merges = window.vocabulary, window.merges
    things: list[tuple[str, QWidget, Acts]] = [
        ("typing into Find", window.text, _typing(window.finder.box, "ing of 20")),
        ("typing a filter of Vocabulary", vocabulary, _typing(vocabulary.filter, "the /ing$/")),
        ("typing a filter of Merges", merges, _typing(merges.filter, "and")),
        ("sorting Vocabulary by every column", vocabulary, _sorting(studio)),
        ("the wheel over Vocabulary", vocabulary, _wheel(vocabulary.table)),
        ("the wheel over Merges", merges, _wheel(merges.table)),
        ("the wheel over Lines", window.token, _lines(studio)),
        ("the wheel over the tree of merges", window.token, _zooming(studio)),
        ("the wheel over the text's tokens", window.text, _wheel(window.text.encode.view)),
        ("the pointer over the text's tokens", window.text, _pointing(window.text.encode.view)),
        ("the slider of Steps", window.text, _stepping(studio)),
        ("the slider of the playhead", window.compression, _playing(studio)),
        ("a drag over the plot", window.compression, _dragging(window.compression.plot)),
        ("the tabs of Distribution", window.distribution, _tabs(window.distribution.tabs)),
        ("going through the rows of Merges", merges, _keys(merges.table, Qt.Key.Key_Down)),
    ]
    rows: list[list[str]] = []
    clock = Clock()
    for name, pane, acts in things:
        pane.show()
        pane.raise_()
        clock.during("", busy(studio))
        rows.append(clock.during(name, _at_work(studio, acts)))
    session.view.set_playhead(len(session.runs.active) if session.runs.active is not None else 0)
    return rows


def _at_work(studio: Studio, acts: Acts) -> Callable[[], bool]:
    """Does an act from time to time; whether any is left, or anything goes on still."""
    going_on, state = busy(studio), {"next": 0.0, "more": True}

    def goes_on() -> bool:
        if state["more"] and time.perf_counter() >= state["next"]:
            act = next(acts, None)
            state["more"] = act is not None
            if act is not None:
                act()
            state["next"] = time.perf_counter() + _EVERY
        return going_on() or bool(state["more"])

    return goes_on


def _typing(field: QWidget, text: str) -> Acts:
    yield field.setFocus
    for character in text:
        yield lambda character=character: QTest.keyClicks(field, character)
    for _ in text:
        yield lambda: QTest.keyClick(field, Qt.Key.Key_Backspace)


def _keys(widget: QWidget, key: Qt.Key) -> Acts:
    yield widget.setFocus
    for _ in range(_TURNS):
        yield lambda: QTest.keyClick(widget, key)


def _wheel(area: QAbstractScrollArea, keys: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> Acts:
    def turn(by: int) -> None:
        view = area.viewport()
        place = view.rect().center()
        where = QPointF(place), QPointF(view.mapToGlobal(place)), QPoint(), QPoint(0, by)
        event = QWheelEvent(*where, Qt.MouseButton.NoButton, keys, Qt.ScrollPhase.NoScrollPhase, False)
        QApplication.sendEvent(view, event)

    for by in [-240] * _TURNS + [240] * _TURNS:
        yield lambda by=by: turn(by)


def _sorting(studio: Studio) -> Acts:
    table = studio.window.vocabulary.table
    header = table.horizontalHeader()
    for column in range(header.count()):
        for order in (Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder):
            yield lambda column=column, order=order: table.sortByColumn(column, order)
    yield lambda: table.sortByColumn(0, Qt.SortOrder.AscendingOrder)


def _lines(studio: Studio) -> Acts:
    session, token = studio.session, studio.window.token
    assert session.runs.active is not None
    first = session.runs.active.base_size
    yield lambda: token.tabs.setCurrentIndex(1)
    for number in range(10):
        yield lambda number=number: session.view.look_at(first + 40 * number)
    yield from _wheel(token.lines.table)
    yield lambda: token.tabs.setCurrentIndex(0)


def _zooming(studio: Studio) -> Acts:
    session = studio.session
    assert session.runs.active is not None
    longest = session.runs.active.base_size + len(session.runs.active) // 2
    yield lambda: session.view.look_at(longest)
    yield from _wheel(studio.window.token.tree, Qt.KeyboardModifier.ControlModifier)


def _moves(view: QWidget, buttons: Qt.MouseButton) -> Acts:
    for number in range(_TURNS):
        place = QPointF(10 + (view.width() - 20) * number / _TURNS, view.height() / 2)
        yield lambda place=place: QApplication.sendEvent(
            view,
            QMouseEvent(
                QMouseEvent.Type.MouseMove,
                place,
                QPointF(view.mapToGlobal(place.toPoint())),
                Qt.MouseButton.NoButton,
                buttons,
                Qt.KeyboardModifier.NoModifier,
            ),
        )


def _pointing(area: QAbstractScrollArea) -> Acts:
    yield from _moves(area.viewport(), Qt.MouseButton.NoButton)


def _dragging(view: QWidget) -> Acts:
    left = Qt.MouseButton.LeftButton
    yield lambda: QTest.mousePress(view, left, pos=QPoint(10, view.height() // 2))
    yield from _moves(view, left)
    yield lambda: QTest.mouseRelease(view, left, pos=QPoint(view.width() - 10, view.height() // 2))


def _stepping(studio: Studio) -> Acts:
    text = studio.window.text
    yield text.step_through
    for number in range(_TURNS):
        yield lambda number=number: text.steps.bar.slider.setValue(text.steps.bar.slider.maximum() * number // _TURNS)
    yield lambda: text.tabs.setCurrentIndex(0)


def _playing(studio: Studio) -> Acts:
    session = studio.session
    assert session.runs.active is not None
    for number in range(2 * _TURNS):
        yield lambda number=number: session.view.set_playhead(len(session.runs.active or ()) * number // (2 * _TURNS))


def _tabs(tabs: QWidget) -> Acts:
    for number in range(6):
        yield lambda number=number: getattr(tabs, "setCurrentIndex")(number % 2)  # noqa: B009
