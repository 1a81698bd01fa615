"""Picky BPE step by step: each state is the encoding up to there, and the answers about tokens that fall apart."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.project.test_picky import TEXT, config_of
from tests.core.texts import patient
from tokstudio import Corpus, Tokenizer, TrainingConfig, train
from tokstudio.core.analysis.encoding_steps import Rounds, Steps, steps_work
from tokstudio.core.analysis.why_not_one_token import why_not_one
from tokstudio.core.base.progress import finish
from tokstudio.core.model.algorithms import Picky

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


@settings(patient, max_examples=60)
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
