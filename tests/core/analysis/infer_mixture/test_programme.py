"""The linear programme, beside one with all its rows."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import highspy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.analysis.infer_mixture.test_pair_counts import recounted
from tokstudio.core.analysis.infer_mixture import programme
from tokstudio.core.analysis.infer_mixture.pair_counts import PARTS, CandidateCounts, CandidateWords, pair_records_work
from tokstudio.core.analysis.infer_mixture.programme import PER_BYTES, solve_work
from tokstudio.core.base.progress import finish


def solved_whole(counts, merges, sizes, shares=None) -> float:
    """The least sum of slacks, with a row for every step and pair; of given shares, or of the best."""
    solver = highspy.Highs()
    solver.silent()
    texts = range(len(sizes))
    of_texts = [solver.addVariable(0, 1) for _ in texts]
    solver.addConstr(sum(of_texts) == 1)
    if shares is not None:
        for variable, share in zip(of_texts, shares, strict=True):
            solver.addConstr(variable == share)
    steps = [step for step, pair in enumerate(merges) if any(counts[text][step][pair] for text in texts)]
    pairs = sorted({pair for text in texts for step in steps for pair in counts[text][step]})
    of_steps = {step: solver.addVariable(0) for step in steps}
    of_pairs = {pair: solver.addVariable(0) for pair in pairs}
    for step in steps:
        for pair in pairs:
            more = sum(
                PER_BYTES * (counts[text][step][pair] - counts[text][step][merges[step]]) / sizes[text] * of_texts[text]
                for text in texts
            )
            solver.addConstr(more - of_steps[step] - of_pairs[pair] <= 0)
    solver.minimize(sum([*of_steps.values(), *of_pairs.values()]))
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return solver.getInfo().objective_function_value


@st.composite
def programmes(draw):
    """Random words in some texts, and merges of tokens that are there."""
    texts, base = draw(st.integers(2, 3)), 3
    words = draw(st.lists(st.lists(st.integers(0, base - 1), min_size=2, max_size=8), min_size=2, max_size=6))
    merges = list[tuple[int, int]]()
    for number in range(draw(st.integers(2, 6))):
        pair = draw(st.tuples(st.integers(0, base + number - 1), st.integers(0, base + number - 1)))
        if pair in merges:
            break
        merges.append(pair)
    times = draw(
        st.lists(st.lists(st.integers(0, 9), min_size=texts, max_size=texts), min_size=len(words), max_size=len(words))
    )
    return words, merges, [base + number for number in range(len(merges))], np.array(times)


@given(programmes(), st.sampled_from([1, 2, 100]))
def test_the_solution_is_that_of_all_rows(case, rows):
    words, merges, results, times = case
    sizes = times.T @ np.array([len(word) for word in words]) + 1.0
    held = [[(word, int(n)) for word, n in zip(words, column, strict=True)] for column in times.T]
    counts = [recounted(each, merges, results) for each in held]
    entries = np.argwhere(times >= 0)
    given_words = CandidateWords(
        np.array([symbol for word in words for symbol in word], np.int32),
        np.cumsum([0, *map(len, words)]),
        entries[:, 0].astype(np.int32),
        (PARTS * entries[:, 1]).astype(np.int32),
        times.ravel().astype(np.int64),
        np.ones((len(sizes), PARTS), np.int64),
        (0,) * len(sizes),
    )
    records = finish(pair_records_work(given_words, np.array(merges, np.int32), np.array(results, np.int32), 1))
    totals = finish(CandidateCounts(given_words, records).totals_work())
    before, programme.ROWS = programme.ROWS, rows
    try:
        found = finish(solve_work(records, np.ones(len(merges), np.bool_), totals, sizes))
        again = finish(solve_work(records, np.ones(len(merges), np.bool_), totals, sizes, found))
    finally:
        programme.ROWS = before
    assert found.shares.sum() == pytest.approx(1)
    assert found.objective == pytest.approx(solved_whole(counts, merges, sizes), abs=1e-4)
    assert found.objective == pytest.approx(solved_whole(counts, merges, sizes, found.shares.tolist()), abs=1e-4)
    assert again.objective == pytest.approx(found.objective, abs=1e-4)
