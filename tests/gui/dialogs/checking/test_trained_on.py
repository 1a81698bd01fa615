"""The dialog What Was It Trained On?: a run and texts are chosen, shares are found, read, copied and cancelled."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from tests.core.analysis.infer_mixture.test_inference import LANGUAGES, TRUE, mixed
from tokstudio import Corpus, TrainingConfig, infer_mixture, train
from tokstudio.core.base.progress import Progress
from tokstudio.core.base.wording import percent_text
from tokstudio.gui.dialogs.checking import trained_on
from tokstudio.gui.dialogs.checking.trained_on import TrainedOnDialog
from tokstudio.gui.state.run import StudioRun


@pytest.fixture
def run(session):
    """A run that was trained on `LANGUAGES` in the shares `TRUE`."""
    config = TrainingConfig(vocabulary_size=456, pattern="gpt2")
    made = StudioRun.opened(1, "mixed", train(mixed(LANGUAGES.values(), TRUE), config))
    session.runs.add(made)
    return made


@pytest.fixture
def dialog(session, theme, preferences, answers, opened):
    made = opened(TrainedOnDialog(session, theme, preferences, answers, None))
    QAbstractItemModelTester(made.model, QAbstractItemModelTester.FailureReportingMode.Fatal, made)
    return made


@pytest.fixture
def files(tmp_path):
    """A file of each language."""
    paths = [tmp_path / f"{name}.txt" for name in LANGUAGES]
    for path, text in zip(paths, LANGUAGES.values(), strict=True):
        path.write_text(text, "utf-8")
    return paths


def find(qtbot, dialog):
    qtbot.mouseClick(dialog.check_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog.close_button.text() == "Close")


def test_shares_of_files_are_those_of_the_library(qtbot, run, dialog, answers, files):
    assert dialog.note.text() == "The corpus has fewer than two texts: open some, or choose files as candidates."
    assert not dialog.check_button.isEnabled()
    answers.files = files
    qtbot.mouseClick(dialog.file_button, Qt.MouseButton.LeftButton)
    assert dialog.candidates.currentText() == "4 files"
    find(qtbot, dialog)
    expected = infer_mixture(run.tokenizer, Corpus.from_files(files))
    assert dialog.model.found == expected
    assert dialog.note.text() == f"mixed: {expected.told}"
    shown = [[dialog.model.index(at, column).data() for column in range(3)] for at in range(4)]
    assert [cells[0] for cells in shown] == [f"{name}.txt" for name in LANGUAGES]
    first = expected.shares[0]
    assert shown[0][1:] == [
        percent_text(first.share, 1),
        f"{percent_text(first.low, 1)} to {percent_text(first.high, 1)}",
    ]
    assert expected.cautions[-1] in dialog.details.toPlainText()
    qtbot.mouseClick(dialog.copy_button, Qt.MouseButton.LeftButton)
    rows = QGuiApplication.clipboard().text().splitlines()
    assert rows[0] == "candidate,share,low,high,bytes"
    assert float(rows[1].split(",")[1]) == expected.shares[0].share
    assert json.loads(dialog._rows_text(".json"))["merges"] == 200


def test_a_share_is_drawn_as_a_bar_with_its_interval(qtbot, theme, run, dialog, files):
    dialog.take(files)
    find(qtbot, dialog)
    dialog.table.clearSelection()
    dialog.table.setFocus()
    area = dialog.table.visualRect(dialog.model.index(0, 3))
    picture = dialog.table.viewport().grab().toImage()
    ratio = picture.devicePixelRatio()
    y = int((area.top() + 6) * ratio)
    accent = QColor(theme.palette.accent)
    length = sum(picture.pixelColor(int(x * ratio), y) == accent for x in range(area.left(), area.right()))
    share = dialog.model.found.shares[0].share
    assert length == pytest.approx(share * (area.width() - 12), abs=3)


def test_the_corpus_is_a_candidate_for_each_text_and_missing_merges_are_named(qtbot, session, run, dialog):
    for name in ("one", "two"):
        session.corpus.add_text(LANGUAGES[name], name)
    qtbot.waitUntil(dialog.check_button.isEnabled)
    find(qtbot, dialog)
    assert dialog.model.rowCount() == 2
    assert dialog.model.found.unknown
    told = dialog.details.toPlainText()
    assert "A language or kind of text is probably missing" in told
    assert "Merges that no candidate has: " in told
    session.corpus.add_text("more")
    assert dialog.model.found is None, "of another corpus"


def test_what_cannot_be_found_is_said(qtbot, run, dialog, files):
    dialog.take(files[:1])
    find(qtbot, dialog)
    assert dialog.note.text() == (
        "At least two candidate texts are needed, of which shares are found: one alone would have 100%."
    )
    assert dialog.model.rowCount() == 0
    assert not dialog.copy_button.isEnabled()


def test_escape_cancels_and_then_closes(qtbot, session, run, dialog, files, monkeypatch):
    def endless(*_):
        while True:
            yield Progress("solving", 0, 0, ", 7 rows")

    monkeypatch.setattr(trained_on, "infer_mixture_work", endless)
    dialog.take(files)
    qtbot.mouseClick(dialog.check_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: dialog.note.text() == "Solving, 7 rows…")
    assert not dialog.tokenizer.isEnabled()
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert dialog.note.text() == "Cancelled."
    qtbot.waitUntil(lambda: not session.jobs.running)
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
