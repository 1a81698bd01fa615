"""Questions about a tokenizer with supermerges: its steps, what is not one token and why, occurrences, reachability."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from tokstudio import ConfigError, Corpus, TrainingConfig, train
from tokstudio.core.analysis.concordance import Concordance
from tokstudio.core.analysis.encoding_steps import steps_work
from tokstudio.core.analysis.reachability import REACHED, reachability_work
from tokstudio.core.analysis.token_counts import count_uses_work
from tokstudio.core.analysis.why_not_one_token import why_not_one
from tokstudio.core.analysis.why_this_merge import PairCount, why_work
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.core.surgery.prune import prune

TEXT = (
    "one of the cats sat on the mat, at the end of the day: of the 12 cats one of them sat.\n"
    "12345 of the 67 dogs ... ran to the end of the road (and so on), as of the 1st of May!!\n"
) * 6


@pytest.fixture(scope="module")
def tokenizer():
    return train(
        Corpus.from_text(TEXT),
        TrainingConfig(vocabulary_size=330, algorithm="boundless", pattern="gpt2", special_tokens=["<s>"]),
    )


def token_of(tokenizer, text):
    return next(token for token in tokenizer.merge_results.tolist() if tokenizer.tokens[token] == text.encode())


def test_the_last_step_is_the_encoded_text_after_any_number_of_merges(tokenizer):
    text = "at the end of the day, one of<s> the cats sat: of the dogs of the end"
    steps = finish(steps_work(tokenizer, text, None, "all"))
    for merges in range(0, len(tokenizer.merges) + 1):
        encoded = tokenizer.at(merges).encode(text, "all")
        assert steps.at(merges).tokens.ids.tolist() == encoded
        assert finish(steps_work(tokenizer, text, merges, "all")).tokens.ids.tolist() == encoded
    kinds = [steps.step(number).merge for number in range(2, len(steps))]
    assert any(tokenizer.supermerges[merge - 1] for merge in kinds)
    for number in range(len(steps)):
        state = steps.state(number)
        assert b"".join(steps.data[a:b] for a, b in zip(state.starts, state.stops, strict=True)) == text.encode()


@pytest.mark.parametrize(
    ("text", "part", "kind", "words"),
    [
        ("the end of the day", " of the", "one", "is one token"),
        ("the 12 of", " 12 of", "border", '" 12" has no letter, and supermerges join only words'),
        ("the . of", " . of", "border", '" ." is not one token'),
        ("of the end", "f the", "border", 'It has only a part of "of"'),
        ("cats of dogs", " of dogs", "missing", "No merge joins"),
    ],
)
def test_why_words_are_not_one_token(tokenizer, text, part, kind, words):
    steps, start = finish(steps_work(tokenizer, text)), text.index(part)
    why = why_not_one(steps, start, start + len(part))
    assert (why.kind, words in why.sentence) == (kind, True), why.sentence


def test_occurrences_of_a_supermerge_are_those_of_the_encoded_corpus(tokenizer):
    corpus = Corpus.from_text(TEXT)
    uses = finish(count_uses_work(tokenizer, corpus))
    for token in (token_of(tokenizer, " of the"), token_of(tokenizer, " end")):
        search = Concordance(corpus, tokenizer, token)
        assert len(finish(search.find_work(1000))) == uses[token] == tokenizer.run.uses()[token]
    with pytest.raises(ConfigError, match="which word counts do not have"):
        finish(count_uses_work(tokenizer, Corpus.from_counts({"the": 3})))


def test_what_was_trained_is_reached(tokenizer):
    assert np.all(finish(reachability_work(tokenizer)) == REACHED)


def test_it_cannot_be_changed(tokenizer):
    with pytest.raises(ConfigError, match="its supermerges join only words that are whole tokens"):
        prune(tokenizer, [300])
    assert tokenizer.at(tokenizer.supermerges.argmax()).compact().supermerges is None


def test_why_a_merge_says_its_phase_and_the_count_that_it_came_before(tokenizer):
    run, corpus = tokenizer.run, Corpus.from_text(TEXT)
    for number in range(1, len(run) + 1):
        why = finish(why_work(corpus, run, number))
        left, right = run.merges[number - 1].tolist()
        assert (why.number, why.chosen) == (number, PairCount(left, right, run.counts[number - 1]))
        assert why.overtaken == run.overtaken[number - 1]
        assert why.choices["first"] == why.chosen
        assert all(pair.count <= why.chosen.count for pair in why.runners_up)
        if why.overtaken < 0:
            assert why.reason.startswith("Phase 1 chose, within words. ")
        elif why.overtaken == 0:
            assert "no merge within words was left" in why.reason
        else:
            counts = f"it occurs {why.chosen.count} times, and the next merge within words {why.overtaken}."
            assert why.reason.startswith(f"This is a supermerge, across words: {counts} ")
            # Each side is a word with a letter, or several.
            sides = [tokenizer.tokens[token].decode() for pair in why.runners_up for token in (pair.left, pair.right)]
            assert all(any(map(str.isalpha, side)) for side in sides)


def test_why_a_merge_at_other_weights():
    texts = {"one": "of the of the of the", "two": "to be to be"}
    corpus = Corpus(tuple(Source.from_texts([text], name) for name, text in texts.items()))
    corpus = corpus.with_weights({"one": 2.5})
    run = train(corpus, TrainingConfig(min_frequency=2, algorithm="boundless", pattern="gpt2")).run
    assert run.supermerges.any()
    for number in range(1, len(run) + 1):
        assert finish(why_work(corpus, run, number)).chosen.count == run.counts[number - 1]
