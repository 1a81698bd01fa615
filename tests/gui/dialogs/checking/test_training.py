"""The dialogs of the Tools menu: trainings are checked, results read and saved; exercises are written."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from tests.core.teaching.students import divided, recounting_student
from tokstudio.core.base.progress import Progress
from tokstudio.core.teaching.exercise import TEXT
from tokstudio.gui.dialogs.checking.training import CheckTrainingDialog, MakeExerciseDialog
from tokstudio.gui.state.training_settings import Settings

RIGHT = recounting_student(divided(TEXT), 200)
SMALLEST = recounting_student(divided(TEXT), 200, best=min)


@pytest.fixture
def show(session, theme, preferences, answers, opened):
    return lambda kind: opened(kind(session, theme, preferences, answers, None))


@pytest.fixture
def dialog(show):
    made = show(CheckTrainingDialog)
    QAbstractItemModelTester(made.model, QAbstractItemModelTester.FailureReportingMode.Fatal, made)
    return made


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "anna.txt").write_text("".join(f"{pair!r}\n" for pair in RIGHT))
    (folder / "ben.txt").write_text("".join(f"{pair!r}\n" for pair in SMALLEST))
    (folder / "=carl\n\x1b[2J.json").write_text('{"a": 0}')
    return folder


def check(qtbot, dialog):
    qtbot.mouseClick(dialog.check_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog.close_button.text() == "Close")


def rows(dialog):
    return [[dialog.model.index(row, at).data() for at in range(4)] for row in range(dialog.model.rowCount())]


def test_a_folder_is_checked_and_each_result_is_read_with_the_keyboard(qtbot, dialog, answers, files):
    answers.folder = files
    assert not dialog.check_button.isEnabled()
    assert dialog.note.text() == "Add a submission."
    qtbot.mouseClick(dialog.folder_button, Qt.MouseButton.LeftButton)
    assert rows(dialog) == [["class", "", "", "Not checked"]]
    check(qtbot, dialog)
    place = next(n for n, (a, b) in enumerate(zip(SMALLEST, RIGHT, strict=True), 1) if a != b)
    assert rows(dialog) == [
        ["=carl\\n\\x1b[2J.json", "", "", dialog.model.index(0, 3).data()],
        ["anna.txt", "200", "None", "Identical"],
        ["ben.txt", "200", str(place), "ties-smallest"],
    ]
    assert dialog.model.index(0, 3).data().startswith("it is a vocabulary: the merges are needed too")
    assert dialog.note.text() == "1 of 3 submissions are identical to the right merges."
    assert dialog.table.hasFocus()
    dialog.table.selectRow(0)
    qtbot.keyClick(dialog.table, Qt.Key.Key_Down)
    assert dialog.details.toPlainText() == "anna.txt: identical, 200 merges."
    qtbot.keyClick(dialog.table, Qt.Key.Key_Down)
    told = dialog.details.toPlainText().splitlines()
    assert told[0] == f"ben.txt: 200 merges, 200 expected; merge {place} differs."
    assert "the smallest is taken. (ties-smallest)" in told[3]
    assert "Look at the place where the best pair is chosen" in told[4]


def test_the_table_is_copied_and_saved_without_a_formula(qtbot, dialog, answers, files, tmp_path):
    dialog.take(sorted(files.iterdir()))
    check(qtbot, dialog)
    qtbot.mouseClick(dialog.copy_button, Qt.MouseButton.LeftButton)
    copied = QGuiApplication.clipboard().text()
    table = list(csv.reader(io.StringIO(copied)))
    assert [(row[0], row[1]) for row in table] == [
        ("name", "identical"), ("'=carl\\n\\x1b[2J.json", "no"), ("anna.txt", "yes"), ("ben.txt", "no")
    ]  # fmt: skip
    answers.target = tmp_path / "checked.csv"
    qtbot.mouseClick(dialog.save_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog.note.text() == "Wrote checked.csv.")
    assert list(csv.reader(io.StringIO(answers.target.read_text()))) == table


def test_it_begins_with_the_corpus_and_the_settings_of_the_window(qtbot, session, show, tmp_path):
    session.corpus.add_text("ab ab abc")
    special = ("<|x|>", "a b")
    session.training.set_settings(
        Settings(vocabulary_size=260, pattern="gpt2", tie_break="lowest-id", special_tokens=special)
    )
    dialog = show(CheckTrainingDialog)
    settings = dialog.form.settings
    assert (settings.vocabulary_size, settings.pattern, settings.tie_break) == (260, "gpt2", "lowest-id")
    assert settings.special_tokens == special
    assert dialog.form.text.currentText() == "The corpus of the window"
    (tmp_path / "mine.txt").write_text("a b\nĠ ab\n", encoding="utf-8")
    dialog.take([tmp_path / "mine.txt"])
    check(qtbot, dialog)
    assert rows(dialog) == [["mine.txt", "2", "None", "Identical"]]
    session.corpus.set_sources(())
    assert not dialog.check_button.isEnabled()
    assert dialog.note.text() == "The corpus of the window is empty: open a text, or choose another one here."


def test_outcomes_go_with_the_settings_and_the_text_that_they_are_of(qtbot, session, show, files):
    session.corpus.add_text("ab ab abc")
    dialog = show(CheckTrainingDialog)
    dialog.take([files / "anna.txt"])
    form = dialog.form

    def goes(change, *value):
        check(qtbot, dialog)
        assert rows(dialog)[0][1]
        change(*value)
        assert rows(dialog) == [["anna.txt", "", "", "Not checked"]], change
        assert not dialog.details.toPlainText()
        assert not dialog.copy_button.isEnabled()

    goes(form.vocabulary_size.setValue, 300)
    goes(form.pattern.setCurrentText, "gpt2")
    goes(form.ties.setCurrentIndex, 0)
    goes(form.specials.setPlainText, "<|x|>")
    goes(session.corpus.add_text, "more")
    goes(form.choose_own_text)
    goes(form.choose_file, files / "ben.txt")
    check(qtbot, dialog)
    session.corpus.add_text("even more")
    assert rows(dialog)[0][1], "it was not checked with the corpus"


def test_a_file_is_the_corpus_and_wrong_settings_are_told(qtbot, dialog, answers, tmp_path):
    (tmp_path / "text.txt").write_text("ab ab abc")
    (tmp_path / "mine.txt").write_text("a b\nĠ ab\n", encoding="utf-8")
    answers.files = [tmp_path / "text.txt"]
    qtbot.mouseClick(dialog.form.file_button, Qt.MouseButton.LeftButton)
    assert dialog.form.text.currentText() == "text.txt"
    dialog.take([tmp_path / "mine.txt"])
    dialog.form.vocabulary_size.setValue(10)
    check(qtbot, dialog)
    assert "Vocabulary size must be greater than" in dialog.note.text()
    dialog.form.vocabulary_size.setValue(0)
    dialog.form.specials.setPlainText("")
    check(qtbot, dialog)
    assert rows(dialog)[0][1:3] == ["2", "None"]


def test_dropped_files_are_added_and_escape_cancels_before_it_closes(qtbot, dialog, files, tmp_path):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(files)), QUrl.fromLocalFile(str(tmp_path / "gone.txt"))])
    action, button, modifiers = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    dialog.dropEvent(QDropEvent(QPoint(5, 5), action, data, button, modifiers))
    assert [row[0] for row in rows(dialog)] == ["class", "gone.txt"]
    qtbot.mouseClick(dialog.check_button, Qt.MouseButton.LeftButton)
    assert dialog.close_button.text() == "Cancel"
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert dialog.isVisible()
    assert dialog.note.text() == "Cancelled."
    check(qtbot, dialog)
    assert [row[0] for row in rows(dialog)[1:]] == ["anna.txt", "ben.txt", "gone.txt"]
    assert rows(dialog)[3][1:3] == ["", ""]
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_cancel_ends_the_counting_of_words(qtbot, session, show, tmp_path, monkeypatch):
    counted = []

    def endless(texts, specials, recipe):
        while True:
            counted.append(len(texts))
            yield Progress("counting words")

    monkeypatch.setattr("tokstudio.core.teaching.check.count_words_work", endless)
    session.corpus.add_text("ab ab abc")
    dialog = show(CheckTrainingDialog)
    (tmp_path / "mine.txt").write_text("x y\n")
    dialog.take([tmp_path / "mine.txt"])
    qtbot.mouseClick(dialog.check_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(counted))
    qtbot.mouseClick(dialog.close_button, Qt.MouseButton.LeftButton)
    assert dialog.note.text() == "Cancelled."
    assert dialog.check_button.isEnabled()
    qtbot.waitUntil(lambda: not session.jobs.running)


def test_an_exercise_is_written(qtbot, show, answers, tmp_path):
    dialog = show(MakeExerciseDialog)
    answers.folder = tmp_path / "bpe"
    qtbot.mouseClick(dialog.write_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog.note.text().startswith("Wrote 7 files to bpe"))
    assert (tmp_path / "bpe" / "corpus.txt").read_bytes() == TEXT
    qtbot.mouseClick(dialog.show_button, Qt.MouseButton.LeftButton)
    assert answers.shown == [tmp_path / "bpe" / "README.txt"]
    dialog.form.vocabulary_size.setValue(0)
    assert not dialog.write_button.isEnabled()
    assert dialog.note.text() == "Enter a vocabulary size."
