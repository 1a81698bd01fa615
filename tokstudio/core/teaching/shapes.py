"""What a file of merges holds: JSON, Python's own notation, a table, lines or a plain pickle becomes rows."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ast
import json
import re
import reprlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.wording import shown
from tokstudio.core.teaching.lines import rows_of_lines
from tokstudio.core.teaching.plain_pickle import is_pickle, read_pickle
from tokstudio.core.teaching.row import Part, Row, check_number

_LONGEST_LITERAL = 4 << 20  # bytes that Python's parser reads; longer ones are read line by line
_LARGEST_ID = 1 << 62
_PREFIXES = ("merges", "bpe_merges", "merge_list")
_ASSIGNED = re.compile(r"(?:#[^\n]*\n|\s)*+\w{1,40}(?: ?: ?[^=\n]{1,80})? ?= ?(?=[\[{(])")


def rows_in(data: bytes) -> list[Row]:
    """The rows of a file.

    Raises:
        FormatError: It has none, or too many.
    """
    rows = _rows(data)
    if not rows:
        raise FormatError("there are no merges in it.")
    check_number(len(rows))
    return rows


def _rows(data: bytes) -> list[Row]:
    if is_pickle(data):
        return _pairs_in(read_pickle(data))
    try:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    if text.startswith("minbpe v1"):
        return _minbpe(text)
    for read in (json.loads, _json_lines, _literal):
        try:
            value = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        if isinstance(value, (list, dict, tuple)):
            return _pairs_in(cast("object", value))
    return rows_of_lines(text)


def _json_lines(text: str) -> object:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise ValueError
    check_number(len(lines))
    return list(map(json.loads, lines))


def _literal(text: str) -> object:
    if len(text) > _LONGEST_LITERAL:
        raise ValueError
    assigned = _ASSIGNED.match(text)
    return ast.literal_eval((text[assigned.end() :] if assigned else text).strip())


def _minbpe(text: str) -> list[Row]:
    """The version, the pattern, the number of special tokens, these, and two ids a line."""
    lines = text.splitlines()
    try:
        specials = int(lines[2])
        return [(int(left), int(right)) for left, right in (line.split() for line in lines[3 + specials :])]
    except (ValueError, IndexError):
        raise FormatError("it begins as a model of minbpe and does not go on as one.") from None


def _pairs_in(value: object) -> list[Row]:
    """The pairs in a value of JSON, a literal or a pickle."""
    try:
        return _listed(value)
    except RecursionError:
        raise FormatError("its lists are nested too deeply.") from None


def _listed(value: object) -> list[Row]:
    if isinstance(value, dict):
        known = cast("dict[Any, Any]", value)
        model = known.get("model")
        if isinstance(model, dict) and "merges" in model:
            return _listed(cast("dict[str, object]", model)["merges"])
        for name in _PREFIXES:
            if name in known:
                return _listed(known[name])
        return _pairs_of_keys(known)
    if isinstance(value, (list, tuple)):
        listed = cast("Sequence[object]", value)
        if len(listed) == 2 and isinstance(listed[0], dict) and isinstance(listed[1], (list, tuple)):
            return _listed(cast("object", listed[1]))  # after the vocabulary
        check_number(len(listed))
        return [_pair(each, at) for at, each in enumerate(listed, 1)]
    raise FormatError("it has no list of merges.")


def _pairs_of_keys(known: dict[Any, Any]) -> list[Row]:
    """A dictionary of pairs, such as minbpe's, with ids or ranks as values."""
    if known and all(map(_is_row, known.values())):
        with suppress(ValueError, TypeError):  # ranks or ids with their pairs
            return [_pair(known[key], at) for at, key in enumerate(sorted(known, key=_number), 1)]
    if known and all(isinstance(key, (str, bytes, int)) for key in known) and not _are_pairs(known):
        raise FormatError("it is a vocabulary: the merges are needed too, such as merges.txt.")
    are_numbers = all(isinstance(value, int) for value in known.values())
    keys = sorted(known, key=known.__getitem__) if are_numbers else list(known)
    return [_pair(_key(key), at) for at, key in enumerate(keys, 1)]


def _is_row(value: object) -> bool:
    return isinstance(value, (list, tuple)) and len(cast("Sequence[object]", value)) == 2


def _number(key: str | int) -> int:
    return int(key)


def _are_pairs(known: dict[Any, Any]) -> bool:
    return all(isinstance(_key(key), (list, tuple)) or (isinstance(key, str) and " " in key.strip()) for key in known)


def _key(key: object) -> object:
    """A key of JSON that spells a pair: "97,98", "(97, 98)" or "(b'a', b'b')"."""
    if isinstance(key, str) and ("," in key):
        try:
            return ast.literal_eval(key)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return key
    return key


def _pair(value: object, at: int) -> Row:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        known = cast("dict[str, object]", value)
        value = known.get("pair", [known.get("left"), known.get("right")])
    if isinstance(value, (list, tuple)):
        parts = cast("Sequence[object]", value)
        if len(parts) == 2 and isinstance(parts[0], (list, tuple)) and isinstance(parts[1], int):
            return _pair(cast("object", parts[0]), at)  # a pair with its id
        if len(parts) in (2, 3) and all(map(_is_part, parts)):
            left, right = cast("Sequence[Part]", parts)[:2]
            return left, right
    raise FormatError(f"merge {at:,} is not a pair of tokens: {_brief(cast('object', value))}.")


def _is_part(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(isinstance(byte, int) and 0 <= byte < 256 for byte in cast("Sequence[object]", value))
    if isinstance(value, int):
        return not isinstance(value, bool) and -_LARGEST_ID < value < _LARGEST_ID
    return isinstance(value, (str, bytes))


def _brief(value: object) -> str:
    """A value of any size and depth for a message."""
    try:
        return shown(reprlib.repr(value)[:60])
    except ValueError:  # a number with more digits than Python writes
        return "a very large number"
