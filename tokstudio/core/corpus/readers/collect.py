"""Collects the texts of documents: filters them, divides them by a column, and counts what is dropped."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.untyped import untyped
from tokstudio.core.base.wording import several, shown
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.readers.files import Budget, TextStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_VALUE = "(none)"
MOST_VALUES = 1_000
_LINES_NAMED = 3
_HASH = 16  # bytes
_LARGEST_INT32 = (1 << 31) - 1


@dataclass
class Dropped:
    """What was not read as it stands in a file."""

    broken: int = 0  # lines or rows that cannot be parsed
    broken_at: list[int] = field(default_factory=list[int])  # the first of them, from 1
    broken_unit: str = "line"  # what these numbers count: "line", or "row" of a table
    missing: int = 0  # rows without the column
    no_text: int = 0  # rows with another type in it
    surrogates: int = 0  # halves of characters that became U+FFFD
    invalid: int = 0  # sequences that are not in the encoding
    encoding: str = "utf-8"
    short: int = 0
    cut: int = 0
    duplicates: int = 0
    beyond: int = 0  # bytes of each source where reading ended; 0 where all was read
    truncated: bool = False
    further: list[str] = field(default_factory=list[str])

    def add_broken(self, number: int, unit: str = "line") -> None:
        """Counts a line or row with this number, from 1."""
        self.broken, self.broken_unit = self.broken + 1, unit
        if len(self.broken_at) < _LINES_NAMED:
            self.broken_at.append(number)

    def add(self, other: Dropped) -> None:
        """Adds what was dropped of another file, without the numbers of its lines."""
        for name in ("broken", "missing", "no_text", "surrogates", "invalid", "short", "cut", "duplicates"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.truncated |= other.truncated
        self.broken_unit = other.broken_unit if other.broken else self.broken_unit

    @property
    def note(self) -> str:
        """All of it with its numbers; "" where there is nothing."""
        parts = [*self.further]
        if self.truncated:
            parts.append("the compressed data ends too early; what was whole is read")
        if self.broken:
            names = ", ".join(f"{number:,}" for number in self.broken_at[:_LINES_NAMED])
            others = " and others" if self.broken > _LINES_NAMED else ""
            where = f" ({self.broken_unit} {names}{others})" if names else ""
            parts.append(f"{several(self.broken, 'broken row')} dropped{where}")
        for number, one, many in (
            (self.missing, "row without the column dropped", "rows without the column dropped"),
            (self.no_text, "row with no text in the column dropped", "rows with no text in the column dropped"),
            (self.surrogates, "half of a character became U+FFFD", "halves of characters became U+FFFD"),
            (self.invalid, *(f"byte sequence{s} not valid {self.encoding}; shown as U+FFFD" for s in (" is", "s are"))),
            (self.short, "short document dropped", "short documents dropped"),
            (self.cut, "long document cut", "long documents cut"),
            (self.duplicates, "duplicate dropped", "duplicates dropped"),
        ):
            if number:
                parts.append(several(number, one, many))
        if self.beyond:
            parts.append(f"only the first {self.beyond:,} bytes are read")
        return "; ".join(parts)


@dataclass(frozen=True, eq=False)
class DividedPart:
    """The documents of one value of the dividing column, or all; arrays as in `Source`."""

    value: str | None
    data: NDArray[np.uint8]
    ends: NDArray[np.int64]
    places: NDArray[np.int64] | None
    rows: NDArray[np.int32] | NDArray[np.int64] | None = None


@dataclass
class PassOn:
    """Receives documents while they are read, in groups, so that their text is not kept."""

    # Called with the bytes of some documents, which must not be changed, and their ends.
    receive: Callable[[NDArray[np.uint8], NDArray[np.int64]], None]
    skip: int = 0  # so many of the first documents are not given to it
    documents: int = 0  # how many were read; also those that were skipped
    bytes: int = 0  # those of their text

    def add(self, data: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        """Passes on some documents."""
        first = min(len(ends), max(0, self.skip - self.documents))
        self.documents += len(ends)
        self.bytes += len(data)
        if first < len(ends):
            start = int(ends[first - 1]) if first else 0
            self.receive(data[start:], ends[first:] - start)

    def begin_again(self) -> None:
        """Says that the same documents are read from the first on; those that were passed on are skipped."""
        self.skip, self.documents, self.bytes = max(self.skip, self.documents), 0, 0


class Collector:
    """Takes documents in the order of a file.

    Args:
        name: The name of the file, for errors.
        only: The one value of `reading.split_by` to keep; None to keep all.
        beside: Take the columns that are read with this one (`Plan.beside`).
        pass_on: Receives the documents, none of which is kept then; not with a column that divides them.
    """

    def __init__(
        self,
        name: str,
        reading: Reading,
        budget: Budget,
        only: str | None = None,
        beside: Sequence[Collector] = (),
        pass_on: PassOn | None = None,
    ) -> None:
        self.name, self._reading, self._budget, self._only = name, reading, budget, only
        self.pass_on = pass_on
        self._beside = tuple(beside)
        self._builders: dict[str | None, _Builder] = {}
        self._seen = _Seen(budget)
        self._place = 0
        self._row = 1  # of the next text, where the reader does not say it
        self.shards: list[str] = []
        self.dropped = Dropped()
        self.is_full = False  # whether nothing more is kept

    @property
    def each(self) -> tuple[Collector, ...]:
        """The collector of each column of text."""
        return (self, *self._beside)

    def begin_shard(self, name: str) -> None:
        """Says that what is added now is from this file, one of several."""
        self.shards.append(name)
        self._row = 1

    def add_columns(
        self,
        columns: Sequence[Any],
        keys: Any = None,  # noqa: ANN401
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        """Adds Arrow arrays of the columns of text, of which nulls are dropped and counted as missing; as `add`."""
        for collect, texts in zip(self.each, columns, strict=True):
            collect.dropped.missing += texts.null_count
            collect.add_texts(texts, keys, rows)

    def add_texts(
        self,
        texts: Any,  # noqa: ANN401 -- arrays of pyarrow have no types
        keys: Any = None,  # noqa: ANN401
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        """Adds an Arrow array of strings or bytes, of which nulls are dropped uncounted, with their dividing values."""
        compute = untyped("pyarrow.compute")

        rows = self._numbers(len(texts)) if rows is None else rows
        if texts.null_count:
            valid = compute.is_valid(texts)
            texts, keys = texts.filter(valid), None if keys is None else keys.filter(valid)
            rows = rows[valid.to_numpy(zero_copy_only=False)]
        if len(texts):
            self.add(*arrays_of(texts), _codes_of(keys) if keys is not None else None, rows)

    def _numbers(self, count: int) -> NDArray[np.int64]:
        """The numbers of the next rows, of which none is left out."""
        self._row += count
        return np.arange(self._row - count, self._row)

    def add(
        self,
        data: NDArray[np.uint8],
        ends: NDArray[np.int64],
        codes: tuple[NDArray[np.int64], list[str]] | None = None,
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        """Adds documents with their ends, and the number of each one's dividing value in a list.

        `rows` has the number of each one's row or line in its file; None where none was left out.
        """
        keep = np.ones(len(ends), np.bool_)
        rows = self._numbers(len(ends)) if rows is None else rows
        reading, starts = self._reading, np.concatenate(([0], ends[:-1]))
        if reading.least_characters or reading.most_characters is not None:
            data, ends, keep = self._by_length(data, starts, ends)
            starts = np.concatenate(([0], ends[:-1]))
        if reading.deduplicate:
            self._drop_duplicates(data, starts, ends, keep)
        if not keep.all():
            data, ends = _gathered(data, starts, ends, keep)
            starts = np.concatenate(([0], ends[:-1]))
            rows = rows[keep]
        if not len(ends):
            return
        shard = max(0, len(self.shards) - 1)
        place, self._place = self._place, self._place + int(ends[-1])
        if codes is None:
            builder = self._builder(None)
            builder.add(data, ends, rows, shard)
            self.is_full = builder.is_full
            return
        numbers: NDArray[np.int64] = codes[0][keep]
        values = codes[1]
        distinct, firsts = np.unique(numbers, return_index=True)
        in_order: list[int] = distinct[np.argsort(firsts)].tolist()
        for number in in_order:
            chosen: NDArray[np.bool_] = numbers == number
            if self._only in (None, values[number]):
                part, borders = _gathered(data, starts, ends, chosen)
                self._builder(values[number]).add(part, borders, rows[chosen], shard, place + starts[chosen])

    def parts_work(self) -> Work[list[DividedPart]]:
        """The collected parts, in the order of their first documents; nothing can be added afterwards."""
        self._seen.clear()
        if self.pass_on is not None:
            self._builder(None)  # what was dropped is said of it, even if nothing was passed on
        if any(builder.is_full for builder in self._builders.values()):
            self.dropped.beyond = self._reading.most_bytes or 0
        parts: list[DividedPart] = []
        for value, builder in self._builders.items():
            parts.append((yield from builder.part_work(value)))
        return parts

    def _builder(self, value: str | None) -> _Builder:
        if value not in self._builders:
            if len(self._builders) == MOST_VALUES:
                raise CorpusError(
                    f"{self.name}: the column {shown(self._reading.split_by or '')} has more than {MOST_VALUES:,} "
                    "values; divide by a column with fewer."
                )
            self._builders[value] = _Builder(self.name, self._reading.most_bytes, self._budget, self.pass_on)
        return self._builders[value]

    def _by_length(
        self, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]:
        """Cuts long documents, and says which are not too short."""
        firsts = np.flatnonzero((data & 0xC0) != 0x80)  # the first byte of each character
        before, after = np.searchsorted(firsts, starts), np.searchsorted(firsts, ends)
        keep = after - before >= self._reading.least_characters
        self.dropped.short += len(keep) - int(np.count_nonzero(keep))
        most = self._reading.most_characters
        if most is not None and (long := after - before > most).any():
            self.dropped.cut += int(np.count_nonzero(long & keep))
            stops = ends.copy()
            stops[long] = firsts[before[long] + most]
            data, ends = _cut(data, starts, ends, stops)
        return data, ends, keep

    def _drop_duplicates(
        self, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], keep: NDArray[np.bool_]
    ) -> None:
        view, kept = np.ascontiguousarray(data).data, np.flatnonzero(keep)
        borders = zip(starts[kept].tolist(), ends[kept].tolist(), strict=True)
        hashes = b"".join(blake2b(view[start:end], digest_size=_HASH).digest() for start, end in borders)
        is_new = self._seen.add(np.frombuffer(hashes, f"S{_HASH}"))
        keep[kept] = is_new
        self.dropped.duplicates += len(kept) - int(np.count_nonzero(is_new))


class _Seen:
    """The hashes of the documents so far, in a few sorted arrays, each at least twice as long as the next."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self._arrays = budget, list["NDArray[np.bytes_]"]()
        self._taken = 0  # of the budget

    def add(self, hashes: NDArray[np.bytes_]) -> NDArray[np.bool_]:
        """Says which are neither known nor repeated here, and adds these."""
        distinct, firsts = np.unique(hashes, return_index=True)
        is_new = np.ones(len(distinct), np.bool_)
        for array in self._arrays:
            at = np.minimum(np.searchsorted(array, distinct), len(array) - 1)
            is_new &= array[at] != distinct
        is_kept, distinct = np.zeros(len(hashes), np.bool_), distinct[is_new]
        is_kept[firsts[is_new]] = True
        # Where it does not fit, the texts go to the disk.
        self._taken += distinct.nbytes if self._budget.take(distinct.nbytes) else 0
        while self._arrays and len(self._arrays[-1]) < 2 * len(distinct):
            # A stable sort joins two sorted arrays in one pass.
            distinct = np.sort(np.concatenate([self._arrays.pop(), distinct]), kind="stable")
        if len(distinct):
            self._arrays.append(distinct)
        return is_kept

    def clear(self) -> None:
        """Forgets all."""
        self._arrays.clear()
        if self._taken:
            self._budget.give_back(self._taken)
            self._taken = 0


