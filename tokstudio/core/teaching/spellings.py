"""How a student's file writes tokens: its lines, and the spellings that its tokens may have."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ast
import base64
import binascii
import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise, takewhile
from typing import Literal, cast

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.wording import several
from tokstudio.core.text.byte_level import to_bytes, to_characters

# --- A row of a file of merges: both tokens as they are written, or a line that is still to be divided ----------------

_MOST = 500_000  # more than the largest vocabularies in use

Part = str | bytes | int | list[int]
#: The two parts of a merge; or a line that is divided when its tokens are known.
Row = tuple[Part, Part] | str


def check_number(merges: int) -> None:
    """Raises FormatError where there are more merges than are read."""
    if merges > _MOST:
        raise FormatError(f"it has {several(merges, 'merge')}: at most {_MOST:,} are read.")


# --- Lines ------------------------------------------------------------------------------------------------------------
# Lines of text with a merge on each become rows: as a table, in quotes, as ids, with numbers or comments beside.

#: What stands between two tokens of a line.
SIGNS = (" + ", "\t", " ", ", ", ",", ";")
_LONGEST_HEADING = 300
_COMMENT = ("#", "//")
_BYTES_LITERAL = re.compile(r"""b'(?:[^'\\]|\\.)*+'|b"(?:[^"\\]|\\.)*+\"""")
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
    """The rows of a text; raises FormatError where a line of a table has not as many fields as its heading."""
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
            ids = (match[1] or match[3], match[2] or match[4]) if match is not None else None
            if ids is None and is_comment(row):
                continue
        else:
            ids = row
        if ids is None or not all(isinstance(part, str) and _is_id(part) for part in ids):
            return None
        left, right = ids
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
        pairs = [match for match in takewhile(bool, matches) if match is not None]
        if len(pairs) < 2 or len(pairs) < sum(not is_comment(each) for each in lines):
            continue
        steps = {int(b[number]) - int(a[number]) for a, b in pairwise(pairs)}
        texts = [match[rest] for match in pairs]
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
    literals = _BYTES_LITERAL.findall(line)
    is_pair = len(literals) == 2 or (len(literals) == 3 and re.search("->|=>|=", line) is not None)
    return _values(literals[:2]) if is_pair else None


def _values(literals: Sequence[str]) -> tuple[Part, Part] | None:
    try:
        left, right = map(ast.literal_eval, literals)
    except (ValueError, SyntaxError, MemoryError):
        return None
    return left, right


# --- How the tokens in rows are spelled: GPT-2's alphabet, text, latin-1, `repr`, hex, base64, or ids -----------------

Merge = tuple[bytes, bytes]
_Decode = Callable[[str], bytes]

_MOST_BYTES = 64 << 20  # of all tokens
_MOST_TRIED = 100_000_000  # characters, in all ways to divide all lines
_LONGEST_LINE = 1 << 20
_MOST_SPECIALS = 5  # that may have taken ids before those of bytes or merges
_MOST_IN_OTHER_NUMBERINGS = 50_000  # rows
_ARROWS = (" -> ", "->", " => ", "=>", " = ", " : ", ": ")  # between two tokens and what they become
_BYTES = [bytes([byte]) for byte in range(256)]


def merges_in(rows: Sequence[Row]) -> Iterator[tuple[Merge, ...]]:
    """The merges of rows, in each way that they can be read.

    Raises:
        FormatError: They can be read in one way, in which an id or the size of the tokens is wrong.
    """
    numbers = dict(enumerate(_BYTES))
    if any(isinstance(part, str) for row in rows for part in ((row,) if isinstance(row, str) else row)):
        for decode in (to_bytes, _plain, _latin_1, _repr, _hex, _base64):
            if (merges := _decoded(rows, decode, numbers, 256)) is not None:
                yield merges
        if (ids := rows_of_ids(rows)) is not None:
            with suppress(FormatError):
                yield from _numbered(ids)
    elif all(isinstance(part, int) for row in rows for part in row):
        yield from _numbered(cast("Sequence[tuple[int, int]]", rows))
    elif (merges := _decoded(rows, _plain, numbers, 256)) is not None:
        yield merges


# ---- ids


def _numbered(rows: Sequence[tuple[int, int]]) -> Iterator[tuple[Merge, ...]]:
    """The merges of ids, by each numbering that they may have."""
    error: FormatError | None = None
    is_read = False
    for tokens, first in _numberings(rows):
        try:
            merges = _decoded(rows, _plain, tokens, first)
        except FormatError as problem:
            error = error or problem
            continue
        if merges is not None:
            is_read = True
            yield merges
    if error is not None and not is_read:
        raise error


