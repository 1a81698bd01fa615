"""The workspaces: each remembers its own arrangement, in this window and in the next."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtCore import QByteArray, Qt
from PySide6.QtWidgets import QApplication

from tests.gui.person import at_the_window, at_window
from tests.gui.window.test_little_room import settle, tabs
from tests.gui.window.test_low_window import places, set_height, widen_left
from tokstudio.gui.project.document import ProjectDocument
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.window.main_window import MainWindow
from tokstudio.gui.window.workspaces import WORKSPACES

SIDES = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


def checked(window) -> list[str]:
    """The workspaces that are checked in the menu."""
    return [name for name in WORKSPACES if window.actions_by_id[f"workspace_{name}"].isChecked()]


def enter(window, name: str) -> None:
    window.actions_by_id[f"workspace_{name}"].trigger()
    QApplication.processEvents()


@at_window()
def test_every_pane_has_one_place_in_a_workspace_and_keys_change_it(qtbot, unstyled, window):
    known = [pane.objectName() for pane in window.panes]
    for workspace in WORKSPACES.values():
        for size in range(3):
            columns = workspace.columns(size, known)
            assert sorted(pane for *_, column in columns for place in column for pane in place) == sorted(known)
            assert sum(width for width, *_ in columns) == pytest.approx(1)
    window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is not None)
    assert checked(window) == ["train"]
    shown = {}
    for key, name in ((Qt.Key.Key_2, "compare"), (Qt.Key.Key_3, "learn"), (Qt.Key.Key_1, "train")):
        qtbot.keyClick(window, key, SIDES)
        assert checked(window) == [name]
        QApplication.processEvents()
        shown[name] = places(window)
    assert {"runs", "text"} <= set(shown["compare"])
    assert shown["compare"]["runs"].right() < shown["compare"]["text"].left()
    assert {"guide", "corpus", "merges", "text", "vocabulary"} == set(shown["learn"])
    assert {"corpus", "configure", "compression", "merges", "text", "token"} == set(shown["train"])


@at_window()
def test_each_workspace_remembers_its_arrangement_until_it_is_reset(qtbot, unstyled, window):
    set_height(qtbot, window, 900)
    window.token.close()
    window.distribution.raise_()
    enter(window, "compare")
    assert not window.token.isHidden()
    widen_left(qtbot, window, 60)
    window.why.close()
    window.vocabulary.raise_()
    settle(qtbot, window)
    compare = places(window)
    assert compare["runs"].width() > 470
    enter(window, "train")
    assert window.token.isHidden()
    assert not window.why.isHidden()
    assert "distribution" in places(window)
    train = places(window)
    enter(window, "compare")
    assert window.why.isHidden()
    assert places(window) == compare
    window.actions_by_id["reset_layout"].trigger()
    QApplication.processEvents()
    assert not window.why.isHidden()
    assert places(window)["runs"].width() < 460
    enter(window, "train")
    assert places(window) == train
    assert window.token.isHidden()


def test_the_next_window_opens_in_the_workspace_and_the_arrangements_of_the_last(qtbot, monkeypatch, unstyled):
    def arrange(window, answers):
        window.why.close()
        enter(window, "learn")
        window.runs.close()
        window.token.raise_()

    def look(window, answers):
        assert checked(window) == ["learn"]
        qtbot.waitUntil(lambda: {"guide", "corpus", "merges", "text", "token"} == set(places(window)))
        assert window.runs.isHidden()
        assert not window.why.isHidden()
        enter(window, "train")
        assert window.why.isHidden()
        assert not window.runs.isHidden()

    assert at_the_window(monkeypatch, arrange) == 0
    assert at_the_window(monkeypatch, look) == 0


@at_window()
def test_a_layout_is_stored_as_the_workspace_changes_and_a_project_opens_in_its_own(unstyled, window):
    window.why.close()
    enter(window, "compare")
    stored = Preferences(window.preferences.file)
    assert stored.get("workspace", "") == "compare"
    layout = stored.bytes("layout")
    window.why.close()
    enter(window, "learn")
    assert Preferences(window.preferences.file).bytes("layout") == layout
    assert not Preferences(window.preferences.file).bytes("layout_compare").isEmpty()
    # A project keeps the layout with its workspace.
    assert isinstance(window.projects, ProjectDocument)
    for name in ("compare", "train"):
        enter(window, name)
        window.reset_layout()
    enter(window, "compare")
    window.corpus.close()
    project = window.arrangement()
    enter(window, "train")
    window.why.close()
    window.arrange(project)
    assert checked(window) == ["compare"]
    assert window.corpus.isHidden()
    enter(window, "train")
    assert window.why.isHidden()
    assert not window.corpus.isHidden()


@pytest.fixture
def window(qtbot, session, theme, tmp_path):
    """Makes windows with the settings in one file; each is closed with the test."""
    made: list[MainWindow] = []

    def window() -> MainWindow:
        one = MainWindow(session, theme, Preferences(tmp_path / "settings.ini"))
        qtbot.addWidget(one)
        one.resize(1440, 900)
        one.show()
        qtbot.waitExposed(one)
        made.append(one)
        return one

    yield window
    for one in made:
        one.hide()


def test_a_layout_stored_before_there_were_workspaces_opens_as_train(window, tmp_path, unstyled):
    first = window()
    first.token.close()
    first.vocabulary.raise_()
    old = Preferences(tmp_path / "settings.ini")
    # Its number is that of 0.1.0, which stored nothing else.
    old.set_bytes("layout", first.saveState(4))
    old.flush()
    first.hide()
    second = window()
    QApplication.processEvents()
    assert checked(second) == ["train"]
    assert second.token.isHidden()
    assert "vocabulary" in places(second)


@pytest.mark.parametrize("stored", [b"damaged", b"\x00\x00\x00\xff\x00\x00\x00\x04damaged"])
def test_a_damaged_layout_gives_the_default_one(window, tmp_path, stored, unstyled):
    settings = Preferences(tmp_path / "settings.ini")
    for workspace in WORKSPACES.values():
        settings.set_bytes(workspace.key, QByteArray(stored))
    settings.set("workspace", "unknown")
    settings.flush()
    made = window()
    QApplication.processEvents()
    assert checked(made) == ["train"]
    assert tabs(made) >= {"Merges Vocabulary Runs How Large?", "Token Why"}
    for name in ("compare", "learn"):
        enter(made, name)
        assert checked(made) == [name]
        assert tuple(pane.objectName() for pane in made.panes if pane.isHidden()) == WORKSPACES[name].closed
    assert set(places(made)) == {"guide", "corpus", "merges", "text", "vocabulary"}


def test_a_layout_that_does_not_know_a_pane_shows_it_in_its_place(window, unstyled):
    first = window()
    first.text.close()
    for pane in (first.compare, first.guide):
        pane.setObjectName(f"an older {pane.objectName()}")
    first.remember()
    first.hide()
    second = window()
    QApplication.processEvents()
    assert second.text.isHidden()
    assert not second.compare.isHidden()
    assert second.compression in second.tabifiedDockWidgets(second.compare)
    enter(second, "compare")
    assert "compare" in places(second)
    assert places(second)["compare"].width() > 900
    enter(second, "learn")
    assert places(second)["guide"].left() < places(second)["corpus"].left()


@at_window()
def test_low_windows_keep_their_height_and_one_place_for_the_right_column(qtbot, unstyled, window):
    for name in ("compare", "learn"):
        set_height(qtbot, window, 900)
        enter(window, name)
        high, shared = places(window), tabs(window)
        enter(window, "train")
        set_height(qtbot, window, 640)
        enter(window, name)
        qtbot.waitUntil(lambda: window.height() == 640)
        assert len(places(window)) == len(high) - 1, name
        enter(window, "train")
        set_height(qtbot, window, 900)
        enter(window, name)
        qtbot.waitUntil(lambda high=high: set(places(window)) == set(high))
        assert tabs(window) == shared, name
        for pane, place in places(window).items():
            assert abs(place.height() - high[pane].height()) < 24, (name, pane)
        enter(window, "train")
    set_height(qtbot, window, 900)
    enter(window, "compare")
    layout = window.arrangement()
    enter(window, "train")
    set_height(qtbot, window, 600)
    window.arrange(layout)
    settle(qtbot, window)
    assert "compare" in places(window)
    assert window.height() == 600


def test_an_arrangement_left_in_a_high_window_does_not_make_a_low_one_grow(qtbot, monkeypatch, unstyled):
    def leave(window, answers):
        set_height(qtbot, window, 900)
        enter(window, "compare")
        enter(window, "train")

    def act(window, answers):
        set_height(qtbot, window, 600)
        enter(window, "compare")
        qtbot.waitUntil(lambda: "compare" in places(window))
        settle(qtbot, window)
        assert window.height() == 600
        assert len(places(window)) == 3

    assert at_the_window(monkeypatch, leave) == 0
    assert at_the_window(monkeypatch, act) == 0
