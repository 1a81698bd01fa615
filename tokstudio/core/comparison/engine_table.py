"""The table of other libraries beside TokStudio: lines with other ids and their causes, as text, JSON and CSV."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import percent_text, several, shown
from tokstudio.core.comparison.engine_causes import Cause, causes_text, counted
from tokstudio.core.comparison.table import aligned
from tokstudio.version import __version__

_BEFORE, _SHOWN_IDS = 2, 16  # ids of a line, of which some stand before those that differ
_LONGEST_TEXT = 160  # characters
OURS = "TokStudio"
#: What a cell counts, a sentence.
TOKENS_OF_LINES = "Tokens more or less are those of the lines, some of which have the next word as well."
_COLUMNS = (
    "text", "library", "version", "lines", "tokens", "differing_lines", "our_tokens_of_lines", "their_tokens_of_lines",
    "causes", "problem",
)  # fmt: skip


@dataclass(frozen=True)
class DifferentLine:
    """A line with other ids: its number from 1 and place as of `LineUnits`; `theirs` are in our numbers of tokens."""

    number: int
    place: str
    text: str
    ours: tuple[int, ...]
    theirs: tuple[int, ...]
    cause: Cause


@dataclass(frozen=True)
class EngineCell:
    """What a library makes of the lines of a text."""

    differing: int
    tokens_of_lines: int  # of each line alone, with the word behind it where it has one
    causes: Mapping[Cause, int] = field(default_factory=dict[Cause, int])  # lines of each cause
    tried: int = 0  # lines for which a cause was looked for
    first: DifferentLine | None = None


@dataclass(frozen=True)
class EngineRow:
    """A text: how many lines and tokens it has; `problem` is why TokStudio itself cannot encode it."""

    name: str
    lines: int
    tokens: int  # of the text
    tokens_of_lines: int  # as in `EngineCell`
    problem: str = ""


@dataclass(frozen=True)
class EngineColumn:
    """A library with its version, and a cell for each text."""

    name: str
    version: str
    form: str = ""  # what it has read
    notes: tuple[str, ...] = ()  # what is to be known of that, such as what an export loses, a sentence each
    cells: tuple[EngineCell, ...] = ()
    problem: str = ""  # why it was not compared, a sentence; "" if it was
    failed: bool = False  # whether that is so because it refused the files, ended, or gave no answer

    @property
    def differing(self) -> int:
        """How many lines differ."""
        return sum(cell.differing for cell in self.cells)

    @property
    def tokens_of_lines(self) -> int:
        """How many tokens the lines of all texts become."""
        return sum(cell.tokens_of_lines for cell in self.cells)

    @property
    def causes(self) -> dict[Cause, int]:
        """The lines of each cause in all texts."""
        return counted([cause for cell in self.cells for cause, lines in cell.causes.items() for _ in range(lines)])


@dataclass(frozen=True)
class EngineTable:
    """Libraries side by side."""

    tokenizer: str  # the name of the tokenizer
    rows: tuple[EngineRow, ...]
    columns: tuple[EngineColumn, ...]
    notes: tuple[str, ...] = ()  # what is to be known of the texts and of our ids, a sentence each

    @property
    def compared(self) -> tuple[EngineColumn, ...]:
        """The columns of libraries that were compared."""
        return tuple(column for column in self.columns if not column.problem)

    @property
    def shown(self) -> tuple[EngineColumn, ...]:
        """Those and the ones that failed; the others cannot hold the tokenizer, or are not installed."""
        return tuple(column for column in self.columns if column.failed or not column.problem)

    @property
    def agrees(self) -> bool:
        """Whether every library that could be compared gives the same ids; there must be one."""
        failed = any(column.failed for column in self.columns) or any(row.problem for row in self.rows)
        return bool(self.compared) and not failed and not any(column.differing for column in self.columns)

    @property
    def versions(self) -> str:
        """The versions of TokStudio and the libraries."""
        libraries = (f"{column.name} {column.version}" for column in self.columns if column.version)
        return ", ".join((f"{OURS} {__version__}", *libraries))

    def cell_text(self, row: int, column: EngineColumn) -> str:
        """How many lines differ, and how many more or fewer tokens there are: "30.3 % of lines, +34.1 % tokens"."""
        if column.problem or self.rows[row].problem:
            return "–"
        return _cell_text(column.cells[row].differing, column.cells[row].tokens_of_lines, self.rows[row])

    def total_text(self, column: EngineColumn) -> str:
        """The same for all texts together."""
        rows = [row for row in self.rows if not row.problem]
        lines, tokens = sum(row.lines for row in rows), sum(row.tokens for row in rows)
        whole = EngineRow("", lines, tokens, sum(row.tokens_of_lines for row in rows))
        return "–" if column.problem else _cell_text(column.differing, column.tokens_of_lines, whole)

    def column_text(self, column: EngineColumn) -> str:
        """What is to be said of a library, in sentences: why it was not compared, or causes and what it has read."""
        name = f"{column.name} {column.version}".rstrip()
        if column.problem:
            return f"{name}: {column.problem}"
        found = f"Causes: {causes_text(column.causes)}." if column.differing else "All ids are equal."
        tried = sum(cell.tried for cell in column.cells)
        if tried < column.differing:
            found += f" Looked for in {several(tried, 'line')}."
        return " ".join((f"{name}, {column.form}: {found}", *column.notes))

    def lines(self) -> Iterator[str]:
        """Yields the table as text, what is said of each library, and the first line that differs in each."""
        heading = ["", f"{OURS}, tokens", *(column.name for column in self.shown)]
        body = [
            [row.name, f"{row.tokens:,}" if not row.problem else "–", *(self.cell_text(at, c) for c in self.shown)]
            for at, row in enumerate(self.rows)
        ]
        if len(self.rows) > 1:
            total = sum(row.tokens for row in self.rows)
            body.append(["All texts", f"{total:,}", *map(self.total_text, self.shown)])
        yield from aligned([heading, *body], (False, *[True] * (len(heading) - 1)))
        yield ""
        yield from (f"{row.name}: {row.problem}" for row in self.rows if row.problem)
        for column in self.columns:
            yield self.column_text(column)
            first = next(((row, c.first) for row, c in zip(self.rows, column.cells, strict=False) if c.first), None)
            if first is not None:
                yield from _stacked(column.name, *first)
        if any(column.differing for column in self.compared):
            yield TOKENS_OF_LINES
        yield from self.notes
        yield f"Versions: {self.versions}."

    def to_plain(self) -> dict[str, Any]:
        """The same as values for JSON."""
        return {
            "tokenizer": self.tokenizer,
            "agrees": self.agrees,
            "texts": [
                {
                    "name": row.name,
                    "lines": row.lines,
                    "tokens": row.tokens,
                    "tokens_of_lines": row.tokens_of_lines,
                    "error": row.problem or None,
                }
                for row in self.rows
            ],
            "engines": [
                {
                    "name": column.name,
                    "version": column.version or None,
                    "form": column.form or None,
                    "notes": list(column.notes),
                    "problem": column.problem or None,
                    "failed": column.failed,
                    "differing": column.differing,
                    "causes": _causes_as_plain(column.causes),
                    "texts": [
                        {
                            "name": row.name,
                            "differing": cell.differing,
                            "tokens_of_lines": cell.tokens_of_lines,
                            "causes": _causes_as_plain(cell.causes),
                            "first": None if cell.first is None else _line_as_plain(cell.first),
                        }
                        for row, cell in zip(self.rows, column.cells, strict=False)
                        if not row.problem
                    ],
                }
                for column in self.columns
            ],
            "notes": list(self.notes),
            "versions": self.versions,
        }

    def to_csv(self) -> str:
        """A row for each text and library: lines, tokens, lines that differ, tokens of these by both, and causes."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for at, row in enumerate(self.rows):
            for column in self.columns:
                cell = column.cells[at] if at < len(column.cells) and not row.problem else None
                tokens = "" if row.problem else row.tokens
                measured = ["", "", ""] if cell is None else [cell.differing, row.tokens_of_lines, cell.tokens_of_lines]
                causes = "" if cell is None or not cell.causes else causes_text(cell.causes)
                problem = row.problem or column.problem
                writer.writerow([row.name, column.name, column.version, row.lines, tokens, *measured, causes, problem])
        return file.getvalue()