def _numberings(rows: Sequence[tuple[int, int]]) -> Iterator[tuple[dict[int, bytes], int]]:
    """The ids of bytes, and the first of the merges: special tokens may come before either."""
    yield dict(enumerate(_BYTES)), 256
    if not rows or len(rows) > _MOST_IN_OTHER_NUMBERINGS:
        return
    least = min(map(min, rows))
    # No id of a merge is used before the merge itself.
    needed = max(256, max(max(pair) - at + 1 for at, pair in enumerate(rows)))
    used = min((part for pair in rows for part in pair if part > 255), default=256)
    of_gpt2 = sorted(_BYTES, key=to_characters)
    for base in (_BYTES, of_gpt2):
        for first in range(needed, min(used, needed + _MOST_SPECIALS) + 1):
            if base is of_gpt2 or first > 256:
                yield dict(enumerate(base)), first
        for specials in range(1, min(least, _MOST_SPECIALS) + 1):
            if needed <= 256 + specials:
                yield dict(enumerate(base, specials)), 256 + specials


# ---- strings


def _latin_1(text: str) -> bytes:
    return text.encode("latin-1")


def _hex(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x").replace("\\x", " "))


def _base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _repr(text: str) -> bytes:
    if "'" not in text and '"' not in text:  # then it is no literal of bytes, and need not be compiled
        raise ValueError
    value = ast.literal_eval(text)
    if not isinstance(value, bytes):
        raise ValueError
    return value


def _plain(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _decoded(rows: Sequence[Row], decode: _Decode, tokens: Mapping[int, bytes], first: int) -> tuple[Merge, ...] | None:
    """All merges with their tokens as bytes; None where a token cannot be read so. The first merge makes id `first`."""
    tokens = dict(tokens)
    tokens_so_far = set(_BYTES)
    merges: list[Merge] = []
    size = tried = 0
    for row in rows:
        tried += _ways(row) * len(row) if isinstance(row, str) else 0
        if tried > _MOST_TRIED:
            return None
        pair = _divided(row, decode, tokens_so_far) if isinstance(row, str) else _both(row, decode, tokens)
        if (
            isinstance(row, str)
            and is_comment(row)
            and (pair is None or not all(map(tokens_so_far.__contains__, pair)))
        ):
            continue
        if pair is None:
            return None
        tokens[first + len(merges)] = joined = b"".join(pair)
        merges.append(pair)
        tokens_so_far.add(joined)
        size += len(joined)
        if size > _MOST_BYTES:  # ids can double a token in each line
            raise FormatError(
                f"its first {several(len(merges), 'token')} have more than {_MOST_BYTES:,} bytes together."
            )
    return tuple(merges)


def _both(row: tuple[Part, Part], decode: _Decode, tokens: Mapping[int, bytes]) -> Merge | None:
    halves: list[bytes] = []
    for part in row:
        try:
            if isinstance(part, str):
                halves.append(decode(part))
            elif isinstance(part, int):
                halves.append(tokens[part])
            else:
                halves.append(bytes(part))
        except KeyError:
            if isinstance(part, int):
                raise FormatError(f"a merge joins id {part}, which no merge before it makes.") from None
            return None
        except (ValueError, SyntaxError, UnicodeError, MemoryError):
            return None
    return halves[0], halves[1]


def _divided(line: str, decode: _Decode, tokens: set[bytes]) -> Merge | None:
    """A line as two tokens; where a token may have a space, the division whose tokens are known."""
    for arrow in _ARROWS:
        at = line.rfind(arrow)
        if at > 0 and (pair := _halves(line[:at], decode, tokens)) is not None and tokens.issuperset(pair):
            becomes = _token(line[at + len(arrow) :], decode)
            if becomes == b"".join(pair):
                return pair
    return _halves(line, decode, tokens)


def _ways(line: str) -> int:
    """In how many places a line could be divided."""
    return sum(map(line.count, SIGNS)) if len(line) < _LONGEST_LINE else _MOST_TRIED


def _halves(line: str, decode: _Decode, tokens: set[bytes]) -> Merge | None:
    """The first division whose tokens are known; else the first one."""
    first: Merge | None = None
    for sign in SIGNS:
        at = line.find(sign)
        while at >= 0:
            left, right = _token(line[:at], decode), _token(line[at + len(sign) :], decode)
            at = line.find(sign, at + 1)
            if left and right:
                if left in tokens and right in tokens:
                    return left, right
                first = first or (left, right)
    return first


def _token(text: str, decode: _Decode) -> bytes | None:
    try:
        return decode(text)
    except (KeyError, ValueError, SyntaxError, UnicodeError, binascii.Error, MemoryError, RecursionError):
        return None
