"""How the tokens in rows are spelled: GPT-2's alphabet, text, latin-1, `repr`, hex, base64, or ids."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ast
import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import cast

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.wording import several
from tokstudio.core.teaching.lines import SIGNS, is_comment, rows_of_ids
from tokstudio.core.teaching.row import Part, Row
from tokstudio.core.text.byte_level import to_bytes, to_characters

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
    value = ast.literal_eval(text)
    if not isinstance(value, bytes):
        raise ValueError
    return value


def _plain(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _decoded(rows: Sequence[Row], decode: _Decode, tokens: Mapping[int, bytes], first: int) -> tuple[Merge, ...] | None:
    """All merges with their tokens as bytes; None where a token cannot be read so. The first merge makes id `first`."""
    tokens = dict(tokens)
    known = set(_BYTES)
    made: list[Merge] = []
    size = tried = 0
    for row in rows:
        tried += _ways(row) * len(row) if isinstance(row, str) else 0
        if tried > _MOST_TRIED:
            return None
        pair = _divided(row, decode, known) if isinstance(row, str) else _both(row, decode, tokens)
        if isinstance(row, str) and is_comment(row) and (pair is None or not all(map(known.__contains__, pair))):
            continue
        if pair is None:
            return None
        tokens[first + len(made)] = joined = b"".join(pair)
        made.append(pair)
        known.add(joined)
        size += len(joined)
        if size > _MOST_BYTES:  # ids can double a token in each line
            raise FormatError(f"its first {several(len(made), 'token')} have more than {_MOST_BYTES:,} bytes together.")
    return tuple(made)


def _both(row: tuple[Part, Part], decode: _Decode, tokens: Mapping[int, bytes]) -> Merge | None:
    found: list[bytes] = []
    for part in row:
        try:
            if isinstance(part, str):
                found.append(decode(part))
            elif isinstance(part, int):
                found.append(tokens[part])
            else:
                found.append(bytes(part))
        except KeyError:
            if isinstance(part, int):
                raise FormatError(f"a merge joins id {part}, which no merge before it makes.") from None
            return None
        except (ValueError, SyntaxError, UnicodeError, MemoryError):
            return None
    return found[0], found[1]


def _divided(line: str, decode: _Decode, known: set[bytes]) -> Merge | None:
    """A line as two tokens; where a token may have a space, the division whose tokens are known."""
    for arrow in _ARROWS:
        at = line.rfind(arrow)
        if at > 0 and (pair := _halves(line[:at], decode, known)) is not None and known.issuperset(pair):
            becomes = _token(line[at + len(arrow) :], decode)
            if becomes == b"".join(pair):
                return pair
    return _halves(line, decode, known)


def _ways(line: str) -> int:
    """In how many places a line could be divided."""
    return sum(map(line.count, SIGNS)) if len(line) < _LONGEST_LINE else _MOST_TRIED


def _halves(line: str, decode: _Decode, known: set[bytes]) -> Merge | None:
    """The first division whose tokens are known; else the first one."""
    first: Merge | None = None
    for sign in SIGNS:
        at = line.find(sign)
        while at >= 0:
            left, right = _token(line[:at], decode), _token(line[at + len(sign) :], decode)
            at = line.find(sign, at + 1)
            if left and right:
                if left in known and right in known:
                    return left, right
                first = first or (left, right)
    return first


def _token(text: str, decode: _Decode) -> bytes | None:
    try:
        return decode(text)
    except (KeyError, ValueError, SyntaxError, UnicodeError, binascii.Error, MemoryError, RecursionError):
        return None
