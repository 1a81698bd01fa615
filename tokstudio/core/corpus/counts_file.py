"""Files of counted words: one Parquet table, the same bytes for the same table and versions.

A row has the `word` (binary), the number of its `source`, its `count` there and the place `first` of its first
occurrence. The file's metadata, key "tokstudio", has the settings and sources as JSON, and the SHA-256 of the rows.
"""

# SPDX-License-Identifier: MIT
# pyarrow has no stubs.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.atomic_files import file_name, write_files
from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.private_folders import TemporaryFolder
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.readers.columnar import sizes_of_parquet
from tokstudio.core.corpus.readers.compression import refuse_bomb
from tokstudio.core.corpus.source import DOCUMENTS, CountedWith, Source
from tokstudio.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

MAGIC = b"PAR1"
LARGEST_COUNT = 1 << 62
_KEY = b"tokstudio"
_KIND = "word counts"
_VERSION = 1
ROWS = 1 << 18  # in a row group
_MOST_SOURCES = 1 << 20
_LARGEST_METADATA = 1 << 28
_PIECE = 1 << 18  # bytes that are hashed at once


@dataclass(frozen=True)
class SourceTotals:
    """The facts about a counted source."""

    name: str
    bytes: int  # bytes of text, with special tokens
    documents: int


@dataclass(frozen=True)
class CountFacts:
    """What a file says of all its rows: sources, how they were counted, how often each special token was cut out."""

    totals: tuple[SourceTotals, ...]
    settings: CountedWith
    cut_out: Mapping[str, int]


class RowBlock(NamedTuple):
    """Some rows: their words one after another and the end of each, and the other columns, as in `CountedRows`."""

    text: NDArray[np.uint8]
    ends: NDArray[np.int64]
    sources: NDArray[np.int32]
    counts: NDArray[np.int64]
    firsts: NDArray[np.int64]

    def part(self, first: int, last: int) -> RowBlock:
        """Some of these rows."""
        start = int(self.ends[first - 1]) if first else 0
        stop = int(self.ends[last - 1]) if last else 0
        here = slice(first, last)
        ends = self.ends[here] - start
        return RowBlock(self.text[start:stop], ends, self.sources[here], self.counts[here], self.firsts[here])

    @classmethod
    def joined(cls, blocks: Sequence[RowBlock]) -> RowBlock:
        """The rows of several blocks, at least one, in this order."""
        before = np.cumsum([0, *(len(block.text) for block in blocks)])
        ends = [block.ends + shift for block, shift in zip(blocks, before, strict=False)]
        text, _, *others = (np.concatenate(each) for each in zip(*blocks, strict=True))
        return cls(text, np.concatenate(ends), *others)


def no_rows() -> RowBlock:
    """A block without rows."""
    numbers = np.empty(0, np.int64)
    return RowBlock(np.empty(0, np.uint8), numbers, np.empty(0, np.int32), numbers, numbers)


@dataclass(frozen=True, eq=False)
class CountedRows:
    """The content of a file of counted words, sorted by place."""

    data: NDArray[np.uint8]  # uint8, words one after another
    ends: NDArray[np.int64]  # int64, the end of each word
    sources: NDArray[np.int32]  # int32 [rows], the number of the source, from 0
    counts: NDArray[np.int64]  # int64 [rows], at least 1
    firsts: NDArray[np.int64]  # int64 [rows], ascending
    totals: tuple[SourceTotals, ...]
    settings: CountedWith
    cut_out: Mapping[str, int]
    words: NDArray[np.int32] | None = None  # int32 [rows], the number of the word; None where each row has the next

    @property
    def facts(self) -> CountFacts:
        """What is true of all rows."""
        return CountFacts(self.totals, self.settings, self.cut_out)

    def blocks(self) -> Iterator[RowBlock]:
        """The rows in their order, some at a time."""
        if self.words is None:
            for first in range(0, len(self.ends), ROWS):
                ends, start = self.ends[first : first + ROWS], int(self.ends[first - 1]) if first else 0
                here = slice(first, first + ROWS)
                text = self.data[start : int(ends[-1])]
                yield RowBlock(text, ends - start, self.sources[here], self.counts[here], self.firsts[here])
            return
        from tokstudio.core.kernels.words import gather

        data, offsets = read_only(self.data), read_only(np.concatenate([[0], self.ends]))
        for first in range(0, len(self.words), ROWS):
            here = slice(first, first + ROWS)
            words = self.words[here].astype(np.int64)
            ends = np.empty(len(words), np.int64)
            text = np.empty(int((offsets[words + 1] - offsets[words]).sum()), np.uint8)
            gather(data, offsets, read_only(words), text, ends, 0, len(words))
            yield RowBlock(text, ends, self.sources[here], self.counts[here], self.firsts[here])


