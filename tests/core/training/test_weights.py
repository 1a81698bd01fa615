"""Weights in four bytes: those that do not fit are in an array of their own, which changes no training."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokstudio.core.base.arrays import in_eight_bytes, in_four_bytes
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import TIE_BREAKS, ParityAware, Picky
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.trainer import Trainer, extend, train

TEXTS = {
    "english": "the cat sat on the mat, and the other cat sat on the hat; " * 9,
    "german": "die Katze saß auf der Matte, und die andere Katze saß auf dem Hut; " * 7,
    "greek": "η γάτα κάθισε στο χαλάκι και η άλλη γάτα στο καπέλο; " * 5,
}
CORPUS = Corpus(tuple(Source.from_texts(text, name) for name, text in TEXTS.items()))
PARALLEL = {"english": "a cat " * 3, "german": "eine Katze " * 3}
TRAININGS = {
    **{tie_break: {"tie_break": tie_break} for tie_break in TIE_BREAKS},
    "characters": {"base": "characters"},
    "whole characters": {"algorithm": "whole-characters"},
    "Picky BPE": {"algorithm": Picky(threshold=0.3)},
    "parity-aware BPE": {"algorithm": ParityAware(global_merges=5)},
    "BoundlessBPE": {"algorithm": "boundless"},
}


def merges_of(tokenizer):
    run = tokenizer.run
    return run.merges.tolist(), run.counts.tolist(), run.tokens_after.tolist(), tokenizer.tokens[300:320]


@pytest.fixture
def hardly_any_fit(monkeypatch):
    """Lets only weights of 1 and 2 fit."""
    return lambda: monkeypatch.setattr("tokstudio.core.base.arrays._LARGEST_INT32", 2)


@given(st.lists(st.integers(0, 5) | st.integers((1 << 31) - 2, 1 << 62)), st.integers(0, 3))
def test_weights_in_four_bytes_are_what_they_were(weights, known):
    short, heavy = in_four_bytes(np.array(weights, np.int64), known)
    assert short.dtype == np.int32
    assert (short < 0).sum() == len(heavy) == sum(weight >= 1 << 31 for weight in weights)
    before = np.arange(known)
    assert in_eight_bytes(short, np.concatenate([before, heavy])).tolist() == weights


@pytest.mark.parametrize("name", TRAININGS)
def test_weights_that_do_not_fit_change_no_training(name, hardly_any_fit):
    config = TrainingConfig(vocabulary_size=330, pattern="gpt2", **TRAININGS[name])
    before = merges_of(train(CORPUS, config))
    hardly_any_fit()
    assert merges_of(train(CORPUS, config)) == before


def test_weights_that_do_not_fit_change_no_training_by_parallel_texts(hardly_any_fit):
    texts = Corpus(CORPUS.sources[:2])
    config = TrainingConfig(vocabulary_size=300, pattern="gpt2", algorithm=ParityAware(parallel=PARALLEL))
    before = merges_of(train(texts, config))
    hardly_any_fit()
    assert merges_of(train(texts, config)) == before


def test_weights_that_do_not_fit_change_no_further_training(hardly_any_fit):
    config = TrainingConfig(vocabulary_size=330, pattern="gpt2")
    start = Tokenizer(train(CORPUS, TrainingConfig(vocabulary_size=280, pattern="gpt2")).merges, pattern="gpt2")
    before = merges_of(extend(start, CORPUS, config))
    hardly_any_fit()
    assert merges_of(extend(start, CORPUS, config)) == before


@pytest.mark.parametrize("algorithm", ["bpe", "picky"])
def test_words_may_occur_more_often_than_31_bits_can_count(algorithm):
    words, times = {" low": 5, " lower": 2, " newest": 6, " widest": 3, "!": 1}, 1 << 33
    config = TrainingConfig(vocabulary_size=266, pattern="gpt2", algorithm=algorithm)
    few = train(Corpus.from_counts(words), config).run
    many = Trainer(Corpus.from_counts({word: count * times for word, count in words.items()}), config)
    for _ in many:
        pass
    assert many.run.merges.tolist() == few.merges.tolist()
    assert many.run.counts.tolist() == [count * times for count in few.counts.tolist()]
    assert many.run.tokens_after.tolist() == [tokens * times for tokens in few.tokens_after.tolist()]
    assert many.tokens_before == times * few.tokens_before
