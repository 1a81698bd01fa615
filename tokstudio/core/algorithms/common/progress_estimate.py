"""The progress of merging, by work rather than by merges: the first merges take far longer than the last.

While counts fall to an eighth, replacing takes about the same time at any count: there are as many times more pairs as
they are rarer. Other work is measured in that unit, on 10 and 100 MB with and without a pattern.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from math import inf, log
from typing import Protocol

# A round's floor as a share of the highest count that a pair can have in it. Each round costs a pass over the rest of
# the corpus and makes it denser; the lower the floor, the more pairs are stored that are never merged, and the more
# memory the first round takes. Measured at 10 and 100 MB.
FLOOR_STEP = 8
_FALL = 8
_A_ROUND = 0.8
_A_MERGE = 150  # divided by the number of positions
_STEEPNESS = 1.1  # the assumed power by which counts fall with the number of merges
_SEEN_FROM = 40  # merges until the power is measured
_LEAST_STEEP, _MOST_STEEP = 1.0, 2.0
_STEP = 1.1  # ratio of the numbers of two noted merges


def merging_work(positions: float, merges: float, falls: float) -> float:
    """The work of a whole merging in a unit for corpora of any size, with `falls` of the count to an eighth."""
    return positions * falls * (1 + _A_ROUND * log(_FALL, FLOOR_STEP)) + _A_MERGE * merges


def further_falls(ratio: float) -> float:
    """How often counts fall to an eighth while the number of merges grows by `ratio`."""
    return _STEEPNESS * falls_of(ratio)


def falls_of(ratio: float) -> float:
    """How often a value must fall to an eighth to fall by `ratio`; 0 where it does not fall."""
    return log(max(1.0, ratio), _FALL)


class _Merger(Protocol):
    @property
    def floor(self) -> int: ...
    @property
    def counted(self) -> float: ...


class MergingProgress:
    """Measures the progress of merging, which ends at `limit` merges (None: no limit) or at the count `least`."""

    def __init__(self, positions: int, limit: int | None, least: int) -> None:
        self._a_merge = _A_MERGE / max(1, positions)
        self._limit = limit
        self._least = least
        self._noted: list[tuple[int, int]] = []  # numbers of merges, and their counts
        self._made = self._count = 0
        self._floor = self._rounds = 0
        self._share = 0.0

    def note(self, engine: _Merger, merges: int, count: int) -> None:
        """Records the latest merge: its number and its count."""
        if not self._noted or merges >= self._noted[-1][0] * _STEP:
            self._noted.append((merges, count))
        self._made, self._count = merges, count
        self._floor = self._floor or engine.floor

    def share(self, engine: _Merger) -> float:
        """The done share of the work, from 0 to 1; it never decreases. The first count of pairs is not included."""
        if not self._noted:
            return 0.0
        if engine.floor != self._floor:
            self._floor = engine.floor
            self._rounds += 1
        begun = self._rounds - (1 - engine.counted) * (self._rounds > 0)
        done = falls_of(self._noted[0][1] / self._count) + _A_ROUND * begun + self._a_merge * self._made
        left = self._left() + _A_ROUND * (self._rounds - begun)
        if done + left > 0:
            self._share = max(self._share, done / (done + left))
        return self._share

    def _left(self) -> float:
        """The remaining work, without that of the current round's count."""
        steepness = self._steepness()
        falls = steepness * falls_of(self._limit / self._made) if self._limit is not None else inf
        if self._limit is None or self._least > 1:
            # Many pairs have the same low count, so merging goes on for a while after that count is reached.
            falls = min(falls, falls_of(max(1.0, (self._count + 0.5) / self._least)))
        last_count = self._count / _FALL**falls
        rounds, floor = 0, self._floor
        while floor > max(self._least, last_count):
            floor = next_floor(floor, self._least)
            rounds += 1
        merges = self._made * (_FALL ** (falls / steepness) - 1)
        return falls + _A_ROUND * rounds + self._a_merge * merges

    def _steepness(self) -> float:
        if self._made < _SEEN_FROM:
            return _STEEPNESS
        merges, count = next(noted for noted in self._noted if noted[0] >= self._made // 4)
        if merges == self._made or count <= self._count:
            return _LEAST_STEEP
        seen = log(count / self._count) / log(self._made / merges)
        return min(_MOST_STEEP, max(_LEAST_STEEP, seen))


def next_floor(floor: int, final_floor: int) -> int:
    """The floor of the round after one with `floor`."""
    # Where floor 1 is allowed, floor 2 comes before it, because it stores far fewer pairs.
    lowest = 2 if floor > 2 else 1
    return max(final_floor, lowest, floor // FLOOR_STEP)