class _Builder:
    """One source as it grows."""

    def __init__(self, name: str, most: int | None, budget: Budget, pass_on: PassOn | None) -> None:
        self._store, self._most = TextStore(name, budget), most
        self._pass_on, self._passed = pass_on, 0
        self._ends: list[NDArray[np.int64]] = []
        self._places: list[NDArray[np.int64]] = []
        self._runs: list[NDArray[np.int32] | NDArray[np.int64]] = []
        self._documents, self._follows = 0, (0, 0)  # the row and the shard that would continue the last run
        self.is_full = False

    def add(
        self,
        data: NDArray[np.uint8],
        ends: NDArray[np.int64],
        rows: NDArray[np.int64],
        shard: int,
        places: NDArray[np.int64] | None = None,
    ) -> None:
        if self.is_full:
            return
        size = self._store.size + self._passed
        if self._most is not None and size + len(data) > self._most:
            self.is_full = True
            data, ends = first_bytes(data, ends, self._most - size)
        if self._pass_on is not None:
            self._passed += len(data)
            self._pass_on.add(data, ends)
            return
        if len(ends):
            self._add_runs(rows[: len(ends)], shard, ends)
        self._ends.append(ends + self._store.size)
        if places is not None:
            self._places.append(places[: len(ends)])
        self._store.add(data)

    def _add_runs(self, rows: NDArray[np.int64], shard: int, ends: NDArray[np.int64]) -> None:
        """Notes where rows were left out, as of `Source.rows`; `ends` are those of the new documents."""
        firsts = np.flatnonzero(np.diff(rows) != 1) + 1
        if (int(rows[0]), shard) != self._follows:
            firsts = np.concatenate(([0], firsts))
        if len(firsts):
            bytes_before = np.concatenate(([0], ends[:-1]))[firsts] + self._store.size
            shards = np.full(len(firsts), shard)
            runs = np.stack((firsts + self._documents, bytes_before, rows[firsts], shards), axis=1)
            # Of a divided data set there is about one run a row.
            self._runs.append(runs.astype(np.int32) if int(runs.max()) <= _LARGEST_INT32 else runs)
        self._documents += len(rows)
        self._follows = int(rows[-1]) + 1, shard

    def part_work(self, value: str | None) -> Work[DividedPart]:
        data = yield from self._store.finish_work()
        places = np.concatenate(self._places) if self._places else None
        rows = cast("NDArray[np.int64]", np.concatenate(self._runs)) if self._runs else None
        if rows is not None and len(rows) == 1 and rows[0, 2] == 1:
            rows = None
        ends = np.concatenate([np.empty(0, np.int64), *self._ends])
        return DividedPart(value, data, ends, places, rows)


