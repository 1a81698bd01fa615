"""The index of tokens against looking at each of them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt

from tokstudio import Corpus, TrainingConfig, train
from tokstudio.core.base.progress import finish
from tokstudio.gui.panes.vocabulary.model import VocabularyModel
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.run_tokens import RunTokens
from tokstudio.gui.token_table.index import IndexedTokens, Texts, index_work, snapshot
from tokstudio.gui.token_table.query import FilterQuery, Query
from tokstudio.resources import sample_text

pieces = st.lists(st.binary(max_size=20) | st.text(max_size=8).map(str.encode), max_size=30)


def index_of(texts):
    lengths = np.array([len(text) for text in texts], np.int64)
    return finish(index_work(IndexedTokens(tuple(texts), np.empty((0, 2), np.int32), lengths)))


@given(pieces, st.binary(max_size=4))
def test_bytes_are_found_wherever_they_are_and_never_across_two_texts(texts, needle):
    assert Texts(texts).holding(needle).tolist() == [needle in text for text in texts]


@given(pieces, st.data())
def test_a_filter_lets_pass_what_it_lets_pass_one_by_one(texts, data):
    index, lengths = index_of(texts), np.array([len(text) for text in texts], np.int64)
    some = [text.decode("utf-8", "replace") for text in texts if text]
    typed = data.draw(st.sampled_from(["e", "E2 80", "0x41", "ab length:2-4", "length:3+", *some]))
    query = FilterQuery(typed)
    if not query.is_expression:
        one_by_one = [query.accepts(text) and fits for text, fits in zip(texts, query.within(lengths), strict=True)]
        assert (index.matching(query) & query.within(lengths)).tolist() == one_by_one


@settings(max_examples=200)
@given(st.lists(st.binary(max_size=40) | st.sampled_from([b"", b"\0", b"a", b"a\0", b"a\0\0", b"a" * 8, b"a" * 9])))
def test_tokens_are_in_the_order_of_their_bytes(texts):
    assert index_of(texts).order.tolist() == sorted(range(len(texts)), key=lambda slot: texts[slot])


@pytest.fixture(scope="module")
def run():
    corpus, config = Corpus.from_text(sample_text("scripts")), TrainingConfig(vocabulary_size=700)
    made = train(corpus, config).run
    return StudioRun.reopened(1, "Run 1", made, corpus)


def test_it_knows_of_a_run_what_its_tokens_tell(run):
    tokens = RunTokens(run)
    index = finish(index_work(snapshot(tokens)))
    for _ in tokens.gather():
        pass
    assert index.flags.tolist() == tokens.flags().tolist()
    assert [
        index.raw.data[a:b].tobytes() for a, b in zip(index.raw.starts, index.raw.ends, strict=True)
    ] == tokens.heads
    assert len(index.scripts) >= 5
    for script, share in index.scripts:
        letter = regex.compile(rf"\p{{Script={script}}}")
        wanted = [letter.search(head.decode("utf-8", "ignore")) is not None for head in tokens.heads]
        assert index.of_script(script).tolist() == wanted
        assert share == sum(wanted) / len(wanted)


def test_a_model_answers_the_same_with_and_without_it(qtbot, run):
    slow, fast = VocabularyModel(), VocabularyModel()
    slow.set_run(run, 444)
    fast.set_run(run, 444)
    fast.set_index(finish(index_work(snapshot(RunTokens(run)))))
    acts = [
        lambda model: model.set_query(Query("a")),
        lambda model: model.sort(1),
        lambda model: model.set_choice(["script:Arabic", "Digits"]),
        lambda model: model.set_query(Query("")),
        lambda model: model.sort(3, Qt.SortOrder.DescendingOrder),
        lambda model: model.set_playhead(200),
        lambda model: model.set_choice(["Cuts a character", "script:Han"]),
        lambda model: model.sort(8),
        lambda model: model.set_query(FilterQuery("E2 80 length:2-3")),
        lambda model: model.set_playhead(444),
        lambda model: model.sort(2, Qt.SortOrder.DescendingOrder),
        lambda model: model.set_query(FilterQuery("/[aeiou]/")),
        lambda model: model.set_choice((), (2, 5)),
    ]
    for act in acts:
        answers = []
        for model in (slow, fast):
            act(model)
            qtbot.waitUntil(lambda model=model: not model.searching and not model._later.isActive())
            answers.append([model.token_at(row) for row in range(model.rowCount())])
        assert answers[0] == answers[1]
