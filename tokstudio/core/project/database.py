"""Database connections: one to write a new file, one to read an untrusted file."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import os
import re
import sqlite3
import stat
import struct
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from math import isfinite
from pathlib import Path

from tokstudio.core.base.atomic_files import file_name, write_fault
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.wording import several
from tokstudio.core.project.schema import (
    APPLICATION_ID,
    LONGEST,
    OLDEST_VERSION,
    VERSION,
    Json,
    from_json,
    missing_columns,
    tables_of,
)
from tokstudio.core.text.encodings import WHY_NOT_POINTER, is_lfs_pointer

LARGEST_FILE = 1 << 33

_LONGEST_STATEMENT = 1 << 16
_PAGE = 4096
_HEADER = 100
_MAGIC = b"SQLite format 3\0"
# Reading a project takes far fewer steps per byte; only a malicious file takes more.
_STEPS_A_BYTE = 100
_STEPS_AT_LEAST = 50_000_000
_STEPS_AT_ONCE = 100_000

_SYSTEM_CODES = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EACCES,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
}
_REASONS = {
    sqlite3.SQLITE_INTERRUPT: "reading it would never end",
    sqlite3.SQLITE_TOOBIG: "a value in it is too large",
    sqlite3.SQLITE_NOMEM: "a value in it is too large",
}
_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"


def create(path: Path) -> sqlite3.Connection:
    """Makes the tables in an empty file that no other process knows; a crash may leave it damaged."""
    connection = connect(path, "nolock=1")
    try:
        for setting in ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE", f"page_size={_PAGE}"):
            connection.execute(f"PRAGMA {setting}")
        make_tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def make_tables(connection: sqlite3.Connection, version: int = VERSION) -> None:
    """Makes the tables in an empty database, and marks it as a project of this version."""
    connection.execute("PRAGMA encoding='UTF-8'")
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version={version}")
    for table in tables_of(version):
        connection.execute(table)


def connect(path: Path, settings: str) -> sqlite3.Connection:
    """Opens a database that commits every statement; another thread may close it."""
    location = path.absolute().as_uri() if path.name else "file:"
    return sqlite3.connect(f"{location}?{settings}", uri=True, isolation_level=None, timeout=0, check_same_thread=False)


@contextmanager
def plain_errors(path: Path) -> Generator[None]:
    """Turns SQLite's errors into the errors of writing `path`."""
    try:
        yield
    except sqlite3.Error as error:
        raise write_fault(path, OSError(_SYSTEM_CODES.get(_code(error), errno.EIO), str(error))) from error


def version_of(connection: sqlite3.Connection) -> int:
    """The version of an open project."""
    ((version,),) = connection.execute("PRAGMA user_version").fetchall()
    return version


def is_system_error(error: sqlite3.Error) -> bool:
    """Whether the disk or another process caused an error, not the content of the file."""
    return _code(error) in {*_SYSTEM_CODES, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_NOMEM}


def check_header(path: Path) -> int:
    """The size of a file that SQLite may open; FormatError where it is no whole project of a known version."""
    name = file_name(path)
    size, header = _read_header(path, name)
    if header[:16] != _MAGIC or size < _HEADER:
        raise FormatError(f"{name}: this is not a TokStudio project.")
    if size > LARGEST_FILE:
        raise FormatError(f"{name}: the file is too large: {size:,} bytes, and at most {LARGEST_FILE:,} are read.")
    page, pages, version, application = struct.unpack_from(">16xH10xI28xI4xI", header)
    if application != APPLICATION_ID:
        raise FormatError(f"{name}: this is an SQLite database of another program.")
    if not OLDEST_VERSION <= version <= VERSION:
        newer = version > VERSION
        raise FormatError(
            f"{name}: it was saved by {'a newer' if newer else 'an unknown'} TokStudio, as version {version} of a "
            f"project, but this one reads version {VERSION}{': update TokStudio' if newer else ''}."
        )
    whole = pages * (page if page > 1 else 1 << 16)
    if size != whole:
        missing = several(whole - size, "byte is missing", "bytes are missing")
        what = missing if size < whole else "something follows its end"
        raise FormatError(f"{name}: the project is damaged: {what}.")
    return size


