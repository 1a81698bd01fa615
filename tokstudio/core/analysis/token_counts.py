"""Counts how often each token of an opened tokenizer occurs in a corpus, by encoding all of it.

For a trained run, `Run.uses` gives the same from the merges, without encoding.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work, part_of
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source, groups
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.pretokenization.patterns import NONE, splitter
from tokstudio.core.pretokenization.preparation import Preparation, prepare_work
from tokstudio.core.pretokenization.special_tokens import SpecialFinder, SpecialFinders
from tokstudio.core.pretokenization.word_table import PADDING
from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer
from tokstudio.core.tokenizer.tokenizer import Tokenizer

_GROUP = 1 << 24  # bytes of documents to encode together
LONGEST_SEQUENCE = 1 << 23
LAST_LINES = 1 << 16
BESIDE = 1 << 10  # bytes on either side of a cut
_ASKED = 1 << 16  # bytes of documents in one request to a library
_IDS = 1 << 20
_WORDS = 1 << 13
_PHASE = "counting uses"

#: Documents one after another, the end of each, and how often all of them occur; negative to subtract.
_Group = tuple[NDArray[np.uint8], NDArray[np.int64], int]
_Encode = Callable[[NDArray[np.uint8], NDArray[np.int64]], Work[NDArray[np.int64]]]


def count_uses_work(tokenizer: Tokenizer, corpus: Corpus, recognise: bool = True) -> Work[NDArray[np.int64]]:
    """Encodes a corpus, document by document, and counts the tokens.

    Unless `recognise`, special tokens in the text are text like any other.

    A single sequence of more than 8 MiB, which is possible only without a pattern, is cut at a line end. Differences
    within 1 KiB of the cut are corrected.

    Returns:
        int64 [highest id + 1], how often each token occurs in the corpus. In word counts, each word counts as often as
        it occurs.

    Raises:
        ConfigError: The corpus has a character that is not in the vocabulary, or word counts for supermerges.
        FormatError: The library that encodes for the tokenizer refuses the text.
    """
    counts = np.zeros(len(tokenizer.tokens), np.int64)
    if isinstance(tokenizer, LibraryTokenizer):
        documents = words = _library(tokenizer, recognise)
    else:
        in_words = replace(tokenizer.preparation, prefix_space=False)
        documents = _encode_here(tokenizer, tokenizer.pattern, tokenizer.preparation, recognise)
        words = _encode_here(tokenizer, "none", in_words, recognise)
    total, done = sum(len(source.data) for source in corpus.sources), 0
    if tokenizer.supermerges is not None and any(source.counts is not None for source in corpus.sources):
        raise ConfigError("Supermerges join adjacent words, which word counts do not have: open the text.")
    for source in corpus.sources:
        groups = _documents(source, tokenizer) if source.counts is None else _words(source, source.counts)
        for data, ends, weight in groups:
            work = (documents if source.counts is None else words)(data, ends)
            # Text beside a cut is encoded again.
            counted = yield from part_of(work, _PHASE, done, min(len(data), total - done), total)
            counts[: len(counted)] += weight * counted[: len(counts)]
            done = min(done + len(data), total)
            yield Progress(_PHASE, done, total)
    return counts


def _encode_here(tokenizer: Tokenizer, pattern: str, preparation: Preparation, recognise: bool) -> _Encode:
    """A function that encodes the documents of a group together."""
    encoder, finders = tokenizer.encoder(pattern), SpecialFinders(tokenizer.special_tokens)
    is_text = tokenizer.alphabet.base == "characters"

    def encode(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> Work[NDArray[np.int64]]:
        if is_text:
            data, ends = _as_text(data, ends)
        padded = np.zeros(len(data) + PADDING, np.uint8)
        padded[: len(data)] = data
        prepared = yield from prepare_work(preparation, finders, padded, ends, "all" if recognise else ())
        ids = [*(tokenizer.special_tokens[text.decode()] for text in prepared.specials), -1]
        parts = yield from encoder.encode_work(prepared.data, prepared.pieces, np.array(ids, np.int32))
        counts = np.zeros(len(tokenizer.tokens), np.int64)
        for part in parts:
            for first in range(0, len(part), _IDS):
                counts += np.bincount(part[first : first + _IDS], minlength=len(counts))
                yield Progress(_PHASE, len(data), len(data))
        return counts

    return encode


def _library(tokenizer: LibraryTokenizer, recognise: bool) -> _Encode:
    """A function that asks the tokenizer's library, about several short documents together."""

    def encode(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> Work[NDArray[np.int64]]:
        counts = np.zeros(len(tokenizer.tokens), np.int64)
        for first, last, start, stop in groups(ends, _ASKED):
            texts = [part.tobytes() for part in np.split(data[start:stop], ends[first : last - 1] - start)]
            ids = yield from tokenizer.encode_texts_work(texts, "all" if recognise else ())
            counts += np.bincount(ids, minlength=len(counts))[: len(counts)]
            yield Progress(_PHASE, stop, len(data))
        return counts

    return encode


def _documents(source: Source, tokenizer: Tokenizer) -> Iterator[_Group]:
    """The documents of a source in groups, copied because they may be in a file."""
    is_sequence = splitter(tokenizer.pattern).kind == NONE and not tokenizer.preparation.prefix_space
    for first, last, start, stop in groups(source.ends, _GROUP):
        data = np.array(source.data[start:stop])
        ends = (source.ends[first:last] - start).astype(np.int64)
        if is_sequence and len(ends) == 1 and len(data) > LONGEST_SEQUENCE:
            yield from _cut(data)
        else:
            yield data, ends, 1


def _cut(data: NDArray[np.uint8]) -> Iterator[_Group]:
    """A long sequence in parts that end with a line, if it has lines."""
    start = 0
    while start < len(data):
        stop = min(start + LONGEST_SEQUENCE, len(data))
        if stop < len(data):
            feeds = np.flatnonzero(data[stop - LAST_LINES : stop] == ord("\n"))
            stop = stop - LAST_LINES + int(feeds[-1]) + 1 if len(feeds) else stop
        yield _whole(data[start:stop], 1)
        if stop < len(data):
            # The tokens of both sides together, minus those of each side alone, correct the effect of the cut.
            first, last = max(start, stop - BESIDE), min(stop + BESIDE, len(data))
            while first < stop and data[first] & 0xC0 == 0x80:
                first += 1
            while stop < last < len(data) and data[last] & 0xC0 == 0x80:
                last -= 1
            yield _whole(data[first:last], 1)
            yield _whole(data[first:stop], -1)
            yield _whole(data[stop:last], -1)
        start = stop


def _whole(data: NDArray[np.uint8], weight: int) -> _Group:
    """One document."""
    return data, np.array([len(data)], np.int64), weight


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


def _as_text(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Documents with U+FFFD for invalid UTF-8, as in training."""
    texts = [part.tobytes().decode("utf-8", "replace").encode() for part in np.split(data, ends[:-1])]
    return np.frombuffer(b"".join(texts), np.uint8), np.cumsum([len(text) for text in texts], dtype=np.int64)


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
    finder = SpecialFinder(token.encode() for token in config.all_specials)
    size = sum(len(source.data) for source in held_out)
    text_bytes = tokens = 0
    for source in held_out:
        cutting = finder.cut_work(source.data, source.ends)
        pieces = yield from part_of(cutting, _COMPRESSION_PHASE, min(size, text_bytes), 0, size)
        for start, stop in zip(pieces.starts.tolist(), pieces.stops.tolist(), strict=True):
            text = source.data[start:stop].tobytes()
            if config.base == "characters":
                text = text.decode("utf-8", "replace").encode()
            tokens += len((yield from tokenizer.encode_work(text)))
            text_bytes += len(text)
            yield Progress(_COMPRESSION_PHASE, min(size, text_bytes), size)
    return Measured(text_bytes, tokens)
