"""Reads Parquet and Arrow files: group by group, and of each only the columns that are needed."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import struct
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from typing import Any, BinaryIO

import numpy as np

from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.untyped import untyped
from tokstudio.core.base.wording import shown
from tokstudio.core.corpus.readers.collect import Collector
from tokstudio.core.corpus.readers.compression import refuse_bomb
from tokstudio.core.corpus.readers.contents import Column, columns_of_schema, strings_of, texts_of
from tokstudio.core.corpus.readers.json_rows import Plan
from tokstudio.core.corpus.readers.kinds import ARROW, PARQUET

ROWS = 1 << 13
_SAMPLE = 100
_MOST_LOOKED_AT = 5_000  # columns
AT_ONCE = 1 << 29  # bytes that the rows of one step may become
_ADVICE = "write it again without compression"


@dataclass(frozen=True)
class Chunk:
    """A column of a group of rows in a Parquet file: where it begins, its bytes, those unpacked, and its values."""

    start: int
    stored: int
    unpacked: int
    values: int


@dataclass(frozen=True)
class Table:
    """An open Parquet or Arrow file, of which `stored` bytes are stored (see `refuse_bomb`)."""

    name: str
    kind: str
    source: Any  # `pyarrow.parquet.ParquetFile`, or a reader of `pyarrow.ipc`
    file: BinaryIO
    stored: int

    @property
    def rows(self) -> int | None:
        """The number of rows, where the file says it."""
        return self.source.metadata.num_rows if self.kind == PARQUET else None

    @property
    def schema(self) -> Any:  # noqa: ANN401
        """The columns with their types."""
        return self.source.schema_arrow if self.kind == PARQUET else self.source.schema

    def columns(self, in_first_group: bool = False) -> tuple[Column, ...]:
        """The columns, with the texts of the first rows; afterwards the table must be opened anew.

        With `in_first_group`, as of `read_work` with groups.
        """
        with _plain(self):
            schema = self.schema
            names = schema.names[:_MOST_LOOKED_AT]
            groups = range(min(1, self.source.num_row_groups)) if in_first_group else None
            first = next(self._batches(_SAMPLE, names, groups), None)
            return columns_of_schema(schema, [] if first is None else _rows_of(first.slice(0, _SAMPLE)))

    def schema_columns(self) -> tuple[Column, ...]:
        """The columns without texts, for which no rows are read."""
        with _plain(self):
            return columns_of_schema(self.schema, [])

    def chunks(self, group: int, names: Sequence[str]) -> list[Chunk]:
        """Where some columns of a group of rows are in a Parquet file, as its description says."""
        chunks: list[Chunk] = []
        with _plain(self):
            about = self.source.metadata.row_group(group)
            for number in range(about.num_columns):
                one = about.column(number)
                if one.path_in_schema.partition(".")[0] in names:
                    starts = [at for at in (one.dictionary_page_offset, one.data_page_offset) if at]
                    chunk = Chunk(
                        min(starts, default=0), one.total_compressed_size, one.total_uncompressed_size, one.num_values
                    )
                    if min(asdict(chunk).values()) < 0:
                        raise ValueError("a column has a negative size")
                    chunks.append(chunk)
        return chunks

    def _batches(self, rows: int, names: list[str], groups: Sequence[int] | None = None) -> Iterator[Any]:
        if self.kind == PARQUET and groups is not None:
            for group in groups:
                size = sum(chunk.unpacked for chunk in self.chunks(group, names))
                number = self.source.metadata.row_group(group).num_rows
                at_once = max(1, min(rows, AT_ONCE * max(1, number) // max(1, size)))
                yield from self.source.iter_batches(at_once, row_groups=[group], columns=names)
        elif self.kind == PARQUET:
            yield from self.source.iter_batches(self._at_once(rows, names), columns=names)
        elif self.kind == ARROW:
            for number in range(self.source.num_record_batches):
                yield self.source.get_batch(number)
        else:
            yield from self.source

    def _at_once(self, rows: int, names: list[str]) -> int:
        """How many rows of Parquet columns surely fit into the memory: few where they or a dictionary are large."""
        # A sample is only read of the first group of rows.
        sizes = sizes_of_parquet(self.file, set(names), 1 if rows == _SAMPLE else None)
        refuse_bomb(self.name, sizes.unpacked, self.stored, _ADVICE)
        return max(1, min(rows, AT_ONCE // max(1, sizes.row)))

    def read_work(self, plan: Plan, collect: Collector, groups: Sequence[int] | None = None) -> Work[None]:
        """Reads the texts of a column; the progress counts rows where the file says how many there are.

        With `groups`, only these groups of rows of a Parquet file, whose pages are not looked at before: that is for a
        process that may run out of memory, where a file is not at hand.

        Raises:
            CorpusError: It is damaged, unpacks to so much that it must be a bomb, or has several such columns.
        """
        columns = [column for column in (*plan.texts, plan.split) if column is not None]
        names = [column.steps[0] for column in columns]
        before = bytes_read = 0
        with _plain(self):
            for column in columns:
                self._refuse_several(column)
            for batch in self._batches(ROWS, list(dict.fromkeys(names)), groups):
                batch = batch.select(list(dict.fromkeys(names)))
                step = ROWS
                if any(_points_elsewhere(kind) for kind in batch.schema.types):
                    step = max(1, min(ROWS, AT_ONCE // max(1, batch.get_total_buffer_size())))
                for start in range(0, len(batch), step):
                    piece = batch.slice(start, step)
                    bytes_read += self._add(piece, plan, collect)
                    refuse_bomb(self.name, bytes_read, self.stored, _ADVICE)
                    before += len(piece)
                    yield Progress("reading", before if self.rows else 0, self.rows or 0)
                    if collect.is_full:
                        return

    def _refuse_several(self, column: Column) -> None:
        """Raises CorpusError where several columns have this name."""
        fields = list(self.schema)
        for step in column.steps:
            named = [one for one in fields if one.name == step]
            if len(named) > 1:
                raise CorpusError(
                    f"{self.name}: {len(named)} columns have the name {shown(column.name)}; give them different names, "
                    "or choose another column."
                )
            kind = named[0].type
            while not untyped("pyarrow.types").is_struct(kind) and kind.num_fields == 1:
                kind = kind.field(0).type
            fields = [kind.field(number) for number in range(kind.num_fields)]

    def _add(self, batch: Any, plan: Plan, collect: Collector) -> int:  # noqa: ANN401
        """Adds the texts of rows; returns their bytes."""
        wanted = {column.steps[0] for column in (*plan.texts, plan.split) if column is not None}
        columns = {name: _valid(batch.column(batch.schema.get_field_index(name)), collect) for name in wanted}
        texts = [texts_of(columns[column.steps[0]], column) for column in plan.texts]
        keys = None if plan.split is None else keys_of(columns[plan.split.steps[0]], plan.split)
        collect.add_columns(texts, keys)
        return sum(text.nbytes for text in texts)


_DICTIONARY_PAGE, _DELTAS = 2, 7
_HEADERS = (1 << 12, 1 << 20)  # bytes of a page's header, of which few are long
_MOST_VALUES = 1_000_000  # of the description of a file, which take a second


@dataclass(frozen=True)
class Sizes:
    """How large the content of a Parquet file is: the bytes that a row may have, those shared by rows, those of all."""

    row: int
    shared: int
    unpacked: int


def sizes_of_parquet(file: BinaryIO, names: set[str] | None = None, first: int | None = None) -> Sizes:
    """What some columns (None: all) unpack to in the `first` groups of rows (None: all), as their pages say.

    That is read from the file itself: where pyarrow gives it column by column, a damaged file can end the process. In
    a page with a dictionary or of deltas, every row may have all that stands there.
    """
    end = file.seek(0, io.SEEK_END)
    file.seek(max(0, end - 8))
    size = struct.unpack("<I4s", file.read(8))[0]
    if size > end - 8:
        raise ValueError("its description is longer than the file")
    file.seek(end - 8 - size)
    row = shared = unpacked = 0
    try:
        groups = _Compact(file.read(size), _MOST_VALUES).value(_STRUCT).get(4, ())
    except _TooManyError:
        # Of a description that long, few rows are read at a time.
        return Sizes(AT_ONCE >> 6, 0, 0)
    for group in groups[:first]:
        mean = common = 0
        for chunk in group[1]:
            about = chunk[3]
            if names is None or about[3][0].decode() in names:
                together, here = _pages(file, about)
                common += together
                unpacked += here + 4 * about[5]
                mean += here // max(1, group[3])
        row, shared = max(row, mean + common), max(shared, common)
    return Sizes(row, shared, unpacked)


def _pages(file: BinaryIO, about: Any) -> tuple[int, int]:  # noqa: ANN401
    """The bytes that the rows of a column chunk may share, and those of all its pages, unpacked."""
    # Where there are no values, writers give 0 as the place of their pages.
    at = min((int(one) for one in (about[9], about.get(11, 0)) if one > 0), default=0)
    end, shared, unpacked = at + int(about[7]), 0, 0
    while at < end:
        size, page = _page(file, at, end)
        unpacked += page[2]
        if page[1] == _DICTIONARY_PAGE or _DELTAS in about[2]:
            shared = max(shared, page[2])
        at += size + page[3]
    return shared, unpacked


def _page(file: BinaryIO, at: int, end: int) -> tuple[int, dict[int, int]]:
    """The header of a page, and its length."""
    for length in _HEADERS:
        file.seek(at)
        header = _Compact(file.read(min(length, end - at)))
        with suppress(IndexError):
            page = header.value(_STRUCT)
            if page[2] < 0 or page[3] < 0:
                raise ValueError("a page has a negative size")
            return header.at, page
    raise ValueError("a page has no header")


_LISTS, _STRUCT = (9, 10), 12
_DEEPEST = 16


class _TooManyError(ValueError):
    pass


class _Compact:
    """Reads values in the compact form of Thrift, in which Parquet describes itself; structures by field number."""

    def __init__(self, data: bytes, most: int = 10_000) -> None:
        self.data, self.at, self._left = data, 0, most

    def value(self, kind: int, depth: int = 0) -> Any:  # noqa: ANN401
        """The next value; IndexError where it is cut, ValueError where it is none."""
        self._left -= 1
        if self._left < 0:
            raise _TooManyError("its description has too many values")
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            number = self._number()
            return number >> 1 ^ -(number & 1)
        if kind in (7, 8):
            return self._taken(8 if kind == 7 else self._number())
        if depth > _DEEPEST:
            raise ValueError("its description is nested too deeply")
        if kind in _LISTS:
            head = self._byte()
            size, inner = head >> 4, head & 15
            inner = 3 if inner in (1, 2) else inner
            return [self.value(inner, depth + 1) for _ in range(self._number() if size == 15 else size)]
        if kind != _STRUCT:
            raise ValueError("its description has a value of an unknown kind")
        row, field = dict[int, Any](), 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self.value(4)
            row[field] = self.value(head & 15, depth + 1)
        return row

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _number(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 or shift > 63:
                return number

    def _taken(self, size: int) -> bytes:
        self.at += size
        if self.at > len(self.data):
            raise IndexError("its description is cut")
        return self.data[self.at - size : self.at]


def _points_elsewhere(kind: Any) -> bool:  # noqa: ANN401
    """Whether rows of a type may share their values, so that these become more when they are written out."""
    types = untyped("pyarrow.types")

    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return True
    if "view" in str(kind):
        return True
    return any(_points_elsewhere(kind.field(number).type) for number in range(kind.num_fields))


@contextmanager
def open_table(name: str, kind: str, file: BinaryIO, stored: int, at_once: int = 0) -> Generator[Table]:
    """Opens a Parquet or Arrow file of `stored` bytes (see `refuse_bomb`), in which one can seek.

    With `at_once`, a column of Parquet is read so many bytes at a time, as far as its rows are needed.

    Raises:
        CorpusError: It is damaged, or unpacks to so much that it must be a bomb.
    """
    pyarrow = untyped("pyarrow")
    ipc, parquet = untyped("pyarrow.ipc"), untyped("pyarrow.parquet")

    table = Table(name, kind, None, file, stored)
    with _plain(table):
        if kind == PARQUET:
            source: Any = parquet.ParquetFile(file, buffer_size=at_once)
        else:
            refuse_bomb(name, _declared(file, kind == ARROW), stored, _ADVICE)
            file.seek(0)
            source = (ipc.open_file if kind == ARROW else ipc.open_stream)(pyarrow.PythonFile(file, "r"))
    yield replace(table, source=source)


def _declared(file: BinaryIO, is_file: bool) -> int:
    """The bytes to which the compressed buffers of an Arrow file or stream unpack, as their first eight bytes say."""
    declared = 0
    for message, body in _batches_of_file(file) if is_file else _messages_of_stream(file):
        kind = message.number("<B", 1)
        if kind in (_DICTIONARY_BATCH, _RECORD_BATCH):
            batch = message.table(2)
            if kind == _DICTIONARY_BATCH:
                batch = batch.table(1)
            for offset, stored in batch.rows(2, _PAIR) if batch.has(3) else ():
                if stored >= 8:
                    file.seek(max(0, body + offset))
                    declared += max(0, struct.unpack("<q", file.read(8))[0])
    return declared


def _messages_of_stream(file: BinaryIO) -> Iterator[tuple[_FlatTable, int]]:
    """The messages of a stream, each with the place of its body."""
    at = 0
    while (found := _message(file, at)) is not None:
        message, body = found
        yield found
        if (length := message.number("<q", 3)) < 0:
            raise ValueError("a message of negative length")
        at = body + length + -length % 8


def _batches_of_file(file: BinaryIO) -> Iterator[tuple[_FlatTable, int]]:
    """The messages with values that the footer of a file names, each with the place of its body.

    The schema before them, which the footer has as well, is passed over: some writers leave out its length.
    """
    end = file.seek(0, io.SEEK_END)
    file.seek(max(0, end - 10))
    size = struct.unpack("<i6s", file.read(10))[0]
    if not 0 < size <= end - 10:
        raise ValueError("its footer is not within the file")
    file.seek(end - 10 - size)
    footer, all_sizes = _FlatTable.root(file.read(size)), 0
    for number in _DICTIONARIES_AND_BATCHES:
        for at, head, _, _ in footer.rows(number, _BLOCK) if footer.has(number) else ():
            all_sizes += head
            if at < 0 or head < 0 or all_sizes > end:
                raise ValueError("a message is not within the file, or in it twice")
            if (found := _message(file, at)) is not None:
                yield found[0], at + head


def _message(file: BinaryIO, at: int) -> tuple[_FlatTable, int] | None:
    """The message at a place, and where it ends; None at the end of a stream."""
    file.seek(at)
    mark, size = struct.unpack("<Ii", file.read(8).ljust(8, b"\0"))
    if mark != _CONTINUES:
        # The length alone, as earlier versions wrote it.
        size, at = mark, at - 4
    if size <= 0:
        return None
    file.seek(at + 8)
    return _FlatTable.root(file.read(size)), at + 8 + size


_CONTINUES = 0xFFFFFFFF
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
_DICTIONARIES_AND_BATCHES = (2, 3)  # the fields of the footer of a file
_PAIR = "<i8,<i8"  # offset and length of a buffer
_BLOCK = "<i8,<i4,<i4,<i8"  # of a message: its place, the length before its body, nothing, the length of its body


@dataclass(frozen=True)
class _FlatTable:
    """A table of FlatBuffers, in which the facts about an Arrow message are written; fields by number."""

    data: bytes
    at: int

    @classmethod
    def root(cls, data: bytes) -> _FlatTable:
        return cls(data, struct.unpack_from("<I", data)[0])

    def _field(self, number: int) -> int:
        fields = self.at - struct.unpack_from("<i", self.data, self.at)[0]
        size = struct.unpack_from("<H", self.data, fields)[0]
        place = 4 + 2 * number
        offset = struct.unpack_from("<H", self.data, fields + place)[0] if place < size else 0
        return self.at + offset if offset else 0

    def has(self, number: int) -> bool:
        return bool(self._field(number))

    def number(self, kind: str, number: int) -> int:
        """A number, in the words of `struct`; 0 where there is none."""
        at = self._field(number)
        return struct.unpack_from(kind, self.data, at)[0] if at else 0

    def _target(self, number: int) -> int:
        if not (at := self._field(number)):
            raise ValueError("a message without its content")
        return at + struct.unpack_from("<I", self.data, at)[0]

    def table(self, number: int) -> _FlatTable:
        return _FlatTable(self.data, self._target(number))

    def rows(self, number: int, kind: str) -> list[tuple[int, ...]]:
        """A vector of structures of numbers, whose types are in the words of NumPy."""
        at = self._target(number)
        length = struct.unpack_from("<I", self.data, at)[0]
        return np.frombuffer(self.data, kind, length, at + 4).tolist()


def keys_of(array: Any, column: Column) -> Any:  # noqa: ANN401
    """The values of the dividing column as strings."""
    pyarrow = untyped("pyarrow")

    if len(column.steps) == 1 and not column.lists[0]:
        try:
            return strings_of(array)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
            raise CorpusError(f"The values of the column {column.name} cannot divide a data set.") from error
    return texts_of(array, column)


def _rows_of(batch: Any) -> list[dict[str, object]]:  # noqa: ANN401
    """The rows of a batch; none where a value is not valid, and must not be touched, or two fields have one name."""
    try:
        batch.validate(full=True)
    except untyped("pyarrow").ArrowInvalid:
        return []
    try:
        return batch.to_pylist()
    except ValueError:
        return []


def _valid(array: Any, collect: Collector) -> Any:  # noqa: ANN401
    """An array whose offsets are in range and whose strings are UTF-8; other strings are repaired and counted."""
    pyarrow = untyped("pyarrow")

    try:
        array.validate(full=True)
    except pyarrow.ArrowInvalid:
        array.validate()
        kind = array.type
        if not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
            raise
        raw = array.cast(pyarrow.large_binary() if pyarrow.types.is_large_string(kind) else pyarrow.binary())
        raw.validate(full=True)
        values: list[str | None] = []
        for value in raw.to_pylist():
            values.append(None if value is None else value.decode("utf-8", "replace"))
            if value is not None:
                collect.dropped.invalid += len(values[-1] or "") - len(value.decode("utf-8", "ignore"))
        array = pyarrow.array(values, pyarrow.large_string())
    return array


@contextmanager
def _plain(table: Table) -> Generator[None]:
    """Turns errors of pyarrow, and of names and numbers in a damaged file, into one sentence."""
    pyarrow = untyped("pyarrow")

    try:
        yield
    except CorpusError:
        raise
    except (
        *(pyarrow.ArrowException, OSError, EOFError, ValueError, LookupError, struct.error, OverflowError),
        # Where a description has another value than it must have.
        *(TypeError, AttributeError),
    ) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        why = " ".join(str(error).split())[:200]
        raise CorpusError(f"{table.name}: the {table.kind} file is damaged or not complete ({why}).") from error