def write_counted_rows_work(rows: CountedRows, path: Path) -> Work[Path]:
    """Writes a file of counted words, whole or not at all; raises FormatError where it cannot be written."""
    return (yield from write_files({path: _pieces(rows.facts, rows.blocks(), _RowsHash())}))[0]


def write_counted_blocks_work(facts: CountFacts, blocks: Iterable[RowBlock], path: Path) -> Work[Path]:
    """Does the same with rows that come in blocks of any size, of which it holds few; they are in the order of places.

    A block without rows says that the next one is not there yet.
    """
    with TemporaryFolder() as folder, _FiledHash(folder) as digest:
        return (yield from write_files({path: _pieces(facts, _grouped(blocks), digest)}))[0]


def is_counts_file(path: Path) -> bool:
    """Whether a file is a Parquet file; False where it cannot be read."""
    try:
        if not path.is_file():  # a pipe would wait for a writer
            return False
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def counted_with(path: Path) -> CountedWith | None:
    """The settings of a file of counted words; None for any other file. Errors are left to reading the file."""
    import pyarrow.parquet as pq

    if not is_counts_file(path):
        return None
    try:
        raw = (pq.read_metadata(path).metadata or {}).get(_KEY)
        return None if raw is None else _Facts(file_name(path), raw).settings
    except (*_errors(), CorpusError):
        return None


def documents_counted_with(chosen: str | None, paths: Iterable[Path]) -> str:
    """What a document is where tables of counted words are among the texts: as chosen, else as in the tables.

    Raises:
        ConfigError: A table was counted otherwise.
    """
    for path in paths:
        if (settings := counted_with(path)) is None:
            continue
        chosen = chosen or settings.documents
        if settings.documents != chosen:
            raise ConfigError(
                f"{file_name(path)} was counted with --documents {settings.documents}: choose it, or count the texts "
                "again."
            )
    return chosen or DOCUMENTS[0]


def read_counted_sources_work(path: Path) -> Work[tuple[Source, ...]]:
    """Reads a file of counted words as sources of word counts, in bounded pieces.

    `member` of each is its number in the file, as several may have one name.

    Raises:
        CorpusError: It cannot be read, is damaged, or is another Parquet file.
    """
    rows = yield from _read_work(path)
    status = path.stat()
    sources: list[Source] = []
    order = np.argsort(rows.sources, kind="stable")
    borders = np.searchsorted(rows.sources[order], np.arange(len(rows.totals) + 1)).tolist()
    for number, total in enumerate(rows.totals):
        here = order[borders[number] : borders[number + 1]]
        if not len(here):
            continue
        data, ends = yield from _words_work(rows, here)
        sources.append(
            Source(
                total.name,
                path,
                "utf-8",
                f"counts of {several(len(here), 'word')}",
                data,
                ends,
                status.st_mtime,
                status.st_size,
                rows.counts[here],
                rows.firsts[here],
                rows.settings,
                member=str(number),
            )
        )
        yield Progress("reading", number, len(rows.totals))
    return tuple(sources)


