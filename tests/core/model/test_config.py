"""The checks of a configuration, with their messages."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from tests.core.texts import config_by_name
from tokstudio import Boundless, ParityAware, Picky, PlainBPE, SuperBPE, WholeCharacters
from tokstudio.core.base.errors import ConfigError, TokStudioError
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.algorithms import ALGORITHMS, OWN_SETTINGS
from tokstudio.core.model.config import Forbidden, TrainingConfig, token_rule
from tokstudio.core.training.trainer import train


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
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
            'Tie rule "last" is unknown. Choose one of: first, lowest-id, huggingface, bytes, mapped-strings.',
        ),
        ({"vocabulary_size": 300, "base": "words"}, 'Base "words" is unknown. Choose one of: bytes, characters.'),
        (
            {"vocabulary_size": 258, "special_tokens": ["<s>", "</s>"]},
            "Vocabulary size must be greater than 258 (256 bytes and 2 special tokens).",
        ),
        (
            {"vocabulary_size": 256, "special_tokens": ["<s>"], "special_placement": "first"},
            "Vocabulary size must be greater than 257 (256 bytes and 1 special token).",
        ),
        (
            {"vocabulary_size": 3, "base": "characters", "base_vocabulary": ["a", "b", "<s>"]},
            "Vocabulary size must be greater than 3 (3 in the base vocabulary).",
        ),
        ({"special_tokens": ["<s>", ""]}, "Special tokens must not contain an empty string."),
        ({"special_tokens": ["<s>", "<s>"]}, 'Special tokens must not contain "<s>" twice.'),
        ({"special_tokens": "<s>"}, "Special tokens must be a list of strings, not a single string."),
        ({"special_tokens": [7]}, "Special tokens must be strings, not 7."),
        ({"special_tokens": ["a"]}, 'Special token "a" is already a base token: choose another text.'),
        (
            {"base": "characters", "special_tokens": ["é"]},
            'Special token "é" is already a base token: choose another text.',
        ),
        (
            {"base": "characters", "base_vocabulary": ["a", "<s>"], "special_tokens": ["<s>"]},
            'Special token "<s>" is already in the base vocabulary.',
        ),
        ({"base": "characters", "base_vocabulary": ["a", "b", "a"]}, 'The base vocabulary must not contain "a" twice.'),
        ({"base": "characters", "base_vocabulary": [""]}, "The base vocabulary must not contain an empty string."),
        ({"base": "characters", "base_vocabulary": ["<s>"]}, "The base vocabulary has no characters."),
        ({"base_vocabulary": ["a"]}, "A base vocabulary needs base characters: base bytes can encode any text."),
        ({"unknown_token": "<unk>"}, "An unknown token needs base characters: base bytes can encode any text."),
        (
            {"base": "characters", "unknown_token": "<unk>"},
            'The unknown token "<unk>" must be one of the special tokens.',
        ),
        ({"special_placement": "middle"}, 'Special token placement "middle" is unknown. Choose one of: last, first.'),
        ({"min_frequency": 2**62 + 1}, "Minimum frequency must be at most 4,611,686,018,427,387,904."),
        ({"max_token_bytes": 2**70}, "Longest token must be at most 4,611,686,018,427,387,904."),
        ({"vocabulary_size": 2**70}, "Vocabulary size must be at most 2,147,483,647."),
        ({"pattern": 5}, "Pattern must be a string, not 5."),
        ({"pattern": ["a"]}, "Pattern must be a string, not ['a']."),
        ({"special_tokens": None}, "Special tokens must be a list of strings, not None."),
        ({"special_tokens": 5}, "Special tokens must be a list of strings, not 5."),
        ({"base": "characters", "base_vocabulary": 5}, "The base vocabulary must be a list of strings, not 5."),
        ({"held_out": 1.0}, "The held-out share must be at least 0 and less than 1, not 1.0."),
        ({"held_out": -0.1}, "The held-out share must be at least 0 and less than 1, not -0.1."),
        ({"held_out": float("nan")}, "The held-out share must be at least 0 and less than 1, not nan."),
    ],
)
def test_invalid_settings_are_refused(chosen, words):
    limits = {} if chosen.keys() & {"vocabulary_size", "min_frequency"} else {"min_frequency": 2}
    with pytest.raises(ConfigError) as caught:
        TrainingConfig(**limits, **chosen)
    assert str(caught.value) == words


def test_a_limit_is_needed():
    with pytest.raises(ConfigError, match=r"^Set a vocabulary size, a minimum frequency, or both\.$"):
        TrainingConfig()


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
    assert TrainingConfig(vocabulary_size=257).max_merges(256) == 1
    assert TrainingConfig(min_frequency=2).max_merges(256) is None
    assert TrainingConfig(vocabulary_size=300, special_tokens=["<s>"]).max_merges(256) == 43
    first = TrainingConfig(vocabulary_size=300, special_tokens=["<s>"], special_placement="first")
    assert (first.base_size, first.max_merges(257)) == (257, 43)
    assert TrainingConfig(vocabulary_size=300, base="characters").base_size is None


def test_a_pattern_that_cannot_work_is_refused():
    with pytest.raises(ConfigError, match="does not compile"):
        TrainingConfig(vocabulary_size=300, pattern="(a")


def test_the_defaults():
    config = TrainingConfig(vocabulary_size=300)
    assert (config.pattern, config.base, config.tie_break, config.max_token_bytes) == ("none", "bytes", "first", None)


@pytest.mark.parametrize("size", [np.int64(300), np.int32(300)])
def test_a_size_out_of_an_array_is_a_whole_number_too(size):
    config = TrainingConfig(vocabulary_size=size)
    assert config == TrainingConfig(vocabulary_size=300)
    assert type(config.vocabulary_size) is int


def test_the_least_and_the_largest_are_allowed():
    TrainingConfig(vocabulary_size=257, min_frequency=2, max_token_bytes=2)
    corpus = Corpus.from_text("abab")
    config = TrainingConfig(vocabulary_size=2**31 - 1, min_frequency=2**62, max_token_bytes=2**62)
    assert len(train(corpus, config).run) == 0
    assert len(train(corpus, TrainingConfig(vocabulary_size=300, max_token_bytes=2**62)).run) == 2


def test_messages_stay_on_one_line_whatever_stands_in_a_token():
    for specials in (["\n"], ["a\nb", "a\nb"]):
        with pytest.raises(ConfigError) as refused:
            TrainingConfig(vocabulary_size=300, special_tokens=specials)
        assert "\n" not in str(refused.value)
        assert "\\n" in str(refused.value)


# --- Algorithms as values of a configuration: by value, by name, and as files have them -------------------------------

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


# --- Rules for tokens that must not be made ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "refused", "allowed"),
    [
        ("mixed-scripts", ["aб", "日ほ", "x日"], ["ab", " б", "日本", "a1", "é", "क्"]),
        ("letters-with-digits", ["a1", " 2nd", "x²", "Ⅷa"], ["12", "ab", " 3", "一"]),
        ("split-characters", [b"\xe4\xb8\xadx"[1:], b" \xe4", b"\xad\xe4"], ["中", b"\xe4\xb8", b"\xb8\xad", "a中"]),
        ("^ qu|\\d{3}", [" queen", "a123"], ["queen", "12"]),
        ("token:the", ["the"], [" the", "then"]),
        ("bytes:e4B8", [b"\xe4\xb8"], [b"\xe4", "中"]),
    ],
)
def test_each_rule_refuses_what_it_says(rule, refused, allowed):
    forbidden = Forbidden([rule])
    raw = [text if isinstance(text, bytes) else text.encode() for text in (*refused, *allowed)]
    assert [token in forbidden for token in raw] == [True] * len(refused) + [False] * len(allowed)


@pytest.mark.parametrize("token", [b"the", b"\xe4\xb8", "日本".encode(), b"token:"])
def test_the_rule_of_a_token_refuses_it_alone(token):
    forbidden = Forbidden([token_rule(token)])
    assert token in forbidden
    assert token + b"x" not in forbidden
    assert not Forbidden([])


@pytest.mark.parametrize(
    ("rule", "words"),
    [("(", "does not compile"), ("bytes:xy", "hexadecimal"), ("a{9999}{9999}", "repeats too much")],
)
def test_a_rule_that_cannot_be_read_is_refused(rule, words):
    with pytest.raises(ConfigError, match=words):
        TrainingConfig(min_frequency=2, forbidden=[rule])


def test_an_expression_that_takes_too_long_ends_the_training(monkeypatch):
    monkeypatch.setattr("tokstudio.core.model.config._SECONDS_OF_A_MATCH", 0.05)
    forbidden = Forbidden([r"(a|aa|a+)+$"])
    with pytest.raises(ConfigError, match="takes too long"):
        _ = b"a" * 60 + b"b" in forbidden
