"""Writes encoded documents into shards: arrays of ids with the ends of documents, and Parquet with a row for each."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.atomic_files import StagedFiles, write_fault
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.untyped import untyped
from tokstudio.core.base.wording import several
from tokstudio.core.formats.ids import npy_header
from tokstudio.core.shards.checking import hashed_work
from tokstudio.core.shards.manifest import BIN, ENDS, NAME, NPY, PARQUET, Shard, shard_files

COLUMN = "input_ids"  # of Parquet, as trainers that read it call it
ROW_GROUP = 1 << 20  # ids of a group of rows of Parquet, which ends with a document
_ROWS = 1 << 14  # at most of them
_WRITTEN = 1 << 20  # ids between two reports
_BUFFER = 1 << 20
HELD_BACK = 1 << 22  # tokens of complete shards that wait for the next manifest, at most
PART = 64  # and at most so small a part of the shards before them: all manifests grow with their number alone


@dataclass(frozen=True, eq=False)
class EncodedDocuments:
    """Some encoded documents."""

    ids: NDArray[np.uint16] | NDArray[np.uint32]  # those of one document after another, with end tokens
    ends: NDArray[np.int64]  # [documents], where the ids of each end
    sizes: NDArray[np.int64]  # [documents], the bytes of the text of each


class ShardWriter:
    """A context manager that writes documents, as they come, into one shard after another.

    A shard has at most so many tokens, and whole documents; a document with more tokens is a shard of its own. All of
    this follows from the documents alone, in whatever groups they come.

    Args:
        folder: It exists.
        kind: The type of the ids, "<u2" or "<u4".
        formats: Of `FORMATS`, at least one.
        most: The tokens of a shard.
        unknown: The id to be counted as unknown; None for none.
        describe: The content of the manifest with the given shards; the flag says whether these are all.
        shards: Those that are complete.
    """

    def __init__(
        self,
        folder: Path,
        kind: str,
        formats: Sequence[str],
        most: int,
        unknown: int | None,
        describe: Callable[[Sequence[Shard], bool], bytes],
        shards: Sequence[Shard] = (),
    ) -> None:
        self._folder, self._kind, self._formats, self._most = folder, kind, tuple(formats), most
        self._unknown, self._describe = unknown, describe
        self.shards = list(shards)
        self.tokens = 0  # that were added
        self._open: _OpenShard | None = None
        self._waiting: list[Shard] = []  # complete, but not in the manifest
        self._staged = StagedFiles()  # the files of these, and of the open one

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open is not None:
            self._open.discard()
        self._staged.__exit__(kind, error, trace)

    def add_work(self, documents: EncodedDocuments) -> Work[None]:
        """Adds documents; raises FormatError where a file cannot be written."""
        first, ends = 0, documents.ends
        self.tokens += len(documents.ids)
        while first < len(ends):
            start = int(ends[first - 1]) if first else 0
            shard = self._open
            if shard is None:
                shard = self._open = yield from self._opened_work()
            room = self._most - shard.tokens
            last = int(np.searchsorted(ends, start + room, side="right")) if room >= 0 else first
            if last <= first and shard.documents:
                yield from self._close_work(False)
                continue
            last = max(last, first + 1)  # a document with more tokens than a shard is one
            stop = int(ends[last - 1])
            yield from shard.add_work(documents.ids[start:stop], ends[first:last] - start)
            shard.count(documents.sizes[first:last])
            first = last

    def finish_work(self) -> Work[None]:
        """Completes the last shard, and the manifest."""
        if self._open is not None:
            yield from self._close_work(True)
        else:
            yield from self._commit_work(True)

    def _opened_work(self) -> Work[_OpenShard]:
        names = shard_files(len(self.shards) + len(self._waiting), self._formats)
        targets = {name: self._folder / file for name, file in names.items()}
        shard = _OpenShard(targets, self._kind, self._unknown, self._staged)
        try:
            yield from shard.open_work()
        except BaseException:
            shard.discard()
            raise
        return shard

    def _close_work(self, is_last: bool) -> Work[None]:
        assert self._open is not None
        self._waiting.append((yield from self._open.close_work()))
        self._open = None
        tokens = sum(shard.tokens for shard in self._waiting)
        if is_last or tokens >= HELD_BACK or len(self._waiting) * PART >= len(self.shards):
            yield from self._commit_work(is_last)

    def _commit_work(self, is_last: bool) -> Work[None]:
        shards = [*self.shards, *self._waiting]
        # With the manifest in the same commit, a kill leaves both or neither.
        yield from self._staged.write(self._folder / NAME, [self._describe(shards, is_last)])
        self._staged.commit()
        self.shards, self._waiting, self._staged = shards, [], StagedFiles()


class _Output(Protocol):
    """A file that grows by documents."""

    def add(self, ids: NDArray[Any], ends: NDArray[np.int64]) -> None: ...
    def close(self) -> None: ...


class _OpenShard:
    """A shard that grows, in `staged` files beside their targets."""

    def __init__(self, targets: dict[str, Path], kind: str, unknown: int | None, staged: StagedFiles) -> None:
        self._targets, self._kind, self._unknown, self._staged = targets, kind, unknown, staged
        self._outputs: dict[Path, _Output] = {}
        self._written: dict[Path, Path] = {}  # the file beside each target
        self._hash, self._hash_of_ends = hashlib.sha256(), hashlib.sha256()
        self.tokens: int = 0
        self.documents: int = 0
        self._bytes = self._empty = self._unknowns = 0

    def open_work(self) -> Work[None]:
        for name, path in self._targets.items():
            self._written[path] = yield from self._staged.reserve(path)
            try:
                self._outputs[path] = _MAKERS[name](self._written[path], self._kind)
            except OSError as error:
                raise write_fault(path, error) from error

    def add_work(self, ids: NDArray[Any], ends: NDArray[np.int64]) -> Work[None]:
        ids = ids.astype(self._kind, copy=False)
        for path, output in self._outputs.items():
            try:
                output.add(ids, ends)
            except OSError as error:
                raise write_fault(path, error) from error
        self._hash.update(np.ascontiguousarray(ids).data)
        self._hash_of_ends.update((ends + self.tokens).astype("<i8").data)
        if self._unknown is not None:
            self._unknowns += int(np.count_nonzero(ids == self._unknown))
        self.tokens += len(ids)
        if len(ids) >= _WRITTEN:
            yield Progress("encoding")

    def count(self, sizes: NDArray[np.int64]) -> None:
        """Counts documents with so many bytes of text, which were added."""
        self.documents += len(sizes)
        self._bytes += int(sizes.sum())
        self._empty += int(np.count_nonzero(sizes == 0))

    def close_work(self) -> Work[Shard]:
        for path, output in self._outputs.items():
            try:
                output.close()
            except OSError as error:
                raise write_fault(path, error) from error
            self._staged.flush(path)
            yield Progress("encoding")
        counts = self.tokens, self.documents, self._bytes, self._empty, self._unknowns
        return Shard(*counts, self._hash.hexdigest(), self._hash_of_ends.hexdigest(), (yield from self._parquet_work()))

    def _parquet_work(self) -> Work[str]:
        """The hash of the file of Parquet; "" without one."""
        path = self._targets.get(PARQUET)
        if path is None:
            return ""
        try:
            with self._written[path].open("rb") as file:
                return (yield from hashed_work(file, "encoding"))
        except OSError as error:
            raise write_fault(path, error) from error

    def discard(self) -> None:
        """Closes the files, which are then removed with all that are staged."""
        for output in self._outputs.values():
            with suppress(Exception):  # what cannot be closed properly is removed all the same
                output.close()


class ArrayFile:
    """A one-dimensional array that grows in a file: with the header of NumPy, or without any; numbers of one type."""

    def __init__(self, path: Path, kind: str, has_header: bool) -> None:
        self._file, self._kind, self._has_header, self._size = path.open("r+b", _BUFFER), kind, has_header, 0
        if has_header:
            self._file.write(npy_header(0, kind))

    def add(self, numbers: NDArray[Any]) -> None:
        """Adds numbers."""
        self._file.write(np.ascontiguousarray(numbers.astype(self._kind, copy=False)).data)
        self._size += len(numbers)

    def close(self) -> None:
        """Completes the file."""
        if self._file.closed:
            return
        with self._file:
            if self._has_header:
                # NumPy leaves room in it for any length.
                header = npy_header(self._size, self._kind)
                assert len(header) == len(npy_header(0, self._kind))
                self._file.seek(0)
                self._file.write(header)


class _Ids:
    """The ids, one document after another."""

    def __init__(self, path: Path, kind: str, has_header: bool) -> None:
        self._array = ArrayFile(path, kind, has_header)

    def add(self, ids: NDArray[Any], ends: NDArray[np.int64]) -> None:
        self._array.add(ids)

    def close(self) -> None:
        self._array.close()


class _Ends:
    """The ends of the documents, counted from the beginning of the shard."""

    def __init__(self, path: Path) -> None:
        self._array, self._before = ArrayFile(path, "<i8", True), 0

    def add(self, ids: NDArray[Any], ends: NDArray[np.int64]) -> None:
        self._array.add(ends + self._before)
        self._before += len(ids)

    def close(self) -> None:
        self._array.close()


class _Rows:
    """Parquet with the ids of a document in each row; groups of rows end where the documents alone say so."""

    def __init__(self, path: Path, kind: str) -> None:
        pyarrow, parquet = untyped("pyarrow"), untyped("pyarrow.parquet")

        self._type = pyarrow.from_numpy_dtype(np.dtype(kind))
        self._schema = pyarrow.schema([(COLUMN, pyarrow.list_(self._type))])
        self._file = path.open("r+b", _BUFFER)
        self._writer = parquet.ParquetWriter(self._file, self._schema, compression="zstd")
        self._ids, self._ends = list[NDArray[Any]](), list[NDArray[np.int64]]()
        self._tokens: int = 0
        self._rows: int = 0

    def add(self, ids: NDArray[Any], ends: NDArray[np.int64]) -> None:
        first = start = 0
        while first < len(ends):
            last = int(np.searchsorted(ends, start + ROW_GROUP - self._tokens, side="left")) + 1
            last = min(last, first + _ROWS - self._rows, len(ends))
            stop = int(ends[last - 1])
            self._ids.append(ids[start:stop])
            self._ends.append(ends[first:last] - start + self._tokens)
            self._tokens, self._rows = self._tokens + stop - start, self._rows + last - first
            if self._tokens >= ROW_GROUP or self._rows == _ROWS:
                self._flush()
            first, start = last, stop

    def _flush(self) -> None:
        pyarrow = untyped("pyarrow")

        if self._tokens > np.iinfo(np.int32).max:
            raise FormatError(f"A document of {several(self._tokens, 'token')} is too long for Parquet: write arrays.")
        offsets = np.concatenate([np.zeros(1, np.int64), *self._ends]).astype(np.int32)
        ids = np.concatenate([np.empty(0, self._type.to_pandas_dtype()), *self._ids])
        rows = pyarrow.ListArray.from_arrays(pyarrow.array(offsets), pyarrow.array(ids, self._type))
        self._writer.write_table(pyarrow.Table.from_arrays([rows], schema=self._schema), row_group_size=_ROWS)
        self._ids, self._ends, self._tokens, self._rows = [], [], 0, 0

    def close(self) -> None:
        if self._file.closed:
            return
        with self._file:
            if self._rows:
                self._flush()
            self._writer.close()


_MAKERS: dict[str, Callable[[Path, str], _Output]] = {
    NPY: lambda path, kind: _Ids(path, kind, True),
    BIN: lambda path, kind: _Ids(path, kind, False),
    PARQUET: _Rows,
    ENDS: lambda path, _kind: _Ends(path),
}
