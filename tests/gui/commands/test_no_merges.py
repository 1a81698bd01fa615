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


@pytest.mark.parametrize("name", MADE)
@at_window()
def test_every_pane_shows_it_or_says_that_there_are_no_merges(qtbot, tmp_path, name, window, answers):
    path, book = tmp_path / name.split()[0], tmp_path / "book.txt"
    path.write_bytes(MADE[name]())
    book.write_text(TEXT + SENTENCE)
    session = window.session
    window.opening.open_any([book, path])
    qtbot.waitUntil(lambda: len(session.runs.all) == 1 and len(session.corpus.sources) == 1)
    run = session.runs.active
    tokenizer = run.tokenizer
    sentence = f"There are no merges: the model of this tokenizer is {tokenizer.model}."
    assert run.why_no_merges == sentence
    assert window.actions_by_id["count_uses"].isEnabled()
    window.actions_by_id["count_uses"].trigger()

    def at_rest():
        qtbot.waitUntil(lambda: not session.jobs.running)

    qtbot.waitUntil(lambda: run.uses.at(0) is not None)
    at_rest()
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
            at_rest()

    # Where there would be merges, the sentence stands.
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
    assert any(f"Model: {tokenizer.model}" in tip for tip in tips)

    # The vocabulary is there, and is searched.
    window.vocabulary.raise_()
    qtbot.waitUntil(lambda: window.vocabulary.model.rowCount() == len(tokenizer))
    window.vocabulary.filter.setText("cat")
    fitting = sum("cat" in (token or b"").decode("utf-8", "replace") for token in tokenizer.tokens)
    assert 0 < fitting < len(tokenizer)
    qtbot.waitUntil(lambda: window.vocabulary.model.rowCount() == fitting)
    window.vocabulary.filter.clear()
    window.actions_by_id["find"].trigger()
    qtbot.keyClicks(window.finder.box, "cat")
    qtbot.waitUntil(lambda: not window.finder.box.is_stale)
    assert window.finder.box.list.model().rowCount() > 0
    qtbot.keyClick(window.finder.box, Qt.Key.Key_Return)
    at_rest()

    # Text is encoded; its steps cannot be shown.
    window.text.raise_()
    page = window.text.encode
    expected = tokenizer.encode(SENTENCE)
    qtbot.waitUntil(lambda: page.encoded is not None and page.encoded.ids.tolist() == expected)
    assert page.view.table.data.decode() == SENTENCE
    window.actions_by_id["step_through_text"].trigger()
    qtbot.waitUntil(lambda: window.text.steps.empty.label.text() == sentence)
    window.actions_by_id["why_not_one_token"].trigger()
    at_rest()
    assert window.text.steps.empty.label.text() == sentence

    name = "sentencepiece" if path.suffix == ".model" else "huggingface"
    export(qtbot, window, name, tmp_path / "there")
    there = tmp_path / "there" / ("tokenizer.json" if name == "huggingface" else "tokenizer.model")
    assert there.read_bytes() == path.read_bytes()
    at_rest()

    answers.target = tmp_path / "all.tokstudio"
    window.actions_by_id["save_project"].trigger()
    at_rest()
    answers.files = [answers.target]
    window.actions_by_id["open_project"].trigger()
    qtbot.waitUntil(lambda: session.runs.active not in (None, run))
    at_rest()
    again = session.runs.active.tokenizer
    assert (again.model, again.encode(SENTENCE)) == (tokenizer.model, expected)
