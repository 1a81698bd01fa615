"""Reads the merges that a student hands in, in the shapes in which they are written. Nothing in a file is run.

Known are: GPT-2's `merges.txt`; text with two tokens a line; JSON and JSON Lines of pairs, as strings of text, of
GPT-2's alphabet, of latin-1, hex or base64, as lists of byte values, or as ids; `tokenizer.json`; `repr` of Python's
bytes; minbpe's models; and pickles of plain lists, whose instructions are read and not carried out.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ast
import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.wording import several, shown
from tokstudio.core.exercises.plain_pickle import is_pickle, read_pickle
from tokstudio.core.text.byte_level import to_bytes

Merge = tuple[bytes, bytes]
_Part = str | bytes | int | list[int]

MOST_BYTES = 64 << 20
_LONGEST_LITERAL = 4 << 20  # bytes that Python's parser reads; longer ones are read line by line
_MERGES = re.compile(r"merge|bpe|\.model$|tokenizer\.json$", re.IGNORECASE)
_VOCABULARY = re.compile(r"vocab|encoder", re.IGNORECASE)
_PREFIXES = ("merges", "bpe_merges", "merge_list")
_LITERAL = re.compile(r"""b'(?:[^'\\]|\\.)*'|b"(?:[^"\\]|\\.)*\"""")
_IDS = re.compile(r"\(?([0-9]{1,9})(?:,? |,|\t)([0-9]{1,9})\)?")
_ASSIGNED = re.compile(r"\w{1,40} ?= ?(?=[\[{(])")
_SIGNS = ("\t", " ", ", ", ",")  # between two tokens of a line
_MOST_TRIED = 20_000_000  # characters, with all ways to divide a line
_SOME_ARE_ENOUGH = 3  # unknown tokens are named


@dataclass(frozen=True)
class Submission:
    """The merges of a file.

    Attributes:
        name: Of the file, or of its folder.
        readings: The merges, in each way that the file can be read; the most likely one first.
        remarks: What is strange about the merges, each a sentence.
    """

    name: str
    path: Path
    readings: tuple[tuple[Merge, ...], ...]
    remarks: tuple[str, ...] = ()


def submissions(path: Path) -> list[Path]:
    """What is handed in at a path: a file, a folder with the files of one training, or a folder of such.

    Raises:
        FormatError: There is nothing to check.
    """
    if not path.exists():
        raise FormatError(f"{path.name or path} is not there.")
    if not path.is_dir():
        return [path]
    if _merges_file(path) is not None:
        return [path]
    inside = sorted(each for each in path.iterdir() if not each.name.startswith("."))
    found = [each for each in inside if each.is_file() or _merges_file(each) is not None]
    if not found:
        raise FormatError(f"{path.name} has no file of merges, such as merges.txt.")
    return found


def _merges_file(folder: Path) -> Path | None:
    names = sorted(
        each for each in folder.iterdir() if each.is_file() and _MERGES.search(each.name) and each.suffix != ".py"
    )
    named = [each for each in names if not _VOCABULARY.search(each.stem)] or names
    return named[0] if named else None


def read_submission(path: Path) -> Submission:
    """Reads a file of merges, or the one in a folder.

    Raises:
        FormatError: It cannot be read, is too large, or has no merges.
    """
    if not path.exists():
        raise FormatError(f"{path.name or path} is not there.")
    file = _merges_file(path) if path.is_dir() else path
    if file is None:
        raise FormatError(f"{path.name} has no file of merges, such as merges.txt.")
    if not file.is_file():
        raise FormatError(f"{file.name} is not a file.")
    try:
        size = file.stat().st_size
        if size > MOST_BYTES:
            raise FormatError(f"{file.name} has {several(size, 'byte')}: a list of merges has at most {MOST_BYTES:,}.")
        data = file.read_bytes()
    except OSError as error:
        raise FormatError(f"{file.name} cannot be read: {error.strerror}.") from error
    try:
        readings = read_merges(data)
    except FormatError as error:
        raise FormatError(f"{file.name}: {error}") from error
    return Submission(path.name, path, readings, tuple(_remarks(readings[0])))


