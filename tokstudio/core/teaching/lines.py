"""Lines of text with a merge on each become rows: as a table, in quotes, as ids, with numbers or comments beside."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ast
import csv
import io
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile
from typing import Literal

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.wording import several
from tokstudio.core.teaching.row import Part, Row, check_number

#: What stands between two tokens of a line.
SIGNS = (" + ", "\t", " ", ", ", ",", ";")
_LONGEST_HEADING = 300
_COMMENT = ("#", "//")
_BYTES = re.compile(r"""b'(?:[^'\\]|\\.)*+'|b"(?:[^"\\]|\\.)*+\"""")
_TEXT = r"""(?:'(?:[^'\\]|\\.)++'|"(?:[^"\\]|\\.)++")"""
_QUOTED = re.compile(
    rf"[(\[]?({_TEXT})(?:, ?| \+ | |\t)({_TEXT})[)\]]?(?: ?(?:->|=>|=|:|,) ?(?:{_TEXT}|[0-9]{{1,9}}))?[,;]?"
)
_IDS = re.compile(
    r"\(?([0-9]{1,9})(?:,? |,|;|\t| ?\+ ?)([0-9]{1,9})\)?(?: ?(?:->|=>|=|:) ?[0-9]{1,9})?[,;]?"
    r"|[^()]{0,60}\(([0-9]{1,9}), ?([0-9]{1,9})\).{0,300}"  # such as "merging (101, 32) into a new token 256"
)
_NUMBER_BEFORE = re.compile(r"([0-9]{1,9})(?:[.:)]?[ \t]|[,;] ?)(.+)")
_NUMBER_AFTER = re.compile(r"(.+?)(?: ?(?:->|=>|=|:) ?|[ \t]|[,;] ?)([0-9]{1,9})")
_LEFT = re.compile(r"(?:left|first)(?:token|id|part|symbol)?|(?:token|id|symbol|part|pair)(?:0|1|a|left|first)")
_RIGHT = re.compile(r"(?:right|second)(?:token|id|part|symbol)?|(?:token|id|symbol|part|pair)(?:1|2|b|right|second)")
_PAIR = re.compile(r"pairs?|merges?|bpe")


def is_comment(line: str) -> bool:
    """Whether a line may be a comment; a merge may begin so too."""
    return line.lstrip().startswith(_COMMENT)


def rows_of_lines(text: str) -> list[Row]:
    """The rows of a text.

    Raises:
        FormatError: It is a table, and a line has not as many fields as its heading.
    """
    lines = [line for each in text.split("\n") if (line := each.removesuffix("\r"))]
    check_number(len(lines))
    if lines and lines[0].startswith("#version"):
        del lines[0]
    heading = next((at for at, line in enumerate(lines) if not is_comment(line)), 0)
    if lines and (columns := _columns(lines[heading])) is not None:
        sign, places = columns
        if sign != " ":
            return _table(text, sign, lines[heading], places)
        del lines[heading]
    lines = _without_numbers(lines)
    plain = [line for line in lines if not is_comment(line)]
    if plain and (pairs := _quoted(plain)) is not None:
        return pairs
    return [_of_bytes(line) or line for line in lines]


def rows_of_ids(rows: Sequence[Row]) -> list[tuple[int, int]] | None:
    """Rows such as "104 101" as ids; None where a row is anything else."""
    pairs: list[tuple[int, int]] = []
    for row in rows:
        if isinstance(row, str):
            match = _IDS.fullmatch(row)
            found = (match[1] or match[3], match[2] or match[4]) if match is not None else None
            if found is None and is_comment(row):
                continue
        else:
            found = row
        if found is None or not all(isinstance(part, str) and _is_id(part) for part in found):
            return None
        left, right = found
        pairs.append((int(str(left)), int(str(right))))
    return pairs


def _is_id(part: str) -> bool:
    return len(part) < 10 and part.isascii() and part.isdigit()


# ---- a table


