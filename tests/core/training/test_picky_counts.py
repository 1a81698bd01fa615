"""The tokens of any text after each merge of Picky BPE: held against the encoding with that many merges."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from tests.core.project.test_picky import TEXT
from tokstudio import Corpus, Tokenizer, TrainingConfig, train
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.corpus import Corpus as AnyCorpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import Picky
from tokstudio.core.training.curves import held_out_work, source_curves_work

OTHERS = ["abc abd the dog<s>abab the cat and the cat", "", "a bird, then", "the the the"]


def trained(**more):
    config = TrainingConfig(algorithm=Picky(threshold=0.4), special_tokens=["<s>"], **{"vocabulary_size": 290} | more)
    run = train(Corpus.from_text(TEXT), config).run
    assert (run.removals[:, 2:] >= 0).sum() > 5
    return run


def counted(run, texts):
    """The tokens of some texts, encoded anew with each number of merges; special tokens are not counted."""
    tokenizer, made = Tokenizer.from_run(run), []
    for merges in range(len(run) + 1):
        earlier = tokenizer.at(merges)
        made.append(sum(len(earlier.encode(part)) for text in texts for part in text.split("<s>")))
    return made


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_held_out_text_is_counted_after_each_merge(pattern):
    run = trained(pattern=pattern)
    found = finish(held_out_work(run, [Source.from_texts(OTHERS), Source.from_texts(["abcabd"])]))
    assert found.tokens.tolist() == counted(run, [*OTHERS, "abcabd"])
    assert found.bytes == len("".join([*OTHERS, "abcabd"]).replace("<s>", "").encode())


def test_its_own_text_is_counted_as_in_training():
    run = trained(pattern="gpt2")
    found = finish(held_out_work(run, [Source.from_texts([TEXT])]))
    assert found.tokens[0] == run.tokens_before
    assert found.tokens[1:].tolist() == run.tokens_after.tolist()
    assert finish(held_out_work(run, [])).tokens.tolist() == [0] * (len(run) + 1)


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_sources_are_counted_after_each_merge(pattern):
    corpus = AnyCorpus((Source.from_texts(OTHERS, "one"), Source.from_texts([TEXT], "two")))
    run = train(corpus, trained(pattern=pattern).config).run
    curves = finish(source_curves_work(run, corpus))
    assert curves.names == ("one", "two")
    assert curves.tokens[:, 0].tolist() == counted(run, OTHERS)
    assert curves.tokens.sum(axis=1)[1:].tolist() == run.tokens_after.tolist()


def test_a_missing_character_is_told_or_counts_as_a_token():
    run = trained(base="characters", vocabulary_size=60)
    with pytest.raises(ConfigError, match="not in the vocabulary"):
        finish(held_out_work(run, [Source.from_texts(["the €"])]))
    corpus = AnyCorpus((Source.from_texts(["abc €"], "one"), Source.from_texts([TEXT], "two"))).with_weights({"one": 0})
    again = train(corpus, run.config).run
    assert np.array_equal(again.merges, run.merges)
    curves = finish(source_curves_work(again, corpus))
    assert curves.tokens[0, 0] == 5
    assert curves.tokens[:, 0].tolist() == [2 + n for n in counted(again, ["abc"])]
