"""A run as the window holds it: growing while it trains, complete when it has ended, or opened from a file.

Lives in the GUI thread. Its arrays are read by every pane; only `append` and `complete` change them.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.corpus import Corpus, Source
from tokstudio.core.run import BASE_SIZE, NOTHING_LEFT, STOPPED, MergeBatch, Run, TrainingConfig, merged, uses
from tokstudio.core.tokenizer import Tokenizer


class StudioRun:
    """The merges of one run, in arrays that grow without being copied at every batch.

    Attributes:
        key: A number of its own.
        name: What the person calls it.
        config: What was asked for; None for a tokenizer opened from a file.
        corpus: What it was trained on; None for one opened from a file, and when the corpus was let go.
        ended: How it ended; None while it trains.
        run: The run itself, once it has ended; None while it trains, and for one opened from a file.
        base_counts: int64 [256], how often each byte stood in the corpus at first; None until that is counted.
        exported: Whether it was written to a file since it ended.
    """

    def __init__(self, key: int, name: str, config: TrainingConfig | None = None, corpus: Corpus | None = None) -> None:
        self.key = key
        self.name = name
        self.config = config
        self.corpus = corpus
        self.corpus_bytes = corpus.bytes if corpus else 0
        self.tokens_before = self.corpus_bytes
        self.ended: str | None = None
        self.run: Run | None = None
        self.base_counts: NDArray[np.int64] | None = None
        self.exported = False
        self._length = 0
        self._merges = np.empty((1024, 2), np.int32)
        self._count = np.empty(1024, np.int64)
        self._tokens_after = np.empty(1024, np.int64)
        self._tokenizer: Tokenizer | None = None

    @classmethod
    def opened(cls, key: int, name: str, tokenizer: Tokenizer) -> StudioRun:
        """A tokenizer from a file: it has merges, but no counts and no corpus."""
        made = cls(key, name)
        made._merges = tokenizer.merges
        made._length = len(tokenizer.merges)
        made._count = made._tokens_after = np.empty(0, np.int64)
        made._tokenizer = tokenizer
        made.ended = "opened from a file"
        made.exported = True
        return made

    def __len__(self) -> int:
        """How many merges there are so far."""
        return self._length

    @property
    def has_counts(self) -> bool:
        """Whether it was trained here, so that counts, tokens and uses are known."""
        return self.config is not None

    @property
    def merges(self) -> NDArray[np.int32]:
        """int32 [n, 2], ids of left and right."""
        return self._merges[: self._length]

    @property
    def count(self) -> NDArray[np.int64]:
        """int64 [n], count of each pair when it was chosen; empty for a tokenizer from a file."""
        return self._count[: self._length]

    @property
    def tokens_after(self) -> NDArray[np.int64]:
        """int64 [n], tokens in the corpus after each merge; empty for a tokenizer from a file."""
        return self._tokens_after[: self._length]

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of all merges so far."""
        if self._tokenizer is None or len(self._tokenizer.merges) != self._length:
            self._tokenizer = Tokenizer.from_training(self.merges.copy(), self.run)
        return self._tokenizer

    def append(self, batch: MergeBatch) -> None:
        """Takes over the next merges."""
        n = self._length + len(batch)
        if n > len(self._count):
            size = max(n, 2 * len(self._count))
            self._merges = _grown(self._merges, size)
            self._count = _grown(self._count, size)
            self._tokens_after = _grown(self._tokens_after, size)
        here = slice(self._length, n)
        self._merges[here, 0], self._merges[here, 1] = batch.left, batch.right
        self._count[here], self._tokens_after[here] = batch.count, batch.tokens_after
        self._length = n

    def begin_with(self, earlier: Run) -> None:
        """Begins where an earlier run ended; its merges are this one's first."""
        self._merges, self._count, self._tokens_after = earlier.merges, earlier.counts, earlier.tokens_after
        self._length = len(earlier)
        self.base_counts = earlier.base_counts

    def may_continue(self, config: TrainingConfig, sources: tuple[Source, ...]) -> bool:
        """Whether training would go on where it ended: the same sources and settings, but a larger limit."""
        made = self.run
        if made is None or self.corpus is None or sources != self.corpus.sources:
            return False
        limits = {"vocabulary_size": config.vocabulary_size, "min_frequency": config.min_frequency}
        if replace(made.config, **limits) != config:
            return False
        more = config.max_merges is None or config.max_merges > len(self)
        rarer = config.min_frequency is None or (len(self) > 0 and int(self.count[-1]) >= config.min_frequency)
        # A limit that held the run is gone or larger; what ended for want of pairs has nowhere to go.
        held = config != made.config or made.ended == STOPPED
        return more and rarer and held and made.ended != NOTHING_LEFT

    def complete(self, run: Run) -> None:
        """Takes over the run as it ended."""
        self._merges, self._count, self._tokens_after = run.merges, run.counts, run.tokens_after
        self._length = len(run)
        self.run = run
        self.base_counts = run.base_counts
        self.ended = run.ended
        self.tokens_before = run.tokens_before
        self._tokenizer = None

    def tokens_at(self, merges: int) -> int:
        """Tokens in the corpus after so many merges."""
        return int(self._tokens_after[merges - 1]) if merges else self.tokens_before

    def bytes_per_token(self, merges: int) -> float:
        """Compression ratio of the corpus after so many merges."""
        tokens = self.tokens_at(merges)
        return self.corpus_bytes / tokens if tokens else 0.0

    def curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bytes per token over merges, from 0 merges on: two float64 arrays [n + 1]."""
        tokens = np.concatenate([[self.tokens_before], self.tokens_after]).astype(np.float64)
        ratio = np.divide(self.corpus_bytes, tokens, out=np.zeros_like(tokens), where=tokens > 0)
        return np.arange(len(tokens), dtype=np.float64), ratio

    def uses(self, merges: int) -> NDArray[np.int64] | None:
        """How often each token stands in the corpus after so many merges, by id; None where that is not known."""
        if self.base_counts is None:
            return None
        return uses(self.base_counts, self.merges[:merges], self.merged[:merges])

    def uses_of(self, token: int, merges: int) -> int | None:
        """What `uses` says of one token, without counting the others; None where it is not known."""
        if self.base_counts is None:
            return None
        replacements = self.merged[:merges]
        made = self.base_counts[token] if token < BASE_SIZE else replacements[token - BASE_SIZE]
        # A merge of a token with itself takes two of it at every place.
        taken = sum(replacements[self.merges[:merges, side] == token].sum() for side in (0, 1))
        return int(made - taken)

    @property
    def merged(self) -> NDArray[np.int64]:
        """int64 [n], replacements each merge made."""
        return merged(self.tokens_before, self.tokens_after)

    @property
    def unsaved(self) -> bool:
        """Whether it would be lost: it has merges, and was not exported."""
        return self.has_counts and len(self) > 0 and not self.exported

    @property
    def vocabulary_size(self) -> int:
        """Tokens of all merges so far."""
        return BASE_SIZE + self._length


def _grown(array: NDArray, size: int) -> NDArray:
    grown = np.empty((size, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
