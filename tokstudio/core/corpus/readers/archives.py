"""Reads the members of ZIP and tar archives as files; nothing is unpacked to the disk."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from tokstudio.core.base.errors import READ_ANYWAY, BinaryError, CorpusError
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.readers.compression import Stream
from tokstudio.core.corpus.readers.streams import Peekable

_MOST_MEMBERS = 1_000_000
_PLAUSIBLE = 100_000_000
_MOST_TIMES = 1_000
# Members that make a ZIP archive a document of another program.
_DOCUMENTS = {
    "[Content_Types].xml": "an Office document",
    "mimetype": "a document",
    "META-INF/MANIFEST.MF": "a program",
}


@dataclass(frozen=True)
class Member:
    """A member of an archive; its file can be read only until the next one is asked for."""

    name: str
    file: BinaryIO
    size: int  # of its content
    stored: int  # bytes in the archive


class Skipped(dict[str, int]):
    """How many members were skipped, by the reason."""

    def add(self, why: str) -> None:
        """Counts one."""
        self[why] = self.get(why, 0) + 1

    def __str__(self) -> str:
        told = ", ".join(f"{number:,} {why}" for why, number in self.items())
        return f"{several(sum(self.values()), 'member')} skipped ({told})" if self else ""


def zip_members(file: BinaryIO, name: str, size: int, skipped: Skipped) -> Iterator[Member]:
    """The files in a ZIP archive of `size` bytes, in its order.

    Raises:
        BinaryError: It is the file of another program, such as a text processor.
        CorpusError: It is damaged, or unpacks to so much that it must be a bomb.
    """
    with plain_archive_errors(name), zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        known = {entry.filename for entry in entries}
        for mark, what in _DOCUMENTS.items():
            if mark in known:
                raise BinaryError(f"{name}: this is {what}, not text{READ_ANYWAY}.")
        if len(entries) > _MOST_MEMBERS:
            raise CorpusError(f"{name}: it has more than {_MOST_MEMBERS:,} members; unpack it yourself.")
        if (whole := sum(entry.file_size for entry in entries)) > max(_PLAUSIBLE, _MOST_TIMES * size):
            raise CorpusError(
                f"{name}: it unpacks to {whole:,} bytes, more than {_MOST_TIMES:,} times its size, as only a bomb "
                "does; if it is none, unpack it yourself."
            )
        for entry in entries:
            if entry.is_dir() or _is_hidden(entry.filename):
                continue
            if entry.flag_bits & 1:
                skipped.add("encrypted")
            elif not entry.file_size:
                skipped.add("empty")
            else:
                with archive.open(entry) as member:
                    yield Member(
                        member_name(entry.filename), cast("BinaryIO", member), entry.file_size, entry.compress_size
                    )


def tar_members(stream: Stream, name: str, skipped: Skipped, is_cut: Callable[[], bool]) -> Iterator[Member]:
    """The files in a tar archive, which is read once from its beginning to its end.

    Args:
        stream: The archive.
        name: Its name, for errors.
        skipped: Counts what is no text.
        is_cut: Says whether the stream ended too early, which is allowed: then the archive ends there as well.

    Raises:
        CorpusError: It is damaged.
    """
    # Members are only read, never extracted, so that links and paths in it do no harm.
    file = cast("BinaryIO", _Reader(stream))
    with plain_archive_errors(name, is_cut), tarfile.open(fileobj=file, mode="r|") as archive:
        for entry in archive:
            if _is_hidden(entry.name) or entry.isdir():
                continue
            if not entry.isreg():
                skipped.add("not a file")
            elif not entry.size:
                skipped.add("empty")
            elif (member := archive.extractfile(entry)) is not None:
                yield Member(member_name(entry.name), cast("BinaryIO", member), entry.size, entry.size)
            archive.members.clear()  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]


def member_name(path: str) -> str:
    """The name of a member, without the folder itself, with which `tar` begins its path: "a.txt" of "./a.txt"."""
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return path


class _Reader:
    """A stream whose reads are as long as they are asked for."""

    def __init__(self, below: Stream) -> None:
        self.read = Peekable(below).read_whole


def _is_hidden(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return "__MACOSX" in parts or any(part.startswith(".") and part not in (".", "..") for part in parts)


@contextmanager
def plain_archive_errors(name: str, is_cut: Callable[[], bool] = lambda: False) -> Generator[None]:
    """Turns errors of the libraries into one sentence; wrap what reads a member in it as well.

    Where `is_cut` says that the data ended too early, which is allowed, they end the block without a sentence.
    """
    try:
        yield
    except (
        zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError,
        UnicodeDecodeError,
    ) as error:  # fmt: skip
        if is_cut():
            return
        why = str(error) or "it ends too early"
        raise CorpusError(f"{name}: the archive is damaged ({why}).") from error