def _read_header(path: Path, name: str) -> tuple[int, bytes]:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise FormatError(f"{name}: this is not a file.")
        with path.open("rb") as file:
            if is_lfs_pointer(file.peek(_HEADER)):
                raise FormatError(f"{name}: {WHY_NOT_POINTER}.")
            return os.fstat(file.fileno()).st_size, file.read(_HEADER)
    except FileNotFoundError as error:
        raise FormatError(f"{name}: no such file.") from error
    except PermissionError as error:
        raise FormatError(f"{name}: you have no permission to read it.") from error
    except (OSError, ValueError) as error:
        raise FormatError(f"{name}: the file cannot be opened: {error}.") from error


@contextmanager
def opened(path: Path) -> Generator[sqlite3.Connection]:
    """A connection to an untrusted project whose schema is exactly that of TokStudio, and whose pages are complete.

    Nothing is written, neither into the file nor beside it, and files beside it are ignored.

    Raises:
        FormatError: It is not such a file; also where SQLite finds an error later, within the `with` block.
    """
    name, size = file_name(path), check_header(path)
    try:
        connection = connect(path, "mode=ro&immutable=1")
        try:
            _restrict(connection, size)
            _check_schema(connection, name)
            yield connection
        finally:
            with suppress(sqlite3.Error):
                connection.close()
    # UnicodeDecodeError occurs where SQLite's message quotes invalid text.
    except (sqlite3.Error, sqlite3.Warning, UnicodeDecodeError) as error:
        why = _REASONS.get(_code(error), "SQLite cannot read it")
        raise FormatError(f"{name}: the project is damaged: {why}.") from error
    except MemoryError as error:
        raise FormatError(f"{name}: the project is too large for the free memory of this computer.") from error


def check_pages(connection: sqlite3.Connection, name: str) -> None:
    """Raises FormatError where a page is invalid or used twice."""
    ((words, *_), *_) = connection.execute("PRAGMA quick_check(1)").fetchall()
    if words != "ok":
        raise FormatError(f"{name}: the project is damaged: a page of the database is not valid.")


def _restrict(connection: sqlite3.Connection, size: int) -> None:
    for setting in ("trusted_schema=OFF", "cell_size_check=ON", "query_only=ON", "mmap_size=0", "temp_store=MEMORY"):
        connection.execute(f"PRAGMA {setting}")
    for limit, most in (
        (sqlite3.SQLITE_LIMIT_LENGTH, LONGEST),
        (sqlite3.SQLITE_LIMIT_SQL_LENGTH, _LONGEST_STATEMENT),
        (sqlite3.SQLITE_LIMIT_COLUMN, 100),
        (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 50),
        (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
        (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0),
        (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
    ):
        connection.setlimit(limit, most)
    steps = iter(range((_STEPS_AT_LEAST + _STEPS_A_BYTE * size) // _STEPS_AT_ONCE))
    connection.set_progress_handler(lambda: int(next(steps, None) is None), _STEPS_AT_ONCE)


def _check_schema(connection: sqlite3.Connection, name: str) -> None:
    with closing(sqlite3.connect(":memory:")) as model:
        make_tables(model, version_of(connection))
        ours = model.execute(_SCHEMA).fetchall()
    # One row too many is enough to see a difference.
    if connection.execute(_SCHEMA).fetchmany(len(ours) + 1) != ours:
        raise FormatError(f"{name}: this is not the database of a TokStudio project: its tables differ.")


def _code(error: Exception) -> int:
    """SQLite's code of an error, without the details in its higher bytes; 0 where there is none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


# --- Cells of a row from an untrusted file: each is checked for its type and its range when it is read ----------------

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
