"""Counts the tokens that a tokenizer makes of a text after each of its merges, where these follow from one encoding."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.analysis.token_counts import count_uses_work
from tokstudio.core.base.progress import Work, part_of
from tokstudio.core.comparison.counts import TokenCounts
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.tokenizer.counts_by_merge import counts_by_merge_work, why_not_by_merge
from tokstudio.core.tokenizer.tokenizer import Tokenizer

_PHASE = "measuring"


@dataclass(frozen=True, eq=False)
class TextTokens:
    """The bytes and tokens of a text, each part of it as often as it counts."""

    bytes: int
    tokens: int
    by_merge: NDArray[np.int64] | None  # [n + 1], the tokens after 0, 1, ... n merges; None if they are not known
    no_curve: str = ""  # why they are not known, as a sentence

    @property
    def bytes_per_token(self) -> float:
        """All bytes by all tokens, after all merges; 0 for a text without tokens."""
        return self.bytes / self.tokens if self.tokens else 0.0

    @cached_property
    def curve(self) -> NDArray[np.float64]:
        """float64 [n + 1], bytes per token after 0, 1, ... n merges; [] where these are not known."""
        if self.by_merge is None:
            return np.zeros(0)
        return np.divide(self.bytes, self.by_merge, out=np.zeros(len(self.by_merge)), where=self.by_merge > 0)


def text_tokens_work(
    tokenizer: Tokenizer, parts: Sequence[tuple[Corpus, int]], known: MutableMapping[str, TokenCounts]
) -> Work[TextTokens]:
    """Counts the tokens of a text: of parts, each with how often it counts. Special tokens in it are text.

    `known` has the tokens of parts that this tokenizer has encoded, by their `sha256`, and takes those of the others.

    Raises:
        ConfigError: The text has a character that is not in the vocabulary.
        FormatError: The library that encodes for the tokenizer refuses the text.
    """
    counts, size, done = np.zeros(len(tokenizer.tokens), np.int64), 0, 0
    total = sum(part.bytes for part, times in parts if times)
    for part, times in parts:
        if not times:
            continue
        key = yield from part_of(part.sha256_work(), _PHASE, done, 0, total)
        if key not in known:
            work = count_uses_work(tokenizer, part, recognise=False)
            uses = yield from part_of(work, _PHASE, done, part.bytes, total)
            used = np.flatnonzero(uses)
            known[key] = TokenCounts(used, uses[used])
        counts[known[key].ids] += times * known[key].counts
        size, done = size + times * part.bytes, done + part.bytes
    reason = why_not_by_merge(tokenizer)
    by_merge = None if reason else (yield from counts_by_merge_work(tokenizer, counts)).tokens
    return TextTokens(size, int(counts.sum()), by_merge, reason or "")
