"""Recovers the merges of a ranked vocabulary by encoding the bytes of each token, and chooses among several for one.

A token that merging does not make of its own bytes is never made: within any text, the bytes of the token are merged as
if they were alone, up to the merge that makes it.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.arrays import power_of_two, read_only
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.model.alphabet import BYTES, Alphabet

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BUDGET = 200_000
_REPORTED = 1 << 10
_MOST_COMPARED = 1 << 34  # bytes of tokens


def recover_merges_work(tokens: Sequence[bytes]) -> Work[NDArray[np.int32]]:
    """The two tokens that each token joins: int32 [n, 2], -1 for single bytes and for tokens that no merge makes.

    The tokens are distinct, include the bytes that text can have, and are numbered in the order of their ranks. Any two
    adjacent tokens that make a token are joined, lowest rank first; mostly both have lower ranks than what they make.

    Raises:
        ConfigError: Some have higher ranks, and the tokens are too long to look for these.
    """
    n = len(tokens)
    offsets = np.fromiter(accumulate(map(len, tokens), initial=0), np.int64, n + 1)
    # Bytes without a token are numbered after all tokens.
    number_of = np.arange(n, n + BYTES, dtype=np.int32)
    for number in np.flatnonzero(np.diff(offsets) == 1).tolist():
        number_of[tokens[number][0]] = number
    yield Progress("reading", 0, n)
    units = number_of[np.frombuffer(b"".join(tokens), np.uint8)]
    parts = yield from recover_work(units, offsets)
    parts[np.any(parts >= n, axis=1)] = -1
    unmade = np.flatnonzero((parts[:, 0] < 0) & (np.diff(offsets) > 1))
    merged = np.flatnonzero(parts[:, 0] >= 0)
    # The shortest token that higher ranks lead to is made of two that lower ranks lead to.
    rows = np.concatenate([np.column_stack([parts[merged], merged]), (yield from splits_work(tokens, unmade))])
    if np.all((yield from _chosen_work(rows.astype(np.int32), unmade, *_texts(units, offsets, unmade))) < 0):
        return parts
    every = np.flatnonzero(np.diff(offsets) > 1)
    rows = (yield from splits_work(tokens, every)).astype(np.int32)
    rows = rows[np.argsort(rows[:, 2], kind="stable")]
    chosen = yield from _chosen_work(rows, every, *_texts(units, offsets, every))
    parts[every] = np.where(chosen[:, np.newaxis] < 0, -1, rows[chosen, :2])
    return parts


def splits_work(tokens: Sequence[bytes], numbers: NDArray[np.int64]) -> Work[NDArray[np.int64]]:
    """int64 [rows, 3], each two tokens that join to one of those with the `numbers`, and this one: all there are.

    Those of one token are in the order of their left parts' numbers.

    Raises:
        ConfigError: It would take very long, because the tokens are very long.
    """
    number_of = {token: number for number, token in enumerate(tokens)} if len(numbers) else {}
    lengths, rows, compared = sorted({len(token) for token in tokens}), list[tuple[int, int, int]](), 0
    chosen: list[int] = numbers.tolist()
    for done, number in enumerate(chosen):
        token, splits = tokens[number], list[tuple[int, int, int]]()
        for length in lengths:
            if length >= len(token):
                break
            compared += len(token)
            left = number_of.get(token[:length])
            right = None if left is None else number_of.get(token[length:])
            if left is not None and right is not None:
                splits.append((left, right, number))
        if compared > _MOST_COMPARED:
            raise ConfigError("its tokens are too long to find the two that each of them joins")
        rows += sorted(splits)
        if done % _REPORTED == 0:
            yield Progress("reading", done, len(numbers))
    return np.array(rows, np.int64).reshape(-1, 3)


def recover_work(units: NDArray[np.int32], offsets: NDArray[np.int64]) -> Work[NDArray[np.int32]]:
    """Like `recover_merges_work`, for tokens of any base.

    Args:
        units: The tokens one after another, each as the numbers of its base tokens.
        offsets: [n + 1], the start of each, and the end of the last.
    """
    from tokstudio.core.kernels.encode import STATE_SIZE
    from tokstudio.core.kernels.recover_merges import recover

    n = len(offsets) - 1
    longest = int(np.diff(offsets).max(initial=1))
    pairs = np.full(2 << max(4, (2 * n).bit_length()), -1, np.int64)
    parts = np.full((n, 2), -1, np.int32)
    symbols, following, previous = (np.empty(longest, np.int32) for _ in range(3))
    pending, heap = np.empty(longest, np.int64), np.empty(2 * longest, np.int64)
    scratch = (symbols, following, previous, pending, heap, np.zeros(STATE_SIZE, np.int64))
    token = 0
    while token < n:
        token = recover(units, offsets, token, pairs, parts, *scratch, _BUDGET)
        yield Progress("reading", token, n)
    return parts


def one_of_each_work(
    rows: NDArray[np.int32], alphabet: Alphabet, spelled: Callable[[int], bytes]
) -> Work[NDArray[np.int32]]:
    """The rows that are needed of merges of which several make the same token: one for each token, in rank order.

    The text of a token is always merged in the same way, whatever the text around it: until another token crosses its
    edges, or until its last merge, which is therefore always the same. The others are never applied, and a token that
    merging does not make of its own text is never made; the first row of such a token is kept.

    Args:
        rows: int32 [n, 3], ids of left, right and result in rank order, each pair once. Later rows may make the parts.
        alphabet: The base tokens.
        spelled: The bytes of a token.
    """
    ids, first, sizes = np.unique(rows[:, 2], return_index=True, return_counts=True)
    several = np.flatnonzero(sizes > 1)
    texts = [spelled(token) for token in ids[several].tolist()]
    if alphabet.base == "bytes":
        lengths, units = list(map(len, texts)), alphabet.id_of[np.frombuffer(b"".join(texts), np.uint8)]
    else:
        # A character without an id is part of a text that no merge makes.
        points = np.frombuffer(b"".join(texts).decode().encode("utf-32-le"), "<u4")
        lengths, units = [len(text.decode()) for text in texts], alphabet.id_of[points]
    offsets = np.fromiter(accumulate(lengths, initial=0), np.int64, len(lengths) + 1)
    chosen = yield from _chosen_work(rows, ids[several], units.astype(np.int32), offsets)
    first[several] = np.where(chosen < 0, first[several], chosen)
    return rows[np.sort(first)]


def _texts(
    units: NDArray[np.int32], offsets: NDArray[np.int64], numbers: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The units and offsets of some of the tokens."""
    lengths = np.diff(offsets)[numbers]
    begins = np.cumsum(lengths) - lengths
    chosen = units[np.repeat(offsets[numbers] - begins, lengths) + np.arange(int(lengths.sum()))]
    return chosen, np.append(begins, lengths.sum())


