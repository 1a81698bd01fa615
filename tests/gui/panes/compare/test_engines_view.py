"""The page Engines of Compare: other libraries run when asked, the first line that differs, Cancel, CSV and report."""

from __future__ import annotations

import csv
import json
from functools import partial

import pytest
from PySide6.QtCore import Qt

from tests.core.formats.trained import settings_of
from tests.gui.commands.test_compare_commands import commands
from tokstudio.core.comparison.engine_table import OURS
from tokstudio.core.comparison.engines import ENGINES, engines_work
from tokstudio.gui.panes.compare import engines
from tokstudio.gui.panes.compare.engines import EnginesView
from tokstudio.gui.session.availability import no_engines
from tokstudio.gui.state.run import RunOrigin

TEXT = "the cat sat on the mat\nThe CAT sat on 12 mats\n"


@pytest.fixture
def view(qtbot, session, make_run, pane, monkeypatch) -> EnginesView:
    chosen = [engine for engine in ENGINES if engine.name in ("tokenizers", "sentencepiece")]
    monkeypatch.setattr(engines, "engines_work", partial(engines_work, engines=chosen))
    session.corpus.add_texts([("eng", TEXT)])
    make_run(vocabulary_size=270, pattern="gpt2")
    pane.tabs.setCurrentIndex(5)
    qtbot.waitUntil(lambda: session.comparison.rows is not None and not session.jobs.running)
    return pane.engines


def run(qtbot, session, view):
    before = session.comparison.engines
    qtbot.mouseClick(view.run, Qt.MouseButton.LeftButton)
    assert view.asked.busy
    assert not view.run.isEnabled()
    qtbot.waitUntil(lambda: session.comparison.engines is not before)
    assert view.run.isEnabled()
    return session.comparison.engines


def test_libraries_run_when_they_are_asked_and_not_before(qtbot, session, view):
    assert session.comparison.engines is None
    assert view.empty.isVisible()
    assert "press Run" in no_engines(session)
    assert not view.save.isEnabled()
    table = run(qtbot, session, view)
    assert table.agrees
    assert no_engines(session) is None
    assert [view.rows.text(0, at) for at in range(view.rows.columnCount())] == [
        "\u2068eng\u2069" if view.rows.text(0, 0).startswith("\u2068") else "eng",
        f"{table.rows[0].tokens:,} tokens",
        "0 lines differ",
    ]
    assert "merges characters" in view.told.toPlainText()
    session.corpus.add_texts([("more", "the dog\n")])
    qtbot.waitUntil(lambda: "have changed since" in view.note.text())


def test_a_cell_shows_the_first_line_that_differs_with_its_cause(qtbot, session, view, tmp_path):
    tokenizer = session.runs.all[0].tokenizer
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps({**settings_of(tokenizer), "normalizer": {"type": "Lowercase"}}))
    session.runs.add_tokenizer(tokenizer, "opened", RunOrigin(tmp_path, (file,), "Hugging Face", True))
    view.refresh()
    view.tokenizer.setCurrentIndex([choice.name for choice in view.tokenizer.choices].index("opened"))
    table = run(qtbot, session, view)
    assert table.tokenizer == "opened"
    assert table.columns[0].differing == 1
    assert "line 2: normalizer (text is put into lower case)." in view.told.toPlainText()
    stack = view.lines.stack
    assert stack.text == TEXT.splitlines(keepends=True)[1]
    assert [each.name for each in stack.rows] == [OURS, "tokenizers"]
    assert stack.rows[0].cut.ids.tolist() == tokenizer.encode(stack.text)
    assert "do not spell the line" in stack.rows[1].problem
    view.table.setCurrentIndex(view.rows.index(0, 0))
    assert not view.lines.isVisible()

    made, _ = commands(session, tmp_path, tmp_path / "out.csv")
    made.save_engines_csv()
    qtbot.waitUntil(lambda: (tmp_path / "out.csv").exists() and not session.jobs.running)
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert [(row["library"], row["differing_lines"]) for row in rows] == [("tokenizers", "1"), ("sentencepiece", "")]
    made, _ = commands(session, tmp_path, tmp_path / "out.html")
    made.save_report()
    qtbot.waitUntil(lambda: (tmp_path / "out.html").exists() and not session.jobs.running)
    assert "Other libraries with opened" in (tmp_path / "out.html").read_text()


def test_cancel_ends_it_and_run_starts_it_again(qtbot, session, view):
    qtbot.mouseClick(view.run, Qt.MouseButton.LeftButton)
    view.work.cancel.click()
    assert not view.asked.busy
    assert session.comparison.engines is None
    assert view.work.again.isVisible()
    assert run(qtbot, session, view).agrees
    session.comparison.restore(session.comparison.to_plain())
    view.refresh()
    assert view.empty.isVisible()
    assert view.rows.rowCount() == 0


def test_the_active_tokenizer_is_chosen_and_named_so_also_without_merges(qtbot, session, view, pane, make_run):
    empty = make_run(vocabulary_size=300, min_frequency=1000)
    assert len(empty) == 0
    view.tokenizer.set_names(())  # as before the view was shown
    view.refresh()
    assert view.tokenizer.choices[view.tokenizer.currentIndex()].name == empty.name
    pane.tabs.setCurrentIndex(0)
    qtbot.waitUntil(lambda: pane.matrix.model.content is not None and pane.matrix.model.content.active == empty.name)
