"""The mixture of a corpus: entries, shares, and weights by temperature."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace

import pytest

from tokstudio.core.corpus.source import Source
from tokstudio.gui.state.training_plans import (
    AS_THEY_ARE,
    EQUAL,
    MOST,
    by_temperature,
    entries_of,
    has_mixture,
    shares,
    weight_text,
    with_weight,
)


def source(size: int, name: str = "a", group: str = "") -> Source:
    return replace(Source.from_texts(["x" * size], name), group=group)


def test_neighbours_that_were_opened_together_are_one_entry_and_a_mixture_takes_two():
    sources = (source(3, "a", "books"), source(4, "b", "books"), source(5, "c"), source(2, "d", "books"))
    assert [(entry.name, entry.places, entry.bytes) for entry in entries_of(sources)] == [
        ("books", (0, 1), 7),
        ("c", (2,), 5),
        ("books", (3,), 2),
    ]
    assert not has_mixture(sources[:2])
    assert has_mixture(sources[1:3])
    assert [entry.places for entry in entries_of((source(3), source(3)))] == [(0,), (1,)]
    for number, mixed in ((0, False), (1, False), (2, True)):
        assert has_mixture(tuple(source(1) for _ in range(number))) == mixed


def test_shares_are_of_the_weighted_bytes_and_an_entry_has_one_weight():
    sources = (source(10), source(30), source(20))
    entries = entries_of(sources)
    assert shares(sources, entries, (3000, 1000, 0)) == [0.5, 0.5, 0.0]
    assert shares(sources, entries, (0, 0, 0)) == [0.0, 0.0, 0.0]
    sources = (source(3, "a", "books"), source(4, "b", "books"), source(5, "c"))
    assert with_weight((1000, 1000, 1000), entries_of(sources)[0], 250) == (250, 250, 1000)


@pytest.mark.parametrize("exponent", [EQUAL, 0.3, 0.7, AS_THEY_ARE])
def test_shares_by_temperature_are_in_proportion_to_a_power_of_the_sizes(exponent):
    sources = (source(1000), source(64_000), source(9_000))
    entries = entries_of(sources)
    weights = by_temperature(sources, entries, exponent)
    powers = [entry.bytes**exponent for entry in entries]
    expected = [power / sum(powers) for power in powers]
    assert shares(sources, entries, weights) == pytest.approx(expected, rel=2e-3)
    assert weights[1] == 1000, "the largest text counts once"


def test_at_exponent_one_everything_counts_once_and_others_stay_within_the_limit():
    sources = (source(10), source(70), source(0))
    assert by_temperature(sources, entries_of(sources), AS_THEY_ARE) == (1000, 1000, 1000)
    sources = (source(1), source(100_000), source(0))
    assert by_temperature(sources, entries_of(sources), EQUAL) == (MOST, 1000, 1000)


@pytest.mark.parametrize(
    ("weight", "text"), [(1000, "1"), (250, "0.25"), (0, "0"), (1_000_000, "1,000"), (1001, "1.001")]
)
def test_a_weight_is_written_without_zeros_at_its_end(weight, text):
    assert weight_text(weight) == text
