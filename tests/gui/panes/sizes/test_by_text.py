"""How Large? by text: curves of sources and languages, and the size at which each has what the base has."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from tests.gui.conftest import alone
from tests.gui.tables import click, column_texts, titles
from tokstudio import Tokenizer
from tokstudio.core.base.progress import finish
from tokstudio.core.comparison.table import SIGNS
from tokstudio.gui.panes.sizes.by_text import RATIO, REACHES, TEXT
from tokstudio.gui.panes.sizes.pane import SizesPane
from tokstudio.gui.session.measuring.compared import story_set

pane = alone(SizesPane, 900, 620)
ENGLISH, GERMAN = "the cat and the hat and the dog and the bat " * 30, "der Hund und die Katze und der Hut " * 40


@pytest.fixture
def page(pane, session, make_run):
    """The page, with a run on two sources."""
    session.corpus.add_text(GERMAN, "de")
    session.corpus.add_text(ENGLISH, "en")
    make_run(vocabulary_size=290, pattern="gpt2")
    pane.tabs.setCurrentIndex(1)
    QAbstractItemModelTester(pane.by_text.model, QAbstractItemModelTester.FailureReportingMode.Fatal, pane)
    return pane.by_text


def wait_for(qtbot, page, *names):
    """Waits until these texts are shown."""
    qtbot.waitUntil(lambda: [name.removesuffix(" (base)") for name in column_texts(page.model, TEXT)] == list(names))


def test_each_source_has_a_curve_and_the_size_with_what_the_base_has(qtbot, session, page):
    wait_for(qtbot, page, "de", "en")
    tokenizer = session.runs.active.tokenizer

    def ratio(text, merges):
        return len(text.encode()) / len(tokenizer.at(merges).encode(text))

    merges = len(tokenizer.merges)
    assert page.base.value == "en"
    session.view.set_playhead(12)
    # Both were trained on.
    assert column_texts(page.model, RATIO) == [f"†{ratio(text, 12):,.2f}" for text in (GERMAN, ENGLISH)]
    assert page.model.tip(0, RATIO).endswith(f"† {SIGNS['†']}")
    assert page.note.text().startswith(f"† {SIGNS['†']} ")
    wanted = ratio(ENGLISH, 12)
    first = next(at for at in range(merges + 1) if ratio(GERMAN, at) >= wanted)
    assert column_texts(page.model, REACHES) == [f"{256 + first:,}", "268"]
    assert page.answer.text() == (
        f"With 268 tokens, en has †{wanted:,.2f} bytes per token. de is the last to have that, with "
        f"{256 + first:,} tokens."
    )
    assert page.note.text().endswith("parallel texts are compared by tokens per line.")
    curves = page.plot.content.curves
    assert [(curve.name, curve.role) for curve in curves.values()] == [("de", "other"), ("en", "active")]
    assert curves[0].x.tolist() == list(range(256, 256 + merges + 1))
    assert curves[0].y.tolist() == pytest.approx([ratio(GERMAN, at) for at in range(merges + 1)])
    click(qtbot, page.table, 0)
    assert session.view.playhead == first
    page.plot.playheadMoved.emit(261)
    assert session.view.playhead == 5
    session.view.set_playhead(0)
    assert column_texts(page.model, RATIO) == ["1.00", "1.00"], "no merge is learned from any text"


def test_a_text_of_no_weight_was_not_trained_on(qtbot, session, pane, make_run):
    session.corpus.add_text(GERMAN, "de")
    session.corpus.add_text(ENGLISH, "en")
    session.corpus.set_weights((0, 1000))
    make_run(vocabulary_size=270, pattern="gpt2")
    pane.tabs.setCurrentIndex(1)
    wait_for(qtbot, pane.by_text, "de", "en")
    session.view.set_playhead(14)
    assert [text.startswith("†") for text in column_texts(pane.by_text.model, RATIO)] == [False, True]


def test_a_parallel_text_that_was_trained_on_is_named(qtbot, session, pane, make_run):
    named = finish(story_set().read()).named
    english = next(source for name, source in named if name.startswith("English"))
    make_run(bytes(english.data).decode(), vocabulary_size=300)
    pane.tabs.setCurrentIndex(1)
    page = pane.by_text
    qtbot.waitUntil(lambda: page.model.count() == len(named))
    session.view.set_playhead(20)
    signed = [name for name, ratio, _ in page.model.rows if ratio.startswith("†")]
    assert [name.removesuffix(" (base)") for name in signed] == [name for name, source in named if source is english]


def test_another_base_is_that_of_compare_too_and_some_sizes_are_beyond_the_end(qtbot, session, pane, page):
    wait_for(qtbot, page, "de", "en")
    merges = len(session.runs.active)
    session.view.set_playhead(merges)
    page.plot.curveDoubleClicked.emit(0)
    assert (page.base.value, session.comparison.base) == ("de", "de")
    assert column_texts(page.model, TEXT) == ["de (base)", "en"]
    assert column_texts(page.model, REACHES) == [f"{256 + merges}", f"more than {256 + merges}"]
    assert page.answer.text().endswith(f"Even all {256 + merges} tokens are too few for en to have that.")
    click(qtbot, page.table, 1)
    assert session.view.playhead == merges, "there is no place to go to"
    pane.hide()
    session.comparison.choose_base("en")
    pane.show()
    assert column_texts(page.model, TEXT) == ["de", "en (base)"]
    session.comparison.choose_base("de")
    page.show_run(session.runs.active)
    page.table.setCurrentIndex(page.model.index(1, 0))
    page.table.copy()
    run, answer, _, *rows = QGuiApplication.clipboard().text().split("\n")
    assert (run, answer) == (session.runs.active.sized_name(), page.answer.text())
    assert rows[0].split("\t") == titles(page.model)


def test_parallel_texts_are_compared_by_tokens_per_line(qtbot, session, page):
    named = finish(story_set().read()).named
    two = [(name, source) for name, source in named if name.startswith(("English", "German"))]
    page.texts.setCurrentIndex(1)
    assert page.texts.value.title == "Our story in 31 languages"
    # The sets of a project are others, but of the same texts.
    session.comparison.restore({})
    page.show_run(session.runs.active)
    assert page.texts.value.title == "Our story in 31 languages"
    # Those of the corpus, of which the names tell the language.
    wait_for(qtbot, page, *(name for name, _ in two))
    session.view.set_playhead(20)
    smaller = session.runs.active.tokenizer.at(20)
    encoded = [sum(len(smaller.encode(bytes(line).decode())) for line in _lines(source)) for _, source in two]
    assert column_texts(page.model, RATIO) == [f"{tokens / len(two[0][1].ends):,.2f}" for tokens in encoded]
    assert titles(page.model)[RATIO].startswith("Tokens/line")
    assert page.note.text().startswith("All have the same lines")


def test_an_opened_tokenizer_and_a_single_source_have_parallel_texts_only(qtbot, session, pane, make_run):
    pane.tabs.setCurrentIndex(1)
    page = pane.by_text
    assert page.empty.label.text().endswith("Train a tokenizer, or open one.")
    make_run(ENGLISH, vocabulary_size=280)
    qtbot.waitUntil(lambda: page.model.count() == len(finish(story_set().read()).named))
    session.runs.add_tokenizer(Tokenizer.from_run(session.runs.active.run), "opened")
    qtbot.waitUntil(lambda: page.model.count() > 0 and page.answer.text().startswith("With 280 tokens"))
    assert [choice.name for choice in page.texts.choices] == ["Our story in 31 languages"]
    session.runs.delete(session.runs.active)
    session.runs.delete(session.runs.active)
    assert page.stack.currentWidget() is page.empty


def test_what_cannot_be_measured_is_said(qtbot, session, pane, make_run):
    make_run(ENGLISH, min_frequency=2, base="characters")
    pane.tabs.setCurrentIndex(1)
    page = pane.by_text
    qtbot.waitUntil(lambda: bool(page.work.problem.text()))
    assert "not in" in page.work.problem.text()
    assert page.stack.currentWidget() is page.empty


def test_a_hidden_page_keeps_no_deleted_run(qtbot, session, pane, page):
    wait_for(qtbot, page, "de", "en")
    pane.hide()
    session.runs.delete(session.runs.active)
    assert not page.model.count()
    assert not page.plot.content.curves


def _lines(source):
    starts = [0, *source.ends.tolist()[:-1]]
    return [source.data[start:end] for start, end in zip(starts, source.ends.tolist(), strict=True)]
