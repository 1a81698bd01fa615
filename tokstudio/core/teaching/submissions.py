"""Reads the merges that a student hands in, in the shapes in which they are written. Nothing in a file is run.

Known are: GPT-2's `merges.txt`; text with two tokens a line, also with numbers, results or comments beside; CSV with
a heading; JSON and JSON Lines of pairs, as strings of text, of GPT-2's alphabet, of latin-1, hex or base64, as lists
of byte values, or as ids; `tokenizer.json`; `repr` of Python's bytes; minbpe's models; and pickles of plain lists,
whose instructions are read and not carried out. `shapes` and `lines` read rows, `spellings` their tokens.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ast
import json
import os
import pickletools
import re
import reprlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several, shown
from tokstudio.core.teaching.spellings import Merge, Part, Row, check_number, merges_in, rows_of_lines
from tokstudio.core.text.encodings import WHY_NOT_POINTER, is_lfs_pointer

# --- Reads pickles of plain lists, tuples, dictionaries, strings, bytes and numbers without loading them --------------
# A pickle is a program. `pickletools` lists its instructions; those that make plain values are followed here, and a
# pickle with any other is refused, with what it would have done.

_MOST = 10_000_000  # instructions
_MARK = object()
_VALUES = {
    "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BININT",
    "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4",
}  # fmt: skip
_CONSTANTS: dict[str, object] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_NOTHING = {"PROTO", "FRAME"}
_TO_BYTES = "_codecs encode"  # by which protocol 2 writes bytes; it is followed, not called
_CALLS = {"GLOBAL", "STACK_GLOBAL", "INST", "OBJ", "REDUCE", "NEWOBJ", "NEWOBJ_EX", "BUILD", "EXT1", "EXT2", "EXT4"}

_OLD = re.compile(  # how protocols 0 and 1 begin
    rb"\(*(?:[ld]p[0-9]+\n|[VSIL][^\n]*\n(?:p[0-9]+\n)?[VSILt(]|c[A-Za-z_.]+\n[A-Za-z_.]+\n|[\]}]q[\x00-\xff])"
)


def is_pickle(data: bytes) -> bool:
    """Whether a file is a pickle."""
    is_new = data[:1] == b"\x80" and len(data) > 2 and data[1] <= 5
    return data[-1:] == b"." and (is_new or _OLD.match(data) is not None)


def read_pickle(data: bytes) -> object:
    """The value of a pickle that holds plain values only.

    Raises:
        FormatError: It is damaged, or does anything else than to hold values.
    """
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for number, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            if number > _MOST:
                raise FormatError("this pickle is too long.")
            if opcode.name == "GLOBAL" and argument == _TO_BYTES:
                stack.append(_TO_BYTES)
                continue
            if opcode.name == "REDUCE" and stack[-2] == _TO_BYTES:
                text, _ = stack.pop()
                stack[-1] = text.encode("latin-1")
                continue
            if opcode.name in _CALLS:
                raise FormatError(_what_it_does(opcode.name, argument, stack))
            if opcode.name == "STOP":
                return stack.pop()
            _follow(opcode.name, argument, stack, memo)
    except FormatError:
        raise
    except Exception as error:  # the stack of a damaged pickle may have anything
        raise FormatError("this pickle is damaged.") from error
    raise FormatError("this pickle is damaged.")


def _what_it_does(name: str, argument: object, stack: list[Any]) -> str:
    called = str(argument).replace(" ", ".") if argument else ".".join(map(str, stack[-2:]))
    what = f"would use {shown(called)}" if name in ("GLOBAL", "STACK_GLOBAL", "INST") else "would call a function"
    return f"this pickle {what} when it is loaded, so it is not read: write the merges as JSON or text."


def _follow(name: str, argument: Any, stack: list[Any], memo: dict[int, Any]) -> None:  # noqa: ANN401  of any kind
    if name in _VALUES:
        stack.append(argument)
    elif name in _CONSTANTS:
        stack.append(_CONSTANTS[name])
    elif name in ("EMPTY_LIST", "EMPTY_DICT", "EMPTY_TUPLE"):
        stack.append({"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple}[name]())
    elif name == "MARK":
        stack.append(_MARK)
    elif name in ("MEMOIZE", "BINPUT", "LONG_BINPUT", "PUT"):
        memo[len(memo) if name == "MEMOIZE" else int(argument)] = stack[-1]
    elif name in ("BINGET", "LONG_BINGET", "GET"):
        stack.append(memo[int(argument)])
    elif name == "APPEND":
        value = stack.pop()
        stack[-1].append(value)
    elif name == "SETITEM":
        value, key = stack.pop(), stack.pop()
        stack[-1][_flat(key)] = value
    elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
        size = int(name[-1])
        stack[-size:] = [tuple(stack[-size:])]
    elif name in ("APPENDS", "SETITEMS", "TUPLE", "LIST", "DICT"):
        _gather(name, stack)
    elif name not in _NOTHING:
        raise FormatError(f"this pickle has the instruction {name}, which no list of merges needs: it is not read.")


def _gather(name: str, stack: list[Any]) -> None:
    """Takes the values after the last mark."""
    at = next(number for number in range(len(stack) - 1, -1, -1) if stack[number] is _MARK)
    values = stack[at + 1 :]
    del stack[at:]
    if name == "APPENDS":
        stack[-1].extend(values)
    elif name == "SETITEMS":
        stack[-1].update(zip(map(_flat, values[::2]), values[1::2], strict=True))
    else:
        pairs = zip(map(_flat, values[::2]), values[1::2], strict=True) if name == "DICT" else ()
        stack.append({"TUPLE": tuple, "LIST": list}[name](values) if name != "DICT" else dict(pairs))


def _flat(key: object) -> object:
    """A key of a dictionary. Python ends when it hashes a tuple of very many levels, so there is at most one."""
    if isinstance(key, tuple) and any(isinstance(part, tuple) for part in cast("tuple[object, ...]", key)):
        raise FormatError("a dictionary in this pickle has keys of several levels: write the merges as JSON or text.")
    return cast("object", key)


# --- What a file of merges holds: JSON, Python's own notation, a table, lines or a plain pickle becomes rows ----------

_LONGEST_LITERAL = 4 << 20  # bytes that Python's parser reads; longer ones are read line by line
_LARGEST_ID = 1 << 62
_PREFIXES = ("merges", "bpe_merges", "merge_list")
# No `*+` after the group: see `_STRING` in core/experiment/toml.py.
_ASSIGNED = re.compile(r"(?:#[^\n]*+\n|\s++)*\w{1,40}(?: ?: ?[^=\n]{1,80})? ?= ?(?=[\[{(])")


def rows_in(data: bytes) -> list[Row]:
    """The rows of a file; raises FormatError where it has none, or too many."""
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
        values = cast("dict[Any, Any]", value)
        model = values.get("model")
        if isinstance(model, dict) and "merges" in model:
            return _listed(cast("dict[str, object]", model)["merges"])
        for name in _PREFIXES:
            if name in values:
                return _listed(values[name])
        return _pairs_of_keys(values)
    if isinstance(value, (list, tuple)):
        listed = cast("Sequence[object]", value)
        if len(listed) == 2 and isinstance(listed[0], dict) and isinstance(listed[1], (list, tuple)):
            return _listed(cast("object", listed[1]))  # after the vocabulary
        check_number(len(listed))
        return [_pair(each, at) for at, each in enumerate(listed, 1)]
    raise FormatError("it has no list of merges.")


def _pairs_of_keys(values: dict[Any, Any]) -> list[Row]:
    """A dictionary of pairs, such as minbpe's, with ids or ranks as values."""
    if values and all(map(_is_row, values.values())):
        with suppress(ValueError, TypeError):  # ranks or ids with their pairs
            return [_pair(values[key], at) for at, key in enumerate(sorted(values, key=int), 1)]
    if values and all(isinstance(key, (str, bytes, int)) for key in values) and not _are_pairs(values):
        raise FormatError("it is a vocabulary: the merges are needed too, such as merges.txt.")
    are_numbers = all(isinstance(value, int) for value in values.values())
    keys = sorted(values, key=values.__getitem__) if are_numbers else list(values)
    return [_pair(_key(key), at) for at, key in enumerate(keys, 1)]


