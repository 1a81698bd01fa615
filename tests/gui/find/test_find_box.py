"""Find in the window: type, choose, see the token in every pane, go through its occurrences; and long tokens."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import random

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication

from tests.gui.person import at_window
from tests.gui.tables import listed
from tokstudio.core.base.progress import Progress
from tokstudio.core.base.resources import sample_text
from tokstudio.gui.find.finder import MOST, Finder, search_work
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.token_table import search as token_search

pytestmark = pytest.mark.usefixtures("unstyled")

TEXT = "the cat sat on the mat and the rat sat on the cat. " * 8
KEYS = Qt.KeyboardModifier


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text("the cat sat on the mat and the rat sat on the cat, then there. " * 60)
    return path


def train(qtbot, window, size=300, **settings):
    session = window.session
    qtbot.waitUntil(lambda: bool(session.corpus.sources))
    session.training.set_settings(Settings(vocabulary_size=size, **settings))
    window.actions_by_id["train"].trigger()
    qtbot.waitUntil(lambda: session.training.current is None and session.runs.active is not None)
    session.view.set_text(TEXT)
    qtbot.waitUntil(lambda: window.text.encode.encoded is not None)
    qtbot.waitUntil(window.isActiveWindow)
    return session


def find(qtbot, window, typed):
    qtbot.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_F, KEYS.ControlModifier)
    box = window.finder.box
    assert box.hasFocus()
    box.selectAll()
    qtbot.keyClick(box, Qt.Key.Key_Delete)
    qtbot.keyClicks(box, typed)
    qtbot.waitUntil(lambda: not box.is_stale)
    return box


def spelled(session, ids):
    return [session.runs.active.tokenizer.tokens[token] for token in ids]


@at_window("{book}")
def test_a_token_is_found_by_its_text_shown_in_every_pane_and_marked_while_it_is_the_target(qtbot, window):
    session = train(qtbot, window, pattern="gpt2")
    window.text.encode.view.setFocus()
    box = find(qtbot, window, "the")
    found = spelled(session, listed(window.finder.model))
    assert found[0] == b"the"
    assert b" the" in found
    assert all(b"the" in token for token in found)
    qtbot.keyClick(box, Qt.Key.Key_Down)
    row = window.finder.box.list.current_row
    wanted = listed(window.finder.model)[row]
    assert row == 1
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert not box.popup.isVisible()
    assert session.view.token == session.view.target == wanted
    assert window.merges.model.token_at(window.merges.table.current_row) == wanted
    window.vocabulary.raise_()
    qtbot.waitUntil(lambda: window.vocabulary.seen)
    table = window.vocabulary.table
    qtbot.waitUntil(lambda: window.vocabulary.model.token_at(table.current_row) == wanted)
    assert table.viewport().rect().contains(table.visualRect(table.currentIndex()).center())
    qtbot.keyClick(box, Qt.Key.Key_Escape)
    assert window.text.encode.view.hasFocus()

    # F3 goes through the occurrences, also of special tokens.
    box = find(qtbot, window, " the")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    view, ids = window.text.encode.view, window.text.encode.encoded.ids
    places = np.flatnonzero(ids == session.view.target).tolist()
    assert len(places) > 10
    assert box.occurrence.text() == f"1 of {len(places)}"
    for number in (1, 2):
        qtbot.keyClick(box, Qt.Key.Key_F3)
        assert view.selection() == (places[number], places[number])
        assert box.occurrence.text() == f"{number + 1} of {len(places)}"
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert view.selection()[0] == places[3]
    for number in (2, 1, 0, len(places) - 1):
        qtbot.keyClick(box, Qt.Key.Key_F3, KEYS.ShiftModifier)
        assert view.selection()[0] == places[number]
    qtbot.keyClick(box, Qt.Key.Key_F3)
    assert view.selection()[0] == places[0], "behind the last comes the first"
    session.view.set_playhead(1)
    assert box.occurrence.text() == "0 in text"
    assert not window.actions_by_id["find_next"].isEnabled()
    assert window.actions_by_id["find_next"].toolTip() == "The token is not in the text of the Text pane."
    session.view.set_playhead(len(session.runs.active))
    assert box.occurrence.text() == f"{len(places)} in text" or box.occurrence.text().endswith(f" of {len(places)}")
    qtbot.keyClick(box, Qt.Key.Key_Escape)
    assert session.view.target is None
    assert box.occurrence.text() == ""
    assert len(view.occurrences) == 0
    session = train(qtbot, window, special_tokens=("<|end|>",))
    session.view.set_text("the cat<|end|> sat")
    qtbot.waitUntil(lambda: not session.jobs.running)
    box = find(qtbot, window, "<|end|>")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: box.occurrence.text() == "special tokens off")
    assert "not recognised" in window.actions_by_id["find_next"].toolTip()
    assert "not recognised" in window.status.currentMessage()
    qtbot.mouseClick(window.text.encode.specials, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: box.occurrence.text() == "1 in text")
    assert window.actions_by_id["find_next"].isEnabled()
    # Of any other token it is as before; while it is typed nothing is said of the one before.
    find(qtbot, window, "q")
    assert box.occurrence.text() == ""
    qtbot.keyClick(box, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: box.occurrence.text() == "0 in text")
    session = train(qtbot, window, pattern="gpt2")

    # Marks in the text go with their target.
    first = session.runs.active
    session.runs.add_tokenizer(first.tokenizer, "a copy")
    page = window.text.encode
    view = page.view

    def mark(merges=44):
        """Marks the places of a token, the first of which is selected."""
        session.runs.activate(first)
        session.view.set_playhead(merges)
        session.view.set_text(TEXT)
        qtbot.keyClick(find(qtbot, window, " the"), Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: len(view.occurrences) > 0)
        assert view.selection() is not None

    def nothing_is_marked():
        return len(view.occurrences) == 0 and view.selection() is None and session.view.selection is None

    mark()
    session.runs.activate(session.runs.all[-1])
    assert nothing_is_marked()
    mark()
    box = window.finder.box
    box.selectAll()
    qtbot.keyClick(box, Qt.Key.Key_Delete)
    assert len(view.occurrences) == 0, "the field is empty: nothing says what the marks are of"
    assert session.view.target is None
    mark()
    session.view.set_playhead(1)
    assert len(view.occurrences) == 0, "the token does not exist yet"
    mark()
    session.view.set_text("Bats! " * 10 + "ran.")
    qtbot.waitUntil(lambda: page.encoded.text == session.view.text)
    assert nothing_is_marked(), "what was selected is gone"
    mark()
    selected = view.selected_text()
    session.view.set_text(TEXT + "the end")
    qtbot.waitUntil(lambda: page.encoded.text == session.view.text)
    assert view.selected_text() == selected, "what is typed behind it leaves it alone"
    session.view.set_text("x" + TEXT)
    qtbot.waitUntil(lambda: page.encoded.text == session.view.text)
    assert view.selection() is None, "it stands elsewhere"
    mark()
    window.actions_by_id["delete_run"].trigger()
    assert session.runs.active is not first
    assert nothing_is_marked()


@at_window("{book}")
def test_a_token_after_the_playhead_has_a_message_and_filters_and_panes_that_hide_a_token_give_way(qtbot, window):
    session = train(qtbot, window)
    last = int(session.runs.active.tokenizer.merge_results[-1])
    session.view.set_playhead(2)
    box = find(qtbot, window, f"#{last}")
    model = window.finder.model
    cells = [model.cell(0, column) for column in range(3)]
    assert listed(window.finder.model)[0] == last
    assert all(cell.dimmed for cell in cells)
    assert cells[1].text == f"merge {len(session.runs.active):,}, not yet"
    qtbot.keyClick(box, Qt.Key.Key_Return)
    words = f"This token does not exist at the playhead yet: merge {len(session.runs.active):,} makes it."
    assert window.status.currentMessage() == words
    assert window.merges.model.token_at(window.merges.table.current_row) == last
    session.view.set_playhead(len(session.runs.active))
    assert not model.cell(0, 0).dimmed
    # Removing a filter would not show it either.
    pane = window.vocabulary
    pane.raise_()
    qtbot.waitUntil(lambda: pane.seen)
    session.view.set_playhead(2)
    pane.filter.setText("t")
    qtbot.keyClick(find(qtbot, window, f"#{last}"), Qt.Key.Key_Return)
    assert pane.filter.text() == "t"
    pane.filter.clear()
    session.view.set_playhead(len(session.runs.active))
    box = find(qtbot, window, "at")
    place = box.list.visualRect(window.finder.model.index(2, 0)).center()
    wanted = listed(window.finder.model)[2]
    qtbot.mouseClick(box.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert session.view.target == wanted
    assert not box.popup.isVisible()
    window.resize(1024, 640)
    box = find(qtbot, window, "a")
    bar = window.toolbar
    assert bar.rect().contains(bar.mapFromGlobal(box.mapToGlobal(box.rect().bottomRight())))
    assert window.rect().contains(box.popup.geometry())
    extension = [button for button in bar.children() if button.objectName() == "qt_toolbar_ext_button"]
    assert not any(button.isVisible() for button in extension)
    for width, height in ((1440, 900), (1024, 640)):
        window.resize(width, height)
        window.reset_layout()
        window.why.raise_()
        qtbot.waitUntil(lambda: window.token.visibleRegion().isEmpty())
        qtbot.keyClick(find(qtbot, window, "the"), Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: window.token.headline.isVisible() and not window.token.visibleRegion().isEmpty())
        window.vocabulary.raise_()
        window.token.close()
        qtbot.waitUntil(lambda: window.vocabulary.seen)
        qtbot.keyClick(find(qtbot, window, "cat"), Qt.Key.Key_Return)
        assert window.token.isHidden(), (width, height)
        assert window.vocabulary.seen, (width, height)

    # Filters that hide the target are cleared.
    window.reset_layout()
    session, pane = train(qtbot, window, 330, min_frequency=None), window.vocabulary
    results = session.runs.active.tokenizer.merge_results.tolist()
    qtbot.keyClick(window, Qt.Key.Key_F, KEYS.ControlModifier | KEYS.ShiftModifier)
    assert window.merges.filter.hasFocus()
    qtbot.keyClicks(window.merges.filter, "zzz")
    qtbot.waitUntil(lambda: not window.merges.busy() and window.merges.model.rowCount() == 0)
    qtbot.keyClick(find(qtbot, window, str(results[3])), Qt.Key.Key_Return)
    assert window.merges.filter.text() == ""
    assert window.merges.model.token_at(window.merges.table.current_row) == session.view.target
    pane.raise_()
    qtbot.waitUntil(lambda: pane.seen and pane.model.tokens.index is not None)
    hide = {
        "kind": pane.panel.boxes["Digits"].click,
        "length": lambda: pane.panel.least.setValue(100_000),
        "text": lambda: pane.filter.setText("zzqz"),
    }
    for (hidden_by, deed), token in zip(hide.items(), results[-4:-1], strict=True):
        deed()
        qtbot.waitUntil(lambda: not pane.busy())
        assert pane.model.row_of_token(token) < 0, hidden_by
        box = find(qtbot, window, f"#{token}")
        qtbot.keyClick(box, Qt.Key.Key_Return)
        table = pane.table
        qtbot.waitUntil(lambda: not pane.busy())
        assert pane.model.token_at(table.current_row) == token, hidden_by
        assert table.viewport().rect().contains(table.visualRect(table.currentIndex()).center()), hidden_by
        assert not pane.filter.text(), hidden_by
        assert not pane.filtered(), hidden_by
        assert pane.note.text() == "", hidden_by


def test_no_results_no_run_and_many_results_have_a_message(qtbot, session, theme, make_run):
    finder = Finder(session, theme)
    qtbot.addWidget(finder.box)
    finder.box.show()

    def note(typed):
        finder.box.selectAll()
        qtbot.keyClicks(finder.box, typed)
        qtbot.waitUntil(lambda: not finder.box.is_stale)
        return finder.box.note.text()

    assert note("a") == "Train a tokenizer first, or open one."
    run = make_run(sample_text("article"), vocabulary_size=700)
    assert note("quetzal") == "No token contains this."
    assert finder.box.list.isHidden()
    assert note("#99999") == f"No token has the id 99,999; the vocabulary has {run.vocabulary_size} tokens."
    told = note("t")
    assert finder.model.rowCount() > 1
    assert (finder.model.rowCount() == MOST) == told.startswith(f"The first {MOST};")
    finder.box.clear()
    assert not finder.box.popup.isVisible()


def test_the_index_follows_a_run_that_grows(qtbot, session, theme, make_run):
    finder = Finder(session, theme)
    QAbstractItemModelTester(finder.model, QAbstractItemModelTester.FailureReportingMode.Fatal, finder.model)
    run = make_run(vocabulary_size=280)
    finder.begin()
    qtbot.waitUntil(lambda: run.tokens.index is not None)
    session.training.set_settings(Settings(vocabulary_size=300))
    session.training.continue_run(run)
    qtbot.waitUntil(lambda: session.training.current is None)
    last = int(session.runs.active.tokenizer.merge_results[-1])
    finder.box.setText(str(last))
    finder.box.asked.emit(str(last))
    qtbot.waitUntil(lambda: finder.model.rowCount() > 0)
    assert finder.model.token_at(0) == last
    assert finder.model.copied_slot(finder.model.slot_at(0)).split("\t")[1:] == [
        str(len(session.runs.active)),
        str(last),
    ]
    session.runs.delete(session.runs.active)
    session.runs.delete(run)
    assert finder.model.rowCount() == 0


def test_special_tokens_are_found_and_marked(qtbot, session, theme, make_run):
    finder = Finder(session, theme)
    session.corpus.add_text("one two " * 50)
    make_run(vocabulary_size=270, special_tokens=("<|end|>",))
    finder.box.setText("<|end")
    finder.box.asked.emit("<|end")
    qtbot.waitUntil(lambda: finder.model.rowCount() == 1)
    assert finder.model.token_at(0) == session.runs.active.special_tokens["<|end|>"]
    assert finder.model.cell(0, 1).text == "special"
    assert finder.model.cell(0, 2).text == f"id {session.runs.active.special_tokens['<|end|>']:,}"
    assert finder.model.cell(0, 0).special


def test_enter_shows_the_result_of_a_slow_search(qtbot, monkeypatch, session, theme, make_run):
    held = [True]

    def slow(*arguments):
        while held:
            yield Progress("searching tokens")
        return (yield from search_work(*arguments))

    monkeypatch.setattr("tokstudio.gui.find.finder.search_work", slow)
    finder, run = Finder(session, theme), make_run(vocabulary_size=280)
    qtbot.addWidget(finder.box)
    finder.box.show()
    qtbot.keyClicks(finder.box, "at")
    qtbot.waitUntil(lambda: finder.box.note.text() == "Searching…")
    assert finder.model.rowCount() == 0
    qtbot.keyClick(finder.box, Qt.Key.Key_Return)
    held.clear()
    qtbot.waitUntil(lambda: session.view.target is not None)
    assert b"at" in run.tokenizer.tokens[session.view.target]
    assert not finder.box.popup.isVisible()


LINE = "".join(random.Random(5).choices("abcdefghijklmnopqrstuvwxyz", k=400))
PIECE = LINE[300:330]


@pytest.fixture
def twice(tmp_path):
    path = tmp_path / "twice.txt"
    path.write_text(f"{LINE}\n{LINE}\n")
    return path


def holding(tokens, piece):
    return {token for token in range(len(tokens)) if piece in tokens[token]}


def look_at_vocabulary(qtbot, window):
    pane = window.vocabulary
    pane.raise_()
    qtbot.waitUntil(lambda: pane.seen and pane.model.tokens.index is not None)
    return pane


def paste(field, text):
    """Puts a text in place of that of a field."""
    QApplication.clipboard().setText(text)
    field.selectAll()
    field.paste()


@at_window("{twice}")
def test_find_and_filters_find_text_deep_in_a_token_and_the_token_of_a_byte(qtbot, twice, window, monkeypatch):
    session = train(qtbot, window, None, min_frequency=2, pattern="none")
    tokens = session.runs.active.tokenizer.tokens
    qtbot.keyClick(window, Qt.Key.Key_F, KEYS.ControlModifier)
    box, model = window.finder.box, window.finder.model
    paste(box, PIECE)
    wanted = holding(tokens, PIECE.encode())
    assert len(wanted) > 20
    assert max(len(tokens[token]) for token in wanted) >= 350
    qtbot.waitUntil(lambda: model.rowCount() == min(len(wanted), MOST))
    assert set(listed(model)) <= wanted
    paste(box, LINE[:250])
    begun = [token for token in range(len(tokens)) if tokens[token].startswith(LINE[:250].encode())][:MOST]
    assert begun
    qtbot.waitUntil(lambda: listed(model)[: len(begun)] == begun)
    box.selectAll()
    qtbot.keyClicks(box, "c3")
    byte = next(token for token in range(len(tokens)) if tokens[token] == b"\xc3")
    qtbot.waitUntil(lambda: model.rowCount() == 1 and model.token_at(0) == byte)
    merges = window.merges
    qtbot.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_F, KEYS.ControlModifier | KEYS.ShiftModifier)
    assert merges.filter.hasFocus()
    for typed in (PIECE, f"/{PIECE}/"):
        merges.filter.clear()
        qtbot.waitUntil(lambda: not merges.busy() and merges.model.rowCount() > len(wanted))
        paste(merges.filter, typed)
        qtbot.waitUntil(lambda: not merges.busy() and merges.model.rowCount() == len(wanted))
        assert set(listed(merges.model)) == wanted, typed
    pane = look_at_vocabulary(qtbot, window)
    for typed in (PIECE, PIECE.encode().hex(" "), f"/{PIECE[:20]}[a-z]{{3}}{PIECE[23:]}/"):
        pane.filter.clear()
        qtbot.waitUntil(lambda: pane.model.rowCount() == len(tokens))
        paste(pane.filter, typed)
        qtbot.waitUntil(lambda: pane.note.text() == f"{len(wanted):,} of {len(tokens):,}")
        assert set(listed(pane.model)) == wanted, typed
        assert not pane.limit.isVisible()
    pane.filter.clear()
    qtbot.keyClicks(pane.filter, "C3")
    qtbot.waitUntil(lambda: set(listed(pane.model)) == {byte})
    monkeypatch.setattr(token_search, "ROOM", 0)
    long = sum(len(tokens[token]) >= 256 for token in range(len(tokens)))
    assert long > 1
    said = f"For {long:,} very long tokens, only the first 256 bytes were searched."
    for pane in (look_at_vocabulary(qtbot, window), window.merges):
        pane.raise_()
        qtbot.waitUntil(lambda pane=pane: pane.seen)
        pane.filter.clear()
        qtbot.keyClicks(pane.filter, "/q/")
        qtbot.waitUntil(lambda pane=pane: pane.limit.text() == said)
        assert pane.limit.isVisible()
        pane.filter.clear()
        qtbot.waitUntil(lambda pane=pane: not pane.limit.isVisible())
