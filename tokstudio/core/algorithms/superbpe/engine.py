"""SuperBPE: BPE within words up to the transition, then BPE of the text as the second stage splits it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.algorithms.bpe.engine import PlainRoom
from tokstudio.core.algorithms.common.engines import Allows, ChosenMerges, Merging, Task, allowed_beside, no_merges
from tokstudio.core.algorithms.common.prepare_corpus import PreparedCorpus, prepare_corpus_work
from tokstudio.core.algorithms.common.units import Units
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.tokenizer.tokenizer import Tokenizer

_SECOND_COUNTS = "second_counts"


class SuperEngine:
    """Makes the merges of stage 1, prepares the corpus again at the transition, and makes those of stage 2."""

    def __init__(self, room: SuperRoom, task: Task, units: Units) -> None:
        self._room, self._task = room, task
        first = task.config.first_merges(len(task.prepared.base_counts))
        assert first is not None
        self._first, self._made = first, list[NDArray[np.int32]]()
        self._merging: Merging | None = room.merging(task, units, first)
        self._preparing: Work[tuple[PreparedCorpus, Units]] | None = None
        self._preparation = Progress("reading", 0, task.corpus.bytes)
        self._start: Tokenizer | None = None
        self._second: PreparedCorpus | None = None

    @property
    def progress(self) -> Progress:
        """That of the stage, or of the second preparation."""
        return self._preparation if self._merging is None else self._merging.progress

    @property
    def is_full(self) -> bool:
        """Whether stage 2 has made all its tokens."""
        return self._second is not None and self._merging is not None and self._merging.is_full

    def advance(self, merges: int) -> ChosenMerges | None:
        """See `Engine`."""
        if self._merging is None:
            self._prepare()
            return no_merges()
        if self._second is None and self._merging.is_full:
            self._begin_second_stage()
            return no_merges()
        chosen = self._merging.advance(merges)
        if chosen is None:
            return None
        if self._second is not None:
            return replace(chosen, columns={_SECOND_COUNTS: self._second.base_counts})
        self._made.append(np.stack([chosen.left, chosen.right], axis=1))
        return chosen

    def has_eligible_pair(self) -> bool:
        """See `Engine`."""
        return self._merging is not None and self._merging.has_eligible_pair()

    def _begin_second_stage(self) -> None:
        self._merging, task = None, self._task  # frees the memory of stage 1
        alphabet, base_size = task.prepared.alphabet, len(task.prepared.base_counts)
        merges = np.concatenate([np.empty((0, 2), np.int32), *self._made])
        self._start = start_of_second_stage(merges, alphabet, base_size)
        config = task.config.as_second_stage()
        self._preparing = prepare_corpus_work(task.corpus, config, task.threads, start=self._start)

    def _prepare(self) -> None:
        """Does one piece of the preparation for stage 2."""
        assert self._preparing is not None
        try:
            self._preparation = next(self._preparing)
        except StopIteration as end:
            self._preparing, (self._second, units) = None, end.value
            limit = None if self._task.limit is None else self._task.limit - self._first
            task = replace(self._task, prepared=self._second, start=self._start)
            self._merging = self._room.merging(task, units, limit)


class SuperRoom(PlainRoom):
    """SuperBPE, whose stages are plain BPE of two splittings of the text."""

    def engine(self, task: Task, units: Units) -> SuperEngine:
        """See `Room`."""
        return SuperEngine(self, task, units)

    def merging(self, task: Task, units: Units, limit: int | None) -> Merging:
        """A stage with so many merges; stage 2 has the tokenizer of stage 1 as its start."""
        return Merging(self.new_merger(task, units), task.prepared.positions, limit, limit, task.floor)

    def allows(self, config: TrainingConfig, alphabet: Alphabet, start: Tokenizer | None) -> Allows | None:
        """See `Room`; stage 2 makes no token that is vetoed."""
        # What merges of stage 1 make is never the bytes of another of its tokens.
        is_vetoed = None if start is None else config.algorithm.is_vetoed
        return allowed_beside(config, alphabet, start, frozenset(), is_vetoed)


def start_of_second_stage(merges: NDArray[np.int32], alphabet: Alphabet, base_size: int) -> Tokenizer:
    """The tokenizer of the merges of stage 1, with which stage 2 encodes the pre-tokens of the corpus.

    It has no special tokens, so that the ids of stage 2 follow those of stage 1.
    """
    results = np.arange(base_size, base_size + len(merges), dtype=np.int32)
    return Tokenizer(merges, results, alphabet=alphabet, checked=True)


ROOM = SuperRoom()
