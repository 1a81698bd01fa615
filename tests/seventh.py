"""A seventh algorithm, which merges the second most frequent pair. As a plugin of pytest it is there before the window.

Nothing of the product knows it: what trains, shows, saves and exports it goes by the list of algorithms.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tokstudio.core import algorithms
from tokstudio.core.algorithms.common.engines import ChosenMerges, Room
from tokstudio.core.base.arrays import in_eight_bytes
from tokstudio.core.base.progress import Progress
from tokstudio.core.model.algorithms import Algorithm
from tokstudio.core.model.columns import LogColumn


@dataclass(frozen=True, kw_only=True)
class SecondMost(Algorithm):
    """Merges the second most frequent pair, or the only one."""

    name = "second-most"
    title = "Second-most BPE"
    purpose = "The second most frequent pair first."
    shown = (LogColumn(lambda run, merge: len(run.columns) + merge // 4, "number", export="quarter", title="Quarter"),)

    def never_rising(self, merges):
        """What is left alone in the end is more frequent than what came second before."""
        return 0


class SecondMostEngine:
    """Counts all pairs before every merge."""

    progress = Progress("merging", 1, 2)

    def __init__(self, task, units):
        weights = in_eight_bytes(units.weights, units.heavy) if len(units.weights) else np.ones(len(units.symbols), int)
        ends = np.flatnonzero(units.symbols < 0)
        parts = zip(np.split(units.symbols, ends)[1:], np.split(weights, ends)[1:], strict=True)
        self.words = [(part[1:].tolist(), int(times[1])) for part, times in parts if len(part) > 1]
        self.next, self.limit, self.floor = len(units.token_bytes), task.limit, task.floor
        self.made = 0

    @property
    def is_full(self):
        return self.made == self.limit

    def pairs(self):
        counts = Counter()
        for word, times in self.words:
            for pair in pairwise(word):
                counts[pair] += times
        return counts

    def has_eligible_pair(self):
        return len(self.pairs()) > 0

    def advance(self, merges):
        ranked = sorted((-count, pair) for pair, count in self.pairs().items() if count >= self.floor)
        if not ranked:
            return None
        count, pair = ranked[:2][-1]
        self.words = [(self.merged(word, pair), times) for word, times in self.words]
        tokens = sum(len(word) * times for word, times in self.words)
        self.next, self.made = self.next + 1, self.made + 1
        ids = (np.array([each], np.int32) for each in pair)
        return ChosenMerges(*ids, np.array([-count]), np.array([tokens]))

    def merged(self, word, pair):
        made = []
        for token in word:
            if made and (made[-1], token) == pair:
                made[-1] = self.next
            else:
                made.append(token)
        return made


class SecondMostRoom(Room):
    """Needs no compiled loop."""

    def engine(self, task, units):
        return SecondMostEngine(task, units)


algorithms.register(SecondMost, SecondMostRoom())
