"""The tokens of held-out text after every merge, compared with encoding it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.texts import patient
from tokstudio import ConfigError, Corpus, Trainer, TrainingConfig
from tokstudio.core.analysis.token_counts import measure_work
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.core.training.curves import held_out_work

WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "the",
    "mat,",
    "then",
    "it's",
    "42",
    "äpfel",
    "日本語",
    "😀",
    "<s>",
    "'ll",
    "aaaa",
    "",
    "",
    "bb",
]


def text(lines, seed=1):
    chosen = random.Random(seed)
    return "\n".join(" ".join(chosen.choices(WORDS, k=9)) for _ in range(lines))


def trained(corpus, **settings):
    trainer = Trainer(corpus, TrainingConfig(**settings))
    for _ in trainer:
        pass
    assert trainer.prepared is not None
    return trainer.run, trainer.tokenizer(), trainer.prepared.held_out


SETTINGS = [
    {"vocabulary_size": 420},
    {"vocabulary_size": 420, "pattern": "gpt2"},
    {"min_frequency": 2, "pattern": "cl100k", "special_tokens": ["<s>", "<pad>"]},
    {"vocabulary_size": 400, "special_tokens": ["<s>"], "special_placement": "first", "tie_break": "huggingface"},
    {"min_frequency": 2, "base": "characters", "pattern": r"\S+|\s+"},
    {"min_frequency": 3, "max_token_bytes": 5},
    {
        "min_frequency": 2,
        "base": "characters",
        "base_vocabulary": [*"abcdehilmnopst ", "<unk>", "'"],
        "unknown_token": "<unk>",
        "special_tokens": [],
    },
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_after_every_merge_the_text_has_the_tokens_that_it_is_encoded_to(settings):
    run, tokenizer, held_out = trained(Corpus.from_text(text(400)), held_out=0.25, **settings)
    assert len(run) > 30
    found = finish(held_out_work(run, held_out))
    assert found.tokens.shape == (len(run) + 1,)
    for k in {0, 1, 2, 17, len(run) // 2, len(run) - 1, len(run)}:
        anew = finish(measure_work(tokenizer.at(k), held_out, run.config))
        assert (int(found.tokens[k]), found.bytes) == (anew.tokens, anew.bytes), f"after {k} merges"


@patient
@given(st.lists(st.text("ab \n", min_size=1, max_size=30), min_size=20, max_size=40), st.sampled_from(["none", "gpt2"]))
def test_token_counts_are_exact_after_each_merge_of_any_text(texts, pattern):
    run, tokenizer, held_out = trained(Corpus.from_texts(texts), vocabulary_size=290, pattern=pattern, held_out=0.3)
    found = finish(held_out_work(run, held_out))
    assert [
        finish(measure_work(tokenizer.at(k), held_out, run.config)).tokens for k in range(len(run) + 1)
    ] == found.tokens.tolist()


def test_the_training_text_gives_the_counts_of_the_run():
    corpus = Corpus.from_texts([text(300), "", "x" * 70_000])
    run, _, _ = trained(corpus, vocabulary_size=600, pattern="gpt2")
    found = finish(held_out_work(run, corpus.sources))
    assert found.tokens[0] == run.tokens_before
    assert np.array_equal(found.tokens[1:], run.tokens_after)
    assert found.bytes == run.corpus.bytes


def test_documents_may_be_many_and_longer_than_what_is_encoded_at_once():
    run, tokenizer, _ = trained(Corpus.from_text(text(400)), vocabulary_size=300)
    long = Source.from_texts(["ab" * 800_000, *["the cat"] * 5000, ""])
    found = finish(held_out_work(run, [long]))
    assert found.tokens[-1] == len(tokenizer.encode("ab" * 800_000)) + 5000 * len(tokenizer.encode("the cat"))
    assert found.bytes == 1_600_000 + 35_000


def test_no_text_has_no_tokens():
    run, _, _ = trained(Corpus.from_text(text(40)), vocabulary_size=300)
    assert finish(held_out_work(run, [])).tokens.tolist() == [0] * 45


def test_a_character_missing_from_training_is_an_error():
    run, _, _ = trained(Corpus.from_text("ab ab ab"), min_frequency=2, base="characters")
    with pytest.raises(ConfigError, match="vocabulary"):
        finish(held_out_work(run, [Source.from_texts(["a ÿ"])]))
