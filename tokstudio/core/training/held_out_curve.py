"""Counts the tokens of held-out text after each merge of a run, exactly.

The text is encoded only once, with all merges; `counts_by_merge` gives the tokens after fewer, and `picky_counts` does
where merges remove tokens.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Progress, Work, part_of, together
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source, groups
from tokstudio.core.model.run import Run
from tokstudio.core.pretokenization.special_tokens import SpecialFinder
from tokstudio.core.pretokenization.word_table import PADDING
from tokstudio.core.tokenizer.counts_by_merge import stages_of, tokens_by_merge
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.from_tokenizer import prepared_sources_work, start_of
from tokstudio.core.training.picky_counts import picky_tokens_work
from tokstudio.core.training.prepare_corpus import count_text_work, valid_work

_CHUNK = 1 << 20  # bytes of whole documents to encode together
_PHASE = "measuring held-out text"


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The token counts of held-out text; special tokens are cut out as in training, and not counted."""

    bytes: int  # bytes of the text
    tokens: NDArray[
        np.int64
    ]  # [n + 1], its tokens after 0, 1, ... n merges, those of the tokenizer at the start included


def held_out_work(run: Run, sources: Sequence[Source]) -> Work[HeldOut]:
    """Counts the tokens of held-out text from `hold_out_work` after every merge of a run, in time linear in both.

    Raises:
        ConfigError: It has a character that the training text lacks, and there is no unknown token.
    """
    if run.removals is not None:
        return (yield from _picky_work(run, sources))
    config, made = run.config, [np.empty(0, np.int64)]
    if config.base == "characters":
        valid = yield from together("reading", ((len(source.data), valid_work(source)) for source in sources))
        sources = [source for source, _ in valid]
    sources = yield from prepared_sources_work(sources, start_of(run))
    finder, size = SpecialFinder(token.encode() for token in config.all_specials), 0
    for tokenizer in stages_of(Tokenizer.from_run(run)):
        size, tokens = yield from _tokens_work(tokenizer, sources, finder)
        made.append(tokens[len(made[-1]) :])
    tokens = np.concatenate(made)
    tokens.setflags(write=False)
    return HeldOut(size, tokens)


def _picky_work(run: Run, sources: Sequence[Source]) -> Work[HeldOut]:
    config = replace(run.config, held_out=0.0)
    counted = yield from count_text_work(Corpus(tuple(sources)), config, by_source=False)
    entries = 1 if counted.counts is not None else len(sources)
    size, tokens = yield from picky_tokens_work(run, counted, entries, lenient=False)
    total = tokens.sum(axis=1)
    total.setflags(write=False)
    return HeldOut(int(size.sum()), total)


def _tokens_work(
    tokenizer: Tokenizer, sources: Sequence[Source], finder: SpecialFinder
) -> Work[tuple[int, NDArray[np.int64]]]:
    """The bytes of text, and int64 [n + 1] its tokens after 0, 1, ... n merges."""
    encoder = tokenizer.encoder(tokenizer.pattern)
    # Special tokens are cut out and not counted.
    nothing = np.full(len(finder) + 1, -1, np.int32)
    counts = np.zeros(len(tokenizer.tokens), np.int64)
    size, done, counted = sum(len(source.data) for source in sources), 0, 0
    for data, ends in _chunks(sources):
        pieces = yield from finder.cut_work(data, ends)
        if len(pieces.starts):
            work = encoder.encode_work(data, pieces, nothing)
            for ids in (yield from part_of(work, _PHASE, done, 0, size)):
                counts += np.bincount(ids, minlength=len(counts))
            counted += int((pieces.stops - pieces.starts).sum())
        done += int(ends[-1])
        yield Progress(_PHASE, done, size)
    return counted, tokens_by_merge(tokenizer.merges, tokenizer.merge_results, counts)


def _chunks(sources: Sequence[Source]) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
    """Yields whole documents with padding, and the end of each."""
    for source in sources:
        for first, last, start, end in groups(source.ends, _CHUNK):
            data = np.zeros(end - start + PADDING, np.uint8)
            data[: end - start] = source.data[start:end]
            yield data, source.ends[first:last] - start
