"""Panes that the start does not show are made after it, or before anything goes on."""

from __future__ import annotations

from itertools import groupby

import pytest
from PySide6.QtCore import Qt

from tests.gui.person import at_rest, at_the_window, quiet
from tests.gui.window.test_little_room import settle
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.window import main_window
from tokstudio.gui.window.panes import KINDS
from tokstudio.gui.window.workspaces import LEARN, WORKSPACES

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


@pytest.mark.parametrize(
    ("workspace", "arranged"),
    [(LEARN, False), (LEARN, True), ("explore", False), ("explore", True), ("compare", False)],
)
def test_a_pane_that_is_made_later_looks_as_one_that_was_there_at_once(qtbot, monkeypatch, workspace, arranged):
    looks, stored, is_first = [], Preferences().file, (workspace, arranged) == (LEARN, False)
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
        if (workspace, arranged) == ("explore", False):
            assert window.explore.page.empty.isVisible()
            assert "Each document of the corpus will have a row here" in window.explore.page.empty.label.text()
        look = {("first", "window"): window.grab().toImage()}
        # How panes look elsewhere, the first start shows; others concern their workspace, left once and entered again.
        others = [name for name in WORKSPACES if name != workspace][: None if is_first else 1]
        for name in (workspace, *others, workspace, "with a run"):
            if name in WORKSPACES:
                window.show_workspace(name)
            else:
                window.places.begin_runs()
            quiet(qtbot, window)
            settle(qtbot, window)
            seen = [pane for pane in window.panes if not pane.visibleRegion().isEmpty()]
            at_rest(qtbot, *seen)
            look |= {(name, pane.objectName()): pane.grab().toImage() for pane in seen}
            beside = {pane.objectName(): window.tabifiedDockWidgets(pane) for pane in window.panes}
            look[name, "tabs"] = {name: [other.objectName() for other in others] for name, others in beside.items()}
            look[name, "places"] = {pane.objectName(): window.dockWidgetArea(pane) for pane in window.panes}
            look[name, "menu"] = [pane.objectName() for pane in window.places.panes]
        look["all", "controls"] = controls(window)
        looks.append(look)

    if not is_first:
        # How the style is applied, that one shows, too.
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


@pytest.mark.parametrize("ask", [lambda window: window.show_workspace("compare"), lambda window: window.focus_filter()])
def test_all_are_there_before_they_are_shown(qtbot, monkeypatch, unstyled, ask):
    def act(window, _) -> None:
        assert made(window) != EVERY
        ask(window)
        assert made(window) == EVERY
        quiet(qtbot, window)

    assert at_the_window(monkeypatch, act, ever_first=True) == 0


def test_the_others_follow_when_the_window_answers_and_are_asked_for_before_anything_goes_on(
    qtbot, monkeypatch, unstyled, book
):
    asked, make_rest = [], main_window.MainWindow.make_rest

    def asking(window) -> None:
        asked.append(True)
        make_rest(window)

    def act(window, _) -> None:
        assert made(window) == WORKSPACES[LEARN].panes - WORKSPACES[LEARN].with_run
        qtbot.waitUntil(lambda: made(window) == EVERY)
        session = window.session
        asks = [
            lambda: session.view.set_text("a text"),
            lambda: session.training.set_settings(Settings(300)),
            lambda: session.corpus.add_text("a text", "A text"),
            lambda: session.corpus.open_paths([book]),
            window.tour.start,
        ]
        for number, ask in enumerate(asks):
            quiet(qtbot, window)
            asked.clear()
            ask()
            assert asked, number
        quiet(qtbot, window)

    monkeypatch.setattr(main_window.MainWindow, "make_rest", asking)
    assert at_the_window(monkeypatch, act, ever_first=True) == 0


def test_a_problem_of_the_first_file_stands_in_corpus(qtbot, monkeypatch, unstyled, tmp_path):
    program = tmp_path / "program.bin"
    program.write_bytes(bytes(range(256)) * 40)

    def act(window, _) -> None:
        quiet(qtbot, window)
        assert "program.bin" in window.corpus.problems.problems[0]

    assert at_the_window(monkeypatch, act, [str(program)], ever_first=True) == 0
