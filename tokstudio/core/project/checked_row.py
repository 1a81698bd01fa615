"""Cells of a row from an untrusted file: each is checked for its type and its range when it is read."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from math import isfinite

from tokstudio.core.base.errors import FormatError
from tokstudio.core.project.database import version_of
from tokstudio.core.project.json_values import Json, from_json
from tokstudio.core.project.schema import missing_columns

LARGEST = 1 << 62
_LONGEST_NAME = 1_000
_SHA256 = re.compile("[0-9a-f]{64}")


class Row:
    """A row of a table, by column, of the project whose name is `file`."""

    def __init__(self, file: str, table: str, cells: dict[str, object]) -> None:
        self._file, self._table, self._cells = file, table, cells

    def fault(self, column: str, what: str) -> FormatError:
        """The error of a cell."""
        number = self._cells.get("number")
        where = f"{self._table} {number:,}" if isinstance(number, int) else self._table
        return FormatError(f"{self._file}: the project is damaged: {where}, {column}: {what}.")

    def is_null(self, column: str) -> bool:
        """Whether the cell is empty."""
        return self._cells[column] is None

    def whole(self, column: str, least: int = 0, most: int = LARGEST) -> int:
        """A whole number within a range."""
        value = self._cells[column]
        if not isinstance(value, int) or not least <= value <= most:
            raise self.fault(column, f"a whole number from {least:,} to {most:,} is missing")
        return value

    def real(self, column: str) -> float:
        """A finite number."""
        value = self._cells[column]
        if not isinstance(value, float) or not isfinite(value):
            raise self.fault(column, "a number is missing")
        return value

    def text(self, column: str) -> str:
        """A text."""
        value = self._cells[column]
        if not isinstance(value, str):
            raise self.fault(column, "a text is missing")
        return value

    def name(self, column: str) -> str:
        """A text for a line on the screen, whose end is cut off where it is longer than any name."""
        value = self.text(column)
        return value if len(value) <= _LONGEST_NAME else f"{value[:_LONGEST_NAME]}…"

    def raw(self, column: str) -> str | bytes:
        """A text, or bytes."""
        value = self._cells[column]
        if not isinstance(value, (str, bytes)):
            raise self.fault(column, "a text is missing")
        return value

    def blob_type(self, column: str) -> None:
        """Checks a cell with the `typeof` of a large value: the length of a text is not that of its bytes."""
        if self.text(column) not in ("blob", "null"):
            raise self.fault(column, "bytes are missing")

    def sha256(self, column: str) -> str:
        """A hash in hexadecimal digits."""
        value = self.text(column)
        if not _SHA256.fullmatch(value):
            raise self.fault(column, "a SHA-256 is missing")
        return value

    def json(self, column: str) -> Json:
        """A JSON value."""
        try:
            return from_json(self.text(column))
        except ValueError as error:
            raise self.fault(column, str(error)) from error

    def json_object(self, column: str) -> dict[str, Json]:
        """A JSON object."""
        value = self.json(column)
        if not isinstance(value, dict):
            raise self.fault(column, "it is not a JSON object")
        return value

    def indexes(self, column: str, size: int) -> tuple[int, ...]:
        """A JSON list of numbers from 1 to `size`, as indexes from 0."""
        value = self.json(column)
        numbers = value if isinstance(value, list) else [None]
        indexes = tuple(number - 1 for number in numbers if type(number) is int and 1 <= number <= size)
        if len(indexes) != len(numbers):
            raise self.fault(column, f"it is not a list of numbers from 1 to {size:,}")
        return indexes


def numbered_rows(
    connection: sqlite3.Connection, file: str, table: str, columns: Sequence[str], most: int
) -> Iterator[Row]:
    """All rows of a table whose rows are numbered from 1; raises FormatError where there are more than `most`.

    Columns that an earlier version of projects lacks are null.
    """
    shown = [column.partition(" AS ")[2] or column for column in columns]
    nulls = [f", NULL AS {column}" for column in missing_columns(table, version_of(connection))]
    rows = f"(SELECT *{''.join(nulls)} FROM {table})" if nulls else table
    cursor = connection.execute(f"SELECT {', '.join(columns)} FROM {rows} ORDER BY number")
    for expected, values in enumerate(cursor, 1):
        row = Row(file, table, dict(zip(shown, values, strict=True)))
        row.whole("number", expected, expected)
        if expected > most:
            raise FormatError(f"{file}: the project is too large: more than {most:,} rows in the table {table}.")
        yield row
