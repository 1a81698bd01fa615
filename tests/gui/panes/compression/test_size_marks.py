"""The Compression pane: marks where a run reaches shares of the compression at its end."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction

from tests.gui.person import PATIENCE
from tokstudio.core.base.resources import sample_text
from tokstudio.gui.panes.compression.curves import TOKENS
from tokstudio.gui.panes.compression.pane import CompressionPane


@pytest.fixture
def pane(session, theme, actions, show):
    actions["compression_marks"] = QAction("Marks", checkable=True, checked=True)
    made = CompressionPane(session, theme, actions)
    show(made, 900, 420)
    return made


def marks(pane):
    return {mark.text: mark for mark in pane.plot._marks}


def test_they_are_where_the_share_is_reached_and_on_the_curve(pane, trained):
    run = trained.runs.active.run
    found = marks(pane)
    assert list(found) == ["90\u00a0%", "95\u00a0%", "99\u00a0%"]
    for percent, mark in zip((90, 95, 99), found.values(), strict=True):
        merges = int(mark.x)
        assert run.bytes_per_token(merges) >= percent / 100 * run.bytes_per_token() > run.bytes_per_token(merges - 1)
        assert mark.y == run.bytes_per_token(merges)
        assert f"vocabulary {256 + merges}" in mark.tip


def test_a_click_on_a_mark_moves_the_playhead_exactly_there(qtbot, pane, trained):
    mark = marks(pane)["95\u00a0%"]
    place = pane.plot.chart.place(mark.x, mark.y).toPoint()
    qtbot.mouseClick(pane.plot, Qt.MouseButton.LeftButton, pos=place + type(place)(2, 2))
    assert trained.view.playhead == mark.x
    qtbot.mouseDClick(pane.plot, Qt.MouseButton.LeftButton, pos=place)
    assert trained.view.playhead == mark.x


def test_they_can_be_switched_off_and_stand_only_on_bytes_per_token(pane, trained):
    pane._marks.trigger()
    assert not marks(pane)
    pane._marks.trigger()
    assert marks(pane)
    pane._choose_view(next(action for action, view in pane._choices.items() if view is TOKENS))
    assert not marks(pane)


def test_they_change_what_is_drawn(pane, trained):
    marked = pane.plot.to_image(600, 300)
    pane._marks.trigger()
    assert pane.plot.to_image(600, 300) != marked


def test_they_are_on_the_held_out_curve_where_there_is_one(qtbot, session, pane, make_run):
    run = make_run(sample_text("article"), vocabulary_size=600, held_out=0.2)
    qtbot.waitUntil(lambda: run.held_out.tokens is not None, timeout=PATIENCE)
    qtbot.waitUntil(lambda: all("held-out" in mark.tip for mark in marks(pane).values()))
    for mark in marks(pane).values():
        assert mark.y == run.held_out_bytes_per_token(int(mark.x))


def test_a_run_of_one_merge_has_one_mark_for_each_place(pane, make_run):
    make_run(vocabulary_size=257)
    places = [mark.x for mark in pane.plot._marks]
    assert len(places) == len(set(places)) > 0
