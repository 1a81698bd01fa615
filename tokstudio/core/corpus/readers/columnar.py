"""Reads Parquet and Arrow files: group by group, and of each only the columns that are needed."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.untyped import untyped
from tokstudio.core.corpus.readers.collect import Collector
from tokstudio.core.corpus.readers.columns import columns_of_schema, texts_of
from tokstudio.core.corpus.readers.contents import Column
from tokstudio.core.corpus.readers.json_rows import Plan
from tokstudio.core.corpus.readers.kinds import ARROW, PARQUET

_ROWS = 1 << 13
_SAMPLE = 100


@dataclass(frozen=True)
class Table:
    """An open Parquet or Arrow file."""

    name: str
    kind: str
    source: Any  # `pyarrow.parquet.ParquetFile`, or a reader of `pyarrow.ipc`

    @property
    def rows(self) -> int | None:
        """The number of rows, where the file says it."""
        return self.source.metadata.num_rows if self.kind == PARQUET else None

    def columns(self) -> tuple[Column, ...]:
        """The columns, with the texts of the first rows; afterwards the table must be opened anew."""
        with _plain(self):
            schema = self.source.schema_arrow if self.kind == PARQUET else self.source.schema
            batches = self.source.iter_batches(_SAMPLE) if self.kind == PARQUET else self._batches(_SAMPLE)
            first = next(batches, None)
            return columns_of_schema(schema, [] if first is None else _rows_of(first.slice(0, _SAMPLE)))

    def _batches(self, rows: int, names: list[str] | None = None) -> Iterator[Any]:
        if self.kind == PARQUET:
            yield from self.source.iter_batches(rows, columns=names)
        elif self.kind == ARROW:
            for number in range(self.source.num_record_batches):
                yield self.source.get_batch(number)
        else:
            yield from self.source

    def read_work(self, plan: Plan, collect: Collector) -> Work[None]:
        """Reads the texts of a column; the progress counts rows where the file says how many there are."""
        names = [column.steps[0] for column in (*plan.texts, plan.split) if column is not None]
        before = 0
        with _plain(self):
            for batch in self._batches(_ROWS, list(dict.fromkeys(names))):
                for start in range(0, len(batch), _ROWS):
                    piece = batch.slice(start, _ROWS)
                    self._add(piece, plan, collect)
                    before += len(piece)
                    yield Progress("reading", before if self.rows else 0, self.rows or 0)
                    if collect.is_full:
                        return

    def _add(self, batch: Any, plan: Plan, collect: Collector) -> None:  # noqa: ANN401
        wanted = {column.steps[0] for column in (*plan.texts, plan.split) if column is not None}
        columns = {name: _valid(batch.column(batch.schema.get_field_index(name)), collect) for name in wanted}
        texts = [texts_of(columns[column.steps[0]], column) for column in plan.texts]
        keys = None if plan.split is None else keys_of(columns[plan.split.steps[0]], plan.split)
        collect.add_columns(texts, keys)


@contextmanager
def open_table(name: str, kind: str, file: BinaryIO) -> Generator[Table]:
    """Opens a Parquet or Arrow file, which must support seeking unless it is a stream.

    Raises:
        CorpusError: It is damaged.
    """
    pyarrow = untyped("pyarrow")
    ipc, parquet = untyped("pyarrow.ipc"), untyped("pyarrow.parquet")

    table = Table(name, kind, None)
    with _plain(table):
        if kind == PARQUET:
            source: Any = parquet.ParquetFile(file)
        elif kind == ARROW:
            source = ipc.open_file(pyarrow.PythonFile(file, "r"))
        else:
            source = ipc.open_stream(pyarrow.PythonFile(file, "r"))
    yield Table(name, kind, source)


def keys_of(array: Any, column: Column) -> Any:  # noqa: ANN401
    """The values of the dividing column as strings."""
    pyarrow = untyped("pyarrow")

    if len(column.steps) == 1 and not column.lists[0]:
        try:
            return array.cast(pyarrow.large_string())
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
            raise CorpusError(f"The values of the column {column.name} cannot divide a data set.") from error
    return texts_of(array, column)


def _rows_of(batch: Any) -> list[dict[str, object]]:  # noqa: ANN401
    """The rows of a batch; none where a value is not valid, and must not be touched."""
    try:
        batch.validate(full=True)
    except untyped("pyarrow").ArrowInvalid:
        return []
    return batch.to_pylist()


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
        made: list[str | None] = []
        for value in raw.to_pylist():
            made.append(None if value is None else value.decode("utf-8", "replace"))
            if value is not None:
                collect.dropped.invalid += len(made[-1] or "") - len(value.decode("utf-8", "ignore"))
        array = pyarrow.array(made, pyarrow.large_string())
    return array


@contextmanager
def _plain(table: Table) -> Generator[None]:
    """Turns errors of pyarrow into one sentence."""
    pyarrow = untyped("pyarrow")

    try:
        yield
    except (pyarrow.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        why = " ".join(str(error).split())[:200]
        raise CorpusError(f"{table.name}: the {table.kind} file is damaged or not complete ({why}).") from error
