"""One figure of a comparison as a table: its numbers, how they are written, and what stands below them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import columns_of, percent_text, printable
from tokstudio.core.comparison.figures import Better, Figure

if TYPE_CHECKING:
    from numpy.typing import NDArray

MISSING = "\N{EN DASH}"
LOST, TRAINED = "*", "\N{DAGGER}"  # the signs before a number
#: What the signs mean, each in the order in which they stand.
SIGNS = {
    LOST: "Text is unknown to the tokenizer or lost: the number is not ranked beside others.",
    TRAINED: "Trained on this text, or on a part of it: the number says little about other text.",
}
UNITS = "W counts"  # the heading of the column that says what a word is


def number_text(value: float, decimals: int, is_share: bool = False) -> str:
    """A number with its decimals, a share as percent: "1,234", "4.88", "12.3 %"; a dash for NaN."""
    if math.isnan(value):
        return MISSING
    return percent_text(value, decimals) if is_share else f"{value:,.{decimals}f}"


def interval_text(ends: NDArray[np.float64], decimals: int) -> str:
    """The ends of an interval, float64 [2]: "[1.48, 1.57]"; "" for NaN."""
    low, high = (number_text(end, decimals) for end in ends.tolist())
    return "" if np.isnan(ends).any() else f"[{low}, {high}]"


@dataclass(frozen=True)
class Below:
    """A row below the texts, such as the totals."""

    name: str
    values: tuple[float, ...]  # by tokenizer
    decimals: int
    is_share: bool = False
    better: Better = None  # which of two values is marked as the better one
    intervals: NDArray[np.float64] | None = None  # [tokenizers, 2], NaN where there is none

    @property
    def cells(self) -> tuple[str, ...]:
        """Its numbers as they are written."""
        return tuple(number_text(value, self.decimals, self.is_share) for value in self.values)

    @property
    def interval_texts(self) -> tuple[str, ...]:
        """The intervals as they are written, "" for none."""
        if self.intervals is None:
            return ("",) * len(self.values)
        return tuple(interval_text(ends, self.decimals) for ends in self.intervals)

    @property
    def is_known(self) -> bool:
        """Whether there is a number in it."""
        return not all(map(math.isnan, self.values))


@dataclass(frozen=True, eq=False)
class FigureTable:
    """A figure of each text by each tokenizer."""

    figure: Figure
    formula: str  # that of the figure, with the names that it relates to
    notes: tuple[str, ...]  # what to know of it, a sentence or two each
    tokenizers: tuple[str, ...]
    texts: tuple[str, ...]
    values: NDArray[np.float64]  # [texts, tokenizers], NaN where there is none
    below: tuple[Below, ...]
    is_ranked: tuple[bool, ...]  # for each tokenizer: a simple one is shown for comparison, and is never the best
    units: tuple[str, ...] | None  # what the words of each text are; None for a figure without words
    loses_text: NDArray[np.bool_]  # [texts, tokenizers], where text is lost: it is not ranked beside others
    trained_on: NDArray[np.bool_] | None = None  # [texts, tokenizers], where it was trained on the text; None: nowhere
    intervals: NDArray[np.float64] | None = None  # [texts, tokenizers, 2], NaN where there is none; None for none

    of_intervals: tuple[str, ...] = ()  # how the intervals were made, and where there is none

    def ends(self, text: int, tokenizer: int) -> NDArray[np.float64]:
        """The ends of the interval of a number, float64 [2]; NaN where there is none."""
        return np.full(2, np.nan) if self.intervals is None else self.intervals[text, tokenizer]

    def interval(self, text: int, tokenizer: int) -> str:
        """The interval of a number as it is written, "" for none."""
        return interval_text(self.ends(text, tokenizer), self.figure.decimals)

    def cell(self, text: int, tokenizer: int) -> str:
        """A number as it is written."""
        return number_text(float(self.values[text, tokenizer]), self.figure.decimals, self.figure.is_share)

    def signs(self, text: int, tokenizer: int) -> str:
        """The signs before a number, keys of `SIGNS`."""
        return "" if math.isnan(self.values[text, tokenizer]) else self._signs(slice(text, text + 1), tokenizer)

    def signed(self, text: int, tokenizer: int) -> str:
        """A number with the signs before it."""
        return self.signs(text, tokenizer) + self.cell(text, tokenizer)

    def signed_below(self, row: Below) -> tuple[str, ...]:
        """The numbers of a row below the texts, with the signs that hold for any text."""
        cells = enumerate(row.cells)
        return tuple(cell if cell == MISSING else self._signs(slice(None), number) + cell for number, cell in cells)

    @property
    def legend(self) -> tuple[str, ...]:
        """What the signs mean that stand in the table, a sentence each."""
        cells = np.argwhere(~np.isnan(self.values)).tolist()
        there = {sign for text, number in cells for sign in self.signs(text, number)}
        signs = tuple(f"{sign} {meaning}" for sign, meaning in SIGNS.items() if sign in there)
        has_dash = self.figure.dash and np.isnan(self.values).any()
        return (*signs, f"{MISSING} {self.figure.dash}") if has_dash else signs

    def _signs(self, texts: slice, tokenizer: int) -> str:
        lost = self.loses_text[texts, tokenizer].any()
        trained = self.trained_on is not None and self.trained_on[texts, tokenizer].any()
        return (LOST if lost else "") + (TRAINED if trained else "")

    @property
    def heading(self) -> str:
        """The figure with its formula and unit, on one line."""
        return f"{self.figure.title} = {self.formula}" + (f". Unit: {self.figure.unit}" if self.figure.unit else "")

    @cached_property
    def best(self) -> NDArray[np.bool_]:
        """Which are the best of their text; bool [texts, tokenizers]. None is where all are equal.

        Numbers that are equal as they are written are equally good.
        """
        return _best(self.ratios)

    @cached_property
    def ratios(self) -> NDArray[np.float64]:
        """How many times worse each is than the best of its text, at least 1, NaN where neither is better.

        A number is infinitely worse than the best where one of them is 0; it is 1 where it is written as the best is.
        float64 [texts, tokenizers].
        """
        figure, ranked = self.figure, np.where(np.array(self.is_ranked), self.values, np.nan)
        kept = _without(ranked, self.loses_text)
        return _as_written(_ratios(kept, figure.better), kept, figure.decimals, figure.is_share)

    def best_below(self, row: Below) -> NDArray[np.bool_]:
        """Which are the best of a row below the texts, bool [tokenizers]; without those that lose text anywhere."""
        ranked = np.where(np.array(self.is_ranked), np.array(row.values), np.nan)[np.newaxis]
        kept = _without(ranked, np.atleast_2d(self.loses_text.any(axis=0)))
        return _best(_as_written(_ratios(kept, row.better), kept, row.decimals, row.is_share))[0]


def _without(ranked: NDArray[np.float64], loses_text: NDArray[np.bool_]) -> NDArray[np.float64]:
    """NaN where text is lost, unless it is lost by all that have a number in the row."""
    kept = np.where(loses_text, np.nan, ranked)
    return np.where(np.isnan(kept).all(axis=1, keepdims=True), ranked, kept)


def _ratios(ranked: NDArray[np.float64], better: Better) -> NDArray[np.float64]:
    """How many times worse each number is than the best of its row; see `FigureTable.ratios`."""
    if better is None or not ranked.size:
        return np.full(ranked.shape, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        if better == "near 1":  # 0.5 is as far from 1 as 2
            ranked = np.maximum(ranked, 1 / ranked)
        sign = -1 if better == "more" else 1
        best = sign * np.nan_to_num(sign * ranked, nan=np.inf).min(axis=1, keepdims=True)
        over, under = (ranked, best) if sign > 0 else (best, ranked)
        return np.where(ranked == best, 1.0, over / under)


def _as_written(
    ratios: NDArray[np.float64], ranked: NDArray[np.float64], decimals: int, is_share: bool
) -> NDArray[np.float64]:
    """The same ratios, with 1 for every number that is written as a best one of its row."""
    best = np.where(ratios == 1, ranked, np.nan)
    reach = 2 * 10.0 ** -(decimals + 2 * is_share)  # no two numbers that are further apart are written alike
    low = np.nan_to_num(best, nan=np.inf).min(axis=1, keepdims=True, initial=np.inf) - reach
    high = np.nan_to_num(best, nan=-np.inf).max(axis=1, keepdims=True, initial=-np.inf) + reach
    near = (ranked >= low) & (ranked <= high) & (ratios > 1)
    written = ratios.copy()
    for row in np.flatnonzero(near.any(axis=1)).tolist():
        texts = {number_text(value, decimals, is_share) for value in best[row].tolist() if not math.isnan(value)}
        for column in np.flatnonzero(near[row]).tolist():
            if number_text(float(ranked[row, column]), decimals, is_share) in texts:
                written[row, column] = 1.0
    return written


def _best(ratios: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (ratios == 1) & (np.nan_to_num(ratios).max(axis=1, keepdims=True, initial=0) > 1)


# --- Tables of figures as Markdown, LaTeX, CSV and plain text ---------------------------------------------------------

# The first column of the rows that tell which texts a tokenizer was trained on, and of which it loses a part.
TRAINED_ON, LOSES_TEXT = "trained_on", "loses_text"

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
    head, *rows = _rows(table, _bold, _plain)
    yield _line(head)
    yield _line(["---", *("---:" if number else "---" for number in _is_number(table))])
    yield from map(_line, rows)
    if remarks := (*table.notes, *table.legend):
        yield from ("", _plain(" ".join(remarks)))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """A text that Markdown shows as it is."""
    return _MARKUP.sub(r"\\\1", printable(text).replace("&", "&amp;").replace("<", "&lt;"))


# What TeX does not print as it is. A quotation mark is a command in some languages of babel.
_TEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "`": "\\textasciigrave{}",
    "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}", '"': "\\char34{}", "\u00a0": "~",
    MISSING: "--", TRAINED: "\\textdagger{}",
}  # fmt: skip
_IN_TEX = re.compile("|".join(map(re.escape, _TEX)))
_LIGATURE = re.compile("(?<=[-',?!])(?=[-',`])")  # two characters that TeX would print as another one
_NO_CHARACTER = re.compile("[\ufffe\uffff]")


def latex(tables: Iterable[FigureTable], facts: Facts) -> str:
    """Each figure as a table of booktabs, in which the best of each row is bold; the facts are comments before them.

    A caption has the formula, and what to know of the figure stands below its table.
    """
    head = ["Needs \\usepackage{booktabs}; for other than Latin letters XeLaTeX or LuaLaTeX, and a font that has them."]
    comments = "".join(f"% {printable(line)}\n" for line in (*head, *(f"{kind}: {fact}" for kind, fact in facts)))
    return "\n".join([comments, *("\n".join(_latex_lines(table)) + "\n" for table in tables)])


def _latex_lines(table: FigureTable) -> Iterator[str]:
    head, *rows = _rows(table, _textbf, _tex)
    columns = "".join("r" if number else "l" for number in _is_number(table))
    yield from (r"\begin{table}", r"  \centering", rf"  \caption{{{_tex(table.heading)}.}}")
    yield rf"  \label{{tab:{table.figure.name.replace('_', '-')}}}"
    yield from (rf"  \begin{{tabular}}{{l{columns}}}", r"    \toprule", _tex_row(head), r"    \midrule")
    yield from map(_tex_row, rows[: len(table.texts)])
    if below := rows[len(table.texts) :]:
        yield from (r"    \midrule", *map(_tex_row, below))
    yield from (r"    \bottomrule", r"  \end{tabular}")
    if remarks := (*table.notes, *table.legend):
        yield from ("", r"  \smallskip", rf"  \parbox{{\linewidth}}{{\footnotesize {_tex(' '.join(remarks))}}}")
    yield r"\end{table}"


def _tex_row(cells: Sequence[str]) -> str:
    # After the end of a row, a bracket or an asterisk would be read as an argument of it.
    first = f"{{}}{cells[0]}" if cells[0].startswith(("[", "*")) else cells[0]
    return f"    {' & '.join([first, *cells[1:]])} \\\\"


def _tex(text: str) -> str:
    """A text that TeX prints as it is, whatever it has."""
    apart = _LIGATURE.sub("\0", _NO_CHARACTER.sub("\ufffd", printable(text)))
    return _IN_TEX.sub(lambda found: _TEX[found[0]], apart).replace("\0", "{}")


def _textbf(cell: str, is_best: bool) -> str:
    """A number in LaTeX."""
    return rf"\textbf{{{_tex(cell)}}}" if is_best else _tex(cell)


def csv_text(tables: Sequence[FigureTable], facts: Facts) -> str:
    """A row for each figure and text, and for what is below it, with all digits; empty where there is no number.

    Shares are numbers up to 1. The column after the text says what W counts, for figures of words. Ends of intervals
    are rows of their own, whose figure ends in "_low" or "_high". Then come rows of the texts that a tokenizer was
    trained on or loses a part of, and of the facts.
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
        for end, suffix in enumerate(("low", "high") if table.intervals is not None else ()):
            assert table.intervals is not None
            ends = [*zip(table.texts, table.intervals[:, :, end], strict=True)]
            ends += [(row.name, row.intervals[:, end]) for row in table.below if row.intervals is not None]
            for text, values in ends:
                writer.writerow([f"{table.figure.name}_{suffix}", text, "", *map(_number, values.tolist())])
    for table in tables[:1]:
        for kind, marked in ((TRAINED_ON, table.trained_on), (LOSES_TEXT, table.loses_text)):
            of_texts: list[list[bool]] = [] if marked is None else marked.tolist()
            for text, row in zip(table.texts, of_texts, strict=False):
                if any(row):
                    writer.writerow([kind, text, "", *(1 if each else None for each in row)])
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
    yield from aligned(list(_rows(table)), (False, *_is_number(table)))
    yield from map(printable, table.legend)


