"""The merging of parity-aware BPE: the plain engine, with a loop in which the languages choose by turns."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.algorithms.bpe.engine import PairEngine
from tokstudio.core.algorithms.common.engines import Allows, ChosenMerges, Room
from tokstudio.core.algorithms.common.units import Languages, Units
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.kernels import parity
from tokstudio.core.kernels import tables as k
from tokstudio.core.kernels.parity import LanguageChoice, count_by_language, language_to_choose, merge_by_language
from tokstudio.core.kernels.tables import Tables
from tokstudio.core.model.algorithms import ParityAware
from tokstudio.core.model.config import TrainingConfig

_PIECE = 400_000  # places counted by language in one piece of work


@dataclass(frozen=True, eq=False)
class Turn:
    """What decides the next merge."""

    language: int  # the number of the language that chooses; -1 where all choose together, or none is left
    # float64 [languages], tokens of the parallel texts, or bytes per token divided by the ratio; NaN for a language
    # that never chooses.
    scores: NDArray[np.float64]
    passed_over: tuple[int, ...]  # the languages that would come before it, but chose too often lately


class ParityEngine(PairEngine):
    """Merges the most frequent pair of the language whose turn it is, again and again; see `PairEngine`.

    The text of the languages must have weights, and parallel texts must have none.
    """

    def __init__(
        self, units: Units, languages: Languages, final_floor: int, scale: int = 1, allows: Allows | None = None
    ) -> None:
        config, amount = languages.config, len(languages)
        algorithm = config.algorithm
        assert isinstance(algorithm, ParityAware)
        base, window = len(units.token_bytes), algorithm.window or 0
        self._filled = False
        self._choose = languages.choose
        self._ends = base + languages.ends
        measures = languages.measures
        numbers = np.zeros(parity.NUMBERS_SIZE, np.int64)
        numbers[parity.LANGUAGES], numbers[parity.TOGETHER] = amount, algorithm.global_merges
        numbers[parity.FINAL_FLOOR], numbers[parity.WINDOW] = final_floor, window
        self._choice = LanguageChoice(
            numbers=numbers,
            sections=np.zeros(len(languages.ends) + 1, np.int64),
            measures=np.concatenate([np.zeros(base, np.int64), measures]) if len(measures) else measures,
            counts=np.zeros((0, 0), np.int64),
            heaps=np.zeros((0, 0, 3), np.int64),
            sizes=np.zeros(amount + 1, np.int64),
            lengths=languages.lengths.copy(),
            text_bytes=languages.bytes,
            ratios=languages.ratios,
            exhausted=(~languages.choose).astype(np.int64),
            window=np.zeros(window, np.int64),
            recent=np.zeros(amount, np.int64),
            share=np.array([algorithm.alpha / amount]),
            chosen_by=np.zeros(0, np.int64),
        )
        super().__init__(units, config.tie_break, final_floor, config.max_token_bytes, scale, allows)
        self._choice = self._choice._replace(chosen_by=np.zeros(len(self._tables.out), np.int64))

    def advance(self, merges: int | None = None) -> ChosenMerges | None:
        """Makes at most `merges` merges in one piece of work; a merge is made whole, so that a first one may be long.

        Returns:
            The merges; None when no language has a pair that reaches the final floor.
        """
        chosen = super().advance() if merges is None else super().advance(merges)
        return chosen and replace(
            chosen, columns={"chosen_by": self._choice.chosen_by[: len(chosen.left)].astype(np.int16)}
        )

    def turn(self) -> Turn:
        """What decides the next merge. For use between two merges."""
        choice = self._choice
        scores = choice.lengths.astype(np.float64)
        scores[~self._choose] = np.nan
        if not len(choice.measures):
            scores = choice.text_bytes / np.maximum(scores, 1) / choice.ratios
        if choice.numbers[parity.TOGETHER] > 0:
            return Turn(-1, scores, ())
        language = int(language_to_choose(choice))
        lasting = choice.numbers.copy()
        lasting[parity.WINDOW] = 0
        without, passed = choice._replace(numbers=lasting, exhausted=choice.exhausted.copy()), list[int]()
        while (first := int(language_to_choose(without))) not in (language, -1):
            passed.append(first)
            without.exhausted[first] = 1
        return Turn(language, scores, tuple(passed))

    def turn_of(self, language: int) -> Turn:
        """The same, where it is known which language chooses: those whose turn comes before have no pair left."""
        while (turn := self.turn()).language not in (language, -1):
            self._choice.exhausted[turn.language] = 1
        return turn

    def has_eligible_pair(self) -> bool:
        """Whether any two neighbours in the text of a language that chooses may still be merged, however rare."""
        whole, sections, is_eligible = int(self._state[k.LENGTH]), self._sections(), False
        for language in np.flatnonzero(self._choose).tolist():
            self._state[k.LENGTH] = sections[language + 1]
            is_eligible = is_eligible or self._has_eligible_pair(int(sections[language]))
        self._state[k.LENGTH] = whole
        return is_eligible

    def _counts_work(self) -> Work[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """The same for the text of the language whose turn it is, where one chooses."""
        language, state = self.turn().language, self._state
        if language < 0:
            return (yield from super()._counts_work())
        while not self._fill(_PIECE):
            yield Progress("counting")
        t, amount = self._tables, int(state[k.PAIRS]) - 1
        pairs = t.pairs[1 : amount + 1]
        # The places of each pair are in ascending order: so are all of them, after the number of the pair.
        places = np.repeat(np.arange(amount), pairs[:, k.STOP] - pairs[:, k.START]) << 32 | t.pool[1 : state[k.POOL]]
        begin: NDArray[np.int64] = np.arange(amount) << 32 | int(self._choice.sections[language])
        first = np.minimum(np.searchsorted(places, begin), max(0, len(places) - 1))
        return self._choice.counts[1 : amount + 1, language].copy(), t.pool[1 : state[k.POOL]][first]

    def _loop(self, tables: Tables, state: NDArray[np.int64], budget: int, batch: int) -> int:
        if not self._fill(budget):
            return k.BUDGET_SPENT
        return merge_by_language(tables, self._choice, state, budget, batch)

    def _fill(self, budget: int) -> bool:
        """Goes on with the counts by language; returns whether they are complete."""
        if not self._filled:
            if not self._choice.numbers[parity.FILLED]:
                self._begin_filling()
            self._filled = bool(count_by_language(self._tables, self._choice, self._state, budget))
        return self._filled

    def _begin_filling(self) -> None:
        choice, pairs = self._choice, len(self._tables.pairs)
        choice.sections[:] = self._sections()
        choice.sizes[:] = 0
        choice.numbers[parity.FILLED] = 1
        together = choice.numbers[parity.TOGETHER] > 0
        columns = int(choice.numbers[parity.LANGUAGES] + together)
        if choice.counts.shape != (pairs, columns):
            counts, heaps = np.empty((pairs, columns), np.int64), np.empty((columns, pairs, 3), np.int64)
            self._choice = choice._replace(counts=counts, heaps=heaps)

    def _sections(self) -> NDArray[np.int64]:
        """Where each section begins, and the end of the last; a position keeps its origin when the corpus shrinks."""
        ends = np.searchsorted(self._tables.origin[: self._state[k.LENGTH]], self._ends)
        return np.concatenate([np.zeros(1, np.int64), ends])

    def _begin_round(self, floor: int) -> None:
        super()._begin_round(floor)
        self._fill_again()

    def _make_room(self) -> None:
        super()._make_room()
        self._fill_again()

    def _fill_again(self) -> None:
        self._filled = False
        self._choice.numbers[parity.FILLED] = 0

    def _next_pair(self) -> int:
        return int(self._state[k.PAIR])

    def _refuse(self, pair: int) -> None:
        super()._refuse(pair)
        self._choice.counts[pair] = 0

    def _allocate(self, units: Units, by_bytes: bool) -> Tables:
        # The origin of a position says which section it is in.
        return super()._allocate(units, by_bytes=True)


class ParityRoom(Room):
    """Parity-aware BPE; `common.languages` lays its corpus out by language."""

    def merger(
        self, units: Units, config: TrainingConfig, floor: int, scale: int, allows: Allows | None
    ) -> ParityEngine:
        """See `Room`."""
        assert units.languages is not None
        return ParityEngine(units, units.languages, floor, scale, allows)


ROOM = ParityRoom()
