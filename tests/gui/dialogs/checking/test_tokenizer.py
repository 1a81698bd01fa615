"""The dialog Check Tokenizer: a run, a file or a folder is checked, and the findings are read, copied and saved."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QColor, QDropEvent, QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from tests.core.lint.made import content, folder, split
from tokstudio import Corpus, TrainingConfig, load, train
from tokstudio.core.base.progress import Progress
from tokstudio.core.lint.lint import lint
from tokstudio.gui.dialogs.checking.tokenizer import CheckTokenizerDialog
from tokstudio.gui.state.run import RunOrigin, StudioRun


@pytest.fixture
def dialog(session, theme, preferences, answers, opened):
    made = opened(CheckTokenizerDialog(session, theme, preferences, answers, None))
    QAbstractItemModelTester(made.model, QAbstractItemModelTester.FailureReportingMode.Fatal, made)
    return made


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """One error, one danger, and remarks."""
    tokenizer = content(vocabulary=["<|user|>"], pre_tokenizer=split(r"\p{N}{1,3}|[^\p{N}]+"))
    return folder(tmp_path_factory.mktemp("faulty"), tokenizer, config={"eos_token": "<|stop|>"})


@pytest.fixture(scope="module")
def expected(faulty):
    return lint(faulty)


def check(qtbot, dialog):
    qtbot.mouseClick(dialog.check_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog.close_button.text() == "Close")


def test_findings_in_a_folder_are_read_with_the_keyboard_coloured_copied_and_saved_as_csv_or_json(
    qtbot, dialog, theme, answers, faulty, expected, tmp_path
):
    assert not dialog.check_button.isEnabled()
    assert dialog.note.text() == "Choose a file or a folder, or train a tokenizer."
    assert "never run" in dialog.details.toPlainText()
    answers.folder = faulty
    qtbot.mouseClick(dialog.folder_button, Qt.MouseButton.LeftButton)
    assert dialog.tokenizer.currentText() == "tokenizer 0"
    check(qtbot, dialog)
    assert dialog.model.findings == expected
    assert dialog.note.text() == f"tokenizer 0: 1 error, 1 danger and {len(expected) - 2} remarks."
    assert dialog.table.hasFocus()
    assert dialog.model.index(0, 0).data() == "Error"
    assert "<|stop|>" in dialog.details.toPlainText()
    qtbot.keyClick(dialog.table, Qt.Key.Key_Down)
    assert dialog.details.toPlainText().startswith("1 token looks special")
    assert "Rule looks-special" in dialog.details.toPlainText()
    colours = [dialog.model.index(row, 0).data(Qt.ItemDataRole.ForegroundRole) for row in range(3)]
    palette = theme.palette
    assert colours == [QColor(palette.error), QColor(palette.warning), QColor(palette.muted)]
    rules = [finding.rule for finding in dialog.model.findings]
    dialog.table.selectRow(rules.index("digits-from-the-left"))
    html = dialog.details.toHtml()
    assert palette.tokens[0].lower() in html
    assert palette.tokens[1].lower() in html
    assert "123" in dialog.details.toPlainText()
    theme.set_mode("dark")
    assert theme.palette.tokens[0].lower() in dialog.details.toHtml()
    qtbot.mouseClick(dialog.copy_button, Qt.MouseButton.LeftButton)
    rows = list(csv.reader(io.StringIO(QGuiApplication.clipboard().text())))
    assert rows[0] == ["level", "rule", "message", "example", "advice"]
    assert len(rows) == len(dialog.model.findings) + 1
    for name in ("found.csv", "found.json"):
        answers.target = tmp_path / name
        qtbot.mouseClick(dialog.save_button, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda name=name: dialog.note.text() == f"Wrote {name}.")
    assert list(csv.reader(io.StringIO((tmp_path / "found.csv").read_text("utf-8")))) == rows
    assert json.loads((tmp_path / "found.json").read_text("utf-8"))[0]["rule"] == "role-without-token"


def test_white_space_and_signs_of_html_are_seen_in_examples(qtbot, dialog, tmp_path):
    steps = {"type": "Replace", "pattern": {"String": "b"}, "content": ""}
    dialog.choose(folder(tmp_path, content(vocabulary=["<pad>"], normalizer=steps)))
    check(qtbot, dialog)
    dialog.table.selectRow([finding.rule for finding in dialog.model.findings].index("looks-special"))
    assert "Example:   <pad> " in dialog.details.toPlainText()


def test_a_run_is_checked_by_its_tokens_and_an_opened_one_by_its_files(qtbot, session, dialog, faulty, expected):
    tokenizer = train(Corpus.from_texts(["abab abab"]), TrainingConfig(vocabulary_size=257, pattern="cl100k"))
    origin = RunOrigin(faulty, (faulty / "tokenizer.json",), "huggingface", True)
    session.runs.add(StudioRun.opened(901, "by hand", tokenizer))
    session.runs.add(StudioRun.opened(902, "from files", load(faulty), origin))
    assert [dialog.tokenizer.itemText(at) for at in range(dialog.tokenizer.count())] == ["by hand", "from files"]
    dialog.tokenizer.setCurrentIndex(0)
    check(qtbot, dialog)
    assert {finding.level for finding in dialog.model.findings} == {"remark"}
    dialog.tokenizer.setCurrentIndex(1)
    assert dialog.model.findings == []
    check(qtbot, dialog)
    assert dialog.model.findings == expected


def test_the_corpus_is_the_text_and_must_be_there(qtbot, session, dialog, faulty):
    dialog.choose(faulty)
    dialog.text.setCurrentIndex(1)
    assert not dialog.check_button.isEnabled()
    assert "The corpus of the window is empty" in dialog.note.text()
    session.corpus.add_text("One cafe\u0301")
    assert dialog.check_button.isEnabled()
    check(qtbot, dialog)
    assert "pattern-cuts-marks" not in {finding.rule for finding in dialog.model.findings}
    session.corpus.add_text("more")
    assert not dialog.model.findings, "of another text"
    check(qtbot, dialog)
    dialog.text.setCurrentIndex(0)
    assert not dialog.model.findings, "of another text"


def test_what_cannot_be_read_is_a_sentence(qtbot, dialog, answers, tmp_path):
    answers.files = [tmp_path / "tokenizer.json"]
    (tmp_path / "tokenizer.json").write_text("{")
    qtbot.mouseClick(dialog.file_button, Qt.MouseButton.LeftButton)
    check(qtbot, dialog)
    assert dialog.note.text() == "tokenizer.json: the file ends too early, line 1, column 2."
    assert dialog.model.findings == []


def test_dropped_files_are_chosen_and_escape_cancels_before_it_closes(qtbot, session, dialog, faulty, monkeypatch):
    begun = []

    def endless(*_):
        while True:
            begun.append(1)
            yield Progress("patterns", 1, 2)

    monkeypatch.setattr("tokstudio.gui.dialogs.checking.tokenizer.lint_work", endless)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(faulty)), QUrl.fromLocalFile(str(faulty / "tokenizer.json"))])
    action, button, modifiers = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    dialog.dropEvent(QDropEvent(QPoint(5, 5), action, data, button, modifiers))
    assert dialog.tokenizer.currentData() == Path(faulty)
    qtbot.mouseClick(dialog.check_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(begun) and dialog.note.text() == "Looking at patterns…")
    assert not dialog.tokenizer.isEnabled()
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert dialog.isVisible()
    assert dialog.note.text() == "Cancelled."
    qtbot.waitUntil(lambda: not session.jobs.running)
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
