"""The step bar: every way to move the playhead, and none by accident."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel, QSlider, QToolButton, QWidget

from tokstudio.gui.panes.compression.pane import PLAYHEAD
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.step_bar import StepBar


@pytest.fixture
def bar(qtbot):
    host = QWidget()
    qtbot.addWidget(host)
    host.resize(600, 40)
    bar = StepBar(Theme("light"), PLAYHEAD, host, plays=True)
    bar.setGeometry(host.rect())
    bar.set_range(744)
    bar.set_value(312)
    host.show()
    qtbot.waitExposed(host)
    yield bar
    host.hide()


@pytest.fixture
def moves(bar):
    values = []
    bar.moved.connect(values.append)
    return values


def label(bar):
    return bar.findChild(QLabel)


def slider(bar):
    return bar.findChild(QSlider)


def button(bar, word):
    return next(one for one in bar.findChildren(QToolButton) if word in one.accessibleName())


def test_it_shows_the_playhead_without_jumps_or_cuts_and_is_disabled_without_merges(bar, moves):
    assert label(bar).text() == "312 of 744"
    bar.set_range(10_000_000)
    bar.set_value(25_000)
    assert label(bar).text() == "25,000 of 10,000,000"
    bar.set_range(10_000)
    before = label(bar).width(), slider(bar).width()
    for value in (0, 9, 1_111, 10_000):
        bar.set_value(value)
        assert (label(bar).width(), slider(bar).width()) == before
    for length in (1_075, 99_999, 1_000_000):
        bar.set_range(length)
        bar.set_value(length)
        # Not even before the next round of events.
        shown = label(bar)
        assert shown.text() == f"{length:,} of {length:,}"
        assert shown.geometry().right() <= bar.rect().right()
        assert shown.width() >= shown.sizeHint().width()
    bar.set_range(0)
    assert label(bar).text() == "–"
    assert not slider(bar).isEnabled()
    assert not any(one.isEnabled() for one in bar.findChildren(QToolButton))
    assert moves == []


def test_buttons_and_keys_in_the_slider_move_the_playhead(qtbot, bar, moves):
    for word, target in {"First": 0, "Previous": 311, "Next": 313, "Last": 744}.items():
        bar.set_value(312)
        qtbot.mouseClick(button(bar, word), Qt.MouseButton.LeftButton)
        assert moves[-1] == target
        assert label(bar).text() == f"{target} of 744"
    keys = {"Home": 0, "End": 744, "Left": 311, "Right": 313, "PageUp": 349, "PageDown": 275}
    for key, target in keys.items():
        bar.set_value(312)
        qtbot.keyClick(slider(bar), Qt.Key[f"Key_{key}"])
        assert moves[-1] == target, key
    assert len(moves) == 10


def test_buttons_have_names_and_those_that_lead_nowhere_are_disabled(bar):
    def enabled():
        return [word for word in ("First", "Previous", "Next", "Last") if button(bar, word).isEnabled()]

    bar.set_value(0)
    assert enabled() == ["Next", "Last"]
    bar.set_value(744)
    assert enabled() == ["First", "Previous"]
    assert slider(bar).accessibleName()
    keys = {"First": "Alt+Home", "Previous": "[", "Next": "]", "Last": "Alt+End"}
    for word, key in keys.items():
        assert key in button(bar, word).toolTip()
        assert not button(bar, word).icon().isNull()


@pytest.mark.parametrize("maximum", [744, 10_000_000])
def test_a_click_moves_the_playhead_and_a_drag_continues(qtbot, bar, moves, maximum):
    bar.set_range(maximum)
    bar.set_value(0)
    line = slider(bar)
    middle = line.height() // 2
    qtbot.mousePress(line, Qt.MouseButton.LeftButton, pos=QPoint(line.width() * 3 // 4, middle))
    assert moves == [pytest.approx(maximum * 0.75, rel=0.03)]
    qtbot.mouseMove(line, QPoint(line.width() // 2, middle))
    qtbot.mouseRelease(line, Qt.MouseButton.LeftButton, pos=QPoint(line.width() // 2, middle))
    assert bar.value() == pytest.approx(maximum * 0.5, rel=0.05)
    assert moves[-1] == bar.value()


def test_a_held_handle_stays_under_the_pointer_while_a_run_grows(qtbot, bar, moves):
    slider = bar.findChild(QSlider)
    middle = QPoint(slider.width() // 2, slider.height() // 2)
    qtbot.mousePress(slider, Qt.MouseButton.LeftButton, pos=middle)
    held = bar.value()
    bar.set_range(10 * bar.maximum())
    bar.set_range(20 * bar.maximum())
    assert bar.value() == held
    assert bar.maximum() == 744
    qtbot.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=middle)
    assert bar.value() == held
    assert bar.maximum() == 20 * 744


def test_clicks_at_the_ends_reach_the_ends(qtbot, bar, moves):
    line = slider(bar)
    middle = line.height() // 2
    qtbot.mouseClick(line, Qt.MouseButton.LeftButton, pos=QPoint(0, middle))
    qtbot.mouseClick(line, Qt.MouseButton.LeftButton, pos=QPoint(line.width() - 1, middle))
    assert moves == [0, 744]


def test_changes_by_the_program_emit_no_move(bar, moves):
    bar.set_value(5)
    bar.set_value(5)
    bar.set_range(3)
    assert moves == []
    assert bar.value() == bar.maximum() == 3
    assert label(bar).text() == "3 of 3"


def test_the_speed_makes_no_window_wider(qtbot):
    bar = StepBar(Theme("light"), PLAYHEAD, plays=True)
    qtbot.addWidget(bar)
    bar.set_speed("30 merges a second")
    asked = bar.minimumSizeHint().width()
    bar.speed_button.hide()
    bar.layout().activate()
    assert bar.minimumSizeHint().width() == asked


def test_a_narrow_bar_hides_the_buttons_first_and_last(bar):
    ends = [button(bar, "First"), button(bar, "Last")]
    others = [button(bar, "Previous"), button(bar, "Next"), bar.play_button]
    asked = bar.minimumSizeHint().width()
    seen = set()
    for width in range(600, asked, -1):
        bar.resize(width, 40)
        bar.layout().activate()
        assert all(one.isVisible() for one in others)
        shown = [end.isVisible() for end in ends]
        assert shown[0] == shown[1]
        seen.add(shown[0])
        assert slider(bar).width() >= 80 or not shown[0]
        assert bar.minimumSizeHint().width() == asked
    assert seen == {True, False}


def test_a_bar_that_does_not_play_counts_from_its_first_number_and_has_no_speed(qtbot):
    bar = StepBar(Theme("light"), PLAYHEAD, first=1)
    qtbot.addWidget(bar)
    bar.set_range(4)
    bar.resize(600, 40)
    bar.show()
    assert label(bar).text() == "1 of 5"
    qtbot.mouseClick(button(bar, "Last"), Qt.MouseButton.LeftButton)
    assert label(bar).text() == "5 of 5"
    assert bar.play_button.isHidden()
    assert bar.speed_button.isHidden()
