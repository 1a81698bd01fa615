"""The field keeps the text as it was pasted and typed, with any line ends."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QMimeData, Qt

from tokstudio.gui.panes.text.page import TextInput, _as_shown, _units

LINES = "one\r\ntwo\rthree\nfour🌍\r\n\r\nfive\u2029six"


@pytest.fixture
def field(qtbot):
    field = TextInput()
    qtbot.addWidget(field)
    field.show()
    return field


def paste(field, text):
    data = QMimeData()
    data.setText(text)
    field.insertFromMimeData(data)


def test_a_paste_keeps_all_line_ends(qtbot, field):
    told = []
    field.edited.connect(lambda: told.append(field.text()))
    paste(field, LINES)
    assert told == [LINES]
    assert field.toPlainText() == LINES.replace("\r\n", "\n").replace("\r", "\n").replace("\u2029", "\n")
    field.selectAll()
    paste(field, "x")
    assert field.text() == "x"


def test_a_paste_is_inserted_at_the_cursor(qtbot, field):
    field.set_text("a🌍\r\nb")
    for _ in range(3):
        qtbot.keyClick(field, Qt.Key.Key_Right)
    paste(field, "1\r\n2")
    assert field.text() == "a🌍\r\n1\r\n2b"
    qtbot.keyClicks(field, "!")
    assert field.text() == "a🌍\r\n1\r\n2!b"


def test_typing_does_not_change_other_line_ends(qtbot, field):
    field.set_text(LINES)
    field.moveCursor(field.textCursor().MoveOperation.Start)
    qtbot.keyClicks(field, "0 ")
    assert field.text() == f"0 {LINES}"
    qtbot.keyClick(field, Qt.Key.Key_Down)
    qtbot.keyClick(field, Qt.Key.Key_End)
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert field.text() == "0 one\r\ntwo\n\rthree\nfour🌍\r\n\r\nfive\u2029six"
    qtbot.keyClick(field, Qt.Key.Key_Backspace)
    assert field.text() == f"0 {LINES}"
    field.undo()
    field.undo()
    field.undo()
    assert field.text() == LINES


def test_bytes_are_counted_with_the_original_line_ends(field):
    field.set_text("a\r\né\r\nb")
    cursor = field.textCursor()
    cursor.setPosition(2)
    cursor.setPosition(3, cursor.MoveMode.KeepAnchor)
    field.setTextCursor(cursor)
    assert field.selected_bytes() == (3, 5)
    assert field.bytes_at_cursor() == (3, 5)


@given(
    st.text("ab\r\n🌍", max_size=12), st.integers(0, 12), st.integers(0, 12), st.text("xyb\n\r", min_size=1, max_size=4)
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_an_edit_changes_only_its_range(field, text, first, second, written):
    field.set_text("")
    field.set_text(text)
    assert field.text() == text
    cursor = field.textCursor()
    # Between characters: no key and no mouse comes between the two units of one.
    places = [_units(_as_shown(text)[:characters]) for characters in (first, second)]
    cursor.setPosition(places[0])
    cursor.setPosition(places[1], cursor.MoveMode.KeepAnchor)
    field.setTextCursor(cursor)
    chosen = field.selected_bytes() or (field.textCursor().position(), None)
    paste(field, written)
    assert _as_shown(field.text()) == field.toPlainText()
    if chosen[1] is not None and "\r" not in text + written:
        raw = text.encode()
        assert field.text() == (raw[: chosen[0]] + written.encode() + raw[chosen[1] :]).decode()


@pytest.mark.parametrize(("line", "lines"), [("", 2000), ("x" * 40_000, 1)])
def test_a_field_does_not_keep_every_replaced_text(field, line, lines):
    texts = [f"{line}{number}\n" * lines for number in range(10, 50)]
    steps = []
    for text in texts:
        field.set_text(text)
        steps.append(field.document().availableUndoSteps())
    assert steps[-1] < max(steps)
    field.undo()
    assert field.text() == texts[-2]
