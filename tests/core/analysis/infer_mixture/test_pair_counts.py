"""The counts of pairs before each merge, beside a recount of every pair after every merge."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tokstudio import Tokenizer
from tokstudio.core.analysis.infer_mixture import pair_counts
from tokstudio.core.analysis.infer_mixture.pair_counts import (
    PARTS,
    CandidateCounts,
    CandidateWords,
    candidate_words_work,
    pair_records_work,
)
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.alphabet import Alphabet


def merged(symbols: list[int], left: int, right: int, result: int) -> list[int]:
    """The symbols with a pair merged, from the left."""
    after, at = list[int](), 0
    while at < len(symbols):
        if symbols[at : at + 2] == [left, right]:
            after.append(result)
            at += 2
        else:
            after.append(symbols[at])
            at += 1
    return after


def recounted(words: list[tuple[list[int], int]], merges, results) -> list[Counter[tuple[int, int]]]:
    """The pairs of words, each given with how often it occurs, before each merge."""
    counts = list[Counter[tuple[int, int]]]()
    for (left, right), result in zip(merges, results, strict=True):
        here = Counter[tuple[int, int]]()
        for symbols, times in words:
            for pair in pairwise(symbols):
                here[pair] += times
        counts.append(+here)
        words = [(merged(symbols, left, right, result), times) for symbols, times in words]
    return counts


@st.composite
def cases(draw):
    """Merges of a few symbols, each of tokens that are there, and words in parts of three candidates."""
    base, merges = draw(st.integers(1, 3)), list[tuple[int, int]]()
    for number in range(draw(st.integers(1, 7))):
        pair = draw(st.tuples(st.integers(0, base + number - 1), st.integers(0, base + number - 1)))
        if pair in merges:
            break
        merges.append(pair)
    words = draw(st.lists(st.lists(st.integers(0, base - 1), max_size=12), min_size=1, max_size=5))
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, len(words) - 1), st.integers(0, 3 * PARTS - 1), st.integers(1, 5)), max_size=9
        )
    )
    return merges, [base + number for number in range(len(merges))], words, rows


@given(cases(), st.sampled_from([1, 5, 1 << 17]), st.integers(-1, PARTS - 1))
def test_counts_are_those_of_a_recount_after_every_merge(case, group, without):
    merges, results, words, rows = case
    left_out = None if without < 0 else without
    starts = np.cumsum([0, *map(len, words)])
    symbols = np.array([symbol for word in words for symbol in word], np.int32)
    of_rows = np.array(rows, np.int64).reshape(-1, 3).T
    given_words = CandidateWords(
        symbols,
        starts,
        of_rows[0].astype(np.int32),
        of_rows[1].astype(np.int32),
        of_rows[2],
        np.ones((3, PARTS), np.int64),
        (0, 0, 0),
    )
    before, pair_counts.GROUP = pair_counts.GROUP, group
    try:
        of_merges = np.array(merges, np.int32).reshape(-1, 2), np.array(results, np.int32)
        records = finish(pair_records_work(given_words, *of_merges, 1))
        totals = finish(CandidateCounts(given_words, records).totals_work(left_out))
    finally:
        pair_counts.GROUP = before
    for candidate in range(3):
        held = [
            (words[word], times)
            for word, part, times in rows
            if part // PARTS == candidate and part % PARTS != left_out
        ]
        expected = recounted(held, merges, results)
        for step in range(len(merges)):
            here = (records.begins <= step) & (step < records.ends) & (totals[:, candidate] > 0)
            # Records are in the order of their pairs.
            assert totals[here, candidate].tolist() == [count for _, count in sorted(expected[step].items())]
            record = records.of_merges[step]
            of_merge = 0 if record < 0 else totals[record, candidate]
            assert of_merge == expected[step][merges[step]]


def words_of(tokenizer: Tokenizer, *candidates: list[str] | list[bytes]) -> CandidateWords:
    """The words of candidates, given as documents."""
    return finish(candidate_words_work(tokenizer, [(Source.from_texts(each),) for each in candidates], 300, 1))


def bare(pattern: str = "none", **more) -> Tokenizer:
    """A tokenizer of bytes without merges."""
    return Tokenizer(np.empty((0, 2), np.int32), pattern=pattern, **more)


def spelled(words: CandidateWords) -> list[bytes]:
    """The words."""
    return [bytes(words.symbols[start:end].tolist()) for start, end in pairwise(words.starts.tolist())]


def test_parts_end_at_documents_and_lines_and_are_all_of_the_text():
    text = "".join(f"line {number}\n" for number in range(40))
    words = words_of(bare(), [text], ["a\n"] * 20, ["one line"])
    assert words.bytes.sum(axis=1).tolist() == [len(text), 40, 8]
    assert words.bytes.astype(bool).sum(axis=1).tolist() == [10, 10, 1]
    parts = [
        b"".join(each for each, part in zip(spelled(words), words.parts, strict=True) if part == n) for n in range(10)
    ]
    assert b"".join(parts) == text.encode()
    assert all(part.endswith(b"\n") for part in parts)
    assert abs(np.diff(words.bytes[0])).max() <= len("line 10\n")


def test_words_are_counted_with_the_pattern_and_special_tokens_are_no_text():
    words = words_of(bare("gpt2", special_tokens={"<s>": 256}), ["a b a<s>b"], ["a"])
    assert sorted(zip(spelled(words), strict=True)) == [(b" a",), (b" b",), (b"a",), (b"b",)]
    of_first = {
        spelled(words)[word]: n
        for word, part, n in zip(words.words, words.parts, words.counts, strict=True)
        if part < 10
    }
    assert of_first == {b"a": 1, b" b": 1, b" a": 1, b"b": 1}
    assert words.bytes.sum(axis=1).tolist() == [6, 1]


def test_characters_without_a_token_have_numbers_of_their_own():
    alphabet = Alphabet.of_characters("aé")
    words = words_of(bare(alphabet=alphabet), ["aéß"], [b"\xe2\x82\xac\xffa"])
    numbers = [words.symbols[start:end].tolist() for start, end in pairwise(words.starts.tolist())]
    assert numbers == [[0, 1, 300 + ord("ß")], [300 + ord("€"), 300 + 0xFFFD, 0]]
    assert words.replaced == (0, 1)
