"""An encoding in rounds, compared with the slow loop and with encoding by fewer merges."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.analysis.test_encoding_steps import POEM, runs_of_ab, stepped, tokenizers, trained, words_as_they_are
from tests.core.reference import replace
from tests.core.texts import document, documents, patient, settings_of_runs
from tokstudio.core.analysis.encoding_steps import Rounds
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.trainer import train


def ids(rounds, number):
    return rounds.state(number).ids.tolist()


@settings(patient, max_examples=80)
@given(tokenizers(), runs_of_ab)
def test_each_round_equals_one_pass_of_the_slow_loop(tokenizer, text):
    rounds = Rounds(stepped(tokenizer, text))
    slow, number = list(text), 1
    assert ids(rounds, 0) == [-1] * bool(text)
    assert ids(rounds, 1) == slow
    for merge, pair in enumerate(tokenizer.merges.tolist(), 1):
        before, slow = slow, replace(slow, *pair, 255 + merge)
        if slow == before:
            continue
        number += 1
        made = rounds.round(number)
        assert (made.kind, made.merge, [made.left, made.right], made.token) == ("merge", merge, pair, 255 + merge)
        assert ids(rounds, number) == slow
        assert len(made.starts) == len(before) - len(slow)
        state = rounds.state(number)
        assert [state.starts[i] for i in range(len(state)) if state.ids[i] == made.token] == made.starts.tolist()
    assert len(rounds) == number + 1


@settings(patient, max_examples=60)
@given(tokenizers(), runs_of_ab, st.data())
def test_fewer_merges_give_the_steps_of_the_earlier_tokenizer(tokenizer, text, data):
    merges = data.draw(st.integers(0, len(tokenizer.merges)))
    assert_same(stepped(tokenizer, text).at(merges), stepped(tokenizer, text, merges))


@settings(patient, max_examples=40)
@given(documents, settings_of_runs, document, st.sampled_from(["none", "gpt2"]), st.data())
def test_fewer_merges_of_a_trained_tokenizer(texts, chosen, text, pattern, data):
    tokenizer = train(Corpus.from_texts(texts), TrainingConfig(**chosen, pattern=pattern))
    merges = data.draw(st.integers(0, len(tokenizer.merges)))
    steps = stepped(tokenizer, text)
    assert_same(steps.at(merges), stepped(tokenizer, text, merges))
    # The round of the last merge that is applied shows the text as with so many merges.
    rounds = Rounds(steps)
    last = max((i for i in range(2, len(rounds)) if rounds.round(i).merge <= merges), default=1)
    assert ids(rounds, last) == tokenizer.at(merges).encode(text)


def assert_same(one, other):
    assert (one.data, one.merges, len(one)) == (other.data, other.merges, len(other))
    for name in vars(one.pieces):
        assert np.array_equal(getattr(one.pieces, name), getattr(other.pieces, name)), name


def test_a_round_applies_a_merge_at_all_its_places():
    rounds = Rounds(stepped(trained(pattern="gpt2"), POEM))
    merges = [rounds.round(number).merge for number in range(2, len(rounds))]
    assert merges == sorted(set(merges))
    assert max(len(rounds.round(number).starts) for number in range(2, len(rounds))) > 3


def test_a_whole_word_is_kept_until_its_merge_is_applied():
    # "ab" is one token as it is, once merge 2 has made that token of other parts.
    merges = np.array([[98, 97], [97, 98]], np.int32)
    tokenizer = Tokenizer(merges, pattern="whitespace", whole_words=[257])
    steps = stepped(tokenizer, "ab")
    assert len(steps) == 2
    for merges in range(3):
        assert_same(steps.at(merges), stepped(tokenizer, "ab", merges))
    words = stepped(words_as_they_are(), "a the then")
    assert_same(words.at(0), stepped(words_as_they_are(), "a the then", 0))


def test_special_tokens_are_in_the_first_state():
    tokenizer = trained(special_tokens=["<end>"])
    rounds = Rounds(stepped(tokenizer, "sea<end>shells", allowed_special="all"))
    end = tokenizer.special_tokens["<end>"]
    assert all(end in ids(rounds, number) for number in range(len(rounds)))
    assert ids(rounds, 0) == [-1, end, -1]


def test_an_empty_text_and_one_without_merges():
    assert len(Rounds(stepped(trained(), ""))) == 2
    assert len(Rounds(stepped(trained(), "XYZ"))) == 2
    assert ids(Rounds(stepped(trained(), "XYZ")), 1) == list(b"XYZ")


def test_an_unknown_state_is_refused():
    rounds = Rounds(stepped(trained(), "the"))
    for call in (rounds.state, rounds.round):
        with pytest.raises(ConfigError, match="There is no state 90"):
            call(90)
    with pytest.raises(ConfigError, match="No steps are known"):
        rounds.steps.at(10_000)
