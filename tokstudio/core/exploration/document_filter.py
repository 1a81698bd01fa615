"""Which documents pass a filter such as `tokens>1000 script:Han repeated>50% "buy now"`.

Conditions on columns and words of the text, separated by spaces: all must hold. Words are found whatever their case, in
any place of a document, also within longer words.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import shown
from tokstudio.core.corpus.source import Source
from tokstudio.core.exploration.finders import TextFinder

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TERM = re.compile(r'\s*(?:([A-Za-z][\w/-]*)(>=|<=|[><=:]))?(?:"([^"]*)("?)|(\S*))')
_NUMBER = re.compile(r"(\d[\d,]*(?:\.\d+)?|\.\d+)\s*(%|kB|MB|GB|k|M)?")
_UNITS = {None: 1.0, "%": 0.01, "k": 1e3, "kB": 1e3, "M": 1e6, "MB": 1e6, "GB": 1e9}
_TESTS: dict[str, Callable[..., NDArray[np.bool_]]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    "=": operator.eq,
}
_LONGEST_SHOWN = 30  # characters

#: The columns that hold numbers, by the names that a filter has for them.
NUMBERS = {
    "number": "number",
    "bytes": "bytes",
    "characters": "characters",
    "lines": "lines",
    "tokens": "tokens",
    "bytes/token": "bytes_per_token",
    "repeated": "repeated",
    "not-utf-8": "not_utf8",
    "longest-line": "longest_line",
    "longest-run": "longest_run",
    "uses": "uses",
}
#: The columns that hold names.
NAMES = ("source", "script")


@dataclass(frozen=True)
class Condition:
    """A condition on a column of numbers."""

    column: str  # a value of `NUMBERS`
    test: str
    value: float


@dataclass(frozen=True)
class DocumentFilter:
    """A parsed filter."""

    conditions: tuple[Condition, ...] = ()
    names: tuple[tuple[str, str], ...] = ()  # a column of `NAMES`, and what its name contains, in lower case
    words: tuple[str, ...] = ()  # texts that a document contains

    @classmethod
    def parse(cls, text: str) -> DocumentFilter:
        """Parses a filter; raises ConfigError where a column is unknown, or a value is not one of its kind."""
        conditions, names, words, at = list[Condition](), list[tuple[str, str]](), list[str](), 0
        text = text.strip()
        while at < len(text):
            match = _TERM.match(text, at)
            assert match is not None
            at = match.end()
            column, test, quoted, end, plain = match.groups()
            if quoted is not None and not end:
                raise ConfigError(f'The quotation mark before {shown(quoted, _LONGEST_SHOWN)} has no other: add a ".')
            value = plain if quoted is None else quoted
            if column is None:
                words += [value] if value else []
            elif test == ":" and column.lower() not in NUMBERS and not get_close_matches(column.lower(), NAMES, 1):
                words.append(column + test + value)  # such as an address
            elif column.lower() in NAMES:
                if test not in (":", "="):
                    raise ConfigError(f"Write {column}:NAME, such as {column}:{_example(column)}.")
                names.append((column.lower(), _given(value, column, test).lower()))
            else:
                conditions.append(_condition(column, test, value))
        return cls(tuple(conditions), tuple(names), tuple(words))

    def passing_work(
        self, sources: Sequence[Source], columns: Mapping[str, NDArray[np.generic]], names: Mapping[str, Sequence[str]]
    ) -> Work[NDArray[np.bool_]]:
        """Which documents pass; see `passes`, which looks at no words."""
        passing = self.passes(columns, names)
        total, done = len(self.words) * sum(len(source.data) for source in sources), 0
        for finder in [TextFinder(word, case=False) for word in self.words]:
            first = 0
            for source in sources:
                holding = np.zeros(source.documents, np.bool_)
                for found in finder.found(source, source.ends):
                    holding[found.documents] = True
                    yield Progress("filtering", done + found.at, total)
                passing[first : first + source.documents] &= holding
                first, done = first + source.documents, done + len(source.data)
        return passing

    def passes(
        self, columns: Mapping[str, NDArray[np.generic]], names: Mapping[str, Sequence[str]]
    ) -> NDArray[np.bool_]:
        """Which documents meet all conditions; bool [documents]. Words are not looked at.

        Args:
            columns: By name, numbers of each document; those of `NAMES` are indices.
            names: What those indices stand for.

        Raises:
            ConfigError: A column is not known here, such as tokens without a tokenizer.
        """
        passing = np.ones(len(columns["source"]), np.bool_)
        for condition in self.conditions:
            column = next(name for name, key in NUMBERS.items() if key == condition.column)
            passing &= _TESTS[condition.test](_known(columns, condition.column, column), condition.value)
        for column, wanted in self.names:
            values = _known(columns, column, column)
            fitting = [number for number, name in enumerate(names[column]) if wanted in name.lower()]
            if not fitting and column == "script":
                there = ", ".join(names[column][:8])
                raise ConfigError(f"No document has the script {shown(wanted, _LONGEST_SHOWN)}. There are: {there}.")
            passing &= np.isin(values, fitting)
        return passing


def _condition(column: str, test: str, value: str) -> Condition:
    key = NUMBERS.get(column.lower())
    if key is None:
        near = get_close_matches(column.lower(), [*NUMBERS, *NAMES], 1)
        guess = f" Do you mean {near[0]}?" if near else f" Columns are {', '.join([*NAMES, *NUMBERS])}."
        whole = f'"{column}{test}{value}"'
        raise ConfigError(f"There is no column {shown(column, _LONGEST_SHOWN)}.{guess} For the text itself: {whole}.")
    if test == ":":
        test = "="
    number = _NUMBER.fullmatch(_given(value, column, test))
    if number is None:
        example = "50%" if key == "repeated" else "1,000"
        raise ConfigError(f"{column} needs a number, such as {column}{test}{example}, not {shown(value, 20)}.")
    if number[2] == "%" and key != "repeated":
        raise ConfigError(f"{column} is no share: write a number without %.")
    found = float(number[1].replace(",", "")) * _UNITS[number[2]]
    if key == "repeated" and number[2] is None:
        found /= 100
    return Condition(key, test, found)


def _given(value: str, column: str, test: str) -> str:
    if not value:
        example = _example(column.lower()) if column.lower() in NAMES else "1,000"
        raise ConfigError(f"A value is missing after {column}{test}: write {column}{test}{example}.")
    return value


def _example(column: str) -> str:
    return "Han" if column == "script" else "de.txt"


def _known(columns: Mapping[str, NDArray[np.generic]], key: str, name: str) -> NDArray[np.generic]:
    if key in columns:
        return columns[key]
    if key == "uses":
        raise ConfigError("Choose a token to filter by its uses.")
    if key in ("tokens", "bytes_per_token"):
        raise ConfigError(f"The column {name} needs a tokenizer: train one or open one.")
    raise ConfigError(f"The column {name} is not known here.")
