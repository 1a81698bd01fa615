"""The Runs pane as a person uses it: choose, rename, delete, and watch a training grow."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel, QLineEdit, QMenu, QTableView

from tests.gui.person import PATIENCE
from tokstudio.gui.models.runs import CORPUS, ENDED, HELD_OUT, MARK, MERGES, NAME, RATIO, SECONDS
from tokstudio.gui.panes.runs import RunsPane
from tokstudio.gui.training import Settings


@pytest.fixture
def pane(session, theme, actions, dock) -> RunsPane:
    actions["delete_run"].triggered.connect(lambda: session.delete(session.active))
    pane = RunsPane(session, theme, actions)
    dock(pane, 1000, 500)
    # The window's own action for the same key must not win while the table has the focus.
    actions["rename_run"].setShortcut("F2")
    pane.window().addAction(actions["rename_run"])
    return pane


def table(pane: RunsPane) -> QTableView:
    view = pane.findChild(QTableView)
    assert view is not None
    return view


def text(pane: RunsPane, row: int, column: int) -> str:
    return table(pane).model().index(row, column).data()


def click(qtbot, pane: RunsPane, row: int, column: int, double: bool = False) -> None:
    view = table(pane)
    place = view.visualRect(view.model().index(row, column)).center()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    if double:
        qtbot.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)


@pytest.fixture
def three(make_run, pane) -> RunsPane:
    for size in (270, 280, 290):
        make_run(vocabulary_size=size)
    return pane


def test_an_empty_pane_says_what_it_is_for(pane):
    words = [label.text() for label in pane.findChildren(QLabel) if label.isVisible()]
    assert "Every training is kept here as a run, to be compared, renamed or deleted." in words
    assert not table(pane).isVisible()


def test_every_training_becomes_a_row_and_the_newest_is_active(three, session):
    assert table(three).isVisible()
    assert [text(three, row, NAME) for row in range(3)] == ["Run 1", "Run 2", "Run 3"]
    assert [text(three, row, MERGES) for row in range(3)] == ["14", "24", "34"]
    assert text(three, 2, RATIO) == f"{session.active.bytes_per_token(34):.3f}"
    assert table(three).currentIndex().row() == 2


@pytest.mark.parametrize("column", [MARK, NAME, MERGES])
def test_a_click_on_a_row_makes_its_run_active(qtbot, three, session, column):
    click(qtbot, three, 0, column)
    assert session.active is session.runs[0]
    assert session.playhead == 14


def test_a_double_click_and_enter_make_a_run_active(qtbot, three, session):
    click(qtbot, three, 1, MERGES, double=True)
    assert session.active is session.runs[1]
    table(three).setFocus()
    qtbot.keyClick(table(three), Qt.Key.Key_Up)
    qtbot.keyClick(table(three), Qt.Key.Key_Return)
    assert session.active is session.runs[0]


def test_f2_renames_in_place(qtbot, three, session):
    table(three).setFocus()
    qtbot.keyClick(table(three), Qt.Key.Key_Up)
    qtbot.keyClick(table(three), Qt.Key.Key_F2)
    editor = table(three).findChild(QLineEdit)
    assert editor is not None
    qtbot.keyClicks(editor, "Half size")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: session.runs[1].name == "Half size")
    assert text(three, 1, NAME) == "Half size"
    assert session.active is session.runs[2], "Enter in the field ends the editing and activates nothing"


def test_delete_forgets_the_selected_run(qtbot, three, session):
    first, second, third = session.runs
    click(qtbot, three, 1, NAME)
    qtbot.keyClick(table(three), Qt.Key.Key_Delete)
    assert session.runs == [first, third]
    assert [text(three, row, NAME) for row in range(2)] == ["Run 1", "Run 3"]
    assert second not in session.runs


def test_the_menu_of_a_row_acts_on_that_row(qtbot, three, session):
    view = table(three)
    place = view.visualRect(view.model().index(0, NAME)).center()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    view.customContextMenuRequested.emit(place)
    menu = view.findChild(QMenu)
    assert menu is not None
    assert [action.text() for action in menu.actions()] == ["Make Active", "Rename", "Delete"]
    menu.actions()[0].trigger()
    assert session.active is session.runs[0]
    menu.close()


def test_a_training_grows_on_screen_and_stays_active_while_another_row_is_chosen(qtbot, session, pane, make_run):
    make_run(vocabulary_size=270)
    session.set_settings(Settings(vocabulary_size=300))
    session.step()
    qtbot.waitUntil(lambda: session.state == "paused", timeout=PATIENCE)
    qtbot.waitUntil(lambda: text(pane, 1, ENDED) == "paused")
    with qtbot.waitSignal(session.refused):
        click(qtbot, pane, 0, NAME)
    assert session.active is session.runs[1]
    assert table(pane).currentIndex().row() == 0
    with qtbot.waitSignal(table(pane).model().dataChanged, timeout=2000):
        session.step()
    qtbot.waitUntil(lambda: text(pane, 1, MERGES) == "2", timeout=5000)
    session.resume()
    qtbot.waitUntil(lambda: session.training is None, timeout=PATIENCE)
    assert text(pane, 1, MERGES) == f"{len(session.runs[1])}"
    assert len(session.runs[1]) > 2
    assert text(pane, 1, ENDED) == session.runs[1].ended
    assert text(pane, 1, SECONDS) == f"{session.runs[1].run.seconds:.3f}"


def test_a_hidden_pane_catches_up_when_it_is_shown(session, pane, make_run):
    pane.hide()
    make_run(vocabulary_size=270)
    assert table(pane).model().rowCount() == 0
    pane.show()
    assert text(pane, 0, NAME) == "Run 1"


def test_an_opened_tokenizer_stands_beside_the_runs(session, pane, make_run):
    make_run(vocabulary_size=270)
    session.add_tokenizer(session.active.tokenizer, "gpt2/tokenizer.json")
    assert text(pane, 1, NAME) == "gpt2/tokenizer.json"
    assert text(pane, 1, ENDED) == "opened from a file"
    assert text(pane, 1, CORPUS) == "–"


def test_a_narrow_table_cuts_off_nothing(qtbot, three):
    view = table(three)
    view.window().resize(420, 400)
    qtbot.waitUntil(lambda: view.viewport().width() < 420)
    assert view.horizontalHeader().length() <= view.viewport().width()
    assert not view.isColumnHidden(NAME)
    assert not view.isColumnHidden(MERGES)
    view.window().resize(1400, 400)
    qtbot.waitUntil(lambda: not view.isColumnHidden(SECONDS))


def test_a_context_menu_needs_a_row(three):
    view = table(three)
    view.customContextMenuRequested.emit(QPoint(5, view.viewport().height() - 5))
    assert view.findChild(QMenu) is None


def test_held_out_text_has_a_column_where_there_is_any(qtbot, pane, session, make_run):
    make_run(vocabulary_size=270)
    assert pane._table.isColumnHidden(HELD_OUT)
    session.set_sources(())
    session.add_text("the cat sat on the mat\n" * 60)
    session.set_settings(Settings(270, held_out=0.2, pattern="gpt2", special_tokens=("<s>",)))
    session.train()
    qtbot.waitUntil(lambda: session.training is None, timeout=PATIENCE)
    qtbot.waitUntil(lambda: session.active.held_out_ratio is not None, timeout=PATIENCE)
    assert not pane._table.isColumnHidden(HELD_OUT)
    model = pane._table.model()
    assert [model.index(row, HELD_OUT).data() for row in range(2)] == ["–", f"{session.active.held_out_ratio:.3f}"]
    tip = model.index(1, 1).data(Qt.ItemDataRole.ToolTipRole)
    for told in ("Pattern: gpt2", "Special tokens: &lt;s&gt;", "Share held out: 20%"):
        assert told in tip
