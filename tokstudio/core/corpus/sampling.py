"""Samples of a corpus, and the share of it that is held out of training."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.progress import Progress, Work, together
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.corpus import ONCE, Corpus
from tokstudio.core.corpus.source import Source, cuts_of_parts, document_ends, groups, rows_of_parts_work, texts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- Takes samples of a corpus: slices from all over it, cut at lines, in their order ---------------------------------

_SLICES = 32
_LEAST_SLICE = 1 << 12
_MOST_SOURCES = 64


def sample_work(corpus: Corpus, size: int) -> Work[Corpus]:
    """See `numbered_sample_work`, which also says of which sources there is nothing."""
    return (yield from numbered_sample_work(corpus, size))[0]


def numbered_sample_work(corpus: Corpus, size: int) -> Work[tuple[Corpus, list[int]]]:
    """Takes about `size` bytes in slices from all over the corpus, where training on all of it does not fit.

    A slice of a document becomes a document; it consists of whole lines unless they are very long. Sources stay
    separate, with their names and files. The numbers are those that the sources of the sample have in the corpus.
    """
    samples, weights, numbers = list[Source](), list[int](), list[int]()
    number_of = {source: number for number, source in enumerate(corpus.sources)}
    weight_of = dict(zip(corpus.sources, corpus.weights or (), strict=False))
    total = sum(len(source.data) for source in corpus.sources)
    parts: dict[Source, list[tuple[int, Source]]] = {}
    done = 0
    for source, start, stop in _spans(corpus, size):
        part, begin = _slice(source, start, stop), 0 if source.counts is not None else _line_after(source, start)
        parts.setdefault(source, []).append((begin, part))
        done += len(part.data)
        yield Progress("reading", done, total)
    for source, slices in parts.items():
        filled = [(start, part) for start, part in slices if len(part.data)]
        if filled:
            taken = _joined([part for _, part in filled])
            rows = None if source.counts is not None else (yield from rows_of_parts_work(source, filled))
            content = {"data": taken.data, "ends": taken.ends, "counts": taken.counts, "places": taken.places}
            samples.append(replace(source, **content, rows=rows, cuts=cuts_of_parts(source, filled)))
            weights.append(weight_of.get(source, ONCE))
            numbers.append(number_of[source])
    left = None if corpus.left is None else corpus.left.of(numbers)
    return Corpus(tuple(samples), corpus.weights and tuple(weights), left), numbers


def sample_in_one(corpus: Corpus, size: int) -> Corpus:
    """Takes a sample for a quick try, with sources of one weight joined, because each source takes time of its own."""
    sources = corpus.sources
    if sum(len(source.data) for source in sources) <= size and len(sources) <= _MOST_SOURCES:
        return corpus
    weight_of = dict(zip(sources, corpus.weights or (), strict=False))
    alike: dict[tuple[int, bool], list[Source]] = {}
    for source, start, stop in _spans(corpus, size):
        part, weight = _slice(source, start, stop), weight_of.get(source, ONCE)
        if len(part.data):
            alike.setdefault((weight, part.counts is not None), []).append(part)
    weights = corpus.weights and tuple(weight for weight, _ in alike)
    return Corpus(tuple(replace(_joined(parts), places=None) for parts in alike.values()), weights)


def _spans(corpus: Corpus, size: int) -> Iterator[tuple[Source, int, int]]:
    """The start and stop of each slice in its source, in order."""
    sources = corpus.sources
    lengths = np.array([len(source.data) for source in sources], np.int64)
    ends = np.cumsum(lengths, dtype=np.int64)
    total = int(lengths.sum())
    slices = 1 if total <= size else max(1, min(_SLICES, size // _LEAST_SLICE))
    for number in range(slices):
        start = total * number // slices
        stop = start + min(size, total) // slices
        first, last = int(np.searchsorted(ends, start, side="right")), int(np.searchsorted(ends, stop)) + 1
        for source, end, length in zip(
            sources[first:last], ends[first:last].tolist(), lengths[first:last].tolist(), strict=True
        ):
            begin = end - length
            yield source, max(0, start - begin), min(length, stop - begin)


def _joined(parts: list[Source]) -> Source:
    """Joins sources, all or none of which have counts."""
    offsets = np.cumsum([0, *(len(part.data) for part in parts[:-1])], dtype=np.int64)
    ends = np.concatenate([part.ends for part in parts]) + np.repeat(offsets, [len(part.ends) for part in parts])
    counts = [part.counts for part in parts if part.counts is not None]
    places = [part.places for part in parts if part.places is not None]
    return Source(
        "",
        None,
        "",
        "",
        np.concatenate([np.asarray(part.data) for part in parts]),
        ends,
        counts=np.concatenate(counts) if counts else None,
        places=np.concatenate(places) if len(places) == len(parts) else None,
    )


def _slice(source: Source, start: int, stop: int) -> Source:
    if start == 0 and stop == len(source.data):
        return source
    if source.counts is not None:
        first, last = np.searchsorted(source.ends, [start, stop]).tolist()
        begin = int(source.ends[first - 1]) if first else 0
        end = int(source.ends[last - 1]) if last else 0
        ends, counts = source.ends[first:last] - begin, source.counts[first:last]
        places = None if source.places is None else source.places[first:last]
        data = source.data[begin : max(begin, end)]
        return Source(source.name, None, "", "", data, ends, counts=counts, places=places)
    start, stop = _line_after(source, start), _line_after(source, stop)
    first = int(np.searchsorted(source.ends, start, side="right"))
    last = max(first, int(np.searchsorted(source.ends, stop)))
    inner = source.ends[first:last] - start
    ends = np.append(inner, stop - start)
    places = None
    if source.places is not None:
        # The first document may begin in its middle.
        places = source.places[first : first + len(ends)].copy()
        places[:1] += start - (int(source.ends[first - 1]) if first else 0)
    return Source(source.name, None, "", "", source.data[start:stop], ends, places=places)


def _line_after(source: Source, at: int) -> int:
    """The beginning of the next line, or of the next character where lines are very long."""
    if at == 0:
        return 0
    window = source.data[at : at + _LEAST_SLICE]
    feeds = np.flatnonzero(window == ord("\n"))
    if len(feeds):
        return at + int(feeds[0]) + 1
    starts = np.flatnonzero((window & 0xC0) != 0x80)
    return at + (int(starts[0]) if len(starts) else 0)


# --- Samples by a seed, each within the next --------------------------------------------------------------------------

_BLOCKS_OF_LEAST = 32  # blocks, at least, that a text of enough lines has in the smallest sample


@dataclass(frozen=True, eq=False)
class NestedSamples:
    """Samples of sources, each within that of a larger share; each source is divided alike.

    What is chosen are documents, and blocks of whole lines of documents that are long, in an order that a seed gives,
    until they have the share of the bytes; they stay in the order of the text.
    """

    sources: tuple[Source, ...]
    ends: tuple[NDArray[np.int64], ...]  # of the blocks of each source
    ranks: tuple[NDArray[np.float64], ...]  # of each block: the share of the bytes up to its middle, in its order

    def bytes_of(self, share: float) -> int:
        """The size of a sample."""
        blocks = zip(self.ends, self.ranks, strict=True)
        return sum(int(np.diff(ends, prepend=0)[ranks < share].sum()) for ends, ranks in blocks)

    def sample_work(self, share: float, *, rest: bool = False) -> Work[tuple[Source, ...]]:
        """A sample, or the rest beside it: one source for each, which may be empty."""
        works = (
            (len(source.data), _chosen_work(source, ends, (ranks < share) != rest))
            for source, ends, ranks in zip(self.sources, self.ends, self.ranks, strict=True)
        )
        return tuple((yield from together("sampling", works)))


def nested_samples_work(sources: Sequence[Source], least: float, seed: int) -> Work[NestedSamples]:
    """Prepares samples of shares from `least` to 1, in an order by the seed."""
    largest = max(1, min(LARGEST_BLOCK, int(least * sum(source.bytes for source in sources)) // _BLOCKS_OF_LEAST))
    blocks = yield from together("sampling", ((len(one.data), _blocks_work(one, largest)) for one in sources))
    ranks: list[NDArray[np.float64]] = []
    for number, ends in enumerate(blocks):
        order = np.random.default_rng([seed, number]).permutation(len(ends))
        lengths = np.diff(ends, prepend=0)[order]
        rank = np.empty(len(ends), np.float64)
        rank[order] = (np.cumsum(lengths) - lengths / 2) / max(1, int(lengths.sum()))
        ranks.append(rank)
    return NestedSamples(tuple(sources), tuple(blocks), tuple(ranks))


# --- The held-out split: blocks of whole lines, spread evenly over the corpus -----------------------------------------

LEAST_BLOCKS = 20
LARGEST_BLOCK = 1 << 16

PIECE = 1 << 20
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
        CorpusError: There are fewer than 20 lines, or the share is less than one block.
        ConfigError: A source that is not left out has word counts instead of text.
    """
    blocks = yield from blocks_work(sources, share, weights)
    works = (
        (len(source.data), _chosen_work(source, ends, chosen))
        for source, (ends, is_held) in zip(sources, blocks, strict=True)
        for chosen in (~is_held, is_held)
    )
    parts = yield from together("holding out", works)
    return tuple(parts[::2]), tuple(parts[1::2])


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
    if share and not is_held.any():
        raise CorpusError(
            f"A held-out share of {100 * share:.10g} % is less than one of the {lines:,} pieces of this text: choose a "
            "larger share, or 0 to hold nothing out."
        )
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
        for start in range(0, len(source.data), PIECE):
            feeds = np.flatnonzero(source.data[start : start + PIECE] == ord("\n")) + (start + 1)
            first, last = np.searchsorted(source.ends, [start, start + PIECE], side="right").tolist()
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
    data = np.empty(int(made_ends[-1]) if len(made_ends) else 0, np.uint8)
    to = 0
    for first, last, start, end in groups(ends, PIECE):
        # A block that is longer than a piece is copied alone.
        for at in range(start, end, PIECE):
            piece = source.data[at : min(at + PIECE, end)]
            if last - first > 1:
                piece = piece[np.repeat(chosen[first:last], lengths[first:last])]
            elif not chosen[first]:
                break
            data[to : to + len(piece)] = piece
            to += len(piece)
            yield Progress("holding out", at, len(source.data))
    places = None if source.places is None else source.places_at((ends - lengths)[chosen])
    counts = None if source.counts is None else source.counts[chosen]
    return replace(source, data=data, ends=made_ends, places=places, counts=counts)