def _cell_text(differing: int, tokens_of_lines: int, row: EngineRow) -> str:
    if not differing:
        return "0 lines differ"
    share = percent_text(differing / max(1, row.lines), 1)
    more = tokens_of_lines - row.tokens_of_lines
    part = percent_text(abs(more) / max(1, row.tokens_of_lines), 1)
    return f"{share} of lines, {'+' if more >= 0 else '−'}{part} tokens"


def _stacked(name: str, row: EngineRow, line: DifferentLine) -> Iterator[str]:
    """Yields the first line that differs: its text, and the ids of both from a little before where they do."""
    pairs = zip(line.ours, line.theirs, strict=False)
    shortest = min(len(line.ours), len(line.theirs))
    start = max(0, next((at for at, (a, b) in enumerate(pairs) if a != b), shortest) - _BEFORE)
    width = max(len(OURS), len(name))
    yield f"  {row.name}, {line.place}, {line.cause}: {shown(line.text, _LONGEST_TEXT)}"
    for each, ids in ((OURS, line.ours), (name, line.theirs)):
        some = " ".join(map(str, ids[start : start + _SHOWN_IDS]))
        more = " …" if len(ids) > start + _SHOWN_IDS else ""
        yield f"    {each:<{width}}  {'… ' if start else ''}{some}{more}"


def _causes_as_plain(causes: Mapping[Cause, int]) -> list[dict[str, Any]]:
    return [{"cause": cause.name, "does": cause.does or None, "lines": lines} for cause, lines in causes.items()]


def _line_as_plain(line: DifferentLine) -> dict[str, Any]:
    return {
        "line": line.number,
        "place": line.place,
        "text": line.text,
        "ours": list(line.ours),
        "theirs": list(line.theirs),
        "cause": line.cause.name,
        "does": line.cause.does or None,
    }
