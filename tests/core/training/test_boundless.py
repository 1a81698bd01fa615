"""BoundlessBPE: against its definition, with its playhead and curves, and what is refused."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tests.core.algorithms import BOUNDLESS_TEXT as TEXT
from tests.core.algorithms import boundless
from tests.core.reference import encode_boundless, named_pattern, train_boundless
from tests.core.texts import document, few_examples
from tokstudio import Corpus, Trainer, TrainingConfig, train
from tokstudio.core.corpus.source import Source
from tokstudio.core.kernels import encode as kernel
from tokstudio.core.model.algorithms import TIE_BREAKS

CORPORA = Path(__file__).parents[3] / "resources" / "corpora"


def expression(pattern):
    return (
        named_pattern(pattern) if pattern in ("gpt2", "cl100k") else {"whitespace": r"\s*\S+|\s+"}.get(pattern, pattern)
    )


def tokens_of(tokenizer):
    return [tokenizer.tokens[token] for token in tokenizer.merge_results.tolist()]


words = st.lists(
    st.sampled_from(
        [" of", " the", "the", " end", ":", " a", " 12", "3", "...", "\n", "  ", "é", "-", "'s", "ab", " b"]
    ),
    max_size=40,
).map(lambda parts: "".join(parts).encode())
configs = st.builds(
    boundless,
    st.one_of(st.integers(257, 300), st.just(400)),
    pattern=st.sampled_from(["gpt2", "cl100k", "whitespace", r"\p{L}|\P{L}+"]),
    tie_break=st.sampled_from(TIE_BREAKS),
    max_token_bytes=st.sampled_from([None, None, 3, 6]),
    min_frequency=st.sampled_from([None, None, 2, 3]),
)


def assert_is_the_definition(tokenizer, texts, weights=None, refuses=lambda token: False):
    run, config = tokenizer.run, tokenizer.run.config
    rules = {name: getattr(config, name) for name in ("min_frequency", "tie_break", "max_token_bytes")}
    size, pattern = config.vocabulary_size, expression(config.pattern)
    made = train_boundless(texts, pattern, weights, vocabulary_size=size, refuses=refuses, **rules)
    assert run.merges.tolist() == [list(pair) for pair in made.merges]
    assert run.counts.tolist() == made.counts
    assert run.columns["overtaken"].tolist() == made.overtaken
    is_super = [count >= 0 for count in made.overtaken]
    for merges in {0, len(run) // 3, len(run) // 2, len(run)}:
        earlier, tokens = tokenizer.at(merges), 0
        for text, weight in zip(texts, weights or [1] * len(texts), strict=True):
            ids = encode_boundless(text, pattern, made.merges[:merges], is_super[:merges])
            assert earlier.encode(text) == ids
            tokens += weight * len(ids)
        assert tokens == (run.tokens_after[merges - 1] if merges else run.tokens_before)
    spelled = tokens_of(tokenizer)
    assert len(set(spelled)) == len(spelled)


@few_examples
@given(st.lists(words | document, max_size=5), configs)
def test_the_definition(texts, config):
    assert_is_the_definition(train(Corpus.from_texts(texts), config), texts)


@few_examples
@given(st.lists(st.text("abé \n", max_size=30), max_size=4), st.integers(257, 290), st.sampled_from(TIE_BREAKS))
def test_the_definition_where_bytes_are_made_in_several_ways(texts, size, rule):
    texts = [text.encode() for text in texts]
    assert_is_the_definition(
        train(Corpus.from_texts(texts), boundless(size, r"[ab]{1,3}|[^ab]", tie_break=rule)), texts
    )


@few_examples
@given(st.lists(words, min_size=1, max_size=3), st.integers(257, 300), st.data())
def test_the_definition_with_weights(texts, size, data):
    weights = data.draw(st.lists(st.integers(1, 4), min_size=len(texts), max_size=len(texts)))
    sources = (Source.from_texts([text], f"text {number}") for number, text in enumerate(texts))
    corpus = Corpus(tuple(sources)).with_weights(dict(enumerate(weights)))
    assert_is_the_definition(train(corpus, boundless(size)), texts, weights)


@given(words, st.integers(0, 60))
def test_any_text_is_encoded_by_the_definition(text, merges):
    tokenizer = TRAINED.at(merges)
    made = encode_boundless(text, named_pattern("gpt2"), tokenizer.merges.tolist(), IS_SUPER)
    assert tokenizer.encode(text) == made
    assert tokenizer.decode_bytes(made) == text
    assert tokenizer.encode_batch([text, text]).ids == [made, made]


TRAINED = train(Corpus.from_text(TEXT), boundless(320))
IS_SUPER = TRAINED.run.supermerges.tolist()


def test_the_definition_on_large_text():
    names = ("how-tokenizers-work.txt", "story/eng_Latn.txt")
    texts = [(CORPORA / name).read_text(encoding="utf-8")[:2_000] for name in names] * 3
    tokenizer = train(Corpus.from_texts(texts), boundless(600))
    made = train_boundless([text.encode() for text in texts], named_pattern("gpt2"), vocabulary_size=600)
    assert tokenizer.merges.tolist() == [list(pair) for pair in made.merges]
    assert tokenizer.run.counts.tolist() == made.counts
    assert tokenizer.run.columns["overtaken"].tolist() == made.overtaken
    assert tokenizer.supermerges.sum() > 5
    for merges in (0, 120, 200, 300, 344):
        tokens = tokenizer.run.tokens_after[merges - 1] if merges else tokenizer.run.tokens_before
        assert sum(len(tokenizer.at(merges).encode(text)) for text in texts) == tokens


class TestDefinition:
    def test_supermerges_come_before_merges_that_are_rarer(self):
        run = TRAINED.run
        assert run.supermerges.sum() > 5
        for merge in np.flatnonzero(run.supermerges).tolist():
            assert run.counts[merge] > run.columns["overtaken"][merge]
        assert b" of the" in tokens_of(TRAINED)
        plain = train(Corpus.from_text(TEXT), TrainingConfig(vocabulary_size=320, pattern="gpt2"))
        kept = [token for token, across in zip(tokens_of(TRAINED), IS_SUPER, strict=True) if not across]
        assert kept == tokens_of(plain)[: len(kept)]

    @pytest.mark.parametrize("text", ["12 34 12 34 12 34", "ab-ab-ab-ab", "", "of\nthe\nof\n"])
    def test_without_supermerges_it_is_plain(self, text):
        corpus = Corpus.from_texts(text.splitlines())
        made, plain = train(corpus, boundless()), train(corpus, boundless().as_plain())
        assert made.merges.tolist() == plain.merges.tolist()
        assert made.run.counts.tolist() == plain.run.counts.tolist()
        assert made.run.tokens_after.tolist() == plain.run.tokens_after.tolist()
        assert (made.run.ended, made.supermerges) == (plain.run.ended, None)

    def test_special_tokens_and_ends_of_documents_end_runs(self):
        texts = ["of<s> the", "of", " the"] * 20
        made = train(Corpus.from_texts(texts), boundless(280, special_tokens=["<s>"]))
        assert made.supermerges is None
        assert b" the" in tokens_of(made)
        joined = train(Corpus.from_texts(["of the"] * 20), boundless(280, special_tokens=["<s>"]))
        assert b"of the" in tokens_of(joined)
        assert len(joined.encode("of<s> the", "all")) == 3
        assert joined.encode("of the<s>of the", "all")[::2] == joined.encode("of the") * 2

    def test_both_phases_end_at_the_minimum_frequency(self):
        made = train(Corpus.from_texts([TEXT]), TrainingConfig(min_frequency=7, pattern="gpt2", algorithm="boundless"))
        assert made.run.counts.min() >= 7
        assert made.run.ended == "no pair occurs 7 times"
        assert made.supermerges.any()

    def test_forbidden_tokens_are_no_supermerges(self):
        made = train(Corpus.from_texts([TEXT]), boundless(320, forbidden=["token: of the"]))
        assert b" of the" not in tokens_of(made)
        assert made.supermerges.any()

    def test_characters_join_like_bytes(self):
        texts = ["der Weg über die Höhe, der Weg über die Höhe"] * 9
        known = {"special_tokens": ["<u>"], "unknown_token": "<u>", "base_vocabulary": [*"abdeghirüö ,WH"]}
        for more in ({}, known):
            made = train(Corpus.from_texts(texts), boundless(60, base="characters", **more))
            spelled = tokens_of(made)
            assert any("ü" in token.decode() and " " in token.decode().strip() for token in spelled)
            assert len(made.encode(texts[0])) * 9 == made.run.tokens_after[-1]
            assert made.decode(made.encode("der Weg")) == "der Weg"

    def test_long_runs_are_joined_like_short_ones(self, monkeypatch):
        text = "of the " * (kernel.LONG // 2 + 100) + "end"
        tokenizer = train(Corpus.from_text("of the of the end " * 9), boundless(290))
        made = tokenizer.encode(text)
        assert made == encode_boundless(
            text.encode(), named_pattern("gpt2"), tokenizer.merges.tolist(), tokenizer.supermerges.tolist()
        )
        assert len(made) < kernel.LONG


class TestTraining:
    def test_a_run_goes_on_at_a_lower_minimum_frequency(self):
        corpus = Corpus.from_text(TEXT)
        often, rare = (TrainingConfig(min_frequency=least, pattern="gpt2", algorithm="boundless") for least in (7, 2))
        run, whole = train(corpus, often).run, train(corpus, rare).run
        resumed = Trainer.resume(corpus, run, rare)
        list(resumed)
        # More merges within words are left, and the last supermerges come before these.
        assert (run.columns["overtaken"] == 0).sum() > (whole.columns["overtaken"][: len(run)] == 0).sum()
        for name in ("merges", "counts", "tokens_after"):
            assert np.array_equal(getattr(resumed.run, name), getattr(whole, name))
        assert np.array_equal(resumed.run.columns["overtaken"], whole.columns["overtaken"])


@pytest.mark.parametrize("base", ["bytes", "characters"])
def test_tokens_with_letters_are_those_with_letters_in_their_text(base):
    """Letters may be cut by the border of two parts."""
    assert not len(train(Corpus.from_text(""), boundless(base=base)).merges)
    words = [
        f"{first}{second}{mark}" for first in "é太🌍𐐀ﬁ" for second in "ا1ж⁂語" for mark in ("", "!", "\u0301", "7")
    ]
    tokenizer = train(Corpus.from_text(" ".join(words) * 3), TrainingConfig(vocabulary_size=600, base=base))
    found = tokenizer.words_with_letters()
    texts = [(tokenizer.tokens[token] or b"").decode("utf-8", "ignore") for token in range(len(tokenizer))]
    assert found[: len(texts)].tolist() == [regex.search(r"\p{L}", text) is not None for text in texts]
    assert 10 < np.count_nonzero(found) < len(texts) - 10
