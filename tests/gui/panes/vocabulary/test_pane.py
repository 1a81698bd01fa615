"""The Vocabulary pane: at the playhead, sorted by a click, filtered by kind."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication, QDockWidget, QToolButton

from tests.gui.person import at_rest
from tests.gui.tables import listed
from tokstudio import __version__
from tokstudio.core.analysis.reachability import reachability_work
from tokstudio.core.base.progress import Progress
from tokstudio.core.base.resources import sample_text
from tokstudio.core.base.wording import percent_text
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.panes.vocabulary.pane import VocabularyPane
from tokstudio.gui.panes.vocabulary.selection import LENGTH, NOTES

ID, USES = 0, 6


@pytest.fixture
def unsorted(session, theme, actions, show):
    """The pane as it is at first."""
    pane = VocabularyPane(session, theme, actions)
    show(pane, 760, 320)
    return pane


@pytest.fixture
def pane(unsorted):
    """The pane, sorted by ids: most tests count rows by them."""
    unsorted.table.sortByColumn(ID, Qt.SortOrder.AscendingOrder)
    return unsorted


def click_header(qtbot, pane, column):
    header = pane.table.horizontalHeader()
    place = QPoint(header.sectionViewportPosition(column) + header.sectionSize(column) // 2, header.height() // 2)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=place)
    qtbot.waitUntil(lambda: not pane.model.searching)


def test_a_button_exports_the_vocabulary(pane, qtbot, actions):
    button = next(one for one in pane.findChildren(QToolButton) if one.accessibleName().startswith("Export"))
    with qtbot.waitSignal(actions["export_vocabulary_csv"].triggered):
        button.click()


def test_at_first_the_latest_merges_are_on_top_and_the_base_tokens_come_last(qtbot, unsorted, session, make_run):
    QAbstractItemModelTester(unsorted.model, QAbstractItemModelTester.FailureReportingMode.Warning, unsorted)
    run, pane, model = make_run(base="characters", vocabulary_size=30), unsorted, unsorted.model
    base = run.base_size

    def newest_first(merges):
        return [*range(base + merges - 1, base - 1, -1), *range(base)]

    assert listed(pane.model) == newest_first(len(run))
    assert pane.table.rowAt(0) == 0
    for merges in (10, 0, len(run), 7):
        session.view.set_playhead(merges)
        assert listed(pane.model) == newest_first(merges), "at once, without being worked out anew"
        assert [model.row_of_token(token) for token in listed(pane.model)] == list(range(base + merges))
    assert model.index(0, USES).data() == f"{int(run.uses.at(7)[base + 6]):,}"
    pane.filter.setText("/e/")
    qtbot.waitUntil(lambda: not pane.busy() and len(listed(pane.model)) < base + 7)
    assert listed(pane.model) == [token for token in newest_first(7) if b"e" in session.view.tokenizer.tokens[token]]
    pane.filter.clear()
    qtbot.waitUntil(lambda: listed(pane.model) == newest_first(7))
    session.view.set_playhead(1)
    qtbot.waitUntil(lambda: listed(pane.model) == newest_first(1))
    # By length the rows are the same here, but another order all the same.
    pane.table.sortByColumn(LENGTH, Qt.SortOrder.DescendingOrder)
    qtbot.waitUntil(lambda: not model.searching)
    assert listed(pane.model) == newest_first(1)
    pane.table.sortByColumn(ID, Qt.SortOrder.AscendingOrder)
    qtbot.waitUntil(lambda: listed(pane.model) == list(range(base + 1)))


def test_it_lists_what_exists_at_the_playhead_filtered_by_kinds_and_shows_a_chosen_token(
    pane, trained, qtbot, session, actions
):
    assert listed(pane.model) == list(range(600))
    trained.view.set_playhead(100)
    assert listed(pane.model) == list(range(356))
    uses = trained.runs.active.uses.at(100)
    assert pane.model.index(300, USES).data() == f"{int(uses[300]):,}"
    trained.view.set_playhead(344)
    pane.panel.boxes["Only in longer tokens"].click()
    settle(qtbot, pane)
    uses, before = trained.runs.active.uses.at(344), trained.runs.active.uses.base
    assert listed(pane.model) == [token for token in range(600) if uses[token] == 0 and (token >= 256 or before[token])]
    assert pane.note.text() == f"{len(listed(pane.model))} of 600"
    pane.panel.clear_button.click()
    assert pane.note.text() == ""
    assert listed(pane.model) == list(range(600))
    place = QPoint(60, pane.table.rowViewportPosition(4) + 5)
    qtbot.mouseClick(pane.table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert trained.view.token == 4
    place = pane.table.visualRect(pane.model.index(3, 1)).center()
    qtbot.mouseClick(pane.table.viewport(), Qt.MouseButton.RightButton, pos=place)
    assert session.view.chosen == pane.model.token_at(3)
    assert pane.table.actions() == [actions[name] for name in ("why_merge", "forbid_tokens", "prune_tokens", "copy")]


def test_a_click_on_a_header_sorts_and_another_reverses(qtbot, pane, trained):
    uses = trained.runs.active.uses.at(344)
    click_header(qtbot, pane, USES)
    first = [int(uses[token]) for token in listed(pane.model)]
    click_header(qtbot, pane, USES)
    second = [int(uses[token]) for token in listed(pane.model)]
    assert sorted([first, second]) == [sorted(first), sorted(first, reverse=True)]
    assert pane.table.rowAt(0) == 0


@pytest.mark.parametrize("width", [260, 300, 360, 420, 760])
def test_the_count_of_the_filter_is_whole_beside_or_below_it(qtbot, pane, trained, width):
    pane.window().resize(width, 420)
    pane.filter.setText("encoding")
    note, edit = pane.note, pane.filter
    qtbot.waitUntil(lambda: note.text().startswith("0 of "))
    QApplication.processEvents()
    assert note.isVisible()
    assert note.text().endswith(f" of {pane.total():,}")
    assert note.width() >= note.fontMetrics().horizontalAdvance(note.text())
    places = [QRect(part.mapTo(pane, QPoint()), part.size()) for part in (note, edit)]
    assert not places[0].intersects(places[1])
    assert edit.width() >= edit.fontMetrics().horizontalAdvance("encoding") + 50


def test_a_selection_survives_the_playhead_sorting_and_filtering(pane, trained, qtbot):
    looked = []
    trained.view.token_changed.connect(lambda: looked.append(trained.view.token))
    trained.view.look_at(500)
    assert pane.model.token_at(pane.table.current_row) == 500
    trained.view.set_playhead(10)
    assert pane.table.current_row == -1
    assert not pane.table.selectionModel().hasSelection()
    trained.view.set_playhead(344)
    assert pane.model.token_at(pane.table.current_row) == 500
    assert looked == [500]
    trained.view.look_at(300)
    click_header(qtbot, pane, 1)
    assert pane.model.token_at(pane.table.current_row) == 300
    raw = trained.runs.active.tokenizer.tokens[300]
    pane.filter.setText(raw.decode())
    qtbot.waitUntil(lambda: not pane.model.searching)
    assert pane.model.token_at(pane.table.current_row) == 300
    assert all(raw.lower() in trained.runs.active.tokenizer.tokens[token].lower() for token in listed(pane.model))
    assert trained.view.token == 300
    pane.filter.clear()
    click_header(qtbot, pane, 3)
    trained.view.set_playhead(50)
    qtbot.waitUntil(lambda: pane.model.rowCount() == 306)
    tokens = trained.runs.active.tokenizer.tokens
    lengths = [len(tokens[token]) for token in listed(pane.model)]
    assert lengths in (sorted(lengths), sorted(lengths, reverse=True))


def test_the_current_row_stays_visible_as_the_table_shrinks(qtbot, pane, trained):
    table = pane.table
    bar = table.verticalScrollBar()
    last = table.rowAt(table.viewport().height() - table.rowHeight(0))
    place = QPoint(60, table.rowViewportPosition(last) + 5)
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert table.current_row == last

    def in_sight():
        top = table.rowViewportPosition(last)
        return top >= 0 and top + table.rowHeight(last) <= table.viewport().height()

    for height in (320, 280, 240):
        pane.resize(760, height)
        qtbot.waitUntil(lambda height=height: pane.height() == height)
        assert in_sight()
    bar.setValue(bar.maximum())
    before = bar.value()
    pane.resize(760, 235)
    qtbot.waitUntil(lambda: pane.height() == 235)
    assert bar.value() == before


def test_all_rows_can_be_copied(qtbot, pane, trained):
    pane.table.setFocus()
    pane.table.selectAll()
    with qtbot.waitSignal(pane.table.copied):
        pane.table.copy()
    about, *lines = QGuiApplication.clipboard().text().split("\n")
    assert about == f"{trained.runs.active.name} (600 tokens), TokStudio {__version__}"
    assert [int(line.split("\t")[0]) for line in lines] == list(range(600))
    assert bytes.fromhex(lines[400].split("\t")[2]) == trained.runs.active.tokenizer.tokens[400]
    trained.view.set_playhead(50)
    qtbot.waitUntil(lambda: pane.model.rowCount() == 306)
    pane.table.selectAll()
    with qtbot.waitSignal(pane.table.copied):
        pane.table.copy()
    assert QGuiApplication.clipboard().text().startswith(f"{trained.runs.active.name} (306 tokens), ")


def test_a_change_of_run_replaces_the_rows(pane, trained, make_run):
    first = trained.runs.active
    make_run(vocabulary_size=300)
    assert len(listed(pane.model)) == 300
    trained.runs.activate(first)
    assert len(listed(pane.model)) == 600
    trained.runs.delete(first)
    trained.runs.delete(trained.runs.active)
    assert pane.stack.currentIndex() == 0


def settle(qtbot, pane):
    at_rest(qtbot, pane.model)
    qtbot.waitUntil(lambda: not pane.busy())


def shown(qtbot, pane):
    settle(qtbot, pane)
    return [pane.model.tokens.run.tokenizer.tokens[token] for token in listed(pane.model)]


def ready(qtbot, pane, session):
    def has_scripts():
        return any(name.startswith("script:") for name in pane.panel.boxes)

    qtbot.waitUntil(lambda: not session.jobs.running and has_scripts())


def test_expressions_lengths_and_ids_filter_together_and_an_error_leaves_the_rows(qtbot, pane, trained):
    tokens = list(trained.runs.active.tokenizer.tokens)
    wanted = [token for token in tokens if re.search("^[a-z]+e$", token.decode("utf-8", "replace"))]
    assert wanted
    qtbot.keyClicks(pane.filter, "/^[a-z]+e$/")
    assert shown(qtbot, pane) == wanted
    pane.filter.setText("^[a-z]+e$")
    assert shown(qtbot, pane) == []
    pane.panel.expression.click()
    assert shown(qtbot, pane) == wanted
    assert pane.note.text() == f"{len(wanted)} of 600"
    pane.panel.expression.click()
    pane.filter.setText("/in/")
    before = shown(qtbot, pane)
    qtbot.keyClick(pane.filter, Qt.Key.Key_End)
    pane.filter.setText("/in(/")
    assert shown(qtbot, pane) == before
    assert pane.wrong.text() == "The expression does not compile at the end: missing )."
    assert pane.filter.property("invalid")
    pane.filter.setText("/in()/")
    assert shown(qtbot, pane) == before
    assert not pane.filter.property("invalid")
    assert pane.note.text() == f"{len(before)} of 600"
    assert not pane.wrong.isVisible()
    assert len(tokens[300]) < 4
    pane.filter.setText("300")
    assert tokens[300] in shown(qtbot, pane)
    pane.filter.setText("300 length:4+")
    # The number is that of a merge as well.
    assert len(tokens[256 + 299]) >= 4
    assert shown(qtbot, pane) == [tokens[256 + 299]]
    pane.filter.setText(f"300 length:{len(tokens[300])}")
    assert tokens[300] in shown(qtbot, pane)
    behind = shown(qtbot, pane)
    pane.filter.setText(f"length:{len(tokens[300])} 300")
    assert shown(qtbot, pane) == behind
    pane.filter.setText("length:3+ /^ ?t/")
    assert shown(qtbot, pane) == [token for token in tokens if len(token) >= 3 and token.lstrip(b" ")[:1] == b"t"]
    pane.filter.clear()
    pane.panel.least.setValue(4)
    pane.panel.most.setValue(6)
    assert shown(qtbot, pane) == [token for token in tokens if 4 <= len(token) <= 6]
    assert pane.kinds.text() == "Kinds (1)"
    assert pane.panel.matches.text() == pane.note.text() == f"{pane.model.rowCount():,} of {len(tokens):,}"
    pane.panel.clear_button.click()
    pane.filter.setText("e length:3+")
    assert shown(qtbot, pane) == [token for token in tokens if b"e" in token.lower() and len(token) >= 3]


def test_a_pending_search_continues_in_the_newly_active_run(qtbot, pane, trained, make_run):
    first = trained.runs.active
    trained.corpus.set_sources(())
    second = make_run("in the inn of the king\n" * 40, vocabulary_size=280)
    trained.runs.activate(first)
    ready(qtbot, pane, trained)
    qtbot.keyClicks(pane.filter, "/in/")
    shown(qtbot, pane)
    pane.filter.setText("/^in|he/")
    assert pane.busy()
    trained.runs.activate(second)
    wanted = [raw for raw in second.tokenizer.tokens if re.search("^in|he", raw.decode("utf-8", "replace"))]
    assert shown(qtbot, pane) == wanted
    assert pane.note.text() == f"{len(wanted)} of {second.vocabulary_size}"


def test_the_error_of_an_expression_is_not_cut_in_a_narrow_pane(qtbot, pane, trained):
    pane.filter.setText("no token has this")
    assert not shown(qtbot, pane)
    assert pane.stack.currentWidget().label.text() == "Nothing matches this filter."
    pane.window().resize(300, 320)
    pane.resize(300, 320)
    pane.filter.setText("/[[:nothing:]]/")
    qtbot.waitUntil(lambda: whole(pane.wrong))
    assert pane.wrong.text().startswith("The expression does not compile at character ")
    # Nobody has looked for it.
    assert pane.stack.currentWidget().label.text() == "Nothing is listed until the filter is valid."


def whole(label):
    """Whether all words of a label that wraps are in sight."""
    room = label.contentsRect()
    words = label.fontMetrics().boundingRect(room, Qt.TextFlag.TextWordWrap, label.text())
    return label.isVisible() and words.height() <= room.height() and words.width() <= room.width()


def test_an_expression_that_takes_too_long_is_stopped(qtbot, pane, make_run):
    make_run("a" * 3000 + "!", vocabulary_size=265)
    before = shown(qtbot, pane)
    pane.filter.setText("/(a|aa|aaa)+(a|aa|aaa)+(a|aa)+$b/")
    assert shown(qtbot, pane) == before
    assert "takes too long" in pane.wrong.text()
    pane.filter.setText("aaa")
    assert all(b"aaa" in token for token in shown(qtbot, pane))


def test_an_expression_that_compiles_for_ever_is_refused_before_that(qtbot, pane, trained, monkeypatch):
    before = shown(qtbot, pane)
    for expression in ("(?r)a", "a{99999999}", "(?:a{99999}){99999}", "(?x)a{ 9999 # all\n 9999 }"):
        if "{" in expression:
            monkeypatch.delattr("regex.compile", raising=False)
        pane.filter.setText(f"/{expression}/")
        assert shown(qtbot, pane) == before
        backwards = expression == "(?r)a"
        why = "searches backwards: remove (?r)" if backwards else "repeats too much: use smaller numbers in braces"
        assert pane.wrong.text() == f"The expression {why}.", expression


def test_lengths_are_those_of_whole_tokens_however_long(qtbot, pane, session, make_run):
    line = "".join(f"{number * number % 997:b} " for number in range(60))
    run = make_run(f"{line}\n" * 4, vocabulary_size=None, min_frequency=2, pattern="none")
    ready(qtbot, pane, session)
    lengths = [len(token) for token in run.tokenizer.tokens]
    assert max(lengths) > 500
    long = sum(length >= 300 for length in lengths)
    for typed in ("length:300+", "0 1 length:300+", "/0/ length:300+", "/./ length:300+"):
        pane.filter.setText(typed)
        assert len(shown(qtbot, pane)) == long > 0
    pane.filter.setText("/0/ length:256")
    assert len(shown(qtbot, pane)) == lengths.count(256)


def test_the_length_of_the_longest_token_is_whole(qtbot, pane, session):
    # Each merge joins the last token with itself.
    parts = np.array([0, *range(256, 275)], np.int32)
    session.runs.add_tokenizer(Tokenizer(np.stack([parts, parts], axis=1)), "long")
    settle(qtbot, pane)
    texts = [pane.model.index(row, LENGTH).data() for row in range(pane.model.rowCount())]
    assert max(texts, key=len) == "1,048,576"
    pane.table.scrollToBottom()
    assert pane.table.columnWidth(LENGTH) >= pane.table.sizeHintForColumn(LENGTH)


def test_kinds_of_one_group_add_up_groups_narrow_down_and_the_panel_is_used_by_keys(qtbot, pane, trained, session):
    ready(qtbot, pane, session)
    tokens = list(trained.runs.active.tokenizer.tokens)
    pane.panel.boxes["Digits"].click()
    pane.panel.boxes["White space"].click()
    either = [raw for raw in tokens if _is_text(raw) and (raw.isspace() or raw.strip().isdigit())]
    assert shown(qtbot, pane) == either
    pane.panel.boxes["Merges"].click()
    assert shown(qtbot, pane) == [raw for raw in either if len(raw) > 1]
    pane.panel.clear_button.click()
    pane.kinds.setFocus()
    qtbot.keyClick(pane.kinds, Qt.Key.Key_Space)
    assert pane.panel.isVisible()
    qtbot.keyClick(pane.panel.boxes["Merges"], Qt.Key.Key_Space)
    settle(qtbot, pane)
    assert listed(pane.model) == list(range(256, 600))
    qtbot.keyClick(pane.panel, Qt.Key.Key_Escape)
    assert not pane.panel.isVisible()
    assert pane.kinds.accessibleName().endswith("1 selected")


def test_tokens_across_words_are_those_with_white_space_inside(qtbot, pane, session, make_run):
    run = make_run("one of the cats of the house, one of the dogs\n" * 20, vocabulary_size=290, pattern="none")
    ready(qtbot, pane, session)
    pane.panel.boxes["Across words"].click()
    wanted = [raw for raw in run.tokenizer.tokens if re.search(rb"\S\s+\S", raw)]
    assert b"of the " in wanted
    assert shown(qtbot, pane) == wanted


def test_the_panel_lists_the_scripts_that_there_are_with_their_share(qtbot, pane, session, make_run):
    make_run(sample_text("scripts"), vocabulary_size=600)
    ready(qtbot, pane, session)
    scripts = [name.removeprefix("script:") for name in pane.panel.boxes if name.startswith("script:")]
    assert {"Latin", "Cyrillic", "Arabic"} <= set(scripts)
    tokens = list(session.runs.active.tokenizer.tokens)
    pane.panel.boxes["script:Cyrillic"].click()
    wanted = [raw for raw in tokens if re.search("[\u0400-\u052f]", raw.decode("utf-8", "ignore"))]
    assert shown(qtbot, pane) == wanted
    share = len(wanted) / len(tokens)
    assert pane.panel.boxes["script:Cyrillic"].text() == f"Cyrillic  {percent_text(share)}"


def test_uncounted_special_tokens_are_neither_used_nor_unused(qtbot, pane, make_run):
    run = make_run(
        "one two three <|end|> zzz" * 20,
        vocabulary_size=14,
        base="characters",
        base_vocabulary=tuple("one twhr"),
        special_tokens=("<|end|>", "<unk>"),
        unknown_token="<unk>",
    )
    settle(qtbot, pane)
    tokenizer = run.tokenizer
    end, unknown = (tokenizer.special_tokens[text] for text in ("<|end|>", "<unk>"))
    uses = {token: pane.model.index(pane.model.row_of_token(token), USES).data() for token in listed(pane.model)}
    assert uses[end] == "–"
    assert int(uses[unknown]) > 0
    pane.panel.boxes["Used"].click()
    settle(qtbot, pane)
    assert sorted(listed(pane.model)) == [token for token, text in sorted(uses.items()) if text not in ("–", "0")]
    pane.panel.choose(["0 uses now"])
    settle(qtbot, pane)
    assert sorted(listed(pane.model)) == [token for token, text in sorted(uses.items()) if text == "0"]


def test_tokens_that_no_text_becomes_are_listed_as_unreachable(qtbot, pane, session):
    # "b " is cut by the pattern; "abc" is never made of "ab" and "c", as "bc" comes first; "xyz" is made by no merge.
    merges = np.array([[ord("b"), ord(" ")], [ord("b"), ord("c")], [ord("a"), ord("b")], [258, ord("c")]], np.int32)
    merges = np.append(merges, np.array([[0xCD, 0xB4]], np.int32), axis=0)  # U+0374, which form NFC has not
    tokenizer = Tokenizer(merges, pattern="gpt2", extra_tokens={261: b"xyz"})
    session.runs.add_tokenizer(tokenizer.changed(preparation=Preparation(nfc=True)), "cut")
    pane.panel.boxes["Unreachable"].click()
    qtbot.waitUntil(lambda: listed(pane.model) == [256, 259, 260, 261])
    told = {token: pane.model.index(row, NOTES).data() for row, token in enumerate(listed(pane.model))}
    assert told == {
        256: "always cut by the pattern", 259: "other merges come first", 260: "changed by the normalizer", 261: "",
    }  # fmt: skip
    pane.panel.boxes["Unreachable"].click()
    qtbot.waitUntil(lambda: len(listed(pane.model)) == 262)


def test_uses_of_an_opened_tokenizer_are_counted_on_request_and_forgotten_with_the_corpus(
    qtbot, pane, session, actions
):
    tokenizer = Tokenizer(np.array([[97, 98], [256, 99]], np.int32))
    session.runs.add_tokenizer(tokenizer, "small")
    assert "Open a text" in pane.uses_offer.label.text()
    session.corpus.add_text("ab abc abcab x", "text")
    assert pane.model.index(256, USES).data() == "–"
    assert pane.uses_offer.isVisible()
    actions["count_uses"].triggered.connect(session.runs.count_uses)
    qtbot.mouseClick(pane.uses_offer.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: session.runs.active.uses.counted is not None)
    expected = np.bincount(tokenizer.encode("ab abc abcab x"), minlength=258)
    qtbot.waitUntil(lambda: pane.model.index(256, USES).data() == f"{expected[256]}")
    assert pane.model.index(257, USES).data() == f"{expected[257]}"
    assert not pane.uses_offer.isVisible()
    pane.panel.boxes["0 uses now"].click()
    settle(qtbot, pane)
    assert listed(pane.model) == np.flatnonzero(expected == 0).tolist()
    # Of fewer merges they are not known.
    pane.panel.clear_button.click()
    session.view.set_playhead(1)
    assert pane.model.index(256, USES).data() == "–"
    assert "counted after merge 2" in pane.uses_offer.label.text()
    session.view.set_playhead(2)
    assert pane.model.index(256, USES).data() == f"{expected[256]}"
    session.corpus.add_text("more ab", "another")
    assert session.runs.active.uses.counted is None
    # Those of a text count as often as its weight says.
    for weights, wanted in ((0, 1000), 1), ((1500, 0), 1.5 * expected[256]):
        session.corpus.set_weights(weights)
        assert session.runs.active.uses.counted is None
        session.runs.count_uses()
        qtbot.waitUntil(lambda wanted=wanted: pane.model.index(256, USES).data() == f"{wanted:g}")
    session.corpus.set_weights((1000, 1000))
    assert pane.model.index(256, USES).data() == "–"


def _is_text(raw):
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_a_pane_undocked_from_behind_a_tab_shows_the_run(qtbot, session, theme, actions, dock, make_run):
    pane, front = VocabularyPane(session, theme, actions), QDockWidget("Front")
    dock(pane, 760, 320)
    pane.parentWidget().tabifyDockWidget(pane, front)
    front.show()
    front.raise_()
    qtbot.waitUntil(lambda: not pane.seen)
    make_run(vocabulary_size=270)
    pane.setFloating(True)
    qtbot.waitUntil(lambda: pane.model.rowCount() == 270)
    session.view.set_playhead(3)
    qtbot.waitUntil(lambda: pane.model.rowCount() == 259)


def test_the_search_for_unreachable_tokens_is_repeated_after_a_cancel(qtbot, pane, session, monkeypatch):
    waiting = [True]

    def held(tokenizer):
        while waiting:
            yield Progress("trying tokens")
        return (yield from reachability_work(tokenizer))

    monkeypatch.setattr("tokstudio.core.analysis.token_store.reachability_work", held)
    session.runs.add_tokenizer(Tokenizer(np.array([[98, 99], [97, 98], [257, 99]], np.int32)), "one")
    pane.panel.boxes["Unreachable"].click()

    def cancelled():
        # The index of the tokens, once it is made, asks as well.
        for job in session.jobs.running:
            job.cancel()
        return not pane.busy()

    qtbot.waitUntil(lambda: pane.busy() and bool(session.jobs.running))
    qtbot.waitUntil(cancelled)
    waiting.clear()
    pane.panel.boxes["Unreachable"].click()
    pane.panel.boxes["Unreachable"].click()
    qtbot.waitUntil(lambda: listed(pane.model) == [258])
