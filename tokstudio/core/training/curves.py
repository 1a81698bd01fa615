"""The compression after each merge: of each source, and of held-out text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.algorithms.common.from_tokenizer import prepared_sources_work, start_of
from tokstudio.core.algorithms.common.languages import languages_of, lines_of, parallel_corpus
from tokstudio.core.algorithms.common.prepare_corpus import CountedText, count_text_work, valid_work
from tokstudio.core.algorithms.picky.counts import picky_tokens_work
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work, part_of, together
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import ONCE, Corpus
from tokstudio.core.corpus.source import Source, entries, groups
from tokstudio.core.model.run import Run
from tokstudio.core.pretokenization.special_tokens import Pieces, SpecialFinder
from tokstudio.core.pretokenization.word_counts import Sequences, WordCounts
from tokstudio.core.pretokenization.word_table import PADDING
from tokstudio.core.tokenizer.counts_by_merge import stages_of, tokens_by_merge
from tokstudio.core.tokenizer.encoder import Encoder
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- Counts the tokens of held-out text after each merge of a run, exactly --------------------------------------------
# The text is encoded only once, with all merges; `counts_by_merge` gives the tokens after fewer, and `picky_counts`
# does where merges remove tokens.

_CHUNK = 1 << 20  # bytes of whole documents to encode together
_HELD_OUT_PHASE = "measuring held-out text"


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
    config, pieces = run.config, [np.empty(0, np.int64)]
    if config.base == "characters":
        valid = yield from together("reading", ((len(source.data), valid_work(source)) for source in sources))
        sources = [source for source, _ in valid]
    sources = yield from prepared_sources_work(sources, start_of(run))
    finder, size = SpecialFinder(token.encode() for token in config.all_specials), 0
    for tokenizer in stages_of(Tokenizer.from_run(run)):
        size, tokens = yield from _held_out_tokens_work(tokenizer, sources, finder)
        pieces.append(tokens[len(pieces[-1]) :])
    tokens = np.concatenate(pieces)
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


def _held_out_tokens_work(
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
            for ids in (yield from part_of(work, _HELD_OUT_PHASE, done, 0, size)):
                counts += np.bincount(ids, minlength=len(counts))
            counted += int((pieces.stops - pieces.starts).sum())
        done += int(ends[-1])
        yield Progress(_HELD_OUT_PHASE, done, size)
    return counted, tokens_by_merge(tokenizer.merges, tokenizer.merge_results, counts)


def _chunks(sources: Sequence[Source]) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
    """Yields whole documents with padding, and the end of each."""
    for source in sources:
        for first, last, start, end in groups(source.ends, _CHUNK):
            data = np.zeros(end - start + PADDING, np.uint8)
            data[: end - start] = source.data[start:end]
            yield data, source.ends[first:last] - start


# --- Counts the tokens of each source of a corpus after each merge of a run, exactly ----------------------------------
# Each distinct word is encoded once, with all merges; its tokens count for every source as often as the word occurs
# there. `counts_by_merge` gives the tokens after fewer merges.

MOST_SOURCES = 64

# bytes of whole documents to encode together
_WORDS = 1 << 17  # words to encode together
_PHASE = "measuring sources"


@dataclass(frozen=True, eq=False)
class SourceCurves:
    """The token counts of the sources of a run, not weighted; held-out text and special tokens are left out."""

    names: tuple[str, ...]  # the name of each source: of an entry of the corpus, see `corpus.source.entries`
    bytes: NDArray[np.int64]  # int64 [sources], bytes of text
    # int64 [merges + 1, sources], tokens after 0, 1, ... merges, with those of the tokenizer at the start.
    tokens: NDArray[np.int64]
    # The same of the parallel texts that decided which language chose each merge; None without any.
    parallel: SourceCurves | None = None
    lines: int = 0  # the lines of each source where all have the same lines, in different languages; else 0
    trained: tuple[bool, ...] = ()  # whether the run was trained on each source; () where it was on none

    def is_trained_on(self, source: int, merges: int) -> bool:
        """Whether figures of a source after so many merges are of text that these merges were learned from."""
        return merges > 0 and bool(self.trained) and self.trained[source]

    def __post_init__(self) -> None:
        self.bytes.setflags(write=False)
        self.tokens.setflags(write=False)

    @cached_property
    def minus_fewest(self) -> NDArray[np.int64]:
        """int64 [sources, merges + 1], minus the fewest tokens up to each number of merges, which never decreases."""
        return -np.minimum.accumulate(np.ascontiguousarray(self.tokens.T), axis=1)

    def bytes_per_token(self, merges: int | None = None) -> NDArray[np.float64]:
        """float64 [sources], bytes per token after so many merges (None: all); 0 for a source without tokens."""
        tokens = self.tokens[-1 if merges is None else merges]
        return np.where(tokens > 0, self.bytes / np.maximum(tokens, 1), 0.0)


def source_curves_work(run: Run, text: Corpus | CountedText) -> Work[SourceCurves]:
    """Counts the tokens of each source of a run's corpus after every merge, and of each parallel text.

    Text that was counted already is not counted again. A character that occurs only in sources of weight 0 counts as a
    token where the run does not have it.

    Raises:
        ConfigError: There are more than `MOST_SOURCES` sources, or word counts were made with other settings.
        CorpusError: As `count_text_work`.
    """
    curves = yield from _curves_work(run, text)
    weights = run.corpus.weights or (ONCE,) * len(text.sources)
    counted = {number for (_, number), weight in zip(entries(text.sources), weights, strict=True) if weight}
    curves = replace(curves, trained=tuple(number in counted for number in range(len(curves.names))))
    languages = languages_of(Corpus(tuple(text.sources), run.corpus.weights), run.config)
    beside = parallel_corpus(languages)
    if not beside.sources:
        return curves
    plain = replace(run, config=replace(run.config.as_plain(), held_out=0.0))
    numbers = {lines_of(language.parallel) for language in languages if language.parallel is not None}
    parallel = replace((yield from _curves_work(plain, beside)), lines=numbers.pop() if len(numbers) == 1 else 0)
    return replace(curves, parallel=parallel)


def check_entries(sources: Sequence[Source]) -> tuple[str, ...]:
    """The names of the entries of a corpus; raises ConfigError where there are more than `MOST_SOURCES`."""
    names = tuple({number: name for name, number in entries(sources)}.values())
    if len(names) > MOST_SOURCES:
        raise ConfigError(
            f"Figures by source are for at most {MOST_SOURCES} sources, and the corpus has {len(names):,}: "
            "open them as a folder, which counts as one."
        )
    return names


def _curves_work(run: Run, text: Corpus | CountedText) -> Work[SourceCurves]:
    names = check_entries(text.sources)
    size, pieces = np.zeros(len(names), np.int64), [np.empty((0, len(names)), np.int64)]
    for tokenizer in stages_of(Tokenizer.from_run(run)):
        counted = yield from _counted_work(run, text, tokenizer.pattern)
        if run.removals is None:
            size, tokens = yield from _tokens_work(run, tokenizer, counted, len(names))
        else:
            size, tokens = yield from picky_tokens_work(run, counted, len(names), lenient=True)
        pieces.append(tokens[len(pieces[-1]) :])
    return SourceCurves(names, size, np.concatenate(pieces))


def _counted_work(run: Run, text: Corpus | CountedText, pattern: str) -> Work[CountedText]:
    """The text, counted with the pattern of a run, or of its second stage."""
    if run.config.algorithm.joins_words:
        # Supermerges join adjacent words, so counted words are not enough.
        config = replace(run.config.as_plain(), pattern="none")
    else:
        config = run.config if pattern == run.config.pattern else run.config.as_second_stage()
    if isinstance(text, Corpus):
        return (yield from count_text_work(text, config, start=start_of(run)))
    if config is run.config:
        return text
    return (yield from count_text_work(Corpus(text.sources), replace(config, held_out=0.0)))


def _tokens_work(
    run: Run, tokenizer: Tokenizer, counted: CountedText, sources: int
) -> Work[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """int64 [sources], the bytes of each; and int64 [merges + 1, sources], its tokens after 0, 1, ... merges."""
    after, alphabet = len(tokenizer.tokens), None
    if run.config.base == "characters" and run.config.unknown_token is None:
        alphabet = replace(run.alphabet, unknown=after)
    pattern = tokenizer.pattern if run.config.algorithm.joins_words else "none"
    encoder = tokenizer.encoder(pattern, alphabet=alphabet)
    size, totals = yield from uses_by_entry_work(encoder, counted, sources, after + 1)
    tokens = np.empty((len(tokenizer.merges) + 1, sources), np.int64)
    for number, counts in enumerate(totals):
        tokens[:, number] = tokens_by_merge(tokenizer.merges, tokenizer.merge_results, counts)
        yield Progress(_PHASE, number, sources)
    return size, tokens


def uses_by_entry_work(
    encoder: Encoder, counted: CountedText, sources: int, ids: int
) -> Work[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Encodes counted text, each distinct word once.

    Returns:
        int64 [sources], the bytes of each entry of the text, and int64 [sources, ids], the uses of each token in it.
    """
    size, totals = np.zeros(sources, np.int64), np.zeros((sources, ids), np.int64)
    if counted.counts is not None:
        yield from _add_words_work(encoder, counted.counts, size, totals)
    total, done = sum(len(part.data) for _, part, _ in counted.documents), 0
    for number, part, _ in counted.documents:
        work = _documents_work(encoder, part, totals[number])
        size[number] += yield from part_of(work, _PHASE, done, len(part.data), total)
        done += len(part.data)
    return size, totals