def _is_row(value: object) -> bool:
    return isinstance(value, (list, tuple)) and len(cast("Sequence[object]", value)) == 2


def _are_pairs(values: dict[Any, Any]) -> bool:
    return all(isinstance(_key(key), (list, tuple)) or (isinstance(key, str) and " " in key.strip()) for key in values)


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
        values = cast("dict[str, object]", value)
        value = values.get("pair", [values.get("left"), values.get("right")])
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


MOST_BYTES = 64 << 20
_MERGES = re.compile(r"merge|bpe|\.model$|tokenizer\.json$", re.IGNORECASE)
_VOCABULARY = re.compile(r"vocab|encoder", re.IGNORECASE)
_SOME_ARE_ENOUGH = 3  # unknown tokens are named


@dataclass(frozen=True)
class Submission:
    """The merges of a file."""

    name: str  # of the file, or of its folder
    path: Path
    # The merges, in each way that the file can be read; the most likely one first.
    readings: tuple[tuple[Merge, ...], ...]
    remarks: tuple[str, ...] = ()  # what is strange about the merges, each a sentence


def submissions(path: Path) -> list[Path]:
    """What is handed in at a path: a file, a folder with the files of one training, or a folder of such.

    Raises:
        FormatError: There is nothing to check.
    """
    if not _is_dir(path) or _merges_file(path) is not None:
        return [path]
    paths = [each for each in _inside(path) if not _is_dir(each) or _may_have_merges(each)]
    if not paths:
        raise FormatError(f"{path.name} has no file of merges, such as merges.txt.")
    return paths


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if not each.name.startswith("."))
    except OSError as error:
        raise FormatError(f"{folder.name or folder} cannot be read: {error.strerror}.") from error


