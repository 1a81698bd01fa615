"""Large text on a small screen, with a layout from a large one: panes and window come back with the usual text."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from itertools import combinations

import pytest
from PySide6.QtCore import QObject, QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLabel,
    QPlainTextEdit,
    QTableView,
    QWidget,
)

from tests.gui.person import at_the_window, at_window, trained
from tests.gui.window.test_little_room import LISTS, PLOTS, settle, tabs
from tests.gui.window.test_low_window import HIGH, places, put_below_configure

NARROW = {"Configure Corpus", f"{PLOTS} {LISTS} Text Token Why"}


def set_text(qtbot, window, size: int) -> None:
    with qtbot.waitSignal(window.theme.settled):
        window.preferences.set("text_size", size)
    settle(qtbot, window)


def begin(qtbot, window, size: QSize) -> None:
    window.resize(size)
    qtbot.waitUntil(lambda: window.size() == size)
    settle(qtbot, window)


def covering(view: QWidget) -> list[tuple[str, str]]:
    """The parts of a view of which one covers another."""
    kinds = QLabel, QComboBox, QAbstractSpinBox, QAbstractButton, QTableView, QPlainTextEdit
    parts = [each for each in view.findChildren(QWidget) if each.isVisible() and isinstance(each, kinds)]
    places = [(type(each).__name__, QRect(each.mapTo(view, QPoint()), each.size())) for each in parts]
    return [(one, other) for (one, a), (other, b) in combinations(places, 2) if a.intersects(b)]


def the_layout_has_one_place_for_each_pane(window) -> None:
    layout = window.places.state().data()
    for pane in window.places.panes:
        # Names are stored in UTF-16.
        assert layout.count(pane.objectName().encode("utf-16-be")) == 1, pane.objectName()


def columns(window) -> list[list[str]]:
    """The panes in front, by columns from left to right, each from top to bottom."""
    seen = sorted(places(window).items(), key=lambda entry: (entry[1].x(), entry[1].y()))
    lefts = sorted({place.x() for _, place in seen})
    return [[name for name, place in seen if place.x() == left] for left in lefts]


def test_a_layout_of_a_large_screen_survives_large_text_on_a_small_one_until_it_is_reset(qtbot, monkeypatch, book):
    small = QSize(1008, 592)
    usual = [["configure", "corpus"], ["compression"], ["text"]]

    def leave(window, answers):
        begin(qtbot, window, QSize(1440, 900))
        assert tabs(window) == HIGH
        put_below_configure(qtbot, window)

    def enlarge(window, answers):
        begin(qtbot, window, small)
        trained(qtbot, window)
        settle(qtbot, window)
        assert window.size() == small
        assert columns(window) == usual
        shown, before = tabs(window), places(window)
        assert shown != NARROW
        the_layout_has_one_place_for_each_pane(window)
        for size in (16, 18, 20):
            set_text(qtbot, window, size)
            assert window.height() <= small.height(), size
        assert tabs(window) == NARROW
        assert columns(window) == [["configure"], ["compression"]]
        set_text(qtbot, window, 24)
        set_text(qtbot, window, 13)
        assert window.size() == small
        assert tabs(window) == shown
        qtbot.waitUntil(lambda: places(window) == before)
        the_layout_has_one_place_for_each_pane(window)
        set_text(qtbot, window, 20)

    def start_again(window, answers):
        begin(qtbot, window, small)
        assert tabs(window) == NARROW
        set_text(qtbot, window, 13)
        assert columns(window) == usual
        set_text(qtbot, window, 20)
        window.reset_layout()
        set_text(qtbot, window, 13)
        assert columns(window)[0] == ["corpus", "configure"]

    def come_back(window, answers):
        begin(qtbot, window, QSize(1440, 900))
        assert columns(window)[0] == ["corpus", "configure"]
        window.reset_layout()
        settle(qtbot, window)
        assert tabs(window) == HIGH

    assert at_the_window(monkeypatch, leave) == 0
    with monkeypatch.context() as patch:
        patch.setattr("tokstudio.gui.window.main_window._room", lambda window: small)
        assert at_the_window(patch, enlarge, [str(book)]) == 0
        assert at_the_window(patch, start_again, [str(book)]) == 0
    assert at_the_window(monkeypatch, come_back) == 0


@pytest.mark.parametrize("screen", [QSize(1008, 600)], indirect=True)
@at_window()
def test_what_became_tabs_for_large_text_is_divided_again_for_small_in_all_workspaces(qtbot, screen, window):
    begin(qtbot, window, screen)
    window.reset_layout()
    settle(qtbot, window)
    usual, before = columns(window), places(window)
    assert usual[1] == ["compression", "merges"]
    set_text(qtbot, window, 18)
    assert columns(window)[1] == ["compression"]
    set_text(qtbot, window, 20)
    assert tabs(window) == NARROW
    for workspace in ("compare", "train"):
        window.actions_by_id[f"workspace_{workspace}"].trigger()
        settle(qtbot, window)
    set_text(qtbot, window, 13)
    assert columns(window) == usual
    qtbot.waitUntil(lambda: places(window) == before)


def test_a_start_with_large_text_keeps_a_layout_with_panes_that_wait_for_the_first_run(qtbot, monkeypatch, book):
    usual = [["compression"], ["text"], ["guide"]]

    def leave(window, answers):
        begin(qtbot, window, QSize(1440, 900))
        window.actions_by_id["workspace_learn"].trigger()
        trained(qtbot, window)
        window.splitDockWidget(window.text, window.guide, Qt.Orientation.Horizontal)
        settle(qtbot, window)
        set_text(qtbot, window, 32)

    def come_back(window, answers):
        begin(qtbot, window, QSize(960, 700))
        assert columns(window) == [["guide"], ["compression"]]
        set_text(qtbot, window, 13)
        assert columns(window) == usual

    assert at_the_window(monkeypatch, leave, [str(book)]) == 0
    monkeypatch.setattr("tokstudio.gui.window.main_window._room", lambda window: QSize(960, 700))
    assert at_the_window(monkeypatch, come_back) == 0


def test_the_default_layout_comes_back_where_a_stored_one_has_two_places_for_a_pane(qtbot, monkeypatch, unstyled):
    def disarrange(window, answers):
        begin(qtbot, window, QSize(1440, 900))
        for pane in (window.merges, window.vocabulary, window.runs):
            # As Qt moves a pane that it has restored.
            pane.setAttribute(Qt.WidgetAttribute.WA_LaidOut, False)
            window.tabifyDockWidget(window.compression, pane)

    def reset(window, answers):
        begin(qtbot, window, QSize(1440, 900))
        assert tabs(window) != HIGH
        window.reset_layout()
        settle(qtbot, window)
        assert tabs(window) == HIGH
        assert columns(window) == [["corpus", "configure"], ["compression", "merges"], ["text", "token"]]

    assert at_the_window(monkeypatch, disarrange) == 0
    assert at_the_window(monkeypatch, reset) == 0


@pytest.mark.parametrize("screen", [QSize(1440, 640)], indirect=True)
@at_window("{book}")
def test_panes_that_become_tabs_give_the_focus_to_the_window_and_choose_no_token(qtbot, screen, window):
    begin(qtbot, window, screen)
    window.reset_layout()
    trained(qtbot, window)
    settle(qtbot, window)
    shown = tabs(window)
    chosen, focused = [], []
    window.session.view.token_changed.connect(lambda: chosen.append(window.session.view.chosen))
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    window.merges.filter.setFocus()
    noting = QApplication.instance().focusChanged.connect(lambda _, now: focused.append(now))
    set_text(qtbot, window, 18)
    assert {f"{PLOTS} {LISTS}"} < tabs(window)
    assert window.focusWidget() is window
    QObject.disconnect(noting)
    assert set(focused) == {window}
    # What stays in sight keeps the focus.
    set_text(qtbot, window, 13)
    assert tabs(window) == shown
    window.text.encode.input.setFocus()
    set_text(qtbot, window, 18)
    assert window.focusWidget() is window.text.encode.input
    assert not chosen


@pytest.mark.parametrize("screen", [QSize(1008, 592)], indirect=True)
@at_window("{book}")
def test_no_part_of_a_view_of_compare_covers_another_at_large_text(qtbot, screen, window):
    window.session.corpus.add_text("one line and another\n" * 40_000, "a second text")
    trained(qtbot, window, 400)
    begin(qtbot, window, screen)
    window.show_workspace("compare")
    compare, sizes = window.compare, window.sizes
    for size in (24, 18):
        set_text(qtbot, window, size)
        window.places.open(sizes)
        sizes.tabs.setCurrentIndex(1)
        qtbot.waitUntil(sizes.by_text.table.isVisible)
        settle(qtbot, window)
        assert not covering(sizes.by_text), size
        window.places.open(compare)
        compare.tabs.setCurrentIndex(2)
        qtbot.waitUntil(lambda: compare.same_text.total.text() == "of 40,000")
        settle(qtbot, window)
        assert not covering(compare.same_text), size
        compare.tabs.setCurrentIndex(4)
        qtbot.waitUntil(compare.words.table.isVisible)
        settle(qtbot, window)
        assert not covering(compare.words), size
