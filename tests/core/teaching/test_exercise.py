"""What is written for a class: its expected files are right, and no mistake gives them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.teaching.test_check import SETTINGS, naive
from tokstudio import ConfigError, Corpus, FormatError, TokStudioError, TrainingConfig, cli, train
from tokstudio.core.base.progress import finish
from tokstudio.core.teaching.check import Checker, CheckSettings
from tokstudio.core.teaching.exercise import OWN_SETTINGS, TEXT, make_exercise_work
from tokstudio.core.teaching.submissions import read_submission
from tokstudio.core.teaching.your_turn import ROUNDS, TEXTS, YourTurn, count_pairs, join


@pytest.fixture(scope="module")
def exercise(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class") / "bpe"
    finish(make_exercise_work(folder))
    return folder


def command_of(folder):
    (line,) = [line for line in (folder / "README.txt").read_text().splitlines() if "tokstudio check" in line]
    return shlex.split(line)[1:]


def test_its_files_are_there(exercise):
    assert sorted(str(path.relative_to(exercise).as_posix()) for path in exercise.rglob("*") if path.is_file()) == [
        "README.txt", "corpus.txt", "expected/merges.txt", "expected/merges_hex.json", "expected/merges_repr.txt",
        "expected/vocab.json", "settings.json",
    ]  # fmt: skip
    assert (exercise / "corpus.txt").read_bytes() == TEXT
    assert json.loads((exercise / "settings.json").read_text())["special_tokens"] == ["<|endoftext|>"]
    assert len(json.loads((exercise / "expected" / "vocab.json").read_text())) == OWN_SETTINGS.vocabulary_size
    # No mistake makes these merges, as `test_check` finds.
    assert OWN_SETTINGS == SETTINGS
    assert tuple(naive(OWN_SETTINGS.recipe)) in read_submission(exercise / "expected").readings


@pytest.mark.parametrize("name", ["merges.txt", "merges_hex.json", "merges_repr.txt"])
def test_the_command_of_its_readme_finds_every_expected_file_identical(exercise, name, monkeypatch, capsys):
    monkeypatch.chdir(exercise)
    command = [f"expected/{name}" if part == "merges.txt" else part for part in command_of(exercise)]
    assert cli.main(command) == 0
    assert capsys.readouterr().out == f"{name}: identical, 200 merges.\n"


def test_other_texts_and_settings_are_taken(tmp_path, monkeypatch, capsys):
    settings = CheckSettings(
        vocabulary_size=270, pattern=r"\w+|\W", tie_break="first", special_tokens=("<|a b|>", "-x", "$'\"")
    )
    finish(make_exercise_work(tmp_path, b"one<|a b|>two-x three$'\" one two three", settings))
    monkeypatch.chdir(tmp_path)
    command = ["expected" if part == "merges.txt" else part for part in command_of(tmp_path)]
    assert cli.main(command) == 0
    assert capsys.readouterr().out.startswith("expected: identical, ")


def test_nothing_is_written_where_something_is_in_the_way(tmp_path):
    (tmp_path / "expected").write_text("mine")
    with pytest.raises(FormatError, match="expected is a file"):
        finish(make_exercise_work(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["expected"]
    with pytest.raises(ConfigError, match="An exercise needs a vocabulary size"):
        finish(make_exercise_work(tmp_path, settings=CheckSettings()))


def test_a_pattern_with_groups_is_read_by_its_matches():
    settings = CheckSettings(vocabulary_size=262, pattern=r"(a+)|[^a]+")
    checker = Checker(Corpus.from_texts(["baab caab daab aab aab"]), settings)
    right = finish(checker.expected_work(0))
    found = finish(checker.check_work([*right[:2], (b"x", b"y")]))
    assert found.difference.ours == right[2]
    assert found.difference.counts[1] > 0


# --- Your turn: what a choice counts, what the best is, and the score -------------------------------------------------


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
