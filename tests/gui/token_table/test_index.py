"""The index of tokens, against a check of each token."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from tokstudio import Corpus, TrainingConfig, train
from tokstudio.core.analysis.token_index import IndexedTokens, Texts, index_work
from tokstudio.core.base.progress import finish
from tokstudio.core.base.resources import sample_text
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.run_tokens import RunTokens
from tokstudio.gui.token_table.query import FilterQuery
from tokstudio.gui.token_table.search import matching_work

pieces = st.lists(st.binary(max_size=20) | st.text(max_size=8).map(str.encode), max_size=30)


def index_of(texts):
    lengths = np.array([len(text) for text in texts], np.int64)
    return finish(index_work(IndexedTokens(tuple(texts), np.empty((0, 2), np.int32), lengths)))


@given(pieces, st.binary(max_size=4))
def test_bytes_are_found_wherever_they_are_and_never_across_two_texts(texts, needle):
    assert Texts.of(texts).holding(needle).tolist() == [needle in text for text in texts]


@given(pieces, st.data())
def test_a_filter_agrees_with_a_check_of_each_token(texts, data):
    index, lengths = index_of(texts), np.array([len(text) for text in texts], np.int64)
    some = [text.decode("utf-8", "replace") for text in texts if text]
    typed = data.draw(st.sampled_from(["e", "E2 80", "0x41", "ab length:2-4", "length:3+", *some]))
    query = FilterQuery(typed)
    if not query.is_expression and query.needs_heads:
        one_by_one = [query.accepts(text) and fits for text, fits in zip(texts, query.within(lengths), strict=True)]
        assert (finish(matching_work(index, query)) & query.within(lengths)).tolist() == one_by_one


@settings(max_examples=200)
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
