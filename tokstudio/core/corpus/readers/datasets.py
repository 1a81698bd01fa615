"""Reads one text or data set: looks at its beginning, chooses the column, and collects the documents."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from tokstudio.core.base.errors import READ_AS_TEXT, CorpusError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import shown
from tokstudio.core.corpus.readers import kinds
from tokstudio.core.corpus.readers.collect import Collector
from tokstudio.core.corpus.readers.columnar import open_table
from tokstudio.core.corpus.readers.contents import (
    TEXT,
    Column,
    Contents,
    Reading,
    column_named,
    columns_of_rows,
    suggested,
)
from tokstudio.core.corpus.readers.csv_rows import Dialect, dialect_of, read_table_work, sample_of_table, unclosed_quote
from tokstudio.core.corpus.readers.files import Budget, ContentFile, FileText, TextStore
from tokstudio.core.corpus.readers.json_rows import (
    Plan,
    fault_of_json,
    fault_of_lines,
    read_json_work,
    read_lines_work,
    sample_of_json,
    sample_of_lines,
)
from tokstudio.core.corpus.readers.streams import OpenText, Utf8Stream, encoding_of
from tokstudio.core.text.encodings import LFS_POINTER, SAMPLE, no_text, with_byte_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEADS_OF_ROWS = (1 << 20, 1 << 24)  # bytes of rows to look at, until a whole one is there
_LONGEST_ROW = 1 << 28  # bytes of the first row
MOST_COLUMNS = 300_000  # whose names are looked at within some seconds
_ROWS_LOOKED_AT = 1_000

_WORD_COUNTS = ["word", "source", "count", "first"]  # the columns of `core.corpus.counts_file`


class NoColumnOfTextError(CorpusError):
    """No column of a file of JSON holds text; it can be read as plain text."""


@dataclass(frozen=True)
class Look:
    """What the beginning of a file shows."""

    kind: str  # one of the kinds of `kinds`
    compression: tuple[str, ...] = ()  # those around it, the outermost first
    encoding: str = ""  # of JSON and tables
    columns: tuple[Column, ...] = ()  # of a data set
    dialect: Dialect | None = None  # of CSV and TSV
    rows: int | None = None
    has_no_text: bool = False  # whether it is read as plain text because it is JSON in which no column holds text
    fault: str = ""  # what is broken in JSON of which not one row can be read

    @property
    def shown(self) -> str:
        """The kind with its compression: "JSON Lines, zstd"."""
        return ", ".join((self.kind, *reversed(self.compression)))

    def contents(self, name: str, files: int = 1) -> Contents:
        """The same for a preview."""
        delimiter = None if self.dialect is None else self.dialect.delimiter
        rows = self.rows if files == 1 else None
        return Contents(name, self.shown, self.columns, suggested(self.columns), delimiter, files, rows)


def look(text: OpenText, encoding: str | None, reading: Reading) -> Look:
    """Looks at the beginning of a text, of which nothing is read; columns of Parquet and Arrow are not looked at.

    Raises:
        BinaryError: It is nothing that can be read.
    """
    name, head = text.name, text.head()
    kind = kinds.kind_of(name, head)
    if encoding == "bytes":
        return Look(kinds.TEXT, text.compression)
    if kind.is_binary and (encoding is None or kind.name == LFS_POINTER):
        raise no_text(name, kind.name)
    if kind.name in (*kinds.COLUMNAR, *kinds.ARCHIVES):
        return Look(kind.name, text.compression)
    if reading.as_text:
        return Look(kinds.TEXT, text.compression)
    is_whole = len(head) < SAMPLE
    encoding_found = (
        with_byte_order(encoding, np.frombuffer(head, np.uint8)) if encoding else encoding_of(head, is_whole)
    )
    decoded = _decoded(head, encoding_found)
    sort = kinds.text_kind(name, decoded, is_whole, reading.delimiter is not None)
    if sort == kinds.TEXT:
        return Look(sort, text.compression, has_no_text=kinds.is_named_json(name, decoded))
    for size in (*_HEADS_OF_ROWS, _LONGEST_ROW):
        head = text.peek(size)
        is_whole, decoded = len(head) < size, _decoded(head, encoding_found)
        if is_whole or _has_row(sort, decoded):
            break
    dialect = None
    if sort == kinds.JSON_LINES:
        rows: Iterable[dict[str, object]] = sample_of_lines(decoded, is_whole)
    elif sort == kinds.JSON:
        rows = sample_of_json(decoded)
    else:
        first = io.StringIO(decoded, newline="").readline()
        if not (is_whole or first.endswith(("\n", "\r"))) or max(map(first.count, kinds.DELIMITERS)) >= MOST_COLUMNS:
            raise CorpusError(
                f"{name}: its first row has more than {MOST_COLUMNS:,} columns or {_LONGEST_ROW:,} bytes; read it as "
                "plain text (--as-text)."
            )
        dialect = dialect_of(decoded, is_whole, sort, reading.delimiter, (reading.field, reading.split_by))
        rows = sample_of_table(decoded, is_whole, dialect)
    columns = columns_of_rows(row for row, _ in zip(rows, range(_ROWS_LOOKED_AT), strict=False))
    if dialect is not None and not columns:
        columns = tuple(Column(one, TEXT, (), (one,), (0,)) for one in dialect.names)
    fault = "" if columns or dialect is not None else _fault(sort, decoded, is_whole)
    if not reading.field and suggested(columns) is None:
        # Word counts, numbers, settings.
        return Look(kinds.TEXT, text.compression, has_no_text=True, fault=fault)
    return Look(sort, text.compression, encoding_found, columns, dialect, fault=fault)


def _has_row(sort: str, decoded: str) -> bool:
    """Whether a text begins with a whole row; that of JSON may extend over lines."""
    if sort == kinds.JSON:
        return next(sample_of_json(decoded), None) is not None
    return "\n" in decoded or (sort != kinds.JSON_LINES and "\r" in decoded)


def _fault(sort: str, decoded: str, is_whole: bool) -> str:
    """What is wrong with JSON in which no row was found; "" where nothing is."""
    if not (is_whole or _has_row(sort, decoded)):
        return f"its first row has more than {_LONGEST_ROW:,} bytes"
    return fault_of_json(decoded) if sort == kinds.JSON else fault_of_lines(decoded)


def plan_of(text_look: Look, reading: Reading, name: str) -> Plan:
    """The columns to read; CorpusError where there is no such column or it holds no text."""
    if text_look.fault:
        raise CorpusError(f"{name}: {text_look.fault}; mend it, or read the file as plain text (--as-text).")
    chosen = reading.field or suggested(text_look.columns)
    if chosen is None:
        if [column.name for column in text_look.columns] == _WORD_COUNTS:
            raise CorpusError(f"{name}: this is a table of word counts: open it as word counts (train --counts).")
        names = ", ".join(shown(column.name) for column in text_look.columns[:12])
        raise CorpusError(
            f"{name}: no column of this {text_look.kind} file holds text; there are {names or 'no columns'}."
        )
    text = column_named(text_look.columns, chosen, name)
    if text.kind != TEXT:
        texts = ", ".join(shown(column.name) for column in text_look.columns if column.kind == TEXT)
        raise CorpusError(
            f"{name}: the column {shown(chosen)} holds no text ({text.kind}); "
            + (f"columns of text are {texts}." if texts else "no column does.")
        )
    split = None if reading.split_by is None else column_named(text_look.columns, reading.split_by, name)
    return Plan(text, split)


def refuse_without_text(text: OpenText, text_look: Look) -> None:
    """Raises NoColumnOfTextError for a file of JSON, as its name says, in which no column holds text."""
    if text_look.has_no_text and kinds.suffix_of(text.name) in kinds.NAMED_JSON:
        counts = "no column of this JSON holds text; if these are word counts, open them as such (train --counts)"
        fault = text_look.fault and f"{text_look.fault}; mend it"
        raise NoColumnOfTextError(f"{text.name}: {fault or counts}{READ_AS_TEXT}.")


def read_rows_work(
    text: OpenText, text_look: Look, plan: Plan, collect: Collector, is_long: bool = False
) -> Work[bool]:
    """Reads JSON Lines, JSON or a table; returns whether a quote may be unclosed."""
    stream = Utf8Stream(text, text_look.encoding)
    doubtful = False
    if text_look.dialect is not None:
        doubtful = yield from read_table_work(text, stream, text_look.dialect, plan, collect, is_long)
    elif text_look.kind == kinds.JSON_LINES:
        yield from read_lines_work(text, stream, plan, collect)
    else:
        yield from read_json_work(text, stream, plan, collect)
    collect.dropped.invalid += stream.replaced
    collect.dropped.encoding = text_look.encoding
    collect.dropped.truncated |= text.is_cut
    return doubtful


def refuse_unclosed(text: OpenText, text_look: Look) -> None:
    """Raises CorpusError where a quote of a table is never closed; `text` is at its beginning."""
    assert text_look.dialect is not None
    if line := unclosed_quote(Utf8Stream(text, text_look.encoding), text_look.dialect):
        raise CorpusError(
            f"{text.name}: a quote in the row at line {line:,} is never closed; close it, or read the file as "
            "plain text (--as-text)."
        )


def with_columns_work(text: OpenText, text_look: Look, file: BinaryIO, budget: Budget, is_packed: bool) -> Work[Look]:
    """Adds the columns of Parquet and Arrow to a look; `file` is at its beginning again where it is not packed."""
    if text_look.kind not in kinds.COLUMNAR:
        return text_look
    file = yield from seekable_work(text, file, budget, not is_packed)
    with open_table(text.name, text_look.kind, file, text.stored) as table:
        return replace(text_look, columns=table.columns(), rows=table.rows)


def collect_work(
    text: OpenText,
    text_look: Look,
    file: BinaryIO,
    reading: Reading,
    budget: Budget,
    collect: Collector,
    *,
    is_long: bool = False,
    is_member: bool = False,
) -> Work[Reading]:
    """Collects the rows of a data set, and returns how it was read, with the chosen column.

    `file` holds the stored bytes. With `is_long`, rows of a table may be longer than usual; `is_member` says that the
    data set is in an archive.

    Raises:
        RowTooLongError: A row of a table is longer, without `is_long`.
        CorpusError: It cannot be read, or has no such column.
    """
    is_plain = not text_look.compression and not is_member
    if text_look.kind in kinds.COLUMNAR:
        file = yield from seekable_work(text, file, budget, is_plain)
        with open_table(text.name, text_look.kind, file, text.stored) as table:
            text_look = replace(text_look, columns=table.columns())
        plan = plan_of(text_look, reading, text.name)
        file.seek(0)
        with open_table(text.name, text_look.kind, file, text.stored) as table:
            yield from table.read_work(plan, collect)
        collect.dropped.truncated |= text.is_cut
        return replace(reading, field=plan.text.name)
    plan = plan_of(text_look, reading, text.name)
    if text_look.dialect is None:
        yield from read_rows_work(text, text_look, plan, collect)
        return replace(reading, field=plan.text.name)
    if is_member:
        # A quote that is not closed is looked for from the beginning, to which not every member can be set back.
        file = yield from seekable_work(text, file, budget, False)
        text = OpenText(file, text.name, text.size)
    is_doubtful = yield from read_rows_work(text, text_look, plan, collect, is_long)
    if is_doubtful:
        file.seek(0)
        refuse_unclosed(OpenText(file, text.name, text.size, reading.keep_truncated), text_look)
    return replace(reading, field=plan.text.name, delimiter=text_look.dialect.delimiter)


def seekable_work(text: OpenText, file: BinaryIO, budget: Budget, is_plain: bool) -> Work[BinaryIO]:
    """A file in which one can seek: the file itself where it is stored plainly, else its unpacked content."""
    if is_plain:
        file.seek(0)
        return file
    content = yield from unpacked_work(text, budget)
    if isinstance(content, FileText):
        return cast("BinaryIO", ContentFile(content))
    return io.BytesIO(content.data)


def unpacked_work(text: OpenText, budget: Budget) -> Work[NDArray[np.uint8]]:
    """The decompressed bytes, in the memory or on the disk."""
    store = TextStore(text.name, budget)
    for piece in text.pieces():
        store.add(piece)
        yield Progress("reading", min(text.done, text.size), text.size)
    return (yield from store.finish_work())


def _decoded(head: bytes, encoding: str) -> str:
    return Utf8Stream(io.BytesIO(head), encoding).read(len(head) + 1).decode("utf-8", "replace")
