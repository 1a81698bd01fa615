"""Tables of figures as Markdown, CSV and plain text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.wording import printable
from tokstudio.core.comparison.table import UNITS, FigureTable

_WIDE = ("W", "F")
_MARKUP = re.compile(r"([\\`*_{}\[\]#|~!])")


def markdown(tables: Iterable[FigureTable]) -> str:
    """Each figure with its formula, a table in which the best of each row is bold, and what to know of it."""
    return "\n".join("\n".join(_markdown_lines(table)) + "\n" for table in tables)


def _markdown_lines(table: FigureTable) -> Iterator[str]:
    yield f"**{table.figure.title}** = {_plain(table.heading.removeprefix(f'{table.figure.title} = '))}"
    yield ""
    rows = list(_rows(table, bold="**"))
    yield _line(["", *map(_plain, rows[0][1:])])
    yield _line(["---", *("---:" if number else "---" for number in _is_number(table))])
    for name, *cells in rows[1:]:
        yield _line([_plain(name), *cells])
    if table.notes:
        yield from ("", _plain(" ".join(table.notes)))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """A text that Markdown shows as it is."""
    return _MARKUP.sub(r"\\\1", printable(text).replace("&", "&amp;").replace("<", "&lt;"))


def csv_text(tables: Iterable[FigureTable]) -> str:
    """A row for each figure and text, and for what is below it, with all digits; empty where there is no number.

    Shares are numbers up to 1. The column after the text says what W counts, for figures of words.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for number, table in enumerate(tables):
        if number == 0:
            writer.writerow(["figure", "text", UNITS, *table.tokenizers])
        units = table.units or ("",) * len(table.texts)
        rows = list(zip(table.texts, units, table.values.tolist(), strict=True))
        for text, unit, values in [*rows, *((row.name, "", row.values) for row in table.below)]:
            writer.writerow([table.figure.name, text, unit, *map(_number, values)])
    return file.getvalue()


def numbers(values: NDArray[np.float64]) -> list[Any]:
    """Numbers in lists, None for NaN, whole numbers as such."""
    return [numbers(row) for row in values] if values.ndim > 1 else [_number(value) for value in values.tolist()]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else int(value) if value.is_integer() else value


def plain_text(tables: Iterable[FigureTable]) -> str:
    """Each figure with its formula, and a table whose columns are aligned in a terminal."""
    return "\n".join("\n".join(_aligned_lines(table)) + "\n" for table in tables)


def _aligned_lines(table: FigureTable) -> Iterator[str]:
    yield printable(table.heading)
    rows = [[printable(cell) for cell in row] for row in _rows(table)]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells: list[str] = []
        for cell, width, is_number in zip(row, widths, (False, *_is_number(table)), strict=True):
            blank = " " * (width - _width(cell))
            cells.append(blank + cell if is_number else cell + blank)
        yield "  ".join(cells).rstrip()


def _width(text: str) -> int:
    """The columns that a text takes in a terminal."""
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 1 + (unicodedata.east_asian_width(c) in _WIDE)
        for c in text
    )


def _is_number(table: FigureTable) -> tuple[bool, ...]:
    """Whether each column after the first has numbers."""
    return (*([False] if table.units else []), *(True for _ in table.tokenizers))


def _rows(table: FigureTable, bold: str = "") -> Iterator[list[str]]:
    """The cells of the heading, of each text, and of what is below; the first of each is the name."""
    has_units = [""] if table.units else []
    yield ["", *([UNITS] if table.units else []), *table.tokenizers]
    for text, name in enumerate(table.texts):
        cells = [table.cell(text, tokenizer) for tokenizer in range(len(table.tokenizers))]
        marks = [bold if best else "" for best in table.best[text].tolist()]
        units = [table.units[text]] if table.units else []
        yield [name, *units, *(f"{mark}{cell}{mark}" for mark, cell in zip(marks, cells, strict=True))]
    for row in table.below:
        marks = [bold if best else "" for best in table.best_below(row).tolist()]
        yield [row.name, *has_units, *(f"{mark}{cell}{mark}" for mark, cell in zip(marks, row.cells, strict=True))]
