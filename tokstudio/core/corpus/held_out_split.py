"""The held-out split: blocks of whole lines, spread evenly over the corpus."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.progress import Progress, Work, together
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.source import Source, document_ends, groups, texts_of

LEAST_BLOCKS = 20
LARGEST_BLOCK = 1 << 16

_PIECE = 1 << 20
_BORDERS = 1 << 12


def hold_out_work(
    sources: Sequence[Source], share: float, weights: Sequence[int] | None = None
) -> Work[tuple[tuple[Source, ...], tuple[Source, ...]]]:
    """Splits sources into text to train on and held-out text.

    The text is divided into at least 20 blocks of whole lines, at most 64 KiB each; a shorter document is one block.
    Block i is held out when floor((i + 1) * share) > floor(i * share), in the order of the text, which no division
    into sources changes. Each block becomes a document. A source of weight 0 is left out: it has no blocks, and nothing
    of it is held out.

    Returns:
        The sources to train on, and the held-out sources; one of each for every source.

    Raises:
        CorpusError: There are fewer than 20 lines.
        ConfigError: A source that is not left out has word counts instead of text.
    """
    blocks = yield from blocks_work(sources, share, weights)
    works = (
        (len(source.data), _chosen_work(source, ends, chosen))
        for source, (ends, is_held) in zip(sources, blocks, strict=True)
        for chosen in (~is_held, is_held)
    )
    made = yield from together("holding out", works)
    return tuple(made[::2]), tuple(made[1::2])


def blocks_work(
    sources: Sequence[Source], share: float, weights: Sequence[int] | None = None
) -> Work[list[tuple[NDArray[np.int64], NDArray[np.bool_]]]]:
    """Finds the blocks of `hold_out_work`, and raises the same errors.

    Returns:
        For each source: int64 [n], the ends of the blocks in its data, and bool [n], whether each is held out. For a
        source that is left out, its documents instead of blocks.
    """
    used = iter((yield from _used_blocks_work(in_use(sources, weights), share)))
    return [
        next(used) if weight else (source.ends, np.zeros(source.documents, np.bool_))
        for source, weight in zip(sources, weights or [1] * len(sources), strict=True)
    ]


def in_use(sources: Sequence[Source], weights: Sequence[int] | None) -> tuple[Source, ...]:
    """The sources without those of weight 0; all without weights."""
    return tuple(sources) if weights is None else tuple(compress(sources, weights))


def _used_blocks_work(
    sources: Sequence[Source], share: float
) -> Work[list[tuple[NDArray[np.int64], NDArray[np.bool_]]]]:
    refuse_counts(sources)
    blocks: list[NDArray[np.int64]] = []
    for largest in (LARGEST_BLOCK, sum(source.bytes for source in sources) // LEAST_BLOCKS, 1):
        most = max(1, min(LARGEST_BLOCK, largest))
        cutting = ((len(source.data), _blocks_work(source, most)) for source in sources)
        blocks = yield from together("splitting", cutting)
        if sum(map(len, blocks)) >= LEAST_BLOCKS:
            break
    lines = sum(map(len, blocks))
    _refuse_few(lines)
    is_held = np.diff(np.floor(np.arange(lines + 1) * share)) > 0
    firsts = np.cumsum([len(ends) for ends in blocks])
    for text in texts_of(sources):
        if len(text) > 1:
            starts = (np.concatenate([np.zeros(1, np.int64), blocks[part]])[:-1] for part in text)
            places = [sources[part].places_at(begins) for part, begins in zip(text, starts, strict=True)]
            here = is_held[firsts[text[0]] - len(places[0]) : firsts[text[-1]]]
            here[np.argsort(np.concatenate(places), kind="stable")] = here.copy()
    return list(zip(blocks, np.split(is_held, firsts[:-1]), strict=True))


def check_lines_work(sources: Sequence[Source]) -> Work[None]:
    """Raises the errors of `hold_out_work`, reading no more of the sources than necessary."""
    refuse_counts(sources)
    lines = 0
    for source in sources:
        for start in range(0, len(source.data), _PIECE):
            feeds = np.flatnonzero(source.data[start : start + _PIECE] == ord("\n")) + (start + 1)
            first, last = np.searchsorted(source.ends, [start, start + _PIECE], side="right").tolist()
            lines += len(np.union1d(feeds, source.ends[first:last]))
            if lines >= LEAST_BLOCKS:
                return
            yield Progress("splitting", start, len(source.data))
    _refuse_few(lines)


def refuse_counts(sources: Sequence[Source]) -> None:
    """Raises ConfigError where a source has word counts: no share of them can be held out."""
    if any(source.counts is not None for source in sources):
        raise ConfigError("Word counts have no lines, so nothing can be held out of them: set the held-out share to 0.")


def _refuse_few(lines: int) -> None:
    if lines < LEAST_BLOCKS:
        needed = f"holding out a share needs at least {LEAST_BLOCKS}: set the held-out share to 0."
        raise CorpusError(f"The corpus has {several(lines, 'line')}, and {needed}")


def _blocks_work(source: Source, largest: int) -> Work[NDArray[np.int64]]:
    """The ends of the blocks of a source; no block is empty."""
    lengths = np.diff(source.ends, prepend=0)
    ends = source.ends[lengths > 0]
    long = np.flatnonzero(lengths > largest)
    if not len(long):
        return ends
    lines = yield from document_ends(source.data, "line")
    inner: list[int] = []
    for document in long.tolist():
        end = int(source.ends[document])
        inner += yield from _borders_work(lines, end - int(lengths[document]), end, largest)
        yield Progress("splitting", end, source.bytes)
    return np.union1d(ends, np.array(inner, np.int64))


def _borders_work(lines: NDArray[np.int64], start: int, end: int, largest: int) -> Work[list[int]]:
    """The borders within one document: after the last line that still fits, or after a line that is too long."""
    borders: list[int] = []
    while end - start > largest:
        fits = int(np.searchsorted(lines, start + largest, side="right")) - 1
        at = fits if fits >= 0 and lines[fits] > start else fits + 1
        if at >= len(lines) or lines[at] >= end:
            break
        start = int(lines[at])
        borders.append(start)
        if len(borders) % _BORDERS == 0:
            yield Progress("splitting", start, end)
    return borders


def _chosen_work(source: Source, ends: NDArray[np.int64], chosen: NDArray[np.bool_]) -> Work[Source]:
    """The source with the chosen blocks only."""
    if ends is source.ends and chosen.all():
        return source
    lengths = np.diff(ends, prepend=0)
    made_ends = np.cumsum(lengths[chosen], dtype=np.int64)
    made = np.empty(int(made_ends[-1]) if len(made_ends) else 0, np.uint8)
    to = 0
    for first, last, start, end in groups(ends, _PIECE):
        # A block that is longer than a piece is copied alone.
        for at in range(start, end, _PIECE):
            piece = source.data[at : min(at + _PIECE, end)]
            if last - first > 1:
                piece = piece[np.repeat(chosen[first:last], lengths[first:last])]
            elif not chosen[first]:
                break
            made[to : to + len(piece)] = piece
            to += len(piece)
            yield Progress("holding out", at, len(source.data))
    places = None if source.places is None else source.places_at((ends - lengths)[chosen])
    counts = None if source.counts is None else source.counts[chosen]
    return replace(source, data=made, ends=made_ends, places=places, counts=counts)
