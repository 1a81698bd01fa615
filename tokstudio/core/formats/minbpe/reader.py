"""Reads minbpe's `NAME.model`; an invalid line is an error with its number."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.format import GIGABYTE
from tokstudio.core.formats.common.line_reader import LineReader
from tokstudio.core.formats.common.merge_list import MergeList, id_problem
from tokstudio.core.formats.common.split_regex import named_pattern
from tokstudio.core.model.alphabet import BYTES, Alphabet
from tokstudio.core.pretokenization.custom_regex import compile_expression
from tokstudio.core.pretokenization.patterns import NAMES

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

VERSION = b"minbpe v1"

_NUMBER = re.compile(r"[0-9]{1,12}")


def read_work(path: Path, name: str, pattern: str | None) -> Work[Tokenizer]:
    """The tokenizer of a file, with the given pattern where the file has none.

    Raises:
        FormatError: It is damaged; the message begins with `name`.
    """
    with LineReader(path, name, GIGABYTE) as lines:
        rows = iter(lines)
        if _next(lines, rows, "the version").strip().encode() != VERSION:
            raise lines.fault("the version is not minbpe v1")
        regex = _next(lines, rows, "the pattern")
        specials = yield from _read_specials(lines, rows)
        merges = MergeList(Alphabet.of_bytes())
        for row in rows:
            left, right, result = (*_pair(lines, row), BYTES + len(merges))
            if problem := id_problem(result) or merges.add(left, right, result):
                raise lines.fault(problem)
            yield from lines.progress()
        if not _ends_with_a_line(path):
            raise lines.fault("the last line has no line ending")
    for token, number in specials.items():
        if merges.has(number):
            raise FormatError(
                f"{name}: the special token {shown(token)} has the id {number}, which a byte or a merge also has."
            )
    return merges.tokenizer(name, specials, _pattern(name, regex) if regex else pattern or "none")


def _next(lines: LineReader, rows: Iterator[bytes], what: str) -> str:
    row = next(rows, None)
    if row is None:
        raise lines.fault(f"the file ends before {what}")
    try:
        return row.decode()
    except UnicodeDecodeError as error:
        raise lines.fault("this is not UTF-8") from error


def _read_specials(lines: LineReader, rows: Iterator[bytes]) -> Work[dict[str, int]]:
    declared = _next(lines, rows, "the number of special tokens").strip()
    if not _NUMBER.fullmatch(declared):
        raise lines.fault(f"{shown(declared)} is not the number of special tokens")
    specials: dict[str, int] = {}
    ids: set[int] = set()
    # Memory is taken only for tokens that exist, whatever the number says.
    while len(specials) < int(declared):
        words = _next(lines, rows, f"special token {len(specials) + 1:,} of {int(declared):,}").split()
        if len(words) != 2:
            raise lines.fault("a special token must be a word, a space and an id")
        token, number = words[0], _id(lines, words[1])
        if token in specials:
            raise lines.fault(f"the special token {shown(token)} appears twice")
        if number in ids:
            raise lines.fault(f"the special token {shown(token)} has the id {number}, which another special token has")
        specials[token] = number
        ids.add(number)
        yield from lines.progress()
    if hidden := _hidden(specials):
        raise lines.fault(
            f"the special token {shown(hidden[0])} comes before {shown(hidden[1])}, which begins with it, "
            "so minbpe never finds the second: TokStudio does not support that"
        )
    return dict(sorted(specials.items(), key=lambda item: item[1]))


def _hidden(specials: Mapping[str, int]) -> tuple[str, str] | None:
    """A special token and a later one that begins with it: minbpe takes the first, TokStudio the longest."""
    place = {token: number for number, token in enumerate(specials)}
    lengths = sorted(set(map(len, specials)))
    for token in specials:
        for length in lengths[: bisect_left(lengths, len(token))]:
            if place.get(token[:length], len(place)) < place[token]:
                return token[:length], token
    return None


def _pair(lines: LineReader, row: bytes) -> tuple[int, int]:
    words = row.split()
    if len(words) != 2:
        raise lines.fault("a merge must be two ids with a space between them")
    return _id(lines, words[0].decode("ascii", "replace")), _id(lines, words[1].decode("ascii", "replace"))


def _id(lines: LineReader, word: str) -> int:
    number = int(word) if _NUMBER.fullmatch(word) else None
    if problem := id_problem(number):
        raise lines.fault(f"{shown(word)}: {problem}")
    return cast("int", number)


def _pattern(name: str, regex: str) -> str:
    if regex in NAMES:
        raise FormatError(f"{name}: its pattern is the word {shown(regex)}, which covers no text.")
    pattern = named_pattern(name, regex)
    if compile_expression(regex).groups:
        raise FormatError(
            f"{name}: its pattern has groups, and minbpe keeps only what they match: TokStudio does not support that."
        )
    return pattern


def _ends_with_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
