"""The settings of a training: errors by field, and storing them in the preferences."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.model.algorithms import ParityAware, Picky
from tokstudio.core.model.config import TrainingConfig
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.widgets.fields import from_lines, to_lines

EVERYTHING = Settings(
    vocabulary_size=5000,
    min_frequency=3,
    pattern=r"\w+|\s+|[^\w\s]+",
    base="characters",
    base_vocabulary=("a", "\n", "<unk>"),
    unknown_token="<unk>",
    special_tokens=("<|end|>",),
    special_placement="first",
    tie_break="huggingface",
    max_token_bytes=16,
    held_out=0.1,
    documents="line",
)

BY_TURNS = Settings(
    algorithm="parity",
    tie_break="mapped-strings",
    parallel=(("de", "ein Haus"), ("en", "a house")),
    ratios=(("de", 1.5),),
    global_merges=10,
    window=100,
    alpha=1.5,
)


def test_the_configuration_has_the_settings():
    config = EVERYTHING.config()
    assert (config.vocabulary_size, config.min_frequency, config.pattern) == (5000, 3, r"\w+|\s+|[^\w\s]+")
    assert (config.base, config.base_vocabulary, config.unknown_token) == ("characters", ("a", "\n", "<unk>"), "<unk>")
    assert (config.special_tokens, config.special_placement) == (("<|end|>",), "first")
    assert (config.tie_break, config.max_token_bytes, config.held_out) == ("huggingface", 16, 0.1)


def test_settings_for_characters_are_kept_but_unused_with_bytes():
    settings = Settings(base_vocabulary=("a",), unknown_token="<unk>")
    assert settings.problem is None
    assert settings.config() == TrainingConfig(vocabulary_size=1000)


def test_settings_of_an_algorithm_are_kept_but_unused_with_another():
    by_turns = ParityAware(parallel=BY_TURNS.parallel, global_merges=10, window=100, alpha=1.5)
    assert BY_TURNS.config().algorithm == by_turns
    by_ratio = replace(by_turns, parallel=(), ratios=(("de", 1.5),))
    assert replace(BY_TURNS, parallel=()).config().algorithm == by_ratio
    assert replace(BY_TURNS, window=None).config().algorithm == replace(by_turns, window=None, alpha=2.0)
    assert BY_TURNS.with_algorithm("bpe", Settings()).config() == TrainingConfig(vocabulary_size=1000)


CHARACTERS = {"base": "characters"}


@pytest.mark.parametrize(
    ("kind", "field", "given"),
    [
        (ParityAware, "ratios", {"ratios": (("de", 0.0),)}),
        (ParityAware, "window", {"window": 0}),
        (ParityAware, "alpha", {"window": 9, "alpha": 0.0}),
        (TrainingConfig, "vocabulary_size", {"vocabulary_size": 257, "special_tokens": ("<s>",)}),
        (TrainingConfig, "min_frequency", {"vocabulary_size": None, "min_frequency": 1}),
        (TrainingConfig, "max_token_bytes", {"max_token_bytes": 1}),
        (TrainingConfig, "pattern", {"pattern": "a("}),
        (TrainingConfig, "pattern", {"pattern": "a*"}),
        (TrainingConfig, "special_tokens", {"special_tokens": ("a",)}),
        (TrainingConfig, "special_tokens", {"special_tokens": ("<s>", "<s>")}),
        (TrainingConfig, "base_vocabulary", CHARACTERS | {"base_vocabulary": ("a", "a")}),
        (TrainingConfig, "special_tokens", CHARACTERS | {"base_vocabulary": ("a", "<s>"), "special_tokens": ("<s>",)}),
        (TrainingConfig, "unknown_token", CHARACTERS | {"unknown_token": "<unk>"}),
    ],
)
def test_an_error_belongs_to_its_field_with_the_message_of_the_core(kind, field, given):
    settings = Settings(**({"algorithm": "parity"} if kind is ParityAware else {}) | given)
    with pytest.raises(ConfigError) as raised:
        kind(**({} if kind is ParityAware else {"vocabulary_size": 1000}) | given)
    assert dict(settings.faults) == {field: str(raised.value)}
    assert settings.problem == str(raised.value)


def test_missing_limits_are_the_error_of_no_field():
    assert not Settings(None, None).faults
    assert Settings(None, None).problem == "Set a vocabulary size, a minimum frequency, or both."


def test_all_settings_are_remembered():
    assert Settings.from_text(EVERYTHING.to_text()) == EVERYTHING
    assert Settings.from_text(Settings(None, 4).to_text()) == Settings(None, 4)
    assert Settings.from_text(BY_TURNS.to_text()) == replace(BY_TURNS, parallel=())
    assert Settings.from_plain(json.loads(json.dumps(BY_TURNS.to_plain()))) == BY_TURNS


@pytest.mark.parametrize(
    "values",
    [
        {"algorithm": "best"},
        {"parallel": [["de", 1]]},
        {"parallel": [["de"]]},
        {"parallel": {"de": "ein"}},
        {"ratios": [["de", "1"]]},
        {"ratios": [["de", True]]},
        {"global_merges": 0},
        {"window": "100", "alpha": None, "global_merges": 1.5},
    ],
)
def test_invalid_values_of_an_algorithm_get_their_defaults(values):
    assert Settings.from_plain(values) == Settings()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "17", "[" * 200_000, '{"base": "words", "held_out": "much", "special_tokens": [1]}']
)
def test_unreadable_settings_get_their_defaults(text):
    assert Settings.from_text(text) == Settings()


def test_one_unreadable_value_does_not_affect_the_others():
    assert Settings.from_text('{"vocabulary_size": true, "min_frequency": 9, "documents": "line"}') == Settings(
        min_frequency=9, documents="line"
    )


def test_entries_are_written_one_per_line_and_read_again():
    entries = (" ", "\n", "\\", "\t", "a\\nb", "<|end of text|>", "é")
    assert from_lines(to_lines(entries)) == entries
    assert to_lines(("\n", "a")) == "\\n\na"
    assert from_lines("a\n\n\\d\n") == ("a", "\\d")


def test_the_settings_of_picky_bpe_are_stored_without_its_own_tie_rule():
    picky = Settings(algorithm="picky", threshold=0.7, tie_break="bytes")
    assert Settings.from_text(picky.to_text()) == picky
    assert Settings.from_plain(json.loads(json.dumps(picky.to_plain()))) == picky
    assert not picky.has("tie_break")
    config = picky.config()
    assert (config.algorithm, config.tie_break) == (Picky(threshold=0.7), "smallest-bytes")
    assert Settings.from_plain(config.by_name()) == replace(picky, tie_break="first")
