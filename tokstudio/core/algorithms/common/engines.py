"""What every algorithm's engine has in common: what it is made from, what the `Trainer` asks of it, what it gives.

It imports no compiled loops, so that settings can be checked before these are loaded.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tokstudio.core.algorithms.common.from_tokenizer import taken_by
from tokstudio.core.algorithms.common.prepare_corpus import PreparedCorpus
from tokstudio.core.algorithms.common.progress_estimate import MergingProgress
from tokstudio.core.algorithms.common.units import Units
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.columns import Columns
from tokstudio.core.model.config import Forbidden, TrainingConfig

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.tokenizer.tokenizer import Tokenizer

#: Whether a pair may be merged: ids of left and right, and the id that the merge would make.
Allows = Callable[[int, int, int], bool]


@dataclass(frozen=True)
class ChosenMerges:
    """Consecutive merges: ids of left and right, the count when chosen, tokens in the corpus afterwards."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    count: NDArray[np.int64]
    tokens_after: NDArray[np.int64]
    columns: Columns = field(default_factory=dict[str, "NDArray[Any]"])  # as in `MergeBatch`


def no_merges() -> ChosenMerges:
    """What is chosen where nothing is left."""
    pairs, counts = np.empty(0, np.int32), np.empty(0, np.int64)
    return ChosenMerges(pairs, pairs, counts, counts)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of neighbours in no order: ids of left and right, the count, and the relative place of the first."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    count: NDArray[np.int64]
    place: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.left)

    @classmethod
    def divided(
        cls,
        keys: NDArray[np.int64],
        counts: NDArray[np.int64],
        places: NDArray[np.int32],
        may_merge: Callable[[int, int], bool] | None,
    ) -> tuple[Pairs, Pairs]:
        """The pairs of keys (left * 2^32 + right) that may be merged, and the others; None where all may be."""
        left, right = keys >> 32, keys & 0xFFFFFFFF
        allowed = np.ones(len(keys), np.bool_)
        if may_merge is not None:
            allowed[:] = list(map(may_merge, left.tolist(), right.tolist()))
        yes, no = (cls(left[those], right[those], counts[those], places[those]) for those in (allowed, ~allowed))
        return yes, no


@dataclass(frozen=True, eq=False)
class Task:
    """What an engine is made from, besides the units of the corpus."""

    corpus: Corpus
    config: TrainingConfig
    prepared: PreparedCorpus
    limit: int | None  # the merges that the vocabulary size allows, if no token is removed; None for no limit
    floor: int  # the least count of a merge, in units of 1 / weight scale
    start: Tokenizer | None = None  # the tokenizer that training starts from
    threads: int | None = None


class Engine(Protocol):
    """What a `Trainer` asks of an engine; nothing else of it is known there."""

    @property
    def progress(self) -> Progress:
        """The phase, as in `Trainer.progress`."""
        ...

    @property
    def is_full(self) -> bool:
        """Whether it made all tokens that the vocabulary size allows."""
        ...

    def advance(self, merges: int) -> ChosenMerges | None:
        """Does one bounded piece of work, with at most `merges` merges; None when no pair reaches the floor."""
        ...

    def has_eligible_pair(self) -> bool:
        """Whether any two neighbours may still be merged, however rare. For use after `advance` returned None."""
        ...


class Merger(Protocol):
    """What merges one text, laid out as units, pair by pair: the part of an engine with the loops."""

    @property
    def first_count(self) -> float | None:
        """The progress of the first count of pairs, from 0 to 1; None once merging has begun."""
        ...

    @property
    def floor(self) -> int:
        """The lowest count of the pairs that are merged in this round."""
        ...

    @property
    def counted(self) -> float:
        """The progress of this round's count of pairs, from 0 to 1; 1 during its merging."""
        ...

    @property
    def is_full(self) -> bool:
        """Whether it made all tokens it shall make, where it counts them."""
        ...

    def advance(self, merges: int = ...) -> ChosenMerges | None:
        """As of an `Engine`."""
        ...

    def has_eligible_pair(self) -> bool:
        """As of an `Engine`."""
        ...

    def recount_work(self, floor: int) -> Work[tuple[Pairs, Pairs]]:
        """Counts anew all pairs that occur at least `floor` times: those that may be merged, and those refused.

        For use between two merges.
        """
        ...


