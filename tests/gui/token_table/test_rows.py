"""Rows of tables of tokens: their index, their cells, and the job that finds them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QTextLayout

from tests.gui.tables import listed
from tokstudio import Corpus, TrainingConfig, train
from tokstudio.core.analysis.token_index import IndexedTokens, Texts, index_work
from tokstudio.core.base.progress import Progress, finish
from tokstudio.core.base.resources import sample_text
from tokstudio.gui.panes.merges import MergesPane
from tokstudio.gui.panes.vocabulary.pane import VocabularyPane
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.run_tokens import RunTokens
from tokstudio.gui.token_table.view import _isolated
from tokstudio.gui.token_text.spelling import marked, shown
from tokstudio.gui.widgets.labels import isolated, laid_out, utf16_offsets

pieces = st.lists(st.binary(max_size=20) | st.text(max_size=8).map(str.encode), max_size=30)


def index_of(texts):
    lengths = np.array([len(text) for text in texts], np.int64)
    return finish(index_work(IndexedTokens(tuple(texts), np.empty((0, 2), np.int32), lengths)))


@given(pieces, st.binary(max_size=4))
def test_bytes_are_found_wherever_they_are_and_never_across_two_texts(texts, needle):
    assert Texts.of(texts).holding(needle).tolist() == [needle in text for text in texts]


@given(st.lists(st.binary(max_size=40) | st.sampled_from([b"", b"\0", b"a", b"a\0", b"a\0\0", b"a" * 8, b"a" * 9])))
def test_tokens_are_in_the_order_of_their_bytes(texts):
    assert finish(index_of(texts).order_work()).tolist() == sorted(range(len(texts)), key=lambda slot: texts[slot])


@pytest.fixture(scope="module")
def run():
    corpus, config = Corpus.from_text(sample_text("scripts")), TrainingConfig(vocabulary_size=700)
    made = train(corpus, config).run
    return StudioRun.reopened(1, "Run 1", made, corpus)


def test_the_index_of_a_run_agrees_with_its_tokens(run):
    tokens = RunTokens(run)
    index = finish(index_work(tokens.snapshot()))
    finish(index.complete_work())
    assert index.flags.tolist() == [tokens.flags_of(slot) for slot in range(len(tokens))]
    assert [index.raw.data[a:b].tobytes() for a, b in zip(index.raw.starts, index.raw.ends, strict=True)] == index.heads
    assert len(index.scripts) >= 5
    for script, share in index.scripts:
        letter = regex.compile(rf"\p{{Script={script}}}")
        wanted = [letter.search(head.decode("utf-8", "ignore")) is not None for head in index.heads]
        assert index.of_script(script).tolist() == wanted
        assert share == sum(wanted) / len(wanted)


@pytest.mark.parametrize("cuts", [(0, 700), (100, 101, 300, 700), (256, 257)])
def test_an_extended_index_equals_a_new_one(run, cuts):
    made = RunTokens(run).snapshot()
    index = None
    for size in cuts:
        part = IndexedTokens(made.base, made.parts[: max(size - 256, 0)], made.lengths[: max(size, 256)])
        index = finish(index_work(part, index))
        whole = finish(index_work(part))
        assert index.heads == whole.heads
        assert index.flags.tolist() == whole.flags.tolist()
        assert index.raw.data.tobytes() == whole.raw.data.tobytes()
        assert index.raw.ends.tolist() == whole.raw.ends.tolist()
        assert index.long.tolist() == whole.long.tolist()


def lefts(layout: QTextLayout) -> list[float]:
    """The left edge of each character of a text that is laid out, in pixels."""
    line, units = layout.lineAt(0), utf16_offsets(layout.text())
    found: list[float] = []
    for first, end in pairwise(units):
        glyphs = [place.x() for run in line.glyphRuns(first, end - first) for place in run.positions()]
        # A character without a glyph of its own is part of the one before it.
        found.append(min(glyphs, default=found[-1] if found else 0.0))
    return found


@pytest.mark.parametrize("left", [" كتاب", "כל", "كتاب.", "🇩🇪 كتاب"])
@pytest.mark.parametrize("right", ["ال", "abc", " 12", "\r\n"])
def test_a_pair_is_left_to_right_and_each_token_has_its_direction(qtbot, theme, left, right):
    tokens = tuple(shown(text.encode()) for text in (left, right))
    whole = " + ".join(map(marked, tokens))
    for end in (len(whole), len(left) + 4, len(left) - 1):
        text = whole if end == len(whole) else whole[:end] + "…"
        text_drawn, units = _isolated(text, tokens)
        # Only invisible signs came in, and every character is where it is said to be.
        assert text_drawn.translate({0x2068: None, 0x2069: None}) == text
        raw = text_drawn.encode("utf-16-le")
        for character, place in zip(text, units, strict=False):
            assert raw[2 * place :].decode("utf-16-le")[0] == character
        at = lefts(laid_out(text_drawn, theme.monospace_font(), []))
        at = [x for character, x in zip(text_drawn, at, strict=True) if character not in "\u2068\u2069"]
        first, last = at[0], at[min(len(left), len(text)) - 1]
        if left[0] != "🇩":
            assert first > last, "the token, a space or the dots of its end as well, goes from right to left"
        if len(text) > len(left) + 3:
            assert max(at[: len(left)]) < at[len(left) + 1] < min(at[len(left) + 3 :])


def test_a_label_among_words_keeps_its_own_direction():
    assert isolated("·كتاب") == "\u2068·كتاب\u2069"
    assert isolated("·the…") == "·the…"


@pytest.mark.parametrize("kind", [MergesPane, VocabularyPane])
def test_the_old_rows_stay_until_the_index_is_there_or_its_job_is_cancelled(
    qtbot, monkeypatch, session, theme, actions, show, make_run, kind
):
    waiting, begun = [True], []

    def held(*arguments):
        begun.append(arguments)
        while waiting:
            yield Progress("indexing tokens")
        return (yield from index_work(*arguments))

    monkeypatch.setattr("tokstudio.gui.session.measuring.token_facts.index_work", held)
    pane = kind(session, theme, actions)
    show(pane, 760, 320)
    run = make_run(vocabulary_size=290)
    qtbot.waitUntil(lambda: pane.model.rowCount() > 0)
    before = listed(pane.model)
    pane.filter.setText("at")
    qtbot.waitUntil(lambda: bool(begun))
    assert pane.busy()
    assert listed(pane.model) == before

    def cancelled() -> bool:
        # What asked later has a job of its own.
        for job in tuple(session.jobs.running):
            job.cancel()
        return not pane.busy()

    qtbot.waitUntil(cancelled)
    assert pane.note.text() == "The search was cancelled."
    assert listed(pane.model) == before
    waiting.clear()
    pane.filter.setText("a")
    qtbot.waitUntil(lambda: not pane.busy())
    found = set(listed(pane.model))
    tokens = run.tokenizer.tokens
    shown = before if kind is MergesPane else range(len(tokens))
    assert found == {token for token in shown if b"a" in tokens[token].lower()}
