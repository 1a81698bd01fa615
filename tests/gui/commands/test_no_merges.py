"""Tokenizers without merges in every pane: each shows what there is, or says in one sentence that there are none."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from tests.core.formats import without_merges
from tests.gui.person import TEXT, at_window, export
from tokstudio.gui.session import availability

pytestmark = pytest.mark.usefixtures("unstyled")

SENTENCE = "The CAT sat on  naïve mats 日本\n"
MADE = {
    "tokenizer.json of WordPiece": lambda: without_merges.word_piece([TEXT], 60).to_str().encode(),
    "spiece.model of Unigram": lambda: without_merges.sentencepiece_unigram(TEXT.split(". "), 40),
}


@at_window()
def test_every_pane_shows_it_or_says_that_there_are_no_merges(qtbot, tmp_path, window, answers):
    book, session = tmp_path / "book.txt", window.session
    book.write_text(TEXT + SENTENCE)
    window.opening.open_any([book])
    for number, (name, make) in enumerate(MADE.items(), 1):
        path = tmp_path / name.split()[0]
        path.write_bytes(make())
        window.opening.open_any([path])
        qtbot.waitUntil(lambda number=number: len(session.runs.all) == number and len(session.corpus.sources) == 1)
        panes_show_what_there_is(qtbot, window)
        vocabulary_is_searched(qtbot, window)
        text_is_encoded(qtbot, window)
        name = "sentencepiece" if path.suffix == ".model" else "huggingface"
        export(qtbot, window, name, tmp_path / name)
        there = tmp_path / name / ("tokenizer.json" if name == "huggingface" else "tokenizer.model")
        assert there.read_bytes() == path.read_bytes()
        at_rest(qtbot, session)

    before = [*session.runs.all]
    answers.target = tmp_path / "all.tokstudio"
    window.actions_by_id["save_project"].trigger()
    at_rest(qtbot, session)
    answers.files = [answers.target]
    window.actions_by_id["open_project"].trigger()
    qtbot.waitUntil(lambda: session.runs.active not in (None, *before))
    at_rest(qtbot, session)
    for run, earlier in zip(session.runs.all, before, strict=True):
        again, tokenizer = run.tokenizer, earlier.tokenizer
        assert (again.model, again.encode(SENTENCE)) == (tokenizer.model, tokenizer.encode(SENTENCE))


def at_rest(qtbot, session):
    qtbot.waitUntil(lambda: not session.jobs.running)


def panes_show_what_there_is(qtbot, window):
    """Where there would be merges, a sentence stands."""
    session = window.session
    run = session.runs.active
    tokenizer = run.tokenizer
    sentence = f"There are no merges: the model of this tokenizer is {tokenizer.model}."
    assert run.why_no_merges == sentence
    assert window.actions_by_id["count_uses"].isEnabled()
    window.actions_by_id["count_uses"].trigger()
    qtbot.waitUntil(lambda: run.uses.at(0) is not None)
    at_rest(qtbot, session)
    counted = run.uses.at(0)
    assert int(counted.sum()) == len(tokenizer.encode(TEXT + SENTENCE))
    session.view.set_text(SENTENCE)
    for number, pane in enumerate(window.panes):
        pane.show()
        pane.raise_()
        qtbot.waitUntil(pane.isVisible)
        # What there is to a token, its pane shows.
        for token in (0, 5, len(tokenizer) - 1) if pane is window.token else (5 + number,):
            session.view.look_at(token)
            at_rest(qtbot, session)
    window.merges.raise_()
    assert window.merges.stack.currentWidget() is window.merges.empty
    assert window.merges.empty.label.text() == sentence
    assert window.merges.derived.isHidden()
    window.why.raise_()
    assert window.why.empty.label.text() == sentence
    told = window.compression.opened.label.text()
    assert told.startswith(
        f"No curve: this tokenizer has no merges. No playhead either: its model is {tokenizer.model}, so"
    )
    assert not window.compression.bar.slider.isEnabled()
    for name in ("play", "previous", "next", "first", "last", "why_merge", "export_tree_svg"):
        assert not window.actions_by_id[name].isEnabled(), name
    assert availability.no_tree(session) == sentence
    rows = window.runs.table.model()
    tips = [rows.index(0, column).data(Qt.ItemDataRole.ToolTipRole) or "" for column in range(rows.columnCount())]
    assert any(f"Model: {session.runs.all[0].tokenizer.model}" in tip for tip in tips)


def vocabulary_is_searched(qtbot, window):
    tokenizer = window.session.runs.active.tokenizer
    window.vocabulary.raise_()
    qtbot.waitUntil(lambda: window.vocabulary.model.rowCount() == len(tokenizer))
    window.vocabulary.filter.setText("cat")
    fitting = sum("cat" in (token or b"").decode("utf-8", "replace") for token in tokenizer.tokens)
    assert 0 < fitting < len(tokenizer)
    qtbot.waitUntil(lambda: window.vocabulary.model.rowCount() == fitting)
    window.vocabulary.filter.clear()
    window.actions_by_id["find"].trigger()
    window.finder.box.selectAll()
    qtbot.keyClicks(window.finder.box, "cat")
    qtbot.waitUntil(lambda: not window.finder.box.is_stale)
    assert window.finder.box.list.model().rowCount() > 0
    qtbot.keyClick(window.finder.box, Qt.Key.Key_Return)
    at_rest(qtbot, window.session)


def text_is_encoded(qtbot, window):
    """Its steps cannot be shown."""
    run = window.session.runs.active
    window.text.raise_()
    window.text.tabs.setCurrentIndex(0)
    page, expected = window.text.encode, run.tokenizer.encode(SENTENCE)
    qtbot.waitUntil(lambda: page.encoded is not None and page.encoded.ids.tolist() == expected)
    assert page.view.table.data.decode() == SENTENCE
    window.actions_by_id["step_through_text"].trigger()
    qtbot.waitUntil(lambda: window.text.steps.empty.label.text() == run.why_no_merges)
    window.actions_by_id["why_not_one_token"].trigger()
    at_rest(qtbot, window.session)
    assert window.text.steps.empty.label.text() == run.why_no_merges
