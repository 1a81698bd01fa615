"""The tokens of held-out text and of each source after every merge, compared with encoding them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import random
from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.algorithms import CASES
from tokstudio import ConfigError, Corpus, Trainer, TrainingConfig, train
from tokstudio.core.algorithms.common.prepare_corpus import count_text_work
from tokstudio.core.analysis.token_counts import measure_work
from tokstudio.core.analysis.why_this_merge import why_work
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import ParityAware
from tokstudio.core.tokenizer.counts_by_merge import why_not_by_merge
from tokstudio.core.training.curves import MOST_SOURCES, held_out_work, source_curves_work

WORDS = {
    "english": ["the", "cat", "sat", "mat,", "it's", "42", "<s>", "'ll", "aaaa", "", "bb"],
    "german": ["die", "Katze", "saß", "auf", "der", "Matte,", "the", "äpfel", "<s><s>"],
    "japanese": ["日本語", "😀", "猫が", "the", " "],
}


def corpus(lines=60):
    chosen = random.Random(5)
    return Corpus(
        tuple(
            Source.from_texts([" ".join(chosen.choices(words, k=9)) for _ in range(lines)], f"{name}.txt")
            for name, words in WORDS.items()
        )
    )


def trained(text, **settings):
    """The run, its tokenizer, and what was held out."""
    trainer = Trainer(text, TrainingConfig(**settings))
    list(trainer)
    return trainer.run, trainer.tokenizer(), trainer.prepared.held_out


SETTINGS = [
    {"vocabulary_size": 420},
    {"vocabulary_size": 420, "pattern": "gpt2"},
    {"min_frequency": 2, "pattern": "cl100k", "special_tokens": ["<s>", "<pad>"]},
    {"vocabulary_size": 400, "special_tokens": ["<s>"], "special_placement": "first", "tie_break": "huggingface"},
    {"min_frequency": 2, "base": "characters", "pattern": r"\S+|\s+"},
    {"min_frequency": 3, "max_token_bytes": 5, "pattern": "gpt2"},
    {
        "min_frequency": 2,
        "base": "characters",
        "base_vocabulary": [*"abcdehilmnopst ", "<unk>", "'"],
        "unknown_token": "<unk>",
        "special_tokens": [],
    },
]


@pytest.mark.parametrize(
    ("chosen", "weights"),
    [*zip(SETTINGS, cycle([{}, {"german.txt": 2.5, "japanese.txt": 0.2}]), strict=False)],
    ids=str,
)
def test_after_every_merge_a_source_has_the_tokens_that_it_is_encoded_to(chosen, weights):
    text = corpus().with_weights(weights)
    run, tokenizer, _ = trained(text, **chosen)
    assert len(run) > 30
    found = finish(source_curves_work(run, text))
    assert found.names == ("english.txt", "german.txt", "japanese.txt")
    assert found.tokens.shape == (len(run) + 1, 3)
    for k in {0, 1, 2, 17, len(run) // 2, len(run) - 1, len(run)}:
        for number, source in enumerate(text.sources):
            anew = finish(measure_work(tokenizer.at(k), [source], run.config))
            assert (found.tokens[k, number], found.bytes[number]) == (anew.tokens, anew.bytes), f"after {k} merges"


@pytest.mark.parametrize("chosen", SETTINGS, ids=str)
def test_after_every_merge_held_out_text_has_the_tokens_that_it_is_encoded_to(chosen):
    run, tokenizer, held_out = trained(corpus(), held_out=0.25, **chosen)
    found = finish(held_out_work(run, held_out))
    assert found.tokens.shape == (len(run) + 1,)
    for k in {0, 1, 2, 17, len(run) // 2, len(run) - 1, len(run)}:
        anew = finish(measure_work(tokenizer.at(k), held_out, run.config))
        assert (int(found.tokens[k]), found.bytes) == (anew.tokens, anew.bytes), f"after {k} merges"


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
@pytest.mark.parametrize("weights", [{}, {0: 3, 2: 0}, {1: 0.001, 2: 7.25}], ids=str)
def test_the_weighted_sum_of_all_sources_is_the_run(pattern, weights):
    text = corpus().with_weights(weights)
    run, _, _ = trained(text, vocabulary_size=500, pattern=pattern, special_tokens=["<s>"])
    found = finish(source_curves_work(run, text))
    total = found.tokens @ np.array(text.multipliers)
    assert total.tolist() == [run.tokens_before, *run.tokens_after.tolist()]
    assert found.bytes @ np.array(text.multipliers) == run.corpus.bytes


@settings(max_examples=10)
@given(
    st.lists(st.lists(st.text("ab \n", min_size=1, max_size=20), max_size=12), min_size=1, max_size=4),
    st.lists(st.text("ab \n", max_size=30), max_size=9),
    st.sampled_from(["none", "gpt2"]),
)
def test_curves_of_any_texts_are_exact(texts, others, pattern):
    text = Corpus(tuple(Source.from_texts(parts) for parts in texts))
    run, tokenizer, _ = trained(text, vocabulary_size=275, pattern=pattern)
    of_sources = finish(source_curves_work(run, text)).tokens.T
    of_others = finish(held_out_work(run, [Source.from_texts(others)])).tokens
    for parts, curve in zip([*texts, others], [*of_sources, of_others], strict=True):
        sizes = [sum(len(tokenizer.at(k).encode(part)) for part in parts) for k in range(len(run) + 1)]
        assert curve.tolist() == sizes


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_curves_of_every_algorithm_are_exact(name, pattern):
    """Text that was counted before gives the same; special tokens are not counted."""
    case = CASES[name]
    if pattern == "none" and name in ("boundless", "superbpe"):
        return  # they need one
    more = Source.from_texts(["to the end of a day, 12 times<s>. abc abd " * 9], case.corpus.sources[-1].name + "b")
    text = Corpus((*case.corpus.sources, more)) if name != "parity" else case.corpus
    tokenizer = train(text, case.config(case.size, special_tokens=["<s>"], pattern=pattern))
    others = ["at the end of 1234 days ...\n\nthe cats: " * 3, "of the", " day<s>abab", "", "a bird, then"]
    held_out = finish(held_out_work(tokenizer.run, [Source.from_texts(others), Source.from_texts(["abcabd"])]))
    counted = finish(count_text_work(text, tokenizer.run.config))
    by_source, again = (finish(source_curves_work(tokenizer.run, each)) for each in (text, counted))
    assert again.tokens.tolist() == by_source.tokens.tolist()
    assert again.bytes.tolist() == by_source.bytes.tolist()
    assert by_source.tokens.sum(axis=1)[1:].tolist() == tokenizer.run.tokens_after.tolist()
    # What many merges change is the total, which is that of the run after each.
    for merges in {*range(0, len(tokenizer.merges), 3), len(tokenizer.merges)}:
        earlier = tokenizer.at(merges)

        def size(texts, earlier=earlier):
            return sum(len(earlier.encode(part)) for text in texts for part in text.split("<s>"))

        assert held_out.tokens[merges] == size([*others, "abcabd"])
        texts = [bytes(source.data).decode() for source in text.sources]
        assert by_source.tokens[merges].tolist() == [size([each]) for each in texts]
    assert held_out.bytes == len("".join([*others, "abcabd"]).replace("<s>", "").encode())
    if name in ("boundless", "superbpe"):
        told = "Up to merge 33 it splits text by another pattern." if name == "superbpe" else None
        assert (why_not_by_merge(tokenizer), why_not_by_merge(tokenizer.at(33))) == (told, None)


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_word_counts_count_as_often_as_they_occur(pattern):
    words = Corpus.from_counts({"hello": 5, " world": 3, "x" * 100: 2}).sources[0]
    text = Corpus((words, Source.from_texts("hello world hello")))
    run, tokenizer, _ = trained(text, vocabulary_size=270, pattern=pattern)
    found = finish(source_curves_work(run, text))
    sizes = [times * len(tokenizer.encode(word)) for word, times in (("hello", 5), (" world", 3), ("x" * 100, 2))]
    assert found.tokens[-1].tolist() == [sum(sizes), len(tokenizer.encode("hello world hello"))]
    assert found.bytes.tolist() == [5 * 5 + 3 * 6 + 200, 17]


def test_documents_may_be_many_and_longer_than_what_is_encoded_at_once():
    run, tokenizer, _ = trained(corpus(), vocabulary_size=300)
    long = Source.from_texts(["ab" * 800_000, *["the cat"] * 5000, ""])
    found = finish(held_out_work(run, [long]))
    assert found.tokens[-1] == len(tokenizer.encode("ab" * 800_000)) + 5000 * len(tokenizer.encode("the cat"))
    assert found.bytes == 1_600_000 + 35_000
    assert finish(held_out_work(run, [])).tokens.tolist() == [0] * 45


@pytest.mark.parametrize("algorithm", ["bpe", "picky"])
def test_a_missing_character_is_told_or_counts_as_a_token(algorithm):
    text = Corpus((Source.from_texts("ab ab ab"), Source.from_texts("ab äöü"))).with_weights({1: 0})
    run, _, _ = trained(text, min_frequency=2, base="characters", algorithm=algorithm)
    assert finish(source_curves_work(run, text)).tokens[0].tolist() == [8, 6]
    with pytest.raises(ConfigError, match="not in the vocabulary"):
        finish(held_out_work(run, [Source.from_texts(["a ÿ"])]))


def test_a_source_without_text_has_no_bytes_per_token():
    text = Corpus((Source.from_texts("ab ab ab"), Source.from_texts([])))
    run, _, _ = trained(text, min_frequency=2)
    found = finish(source_curves_work(run, text))
    assert found.bytes_per_token().tolist() == [run.bytes_per_token(), 0]
    assert found.bytes_per_token(0).tolist() == [1, 0]


def test_the_sources_of_a_folder_have_one_curve():
    a, b, c = corpus().sources
    run, _, _ = trained(corpus(), vocabulary_size=400, pattern="gpt2")
    alone = finish(source_curves_work(run, Corpus((a, b, c))))
    joined = finish(source_curves_work(run, Corpus((replace(a, group="texts"), replace(b, group="texts"), c))))
    assert joined.names == ("texts", "japanese.txt")
    assert joined.tokens.T.tolist() == [(alone.tokens[:, 0] + alone.tokens[:, 1]).tolist(), alone.tokens[:, 2].tolist()]
    assert joined.bytes.tolist() == [alone.bytes[0] + alone.bytes[1], alone.bytes[2]]


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_too_many_sources_are_refused_and_a_folder_is_one(pattern):
    many = tuple(Source.from_texts(f"text {number}", f"{number}.txt") for number in range(MOST_SOURCES + 1))
    run, tokenizer, _ = trained(Corpus(many), vocabulary_size=260, pattern=pattern)
    with pytest.raises(ConfigError, match="at most 64 sources, and the corpus has 65"):
        finish(source_curves_work(run, Corpus(many)))
    grouped = Corpus((*(replace(source, group="all") for source in many[:-1]), many[-1]))
    found = finish(source_curves_work(run, grouped))
    assert found.names == ("all", "64.txt")
    assert found.tokens[-1].tolist() == [
        sum(len(tokenizer.encode(f"text {number}")) for number in range(MOST_SOURCES)),
        len(tokenizer.encode("text 64")),
    ]


@pytest.mark.parametrize("more", [{}, {"held_out": 0.3, "pattern": "gpt2"}, {"base": "characters"}])
def test_parallel_texts_are_measured_as_they_decided(more):
    texts = {"de": "der dachs und der fuchs. " * 9, "en": "the badger and the fox. " * 9, "fi": "kettu ja siili. " * 9}
    parallel = {"de": "der fuchs und", "en": "the fox and", "fi": "siili ja kettu ja siili"}
    corpus = Corpus(
        tuple(
            Source.from_texts([text[at : at + 30] for at in range(0, len(text), 30)], name)
            for name, text in texts.items()
        ),
        (1000, 2000, 500),
    )
    run = train(corpus, TrainingConfig(min_frequency=2, algorithm=ParityAware(parallel=parallel), **more)).run
    found = finish(source_curves_work(run, corpus)).parallel
    assert found.names == tuple(parallel)
    assert found.lines == 1
    assert len(run) > 10
    for merges in {*range(0, len(run), 4), len(run) - 1}:
        scores = finish(why_work(corpus, run, merges + 1)).choosing.scores
        assert found.tokens[merges].tolist() == list(scores)
    assert finish(source_curves_work(train(corpus, TrainingConfig(min_frequency=2)).run, corpus)).parallel is None
