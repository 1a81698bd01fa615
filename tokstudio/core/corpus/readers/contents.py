"""How a file is read (`Reading`), what it holds as a data set, and the columns to choose from."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, cast

import numpy as np

from tokstudio.core.base.arguments import whole_number
from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.records import dataclass, from_values, without_defaults
from tokstudio.core.base.untyped import untyped
from tokstudio.core.base.wording import first_few, shown

# --- How a file is read: the column of a data set that is the text, and which documents are kept ----------------------

TEXT_FIELDS = ("text", "content", "body", "document", "sentence")

_Value = bool | int | str | None


@dataclass(frozen=True)
class Reading:
    """How a file is read; the default reads all of it.

    Attributes:
        field: The column of a data set that is the text, such as "text" or "messages.content"; None to choose it: the
            first of `TEXT_FIELDS` that there is, else the column with the longest texts.
        split_by: A column that divides a data set into one source for each of its values; None not to divide it.
        join_values: Whether the parts of several data sets with the same value there are one source of a mixture.
        delimiter: What separates the columns of CSV, one ASCII character; None to detect it.
        least_characters: Documents with fewer characters are dropped.
        most_characters: Documents are cut after so many characters; None to keep them whole.
        most_bytes: Only the first so many bytes of each source are kept, up to a whole character; None to keep all.
        deduplicate: Whether a document that occurred before in the same file or data set is dropped.
        as_text: Whether JSON and tables are read as plain text, with their field names and separators.
        keep_truncated: Whether the beginning of compressed data that ends too early is read; otherwise it is refused.

    Raises:
        ConfigError: A value is out of its range.
    """

    field: str | None = None
    split_by: str | None = None
    delimiter: str | None = None
    least_characters: int = 0
    most_characters: int | None = None
    most_bytes: int | None = None
    deduplicate: bool = False
    as_text: bool = False
    keep_truncated: bool = False
    join_values: bool = False

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or not self.delimiter.isascii()):
            raise ConfigError("The delimiter must be one ASCII character, such as , or ; or a tab.")
        if self.delimiter is not None and self.delimiter in '\r\n"\0':
            raise ConfigError("The delimiter can be neither a line break nor a quote.")
        if whole_number("The least number of characters of a document", self.least_characters) < 0:
            raise ConfigError("The least number of characters of a document cannot be negative.")
        for limit, what in ((self.most_characters, "characters of a document"), (self.most_bytes, "bytes of a source")):
            if limit is not None and whole_number(f"The largest number of {what}", limit) < 1:
                raise ConfigError(f"The largest number of {what} must be at least 1.")
        if self.join_values and self.split_by is None:
            raise ConfigError("To join parts by value (join_values), give the column that divides texts (split_by).")
        if self.as_text and (self.field is not None or self.split_by is not None):
            raise ConfigError("Plain text has no columns: give neither a field nor a column to divide it by.")

    @property
    def filters(self) -> bool:
        """Whether documents may be dropped or cut."""
        limits = (self.most_characters, self.most_bytes)
        return self.least_characters > 0 or self.deduplicate or any(limit is not None for limit in limits)

    def to_json(self) -> dict[str, _Value]:
        """The values that differ from the default, for JSON."""
        return without_defaults(self)

    @classmethod
    def from_json(cls, values: Mapping[str, object]) -> Reading:
        """The reading that `to_json` gave; ValueError where a value is unknown or has another type."""
        return from_values(cls, values)


# --- What a look at the beginning of a file shows: its kind and its columns -------------------------------------------

TEXT = "text"
_MOST_NAMED = 12


@dataclass(frozen=True)
class Column:
    """A column of a data set; that of a nested value has a path as its name."""

    name: str  # such as "text" or "messages.content"
    kind: str  # "text" for one that can be the text of documents, else such as "number" or "mixed"
    values: tuple[str, ...] = ()  # up to ten of its first texts, shortened; none where it holds no text
    steps: tuple[str, ...] = ()  # the names on the path
    lists: tuple[int, ...] = ()  # for each step, how many lists are around what stands there
    length: float = 0.0  # the mean number of characters of its first texts


@dataclass(frozen=True)
class Contents:
    """What is in a file or a folder, as far as its beginning shows."""

    name: str  # the name of the file or the folder
    kind: str  # such as "Parquet", "JSON Lines, zstd" or "plain text"
    columns: tuple[Column, ...] = ()  # the columns of a data set in their order; none for plain text
    field: str | None = None  # the name of the column that is read where none is chosen; None where there is no text
    delimiter: str | None = None  # what separates the columns of CSV; None for anything else
    files: int = 1  # how many files there are: the members of an archive, the shards of a data set
    rows: int | None = None  # how many rows there are; None where only reading all would tell

    @property
    def is_data(self) -> bool:
        """Whether it is a data set, of which a column is read."""
        return bool(self.columns)


def suggested(columns: Iterable[Column]) -> str | None:
    """The name of the column of text that is read where none is chosen; None where there is none."""
    texts = [column for column in columns if column.kind == TEXT]
    for name in TEXT_FIELDS:
        for column in texts:
            if column.name.lower() == name:
                return column.name
    return max(texts, key=lambda column: column.length).name if texts else None


def column_named(columns: Iterable[Column], name: str, file: str) -> Column:
    """The column of that name; CorpusError, which says which there are, where there is none."""
    all_columns = list(columns)
    for column in all_columns:
        if column.name == name:
            return column
    names = first_few([column.name for column in all_columns], _MOST_NAMED)
    raise CorpusError(f"{file}: there is no column {shown(name)}; there are {names or 'no columns'}.")


# --- Finds the columns of rows, nested ones as paths, and takes the texts of one out of Arrow arrays ------------------

_ROWS_SHOWN = 10
_LONGEST_SHOWN = 200  # characters
_MOST_COLUMNS = 5_000
_DEEPEST = 8
_KINDS = ((str, TEXT), (bool, "yes or no"), (int, "number"), (float, "number"), (bytes, "bytes"))

_Path = tuple[tuple[str, int], ...]  # names, each with the number of lists around what stands there


@dataclass
class _Seen:
    kinds: set[str] = field(default_factory=set[str])
    texts: list[str] = field(default_factory=list[str])
    characters: int = 0
    number: int = 0


def columns_of_rows(rows: Iterable[Mapping[str, object]]) -> tuple[Column, ...]:
    """The columns of the first rows, each with its first texts, in the order in which they occur."""
    seen: dict[_Path, _Seen] = {}
    for row in rows:
        _walk(row, (), seen)
    return tuple(_column(path, one) for path, one in seen.items())


def columns_of_schema(schema: Any, rows: Iterable[Mapping[str, object]]) -> tuple[Column, ...]:  # noqa: ANN401
    """The columns of an Arrow schema, with the texts of the first rows."""
    texts = {(column.steps, column.lists): column for column in columns_of_rows(rows)}
    types: dict[_Path, str] = {}
    for one in schema:
        _walk_type(one.name, one.type, (), types)
    columns: list[Column] = []
    for path, kind in types.items():
        column = _column(path, _Seen({kind}))
        type_of_column = texts.get((column.steps, column.lists))
        columns.append(type_of_column if type_of_column is not None and type_of_column.kind == kind else column)
    return tuple(columns)


def texts_of(array: Any, column: Column) -> Any:  # noqa: ANN401 -- arrays of pyarrow have no types
    """The texts of a column from the array of its first step; null where a row has none.

    The texts of a list are joined by line feeds, as they are one document.
    """
    return _taken(array, column.steps[1:], column.lists)


def strings_of(array: Any) -> Any:  # noqa: ANN401
    """An array as strings with offsets of 64 bits; raises an error of pyarrow where its values are none."""
    pyarrow = untyped("pyarrow")

    if pyarrow.types.is_dictionary(array.type) and pyarrow.types.is_string_view(array.type.value_type):
        # Out of a dictionary of views, pyarrow takes no values.
        array = pyarrow.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(pyarrow.large_string()))
    return array if pyarrow.types.is_large_string(array.type) else array.cast(pyarrow.large_string())


def type_of(column: Column) -> Any:  # noqa: ANN401 -- types of pyarrow have no types
    """The Arrow type of the first step of a column, with nothing else in it."""
    pyarrow = untyped("pyarrow")

    kind: Any = pyarrow.string()
    for number in range(len(column.steps) - 1, -1, -1):
        for _ in range(column.lists[number]):
            kind = pyarrow.list_(kind)
        if number:
            kind = pyarrow.struct([(column.steps[number], kind)])
    return kind


def text_of_row(row: object, column: Column) -> str | None:
    """The text of a column in a row that was parsed from JSON; None where there is none.

    Raises:
        TypeError: Something else stands there.
    """
    values: list[object] = [row]
    for step in column.steps:
        below = [cast("dict[str, object]", one).get(step) for one in _flat(values) if isinstance(one, dict)]
        values = [one for one in below if one is not None]
    values = [one for one in _flat(values) if one is not None]
    if not values:
        return None
    if not all(isinstance(one, str) for one in values):
        raise TypeError(column.name)
    return "\n".join(cast("list[str]", values))


def _flat(values: Iterable[object]) -> Iterable[object]:
    for value in values:
        if isinstance(value, list):
            yield from _flat(cast("list[object]", value))
        else:
            yield value


def _walk(row: Mapping[str, object], path: _Path, seen: dict[_Path, _Seen]) -> None:
    for name, value in row.items():
        _walk_value(name, value, path, 0, seen)


def _walk_value(name: str, value: object, path: _Path, lists: int, seen: dict[_Path, _Seen]) -> None:
    here = (*path, (name, lists))
    if isinstance(value, dict) and len(here) < _DEEPEST:
        _walk(cast("dict[str, object]", value), here, seen)
    elif isinstance(value, list) and lists < _DEEPEST:
        for one in cast("list[object]", value)[:_ROWS_SHOWN]:
            _walk_value(name, one, path, lists + 1, seen)
    elif value is not None and (here in seen or len(seen) < _MOST_COLUMNS):
        one = seen.setdefault(here, _Seen())
        one.kinds.add(next((kind for type_, kind in _KINDS if isinstance(value, type_)), "mixed"))
        if isinstance(value, str):
            one.characters += len(value)
            one.number += 1
            if len(one.texts) < _ROWS_SHOWN:
                one.texts.append(value if len(value) <= _LONGEST_SHOWN else value[:_LONGEST_SHOWN] + "…")


def _column(path: _Path, seen: _Seen) -> Column:
    kinds = seen.kinds
    # A column of texts may have other things here and there; they are dropped and counted.
    kind = TEXT if TEXT in kinds else next(iter(kinds)) if len(kinds) == 1 else "mixed"
    steps, lists = tuple(name for name, _ in path), tuple(number for _, number in path)
    return Column(".".join(steps), kind, tuple(seen.texts), steps, lists, seen.characters / max(1, seen.number))


def _walk_type(name: str, kind: Any, path: _Path, types_by_path: dict[_Path, str]) -> None:  # noqa: ANN401
    types = untyped("pyarrow.types")

    lists = 0
    while types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        kind, lists = kind.value_type, lists + 1
    here = (*path, (name, lists))
    if types.is_struct(kind) and len(here) < _DEEPEST:
        for one in kind:
            _walk_type(one.name, one.type, here, types_by_path)
    elif len(types_by_path) < _MOST_COLUMNS:
        types_by_path[here] = TEXT if _is_text(kind) else str(kind)


def _is_text(kind: Any) -> bool:  # noqa: ANN401
    types = untyped("pyarrow.types")

    if types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _taken(array: Any, steps: tuple[str, ...], lists: tuple[int, ...]) -> Any:  # noqa: ANN401
    pyarrow = untyped("pyarrow")
    compute = untyped("pyarrow.compute")

    if not lists[0]:
        if not steps:
            return strings_of(array)
        # Unlike `array.field`, this gives null where the whole struct is null.
        return _taken(compute.struct_field(array, steps[0]), steps[1:], lists[1:])
    rows = len(array)
    inner = _taken(compute.list_flatten(array), steps, (lists[0] - 1, *lists[1:]))
    # Not `list_parent_indices`, which also counts what a null list stands over.
    lengths = compute.fill_null(compute.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    valid = compute.is_valid(inner)
    parents = np.repeat(np.arange(rows), lengths)[valid.to_numpy(zero_copy_only=False)]
    inner, numbers = inner.filter(valid), np.bincount(parents, minlength=rows)
    offsets = pyarrow.array(np.concatenate(([0], np.cumsum(numbers))), pyarrow.int64())
    joined = compute.binary_join(pyarrow.LargeListArray.from_arrays(offsets, inner), pyarrow.scalar("\n", inner.type))
    return compute.if_else(pyarrow.array(numbers > 0), joined, pyarrow.scalar(None, joined.type))
