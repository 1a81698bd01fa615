"""Algorithms as values of a configuration: by value, by name, and as files have them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from tests.core.texts import config_by_name
from tokstudio import Boundless, ConfigError, ParityAware, Picky, PlainBPE, SuperBPE, TrainingConfig, WholeCharacters
from tokstudio.core.model.algorithms import ALGORITHMS, OWN_SETTINGS

VALUES = {
    "bpe": PlainBPE(),
    "parity": ParityAware(parallel={"de": "ein Haus", "en": "a house"}, global_merges=3, window=5, alpha=1.5),
    "superbpe": SuperBPE(transition=270, second_pattern=r"\d", max_words=2),
    "whole-characters": WholeCharacters(),
    "boundless": Boundless(),
    "picky": Picky(threshold=0.5),
}


@pytest.mark.parametrize("name", [name for name in VALUES if name != "superbpe"])
def test_a_name_stands_for_the_value_without_settings(name):
    by_name = TrainingConfig(vocabulary_size=300, pattern="gpt2", algorithm=name)
    assert by_name.algorithm == ALGORITHMS[name]()
    assert by_name == TrainingConfig(vocabulary_size=300, pattern="gpt2", algorithm=ALGORITHMS[name]())


def test_superbpe_needs_a_transition_by_name_too():
    with pytest.raises(ConfigError, match="needs a transition"):
        TrainingConfig(vocabulary_size=300, pattern="gpt2", algorithm="superbpe")


@pytest.mark.parametrize("unknown", ["best", "", None, 3, Picky])
def test_anything_else_is_no_algorithm(unknown):
    with pytest.raises(ConfigError, match=r"is unknown\. Choose one of: bpe, parity, superbpe"):
        TrainingConfig(vocabulary_size=300, algorithm=unknown)


@pytest.mark.parametrize("name", VALUES)
def test_a_configuration_by_name_is_the_same_again(name):
    config = TrainingConfig(vocabulary_size=300, pattern="gpt2", algorithm=VALUES[name])
    plain = config.by_name()
    assert plain["algorithm"] == name
    assert [*plain][-len(OWN_SETTINGS) - 1 :] == [
        *("algorithm", "parallel", "ratios", "global_merges", "window", "alpha"),
        *("transition", "second_pattern", "max_words", "threshold"),
    ]
    assert config_by_name(**plain) == config


def test_values_never_change_and_are_the_same_where_their_settings_are():
    assert Picky(threshold=1) == replace(Picky(), threshold=1.0)
    assert hash(Picky(threshold=1)) == hash(Picky(threshold=1.0))
    assert WholeCharacters() != PlainBPE()
    with pytest.raises(FrozenInstanceError):
        Picky().threshold = 0.5
    assert str(Picky(threshold=0.5)) == "Picky(threshold=0.5)"
