"""Your turn: what a choice counts, what the best is, and the score."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokstudio import Corpus, TrainingConfig, train
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.teaching.your_turn import ROUNDS, TEXTS, YourTurn, count_pairs, join


def best_pair(game):
    return count_pairs(game.tokens).most_common(1)[0][0]


def test_a_choice_is_compared_with_the_most_frequent_pair():
    game = YourTurn("abababcb")
    choice = game.choose(("c", "b"))
    assert (choice.times, choice.best, choice.best_times) == (1, ("a", "b"), 3)
    assert game.tokens == ["a", "b", "a", "b", "a", "b", "cb"]
    assert game.best_tokens == 5
    assert game.choose(("b", "a")).times == 2
    assert game.tokens == ["a", "ba", "ba", "b", "cb"]


def test_runs_of_one_letter_are_joined_from_left_to_right():
    assert join("aaaaa", ("a", "a")) == ["aa", "aa", "a"]
    assert count_pairs("aaaaa") == {("a", "a"): 4}


@pytest.mark.parametrize("text", TEXTS.values())
def test_who_takes_the_most_frequent_pair_is_as_good_as_the_best_and_as_the_trainer(text):
    game = YourTurn(text)
    while not game.is_over:
        choice = game.choose(best_pair(game))
        assert choice.pair == choice.best
    assert len(game.choices) == ROUNDS
    assert len(game.tokens) == game.best_tokens
    trained = train(Corpus.from_text(text), TrainingConfig(vocabulary_size=256 + ROUNDS))
    assert len(game.tokens) == len(trained.encode(text))
    assert ["".join(choice.pair) for choice in game.choices] == [trained.decode([256 + at]) for at in range(ROUNDS)]


@given(st.text("abc ", min_size=0, max_size=30), st.data())
def test_whatever_is_chosen_the_tokens_are_the_text_and_counts_are_never_above_the_best(text, data):
    game = YourTurn(text)
    while not game.is_over:
        pairs = sorted(count_pairs(game.tokens))
        choice = game.choose(data.draw(st.sampled_from(pairs)))
        assert 1 <= choice.times <= choice.best_times
        assert "".join(game.tokens) == text
    assert len(game.choices) <= ROUNDS


def test_a_pair_that_is_not_there_and_a_game_that_is_over_are_refused():
    game = YourTurn("ab")
    with pytest.raises(TokStudioError, match="b and a cannot be joined"):
        game.choose(("b", "a"))
    game.choose(("a", "b"))
    assert game.is_over
    with pytest.raises(TokStudioError):
        game.choose(("a", "b"))


def test_the_score_can_be_played_again():
    game = YourTurn(TEXTS["Sea shells"])
    for pair in (("s", "h"), ("e", "l"), ("sh", "el")):
        game.choose(pair)
    score = json.loads(game.to_json("Ānanda"))
    assert score["name"] == "Ānanda"
    again = YourTurn(score["text"])
    for merge in score["merges"]:
        assert again.choose(tuple(merge["pair"])).best_times == merge["best_times"]
    assert (len(again.tokens), again.best_tokens) == (score["tokens"], score["tokens_of_best"])
    assert score["tokens_at_first"] == len(score["text"])
