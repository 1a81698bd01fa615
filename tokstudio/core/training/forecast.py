"""Forecasts the time and memory of a training from trainings on small samples of the corpus."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from math import log, log2, sqrt

import numpy as np

from tokstudio.core.algorithms.common.languages import languages_of
from tokstudio.core.algorithms.common.progress_estimate import falls_of, further_falls, merging_work
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.machine import free_memory, processors
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import size_of_memory
from tokstudio.core.corpus.corpus import Corpus, refuse_overflow
from tokstudio.core.corpus.sampling import LARGEST_BLOCK, check_lines_work, sample_in_one
from tokstudio.core.model.algorithms import Algorithm, Boundless, SuperBPE
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.pretokenization.patterns import NONE, OWN, splitter

#: The largest share of the free memory that a training may take.
MOST_OF_FREE = 0.9

_SAMPLE = 1 << 20
_SAMPLES = (1 << 10, 1 << 14, 1 << 18, _SAMPLE)
_SECONDS = 0.7  # for all trials together
_PER_THREAD = 1 << 22  # bytes of text that make another thread worthwhile
_A_ROOT = 4  # merges that a text supports, times the root of its bytes
# Bytes of memory at the peak, measured with tests/benchmarks/count_10gb.py.
_A_POSITION = 13
_A_WEIGHT = 4
_A_LANGUAGE_POSITION = 16  # in addition, for parity-aware BPE: its origin, base unit and parallel count
_A_PAIR = 60
# Of stage 2 of SuperBPE, and of phase 2 of BoundlessBPE: positions and distinct pre-tokens for a byte of text, and
# seconds to split and encode one.
_SECOND_POSITIONS, _SECOND_SEQUENCES = 0.3, 0.025
_SECOND_SECONDS: Mapping[type[Algorithm], float] = {SuperBPE: 0.13e-6, Boundless: 0.025e-6}
# Of counting, measured on 1 MB to 1 GB of three texts: what a new word takes, in bytes of text, and how many times as
# long it takes outside the caches, with a table that was doubled so often.
_A_NEW_WORD, _OUTSIDE_CACHES, _CACHES = 490, 2.8, 2.0
# Below this count, a sample has so many pairs alike that its merges tell nothing of those of more text.
_LEAST_TOLD = 4
# Of Picky BPE: times the merging of plain BPE, where each distinct pre-token is stored once and where text is one
# sequence, and seconds for each merge besides. Measured on 0.25 to 48 MB of source code: one sequence takes 12 to 13
# times the forecast of plain BPE up to 16 MB, and 32 times for 48 MB.
_PICKY_TIMES, _PICKY_TIMES_UNSPLIT = 4, 13
_PICKY_MERGE = 25e-6
_PICKY_GROWS_FROM, _PICKY_GROWTH = 16e6, 0.75
_A_WORD = 60  # during counting, in each thread
_A_HELD_BYTE = 1
_FIRST_BEYOND_LATIN, _FIRST_OF_FOUR = 0xC4, 0xF0  # UTF-8 of U+0100 and U+10000
_ENCODING_UNSPLIT = 3  # times the merging: without a pattern, no repeated sequences are known


def fitting_merges(size: int) -> int:
    """How many merges a text of so many bytes supports: four times the square root of its bytes, down to two digits.

    `fitting_merges(30_000)` is 690. On prose in English and in many languages, and on source code, the last of so many
    merges joined a pair that occurs 2 or 3 times in 3 kB, 5 or 6 in 30 kB, 7 to 9 in 100 kB and 15 to 20 in 1 MB: of
    further ones, a model sees too little to learn what their tokens mean.
    """
    merges = int(_A_ROOT * sqrt(size))
    unit = 10 ** max(0, len(str(merges)) - 2)
    return max(1, merges // unit * unit)


def fitting_sizes() -> str:
    """What `fitting_merges` says of some texts, in words."""
    sizes = ("3 kB", 3_000), ("30 kB", 30_000), ("1 MB", 10**6), ("100 MB", 10**8)
    first, *others = (f"{name} {fitting_merges(size):,}" for name, size in sizes)
    first = first.replace(" kB ", " kB support ")
    return f"four times the square root of the bytes, rounded down to two digits; {first} merges, {', '.join(others)}"


@dataclass(frozen=True)
class Forecast:
    """The expected time and memory of a training."""

    seconds: float  # duration, including measuring the held-out text
    memory: int  # bytes of memory beyond those of the corpus
    free: int | None  # bytes of free memory; None where that is unknown
    # How many bytes of the corpus's text fit into memory; all of them where there is no problem. 0 where the corpus has
    # word counts, which a sample would distort.
    sample: int
    problem: str  # the reason why the training cannot work, and what to do; empty where it can
    cause: TokStudioError | None = None  # the error of a training on a sample, where that is the problem

    @property
    def fits(self) -> bool:
        """Whether the training can work."""
        return not self.problem

    @property
    def too_large(self) -> bool:
        """Whether it needs too much memory."""
        return self.free is not None and self.memory > MOST_OF_FREE * self.free


@dataclass(frozen=True)
class _Trial:
    """The result of a training on a sample of `bytes`.

    Times are processor time in seconds, so that other work of the computer does not matter. `falls` is how often the
    count of a merge fell to an eighth.
    """

    bytes: float
    positions: int
    sequences: int
    merges: int
    preparing: float
    merging: float
    falls: float = 0.0


def forecast_work(corpus: Corpus, config: TrainingConfig) -> Work[Forecast]:
    """Forecasts a training; takes less than a second, unless a single match of a pattern takes longer.

    An error on a sample (such as a pattern that drops text) becomes the forecast's problem, without the place, which
    the training itself will tell. Where trainings on samples take too long, the forecast uses the part that was done.
    """
    free = free_memory()
    whole, corpus = corpus, _in_use(corpus)
    size = sum(len(source.data) for source in corpus.sources)
    counted = [source.counts is not None for source in corpus.sources]
    read = sum(len(source.data) for source in whole.sources)
    sample = 0 if any(source.counts is not None for source in whole.sources) else read
    try:
        refuse_overflow(whole)
        if config.held_out:
            yield from _for_a_while(check_lines_work(corpus.sources))
        by_language = len(languages_of(whole, config)) > 0
        # A sample has no languages. Plain BPE takes about as long.
        small, large = yield from _trials_work(corpus, config.as_plain(), size)
    except TokStudioError as error:
        problem = error.of_a_part if size > _SAMPLE else str(error)
        return Forecast(0.0, 0, free, sample, problem, error)
    trained_on = size * (1 - config.held_out)
    positions, sequences, merges = _grown(small, large, trained_on)
    if config.vocabulary_size is not None:
        merges = min(merges, config.vocabulary_size)
    threads = _threads(config, trained_on)
    # Text of weight 0 is counted too.
    counting = _counting_seconds(large, trained_on, sequences, config) * (read / max(1, size))
    preparing = counting / threads
    merging = _merging_seconds(large, positions, merges)
    if config.algorithm.removes_tokens:
        merging = _picky_seconds(merging, positions, merges, unsplit=config.pattern == "none")
    measuring = _held_out_seconds(config, counting, merging)
    weighted = config.pattern != "none" or any(counted) or corpus.weights is not None or by_language
    memory = merging_memory(positions, merges, weighted=weighted) + by_language * positions * _A_LANGUAGE_POSITION
    if config.pattern != "none":
        words = sequences * _A_WORD * (read / max(1, size))
        counting_memory = words * threads
        if splitter(config.pattern).kind == OWN:
            counting_memory += yield from _decoded_work(whole, config)
        memory = max(memory, counting_memory) + words
    seconds = preparing + merging + measuring
    if (second := _SECOND_SECONDS.get(type(config.algorithm))) is not None:
        seconds += trained_on * second + _merging_seconds(large, trained_on * _SECOND_POSITIONS, merges)
        memory = max(memory, (yield from _second_memory_work(whole, config, trained_on, merges)))
    if config.held_out:
        memory += read * _A_HELD_BYTE
    return _judged(Forecast(seconds, int(memory), free, sample, ""), only_counts=all(counted))


def _grown(small: _Trial, large: _Trial, size: float) -> tuple[float, float, float]:
    """Positions, sequences and merges of a training on `size` bytes, from trainings on two samples."""
    scale, step = size / max(1, large.bytes), large.bytes / max(1, small.bytes)
    positions = large.positions * scale ** _exponent(small.positions, large.positions, step)
    sequences = large.sequences * scale ** _exponent(small.sequences, large.sequences, step)
    return positions, sequences, large.merges * scale ** _exponent(small.merges, large.merges, step)


def _judged(forecast: Forecast, *, only_counts: bool) -> Forecast:
    """The forecast with its problem where it needs too much memory, and with how much of the corpus would fit."""
    if forecast.free is None or not forecast.too_large:
        return forecast
    fitting = int(forecast.sample * MOST_OF_FREE * forecast.free / forecast.memory)
    advice = "leave out the rarest words" if only_counts else "leave out some of the corpus"
    if fitting:
        advice = f"train on a sample of {fitting / 1e6:,.1f} MB"
    needs = f"about {size_of_memory(forecast.memory)} of memory, but only {size_of_memory(forecast.free)} is free"
    return replace(forecast, sample=fitting, problem=f"This training would take {needs}: {advice}.")


def _second_memory_work(corpus: Corpus, config: TrainingConfig, size: float, merges: float) -> Work[float]:
    """Bytes of memory at the peak of stage 2 of SuperBPE, or of phase 2 of BoundlessBPE, for so many bytes of text."""
    merging = merging_memory(size * _SECOND_POSITIONS, merges, weighted=True)
    if config.algorithm.joins_words:
        return merging + sum(len(source.data) for source in corpus.sources)
    words = size * _SECOND_SEQUENCES * _A_WORD
    second = splitter(config.as_second_stage().pattern)
    splitting = (yield from _decoded_work(corpus, config)) if second.kind == OWN else 0
    return words + max(splitting, merging)


def _counting_seconds(trial: _Trial, size: float, words: float, config: TrainingConfig) -> float:
    """Seconds to read and count `size` bytes with so many distinct pre-tokens, from those of a sample.

    The table of a sample stays in the caches of the processor, that of much text does not.
    """
    if splitter(config.pattern).kind <= NONE or not trial.sequences:
        return trial.preparing * size / max(1, trial.bytes)
    share = (size + _A_NEW_WORD * words) / (trial.bytes + _A_NEW_WORD * trial.sequences)
    beyond = log2(max(1.0, words / trial.sequences)) / _CACHES
    return trial.preparing * share * (1 + (_OUTSIDE_CACHES - 1) * min(1.0, beyond))


def _in_use(corpus: Corpus) -> Corpus:
    """The corpus without sources of weight 0, which are read and counted but not merged."""
    if corpus.weights is None or all(corpus.weights):
        return corpus
    kept = [(source, weight) for source, weight in zip(corpus.sources, corpus.weights, strict=True) if weight]
    return Corpus(tuple(source for source, _ in kept), tuple(weight for _, weight in kept))


def merging_memory(positions: float, merges: float, *, weighted: bool) -> float:
    """Bytes of memory at the peak of merging; `weighted` if each distinct sequence is stored once, with its count."""
    return positions * (_A_POSITION + weighted * _A_WEIGHT) + merges * _A_PAIR


def _merging_seconds(trial: _Trial, positions: float, merges: float) -> float:
    """Seconds of merging: in a small sample, most of the time goes into single merges."""
    done = merging_work(trial.positions, trial.merges, trial.falls)
    falls = trial.falls + further_falls(merges / max(1, trial.merges))
    return trial.merging * merging_work(positions, merges, falls) / done if done else 0.0


def _picky_seconds(plain: float, positions: float, merges: float, *, unsplit: bool) -> float:
    """Seconds of merging of Picky BPE, from those of plain BPE."""
    times: float = _PICKY_TIMES
    if unsplit:
        times = _PICKY_TIMES_UNSPLIT * max(1.0, positions / _PICKY_GROWS_FROM) ** _PICKY_GROWTH
    return times * plain + _PICKY_MERGE * merges


def _trials_work(corpus: Corpus, config: TrainingConfig, size: int) -> Work[tuple[_Trial, _Trial]]:
    """Trains on larger and larger samples while there is time; returns the last two, or the only one twice."""
    yield from _warm_up_work(config)
    deadline = time.perf_counter() + _SECONDS
    trials: list[_Trial] = []
    failure: TokStudioError | None = None
    for aim in (*(aim for aim in _SAMPLES if aim < size), *([size] if size <= _SAMPLE else [])):
        # A small corpus is tried whole, so that the forecast is certain.
        chosen = config if aim == size else replace(config, held_out=0.0)
        try:
            least = _LEAST_TOLD if aim != size and config.vocabulary_size is not None else 1
            trial = yield from _try_work(sample_in_one(corpus, aim), chosen, deadline, least, is_first=not trials)
        except TokStudioError as error:
            if size > _SAMPLE:
                raise
            failure = error
            continue
        if trial is None:
            break
        trials.append(trial)
        failure = None
    if failure is not None:
        raise failure
    return trials[-2:][0], trials[-1]


def _try_work(
    sample: Corpus, config: TrainingConfig, deadline: float, least: int, *, is_first: bool
) -> Work[_Trial | None]:
    """Trains on a sample down to the count `least`, and measures it; None where time is over.

    The first trial is judged by its finished part.
    """
    from tokstudio.core.training.trainer import Trainer

    trainer = Trainer(sample, config)
    size = sum(len(source.data) for source in sample.sources) * (1 - config.held_out)
    spent = [0.0, 0.0]
    first = last = 0
    while trainer.ended is None:
        started = time.thread_time()
        merging = trainer.prepared is not None
        if time.perf_counter() > deadline and not (is_first and merging):
            done = trainer.progress
            trainer.stop()
            share = max(1, done.done) / max(1, done.total)
            return _Trial(size, 0, 0, 0, spent[0] / share, 0.0) if is_first else None
        batch = trainer.advance()
        spent[merging] += time.thread_time() - started
        if len(batch):
            first, last = first or int(batch.count[0]), int(batch.count[-1])
            if last < least * sample.weight_scale:
                trainer.stop()
        yield Progress("forecasting")
    prepared = trainer.prepared
    if prepared is None:
        return _Trial(0, 0, 0, 0, 0.0, 0.0)
    falls = falls_of(first / last) if last else 0.0
    return _Trial(size, prepared.positions, prepared.sequences, trainer.merges_made, spent[0], spent[1], falls)


def _warm_up_work(config: TrainingConfig) -> Work[None]:
    """Trains on a few words, so that no trial includes the time to load the loops."""
    from tokstudio.core.training.trainer import Trainer

    pattern = "gpt2" if splitter(config.pattern).kind == OWN else config.pattern
    with suppress(TokStudioError):
        trainer = Trainer(Corpus.from_text("a tail and a tale"), replace(config, pattern=pattern, held_out=0.0))
        while trainer.ended is None:
            trainer.advance()
            yield Progress("forecasting")


def _decoded_work(corpus: Corpus, config: TrainingConfig) -> Work[int]:
    """Bytes of memory for splitting by a custom expression, which sees a whole document as characters."""
    deadline = time.perf_counter() + _SECONDS
    most = 0
    for source in corpus.sources:
        longest = 0 if source.counts is not None else int(np.diff(source.ends, prepend=0).max(initial=0))
        if config.held_out:
            longest = min(longest, LARGEST_BLOCK)
        highest = at = 0
        while at < len(source.data) and highest < _FIRST_OF_FOUR and time.perf_counter() <= deadline:
            highest = max(highest, int(np.max(source.data[at : at + _SAMPLE])))
            at += _SAMPLE
            yield Progress("forecasting")
        if at < len(source.data):
            highest = _FIRST_OF_FOUR
        # Python takes as many bytes for each character as the widest needs, twice while it joins them; the document's
        # bytes and the characters' widths are held besides.
        width = 4 if highest >= _FIRST_OF_FOUR else 2 if highest >= _FIRST_BEYOND_LATIN else 1
        most = max(most, longest * (2 * width + 2))
    return most


def _for_a_while(work: Work[None]) -> Work[None]:
    """Ends work that takes too long for a forecast."""
    deadline = time.perf_counter() + _SECONDS
    for progress in work:
        if time.perf_counter() > deadline:
            return
        yield progress


def _held_out_seconds(config: TrainingConfig, preparing: float, merging: float) -> float:
    """Seconds for the curve of the held-out text, from those for the rest: it is split and encoded once."""
    share = config.held_out / (1 - config.held_out)
    return share * (preparing + (_ENCODING_UNSPLIT * merging if config.pattern == "none" else 0.0))


def _threads(config: TrainingConfig, size: float) -> int:
    if splitter(config.pattern).kind <= NONE:
        return 1
    return max(1, min(processors(), 8, int(size / _PER_THREAD)))


def _exponent(small: int, large: int, step: float) -> float:
    """The exponent of growth with the corpus, from two samples, one of them `step` times as large as the other."""
    if step <= 1 or not 0 < small <= large:
        return 1.0
    return min(1.0, max(0.3, log(large / small) / log(step)))
