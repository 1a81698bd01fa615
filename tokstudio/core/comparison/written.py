"""Tables of figures as Markdown, CSV and plain text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.wording import printable
from tokstudio.core.comparison.table import UNITS, FigureTable

TRAINED_ON = "trained_on"  # the first column of the rows that tell which texts a tokenizer was trained on

_WIDE = ("W", "F")
_MARKUP = re.compile(r"([\\`*_{}\[\]#|~!])")


#: Kinds of facts and the facts: what figures are of, as `Comparison.facts`.
Facts = Sequence[tuple[str, str]]


def markdown(tables: Iterable[FigureTable], facts: Facts) -> str:
    """Each figure with its formula, a table in which the best of each row is bold, and what to know of it.

    A list of the facts comes last.
    """
    parts = ["\n".join(_markdown_lines(table)) + "\n" for table in tables]
    return "\n".join([*parts, "".join(f"- {_plain(fact)}\n" for _, fact in facts)])


def _markdown_lines(table: FigureTable) -> Iterator[str]:
    yield f"**{table.figure.title}** = {_plain(table.heading.removeprefix(f'{table.figure.title} = '))}"
    yield ""
    rows = list(_rows(table, _bold))
    yield _line(["", *map(_plain, rows[0][1:])])
    yield _line(["---", *("---:" if number else "---" for number in _is_number(table))])
    for name, *cells in rows[1:]:
        yield _line([_plain(name), *cells])
    if told := (*table.notes, *table.legend):
        yield from ("", _plain(" ".join(told)))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """A text that Markdown shows as it is."""
    return _MARKUP.sub(r"\\\1", printable(text).replace("&", "&amp;").replace("<", "&lt;"))


def csv_text(tables: Sequence[FigureTable], facts: Facts) -> str:
    """A row for each figure and text, and for what is below it, with all digits; empty where there is no number.

    Shares are numbers up to 1. The column after the text says what W counts, for figures of words. Then come rows of
    the texts that a tokenizer was trained on, and of the facts.
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
    for table in tables[:1]:
        trained: list[list[bool]] = [] if table.trained_on is None else table.trained_on.tolist()
        for text, row in zip(table.texts, trained, strict=False):
            if any(row):
                writer.writerow([TRAINED_ON, text, "", *(1 if each else None for each in row)])
        writer.writerows([kind, fact, "", *[""] * len(table.tokenizers)] for kind, fact in facts)
    return file.getvalue()


def numbers(values: NDArray[np.float64]) -> list[Any]:
    """Numbers in lists, None for NaN, whole numbers as such."""
    return [numbers(row) for row in values] if values.ndim > 1 else [_number(value) for value in values.tolist()]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else int(value) if value.is_integer() else value


def plain_text(tables: Iterable[FigureTable]) -> str:
    """Each figure with its formula, a table whose columns are aligned in a terminal, and what its signs mean."""
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
    yield from map(printable, table.legend)


def _width(text: str) -> int:
    """The columns that a text takes in a terminal."""
    return sum(
        0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 1 + (unicodedata.east_asian_width(c) in _WIDE)
        for c in text
    )


def _is_number(table: FigureTable) -> tuple[bool, ...]:
    """Whether each column after the first has numbers."""
    return (*([False] if table.units else []), *(True for _ in table.tokenizers))


def _bold(cell: str, is_best: bool) -> str:
    """A number in Markdown."""
    return f"**{_plain(cell)}**" if is_best else _plain(cell)


def _unmarked(cell: str, is_best: bool) -> str:
    return cell


def _rows(table: FigureTable, marked: Callable[[str, bool], str] = _unmarked) -> Iterator[list[str]]:
    """The cells of the heading, of each text, and of what is below; the first of each is the name."""
    has_units = [""] if table.units else []
    yield ["", *([UNITS] if table.units else []), *table.tokenizers]
    for text, name in enumerate(table.texts):
        cells = [table.signed(text, tokenizer) for tokenizer in range(len(table.tokenizers))]
        units = [table.units[text]] if table.units else []
        yield [name, *units, *map(marked, cells, table.best[text].tolist())]
    for row in table.below:
        yield [row.name, *has_units, *map(marked, table.signed_below(row), table.best_below(row).tolist())]