def _add_words_work(
    encoder: Encoder, table: WordCounts, size: NDArray[np.int64], totals: NDArray[np.int64]
) -> Work[None]:
    """Adds the bytes and the tokens of counted words to `size` and `totals`."""
    from tokstudio.core.kernels.encode import add_tokens

    order = np.argsort(table.words, kind="stable")
    for first in range(0, len(table), _WORDS):
        start = int(table.ends[first - 1]) if first else 0
        ends = table.ends[first : first + _WORDS]
        work = encoder.encode_words_work(table.data, start, ends)
        encoded = yield from part_of(work, _PHASE, first, len(ends), len(table))
        borders = np.array([first, first + len(ends)], np.int32)
        begin, stop = np.searchsorted(table.words, borders, sorter=order)
        rows = order[begin:stop]
        words, sources, counts = table.words[rows] - first, table.sources[rows], table.counts[rows]
        np.add.at(size, sources, np.diff(ends, prepend=start)[words] * counts)
        add_tokens(encoded.numbers[words], sources, counts, encoded.ids, encoded.offsets, totals)
        yield Progress(_PHASE, first + len(ends), len(table))


def _documents_work(encoder: Encoder, part: Sequences, totals: NDArray[np.int64]) -> Work[int]:
    """Adds the tokens of documents of a source to `totals`; returns their bytes."""
    from tokstudio.core.kernels.encode import add_tokens

    if part.counts is not None:
        encoded = yield from encoder.encode_words_work(_padded(part.data), 0, part.stops)
        nowhere = np.zeros(len(part.stops), np.int32)
        add_tokens(encoded.numbers, nowhere, part.counts.copy(), encoded.ids, encoded.offsets, totals[np.newaxis])
        return part.size
    none = np.full(len(part.starts), -1, np.int32)
    for first, last in Pieces(part.starts, part.stops, none).groups(_CHUNK):
        begin, end = int(part.starts[first]), int(part.stops[last - 1])
        here = Pieces(part.starts[first:last] - begin, part.stops[first:last] - begin, none[first:last])
        work = encoder.encode_work(_padded(part.data[begin:end]), here, none[:1])
        for ids in (yield from part_of(work, _PHASE, begin, end - begin, len(part.data))):
            totals += np.bincount(ids, minlength=len(totals))
    return part.size


def _padded(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.concatenate([data, np.zeros(PADDING, np.uint8)])