def _words_work(rows: CountedRows, here: NDArray[np.int64]) -> Work[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
    """The words of some rows one after another, and the end of each."""
    starts = np.where(here > 0, rows.ends[here - 1], 0)
    lengths = rows.ends[here] - starts
    ends = np.cumsum(lengths, dtype=np.int64)
    shifts, data, begin = starts - (ends - lengths), np.empty(int(ends[-1]), np.uint8), 0
    for first in range(0, len(here), ROWS):
        some = slice(first, first + ROWS)
        end = int(ends[some][-1])
        data[begin:end] = rows.data[np.repeat(shifts[some], lengths[some]) + np.arange(begin, end)]
        begin = end
        yield Progress("reading", first, len(here))
    return data, ends


def _grouped(blocks: Iterable[RowBlock]) -> Iterator[RowBlock]:
    """The same rows in blocks of as many as are in a group of the file; blocks without rows are passed on."""
    waiting, rows = list[RowBlock](), 0
    for block in blocks:
        waiting.append(block)
        rows += len(block.ends)
        if not len(block.ends):
            yield waiting.pop()
        elif rows >= ROWS:
            whole = RowBlock.joined(waiting)
            for first in range(0, rows - rows % ROWS, ROWS):
                yield whole.part(first, first + ROWS)
            waiting, rows = [whole.part(rows - rows % ROWS, rows)], rows % ROWS
    if rows:
        yield RowBlock.joined(waiting)


def _pieces(facts: CountFacts, blocks: Iterable[RowBlock], digest: _RowsHash) -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = _Sink()
    schema = _schema()
    with pq.ParquetWriter(sink, schema, compression="zstd", use_dictionary=False, store_schema=False) as writer:
        for block in blocks:
            if len(block.ends):
                digest.add(block)
                buffers = [None, pa.py_buffer(np.concatenate([[0], block.ends])), pa.py_buffer(block.text)]
                words = pa.Array.from_buffers(pa.large_binary(), len(block.ends), buffers)
                columns = [words.cast(pa.binary()), block.sources, block.counts, block.firsts]
                writer.write_table(pa.table(columns, schema=schema))
            yield sink.taken()
        about = {
            "kind": _KIND,
            "version": _VERSION,
            "pattern": facts.settings.pattern,
            "special_tokens": list(facts.settings.special_tokens),
            "documents": facts.settings.documents,
            "sources": [{"name": one.name, "bytes": one.bytes, "documents": one.documents} for one in facts.totals],
            "cut_out": dict(sorted(facts.cut_out.items())),
            "versions": {"tokstudio": __version__, "pyarrow": pa.__version__},
            "sha256": digest.hexdigest(),
        }
        writer.add_key_value_metadata({_KEY: json.dumps(about, sort_keys=True).encode()})
    yield sink.taken()


def _schema() -> pa.Schema:
    import pyarrow as pa

    columns = {"word": pa.binary(), "source": pa.int32(), "count": pa.int64(), "first": pa.int64()}
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns.items()])


