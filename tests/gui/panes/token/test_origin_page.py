"""The page Origin of the Token pane: its figures, its table and bar code, opening documents, cancelling."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from tests.gui.person import at_window, quiet
from tests.gui.tables import click, column_texts, row_texts
from tokstudio.core.base.progress import Progress
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.gui.panes.token import origin_page
from tokstudio.gui.panes.token.origin_page import MADE, PLACE, USES
from tokstudio.gui.panes.token.pane import TokenPane

PLAIN = [f"the cat {number} sat on the mat and the rat" for number in range(40)]
ODD = [*PLAIN[:5], "zorb zorb zorb " * 9, "a zorb", *PLAIN[5:9]]


@pytest.fixture
def pane(session, theme, actions, show) -> TokenPane:
    pane = TokenPane(session, theme, actions)
    show(pane, 520, 520)
    pane.tabs.setCurrentIndex(2)
    return pane


@pytest.fixture
def page(session, make_run, pane):
    rows = (replace(Source.from_texts(texts, name), is_rows=True) for texts, name in ((PLAIN, "a"), (ODD, "b")))
    session.corpus.set_sources(tuple(rows))
    make_run(vocabulary_size=300, pattern="gpt2")
    return pane.origins


def look_at(qtbot, session, page, raw: bytes) -> None:
    session.view.look_at(session.view.tokenizer.tokens.spelling(raw)[0])
    settle(qtbot, page)


def settle(qtbot, page) -> None:
    qtbot.wait(20)
    qtbot.waitUntil(lambda: not page.busy)


def test_figures_of_a_token_are_those_of_a_recount(qtbot, session, page):
    QAbstractItemModelTester(page.rows, QAbstractItemModelTester.FailureReportingMode.Fatal, page)
    look_at(qtbot, session, page, b" zorb")
    encode = session.view.tokenizer.encode
    uses = [encode(text).count(session.view.token) for text in (*PLAIN, *ODD)]
    total, most = sum(uses), max(uses)
    share = f"{100 * most / total:.0f}\xa0%"
    assert page.sentence.text() == f"{share} of its {total} uses are in one of 51 documents: b, row 6."
    assert page.facts.text().startswith(f"In {sum(map(bool, uses))} of 51 documents")
    assert column_texts(page.rows, PLACE) == ["The whole text", "b", "a", "b, row 6", "b, row 7"]
    assert column_texts(page.rows, USES) == [str(total), str(total), "0", str(most), str(total - most)]
    made = sum(text.count(" zorb") for text in ODD)
    assert row_texts(page.rows, 0) == ["The whole text", str(made), str(total), "100.0\xa0%"]
    assert page.table.currentIndex().row() == 3, "the document with most uses"
    table, seen = page.table, set()
    for width in (600, 200, *range(230, 600, 10)):
        table.resize(width, 300)
        shown = [at for at in range(page.rows.columnCount()) if not table.isColumnHidden(at)]
        seen.add(len(shown))
        assert all(table.columnWidth(at) >= table.horizontalHeader().sectionSizeHint(at) for at in shown if at != PLACE)
    assert seen == {2, 3, 4}
    # At an earlier playhead it is in more places, or not there.
    session.view.set_playhead(0)
    settle(qtbot, page)
    assert page.empty.isVisible()
    assert page.empty.label.text() == "The token is not in the vocabulary at this playhead position."
    session.view.look_at(ord("z"))
    settle(qtbot, page)
    assert column_texts(page.rows, USES)[0] == str("".join(ODD).count("z"))


def test_where_a_token_of_picky_bpe_was_made_is_counted_for_the_whole_text_and_that_is_said(
    qtbot, session, page, make_run
):
    make_run(vocabulary_size=300, pattern="gpt2", algorithm="picky", threshold=0.9)
    look_at(qtbot, session, page, b" zorb")
    qtbot.waitUntil(lambda: set(column_texts(page.rows, MADE)[1:]) == {"–"})
    assert column_texts(page.rows, MADE)[0] == str(sum(text.count(" zorb") for text in ODD))
    tips = [page.rows.index(row, MADE).data(Qt.ItemDataRole.ToolTipRole) or "" for row in (0, 1)]
    assert tips[0] == ""
    assert "Picky BPE removes tokens again, so how often one was made is counted for the whole text" in tips[1]


def test_a_document_is_opened_from_the_table_and_the_bar_code(qtbot, session, page):
    look_at(qtbot, session, page, b" zorb")
    shown = []
    session.view.place_asked.connect(lambda _: shown.append(session.view.text))
    qtbot.keyClick(page.table, Qt.Key.Key_Return)
    click(qtbot, page.table, 4, double=True)
    click(qtbot, page.table, 1, double=True)
    assert shown == [ODD[5], ODD[6]], "a source is no document"
    page.bars.setFocus()
    for key in (Qt.Key.Key_Home, Qt.Key.Key_Return, Qt.Key.Key_End, Qt.Key.Key_Return):
        qtbot.keyClick(page.bars, key)
    assert shown[2:] == [ODD[5], ODD[6]]
    assert page.bars.accessibleDescription() == "1 use from b, row 7 on"
    page.table.setFocus()
    page.table.selectAll()
    page.table.copy()
    about, titles, *rows = csv.reader(QGuiApplication.clipboard().text().splitlines(), delimiter="\t")
    assert about[0].startswith(f"Token {session.view.token} of 300, TokStudio")
    assert titles == list(page.rows.titles)
    assert [row[0] for row in rows] == column_texts(page.rows, PLACE)


def test_a_document_is_left_out_by_a_click_and_undo_brings_it_back(qtbot, session, page):
    look_at(qtbot, session, page, b" zorb")
    page.table.setCurrentIndex(page.rows.index(1, 0))
    assert not page.leave_out.isEnabled(), "a source is no document"
    page.table.setCurrentIndex(page.rows.index(3, 0))
    uses = int(column_texts(page.rows, USES)[3])
    qtbot.mouseClick(page.leave_out, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not session.corpus.is_leaving_out and not session.jobs.running)
    settle(qtbot, page)
    assert [source.documents for source in session.corpus.remaining] == [40, 10]
    # Its number is that of the file still.
    assert page.sentence.text() == "Its one use is in one of 50 documents: b, row 7."
    session.history.undo()
    qtbot.waitUntil(lambda: not session.corpus.is_leaving_out and not session.jobs.running)
    settle(qtbot, page)
    assert int(column_texts(page.rows, USES)[3]) == uses


def test_weights_are_said_not_to_matter(qtbot, session, page):
    look_at(qtbot, session, page, b" zorb")
    assert not page.note.isVisible()
    session.corpus.set_weights((1000, 3000))
    assert page.note.text() == "Weights do not change these figures."
    assert page.note.isVisible()


def test_work_can_be_cancelled_and_tried_again_and_other_tokens_follow(qtbot, session, page, monkeypatch):
    go = []

    def slow(exploration, token):
        while not go:
            yield Progress("counting uses", 1, 2)
        return (yield from found(exploration, token))

    found = origin_page._origin_work
    monkeypatch.setattr(origin_page, "_origin_work", slow)
    session.view.look_at(ord("a"))
    qtbot.waitUntil(lambda: page.work.doing.text() == "Counting uses…")
    assert page.work.cancel.isVisible()
    qtbot.mouseClick(page.work.cancel, Qt.MouseButton.LeftButton)
    assert not page.busy
    assert page.work.problem.text() == "Cancelled."
    go.append(True)
    qtbot.mouseClick(page.work.again, Qt.MouseButton.LeftButton)
    settle(qtbot, page)
    assert column_texts(page.rows, USES)[0].isdigit()
    assert not page.work.problem.isVisible()


def test_an_opened_tokenizer_is_counted_in_the_corpus_and_a_corpus_without_documents_is_told(
    qtbot, session, page, tmp_path, pane
):
    tokenizer = session.view.tokenizer
    session.runs.add_tokenizer(tokenizer, "Opened")
    assert not session.runs.active.has_counts
    look_at(qtbot, session, page, b" zorb")
    uses = column_texts(page.rows, USES)
    assert int(uses[0]) > 9
    (tmp_path / "one.txt").write_text("zorb zorb zorb")
    session.corpus.set_sources(Corpus.from_files([tmp_path / "one.txt"]).sources)
    settle(qtbot, page)
    assert page.sentence.text() == "It is used 2 times in the one document."
    session.corpus.set_sources(Corpus.from_counts({"zorb": 3}).sources)
    settle(qtbot, page)
    assert page.empty.isVisible()
    assert "word counts, which have no documents" in page.empty.label.text()
    session.corpus.set_sources(())
    settle(qtbot, page)
    assert page.empty.label.text().endswith("Open a text, drop one on the window, or choose a sample.")


@at_window()
def test_the_tab_is_reached_by_mouse_and_the_sample_names_the_document(qtbot, unstyled, window):
    window.actions_by_id["sample_train_rubbish"].trigger()
    quiet(qtbot, window)
    window.actions_by_id["workspace_explore"].trigger()
    tabs = window.token.tabs
    qtbot.mouseClick(tabs, Qt.MouseButton.LeftButton, pos=tabs.tabRect(2).center())
    page, tokenizer = window.token.origins, window.session.view.tokenizer
    token = next(token for token in range(999, 0, -1) if b"krindle" in tokenizer.bytes_of(token))
    window.session.view.look_at(token)
    settle(qtbot, page)
    documents = map(bytes, window.session.corpus.current.iter_documents())
    document = next(number for number, text in enumerate(documents) if b"krindle" in text)
    assert page.sentence.text().endswith(f"are all in one of 275 documents: A corpus with rubbish, row {document + 1}.")
    qtbot.keyClick(page.table, Qt.Key.Key_Return)
    quiet(qtbot, window)
    assert "krindle" in window.session.view.text
