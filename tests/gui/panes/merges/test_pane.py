"""The Merges pane: following the log, choosing, filtering, copying, and its rows as they are drawn."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication, QImage, QKeySequence, QRegion
from PySide6.QtWidgets import QWidget

from tests.gui.conftest import alone
from tests.gui.tables import click
from tokstudio import Corpus, __version__
from tokstudio.core.base.resources import sample_text
from tokstudio.gui.panes.merges import MergesPane
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.token_table.view import FollowTable

pane = alone(MergesPane, 640, 320)


def first_visible(pane):
    return pane.model.number_at(pane.table.rowAt(0))


def test_an_empty_pane_explains_itself_and_what_a_training_will_show(pane, session, qtbot, make_run):
    assert not pane.table.tabKeyNavigation()
    said = {}
    for algorithm in ("bpe", "wordpiece", "sentencepiece-bpe"):
        session.training.set_settings(Settings(300, algorithm=algorithm))
        said[algorithm] = pane.empty.label.text()
    assert said["bpe"].startswith("Merges appear here as they are made")
    assert said["wordpiece"].startswith("WordPiece has no merges: its tokens appear in Vocabulary")
    assert said["sentencepiece-bpe"].startswith("Merges appear here when the sentencepiece library has trained")
    session.corpus.set_sources(Corpus.from_counts({"a": 2, "b": 1}).sources)
    make_run(vocabulary_size=300)
    words = "No pair could be merged: no pre-token has two tokens."
    assert pane.empty.label.text() == words


def test_a_token_chosen_elsewhere_is_selected_and_one_that_is_pointed_at_is_not(pane, trained, qtbot):
    assert pane.stack.currentWidget() is pane.table
    assert pane.model.rowCount() == 344
    assert pane.model.index(0, 0).data() == "344"
    assert pane.model.index(0, 4).data() == f"{int(trained.runs.active.log.count[343]):,}"
    trained.view.set_playhead(20)
    row = pane.model.row_of_number(20)
    assert 0 <= pane.table.rowViewportPosition(row) < pane.table.viewport().height()
    assert pane.model.cell(row, 0).marked
    other = QWidget(pane.parentWidget())
    other.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    looked = []
    trained.view.token_changed.connect(lambda: looked.append(trained.view.token))
    trained.view.look_at(300)
    table = pane.table
    assert pane.model.token_at(table.current_row) == 300
    assert 0 <= table.rowViewportPosition(table.current_row) < table.viewport().height()
    assert not table.hasFocus()
    trained.view.look_at(65)
    assert table.current_row == -1
    assert looked == [300, 65]
    trained.view.look_at(300)
    before = pane.table.current_row
    trained.view.look_at(400, hover=True)
    assert trained.view.token == 400
    assert pane.table.current_row == before
    trained.view.look_at(401)
    assert pane.model.token_at(pane.table.current_row) == 401
    trained.runs.delete(trained.runs.active)
    assert pane.model.rowCount() == 0
    assert pane.stack.currentIndex() == 0


def test_a_row_is_chosen_by_mouse_or_keys_and_moves_the_playhead(qtbot, pane, trained):
    click(qtbot, pane.table, 3)
    assert trained.view.token == 255 + 341
    assert trained.view.playhead == 344
    qtbot.keyClick(pane.table, Qt.Key.Key_Down)
    assert trained.view.token == 255 + 340
    qtbot.keyClick(pane.table, Qt.Key.Key_Return)
    assert trained.view.playhead == 340
    assert pane.model.cell(3, 1).dimmed
    assert not pane.model.cell(4, 1).dimmed
    click(qtbot, pane.table, 5, double=True)
    assert trained.view.playhead == 339


def test_during_training_rows_stay_still_unless_the_view_is_at_the_top(qtbot, session, pane, step_to):
    session.corpus.add_text(sample_text("article"))
    session.training.set_settings(Settings(2000, None))
    step_to(41)
    assert first_visible(pane) == 41
    pane.table.verticalScrollBar().setValue(5 * pane.table.rowHeight(0) + 7)
    before = first_visible(pane), pane.table.rowViewportPosition(pane.model.row_of_number(30))
    session.training.resume()
    qtbot.waitUntil(lambda: session.training.current is None)
    assert len(session.runs.active) == 1744
    assert (first_visible(pane), pane.table.rowViewportPosition(pane.model.row_of_number(30))) == before
    pane.table.verticalScrollBar().setValue(0)
    assert first_visible(pane) == 1744


def test_new_merges_are_drawn_as_made_before_anything_follows_the_playhead(qtbot, session, pane):
    session.corpus.add_text(sample_text("article"))
    session.training.set_settings(Settings(2000, None))
    told = []
    session.training.merges_added.connect(
        lambda: told.append((pane.model.rowCount(), any(pane.model.cell(row, 1).dimmed for row in range(3))))
    )
    session.view.playhead_changed.connect(lambda: told.append(session.view.playhead))
    for made in range(1, 6):
        session.training.step()
        qtbot.waitUntil(lambda made=made: told[-1:] == [made])
    assert told[-4:] == [(4, False), 4, (5, False), 5]


def test_a_filter_says_how_many_pass_and_a_length_applies_to_numbers(qtbot, pane, trained):
    pane.focus_filter()
    qtbot.keyClicks(pane.filter, "th")
    qtbot.waitUntil(lambda: " of 344" in pane.note.text())
    tokens = trained.runs.active.tokenizer.tokens
    expected = sum(b"th" in tokens[token].lower() for token in range(256, 600))
    assert pane.note.text() == f"{expected} of 344"
    qtbot.keyClicks(pane.filter, "qq")
    qtbot.waitUntil(lambda: pane.note.text() == "0 of 344")
    assert pane.stack.currentIndex() == 2
    qtbot.keyClick(pane.filter, Qt.Key.Key_Escape)
    assert pane.model.rowCount() == 344
    assert pane.note.text() == ""
    assert pane.stack.currentWidget() is pane.table
    length = len(trained.runs.active.tokenizer.tokens[256 + 99])
    for wanted, listed in ((length, True), (length + 1, False)):
        pane.filter.setText(f"100 length:{wanted}")
        qtbot.waitUntil(lambda: not pane.model.searching)
        assert (pane.model.row_of_number(100) >= 0) is listed


def test_copied_rows_are_on_the_clipboard(qtbot, pane, trained):
    click(qtbot, pane.table, 0)
    qtbot.keyClick(pane.table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    with qtbot.waitSignal(pane.table.copied) as copied:
        qtbot.keyClick(pane.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    about, *lines = QGuiApplication.clipboard().text().split("\n")
    assert about == f"{trained.runs.active.name} (600 tokens), TokStudio {__version__}"
    assert copied.args == [2, 2]
    assert [line.split("\t")[0] for line in lines] == ["344", "343"]
    assert lines[0].split("\t")[4] == str(int(trained.runs.active.log.count[343]))


def test_a_new_run_begins_with_nothing_selected(qtbot, pane, trained, step_to):
    table = pane.table
    table.setCurrentIndex(pane.model.index(3, 0))
    qtbot.keyClick(table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert trained.view.token is not None
    assert len(table.selectionModel().selectedRows()) == 2
    step_to(1)
    assert trained.view.token is None
    assert not table.selectionModel().hasSelection()
    assert not table.currentIndex().isValid()
    trained.training.stop()
    qtbot.waitUntil(lambda: trained.training.current is None)
    assert not table.selectionModel().hasSelection()


def test_a_hidden_pane_does_nothing_and_is_updated_when_shown(session, pane, make_run):
    pane.hide()
    make_run(sample_text("article"), vocabulary_size=600)
    assert pane.model.rowCount() == 0
    session.view.look_at(300)
    pane.show()
    assert pane.model.rowCount() == 344
    assert pane.model.token_at(pane.table.current_row) == 300


def in_sight(pane, number):
    table, row = pane.table, pane.model.row_of_number(number)
    return 0 <= table.rowViewportPosition(row) <= table.viewport().height() - table.rowHeight(row)


def test_a_pane_that_was_hidden_shows_the_token_that_was_chosen_or_the_playhead_that_was_moved_meanwhile(
    session, pane, make_run
):
    run, view = make_run(sample_text("article"), vocabulary_size=600), session.view
    for first, at in ((1, 150), (200, 344)):
        for act, shown in ((view.look_at, run.id_of_merge(first)), (view.set_playhead, at)):
            pane.hide()
            act(shown)
            pane.show()
            assert in_sight(pane, first if act == view.look_at else at)
    # What was scrolled since then stays as it is.
    pane.table.verticalScrollBar().setValue(0)
    pane.hide()
    view.look_at(run.id_of_merge(20), hover=True)
    pane.show()
    assert in_sight(pane, 344)


@pytest.mark.parametrize("hidden", [False, True])
def test_another_run_is_shown_where_its_playhead_is(session, pane, make_run, hidden):
    first = make_run(sample_text("article"), vocabulary_size=600)
    session.view.set_playhead(100)
    make_run(vocabulary_size=620)
    assert in_sight(pane, 364)
    pane.setHidden(hidden)
    session.runs.activate(first)
    pane.show()
    assert in_sight(pane, 100)


def test_columns_fit_any_width_and_the_token_is_never_hidden(qtbot, pane, trained):
    table = pane.table
    for width in (240, 320, 480, 1200):
        pane.resize(width, 300)
        qtbot.waitUntil(lambda: table.viewport().width() > 0)
        total = sum(table.columnWidth(i) for i in range(7) if not table.isColumnHidden(i))
        assert not table.isColumnHidden(1)
        assert total <= table.viewport().width() or width < 400
    assert not any(table.isColumnHidden(i) for i in range(7))


def test_the_columns_fit_the_room_however_few_rows_there_are(qtbot, session, pane, step_to):
    session.corpus.add_text(sample_text("article"))
    step_to(1)
    qtbot.waitUntil(lambda: pane.model.rowCount() == 1)
    assert pane.table.horizontalHeader().length() <= pane.table.viewport().width()


@pytest.fixture
def table(pane, trained) -> FollowTable:
    return pane.table


def drawn(widget: QWidget, area: QRect) -> QImage:
    image = QImage(area.size(), QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.magenta)
    widget.render(image, QPoint(), QRegion(area))
    return image


def colour(table: FollowTable, row: int) -> str:
    """The colour of a row behind its text: that of a pixel at its right end, in the padding."""
    area = table.viewport().rect()
    return drawn(table.viewport(), area).pixelColor(area.width() - 2, table.rowViewportPosition(row) + 3).name()


def test_a_part_is_drawn_as_in_the_whole(table):
    table.show_row(2)
    viewport = table.viewport()
    for scrolled in (0, 13):
        table.verticalScrollBar().setValue(scrolled)
        whole = drawn(viewport, viewport.rect())
        for area in (QRect(0, 0, 640, 9), QRect(70, 31, 120, 60), QRect(300, 100, 7, 7)):
            assert drawn(viewport, area & viewport.rect()) == whole.copy(area & viewport.rect())


def test_selected_rows_are_coloured_all_of_them_and_no_other(qtbot, table, theme):
    surface, soft = theme.palette.surface.lower(), theme.palette.accent_soft.lower()
    table.setFocus()
    table.show_row(3)
    qtbot.keyClick(table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    place = QPoint(60, table.rowViewportPosition(7) + 5)
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier, place)
    assert [colour(table, row) == soft for row in range(1, 9)] == [False, False, True, True, False, False, True, False]
    assert {colour(table, row) for row in (1, 2, 5, 6, 8)} == {surface}
    qtbot.keySequence(table, QKeySequence(QKeySequence.StandardKey.SelectAll))
    assert {colour(table, row) for row in range(9)} == {soft}


def test_a_hidden_column_is_left_out_and_another_takes_its_place(table):
    count = table.model().index(4, 4)
    before, place = drawn(table.viewport(), table.visualRect(count)), table.visualRect(count)
    table.setColumnHidden(1, True)
    assert table.visualRect(count).left() < place.left()
    assert drawn(table.viewport(), table.visualRect(count)) == before


def test_a_double_click_on_a_border_makes_the_column_as_wide_as_its_cells(table, theme):
    figures, letters = QFontMetrics(theme.tabular_font()), QFontMetrics(theme.monospace_font())
    for column, one in enumerate(table.model().columns):
        table.resizeColumnToContents(column)
        seen = [table.model().cell(row, column).text for row in range(table.rowAt(0), table.rowAt(200) + 1)]
        metrics = figures if one.kind in ("number", "words") else letters
        assert table.columnWidth(column) > max(map(metrics.horizontalAdvance, seen))


def test_below_the_last_row_there_is_nothing(table):
    end = table.model().rowCount() - 1
    table.show_row(end)
    table.window().resize(640, 4000)
    table.resize(640, 3900)
    table.verticalScrollBar().setValue(table.verticalScrollBar().maximum())
    bottom = table.rowViewportPosition(end) + table.rowHeight(end)
    image = drawn(table.viewport(), table.viewport().rect())
    below = range(bottom, min(bottom + 40, image.height()))
    assert {image.pixelColor(x, y).name() for y in below for x in range(0, image.width(), 5)} <= {"#ffffff", "#ff00ff"}
