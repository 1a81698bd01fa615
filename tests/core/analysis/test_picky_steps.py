"""Questions about tokenizers of Picky BPE and BoundlessBPE: their steps, what is not one token, and occurrences."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.algorithms import BOUNDLESS_TEXT
from tests.core.algorithms import PICKY_TEXT as TEXT
from tests.core.algorithms import picky as config_of
from tokstudio import ConfigError, Corpus, Picky, Tokenizer, TrainingConfig, prune, train
from tokstudio.core.analysis.encoding_steps import Rounds, Steps, steps_work
from tokstudio.core.analysis.reachability import REACHED, reachability_work
from tokstudio.core.analysis.token_counts import count_uses_work
from tokstudio.core.analysis.why_not_one_token import why_not_one
from tokstudio.core.analysis.why_this_merge import PairCount, why_work
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.core.exploration.search import Search
from tokstudio.core.exploration.token_finder import TokenFinder

# --- Test picky steps -------------------------------------------------------------------------------------------------

texts = st.lists(st.text("abc ", max_size=40) | st.text("ab", max_size=30), max_size=5)


def check(steps: Steps, tokenizer: Tokenizer, text: str) -> None:
    """Every state covers the text, each round is an encoding, and the last state is that of the tokenizer."""
    earlier = tokenizer.at(steps.merges)
    assert steps.tokens.ids.tolist() == earlier.encode(text)
    for number in range(len(steps)):
        state = steps.state(number)
        assert [0, *state.stops.tolist()] == [*state.starts.tolist(), len(text.encode())]
        if number > 1:
            step, before = steps.step(number), steps.state(number - 1)
            assert len(state) < len(before) if step.kind == "merge" else len(state) > len(before)
            assert (step.left in before.ids.tolist()) == (step.kind in ("merge", "removal"))
    rounds = Rounds(steps)
    for number in range(2, len(rounds)):
        one = rounds.round(number)
        events = one.merge if number == len(rounds) - 1 or rounds.round(number + 1).merge > one.merge else None
        if events is not None:
            assert rounds.state(number).ids.tolist() == tokenizer.at(events).encode(text)
        if one.kind == "removal":
            assert tokenizer.at(one.merge - 1).tokens[one.left] == b"".join(
                tokenizer.at(one.merge).tokens[part] for part in one.parts
            )


@given(texts, st.sampled_from([0.0, 0.3, 0.6]), st.text("abc ", min_size=1, max_size=30), st.data())
def test_steps_are_the_encoding(texts, threshold, text, data):
    config = TrainingConfig(vocabulary_size=280, algorithm=Picky(threshold=threshold))
    tokenizer = train(Corpus.from_texts(texts), config)
    whole = finish(steps_work(tokenizer, text))
    check(whole, tokenizer, text)
    merges = data.draw(st.integers(0, len(tokenizer.merges)))
    fewer = finish(steps_work(tokenizer, text, merges))
    check(fewer, tokenizer, text)
    again = whole.at(merges)
    for name in ("starts", "stops", "ids", "first", "gone", "parents", "merges", "lefts", "rights", "wholes"):
        assert np.array_equal(getattr(again.pieces, name), getattr(fewer.pieces, name)), name


def test_a_removal_is_a_step():
    tokenizer = train(Corpus.from_texts(["abc"] * 10 + ["abd"] * 9 + ["ab"]), config_of())
    steps = finish(steps_work(tokenizer, "abd", 2))
    assert [steps.step(number).kind for number in range(len(steps))] == [
        "pre-tokens",
        "base tokens",
        "merge",
        "removal",
    ]
    last = steps.step(3)
    assert (last.merge, last.left, last.start, last.stop) == (2, 256, 0, 2)
    one = Rounds(steps).round(3)
    assert (one.kind, one.merge, one.left, one.parts, one.starts.tolist()) == ("removal", 2, 256, (97, 98), [0])


@pytest.mark.parametrize("merges", [0, 1, 2, 5, None])
def test_every_part_of_a_text_has_an_answer(merges):
    tokenizer = train(Corpus.from_text(TEXT), config_of())
    text = "abc abd the other cat"
    steps = finish(steps_work(tokenizer, text, merges))
    for start in range(len(text)):
        for stop in range(start + 1, len(text) + 1):
            why = why_not_one(steps, start, stop)
            last = steps.tokens
            alone = bool(np.any((last.starts == start) & (last.stops == stop)))
            assert (why.kind == "one") == alone, why


def test_a_token_that_fell_apart_is_told():
    tokenizer = train(Corpus.from_texts(["abc"] * 10 + ["abd"] * 9 + ["ab"]), config_of())
    steps = finish(steps_work(tokenizer, "abd", 2))
    why = why_not_one(steps, 0, 2)
    assert (why.kind, why.token, why.merge, why.taken_by) == ("fell apart", 256, 1, 2)
    assert why.sentence == (
        '"ab" was one token, until merge 2 removed it from the vocabulary: it fell into "a" and "b".'
    )
    never = why_not_one(finish(steps_work(tokenizer, "xb", 2)), 0, 2)
    assert never.kind == "missing"


# --- Test boundless ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tokenizer():
    return train(
        Corpus.from_text(BOUNDLESS_TEXT),
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
        ("the 12 of", " 12 of", "border", '"·12" has no letter, and supermerges join only words'),
        ("the . of", " . of", "border", '"·." is not one token'),
        ("of the end", "f the", "border", 'It has only a part of "of"'),
        ("cats of dogs", " of dogs", "missing", "No merge joins"),
    ],
)
def test_why_words_are_not_one_token(tokenizer, text, part, kind, words):
    steps, start = finish(steps_work(tokenizer, text)), text.index(part)
    why = why_not_one(steps, start, start + len(part))
    assert (why.kind, words in why.sentence) == (kind, True), why.sentence


def test_occurrences_of_a_supermerge_are_those_of_the_encoded_corpus(tokenizer):
    corpus = Corpus.from_text(BOUNDLESS_TEXT)
    uses = finish(count_uses_work(tokenizer, corpus))
    for token in (token_of(tokenizer, " of the"), token_of(tokenizer, " end")):
        search = Search(corpus, TokenFinder(tokenizer, [token]))
        finish(search.find_work())
        assert len(search) == uses[token] == tokenizer.run.uses()[token]
    with pytest.raises(ConfigError, match="which word counts do not have"):
        finish(count_uses_work(tokenizer, Corpus.from_counts({"the": 3})))


def test_what_was_trained_is_reached(tokenizer):
    assert np.all(finish(reachability_work(tokenizer)) == REACHED)


def test_it_cannot_be_changed(tokenizer):
    with pytest.raises(ConfigError, match="its supermerges join only words that are whole tokens"):
        prune(tokenizer, [300])
    assert tokenizer.at(tokenizer.supermerges.argmax()).compact().supermerges is None


def test_why_a_merge_says_its_phase_and_the_count_that_it_came_before(tokenizer):
    run, corpus = tokenizer.run, Corpus.from_text(BOUNDLESS_TEXT)
    kinds = np.sign(run.columns["overtaken"])
    assert {-1, 0, 1} == set(kinds.tolist())
    for number in [*range(1, len(run), 3), *(1 + np.unique(kinds, return_index=True)[1]).tolist()]:
        why = finish(why_work(corpus, run, number))
        left, right = run.merges[number - 1].tolist()
        assert (why.number, why.chosen) == (number, PairCount(left, right, run.counts[number - 1]))
        assert why.overtaken == run.columns["overtaken"][number - 1]
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
