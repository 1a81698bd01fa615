"""Reads CSV and TSV with pyarrow; the dialect is detected by the first lines."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
import csv
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.untyped import untyped
from tokstudio.core.corpus.readers.collect import Collector
from tokstudio.core.corpus.readers.compression import Stream
from tokstudio.core.corpus.readers.contents import TEXT_FIELDS
from tokstudio.core.corpus.readers.json_rows import Plan
from tokstudio.core.corpus.readers.kinds import DELIMITERS, TSV, lines_of
from tokstudio.core.corpus.readers.streams import OpenText, Peekable, Utf8Stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The longest row that is read; a block holds at least one row.
BLOCKS = (1 << 22, 1 << 29)
_LINES = 100
_PIECE = 1 << 20
_LONGEST_NAME = 64
_NUMBER = re.compile(r"[-+]?[\d.,]+")


@dataclass(frozen=True)
class Dialect:
    """How a table is written."""

    delimiter: str
    quote: str  # what is around a value with delimiters in it; "" where nothing is
    escape: str  # what stands before a quote within quotes; "" where it is doubled
    names: tuple[str, ...]  # the names of the columns
    has_names: bool  # whether they are the first row


def dialect_of(
    head: str, is_whole: bool, kind: str, delimiter: str | None = None, asked: Iterable[str | None] = ()
) -> Dialect:
    """The dialect of a table that begins so; a `delimiter` that is given is not detected.

    A first row with one of the names that are `asked` for is the names of the columns.
    """
    lines = lines_of(head.lstrip("\r\n"))
    whole = lines if is_whole or len(lines) < 2 else lines[:-1]
    lines = whole[:_LINES]
    quote = '"' if kind != TSV or _has_quotes(lines) else ""
    if quote and any(line.startswith("'") for line in lines) and not any('"' in line for line in lines):
        quote = "'"
    candidates = (
        [delimiter] if delimiter else sorted(DELIMITERS, key=lambda sign: sign != ("\t" if kind == TSV else ","))
    )
    escape = _escape_of(whole, candidates, quote)
    best = max(candidates, key=lambda sign: _fit(_rows(lines, sign, quote, escape)))
    rows = _rows(lines, best, quote, escape)
    first = [cell.strip() for cell in rows[0]] if rows else []
    has_names = _are_names(first, rows[1:], asked)
    return Dialect(best, quote, escape, _unique(first if has_names else [""] * len(first)), has_names)


def _escape_of(lines: list[str], delimiters: Iterable[str], quote: str) -> str:
    """What stands before a quote within quotes: a backslash only where that fits better than doubled quotes."""
    if not quote or not any(f"\\{quote}" in line for line in lines):
        return ""

    def fit(escape: str) -> tuple[bool, float]:
        return max(
            (_is_strict(lines, sign, quote, escape), _fit(_rows(lines, sign, quote, escape))[0]) for sign in delimiters
        )

    return "\\" if fit("\\") > fit("") else ""


def _is_strict(lines: list[str], delimiter: str, quote: str, escape: str) -> bool:
    """Whether a delimiter or the end of a line follows each value in quotes; the last one may be cut."""
    try:
        for _ in _reader(lines, delimiter, quote, escape, strict=True):
            pass
    except csv.Error as error:
        return _is_cut(error)
    return True


def _is_cut(error: csv.Error) -> bool:
    """Whether the lines were well-formed up to their end, or to a value of more than 128 KiB."""
    return "unexpected end" in str(error) or "field larger" in str(error)


def sample_of_table(head: str, is_whole: bool, dialect: Dialect) -> Iterator[dict[str, object]]:
    """The first rows, without one that may be cut."""
    lines = lines_of(head)
    lines = lines if is_whole or len(lines) < 2 else lines[:-1]
    rows = _rows(lines, dialect.delimiter, dialect.quote, dialect.escape)
    for row in rows[int(dialect.has_names) :]:
        if len(row) == len(dialect.names):
            yield dict(zip(dialect.names, row, strict=True))


def read_table_work(
    text: OpenText, rows: Utf8Stream, dialect: Dialect, plan: Plan, collect: Collector, is_long: bool
) -> Work[bool]:
    """Reads a table in blocks of whole rows; with `is_long` the blocks are large.

    Returns:
        Whether a quote may be unclosed, as their number is odd.

    Raises:
        RowTooLongError: A row is longer than a block.
        CorpusError: The table is broken.
    """
    pyarrow = untyped("pyarrow")
    block, stream = BLOCKS[int(is_long)], _Counting(rows, dialect.quote)
    names = [column.name for column in (*plan.texts, *([] if plan.split is None else [plan.split]))]
    row, skipped = 1 + dialect.has_names, list[int]()

    def skip(row: Any) -> str:  # noqa: ANN401
        collect.dropped.add_broken(row.number, "row")
        skipped.append(row.number)
        return "skip"

    try:
        for batch in _batches(stream, block, dialect, names, skip):
            texts, keys = batch.columns[: len(plan.texts)], batch.columns[len(plan.texts) :]
            row, numbers = _numbered(row, len(batch), skipped)
            collect.add_columns(texts, keys[0] if keys else None, numbers)
            yield Progress("reading", min(text.done, text.size), text.size)
            if collect.is_full:
                return False
    except pyarrow.ArrowInvalid as error:
        if "straddling" in str(error):
            raise RowTooLongError(f"{text.name}: a row is longer than {block:,} bytes.") from error
        raise CorpusError(f"{text.name}: the table is broken ({error}); try another delimiter.") from error
    return stream.quotes % 2 == 1


def _batches(
    stream: io.RawIOBase, block: int, dialect: Dialect, names: list[str], skip: Callable[[Any], str]
) -> Iterable[Any]:
    """The columns of these names, in blocks of rows; what `skip` says is done with a row that is broken."""
    pyarrow, arrow_csv = untyped("pyarrow"), untyped("pyarrow.csv")
    return arrow_csv.open_csv(
        pyarrow.PythonFile(stream, "r"),
        arrow_csv.ReadOptions(
            use_threads=False,
            block_size=block,
            column_names=list(dialect.names),
            skip_rows_after_names=int(dialect.has_names),
        ),
        arrow_csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=dialect.quote or False,
            double_quote=bool(dialect.quote) and not dialect.escape,
            escape_char=dialect.escape or False,
            newlines_in_values=bool(dialect.quote),
            invalid_row_handler=skip,
        ),
        arrow_csv.ConvertOptions(
            include_columns=names,
            column_types=dict.fromkeys(names, pyarrow.string()),
            strings_can_be_null=False,
            check_utf8=False,
        ),
    )


def _numbered(first: int, count: int, skipped: list[int]) -> tuple[int, NDArray[np.int64]]:
    """The next row, and the numbers of so many rows from `first` on, without those that were skipped."""
    after = first + count + len(skipped)
    numbers = np.arange(first, after)
    numbers = numbers[~np.isin(numbers, skipped)][:count] if skipped else numbers
    last = int(numbers[-1]) if count else first - 1
    skipped[:] = [number for number in skipped if number > last]
    return last + 1, numbers


class RowTooLongError(CorpusError):
    """A row does not fit into a block."""


class _Counting(io.RawIOBase):
    """A file for pyarrow that counts the quotes in it.

    It begins with its first row and ends with a line feed: otherwise pyarrow would skip a blank line in place of the
    names of the columns, or nothing where only the names are there.
    """

    def __init__(self, below: Stream, quote: str) -> None:
        self._below, self._quote, self.quotes = Peekable(below), quote.encode(), 0
        self._is_ended = False
        begin = b""
        while not begin and (piece := self._below.peek(_PIECE)):
            begin = piece.lstrip(b"\r\n")
            self._below.read(len(piece) - len(begin))

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        size = size if size >= 0 else sys.maxsize
        content = self._below.read_whole(size)
        if len(content) < size and not self._is_ended:
            self._is_ended = True
            content += b"" if content.endswith((b"\n", b"\r")) else b"\n"
        if self._quote:
            self.quotes += content.count(self._quote)
        return content


def unclosed_quote(stream: Stream, dialect: Dialect) -> int:
    """The line on which the row begins whose quote is never closed; 0 where all are closed."""
    import regex  # before 3.11.5, Python's own takes such possessive quantifiers for others

    delimiter, quote, escape = map(re.escape, (dialect.delimiter, dialect.quote, dialect.escape))
    escaped, doubled = (f"|{escape}.", "") if escape else ("", f"|{quote}{quote}")
    # From within or behind a value to the quote before another one, and from there to the quote behind it. The csv
    # module would not do: it refuses values of more than 128 KiB.
    opening = regex.compile(f"(?:[^{delimiter}{escape}]++|{delimiter}(?!{quote}){escaped})*+{delimiter}{quote}")
    closing = regex.compile(f"(?:[^{quote}{escape}]++{doubled}{escaped})*+{quote}")
    first, is_open = 0, False
    for number, line in enumerate(_lines(stream), 1):
        at = 0
        if not is_open:
            first, is_open = number, line.startswith(dialect.quote)
            at = int(is_open)
        while match := (closing if is_open else opening).match(line, at):
            at, is_open = match.end(), not is_open
    return first if is_open else 0


def _lines(stream: Stream) -> Iterator[str]:
    """The lines of a stream in UTF-8, without their ends."""
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("replace"), translate=True)
    cut = ""
    while piece := stream.read(_PIECE):
        *whole, cut = (cut + decoder.decode(piece)).split("\n")
        yield from whole
    yield from (cut + decoder.decode(b"", final=True)).split("\n")


def _reader(lines: Iterable[str], delimiter: str, quote: str, escape: str, strict: bool = False) -> Iterator[list[str]]:
    return csv.reader(
        lines,
        delimiter=delimiter,
        quotechar=quote or None,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        doublequote=not escape,
        escapechar=escape or None,
        strict=strict,
    )


def _rows(lines: list[str], delimiter: str, quote: str, escape: str) -> list[list[str]]:
    rows: list[list[str]] = []
    with suppress(csv.Error):  # a value is longer than 128 KiB
        rows.extend(row for row in _reader(lines, delimiter, quote, escape) if row)
    return rows


def _fit(rows: list[list[str]]) -> tuple[float, int]:
    """How well a delimiter fits: the share of rows as wide as the first one, if that has several columns."""
    if not rows or len(rows[0]) < 2:
        return 0.0, 0
    width = len(rows[0])
    return sum(len(row) == width for row in rows) / len(rows), width


def _has_quotes(lines: list[str]) -> bool:
    """Whether quotes in TSV are around values; in much of it they are part of the text."""
    try:
        for _ in csv.reader(lines, delimiter="\t", strict=True):
            pass
    except csv.Error as error:
        return _is_cut(error) and _fit(_rows(lines, "\t", '"', "")) >= _fit(_rows(lines, "\t", "", ""))
    return True


def _are_names(first: list[str], rows: list[list[str]], asked: Iterable[str | None]) -> bool:
    """Whether the first row of a table, of which some more follow, is the names of its columns."""
    # The columns of a table without names are numbered: the number of a column is no name in its first row.
    field_names = {*TEXT_FIELDS, *asked} - {str(number) for number in range(1, len(first) + 1)}
    if any(cell in field_names or cell.lower() in TEXT_FIELDS for cell in first):
        return True
    cells = [cell for cell in first if cell]
    named = [bool(cell) and len(cell) <= _LONGEST_NAME and not _is_number(cell) for cell in first]
    if 2 * sum(named) <= len(cells):
        return False
    below = [_are_numbers(rows, column) for column in range(len(first))]
    # Above numbers, a name tells that the row is names, and a number that it is a row like the others.
    if any(name and numbers for name, numbers in zip(named, below, strict=True)):
        return True
    return not any(_is_number(cell) and numbers for cell, numbers in zip(first, below, strict=True))


def _are_numbers(rows: list[list[str]], column: int) -> bool:
    """Whether a column has values, which all are numbers."""
    values = [row[column].strip() for row in rows if column < len(row)]
    return any(values) and all(map(_is_number, filter(None, values)))


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None


def _unique(names: list[str]) -> tuple[str, ...]:
    """The names, of which empty ones become the number of their column and repeated ones get a number."""
    unique, taken, numbers = list[str](), set[str](), dict[str, int]()
    original = set(names)
    for column, name in enumerate(names, 1):
        free = plain = name or str(column)
        number = numbers.get(plain, 2)
        while free in taken or (free != name and free in original):
            free, number = f"{plain} {number}", number + 1
        numbers[plain] = number
        taken.add(free)
        unique.append(free)
    return tuple(unique)
