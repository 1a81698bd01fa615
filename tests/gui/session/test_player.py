"""Playing a run: the states it shows, the causes that stop it, and its controls."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QSlider

from tests.gui.conftest import alone
from tests.gui.person import at_the_window
from tests.gui.person import trained as trained_at
from tokstudio.gui.panes.compression.pane import CompressionPane
from tokstudio.gui.session import player as module
from tokstudio.gui.session.player import SPEEDS, Speed
from tokstudio.gui.session.preferences import Preferences

pytestmark = pytest.mark.usefixtures("unstyled")


pane = alone(CompressionPane, 760, 380)


@pytest.fixture(autouse=True)
def play(session, actions):
    actions["play"].setCheckable(True)
    actions["play"].triggered.connect(session.player.set_playing)


@pytest.fixture
def states(session):
    """Every place of the playhead that the panes are told of."""
    seen = []
    session.view.playhead_changed.connect(lambda: seen.append(session.view.playhead))
    return seen


def ended(qtbot, session):
    qtbot.waitUntil(lambda: not session.player.playing)


def test_playing_shows_every_state_from_the_playhead_or_from_the_start_again(
    qtbot, session, pane, make_run, states, actions
):
    run = make_run(vocabulary_size=261)
    states.clear()
    session.player.set_speed("30")
    qtbot.mouseClick(pane.bar.play_button, Qt.MouseButton.LeftButton)
    assert session.player.playing
    assert pane.bar.play_button.accessibleName() == "Pause playing"
    ended(qtbot, session)
    assert states == list(range(len(run) + 1))
    assert pane.bar.play_button.accessibleName() == "Play merges"
    assert not actions["play"].isChecked()
    session.view.set_playhead(3)
    states.clear()
    session.player.play()
    ended(qtbot, session)
    assert states == list(range(4, len(run) + 1))


def test_fast_speeds_skip_states_but_reach_the_end(qtbot, session, pane, trained, states, monkeypatch):
    monkeypatch.setattr(module, "SPEEDS", (Speed("test", "All", "all", seconds=0.1),))
    states.clear()
    session.player.set_speed("test")
    session.player.play()
    ended(qtbot, session)
    assert states[0] == 0
    assert states[-1] == len(session.runs.active)
    assert states == sorted(set(states))
    assert len(states) < len(session.runs.active)


def test_a_speed_is_chosen_by_its_menu_and_the_slider_plays_and_stops(qtbot, session, pane, trained):
    for key in [speed.key for speed in SPEEDS]:
        action = next(action for action in pane.speeds.actions() if action.data() == key)
        action.trigger()
        assert session.player.speed.key == key
        assert [one.data() for one in pane.speeds.actions() if one.isChecked()] == [key]
        assert pane.bar.speed_button.text() == session.player.speed.short
    session.player.set_speed("1")
    slider = pane.bar.findChild(QSlider)
    slider.setFocus()
    qtbot.keyClick(slider, Qt.Key.Key_Space)
    assert session.player.playing
    qtbot.keyClick(slider, Qt.Key.Key_Space)
    assert not session.player.playing
    session.player.set_speed("1")
    session.view.set_playhead(0)
    session.player.play()
    slider = pane.bar.findChild(QSlider)
    place = QPoint(slider.width() // 2, slider.height() // 2)
    qtbot.mousePress(slider, Qt.MouseButton.LeftButton, pos=place)
    assert not session.player.playing
    qtbot.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=place)
    assert pane.bar.speed_button.isVisible()
    pane.resize(400, 380)
    assert not pane.bar.speed_button.isVisible()


def test_a_speed_shows_its_merges_per_second():
    rates = {speed.key: speed.rate(32_000) for speed in SPEEDS}
    assert rates["30"] == 30
    assert rates["run in 10"] == 3200
    assert Speed("", "", "", seconds=30).rate(3) == 1, "a short run is not slower than one merge a second"


def test_other_moves_of_the_playhead_stop_playing(qtbot, session, pane, make_run):
    first, second = make_run(vocabulary_size=290), make_run(vocabulary_size=280)

    def drag():
        plot = pane.plot
        start = plot.chart.place(3, 1.2).toPoint()
        qtbot.mousePress(plot, Qt.MouseButton.LeftButton, pos=start)
        qtbot.mouseMove(plot, start + QPoint(60, 0))
        qtbot.mouseRelease(plot, Qt.MouseButton.LeftButton, pos=start + QPoint(60, 0))

    session.player.set_speed("1")
    for run, move in (
        (second, drag),
        (second, lambda: session.runs.activate(first)),
        (second, lambda: session.runs.delete(second)),
    ):
        session.runs.activate(run)
        session.view.set_playhead(3)
        session.player.play()
        assert session.player.playing
        move()
        assert not session.player.playing, move


def test_a_key_plays_and_the_speed_is_remembered(qtbot, monkeypatch, book):
    def act(window, answers):
        session = window.session
        assert session.player.speed.key == "30"
        play = window.actions_by_id["play"]
        assert "Train a tokenizer first" in play.toolTip()
        trained_at(qtbot, window)
        next(action for action in window.compression.speeds.actions() if action.data() == "1").trigger()
        qtbot.waitUntil(window.isActiveWindow)
        qtbot.keyClick(window, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier)
        assert session.player.playing
        assert play.isChecked()
        assert session.view.playhead == 0
        qtbot.keyClick(window, "]")
        assert not session.player.playing
        assert session.view.playhead == 1
        assert not play.isChecked()

    before = Preferences()
    before.set("playing_speed", "30")
    before.flush()
    assert at_the_window(monkeypatch, act, [str(book)]) == 0
    assert Preferences().get("playing_speed", "") == "1"
