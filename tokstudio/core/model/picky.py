"""The settings of Picky BPE, with their checks, and what follows from the list of its events.

An event is a merge with the removals after it. `Run.removals` has a row for each merge, int64 [n, 4]: the id that it
made, how many places it replaced, and how many places of its left and its right part fell apart after it, -1 for a part
that stays. A removed part that stood nowhere any more has 0.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import ConfigError

THRESHOLD = 0.9  # of the paper
#: Columns of the rows.
RESULT, REPLACED, LEFT_GONE, RIGHT_GONE = range(4)


class _Settings(Protocol):
    """The part of a `TrainingConfig` that is checked here."""

    @property
    def algorithm(self) -> str: ...
    @property
    def threshold(self) -> float: ...


def check_picky(config: _Settings) -> None:
    """Makes the threshold a float; raises ConfigError where it is invalid, or the algorithm is another.

    A share is above 0 and at most 1: at 1 nothing is removed, at 0 every part of a merge but base tokens.
    """
    threshold: object = config.threshold
    if config.algorithm != "picky":
        if threshold != THRESHOLD:
            raise ConfigError('A threshold can only be set for Picky BPE: choose the algorithm "picky".')
    elif isinstance(threshold, bool) or not isinstance(threshold, Real) or not 0 <= float(threshold) <= 1:
        raise ConfigError(f"The threshold must be a number from 0 to 1, not {threshold!r}.")
    object.__setattr__(config, "threshold", float(config.threshold))


def share_merged(replaced: int, uses: int) -> float:
    """The share that decides: of all tokens that begin or end a new token or are still the part, the new ones.

    With m places replaced and `uses` of the part left it is m / (uses + m). For a part that was merged with another
    token, that is the share of its occurrences that were merged. For one that was merged with itself, m places took 2 m
    of its uses, but count m times.
    """
    return replaced / (uses + replaced)


@dataclass(frozen=True, eq=False)
class Falls:
    """What the removals of a run do, in their order.

    Attributes:
        merges: int64 [r], the merge that each follows, counted from 0.
        tokens: int32 [r], the removed token.
        places: int64 [r], how often it stood in the corpus.
        starts: int64 [r + 1], where its parts begin in `parts`, and the end of the last.
        parts: int32, the present tokens that it falls into.
    """

    merges: NDArray[np.int64]
    tokens: NDArray[np.int32]
    places: NDArray[np.int64]
    starts: NDArray[np.int64]
    parts: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.merges)

    def before(self, merges: int) -> int:
        """How many of them there are in so many merges."""
        return int(np.searchsorted(self.merges, merges))

    def of(self, number: int) -> NDArray[np.int32]:
        """The parts of one of them."""
        return self.parts[self.starts[number] : self.starts[number + 1]]


class Falling:
    """Finds what removed tokens fall into, for more and more events; ids below `base_size` are not made by merges."""

    def __init__(self, base_size: int) -> None:
        self._base = base_size
        self._pairs: list[tuple[int, int]] = []
        self._spelled: list[str] = []  # of each merge, its base tokens as characters
        self._newest: dict[str, int] = {}  # the last token made of them
        self._present: set[int] = set()
        self._rows: list[tuple[int, int, int]] = []
        self._starts: list[int] = [0]
        self._parts: list[int] = []

    def follow(self, merges: NDArray[np.int32], rows: NDArray[np.int64]) -> None:
        """Adds these events, which begin with those of earlier calls."""
        done = len(self._pairs)
        for (left, right), row in zip(merges[done:].tolist(), rows[done:].tolist(), strict=True):
            self._add(left, right, row)

    def at(self, merges: NDArray[np.int32], rows: NDArray[np.int64]) -> Falls:
        """The falls in all these events; see `follow`."""
        self.follow(merges, rows)
        columns = np.array(self._rows, np.int64).reshape(-1, 3)
        return Falls(
            columns[:, 0],
            columns[:, 1].astype(np.int32),
            columns[:, 2],
            np.array(self._starts, np.int64),
            np.array(self._parts, np.int32),
        )

    def _add(self, left: int, right: int, row: list[int]) -> None:
        self._pairs.append((left, right))
        spelled = self._spell(left) + self._spell(right)
        self._spelled.append(spelled)
        if row[RESULT] == self._base + len(self._pairs) - 1:
            self._newest[spelled] = row[RESULT]
            self._present.add(row[RESULT])
        gone = [(part, places) for part, places in zip((left, right), row[LEFT_GONE:], strict=True) if places >= 0]
        self._present.difference_update(part for part, _ in gone)
        for part, places in gone:
            self._rows.append((len(self._pairs) - 1, part, places))
            self._parts += self._parts_of(part)
            self._starts.append(len(self._parts))

    def _spell(self, token: int) -> str:
        return chr(token) if token < self._base else self._spelled[token - self._base]

    def _parts_of(self, removed: int) -> list[int]:
        waiting, found = [*reversed(self._pairs[removed - self._base])], list[int]()
        while waiting:
            part = waiting.pop()
            if part >= self._base:
                part = self._newest[self._spell(part)]
            if part < self._base or part in self._present:
                found.append(part)
            else:
                waiting += reversed(self._pairs[part - self._base])
        return found


def lost(rows: NDArray[np.int64] | None, base_size: int, merges: int | None = None) -> int:
    """How many of so many merges (None: all) have no token that is present: it was there before, or was removed."""
    if rows is None:
        return 0
    rows = rows[:merges]
    repeated = rows[:, RESULT] != base_size + np.arange(len(rows))
    return int(np.count_nonzero(repeated) + np.count_nonzero(rows[:, LEFT_GONE:] >= 0))


def uses_of_picky(
    base_counts: NDArray[np.int64], merges: NDArray[np.int32], rows: NDArray[np.int64], falls: Falls
) -> NDArray[np.int64]:
    """int64 [base + n], how often each token occurs after all these events, by id; `falls` may have later ones."""
    counts = np.concatenate([base_counts, np.zeros(len(merges), np.int64)])
    np.add.at(counts, rows[:, RESULT], rows[:, REPLACED])
    for side in (0, 1):
        np.subtract.at(counts, merges[:, side], rows[:, REPLACED])
    amount = falls.before(len(merges))
    places, starts = falls.places[:amount], falls.starts[: amount + 1]
    np.subtract.at(counts, falls.tokens[:amount], places)
    np.add.at(counts, falls.parts[: starts[-1]], np.repeat(places, np.diff(starts)))
    return counts


@dataclass(frozen=True, eq=False)
class Removals:
    """The removals after some merges of a run, or none; merges are numbered from 1."""

    merges: NDArray[np.int32]  # [n, 2], as in the run
    rows: NDArray[np.int64] | None  # see `Run.removals`; None for other algorithms
    base_size: int  # ids before those of the merges

    def removed_by(self, token: int) -> int | None:
        """The number of the merge that removed a token; None where none so far did."""
        if self.rows is None:
            return None
        gone = np.flatnonzero(((self.merges == token) & (self.rows[:, LEFT_GONE:] >= 0)).any(axis=1))
        return int(gone[0]) + 1 if len(gone) else None

    def is_absent(self, number: int, merges: int) -> bool:
        """Whether the token of a merge is not there after a number of merges, because one up to there removed it.

        Where a merge makes a token that is there already, it has none of its own.
        """
        if self.rows is None:
            return False
        token = self.base_size + number - 1
        removed_by = self.removed_by(token)
        return int(self.rows[number - 1, RESULT]) != token or (removed_by is not None and removed_by <= merges)

    def present(self, merges: int) -> NDArray[np.bool_] | None:
        """Bool [merges], which of the first so many merges have a token that is there after them; None for all."""
        if self.rows is None:
            return None
        rows = self.rows[:merges]
        made = rows[:, RESULT] == self.base_size + np.arange(len(rows))
        made[self.merges[:merges][rows[:, LEFT_GONE:] >= 0] - self.base_size] = False
        return made

    def lost(self) -> NDArray[np.int64]:
        """int64 [n + 1], how many of the first 0, 1, ... n merges have no token that is there after them."""
        if self.rows is None:
            return np.zeros(len(self.merges) + 1, np.int64)
        repeated = self.rows[:, RESULT] != self.base_size + np.arange(len(self.rows))
        gone = (self.rows[:, LEFT_GONE:] >= 0).sum(axis=1)
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(repeated + gone)])