def read_merges(data: bytes) -> tuple[tuple[Merge, ...], ...]:
    """The merges in the bytes of a file, in each way that they can be read; the most likely one first.

    Raises:
        FormatError: They are in no known shape.
    """
    rows = _rows(data)
    if not rows:
        raise FormatError("there are no merges in it.")
    found: dict[tuple[Merge, ...], int] = {}
    for decode in _decoders(rows):
        merges = _decoded(rows, decode)
        if merges is not None:
            found.setdefault(merges, _unknown(merges))
    if (ids := _lines_of_ids(rows)) is not None:
        with suppress(FormatError):
            merges = _decoded(ids, _plain)
            if merges is not None:
                found.setdefault(merges, _unknown(merges))
    if not found:
        raise FormatError("its merges are in no known shape: give two tokens a line, or a JSON list of pairs.")
    least = min(found.values())
    return tuple(merges for merges, unknown in found.items() if unknown == least)


# ---- what the file holds

#: The two parts of a merge; or a line that is divided when its tokens are known.
_Row = tuple[_Part, _Part] | str


def _rows(data: bytes) -> list[_Row]:
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
    return _lines(text)


def _json_lines(text: str) -> object:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise ValueError
    return list(map(json.loads, lines))


def _literal(text: str) -> object:
    if len(text) > _LONGEST_LITERAL:
        raise ValueError
    assigned = _ASSIGNED.match(text)
    return ast.literal_eval((text[assigned.end() :] if assigned else text).strip())


def _minbpe(text: str) -> list[_Row]:
    """The version, the pattern, the number of special tokens, these, and two ids a line."""
    lines = text.splitlines()
    try:
        specials = int(lines[2])
        return [(int(left), int(right)) for left, right in (line.split() for line in lines[3 + specials :])]
    except (ValueError, IndexError):
        raise FormatError("it begins as a model of minbpe and does not go on as one.") from None


def _lines(text: str) -> list[_Row]:
    rows: list[_Row] = []
    for number, line in enumerate(text.split("\n")):
        line = line.removesuffix("\r")
        if not line or (not number and line.startswith("#version")):
            continue
        literals = _LITERAL.findall(line)
        if len(literals) == 2 or (len(literals) == 3 and "->" in line):
            rows.append(tuple(ast.literal_eval(part) for part in literals[:2]))
        else:
            rows.append(line)
    return rows


def _lines_of_ids(rows: Sequence[_Row]) -> list[_Row] | None:
    """Lines such as "104 101" as ids; None where a line is anything else."""
    pairs: list[_Row] = []
    for row in rows:
        match = _IDS.fullmatch(row) if isinstance(row, str) else None
        if match is None:
            return None
        pairs.append((int(match[1]), int(match[2])))
    return pairs


def _pairs_in(value: object) -> list[_Row]:
    """The pairs in a value of JSON, a literal or a pickle."""
    if isinstance(value, dict):
        known = cast("dict[Any, Any]", value)
        model = known.get("model")
        if isinstance(model, dict) and "merges" in model:
            return _pairs_in(cast("dict[str, object]", model)["merges"])
        for name in _PREFIXES:
            if name in known:
                return _pairs_in(known[name])
        return _pairs_of_keys(known)
    if isinstance(value, (list, tuple)):
        listed = cast("Sequence[object]", value)
        if len(listed) == 2 and isinstance(listed[0], dict) and isinstance(listed[1], (list, tuple)):
            return _pairs_in(cast("object", listed[1]))  # after the vocabulary
        return [_pair(each, at) for at, each in enumerate(listed, 1)]
    raise FormatError("it has no list of merges.")


