"""Counts how often each token of an opened tokenizer occurs in a corpus, by encoding all of it.

For a trained run, `Run.uses` gives the same from the merges, without encoding.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tokstudio.core.algorithms.common.prepare_corpus import valid_work
from tokstudio.core.analysis.document_encoder import DocumentEncoder
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work, part_of, together
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.pretokenization.special_tokens import SpecialFinder
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORDS = 1 << 13
_PHASE = "counting uses"

#: Documents one after another, the end of each, and how often all of them occur.
_Group: TypeAlias = "tuple[NDArray[np.uint8], NDArray[np.int64], int]"


def count_uses_work(tokenizer: Tokenizer, corpus: Corpus, recognise: bool = True) -> Work[NDArray[np.int64]]:
    """Encodes a corpus, document by document, and counts the tokens.

    Unless `recognise`, special tokens in the text are text like any other.

    See `DocumentEncoder` for a single sequence of more than 8 MiB.

    Returns:
        int64 [highest id + 1], how often each token occurs in the corpus. In word counts, each word counts as often as
        it occurs.

    Raises:
        ConfigError: The corpus has a character that is not in the vocabulary, or word counts for supermerges.
        FormatError: The library that encodes for the tokenizer refuses the text.
    """
    from tokstudio.core.kernels.encode import count_tokens

    counts = np.zeros(len(tokenizer.tokens), np.int64)
    documents = DocumentEncoder(tokenizer, recognise)
    words = DocumentEncoder(tokenizer, recognise, are_words=True)
    total, done = sum(len(source.data) for source in corpus.sources), 0
    if tokenizer.supermerges is not None and any(source.counts is not None for source in corpus.sources):
        raise ConfigError("Supermerges join adjacent words, which word counts do not have: open the text.")
    for source in corpus.sources:
        if source.counts is None:
            work = documents.take_work(source, lambda ids: count_tokens(ids, 1, counts), marked=False)
            yield from part_of(work, _PHASE, done, len(source.data), total)
            done += len(source.data)
            continue
        for data, ends, weight in _words(source, source.counts):
            work = words.ids_work(data, ends, marked=False)
            parts, done = (yield from part_of(work, _PHASE, done, len(data), total)), done + len(data)
            for ids in parts:
                count_tokens(ids, weight, counts)
                yield Progress(_PHASE, done, total)
    return counts


def _words(source: Source, counts: NDArray[np.int64]) -> Iterator[_Group]:
    """Words that occur equally often, together."""
    order = np.argsort(counts, kind="stable")
    starts = np.concatenate([[0], source.ends[:-1]])
    borders = np.flatnonzero(np.diff(counts[order])) + 1
    for group in np.split(order, borders):
        for first in range(0, len(group), _WORDS):
            here = group[first : first + _WORDS]
            pieces = [np.asarray(source.data[starts[i] : source.ends[i]]) for i in here.tolist()]
            yield np.concatenate(pieces), np.cumsum([len(piece) for piece in pieces]), int(counts[here[0]])


# --- Measures how well a tokenizer compresses held-out text -----------------------------------------------------------

_COMPRESSION_PHASE = "measuring held-out text"


@dataclass(frozen=True)
class Measured:
    """The bytes and tokens of an encoded text; special tokens are cut out and not counted."""

    bytes: int
    tokens: int

    @property
    def bytes_per_token(self) -> float | None:
        """The compression ratio; None where there is no text."""
        return self.bytes / self.tokens if self.tokens else None


def measure_work(tokenizer: Tokenizer, held_out: Sequence[Source], config: TrainingConfig) -> Work[Measured]:
    """Encodes held-out text, document by document, with special tokens cut out as in training.

    Raises:
        ConfigError: It has a character that the training text lacks, and there is no unknown token.
    """
    if config.base == "characters":
        valid = yield from together(_COMPRESSION_PHASE, ((len(one.data), valid_work(one)) for one in held_out))
        held_out = [source for source, _ in valid]
    finder, pieces = SpecialFinder(token.encode() for token in config.all_specials), list[Source]()
    for source in held_out:
        cut = yield from finder.cut_work(source.data, source.ends)
        text, ends = cut.joined(source.data, 0, len(cut.starts)) if len(cut.starts) else (source.data, source.ends)
        size = int(ends[-1]) if len(ends) else 0
        pieces.append(replace(source, data=text[:size], ends=ends, places=None, rows=None, cuts=None))
    text_bytes = sum(source.bytes for source in pieces)
    work = count_uses_work(tokenizer, Corpus(tuple(pieces)), recognise=False)
    counts = yield from part_of(work, _COMPRESSION_PHASE, 0, text_bytes, text_bytes)
    return Measured(text_bytes, int(counts.sum()))
