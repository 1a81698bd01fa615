"""The command `mixture`: what it prints, its exit codes, and an interruption."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
import shlex
import signal

import pytest

from tokstudio import Corpus, MixtureGoal, TrainingConfig, mixture_for
from tokstudio.core.base.resources import resource
from tokstudio.core.comparison.mixture import MixtureSearch

STORY = resource("corpora/story")
LANGUAGES = ["eng_Latn", "deu_Latn", "rus_Cyrl"]
TEXTS = [str(STORY / f"{language}.txt") for language in LANGUAGES]


@pytest.fixture
def mixture(run):
    """Searches on our own story in three languages."""
    words = ["mixture", *TEXTS, "--parallel", str(STORY), "--languages", *LANGUAGES, "--vocab-size", "500"]
    return lambda code, given, says="": run(code, [*words, "--pattern", "gpt2"], given, says=says)


def test_the_weights_are_those_of_the_library(mixture):
    told = mixture(0, "--worst-premium 1.3 --json").json
    goal, config = MixtureGoal(worst_premium=1.3), TrainingConfig(vocabulary_size=500, pattern="gpt2")
    parallel = {name: (STORY / f"{name}.txt").read_text(encoding="utf-8").splitlines() for name in LANGUAGES}
    found = mixture_for(Corpus.from_files(TEXTS), config, goal, parallel)
    assert len(found.path) > 1
    assert {name: told[name] for name in found.to_plain()} == found.to_plain()


def test_the_weights_are_printed_as_train_takes_them(mixture, run):
    printed = mixture(0, "--worst-premium 1.3", says="Training 1: worst premium ")
    first, *options = printed.out.splitlines()
    assert re.match(r"Met after \d+ trainings: worst premium 1\.[0-2]\d\d \(", first)
    weights = [word for option in options for word in shlex.split(option)]
    assert weights[::2] == ["--weight"] * 3
    run(0, ["train", *TEXTS, "--vocab-size", "500", "--pattern", "gpt2", *weights])


def test_texts_of_one_name_are_printed_by_their_numbers_which_train_takes(run, tmp_path):
    texts = [tmp_path / name / "text.txt" for name in ("one", "two")]
    for text, language in zip(texts, LANGUAGES, strict=False):
        text.parent.mkdir()
        text.write_bytes((STORY / f"{language}.txt").read_bytes())
    given = [*map(str, texts), "--vocab-size", "400", "--pattern", "gpt2"]
    goal = ["--parallel", str(STORY), "--languages", *LANGUAGES[:2], "--worst-premium", "0.5", "--trainings", "4"]
    options = run(1, ["mixture", *given, *goal]).out.splitlines()[1:]
    assert [option.partition("=")[0] for option in options] == ["--weight 0", "--weight 1"]
    run(0, ["train", *given, *" ".join(options).split()])


def test_a_goal_that_is_not_met_fails_with_the_nearest(mixture):
    printed = mixture(1, "--worst-premium 0.5 --trainings 3")
    assert printed.out.startswith("Not met in 3 trainings. The goal is worst premium at most 0.5; the nearest: worst ")
    assert printed.out.count("--weight ") == 3
    said = mixture(1, "--worst-premium 0.5 --base-language fra").err
    assert 'there is no language "fra"; there are "eng_Latn", "deu_Latn", "rus_Cyrl".' in said


def test_an_interruption_keeps_the_best_so_far(mixture, monkeypatch):
    train = MixtureSearch._train_work

    def interrupted(self, weights):
        if len(self.trials) == 2:
            signal.raise_signal(signal.SIGINT)
        return train(self, weights)

    monkeypatch.setattr(MixtureSearch, "_train_work", interrupted)
    told = mixture(130, "--worst-premium 0.5 --json").json
    assert (told["ended"], told["met"], len(told["path"])) == ("stopped", False, 2)
