"""Compare, Same Text: one line in each tokenizer, character below character."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt

from tokstudio.core.comparison.alignment import difference
from tokstudio.gui.panes.compare.pane import ComparePane
from tokstudio.gui.panes.compare.same_text import LONGEST, SameTextView
from tokstudio.gui.panes.compare.stacked_lines import LineLayout

LINES = ["the cat sat on the mat", "", "zyxw vutsr", "the cat 猫 sat, שלום"]


TEXTS = [
    *("abc déf", "שלום עולם", "مرحبا بالعالم", "e\u0301a\u0300\u200d\ufefft\t", "สวัสดี", "a שלום b"),
    *("བོད་ཡིག", "\U0001f468\u200d\U0001f469\u200d\U0001f467\U0001f1e9\U0001f1ea"),
]


@pytest.fixture
def view(qtbot, session, pane, make_run) -> SameTextView:
    session.corpus.add_texts([("eng", "\n".join(LINES) + "\n" + "the cat sat\n" * 9), ("long", "ab " * LONGEST)])
    make_run(vocabulary_size=258)
    make_run(vocabulary_size=290)
    pane.tabs.setCurrentIndex(2)
    made = pane.same_text
    qtbot.waitUntil(lambda: shows(made, LINES[0]))
    return made


def shows(view: SameTextView, text: str, rows: int = 2) -> bool:
    stack = view.lines.stack
    return stack is not None and stack.text == text and len(stack.rows) == rows


def counts(view: SameTextView) -> list[int]:
    stack = view.lines.stack
    return [len(row.cut.ids) for row in stack.rows if row.cut is not None]


def test_each_tokenizer_has_a_row_with_its_count_character_below_character(view, session, theme, qtbot):
    stack = view.lines.stack
    assert [row.name for row in stack.rows] == ["Run 1", "Run 2"]
    expected = [len(run.tokenizer.encode(LINES[0])) for run in session.runs.shown]
    assert counts(view) == expected
    assert stack.best == expected[1]
    assert f"Run 2: {expected[1]} tokens" in view.lines.accessibleDescription()
    ends = [set(row.cut.ends[:-1].tolist()) for row in stack.rows if row.cut is not None]
    assert stack.apart == ends[0] ^ ends[1] != set()
    for byte in range(len(LINES[0])):
        above, below = view.lines.place_of(0, byte), view.lines.place_of(1, byte)
        assert (above.left(), above.width()) == (below.left(), below.width())
        assert above.bottom() < below.top()
    picture = view.lines.viewport().grab().toImage()
    first, width = round(view.lines.place_of(0, 0).top()), picture.width()
    paper = picture.pixelColor(2, 2)
    inked = [x for x in range(width) if any(picture.pixelColor(x, y) != paper for y in range(first - 8))]
    assert inked
    assert min(inked) > width - 2 * view.lines.fontMetrics().horizontalAdvance("Tokens")
    assert view.total.text() == "of 13"
    assert not view.before.isEnabled()
    view.after.click()
    qtbot.waitUntil(lambda: "empty" in view.note.text())
    qtbot.keyClick(view.lines, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: shows(view, LINES[2]))
    view.before.click()
    qtbot.keyClick(view.lines, Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: shows(view, LINES[0]))
    view.line.setValue(4)
    qtbot.waitUntil(lambda: shows(view, LINES[3]))
    view.line.setValue(4)
    qtbot.waitUntil(lambda: shows(view, LINES[3]))
    byte = LINES[3].encode().index("猫".encode())
    told = view.lines.tip_at(view.lines.place_of(0, byte).center().toPoint()).split("\n")
    assert told[0] == "猫  U+732B"
    assert all(f"id {value}" in told[1] for value in "猫".encode())  # a new run has no merges of these bytes
    assert view.lines.tip_at(QPoint(20, view.lines.place_of(1, 0).center().toPoint().y())) == "Run 2"


def test_lines_that_differ_most_come_first(qtbot, view, session):
    text = (session.comparison.rows or ())[0].source
    lines = bytes(text.data).decode().splitlines()
    tokenizers = [run.tokenizer for run in session.runs.shown]
    ratios = difference(np.array([[len(each.encode(line)) for line in lines] for each in tokenizers]))
    begun: list[bool] = []  # would remove the sentence about a tokenizer that was opened just before
    session.jobs.begun.connect(lambda: begun.append(True))
    view.differing.click()
    qtbot.waitUntil(lambda: "Line 1 " in view.note.text())
    assert view.line.value() == int(ratios.argmax()) + 1
    assert f"{ratios.max():.2f} times" in view.note.text()
    seen = [view.line.value()]
    for _ in lines[1:]:
        before = view.note.text()
        qtbot.keyClick(view.lines, Qt.Key.Key_D)
        qtbot.waitUntil(lambda before=before: view.note.text() != before)
        seen.append(view.line.value())
    assert sorted(seen) == list(range(1, len(lines) + 1))
    values = [ratios[at - 1] for at in seen]
    assert values == sorted(values, reverse=True)
    assert not begun


def test_a_token_is_shown_in_its_run_unless_it_is_of_a_simple_tokenizer(qtbot, view, session):
    session.comparison.show_simple("Characters", True)
    qtbot.waitUntil(lambda: shows(view, LINES[0], 3))
    active = session.runs.active
    place = view.lines.place_of(2, 0).center().toPoint()
    qtbot.mouseClick(view.lines.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert (session.runs.active, session.view.token) == (active, None)
    assert "Characters: " in view.lines.tip_at(place)
    stack = view.lines.stack
    assert stack.rows[1].cut is not None
    place = view.lines.place_of(1, len(LINES[0]) - 1).center().toPoint()
    qtbot.mouseClick(view.lines.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert session.view.token == stack.rows[1].cut.ids[-1]
    assert stack.rows[0].cut is not None
    above = view.lines.place_of(0, 0).center().toPoint()
    qtbot.mouseClick(view.lines.viewport(), Qt.MouseButton.LeftButton, pos=above)
    assert session.runs.active is session.runs.all[0]
    assert session.view.token == stack.rows[0].cut.ids[0]


def test_the_text_of_the_text_pane_is_shown(qtbot, view, session):
    pane = view.window().findChild(ComparePane)
    assert isinstance(pane, ComparePane)
    session.view.set_text("the rat")
    pane.tabs.setCurrentIndex(0)
    session.comparison.stack_text()
    qtbot.waitUntil(lambda: shows(view, "the rat"))
    assert view.isVisible()
    session.view.set_text("the mat\nthe cat")
    qtbot.waitUntil(lambda: shows(view, "the mat"))
    assert view.total.text() == "of 2"


def test_a_long_line_is_shortened_and_scrolls(qtbot, view):
    view.texts.setCurrentIndex(1)
    qtbot.waitUntil(lambda: "first 3,000 characters" in view.note.text())
    assert len(view.lines.stack.text) == LONGEST
    assert view.lines.verticalScrollBar().maximum() > 0


def test_simple_tokenizers_are_neither_best_nor_marked(qtbot, view, session):
    best, apart = view.lines.stack.best, view.lines.stack.apart
    for name in ("Words and marks", "Bytes"):
        session.comparison.show_simple(name, True)
    qtbot.waitUntil(lambda: shows(view, LINES[0], rows=4))
    assert counts(view)[2:] == [len(LINES[0]), 11]
    assert (view.lines.stack.best, view.lines.stack.apart) == (best, apart)


@pytest.mark.parametrize("text", TEXTS)
def test_every_character_has_a_place_of_its_own(qtbot, theme, text):
    layout = LineLayout(text, theme.monospace_font(15), 60)
    places = [place for line in range(len(layout)) for place in layout.places(line)]
    assert [place.begin for place in places] == [0, *(place.end for place in places[:-1])]
    assert places[-1].end == len(text.encode())
    for line in range(len(layout)):
        spans = sorted((place.left, place.right) for place in layout.places(line))
        assert all(one[1] <= other[0] + 0.6 for one, other in pairwise(spans))


@pytest.mark.parametrize("text", ["שלום 言葉 tok, ab", "über שלום 言葉 tok", "שלום 5 אב"])
def test_both_directions_in_a_line_leave_no_gap(qtbot, theme, text):
    layout = LineLayout(text, theme.monospace_font(15), 400)
    spans = sorted((place.left, place.right) for place in layout.places(0))
    assert all(right - left > 1 for left, right in spans)
    assert all(one[1] == pytest.approx(other[0], abs=1) for one, other in pairwise(spans))


def test_right_to_left_lines_are_at_the_right(qtbot, theme):
    layout = LineLayout("שלום", theme.monospace_font(15), 400)
    first, *_, last = layout.places(0)
    assert first.right == pytest.approx(400, abs=1)
    assert last.right < first.left
    assert LineLayout("abc", theme.monospace_font(15), 400).places(0)[0].left == 0
