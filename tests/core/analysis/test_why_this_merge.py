"""Explanations of merges, compared with a slow count of all pairs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace as changed
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.reference import HUGGINGFACE_ORDER, named_pattern, pre_tokens, replace
from tests.core.texts import documents, patient, settings_of_runs
from tokstudio.core.analysis.why_this_merge import why_work
from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.sampling import hold_out_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import TIE_BREAKS
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.text.byte_level import to_characters
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.prepare_corpus import prepare_corpus_work
from tokstudio.core.training.trainer import train

POEM = "she sells sea shells by the sea shore, and the shells she sells are sea shells\n"


def contest(run, sequences, number):
    """All pairs that merge `number` was chosen from, with their counts, in the order of each rule.

    `sequences` are lists of base ids with how often each occurs.
    """
    tokens = list(Tokenizer.from_run(run).tokens)
    for place, pair in enumerate(run.merges[: number - 1].tolist()):
        sequences = [(replace(ids, *pair, run.base_size + place), weight) for ids, weight in sequences]
    counts = {}
    for ids, weight in sequences:
        for pair in pairwise(ids):
            counts[pair] = counts.get(pair, 0) + weight
    longest = run.config.max_token_bytes or 1 << 30
    counts = {pair: n for pair, n in counts.items() if sum(len(tokens[part]) for part in pair) <= longest}
    if run.config.base == "bytes":
        order = {byte: place for place, byte in enumerate(HUGGINGFACE_ORDER)}
    else:
        points = sorted(range(run.base_size), key=lambda token: tokens[token].decode())
        order = {token: place for place, token in enumerate(points)}
    by_first = list(counts)
    ranked = {
        "first": sorted(by_first, key=lambda pair: -counts[pair]),
        "lowest-id": sorted(counts, key=lambda pair: (-counts[pair], pair)),
        "huggingface": sorted(counts, key=lambda pair: (-counts[pair], [order.get(part, part) for part in pair])),
        "bytes": sorted(counts, key=lambda pair: (counts[pair], [tokens[part] for part in pair]), reverse=True),
    }
    mapped = to_characters if run.config.base == "bytes" else bytes.decode
    ranked["mapped-strings"] = sorted(
        counts, key=lambda pair: (counts[pair], [mapped(tokens[part]) for part in pair]), reverse=True
    )
    return counts, ranked


def assert_explained(corpus, run, sequences, number, most=20):
    why = finish(why_work(corpus, run, number, most))
    counts, ranked = contest(run, sequences, number)
    rule = run.config.tie_break
    found = [why.chosen, *why.runners_up]
    expected = [(*pair, counts[pair]) for pair in ranked[rule][: most + 1]]
    assert [(pair.left, pair.right, pair.count) for pair in found] == expected
    assert [why.chosen.left, why.chosen.right] == run.merges[number - 1].tolist()
    assert why.tied == sum(count == why.chosen.count for count in counts.values())
    assert {rule: (pair.left, pair.right) for rule, pair in why.choices.items()} == {
        rule: ranked[rule][0] for rule in TIE_BREAKS
    }
    assert (why.number, why.rule) == (number, rule)


def in_bytes(texts):
    return [(list(text), 1) for text in texts]


@settings(patient, max_examples=60)
@given(documents, settings_of_runs, st.integers(1, 25), st.data())
def test_every_merge_is_explained_as_the_recount_explains_it(texts, chosen, most, data):
    corpus = Corpus.from_texts(texts)
    run = train(corpus, TrainingConfig(**chosen)).run
    if len(run):
        number = data.draw(st.one_of(st.just(1), st.just(len(run)), st.integers(1, len(run))))
        assert_explained(corpus, run, in_bytes(texts), number, most)


@settings(patient, max_examples=40)
@given(documents, settings_of_runs, st.sampled_from(["gpt2", "cl100k"]), st.data())
def test_pre_tokens_count_as_often_as_they_occur(texts, chosen, pattern, data):
    corpus = Corpus.from_texts(texts)
    run = train(corpus, TrainingConfig(**chosen, pattern=pattern)).run
    if len(run):
        words = [list(word) for text in texts for word in pre_tokens(text, named_pattern(pattern))]
        assert_explained(corpus, run, [(word, 1) for word in words], data.draw(st.integers(1, len(run))))


@settings(patient, max_examples=40)
@given(st.lists(st.text("abé日😀 ", max_size=25), max_size=5), st.sampled_from(TIE_BREAKS), st.data())
def test_characters(texts, tie_break, data):
    alphabet = list(dict.fromkeys("".join(texts)))
    if not alphabet:
        return
    corpus = Corpus.from_texts(texts)
    config = TrainingConfig(vocabulary_size=len(alphabet) + 12, base="characters", tie_break=tie_break)
    run = train(corpus, config).run
    if len(run):
        sequences = [([alphabet.index(character) for character in text], 1) for text in texts]
        assert_explained(corpus, run, sequences, data.draw(st.integers(1, len(run))))


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
def test_the_first_merge_and_the_last_of_a_longer_text(tie_break):
    corpus = Corpus.from_text(POEM * 3)
    run = train(corpus, TrainingConfig(vocabulary_size=290, tie_break=tie_break)).run
    for number in (1, 2, len(run) // 2, len(run)):
        assert_explained(corpus, run, in_bytes([POEM.encode() * 3]), number)


def test_given_word_counts():
    words = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
    corpus = Corpus.from_counts(words)
    run = train(corpus, TrainingConfig(vocabulary_size=262, tie_break="bytes")).run
    for number in range(1, len(run) + 1):
        assert_explained(corpus, run, [(list(word.encode()), count) for word, count in words.items()], number)


def test_what_is_held_out_is_not_counted():
    lines = [f"line {n} of many, {n * n} and {n % 7}\n" for n in range(60)]
    corpus = Corpus.from_text("".join(lines))
    run = train(corpus, TrainingConfig(vocabulary_size=280, held_out=0.25)).run
    (trained_on,), _ = finish(hold_out_work(corpus.sources, 0.25))
    texts = np.split(trained_on.data, trained_on.ends[:-1])
    assert_explained(corpus, run, in_bytes(text.tobytes() for text in texts), 10)


def test_pairs_across_special_tokens_and_unknown_characters_are_not_counted():
    text = "abxab<s>ab?ab<s>bab"
    config = TrainingConfig(
        base="characters",
        base_vocabulary=["b", "a"],
        unknown_token="<u>",
        special_tokens=["<u>", "<s>"],
        special_placement="first",
        vocabulary_size=5,
    )
    corpus = Corpus.from_text(text)
    why = finish(why_work(corpus, train(corpus, config).run, 1))
    assert [(pair.left, pair.right, pair.count) for pair in (why.chosen, *why.runners_up)] == [(3, 2, 5), (2, 3, 1)]


class TestReasons:
    def reason(self, text, number=1, **chosen):
        corpus = Corpus.from_text(text)
        return finish(why_work(corpus, train(corpus, TrainingConfig(vocabulary_size=300, **chosen)).run, number)).reason

    def test_more_often_than_any_other(self):
        assert self.reason("ababc") == "It occurs 2 times, more often than any other pair: the next has 1."

    def test_the_rule_decides(self):
        expected = "2 pairs occur 2 times; of those, the pair that comes first in the corpus is merged."
        assert self.reason("ababa") == expected

    def test_another_rule(self):
        expected = "3 pairs occur once; of those, the pair with the lowest left id, then the lowest right id is merged."
        assert self.reason("dcba", tie_break="lowest-id") == expected

    def test_nothing_else_is_left(self):
        assert self.reason("abc", number=2) == "It occurs once, and no other pair is left."


def test_a_corpus_that_changed_is_refused():
    run = train(Corpus.from_text("abab"), TrainingConfig(vocabulary_size=258)).run
    with pytest.raises(CorpusError, match="The corpus has changed since this run was trained"):
        finish(why_work(Corpus.from_text("ababa"), run, 1))


def test_too_little_memory_is_refused_before_counting(monkeypatch):
    corpus = Corpus.from_texts([POEM] * 20_000)
    monkeypatch.setattr("tokstudio.core.analysis.why_this_merge.free_memory", lambda: 10_000_000)
    run = train(corpus, TrainingConfig(vocabulary_size=260)).run
    with pytest.raises(ConfigError, match=r"about 21 MB of memory, but only 10 MB is free\."):
        next(why_work(corpus, run, 2))
    # Each word is laid out once: that takes little.
    run = train(corpus, TrainingConfig(vocabulary_size=260, pattern="gpt2")).run
    assert finish(why_work(corpus, run, 2)).number == 2
    monkeypatch.setattr("tokstudio.core.analysis.why_this_merge.free_memory", lambda: None)
    run = train(Corpus.from_text(POEM), TrainingConfig(vocabulary_size=260)).run
    assert finish(why_work(Corpus.from_text(POEM), run, 2)).number == 2


def test_merges_that_do_not_follow_are_refused():
    corpus = Corpus.from_text("abcabc")
    run = train(corpus, TrainingConfig(vocabulary_size=259)).run
    for merges in ([[98, 99], [97, 256], [97, 97]], [[97, 98], [257, 97], [97, 97]]):
        with pytest.raises(CorpusError, match="do not match this corpus"):
            finish(why_work(corpus, changed(run, merges=np.array(merges, np.int32)), 2))


@pytest.mark.parametrize("number", [0, -1, 4])
def test_an_unknown_merge_is_refused(number):
    corpus = Corpus.from_text("abcd")
    run = train(corpus, TrainingConfig(vocabulary_size=300)).run
    with pytest.raises(ConfigError, match=f"There is no merge {number}: this run has 3"):
        finish(why_work(corpus, run, number))


def test_a_recount_does_not_change_later_merges():
    """Counting anew in the middle of a training changes none of the merges after it."""
    from tokstudio.core.training.engine import Engine

    config = TrainingConfig(vocabulary_size=310)
    corpus = Corpus.from_text(POEM * 2)
    expected = train(corpus, config).merges
    _, units = finish(prepare_corpus_work(corpus, config))
    engine = Engine(units, "first", 1, None)
    made = []
    while (merges := engine.advance(5)) is not None:
        made += zip(merges.left.tolist(), merges.right.tolist(), strict=True)
        if len(merges.left):
            finish(engine.recount_work(1))
    assert made[: len(expected)] == [tuple(pair) for pair in expected.tolist()]


def test_counts_of_weighted_sources_are_told_in_whole_units():
    corpus = Corpus((Source.from_texts("abab", "a"), Source.from_texts("abc", "b"))).with_weights({"b": 0.25})
    run = train(corpus, TrainingConfig(vocabulary_size=257)).run
    why = finish(why_work(corpus, run, 1))
    assert (why.chosen.count, why.scale) == (2250, 1000)
    assert why.reason == "It occurs 2.25 times, more often than any other pair: the next has 1."
    run = train(corpus.with_weights({"a": 0.5, "b": 0}), TrainingConfig(vocabulary_size=257)).run
    assert finish(why_work(corpus, run, 1)).reason.startswith("It occurs once, ")