class Merging:
    """The engine where one merger merges one text: up to `limit` merges, or as many as it likes where that is None.

    The progress is that of about `expected` merges on so many `positions`.
    """

    def __init__(self, merger: Merger, positions: int, limit: int | None, expected: int | None, floor: int) -> None:
        self.merger, self._limit, self._made = merger, limit, 0
        self._progress = MergingProgress(positions, expected, floor)

    @property
    def progress(self) -> Progress:
        """The first count of pairs, then merging."""
        if (share := self.merger.first_count) is not None:
            return Progress("counting", int(1000 * share), 1000)
        return Progress("merging", int(1000 * self._progress.share(self.merger)), 1000)

    @property
    def is_full(self) -> bool:
        """Whether the limit is reached, or the merger says so."""
        return self.merger.is_full or self._made == self._limit

    def advance(self, merges: int) -> ChosenMerges | None:
        """See `Engine`."""
        chosen = self.merger.advance(merges if self._limit is None else min(merges, self._limit - self._made))
        if chosen is not None and len(chosen.left):
            self._made += len(chosen.left)
            self._progress.note(self.merger, self._made, int(chosen.count[-1]))
        return chosen

    def has_eligible_pair(self) -> bool:
        """See `Engine`."""
        return self.merger.has_eligible_pair()


class Room:
    """How an algorithm trains: the base of the rooms of `core.algorithms`, each of which makes its engines.

    A room with one text and no second part only says what its merger is.
    """

    def merger(self, units: Units, config: TrainingConfig, floor: int, scale: int, allows: Allows | None) -> Merger:
        """What merges units down to counts of `floor`, in units of 1 / `scale`."""
        raise NotImplementedError

    def engine(self, task: Task, units: Units) -> Engine:
        """The engine of a prepared corpus."""
        merger = self.new_merger(task, units)
        return Merging(merger, task.prepared.positions, task.limit, task.limit, task.floor)

    def new_merger(self, task: Task, units: Units) -> Merger:
        """The merger of a task."""
        allows = self.allows(task.config, task.prepared.alphabet, task.start)
        return self.merger(units, task.config, task.floor, task.corpus.weight_scale, allows)

    def allows(self, config: TrainingConfig, alphabet: Alphabet, start: Tokenizer | None) -> Allows | None:
        """Whether a merger may merge a pair; None where every pair may be.

        After a start from a tokenizer, no merge may make the bytes of a token that it has already: only one of the two
        would ever be produced, and files that name tokens by their text cannot hold both.
        """
        return allowed_beside(config, alphabet, start, frozenset() if start is None else taken_by(start))


def allowed_beside(
    config: TrainingConfig,
    alphabet: Alphabet,
    start: Tokenizer | None,
    taken: frozenset[bytes],
    is_vetoed: Callable[[bytes], bool] | None = None,
) -> Allows | None:
    """Whether a pair may be merged whose bytes are not taken, forbidden or vetoed; None where every pair may be."""
    forbidden = Forbidden(config.forbidden)
    if not forbidden and not taken and is_vetoed is None:
        return None
    spelled = dict(alphabet.tokens)
    if start is not None:
        spelled = {token: token_bytes for token, token_bytes in enumerate(start.tokens) if token_bytes is not None}

    def allowed(left: int, right: int, result: int) -> bool:
        joined = spelled[left] + spelled[right]
        if joined in taken or joined in forbidden or (is_vetoed is not None and is_vetoed(joined)):
            return False
        spelled[result] = joined
        return True

    return allowed
