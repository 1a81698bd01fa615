"""Cuts special tokens out of the sources of a corpus, and counts them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Work, together
from tokstudio.core.corpus.source import Source
from tokstudio.core.pretokenization.special_tokens import Pieces, SpecialFinder


def cut_sources_work(
    sources: Sequence[Source], special_tokens: Iterable[str]
) -> Work[tuple[list[tuple[Source, Pieces]], dict[str, int]]]:
    """Finds the text between special tokens in every source.

    Returns:
        Each source with its pieces, word counts without special tokens; and how often each special token was cut out.
    """
    specials = SpecialFinder(token.encode() for token in special_tokens)
    works = ((len(source.data), specials.cut_work(source.data, source.ends)) for source in sources)
    cut = list(zip(sources, (yield from together("cutting", works)), strict=True))
    counts = sum((_cut_out(source, pieces, len(specials)) for source, pieces in cut), np.zeros(len(specials), np.int64))
    cut_out = dict(zip((text.decode() for text in specials.texts), counts.tolist(), strict=True))
    cut = [(source if source.counts is None else _cut_counts(source, pieces), pieces) for source, pieces in cut]
    return cut, cut_out


def _cut_out(source: Source, pieces: Pieces, specials: int) -> NDArray[np.int64]:
    """How often each special token was cut out; int64 [specials]."""
    marked = np.flatnonzero(pieces.specials >= 0)
    numbers = pieces.specials[marked]
    if source.counts is None:
        return np.bincount(numbers, minlength=specials)
    counts = np.zeros(specials, np.int64)
    np.add.at(counts, numbers, source.counts[documents_of(pieces)[marked]])
    return counts


def _cut_counts(source: Source, pieces: Pieces) -> Source:
    """The same word counts without special tokens: the parts of a word before and after one become words."""
    assert source.counts is not None
    if len(pieces.starts) == source.documents:
        return source
    document = documents_of(pieces)
    kept = np.flatnonzero(pieces.stops > pieces.starts)
    words = Pieces(pieces.starts[kept], pieces.stops[kept], pieces.specials[kept])
    if len(kept):
        padded, ends = words.joined(source.data, 0, len(kept))
        data = padded[: int(ends[-1])]
    else:
        data, ends = np.empty(0, np.uint8), np.empty(0, np.int64)
    places = None if source.places is None else source.places_at(words.starts)
    return replace(source, data=data, ends=ends, counts=source.counts[document[kept]], places=places)


def documents_of(pieces: Pieces) -> NDArray[np.int64]:
    """The document of each piece."""
    ends_document = pieces.specials < 0
    return np.cumsum(ends_document) - ends_document
