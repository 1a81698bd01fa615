"""Surgery as plainly as it can be written, on dictionaries of bytes: what the operations are held against."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from itertools import pairwise

Merges = list[tuple[bytes, bytes]]


def encode(merges: Merges, word: bytes) -> list[bytes]:
    """Merges one pre-token: always the pair of the lowest rank, the leftmost first."""
    ranks = {pair: rank for rank, pair in reversed(list(enumerate(merges)))}
    parts = [word[i : i + 1] for i in range(len(word))]
    while pairs := [pair for pair in pairwise(parts) if pair in ranks]:
        best = min(pairs, key=ranks.__getitem__)
        made: list[bytes] = []
        while parts:
            if tuple(parts[:2]) == best:
                made.append(parts[0] + parts[1])
                parts = parts[2:]
            else:
                made.append(parts[0])
                parts = parts[1:]
        parts = made
    return parts


def prune(merges: Merges, size: int, uses: dict[bytes, int], ids: dict[bytes, int]) -> Merges:
    """Removes one token after another: of those that no merge needs the least used, then the highest id."""
    left = list(merges)
    while len(left) > size:
        parts = {part for pair in left for part in pair}
        leaves = [a + b for a, b in left if a + b not in parts]
        gone = min(leaves, key=lambda token: (uses.get(token, 0), -ids[token]))
        left = [pair for pair in left if pair[0] + pair[1] != gone]
    return left


def join(a: Merges, b: Merges) -> Merges:
    """Appends the merges of what the first cannot make in one, and takes out what is never made, until nothing is."""
    wanted = [pair for pair in b if len(encode(a, pair[0] + pair[1])) > 1]
    while True:
        whole = a + wanted
        never = [pair for pair in wanted if encode(whole, pair[0] + pair[1]) != [pair[0] + pair[1]]]
        if not never:
            return whole
        wanted.remove(never[-1])
