"""Panes that the start does not show are made after it, or before anything goes on."""

from __future__ import annotations

from itertools import groupby

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from tests.gui.person import at_rest, at_the_window, quiet
from tests.gui.window.test_little_room import settle
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.window import main_window
from tokstudio.gui.window.panes import KINDS
from tokstudio.gui.window.workspaces import LEARN, TRAIN, WORKSPACES

EVERY = set().union(*(workspace.panes for workspace in WORKSPACES.values()))


def made(window) -> set[str]:
    return set(window._made)


def controls(window) -> list[str]:
    """What Tab reaches in the panes, in its order."""
    found, after = [], window.nextInFocusChain()
    while after is not window:
        pane = next((pane.objectName() for pane in window.panes if pane.isAncestorOf(after)), "")
        if pane and after.focusPolicy() & Qt.FocusPolicy.TabFocus:
            found.append(f"{pane}: {type(after).__name__} {after.accessibleName()}")
        after = after.nextInFocusChain()
    return found


def test_the_others_follow_when_the_window_answers(qtbot, monkeypatch, unstyled):
    def act(window, _) -> None:
        assert made(window) == WORKSPACES[LEARN].panes - WORKSPACES[LEARN].with_run
        qtbot.waitUntil(lambda: made(window) == EVERY)

    assert at_the_window(monkeypatch, act, ever_first=True) == 0


@pytest.mark.parametrize(
    ("workspace", "arranged"),
    [(LEARN, False), (LEARN, True), (TRAIN, False), ("explore", False), ("explore", True), ("compare", False)],
)
def test_a_pane_that_is_made_later_looks_as_one_that_was_there_at_once(qtbot, monkeypatch, workspace, arranged):
    looks, stored = [], Preferences().file
    left_in = Preferences()
    left_in.set("workspace", workspace)
    left_in.flush()

    def arrange(window, _) -> None:
        quiet(qtbot, window)
        window.places.open(window.why)
        window.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, window.guide)
        window.resizeDocks([window.guide], [300], Qt.Orientation.Vertical)
        window.resizeDocks([window.text, window.token], [200, 400], Qt.Orientation.Vertical)
        settle(qtbot, window)

    def act(window, _) -> None:
        assert (made(window) == EVERY) is (how == "at once")
        # Some are made in a turn of their own.
        assert window.make_some() is (how == "later")
        settle(qtbot, window)
        look = {("first", "window"): window.grab().toImage()}
        for name in (workspace, *WORKSPACES, workspace, "with a run"):
            if name in WORKSPACES:
                window.show_workspace(name)
            else:
                window.places.begin_runs()
            quiet(qtbot, window)
            for _ in range(3):
                settle(qtbot, window)
                at_rest(qtbot, *window.panes)
            seen = [pane for pane in window.panes if not pane.visibleRegion().isEmpty()]
            look |= {(name, pane.objectName()): pane.grab().toImage() for pane in seen}
            beside = {pane.objectName(): window.tabifiedDockWidgets(pane) for pane in window.panes}
            look[name, "tabs"] = {name: [other.objectName() for other in others] for name, others in beside.items()}
            look[name, "places"] = {pane.objectName(): window.dockWidgetArea(pane) for pane in window.panes}
            look[name, "menu"] = [pane.objectName() for pane in window.places.panes]
        look["all", "controls"] = controls(window)
        looks.append(look)

    if (workspace, arranged) != (LEARN, False):
        # How the style is applied, the first start shows.
        monkeypatch.setattr(Theme, "style_sheet", "")
    if arranged:
        assert at_the_window(monkeypatch, arrange, ever_first=True) == 0
    left = stored.read_bytes()
    for how in ("later", "at once"):
        with monkeypatch.context() as patch:
            stored.write_bytes(left)
            if how == "at once":
                patch.setattr(main_window, "_ALWAYS", tuple(KINDS))
            assert at_the_window(patch, act, ever_first=True) == 0
    later, at_once = looks
    assert [key for key in later if later[key] != at_once[key]] == []
    assert len(later["all", "controls"]) > 100
    in_order = [name for name, _ in groupby(control.partition(":")[0] for control in later["all", "controls"])]
    assert len(in_order) == len(set(in_order)), "Tab leaves a pane before its last control"


@pytest.mark.parametrize(
    "ask",
    [
        lambda window, path: window.session.view.set_text("a text"),
        lambda window, path: window.session.training.set_settings(Settings(300)),
        lambda window, path: window.session.corpus.add_text("a text", "A text"),
        lambda window, path: window.session.corpus.open_paths([path]),
        lambda window, path: window.tour.start(),
        lambda window, path: window.show_workspace("compare"),
        lambda window, path: window.focus_filter(),
    ],
    ids=["text", "settings", "corpus", "job", "tour", "workspace", "filter"],
)
def test_all_are_there_before_anything_goes_on(qtbot, monkeypatch, unstyled, book, ask):
    def act(window, _) -> None:
        assert made(window) != EVERY
        ask(window, book)
        assert made(window) == EVERY
        quiet(qtbot, window)

    assert at_the_window(monkeypatch, act, ever_first=True) == 0


def test_a_problem_of_the_first_file_stands_in_corpus(qtbot, monkeypatch, unstyled, tmp_path):
    program = tmp_path / "program.bin"
    program.write_bytes(bytes(range(256)) * 40)

    def act(window, _) -> None:
        quiet(qtbot, window)
        assert "program.bin" in window.corpus.problems.problems[0]

    assert at_the_window(monkeypatch, act, [str(program)], ever_first=True) == 0


def test_what_was_chosen_before_holds_for_them(qtbot, monkeypatch, unstyled):
    def choose(window, _) -> None:
        window.actions_by_id["more_settings"].trigger()
        window.actions_by_id["byte_level_characters"].trigger()
        window.sizes.model_width.setValue(768)
        window.show_workspace(LEARN)

    def look(window, _) -> None:
        assert made(window) != EVERY
        assert [window.make_some() for _ in range(7)] == [*[True] * 6, False]
        assert window.sizes.model_width.value() == 768
        assert not window.configure.more.isHidden()
        texts = {menu.title(): menu for menu in window.menuBar().findChildren(main_window.Menu)}
        columns = next(menu for title, menu in texts.items() if title.replace("&", "") == "Columns of Vocabulary")
        columns.aboutToShow.emit()
        assert columns.actions() == window.vocabulary.table.columns_menu.actions()
        QApplication.processEvents()

    for act in (choose, look):
        assert at_the_window(monkeypatch, act, ever_first=True) == 0
