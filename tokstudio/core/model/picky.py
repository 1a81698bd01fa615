"""What follows from the list of the events of Picky BPE.

An event is a merge with the removals after it. `Run.removals` has a row for each merge, int64 [n, 4]: the id that it
made, how many places it replaced, and how many places of its left and its right part fell apart after it, -1 for a part
that stays. A removed part that stood nowhere any more has 0.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Columns of the rows.
RESULT, REPLACED, LEFT_GONE, RIGHT_GONE = range(4)


def share_merged(replaced: int, uses: int) -> float:
    """The share that decides: of all tokens that begin or end a new token or are still the part, the new ones.

    With m places replaced and `uses` of the part left it is m / (uses + m). For a part that was merged with another
    token, that is the share of its occurrences that were merged. For one that was merged with itself, m places took 2 m
    of its uses, but count m times.
    """
    return replaced / (uses + replaced)


@dataclass(frozen=True, eq=False)
class Falls:
    """What the removals of a run do, in their order."""

    merges: NDArray[np.int64]  # int64 [r], the merge that each follows, counted from 0
    tokens: NDArray[np.int32]  # int32 [r], the removed token
    places: NDArray[np.int64]  # int64 [r], how often it stood in the corpus
    starts: NDArray[np.int64]  # int64 [r + 1], where its parts begin in `parts`, and the end of the last
    parts: NDArray[np.int32]  # int32, the present tokens that it falls into
    spans: NDArray[np.int64]  # int64 [merges], how many base tokens each merge is of

    def __len__(self) -> int:
        return len(self.merges)

    def before(self, merges: int) -> int:
        """How many of them there are in so many merges."""
        return int(np.searchsorted(self.merges, merges))

    def of(self, number: int) -> NDArray[np.int32]:
        """The parts of one of them."""
        return self.parts[self.starts[number] : self.starts[number + 1]]


def falls_of(merges: NDArray[np.int32], rows: NDArray[np.int64], base_size: int) -> Falls:
    """The falls of a run of Picky BPE: its merges, its rows of removals, and the ids before those of the merges."""
    from tokstudio.core.kernels.replay import list_falls

    gone, narrow = rows[:, LEFT_GONE:] >= 0, np.empty(0, np.min_scalar_type(max(0, base_size - 1)))
    spans, starts, parts = list_falls(read_only(merges), read_only(rows[:, RESULT]), read_only(gone), base_size, narrow)
    after, sides = np.nonzero(gone)
    return Falls(after, merges[after, sides], rows[after, LEFT_GONE + sides], starts, parts, spans)


def problem_of_events(merges: NDArray[np.int32], rows: NDArray[np.int64], base_size: int) -> str | None:
    """The first event of a file that does not follow from those before it, as the end of a sentence; None if all do.

    Each merge must join ids below its own, as `falls_of` relies on.
    """
    spelled, present = dict[int, str](), dict[str, int]()
    for number, ((left, right), row) in enumerate(zip(merges.tolist(), rows.tolist(), strict=True)):
        parts = [chr(part) if part < base_size else spelled[part] for part in (left, right)]
        if any(
            part >= base_size and present.get(text) != part for part, text in zip((left, right), parts, strict=True)
        ):
            return f"merge {number + 1:,} joins a token that was removed before it"
        text = spelled[base_size + number] = "".join(parts)
        if row[RESULT] != present.setdefault(text, base_size + number):
            return f"merge {number + 1:,} makes another token than it should"
        for part, part_bytes, places in zip((left, right), parts, row[LEFT_GONE:], strict=True):
            if places >= 0 and present.pop(part_bytes, None) != part:
                return f"merge {number + 1:,} removes a token that is not there"
    return None


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


def merged_on_in_picky(
    changes: NDArray[np.int64], merges: NDArray[np.int32], rows: NDArray[np.int64], base_size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How often tokens are merged on while a text is encoded, and how often they stand in it afterwards.

    These follow from the further tokens that each merge with its removals leaves, int64 [merges]: with m places merged,
    a part that stood in c places before, and each of which falls into a tokens where it is removed after, this is the
    sum over the removed parts of (a - 1) (c - m), less m; with 2 m for a token that is merged with itself.

    Returns:
        int64 [base + merges], by id; the second without what stood there before the first merge.
    """
    falls = falls_of(merges, rows, base_size)
    starts: list[int] = falls.starts.tolist()
    parts: list[int] = falls.parts.tolist()
    after: list[int] = falls.merges.tolist()
    removed: list[int] = falls.tokens.tolist()
    results: list[int] = rows[:, RESULT].tolist()
    places: list[int] = [0] * (base_size + len(merges))
    merged_on, fall = [0] * len(places), 0
    pairs: list[list[int]] = merges.tolist()
    for row, ((left, right), change) in enumerate(zip(pairs, map(int, changes), strict=True)):
        first, grown, per_merge = fall, -change, 1
        while fall < len(after) and after[fall] == row:
            more, token = starts[fall + 1] - starts[fall] - 1, removed[fall]
            grown += more * places[token]
            per_merge += more * ((left == token) + (right == token))
            fall += 1
        times = grown // per_merge
        for part in (left, right):
            places[part] -= times
            merged_on[part] += times
        places[results[row]] += times
        for number in range(first, fall):
            amount, places[removed[number]] = places[removed[number]], 0
            for part in parts[starts[number] : starts[number + 1]]:
                places[part] += amount
    return np.array(merged_on, np.int64), np.array(places, np.int64)


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
        is_present = rows[:, RESULT] == self.base_size + np.arange(len(rows))
        is_present[self.merges[:merges][rows[:, LEFT_GONE:] >= 0] - self.base_size] = False
        return is_present

    def lost(self) -> NDArray[np.int64]:
        """int64 [n + 1], how many of the first 0, 1, ... n merges have no token that is there after them."""
        if self.rows is None:
            return np.zeros(len(self.merges) + 1, np.int64)
        repeated = self.rows[:, RESULT] != self.base_size + np.arange(len(self.rows))
        gone = (self.rows[:, LEFT_GONE:] >= 0).sum(axis=1)
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(repeated + gone)])