def _columns(line: str) -> tuple[str, tuple[int, ...]] | None:
    """What divides the fields of a heading, and the places of both tokens, or of the pair; None if it is none."""
    if len(line) > _LONGEST_HEADING:
        return None
    for sign in "\t;, ":
        names = [re.sub(r"[\W_]", "", name.lower()) for name in line.split(sign)]
        left = next((at for at, name in enumerate(names) if _LEFT.fullmatch(name)), None)
        right = next((at for at, name in enumerate(names) if at != left and _RIGHT.fullmatch(name)), None)
        if left is not None and right is not None:
            return sign, (left, right)
        pair = next((at for at, name in enumerate(names) if _PAIR.fullmatch(name)), None)
        if pair is not None and len(names) > 1 and sign != " ":
            return sign, (pair,)
    return None


def _table(text: str, sign: str, heading: str, places: Sequence[int]) -> list[Row]:
    """The rows of CSV; where quotes do not fit, they are taken as tokens."""
    try:
        return _fields(text, sign, heading, places, csv.QUOTE_MINIMAL)
    except FormatError:
        return _fields(text, sign, heading, places, csv.QUOTE_NONE)


def _fields(text: str, sign: str, heading: str, places: Sequence[int], quoting: Literal[0, 3]) -> list[Row]:
    rows: list[Row] = []
    names, reader = list[str](), csv.reader([heading], delimiter=sign, quoting=quoting)
    try:
        names = next(reader, names)
        if len(names) <= max(places):
            raise FormatError("its heading has other columns where quotes are read as those of CSV.")
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=sign, quoting=quoting)
        for fields in reader:
            if not any(fields) or fields == names or (is_comment(fields[0]) and len(fields) < len(names)):
                continue
            if len(fields) != len(names):
                raise FormatError(
                    f"line {reader.line_num:,} has {several(len(fields), 'field')}, and the heading {len(names):,}."
                )
            left, right = fields[places[0]], fields[places[-1]]
            rows.append((left, right) if len(places) == 2 else _pair_of_field(left))
    except csv.Error as error:
        raise FormatError(f"line {reader.line_num:,} is not CSV: {str(error).partition(' - ')[0]}.") from None
    return rows


def _pair_of_field(field: str) -> Row:
    match = _QUOTED.fullmatch(field)
    parts = _values(match.groups()) if match is not None else None
    return _of_bytes(field) or parts or field


# ---- lines


def _without_numbers(lines: list[str]) -> list[str]:
    """Lines without a column of ranks, ids or counts before or after two tokens."""
    for pattern, number, rest in ((_NUMBER_BEFORE, 1, 2), (_NUMBER_AFTER, 2, 1)):
        matches = (pattern.fullmatch(line) for line in lines if not is_comment(line))
        found = [match for match in takewhile(bool, matches) if match is not None]
        if len(found) < 2 or len(found) < sum(not is_comment(each) for each in lines):
            continue
        steps = {int(b[number]) - int(a[number]) for a, b in pairwise(found)}
        texts = [match[rest] for match in found]
        if (steps == {1} or (max(steps) <= 0 and min(steps) < 0)) and all(map(_has_two_parts, texts)):
            return texts
    return lines


def _has_two_parts(text: str) -> bool:
    return any(sign in text.strip() for sign in SIGNS)


def _quoted(lines: Iterable[str]) -> list[Row] | None:
    """Lines such as `('t', 'h')` or `"t" "h"`; None where one is anything else."""
    rows: list[Row] = []
    for line in lines:
        match = _QUOTED.fullmatch(line.strip())
        parts = _values(match.groups()) if match is not None else None
        if parts is None:
            return None
        rows.append(parts)
    return rows


def _of_bytes(line: str) -> Row | None:
    """A line with two tokens as `repr` of Python's bytes, and perhaps what becomes of them."""
    literals = _BYTES.findall(line)
    is_pair = len(literals) == 2 or (len(literals) == 3 and re.search("->|=>|=", line) is not None)
    return _values(literals[:2]) if is_pair else None


def _values(literals: Sequence[str]) -> tuple[Part, Part] | None:
    try:
        left, right = map(ast.literal_eval, literals)
    except (ValueError, SyntaxError, MemoryError):
        return None
    return left, right
