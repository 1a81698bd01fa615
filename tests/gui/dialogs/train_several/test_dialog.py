"""The Train Several dialog: rows to vary, add, edit and remove, with the mouse and with keys."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from tests.gui.person import TEXT, at_window, quiet
from tokstudio.core.model.settings import ALGORITHM_TITLES
from tokstudio.gui.dialogs.train_several.dialog import TrainSeveralDialog
from tokstudio.gui.dialogs.train_several.model import COLUMNS
from tokstudio.gui.state.training_settings import Settings

ALGORITHM, PATTERN, SIZE, FREQUENCY, BASE, TIES, PERCENT, WEIGHTS = range(8)


@pytest.fixture
def dialog(session, theme, opened):
    session.corpus.add_text(TEXT)
    session.training.set_settings(Settings(vocabulary_size=280, pattern="gpt2"))
    made = TrainSeveralDialog(session.training, session.queue, theme)
    QAbstractItemModelTester(made.model, QAbstractItemModelTester.FailureReportingMode.Fatal, made)
    return opened(made)


def texts(dialog, column):
    return [dialog.model.index(row, column).data() for row in range(dialog.model.rowCount())]


def vary(dialog, words):
    next(one for one in dialog.vary_button.menu().actions() if words in one.text().replace("&", "")).trigger()


def edit(dialog, row, column):
    index = dialog.model.index(row, column)
    dialog.table.setCurrentIndex(index)
    dialog.table.edit(index)
    # A search among the children would also find the editor of another cell that is still to be deleted.
    return dialog.table.indexWidget(index)


@pytest.mark.parametrize("pixels", [13, 16])
def test_no_column_is_cut(session, theme, opened, pixels):
    for name in ("one", "two"):
        session.corpus.add_text(TEXT, name)
    theme.set_text_size(pixels)
    dialog = TrainSeveralDialog(session.training, session.queue, theme)
    dialog.resize(theme.scaled(940), dialog.height())
    opened(dialog)
    header = dialog.table.horizontalHeader()
    assert header.length() <= dialog.table.viewport().width()
    for column in range(len(COLUMNS)):
        assert header.sectionSizeFromContents(column).width() <= header.sectionSize(column)


def test_it_begins_with_the_settings_of_configure_and_rows_are_added_duplicated_and_removed(dialog, qtbot, session):
    first = [["Plain BPE"], ["gpt2"], ["280"], ["–"], ["Bytes"], ["First"], ["100 %"]]
    assert [texts(dialog, column) for column in range(7)] == first
    assert dialog.train_button.text() == "Train 1 Run"
    assert dialog.train_button.isEnabled()
    qtbot.mouseClick(dialog.duplicate_button, Qt.MouseButton.LeftButton)
    assert "Row 2 is the same as row 1" in dialog.note.text()
    assert not dialog.train_button.isEnabled()
    assert [index.row() for index in dialog.table.selectionModel().selectedRows()] == [1]
    dialog.model.setData(dialog.model.index(1, PERCENT), 25)
    assert dialog.note.text() == ""
    assert texts(dialog, PERCENT) == ["100 %", "25 %"]
    qtbot.mouseClick(dialog.remove_button, Qt.MouseButton.LeftButton)
    assert texts(dialog, PERCENT) == ["100 %"]
    dialog.table.selectRow(0)
    qtbot.mouseClick(dialog.remove_button, Qt.MouseButton.LeftButton)
    assert "Add at least one row" in dialog.note.text()
    qtbot.mouseClick(dialog.add_button, Qt.MouseButton.LeftButton)
    assert texts(dialog, SIZE) == ["280"]
    dialog.model.setData(dialog.model.index(0, PATTERN), r"\w+|\W+")
    box = edit(dialog, 0, PATTERN)
    assert box.currentData() == r"\w+|\W+"
    assert box.count() == 9
    box.hidePopup()


def test_one_setting_is_varied_over_its_values_and_no_two_rows_are_alike(dialog):
    vary(dialog, "Each Pattern")
    assert texts(dialog, PATTERN) == [
        "none",
        "whitespace",
        "gpt2",
        "cl100k",
        "cl100k_right",
        "llama3",
        "qwen2",
        "o200k",
    ]
    dialog.table.selectRow(0)
    vary(dialog, "Each Tie Rule")
    assert texts(dialog, TIES)[:5] == ["First", "Lowest id", "Hugging Face", "Bytes", "Mapped strings"]
    assert len(dialog.model.plans) == 12
    vary(dialog, "Each Tie Rule")
    assert len(dialog.model.plans) == 40
    assert len(set(dialog.model.plans)) == 40
    assert dialog.train_button.text() == "Train 40 Runs"


def test_each_row_has_weights_where_there_are_several_sources(qtbot, session, dialog):
    assert dialog.table.isColumnHidden(WEIGHTS)
    assert not dialog.vary_weights.isVisible()
    session.corpus.add_text("die Katze und der Hut " * 10, "de")
    assert not dialog.table.isColumnHidden(WEIGHTS)
    assert texts(dialog, WEIGHTS) == ["–"]
    line = edit(dialog, 0, WEIGHTS)
    assert line.text() == ""
    qtbot.keyClicks(line, "1,2.5 ")
    qtbot.keyClick(line, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: texts(dialog, WEIGHTS) == ["1, 2.5"])
    assert dialog.isVisible()
    assert dialog.train_button.isEnabled()
    tip = dialog.model.index(0, WEIGHTS).data(Qt.ItemDataRole.ToolTipRole)
    assert tip.endswith("empty for the weights in Corpus: Pasted text 1, de 2.5.")
    for wrong, says in (("1", "1 weight for 2 texts"), ("1, two", "Weights are numbers with commas")):
        dialog.model.setData(dialog.model.index(0, WEIGHTS), wrong)
        assert dialog.note.text().startswith(f"Row 1: {says}")
        assert not dialog.train_button.isEnabled()
    dialog.model.setData(dialog.model.index(0, WEIGHTS), " ")
    assert texts(dialog, WEIGHTS) == ["–"]
    assert dialog.vary_weights.isVisible()
    vary(dialog, "Weights, towards Equal Shares")
    assert texts(dialog, WEIGHTS)[0] == "1, 1"
    sizes = [source.bytes for source in session.corpus.sources]
    equal = float(texts(dialog, WEIGHTS)[-1].split(", ")[1])
    assert equal == pytest.approx(sizes[0] / sizes[1], abs=0.001)
    assert len(set(texts(dialog, WEIGHTS))) == 5
    session.corpus.add_text("et le chat", "fr")
    assert dialog.note.text().startswith("Row 1: 2 weights for 3 texts (Pasted text, de, fr)")


def test_without_rows_the_corpus_may_change(qtbot, session, dialog):
    while dialog.model.rowCount():
        dialog.table.selectRow(0)
        qtbot.mouseClick(dialog.remove_button, Qt.MouseButton.LeftButton)
    ranges = []
    dialog.model.dataChanged.connect(lambda first, last: ranges.append((first.isValid(), last.isValid())))
    session.corpus.add_text("another text")
    assert ranges == []


def test_a_row_that_cannot_be_trained_is_named_and_nothing_starts(qtbot, session, dialog):
    dialog.model.setData(dialog.model.index(0, SIZE), 200)
    assert dialog.note.text() == "Row 1: Vocabulary size must be greater than 256."
    assert "greater than 256" in dialog.model.index(0, SIZE).data(Qt.ItemDataRole.ToolTipRole)
    assert not dialog.train_button.isEnabled()
    dialog.model.setData(dialog.model.index(0, SIZE), 300)
    session.corpus.set_sources(())
    assert dialog.note.text() == "Open a text first."


def test_cells_are_edited_as_choices_and_as_numbers(qtbot, dialog):
    box = edit(dialog, 0, PATTERN)
    box.setCurrentIndex(box.findData("cl100k"))
    box.activated.emit(box.currentIndex())
    assert texts(dialog, PATTERN) == ["cl100k"]
    number = edit(dialog, 0, FREQUENCY)
    number.selectAll()
    qtbot.keyClicks(number, "3")
    qtbot.keyClick(number, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: texts(dialog, FREQUENCY) == ["3"])
    assert dialog.isVisible()
    number = edit(dialog, 0, SIZE)
    number.setValue(0)
    qtbot.keyClick(number, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: texts(dialog, SIZE) == ["–"])
    assert dialog.model.plans[0].settings == Settings(None, 3, "cl100k")


@at_window()
def test_from_the_menu_to_the_runs(qtbot, unstyled, window):
    session = window.session
    session.corpus.add_text(TEXT)
    session.training.set_settings(Settings(vocabulary_size=280, pattern="gpt2"))
    quiet(qtbot, window)
    window.actions_by_id["train_several"].trigger()
    dialog = window.findChild(TrainSeveralDialog)
    vary(dialog, "Each Base")
    seen = set()
    session.queue.changed.connect(lambda: seen.add(window.actions_by_id["cancel_queue"].isEnabled()))
    session.training.merges_added.connect(session.jobs.busy_changed)  # the status line says at once what there is
    session.training.merges_added.connect(lambda: seen.add(window.status.label.text().partition(":")[0]))
    qtbot.mouseClick(dialog.train_button, Qt.MouseButton.LeftButton)
    assert not window.actions_by_id["train_several"].isEnabled()
    qtbot.waitUntil(lambda: not session.queue.total)
    assert [run.name for run in session.runs.all] == ["Run 1 (bytes)", "Run 2 (characters)"]
    assert {True, False, "Training 1 of 2", "Training 2 of 2"} <= seen
    for run in session.runs.all:
        run.note(exported=True)


def test_algorithms_are_varied_and_a_row_that_cannot_be_trained_says_why(session, dialog):
    dialog.model.setData(dialog.model.index(0, SIZE), 400)
    vary(dialog, "Each Algorithm")
    assert texts(dialog, ALGORITHM) == list(ALGORITHM_TITLES.values())
    assert texts(dialog, TIES)[:4] == ["First", "Mapped strings", "First", "First"]
    of_picky = dialog.model.index(5, TIES)
    assert (of_picky.data(), bool(of_picky.flags() & Qt.ItemFlag.ItemIsEditable)) == ("–", False)
    of_unigram = [dialog.model.index(6, column) for column in (PATTERN, SIZE, TIES)]
    assert [index.data() for index in of_unigram] == ["–", "400", "–"]
    assert [bool(index.flags() & Qt.ItemFlag.ItemIsEditable) for index in of_unigram] == [False, True, False]
    assert dialog.note.text().startswith("Row 2: Parity-aware BPE needs at least two languages")
    assert not dialog.train_button.isEnabled()
    shown = [dialog.model.index(row, ALGORITHM).data(Qt.ItemDataRole.ForegroundRole) for row in range(4)]
    assert [colour is not None for colour in shown] == [False, True, False, False]
    assert "two languages" in dialog.model.index(1, ALGORITHM).data(Qt.ItemDataRole.ToolTipRole)
    session.corpus.add_text("die Katze und der Hut " * 30)
    assert dialog.note.text() == ""
    assert dialog.model.index(1, ALGORITHM).data(Qt.ItemDataRole.ForegroundRole) is None
    assert dialog.train_button.text() == f"Train {len(ALGORITHM_TITLES)} Runs"
    dialog.model.setData(dialog.model.index(2, PATTERN), "none")
    assert dialog.note.text() == "Row 3: SuperBPE needs a pattern for its first stage: choose one, such as gpt2."
    dialog.model.setData(dialog.model.index(2, PATTERN), "gpt2")
    dialog.model.setData(dialog.model.index(3, BASE), "characters")
    assert dialog.note.text().startswith("Row 4: Characters as base tokens are whole already")


def test_a_row_of_superbpe_follows_its_size(dialog):
    dialog.model.setData(dialog.model.index(0, ALGORITHM), "superbpe")
    assert dialog.note.text().startswith("Row 1: The transition must be at least 256, not 210")
    dialog.model.setData(dialog.model.index(0, SIZE), 400)
    assert dialog.note.text() == ""
    assert dialog.model.plans[0].settings.transition == 300
