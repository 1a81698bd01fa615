"""Training and encoding as slowly and as plainly as they can be written: what the engine is held against.

Documents are lists of ids and every merge counts all pairs anew. It shares no code with TokStudio; the `regex` library
says what a pattern matches.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import regex

REACHED_SIZE, NOTHING_LEFT = "reached vocabulary size", "nothing left to merge"

# As GPT-2 shows bytes: those that print stand for themselves, the others follow from U+0100.
_PRINTABLE = [byte for byte in range(33, 256) if not 127 <= byte <= 160 and byte != 173]
_CHARACTERS = {byte: chr(byte) for byte in _PRINTABLE}
_CHARACTERS |= {byte: chr(256 + i) for i, byte in enumerate(b for b in range(256) if b not in _PRINTABLE)}
HUGGINGFACE_ORDER = sorted(range(256), key=_CHARACTERS.__getitem__)


@dataclass
class Recount:
    """A training by recounting: its merges, and the documents as they are in the end."""

    merges: list[tuple[int, int]]
    counts: list[int]
    tokens_after: list[int]
    tokens: list[bytes]
    documents: list[list[int]]
    ended: str

    def uses(self, weights: Sequence[int] | None = None) -> list[int]:
        """How often each token stands in the documents."""
        standing = [0] * len(self.tokens)
        for document, weight in zip(self.documents, weights or [1] * len(self.documents), strict=True):
            for token in document:
                standing[token] += weight
        return standing


def replace(ids: list[int], left: int, right: int, token: int) -> list[int]:
    """`replace([1, 1, 1], 1, 1, 9)` is `[9, 1]`: left to right, without overlaps."""
    made: list[int] = []
    at = 0
    while at < len(ids):
        if at + 1 < len(ids) and ids[at] == left and ids[at + 1] == right:
            made.append(token)
            at += 2
        else:
            made.append(ids[at])
            at += 1
    return made


def count_pairs(documents: list[list[int]], weights: Sequence[int]) -> dict[tuple[int, int], int]:
    """Adjacent places of every pair, overlapping ones included; the keys are in order of first occurrence."""
    counts: dict[tuple[int, int], int] = {}
    for document, weight in zip(documents, weights, strict=True):
        for pair in pairwise(document):
            counts[pair] = counts.get(pair, 0) + weight
    return counts


def choose(counts: dict[tuple[int, int], int], tokens: list[bytes], tie_break: str) -> tuple[int, int]:
    """The pair with the highest count; the tie rule decides between equals."""
    highest = max(counts.values())
    best = [pair for pair in counts if counts[pair] == highest]
    if tie_break == "first":
        return best[0]
    if tie_break == "lowest-id":
        return min(best)
    if tie_break == "huggingface":
        order = {token: place for place, token in enumerate(HUGGINGFACE_ORDER)}
        return min(best, key=lambda pair: [order.get(token, token) for token in pair])
    assert tie_break == "bytes"
    return max(best, key=lambda pair: (tokens[pair[0]], tokens[pair[1]]))


def train_slowly(
    documents: Sequence[bytes],
    vocabulary_size: int | None = None,
    min_frequency: int | None = None,
    tie_break: str = "first",
    max_token_bytes: int | None = None,
    weights: Sequence[int] | None = None,
    refuses: Callable[[bytes], bool] | None = None,
    start: tuple[list[bytes], list[list[int]]] | None = None,
) -> Recount:
    """Trains by recounting everything before each merge.

    No token that it `refuses` is made. A `start` has the tokens by id, and the ids of the documents.
    """
    tokens, ids = start or ([bytes([byte]) for byte in range(256)], [list(document) for document in documents])
    weights = [1] * len(ids) if weights is None else weights
    run = Recount([], [], [], list(tokens), ids, "")
    while True:
        if len(run.tokens) == vocabulary_size:
            run.ended = REACHED_SIZE
            return run
        counts = count_pairs(run.documents, weights)
        if max_token_bytes is not None:
            lengths = {pair: len(run.tokens[pair[0]]) + len(run.tokens[pair[1]]) for pair in counts}
            counts = {pair: count for pair, count in counts.items() if lengths[pair] <= max_token_bytes}
        if refuses is not None:
            counts = {pair: n for pair, n in counts.items() if not refuses(run.tokens[pair[0]] + run.tokens[pair[1]])}
        if not counts:
            run.ended = NOTHING_LEFT
            return run
        left, right = choose(counts, run.tokens, tie_break)
        if min_frequency is not None and counts[left, right] < min_frequency:
            run.ended = f"no pair occurs {min_frequency:,} times"
            return run
        run.documents = [replace(document, left, right, len(run.tokens)) for document in run.documents]
        run.merges.append((left, right))
        run.counts.append(counts[left, right])
        run.tokens.append(run.tokens[left] + run.tokens[right])
        run.tokens_after.append(sum(len(d) * weight for d, weight in zip(run.documents, weights, strict=True)))


def named_pattern(name: str) -> str:
    """The regular expression of a named pattern, from the tests' own copy."""
    patterns = json.loads((Path(__file__).parents[1] / "data" / "patterns.json").read_text(encoding="utf-8"))
    return patterns["patterns"][name]["regex"]


def pre_tokens(document: bytes, pattern: str) -> list[bytes]:
    """What the pattern matches, one after another; a byte that is not UTF-8 is a character of its own."""
    text = document.decode("utf-8", "surrogateescape")
    pieces = [match.group() for match in regex.finditer(pattern, text)]
    assert "".join(pieces) == text
    return [piece.encode("utf-8", "surrogateescape") for piece in pieces]


def train_slowly_with_pattern(documents: Sequence[bytes], pattern: str, **settings) -> Recount:
    """The same where each pre-token is a document of its own: each once, in order, with how often it occurs."""
    words = Counter(word for document in documents for word in pre_tokens(document, pattern))
    return train_slowly(list(words), weights=list(words.values()), **settings)


def encode_slowly(
    text: bytes,
    merges: Sequence[Sequence[int]],
    results: Sequence[int] | None = None,
    byte_ids: Sequence[int] | None = None,
) -> list[int]:
    """Applies every merge in turn, in the order of their ranks."""
    ids = [byte if byte_ids is None else byte_ids[byte] for byte in text]
    for rank, (left, right) in enumerate(merges):
        ids = replace(ids, left, right, 256 + rank if results is None else results[rank])
    return ids
