"""What a training is asked for and what it leaves behind: configuration, batches of merges, the run.

All are values. Making them is left to the Trainer, using them to encode is left to the Tokenizer.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.errors import ConfigError

TieBreak = Literal["first", "lowest-id", "huggingface", "bytes"]
TIE_BREAKS: tuple[TieBreak, ...] = get_args(TieBreak)
PATTERNS = ("none",)
BASES = ("bytes",)
BASE_SIZE = 256

REACHED_SIZE = "reached vocabulary size"
NOTHING_LEFT = "nothing left to merge"
STOPPED = "stopped"

_LARGEST_VOCABULARY = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How to train. At least one of `vocabulary_size` and `min_frequency` must be set; with both, both hold.

    Attributes:
        vocabulary_size: Tokens in all, the 256 bytes included. Merging stops when there are that many.
        min_frequency: Merging stops when the best pair's count is below it.
        pattern: How documents are split before merging. "none": not at all, so that merges may cross spaces.
        base: What merging begins with: "bytes".
        tie_break: Which of several pairs with the highest count is merged: the one that stands "first", the one with
            the "lowest-id", the one that the `tokenizers` library takes ("huggingface"), or the greatest by "bytes".
        max_token_bytes: Longest token that may be made, inclusive.

    Raises:
        ConfigError: A value cannot work, or neither limit is set.
    """

    vocabulary_size: int | None = None
    min_frequency: int | None = None
    pattern: str = "none"
    base: str = "bytes"
    tie_break: TieBreak = "first"
    max_token_bytes: int | None = None

    def __post_init__(self) -> None:
        size = _whole("Vocabulary size", self.vocabulary_size)
        frequency = _whole("Minimum frequency", self.min_frequency)
        longest = _whole("Longest token", self.max_token_bytes)
        # Plain ints from here on, whatever kind of whole number was given.
        for name, value in (("vocabulary_size", size), ("min_frequency", frequency), ("max_token_bytes", longest)):
            object.__setattr__(self, name, value)
        if size is None and frequency is None:
            raise ConfigError("Set a vocabulary size, a minimum frequency, or both.")
        if size is not None and size <= BASE_SIZE:
            raise ConfigError(f"Vocabulary size must be greater than {BASE_SIZE}.")
        if size is not None and size > _LARGEST_VOCABULARY:
            raise ConfigError(f"Vocabulary size must be at most {_LARGEST_VOCABULARY:,}.")
        if frequency is not None and frequency < 2:
            raise ConfigError("Minimum frequency must be at least 2.")
        if longest is not None and longest < 2:
            raise ConfigError("Longest token must be at least 2 bytes.")
        _require_one_of("Pattern", self.pattern, PATTERNS)
        _require_one_of("Base", self.base, BASES)
        _require_one_of("Tie rule", self.tie_break, TIE_BREAKS)

    @property
    def max_merges(self) -> int | None:
        """How many merges the vocabulary size allows; None where it does not limit."""
        return None if self.vocabulary_size is None else self.vocabulary_size - BASE_SIZE


def _whole(name: str, value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ConfigError(f"{name} must be a whole number, not {value!r}.")
    return int(value)


def _require_one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigError(f'{name} "{value}" is not known. Known: {", ".join(known)}.')


@dataclass(frozen=True, eq=False)
class MergeBatch:
    """Some merges in order, as the Trainer makes them; arrays of one length, read-only.

    Attributes:
        first: Number of its first merge; merges are numbered from 1.
        left: int32, id of the left token of each merge.
        right: int32, id of the right token.
        count: int64, adjacent places of the pair when it was chosen.
        tokens_after: int64, tokens in the corpus after the merge.
    """

    first: int
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    count: NDArray[np.int64]
    tokens_after: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True)
class TrainedOn:
    """What a run knows of its corpus: size in bytes, number of documents, SHA-256 (see `Corpus.sha256`)."""

    bytes: int
    documents: int
    sha256: str


@dataclass(frozen=True, eq=False)
class Run:
    """A training, finished or stopped.

    Attributes:
        config: What was asked for.
        merges: int32 [n, 2], ids of left and right in the order they were made; merge k (from 1) made id 255 + k.
        counts: int64 [n], adjacent places of each pair when it was chosen.
        tokens_before: Tokens in the corpus before the first merge.
        tokens_after: int64 [n], tokens in the corpus after each merge.
        ended: How it ended: "reached vocabulary size", "nothing left to merge", "no pair occurs N times", "stopped".
        corpus: What it was trained on.
        base_counts: int64 [256], how often each base token stood in the corpus before the first merge.
        versions: Of TokStudio and of the libraries that matter to the result.
        seconds: Time it took, without pauses.
    """

    config: TrainingConfig
    merges: NDArray[np.int32]
    counts: NDArray[np.int64]
    tokens_before: int
    tokens_after: NDArray[np.int64]
    ended: str
    corpus: TrainedOn
    base_counts: NDArray[np.int64]
    versions: Mapping[str, str]
    seconds: float

    def __post_init__(self) -> None:
        for array in (self.merges, self.counts, self.tokens_after, self.base_counts):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.merges)

    @cached_property
    def merged(self) -> NDArray[np.int64]:
        """int64 [n], replacements each merge made: the fall in tokens."""
        return merged(self.tokens_before, self.tokens_after)

    def uses(self, merges: int | None = None) -> NDArray[np.int64]:
        """How often each token stands in the corpus after so many merges (None: all), by id."""
        n = len(self) if merges is None else merges
        return uses(self.base_counts, self.merges[:n], self.merged[:n])

    def bytes_per_token(self, merges: int | None = None) -> float:
        """The compression ratio after so many merges (None: all): UTF-8 bytes a token; 0 for an empty corpus."""
        n = len(self) if merges is None else merges
        tokens = self.tokens_before if n == 0 else int(self.tokens_after[n - 1])
        return self.corpus.bytes / tokens if tokens else 0.0


def merged(tokens_before: int, tokens_after: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64 [n], the fall in tokens at each merge."""
    return -np.diff(tokens_after, prepend=tokens_before)


def uses(
    base_counts: NDArray[np.int64], merges: NDArray[np.int32], replacements: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How often each token stands in the corpus: what it was made, less what later merges took of it.

    Args:
        base_counts: int64 [base], how often each base token stood there at first.
        merges: int32 [n, 2], ids of left and right.
        replacements: int64 [n], how often each merge was made.

    Returns:
        int64 [base + n], by id.
    """
    standing = np.concatenate([base_counts, replacements])
    for side in (0, 1):
        np.subtract.at(standing, merges[:, side], replacements)
    return standing
