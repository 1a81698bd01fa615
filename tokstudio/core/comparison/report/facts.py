"""What the report says of each tokenizer beside its figures: its files, its curve, and tokens of special interest."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.comparison.comparison import Comparison
from tokstudio.core.comparison.figures import Cell, Compared
from tokstudio.core.comparison.identity import hash_work
from tokstudio.core.comparison.report.svg import SizeCurve
from tokstudio.core.corpus.readers.files import read_file_work
from tokstudio.core.formats import FORMATS, Loaded
from tokstudio.core.formats.report import WrittenFile
from tokstudio.core.tokenizer.counts_by_merge import counts_by_merge_work, why_not_by_merge
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.verification.reachability import CUT, MADE_OTHERWISE, NOT_MADE, reachability_work

#: Why no text becomes a token.
REASONS = {
    NOT_MADE: "No merge makes it",
    MADE_OTHERWISE: "Other merges join its bytes first",
    CUT: "The pattern always splits it",
}
_STEP = 1 << 12


@dataclass(frozen=True)
class ReadFrom:
    """The files that a tokenizer was read from, and the title of their format."""

    format: str
    files: tuple[WrittenFile, ...]


@dataclass(frozen=True, eq=False)
class TokenFacts:
    """The hash of a tokenizer, and tokens of it, each group as ids, int64, without special tokens."""

    sha256: str  # of `hash_work`
    uses: NDArray[np.int64]  # [ids], how often each occurs in the texts
    unreachable: dict[str, NDArray[np.int64]]  # by the reason, in ascending order
    unused: NDArray[np.int64]  # ascending
    cut: NDArray[np.int64]  # not UTF-8 by themselves, those that occur most often first
    curve: SizeCurve | None  # of all texts together; None where the tokenizer has no merges to be taken one by one


def origin_work(loaded: Loaded) -> Work[ReadFrom]:
    """The files of a tokenizer with their sizes and hashes; raises CorpusError where one cannot be read."""
    files: list[WrittenFile] = []
    for path in loaded.files:
        content = yield from read_file_work(path)
        files.append(WrittenFile(path, len(content), hashlib.sha256(content).hexdigest()))
    return ReadFrom(FORMATS[loaded.format].title, tuple(files))


def token_facts_work(comparison: Comparison, column: int) -> Work[TokenFacts | None]:
    """Finds the tokens of one tokenizer of a comparison; None for a simple one, which has no merges."""
    compared = comparison.compared[column]
    tokenizer = compared.tokenizer
    if not isinstance(tokenizer, Tokenizer):
        return None
    uses = np.zeros(len(tokenizer.tokens), np.int64)
    cells = [comparison.result(text, column) for text in range(len(comparison.measured))]
    known = [cell for cell in cells if isinstance(cell, Cell)]
    for cell in known:
        uses[cell.counts.ids] += cell.counts.counts
    ids = np.setdiff1d(tokenizer.tokens.ids(), list(tokenizer.special_tokens.values()))
    reach = yield from reachability_work(tokenizer)
    unreachable = {words: ids[reach[ids] == why] for why, words in REASONS.items() if np.any(reach[ids] == why)}
    cut = yield from _cut_work(compared, ids)
    curve = None
    if len(known) == len(cells):
        curve = yield from _curve_work(compared.name, tokenizer, uses, int(comparison.bytes.sum()))
    digest = yield from hash_work(tokenizer)
    return TokenFacts(digest, uses, unreachable, ids[uses[ids] == 0], cut[np.argsort(-uses[cut], kind="stable")], curve)


def _cut_work(compared: Compared, ids: NDArray[np.int64]) -> Work[NDArray[np.int64]]:
    """The ids whose tokens are not UTF-8 by themselves."""
    found: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    for first in range(0, len(ids), _STEP):
        some = ids[first : first + _STEP]
        found.append(some[compared.cuts(some)[0]])
        yield Progress("looking at tokens", first, len(ids))
    return np.concatenate(found)


def _curve_work(name: str, tokenizer: Tokenizer, uses: NDArray[np.int64], size: int) -> Work[SizeCurve | None]:
    """Bytes per token after each merge, by size of the vocabulary; one point where the merges go only together."""
    if not uses.sum():
        return None
    whole = len(tokenizer)
    if why_not_by_merge(tokenizer) is not None:
        return SizeCurve(name, np.array([float(whole)]), np.array([size / uses.sum()]))
    counts = yield from counts_by_merge_work(tokenizer, uses)
    sizes = np.arange(whole - len(tokenizer.merges), whole + 1).astype(np.float64)
    return SizeCurve(name, sizes, size / counts.tokens)
