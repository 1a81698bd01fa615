"""Parts of the Text pane: its field, the counts of other tokenizers, dropout."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QFontMetrics

from tests.gui.person import TEXT, at_window, quiet, trained
from tokstudio.core.analysis.encoding_steps import Rounds, steps_work
from tokstudio.core.analysis.why_not_one_token import why_not_one
from tokstudio.core.base.progress import finish
from tokstudio.gui.panes.text.grids import CountsGrid
from tokstudio.gui.panes.text.page import TextInput
from tokstudio.gui.panes.text.pages import DropoutBar
from tokstudio.gui.panes.text.steps import answer_words, stepping_work
from tokstudio.gui.session.training.training import Settings

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


def test_a_paste_keeps_all_line_ends_and_is_inserted_at_the_cursor(qtbot, field):
    told = []
    field.edited.connect(lambda: told.append(field.text()))
    paste(field, LINES)
    assert told == [LINES]
    assert field.toPlainText() == as_shown(LINES)
    field.selectAll()
    paste(field, "x")
    assert field.text() == "x"
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


def as_shown(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2029", "\n")


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
    places = [len(as_shown(text)[:characters].encode("utf-16-le")) // 2 for characters in (first, second)]
    cursor.setPosition(places[0])
    cursor.setPosition(places[1], cursor.MoveMode.KeepAnchor)
    field.setTextCursor(cursor)
    chosen = field.selected_bytes() or (field.textCursor().position(), None)
    paste(field, written)
    assert as_shown(field.text()) == field.toPlainText()
    if chosen[1] is not None and "\r" not in text + written:
        raw = text.encode()
        assert field.text() == (raw[: chosen[0]] + written.encode() + raw[chosen[1] :]).decode()


@pytest.mark.parametrize(("line", "lines"), [("", 4000), ("x" * 999, 50)])
def test_a_field_does_not_keep_every_replaced_text(field, line, lines):
    texts = [f"{line}{number}\n" * lines for number in range(10, 30)]
    steps = []
    for text in texts:
        field.set_text(text)
        steps.append(field.document().availableUndoSteps())
    assert steps[-1] < max(steps)
    field.undo()
    assert field.text() == texts[-2]


def is_whole(theme, grid: CountsGrid, index: int) -> bool:
    width = QFontMetrics(theme.tabular_font(12)).horizontalAdvance(grid.shown()[index])
    return width <= grid.place_of(index).width()


def test_a_wide_grid_shows_names_whole_and_a_narrow_one_all_cells(qtbot, theme):
    grid = CountsGrid(theme)
    qtbot.addWidget(grid)
    grid.show()
    names = "SentencePiece Unigram", "SentencePiece BPE", "GPT-2"
    grid.set_counts([(name, 49) for name in names])
    grid.resize(400, 40)
    assert [is_whole(theme, grid, index) for index in range(3)] == [True] * 3
    assert {grid.place_of(index).y() for index in range(3)} == {0, grid.place_of(2).y()}
    grid.resize(1200, 40)
    assert {grid.place_of(index).y() for index in range(3)} == {0}
    grid.resize(260, 40)
    assert grid.shown() == tuple(f"{name} 49" for name in names)
    assert not is_whole(theme, grid, 0)
    grid.set_counts([(name, 49) for name in (*names, "BPE", "GPT-4")])
    assert grid.shown()[3:] == ("2 more",)


STEPPED = "the cat sat on the mat and the cat ate the rat; that is that. " * 40
WORDS = "the cat is that, and that is what the mat was"


def shown(qtbot, window):
    """The ids that the page Encode shows."""
    page = window.text.encode
    qtbot.waitUntil(lambda: not page.latest.busy and page.encoded is not None)
    return page.encoded.ids.tolist()


def ask_by_keys(qtbot, window):
    window.activateWindow()
    modifiers = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClick(window, Qt.Key.Key_N, modifiers)
    qtbot.waitUntil(window.text.steps.why_not.isVisible)
    return window.text.steps.why_not.words.text()


@at_window()
def test_text_is_encoded_with_dropout_and_keys_open_its_steps_and_ask_about_a_word(
    qtbot, tmp_path, unstyled, window, answers
):
    session, by_id = window.session, window.actions_by_id
    assert not by_id["encode_with_dropout"].isEnabled()
    session.corpus.add_text(TEXT)
    tokenizer = trained(qtbot, window).tokenizer
    session.view.set_text(WORDS)
    assert shown(qtbot, window) == tokenizer.encode(WORDS)
    bar = window.findChild(DropoutBar)
    assert not bar.isVisible()

    by_id["encode_with_dropout"].trigger()
    assert bar.isVisible()
    bar.share.setValue(50)
    first = shown(qtbot, window)
    assert first == tokenizer.with_dropout(0.5, 0).encode(WORDS) != tokenizer.encode(WORDS)
    bar.again.click()
    assert shown(qtbot, window) == tokenizer.with_dropout(0.5, 1).encode(WORDS) != first
    session.view.set_playhead(7)
    at_seven = tokenizer.at(7).with_dropout(0.5, 1).encode(WORDS)
    assert shown(qtbot, window) == at_seven

    answers.target = tmp_path / "ids.json"
    by_id["export_ids"].trigger()
    quiet(qtbot, window)
    assert json.loads(answers.target.read_text()) == at_seven

    by_id["step_through_text"].trigger()
    steps = window.text.steps
    qtbot.waitUntil(lambda: steps.rounds is not None)
    steps.bar.slider.setValue(steps.bar.slider.maximum())
    assert steps.here.ids.tolist() == at_seven
    assert "are passed over (dropout)" in steps.note.text()
    steps.ask_why_not(0, 5, of_word=False)
    qtbot.waitUntil(lambda: "switch Dropout off" in steps.why_not.words.text())

    bar.off.click()
    assert not by_id["encode_with_dropout"].isChecked()
    session.view.set_playhead(len(tokenizer.merges))
    qtbot.waitUntil(lambda: steps.rounds.steps.tokenizer.dropout is None)
    by_id["dropout_again"].trigger()
    assert by_id["encode_with_dropout"].isChecked()
    by_id["encode_with_dropout"].trigger()

    # The menu opens the steps, and asks about the selection or the word around it.
    session.runs.replace_all([])
    session.corpus.set_sources(())
    session.view.set_text("")
    steps, why = (by_id[name] for name in ("step_through_text", "why_not_one_token"))
    assert steps.toolTip() == "Train a tokenizer first, or open one."
    session.corpus.add_text(STEPPED)
    session.training.set_settings(Settings(vocabulary_size=270, pattern="gpt2"))
    session.training.start()
    qtbot.waitUntil(lambda: session.training.current is None and session.runs.active is not None)
    assert not steps.isEnabled()
    assert not why.isEnabled()
    assert why.toolTip() == "The Text pane is empty."
    text = "xyzzy and the more"
    session.view.set_text(text)
    qtbot.waitUntil(lambda: window.text.encode.state[0] == "good")
    window.text.hide()
    qtbot.keyClick(window, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    slider = window.text.steps.bar.slider
    qtbot.waitUntil(slider.hasFocus)
    qtbot.keyClick(slider, Qt.Key.Key_Right)
    assert window.text.steps.bar.label.text().startswith("2 of ")
    encode, view = window.text.encode, window.text.encode.view
    assert why in view.actions()
    full = finish(steps_work(session.view.tokenizer, text))

    def expected(part: str) -> str:
        return why_not_one(full, text.index(part), text.index(part) + len(part)).sentence

    for chosen, part in (((0, 2), "xyz"), ((1, 1), "xyzzy")):
        window.text.tabs.setCurrentIndex(0)
        view.select(*chosen)
        assert ask_by_keys(qtbot, window) == expected(part)
    # Without a selection, the word that the cursor is in, or that has just been written.
    for place, word in ((0, "xyzzy"), (2, "xyzzy"), (8, " and"), (len(text), " more"), (12, " the")):
        window.text.tabs.setCurrentIndex(0)
        view.select(-1, -1)
        cursor = encode.input.textCursor()
        cursor.setPosition(place)
        encode.input.setTextCursor(cursor)
        assert ask_by_keys(qtbot, window) == expected(word), place
    assert window.text.steps.why_not.words.text() == '"·the" is one token.'


def test_no_token_in_the_answer_of_why_not_is_quoted_with_a_real_space(make_run):
    run = make_run(TEXT, vocabulary_size=290)
    text = "the cat sat on a mat"
    stepping = finish(stepping_work(run.tokenizer, text, None, ()))
    quoted: set[str] = set()
    for start in range(len(text) - 1):
        for stop in range(start + 1, len(text) + 1):
            here = Rounds(stepping.steps.at(len(run))).steps
            words, _ = answer_words(stepping, here, (start, stop), len(run), of_word=False)
            quoted |= set(re.findall(r'"([^"]*)"', words))
    assert any("·" in token for token in quoted)
    assert not [token for token in quoted if " " in token]
