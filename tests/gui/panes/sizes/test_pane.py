"""The How Large? pane: which size is enough, read and reached with the mouse."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication

from tests.gui.tables import click, row_texts
from tokstudio import Tokenizer, __version__
from tokstudio.core.base.resources import sample_text
from tokstudio.core.base.wording import whole_text
from tokstudio.gui.panes.sizes.pane import SizesPane
from tokstudio.gui.panes.sizes.table import COLUMNS, MERGES, NOTE, PARAMETERS, RATIO, SAVED, SAVED_SHARE, VOCABULARY


@pytest.fixture
def pane(session, theme, actions, show):
    pane = SizesPane(session, theme, actions)
    show(pane, 900, 420)
    QAbstractItemModelTester(pane.table.model(), QAbstractItemModelTester.FailureReportingMode.Fatal, pane)
    return pane


def cell(pane, row, column):
    return pane.table.model().index(row, column).data()


def rows(pane):
    """Each row by its note, and the notes in order."""
    model = pane.table.model()
    return [tuple(row_texts(model, row)) for row in range(model.rowCount())]


def titles_of(pane, role=Qt.ItemDataRole.DisplayRole):
    model = pane.table.model()
    return [model.headerData(at, Qt.Orientation.Horizontal, role) for at in range(len(COLUMNS))]


def noted(pane, note):
    return next(number for number, row in enumerate(rows(pane)) if row[NOTE] == note)


def test_a_hidden_pane_catches_up_and_is_empty_without_a_run(pane, session, make_run):
    pane.hide()
    make_run(vocabulary_size=270)
    pane.show()
    assert rows(pane)[-1][VOCABULARY] == "270"
    session.runs.delete(session.runs.active)
    assert pane.stack.currentWidget() is pane.empty


def test_the_column_of_what_merges_save_names_no_more_merges_than_there_are(pane, session, make_run):
    make_run(sample_text("article"), vocabulary_size=1256)
    tips = titles_of(pane, Qt.ItemDataRole.ToolTipRole)
    assert titles_of(pane)[SAVED] == "Merges save (tokens)"
    assert "1,000" not in tips[SAVED]
    share = "Tokens of the text that the merges of this size save, in percent of its tokens before these merges"
    assert tips[SAVED_SHARE] == share, "it stands alone where the column beside it is hidden"
    make_run(vocabulary_size=1257)
    assert titles_of(pane)[SAVED] == "Last ≤ 1,000 merges save (tokens)"
    for column in (SAVED, SAVED_SHARE):
        assert "or all where there are fewer" in titles_of(pane, Qt.ItemDataRole.ToolTipRole)[column]


def test_the_smallest_size_with_most_of_the_compression_is_named_chosen_and_copied(pane, trained, qtbot, session):
    run = trained.runs.active.run
    row = rows(pane)[noted(pane, "95\u00a0%")]
    merges = int(row[MERGES])
    assert run.bytes_per_token(merges) >= 0.95 * run.bytes_per_token() > run.bytes_per_token(merges - 1)
    assert row[VOCABULARY] == str(256 + merges)
    assert row[RATIO] == f"{run.bytes_per_token(merges):.3f}"
    assert row[SAVED] == f"{run.tokens_before - int(run.tokens_after[merges - 1]):,}"
    rule = "Begin with 956 tokens: by the rule of thumb, 31.0 kB of text support about 700 merges. "
    all_of = f"{256 + merges} tokens have 95\u00a0% of the compression of all 600 trained:"
    assert pane.answer.text().startswith(rule + all_of)
    assert "training text (31.0 kB)" in pane.measured.text()
    assert [row[VOCABULARY] for row in rows(pane) if row[NOTE] == ""] == ["512"]
    notes = [row[NOTE] for row in rows(pane)]
    count = sum(map(bool, notes))
    assert notes[0] == "playhead"
    assert all(notes[:count])
    merges = [int(row[MERGES]) for row in rows(pane)]
    assert merges[1:count] == sorted(merges[1:count])
    assert merges[count:] == sorted(merges[count:])
    assert {"Size (tokens)", "Of that at the end", "Embedding parameters"} <= set(titles_of(pane))
    widths, ties = [], []
    pane.widthChosen.connect(widths.append)
    pane.tiedChosen.connect(ties.append)
    end = noted(pane, "end")
    assert cell(pane, end, len(COLUMNS) - 1) == f"{600 * 4096:,}"
    assert "How many numbers the embedding of a token has." in pane.model_width.toolTip()
    assert "A model is tied if it uses one table of embeddings" in pane.tied.toolTip()
    pane.model_width.setValue(512)
    assert cell(pane, end, len(COLUMNS) - 1) == f"{600 * 512:,}"
    pane.tied.click()
    assert cell(pane, end, len(COLUMNS) - 1) == f"{2 * 600 * 512:,}"
    assert (widths, ties) == ([512], [False])
    pane.set_model(1024, tied=True)
    assert cell(pane, end, len(COLUMNS) - 1) == f"{600 * 1024:,}"
    assert (widths, ties) == ([512], [False])
    pane.resize(440, 300)
    shown = [column.title for number, column in enumerate(COLUMNS) if not pane.table.isColumnHidden(number)]
    assert {"Size (tokens)", "Bytes/token", "Embedding parameters"} <= set(shown)
    assert pane.table.horizontalHeader().length() <= pane.table.viewport().width()
    assert len(shown) < len(COLUMNS)
    # Where even these do not fit, titles are shortened and no number is.
    pane.resize(340, 300)
    header, metrics = pane.table.horizontalHeader(), pane.table.fontMetrics()
    assert header.length() <= pane.table.viewport().width()
    for number in (VOCABULARY, RATIO, PARAMETERS):
        assert header.sectionSize(number) >= metrics.horizontalAdvance(COLUMNS[number].widest) + 12
    assert header.sectionSize(PARAMETERS) < metrics.horizontalAdvance(COLUMNS[PARAMETERS].title)
    pane.resize(900, 420)
    assert not any(pane.table.isColumnHidden(number) for number in range(len(COLUMNS)))
    click(qtbot, pane.table, noted(pane, "95\u00a0%"))
    qtbot.keyClick(pane.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    run, measured, version, headings, row = QGuiApplication.clipboard().text().split("\n")
    assert run == f"{trained.runs.active.name} (600 tokens)"
    assert measured == pane.measured.text()
    assert version == f"TokStudio {__version__}"
    cells = dict(zip(headings.split("\t"), row.split("\t"), strict=True))
    assert cells["Remark"] == "95\u00a0%"
    assert cells["Size (tokens)"] == rows(pane)[noted(pane, "95\u00a0%")][VOCABULARY]
    row = noted(pane, "90\u00a0%")
    click(qtbot, pane.table, row)
    assert trained.view.playhead == int(cell(pane, row, MERGES))
    assert cell(pane, 0, NOTE) == "playhead"
    assert cell(pane, 0, MERGES) == cell(pane, row, MERGES)
    qtbot.keyClick(pane.table, Qt.Key.Key_Down)
    qtbot.keyClick(pane.table, Qt.Key.Key_Return)
    assert trained.view.playhead == int(cell(pane, row + 1, MERGES))
    trained.view.set_playhead(100)
    assert rows(pane)[0][: MERGES + 1] == ("playhead", "356", "100")
    trained.view.set_playhead(0)
    assert rows(pane)[0][RATIO] == "1.000"
    trained.runs.add_tokenizer(Tokenizer.from_run(trained.runs.active.run), "opened")
    assert pane.stack.currentWidget() is pane.empty
    assert "does not say" in pane.empty.label.text()


def test_the_caution_stands_first_and_whole_and_nearly_all_tokens_are_no_answer(pane, session, make_run):
    text = sample_text("article")[:3000]
    make_run(text, vocabulary_size=900)
    for width in (900, 420):
        pane.window().resize(width, 420)
        QApplication.processEvents()
        caution, answer = pane.measured, pane.answer
        assert caution.y() + caution.height() <= answer.y() < pane.table.y()
        for label in (caution, answer):
            assert label.height() >= label.heightForWidth(label.width())
    assert caution.text().endswith("A small corpus cannot show what a large vocabulary is worth.")
    assert "That is nearly all, so this text cannot show which size is enough." in answer.text()
    session.corpus.set_sources(())
    make_run("abc def ghi jkl " * 200 + text[:300], vocabulary_size=330, pattern="gpt2")
    assert "which size is enough." not in answer.text()


def test_held_out_text_is_measured_where_there_is_some(qtbot, session, pane, make_run):
    run = make_run(sample_text("article"), vocabulary_size=600, held_out=0.2)
    qtbot.waitUntil(lambda: run.held_out.tokens is not None)
    qtbot.waitUntil(lambda: "held-out" in pane.measured.text())
    held_out = run.held_out
    assert rows(pane)[noted(pane, "end")][RATIO] == f"{held_out.bytes / int(held_out.tokens[-1]):.3f}"
    merges = int(rows(pane)[noted(pane, "95\u00a0%")][MERGES])
    assert held_out.tokens[merges] * 95 <= held_out.tokens[-1] * 100 < held_out.tokens[merges - 1] * 95


def test_weighted_text_is_counted_in_tokens_and_not_in_thousandths(session, pane, make_run):
    session.corpus.add_text("the cat and the hat and the dog " * 30, "english")
    session.corpus.add_text("die Katze und der Hut und der Hund " * 30, "german")
    session.corpus.set_weights((1_500, 1_000))
    run = make_run(vocabulary_size=270, pattern="gpt2")
    assert run.weight_scale == 1_000
    end = next(row for row in rows(pane) if row[NOTE].endswith("end"))
    assert end[RATIO] == f"{run.bytes_per_token(len(run)):.3f}"
    assert end[SAVED] == whole_text(run.log.tokens_before - run.log.tokens_at(len(run)), 1_000)


@pytest.mark.parametrize("width", [560, 900])
def test_the_note_below_the_table_is_whole(qtbot, pane, trained, width):
    pane.resize(width, 420)
    qtbot.waitUntil(lambda: pane.width() == width and pane.formulas.width() < width)
    note = pane.formulas
    assert note.isVisible()
    assert note.text().endswith("Export can write the tokenizer at the playhead.")
    qtbot.waitUntil(lambda: note.height() >= note.heightForWidth(note.width()))
