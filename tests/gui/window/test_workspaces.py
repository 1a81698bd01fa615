"""The workspaces: each remembers its own arrangement, in this window and in the next."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtCore import QByteArray, QPoint, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QSlider,
    QTabBar,
    QTextEdit,
    QToolButton,
    QWidget,
)

from tests.gui.person import at_the_window, at_window, quiet, trained
from tests.gui.window.test_little_room import settle, tabs
from tests.gui.window.test_low_window import places, set_height
from tokstudio.gui.project.document import ProjectDocument
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.window import main_window
from tokstudio.gui.window.main_window import MainWindow
from tokstudio.gui.window.panes import KINDS
from tokstudio.gui.window.workspaces import WORKSPACES

SIDES = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


def checked(window) -> list[str]:
    """The workspaces that are checked in the menu."""
    return [name for name in WORKSPACES if window.actions_by_id[f"workspace_{name}"].isChecked()]


def enter(window, name: str) -> None:
    window.actions_by_id[f"workspace_{name}"].trigger()
    QApplication.processEvents()


def seen(window) -> set[str]:
    return set(places(window))


IN_TRAIN = {"corpus", "configure", "compression", "merges", "text", "token"}


@at_window()
def test_each_workspace_has_few_panes_keys_change_it_and_what_is_elsewhere_is_shown_there(qtbot, unstyled, window):
    every = [pane.objectName() for pane in window.panes]
    for workspace in WORKSPACES.values():
        for size in range(3):
            columns = workspace.columns(size, every)
            listed = [pane for *_, column in columns for place in column for pane in place]
            assert sorted(listed) == sorted(workspace.panes), "each has one place"
            assert sum(width for width, *_ in columns) == pytest.approx(1)
        shared = [place for *_, column in workspace.columns(0, every) for place in column]
        assert len(shared) <= 6
        assert max(map(len, shared)) <= 3
    assert set(every) == set().union(*(workspace.panes for workspace in WORKSPACES.values()))
    window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is not None)
    window.places.begin_runs()
    assert checked(window) == ["train"]
    shown = {}
    keys = {Qt.Key.Key_4: "compare", Qt.Key.Key_3: "explore", Qt.Key.Key_1: "learn", Qt.Key.Key_2: "train"}
    for key, name in keys.items():
        qtbot.keyClick(window, key, SIDES)
        assert checked(window) == [name]
        QApplication.processEvents()
        shown[name] = places(window)
        assert set(shown[name]) <= WORKSPACES[name].panes
    assert shown["compare"]["runs"].right() < shown["compare"]["compare"].left()
    assert shown["explore"]["corpus"].right() < shown["explore"]["explore"].left()
    assert shown["explore"]["explore"].width() > shown["explore"]["corpus"].width() * 2
    assert set(shown["learn"]) == {"guide", "compression", "merges", "text", "token"}
    assert set(shown["train"]) == IN_TRAIN
    qtbot.keyClick(window, Qt.Key.Key_0, SIDES)
    assert checked(window) == ["learn"], "back where it was left"
    # What is in another workspace is shown there with the way back.
    enter(window, "train")
    window.actions_by_id["guide"].trigger()
    assert checked(window) == ["learn"]
    assert "guide" in seen(window)
    assert window.status.currentMessage() == "Guide is in the workspace Learn. Ctrl+Alt+0 goes back to Train."
    window.actions_by_id["workspace_back"].trigger()
    assert checked(window) == ["train"]
    window.places.open(window.compare)
    assert checked(window) == ["compare"]
    window.places.open(window.text)
    assert checked(window) == ["compare"], "the text is here too"
    window.places.open(window.why)
    assert checked(window) == ["train"]
    assert "why" in seen(window)


def test_the_very_first_start_is_for_learning_and_shows_what_has_something_to_show(qtbot, monkeypatch, unstyled):
    def act(window, answers):
        QApplication.processEvents()
        assert checked(window) == ["learn"]
        assert seen(window) == {"guide", "compression", "text"}
        assert window.compression.welcome.isVisible()
        assert controls(window) <= 24
        tools = window.toolbar.findChildren(QToolButton)
        assert not any(tool.isVisible() for tool in tools if tool.text() in ("Pause", "Step", "Stop", "Export"))
        assert not window.finder.box.isVisible()
        assert window.text.reader.isVisible(), "the article, to read"
        window.actions_by_id["sample_train_python"].trigger()
        quiet(qtbot, window)
        assert seen(window) == {"guide", "compression", "merges", "text", "token"}
        assert not window.text.reader.isVisible()
        assert window.finder.box.isVisible()

    assert at_the_window(monkeypatch, act, ever_first=True) == 0


@at_window()
def test_a_workspace_that_was_left_before_the_first_run_has_its_usual_shares_after_it(qtbot, unstyled, window):
    window.resize(1440, 900)
    for name in ("explore", "learn"):
        enter(window, name)
        QApplication.processEvents()
    enter(window, "train")
    window.places.begin_runs()
    for name in ("explore", "learn"):
        enter(window, name)
        QApplication.processEvents()
        shown = places(window)
        for width, upper, column in WORKSPACES[name].columns(0, [pane.objectName() for pane in window.panes]):
            top = shown[column[0][0]]
            assert abs(top.width() - width * window.width()) < 30, (name, column)
            if len(column) == 2:
                height = top.height() + shown[column[1][0]].height()
                assert abs(top.height() - upper * height) < 80, (name, column)
        if name == "explore":
            enter(window, "train")
            continue
        # What the user changes afterwards stays.
        left = next(iter(shown.values()))
        border = QPoint(left.right() + 4, left.center().y())
        qtbot.mousePress(window, Qt.MouseButton.LeftButton, pos=border)
        qtbot.mouseMove(window, border + QPoint(60, 0))
        QApplication.processEvents()
        qtbot.mouseRelease(window, Qt.MouseButton.LeftButton, pos=border + QPoint(60, 0))
        QApplication.processEvents()
        chosen = places(window)
        assert chosen != shown
        enter(window, "train")
        enter(window, name)
        QApplication.processEvents()
        # Qt may round a border to the next pixel when it restores a layout; it does so once.
        again = places(window)
        assert again.keys() == chosen.keys()
        for pane, place in chosen.items():
            sides = zip(again[pane].getRect(), place.getRect(), strict=True)
            assert max(abs(one - other) for one, other in sides) <= 1, pane


def controls(window) -> int:
    """How many widgets in sight take a click or the focus; titles of menus do not count."""
    kinds = (
        QAbstractButton,
        QAbstractSpinBox,
        QComboBox,
        QLineEdit,
        QTextEdit,
        QPlainTextEdit,
        QSlider,
        QAbstractItemView,
    )
    found = [one for one in window.findChildren(QWidget) if isinstance(one, kinds) and one.isEnabled()]
    tabs = [bar for bar in window.findChildren(QTabBar) if not bar.visibleRegion().isEmpty()]
    in_sight = [one for one in found if not one.visibleRegion().isEmpty() and not isinstance(one.parent(), QTabBar)]
    return len(in_sight) + sum(bar.count() for bar in tabs)


@at_window()
def test_each_workspace_remembers_and_stores_its_arrangement_until_it_is_reset_and_a_project_opens_in_its_own(
    qtbot, unstyled, window
):
    set_height(qtbot, window, 900)
    window.token.close()
    window.distribution.raise_()
    enter(window, "compare")
    assert not window.token.isHidden()
    window.text.close()
    window.sizes.raise_()
    QApplication.processEvents()
    settle(qtbot, window)
    compare = places(window)
    enter(window, "train")
    assert window.token.isHidden()
    assert not window.text.isHidden()
    assert "distribution" in places(window)
    train = places(window)
    enter(window, "compare")
    assert window.text.isHidden()
    assert set(places(window)) == set(compare)
    for pane, place in places(window).items():
        assert abs(place.height() - compare[pane].height()) < 24
    window.actions_by_id["reset_layout"].trigger()
    QApplication.processEvents()
    assert seen(window) == {"runs", "text", "compare"}
    enter(window, "train")
    # Qt shares out the rest of a division anew: by a pixel.
    now = places(window)
    assert set(now) == set(train)
    for pane, place in now.items():
        assert max(abs(place.height() - train[pane].height()), abs(place.width() - train[pane].width())) <= 2
    assert window.token.isHidden()
    # It is stored as the workspace changes.
    window.why.close()
    enter(window, "compare")
    stored = Preferences(window.preferences.file)
    assert stored.get("workspace", "") == "compare"
    layout = stored.bytes("layout")
    window.sizes.close()
    enter(window, "learn")
    assert Preferences(window.preferences.file).bytes("layout") == layout
    assert not Preferences(window.preferences.file).bytes("layout_compare").isEmpty()
    # A project keeps the layout with its workspace.
    assert isinstance(window.projects, ProjectDocument)
    for name in ("compare", "train"):
        enter(window, name)
        window.reset_layout()
    enter(window, "compare")
    window.text.close()
    project = window.arrangement()
    enter(window, "train")
    window.why.close()
    window.arrange(project)
    assert checked(window) == ["compare"]
    assert window.text.isHidden()
    enter(window, "train")
    assert window.why.isHidden()
    assert not window.text.isHidden()


def test_the_next_window_opens_in_the_workspace_and_the_arrangements_of_the_last_and_if_low_does_not_grow(
    qtbot, monkeypatch, unstyled
):
    def arrange(window, answers):
        set_height(qtbot, window, 900)
        window.why.close()
        enter(window, "explore")
        enter(window, "compare")
        window.runs.close()
        window.token.raise_()

    def look(window, answers):
        assert checked(window) == ["compare"]
        qtbot.waitUntil(lambda: seen(window) == {"compare", "token"})
        assert window.runs.isHidden()
        assert window.compare.empty.isVisible(), "there is no run"
        assert "Each text will have a row here" in window.compare.empty.label.text()
        buttons = [each.text() for each in window.compare.empty.findChildren(QAbstractButton) if each.isVisible()]
        assert buttons == ["Train", "Open Tokenizer…", "Compare Algorithms"]
        set_height(qtbot, window, 640)
        enter(window, "explore")
        enter(window, "compare")
        qtbot.waitUntil(lambda: "compare" in places(window))
        settle(qtbot, window)
        assert window.height() == 640
        enter(window, "train")
        assert window.why.isHidden()
        assert not window.runs.isHidden()

    assert at_the_window(monkeypatch, arrange) == 0
    assert at_the_window(monkeypatch, look) == 0


@pytest.fixture
def window(qtbot, session, theme, tmp_path):
    """Makes windows with the settings in one file; each is closed with the test."""
    made: list[MainWindow] = []

    def window(settings: str = "settings.ini") -> MainWindow:
        one = MainWindow(session, theme, Preferences(tmp_path / settings))
        qtbot.addWidget(one)
        one.resize(1440, 900)
        one.show()
        qtbot.waitExposed(one)
        made.append(one)
        return one

    yield window
    for one in made:
        one.hide()


def test_a_damaged_layout_gives_the_default_one(window, tmp_path, unstyled):
    settings = Preferences(tmp_path / "settings.ini")
    for workspace in WORKSPACES.values():
        # That of Train has the right head.
        settings.set_bytes(workspace.key, QByteArray(b"\x00\x00\x00\xff\x00\x00\x00\x04damaged"))
    settings.set("workspace", "unknown")
    settings.flush()
    made = window()
    QApplication.processEvents()
    assert checked(made) == ["train"]
    assert tabs(made) == {"Compression Distribution", "Merges Vocabulary Tokenizers", "Token Why"}
    for name in ("compare", "learn"):
        enter(made, name)
        assert checked(made) == [name]
    assert seen(made) == {"guide", "compression", "text"}


def test_a_layout_that_does_not_know_a_pane_shows_it_in_its_place_and_one_of_0_1_only_the_panes_of_train(
    window, monkeypatch, tmp_path, unstyled
):
    with monkeypatch.context() as older:
        older.setattr(main_window, "KINDS", {name: kind for name, kind in KINDS.items() if name != "distribution"})
        first = window()
        enter(first, "train")
    first.text.close()
    first.remember()
    # As in 0.1.0, which had all panes in one layout.
    first.text.show()
    first.token.close()
    first.vocabulary.raise_()
    for other, pane in ((first.compression, first.compare), (first.runs, first.sizes), (first.why, first.guide)):
        first.tabifyDockWidget(other, pane)
    old = Preferences(tmp_path / "of-0.1.ini")
    old.set_bytes("layout", first.saveState(4))
    old.flush()
    first.hide()
    second = window()
    QApplication.processEvents()
    assert second.text.isHidden()
    assert not second.distribution.isHidden()
    assert second.compression in second.tabifiedDockWidgets(second.distribution)
    second.hide()
    third = window("of-0.1.ini")
    QApplication.processEvents()
    assert checked(third) == ["train"]
    assert not third.text.isHidden()
    assert third.token.isHidden()
    assert "vocabulary" in places(third)
    assert seen(third) <= WORKSPACES["train"].panes


@at_window()
def test_low_windows_keep_their_height_and_have_one_place_where_high_ones_have_two(qtbot, unstyled, window):
    window.places.begin_runs()
    set_height(qtbot, window, 900)
    enter(window, "compare")
    high, shared = places(window), tabs(window)
    enter(window, "train")
    set_height(qtbot, window, 640)
    enter(window, "compare")
    qtbot.waitUntil(lambda: window.height() == 640)
    assert len(places(window)) == len(high) - 1
    enter(window, "train")
    set_height(qtbot, window, 900)
    enter(window, "compare")
    qtbot.waitUntil(lambda: set(places(window)) == set(high))
    assert tabs(window) == shared
    for pane, place in places(window).items():
        assert abs(place.height() - high[pane].height()) < 24, pane
    layout = window.arrangement()
    enter(window, "train")
    set_height(qtbot, window, 640)
    window.arrange(layout)
    settle(qtbot, window)
    assert "compare" in places(window)
    assert window.height() == 640


@at_window("{book}")
def test_the_text_in_other_tokenizers_is_shown_in_compare_and_no_window_grows(qtbot, unstyled, book, window):
    trained(qtbot, window)
    window.session.view.set_text("The cat sat.")
    for begin in ("learn", "train"):
        window.places.enter(begin)
        settle(qtbot, window)
        height = window.height()
        window.text.encode.caption.click()
        assert window.places.workspace == "compare"
        assert window.compare.isVisible()
        assert window.compare.same_text.isVisible()
        window.actions_by_id["workspace_back"].trigger()
        settle(qtbot, window)
        assert window.places.workspace == begin
        assert window.compare.isHidden()
        assert window.height() == height
