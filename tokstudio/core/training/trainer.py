"""Trains a tokenizer on a corpus, in bounded pieces that the caller may pause, stop or watch."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.algorithms import room_of
from tokstudio.core.algorithms.common.engines import Task
from tokstudio.core.algorithms.common.from_tokenizer import check_start, start_of
from tokstudio.core.algorithms.common.languages import languages_of
from tokstudio.core.algorithms.common.prepare_corpus import (
    CountedText,
    PreparedCorpus,
    check_corpus,
    prepare_corpus_work,
)
from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import mixture_of
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.run import NOTHING_LEFT, REACHED_SIZE, STOPPED, MergeBatch, Run, TrainedOn, max_merges
from tokstudio.version import __version__

if TYPE_CHECKING:
    from tokstudio.core.algorithms.common.engines import ChosenMerges, Engine
    from tokstudio.core.algorithms.common.units import Units
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_ALL = 1 << 62
_NOT_REPEATABLE = "The run's merges do not match this corpus and these settings: train again."


class Trainer:
    """A training: `for batch in Trainer(corpus, config)` runs it; leaving the loop early loses nothing.

    Between two pieces `run` and `tokenizer()` give the current state. The corpus is prepared first: see
    `prepare_corpus`. So many `threads` count pre-tokens, None for one per core; the run does not depend on it. Text
    that was `counted` before, with the same settings, is not counted again.

    With `start`, a tokenizer whose base tokens are bytes, the corpus is encoded by it, and training goes on from there:
    its merges stay the first ones, and the new ids follow its highest. The pattern must be its own, the special tokens
    are, and the vocabulary size counts its tokens too.

    SuperBPE prepares the corpus a second time at the transition. BoundlessBPE returns no merge before phase 1 is
    complete.

    Attributes:
        ended: The reason of the end; None before it.
        seconds: Duration so far, without pauses.
        merges_made: Merges so far, including those of a resumed run, but not those of `start`.
        prepared: Facts about the prepared corpus, in stage 1 of SuperBPE; None until it is laid out.

    Raises:
        ConfigError: The tokenizer cannot be trained further, or not with these settings, or word counts are given to
            SuperBPE or BoundlessBPE.
    """

    def __init__(
        self,
        corpus: Corpus,
        config: TrainingConfig,
        threads: int | None = None,
        counted: CountedText | None = None,
        start: Tokenizer | None = None,
    ) -> None:
        self.corpus = corpus
        self.config = config if start is None else check_start(start, config)
        check_corpus(corpus, self.config)
        self.start = start
        self.ended: str | None = None
        self.seconds = 0.0
        self._batches: list[MergeBatch] = []
        self.merges_made = 0
        self._languages = tuple(language.name for language in languages_of(corpus, self.config))
        self._to_repeat: Run | None = None
        self._threads = threads
        self._engine: Engine | None = None
        self._preparing: Work[tuple[PreparedCorpus, Units]] | None = prepare_corpus_work(
            corpus, self.config, threads, counted, start
        )
        self.prepared: PreparedCorpus | None = None
        self._preparation = Progress("reading", 0, corpus.bytes)
        self._failure: Exception | None = None

    @classmethod
    def resume(cls, corpus: Corpus, run: Run, config: TrainingConfig, threads: int | None = None) -> Trainer:
        """Continues `run`, with the merges that an uninterrupted run would have made.

        The run's merges are made again first, which is exact and takes no longer than the first time.

        Raises:
            CorpusError: The corpus is not the one the run was trained on.
            ConfigError: Something other than the limits differs, or the new limit is below what the run has.
        """
        if corpus.sha256 != run.corpus.sha256:
            raise CorpusError("The corpus has changed since this run was trained: train again.")
        if corpus.weights != run.corpus.weights:
            raise CorpusError("The weights of the sources have changed since this run was trained: train again.")
        start = start_of(run)
        if start is not None:
            config = check_start(start, config)
        limits = {"vocabulary_size": config.vocabulary_size, "min_frequency": config.min_frequency}
        if replace(run.config, **limits) != config:
            raise ConfigError("Only the limits can change when a run is resumed: train again for other settings.")
        limit = run.max_merges(config)
        if limit is not None and limit < len(run):
            raise ConfigError(
                f"Vocabulary size must be at least {run.vocabulary_size:,}: the run already has that many."
            )
        last = int(run.counts[-1]) // run.weight_scale if len(run) else None
        if config.min_frequency is not None and last is not None and last < config.min_frequency:
            raise ConfigError(f"Minimum frequency must be at most {last:,}: the run already went down to that.")
        trainer = cls(corpus, config, threads, start=start)
        trainer._to_repeat = run if len(run) else None
        return trainer

    def __iter__(self) -> Iterator[MergeBatch]:
        while self.ended is None:
            batch = self.advance()
            if len(batch):
                yield batch

    @property
    def tokens_before(self) -> int:
        """Tokens in the corpus before the first merge, including unknown ones; 0 until it is laid out."""
        return self.prepared.tokens if self.prepared else 0

    def advance(self, merges: int | None = None) -> MergeBatch:
        """Does one bounded piece of work (about 10 to 50 ms), with at most `merges` merges.

        Returns:
            The merges made, perhaps none. At the end of the training, `ended` is set to the reason.

        Raises:
            ConfigError: Fewer than one merge is asked for.
            CorpusError: The merges of a resumed run do not follow from the corpus.
        """
        if merges is not None and merges < 1:
            raise ConfigError(f"At least one merge must be requested, not {merges}.")
        if self._failure is not None:
            raise self._failure
        started = time.perf_counter()
        try:
            batch = self._batch(None if self.ended else self._advance(merges))
        except Exception as failure:
            self._failure = failure
            self._release()
            raise
        finally:
            self.seconds += time.perf_counter() - started
        if len(batch):
            self._batches.append(batch)
        return batch

    def stop(self) -> None:
        """Ends the training now."""
        if self.ended is None:
            self._end(STOPPED)

    @property
    def progress(self) -> Progress:
        """The phase and its progress: "reading", "counting", "repeating" or "merging".

        With BoundlessBPE also "merging words", which is phase 1, and "finding runs" after it.
        """
        if self.ended is not None:
            return Progress("merging", 1000, 1000)
        if self._engine is None:
            return self._preparation
        if self._to_repeat is not None and self._engine.progress.phase == "merging":
            return Progress("repeating", self.merges_made, len(self._to_repeat))
        return self._engine.progress

    @property
    def run(self) -> Run:
        """The run so far; "stopped" where it has not ended. Before the corpus is laid out it has no tokens."""
        prepared = self.prepared
        alphabet = self._alphabet
        base_size = self.config.base_size or len(self.config.leading_specials)
        if self.start is not None:
            base_size = len(self.start.tokens)
        # The empty batch gives the arrays their types.
        batches, sources = [self._batch(None), *self._batches], self.corpus.sources
        merges = [np.stack([batch.left, batch.right], axis=1) for batch in batches]
        return Run(
            config=self.config,
            merges=np.concatenate(merges),
            counts=np.concatenate([batch.count for batch in batches]),
            tokens_before=self.tokens_before,
            tokens_after=np.concatenate([batch.tokens_after for batch in batches]),
            ended=self.ended or STOPPED,
            corpus=TrainedOn(
                prepared.bytes if prepared else 0,
                self.corpus.documents,
                self.corpus.sha256,
                self.corpus.weights,
                self.corpus.weight_scale,
                mixture_of(sources, (source.bytes for source in sources), self.corpus.weights),
                self.corpus.counted_hashes,
                self.corpus.leaving_out,
                () if self.corpus.left is None else self.corpus.left.totals,
            ),
            alphabet=alphabet,
            base_counts=np.zeros(base_size, np.int64) if prepared is None else prepared.base_counts,
            versions={
                "tokstudio": __version__,
                "python": platform.python_version(),
                "numpy": np.__version__,
                "regex": _regex_version(),
            },
            seconds=self.seconds,
            start=self.start,
            languages=self._languages,
            columns={
                column.name: column.joined([batch.columns[column.name] for batch in self._batches])
                if column.numbers
                else batches[-1].columns[column.name]
                for column in self.config.algorithm.columns
                if column.numbers or column.name in batches[-1].columns
            },
        )

    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the run so far."""
        from tokstudio.core.tokenizer.tokenizer import Tokenizer

        return Tokenizer.from_run(self.run)

    def _advance(self, merges: int | None) -> ChosenMerges | None:
        if self._engine is None:
            self._prepare()
            return None
        if self._engine.is_full:
            self._end(REACHED_SIZE)
            return None
        allowed = _ALL if merges is None else merges
        if self._to_repeat is not None:
            allowed = len(self._to_repeat) - self.merges_made
        chosen = self._engine.advance(allowed)
        if chosen is None:
            if self._to_repeat is not None:
                raise CorpusError(_NOT_REPEATABLE)
            frequency = self.config.min_frequency
            rare_pairs_left = frequency is not None and self._engine.has_eligible_pair()
            self._end(f"no pair occurs {frequency:,} times" if rare_pairs_left else NOTHING_LEFT)
        elif self._engine.is_full:
            self._end(REACHED_SIZE)
        return chosen

    @property
    def _alphabet(self) -> Alphabet:
        if self.start is not None:
            return self.start.alphabet
        return self.config.alphabet if self.prepared is None else self.prepared.alphabet

    @property
    def _before(self) -> int:
        """The merges of the tokenizer at the start."""
        return 0 if self.start is None else len(self.start.merges)

    def _prepare(self) -> None:
        """Does one piece of the preparation."""
        assert self._preparing is not None
        try:
            self._preparation = next(self._preparing)
        except StopIteration as end:
            self._preparing = None
            prepared, units = end.value
            self.prepared = prepared
            # With a size alone, merging goes on to pairs that occur once.
            scale, least = self.corpus.weight_scale, self.config.min_frequency
            floor = min(scale * least, _ALL) if least else 1
            limit = max_merges(self.config, len(prepared.base_counts), self.start)
            task = Task(self.corpus, self.config, prepared, limit, floor, self.start, self._threads)
            self._engine = room_of(self.config.algorithm.name).engine(task, units)

    def _batch(self, chosen: ChosenMerges | None) -> MergeBatch:
        """Merges as a batch for the caller; those of a resumed run are checked and held back."""
        if chosen is None:
            none32, none64 = np.empty(0, np.int32), np.empty(0, np.int64)
            return MergeBatch(self._before + self.merges_made + 1, none32, none32, none64, none64)
        first = self.merges_made + 1
        self.merges_made += len(chosen.left)
        assert self.prepared is not None
        after = chosen.tokens_after + self.prepared.unknown
        batch = MergeBatch(self._before + first, chosen.left, chosen.right, chosen.count, after, chosen.columns)
        for array in (batch.left, batch.right, batch.count, batch.tokens_after, *batch.columns.values()):
            array.setflags(write=False)
        if self._to_repeat is None or not len(batch):
            return batch
        run = self._to_repeat
        if not _is_part_of(run, batch, slice(first - 1, self.merges_made)):
            raise CorpusError(_NOT_REPEATABLE)
        self._batches.append(batch)
        if self.merges_made == len(run):
            self._to_repeat = None
            self.seconds = run.seconds
        return self._batch(None)

    def _end(self, reason: str) -> None:
        self.ended = reason
        self._release()

    def _release(self) -> None:
        """Frees the memory that only merging needs."""
        self._engine = None
        if self._preparing is not None:
            self._preparing.close()
            self._preparing = None


