"""Takes samples of a corpus: slices from all over it, cut at lines, in their order."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.corpus import ONCE, Corpus
from tokstudio.core.corpus.locate import rows_of_parts_work
from tokstudio.core.corpus.source import Source

_SLICES = 32
_LEAST_SLICE = 1 << 12
_MOST_SOURCES = 64


def sample_work(corpus: Corpus, size: int) -> Work[Corpus]:
    """Takes about `size` bytes in slices from all over the corpus, where training on all of it does not fit.

    A slice of a document becomes a document; it consists of whole lines unless they are very long. Sources stay
    separate, with their names and files.
    """
    made, weights = list[Source](), list[int]()
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
            made.append(replace(source, **content, rows=rows))
            weights.append(weight_of.get(source, ONCE))
    return Corpus(tuple(made), corpus.weights and tuple(weights))


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
