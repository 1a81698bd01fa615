"""Prepares a corpus for merging.

A share is held out, text is made valid for base characters, special tokens are cut out, pre-tokens are counted, and the
rest is laid out as symbols.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.errors import MissingCharacterError
from tokstudio.core.base.progress import Progress, Work, together
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.held_out_split import hold_out_work
from tokstudio.core.corpus.locate import first_occurrence_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.corpus.word_counts import refuse_overflow
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.run import special_ids
from tokstudio.core.pretokenization.count_words import Sequences, count_work
from tokstudio.core.pretokenization.patterns import splitter
from tokstudio.core.pretokenization.special_tokens import Pieces, SpecialFinder
from tokstudio.core.text.unicode_classes import classes
from tokstudio.core.training.symbols import lay_out_work

if TYPE_CHECKING:
    from tokstudio.core.training.engine import Units

_PIECE = 1 << 18
_LOOKED_AT = 1 << 22  # bytes per call of a loop that holds no lock
_REPLACEMENT = "\ufffd"


@dataclass(frozen=True, eq=False)
class Prepared:
    """Facts about a prepared corpus."""

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


def prepare_corpus_work(
    corpus: Corpus, config: TrainingConfig, threads: int | None = None
) -> Work[tuple[Prepared, Units]]:
    """Prepares a corpus in bounded pieces; the units are for the engine.

    Raises:
        ConfigError: The pattern drops text, the size leaves no room for a merge, or word counts are to be held out.
        CorpusError: Nothing can be held out, a character is outside the base vocabulary, or word counts are too large.
    """
    sources, held_out = corpus.sources, ()
    refuse_overflow(sources)
    if config.held_out:
        sources, held_out = yield from hold_out_work(sources, config.held_out)
    replaced = 0
    if config.base == "characters":
        valid = yield from together("reading", ((len(source.data), valid_work(source)) for source in sources))
        sources = tuple(source for source, _ in valid)
        replaced = sum(places for _, places in valid)
    parts, cut_out = yield from _sequences_work(sources, config, threads)
    try:
        layout = yield from lay_out_work(parts, config)
    except MissingCharacterError as error:
        raise (yield from _placed_work(error, sources, config)) from error
    tokens = int(layout.base_counts.sum()) + layout.unknown
    unknown = special_ids(config, len(layout.base_counts)).get(config.unknown_token or "")
    if unknown is not None and unknown < len(layout.base_counts):
        layout.base_counts[unknown] = layout.unknown
    prepared = Prepared(
        alphabet=layout.alphabet,
        base_counts=layout.base_counts,
        tokens=tokens,
        bytes=layout.bytes,
        positions=len(layout.units.symbols),
        sequences=sum(len(part.starts) for part in parts),
        unknown=layout.unknown,
        cut_out=MappingProxyType(cut_out),
        replaced=replaced,
        held_out=held_out,
    )
    return prepared, layout.units


def _placed_work(
    error: MissingCharacterError, sources: tuple[Source, ...], config: TrainingConfig
) -> Work[MissingCharacterError]:
    """Adds the position to the error, unless text was taken out before, which shifts positions."""
    character = error.character
    if config.held_out or any(character in special for special in config.all_specials):
        return error
    position = yield from first_occurrence_work(sources, character)
    return error if position is None else MissingCharacterError(f"{position}: {error}", character, error.of_a_part)


def _sequences_work(
    sources: tuple[Source, ...], config: TrainingConfig, threads: int | None = None
) -> Work[tuple[list[Sequences], dict[str, int]]]:
    """The sequences, documents or distinct pre-tokens; and how often each special token was cut out."""
    specials = SpecialFinder(token.encode() for token in config.all_specials)
    works = ((len(source.data), specials.cut_work(source.data, source.ends)) for source in sources)
    cut = list(zip(sources, (yield from together("cutting", works)), strict=True))
    counts = sum((_cut_out(source, pieces, len(specials)) for source, pieces in cut), np.zeros(len(specials), np.int64))
    cut_out = dict(zip((text.decode() for text in specials.texts), counts.tolist(), strict=True))
    cut = [(source if source.counts is None else _cut_counts(source, pieces), pieces) for source, pieces in cut]
    if config.pattern != "none":
        return [(yield from count_work(cut, splitter(config.pattern), threads))], cut_out
    return [_whole(source, pieces) for source, pieces in cut], cut_out


def _cut_out(source: Source, pieces: Pieces, specials: int) -> NDArray[np.int64]:
    """How often each special token was cut out; int64 [specials]."""
    marked = np.flatnonzero(pieces.specials >= 0)
    numbers = pieces.specials[marked]
    if source.counts is None:
        return np.bincount(numbers, minlength=specials)
    counts = np.zeros(specials, np.int64)
    np.add.at(counts, numbers, source.counts[_documents(pieces)[marked]])
    return counts


def _whole(source: Source, pieces: Pieces) -> Sequences:
    """Each document as one sequence, split at special tokens only."""
    if source.counts is not None:
        starts = np.concatenate([np.zeros(min(1, source.documents), np.int64), source.ends[:-1]])
        return Sequences(source.data, starts, source.ends, source.counts)
    return Sequences(np.asarray(source.data), pieces.starts, pieces.stops)


def _cut_counts(source: Source, pieces: Pieces) -> Source:
    """The same word counts without special tokens: the parts of a word before and after one become words."""
    assert source.counts is not None
    if len(pieces.starts) == source.documents:
        return source
    document = _documents(pieces)
    kept = np.flatnonzero(pieces.stops > pieces.starts)
    words = Pieces(pieces.starts[kept], pieces.stops[kept], pieces.specials[kept])
    if len(kept):
        padded, ends = words.joined(source.data, 0, len(kept))
        data = padded[: int(ends[-1])]
    else:
        data, ends = np.empty(0, np.uint8), np.empty(0, np.int64)
    return replace(source, data=data, ends=ends, counts=source.counts[document[kept]])


def _documents(pieces: Pieces) -> NDArray[np.int64]:
    """The document of each piece."""
    ends_document = pieces.specials < 0
    return np.cumsum(ends_document) - ends_document


def valid_work(source: Source) -> Work[tuple[Source, int]]:
    """Makes every document valid UTF-8; returns the source, and how many places became U+FFFD."""
    if (yield from _is_valid_work(source)):
        return source, 0
    made, ends, own = bytearray(), list[int](), _REPLACEMENT.encode()
    start = replaced = 0
    for stop in source.ends.tolist():
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for at in range(start, stop, _PIECE):
            end = min(at + _PIECE, stop)
            # From a little before, because a U+FFFD of the text itself may begin there.
            before = max(start, at - len(own) + 1)
            raw = source.data[before:end].tobytes()
            text = decoder.decode(raw[at - before :], end == stop)
            made += text.encode()
            replaced += text.count(_REPLACEMENT) - raw.count(own)
            yield Progress("reading", end, len(source.data))
        ends.append(len(made))
        start = stop
    return replace(source, data=np.frombuffer(made, np.uint8), ends=np.array(ends, np.int64)), replaced


def _is_valid_work(source: Source) -> Work[bool]:
    from tokstudio.core.kernels.documents import valid_until

    data, ends, known = read_only(source.data), read_only(source.ends), classes()
    at, document, valid = 0, 0, True
    while valid and document < len(ends):
        at, document, valid = valid_until(data, at, document, ends, known, _LOOKED_AT)
        yield Progress("reading", at, len(data))
    return valid
