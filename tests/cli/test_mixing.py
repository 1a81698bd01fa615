"""The commands `mixture` and `infer-mixture`: what they print, exit codes, and an interruption."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
import shlex
import signal

import pytest

from tokstudio import Corpus, MixtureGoal, TrainingConfig, infer_mixture, load, mixture_for
from tokstudio.core.base.resources import resource
from tokstudio.core.base.wording import percent_text
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


@pytest.fixture
def trained(run, tmp_path):
    """A tokenizer of the first language alone."""
    run(
        0,
        ["train", TEXTS[0], "--vocab-size", "400", "--pattern", "gpt2", "--export", f"huggingface={tmp_path / 'made'}"],
    )
    return str(tmp_path / "made")


def test_shares_of_texts_are_those_of_the_library(run, trained):
    found = infer_mixture(load(trained), Corpus.from_files(TEXTS), 100)
    given = ["infer-mixture", trained, "--candidates", *TEXTS, "--merges", "100"]
    told = run(0, [*given, "--json"]).json
    assert told == json.loads(json.dumps(found.to_plain()))
    table, sentences = run(0, given).out.split("\n\n")
    assert table.splitlines()[0].split() == ["candidate", "share", "from", "to"]
    assert table.splitlines()[1].startswith("eng_Latn.txt ")
    assert sentences.splitlines() == [found.told, *found.cautions]
    assert found.told == "From the order of 100 merges. Merges that no candidate has: none."
    alone = run(0, [*given, "--no-intervals"]).out
    assert alone.splitlines()[1] == f"eng_Latn.txt  {percent_text(found.shares[0].share, 1)}"


def test_what_cannot_be_inferred_is_one_sentence(run, trained):
    assert "one alone would have 100%" in run(1, ["infer-mixture", trained, "--candidates", TEXTS[0]]).err
    given = ["infer-mixture", trained, "--candidates", *TEXTS]
    assert "The number of merges must be" in run(1, [*given, "--merges", "49"]).err
    assert "--candidates" in run(2, ["infer-mixture", trained]).err
