"""What a look at the beginning of a file shows: its kind and its columns."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.wording import shown
from tokstudio.core.corpus.readers.reading import TEXT_FIELDS

TEXT = "text"
_MOST_NAMED = 12


@dataclass(frozen=True)
class Column:
    """A column of a data set; that of a nested value has a path as its name.

    Attributes:
        name: Such as "text" or "messages.content".
        kind: "text" for one that can be the text of documents, else such as "number" or "mixed".
        values: Up to ten of its first texts, shortened; none where it holds no text.
        steps: The names on the path.
        lists: For each step, how many lists are around what stands there.
        length: The mean number of characters of its first texts.
    """

    name: str
    kind: str
    values: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    lists: tuple[int, ...] = ()
    length: float = 0.0


@dataclass(frozen=True)
class Contents:
    """What is in a file or a folder, as far as its beginning shows.

    Attributes:
        name: The name of the file or the folder.
        kind: Such as "Parquet", "JSON Lines, zstd" or "plain text".
        columns: The columns of a data set in their order; none for plain text.
        field: The name of the column that is read where none is chosen; None where there is no text.
        delimiter: What separates the columns of CSV; None for anything else.
        files: How many files there are: the members of an archive, the shards of a data set.
        rows: How many rows there are; None where only reading all would tell.
    """

    name: str
    kind: str
    columns: tuple[Column, ...] = ()
    field: str | None = None
    delimiter: str | None = None
    files: int = 1
    rows: int | None = None

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
    known = list(columns)
    for column in known:
        if column.name == name:
            return column
    names = [shown(column.name) for column in known[:_MOST_NAMED]]
    more = f" and {len(known) - _MOST_NAMED:,} more" if len(known) > _MOST_NAMED else ""
    raise CorpusError(f"{file}: there is no column {shown(name)}; there are {', '.join(names)}{more}.")
