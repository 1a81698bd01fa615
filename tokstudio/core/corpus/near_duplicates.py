"""Documents that are nearly the same as an earlier one: candidates by min-wise hashes, then their exact Jaccard index.

A unit is a run of letters, marks and digits, or one character of a script without spaces, in lower case. Documents are
compared by their sets of shingles, each of five adjacent units; a document of fewer units is compared as a whole.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.machine import free_memory
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.marks import Gone, Marked, Seen, TooManyHashesError
from tokstudio.core.corpus.readers.files import Budget, TextStore
from tokstudio.core.corpus.source import WithSources, groups
from tokstudio.core.text.languages import scripts_work
from tokstudio.core.text.unicode_classes import LETTER, LOWER, NUMBER, UPPER, classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RULE = "near-duplicates"
_PHASE = f"looking for {_RULE}"
_PIECE = 1 << 20
_DOCUMENTS = 1 << 14
_BUDGET = 1 << 22  # values that are looked at in a piece
_MOST_OF_FREE, _MOST_BYTES = 0.3, 1 << 29  # for the documents that are compared together; half as much for keys
_BYTES_OF_VALUE, _BYTES_OF_ENTRY, _BYTES_OF_DOCUMENT = 8, 12, 128  # an entry: a key in common with other documents
_MOST_COMPARED = 100  # documents that stay, by each key that a document has in common with them
_OWN_UNITS = {"Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan"}


@cache
def units() -> NDArray[np.int32]:
    """What each code point is: int32 [0x110000], as `kernels.near_duplicates.sketch` reads it."""
    table, points = classes(), np.arange(0x110000, dtype=np.uint32)
    is_part = table & (LETTER | NUMBER | UPPER | LOWER) != 0
    lower = points.astype(np.int32)
    for point in np.flatnonzero(is_part).tolist():
        character = chr(point).lower()
        lower[point] = ord(character) if len(character) == 1 else point
    lower[~is_part] = 0
    for script, letters in finish(scripts_work(points[is_part])):
        if script in _OWN_UNITS:
            lower[letters] *= -1
    lower.setflags(write=False)
    return lower


@cache
def _factors() -> NDArray[np.uint32]:
    """The factors of the hashes, which never change."""
    from tokstudio.core.kernels.near_duplicates import HASHES

    drawn = hashlib.shake_128(b"TokStudio near duplicates").digest(8 * HASHES)
    return read_only(np.frombuffer(drawn, "<u4").astype(np.uint32).reshape(2, HASHES) | np.uint32(1))


def near_duplicates_work(corpus: WithSources, least: float, gone: Gone) -> Work[Marked]:
    """The documents that have at least this Jaccard index with an earlier one that stays.

    Each is compared with those that have the least hashes of one of 18 bands of 7 in common with it; at an index of 0.8
    this finds 98.6 % of them. Of more than 100 that stay and have the same band, it is compared with the first 100: in
    many documents that are alike without being near duplicates, each would else be compared with all.
    """
    sketches = yield from _sketches_work(corpus, gone)
    is_found = sketches.same
    parents, amounts = yield from _joined_work(sketches)
    for batch in _batches(parents, amounts, sketches.sizes):
        stays = yield from _choose_work(corpus, sketches, batch, least)
        is_found[sketches.documents[batch[~stays]]] = True
    return _marked(corpus, np.flatnonzero(is_found))


# --- The keys of all documents, and which have keys in common ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Sketches:
    """What is known of all documents."""

    # bool, by the number of a document in the corpus: whether an earlier one has the same units.
    same: NDArray[np.bool_]
    documents: NDArray[np.int32]  # int32 [n], the numbers of the others that have shingles
    sizes: NDArray[np.int32]  # int32 [n], how many shingles each has
    keys: list[NDArray[np.uint8]]  # for each band: uint64 [n], perhaps in a file


@dataclass(frozen=True, eq=False)
class _Some:
    """Adjacent documents in one piece of text, or a part of one."""

    first: int  # the number of the first in the corpus
    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    goes_on: bool = False


def _some_documents(corpus: WithSources) -> Iterator[tuple[_Some, int]]:
    """Yields all documents, long ones in parts that end with a character, and how many bytes are done."""
    first_of_source = before = 0
    for source in corpus.sources:
        for first, last, start, stop in groups(source.ends, _PIECE, _DOCUMENTS):
            if stop - start <= _PIECE:
                stops = source.ends[first:last] - start
                starts = np.concatenate([np.zeros(1, np.int64), stops[:-1]])
                data = np.asarray(source.data[start:stop])
                yield _Some(first_of_source + first, data, starts, stops), before + stop
            else:
                for data, is_last, end in parts_of(source.data, start, stop):
                    starts, stops = np.zeros(1, np.int64), np.array([len(data)])
                    yield _Some(first_of_source + first, data, starts, stops, not is_last), before + end
        first_of_source += source.documents
        before += len(source.data)


def parts_of(data: NDArray[np.uint8], start: int, stop: int) -> Iterator[tuple[NDArray[np.uint8], bool, int]]:
    """Yields a long text in parts that end with a character, whether each is the last, and where it ends."""
    while start < stop:
        part = np.asarray(data[start : min(start + _PIECE, stop)])
        is_last = start + len(part) == stop
        if not is_last:
            tail = part[-4:] & 0xC0 != 0x80
            lead = int(np.flatnonzero(tail)[-1]) if tail.any() else 3
            part = part[: len(part) - len(tail) + lead]
        start += len(part)
        yield part, is_last, start


def _sketches_work(corpus: WithSources, gone: Gone) -> Work[_Sketches]:
    from tokstudio.core.kernels.near_duplicates import BANDS, SHINGLE

    yield Progress(_PHASE)
    total = sum(len(source.data) for source in corpus.sources)
    is_gone = _all_gone(corpus, gone)
    same = np.zeros(len(is_gone), np.bool_)
    budget, loop = Budget(_MOST_BYTES // 2), _Sketching()
    stores = [TextStore("near duplicates", budget) for _ in range(BANDS)]
    shingles, none = np.zeros(len(is_gone), np.int32), np.zeros(0, np.int64)
    seen: Seen | None = Seen(0, 1, none, False)
    for some, done in _some_documents(corpus):
        amount = len(some.starts)
        keys, hashes, counts = loop.sketch(some)
        if not some.goes_on:
            here = slice(some.first, some.first + amount)
            hashes[is_gone[here]] = 0
            try:
                repeated = np.zeros(amount, np.bool_) if seen is None else seen.look_up(hashes, none, none)
            except TooManyHashesError:
                # They get the same keys, and are compared.
                seen, repeated = None, np.zeros(amount, np.bool_)
            same[here] = repeated
            # Fewer units are a shingle that no other document has.
            compared = np.flatnonzero(~repeated & (counts >= SHINGLE) & ~is_gone[here])
            shingles[compared + some.first] = counts[compared] - SHINGLE + 1
            for band, store in enumerate(stores):
                store.add(keys[compared, band].view(np.uint8))
        yield Progress(_PHASE, done // 2, total)
    seen = None  # its memory is free before the keys are joined
    finished: list[NDArray[np.uint8]] = []
    for store in stores:
        finished.append((yield from store.finish_work()))
    documents = np.flatnonzero(shingles).astype(np.int32)
    return _Sketches(same, documents, shingles[documents], finished)


def _all_gone(corpus: WithSources, gone: Gone) -> NDArray[np.bool_]:
    none = np.zeros(0, np.bool_)
    parts = [
        np.zeros(source.documents, np.bool_) if documents is None else documents
        for source, documents in zip(corpus.sources, gone.documents, strict=True)
    ]
    return np.concatenate([none, *parts])


class _Sketching:
    """Calls the loop, with its state between parts of a document."""

    def __init__(self) -> None:
        from tokstudio.core.kernels.near_duplicates import HASHES, SEED, STATE

        self._state, self._signature = np.zeros(STATE, np.uint64), np.full(HASHES, 0xFFFFFFFF, np.uint32)
        self._state[0] = SEED
        self._filled = 0

    def sketch(
        self, some: _Some, values: NDArray[np.uint64] | None = None
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int64]]:
        """The keys, the hashes and the numbers of units; with `values`, these are filled further instead of keys."""
        from tokstudio.core.kernels.near_duplicates import BANDS, sketch

        amount = len(some.starts)
        keys, hashes = np.zeros((amount, BANDS), np.uint64), np.zeros((amount, 2), np.uint64)
        counts = np.zeros(amount, np.int64)
        values = np.zeros(0, np.uint64) if values is None else values
        text, starts, stops = read_only(some.data), read_only(some.starts), read_only(some.stops)
        tables = (units(), _factors())
        self._filled = sketch(
            *(text, starts, stops, some.goes_on, *tables, self._state, self._signature),
            *(keys, hashes, counts, values, self._filled),
        )
        return keys, hashes, counts


def _joined_work(sketches: _Sketches) -> Work[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """The groups of documents that have a key in common, also by way of others: the number of its first document.

    Returns:
        int32 [n], the group of each document; int32 [n], how many keys it has in common with others.
    """
    from tokstudio.core.kernels.near_duplicates import join_documents

    n = len(sketches.documents)
    parents, amounts = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    for band, store in enumerate(sketches.keys):
        keys = read_only(np.asarray(store).view(np.uint64))
        join_documents(keys, np.argsort(keys), parents, amounts)
        yield Progress(_PHASE, len(sketches.keys) + band, 4 * len(sketches.keys))
    return parents, amounts


# --- The candidates compared ------------------------------------------------------------------------------------------


def _batches(
    parents: NDArray[np.int32], amounts: NDArray[np.int32], sizes: NDArray[np.int32]
) -> Iterator[NDArray[np.int64]]:
    """Yields the documents to compare together, ascending, whose values fit into the memory.

    Those of a group are together in any case; who has no key in common with others is in none.
    """
    shared = np.flatnonzero(amounts)
    if not len(shared):
        return
    free = free_memory()
    most = _MOST_BYTES if free is None else min(_MOST_BYTES, int(_MOST_OF_FREE * free))
    costs = _BYTES_OF_VALUE * sizes[shared].astype(np.int64) + _BYTES_OF_ENTRY * amounts[shared] + _BYTES_OF_DOCUMENT
    if int(costs.sum()) <= most:
        yield shared
        return
    order = np.argsort(parents[shared], kind="stable")
    ends = np.flatnonzero(np.diff(parents[shared[order]], append=-1)) + 1
    summed = np.cumsum(costs[order])
    first = 0
    while first < len(order):
        before = int(summed[first - 1]) if first else 0
        fitting = int(np.searchsorted(summed[ends - 1], before + most, side="right"))
        last = int(ends[max(fitting - 1, int(np.searchsorted(ends, first, side="right")))])
        yield np.sort(shared[order[first:last]])
        first = last


def _buckets_work(
    sketches: _Sketches, batch: NDArray[np.int64]
) -> Work[tuple[NDArray[np.int64], NDArray[np.int32], int]]:
    """The keys that documents of a batch have in common, by numbers, and how many these are.

    Returns:
        Where those of each document begin and the last end, int64 [n + 1]; the numbers, int32; how many there are.
    """
    buckets, known = np.full((len(batch), len(sketches.keys)), -1, np.int32), 0
    for band, store in enumerate(sketches.keys):
        keys = np.asarray(store).view(np.uint64)[batch]
        order = np.argsort(keys)
        ascending = keys[order]
        as_before = np.zeros(len(keys), np.bool_)
        as_before[1:] = ascending[1:] == ascending[:-1]
        is_shared = as_before.copy()
        is_shared[:-1] |= as_before[1:]
        numbers = np.cumsum(~as_before[is_shared]) + (known - 1)
        buckets[order[is_shared], band] = numbers
        known = int(numbers[-1]) + 1 if len(numbers) else known
        yield Progress(_PHASE)
    has_others = buckets >= 0
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.count_nonzero(has_others, axis=1))])
    return offsets, buckets[has_others], known


def _choose_work(
    corpus: WithSources, sketches: _Sketches, batch: NDArray[np.int64], least: float
) -> Work[NDArray[np.bool_]]:
    """Which documents of a batch stay."""
    from tokstudio.core.kernels.near_duplicates import choose_documents, sort_values

    offsets, buckets, known = yield from _buckets_work(sketches, batch)
    total = int(sketches.sizes[batch].sum(dtype=np.int64))
    values, places = yield from _values_work(corpus, sketches.documents[batch].astype(np.int64), total)
    sizes = np.zeros(len(batch), np.int64)
    sort_values(values, places, sizes)
    yield Progress(_PHASE)
    state = (
        np.full(known, -1, np.int32),
        np.zeros(known, np.int32),
        np.zeros(len(buckets), np.int32),
        np.zeros(len(buckets), np.int32),
        np.full(len(batch), -1, np.int32),
    )
    stays, at = np.zeros(len(batch), np.bool_), 0
    while at < len(batch):
        at = choose_documents(
            *(at, _BUDGET, offsets, buckets, places, sizes, values, float(least), _MOST_COMPARED, *state, stays)
        )
        yield Progress(_PHASE, 3 * len(batch) + at, 4 * len(batch))
    return stays


def _values_work(
    corpus: WithSources, documents: NDArray[np.int64], total: int
) -> Work[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
    """The values of the shingles of some documents, ascending numbers; and where those of each begin and end."""
    from tokstudio.core.kernels.near_duplicates import SHINGLE

    loop, first_of_source = _Sketching(), 0
    values, borders = np.empty(total, np.uint64), [np.zeros(1, np.int64)]
    for source in corpus.sources:
        here = slice(*np.searchsorted(documents, [first_of_source, first_of_source + source.documents]).tolist())
        wanted = documents[here] - first_of_source
        stops = source.ends[wanted]
        starts = np.where(wanted > 0, source.ends[wanted - 1], 0)
        at = 0
        while at < len(wanted):
            last = max(at + 1, int(np.searchsorted(stops, starts[at] + _PIECE, side="right")))
            start, stop = int(starts[at]), int(stops[last - 1])
            for some in _wanted(source.data, start, stop, starts[at:last] - start, stops[at:last] - start):
                _, _, counts = loop.sketch(some, values)
                if not some.goes_on:
                    borders.append(np.cumsum(counts - (SHINGLE - 1)) + int(borders[-1][-1]))
                yield Progress(_PHASE)
            at = last
        first_of_source += source.documents
    return values, np.concatenate(borders)


def _wanted(
    data: NDArray[np.uint8], start: int, stop: int, starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> Iterator[_Some]:
    """Some documents as they are read: together, or a long one in parts."""
    if stop - start <= _PIECE:
        yield _Some(0, np.asarray(data[start:stop]), starts, stops)
        return
    for part, is_last, _ in parts_of(data, start, stop):
        yield _Some(0, part, np.zeros(1, np.int64), np.array([len(part)]), not is_last)


def _marked(corpus: WithSources, documents: NDArray[np.int64]) -> Marked:
    """The documents with these numbers in the corpus."""
    amounts = [source.documents for source in corpus.sources]
    firsts = np.concatenate([np.zeros(1, np.int64), np.cumsum(amounts, dtype=np.int64)])
    sources = np.searchsorted(firsts, documents, side="right") - 1
    starts, stops = np.zeros(len(documents), np.int64), np.zeros(len(documents), np.int64)
    own = documents - firsts[sources]
    for number, source in enumerate(corpus.sources):
        here = sources == number
        stops[here] = source.ends[own[here]]
        starts[here] = np.where(own[here] > 0, source.ends[own[here] - 1], 0)
    return Marked(_RULE, sources.astype(np.int32), own, np.full(len(own), -1, np.int64), starts, stops)
