"""The mixture of a corpus: its entries, their shares, and weights that give other shares.

An entry is a source, neighbouring sources that were opened together as one folder or archive, or the parts of data sets
that are joined by value; all its sources have the same weight. Weights are in thousandths.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tokstudio.core.corpus.corpus import LARGEST_WEIGHT, ONCE
from tokstudio.core.corpus.source import Source, entries

MOST = LARGEST_WEIGHT * ONCE  # the largest weight
EQUAL, AS_THEY_ARE = 0.0, 1.0  # exponents: all shares are equal, all weights are 1


@dataclass(frozen=True)
class MixtureEntry:
    """One entry of a mixture."""

    name: str
    places: tuple[int, ...]  # of its sources in the corpus, ascending
    bytes: int


def entries_of(sources: Sequence[Source]) -> tuple[MixtureEntry, ...]:
    """The entries of a corpus, in order."""
    places: dict[tuple[str, int], list[int]] = {}
    for place, entry in enumerate(entries(sources)):
        places.setdefault(entry, []).append(place)
    return tuple(
        MixtureEntry(name, tuple(here), sum(sources[place].bytes for place in here))
        for (name, _), here in places.items()
    )


def has_mixture(sources: Sequence[Source]) -> bool:
    """Whether a corpus has several entries, so that weights make a difference."""
    return len(set(entries(sources))) > 1


def shares(sources: Sequence[Source], mixed: Sequence[MixtureEntry], weights: Sequence[int]) -> list[float]:
    """The share of each entry in the weighted bytes; all are 0 where nothing has a weight."""
    sizes = [sum(sources[place].bytes * weights[place] for place in entry.places) for entry in mixed]
    total = sum(sizes)
    return [size / total if total else 0.0 for size in sizes]


def with_weight(weights: Sequence[int], entry: MixtureEntry, weight: int) -> tuple[int, ...]:
    """The weights of all sources, with another one for an entry."""
    return tuple(weight if place in entry.places else old for place, old in enumerate(weights))


def by_temperature(sources: Sequence[Source], mixed: Sequence[MixtureEntry], exponent: float) -> tuple[int, ...]:
    """Weights of all sources for which the shares of the entries are in proportion to size ** exponent.

    The largest entry counts once, and smaller ones more often, but not more than 1,000 times. Entries without text
    count once.
    """
    largest = max((entry.bytes for entry in mixed), default=0)
    weights = [ONCE] * len(sources)
    for entry in mixed:
        weight = (largest / entry.bytes) ** (1 - exponent) if entry.bytes else 1
        for place in entry.places:
            weights[place] = min(round(ONCE * weight), MOST)
    return tuple(weights)


def weight_text(weight: int) -> str:
    """A weight in thousandths as a number: "1", "0.25"."""
    return f"{weight / ONCE:,.3f}".rstrip("0").rstrip(".")
