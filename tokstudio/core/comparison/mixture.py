"""Weights of the texts of a corpus for a goal: how fair or how good the tokenizer trained with them has to be.

The texts are counted once. Each trial is a whole training with other weights, measured on the even lines of parallel
texts; what the best one reaches on the odd lines, which the search never looks at, is reported beside it.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.algorithms.common.prepare_corpus import CountedText, check_corpus, count_text_work
from tokstudio.core.analysis.token_store import uses_work
from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.wording import first_few, several, shown
from tokstudio.core.comparison.mixture_goal import (
    ALL_TRIED,
    MET,
    NO_NEARER,
    STOPPED,
    FoundMixture,
    MixtureFigures,
    MixtureGoal,
    MixtureTrial,
)
from tokstudio.core.comparison.parallel_set import ParallelSet, open_parallel_work
from tokstudio.core.corpus.corpus import LARGEST_WEIGHT, ONCE, Corpus
from tokstudio.core.corpus.source import entries
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.text.languages import language_name
from tokstudio.core.text.utf8 import AnyPath, Text, to_utf8
from tokstudio.core.tokenizer.counts_by_merge import counts_by_merge_work, why_not_by_merge
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.trainer import Trainer

MOST_TRAININGS = 120
MOST_TEXTS = 64

# Of steps, in natural logarithms of the weights:
_DOUBLE = math.log(2.0)  # the first step
_PROBES = (_DOUBLE, -_DOUBLE, 2 * _DOUBLE, -2 * _DOUBLE)  # of one weight at a time, to see what it changes
_RANGE = math.log(64.0)  # how far a weight goes from where it was, up and down
_LARGEST_STEP = math.log(4.0)
_LEAST_STEP = 0.03
_MARGIN = 0.002  # how far below the goal a step aims
_LEAST_GAIN = 0.0005  # what a step must promise
_ROUNDS = 1_000
_HALVINGS = 10
_MOST_NAMED = 12


class MixtureSearch:
    """A search for weights: drive `work`; `trials` grow after each training, and `stop` ends it with the best so far.

    `trials` may be read and `stop` be called in another thread. Nothing is chosen at random.

    Args:
        corpus: Its weights are where the search begins; texts of weight 0 stay so.
        config: The settings, with a vocabulary size.
        base: The base language, by its name in the parallel set; None for English.
        most_trainings: The search ends after so many.
        threads: How many count pre-tokens; the result does not depend on it.
        counted: The count of the text, where it is known.

    Raises:
        ConfigError: There is no vocabulary size, or fewer than two texts that can be weighted, or more than 64; or the
            base language is missing.
        CorpusError: The parallel texts have fewer than two lines, or no text of a language in half of them.
    """

    def __init__(
        self,
        corpus: Corpus,
        config: TrainingConfig,
        goal: MixtureGoal,
        parallel: ParallelSet,
        base: str | None = None,
        most_trainings: int = MOST_TRAININGS,
        threads: int | None = None,
        counted: CountedText | None = None,
    ) -> None:
        self.corpus, self.config, self.goal, self.parallel = corpus, config, goal, parallel
        self.trials: list[MixtureTrial] = []
        self.base = _base(parallel, base)
        self._most, self._threads, self._counted, self._stops = most_trainings, threads, counted, False
        if config.vocabulary_size is None:
            raise ConfigError("A goal is for a vocabulary size: set one.")
        if most_trainings < 1:
            raise ConfigError(f"At least one training must be allowed, not {most_trainings}.")
        check_corpus(corpus, config)
        self.names = tuple({number: name for name, number in entries(corpus.sources)}.values())
        self._entries = np.array([number for _, number in entries(corpus.sources)], np.int64)
        weights, sizes = corpus.weights or (ONCE,) * len(corpus.sources), np.zeros(len(self.names))
        np.add.at(
            sizes, self._entries, [source.bytes * each for source, each in zip(corpus.sources, weights, strict=True)]
        )
        self._start, self._free = np.array(weights, np.int64), np.flatnonzero(sizes)
        if not 2 <= len(self._free) <= MOST_TEXTS:
            raise ConfigError(
                f"The weights of {several(len(self._free), 'text')} cannot be searched: a goal needs from 2 to "
                f"{MOST_TEXTS} texts, such as one of each language."
            )
        self._sizes = sizes[self._free]
        self._halves = tuple(_half(parallel, first) for first in (0, 1))
        self._alone: tuple[int | None, ...] = (None, None)
        self._best: Tokenizer | None = None

    def stop(self) -> None:
        """Ends the search soon; the best trial so far is its result."""
        self._stops = True

    @property
    def ranked(self) -> list[int]:
        """The numbers of the trials, the one nearest to the goal first; those that meet it are by their tokens."""
        trials = self.trials[:]
        return sorted(range(len(trials)), key=lambda n: (max(trials[n].excess, 1.0), trials[n].measured.mean, n))

    @property
    def best(self) -> int | None:
        """The first of `ranked`."""
        return next(iter(self.ranked), None)

    def work(self) -> Work[FoundMixture]:
        """Searches to the end; raises ConfigError or CorpusError as a training; or it was stopped before the first."""
        if self._counted is None:
            self._counted = yield from count_text_work(self.corpus, self.config, self._threads)
        if self.goal.base_loss is not None:
            yield from self._train_alone_work()
        ended = yield from self._search_work()
        best = self.best
        if best is None or self._best is None:
            raise ConfigError("The search was stopped before its first training had ended: there are no weights yet.")
        counts = yield from self._counts_work(self._best, 1)
        sizes, premiums = yield from self._by_size_work(self._best, counts)
        return FoundMixture(
            self.corpus,
            self.goal,
            self.names,
            self.parallel.languages,
            self.base,
            tuple(self.trials),
            best,
            ended,
            self._figures(counts, 1),
            self._best,
            sizes,
            premiums,
        )

    def _search_work(self) -> Work[str]:
        """Searches from the best place so far, again and again while that comes nearer; returns why it ended."""
        tried: dict[tuple[int, ...], NDArray[np.float64]] = {}
        start = np.log(self._start_of_entries)
        ended = yield from self._try_work(start, tried)
        probes = list(_PROBES)
        while ended is None and probes:
            nearest = min(tried, key=lambda weights: tried[weights].max())
            place = np.log(np.array(nearest, np.float64))
            changes = np.zeros((len(tried[nearest]), len(place)))
            ended = yield from self._probe_work(place, probes[0], changes, tried)
            if ended is None:
                ended = yield from self._descend_work(start, changes, tried)
            if min(values.max() for values in tried.values()) > tried[nearest].max() - _LEAST_GAIN:
                del probes[0]
        return ended or NO_NEARER

    def _probe_work(
        self,
        place: NDArray[np.float64],
        probe: float,
        changes: NDArray[np.float64],
        tried: dict[tuple[int, ...], NDArray[np.float64]],
    ) -> Work[str | None]:
        """Fills in what each weight changes: the logarithms of ratios by that of the weight."""
        # All weights times a number are the same mixture, so the change by the last text follows from the others.
        last, before = int(np.argmax(self._sizes)), tried[self._thousandths(place)]
        for number in range(len(place)):
            if number == last:
                continue
            beside = place.copy()
            beside[number] += probe
            ended = yield from self._try_work(beside, tried)
            if ended is not None:
                return ended
            after = tried[self._thousandths(beside)]
            changes[:, number] = (after - before) / ((self._logarithms(beside) - place)[number] or probe)
        changes[:, last] = -changes.sum(axis=1)
        return None

    def _descend_work(
        self,
        start: NDArray[np.float64],
        changes: NDArray[np.float64],
        tried: dict[tuple[int, ...], NDArray[np.float64]],
    ) -> Work[str | None]:
        """Takes the steps that a linear model promises most of, and corrects the model by each (Broyden)."""
        nearest, radius = min(tried, key=lambda weights: tried[weights].max()), _DOUBLE
        place: NDArray[np.float64] = np.log(np.array(nearest, np.float64))
        values: NDArray[np.float64] = tried[nearest]
        while radius >= _LEAST_STEP:
            low, high = np.maximum(-radius, start - _RANGE - place), np.minimum(radius, start + _RANGE - place)
            wanted = _best_step(values, changes, np.minimum(low, 0), np.maximum(high, 0))
            if wanted is None:
                return None
            there: NDArray[np.float64] = self._logarithms(place + wanted)
            step: NDArray[np.float64] = there - place
            if self._thousandths(there) in tried:
                radius /= 2
                continue
            ended = yield from self._try_work(there, tried)
            if ended is not None:
                return ended
            after = tried[self._thousandths(there)]
            changes = changes + np.outer(after - values - (changes * step).sum(axis=1), step) / (step * step).sum()
            if after.max() < values.max():
                place, values, radius = there, after, min(1.5 * radius, _LARGEST_STEP)
            else:
                radius /= 2
        return None

    def _try_work(
        self, place: NDArray[np.float64], tried: dict[tuple[int, ...], NDArray[np.float64]]
    ) -> Work[str | None]:
        """Trains at a place and keeps the trial, with the logarithms of its ratios in `tried`; why the search ends."""
        thousandths = self._thousandths(place)
        if thousandths in tried:
            return None
        weights = self._start.copy()
        for number, weight in zip(self._free, thousandths, strict=True):
            weights[self._entries == number] = weight
        tokenizer = yield from self._train_work(tuple(weights.tolist()))
        if tokenizer is None:
            return STOPPED
        figures = self._figures((yield from self._counts_work(tokenizer, 0)), 0)
        ratios = figures.ratios(self.goal)
        self.trials.append(MixtureTrial(tuple(weights.tolist()), figures, float(ratios.max())))
        if self.best == len(self.trials) - 1:
            self._best = tokenizer
        tried[thousandths] = np.log(ratios)
        if figures.meets(self.goal):
            return MET
        return ALL_TRIED if len(self.trials) >= self._most else None

    def _train_work(self, weights: Sequence[int]) -> Work[Tokenizer | None]:
        trainer = Trainer(self.corpus.weighted(weights), self.config, self._threads, self._counted)
        detail = f", training {len(self.trials) + 1}"
        if (best := self.best) is not None:
            detail += f", best worst premium {self.trials[best].measured.worst_premium:.3f}"
        while trainer.ended is None:
            if self._stops:
                return None
            trainer.advance()
            progress = trainer.progress
            yield Progress(progress.phase, progress.done, progress.total, detail)
        return trainer.tokenizer()

    def _train_alone_work(self) -> Work[None]:
        """Trains on each text alone, and keeps the fewest tokens of the base language on the even lines."""
        fewest: tuple[int, ...] = ()
        for number in self._free:
            tokenizer = yield from self._train_work(np.where(self._entries == number, ONCE, 0).tolist())
            if tokenizer is None:
                return
            both = list[int]()
            for half in self._halves:
                both.append(int((yield from uses_work(tokenizer, half[self.base])).tokens))
            fewest = min(filter(None, (fewest, tuple(both))))
        self._alone = fewest

    def _counts_work(self, tokenizer: Tokenizer, half: int) -> Work[list[NDArray[np.int64]]]:
        """The occurrences of each token in half of the lines of each language, by id."""
        counts = list[NDArray[np.int64]]()
        for text in self._halves[half]:
            counts.append((yield from uses_work(tokenizer, text)).by_id(len(tokenizer.tokens)))
        return counts

    def _figures(self, counts: Sequence[NDArray[np.int64]], half: int) -> MixtureFigures:
        tokens = tuple(int(each.sum()) for each in counts)
        return MixtureFigures(tokens, self._halves[half][self.base].documents, self.base, self._alone[half])

    def _by_size_work(
        self, tokenizer: Tokenizer, counts: Sequence[NDArray[np.int64]]
    ) -> Work[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """The worst premium at each size up to that of the tokenizer, which one training gives."""
        if why_not_by_merge(tokenizer) is not None:
            return np.empty(0, np.int64), np.empty(0, np.float64)
        tokens = list[NDArray[np.int64]]()
        for each in counts:
            tokens.append((yield from counts_by_merge_work(tokenizer, each)).tokens)
        merges = len(tokenizer.merges)
        others = np.stack([each for number, each in enumerate(tokens) if number != self.base])
        return len(tokenizer) - merges + np.arange(merges + 1), (others / tokens[self.base]).max(axis=0)

    @property
    def _start_of_entries(self) -> NDArray[np.float64]:
        """float64 [texts that are weighted], where each weight begins."""
        by_entry = np.zeros(len(self.names))
        by_entry[self._entries] = self._start
        return by_entry[self._free]

    def _thousandths(self, place: NDArray[np.float64]) -> tuple[int, ...]:
        """Weights with three digits, as a person reads them, and far from where two computers round differently."""
        weights = np.clip(np.exp(place), 1, LARGEST_WEIGHT * ONCE)
        unit = np.maximum(10.0 ** (np.floor(np.log10(weights)) - 2), 1)
        rounded = (np.round(weights / unit) * unit).astype(np.int64)
        start = self._start_of_entries.astype(np.int64)
        return tuple(np.where(np.abs(np.log(start) - place) < 1e-9, start, rounded).tolist())

    def _logarithms(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """A place with the weights that it is rounded to."""
        return np.log(np.array(self._thousandths(place), np.float64))


def _best_step(
    values: NDArray[np.float64], changes: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """The step between two bounds that brings the largest value lowest, by a linear model, but not far below 0.

    None where no step promises anything.
    """
    goal, largest = -_MARGIN, float(values.max())
    step = _step_below(goal, values, changes, low, high)
    if step is not None:
        return step
    for _ in range(_HALVINGS):
        middle = (goal + largest) / 2
        nearer = _step_below(middle, values, changes, low, high)
        if nearer is None:
            goal = middle
        else:
            step, largest = nearer, middle
    return step if largest < values.max() - _LEAST_GAIN else None


def _step_below(
    level: float,
    values: NDArray[np.float64],
    changes: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> NDArray[np.float64] | None:
    """A small step that brings all values below a level; None where there is none between the bounds.

    Projected gradient of the squares of what is above, with Nesterov's momentum.
    """
    step = ahead = np.zeros(len(low))
    length, momentum, tolerance = 1 / max(float((changes * changes).sum()), 1e-12), 1.0, _LEAST_GAIN / 2
    for _ in range(_ROUNDS):
        # Sums, not products of matrices, which may depend on the number of threads.
        above = np.maximum(values + (changes * ahead).sum(axis=1) - level, 0)
        if not above.any():
            return ahead
        slope = (changes * above[:, np.newaxis]).sum(axis=0)
        # Where no step brings this sum of the values below, none brings all of them there.
        if (above * (values - level - tolerance)).sum() + np.minimum(slope * low, slope * high).sum() > 0:
            return None
        after = np.clip(ahead - length * slope, low, high)
        following = (1 + math.sqrt(1 + 4 * momentum * momentum)) / 2
        ahead = np.clip(after + (momentum - 1) / following * (after - step), low, high)
        step, momentum = after, following
    return step if np.all(values + (changes * step).sum(axis=1) <= level + tolerance) else None


def _base(parallel: ParallelSet, asked: str | None) -> int:
    """The number of the base language."""
    names = parallel.languages
    if asked is None:
        matching = [number for number, name in enumerate(names) if language_name(name).startswith("English")]
    else:
        matching = [number for number, name in enumerate(names) if asked in (name, language_name(name))]
    if not matching or (asked is not None and len(matching) > 1):
        missing = "English, so say which language is the base" if asked is None else f"language {shown(asked)}"
        raise ConfigError(f"{parallel.name}: there is no {missing}; there are {first_few(names, _MOST_NAMED)}.")
    return matching[0]


def _half(parallel: ParallelSet, first: int) -> tuple[Corpus, ...]:
    """Every other line of each language, from the first or the second on; each line is a document."""
    half = [lines[first::2] for lines in parallel.lines]
    for language, lines in zip(parallel.languages, half, strict=True):
        if not any(lines):
            raise CorpusError(
                f"{parallel.name}: {shown(language)} has no text in the {('first', 'second')[first]} of every two "
                "lines; one half is measured and the other reported, so both need text."
            )
    return tuple(Corpus.from_texts(lines) for lines in half)


def parallel_of_work(parallel: AnyPath | Mapping[str, Sequence[Text]] | ParallelSet) -> Work[ParallelSet]:
    """Parallel lines as `mixture_for` takes them."""
    if isinstance(parallel, ParallelSet):
        return parallel
    if isinstance(parallel, Mapping):
        lines = tuple(tuple(map(to_utf8, each)) for each in parallel.values())
        return ParallelSet("The parallel texts", tuple(parallel), lines)
    return (yield from open_parallel_work(parallel))


def mixture_for(
    corpus: Corpus,
    config: TrainingConfig,
    goal: MixtureGoal,
    parallel: AnyPath | Mapping[str, Sequence[Text]] | ParallelSet,
    base: str | None = None,
    most_trainings: int = MOST_TRAININGS,
) -> FoundMixture:
    """Searches weights of the texts of a corpus with which a training reaches a goal on parallel lines.

    Args:
        corpus: A text for each language or subject; its weights are where the search begins.
        config: The settings, with a vocabulary size.
        goal: Such as `MixtureGoal(worst_premium=1.3)`.
        parallel: The same lines in several languages: a folder with a file of each, a table with a column of each, or
            the lines of each by its name. The search looks at the first of every two lines; `reported` is of the
            others.
        base: The base language, by its name there; None for English.
        most_trainings: The search ends after so many trainings.

    Raises:
        ConfigError, CorpusError: As `MixtureSearch` and `parallel_set.open_parallel_work`.
    """
    return finish(MixtureSearch(corpus, config, goal, finish(parallel_of_work(parallel)), base, most_trainings).work())