def aligned(rows: Sequence[Sequence[str]], are_numbers: Sequence[bool]) -> Iterator[str]:
    """Rows whose columns are aligned in a terminal, those of numbers to the right."""
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(columns_of, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells: list[str] = []
        for cell, width, is_number in zip(row, widths, are_numbers, strict=True):
            blank = " " * (width - columns_of(cell))
            cells.append(blank + cell if is_number else cell + blank)
        yield "  ".join(cells).rstrip()


def _is_number(table: FigureTable) -> tuple[bool, ...]:
    """Whether each column after the first has numbers."""
    return (*([False] if table.units else []), *(True for _ in table.tokenizers))


def _bold(cell: str, is_best: bool) -> str:
    """A number in Markdown."""
    return f"**{_plain(cell)}**" if is_best else _plain(cell)


def _rows(
    table: FigureTable,
    marked: Callable[[str, bool], str] = lambda cell, _: cell,
    written: Callable[[str], str] = lambda name: name,
) -> Iterator[list[str]]:
    """The cells of the heading, of each text, and of what is below; the first of each is the name.

    `marked` writes a number, which may be the best one, and `written` any other cell.
    """
    has_units = [""] if table.units else []
    yield ["", *map(written, [*([UNITS] if table.units else []), *table.tokenizers])]
    for text, name in enumerate(table.texts):
        cells = [table.signed(text, tokenizer) for tokenizer in range(len(table.tokenizers))]
        units = [table.units[text]] if table.units else []
        intervals = [table.interval(text, tokenizer) for tokenizer in range(len(table.tokenizers))]
        numbers = map(marked, cells, table.best[text].tolist())
        yield [*map(written, [name, *units]), *map(_with_interval, numbers, intervals)]
    for row in table.below:
        cells = map(marked, table.signed_below(row), table.best_below(row).tolist())
        yield [written(row.name), *has_units, *map(_with_interval, cells, row.interval_texts)]


def _with_interval(number: str, interval: str) -> str:
    return f"{number} {interval}" if interval else number
