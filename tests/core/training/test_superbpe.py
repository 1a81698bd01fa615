"""SuperBPE: against its definition, with its playhead and curves, and what is refused."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.algorithms import SUPERBPE_TEXT as TEXT
from tests.core.algorithms import superbpe
from tests.core.reference import (
    REACHED_SIZE,
    encode_by_rank,
    named_pattern,
    pieces,
    pre_tokens,
    train_second_stage,
    train_slowly_with_pattern,
)
from tests.core.texts import document, few_examples
from tokstudio import Corpus, Tokenizer, Trainer, TrainingConfig, extend, train
from tokstudio.core.algorithms.common.prepare_corpus import count_text_work
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import SECOND_PATTERN, TIE_BREAKS
from tokstudio.core.pretokenization.custom_regex import covered
from tokstudio.core.pretokenization.patterns import covering, splitter
from tokstudio.core.training.forecast import forecast_work

CORPORA = Path(__file__).parents[3] / "resources" / "corpora"
SECONDS = {"": SECOND_PATTERN, "none": None, "whitespace": r"\s*\S+|\s+", r"\d+": r"\d+", r"b| +c": r"b| +c"}


def by_definition(texts, config):
    """Merges, counts, tokens after each, and the counts of tokens at the transition."""
    rules = {name: getattr(config, name) for name in ("min_frequency", "tie_break", "max_token_bytes")}
    pattern = named_pattern(config.pattern)
    second = config.algorithm.second_pattern
    first = train_slowly_with_pattern(texts, pattern, vocabulary_size=config.algorithm.transition, **rules)
    if first.ended != REACHED_SIZE:
        return first.merges, first.counts, first.tokens_after, None
    before, after = train_second_stage(
        texts,
        first.merges,
        first.tokens,
        SECONDS["" if second == SECOND_PATTERN else second],
        config.algorithm.max_words,
        vocabulary_size=config.vocabulary_size,
        **rules,
    )
    return (
        first.merges + after.merges,
        first.counts + after.counts,
        first.tokens_after + after.tokens_after,
        before if after.merges else None,
    )


def assert_is_the_definition(run, texts):
    merges, counts, tokens_after, before = by_definition(texts, run.config)
    assert run.merges.tolist() == [list(pair) for pair in merges]
    assert run.counts.tolist() == counts
    assert run.tokens_after.tolist() == tokens_after
    assert (run.columns["second_counts"].tolist() if run.columns else None) == before
    tokens = list(Tokenizer.from_run(run).tokens)
    assert len(set(tokens)) == len(tokens)


words = st.lists(
    st.sampled_from([" of", " the", "the", " end", ":", " a", " 12", "3", "...", "\n", "  ", "é", "-"]), max_size=40
).map(lambda parts: "".join(parts).encode())
configs = st.builds(
    lambda first, more, **others: superbpe(256 + first + more, 256 + first, **others),
    st.integers(0, 25),
    st.integers(1, 25),
    pattern=st.sampled_from(["gpt2", "cl100k", "whitespace"]),
    second_pattern=st.sampled_from([*SECONDS]),
    max_words=st.integers(1, 4),
    tie_break=st.sampled_from(TIE_BREAKS),
    max_token_bytes=st.sampled_from([None, None, 3, 6]),
    min_frequency=st.sampled_from([None, None, 2]),
)


@few_examples
@given(st.lists(words | document, max_size=5), configs)
def test_the_definition(texts, config):
    assert_is_the_definition(train(Corpus.from_texts(texts), config).run, texts)


@pytest.fixture(scope="module")
def large():
    """About 20 kB in many languages, with code."""
    files = [*CORPORA.glob("*.*"), *(CORPORA / "story").glob("*.txt")]
    texts = [file.read_text(encoding="utf-8")[:400] for file in sorted(files)]
    assert 18_000 < sum(len(text.encode()) for text in texts) < 30_000
    return texts


@pytest.mark.parametrize(
    ("transition", "pattern", "second", "more"),
    [
        (256, "gpt2", "", {}),
        (400, "gpt2", "", {"tie_break": "huggingface"}),
        (700, "cl100k", "", {"max_words": 2}),
        (1500, "o200k", r"\d+", {"tie_break": "bytes"}),
        (1000, "whitespace", "none", {"max_words": 3}),
    ],
)
def test_the_definition_on_large_text(large, transition, pattern, second, more):
    corpus, config = (
        Corpus.from_texts(large),
        superbpe(transition + 25, transition, pattern, second_pattern=second, **more),
    )
    run = train(corpus, config).run
    first = run.merges[: transition - 256]
    # Stage 1 is plain BPE, which is held against its definition elsewhere.
    settings = {"pattern": pattern, "tie_break": run.config.tie_break}
    if len(first):
        plain = train(corpus, TrainingConfig(vocabulary_size=transition, **settings)).run
        assert first.tolist() == plain.merges.tolist()
    tokens = [bytes([byte]) for byte in range(256)]
    for left, right in first.tolist():
        tokens.append(tokens[left] + tokens[right])
    before, slow = train_second_stage(
        [text.encode() for text in large],
        [tuple(pair) for pair in first.tolist()],
        tokens,
        SECONDS[second],
        run.config.algorithm.max_words,
        vocabulary_size=transition + 25,
        tie_break=run.config.tie_break,
    )
    assert run.merges[transition - 256 :].tolist() == [list(pair) for pair in slow.merges]
    assert run.counts[transition - 256 :].tolist() == slow.counts
    assert run.tokens_after[transition - 256 :].tolist() == slow.tokens_after
    assert run.columns["second_counts"].tolist() == before


class TestDefinition:
    @pytest.mark.parametrize("second", ["none", "whitespace", "gpt2"])
    def test_stage_2_alone_is_plain_where_nothing_is_vetoed(self, second):
        texts = ["a b a b c", "cab cab abba"] * 5
        made = train(Corpus.from_texts(texts), superbpe(275, 256, second_pattern=second, max_words=100)).run
        plain = train(Corpus.from_texts(texts), TrainingConfig(vocabulary_size=275, pattern=second)).run
        assert made.merges.tolist() == plain.merges.tolist()
        assert made.tokens_after.tolist() == plain.tokens_after.tolist()

    @pytest.mark.parametrize("most", [1, 2, 4])
    def test_no_token_has_more_words_or_a_colon_before_a_space(self, most):
        corpus = Corpus.from_text("Note: all of it is at the end of it: all of it. " * 9)
        made = train(corpus, superbpe(400, 270, max_words=most))
        tokens = [made.tokens[token] for token in made.merge_results[14:].tolist()]
        assert max(len(token.split()) for token in tokens) == most
        assert not any(b": " in token for token in tokens)
        # Plain BPE makes both.
        plain = train(corpus, TrainingConfig(vocabulary_size=400))
        assert any(b": " in plain.tokens[token] for token in plain.merge_results.tolist())

    def test_training_ends_in_stage_1_where_nothing_is_left_to_merge(self):
        run = train(Corpus.from_text("ab ab ab"), superbpe(400, 300)).run
        assert (run.ended, len(run), run.columns) == ("nothing left to merge", 2, {})

    def test_weights_and_special_tokens_hold_in_both_stages(self):
        texts = {"one": "a b <s> a b c", "two": "c d c d e <s>"}
        corpus = Corpus(tuple(Source.from_texts([text], name) for name, text in texts.items()))
        more = {"special_tokens": ["<s>"], "second_pattern": "none"}
        for place, first in (("last", 256), ("first", 257)):
            config = superbpe(267, 260, special_placement=place, **more)
            made = train(corpus.with_weights({"one": 3, "two": 0.5}), config)
            repeated = [text for name, text in texts.items() for _ in range(6 if name == "one" else 1)]
            same = train(Corpus.from_texts(repeated), config)
            assert made.merges.tolist() == same.merges.tolist()
            assert (2 * made.run.counts / 1000).tolist() == same.run.counts.tolist()
            assert made.merge_results.tolist() == list(range(first, first + 10))
            assert len(made) == 267
            assert b"<s>" not in b"|".join(made.tokens[token] for token in made.merge_results.tolist())

    def test_forbidden_tokens_are_made_in_neither_stage(self):
        made = train(Corpus.from_text(TEXT), superbpe(forbidden=["th", "of "]))
        tokens = [made.tokens[token] for token in made.merge_results.tolist()]
        assert not any(b"th" in token or b"of " in token for token in tokens)
        assert any(b" " in token.strip() for token in tokens)


class TestPlayhead:
    def test_up_to_the_transition_text_is_split_as_in_stage_1(self):
        tokenizer, text = train(Corpus.from_text(TEXT), superbpe()), "the end of the day ... 12345"
        for merges in (0, 10, 34, 35, 60, 74):
            earlier = tokenizer.at(merges)
            size = 256 + merges
            if merges in (0, 10, 34):
                assert earlier.pattern == "gpt2"
                words = pre_tokens(text.encode(), named_pattern("gpt2"))
            else:
                assert earlier.pattern == tokenizer.pattern == covering(SECOND_PATTERN)
                words = pieces(text.encode(), SECOND_PATTERN)
                assert earlier.encode(text) == train(Corpus.from_text(TEXT), superbpe(size)).encode(text)
            ranks = {tuple(pair): rank for rank, pair in enumerate(tokenizer.merges[:merges].tolist())}
            assert earlier.encode(text) == [token for word in words for token in encode_by_rank(word, ranks)]
        assert tokenizer.at(60).at(20).pattern == "gpt2"
        assert pickle.loads(pickle.dumps(tokenizer)).at(20).pattern == "gpt2"


class TestTraining:
    def test_text_that_was_counted_is_split_anew_at_the_transition(self):
        corpus = Corpus.from_text(TEXT)
        counted = finish(count_text_work(corpus, superbpe()))
        trainer = Trainer(corpus, superbpe(), counted=counted)
        batches = list(trainer)
        assert {batch.first > 34 for batch in batches} == {False, True}
        assert all(("second_counts" not in batch.columns) == (batch.first <= 34) for batch in batches)
        assert trainer.run.merges.tolist() == train(corpus, superbpe()).merges.tolist()

    def test_a_forecast_has_room_for_both_stages(self):
        corpus = Corpus.from_text(TEXT * 100)
        plain, both = (finish(forecast_work(corpus, config)) for config in (superbpe().as_plain(), superbpe()))
        assert plain.fits
        assert both.fits
        # Stage 2 has nearly the whole text in memory, not its words.
        assert both.memory > len(TEXT) * 100 * 3 > plain.memory

    def test_a_superbpe_tokenizer_can_be_extended(self):
        made = train(Corpus.from_text(TEXT), superbpe())
        config = TrainingConfig(vocabulary_size=340, pattern=made.pattern)
        more = extend(made, Corpus.from_text(TEXT + "a new day: a new dog. " * 9), config)
        assert more.merges[:74].tolist() == made.merges.tolist()
        assert more.pattern == made.pattern


class TestCovering:
    def test_a_covering_pattern_says_what_it_covers(self):
        made = covering(SECOND_PATTERN)
        assert (covered(made), covering(made), covered(SECOND_PATTERN)) == (SECOND_PATTERN, made, None)
        assert covering("gpt2") == covering(named_pattern("gpt2")) == "gpt2"

    @given(words | document, st.sampled_from([SECOND_PATTERN, r"\d+", "b| +c", r"(?<=a)b|\s$"]))
    def test_it_splits_into_matches_and_what_is_between(self, text, pattern):
        made, expected = covering(pattern), pieces(text, pattern)
        assert splitter(made).split(text) == expected
        # Other libraries match the covering pattern as it is written.
        assert pre_tokens(text, made) == expected
