"""Undo and Redo as a person uses them: of sources, of the settings of the training, and of runs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication

from tests.gui.person import TEXT, at_window, quiet, trained
from tokstudio.gui.panes.runs.model import NAME
from tokstudio.gui.session.undo import LIMIT
from tokstudio.gui.state.run import RunOrigin
from tokstudio.gui.state.training_settings import Settings

pytestmark = pytest.mark.usefixtures("unstyled")

UNDO = (Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
REDO = (Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
ALSO_REDO = (Qt.Key.Key_Y, Qt.KeyboardModifier.ControlModifier)


@pytest.fixture
def books(tmp_path) -> list[Path]:
    paths = [tmp_path / f"book{number}.txt" for number in range(6)]
    for number, path in enumerate(paths):
        path.write_text(f"{TEXT} {number}")
    return paths


def names(window) -> list[str]:
    return [source.name for source in window.session.corpus.sources]


def words(window, name: str) -> str:
    return window.actions_by_id[name].text().replace("&&", "\0").replace("&", "").replace("\0", "&")


def press(qtbot, widget, key) -> None:
    qtbot.keyClick(widget, *key)


# ---- sources


@at_window(*(f"{{books[{number}]}}" for number in range(6)))
def test_several_sources_are_chosen_by_mouse_and_keyboard_and_come_back_also_after_training_on_a_sample(qtbot, window):
    quiet(qtbot, window)
    corpus, rows, left = window.session.corpus, window.corpus.source_list, Qt.MouseButton.LeftButton
    control, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
    weights = (1000, 2000, 3000, 4000, 5000, 6000)
    corpus.set_weights(weights)
    before = corpus.sources

    def click(row: int, keys: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        index = rows.sources_model.index(row, 0)
        rows.scrollTo(index)
        qtbot.mouseClick(rows.viewport(), left, keys, rows.visualRect(index).center())

    def by_separate_clicks() -> None:
        click(0)
        click(2, control)
        click(5, control)
        qtbot.mouseClick(window.corpus.remove_button, left)

    def by_a_range() -> None:
        click(1)
        click(4, shift)
        qtbot.keyClick(rows, Qt.Key.Key_Delete)

    def by_keys() -> None:
        click(3)
        qtbot.keyClick(rows, Qt.Key.Key_Down, shift)
        window.actions_by_id["remove_source"].trigger()

    def all_of_them() -> None:
        click(3)
        qtbot.keyClick(rows, Qt.Key.Key_A, control)
        qtbot.keyClick(rows, Qt.Key.Key_Backspace)

    def alone() -> None:
        click(1)
        window.actions_by_id["remove_source"].trigger()
        assert window.notices.text.text() == "Removed book1.txt."
        assert words(window, "undo") == "Undo Remove book1.txt"

    ways = {by_separate_clicks: "134", by_a_range: "05", by_keys: "0125", all_of_them: "", alone: "02345"}
    for remove, left_over in ways.items():
        remove()
        assert names(window) == [f"book{number}.txt" for number in left_over], remove.__name__
        window.actions_by_id["undo"].trigger()
        assert corpus.sources == before, remove.__name__
        assert corpus.weights == weights
    assert words(window, "redo") == "Redo Remove book1.txt"

    # Training on a sample is one entry.
    quiet(qtbot, window)
    window.session.training.set_settings(Settings(300))
    before = window.session.corpus.sources
    window.actions_by_id["sample_train_python"].trigger()
    window.session.training.stop()
    quiet(qtbot, window)
    assert words(window, "undo") == "Undo Train on a Sample"
    window.actions_by_id["undo"].trigger()
    assert window.session.corpus.sources == before
    assert window.session.training.settings == Settings(300)
    quiet(qtbot, window)


@at_window("{books[0]}", "{books[1]}")
def test_adding_clearing_and_reloading_are_undone_with_keys_and_a_message_goes_with_the_next_change(
    qtbot, books, window
):
    quiet(qtbot, window)
    first = window.session.corpus.sources
    books[0].write_text("something else")
    window.session.corpus.reread(0, None)
    quiet(qtbot, window)
    second = window.session.corpus.sources
    assert words(window, "undo") == "Undo Reload book0.txt"
    window.actions_by_id["clear_corpus"].trigger()
    assert words(window, "undo") == "Undo Clear Corpus"
    assert window.notices.text.text() == "Removed 2 sources."
    window.setFocus()
    press(qtbot, window, UNDO)
    assert window.session.corpus.sources == second
    press(qtbot, window, UNDO)
    assert window.session.corpus.sources == first
    assert words(window, "undo") == "Undo Add 2 sources"
    press(qtbot, window, UNDO)
    assert names(window) == []
    assert not window.actions_by_id["undo"].isEnabled()
    assert window.actions_by_id["undo"].toolTip() == "There is nothing to undo."
    press(qtbot, window, REDO)
    press(qtbot, window, ALSO_REDO)
    assert window.session.corpus.sources == second

    # A message about a removal goes when something else is changed, and a typed field keeps the focus.
    quiet(qtbot, window)
    window.actions_by_id["clear_corpus"].trigger()
    qtbot.waitUntil(window.notices.isVisible)
    window.session.training.set_settings(Settings(400))
    assert not window.notices.isVisible()
    window.session.corpus.add_text(TEXT)
    window.actions_by_id["clear_corpus"].trigger()
    qtbot.waitUntil(window.notices.isVisible)
    number = window.configure.size_field.number
    number.setFocus()
    number.selectAll()
    for digit in "5000":
        qtbot.keyClick(QApplication.focusWidget(), digit)
    assert number.hasFocus()
    assert number.value() == 5000
    assert not window.notices.isVisible()
    quiet(qtbot, window)


def test_the_division_into_documents_is_one_entry_and_its_text_is_divided_back_and_again(qtbot, session):
    def documents() -> int:
        qtbot.waitUntil(lambda: not session.jobs.running)
        return session.corpus.sources[0].documents

    session.corpus.add_text("one\ntwo\nthree\n")
    session.training.set_settings(Settings(documents="line"))
    assert documents() == 3
    session.corpus.remove_sources([0])
    session.history.undo()
    assert session.corpus.sources[0].documents == 3
    assert session.history.undo_text == "Documents"
    session.history.undo()
    assert documents() == 1
    session.training.set_settings(Settings(documents="line"))
    assert session.corpus.splitting
    session.corpus.remove_sources([0])
    qtbot.waitUntil(lambda: not session.jobs.running)
    session.history.undo()
    assert documents() == 3, "it was removed while it was divided"


# ---- settings


@at_window()
def test_typing_in_one_field_is_one_entry_and_in_another_another_and_fields_of_text_have_their_own_undo(
    qtbot, books, window
):
    assert (words(window, "undo"), words(window, "redo")) == ("Undo", "Redo")
    assert not window.actions_by_id["undo"].isEnabled()
    keys = {key.toString() for key in window.actions_by_id["redo"].shortcuts()}
    assert {"Ctrl+Y", "Ctrl+Shift+Z", QKeySequence(QKeySequence.StandardKey.Redo).toString()} <= keys
    training, size = window.session.training, window.configure.size_field
    before = training.settings
    size.number.setFocus()
    size.number.selectAll()
    qtbot.keyClicks(size.number, "432")
    assert training.settings.vocabulary_size == 432
    window.configure.pattern.choice.combo.setCurrentIndex(1)
    assert training.settings.pattern != before.pattern
    window.setFocus()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is window)
    qtbot.wait(0)
    assert words(window, "undo") == "Undo Pattern"
    press(qtbot, window, UNDO)
    assert words(window, "undo") == "Undo Vocabulary Size"
    press(qtbot, window, UNDO)
    assert training.settings == before
    assert size.number.value() == before.vocabulary_size
    assert not window.session.history.undo_text
    press(qtbot, window, REDO)
    assert training.settings.vocabulary_size == 432
    assert size.number.value() == 432

    # Fields of text have their own undo, and a field of a number keeps it to itself.
    window.session.corpus.open_paths(books[:1])
    trained(qtbot, window)
    box, edit = window.finder.box, window.text.encode.input
    for field, text, typed in ((box, box.text, "cat"), (edit, edit.toPlainText, "a cat")):
        field.setFocus()
        qtbot.keyClicks(field, typed)
        for _ in range(2):
            press(qtbot, field, UNDO)
            assert text() == ""
            assert names(window) == ["book0.txt"]
        press(qtbot, field, REDO)
        assert text() == typed
    number = window.configure.size_field.number
    number.setFocus()
    press(qtbot, number, UNDO)
    assert names(window) == ["book0.txt"]
    number.selectAll()
    qtbot.keyClicks(number, "77")
    press(qtbot, number, UNDO)
    assert names(window) == ["book0.txt"]
    quiet(qtbot, window)


def test_each_field_is_an_entry_unless_taken_back_by_hand_and_the_latest_are_kept(session):
    training = session.training
    training.set_settings(Settings(500))
    training.set_settings(Settings())
    assert session.history.undo_text == ""
    for changed in (
        Settings(algorithm="sentencepiece-unigram", character_coverage=0.99),
        Settings(algorithm="sentencepiece-unigram", byte_fallback=True),
        Settings(algorithm="picky", threshold=0.7),
        Settings(algorithm="boundless", max_words=3),
    ):
        before = Settings(algorithm=changed.algorithm)
        session.training.set_settings(before)
        session.training.set_settings(changed)
        assert session.training.settings == changed
        assert session.history.undo_text not in ("", "Training Settings")
        session.history.undo()
        assert session.training.settings == before
    for number in range(LIMIT + 5):
        # Two fields in turn, which do not merge.
        settings = session.training.settings
        change = {"vocabulary_size": 500 + number} if number % 2 else {"min_frequency": 2 + number}
        session.training.set_settings(replace(settings, **change))
    undone = 0
    while session.history.undo_text:
        session.history.undo()
        undone += 1
    assert undone == LIMIT


def test_the_settings_that_a_run_was_trained_with_stay_an_entry(session, make_run):
    make_run(vocabulary_size=280)
    session.training.set_settings(Settings(290))
    session.history.undo()
    assert session.training.settings == Settings(280)


# ---- runs


@at_window("{books[0]}")
def test_a_deleted_run_comes_back_as_it_was_and_undo_makes_a_saved_project_unchanged_again(
    qtbot, tmp_path, window, answers
):
    session, table = window.session, window.runs.table
    run = trained(qtbot, window, 280)
    window.runs.show()
    window.runs.raise_()
    qtbot.waitUntil(window.isActiveWindow)
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_Delete)
    assert session.runs.all == []
    press(qtbot, window, UNDO)
    assert session.runs.all == [run]
    table.model().setData(table.model().index(0, NAME), "Mine")
    assert run.name == "Mine"
    assert words(window, "undo") == "Undo Rename Run 1"
    window.actions_by_id["undo"].trigger()
    assert run.name == "Run 1"

    runs = [run, *(trained(qtbot, window, size) for size in (290, 300))]
    second = runs[1]
    session.runs.activate(second)
    session.history.rename_run(second, " The one ")
    session.runs.mark_exported(second)
    session.runs.show_curve(second, False)
    session.view.set_playhead(5)
    hue = second.hue
    answers.asked.clear()
    window.actions_by_id["delete_run"].trigger()
    assert session.runs.all == [runs[0], runs[2]]
    assert session.runs.active is runs[2]
    card = window.notices
    assert (card.text.text(), card.act_button.text()) == ("Deleted The one.", "Undo")
    assert words(window, "undo") == "Undo Delete The one"
    qtbot.mouseClick(card.act_button, Qt.MouseButton.LeftButton)
    assert session.runs.all == runs
    assert session.runs.active is second
    assert session.view.playhead == 5
    marks = second.marks
    assert (second.name, second.hue, marks.exported, marks.curve_hidden) == ("The one", hue, True, True)
    assert window.status.currentMessage() == "Undone: Delete The one."
    window.actions_by_id["redo"].trigger()
    assert window.status.currentMessage() == "Redone: Delete The one."
    assert session.runs.all == [runs[0], runs[2]]
    window.actions_by_id["undo"].trigger()
    assert words(window, "undo") == "Undo Rename Run 2"
    window.actions_by_id["undo"].trigger()
    assert second.name == "Run 2"
    assert answers.asked == []

    # Continuing a run tells of the new one, and is undone.
    first = trained(qtbot, window, 270)
    session.training.set_settings(Settings(1_000_000))
    told = []
    session.jobs.noticed.connect(told.append)
    window.actions_by_id["continue_run"].trigger()
    assert card.text.text() == "Continue Run started Run 5. Run 4 is still in Tokenizers, unchanged."
    # The training may be over before the button could be pressed.
    if told[0].holds():
        told[0].act()
    quiet(qtbot, window)
    assert first in session.runs.all
    assert len(first) == 270 - 256

    # Undo makes a saved project unchanged again, and opening one forgets what could be undone.
    session.runs.replace_all([])
    trained(qtbot, window)
    answers.target = tmp_path / "mine.tokstudio"
    window.actions_by_id["save_project"].trigger()
    quiet(qtbot, window)
    window.actions_by_id["delete_run"].trigger()
    assert window.projects.modified
    window.actions_by_id["undo"].trigger()
    assert not window.projects.modified
    assert not window.session.runs.active.unsaved
    window.actions_by_id["delete_run"].trigger()
    assert window.session.history.undo_text
    window.projects.open(answers.target)
    quiet(qtbot, window)
    assert len(window.session.runs.all) == 1
    assert (window.session.history.undo_text, window.session.history.redo_text) == ("", "")
    assert not window.notices.isVisible()


def test_a_run_that_was_not_active_comes_back_so_and_is_let_go_of_with_its_entry(session, make_run, qtbot):
    first, second = make_run(vocabulary_size=280), make_run(vocabulary_size=290)
    session.history.delete_run(first)
    session.history.undo()
    assert session.runs.all == [first, second]
    assert session.runs.active is second
    run = weakref.ref(make_run(vocabulary_size=280))
    session.history.delete_run(session.runs.active)
    gc.collect()
    assert run() is not None
    session.history.clear()
    # The job of its training may not be deleted yet.
    qtbot.waitUntil(lambda: gc.collect() >= 0 and run() is None)


def test_a_run_stays_deleted_while_another_trains_and_the_reason_is_told(qtbot, session, make_run):
    refused = []
    session.jobs.refused.connect(refused.append)
    run = make_run(vocabulary_size=280)
    session.history.delete_run(run)
    session.training.step()
    qtbot.waitUntil(lambda: session.training.state == "paused")
    session.history.undo()
    assert refused == ["Run 2 is in training. Stop it to undo “Delete Run 1”."]
    assert run not in session.runs.all
    session.training.stop()
    qtbot.waitUntil(lambda: session.training.current is None)
    session.history.undo()
    assert session.runs.all[0] is run
    assert session.runs.active is run


def test_entries_of_a_tokenizer_hold_for_what_takes_its_place(session, make_run):
    runs, history = session.runs, session.history
    origin = RunOrigin(Path("x"), (), "", False)
    tokenizer = make_run(vocabulary_size=280).tokenizer
    runs.add_tokenizer(tokenizer, "opened", origin)
    history.rename_run(runs.active, "mine")
    history.delete_run(runs.active)
    history.undo()
    for _ in range(2):
        runs.replace_tokenizer(runs.active, tokenizer, origin)
    made = runs.active
    history.redo()
    assert [run.name for run in runs.all] == ["Run 1"]
    history.undo()
    assert runs.all[1:] == [made]
    assert runs.active is made
    history.undo()
    assert made.name == "opened"
    history.redo()
    assert made.name == "mine"
