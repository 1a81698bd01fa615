"""The Why pane: the candidates of a merge, other rules, and following runner-ups."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication, QTabBar

from tests.gui.person import TEXT, at_rest, at_window, trained
from tests.gui.tables import click, row_texts
from tokstudio.core.analysis.why_this_merge import why_work
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.progress import Progress, finish
from tokstudio.core.base.resources import sample_text
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.why import pane as module
from tokstudio.gui.panes.why.pane import WhyPane
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.state.run import RunOrigin

TIED = "ab cd ef gh ab cd ef gh ab cd. "


@pytest.fixture
def pane(session, theme, actions, dock):
    pane = WhyPane(session, theme, actions)
    tester = QAbstractItemModelTester.FailureReportingMode.Warning
    QAbstractItemModelTester(pane.model, tester, pane)
    dock(pane, 420, 460)
    return pane


def answered(qtbot, pane):
    qtbot.waitUntil(lambda: not pane.busy and pane.parts.currentWidget() is pane.answer_page)


def look_at_merge(qtbot, session, pane, number):
    session.view.look_at(session.runs.active.base_size + number - 1)
    answered(qtbot, pane)


def known(session, number):
    run = session.runs.active
    return finish(why_work(run.corpus, run.run, number))


def says(pane):
    assert pane.pages.currentWidget() is pane.empty
    return pane.empty.label.text()


def test_before_a_merge_is_chosen_the_pane_asks_for_one(pane, make_run):
    make_run(vocabulary_size=280)
    assert says(pane).startswith("Choose a merge, or a token that a merge made")


def test_a_merge_is_shown_with_what_it_was_chosen_from_and_leads_to_others(qtbot, session, pane, trained):
    for number in (1, 200):
        look_at_merge(qtbot, session, pane, number)
        why, run = known(session, number), session.runs.active
        assert pane.number.text() == f"merge {number}"
        left, right, token = (button.text() for button in pane.line.buttons)
        assert left + right == token
        assert pane.reason.text() == why.reason
        assert pane.model.rowCount() == 1 + len(why.runners_up)
        keys = list(map(tuple, run.merges.tolist()))
        for row, pair in enumerate((why.chosen, *why.runners_up)):
            place, words, count, behind, later = row_texts(pane.model, row)
            assert (place, count) == (str(row + 1), f"{pair.count:,}")
            short = why.chosen.count - pair.count
            assert behind == (f"{short:,}" if short else "tied" if row else "–")
            merged = keys.index((pair.left, pair.right)) + 1 if (pair.left, pair.right) in keys else None
            assert later == (f"{merged:,}" if merged else "–")
            assert " + " in words
    look_at_merge(qtbot, session, pane, 1)
    assert known(session, 1).tied == 1
    pane.tabs.setCurrentIndex(1)
    assert not pane.rules.isVisible()
    assert "every rule" in pane.caption.text()
    pane.tabs.setCurrentIndex(0)
    look_at_merge(qtbot, session, pane, 5)
    row = next(row for row in range(1, 21) if pane.model.merge_at(row))
    pane.table.scrollTo(pane.model.index(row, 0))
    click(qtbot, pane.table, row)
    number = pane.model.merge_at(row)
    assert pane.later.text() == "Merged later."
    assert pane.go.text() == f"Go to merge {number:,}"
    qtbot.mouseClick(pane.go, Qt.MouseButton.LeftButton)
    assert session.view.token == 255 + number
    answered(qtbot, pane)
    assert pane.number.text() == f"merge {number:,}"
    look_at_merge(qtbot, session, pane, 300)
    left, right = session.runs.active.merges[299].tolist()
    qtbot.mouseClick(pane.line.buttons[1], Qt.MouseButton.LeftButton)
    assert session.view.token == right
    session.view.look_at(left if left < 256 else 65)
    assert says(pane).endswith("is a base token: no merge made it.")


def test_with_a_tie_the_choices_of_other_rules_are_listed(qtbot, session, pane, make_run):
    make_run(TIED * 20, vocabulary_size=270)
    look_at_merge(qtbot, session, pane, 1)
    why = known(session, 1)
    assert why.tied > 1
    assert row_texts(pane.model, 1)[3] == "tied"
    pane.tabs.setFocus()
    qtbot.keyClick(pane.tabs, Qt.Key.Key_Right)
    assert pane.rules.isVisible()
    told = {choice.rule: choice for choice in pane.rules.choices}
    rules = {
        "Lowest id": "lowest-id",
        "Hugging Face": "huggingface",
        "Bytes": "bytes",
        "Mapped strings": "mapped-strings",
    }
    assert set(told) == set(rules)
    for name, rule in rules.items():
        pair = why.choices[rule]
        assert told[name].same == (pair == why.chosen)
        assert told[name].pair.replace("·", " ") == f"{chr(pair.left)} + {chr(pair.right)}"
    assert not all(choice.same for choice in told.values())


def test_a_pair_that_was_never_merged_has_no_link(qtbot, session, pane, make_run):
    make_run(vocabulary_size=258)
    look_at_merge(qtbot, session, pane, 1)
    row = next(row for row in range(1, 21) if not pane.model.merge_at(row))
    pane.table.setCurrentIndex(pane.model.index(row, 0))
    assert pane.later.text() == "Not merged in this run."
    assert not pane.go.isVisible()
    qtbot.keyClick(pane.table, Qt.Key.Key_Return)
    assert session.view.token == 256
    pane.table.setCurrentIndex(pane.model.index(0, 0))
    assert pane.later.text() == "This is the pair that was merged."


def test_rows_are_copied_with_plain_numbers(qtbot, session, pane, trained):
    look_at_merge(qtbot, session, pane, 1)
    pane.table.setFocus()
    click(qtbot, pane.table, 0)
    qtbot.keyClick(pane.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    chosen = known(session, 1).chosen
    expected = f"1\t{chr(chosen.left)}\t{chr(chosen.right)}\t{chosen.count}\t0\t1"
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() == expected)


def test_the_other_alphabet(qtbot, session, pane, trained, actions):
    run = session.runs.active
    number = next(k for k, pair in enumerate(run.merges.tolist(), 1) if 32 in pair)
    look_at_merge(qtbot, session, pane, number)
    assert "·" in pane.line.buttons[2].text()
    actions["byte_level_characters"].setCheckable(True)
    actions["byte_level_characters"].setChecked(True)
    assert "Ġ" in pane.line.buttons[2].text()
    assert "Ġ" in row_texts(pane.model, 0)[1]


def test_a_file_what_a_library_trained_and_a_special_token_have_a_reason(pane, session, make_run):
    make_run("the cat sat on the mat " * 9, vocabulary_size=262, special_tokens=("<end>",))
    session.view.look_at(session.runs.active.special_tokens["<end>"])
    assert says(pane) == '"<end>" is a special token: no merge made it.'
    session.runs.add_tokenizer(Tokenizer(np.array([[97, 98]], np.int32)), "file")
    session.view.look_at(256)
    assert says(pane).startswith("This tokenizer was opened from a file")
    how = "trained by sentencepiece 0.2.2, vocabulary size 300"
    origin = RunOrigin(Path("SentencePiece BPE"), (), how, True, None, how)
    session.runs.add_tokenizer(Tokenizer(np.array([[97, 98]], np.int32)), "SentencePiece BPE", origin)
    session.view.look_at(256)
    assert says(pane) == f"This tokenizer has no counts of candidate pairs: it was {how}."


def test_a_missing_or_changed_corpus_has_a_message(qtbot, session, pane, trained):
    run = session.runs.active
    run.corpus_problem = "story.txt is missing"
    session.view.look_at(300)
    assert pane.problem.text() == "story.txt is missing, and its pairs cannot be counted."
    assert not pane.again.isVisible()
    run.corpus_problem, right = None, run.corpus
    run.corpus = Corpus.from_text("something else altogether")
    session.view.look_at(301)
    qtbot.waitUntil(pane.problem.isVisible)
    assert pane.problem.text().startswith("The corpus has changed since this run was trained")
    run.corpus = right
    qtbot.mouseClick(pane.again, Qt.MouseButton.LeftButton)
    answered(qtbot, pane)
    assert pane.reason.text() == known(session, 46).reason


def test_the_newest_merge_that_was_chosen_is_answered_while_the_pane_is_seen_and_the_run_there(
    qtbot, session, pane, trained
):
    for number in (10, 20, 30):
        session.view.look_at(255 + number)
    answered(qtbot, pane)
    assert pane.reason.text() == known(session, 30).reason
    look_at_merge(qtbot, session, pane, 40)
    session.view.look_at(255 + 30)
    assert not pane.busy
    assert pane.reason.text() == known(session, 30).reason
    look_at_merge(qtbot, session, pane, 200)
    before = pane.reason.text()
    for token in (97, session.runs.active.base_size + 8):
        session.view.look_at(token, hover=True)
        assert session.view.token == token
        session.training.state_changed.emit()
        assert (pane.number.text(), pane.reason.text()) == ("merge 200", before)
    # What is pointed at already is chosen by a click all the same.
    session.view.look_at(session.runs.active.base_size + 8)
    answered(qtbot, pane)
    assert pane.number.text() == "merge 9"
    pane.close()
    session.view.look_at(300)
    assert not pane.busy
    pane.show()
    answered(qtbot, pane)
    assert pane.number.text() == "merge 45"
    look_at_merge(qtbot, session, pane, 3)
    session.runs.delete(session.runs.active)
    assert says(pane).startswith("Train a tokenizer")
    assert pane.model.run is None
    assert pane.model.rowCount() == 0


def test_counting_can_be_cancelled_and_errors_are_shown(qtbot, session, pane, trained, monkeypatch):
    def endless(*_):
        while True:
            yield Progress("repeating", 3, 10)

    monkeypatch.setattr(module, "why_work", endless)
    session.view.look_at(300)
    qtbot.waitUntil(pane.busy_line.isVisible)
    qtbot.waitUntil(lambda: pane.busy_line.phase.text() == "Making the merges again…")
    assert pane.busy_line.bar.value() == 300
    qtbot.mouseClick(pane.busy_line.cancel, Qt.MouseButton.LeftButton)
    assert pane.problem.text() == "Cancelled."
    assert not pane.busy
    monkeypatch.setattr(module, "why_work", why_work)
    qtbot.mouseClick(pane.again, Qt.MouseButton.LeftButton)
    answered(qtbot, pane)

    def broken(*_):
        yield Progress("reading")
        raise CorpusError("story.txt: cannot be read.")

    monkeypatch.setattr(module, "why_work", broken)
    session.view.look_at(302)
    qtbot.waitUntil(lambda: pane.problem.isVisible())
    assert pane.problem.text() == "story.txt: cannot be read."
    monkeypatch.setattr(module, "why_work", why_work)
    free = 1000
    monkeypatch.setattr("tokstudio.core.analysis.why_this_merge.free_memory", lambda: free)
    session.view.look_at(260)
    qtbot.waitUntil(pane.problem.isVisible)
    assert "of memory, but only" in pane.problem.text()
    free = 1 << 50
    qtbot.mouseClick(pane.again, Qt.MouseButton.LeftButton)
    answered(qtbot, pane)
    assert pane.parts.currentWidget() is pane.answer_page


def test_in_a_narrow_pane_the_number_is_hidden(qtbot, session, pane, trained):
    look_at_merge(qtbot, session, pane, 46)
    pane.show_title(False)
    seen = set()
    # With the window's fonts, which outlive it, the tabs alone are wider than the narrowest pane.
    margins = pane.header.contentsMargins()
    least = pane.tabs.sizeHint().width() + margins.left() + margins.right()
    for width in range(max(least, pane.window().minimumSizeHint().width()), 480, 20):
        pane.window().resize(width, 420)
        qtbot.waitUntil(lambda width=width: pane.window().width() == width)
        QApplication.processEvents()
        seen.add(pane.number.isVisible())
        assert pane.tabs.rect().contains(pane.tabs.tabRect(pane.tabs.count() - 1)), width
        assert pane.number.isHidden() or pane.number.width() >= pane.number.sizeHint().width(), width
    assert seen == {False, True}


def test_a_run_in_training_can_be_explained(qtbot, session, pane, step_to):
    session.corpus.add_text(sample_text("article"))
    session.training.set_settings(Settings(2000, None))
    step_to(3)
    look_at_merge(qtbot, session, pane, 2)
    assert row_texts(pane.model, 0)[2] == f"{int(session.runs.active.log.count[1]):,}"
    row = next(row for row in range(1, 21) if pane.model.merge_at(row) == 0)
    pane.table.setCurrentIndex(pane.model.index(row, 0))
    assert pane.later.text() == "Not merged so far."
    session.training.resume()
    qtbot.waitUntil(lambda: session.training.current is None)
    # What was joined later is known now.
    assert pane.model.merge_at(0) == 2
    assert any(pane.model.merge_at(row) > 3 for row in range(1, 21))


def test_long_tokens_are_cut_to_the_room(qtbot, session, pane, make_run):
    make_run("abcdefghijklmnopqrstuvwxyz0123456789" * 40 + "x", vocabulary_size=292)
    look_at_merge(qtbot, session, pane, len(session.runs.active))
    token = session.runs.active.tokenizer.tokens[session.view.token].decode()
    shown = pane.line.buttons[2]
    assert "…" in shown.text()
    assert token[:50] in shown.toolTip()
    assert shown.geometry().right() <= pane.line.width()


@at_window()
def test_the_menu_shows_the_pane_with_the_merge_at_the_playhead_in_one_tab_bar(qtbot, unstyled, window):
    def once():
        found = window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        tabs = [bar.tabText(tab) for bar in found if bar.isVisible() for tab in range(bar.count())]
        return {"Merges", "Token", "Why"} <= set(tabs) and len(tabs) == len(set(tabs))

    qtbot.waitUntil(once)
    window.actions_by_id["reset_layout"].trigger()
    qtbot.waitUntil(once)
    session = window.session
    assert not window.actions_by_id["why_merge"].isEnabled()
    session.corpus.add_text(TEXT)
    trained(qtbot, window, 280)
    session.view.set_playhead(7)
    window.activateWindow()
    modifiers = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClick(window, Qt.Key.Key_Y, modifiers)
    answered(qtbot, window.why)
    assert window.why.number.text() == "merge 7"
    assert not window.why.visibleRegion().isEmpty()
    # From the log, by the menu of a row.
    row = window.merges.model.row_of_number(9)
    window.merges.table.setCurrentIndex(window.merges.model.index(row, 0))
    assert window.actions_by_id["why_merge"] in window.merges.table.actions()
    qtbot.waitUntil(lambda: window.why.number.text() == "merge 9")
    answered(qtbot, window.why)


@at_window()
def test_the_merge_at_the_playhead_is_explained_after_that_was_moved_and_a_chosen_one_after_a_choice(
    qtbot, unstyled, window
):
    session, act = window.session, window.actions_by_id
    session.corpus.add_text(TEXT)
    last = len(trained(qtbot, window, 280))

    def explained() -> str:
        act["why_merge"].trigger()
        answered(qtbot, window.why)
        return window.why.number.text()

    assert explained() == f"merge {last}"
    for _ in range(3):
        act["previous"].trigger()
    assert explained() == f"merge {last - 3}"
    assert explained() == f"merge {last - 3}"
    # A row that is chosen wins, also one that is chosen once more: by the mouse, or the key that opens its menu.
    table, row = window.merges.table, window.merges.model.row_of_number(last - 5)

    def open_menu() -> None:
        table.customContextMenuRequested.emit(QPoint(5, 5))
        menu = QApplication.activePopupWidget()
        assert menu is not None
        menu.close()

    for choose in (partial(click, qtbot, table, row), partial(click, qtbot, table, row), open_menu):
        window.merges.raise_()
        table.reveal(row)
        choose()
        assert explained() == f"merge {last - 5}"
        act["next"].trigger()
    assert explained() == f"merge {last}"


def test_one_part_scrolls_at_a_time_however_low_the_pane_is(qtbot, session, pane, make_run):
    make_run(sample_text("article"), vocabulary_size=400)
    look_at_merge(qtbot, session, pane, 60)
    seen = set()
    for height in (460, 300, 240, 200, 170, 150):
        pane.window().resize(420, height)
        QApplication.processEvents()
        at_rest(qtbot, pane.page)
        outer, inner = (one.verticalScrollBar().maximum() > 0 for one in (pane.page, pane.table))
        assert not (outer and inner), height
        seen.add((outer, inner))
    assert seen == {(True, False), (False, True)}
    pane.table.setFocus()
    for _ in range(12):
        qtbot.keyClick(pane.table, Qt.Key.Key_Down)
    at_rest(qtbot, pane.page)
    place = pane.table.visualRect(pane.table.currentIndex())
    assert not pane.table.viewport().visibleRegion().intersected(place).isEmpty(), "the chosen row is in sight"
