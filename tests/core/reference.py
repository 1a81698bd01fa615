"""Training and encoding as slowly and as plainly as they can be written: what the engine is held against.

Documents are lists of ids and every merge counts all pairs anew. It shares no code with TokStudio; the `regex` library
says what a pattern matches.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, TypeVar

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


Token = TypeVar("Token")


def replace(ids: list[Token], left: Token, right: Token, token: Token) -> list[Token]:
    """`replace([1, 1, 1], 1, 1, 9)` is `[9, 1]`: left to right, without overlaps."""
    if left not in ids or right not in ids:  # quicker
        return ids
    made: list[Token] = []
    at = 0
    with suppress(ValueError):  # no further `left` before the last id
        while True:
            place = ids.index(left, at, len(ids) - 1)
            made += ids[at:place]
            is_pair = ids[place + 1] == right
            made.append(token if is_pair else left)
            at = place + 1 + is_pair
    return made + ids[at:]


def count_pairs(documents: list[list[int]], weights: Sequence[int]) -> dict[tuple[int, int], int]:
    """Adjacent places of every pair, overlapping ones included; the keys are in order of first occurrence."""
    counts = dict(Counter(chain.from_iterable(map(pairwise, documents))))  # quicker than a loop
    for document, weight in zip(documents, weights, strict=True):
        if weight != 1:
            for pair in pairwise(document):
                counts[pair] += weight - 1
    return counts


TieRule = str | Callable[[list[tuple[int, int]]], tuple[int, int]]


def choose(counts: dict[tuple[int, int], int], tokens: list[bytes], tie_break: TieRule) -> tuple[int, int]:
    """The pair with the highest count; the tie rule, or a function, decides between equals."""
    highest = max(counts.values())
    best = [pair for pair in counts if counts[pair] == highest]
    if callable(tie_break):
        return tie_break(best)
    if tie_break == "first":
        return best[0]
    if tie_break == "lowest-id":
        return min(best)
    if tie_break == "huggingface":
        order = {token: place for place, token in enumerate(HUGGINGFACE_ORDER)}
        return min(best, key=lambda pair: [order.get(token, token) for token in pair])
    if tie_break == "mapped-strings":
        return max(best, key=lambda pair: ["".join(_CHARACTERS[byte] for byte in tokens[each]) for each in pair])
    assert tie_break == "bytes"
    return max(best, key=lambda pair: (tokens[pair[0]], tokens[pair[1]]))


def train_slowly(
    documents: Sequence[bytes],
    vocabulary_size: int | None = None,
    min_frequency: int | None = None,
    tie_break: TieRule = "first",
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


def assert_recounted(run: Any, recount: Recount | Shared) -> None:
    """A run has the merges of the recount, with their counts and the tokens after each."""
    assert run.merges.tolist() == [list(pair) for pair in recount.merges]
    assert run.counts.tolist() == recount.counts
    assert run.tokens_after.tolist() == recount.tokens_after


@dataclass
class Shared:
    """A parity-aware training by recounting."""

    merges: list[tuple[int, int]]
    counts: list[int]  # of the pair in all languages
    tokens: list[bytes]
    chosen_by: list[int]  # -1 for all together
    tokens_after: list[int]


def train_by_turns(
    texts: Sequence[Sequence[bytes]],
    merges: int,
    parallel: Sequence[Sequence[bytes] | None] | None = None,
    ratios: Sequence[float] | None = None,
    global_merges: int = 0,
    window: int | None = None,
    alpha: float = 2.0,
    tie_break: str = "mapped-strings",
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    refuses: Callable[[bytes], bool] | None = None,
) -> Shared:
    """Trains by the definition: the language whose turn it is chooses from its own text, which is counted anew.

    One without a parallel text, beside others that have one, never chooses.
    """
    run = Shared([], [], [bytes([byte]) for byte in range(256)], [], [])
    own = [[list(document) for document in text] for text in texts]
    beside = [[list(document) for document in text or []] for text in parallel or []]
    sizes = [sum(map(len, text)) for text in own]
    choices: list[int] = []
    # Those whose turn has not yet shown that they have no pair. Without text and without parallel texts, none has one.
    left = [n for n in range(len(texts)) if (sizes[n] if parallel is None else parallel[n] is not None)]

    def eligible(text: list[list[int]]) -> dict[tuple[int, int], int]:
        counts = count_pairs(text, [1] * len(text))
        made = {pair: run.tokens[pair[0]] + run.tokens[pair[1]] for pair in counts}
        return {
            pair: count
            for pair, count in counts.items()
            if count >= min_frequency
            and (max_token_bytes is None or len(made[pair]) <= max_token_bytes)
            and not (refuses is not None and refuses(made[pair]))
        }

    def score(language: int) -> float:
        if parallel is not None:
            return sum(map(len, beside[language]))
        return -sizes[language] / sum(map(len, own[language])) / (ratios or [1.0] * len(texts))[language]

    while len(run.merges) < merges:
        everything = [document for text in own for document in text]
        if len(run.merges) < global_merges:
            language, counts = -1, eligible(everything)
            if not counts:
                return run
        else:
            if not left:
                return run
            recent = choices[-window:] if window else []
            allowed = [n for n in left if not window or recent.count(n) / window <= alpha / len(texts)]
            language = max(allowed or left, key=lambda n: (score(n), -n))
            counts = eligible(own[language])
            choices.append(language)
            if not counts:
                left.remove(language)
                continue
        pair = choose(counts, run.tokens, tie_break)
        run.counts.append(count_pairs(everything, [1] * len(everything))[pair])
        for several in (own, beside):
            several[:] = [[replace(document, *pair, len(run.tokens)) for document in text] for text in several]
        run.tokens.append(run.tokens[pair[0]] + run.tokens[pair[1]])
        run.merges.append(pair)
        run.chosen_by.append(language)
        run.tokens_after.append(sum(len(document) for text in own for document in text))
    return run


@cache
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


def pieces(document: bytes, pattern: str | None) -> list[bytes]:
    """What the pattern matches, and what is between its matches; the whole document without a pattern."""
    if pattern is None:
        return [document] if document else []
    text, made, at = document.decode("utf-8", "surrogateescape"), list[str](), 0
    for match in regex.finditer(pattern, text):
        made += [text[at : match.start()], match.group()]
        at = match.end()
    return [piece.encode("utf-8", "surrogateescape") for piece in [*made, text[at:]] if piece]


def encode_by_rank(word: Iterable[int], ranks: Mapping[tuple[int, int], int]) -> list[int]:
    """Merges the pair with the lowest rank, everywhere in the word, again and again; `ranks` count from 0."""
    ids = list(word)
    while best := min((pair for pair in pairwise(ids) if pair in ranks), key=ranks.__getitem__, default=None):
        ids = replace(ids, *best, 256 + ranks[best])
    return ids


def train_second_stage(
    documents: Sequence[bytes],
    merges: Sequence[tuple[int, int]],
    tokens: Sequence[bytes],
    pattern: str | None,
    max_words: int,
    **settings,
) -> tuple[list[int], Recount]:
    """SuperBPE goes on from the merges of stage 1: how often each token occurs before, and the new merges."""

    @cache
    def refuses(token: bytes) -> bool:
        return len(re.findall(rb"[^ ]+", token)) > max_words or b": " in token

    words = Counter(piece for document in documents for piece in pieces(document, pattern))
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    ids, weights = [encode_by_rank(word, ranks) for word in words], list(words.values())
    before = Recount([], [], [], list(tokens), ids, "").uses(weights)
    start = (list(tokens), ids)
    return before, train_slowly([], weights=weights, refuses=refuses, start=start, **settings)


def runs_of(words: Sequence[list[int]], tokens: Sequence[bytes]) -> list[tuple[list[int], bool]]:
    """The ids of words, each with whether it is a run: adjacent words that are one token each and hold a letter."""
    made: list[tuple[list[int], bool]] = []
    for ids in words:
        joins = len(ids) == 1 and regex.search(r"\p{L}", tokens[ids[0]].decode("utf-8", "ignore")) is not None
        if joins and made and made[-1][1]:
            made[-1][0].extend(ids)
        else:
            made.append((list(ids), joins))
    return made


@dataclass
class Interleaved:
    """A training of BoundlessBPE by recounting; ids are in the order of the merges."""

    merges: list[tuple[int, int]]
    counts: list[int]
    overtaken: list[int]


def train_boundless(
    documents: Sequence[bytes],
    pattern: str,
    weights: Sequence[int] | None = None,
    vocabulary_size: int | None = None,
    min_frequency: int | None = None,
    tie_break: str = "first",
    max_token_bytes: int | None = None,
    refuses: Callable[[bytes], bool] = lambda token: False,
) -> Interleaved:
    """BoundlessBPE in two phases, by its definition."""
    weights = [1] * len(documents) if weights is None else weights
    counted = Counter[bytes]()
    split = [pre_tokens(document, pattern) for document in documents]
    for words, weight in zip(split, weights, strict=True):
        for word in words:
            counted[word] += weight
    rules = {"min_frequency": min_frequency, "tie_break": tie_break, "max_token_bytes": max_token_bytes}
    first = train_slowly(list(counted), vocabulary_size, weights=list(counted.values()), refuses=refuses, **rules)
    ranks = {pair: rank for rank, pair in enumerate(first.merges)}
    known = {word: encode_by_rank(word, ranks) for word in counted}
    found = Counter[tuple[int, ...]]()
    for words, weight in zip(split, weights, strict=True):
        for ids, joins in runs_of([known[word] for word in words], first.tokens):
            found[tuple(ids)] += weight * joins
    runs, times = [list(ids) for ids in found if found[ids]], [weight for weight in found.values() if weight]
    tokens, supermerges, counts = list(first.tokens), list[tuple[int, int]](), list[int]()
    while True:
        known_tokens = set(tokens)
        pairs = {
            pair: count
            for pair, count in count_pairs(runs, times).items()
            if (made := tokens[pair[0]] + tokens[pair[1]]) not in known_tokens  # a token is made in one way
            and not refuses(made)
            and len(made) <= (max_token_bytes or len(made))
        }
        if not pairs or max(pairs.values()) < (min_frequency or 1):
            break
        if first.ended == REACHED_SIZE and max(pairs.values()) <= first.counts[-1]:
            break  # no later one is taken
        pair = choose(pairs, tokens, tie_break)
        runs = [replace(run, *pair, len(tokens)) for run in runs]
        tokens.append(tokens[pair[0]] + tokens[pair[1]])
        supermerges.append(pair)
        counts.append(pairs[pair])
    return _interleaved(first, supermerges, counts, vocabulary_size)


def _interleaved(
    first: Recount, supermerges: list[tuple[int, int]], counts: list[int], vocabulary_size: int | None
) -> Interleaved:
    made, ids, taken = Interleaved([], [], []), {byte: byte for byte in range(256)}, 0

    def take(old: int, pair: tuple[int, int], count: int, overtaken: int) -> None:
        if len(ids) != vocabulary_size:
            made.merges.append((ids[pair[0]], ids[pair[1]]))
            made.counts.append(count)
            made.overtaken.append(overtaken)
            ids[old] = len(ids)

    for rank, (pair, count) in enumerate(zip(first.merges, first.counts, strict=True)):
        while taken < len(counts) and counts[taken] > count:
            take(len(first.tokens) + taken, supermerges[taken], counts[taken], count)
            taken += 1
        take(256 + rank, pair, count, -1)
    for last in range(taken, len(counts)):
        take(len(first.tokens) + last, supermerges[last], counts[last], 0)
    return made


def encode_boundless(text: bytes, pattern: str, merges: Sequence[Sequence[int]], is_super: Sequence[bool]) -> list[int]:
    """Merges of phase 1 within pre-tokens by rank, then supermerges by rank in runs."""
    tokens = [bytes([byte]) for byte in range(256)]
    tables: tuple[dict[tuple[int, int], int], dict[tuple[int, int], int]] = ({}, {})
    for rank, (left, right) in enumerate(merges):
        tokens.append(tokens[left] + tokens[right])
        tables[is_super[rank]][left, right] = rank
    words = [encode_by_rank(word, tables[0]) for word in pre_tokens(text, pattern)]
    parts = runs_of(words, tokens)
    return [token for ids, joins in parts for token in (encode_by_rank(ids, tables[1]) if joins else ids)]


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