def _is_part_of(run: Run, batch: MergeBatch, here: slice) -> bool:
    """Whether merges are those that a run has there."""
    for column in run.config.algorithm.columns:
        if (again := batch.columns.get(column.name)) is not None:
            own = run.columns.get(column.name, np.empty(0))
            if not column.repeats(own[here] if column.numbers else own, again):
                return False
    merges, pairs = run.merges[here], np.stack([batch.left, batch.right], axis=1)
    repeated = (merges, pairs), (run.counts[here], batch.count), (run.tokens_after[here], batch.tokens_after)
    return all(np.array_equal(own, again) for own, again in repeated)


@cache
def _regex_version() -> str:
    """Kept, because each look at a package takes milliseconds."""
    from importlib.metadata import version

    return version("regex")


def train(corpus: Corpus, config: TrainingConfig) -> Tokenizer:
    """Trains to the end; `tokenizer.run` has the details."""
    trainer = Trainer(corpus, config)
    for _ in trainer:
        pass
    return trainer.tokenizer()


def extend(tokenizer: Tokenizer, corpus: Corpus, config: TrainingConfig) -> Tokenizer:
    """Trains a tokenizer further to the end; its merges, ids and special tokens stay.

    Raises:
        ConfigError: As `Trainer`.
        CorpusError: Nothing new can be learned from the corpus.
    """
    trainer = Trainer(corpus, config, start=tokenizer)
    for _ in trainer:
        pass
    if not trainer.merges_made:
        raise CorpusError(f"Nothing new can be learned from this corpus: {trainer.ended}.")
    return trainer.tokenizer()
