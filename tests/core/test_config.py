"""What a configuration refuses, and with which words."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tokstudio.core.errors import ConfigError, TokStudioError
from tokstudio.core.run import TrainingConfig


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({}, "Set a vocabulary size, a minimum frequency, or both."),
        ({"vocabulary_size": 256}, "Vocabulary size must be greater than 256."),
        ({"vocabulary_size": 0}, "Vocabulary size must be greater than 256."),
        ({"vocabulary_size": -5, "min_frequency": 2}, "Vocabulary size must be greater than 256."),
        ({"vocabulary_size": 2**31}, "Vocabulary size must be at most 2,147,483,647."),
        ({"min_frequency": 1}, "Minimum frequency must be at least 2."),
        ({"min_frequency": 0, "vocabulary_size": 300}, "Minimum frequency must be at least 2."),
        ({"vocabulary_size": 300.0}, "Vocabulary size must be a whole number, not 300.0."),
        ({"vocabulary_size": "300"}, "Vocabulary size must be a whole number, not '300'."),
        ({"min_frequency": True}, "Minimum frequency must be a whole number, not True."),
        ({"vocabulary_size": 300, "max_token_bytes": 1}, "Longest token must be at least 2 bytes."),
        ({"vocabulary_size": 300, "max_token_bytes": 2.5}, "Longest token must be a whole number, not 2.5."),
        (
            {"vocabulary_size": 300, "tie_break": "last"},
            'Tie rule "last" is not known. Known: first, lowest-id, huggingface, bytes.',
        ),
        ({"vocabulary_size": 300, "pattern": "gpt5"}, 'Pattern "gpt5" is not known. Known: none.'),
        ({"vocabulary_size": 300, "base": "words"}, 'Base "words" is not known. Known: bytes.'),
    ],
)
def test_what_cannot_work_is_refused_in_words(chosen, words):
    with pytest.raises(ConfigError) as caught:
        TrainingConfig(**chosen)
    assert str(caught.value) == words


def test_a_refused_setting_is_a_value_error_and_ours():
    with pytest.raises(ValueError, match="greater than 256") as caught:
        TrainingConfig(vocabulary_size=1)
    assert isinstance(caught.value, TokStudioError)


def test_settings_are_given_by_name():
    with pytest.raises(TypeError):
        TrainingConfig(300)  # pyright: ignore[reportCallIssue]


def test_a_configuration_is_a_value():
    config = TrainingConfig(vocabulary_size=300)
    assert config == TrainingConfig(vocabulary_size=300)
    assert hash(config) == hash(TrainingConfig(vocabulary_size=300))
    assert config != TrainingConfig(vocabulary_size=300, min_frequency=2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.vocabulary_size = 400  # pyright: ignore[reportAttributeAccessIssue]


def test_the_size_counts_all_tokens():
    assert TrainingConfig(vocabulary_size=257).max_merges == 1
    assert TrainingConfig(min_frequency=2).max_merges is None


def test_the_defaults():
    config = TrainingConfig(vocabulary_size=300)
    assert (config.pattern, config.base, config.tie_break, config.max_token_bytes) == ("none", "bytes", "first", None)


def test_the_least_that_is_allowed():
    TrainingConfig(vocabulary_size=257, min_frequency=2, max_token_bytes=2)


@pytest.mark.parametrize("size", [np.int64(300), np.int32(300)])
def test_a_size_out_of_an_array_is_a_whole_number_too(size):
    config = TrainingConfig(vocabulary_size=size)
    assert config == TrainingConfig(vocabulary_size=300)
    assert type(config.vocabulary_size) is int
