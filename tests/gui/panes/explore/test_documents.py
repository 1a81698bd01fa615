"""The page Documents of the Explore pane, in its workspace: sorting, filtering, opening, limits, and its file."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication, QMenu

from tests.gui.panes.explore.conftest import Explored
from tests.gui.person import at_window, quiet
from tests.gui.tables import click, column_texts, titles
from tokstudio.core.base.progress import Progress
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.gui.panes.explore import documents

LINES = [f"line {number} " + "abc " * (number % 7) for number in range(200)]


def sort(qtbot, page, title: str) -> None:
    """Clicks a title."""
    header, at = page.table_view.horizontalHeader(), titles(page.rows).index(title)
    place = QPoint(header.sectionViewportPosition(at) + 8, header.height() // 2)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=place)


def write(qtbot, page, text: str) -> None:
    page.filter.setFocus()
    page.filter.selectAll()
    qtbot.keyClicks(page.filter, text)


def column(page, title: str) -> list[str]:
    return column_texts(page.rows, titles(page.rows).index(title))


def test_large_texts_that_are_one_document_are_divided_into_lines_by_a_click_that_is_undone(qtbot, explored):
    large = "\n".join(f"line {number} of a large text" for number in range(50_000))
    explored.session.corpus.add_text(large, "large.txt")
    explored.session.corpus.add_text("a short text", "short.txt")
    page, pane = explored.turn_to("documents"), explored.pane
    assert page.rows.rowCount() == 2
    assert pane.divide.isVisible()
    assert pane.undivided.text() == "large.txt is one document."
    pane.divide.click()
    qtbot.waitUntil(lambda: page.rows.rowCount() == 50_001)
    assert explored.session.training.settings.documents == "line"
    assert not pane.divide.isVisible()
    explored.session.history.undo()
    qtbot.waitUntil(lambda: page.rows.rowCount() == 2)
    assert pane.divide.isVisible()


def test_every_document_has_a_row_which_a_title_sorts_the_worst_first_and_a_filter_keeps(qtbot, explored):
    explored.session.corpus.add_text("\n".join(LINES))
    explored.session.corpus.set_documents("line")
    explored.settle()
    page = explored.turn_to("documents")
    QAbstractItemModelTester(page.rows, page.rows)
    sizes = [len(line) + 1 for line in LINES[:-1]] + [len(LINES[-1])]
    assert column(page, "Bytes") == [str(size) for size in sizes]
    assert column(page, "Document") == [str(number) for number in range(1, 201)]
    assert page.count.text() == "200 documents"
    sort(qtbot, page, "Bytes")
    explored.settle()
    assert column(page, "Bytes") == [str(size) for size in sorted(sizes, reverse=True)]
    longest = [number for number, size in enumerate(sizes, 1) if size == max(sizes)]
    assert column(page, "Document")[: len(longest)] == [str(number) for number in longest], "equal ones in their order"
    sort(qtbot, page, "Bytes")
    explored.settle()
    assert column(page, "Bytes") == [str(size) for size in sorted(sizes)]
    page._sort_by("place")
    explored.settle()
    assert column(page, "Document") == [str(number) for number in range(1, 201)]

    # A filter takes words and conditions, and says what is wrong.
    write(qtbot, page, "abc bytes>30")
    explored.settle()
    qtbot.waitUntil(lambda: page.rows.count() < 200)
    kept = [number for number, line in enumerate(LINES, 1) if len(line) + (number < 200) > 30]
    assert column(page, "Document") == [str(number) for number in kept]
    assert page.count.text() == f"{len(kept)} of 200 documents"
    qtbot.keyClick(page.filter, Qt.Key.Key_Down)
    assert QApplication.focusWidget() is page.table_view
    write(qtbot, page, "byts>30")
    qtbot.waitUntil(lambda: not page.problem.isHidden() and "Do you mean bytes?" in page.problem.text())
    assert column(page, "Document") == [str(number) for number in kept], "the rows stay"
    assert page.again.isHidden(), "the same filter is as wrong again"
    qtbot.keyClick(page.filter, Qt.Key.Key_Return)
    assert QApplication.focusWidget() is page.filter
    write(qtbot, page, "nowhere")
    qtbot.waitUntil(lambda: page.rows.count() == 0)
    assert page.problem.text() == ""
    assert page.nothing.isVisible()
    qtbot.keyClick(page.filter, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: page.rows.count() == 200)


def test_enter_opens_a_document_and_a_double_click_a_long_one_in_part(qtbot, explored):
    session, told = explored.session, []
    session.jobs.told.connect(told.append)
    session.corpus.set_sources((Source.from_texts(["first\n", "é" * 900_000], "a.txt"),))
    page = explored.turn_to("documents")
    page.table_view.setFocus()
    page.table_view.setCurrentIndex(page.rows.index(0, 0))
    qtbot.keyClick(page.table_view, Qt.Key.Key_Return)
    assert session.view.text == "first\n"
    click(qtbot, page.table_view, 1, double=True)
    assert session.view.text == "é" * 500_000
    assert told == ["The document has 1.8 MB: 1.0 MB of it are shown."]


@pytest.mark.usefixtures("unstyled")
@at_window()
def test_an_empty_corpus_says_what_is_missing_a_chosen_source_limits_the_page_and_rows_are_written_as_listed(
    qtbot, tmp_path, window, answers
):
    window.actions_by_id["workspace_explore"].trigger()
    explored = Explored(qtbot, window.session, window.explore, tmp_path)
    page, corpus = explored.page, window.session.corpus
    assert page.empty.isVisible()
    assert page.empty.label.text().endswith("Open a text, drop one on the window, or choose a sample.")
    action = window.actions_by_id["save_explored_csv"]
    assert not action.isEnabled()
    assert action.toolTip() == "The corpus is empty."
    counts = tmp_path / "counts.tsv"
    counts.write_text("the\t5\ncat\t3\n")
    corpus.open_counts([counts])
    explored.settle()
    assert "word counts, which have no documents" in page.empty.label.text()
    assert action.toolTip() == "Nothing is listed: open the Explore pane with a text."
    corpus.add_text("some text", "text.txt")
    explored.settle()
    assert column(page, "Source") == ["text.txt"]
    assert window.explore.limited.text().startswith("Not shown: counts.tsv")
    corpus.set_sources(())
    corpus.add_texts([("a.txt", "one two"), ("b.txt", "three"), ("c.txt", "four")])
    explored.settle()
    assert column(page, "Source") == ["a.txt", "b.txt", "c.txt"]
    assert not window.explore.unlimit.isVisible()
    click(qtbot, window.corpus.source_list, 1, 0)
    explored.settle()
    assert column(page, "Source") == ["b.txt"]
    assert window.explore.limited.text() == "Only b.txt."
    assert window.explore.unlimit.isVisible()
    qtbot.mouseClick(window.explore.unlimit, Qt.MouseButton.LeftButton)
    explored.settle()
    assert column(page, "Source") == ["a.txt", "b.txt", "c.txt"]
    click(qtbot, window.corpus.source_list, 2, 0)
    explored.settle()
    corpus.add_text("five", "d.txt")
    explored.settle()
    assert column(page, "Source") == ["c.txt"], "the limit stays while its source does"
    corpus.set_sources(corpus.sources[:1])
    explored.settle()
    assert column(page, "Source") == ["a.txt"]
    assert not window.explore.unlimit.isVisible()

    # Rows are sorted and opened by their menu, and written and copied as listed.
    corpus.set_sources(())
    corpus.add_texts([("a.txt", "one two"), ("b.txt", '"three", four\n')])
    explored.settle()
    page.table_view.setCurrentIndex(page.rows.index(0, 0))
    page.table_view.customContextMenuRequested.emit(QPoint(5, 5))
    menu = next(menu for menu in page.findChildren(QMenu) if menu.isVisible())
    by = next(entry.menu() for entry in menu.actions() if entry.menu() is not None)
    next(entry for entry in by.actions() if entry.text() == "Bytes").trigger()
    explored.settle()
    assert column(page, "Source") == ["b.txt", "a.txt"]
    menu.actions()[0].trigger()
    assert window.session.view.text == '"three", four\n'
    assert not window.text.visibleRegion().isEmpty()
    menu.close()
    quiet(qtbot, window)
    window.actions_by_id["workspace_explore"].trigger()  # in whose front the page is
    explored.settle()
    answers.target = tmp_path / "documents.csv"
    qtbot.mouseClick(window.explore.save, Qt.MouseButton.LeftButton)
    quiet(qtbot, window)
    with answers.target.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == titles(page.rows)
    assert [row[0] for row in rows[1:]] == ["b.txt", "a.txt"]
    assert [row[rows[0].index("Bytes")] for row in rows[1:]] == ["14", "7"]
    page.table_view.setFocus()
    page.table_view.selectAll()
    qtbot.keyClick(page.table_view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = [line.split("\t")[0] for line in QGuiApplication.clipboard().text().splitlines()]
    assert copied == ["Source", "b.txt", "a.txt"]


def test_no_name_and_no_figure_of_a_large_document_is_cut_and_names_are_from_left_to_right(qtbot, explored):
    names = ["עברית of some length.txt", "日本語の長い長い文章の題名.txt", "b.txt"]
    explored.session.corpus.add_texts([(name, "one two") for name in names])
    explored.settle()
    explored.session.corpus.add_text("one\n" * 444_444, "large.txt")
    page = explored.turn_to("documents")
    assert column(page, "Source") == [*names, "large.txt"]
    width = max(map(page.table_view.fontMetrics().horizontalAdvance, names))
    assert page.table_view.columnWidth(0) > width
    page.table_view.setStyleSheet("QTableView::item { padding: 0 6px; border: 0; }")  # as in the sheet that is left out
    for at, title in enumerate(titles(page.rows)):
        needed = page.table_view.sizeHintForIndex(page.rows.index(3, at)).width()
        assert page.table_view.columnWidth(at) >= needed, (title, page.table_view.columnWidth(at), needed)


def test_documents_of_a_data_set_of_several_files_say_which_it_is(qtbot, tmp_path, explored):
    for number in (1, 2):
        rows = "".join(f'{{"text": "row {row} of {number}"}}\n' for row in range(2))
        (tmp_path / f"part-{number}.jsonl").write_text(rows)
    data_set = Corpus.from_files([tmp_path]).sources
    explored.session.corpus.set_sources((*data_set, Source.from_texts(["alone"], "alone")))
    page = explored.turn_to("documents")
    assert column(page, "File") == [*["part-1.jsonl"] * 2, *["part-2.jsonl"] * 2, ""]
    assert column(page, "Document") == ["1", "2", "1", "2", "1"]
    sort(qtbot, page, "File")
    explored.settle()
    assert column(page, "File")[0] == ""
    written = [(row["File"], row["Document"]) for row in explored.written()]
    parts = [(f"part-{number}.jsonl", str(row)) for number in (1, 2) for row in (1, 2)]
    assert written == [("", "1"), *parts]


def test_only_documents_of_the_training_text_are_marked(qtbot, explored):
    explored.session.corpus.set_sources((Source.from_texts(["the cat sat"] * 9, "a.txt"),))
    explored.train(*explored.session.corpus.sources, vocabulary_size=262)
    explored.session.corpus.add_text("the dog", "b.txt")
    page = explored.turn_to("documents")
    explored.settle()
    signs = [value[0] == "†" for value in column(page, "Bytes/token")]
    assert signs == [True] * 9 + [False]
    tips = [page.rows.tip(row, 0) for row in (0, 9)]
    assert ["† Trained on this text" in tip for tip in tips] == [True, False]


def test_tokens_are_those_at_the_playhead_and_uses_those_of_the_chosen_token(qtbot, explored):
    texts = ["the cat sat", "the the the", "naïve \U0001f600", ""]
    explored.session.corpus.set_sources((Source.from_texts(texts, "a.txt"),))
    page = explored.turn_to("documents")
    assert "Tokens" not in titles(page.rows)
    assert column(page, "Lines") == ["1", "1", "1", "0"]
    assert column(page, "Script") == ["Latin", "Latin", "Latin", "–"]
    explored.session.corpus.add_text("the cat sat on the mat " * 50)
    explored.train(*explored.session.corpus.sources, vocabulary_size=262)
    run = explored.session.runs.active
    explored.settle()
    for merges in (len(run), 2):
        explored.session.view.set_playhead(merges)
        qtbot.wait(20)
        explored.settle()
        tokenizer = run.tokenizer.at(merges)
        token = tokenizer.encode("the")[0]
        explored.session.view.look_at(token)
        explored.settle()
        encoded = [tokenizer.encode(text) for text in texts]
        assert column(page, "Tokens")[:4] == [f"{len(ids):,}" for ids in encoded]
        sizes = [len(text.encode()) for text in texts]
        assert column(page, "Bytes/token")[:3] == [
            f"†{size / len(ids):.2f}" for size, ids in zip(sizes[:3], encoded, strict=False)
        ]
        assert column(page, "Bytes/token")[3] == "–"
        held = dict(zip((each.key for each in page.rows.listed.columns), page.rows.listed.values, strict=True))
        assert held["repeated"] is page.asked.answer.columns["repeated"]
        assert held["repeated"].dtype == np.float32
        uses = next(title for title in titles(page.rows) if title.startswith("Uses of"))
        assert column(page, uses)[:4] == [str(ids.count(token)) for ids in encoded]
    write(qtbot, page, "uses>1")
    qtbot.waitUntil(lambda: page.rows.count() == 2)
    explored.session.view.look_at(None)
    qtbot.waitUntil(lambda: "Choose a token" in page.problem.text())


def test_work_is_cancelled_and_begins_again(qtbot, monkeypatch, explored):
    is_stuck, found = [True], documents.documents_work

    def endless(exploration):
        while is_stuck:
            yield Progress("reading", 1, 2)
        return (yield from found(exploration))

    monkeypatch.setattr(documents, "documents_work", endless)
    explored.session.corpus.add_text("some text")
    page = explored.page
    qtbot.waitUntil(page.cancel.isVisible)
    qtbot.waitUntil(lambda: page.work.doing.text() == "Reading documents…")
    assert page.work.bar.value() == 500
    qtbot.mouseClick(page.cancel, Qt.MouseButton.LeftButton)
    assert page.problem.text() == "Cancelled."
    assert not page.cancel.isVisible()
    is_stuck.clear()
    qtbot.mouseClick(page.again, Qt.MouseButton.LeftButton)
    explored.settle()
    assert page.rows.count() == 1
    assert not page.problem.isVisible()


def test_very_many_documents_are_listed_and_sorted(qtbot, explored):
    ends = np.cumsum(np.arange(200_000) % 5)
    source = Source("many.txt", None, "utf-8", "", np.full(int(ends[-1]), ord("a"), np.uint8), ends.astype(np.int64))
    explored.session.corpus.set_sources((source,))
    page = explored.turn_to("documents")
    assert page.rows.count() == 200_000
    sort(qtbot, page, "Bytes")
    explored.settle()
    assert page.rows.index(0, titles(page.rows).index("Bytes")).data() == "4"
    page.table_view.selectAll()
    QApplication.processEvents()
    page.table_view.setFocus()
    qtbot.keyClick(page.table_view, Qt.Key.Key_End)
    assert page.table_view.currentIndex().row() == 199_999
