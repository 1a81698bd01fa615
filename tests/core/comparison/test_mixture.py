"""Weights for a goal: each trial is a plain training, the halves are apart, and what cannot be met is told."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from tokstudio import Corpus, MixtureGoal, TrainingConfig, compare, mixture_for, train
from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.progress import finish
from tokstudio.core.base.resources import resource
from tokstudio.core.comparison.mixture import MixtureSearch, _best_step
from tokstudio.core.comparison.mixture_goal import ALL_TRIED, MET, NO_NEARER, STOPPED
from tokstudio.core.comparison.parallel_set import open_parallel_work
from tokstudio.core.pretokenization import count_words

LANGUAGES = ("eng_Latn", "deu_Latn", "rus_Cyrl")
CONFIG = TrainingConfig(vocabulary_size=500, pattern="gpt2")
UNREACHABLE = MixtureGoal(worst_premium=0.01)


@pytest.fixture(scope="module")
def parallel():
    return finish(open_parallel_work(resource("corpora/story"), LANGUAGES))


@pytest.fixture(scope="module")
def texts():
    return Corpus.from_files([resource(f"corpora/story/{language}.txt") for language in LANGUAGES])


@pytest.fixture(scope="module")
def found(texts, parallel):
    """Weights for a goal that the texts as they are do not meet."""
    as_they_are = mixture_for(texts, CONFIG, UNREACHABLE, parallel, most_trainings=1).measured
    assert as_they_are.worst_premium > 1.2
    return mixture_for(texts, CONFIG, MixtureGoal(worst_premium=as_they_are.worst_premium - 0.15), parallel)


def worst_premium(tokenizer, parallel, first):
    """As Compare measures it, of every other line."""
    lines = {name: each[first::2] for name, each in zip(parallel.languages, parallel.lines, strict=True)}
    return compare({"it": tokenizer}, lines, base="eng_Latn").figure("premium").max()


def test_a_goal_is_met_and_both_halves_are_those_of_compare(found, parallel):
    assert (found.is_met, found.ended, found.best) == (True, MET, len(found.path) - 1)
    assert 1 < len(found.path) < 40
    assert all(trial.excess > 1 for trial in found.path[:-1])
    again = train(found.mixture, CONFIG)
    assert found.measured.worst_premium == worst_premium(again, parallel, 0)
    assert found.reported.worst_premium == worst_premium(again, parallel, 1)
    assert found.measured.tokens != found.reported.tokens
    assert found.told.startswith(f"Met after {len(found.path)} trainings: worst premium")


def test_each_trial_is_a_plain_training_with_its_weights(found, texts, parallel):
    for trial in found.path:
        tokenizer = train(texts.with_weights(found.weights_of(trial)), CONFIG)
        assert worst_premium(tokenizer, parallel, 0) == trial.measured.worst_premium, trial.weights


def test_the_premiums_at_smaller_sizes_are_those_of_trainings_to_these(found, parallel):
    assert (found.sizes[0], found.sizes[-1]) == (256, 500)
    assert found.premiums[-1] == found.reported.worst_premium
    smaller = train(found.mixture, replace(CONFIG, vocabulary_size=400))
    assert found.premiums[found.sizes == 400] == worst_premium(smaller, parallel, 1)
    last = {"vocabulary_size": 500, "worst_premium": found.reported.worst_premium}
    assert found.to_plain()["by_size"] == [last]
    larger = mixture_for(found.corpus, replace(CONFIG, vocabulary_size=600), found.goal, parallel, most_trainings=1)
    by_size = {each["vocabulary_size"]: each["worst_premium"] for each in larger.to_plain()["by_size"]}
    assert sorted(by_size) == [512, 600]
    assert by_size[512] == worst_premium(train(larger.mixture, replace(CONFIG, vocabulary_size=512)), parallel, 1)


def test_neither_threads_nor_an_earlier_count_change_the_path(found, texts, parallel, monkeypatch):
    pools = []

    def pool(threads: int) -> ThreadPoolExecutor:
        pools.append(threads)
        return ThreadPoolExecutor(threads)

    monkeypatch.setattr(count_words, "ThreadPoolExecutor", pool)
    monkeypatch.setattr(count_words, "CHUNK", 500)  # else short texts are counted by one thread
    for threads in (1, 3):
        search = MixtureSearch(texts, CONFIG, found.goal, parallel, threads=threads)
        assert finish(search.work()).to_plain() == found.to_plain(), threads
    assert pools == [3]


def test_a_goal_of_the_average_and_of_the_base_is_met(texts, parallel):
    before = mixture_for(texts, CONFIG, MixtureGoal(above_average=0), parallel, most_trainings=1).measured
    goal = MixtureGoal(above_average=before.above_average - 3)
    assert mixture_for(texts, CONFIG, goal, parallel).measured.above_average <= goal.above_average
    # English alone is a training on the English text alone.
    before = mixture_for(texts, CONFIG, MixtureGoal(base_loss=0), parallel, most_trainings=1)
    alone = train(texts.with_weights({1: 0, 2: 0}), CONFIG)
    assert before.measured.alone == sum(len(alone.encode(line)) for line in parallel.lines[0][::2])
    assert before.reported.alone == sum(len(alone.encode(line)) for line in parallel.lines[0][1::2])
    goal = MixtureGoal(base_loss=before.measured.base_loss - 5)
    after = mixture_for(texts, CONFIG, goal, parallel)
    assert after.measured.base_loss <= goal.base_loss < before.measured.base_loss
    assert after.weights["eng_Latn.txt"] > after.weights["rus_Cyrl.txt"]


def test_a_goal_that_no_weights_meet_gives_the_nearest(texts, parallel):
    texts = Corpus(texts.sources[:2])  # each more makes the search much longer
    goal = MixtureGoal(worst_premium=0.9, base_loss=0)
    config = replace(CONFIG, vocabulary_size=350)
    found = mixture_for(texts, config, goal, parallel)
    assert (found.is_met, found.ended) == (False, NO_NEARER)
    assert found.path[found.best].excess == min(trial.excess for trial in found.path) < found.path[0].excess
    assert "no change of the weights came nearer. The goal is worst premium at most 0.9, base lang" in found.told
    few = mixture_for(texts, config, goal, parallel, most_trainings=4)
    assert (few.ended, few.path[-1].weights) == (ALL_TRIED, found.path[3].weights)
    assert few.told.startswith("Not met in 4 trainings. ")


def test_a_step_is_as_good_as_the_best_of_a_grid():
    chance = np.random.default_rng(5)
    places = np.stack(np.meshgrid(*[np.linspace(0, 1, 41)] * 2), axis=-1).reshape(-1, 2)
    for number in range(12):
        values, changes = chance.normal(0.2, 0.2, 1 + number % 4), chance.normal(0, 0.3, (1 + number % 4, 2))
        low, high = -chance.random(2), chance.random(2)
        best = (values + (low + places * (high - low)) @ changes.T).max(axis=1).min()
        step = _best_step(values, changes, low, high)
        assert step is not None
        assert (low - 1e-9 <= step).all()
        assert (step <= high + 1e-9).all()
        assert (values + changes @ step).max() <= max(best, -0.002) + 0.001


def test_stop_keeps_the_best_so_far(texts, parallel):
    search = MixtureSearch(texts, CONFIG, UNREACHABLE, parallel)
    work = search.work()
    while len(search.trials) < 3:
        next(work)
    search.stop()
    found = finish(work)
    assert (found.ended, len(found.path)) == (STOPPED, 3)
    assert found.path[found.best].excess == min(trial.excess for trial in found.path)
    assert found.tokenizer.merges.tolist() == train(found.mixture, CONFIG).merges.tolist()
    search = MixtureSearch(texts, CONFIG, UNREACHABLE, parallel)
    search.stop()
    with pytest.raises(ConfigError, match="stopped before its first training"):
        finish(search.work())


def test_the_weights_of_the_corpus_are_where_the_search_begins(texts, parallel):
    weighted = texts.with_weights({"deu_Latn.txt": 0, "rus_Cyrl.txt": 2.345})
    found = mixture_for(weighted, CONFIG, UNREACHABLE, parallel, most_trainings=6)
    assert found.path[0].weights == (1000, 0, 2345)
    assert {trial.weights[1] for trial in found.path} == {0}
    assert len({trial.weights for trial in found.path}) == len(found.path) > 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "A goal needs a worst premium"),
        ({"worst_premium": 0}, "must be above 0, such as 1.3, not 0"),
        ({"worst_premium": float("nan")}, "must be above 0"),
        ({"above_average": -1}, "The part above the average must be 0 per cent or more"),
        ({"base_loss": float("inf")}, "The loss of the base must be 0 per cent or more"),
    ],
)
def test_a_goal_that_is_none_is_refused(values, message):
    with pytest.raises(ConfigError, match=message):
        MixtureGoal(**values)


def test_what_cannot_be_searched_is_refused_in_a_sentence(texts, parallel):
    lines = dict(zip(parallel.languages, parallel.lines, strict=True))
    english = {"eng_Latn": lines["eng_Latn"]}

    def refused(error, message, corpus=texts, config=CONFIG, given=lines, **options):
        with pytest.raises(error, match=message):
            mixture_for(corpus, config, UNREACHABLE, given, **options)

    refused(ConfigError, "A goal is for a vocabulary size", config=TrainingConfig(min_frequency=2))
    refused(ConfigError, "The weights of 1 text cannot be searched", texts.with_weights({0: 0, 1: 0}))
    refused(CorpusError, "a parallel set needs at least two languages", given=english)
    refused(CorpusError, "each needs the same lines", given=english | {"deu_Latn": [b"eins"]})
    refused(CorpusError, "has no text in the second of every two lines", given={"eng": ["a"], "deu": ["b"]})
    refused(ConfigError, "say which language is the base", given={"x": ["a", "b"], "y": ["c", "d"]})
    refused(ConfigError, 'there is no language "fra"; there are', base="fra")
    refused(ConfigError, "At least one training", most_trainings=0)


def test_the_search_needs_no_base_that_is_english(texts, parallel):
    found = mixture_for(texts, CONFIG, UNREACHABLE, parallel, base="Russian", most_trainings=1)
    assert found.base == 2
    assert found.measured.premiums[2] == 1
    assert np.all(np.array(found.measured.tokens) > 0)
