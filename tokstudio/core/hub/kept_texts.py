"""Texts that were fetched by their address, in the user's cache, each with where it is from: its `TextOrigin`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.leftovers import remove_of_ended
from tokstudio.core.base.private_folders import cache_folder, make_private
from tokstudio.core.base.records import dataclass, from_values, without_defaults
from tokstudio.core.base.wording import several, size_text
from tokstudio.core.hub.addresses import Address

#: How samples are chosen; another number chooses others, so that a seed alone says nothing.
SCHEME = 1
DESCRIPTION = "origin.json"
_FOLDER = "data"
_LARGEST = 1 << 26  # bytes of a description
_MOST_PIECES = 1_000_000


@dataclass(frozen=True)
class FilePiece:
    """What was read of one file."""

    file: str  # its path below the address
    size: int  # its bytes
    tag: str = ""  # what the server or the store calls this version of it
    # What `parts` counts: "row groups", "bytes" for the first of and the one after each block of the file, or "" for
    # the whole file.
    unit: str = ""
    parts: tuple[int, ...] = ()  # the numbers
    is_beginning: bool = False  # whether only the beginning was read, as the file cannot be entered midway


@dataclass(frozen=True)
class TextRequest:
    """What is asked for: an address, what is read of its files, and how much of them."""

    address: str  # as a text, without secrets
    field: str | None = None  # the column that is read; None to choose it
    split_by: str | None = None  # a column that divides the rows, which is read as well
    delimiter: str | None = None  # as of `Reading`
    as_text: bool = False  # likewise
    keep_truncated: bool = False  # likewise
    encoding: str | None = None  # as of `read_work`
    sample_bytes: int | None = None  # how many bytes of text are taken; None for all
    seed: int = 0  # of the choice of shards and of their parts
    hidden: str = ""  # of the `Address`, which tells addresses apart that differ in their secrets only


@dataclass(frozen=True)
class TextOrigin:
    """Where a text is from that was fetched by its address: all that is needed to fetch the same again."""

    request: TextRequest  # what was asked for
    commit: str  # of the Hub's repository; "" elsewhere
    pieces: tuple[FilePiece, ...]  # the files that were read, and which parts of them
    files: int  # how many files there were in all
    size: int  # their bytes
    sha256: str  # the hexadecimal SHA-256 of the fetched texts
    notes: str = ""  # what was dropped or left out, in words; mostly ""
    scheme: int = SCHEME  # `SCHEME` when it was made

    def __post_init__(self) -> None:
        if len(self.pieces) > _MOST_PIECES:
            raise ValueError("it has too many pieces")

    def to_json(self) -> dict[str, Any]:
        """The values for JSON, of which `from_values` makes it again."""
        return asdict(self) | {"pieces": list(map(without_defaults, self.pieces))}

    @property
    def address(self) -> str:
        """The address with the commit."""
        if not self.commit:
            return self.request.address
        return f"{self.request.address.partition('@')[0]}@{self.commit}"

    @property
    def note(self) -> str:
        """In words: how much of what was read."""
        secrets = "its secret parts are not stored: give the address again to fetch it" if self.request.hidden else ""
        taken = f"{several(len(self.pieces), 'file')} of {self.files:,}" if self.files > 1 else "1 file"
        if self.request.sample_bytes is None:
            return "; ".join(filter(None, (f"from {self.address}", secrets, self.notes)))
        sample = f"sample (seed {self.request.seed}) of {taken}, {size_text(self.size)}, at {self.address}"
        return "; ".join(filter(None, (sample, secrets, self.notes)))


@dataclass(frozen=True)
class KeptSet:
    """Files in the folder of a kept text that are read together."""

    name: str  # how the text is called
    files: tuple[str, ...]  # the names of its files there
    is_data: bool  # whether they are the shards of a data set; otherwise it is one file of text, or an archive
    group: str = ""  # as of `Source`; "" for none


@dataclass(frozen=True)
class KeptText:
    """A text in the cache that was fetched by its address."""

    folder: Path  # its folder
    origin: TextOrigin  # where it is from
    sets: tuple[KeptSet, ...]  # what is in the folder

    @property
    def size(self) -> int:
        """Its bytes on the disk."""
        return sum(entry.stat().st_size for entry in os.scandir(self.folder) if entry.is_file(follow_symlinks=False))

    def name_of(self, path: Path) -> str:
        """The name of the text in a file of the folder, or of the whole data set."""
        for one in self.sets:
            if path == self.folder or path.name in one.files:
                return one.name
        return path.name

    def remove(self) -> None:
        """Removes it from the cache; raises OSError where it cannot be removed."""
        # The description first: without it, nothing is taken for a whole text.
        (self.folder / DESCRIPTION).unlink()
        shutil.rmtree(self.folder)


def folder_of_kept() -> Path:
    """The folder for fetched texts in the cache."""
    return cache_folder() / _FOLDER


def make_folder() -> Path:
    """Creates it, and removes what killed processes have left in it; CorpusError where it cannot be used."""
    folder = folder_of_kept()
    if not make_private(folder.parent) or not make_private(folder):
        raise CorpusError(f"{folder}: texts cannot be kept there: others may write to this folder, or nobody may.")
    remove_of_ended(folder)
    return folder


def describe(folder: Path, origin: TextOrigin, sets: tuple[KeptSet, ...]) -> None:
    """Writes the description of a fetched text beside its files."""
    content = {"origin": origin.to_json(), "sets": [asdict(one) for one in sets]}
    (folder / DESCRIPTION).write_text(json.dumps(content), "utf-8")


def kept_at(path: Path) -> KeptText | None:
    """The kept text that a file or folder is, or is a part of; None for any other path."""
    # Names alone decide for others: nothing of their folders is looked at.
    for folder in (path, path.parent):
        if folder.parent.name == _FOLDER and (folder / DESCRIPTION).is_file():
            return _read(folder)
    return None


def folders_of_kept() -> frozenset[Path]:
    """The folders of all kept texts, perhaps with others."""
    with suppress(OSError):
        return frozenset(Path(entry.path) for entry in os.scandir(folder_of_kept()))
    return frozenset()


def kept_texts() -> list[KeptText]:
    """All kept texts, the newest first."""
    with suppress(OSError):
        folders = [Path(entry.path) for entry in os.scandir(folder_of_kept()) if entry.is_dir(follow_symlinks=False)]
        found = [kept for folder in folders if (kept := _read(folder)) is not None]
        return sorted(found, key=lambda kept: (kept.folder / DESCRIPTION).stat().st_mtime_ns, reverse=True)
    return []


def kept_for(request: TextRequest, commit: str = "", tags: str = "") -> KeptText | None:
    """The kept text that answers a request; the newest one where neither commit nor tags are known."""
    if commit or tags:
        return _read(folder_of_kept() / key_of(request, commit, tags))
    found = (kept for kept in kept_texts() if kept.origin.request == request)
    return next((kept for kept in found if kept.origin.scheme == SCHEME), None)


def key_of(request: TextRequest, commit: str, tags: str) -> str:
    """The name of the folder for a text; with another scheme of choice, it is another text."""
    asked = asdict(replace(request, address=request.address.partition("@")[0] if commit else request.address))
    text = json.dumps([SCHEME, asked, commit, tags], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def request_again(origin: TextOrigin, address: Address) -> TextRequest:
    """The request that gives the same text again: at the commit that was read."""
    return replace(origin.request, address=str(address.at(origin.commit) if origin.commit else address))


def tags_of(files: Iterator[tuple[str, int, str]]) -> str:
    """What tells one state of the files of an address from another, of their names, sizes and tags."""
    digest = hashlib.sha256()
    for one in files:
        digest.update(json.dumps(one).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _read(folder: Path) -> KeptText | None:
    """The kept text in a folder; None where it is none, or is not whole."""
    try:
        with (folder / DESCRIPTION).open("rb") as file:
            origin, sets = _described(file.read(_LARGEST))
        files = {entry.name for entry in os.scandir(folder) if entry.is_file()}
        is_whole = all(files.issuperset(one.files) for one in sets)
        return KeptText(folder, origin, sets) if is_whole else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


@lru_cache(maxsize=1)  # each of thousands of files of a text asks for the same
def _described(content: bytes) -> tuple[TextOrigin, tuple[KeptSet, ...]]:
    values = json.loads(content)
    return from_values(TextOrigin, values["origin"]), tuple(from_values(KeptSet, one) for one in values["sets"])
