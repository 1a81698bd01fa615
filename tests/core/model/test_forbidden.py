"""Rules for tokens that must not be made."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.model.config import Forbidden, TrainingConfig, token_rule


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


def test_an_expression_that_takes_too_long_ends_the_training():
    forbidden = Forbidden([r"(a|aa|a+)+$"])
    with pytest.raises(ConfigError, match="takes too long"):
        _ = b"a" * 60 + b"b" in forbidden
