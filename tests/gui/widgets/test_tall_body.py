"""Scrolling bodies: no line is cut at an edge, and nothing scrolls inside what scrolls."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QSize, QStringListModel, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QTableView, QWidget

from tests.gui.person import at_rest
from tokstudio.gui.widgets import layouts
from tokstudio.gui.widgets.controls import WholeLines
from tokstudio.gui.widgets.labels import Caption, paragraph_label
from tokstudio.gui.widgets.layouts import TallBody, column, row

WORDS = "The pair occurs more often than any other pair in the corpus, as it does in most texts. "


def cut(body: TallBody) -> list[tuple[int, int]]:
    """The lines of labels, and the fields, that an edge of the body cuts: where they begin and end in its viewport."""
    found = []
    for widget in body.widget().findChildren(QWidget):
        if isinstance(widget, (QLabel, QLineEdit)):
            top, line = widget.mapTo(body.viewport(), QPoint()).y(), widget.fontMetrics().lineSpacing()
            one = line if isinstance(widget, QLabel) and widget.wordWrap() else widget.height()
            found += [(at, at + one) for at in range(top, top + widget.height() - one + 1, one)]
    height = body.viewport().height()
    return [(top, after) for top, after in found if top < 0 < after or top < height < after]


@pytest.fixture
def form(show) -> TallBody:
    """Ten fields with their labels, and a paragraph below each."""
    content = QWidget()
    parts = [part for at in range(10) for part in (row(QLabel(f"Field {at}"), QLineEdit()), paragraph_label("", WORDS))]
    column(*parts, spacing=7, parent=content)
    body = TallBody(content)
    show(body, 260, 150)
    return body


def test_no_line_is_cut_at_an_edge_wherever_one_scrolls_and_however_high_it_is(qtbot, form):
    bar = form.verticalScrollBar()
    for height in (150, 163, 177, 190):
        form.resize(260, height)
        for value in (0, 11, 200, 333, 518, 10_000, 777, 401, 60, 5):
            QApplication.processEvents()
            bar.setValue(value)
            at_rest(qtbot, form)
            assert cut(form) == [], (height, value, bar.value())
            assert form.viewport().height() > height // 2
    bar.setValue(bar.maximum())
    at_rest(qtbot, form)
    last = form.widget().findChildren(QLabel)[-1]
    assert last.mapTo(form.viewport(), QPoint(0, last.height())).y() <= form.viewport().height(), "the end is in sight"


def test_it_rests_equally_long_wherever_it_was_scrolled_to(qtbot, form):
    at_rest(qtbot, form)
    for value in (600, 60, 400):
        form.verticalScrollBar().setValue(value)
        [waits] = [timer for timer in form.findChildren(QTimer) if timer.isActive()]
        assert waits.interval() == layouts.REST, value


def test_the_end_of_what_is_kept_visible_stays_in_sight_when_the_body_comes_to_rest(qtbot, form):
    """A body that had been scrolled up moved up to the beginning of a line, and hid the last line of what it kept."""
    kept, bar = form.widget().findChildren(QLabel)[9], form.verticalScrollBar()
    for height in range(150, 190, 8):
        form.resize(260, height)
        for times in (1, 2, 3, 4):  # lower and higher than the body
            kept.setText(times * WORDS)
            for start in (0, bar.maximum()):
                bar.setValue(start)
                at_rest(qtbot, form)
                form.keep_visible(kept)
                qtbot.waitUntil(lambda start=start: bar.value() != start)
                at_rest(qtbot, form)
                after = kept.mapTo(form.viewport(), QPoint(0, kept.height())).y()
                assert after <= form.viewport().height(), (height, times, start)


def test_a_button_at_the_edge_stays_below_the_pointer_while_it_is_pressed(qtbot, form):
    """The press gave it the focus, the body scrolled to it, and the release missed it: nothing was clicked."""
    button, clicked = QPushButton("More"), []
    button.clicked.connect(lambda: clicked.append(form.height()))
    for widget in (button, *(QLabel("one more line") for _ in range(20))):
        form.widget().layout().addWidget(widget)
    first, window, tried = form.findChild(QLineEdit), form.window().windowHandle(), []
    for height in range(166, 182, 2):
        first.setFocus()
        form.resize(260, height)
        at_rest(qtbot, form)
        form.verticalScrollBar().setValue(button.y() + button.height() - form.viewport().height())
        at_rest(qtbot, form)
        if not button.visibleRegion().isEmpty():
            tried.append(height)
            place = button.mapTo(form.window(), button.visibleRegion().boundingRect().bottomLeft() + QPoint(20, -1))
            QTest.mousePress(window, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)
            at_rest(qtbot, form)
            QTest.mouseRelease(window, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)
    assert len(tried) > 3
    assert clicked == tried


def test_a_body_with_room_for_its_content_has_no_margin(qtbot, form):
    form.resize(260, 2000)
    at_rest(qtbot, form)
    assert form.verticalScrollBar().maximum() == 0
    assert form.viewport().height() == 2000


def test_a_table_scrolls_while_the_rest_fits_and_is_as_high_as_its_rows_otherwise(qtbot, show):
    content, table, words = QWidget(), QTableView(), paragraph_label("", WORDS)
    table.setModel(QStringListModel([f"row {at}" for at in range(40)], table))
    column(words, (table, 1), parent=content)
    body = TallBody(content, table)
    body.set_least(table, 90)
    show(body, 260, 400)
    both = set()
    for height in (400, 300, 200, 120, 90, 60, 200, 400):
        body.resize(260, height)
        QApplication.processEvents()
        at_rest(qtbot, body)
        outer, inner = (one.verticalScrollBar().maximum() > 0 for one in (body, table))
        assert outer is not inner, height
        both.add(outer)
    assert both == {True, False}


def test_a_text_ends_below_a_whole_line_at_every_height(qtbot, show):
    text = WholeLines()
    text.setPlainText("\n".join(WORDS * 2 for _ in range(30)))
    show(text, 240, 100)
    for height in range(100, 160, 7):
        text.resize(QSize(240, height))
        for value in (0, 3, 10_000):
            text.verticalScrollBar().setValue(value)
            at_rest(qtbot, text)
            edge, room = text.viewport().height(), text.height() - 2 * text.frameWidth()
            ends = [top + line for top, line in lines(text)]
            assert any(abs(end - edge) <= 1 for end in ends) or edge == room >= ends[-1], (height, value)
            assert room - edge < text.fontMetrics().lineSpacing()


def lines(text: WholeLines) -> list[tuple[float, float]]:
    found, block = [], text.firstVisibleBlock()
    while block.isValid():
        layout = block.layout()
        top = text.blockBoundingGeometry(block).translated(text.contentOffset()).top()
        found += [(top + layout.lineAt(at).y(), layout.lineAt(at).height()) for at in range(layout.lineCount())]
        block = block.next()
    return found


def test_a_caption_that_needs_more_lines_until_it_is_shortened_does_not_change_the_size_without_end(qtbot, show):
    content, caption = QWidget(), Caption()
    column(caption, QLabel("text"), parent=content)
    caption.say(WORDS, ("4.1 kB of text",))
    body = TallBody(content)
    show(body, 459, 20)
    for width in range(440, 480):
        for height in (20, 60, 40, 30):
            body.resize(width, height)
            QApplication.processEvents()
            assert content.width() == body.viewport().width()