def _chosen_work(
    rows: NDArray[np.int32], tokens: NDArray[np.integer], units: NDArray[np.int32], offsets: NDArray[np.int64]
) -> Work[NDArray[np.int32]]:
    """The row that makes each of some tokens of its own text: int32 [tokens], -1 where none does.

    Args:
        rows: int32 [n, 3], left, right and result of all merges; see `one_of_each_work`.
        tokens: Ascending.
        units: Their texts one after another, in base tokens.
        offsets: [tokens + 1], the start of each, and the end of the last.
    """
    chosen = np.full(len(tokens), -1, np.int32)
    if not len(tokens):
        return chosen
    from tokstudio.core.kernels.encode import STATE_SIZE, fill_pairs
    from tokstudio.core.kernels.recover_merges import choose

    merges, results = np.ascontiguousarray(rows[:, :2]), np.ascontiguousarray(rows[:, 2])
    pairs = np.full(2 << max(4, (2 * len(rows)).bit_length()), -1, np.int64)
    fill_pairs(read_only(merges), read_only(results), pairs, np.zeros(power_of_two(max(1, 4 * len(rows))), np.uint8))
    yield Progress("reading", 0, len(tokens))
    candidates = np.argsort(results, kind="stable").astype(np.int32)
    begins, ends = (np.searchsorted(results[candidates], tokens, side=side) for side in ("left", "right"))
    longest = int(np.diff(offsets).max(initial=1))
    symbols, following, previous = (np.empty(longest, np.int32) for _ in range(3))
    pending, heap = np.empty(longest, np.int64), np.empty(2 * longest, np.int64)
    scratch = (symbols, following, previous, pending, heap, np.zeros(STATE_SIZE, np.int64))
    token = 0
    while token < len(tokens):
        token = choose(units, offsets, candidates, begins, ends, merges, token, pairs, chosen, *scratch, _BUDGET)
        yield Progress("reading", token, len(tokens))
    return chosen
