"""How Much Text? in the window: the figures of the command, and what is said where there are none."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from tests.gui.conftest import alone
from tests.gui.tables import row_texts
from tokstudio import TrainingConfig, how_much_text
from tokstudio.cli import main
from tokstudio.core.base.resources import sample_text
from tokstudio.gui.panes.sizes.pane import SizesPane
from tokstudio.gui.session.training.training import Settings

pane = alone(SizesPane, 900, 620)


@pytest.fixture
def page(pane, session):
    """The page, with a corpus and settings."""
    session.training.set_settings(Settings(vocabulary_size=300, pattern="gpt2"))
    session.corpus.add_text(sample_text("article"), "article.txt")
    pane.tabs.setCurrentIndex(2)
    QAbstractItemModelTester(pane.amounts.model, QAbstractItemModelTester.FailureReportingMode.Fatal, pane)
    return pane.amounts


def find(qtbot, page):
    """Asks, and waits for the answer."""
    page.start.click()
    qtbot.waitUntil(lambda: page.start.isEnabled())


def test_the_figures_are_those_of_the_command(qtbot, session, page, tmp_path, capsys):
    assert page.stack.currentWidget() is page.empty
    assert page.plan.text().endswith("About 10\u00a0% is held out.")
    find(qtbot, page)
    found = how_much_text(session.corpus.current, TrainingConfig(vocabulary_size=300, pattern="gpt2"))
    assert page.found == found
    assert page.answer.text() == found.sentence
    assert page.plan.text() == f"With the settings of Configure. {found.held_out}"
    assert [tuple(row_texts(page.model, row)) for row in range(page.model.count())] == found.table[1:]
    assert page.plot.curve.x.tolist() == [part.bytes for part in found.rows]
    assert page.plot.curve.y.tolist() == [100 * part.kept for part in found.rows]
    file = tmp_path / "article.txt"
    file.write_text(sample_text("article"), encoding="utf-8")
    settings = ["--vocab-size", "300", "--pattern", "gpt2"]
    assert main(["how-much-text", str(file), *settings, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(found.to_plain()))
    assert not session.runs.all
    qtbot.keyClick(page.plot, Qt.Key.Key_End)
    assert page.plot.accessibleDescription().startswith(page.model.text(page.model.count() - 1, 1))
    assert " · 100.0 % of the tokens · " in page.plot.accessibleDescription()
    page.table.selectAll()
    page.table.copy()
    name, sentence, _, titles, *_ = QGuiApplication.clipboard().text().split("\n")
    assert (name, sentence) == ("article.txt", found.sentence)
    assert titles == "Share\tText\tBytes/token, held out\tTokens kept"


def test_it_is_cancelled_and_tried_again(qtbot, session, page):
    page.start.click()
    assert not page.start.isEnabled()
    page.work.cancel.click()
    assert (page.found, page.work.problem.text()) == (None, "It was cancelled.")
    assert page.start.isEnabled()
    qtbot.waitUntil(lambda: not session.jobs.running)
    page.work.again.click()
    qtbot.waitUntil(lambda: page.found is not None)
    assert not page.work.problem.text()


def test_other_settings_make_the_answer_outdated_and_another_corpus_ends_it(qtbot, session, page):
    find(qtbot, page)
    assert page.stale.isHidden()
    settings = session.training.settings
    session.training.set_settings(replace(settings, vocabulary_size=310, held_out=0.2))
    assert not page.stale.isHidden()
    assert "20\u00a0%" in page.plan.text()
    session.training.set_settings(settings)
    assert page.stale.isHidden()
    session.training.set_settings(replace(settings, vocabulary_size=310, held_out=0.2))
    find(qtbot, page)
    config = TrainingConfig(vocabulary_size=310, pattern="gpt2")
    assert page.found == how_much_text(session.corpus.current, config, held_out=0.2)
    assert page.stale.isHidden()
    session.corpus.add_text("more of it " * 30, "more")
    assert page.found is None
    assert page.stack.currentWidget() is page.empty
    page.start.click()
    session.corpus.set_sources(())
    assert not page.start.isEnabled()
    assert page.plan.text() == "Open a text first."
    qtbot.waitUntil(lambda: not session.jobs.running)
    assert page.found is None


def test_why_there_is_no_answer_is_said(qtbot, session, page):
    session.corpus.set_sources(())
    session.corpus.add_text("one line only", "short")
    find(qtbot, page)
    assert "at least 20 lines are needed" in page.work.problem.text()
    session.training.set_settings(Settings(algorithm="unigram"))
    assert not page.start.isEnabled()
    assert "choose another algorithm" in page.plan.text()
