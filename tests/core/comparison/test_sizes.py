"""Which size is enough: held against slow loops, over curves of any shape."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokstudio import Corpus, Tokenizer, TrainingConfig, train
from tokstudio.core.comparison.sizes import (
    PERCENTS,
    embedding_parameters,
    merges_for,
    size_after,
    table_of_sizes,
    usual_sizes,
)

#: Tokens of a text after 0, 1, ... merges: they never increase, and some stay.
curves = st.lists(st.integers(1, 10**15), min_size=1, max_size=30).map(lambda made: sorted(made, reverse=True))


@given(curves, st.integers(1, 100))
@example([100, 80, 60, 50], 95)
@example([19, 20 * 19 // 19, 19], 95)
@example([2**62, 2**62 - 1], 99)
def test_it_is_the_first_size_with_that_share_of_the_compression(made, percent):
    reached = [Fraction(1, now) >= Fraction(percent, 100) * Fraction(1, made[-1]) for now in made]
    assert merges_for(np.array(made, np.int64), percent) == reached.index(True)


@given(curves, st.data())
def test_the_figures_of_a_size_are_those_of_its_merges(made, data):
    merges = data.draw(st.integers(0, len(made) - 1))
    size = size_after(np.array(made, np.int64), 7_000, merges, 256 + np.arange(len(made)))
    assert (size.vocabulary, size.merges) == (256 + merges, merges)
    assert size.bytes_per_token == pytest.approx(7_000 / made[merges])
    assert size.of_end == pytest.approx(size.bytes_per_token / (7_000 / made[-1]))
    assert (size.last, size.saved) == (merges, made[0] - made[merges])
    assert size.saved_share == pytest.approx(1 - made[merges] / made[0])


def test_only_the_last_thousand_tokens_count_as_saved():
    tokens = np.arange(10_000, 7_000, -1)
    size = size_after(tokens, 20_000, 2_500, 256 + np.arange(len(tokens)))
    assert (size.last, size.saved) == (1_000, 1_000)
    assert size.saved_share == pytest.approx(1_000 / 8_500)


def test_usual_sizes_are_powers_of_two_and_round_numbers():
    assert usual_sizes(257, 5_000) == [512, 1_000, 1_024, 2_000, 2_048, 4_000, 4_096]
    assert usual_sizes(600, 999) == []
    wanted = {1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 50_000, 64_000, 100_000, 65_536, 131_072}
    assert wanted < set(usual_sizes(1, 131_072))


@given(curves.filter(lambda made: len(made) > 1), st.integers(1, 3_000), st.data())
def test_the_table_has_every_usual_size_the_shares_the_end_and_those_chosen(made, others, data):
    tokens, end = np.array(made, np.int64), len(made) - 1
    chosen = data.draw(st.sets(st.integers(0, end), max_size=3))
    table = table_of_sizes(tokens, 5_000, others + np.arange(len(tokens)), chosen)
    merges = [size.merges for size in table]
    assert merges == sorted(set(merges))
    usual = {k for k in range(end + 1) if others + k in usual_sizes(1, others + end)}
    assert set(merges) == usual | chosen | {end} | {merges_for(tokens, percent) for percent in PERCENTS}


def test_a_size_compresses_as_a_training_of_that_size_does():
    text = "the cat sat on the mat and the rat sat on the cat, the end. " * 30
    run = train(Corpus.from_text(text), TrainingConfig(vocabulary_size=300)).run
    tokens = np.array([run.tokens_before, *run.tokens_after], np.int64)
    merges = merges_for(tokens, 95)
    smaller = train(Corpus.from_text(text), TrainingConfig(vocabulary_size=256 + merges)).run
    size = size_after(tokens, run.corpus.bytes, merges, 256 + np.arange(len(tokens)))
    assert size.bytes_per_token == smaller.bytes_per_token() >= 0.95 * run.bytes_per_token()
    assert run.bytes_per_token(merges - 1) < 0.95 * run.bytes_per_token()
    assert len(Tokenizer.from_run(run).at(merges)) == size.vocabulary


def test_embeddings_that_are_not_tied_have_twice_the_parameters():
    assert embedding_parameters(50_257, 768, tied=True) == 38_597_376  # GPT-2's
    assert embedding_parameters(32_000, 4_096, tied=False) == 2 * 131_072_000
