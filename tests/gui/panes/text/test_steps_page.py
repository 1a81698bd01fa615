"""The page Steps: moving by slider, buttons, keys and rows; and why some text is not one token."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QFontMetrics, QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication

from tests.gui.person import at_rest
from tokstudio.core.analysis.encoding_steps import Rounds, steps_work
from tokstudio.core.analysis.why_not_one_token import why_not_one
from tokstudio.core.base.progress import finish
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.text.pane import TextPane
from tokstudio.gui.panes.text.steps import LONGEST, PARTS, answer, step_words, stepping_work
from tokstudio.gui.session.training.training import Settings

CORPUS = "the cat sat on the mat and the cat ate the rat; that is that. " * 40
SENTENCE = "the cat that sat"


@pytest.fixture
def pane(session, theme, dock):
    actions = defaultdict(QAction)
    for name in ("show_white_space", "show_ids", "recognise_specials", "byte_level_characters"):
        actions[name] = QAction(name)
        actions[name].setCheckable(True)
    actions["why_not_one_token"] = QAction("Why Not One Token?")
    pane = TextPane(session, theme, actions)
    pane.switches = actions
    tester = QAbstractItemModelTester.FailureReportingMode.Warning
    QAbstractItemModelTester(pane.steps.model, tester, pane)
    dock(pane, 440, 640)
    return pane


def stepped(qtbot, pane):
    pane.tabs.setCurrentIndex(2)
    settled(qtbot, pane)
    return pane.steps


def settled(qtbot, pane):
    at_rest(qtbot, pane.steps)
    qtbot.waitUntil(lambda: not pane.steps.latest.busy)


@pytest.fixture
def steps(qtbot, session, pane, make_run):
    make_run(CORPUS, vocabulary_size=290)
    session.view.set_text(SENTENCE)
    return stepped(qtbot, pane)


def test_after_a_click_on_the_tab_keys_move_between_steps(qtbot, session, pane, make_run):
    make_run(CORPUS, vocabulary_size=290)
    session.view.set_text(SENTENCE)
    pane.window().setFocus()
    qtbot.mouseClick(pane.tabs, Qt.MouseButton.LeftButton, pos=pane.tabs.tabRect(2).center())
    settled(qtbot, pane)
    qtbot.waitUntil(pane.steps.bar.slider.hasFocus)
    number = pane.steps.number
    qtbot.keyClick(QGuiApplication.focusWindow(), Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert pane.steps.number == number + 1


def rounds_of(session, text=SENTENCE, **how):
    tokenizer = session.runs.active.tokenizer
    return Rounds(finish(steps_work(tokenizer, text, min(session.view.playhead, len(session.runs.active)), **how)))


def pieces(view):
    """The texts of the pieces that are shown."""
    shown = []
    for token in range(view.table.tokens):
        view.select(token, token)
        shown.append(view.selected_text())
    view.select(-1, -1)
    return shown


def assert_shows(steps, rounds, number):
    state = rounds.state(number)
    data = rounds.steps.data
    texts = [data[a:b].decode("utf-8", "replace") for a, b in zip(state.starts, state.stops, strict=True)]
    assert pieces(steps.view) == texts
    assert steps.number == number
    assert steps.table.current_row == number
    assert steps.bar.label.text() == f"{number + 1} of {len(rounds)}"


@pytest.mark.parametrize("size", [13, 15])
def test_the_texts_of_the_first_steps_are_not_cut_in_a_narrow_pane(qtbot, pane, steps, theme, size):
    theme.set_text_size(size)
    steps.window().resize(300, 500)
    table = steps.table
    qtbot.waitUntil(lambda: table.viewport().width() < 300)
    for row in range(2):
        words = table.model().cell(row, PARTS).text
        assert words
        place = table.visualRect(table.model().index(row, PARTS))
        assert place.width() >= QFontMetrics(theme.tabular_font()).horizontalAdvance(words)


def test_an_empty_page_explains_itself(qtbot, session, pane):
    pane.tabs.setCurrentIndex(2)
    steps = pane.steps
    assert steps.empty.label.text().startswith("Enter a text under Encode")
    session.view.set_text("the cat")
    assert steps.empty.label.text().startswith("Train or open a tokenizer")


def test_every_state_forwards_by_the_keys_and_backwards_by_the_button(qtbot, session, steps):
    rounds = rounds_of(session)
    steps.bar.slider.setFocus()
    for number in range(len(rounds)):
        assert_shows(steps, rounds, number)
        qtbot.keyClick(steps.bar.slider, Qt.Key.Key_Right)
    for number in reversed(range(len(rounds) - 1)):
        qtbot.mouseClick(steps.bar.buttons["previous"], Qt.MouseButton.LeftButton)
        assert_shows(steps, rounds, number)
    qtbot.mouseClick(steps.bar.buttons["last"], Qt.MouseButton.LeftButton)
    assert_shows(steps, rounds, len(rounds) - 1)
    assert not steps.bar.buttons["next"].isEnabled()


@pytest.mark.parametrize("place", ["slider", "view", "table"])
def test_keys_go_on_and_back_anywhere_on_the_page(qtbot, session, pane, steps, place):
    rounds = rounds_of(session)
    focus = {"slider": steps.bar.slider, "view": steps.view, "table": steps.table}[place]
    focus.setFocus()
    for number in (1, 2, 3):
        qtbot.keyClick(focus, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
        assert_shows(steps, rounds, number)
    qtbot.keyClick(focus, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert_shows(steps, rounds, 2)
    for name, keys in (("previous", "Alt+Left"), ("next", "Alt+Right")):
        assert keys in steps.bar.buttons[name].toolTip()
    assert "Left and Right" in steps.bar.slider.toolTip()
    pane.tabs.setCurrentIndex(0)
    pane.encode.input.setFocus()
    qtbot.keyClick(pane.encode.input, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert steps.number == 2


def test_each_step_is_described_and_its_tokens_are_marked(qtbot, session, steps):
    rounds = rounds_of(session)
    assert steps.phase.text() == "Split into 1 pre-token"
    steps.bar.slider.setValue(1)
    assert steps.phase.text() == f"Base tokens: {len(SENTENCE)} bytes"
    assert not steps.view.marked
    several = next(number for number in range(2, len(rounds)) if len(rounds.round(number).starts) > 1)
    for number in (several, len(rounds) - 1):
        steps.bar.slider.setValue(number)
        made, state = rounds.round(number), rounds.state(number)
        assert {int(state.starts[token]) for token in steps.view.marked} == set(made.starts.tolist())
        assert all(int(state.ids[token]) == made.token for token in steps.view.marked)
        assert steps.phase.text().startswith(f"Step {number + 1} of {len(rounds)}: ")
        assert steps.phase.text().endswith(f"(merge {made.merge})")
    steps.bar.slider.setValue(several)
    assert f"at {len(rounds.round(several).starts)} places" in steps.phase.text()


def test_a_row_shows_its_step_and_its_pair(qtbot, session, steps):
    rounds = rounds_of(session)
    assert steps.model.rowCount() == len(rounds)
    row = len(rounds) - 2
    place = QPoint(30, steps.table.rowViewportPosition(row) + 4)
    steps.table.scrollTo(steps.model.index(row, 0))
    place = QPoint(30, steps.table.rowViewportPosition(row) + 4)
    qtbot.mouseClick(steps.table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert_shows(steps, rounds, row)
    made, tokens = rounds.round(row), session.runs.active.tokenizer.tokens
    words = [steps.model.index(row, column).data() for column in range(5)]
    left, right, token = (tokens[one].decode().replace(" ", "·") for one in (made.left, made.right, made.token))
    assert words == [str(row + 1), str(made.merge), f"{left} + {right}", token, str(len(made.starts))]
    qtbot.keyClick(steps.table, Qt.Key.Key_Return)
    assert session.view.token == made.token
    steps.table.selectRow(row)
    qtbot.keyClick(steps.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    raw = [tokens[one].decode() for one in (made.left, made.right, made.token)]
    expected = "\t".join([str(row + 1), str(made.merge), *raw, str(len(made.starts))])
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() == expected)


def test_the_playhead_limits_the_steps(qtbot, session, steps):
    steps.bar.slider.setValue(steps.bar.slider.maximum())
    for merges in (0, 3, 20, len(session.runs.active)):
        session.view.set_playhead(merges)
        rounds = rounds_of(session)
        # At the last step it stays at the last one.
        assert_shows(steps, rounds, len(rounds) - 1)
        state = rounds.state(len(rounds) - 1)
        assert state.ids.tolist() == session.view.tokenizer.encode(SENTENCE)


def test_a_selection_is_widened_to_whole_pre_tokens(qtbot, session, pane, make_run):
    make_run(CORPUS, vocabulary_size=270, pattern="gpt2")
    session.view.set_text("a zebra, the cats sat")
    qtbot.waitUntil(lambda: pane.encode.state[0] == "good")
    ids = session.view.tokenizer.encode(session.view.text)
    tokens = [session.view.tokenizer.tokens[token] for token in ids]
    at = next(i for i in range(len(tokens)) if len(b"".join(tokens[: i + 1])) > 4)  # within " zebra"
    pane.encode.view.select(at, at)
    steps = stepped(qtbot, pane)
    assert steps.note.text() == "The pre-token around the selection."
    assert_shows(steps, rounds_of(session, " zebra"), 0)
    qtbot.mouseClick(steps.whole, Qt.MouseButton.LeftButton)
    settled(qtbot, pane)
    assert_shows(steps, rounds_of(session, session.view.text), 0)
    assert not steps.whole.isVisible()


def test_steps_follow_another_text_and_a_long_one_by_its_beginning(qtbot, session, pane, steps):
    steps.bar.slider.setValue(5)
    session.view.set_text("that rat")
    settled(qtbot, pane)
    assert_shows(steps, rounds_of(session, "that rat"), 0)
    session.view.set_text("the cat é " * 3000)
    settled(qtbot, pane)
    assert steps.note.text() == f"The first {len(steps.rounds.steps.data):,} bytes of the text."
    assert LONGEST - 4 < len(steps.rounds.steps.data) <= LONGEST


def test_special_tokens_bytes_and_characters(qtbot, session, pane, make_run):
    make_run("日本語 the cat 日本 " * 30, vocabulary_size=290, special_tokens=("<end>",))
    pane.switches["recognise_specials"].setChecked(True)
    text = "日本<end>語 the"
    session.view.set_text(text)
    steps = stepped(qtbot, pane)
    rounds = rounds_of(session, text, allowed_special="all")
    assert rounds.state(0).ids.tolist().count(session.runs.active.special_tokens["<end>"]) == 1
    for number in (0, 1, len(rounds) - 1):
        steps.bar.slider.setValue(number)
        assert_shows(steps, rounds, number)
    assert "mostly bytes" in step_words(rounds, 1, 9)
    pane.switches["recognise_specials"].setChecked(False)
    settled(qtbot, pane)
    assert steps.model.rowCount() == len(rounds_of(session, text))


def test_special_ids_follow_a_training_while_the_playhead_is_held_back(qtbot, session, pane, step_to):
    session.corpus.add_text(CORPUS)
    session.training.set_settings(Settings(vocabulary_size=290, special_tokens=("<end>",)))
    pane.switches["recognise_specials"].setChecked(True)
    session.view.set_text("the<end>")
    pane.tabs.setCurrentIndex(2)
    step_to(3)
    session.view.set_playhead(2)
    settled(qtbot, pane)
    run = step_to(5)
    assert session.view.playhead == 2
    end = run.special_tokens["<end>"]
    assert end == 256 + 5
    qtbot.waitUntil(lambda: end in pane.steps.here.ids.tolist())


def test_the_last_step_is_spelled_as_under_encode_in_either_alphabet(qtbot, session, pane, make_run):
    text = "héllo 日本<end> 👩‍👩‍👧"
    make_run(text * 9, vocabulary_size=265, special_tokens=("<end>",))
    pane.switches["recognise_specials"].setChecked(True)
    session.view.set_text(text)
    for characters in (False, True):
        pane.switches["byte_level_characters"].setChecked(characters)
        pane.tabs.setCurrentIndex(0)
        qtbot.waitUntil(lambda: pane.encode.state[0] == "good")
        expected = pieces(pane.encode.view)
        steps = stepped(qtbot, pane)
        slider = steps.bar.slider
        slider.setValue(slider.maximum())
        assert pieces(steps.view) == expected
        assert ("Ġ" in "".join(expected)) == characters
        assert "<end>" in expected
    made = [steps.model.index(row, 2).data() for row in range(2, steps.model.rowCount())]
    number = next(row for row, words in enumerate(made, 2) if "Ã" in words)
    slider.setValue(number)
    assert f": {made[number - 2]} →" in steps.phase.text()
    # Switched off while the steps are shown.
    pane.switches["byte_level_characters"].setChecked(False)
    assert "Ã" not in steps.phase.text()
    assert steps.number == number


def test_base_characters(qtbot, session, pane, make_run):
    make_run(CORPUS, vocabulary_size=40, base="characters")
    session.view.set_text("the cat")
    steps = stepped(qtbot, pane)
    steps.bar.slider.setValue(1)
    assert steps.phase.text() == "Base tokens: 7 characters"
    session.view.set_text("the é")
    qtbot.waitUntil(lambda: steps.pages.currentWidget() is steps.empty)
    assert "é" in steps.empty.label.text()


def test_a_library_s_tokenizer_is_refused_with_the_reason(qtbot, session, pane, monkeypatch):
    monkeypatch.setattr(Tokenizer, "library", property(lambda self: "tokenizers"))
    session.runs.add_tokenizer(Tokenizer(np.array([[97, 98]], np.int32)), "file")
    session.view.set_text("ab")
    steps = stepped(qtbot, pane)
    qtbot.waitUntil(lambda: "its steps cannot be seen" in steps.empty.label.text())


def test_pieces_among_the_steps_are_copied_with_their_ids_and_asked_about(qtbot, session, pane, steps):
    pane.switches["show_ids"].setChecked(True)
    pane.copy_ids()
    steps.bar.slider.setValue(steps.bar.slider.maximum())
    steps.view.select(1, 1)
    ids = session.view.tokenizer.encode(SENTENCE)
    assert session.view.token == ids[1]
    pane.copy_ids()
    assert QGuiApplication.clipboard().text() == str(ids[1])
    pane.copy()
    assert QGuiApplication.clipboard().text() == session.view.tokenizer.decode([ids[1]])
    assert f"id {ids[1]}" in steps.view.accessibleDescription()
    steps.bar.slider.setValue(0)
    assert " id " not in steps.view.accessibleDescription()
    steps.bar.slider.setValue(1)
    steps.view.select(0, 1)
    assert (session.view.selection.start, session.view.selection.stop, session.view.selection.tokens) == (0, 2, 2)
    rows = steps.model.rowCount()
    steps.view.select(0, 1)
    pane.ask_why_not()
    assert steps.model.rowCount() == rows
    full = steps.stepping.steps
    assert steps.why_not.words.text().startswith(why_not_one(full, 0, 2).sentence)


def test_why_not_one_token_is_answered_at_every_playhead(qtbot, session, pane, steps):
    pane.tabs.setCurrentIndex(0)
    run = session.runs.active
    # One token with its merge, and two before that.
    number = next(k for k in range(1, len(run) + 1) if len(run.tokenizer.tokens[255 + k]) == 3)
    text = run.tokenizer.tokens[255 + number].decode()
    session.view.set_text(text)
    session.view.set_playhead(number - 1)
    qtbot.waitUntil(lambda: pane.encode.state[0] == "good")
    pane.encode.view.select_all()
    assert session.view.selection is not None
    assert session.view.selection.tokens == 2
    pane.ask_why_not()
    settled(qtbot, pane)
    assert steps.why_not.isVisible()
    words = steps.why_not.words.text()
    assert words.startswith(f"At merge {number - 1}: ")
    assert f"is merge {number}, but only the first {number - 1} of the merges are applied here." in words
    assert words.endswith(f"It is one token from merge {number} on.")
    qtbot.mouseClick(steps.why_not.links[0], Qt.MouseButton.LeftButton)
    assert session.view.token == 255 + number
    session.view.set_playhead(len(run))
    assert steps.why_not.words.text() == f'"{text}" is one token.'.replace(" ", "·", text.count(" "))
    qtbot.mouseClick(steps.why_not.close_button, Qt.MouseButton.LeftButton)
    assert not steps.why_not.isVisible()


def test_answers_end_with_their_text_and_their_run(qtbot, session, pane, steps, make_run):
    steps.bar.slider.setValue(1)
    steps.view.select(0, 1)
    pane.ask_why_not()
    session.view.set_text("something else")
    settled(qtbot, pane)
    assert not steps.why_not.isVisible()
    pane.ask_why_not()
    settled(qtbot, pane)
    assert steps.why_not.isVisible()
    make_run(vocabulary_size=270)
    settled(qtbot, pane)
    assert not steps.why_not.isVisible()


def test_why_not_says_when_it_is_one_token_and_which_merge_takes_a_part():
    # "ab" is one from merge 1 to merge 2; "bc" never is, "abc" from merge 3 on.
    tokenizer = Tokenizer(np.array([[97, 98], [120, 121], [256, 99]], np.int32))
    full = finish(steps_work(tokenizer, "abc"))
    told = {merges: answer(full, full.at(merges), 0, 2)[1] for merges in range(4)}
    span = "It is one token from merge 1 to merge 2."
    assert told == {0: span, 1: "", 2: "", 3: span}
    assert answer(full, full.at(1), 0, 3)[1] == "It is one token from merge 3 on."
    assert answer(full, full.at(3), 1, 3)[1] == ""
    tokenizer = Tokenizer(np.array([[97, 98], [98, 99]], np.int32))
    full = finish(steps_work(tokenizer, "abc"))
    why, more = answer(full, full.at(0), 1, 3)
    assert why.sentence == '"b" + "c" is merge 2, but none of the merges are applied here.'
    late = '"b" + "c" is merge 2, but "b" was already taken by merge 1: "a" + "b".'
    assert more == f"With all merges it is not one token either: {late}"
    assert answer(full, full.at(1), 1, 3)[0].sentence == late


@pytest.mark.parametrize("pattern", ["none", "gpt2", "whitespace"])
def test_a_selection_is_widened_by_the_pre_tokens_of_the_whole_text(pattern):
    tokenizer = Tokenizer(np.array([[97, 98]], np.int32), special_tokens={"<s>": 300}, pattern=pattern)
    text = "ab cd<s>  ef gh!"
    cut = finish(steps_work(tokenizer, text, None, "all")).pre_tokens
    for start in range(len(text)):
        for stop in range(start + 1, len(text) + 1):
            made = finish(stepping_work(tokenizer, text, (start, stop), "all"))
            begin = max(int(one) for one in cut.starts if one <= start)
            end = min(int(one) for one in cut.stops if one >= stop)
            assert made.in_text(0, len(made.steps.data)) == (begin, end), (start, stop)
            assert made.here(begin, end) == (0, len(made.steps.data))


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_steps_of_prepared_text_lead_back_to_the_original_text(pattern):
    late = frozenset({"<t>"})
    preparation = Preparation(nfc=True, prefix_space=True, late=late, strips_left=frozenset({"<s>"}))
    specials = {"<s>": 300, "<t>": 301}
    merges = np.array([[97, 98]], np.int32)
    tokenizer = Tokenizer(merges, special_tokens=specials, pattern=pattern).changed(preparation=preparation)
    text = "abe\u0301 cd  <s>e\u0301 ef<t>ab"
    size = len(text.encode())
    ids = tokenizer.encode(text, "all")
    whole = finish(stepping_work(tokenizer, text, (0, size), "all"))
    assert whole.steps.data.decode() == " ab\u00e9 cd<s> \u00e9 ef<t> ab"
    assert whole.steps.tokens.ids.tolist() == ids
    assert whole.in_text(0, len(whole.steps.data)) == (0, size)
    special = text.encode().index(b"<s>")
    assert whole.in_text(*whole.here(special - 2, special + 3)) == (special - 2, special + 3)
    for start in range(size):
        made = finish(stepping_work(tokenizer, text, (start, start + 1), "all"))
        first, last = made.in_text(0, len(made.steps.data))
        assert first <= start < last
        part = made.steps.tokens.ids.tolist()
        assert any(ids[at : at + len(part)] == part for at in range(len(ids)))


def test_a_pre_token_that_is_too_long_leaves_the_selection_by_itself():
    tokenizer = Tokenizer(np.array([[97, 98]], np.int32))
    made = finish(stepping_work(tokenizer, "ab" * LONGEST, (3, 9), ()))
    assert made.steps.data == b"bababa"
    assert made.note.startswith("The selection, encoded by itself")
    made = finish(stepping_work(tokenizer, "ab" * LONGEST, (3, LONGEST + 90), ()))
    assert len(made.steps.data) == LONGEST
    assert made.note.startswith(f"The first {LONGEST:,} bytes of the selection")


def test_the_corpus_tells_why_no_merge_makes_a_text(qtbot, session, pane, make_run):
    run = make_run(CORPUS, vocabulary_size=262, pattern="gpt2")
    session.view.set_text(" Lampen")
    pane.tabs.setCurrentIndex(0)
    qtbot.waitUntil(lambda: pane.encode.state[0] == "good")
    pane.encode.view.select_all()
    pane.ask_why_not()
    settled(qtbot, pane)
    words = pane.steps.why_not.words
    qtbot.waitUntil(lambda: 'The corpus has "·Lampen" 0 times.' in words.text())
    assert words.text().endswith(f"times at the end. The last merge needed {int(run.log.count[-1])}.")
    # At another playhead the same is said without counting again.
    session.view.set_playhead(2)
    assert not pane.steps.causes.busy
    assert 'The corpus has "·Lampen" 0 times.' in words.text()


def test_the_context_menu_acts_on_the_piece_below_the_pointer(qtbot, session, pane, make_run):
    make_run(CORPUS, vocabulary_size=270, pattern="gpt2")
    text = "xyzzy and the more"
    session.view.set_text(text)
    qtbot.waitUntil(lambda: pane.encode.state[0] == "good")
    view = pane.encode.view

    def right_click(token):
        place = view.token_rectangle(token).center().toPoint()
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.RightButton, pos=place)

    def told():
        pane.ask_why_not()
        settled(qtbot, pane)
        pane.tabs.setCurrentIndex(0)
        return pane.steps.why_not.words.text()

    full = finish(steps_work(session.view.tokenizer, text))
    session.view.set_target(int(pane.encode.token_at(len(session.view.tokenizer.encode(text)) - 1)))
    session.view.go_to_occurrence(1)
    assert view.selection() is not None
    right_click(2)
    assert view.selection() == (2, 2)
    assert session.view.token == session.view.chosen == ord("z")
    # The cause is found in a job, and follows the sentence.
    assert told().startswith(why_not_one(full, 0, 5).sentence)
    # Within what is selected it stays so; beside the pieces as well.
    view.select(0, 2)
    right_click(1)
    corner = QPoint(view.viewport().width() - 1, view.viewport().height() - 1)
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.RightButton, pos=corner)
    assert view.selection() == (0, 2)
    assert told().startswith(why_not_one(full, 0, 3).sentence)
    view.select(-1, -1)
    right_click(0)
    assert view.selection() == (0, 0)


def test_the_cursor_behind_characters_of_several_units_and_bytes(qtbot, session, theme, show):
    pane = TextPane(session, theme, defaultdict(QAction))
    show(pane, 400, 400)
    field = pane.encode.input
    field.set_text("aé🌍b")
    cursor = field.textCursor()
    told = []
    for units in (0, 1, 2, 4, 5):
        cursor.setPosition(units)
        field.setTextCursor(cursor)
        told.append(field.bytes_at_cursor())
    assert told == [(0, 1), (0, 1), (1, 3), (3, 7), (7, 8)]


def test_the_current_step_stays_visible_beside_an_answer(qtbot, session, pane, steps):
    pane.window().resize(440, 420)
    slider = steps.bar.slider
    slider.setValue(0)
    # The last row that is in sight before.
    row = steps.table.rowAt(steps.table.viewport().height() - steps.table.rowHeight(0))
    steps.table.selectRow(row)
    pane.ask_why_not()
    qtbot.waitUntil(steps.why_not.isVisible)
    pane.window().resize(440, 340)
    qtbot.wait(0)
    sight, shown = steps.table.viewport().rect(), steps.table.visualRect(steps.model.index(row, 0))
    assert sight.top() <= shown.top()
    assert shown.bottom() <= sight.bottom()


def test_in_a_narrow_pane_the_title_is_hidden_beside_tabs(session, theme, show):
    pane = TextPane(session, theme, defaultdict(QAction))
    show(pane, 230, 400)
    assert pane.tabs.isHidden()
    assert pane.title.isVisible()
    session.view.set_text("a text")
    for width, titled in ((230, False), (600, True)):
        show(pane, width, 400)
        assert pane.tabs.isVisible()
        assert pane.tabs.width() >= pane.tabs.sizeHint().width()
        assert pane.title.isVisible() == titled


def choose(qtbot, pane, start, stop):
    """Chooses characters in the field, which has the focus, and asks about them."""
    pane.tabs.setCurrentIndex(0)
    written = pane.encode.input
    written.setFocus()
    qtbot.waitUntil(written.hasFocus)
    cursor = written.textCursor()
    cursor.setPosition(start)
    cursor.setPosition(stop, cursor.MoveMode.KeepAnchor)
    written.setTextCursor(cursor)
    pane.ask_why_not()
    settled(qtbot, pane)
    assert pane.steps.why_not.isVisible()


def test_with_the_focus_in_the_field_the_question_is_about_its_selection_or_the_word_at_the_cursor(
    qtbot, session, pane, steps
):
    pane.encode.view.select(0, 1)
    choose(qtbot, pane, len(SENTENCE) - 1, len(SENTENCE) - 1)
    assert steps.question == pane.encode.input.bytes_at_cursor()
    assert steps.question[0] >= len(SENTENCE) - 2
    session.view.set_text("é🌍 " + SENTENCE)
    choose(qtbot, pane, 1, 6)
    begin, end = len("é".encode()), len("é🌍 ".encode()) + 2
    assert steps.question == (begin, end)
    assert why_not_one(steps.rounds.steps, begin, end).sentence in steps.why_not.words.text()
    # Far after the first steps.
    session.view.set_text(f"{SENTENCE}. " * 900)
    choose(qtbot, pane, 15_000, 15_000)
    text = session.view.text[steps.stepping.begin :][: len(steps.stepping.steps.data)]
    assert 0 < len(text) < 20
    assert text.strip() in steps.why_not.words.text()
    choose(qtbot, pane, 0, len(session.view.text))
    assert steps.why_not.words.text().startswith("At most 10,000 bytes can be stepped through")
    session.view.set_text(SENTENCE)
    settled(qtbot, pane)
    assert not steps.why_not.isVisible()


def test_pieces_and_table_scroll_by_themselves_or_the_page_scrolls_around_them(qtbot, session, steps):
    session.view.set_text("the cat sat on the rat and the mat. " * 30)
    qtbot.waitUntil(lambda: steps.table.model().rowCount() > 5 and not session.jobs.running)
    steps.ask_why_not(0, 20, of_word=False)
    qtbot.waitUntil(steps.why_not.isVisible)
    seen = set()
    for height in (700, 320, 260, 220, 190):
        steps.window().resize(400, height)
        QApplication.processEvents()
        at_rest(qtbot, steps.page)
        outer = steps.page.verticalScrollBar().maximum() > 0
        inner = [one.verticalScrollBar().maximum() > 0 for one in (steps.view, steps.table)]
        assert not (outer and any(inner)), height
        seen.add(outer)
    assert seen == {True, False}
