"""The vocabulary as a person uses it: at the playhead, sorted by a click, filtered by kind."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QToolButton

from tokstudio.gui.panes.vocabulary import VocabularyPane

USES = 6


@pytest.fixture
def pane(session, theme, actions, show):
    pane = VocabularyPane(session, theme, actions)
    show(pane, 760, 320)
    return pane


def ids(pane):
    return [pane.model.token_at(row) for row in range(pane.model.rowCount())]


def click_header(qtbot, pane, column):
    header = pane.table.horizontalHeader()
    place = QPoint(header.sectionViewportPosition(column) + header.sectionSize(column) // 2, header.height() // 2)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=place)
    qtbot.waitUntil(lambda: not pane.model.searching)


def test_empty_it_says_what_it_is_for(pane):
    assert pane.stack.currentIndex() == 0
    assert "vocabulary" in pane.stack.currentWidget().label.text()


def test_it_lists_what_exists_at_the_playhead(pane, trained):
    assert ids(pane) == list(range(600))
    trained.set_playhead(100)
    assert ids(pane) == list(range(356))
    uses = trained.active.uses(100)
    assert pane.model.index(300, USES).data() == f"{int(uses[300]):,}"


def test_a_click_on_a_header_sorts_and_another_turns_it_round(qtbot, pane, trained):
    uses = trained.active.uses(344)
    click_header(qtbot, pane, USES)
    first = [int(uses[token]) for token in ids(pane)]
    click_header(qtbot, pane, USES)
    second = [int(uses[token]) for token in ids(pane)]
    assert sorted([first, second]) == [sorted(first), sorted(first, reverse=True)]
    assert pane.table.rowAt(0) == 0


def test_kinds_filter_and_the_count_says_how_many(qtbot, pane, trained):
    pane.kinds.setCurrentText("Only in longer tokens")
    uses, before = trained.active.uses(344), trained.active.base_counts
    assert ids(pane) == [token for token in range(600) if uses[token] == 0 and (token >= 256 or before[token])]
    assert pane.note.text() == f"{len(ids(pane))} of 600"
    pane.kinds.setCurrentText("All")
    assert pane.note.text() == ""
    assert ids(pane) == list(range(600))


def test_choosing_a_row_shows_its_token(qtbot, pane, trained):
    place = QPoint(60, pane.table.rowViewportPosition(4) + 5)
    qtbot.mouseClick(pane.table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert trained.token == 4


def test_a_selection_that_goes_with_the_playhead_comes_back_with_it(pane, trained):
    looked = []
    trained.token_changed.connect(lambda: looked.append(trained.token))
    trained.look_at(500)
    assert pane.model.token_at(pane.table.current_row) == 500
    trained.set_playhead(10)
    assert pane.table.current_row == -1
    assert not pane.table.selectionModel().hasSelection()
    trained.set_playhead(344)
    assert pane.model.token_at(pane.table.current_row) == 500
    assert looked == [500]


def test_a_selection_survives_sorting_and_filtering(qtbot, pane, trained):
    trained.look_at(300)
    click_header(qtbot, pane, 1)
    assert pane.model.token_at(pane.table.current_row) == 300
    raw = trained.active.tokenizer.tokens[300]
    pane.filter.setText(raw.decode())
    qtbot.waitUntil(lambda: not pane.model.searching)
    assert pane.model.token_at(pane.table.current_row) == 300
    assert all(raw.lower() in trained.active.tokenizer.tokens[token].lower() for token in ids(pane))
    assert trained.token == 300


def test_a_sorted_list_follows_the_playhead(qtbot, pane, trained):
    click_header(qtbot, pane, 3)
    trained.set_playhead(50)
    qtbot.waitUntil(lambda: pane.model.rowCount() == 306)
    tokens = trained.active.tokenizer.tokens
    lengths = [len(tokens[token]) for token in ids(pane)]
    assert lengths in (sorted(lengths), sorted(lengths, reverse=True))


def test_all_rows_can_be_copied(qtbot, pane, trained):
    pane.table.setFocus()
    pane.table.selectAll()
    with qtbot.waitSignal(pane.table.copied):
        pane.table.copy()
    lines = QGuiApplication.clipboard().text().split("\n")
    assert [int(line.split("\t")[0]) for line in lines] == list(range(600))
    assert bytes.fromhex(lines[400].split("\t")[2]) == trained.active.tokenizer.tokens[400]


def test_the_export_button_is_the_windows_action(qtbot, pane, actions):
    button = pane.findChild(QToolButton)
    with qtbot.waitSignal(actions["export_vocabulary_csv"].triggered):
        button.click()
    assert button.accessibleName()


def test_another_run_takes_its_place(pane, trained, make_run):
    first = trained.active
    make_run(vocabulary_size=300)
    assert len(ids(pane)) == 300
    trained.activate(first)
    assert len(ids(pane)) == 600
    trained.delete(first)
    trained.delete(trained.active)
    assert pane.stack.currentIndex() == 0


def test_controls_have_names(pane):
    for widget in (pane.filter, pane.kinds, pane.table):
        assert widget.accessibleName()
        assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus
