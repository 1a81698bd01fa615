"""The manifest of a folder of shards: what was encoded, how, and into which files; while it is made, where to go on."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field, fields
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import FormatError, TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass, from_values
from tokstudio.core.base.wording import shown
from tokstudio.core.corpus.readers.files import read_file_work
from tokstudio.core.formats.ids import npy_header

NAME = "manifest.json"
NPY, BIN, PARQUET = "npy", "bin", "parquet"
ENDS = "ends"  # of documents, beside arrays
FORMATS = (NPY, BIN, PARQUET)

_FORMAT, _VERSION = "TokStudio shards", 1
_LARGEST = 1 << 30  # bytes of a manifest
_SHOWN = 100  # characters of a setting in a message
_SHARD_FILE = re.compile(r"shard-\d{5,}\.(ends\.npy|npy|bin|parquet)")

T = TypeVar("T")


@dataclass(frozen=True)
class Shard:
    """What is in one shard."""

    tokens: int  # its ids, with end tokens
    documents: int  # all of them are whole
    bytes: int  # those of the text of its documents
    empty_documents: int  # documents without text
    unknown_tokens: int  # how many of the ids are the unknown token
    sha256: str  # the hash of its ids as they are in the file, without a header
    ends_sha256: str  # that of the ends of its documents, likewise
    # That of the whole file of Parquet, which another version of pyarrow would write differently; "" where there is
    # none.
    parquet_sha256: str = field(default="", compare=False)


@dataclass(frozen=True)
class EncodedFile:
    """What was read of one file, or of files that are one data set."""

    name: str  # within the folder that was given, with its name
    stored_bytes: int  # as it is stored
    documents: int  # all of them, also those without text
    bytes: int  # those of the text
    kind: str = ""  # what it is, such as "JSON Lines, zstd"; "" for plain text
    column: str = ""  # the column of a data set that was read; "" for none
    encoding: str = ""  # that of its text, such as "utf-8"
    notes: tuple[str, ...] = ()  # what was dropped or changed, and how much


@dataclass(frozen=True)
class Input:
    """A file to encode, as far as a later call can tell that it is still the same."""

    name: str
    stored_bytes: int
    modified: int  # nanoseconds


@dataclass(frozen=True)
class Manifest:
    """All that is said of a folder of shards."""

    settings: Mapping[str, object]  # how it is made: JSON values by name, with the hash of the tokenizer
    inputs: tuple[Input, ...]  # what is encoded, in its order; of a complete folder without the times of their changes
    shards: tuple[Shard, ...] = ()  # those that are complete
    # What was read of the first inputs: of those whose documents are all in these shards.
    files: tuple[EncodedFile, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()  # files of folders that could not be read, each with the reason
    is_complete: bool = False  # whether all documents are in the shards

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats of its shards."""
        return tuple(cast("list[str]", self.settings["formats"]))

    @property
    def kind(self) -> str:
        """The type of the ids, such as "<u2"."""
        return np.dtype(cast("str", self.settings["dtype"])).newbyteorder("<").str

    def sizes(self) -> dict[str, int | None]:
        """The files of its shards with their bytes; None where only reading would tell."""
        number = np.dtype(self.kind).itemsize
        sizes: dict[str, int | None] = {}
        for place, shard in enumerate(self.shards):
            for kind, name in shard_files(place, self.formats).items():
                header = len(npy_header(0, "<u2")) if name.endswith(".npy") else 0
                one = {PARQUET: None, ENDS: 8 * shard.documents}.get(kind, number * shard.tokens)
                sizes[name] = None if one is None else header + one
        return sizes

    def to_bytes(self) -> bytes:
        """The content of its file."""
        shards = [{"files": shard_files(number, self.formats)} | asdict(one) for number, one in enumerate(self.shards)]
        total = {name: sum(getattr(one, name) for one in self.shards) for name in _COUNTS}
        facts: dict[str, object] = {"format": _FORMAT, "version": _VERSION, "complete": self.is_complete}
        facts |= dict(self.settings) | {"total": total, "shards": shards}
        facts |= {"files": list(map(asdict, self.files)), "skipped": self.skipped}
        if not self.is_complete:
            facts["inputs"] = list(map(asdict, self.inputs))
        return (json.dumps(facts, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")

    def why_not(self, settings: Mapping[str, object], inputs: Sequence[Input]) -> str:
        """Why a folder with this manifest is not that of an encoding, the end of a sentence; "" where it is."""
        ours = json.loads(json.dumps(settings))
        if self.settings["tokenizer"] != ours["tokenizer"]:
            return "its shards are of another tokenizer"
        for name, value in ours.items():
            if self.settings[name] != value:
                there, here = (json.dumps(each, ensure_ascii=False)[:_SHOWN] for each in (self.settings[name], value))
                return f"its shards were made with {name} {there}, not {here}"
        times = not self.is_complete
        there, here = ([(i.name, i.stored_bytes, i.modified * times) for i in each] for each in (self.inputs, inputs))
        if there != here:
            name = next((new or old)[0] for old, new in zip_longest(there, here) if old != new)
            return f"its shards are of other files, or these have changed since: the first is {shown(name)}"
        return ""


_COUNTS = ("tokens", "documents", "bytes", "empty_documents", "unknown_tokens")


def shard_files(number: int, formats: Sequence[str]) -> dict[str, str]:
    """The names of the files of a shard by their kind: the formats, and `ENDS` beside arrays."""
    name = f"shard-{number:05}"
    files = {each: f"{name}.{each}" for each in FORMATS if each in formats}
    return files | ({ENDS: f"{name}.ends.npy"} if NPY in files or BIN in files else {})


def strange_files(folder: Path, known: Sequence[str]) -> list[str]:
    """The names of files in a folder that are named like shards, beside those that are known; sorted."""
    if not folder.is_dir():
        return []
    names = {path.name for path in folder.iterdir() if _SHARD_FILE.fullmatch(path.name)}
    return sorted(names - set(known))


def read_manifest_work(folder: Path, settings: Mapping[str, object]) -> Work[Manifest | None]:
    """The manifest of a folder, for settings of the same names; None where there is none.

    Raises:
        FormatError: It is something else, damaged, or of a later version.
    """
    path = folder / NAME
    if not path.exists():
        return None
    fault = FormatError(
        f"{file_name(folder)}: its {NAME} is damaged or not TokStudio's: choose another folder, or remove that file."
    )
    try:
        values = json.loads((yield from read_file_work(path, _LARGEST)))
        if values["format"] != _FORMAT:
            raise fault
        if values["version"] != _VERSION:
            raise FormatError(f"{file_name(folder)}: its {NAME} is of a later version: update TokStudio.")
        shards = _rows(Shard, values["shards"])
        files = _rows(EncodedFile, values["files"])
        is_complete = values["complete"] is True
        inputs = (
            tuple(Input(one.name, one.stored_bytes, 0) for one in files)
            if is_complete
            else _rows(Input, values["inputs"])
        )
        known = {name: values[name] for name in settings}
        skipped = tuple((str(name), str(why)) for name, why in values["skipped"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, TokStudioError):
            raise
        raise fault from error
    return Manifest(known, inputs, shards, files, skipped, is_complete)


def _rows(kind: type[T], rows: object) -> tuple[T, ...]:
    """Rows of JSON as instances of a class, of which they have all fields and perhaps more."""
    names = [each.name for each in fields(cast("Any", kind))]
    listed = cast("list[dict[str, object]]", rows)
    made = tuple(from_values(kind, {name: row[name] for name in names}) for row in listed)
    if any(isinstance(number := getattr(one, name), int) and number < 0 for one in made for name in names):
        raise ValueError("a number is negative")
    return made
