"""Prepares a corpus for merging.

A share is held out, text is made valid for base characters, special tokens are cut out, pre-tokens are counted, and the
rest is laid out as symbols.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.algorithms.common.from_tokenizer import lay_out_tokens_work, prepared_sources_work
from tokstudio.core.algorithms.common.languages import Language, laid_out, languages_of, parallel_corpus, sections_of
from tokstudio.core.algorithms.common.symbols import Layout, lay_out_work
from tokstudio.core.algorithms.common.units import Units
from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.errors import ConfigError, MissingCharacterError
from tokstudio.core.base.progress import Progress, Work, together
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import shown
from tokstudio.core.corpus.corpus import ONCE, Corpus, refuse_overflow
from tokstudio.core.corpus.sampling import hold_out_work, in_use
from tokstudio.core.corpus.source import CountedWith, Source, document_place, entries, first_occurrence_work, texts_of
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.run import special_ids
from tokstudio.core.pretokenization.count_words import count_work
from tokstudio.core.pretokenization.patterns import OWN, splitter
from tokstudio.core.pretokenization.special_tokens import Pieces, cut_sources_work
from tokstudio.core.pretokenization.word_counts import Sequences, WordCounts
from tokstudio.core.text.unicode_classes import classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_PIECE = 1 << 18
_LOOKED_AT = 1 << 22  # bytes per call of a loop that holds no lock
_REPLACEMENT = "\ufffd"


@dataclass(frozen=True, eq=False)
class PreparedCorpus:
    """Facts about a prepared corpus. With weights, counts, tokens and bytes are in units of 1 / weight scale."""

    alphabet: Alphabet
    # [base], occurrences of each id below the merges in the text to be merged, including an unknown token among them
    base_counts: NDArray[np.int64]
    tokens: int  # tokens before the first merge, including unknown ones
    bytes: int  # bytes of that text
    positions: int  # positions in the arrays of the engine
    sequences: int  # the number of sequences: documents, or distinct pre-tokens
    unknown: int  # how many characters became the unknown token
    cut_out: Mapping[str, int]  # how often each special token was cut out of the text
    replaced: int  # how many invalid places became U+FFFD; for characters only
    held_out: tuple[Source, ...]


@dataclass(frozen=True, eq=False)
class CountedText:
    """A corpus before it is laid out; it can be laid out again with other weights."""

    counts: WordCounts | None  # None without a pattern
    # Without a pattern: the entry and the documents of each source, and for a part of a divided text their places.
    documents: tuple[tuple[int, Sequences, NDArray[np.int64] | None], ...]
    cut_out: Sequence[Mapping[str, int]]  # of each source
    replaced: int
    held_out: tuple[Source, ...]
    sources: tuple[Source, ...]  # the text that was counted
    by_source: bool = True
    # The numbers of entries of weight 0 that were not counted, as the pattern drops some of their text.
    left_out: frozenset[int] = frozenset()

    def weighted(self, weights: Sequence[int]) -> list[Sequences]:
        """The sequences with their counts times the weight of each entry, a whole number."""
        if self.counts is not None:
            # Sources that were counted together count once.
            return [self.counts.weighted(weights if self.by_source else (1,))]
        weighted_parts: list[Sequences] = []
        used = [(source, *each) for source, each in zip(self.sources, self.documents, strict=False) if weights[each[0]]]
        for text in texts_of([source for source, *_ in used]):
            parts = [(weights[entry], part, places) for _, entry, part, places in (used[number] for number in text)]
            if len(parts) > 1:
                weighted_parts.append(_in_order(parts))
            else:
                weighted_parts += [
                    part if weight == 1 else replace(part, counts=part.times * weight) for weight, part, _ in parts
                ]
        return weighted_parts


def check_corpus(corpus: Corpus, config: TrainingConfig) -> None:
    """Raises ConfigError where a training needs the text of a corpus, not word counts alone."""
    counted = next((source for source in corpus.sources if source.counts is not None), None)
    algorithm = config.algorithm
    if algorithm.needs_text and counted is not None:
        raise ConfigError(
            f"{counted.name} has word counts, but {algorithm.title} {algorithm.needs_text}: open the text."
        )


def prepare_corpus_work(
    corpus: Corpus,
    config: TrainingConfig,
    threads: int | None = None,
    counted: CountedText | None = None,
    start: Tokenizer | None = None,
) -> Work[tuple[PreparedCorpus, Units]]:
    """Prepares a corpus in bounded pieces; the units are for the engine: base tokens, or tokens of `start`.

    A corpus that was counted before, with the same text and settings, is only weighted and laid out.

    Raises:
        ConfigError: The pattern drops text, the size leaves no room for a merge, word counts are to be held out, or
            they were counted with other settings.
        CorpusError: Nothing can be held out, a character is outside the base vocabulary, or word counts are too large.
    """
    refuse_overflow(corpus)
    languages = languages_of(corpus, config)
    by_source = corpus.weights is not None or len(languages) > 0
    _check_counted(in_use(corpus.sources, corpus.weights), config)
    weights = corpus.multipliers
    if counted is None or (languages and not counted.by_source) or any(weights[number] for number in counted.left_out):
        counted = yield from count_text_work(corpus, config, threads, by_source=by_source, start=start)
    parts = counted.weighted(weights)
    try:
        if languages:
            layout = yield from _lay_out_languages_work(corpus, config, threads, counted, languages)
        elif start is None:
            layout = yield from lay_out_work(parts, config)
        else:
            layout = yield from lay_out_tokens_work(parts, config, start)
    except MissingCharacterError as error:
        raise (yield from _placed_work(error, in_use(counted.sources, corpus.weights), config)) from error
    tokens = int(layout.base_counts.sum()) + layout.unknown
    unknown = special_ids(config, len(layout.base_counts), start).get(config.unknown_token or "")
    if unknown is not None and unknown < len(layout.base_counts):
        layout.base_counts[unknown] = layout.unknown
    cut_out = dict.fromkeys(config.all_specials, 0)
    for (_, entry), of_source in zip(entries(counted.sources), counted.cut_out, strict=True):
        for special, times in of_source.items():
            cut_out[special] += times * weights[entry]
    prepared = PreparedCorpus(
        alphabet=layout.alphabet,
        base_counts=layout.base_counts,
        tokens=tokens,
        bytes=layout.bytes,
        positions=len(layout.units.symbols),
        sequences=sum(len(part.starts) for part in parts),
        unknown=layout.unknown,
        cut_out=MappingProxyType(cut_out),
        replaced=counted.replaced,
        held_out=counted.held_out,
    )
    return prepared, layout.units


def _lay_out_languages_work(
    corpus: Corpus, config: TrainingConfig, threads: int | None, counted: CountedText, languages: Sequence[Language]
) -> Work[Layout]:
    """Lays out the text of each language, then the parallel texts."""
    texts, beside = sections_of(counted.weighted, corpus.multipliers), parallel_corpus(languages)
    parallel: list[list[Sequences]] = []
    if beside.sources:
        same = yield from count_text_work(beside, replace(config, held_out=0.0), threads)
        measured = iter(sections_of(same.weighted, beside.multipliers))
        parallel = [[] if language.parallel is None else next(measured) for language in languages]
    layout = yield from lay_out_work([*chain(*texts)], config, [*chain(*parallel)])
    languages_of_corpus = laid_out(layout, config, languages, texts, parallel)
    return replace(layout, units=replace(layout.units, languages=languages_of_corpus))


def count_text_work(
    corpus: Corpus,
    config: TrainingConfig,
    threads: int | None = None,
    by_source: bool = True,
    start: Tokenizer | None = None,
) -> Work[CountedText]:
    """Does the part of `prepare_corpus_work` that does not depend on the weights of the sources.

    Words that are not counted `by_source` take less memory, and cannot be weighted. With a held-out share, it depends
    on which weights are 0; text of weight 0 is also left out where the pattern drops some of it.

    Raises:
        ConfigError, CorpusError: As `prepare_corpus_work`, but errors of single characters and of the size.
    """
    sources, held_out = corpus.sources, ()
    _check_counted(in_use(sources, corpus.weights), config)
    if config.held_out:
        sources, held_out = yield from hold_out_work(sources, config.held_out, corpus.weights)
    replaced = 0
    if config.base == "characters":
        valid = yield from together("reading", ((len(source.data), valid_work(source)) for source in sources))
        sources = _placed_again(sources, [source for source, _ in valid])
        replaced = sum(places for _, places in valid)
    sources = _placed_again(sources, (yield from prepared_sources_work(sources, start)))
    cut, cut_out = yield from cut_sources_work(sources, config.all_specials)
    counts, documents = None, ()
    if config.pattern == "none":
        numbers = [number for _, number in entries(sources)]
        texts = zip(numbers, cut, strict=True)
        documents = tuple((number, _whole(*each), _places(*each)) for number, each in texts)
    else:
        settings = CountedWith(config.pattern, config.all_specials)
        try:
            counts = yield from count_work(cut, settings, threads, by_source=by_source)
        except ConfigError as error:
            used = _without_unused(corpus)
            if used is None:
                raise (yield from _placed_pattern_work(error, sources, config)) from error
            counted = yield from count_text_work(used, config, threads, by_source, start)
            unused = (number for number, weight in enumerate(corpus.multipliers) if not weight)
            return replace(counted, sources=sources, left_out=frozenset(unused))
    return CountedText(counts, documents, tuple(cut_out), replaced, held_out, sources, by_source)


def _without_unused(corpus: Corpus) -> Corpus | None:
    """The same sources, without the text of those of weight 0; None where there is none."""
    weights = corpus.weights or (ONCE,) * len(corpus.sources)
    empty, nothing = np.empty(0, np.uint8), np.empty(0, np.int64)
    sources = tuple(
        source
        if weight or not len(source.data)
        else replace(
            source,
            data=empty,
            ends=nothing,
            counts=None if source.counts is None else nothing,
            places=None if source.places is None else nothing,
            rows=None,
            cuts=None,
        )
        for source, weight in zip(corpus.sources, weights, strict=True)
    )
    return None if sources == corpus.sources else Corpus(sources).weighted(weights)


def _check_counted(sources: tuple[Source, ...], config: TrainingConfig) -> None:
    """Refuses word counts that were counted with other settings."""
    for source in sources:
        wanted = source.counted_with
        if wanted is None:
            continue
        if wanted.pattern != config.pattern:
            raise ConfigError(
                f'{source.name} was counted with the pattern "{wanted.pattern}": choose it, or count the texts again.'
            )
        if set(wanted.special_tokens) != set(config.all_specials):
            tokens = ", ".join(map(shown, wanted.special_tokens)) or "no special tokens"
            raise ConfigError(f"{source.name} was counted with {tokens}: choose them, or count the texts again.")


def _placed_work(
    error: MissingCharacterError, sources: tuple[Source, ...], config: TrainingConfig
) -> Work[MissingCharacterError]:
    """Adds the position to the error, unless text was taken out before, which shifts positions."""
    character = error.character
    if config.held_out or any(character in special for special in config.all_specials):
        return error
    position = yield from first_occurrence_work(sources, character)
    return error if position is None else MissingCharacterError(f"{position}: {error}", character, error.of_a_part)


def _placed_pattern_work(error: ConfigError, sources: tuple[Source, ...], config: TrainingConfig) -> Work[ConfigError]:
    """The first error of a pattern in a corpus, with its document; the same one where text was taken out before."""
    split = splitter(config.pattern)
    if split.kind != OWN or config.held_out or config.all_specials:
        return error
    for source in sources:
        start = 0
        for document, end in enumerate(source.ends.tolist() if source.counts is None else ()):
            text = np.asarray(source.data[start:end])
            try:
                for _ in split.ends_work(text, 0, len(text)):
                    yield Progress("reading", end, len(source.data))
            except ConfigError as first:
                place = document_place(source, document)
                return ConfigError(f"{place}: {first}", first.of_a_part) if place else first
            start = end
    return error


def _whole(source: Source, pieces: Pieces) -> Sequences:
    """Each document as one sequence, split at special tokens only."""
    if source.counts is not None:
        starts = np.concatenate([np.zeros(min(1, source.documents), np.int64), source.ends[:-1]])
        return Sequences(source.data, starts, source.ends, source.counts)
    return Sequences(np.asarray(source.data), pieces.starts, pieces.stops)


def _places(source: Source, pieces: Pieces) -> NDArray[np.int64] | None:
    """The place of each piece of a part of a divided text."""
    if source.places is None or source.counts is not None:
        return source.places
    return source.places_at(pieces.starts)


def _placed_again(before: Sequence[Source], sources: Sequence[Source]) -> tuple[Source, ...]:
    """The sources; where text became longer or shorter, the parts of a divided text have new places in its order."""
    placed = list(sources)
    for text in texts_of(sources):
        parts = [sources[part] for part in text]
        if any(part.places is None for part in parts) or all(before[part] is sources[part] for part in text):
            continue
        places = np.concatenate([part.places for part in parts if part.places is not None])
        lengths = np.concatenate([np.diff(part.ends, prepend=0) for part in parts])
        order = np.argsort(places, kind="stable")
        places[order] = np.cumsum(lengths[order]) - lengths[order]
        borders = np.cumsum([part.documents for part in parts])[:-1]
        for index, part, here in zip(text, parts, np.split(places, borders), strict=True):
            placed[index] = replace(part, places=here)
    return tuple(placed)


def _in_order(parts: Sequence[tuple[int, Sequences, NDArray[np.int64] | None]]) -> Sequences:
    """The sequences of the parts of a divided text in its order, each part with its weight."""
    offsets = np.cumsum([0, *(len(part.data) for _, part, _ in parts)], dtype=np.int64)
    counts = np.concatenate([part.times * weight for weight, part, _ in parts])
    places = np.concatenate([places for _, _, places in parts if places is not None])
    order = np.argsort(places, kind="stable")
    starts = np.concatenate([part.starts + at for (_, part, _), at in zip(parts, offsets, strict=False)])[order]
    stops = np.concatenate([part.stops + at for (_, part, _), at in zip(parts, offsets, strict=False)])[order]
    data = np.concatenate([part.data for _, part, _ in parts])
    return Sequences(data, starts, stops, None if np.all(counts == 1) else counts[order])


def valid_work(source: Source) -> Work[tuple[Source, int]]:
    """Makes every document valid UTF-8; returns the source, and how many places became U+FFFD."""
    if (yield from _is_valid_work(source)):
        return source, 0
    valid, ends, own = bytearray(), list[int](), _REPLACEMENT.encode()
    start = replaced = 0
    for stop in source.ends.tolist():
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for at in range(start, stop, _PIECE):
            end = min(at + _PIECE, stop)
            # From a little before, because a U+FFFD of the text itself may begin there.
            before = max(start, at - len(own) + 1)
            raw = source.data[before:end].tobytes()
            text = decoder.decode(raw[at - before :], end == stop)
            valid += text.encode()
            replaced += text.count(_REPLACEMENT) - raw.count(own)
            yield Progress("reading", end, len(source.data))
        ends.append(len(valid))
        start = stop
    return replace(source, data=np.frombuffer(valid, np.uint8), ends=np.array(ends, np.int64)), replaced


def _is_valid_work(source: Source) -> Work[bool]:
    from tokstudio.core.kernels.documents import valid_until

    data, ends, class_table = read_only(source.data), read_only(source.ends), classes()
    at, document, valid = 0, 0, True
    while valid and document < len(ends):
        at, document, valid = valid_until(data, at, document, ends, class_table, _LOOKED_AT)
        yield Progress("reading", at, len(data))
    return valid