class _Sink:
    """A file that only collects what is written."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, part: bytes) -> int:
        self._parts.append(bytes(part))
        self._size += len(part)
        return len(part)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


class _RowsHash:
    """The hash of the words of all rows one after another, of their ends, and of the other columns.

    The columns come after all words, so they are kept until then: here in memory, of which rows of one table take none.
    """

    def __init__(self) -> None:
        self._digest, self._size = hashlib.sha256(), 0
        self._columns: list[list[NDArray[Any]]] = [[], [], [], []]

    def add(self, block: RowBlock) -> None:
        """Adds rows."""
        self._digest.update(block.text.data)
        columns = (block.ends + self._size, "<i8"), (block.sources, "<i4"), (block.counts, "<i8"), (block.firsts, "<i8")
        for number, (column, kind) in enumerate(columns):
            self._keep(number, np.ascontiguousarray(column.astype(kind, copy=False)))
        self._size += len(block.text)

    def hexdigest(self) -> str:
        """The hash of all that was added; ends it."""
        for number in range(len(self._columns)):
            for piece in self._kept(number):
                self._digest.update(piece)
        return self._digest.hexdigest()

    def _keep(self, number: int, column: NDArray[Any]) -> None:
        self._columns[number].append(column)

    def _kept(self, number: int) -> Iterator[memoryview | bytes]:
        return (column.data for column in self._columns[number])


class _FiledHash(_RowsHash, ExitStack):
    """The same with the columns in files of a folder, 28 bytes for each row."""

    def __init__(self, folder: Path) -> None:
        _RowsHash.__init__(self)
        ExitStack.__init__(self)
        self._files = [self.enter_context((folder / f"{number}").open("w+b")) for number in range(len(self._columns))]

    def _keep(self, number: int, column: NDArray[Any]) -> None:
        self._files[number].write(column.data)

    def _kept(self, number: int) -> Iterator[memoryview | bytes]:
        self._files[number].seek(0)
        return iter(partial(self._files[number].read, _PIECE), b"")


def _sha256(rows: CountedRows) -> str:
    digest = _RowsHash()
    for block in rows.blocks():
        digest.add(block)
    return digest.hexdigest()


def _read_work(path: Path) -> Work[CountedRows]:
    import pyarrow.parquet as pq

    name = file_name(path)
    try:
        with pq.ParquetFile(path) as file:
            metadata = file.metadata.metadata or {}
            if _KEY not in metadata:
                raise CorpusError(f"{name}: this Parquet file has no word counts: open it as a text.")
            facts = _Facts(name, metadata[_KEY])
            if file.schema_arrow.remove_metadata() != _schema():
                raise facts.fault("its columns are not word, source, count and first")
            with path.open("rb") as raw:
                sizes = sizes_of_parquet(raw)
            refuse_bomb(name, sizes.unpacked, path.stat().st_size, "count the texts again")
            if sizes.shared:
                # Each row may be as long as the longest word.
                raise facts.fault("another program wrote its rows")
            parts: list[tuple[NDArray[Any], ...]] = []
            for group in range(file.num_row_groups):
                table = file.read_row_group(group).combine_chunks()
                parts.append(_arrays(table))
                yield Progress("reading", group, file.num_row_groups)
    except _errors() as error:
        why = (str(error).splitlines() or ["it cannot be read"])[0].rstrip(".")
        raise CorpusError(f"{name}: it is not a complete Parquet file ({why}).") from error
    return facts.rows(parts)


def _errors() -> tuple[type[Exception], ...]:
    """What is raised for a damaged file; ValueError where a name in it is not UTF-8."""
    import pyarrow as pa

    return OSError, pa.ArrowException, ValueError, LookupError, OverflowError, TypeError, AttributeError, struct.error


def _arrays(table: pa.Table) -> tuple[NDArray[Any], ...]:
    """The words one after another, the length of each, and the other columns."""
    import pyarrow as pa

    if not table.num_rows:
        return np.empty(0, np.uint8), *(np.empty(0, kind) for kind in (np.int64, np.int32, np.int64, np.int64))
    words = table.column("word").chunk(0).cast(pa.large_binary())
    _, offsets, data = words.buffers()
    borders = np.frombuffer(offsets, np.int64)[words.offset : words.offset + len(words) + 1]
    text = np.frombuffer(data, np.uint8)[int(borders[0]) : int(borders[-1])] if data else np.empty(0, np.uint8)
    others = (table.column(name).to_numpy() for name in ("source", "count", "first"))
    return text, np.diff(borders), *others


class _Facts:
    """The metadata of a file, which is untrusted."""

    def __init__(self, name: str, raw: bytes) -> None:
        self._name = name
        try:
            self._facts = cast("dict[str, Any]", json.loads(raw)) if len(raw) <= _LARGEST_METADATA else {}
            if self._facts["kind"] != _KIND or self._facts["version"] != _VERSION:
                raise CorpusError(f"{name}: a later version of TokStudio wrote these word counts.")
            sources = self._facts["sources"]
            self._totals = tuple(SourceTotals(one["name"], one["bytes"], one["documents"]) for one in sources)
            settings = self._facts["pattern"], tuple(self._facts["special_tokens"]), self._facts["documents"]
            self.settings = CountedWith(*settings)
            self._cut_out = dict(self._facts["cut_out"])
            numbers: list[object] = [number for one in self._totals for number in (one.bytes, one.documents)]
            texts = [*(one.name for one in self._totals), settings[0], *settings[1], settings[2], *self._cut_out]
            numbers += self._cut_out.values()
            valid = all(isinstance(text, str) for text in texts)
            valid &= all(isinstance(number, int) and 0 <= number <= LARGEST_COUNT for number in numbers)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise self.fault("its metadata cannot be read") from error
        if not valid or len(self._totals) > _MOST_SOURCES:
            raise self.fault("its metadata is invalid")

    def fault(self, why: str) -> CorpusError:
        return CorpusError(f"{self._name}: these word counts are damaged: {why}. Count the texts again.")

    def rows(self, parts: list[tuple[NDArray[Any], ...]]) -> CountedRows:
        """The rows; raises CorpusError where they cannot be word counts, or are not those that were written."""
        none = (np.empty(0, np.uint8), *(np.empty(0, kind) for kind in (np.int64, np.int32, np.int64, np.int64)))
        data, lengths, sources, counts, firsts = (np.concatenate(each) for each in zip(none, *parts, strict=True))
        if not len(lengths):
            raise CorpusError(f"{self._name}: it has no word counts.")
        largest = np.dot(lengths.astype(float), counts.astype(float))
        if lengths.min() < 1 or counts.min() < 1 or largest > LARGEST_COUNT:
            raise self.fault("a word is empty, or a count is no positive number")
        if sources.min() < 0 or sources.max() >= len(self._totals):
            raise self.fault("a row has a source that does not exist")
        if firsts[0] < 0 or not np.all(firsts[1:] > firsts[:-1]):
            raise self.fault("its rows are not sorted")
        ends = np.cumsum(lengths, dtype=np.int64)
        rows = CountedRows(data, ends, sources, counts, firsts, self._totals, self.settings, self._cut_out)
        if _sha256(rows) != self._facts.get("sha256"):
            raise self.fault("the rows are not those that were counted")
        return rows
