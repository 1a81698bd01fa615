"""Plans of trainings with several algorithms: their own settings, why some cannot train, and what tells them apart."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.gui.languages import NAMES, PARALLEL, TEXTS
from tests.gui.person import TEXT
from tokstudio import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.model import algorithms as core
from tokstudio.core.model.settings import ALGORITHM_TITLES
from tokstudio.gui.state import training_plans
from tokstudio.gui.state.training_plans import TrainingPlan, names_of_plans, plans_of_algorithms, weights_text
from tokstudio.gui.state.training_settings import Settings

USUAL = Settings()
ONE = Corpus.from_text(TEXT)
SEVERAL = Corpus(tuple(Source.from_texts([text], name) for name, text in zip(NAMES, TEXTS.values(), strict=True)))
PAIRS = tuple(zip(NAMES, PARALLEL.values(), strict=True))


def algorithms(plans: list[TrainingPlan]) -> list[str]:
    return [plan.settings.algorithm for plan in plans]


def test_an_algorithm_has_its_settings_of_configure_only_where_it_is_chosen_there():
    chosen = Settings(2000, pattern="gpt2", algorithm="superbpe", transition=1000, max_words=3, window=5)
    kept = replace(chosen, algorithm="bpe")
    plain = chosen.with_usual("bpe", chosen, USUAL)
    assert plain.config() == Settings(2000, pattern="gpt2").config()
    again = plain.with_usual("superbpe", chosen, USUAL)
    assert (again.transition, again.max_words) == (1000, 3)
    of_others = kept.with_usual("superbpe", kept, USUAL)
    assert (of_others.transition, of_others.max_words) == (1500, 4)
    by_turns = replace(kept, parallel=PAIRS, ratios=(("de", 2.0),)).with_usual("parity", kept, USUAL)
    assert (by_turns.parallel, by_turns.ratios, by_turns.window) == ((), (), None)
    by_turns = kept.with_usual("parity", replace(kept, parallel=PAIRS), USUAL)
    assert by_turns.parallel == PAIRS
    assert by_turns.tie_break == "mapped-strings"
    assert by_turns.with_usual("bpe", kept, USUAL).tie_break == "first"


def test_weights_are_numbers_with_commas_one_for_each_entry():
    config, names = Settings(300, pattern="gpt2"), ", ".join(NAMES)
    some = ", ".join(map(str, range(1, len(NAMES) + 1)))
    plan = TrainingPlan(config, weights=some)
    assert plan.problem_on(SEVERAL) is None
    assert plan.weighted(SEVERAL).weights == tuple(1000 * number for number in range(1, len(NAMES) + 1))
    assert TrainingPlan(config).weighted(SEVERAL) is SEVERAL
    for weights, problem in (
        ("1", f"1 weight for {len(NAMES)} texts ({names}): give one for each, in order."),
        ("1, x", f"Weights are numbers with commas between them, such as 1, 0.5, 2, one for each of {names}: "),
        (", ".join("0" for _ in NAMES), "All weights are 0: give a text a larger one."),
        (", ".join("nan" for _ in NAMES), f"The weight of {NAMES[0]} must be a number from 0 to 1,000"),
    ):
        assert TrainingPlan(config, weights=weights).problem_on(SEVERAL).startswith(problem)
    fractions = TrainingPlan(Settings(90, algorithm="unigram"), weights=", ".join("0.5" for _ in NAMES))
    assert "choose whole numbers as weights" in fractions.problem_on(SEVERAL)
    assert names_of_plans([plan, TrainingPlan(config)]) == [f"weights {some}", "weights of the corpus"]
    many = TrainingPlan(config, weights=", ".join(["1"] * 30))
    assert names_of_plans([many, TrainingPlan(config)])[0] == "weights 1, 1, 1, 1, 1, 1, 1, 1, …"
    assert weights_text([1, 0.5, 1000, 0.001]) == "1, 0.5, 1000, 0.001"


def test_a_transition_keeps_its_share_of_the_size():
    chosen = Settings(2000, pattern="gpt2", algorithm="superbpe", transition=1000)
    assert chosen.with_size(600).transition == 300
    assert replace(chosen, vocabulary_size=800, transition=None).with_usual("superbpe", chosen, USUAL).transition == 400
    off = chosen.with_size(None)
    assert (off.vocabulary_size, off.transition) == (None, 1000)
    assert Settings(None, 2, algorithm="superbpe").with_size(1000).transition == 750
    assert Settings(2000, algorithm="bpe", transition=1000).with_size(500).transition == 1000


def test_every_algorithm_trains_where_there_are_languages_and_all_have_one_pattern():
    plans, reasons = plans_of_algorithms(Settings(400, parallel=PAIRS), USUAL, SEVERAL)
    assert algorithms(plans) == list(ALGORITHM_TITLES)
    assert reasons == {}
    assert {(plan.settings.pattern, plan.settings.vocabulary_size) for plan in plans} == {("gpt2", 400)}
    assert [plan.settings.parallel for plan in plans if plan.settings.algorithm == "parity"] == [PAIRS]
    own = plans_of_algorithms(Settings(400, pattern="o200k"), USUAL, SEVERAL)[0]
    assert {plan.settings.pattern for plan in own} == {"o200k"}
    assert names_of_plans(plans) == list(ALGORITHM_TITLES.values())


def test_an_algorithm_that_cannot_train_has_its_reason():
    plans, reasons = plans_of_algorithms(Settings(400), USUAL, ONE)
    assert algorithms(plans) == [name for name in ALGORITHM_TITLES if name != "parity"]
    assert list(reasons) == ["Parity-aware BPE"]
    assert "at least two languages" in reasons["Parity-aware BPE"]


def test_no_pattern_is_given_where_no_algorithm_that_can_train_needs_one(monkeypatch):
    of_bytes = ("superbpe", "whole-characters")
    known = {name: kind.title for name, kind in core.ALGORITHMS.items() if name in ("bpe", "parity", *of_bytes)}
    monkeypatch.setattr(training_plans, "ALGORITHM_TITLES", known)
    plans, reasons = plans_of_algorithms(Settings(60, base="characters"), USUAL, SEVERAL)
    assert algorithms(plans) == ["bpe", "parity"]
    assert {plan.settings.pattern for plan in plans} == {"none"}
    assert reasons["SuperBPE"] == "SuperBPE needs bytes as base tokens."
    assert "whole already" in reasons["BPE of whole characters"]


def test_where_none_can_train_the_row_of_configure_says_why():
    wrong = Settings(1)
    assert plans_of_algorithms(wrong, USUAL, ONE) == ([TrainingPlan(wrong)], {})


@pytest.mark.parametrize(
    ("settings", "corpus", "words"),
    [
        (Settings(400, algorithm="parity"), ONE, "at least two languages"),
        (Settings(400, algorithm="superbpe", transition=300), ONE, "SuperBPE needs a pattern"),
        (Settings(400, algorithm="whole-characters", base="characters"), ONE, "whole already"),
        (Settings(400, algorithm="parity", parallel=PAIRS[:1]), SEVERAL, "is missing"),
        (Settings(400, algorithm="unigram"), Corpus(SEVERAL.sources, [0.5, 1]), "whole numbers"),
    ],
)
def test_a_plan_says_why_it_cannot_be_trained_on_a_corpus(settings, corpus, words):
    assert words in (TrainingPlan(settings).problem_on(corpus) or "")


def test_names_have_tie_rules_only_where_an_algorithm_has_several():
    plain, by_turns = TrainingPlan(Settings()), TrainingPlan(Settings(algorithm="parity", tie_break="mapped-strings"))
    assert names_of_plans([plain, by_turns]) == ["Plain BPE", "Parity-aware BPE"]
    other = TrainingPlan(Settings(tie_break="bytes"))
    assert names_of_plans([plain, other, by_turns])[1:] == [
        "Plain BPE, ties bytes",
        "Parity-aware BPE, ties mapped-strings",
    ]
