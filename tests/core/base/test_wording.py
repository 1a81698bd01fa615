"""How messages word numbers."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tokstudio.core.base.wording import count_text, in_units, percent_text, several, several_whole, whole_text


@pytest.mark.parametrize(
    ("count", "scale", "text"),
    [
        (0, 1, "0"),
        (1_234_567, 1, "1,234,567"),
        (1_234_000, 1_000, "1,234"),
        (1_234_500, 1_000, "1,234.5"),
        (1_020, 1_000, "1.02"),
        (7, 1_000, "0.007"),
        (0, 1_000, "0"),
        (9_007_199_254_740_993, 1, "9,007,199,254,740,993"),
        (1_000_000_000_000_001, 1_000, "1,000,000,000,000.001"),
    ],
)
def test_a_count_has_separators_and_no_more_decimals_than_it_needs(count, scale, text):
    assert count_text(count, scale) == text


def test_a_whole_count_stays_whole():
    assert [repr(in_units(*pair)) for pair in ((5, 1), (5_000, 1_000), (2_500, 1_000))] == ["5", "5", "2.5"]
    assert several(in_units(1_000, 1_000), "token") == "1 token"
    assert several(in_units(1_500, 1_000), "token") == "1.5 tokens"


@pytest.mark.parametrize(
    ("count", "scale", "text"),
    [
        (0, 1_000, "0"),
        (1, 1_000, "<1"),
        (499, 1_000, "<1"),
        (500, 1_000, "1"),
        (1_234_500, 1_000, "1,235"),
        (1_234_499, 1_000, "1,234"),
        (9_007_199_254_740_993, 1, "9,007,199,254,740,993"),
    ],
)
def test_a_rounded_count_is_whole_and_0_only_where_there_is_nothing(count, scale, text):
    assert whole_text(count, scale) == text


def test_a_rounded_count_has_its_noun():
    counts = (200, 1_000, 1_500)
    assert [several_whole(count, 1_000, "token") for count in counts] == ["<1 token", "1 token", "2 tokens"]
    assert several_whole(2, 1, "place is", "places are") == "2 places are"


def test_percent_has_a_space_that_does_not_break():
    shares = ((0.349, 0), (0.3494, 1), (12.5, 0), (0, 2))
    assert [percent_text(*each) for each in shares] == ["35\u00a0%", "34.9\u00a0%", "1,250\u00a0%", "0.00\u00a0%"]
