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
    by_content,
    by_temperature,
    entries_of,
    has_mixture,
    may_have_content,
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


def test_equal_content_has_equal_weighted_bytes_by_byte_premiums():
    sources = (source(9000), source(40_000), source(500, "x", "box"), source(700, "y", "box"), source(800), source(0))
    mixed = entries_of(sources)
    parallel = [100, 250, 120, None, 100]
    weights = by_content(mixed, (3000, 2000, 1000, 1000, 7000, 5000), parallel)
    contents = [
        sum(sources[place].bytes * weights[place] for place in entry.places) / size
        for entry, size in zip(mixed[:3], parallel, strict=False)
    ]
    assert contents == pytest.approx([contents[1]] * 3, rel=1e-3)
    assert weights[1] == 1000, "the text that says most counts once"
    assert weights[2] == weights[3], "an entry has one weight"
    assert weights[4:] == (7000, 5000), "without a language or without text, the weight stays"
    assert by_content(mixed, weights, [None] * 5) == weights
    far = (source(1), source(100_000))
    assert by_content(entries_of(far), (1, 1), [1, 1]) == (MOST, 1000)


def test_equal_content_needs_two_texts_in_languages_of_the_parallel_texts():
    codes = ("deu_Latn", "eng_Latn")
    named = [source(1, name) for name in ("de.txt", "notes.txt", "en.txt")]
    assert may_have_content(named, codes)
    assert not may_have_content(named[:2], codes)
    assert may_have_content(named[:2], ()), "they are not known yet"
    assert not may_have_content([replace(each, group="folder") for each in named], codes)


@pytest.mark.parametrize(
    ("weight", "text"), [(1000, "1"), (250, "0.25"), (0, "0"), (1_000_000, "1,000"), (1001, "1.001")]
)
def test_a_weight_is_written_without_zeros_at_its_end(weight, text):
    assert weight_text(weight) == text
