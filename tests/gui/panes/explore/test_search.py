"""The page Search of the Explore pane: what is found, in what order, the bar codes, and what is opened and written."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

import numpy as np
import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QApplication

from tests.gui.panes.explore.conftest import Explored
from tests.gui.person import at_window
from tests.gui.tables import click, column_texts
from tokstudio.core.base.progress import Progress
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.source import Source
from tokstudio.core.exploration import finders
from tokstudio.core.exploration.search import BARS, Search
from tokstudio.gui.panes.explore.search import CHOSEN, EXPRESSION, HITS, IDS, RATE, WHERE, area_of
from tokstudio.gui.token_table.hits_table import LEFT, PLACE, RIGHT, SOURCE, TOKEN

TEXTS = {
    "a.txt": "The cat sat.\nA dog, and a CAT!\n" + "x " * 400 + "\nconcatenate the cat",
    "b.txt": "no animal here",
    "c.txt": "cat cat\n",
}


def searched(explored, text=""):
    """Turns to the page, and types a text."""
    page = explored.turn_to("search")
    write(explored, text)
    return page


def write(explored, text):
    field = explored.page.field
    field.setFocus()
    field.selectAll()
    QTest.keyClick(field, Qt.Key.Key_Delete)
    QTest.keyClicks(field, text)
    explored.settle()


def choose(box, value):
    box.setCurrentIndex(next(at for at, choice in enumerate(box.choices) if choice.value == value))


def lines(page) -> list[tuple[str, ...]]:
    return [
        tuple(page.rows.index(row, at).data() for at in (LEFT, TOKEN, RIGHT)) for row in range(page.rows.rowCount())
    ]


def test_text_is_found_in_all_or_the_chosen_source_with_and_without_case_and_as_whole_words(qtbot, explored):
    explored.session.corpus.add_texts(list(TEXTS.items()))
    page = searched(explored)
    QAbstractItemModelTester(page.rows, page.rows)
    QAbstractItemModelTester(page.source_rows, page.source_rows)
    assert page.empty.isVisible()
    assert "Type a text" in page.empty.label.text()
    write(explored, "cat")
    whole = "\n".join(TEXTS.values())
    assert page.rows.rowCount() == len(re.findall("cat", whole, re.IGNORECASE)) == 6
    assert page.total.text() == "6 hits"
    assert lines(page)[0] == ("The ", "cat", " sat.")
    assert column_texts(page.source_rows, HITS) == ["4", "0", "2"]
    assert column_texts(page.source_rows, RATE) == ["–", "–", "–"], "there is no tokenizer"
    assert [page.rows.index(row, PLACE).data() for row in range(6)] == ["1", "2", "4", "4", "1", "1"]
    assert page.rows.index(5, SOURCE).data() == "c.txt"
    explored.session.exploring.limit([explored.session.exploring.sources[2]])
    explored.settle()
    assert column_texts(page.source_rows, 0) == ["c.txt"]
    assert page.total.text() == "2 hits"
    qtbot.mouseClick(explored.pane.unlimit, Qt.MouseButton.LeftButton)
    explored.settle()
    assert page.total.text() == "6 hits"
    page.case.setFocus()
    qtbot.keyClick(page.case, Qt.Key.Key_Space)
    explored.settle()
    assert page.total.text() == "5 hits"
    qtbot.mouseClick(page.whole_words, Qt.MouseButton.LeftButton)
    page.whole_words.setChecked(True)
    explored.settle()
    assert page.total.text() == "4 hits"
    explored.session.corpus.add_text("cat", "d.txt")
    explored.settle()
    assert page.total.text() == "5 hits", "another corpus is searched anew"
    write(explored, "giraffe")
    assert page.total.text() == "0 hits"
    assert page.rows.rowCount() == 0
    write(explored, "")
    assert page.empty.isVisible()
    assert page.table is None
    write(explored, "cat")
    assert page.rows.rowCount() == 5
    explored.session.corpus.set_sources(())
    assert page.rows.rowCount() == 0
    assert page.empty.isVisible()


def test_an_expression_is_found_and_one_that_is_wrong_or_hostile_is_named(qtbot, monkeypatch, explored):
    monkeypatch.setattr(finders, "SECONDS_OF_A_MATCH", 0.1)
    explored.session.corpus.add_texts([*TEXTS.items(), ("d.txt", "a" * 3_000 + "!")])
    page = searched(explored)
    choose(page.kind, EXPRESSION)
    write(explored, "[a-z]+cat[a-z]+|dog")
    assert [token for _, token, _ in lines(page)] == ["dog", "concatenate"]
    write(explored, "(cat")
    assert page.problem.isVisible()
    assert not page.again.isVisible(), "the same question has the same answer"
    assert page.field.property("invalid")
    assert page.rows.rowCount() == 0
    write(explored, "(a|aa)+$|cat")
    assert "takes more than" in page.problem.text()
    assert page.rows.rowCount() > 0, "what was found before it stays"
    write(explored, "cat")
    assert not page.problem.isVisible()
    assert not page.field.property("invalid")


def test_the_keyboard_goes_to_the_hits_and_stays_in_the_field_where_there_are_none(qtbot, explored):
    explored.session.corpus.add_texts(list(TEXTS.items()))
    page = searched(explored)
    choose(page.kind, EXPRESSION)
    page.field.setFocus()
    for text, goes in (("([a-z", False), ("([a-z", False), ("giraffe", False), ("ca[t]", True)):
        QTest.keyClicks(page.field, text)
        # At once, and once more after what was typed is searched for.
        for _ in range(2):
            qtbot.keyClick(page.field, Qt.Key.Key_Return)
            explored.settle()
            assert QApplication.focusWidget() is (page.hits if goes else page.field), text
        page.field.selectAll()


def test_the_chosen_token_and_ids_are_found_at_the_playhead(qtbot, explored):
    text = "the cat sat on the mat and the rat sat on the cat. " * 40
    explored.train(Source.from_texts([text], "a.txt"), vocabulary_size=280)
    ids = explored.session.runs.active.tokenizer.encode(text)
    page = searched(explored)
    choose(page.kind, CHOSEN)
    explored.settle()
    assert page.token.text() == "No token is chosen."
    assert not page.field.isVisible()
    token = max(set(ids), key=ids.count)
    explored.session.view.look_at(token)
    explored.settle()
    assert page.total.text() == several(ids.count(token), "hit")
    assert f"id {token}" in page.token.text()
    qtbot.waitUntil(lambda: page.source_rows.index(0, RATE).data() != "–")
    rate = 1e6 * ids.count(token) / len(ids)
    assert page.source_rows.index(0, RATE).data() == f"{rate:,.0f}"
    explored.session.view.look_at(ord("t"))
    explored.session.view.set_playhead(0)
    qtbot.waitUntil(lambda: page.total.text() == f"{text.count('t'):,} hits")
    choose(page.kind, IDS)
    write(explored, "116, 104 101")
    assert page.total.text() == f"{text.count('the'):,} hits"
    assert {each[1] for each in lines(page)} == {"the"}
    write(explored, "116 x")
    assert page.problem.text() == "Ids are whole numbers, such as 464 3797, not “x”."
    write(explored, "99999")
    assert "not in the vocabulary" in page.problem.text()


def test_hits_are_sorted_by_what_is_beside_them_and_written_in_that_order(qtbot, explored):
    explored.session.corpus.add_texts([("b.txt", "z cat b\na cat c\n"), ("a.txt", "m cat a\n")])
    page = searched(explored, "cat")
    expected = {
        "place": [("z ", " b"), ("a ", " c"), ("m ", " a")],
        "left": [("a ", " c"), ("m ", " a"), ("z ", " b")],
        "right": [("m ", " a"), ("z ", " b"), ("a ", " c")],
        "source": [("m ", " a"), ("z ", " b"), ("a ", " c")],
    }
    for by in ("left", "source", "place", "right"):
        choose(page.order, by)
        explored.settle()
        assert [(left, right) for left, _, right in lines(page)] == expected[by]
    assert [(row["left"], row["right"]) for row in explored.written()] == expected["right"]


def test_a_bar_code_is_walked_by_keys_and_a_click_goes_to_the_hit(qtbot, explored):
    text = ["x" * 99 + "\n"] * 100
    for at in (10, 50, 90):
        text[at] = "cat" + "x" * 96 + "\n"
    explored.session.corpus.add_texts([("a.txt", "".join(text)), ("b.txt", "no")])
    page = searched(explored, "cat")
    assert np.flatnonzero(page.source_rows.bars(0)).tolist() == [100, 500, 900]
    index = page.source_rows.index(0, WHERE)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "in 3 of 100 parts, from 10 % to 91 %"
    nowhere = page.source_rows.index(1, WHERE)
    assert nowhere.data(Qt.ItemDataRole.AccessibleTextRole) == "nowhere"
    page.bars.setFocus()
    page.bars.setCurrentIndex(page.source_rows.index(0, 0))
    walked = []
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left):
        qtbot.keyClick(page.bars, key)
        walked.append((page.hits.currentIndex().row(), page.bars.reached[1]))
    assert walked == [(0, 100), (1, 500), (2, 900), (2, 900), (1, 500)]
    assert page.bars.accessibleDescription() == "1 hit at 50\u00a0% of a.txt"
    area = area_of(QRectF(page.bars.visualRect(index)))
    at = area.left() + 900.5 / BARS * area.width()
    place = page.bars.visualRect(index).center()
    place.setX(round(at))
    qtbot.mouseClick(page.bars.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert page.hits.currentIndex().row() == 2
    choose(page.order, "left")
    explored.settle()
    qtbot.keyClick(page.bars, Qt.Key.Key_Left)
    assert page.rows.line(page.hits.currentIndex().row()).number == 51


@pytest.mark.usefixtures("unstyled")
@at_window()
def test_a_key_shows_the_page_and_enter_opens_the_document_of_a_hit_with_the_hit_selected(
    qtbot, unstyled, window, tmp_path
):
    explored = Explored(qtbot, window.session, window.explore, tmp_path)
    explored.train(Source.from_texts(["one cat", "é two cat three"], "a.txt"), vocabulary_size=257)
    window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.focusWidget() is not None)
    qtbot.keyClick(window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier)
    page = explored.page
    assert page.titled == "Search"
    assert QApplication.focusWidget() is page.field
    qtbot.keyClicks(page.field, "cat")
    explored.settle()
    qtbot.keyClick(page.field, Qt.Key.Key_Return)
    assert QApplication.focusWidget() is page.hits
    qtbot.keyClick(page.hits, Qt.Key.Key_Down)
    qtbot.keyClick(page.hits, Qt.Key.Key_Return)
    assert window.session.view.text == "é two cat three"
    view = window.text.encode.view
    qtbot.waitUntil(lambda: "cat" in view.selected_text())
    click(qtbot, page.hits, 0, TOKEN, double=True)
    qtbot.waitUntil(lambda: window.session.view.text == "one cat" and "cat" in view.selected_text())
    explored.settle()


def test_first_hits_are_listed_while_the_search_goes_on_until_it_is_cancelled(qtbot, monkeypatch, explored):
    def slow(self, most=None, find=Search.find_work):
        yield from find(self, most)
        while True:
            yield Progress("searching", 1, 2)

    monkeypatch.setattr(Search, "find_work", slow)
    explored.session.corpus.add_text("cat " * 50)
    explored.pane.arrive("search")
    page = explored.page
    qtbot.keyClicks(page.field, "cat")
    qtbot.waitUntil(lambda: page.rows.rowCount() == 50)
    assert page.total.text() == "50 hits so far"
    assert page.table is None
    qtbot.waitUntil(page.cancel.isVisible)
    qtbot.mouseClick(page.cancel, Qt.MouseButton.LeftButton)
    assert page.problem.text() == "Cancelled."
    assert page.rows.rowCount() == 50, "what was found stays"
    explored.settle()


def test_right_to_left_hits_are_aligned_right_to_left(qtbot, explored):
    explored.session.corpus.add_text("كان الولد يقرأ، الكتاب في المدرسة كل صباح\nthe الكتاب")
    page = searched(explored)
    page.field.setText("الكتاب")
    explored.settle()
    assert [page.rows.line(row).right_to_left for row in range(2)] == [True, True]
