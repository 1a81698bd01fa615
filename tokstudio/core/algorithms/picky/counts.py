"""Counts the tokens of any text after each merge of Picky BPE and its removals, exactly.

Tokens that are removed come back as others, so the counts after all merges do not tell those after fewer. Each distinct
word is encoded once, and what each event changes counts as often as the word occurs.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.algorithms.common.from_tokenizer import prepared_sources_work
from tokstudio.core.algorithms.common.prepare_corpus import CountedText, valid_work
from tokstudio.core.base.progress import Progress, Work, part_of, together
from tokstudio.core.corpus.source import CountedWith, Source
from tokstudio.core.model.run import Run
from tokstudio.core.pretokenization.count_words import count_work
from tokstudio.core.pretokenization.special_tokens import cut_sources_work
from tokstudio.core.pretokenization.word_counts import Sequences, WordCounts
from tokstudio.core.tokenizer.picky_encoder import PickyEncoder
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORDS = 1 << 14  # words to encode together
_PHASE = "measuring sources"


def picky_tokens_work(
    run: Run, counted: CountedText, sources: int, *, lenient: bool
) -> Work[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """int64 [sources], the bytes of each; and int64 [merges + 1, sources], its tokens after 0, 1, ... merges.

    With `lenient`, a character that the run does not have counts as a token; else it is a ConfigError.
    """
    alphabet = run.alphabet
    if lenient and alphabet.base == "characters" and run.config.unknown_token is None:
        alphabet = replace(alphabet, unknown=run.base_size + len(run))
    encoder = Tokenizer.from_run(run).encoder("none", alphabet=None if alphabet is run.alphabet else alphabet)
    if not isinstance(encoder, PickyEncoder):
        raise TypeError("The run is not one of Picky BPE.")
    size, base, changes = (
        np.zeros(sources, np.int64),
        np.zeros(sources, np.int64),
        np.zeros((sources, len(run)), np.int64),
    )
    if counted.counts is not None:
        yield from _add_words_work(encoder, counted.counts, size, base, changes)
    total, done = sum(len(part.data) for _, part, _ in counted.documents), 0
    for number, part, _ in counted.documents:
        work = _add_documents_work(encoder, part, changes[number])
        added = yield from part_of(work, _PHASE, done, len(part.data), total)
        size[number] += added[0]
        base[number] += added[1]
        done += len(part.data)
    tokens = np.concatenate([base[np.newaxis], base + np.cumsum(changes, axis=1).T])
    return size, tokens


def picky_changes_work(tokenizer: Tokenizer, sources: Sequence[Source]) -> Work[NDArray[np.int64]]:
    """int64 [merges], the further tokens that each merge of a tokenizer of Picky BPE leaves while it encodes sources.

    Raises:
        ConfigError: A character is not in the vocabulary, or the pattern drops text.
    """
    encoder = tokenizer.encoder("none")
    if not isinstance(encoder, PickyEncoder) or tokenizer.events is None:
        raise TypeError("The tokenizer is not one of Picky BPE.")
    if tokenizer.alphabet.base == "characters":
        sources = [source for source, _ in (yield from together("reading", map(_valid, sources)))]
    specials = tuple(tokenizer.special_tokens)
    cut, _ = yield from cut_sources_work((yield from prepared_sources_work(sources, tokenizer)), specials)
    changes = np.zeros((1, len(tokenizer.events.merges)), np.int64)
    if tokenizer.pattern == "none":
        for source, pieces in cut:
            part = Sequences(np.asarray(source.data), pieces.starts, pieces.stops)
            yield from _add_documents_work(encoder, part, changes[0])
    else:
        table = yield from count_work(cut, CountedWith(tokenizer.pattern, specials), by_source=False)
        size, base = np.zeros(1, np.int64), np.zeros(1, np.int64)
        yield from _add_words_work(encoder, table, size, base, changes)
    return changes[0, : len(tokenizer.merges)]


def _valid(source: Source) -> tuple[int, Work[tuple[Source, int]]]:
    return len(source.data), valid_work(source)


def _add_words_work(
    encoder: PickyEncoder,
    table: WordCounts,
    size: NDArray[np.int64],
    base: NDArray[np.int64],
    changes: NDArray[np.int64],
) -> Work[None]:
    order = np.argsort(table.words, kind="stable")
    for first in range(0, len(table), _WORDS):
        start = int(table.ends[first - 1]) if first else 0
        ends = table.ends[first : first + _WORDS]
        borders = np.array([first, first + len(ends)], np.int32)
        begin, stop = np.searchsorted(table.words, borders, sorter=order)
        rows = order[begin:stop]
        words, sources, counts = table.words[rows] - np.int32(first), table.sources[rows], table.counts[rows]
        work = encoder.changes_of_words_work(table.data, start, ends, (words, sources, counts), changes)
        units = yield from part_of(work, _PHASE, first, len(ends), len(table))
        np.add.at(size, sources, np.diff(ends, prepend=start)[words] * counts)
        np.add.at(base, sources, units[words] * counts)
        yield Progress(_PHASE, first + len(ends), len(table))


def _add_documents_work(encoder: PickyEncoder, part: Sequences, changes: NDArray[np.int64]) -> Work[tuple[int, int]]:
    """Adds those of the documents of a source; returns their bytes and base tokens."""
    size = base = 0
    for start, stop, count in zip(part.starts.tolist(), part.stops.tolist(), part.times.tolist(), strict=True):
        work = encoder.changes_of_text_work(part.data[start:stop], count, changes)
        units = yield from part_of(work, _PHASE, start, stop - start, len(part.data))
        size += (stop - start) * count
        base += units * count
        yield Progress(_PHASE, stop, len(part.data))
    return size, base
