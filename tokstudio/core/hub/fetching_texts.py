"""Fetches texts by their address into the cache, and stores files at an address.

A child process that runs `core.corpus.remote.serving` does it.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.subprocesses import ChildProcess
from tokstudio.core.hub.addresses import HUB, PACKAGES, WEB, Address
from tokstudio.core.hub.fetching import answer_work, new_process
from tokstudio.core.hub.kept_texts import KeptText, TextRequest, kept_at, kept_for, make_folder
from tokstudio.core.hub.names import COMMIT

_PROCESS = "tokstudio.core.corpus.remote.serving"  # which is above this folder: it reads what it fetches
_PATIENCE = 90.0  # seconds without any data, after which a connection has stalled
_UPLOAD_PATIENCE = 600.0  # libraries send a part of up to 100 MB without a word

A = TypeVar("A")


@dataclass(frozen=True)
class FetchedText:
    """A text in the cache, what is to be said of it (mostly ""), and how many bytes were transferred."""

    folder: str
    remark: str
    arrived: int


@dataclass(frozen=True)
class ShownText:
    """What is at an address, as JSON of a `TextPreview` of `core.corpus.remote`."""

    facts: str


@dataclass(frozen=True)
class FetchText:
    """Asks the process to fetch; the address is the one with its secrets, `request` the values of a `TextRequest`."""

    address: str
    request: dict[str, Any]
    folder: str


@dataclass(frozen=True)
class ShowText:
    """Asks the process what is at an address."""

    address: str


@dataclass(frozen=True)
class ListText:
    """Asks the process which files there are at an address; `request` says how they would be read."""

    address: str
    request: dict[str, Any]


@dataclass(frozen=True)
class ListedText:
    """The commit, "" where there is none, and the files.

    Of each: what the connection calls it, its path, its bytes, the name of its text where it is one with others, else
    "", and that of the group of its text.
    """

    commit: str
    files: list[list[Any]]


@dataclass(frozen=True)
class StoreFile:
    """Asks the process to store a file of this computer; where `path` is "", only whether one could be stored."""

    address: str
    path: str


@dataclass(frozen=True)
class StoredFile:
    """What has been stored, in bytes."""

    size: int


@dataclass(frozen=True)
class AddressedFile:
    """A file of an address."""

    address: Address  # its own
    size: int  # its bytes
    text: str = ""  # the name of the text that it is with others; "" where it is one alone
    group: str = ""  # the name of the source that its text is with other texts; "" where it is one alone


def files_work(address: Address, request: TextRequest) -> Work[list[AddressedFile]]:
    """The files of an address, and which of them are one text as `fetch_work` reads them; errors are those of it."""
    listed = yield from ask_work(address, ListText(address.given, asdict(request)), ListedText)
    found: list[AddressedFile] = []
    for place, path, size, text, group in listed.files:
        if address.scheme == WEB:
            one = address
        elif address.scheme == HUB:
            one = Address(HUB, address.name, path=str(path), revision=listed.commit)
        else:
            one = address.of_file(str(place))
        found.append(AddressedFile(one, int(size), str(text), str(group)))
    return found


def connection() -> ChildProcess:
    """What fetches many texts one after another: it connects once. It is to be closed."""
    return new_process(_PROCESS)


def fetch_work(
    address: Address, request: TextRequest, process: ChildProcess | None = None
) -> Work[tuple[KeptText, str]]:
    """Fetches what is not in the cache; closing the work ends the connection at once.

    A `process` of `connection` fetches it, or one of its own.

    Returns:
        The kept text, and a remark where the one in the cache may be outdated, else "".

    Raises:
        CorpusError: It is not there, may not be read, or did not arrive whole; nothing of it is kept then.
    """
    if address.scheme == HUB and COMMIT.fullmatch(address.revision):
        kept = kept_for(request, address.revision)
        if kept is not None:
            return kept, ""
    folder = make_folder()
    question = FetchText(address.given, asdict(request), str(folder))
    fetched = yield from ask_work(address, question, FetchedText, process=process)
    kept = kept_at(Path(fetched.folder))
    if kept is None:
        raise CorpusError(f"{address}: what was fetched is damaged: remove {fetched.folder}, and try again.")
    return kept, fetched.remark


def store_work(address: Address, path: Path | None = None) -> Work[None]:
    """Stores a file at the address of a store, whole or not at all; None only asks whether one could be stored.

    Raises:
        ConfigError: Files cannot be stored at such an address.
        CorpusError: It cannot be stored; what was there before is unchanged.
    """
    if address.scheme not in PACKAGES:
        raise ConfigError(
            f"{address}: a file is stored by its path, or at an address such as s3://bucket/words.parquet."
        )
    if any(sign in address.given for sign in "*?[") or address.given.endswith("/"):
        raise ConfigError(f"{address}: this is not the address of one file.")
    question = StoreFile(address.given, "" if path is None else str(path.absolute()))
    yield from ask_work(address, question, StoredFile, _UPLOAD_PATIENCE)


def ask_work(
    address: Address,
    question: object,
    answer: type[A],
    patience: float = _PATIENCE,
    process: ChildProcess | None = None,
) -> Work[A]:
    """The answer of the process to a question about an address; errors are those of `fetch_work`."""
    return answer_work(_PROCESS, str(address), question, answer, patience, CorpusError, process)
