"""Finds the columns of rows, nested ones as paths, and takes the texts of one out of Arrow arrays."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from tokstudio.core.base.untyped import untyped
from tokstudio.core.corpus.readers.contents import TEXT, Column

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
    found: dict[_Path, str] = {}
    for one in schema:
        _walk_type(one.name, one.type, (), found)
    made: list[Column] = []
    for path, kind in found.items():
        column = _column(path, _Seen({kind}))
        known = texts.get((column.steps, column.lists))
        made.append(known if known is not None and known.kind == kind else column)
    return tuple(made)


def texts_of(array: Any, column: Column) -> Any:  # noqa: ANN401 -- arrays of pyarrow have no types
    """The texts of a column from the array of its first step; null where a row has none.

    The texts of a list are joined by line feeds, as they are one document.
    """
    return _taken(array, column.steps[1:], column.lists)


def type_of(column: Column) -> Any:  # noqa: ANN401 -- types of pyarrow have no types
    """The Arrow type of the first step of a column, with nothing else in it."""
    pyarrow = untyped("pyarrow")

    made: Any = pyarrow.string()
    for number in range(len(column.steps) - 1, -1, -1):
        for _ in range(column.lists[number]):
            made = pyarrow.list_(made)
        if number:
            made = pyarrow.struct([(column.steps[number], made)])
    return made


def text_of_row(row: object, column: Column) -> str | None:
    """The text of a column in a row that was parsed from JSON; None where there is none.

    Raises:
        TypeError: Something else stands there.
    """
    found: list[object] = [row]
    for step in column.steps:
        below = [cast("dict[str, object]", one).get(step) for one in _flat(found) if isinstance(one, dict)]
        found = [one for one in below if one is not None]
    found = [one for one in _flat(found) if one is not None]
    if not found:
        return None
    if not all(isinstance(one, str) for one in found):
        raise TypeError(column.name)
    return "\n".join(cast("list[str]", found))


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


def _walk_type(name: str, kind: Any, path: _Path, found: dict[_Path, str]) -> None:  # noqa: ANN401
    types = untyped("pyarrow.types")

    lists = 0
    while types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        kind, lists = kind.value_type, lists + 1
    here = (*path, (name, lists))
    if types.is_struct(kind) and len(here) < _DEEPEST:
        for one in kind:
            _walk_type(one.name, one.type, here, found)
    elif len(found) < _MOST_COLUMNS:
        found[here] = TEXT if _is_text(kind) else str(kind)


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
            return array if pyarrow.types.is_large_string(array.type) else array.cast(pyarrow.large_string())
        # Unlike `array.field`, this gives null where the whole struct is null.
        return _taken(compute.struct_field(array, steps[0]), steps[1:], lists[1:])
    rows = len(array)
    inner = _taken(compute.list_flatten(array), steps, (lists[0] - 1, *lists[1:]))
    parents = compute.list_parent_indices(array)
    valid = compute.is_valid(inner)
    inner, parents = inner.filter(valid), parents.filter(valid).to_numpy(zero_copy_only=False)
    numbers = np.bincount(parents.astype(np.int64), minlength=rows)
    offsets = pyarrow.array(np.concatenate(([0], np.cumsum(numbers))), pyarrow.int64())
    joined = compute.binary_join(pyarrow.LargeListArray.from_arrays(offsets, inner), pyarrow.scalar("\n", inner.type))
    return compute.if_else(pyarrow.array(numbers > 0), joined, pyarrow.scalar(None, joined.type))
