"""The tokens of a text after each merge, by runs, by opened tokenizers, and by those of a library."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import numpy as np
import pytest

from tokstudio import ConfigError, Corpus, Tokenizer, TrainingConfig, load, save, train
from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.progress import finish
from tokstudio.core.comparison.alignment import text_tokens_work

TEXTS = ["the cat sat on the mat, ", "the rat <s> sat. ", "ein Satz für sich"]
TRAINED = Corpus.from_texts(["the cat sat on the mat, then the rat sat. " * 20])


def trained(**settings):
    return train(TRAINED, TrainingConfig(**{"vocabulary_size": 290, "pattern": "gpt2", **settings}))


def parts(*weights):
    return [(Corpus.from_texts([text]), weight) for text, weight in zip(TEXTS, weights, strict=True)]


def tokens(tokenizer, *weights):
    return sum(weight * len(tokenizer.encode(text)) for text, weight in zip(TEXTS, weights, strict=True))


@pytest.mark.parametrize("weights", [(1, 1, 1), (3, 0, 500)])
def test_each_part_counts_as_often_as_it_is_weighted_after_each_merge(weights):
    tokenizer = trained(special_tokens=["<s>"])
    found = finish(text_tokens_work(tokenizer, parts(*weights), TokenStore()))
    size = sum(weight * len(text.encode()) for text, weight in zip(TEXTS, weights, strict=True))
    assert (found.bytes, found.tokens) == (size, tokens(tokenizer, *weights))
    assert found.by_merge is not None
    assert found.by_merge.tolist() == [tokens(tokenizer.at(k), *weights) for k in range(len(tokenizer.merges) + 1)]
    assert np.allclose(found.curve, size / found.by_merge)
    assert found.bytes_per_token == found.curve[-1]


def test_a_text_of_weight_0_is_not_even_read():
    tokenizer = trained(vocabulary_size=None, min_frequency=2, base="characters")
    assert finish(text_tokens_work(tokenizer, parts(1, 0, 0), TokenStore())).tokens == len(tokenizer.encode(TEXTS[0]))
    with pytest.raises(ConfigError, match="vocabulary"):
        finish(text_tokens_work(tokenizer, parts(1, 0, 1), TokenStore()))


def test_no_text_has_no_tokens():
    found = finish(text_tokens_work(trained(), [], TokenStore()))
    assert (found.bytes, found.tokens, found.bytes_per_token) == (0, 0, 0.0)
    assert not found.curve.any()


def test_a_tokenizer_of_a_library_has_its_tokens_but_no_curve(tmp_path):
    save(trained(), tmp_path / "tokenizer.json")
    content = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    content["normalizer"] = {"type": "Lowercase"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    tokenizer = load(tmp_path / "tokenizer.json")
    found = finish(text_tokens_work(tokenizer, parts(1, 1, 1), TokenStore()))
    assert found.tokens == tokens(tokenizer, 1, 1, 1)
    assert found.by_merge is None
    assert not len(found.curve)
    assert found.no_curve.startswith("Only all merges can be counted together: its normalizer Lowercase changes")


def test_an_opened_tokenizer_has_the_curve_of_its_run(tmp_path):
    tokenizer = trained()
    save(tokenizer, tmp_path / "tokenizer.json")
    opened = load(tmp_path / "tokenizer.json")
    assert isinstance(opened, Tokenizer)
    found = finish(text_tokens_work(opened, [(TRAINED, 1)], TokenStore()))
    run = tokenizer.run
    assert found.by_merge is not None
    assert found.by_merge.tolist() == [run.tokens_before, *run.tokens_after]
