"""What a training will likely take, in time and memory, judged from trainings on small samples of the corpus."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import time
from dataclasses import dataclass
from math import log

import numpy as np

from tokstudio.core.config import TrainingConfig
from tokstudio.core.corpus import Corpus, Source
from tokstudio.core.errors import TokStudioError
from tokstudio.core.progress import Progress, Work
from tokstudio.core.readers import free_memory

_SAMPLE = 1 << 20
_STEP = 4  # the larger sample over the smaller one
_SLICES = 8
_LEAST_SLICE = 1 << 12
_MOST_OF_FREE = 0.9

# Bytes of memory at the peak; see BENCHMARKS.md for what was measured.
_A_POSITION = 13
_A_WEIGHT = 8
_A_PAIR = 60
_A_WORD = 60  # while it is counted, in each thread
_A_HELD_BYTE = 1
_SLOWER_BEYOND_CACHE = 1.6
_CACHE = 1 << 24  # positions that the processor's cache helps with


@dataclass(frozen=True)
class Forecast:
    """What a training will likely take.

    Attributes:
        seconds: Time.
        memory: Bytes of memory beyond those the corpus takes already.
        free: Bytes of memory that are free; None where that cannot be known.
        sample: Bytes of the corpus that could be trained on; all where it fits.
        problem: Why it cannot work, and what to do; empty where it can.
    """

    seconds: float
    memory: int
    free: int | None
    sample: int
    problem: str

    @property
    def fits(self) -> bool:
        """Whether it can work."""
        return not self.problem


@dataclass(frozen=True)
class _Trial:
    """What a training on a sample took."""

    bytes: int
    positions: int
    sequences: int
    merges: int
    preparing: float
    merging: float


def forecast_work(corpus: Corpus, config: TrainingConfig) -> Work[Forecast]:
    """Judges a training before it starts; takes less than a second.

    What goes wrong on a sample (a pattern that drops text, say) is told as the forecast's problem.
    """
    free = free_memory()
    size = sum(len(source.data) for source in corpus.sources)
    try:
        large = yield from _try_work(_sample(corpus, _SAMPLE), config)
        small = large
        if size > _SAMPLE:
            small = yield from _try_work(_sample(corpus, _SAMPLE // _STEP), config)
    except TokStudioError as error:
        return Forecast(0.0, 0, free, corpus.bytes, str(error))
    scale = max(1.0, size / max(1, large.bytes))
    positions = large.positions * scale ** _exponent(small.positions, large.positions, scale)
    sequences = large.sequences * scale ** _exponent(small.sequences, large.sequences, scale)
    merges = large.merges * scale ** _exponent(small.merges, large.merges, scale)
    threads = min(os.cpu_count() or 1, 8)
    preparing = large.preparing * scale / (threads if config.pattern != "none" else 1)
    merging = large.merging * positions / max(1, large.positions)
    if positions > _CACHE:
        merging *= _SLOWER_BEYOND_CACHE
    weighted = config.pattern != "none" or any(source.counts is not None for source in corpus.sources)
    memory = positions * (_A_POSITION + weighted * _A_WEIGHT) + merges * _A_PAIR
    if config.pattern != "none":
        memory = max(memory, sequences * _A_WORD * threads) + sequences * _A_WORD
    if config.held_out:
        memory += size * _A_HELD_BYTE
    memory = int(memory)
    problem, fitting = "", corpus.bytes
    if free is not None and memory > _MOST_OF_FREE * free:
        fitting = int(corpus.bytes * _MOST_OF_FREE * free / memory)
        problem = (
            f"This training would take about {memory / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free: "
            f"train on a sample of {fitting / 1e6:,.0f} MB."
        )
    return Forecast(preparing + merging, memory, free, fitting, problem)


def _try_work(sample: Corpus, config: TrainingConfig) -> Work[_Trial]:
    """Trains on a sample, and measures it."""
    from tokstudio.core.trainer import Trainer

    trainer = Trainer(sample, config)
    spent = [0.0, 0.0]
    while trainer.ended is None:
        started = time.perf_counter()
        merging = trainer.prepared is not None
        trainer.advance()
        spent[merging] += time.perf_counter() - started
        yield Progress("forecasting")
    prepared = trainer.prepared
    if prepared is None:
        return _Trial(0, 0, 0, 0, 0.0, 0.0)
    size = sum(len(source.data) for source in sample.sources)
    return _Trial(size, prepared.positions, prepared.sequences, trainer.merges_made, *spent)


def _sample(corpus: Corpus, size: int) -> Corpus:
    """About `size` bytes in slices from all over the corpus, each cut at lines where there are some."""
    total = sum(len(source.data) for source in corpus.sources)
    if total <= size:
        return corpus
    sources: list[Source] = []
    for source in corpus.sources:
        share = len(source.data) * size // total
        slices = max(1, min(_SLICES, share // _LEAST_SLICE))
        for number in range(slices):
            start = len(source.data) * number // slices
            sources.append(_slice(source, start, start + share // slices))
    return Corpus(tuple(source for source in sources if len(source.data)))


def _slice(source: Source, start: int, stop: int) -> Source:
    if source.counts is not None:
        first, last = np.searchsorted(source.ends, [start, stop]).tolist()
        begin = int(source.ends[first - 1]) if first else 0
        end = int(source.ends[last - 1]) if last else 0
        ends, counts = source.ends[first:last] - begin, source.counts[first:last]
        return Source(source.name, None, "", "", source.data[begin : max(begin, end)], ends, counts=counts)
    start, stop = _line_after(source, start), _line_after(source, stop)
    inner = source.ends[(source.ends > start) & (source.ends < stop)] - start
    return Source(source.name, None, "", "", source.data[start:stop], np.append(inner, stop - start))


def _line_after(source: Source, at: int) -> int:
    """The next beginning of a line, or of a character where lines are very long."""
    if at == 0:
        return 0
    window = source.data[at : at + _LEAST_SLICE]
    feeds = np.flatnonzero(window == ord("\n"))
    if len(feeds):
        return at + int(feeds[0]) + 1
    starts = np.flatnonzero((window & 0xC0) != 0x80)
    return at + (int(starts[0]) if len(starts) else 0)


def _exponent(small: int, large: int, scale: float) -> float:
    """How fast something grows with the corpus, from two samples of which one is `_STEP` times the other."""
    if scale == 1 or not 0 < small <= large:
        return 1.0
    return min(1.0, max(0.3, log(large / small) / log(_STEP)))