def first_bytes(
    data: NDArray[np.uint8], ends: NDArray[np.int64], most: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The first `most` bytes of more, without the part of a character at their end, and the ends of documents there."""
    stop = most
    while stop > 0 and most - stop < 4 and (int(data[stop]) & 0xC0) == 0x80:
        stop -= 1
    if int(data[stop]) & 0xC0 == 0x80:  # this is no UTF-8
        stop = most
    whole = ends[: int(np.searchsorted(ends, stop, side="right"))]
    is_cut = stop > (int(whole[-1]) if len(whole) else 0)
    return data[:stop], np.concatenate((whole, [stop])) if is_cut else whole


def arrays_of(texts: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:  # noqa: ANN401 -- see above
    """The bytes of an Arrow array of strings or bytes without nulls, and their ends; nothing is copied."""
    pyarrow = untyped("pyarrow")

    if texts.type not in (pyarrow.string(), pyarrow.large_string(), pyarrow.binary(), pyarrow.large_binary()):
        texts = texts.cast(pyarrow.large_binary())
    is_large = texts.type in (pyarrow.large_string(), pyarrow.large_binary())
    _, offsets, content = texts.buffers()
    here = slice(texts.offset, texts.offset + len(texts) + 1)
    borders = np.frombuffer(offsets, np.int64 if is_large else np.int32)[here].astype(np.int64)
    data = np.frombuffer(content, np.uint8) if content is not None else np.zeros(0, np.uint8)
    return data[borders[0] : borders[-1]], borders[1:] - borders[0]


def _codes_of(keys: Any) -> tuple[NDArray[np.int64], list[str]]:  # noqa: ANN401 -- see above
    pyarrow = untyped("pyarrow")
    compute = untyped("pyarrow.compute")

    coded = compute.fill_null(keys.cast(pyarrow.large_string()), NO_VALUE).dictionary_encode()
    return coded.indices.to_numpy(zero_copy_only=False).astype(np.int64), coded.dictionary.to_pylist()


def _gathered(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], keep: NDArray[np.bool_]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Some of the documents, one after another."""
    lengths = ends - starts
    return data[np.repeat(keep, lengths)], np.cumsum(lengths[keep])


def _cut(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], stops: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The documents up to their new ends, one after another."""
    kept = np.arange(len(data)) < np.repeat(stops, ends - starts)
    return data[kept], np.cumsum(stops - starts)
