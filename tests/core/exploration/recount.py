"""The figures of an exploration, counted naively: each document encoded by itself, each figure by its formula."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from math import isnan, nan

from tokstudio import Corpus
from tokstudio.core.analysis.baselines import SimpleTokenizer
from tokstudio.core.base.progress import finish


def encoded(tokenizer, document: bytes) -> list[int]:
    if isinstance(tokenizer, SimpleTokenizer):
        return tokenizer.encode(document)
    return tokenizer.encode(document, allowed_special="all")


def by_line(tokenizer, document: bytes) -> dict[int, list[int]]:
    """The ids of a document by the line that each begins in."""
    if isinstance(tokenizer, SimpleTokenizer):
        lines = re.findall(rb"[^\n]*\n|[^\n]+", document)
        return {number: encoded(tokenizer, line) for number, line in enumerate(lines)}
    if tokenizer.library is not None or tokenizer.alphabet.base == "characters":
        document = document.decode("utf-8", "replace").encode()
    ids, ends = finish(tokenizer.encode_with_ends_work(document, "all"))
    lines: dict[int, list[int]] = {}
    begin = 0
    for token, end in zip(ids.tolist(), ends.tolist(), strict=True):
        lines.setdefault(document.count(b"\n", 0, begin), []).append(token)
        begin = end
    return lines


def pieces_of(tokenizer, documents: list[bytes]) -> list[Counter]:
    """The uses of tokens in each piece."""
    ids = [encoded(tokenizer, document) for document in documents]
    total = sum(map(len, ids))
    blocks = []
    for document, tokens in zip(documents, ids, strict=True):
        blocks += [tokens] if 100 * len(tokens) <= total else by_line(tokenizer, document).values()
    pieces: dict[int, Counter] = {}
    done = 0
    for block in blocks:
        if block:
            pieces.setdefault(100 * done // total, Counter()).update(block)
        done += len(block)
    return list(pieces.values())


@dataclass
class Spread:
    """The figures of a token."""

    uses: int
    range: int
    top_part: int
    top_share: float
    bunched: float
    dp: float
    dp_norm: float


def spread(token: int, units: list[tuple[int, Counter]], pieces: list[Counter]) -> Spread:
    """All figures of a token; the units have their number."""
    total = sum(piece.total() for piece in pieces)
    uses = sum(piece[token] for piece in pieces)
    if not uses:
        return Spread(0, 0, -1, nan, nan, nan, nan)
    with_token = [(number, unit) for number, unit in units if unit[token]]
    top_part, top = max(with_token, key=lambda each: (each[1][token], -each[0]))
    expected = sum(1 - (1 - unit.total() / total) ** uses for _, unit in units)
    return Spread(
        uses,
        len(with_token),
        top_part,
        top[token] / uses,
        expected / len(with_token),
        *dispersion([piece.total() for piece in pieces], [piece[token] for piece in pieces]),
    )


def dispersion(sizes: list[int], counts: list[int]) -> tuple[float, float]:
    """Gries' DP, and Egbert's norm of it."""
    if len(sizes) < 2:
        return nan, nan
    shares = [size / sum(sizes) for size in sizes]
    dp = sum(abs(share - count / sum(counts)) for share, count in zip(shares, counts, strict=True)) / 2
    return dp, dp / (1 - min(share for share, count in zip(shares, counts, strict=True) if count))


def close(one: float, other: float) -> bool:
    return (isnan(one) and isnan(other)) or abs(one - other) < 1e-9 * max(1, abs(other))


def documents_of(corpus: Corpus) -> list[bytes]:
    return [bytes(document) for document in corpus.iter_documents()]
