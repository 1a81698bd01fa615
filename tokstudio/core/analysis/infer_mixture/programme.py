"""The linear programme of mixtures: shares of texts under which each merge was the most frequent pair of its time.

Its rows are generated: those that a solution violates most are added until none is violated (Hayase et al. 2024,
"Data Mixture Inference: What do BPE Tokenizers Reveal about their Training Data?", arXiv:2407.16607).
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.analysis.infer_mixture.pair_counts import PairRecords
from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.kernels.pair_history import find_violations

PER_BYTES = 1000  # counts are for so many bytes of a text, where the solver's tolerance of 1e-7 is small
TOLERANCE = 1e-6  # what a count may be above its bound
ROWS = 30  # added in a round: with more, the solver takes longer where many pairs violate the order
ITERATIONS = 1000  # of the solver, between two reports of progress
_ROWS_OF_A_STEP = 10
_RECORDS = 1 << 18  # looked at by one call
_DEVEX = 1  # the pricing of the dual simplex that took least time


@dataclass(frozen=True, eq=False)
class Solution:
    """What the programme gives."""

    shares: NDArray[np.float64]  # float64 [texts], with the sum 1
    objective: float  # the sum of all slacks, in occurrences per `PER_BYTES` bytes
    misfit: float  # the same over the sum of the counts of all merges in the mixture
    rows: tuple[tuple[int, int], ...]  # the records and steps of all rows that were generated
    basis: Any  # the solver's basis, from which a programme with the same rows starts near its solution


def solve_work(
    records: PairRecords,
    counted: NDArray[np.bool_],
    totals: NDArray[np.float64],
    sizes: NDArray[np.float64],
    near: Solution | None = None,
) -> Work[Solution]:
    """Minimises the sum of slacks v of steps and u of pairs.

    For every step t and pair p: sum over texts l of a(l) (c(l, p, t) - c(l, m(t), t)) <= v(t) + u(p), with a, u, v >= 0
    and the sum of a 1; c are counts per byte and m(t) the pair of merge t.

    Args:
        records: The pairs.
        counted: bool [steps], which steps have rows; those whose pair no text has never do.
        totals: float64 [records, texts], the counts.
        sizes: float64 [texts], the bytes of each text, above 0.
        near: The solution for similar counts, with whose rows and basis it begins.
    """
    programme = _Programme(records, counted, totals, PER_BYTES / sizes)
    if near is not None:
        programme.begin_at(near)
    while True:
        yield from programme.optimise_work()
        new = yield from programme.violated_work()
        if not new:
            return programme.solution()
        programme.add(new)


class _Programme:
    def __init__(
        self, records: PairRecords, counted: NDArray[np.bool_], totals: NDArray[np.float64], scales: NDArray[np.float64]
    ) -> None:
        import highspy

        class Quiet(highspy.Highs):
            """The solver; its constructor would print its name."""

            def enableCallbacks(self) -> None:
                self.setOptionValue("output_flag", False)
                super().enableCallbacks()

        self.rows: dict[tuple[int, int], None] = {}
        self._records, self._totals, self._scales = records, totals, scales
        texts, steps = len(scales), len(records.of_merges)
        known = records.of_merges >= 0
        self._of_merges = np.zeros((steps, texts))
        self._of_merges[known] = totals[records.of_merges[known]] * scales
        self._has_rows = counted & (self._of_merges > 0).any(axis=1)
        self._slack_of: dict[int, int] = {}  # the column of each pair that has rows
        self._infinity: float = highspy.kHighsInf
        self._statuses: Any = highspy.HighsModelStatus
        self._highs: Any = Quiet()
        for option, value in (
            *(("threads", 1), ("parallel", "off"), ("solver", "simplex"), ("presolve", "off")),
            *(("simplex_dual_edge_weight_strategy", _DEVEX), ("simplex_iteration_limit", ITERATIONS)),
        ):
            self._highs.setOptionValue(option, value)
        self._columns = 0
        self._add_columns(np.zeros(texts))
        self._add_columns(np.ones(steps))
        self._highs.addRow(1.0, 1.0, texts, np.arange(texts, dtype=np.int32), np.ones(texts))
        self._values = np.zeros(self._columns)

    def _add_columns(self, costs: NDArray[np.float64]) -> None:
        n, nothing = len(costs), (np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))
        self._highs.addCols(n, costs, np.zeros(n), np.full(n, self._infinity), 0, *nothing)
        self._columns += n

    def add(self, rows: Sequence[tuple[int, int]]) -> None:
        """Adds rows, each the number of a record and a step; none of them is there, or at a step without rows."""
        texts = len(self._scales)
        of_records, steps = np.array(rows, np.int64).reshape(-1, 2).T
        pairs: list[int] = self._records.pairs[of_records].tolist()
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._slack_of]
        self._slack_of.update(zip(new, range(self._columns, self._columns + len(new)), strict=True))
        self._add_columns(np.ones(len(new)))
        values = np.full((len(rows), texts + 2), -1.0)
        values[:, :texts] = self._totals[of_records] * self._scales - self._of_merges[steps]
        columns = np.empty(values.shape, np.int32)
        columns[:, :texts] = np.arange(texts)
        columns[:, texts], columns[:, texts + 1] = texts + steps, [self._slack_of[pair] for pair in pairs]
        filled = values != 0
        ends = np.cumsum(filled.sum(axis=1))
        starts = np.concatenate([[0], ends[:-1]])[: len(rows)].astype(np.int32)
        most = np.full(len(rows), -self._infinity), np.zeros(len(rows))
        self._highs.addRows(len(rows), *most, int(filled.sum()), starts, columns[filled], values[filled])
        self.rows.update(dict.fromkeys(rows))

    def begin_at(self, near: Solution) -> None:
        """Adds the rows of a solution, and takes its basis where all of them are rows here too."""
        rows = [row for row in near.rows if self._has_rows[row[1]]]
        self.add(rows)
        if len(rows) == len(near.rows):
            self._highs.setBasis(near.basis)

    def optimise_work(self) -> Work[None]:
        """Goes on from the basis of the last solution."""
        while True:
            yield Progress("solving", 0, 0, f", {len(self.rows):,} rows")
            self._highs.run()
            if (status := self._highs.getModelStatus()) != self._statuses.kIterationLimit:
                break
        if status != self._statuses.kOptimal:
            named = self._highs.modelStatusToString(status)
            raise TokStudioError(f"The solver of the mixture stopped before it had a solution: {named}.")
        self._values = np.array(self._highs.getSolution().col_value)

    def violated_work(self) -> Work[list[tuple[int, int]]]:
        """The rows that the solution violates most, at most so many of a step; none where none is violated."""
        records, texts, steps = self._records, len(self._scales), len(self._has_rows)
        shares = self._values[:texts]
        bounds = np.where(self._has_rows, self._of_merges @ shares + self._values[texts : texts + steps], np.inf)
        slacks = np.zeros(int(np.max(records.pairs, initial=-1)) + 1)
        if self._slack_of:
            slacks[[*self._slack_of]] = self._values[[*self._slack_of.values()]]
        least_at, weights = _least_places(bounds), shares * self._scales
        found = list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]]()
        for first in range(0, len(records), _RECORDS):
            last = min(first + _RECORDS, len(records))
            n = last - first
            numbers, at, amounts = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n)
            count = find_violations(
                *(read_only(self._totals), read_only(weights), read_only(records.pairs), read_only(slacks)),
                *(read_only(records.begins), read_only(records.ends), read_only(bounds), read_only(least_at)),
                *(TOLERANCE, first, last, numbers, at, amounts),
            )
            found.append((numbers[:count], at[:count], amounts[:count]))
            yield Progress("solving", 0, 0, f", {len(self.rows):,} rows")
        numbers, at, amounts = (np.concatenate(column) for column in zip(*found, strict=True))
        return self._worst(numbers, at, np.lexsort((numbers, -amounts)))

    def _worst(
        self, numbers: NDArray[np.int32], steps: NDArray[np.int32], order: NDArray[np.intp]
    ) -> list[tuple[int, int]]:
        chosen, of_step = list[tuple[int, int]](), Counter[int]()
        for place in order.tolist():
            row = int(numbers[place]), int(steps[place])
            # A row that is there may be violated by what the solver tolerates.
            if of_step[row[1]] < _ROWS_OF_A_STEP and row not in self.rows:
                of_step[row[1]] += 1
                chosen.append(row)
                if len(chosen) == ROWS:
                    break
        return chosen

    def solution(self) -> Solution:
        """The last solution; its shares are not below 0 and have the sum 1 beyond the solver's tolerance."""
        texts = len(self._scales)
        shares = np.maximum(self._values[:texts], 0)
        shares /= shares.sum()
        # Every slack costs 1: of the same values as the shares, whatever else the solver keeps.
        objective = float(self._values[texts:].sum())
        whole = float(self._of_merges[self._has_rows].sum(axis=0) @ shares)
        misfit = objective / whole if whole > 0 else float("inf")
        return Solution(shares, objective, misfit, tuple(self.rows), self._highs.getBasis())


def _least_places(bounds: NDArray[np.float64]) -> NDArray[np.int32]:
    """int32 [levels, steps], the place of the least of 2^level bounds from each step on."""
    n = len(bounds)
    levels = [np.arange(n, dtype=np.int32)]
    for level in range(1, max(1, n.bit_length())):
        before = levels[-1]
        after = np.minimum(np.arange(n) + (1 << (level - 1)), n - 1)
        other = before[after]
        levels.append(np.where(bounds[before] <= bounds[other], before, other).astype(np.int32))
    return np.stack(levels)
