"""Reads the merges that a student hands in, in the shapes in which they are written. Nothing in a file is run.

Known are: GPT-2's `merges.txt`; text with two tokens a line, also with numbers, results or comments beside; CSV with
a heading; JSON and JSON Lines of pairs, as strings of text, of GPT-2's alphabet, of latin-1, hex or base64, as lists
of byte values, or as ids; `tokenizer.json`; `repr` of Python's bytes; minbpe's models; and pickles of plain lists,
whose instructions are read and not carried out. `shapes` and `lines` read rows, `spellings` their tokens.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.wording import several, shown
from tokstudio.core.teaching.shapes import rows_in
from tokstudio.core.teaching.spellings import Merge, merges_in
from tokstudio.core.text.encodings import WHY_NOT_POINTER, is_lfs_pointer

MOST_BYTES = 64 << 20
_MERGES = re.compile(r"merge|bpe|\.model$|tokenizer\.json$", re.IGNORECASE)
_VOCABULARY = re.compile(r"vocab|encoder", re.IGNORECASE)
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
    if not _is_dir(path) or _merges_file(path) is not None:
        return [path]
    found = [each for each in _inside(path) if not _is_dir(each) or _may_have_merges(each)]
    if not found:
        raise FormatError(f"{path.name} has no file of merges, such as merges.txt.")
    return found


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
    found: dict[tuple[Merge, ...], int] = {}
    for merges in merges_in(rows_in(data)):
        if merges and merges not in found:
            found[merges] = _unknown(merges)
    if not found:
        raise FormatError("its merges are in no known shape: give two tokens a line, or a JSON list of pairs.")
    least = min(found.values())
    return tuple(merges for merges, unknown in found.items() if unknown == least)


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
    if unknown and _unknown([(right, left) for left, right in merges]) < unknown:
        yield "The right token seems to stand before the left one in each merge."
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
