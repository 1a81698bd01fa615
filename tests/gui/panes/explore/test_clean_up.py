"""The page Clean Up: what the rules find, what is ticked, and the training without it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import random

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from tests.gui.panes.explore.conftest import Explored
from tests.gui.person import at_window, quiet
from tests.gui.tables import column_texts
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.leaving_out import LeavingOut
from tokstudio.core.corpus.rules import RULES
from tokstudio.core.corpus.source import Source
from tokstudio.core.exploration.exploration import explore
from tokstudio.gui.panes.explore.clean_up import RULE, sum_work
from tokstudio.gui.session.training.cleaning import LEAVING_OUT, TRAINING

WORDS = ("the cat sat on a mat and then it went to see an old friend near the river house " * 2).split()
FOOTER = "All rights reserved by the owner of this page.\n"
BLOB = "q7Zp0Xk2Lw9Vb4Nc8Rt1Ys6Hd3Jf5Gm" * 3


def documents() -> list[str]:
    """A hundred short documents with a footer; some are equal, one has a blob, one repeats a word."""
    chance = random.Random(7)
    texts = [f"{' '.join(chance.choice(WORDS) for _ in range(30))}.\n{FOOTER}" for _ in range(100)]
    texts[11] = texts[10] = texts[5]
    texts[40] += "".join(chance.choice("ABCDEFGHIJKLMNOPabcdefghijklmnop0123456789+/") for _ in range(900)) + "\n"
    texts[50] += "zorblax " * 300 + "\n"
    return texts


def opened(explored, texts: list[str] | None = None, *, size: int = 420, held_out: float = 0.0):
    """Trains on the documents, and turns to the page with what it finds."""
    source = Source.from_texts(texts or documents(), "forum")
    explored.train(source, vocabulary_size=size, pattern="gpt2", held_out=held_out)
    return explored.turn_to("clean-up")


def row_of(page, rule: str) -> int:
    return column_texts(page.rows, RULE).index(rule)


def tick(qtbot, page, rule: str) -> None:
    """Clicks the box of a rule."""
    index, option = page.rows.index(row_of(page, rule), RULE), QStyleOptionViewItem()
    page.findings.initViewItemOption(option)
    option.rect = page.findings.visualRect(index)
    option.features |= QStyleOptionViewItem.ViewItemFeature.HasCheckIndicator
    box = page.findings.style().subElementRect(QStyle.SubElement.SE_ItemViewItemCheckIndicator, option, page.findings)
    qtbot.mouseClick(page.findings.viewport(), Qt.MouseButton.LeftButton, pos=box.center())


def test_each_finding_has_a_row_that_says_what_it_is_and_what_lives_from_it(qtbot, explored):
    page = opened(explored)
    QAbstractItemModelTester(page.rows, page.rows)
    QAbstractItemModelTester(page.example_rows, page.example_rows)
    exploration = explored.session.exploring.exploration
    findings = exploration.findings()
    assert column_texts(page.rows, RULE) == [each.rule for each in findings]
    assert {"duplicates", "blobs", "repetition", "repeated-lines", "owners"} <= {each.rule for each in findings}
    assert column_texts(page.rows, 4) == [f"{len(each.tokens):,}" for each in findings]
    assert column_texts(page.rows, 2) == [f"{each.bytes:,}" for each in findings]
    assert {*RULES} - {each.rule for each in findings} == {"mojibake", "control", "markup", "rare-script"}
    assert page.note.text() == "Found nothing: mojibake, control characters, markup, rare scripts."
    page.findings.setFocus()
    page.findings.setCurrentIndex(page.rows.index(row_of(page, "repetition"), RULE))
    assert page.meaning.text().startswith("repetition: lines of 20 bytes and more in which at least 0.8")
    assert page.example_rows.text(0, 0).strip("\u2068\u2069") == "forum, document 51, line 3"
    assert "zorblax·zorblax" in page.example_rows.text(0, 1)
    page.examples.activated.emit(page.example_rows.index(0, 0))
    assert explored.session.view.text == documents()[50]
    explored.settle()
    blob = next(each for each in findings if each.rule == "blobs")
    page.findings.setCurrentIndex(page.rows.index(row_of(page, "blobs"), RULE))
    assert [chip.id for chip in page.chips.chips] == blob.tokens[:50].tolist()
    for _ in range(len(blob.tokens) // 50):
        QTest.keyClick(page.chips, Qt.Key.Key_End)
    assert [chip.id for chip in page.chips.chips] == blob.tokens.tolist(), "the others come at its end"
    assert page.living.text().startswith(f"{len(blob.tokens)} tokens live from it")
    page.chips.clicked.emit(page.chips.chips[0].id)
    assert explored.session.view.chosen == int(blob.tokens[0])


def test_the_statistics_of_the_text_wait_until_the_training_has_ended(qtbot, explored):
    session, page = explored.session, opened(explored)
    tick(qtbot, page, "blobs")
    explored.settle()
    came = []
    session.corpus.statistics_changed.connect(
        lambda: came.append((session.cleaning.stage, session.corpus.statistics is not None))
    )
    qtbot.mouseClick(page.train, Qt.MouseButton.LeftButton)
    explored.settle()
    assert session.corpus.statistics is not None
    assert [stage for stage, has_come in came if has_come and stage in (LEAVING_OUT, TRAINING)] == []


def has_little_room(qtbot, window, explored, page) -> None:
    """Findings scroll below a button in sight, and large text fits a usual screen."""
    window.resize(1440, 740)
    explored.settle()
    assert page.parentWidget().parentWidget().verticalScrollBar().maximum() == 0, "the page as a whole does not scroll"
    assert page.train.visibleRegion().boundingRect().height() == page.train.height()
    window.theme.set_text_size(26)
    qtbot.waitUntil(lambda: page.findings.verticalHeader().defaultSectionSize() == 52)
    window.resize(1440, 900)
    explored.settle()
    assert window.minimumSizeHint().height() <= 900
    assert page.findings.horizontalScrollBar().maximum() == 0, "no column is cut off"
    window.theme.set_text_size(13)


@pytest.mark.usefixtures("unstyled")
@at_window()
def test_what_is_ticked_is_summed_and_trained_without_and_the_runs_are_compared(qtbot, window, answers, tmp_path):
    window.actions_by_id["workspace_explore"].trigger()
    explored = Explored(qtbot, window.session, window.explore, tmp_path)
    session, page = explored.session, opened(explored, held_out=0.1)
    has_little_room(qtbot, window, explored, page)
    before = session.runs.active
    assert not page.train.isEnabled()
    tick(qtbot, page, "blobs")
    page.findings.setFocus()
    page.findings.setCurrentIndex(page.rows.index(row_of(page, "repetition"), 2))
    qtbot.keyClick(page.findings, Qt.Key.Key_Space)
    explored.settle()
    found = {each.rule: each for each in page.rows.findings}
    size = found["blobs"].bytes + found["repetition"].bytes
    assert page.sum.text().startswith(f"2 lines, {size / 1000:.1f} kB (")
    qtbot.mouseClick(page.train, Qt.MouseButton.LeftButton)
    explored.settle()
    assert session.cleaning.problem == ""
    after = session.runs.active
    assert after is not before
    assert after.config == before.config
    expected = Corpus(session.corpus.sources).without(["blobs", "repetition"])
    assert [one.data.tobytes() for one in after.corpus.sources] == [one.data.tobytes() for one in expected.sources]
    first, second = ({bytes(token) for token in run.tokenizer.tokens} for run in (before, after))
    outcome = session.cleaning.outcome
    assert (outcome.gone, outcome.come) == (len(first - second), len(second - first))
    assert outcome.ratios[1] == pytest.approx(after.held_out.ratio)
    went = f"{outcome.gone} tokens went, {outcome.come} came, held-out "
    assert page.sum.text().startswith(went)
    assert f"held out of {after.name}; {before.name} was trained on parts of it." in page.note.text()
    assert window.corpus.left_out.text() == f"Left out: 2 lines, {size / 1000:.1f} kB"
    assert {"blobs", "repetition"}.isdisjoint(column_texts(page.rows, RULE)), "the rest is looked at"
    answers.target = tmp_path / "left.csv"
    window.actions_by_id["save_left_out_csv"].trigger()
    quiet(qtbot, window)
    left_out = ["source,document,line,reason", "forum,41,3,blobs", "forum,51,3,repetition"]
    assert answers.target.read_text("utf-8").splitlines() == left_out
    qtbot.mouseClick(page.show_them, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not window.compare.visibleRegion().isEmpty())
    explored.settle()
    compared = window.compare.vocabularies
    names = (compared.first.currentText().strip(), compared.second.currentText().strip())
    assert names == (before.name, after.name)
    qtbot.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    explored.settle()
    assert not session.corpus.left_out
    assert session.history.redo_text == "Leave Out Blobs, Repetition"


def test_a_chosen_source_has_findings_of_its_own_and_only_these_go(qtbot, explored):
    session = explored.session
    page = opened(explored)
    forum = session.corpus.sources[0]
    other = Source.from_texts([documents()[5], *documents()[60:70], documents()[40]], "other")
    session.corpus.set_sources((forum, other))
    explored.settle()
    everywhere = {each.rule: each for each in page.rows.findings}
    session.exploring.limit([session.exploring.sources[1]])
    explored.settle()
    exploration = session.exploring.exploration
    found = {each.rule: each for each in page.rows.findings}
    assert {rule: each.bytes for rule, each in found.items()} == {
        each.rule: each.bytes for each in exploration.findings(sources="other")
    }
    assert found["duplicates"].documents == 12 < everywhere["duplicates"].documents
    assert "only what is found here is listed, and left out" in page.note.text()
    for rule in ("duplicates", "blobs"):
        tick(qtbot, page, rule)
    explored.settle()
    assert page.sum.text().startswith("12 documents, ")
    qtbot.mouseClick(page.train, Qt.MouseButton.LeftButton)
    explored.settle()
    assert session.cleaning.problem == ""
    told = "is not compared: no run before it was trained on these texts with these weights."
    assert page.sum.text() == f"{session.runs.active.name} {told}"
    assert session.corpus.left_out == LeavingOut(documents=tuple((1, 0, number) for number in range(12)))
    first, second = session.corpus.remaining
    assert first.data.tobytes() == forum.data.tobytes(), "another source stays as it is"
    assert not len(second.data)
    assert session.runs.active.corpus.sources[0].data.tobytes() == forum.data.tobytes()


def test_owners_are_left_out_by_name_and_a_document_by_its_menu(qtbot, explored):
    session, page = explored.session, opened(explored)
    owners = next(each for each in page.rows.findings if each.rule == "owners")
    tick(qtbot, page, "owners")
    explored.settle()
    qtbot.mouseClick(page.train, Qt.MouseButton.LeftButton)
    explored.settle()
    named = tuple((0, 0, number) for number in owners.marked.document.tolist())
    assert session.corpus.left_out == LeavingOut(documents=named)
    kept = session.exploring.sources[0]
    first = kept.data[: kept.ends[0]].tobytes()
    assert first == documents()[0].encode()
    assert "without" in session.cleaning.after.name
    assert " went, " in page.sum.text()
    session.exploring.leave_out(0, 1)
    explored.settle()
    assert session.corpus.left_out.documents == tuple(sorted({*named, (0, 0, 1)}))
    assert session.history.undo_text == "Leave Out 1 Document"
    assert session.cleaning.outcome is session.cleaning.after is None, "it was of another text"
    assert page.sum.text() == "Tick what a tokenizer should not learn from."


def test_a_rule_that_leaves_nothing_says_so_and_changes_nothing(qtbot, explored):
    page = opened(explored, ["zorblax " * 50 + "\n", "quindle " * 60 + "\n"], size=300)
    tick(qtbot, page, "repetition")
    explored.settle()
    qtbot.mouseClick(page.train, Qt.MouseButton.LeftButton)
    explored.settle()
    assert page.problem.text().startswith("Nothing of the text would be left: repetition")
    assert not page.problem.isHidden()
    assert page.again.isHidden()
    assert len(explored.session.runs.all) == 1
    assert not explored.session.corpus.left_out
    assert page.rows.chosen == {"repetition"}, "another choice can be made"


def test_word_counts_and_a_text_without_anything_are_said(qtbot, tmp_path, explored):
    path = tmp_path / "words.tsv"
    path.write_text("cat\t3\nmat\t2\n")
    explored.session.corpus.open_counts([path])
    page = explored.turn_to("clean-up")
    assert page.empty.isVisible()
    assert "word counts, which have no documents" in page.empty.label.text()
    explored.session.corpus.add_text("A short text.\n")
    explored.settle()
    assert page.nothing.isVisible()
    told = page.nothing.label.text()
    assert told.startswith("Nothing was found: no duplicates, near duplicates, blobs")
    assert told.endswith("control characters, markup, rare scripts, repeated lines."), "without a tokenizer nobody owns"
    explored.session.corpus.add_text("zorblax " * 50)
    explored.settle()
    tick(qtbot, page, "repetition")
    assert not page.train.isEnabled()
    assert "has word counts" in page.train.toolTip()
    assert page.living.text() == "Train a tokenizer to see which tokens live from it."


def test_a_training_that_is_stopped_is_not_compared_and_the_text_stays_left_out(qtbot, explored):
    session, page = explored.session, opened(explored)
    tick(qtbot, page, "blobs")
    session.training.set_played(True)
    qtbot.mouseClick(page.train, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: session.training.current is not None and session.training.current.prepared)
    page.cancel_work()
    explored.settle()
    assert page.trouble.startswith("Training was stopped")
    assert session.corpus.left_out.rules == (("blobs", 64.0),)
    assert session.cleaning.outcome is None


def test_the_findings_are_written_as_a_table(explored):
    page = opened(explored)
    rows = explored.written()
    assert list(rows[0]) == ["rule", "documents", "lines", "bytes", "share", "tokens"]
    assert [row["rule"] for row in rows] == column_texts(page.rows, RULE)


def test_each_document_and_line_counts_once_in_the_sum():
    chance = np.random.default_rng(3)
    alphabet = ["one line here that is long enough\n", "another line that is long enough\n", "zorblax " * 9 + "\n"]
    for _ in range(20):
        texts = ["".join(chance.choice(alphabet, 3)) for _ in range(6)]
        corpus = Corpus((Source.from_texts(texts[:3], "a"), Source.from_texts(texts[3:], "b")))
        findings = explore(corpus).findings()
        sizes = [len(source.data) for source in corpus.sources]
        total = finish(sum_work(findings, sizes))
        whole = {(s, d) for each in findings for s, d, line in _marks(each) if line < 0}
        lines = {(s, d, line) for each in findings for s, d, line in _marks(each) if line >= 0 and (s, d) not in whole}
        size = sum(len(text) for number, text in enumerate(texts) if (number // 3, number % 3) in whole) + sum(
            len(texts[3 * s + d].splitlines(keepends=True)[line]) for s, d, line in lines
        )
        assert total == (len(whole), len(lines), size)


def _marks(finding):
    found = finding.marked
    return zip(found.source.tolist(), found.document.tolist(), found.line.tolist(), strict=True)