def _is_dir(path: Path) -> bool:
    """Whether a path is a folder; one that nobody may look at is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _may_have_merges(folder: Path) -> bool:
    """Whether a folder has a file of merges, or cannot be read, which is then said."""
    try:
        return _merges_file(folder) is not None
    except FormatError:
        return True


def _merges_file(folder: Path) -> Path | None:
    try:
        names = [
            each for each in _inside(folder) if _MERGES.search(each.name) and each.suffix != ".py" and each.is_file()
        ]
    except OSError as error:
        raise FormatError(f"{folder.name or folder} cannot be read: {error.strerror}.") from error
    named = [each for each in names if not _VOCABULARY.search(each.stem)] or names
    return named[0] if named else None


def read_submission(path: Path) -> Submission:
    """Reads a file of merges, or the one in a folder.

    Raises:
        FormatError: It cannot be read, is too large, or has no merges.
    """
    file = _merges_file(path) if _is_dir(path) else path
    if file is None:
        raise FormatError(f"{path.name} has no file of merges, such as merges.txt.")
    name = file.name or str(file)
    try:
        data = _read(file)
        readings = read_merges(data)
    except FileNotFoundError:
        raise FormatError(f"{name} is not there.") from None
    except OSError as error:
        raise FormatError(f"{name} cannot be read: {error.strerror}.") from error
    except FormatError as error:
        raise FormatError(f"{name}: {error}") from error
    return Submission(path.name, path, readings, tuple(_remarks(readings[0])))


def _read(file: Path) -> bytes:
    if file.exists() and not file.is_file():
        raise FormatError("it is not a file.")
    with file.open("rb") as opened:
        size = os.fstat(opened.fileno()).st_size
        data = opened.read(MOST_BYTES + 1) if size <= MOST_BYTES else b""
    if max(size, len(data)) > MOST_BYTES:
        raise FormatError(
            f"it has {several(max(size, len(data)), 'byte')}: a list of merges has at most {MOST_BYTES:,}."
        )
    if is_lfs_pointer(data[:512]):
        raise FormatError(f"{WHY_NOT_POINTER}.")
    return data


def read_merges(data: bytes) -> tuple[tuple[Merge, ...], ...]:
    """The merges in the bytes of a file, in each way that they can be read; the most likely one first.

    Raises:
        FormatError: They are in no known shape.
    """
    places: dict[tuple[Merge, ...], int] = {}
    for merges in merges_in(rows_in(data)):
        if merges and merges not in places:
            places[merges] = _unknown(merges)
    if not places:
        raise FormatError("its merges are in no known shape: give two tokens a line, or a JSON list of pairs.")
    least = min(places.values())
    return tuple(merges for merges, unknown in places.items() if unknown == least)


# ---- what is strange about merges


def _is_base(token: bytes) -> bool:
    """Whether it is one byte, or one character, as trainings on characters have."""
    if len(token) < 2:
        return True
    try:
        return len(token.decode()) == 1
    except UnicodeDecodeError:
        return False


def _unknown(merges: Sequence[Merge]) -> int:
    """How many parts no merge before makes."""
    tokens = set[bytes]()
    unknown = 0
    for pair in merges:
        unknown += sum(not _is_base(part) and part not in tokens for part in pair)
        tokens.add(b"".join(pair))
    return unknown


def _remarks(merges: Sequence[Merge]) -> Iterator[str]:
    unknown = _unknown(merges)
    if unknown and _unknown(merges[::-1]) < unknown:
        yield "The list seems to begin with the last merge: the first one must come first."
        return
    if unknown and _unknown([(right, left) for left, right in merges]) < unknown:
        yield "The right token seems to stand before the left one in each merge."
        return
    places: dict[bytes, int] = {}
    pairs: dict[Merge, int] = {}
    remarks = 0
    for number, pair in enumerate(merges, 1):
        for part in pair:
            if not _is_base(part) and part not in places and remarks < _SOME_ARE_ENOUGH:
                remarks += 1
                text = shown(part.decode("utf-8", "replace"))
                yield f"Merge {number:,} joins {text}, which no merge before it makes."
        if pair in pairs and remarks < _SOME_ARE_ENOUGH:
            remarks += 1
            yield f"Merge {number:,} is the same as merge {pairs[pair]:,}."
        pairs.setdefault(pair, number)
        places.setdefault(b"".join(pair), number)
