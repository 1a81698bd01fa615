"""What matches of custom expressions could have, compared with what they match."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from itertools import product

import pytest
import regex
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tokstudio import ConfigError
from tokstudio.core.pretokenization.patterns import REGEX, splitter
from tokstudio.core.pretokenization.possible_matches import possible_matches

LETTERS = "abA1 ;."
CHARACTERS = [
    "a",
    "b",
    "s",
    "日",
    "A",
    " ",
    ";",
    ".",
    r"\w",
    r"\W",
    r"\s",
    r"\d",
    r"\p{L}",
    r"\P{Lu}",
    "[a;]",
    "[^a b]",
    r"\.",
]
REPEATS = ["", "", "", "*", "+", "?", "*?", "++", "{2}", "{1,2}", "{0,2}+", "{2,}"]
CONDITIONS = [r"\b", r"\B", "^", "$", r"\A", r"\Z"]
GROUPS = ["(%s)", "(?:%s)", "(?i:%s)", "(?s-i:%s)", "(?>%s)", "(?P<n>%s)", "(?=%s)", "(?!%s)", "(?<=%s)", "(?<!%s)"]

simple = st.builds("{}{}".format, st.sampled_from(CHARACTERS), st.sampled_from(REPEATS))


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    some = st.lists(inner, min_size=1, max_size=3)
    grouped = st.builds(lambda group, part: group % part, st.sampled_from(GROUPS), inner)
    return some.map("".join) | some.map("|".join) | st.builds("{}{}".format, grouped, st.sampled_from(REPEATS))


expressions = st.recursive(simple | st.sampled_from(CONDITIONS), larger, max_leaves=8)


@settings(max_examples=60)
@given(st.sampled_from(["", "", "(?i)"]), expressions, st.text(f"{LETTERS}sſé日", max_size=12))
def test_no_part_of_a_pre_token_is_told_to_be_in_none(flag, expression, text):
    pattern = rf"{flag}{expression}|[;\s]|\S"
    try:
        pieces = [piece.decode() for piece in splitter(pattern).split(text)]
    except ConfigError:
        assume(False)
    matches = possible_matches(pattern)
    assert matches is not None
    for piece in pieces:
        assert matches.may_have(piece, whole=True)
        assert all(matches.may_have(piece[at:end]) for end in range(len(piece) + 1) for at in range(end))


@pytest.mark.parametrize(
    "pattern",
    [r"[ab]+|\D|\d\d?", r"a+b?| ?\w|.", r"(?:ab|;){2}1*|\s", "1a[^;]*;|1", "a(?:b(?:1|;)?)*", "(?i:ab)1{1,3}|()"],
)
def test_without_conditions_exactly_what_is_within_a_match_is_possible(pattern):
    texts = ["".join(text) for size in range(1, 6) for text in product(LETTERS, repeat=size)]
    matched = {text for text in texts if regex.fullmatch(pattern, text)}
    within = {text[at:end] for text in matched for end in range(6) for at in range(end)}
    matches = possible_matches(pattern)
    for text in (text for text in texts if len(text) <= 2):
        assert matches.may_have(text, whole=True) == (text in matched), text
        assert matches.may_have(text) == (text in within), text


@pytest.mark.parametrize("name", [name for name in REGEX if name != "whitespace"])
def test_published_patterns_are_read(name):
    matches = possible_matches(REGEX[name])
    assert [matches.may_have(text) for text in ("hello", " größer", "o w", "a\u0378")] == [True, True, False, False]


@pytest.mark.parametrize(
    "pattern",
    [
        r"(\w)\1|.",
        r"(?x) \w+ | .",
        r"(?V1)[\w--a]|.",
        r"\X",
        r"\w\K\W|.",
        r"(?:ab){e<=1}|.",
        "a{501}|.",
        r"\N{COMMA}|.",
    ],
)
def test_nothing_is_told_of_an_expression_that_is_not_read(pattern):
    assert splitter(pattern).pattern == pattern
    assert possible_matches(pattern) is None