def _pairs_of_keys(known: dict[Any, Any]) -> list[_Row]:
    """A dictionary of pairs, such as minbpe's, with ids or ranks as values."""
    if known and all(map(_is_row, known.values())):
        with suppress(ValueError, TypeError):  # ranks or ids with their pairs
            return [_pair(known[key], at) for at, key in enumerate(sorted(known, key=_number), 1)]
    if known and all(isinstance(key, (str, bytes, int)) for key in known) and not _are_pairs(known):
        raise FormatError("it is a vocabulary: the merges are needed too, such as merges.txt.")
    try:
        keys = sorted(known, key=known.__getitem__)
    except TypeError:
        keys = list(known)
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


def _pair(value: object, at: int) -> _Row:
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
            left, right = cast("Sequence[_Part]", parts)[:2]
            return left, right
    raise FormatError(f"merge {at:,} is not a pair of tokens: {shown(str(cast('object', value))[:60])}.")


def _is_part(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(isinstance(byte, int) and 0 <= byte < 256 for byte in cast("Sequence[object]", value))
    return isinstance(value, (str, bytes, int)) and not isinstance(value, bool)


# ---- what its tokens are

_Decode = Callable[[str], bytes]


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


def _decoders(rows: Sequence[_Row]) -> Iterator[_Decode]:
    """The ways to read a token that is written as a string."""
    if any(isinstance(part, str) for row in rows for part in ((row,) if isinstance(row, str) else row)):
        yield from (to_bytes, _plain, _latin_1, _repr, _hex, _base64)
    else:
        yield _plain


def _decoded(rows: Sequence[_Row], decode: _Decode) -> tuple[Merge, ...] | None:
    """All merges with their tokens as bytes; None where a token cannot be read so."""
    tokens: dict[int, bytes] = {byte: bytes([byte]) for byte in range(256)}
    known = set(tokens.values())
    made: list[Merge] = []
    size = 0
    for row in rows:
        pair = _divided(row, decode, known) if isinstance(row, str) else _both(row, decode, tokens)
        if pair is None:
            return None
        made.append(pair)
        size += len(pair[0]) + len(pair[1])
        if size > MOST_BYTES:  # ids can double a token in each line
            raise FormatError(f"its first {several(len(made), 'token')} have more than {MOST_BYTES:,} bytes together.")
        tokens[256 + len(made) - 1] = joined = b"".join(pair)
        known.add(joined)
    return tuple(made)


def _both(row: tuple[_Part, _Part], decode: _Decode, tokens: dict[int, bytes]) -> Merge | None:
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
    first: Merge | None = None
    if len(line) * sum(map(line.count, _SIGNS)) > _MOST_TRIED:
        return None
    for sign in _SIGNS:
        at = line.find(sign)
        while at >= 0:
            left, right = line[:at], line[at + len(sign) :]
            at = line.find(sign, at + 1)
            try:
                pair = decode(left), decode(right)
            except (KeyError, ValueError, SyntaxError, UnicodeError, binascii.Error, MemoryError):
                continue
            if not all(pair):
                continue
            if known.issuperset(pair):
                return pair
            first = first or pair
    return first


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
    known = set[bytes]()
    unknown = 0
    for pair in merges:
        unknown += sum(not _is_base(part) and part not in known for part in pair)
        known.add(b"".join(pair))
    return unknown


def _remarks(merges: Sequence[Merge]) -> Iterator[str]:
    unknown = _unknown(merges)
    if unknown and _unknown(merges[::-1]) < unknown:
        yield "The list seems to begin with the last merge: the first one must come first."
        return
    places: dict[bytes, int] = {}
    pairs: dict[Merge, int] = {}
    told = 0
    for number, pair in enumerate(merges, 1):
        for part in pair:
            if not _is_base(part) and part not in places and told < _SOME_ARE_ENOUGH:
                told += 1
                text = shown(part.decode("utf-8", "replace"))
                yield f"Merge {number:,} joins {text}, which no merge before it makes."
        if pair in pairs and told < _SOME_ARE_ENOUGH:
            told += 1
            yield f"Merge {number:,} is the same as merge {pairs[pair]:,}."
        pairs.setdefault(pair, number)
        places.setdefault(b"".join(pair), number)
