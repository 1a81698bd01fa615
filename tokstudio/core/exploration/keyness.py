"""Keyness: which tokens or words are typical of one side of a comparison, and which of the other.

The ratio is that of Kilgarriff (2009, *Simple maths for keywords*): frequencies per million with a number added to
both, where a larger number favours more frequent words. The log-likelihood is that of Dunning (1993), of all four cells
of the table, with a sign: above 0 where the first side has more of it.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.base.arguments import plain_number, whole_number
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work
from tokstudio.core.exploration.items import Items, RunCounts, count_runs_work, unit_of
from tokstudio.core.exploration.word_list import LONGEST, ItemRuns

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

STRONGEST = 30


def keyness_ratio(a: ArrayLike, b: ArrayLike, total_a: int, total_b: int, smoothing: float = 1) -> NDArray[np.float64]:
    """(fpm of a + N) / (fpm of b + N), for N = `smoothing`; NaN where a side is empty.

    >>> float(keyness_ratio(35, 263, 112_289_776, 1_559_716_979).round(4))
    1.1224
    """
    if not total_a or not total_b:
        return np.full(np.shape(a), np.nan)
    return (1e6 * np.asarray(a) / total_a + smoothing) / (1e6 * np.asarray(b) / total_b + smoothing)


def log_likelihood(a: ArrayLike, b: ArrayLike, total_a: int, total_b: int) -> NDArray[np.float64]:
    """The log-likelihood of a word that occurs `a` and `b` times, of four cells, signed; NaN where a side is empty.

    >>> float(log_likelihood(52, 57, 50_000, 75_000).round(3))
    2.654
    """
    if not total_a or not total_b:
        return np.full(np.shape(a), np.nan)
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    share = (a + b) / (total_a + total_b)
    result = np.zeros(np.shape(a))
    for observed, expected in (
        (a, total_a * share),
        (b, total_b * share),
        (total_a - a, total_a * (1 - share)),
        (total_b - b, total_b * (1 - share)),
    ):
        # 0 ln 0 is 0; what is expected is above 0 where anything is observed.
        is_some = observed > 0
        result += observed * np.log(np.divide(observed, expected, out=np.ones_like(result), where=is_some))
    return np.copysign(2 * np.maximum(result, 0), a * total_b - b * total_a)


class Keyness(ItemRuns):
    """Tokens or words of two sides, those that are most typical of the first side first.

    `keyness[name]` is a column: "a" and "b", how often it occurs on each side; "ratio" and "log_likelihood";
    "range_a" and "range_b", the units of `part_unit` with it; "ids" int32 [rows, n] of tokens, or "text", a list.

    Attributes:
        totals: The runs of n items on each side, which the frequencies per million are of.
        smoothing: What is added to the frequencies in the ratio.
    """

    def __init__(self, items: Items, n: int, found: RunCounts, part_unit: str, smoothing: float) -> None:
        if not plain_number("smoothing", smoothing) > 0:
            raise ConfigError(f"What is added to the frequencies must be above 0, not {smoothing}.", field="smoothing")
        self.totals, self.smoothing = found.totals, smoothing
        likelihood = log_likelihood(found.counts[:, 0], found.counts[:, 1], *found.totals)
        order = np.argsort(-likelihood, kind="stable")
        columns: Any = {name: getattr(found, name)[order] for name in ("firsts", "counts", "documents", "pieces")}
        super().__init__(items, n, replace(found, **columns))
        self.part_unit, self._likelihood = part_unit, likelihood[order]

    def with_smoothing(self, smoothing: float) -> Keyness:
        """The same with another number added to the frequencies, such as 1, 10 or 100; nothing is counted again."""
        return Keyness(self._items, self.n, self._found, self.part_unit, smoothing)

    def __getitem__(self, column: str) -> NDArray[np.int64] | NDArray[np.int32] | NDArray[np.float64] | list[str]:
        counts = self._found.counts
        if column in ("a", "b"):
            return counts[:, "ab".index(column)]
        if column == "ratio":
            return keyness_ratio(counts[:, 0], counts[:, 1], *self.totals, self.smoothing)
        if column == "log_likelihood":
            return self._likelihood
        if column in ("range_a", "range_b"):
            return self._range("ab".index(column[-1]))
        return self._items_column(column, "a, b, ratio, log_likelihood, range_a or range_b")

    def strongest(self, most: int = STRONGEST) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows with the largest log-likelihood on each side, at most so many, the strongest first."""
        typical_a, typical_b = (int(np.count_nonzero(sign * self._likelihood > 0)) for sign in (1, -1))
        rows, most = np.arange(len(self)), whole_number("most", most, 0)
        return rows[: min(most, typical_a)], rows[::-1][: min(most, typical_b)]


def keyness_work(items: Items, sides: NDArray[np.int8], n: int, smoothing: float) -> Work[Keyness]:
    """Compares the documents of side 0 with those of side 1; int8 [documents], others have a number below 0.

    Raises:
        ConfigError: A side has nothing, or a number is out of its range.
    """
    if not 1 <= n <= LONGEST:
        raise ConfigError(f"Words are runs of 1 to {LONGEST}, not {n}.", field="n")
    found = yield from count_runs_work(items, n, 1, sides)
    if not all(found.totals):
        which = "first" if not found.totals[0] else "second"
        raise ConfigError(f"There is nothing to compare: the {which} side has no text.")
    sizes = np.diff(items.document_ends, prepend=0)
    filled = min(int(np.count_nonzero(sizes[sides == side])) for side in (0, 1))
    return Keyness(items, n, found, unit_of(filled), smoothing)
