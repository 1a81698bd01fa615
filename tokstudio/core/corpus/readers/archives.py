"""Reads the members of ZIP and tar archives as files; nothing is unpacked to the disk."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any, BinaryIO, cast

from tokstudio.core.base.errors import READ_ANYWAY, BinaryError, CorpusError, TokStudioError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.readers.compression import Stream, refuse_bomb
from tokstudio.core.corpus.readers.streams import Peekable

_MOST_MEMBERS = 1_000_000
_LARGEST_HEADER = 1 << 24  # bytes of a long name, or of other facts before a member of tar, which are read at once
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
        numbers = ", ".join(f"{number:,} {why}" for why, number in self.items())
        return f"{several(sum(self.values()), 'member')} skipped ({numbers})" if self else ""


class DamagedArchiveError(CorpusError):
    """The libraries cannot read an archive."""


def zip_members(file: BinaryIO, name: str, size: int, skipped: Skipped) -> Iterator[Member]:
    """The files in a ZIP archive of `size` bytes, in its order.

    Raises:
        BinaryError: It is the file of another program, such as a text processor.
        DamagedArchiveError: It is damaged, also raised by reads of a member.
        CorpusError: It unpacks to so much that it must be a bomb.
    """
    with _plain_errors(name):
        archive = zipfile.ZipFile(file)
    with archive:
        entries = archive.infolist()
        names = {entry.filename for entry in entries}
        for mark, what in _DOCUMENTS.items():
            if mark in names:
                raise BinaryError(f"{name}: this is {what}, not text{READ_ANYWAY}.")
        if len(entries) > _MOST_MEMBERS:
            raise CorpusError(f"{name}: it has more than {_MOST_MEMBERS:,} members; unpack it yourself.")
        refuse_bomb(name, sum(entry.file_size for entry in entries), size)
        for entry in entries:
            if entry.filename.endswith("/") or _is_hidden(entry.filename):
                continue
            if not entry.filename:
                skipped.add("without a name")
            elif entry.flag_bits & 1:
                skipped.add("encrypted")
            elif not entry.file_size:
                skipped.add("empty")
            else:
                with _plain_errors(name):
                    member = archive.open(entry)
                with member:
                    content = cast("BinaryIO", _Content(member, name))
                    yield Member(member_name(entry.filename), content, entry.file_size, entry.compress_size)


def tar_members(stream: Stream, name: str, skipped: Skipped, stored: Callable[[], int]) -> Iterator[Member]:
    """The files in a tar archive, which is read once from its beginning to its end.

    Args:
        stream: The archive.
        name: Its name, for errors.
        skipped: Counts what is no text.
        stored: Says how many bytes the file has that holds it, by which a bomb is recognised.

    Raises:
        DamagedArchiveError: It is damaged, also raised by reads of a member.
        CorpusError: It unpacks to so much that it must be a bomb.
    """
    # Members are only read, never extracted, so that links and paths in it do no harm.
    file = cast("BinaryIO", _Reader(stream))
    with _plain_errors(name):
        archive = tarfile.open(fileobj=file, mode="r|", tarinfo=_Entry)  # noqa: SIM115
    whole = 0
    with archive:
        while True:
            with _plain_errors(name):
                entry = archive.next()
            if entry is None:
                return
            archive.members.clear()  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]
            if _is_hidden(entry.name) or entry.isdir():
                continue
            if not entry.isreg():
                skipped.add("not a file")
            elif not entry.name:
                skipped.add("without a name")
            elif entry.size <= 0:
                skipped.add("empty")
            else:
                # A sparse member can have any size.
                whole += entry.size
                refuse_bomb(name, whole, stored())
                with _plain_errors(name):
                    member = archive.extractfile(entry)
                if member is not None:
                    content = cast("BinaryIO", _Content(member, name))
                    yield Member(member_name(entry.name), content, entry.size, entry.size)


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


class _Content:
    """The bytes of a member, whose reads raise plain errors."""

    def __init__(self, member: Any, name: str) -> None:  # noqa: ANN401
        self._member, self._name = member, name

    def read(self, size: int = -1, /) -> bytes:
        with _plain_errors(self._name):
            return self._member.read(size)


class _Entry(tarfile.TarInfo):
    """Refuses a long header, which `tarfile` would read at once."""

    def _proc_member(self, tarfile: Any) -> Any:  # noqa: ANN401
        if not (self.isfile() or self.isdir()) and self.type not in _LINKS and self.size > _LARGEST_HEADER:
            raise _TOO_LONG
        return super()._proc_member(tarfile)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


_LINKS = (tarfile.LNKTYPE, tarfile.SYMTYPE)
_TOO_LONG = tarfile.ReadError(f"a header is longer than {_LARGEST_HEADER:,} bytes")


@contextmanager
def until_cut(is_cut: Callable[[], bool]) -> Generator[None]:
    """Ends a block quietly at damaged data where `is_cut` says that they ended too early, which is allowed."""
    try:
        yield
    except DamagedArchiveError:
        if not is_cut():
            raise


@contextmanager
def _plain_errors(name: str) -> Generator[None]:
    """Turns errors of the libraries into one sentence.

    Of damaged data, `zipfile` raises BadZipFile, NotImplementedError, RuntimeError, struct.error, UnicodeDecodeError,
    ValueError, IndexError, EOFError and the errors of zlib, bz2 and lzma; `tarfile` TarError, ValueError,
    OverflowError and RecursionError. So all are caught, and nothing of ours stands in the block.
    """
    try:
        yield
    except (TokStudioError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        why = str(error).rstrip(".") or "it ends too early"
        raise DamagedArchiveError(f"{name}: the archive is damaged ({why}).") from error
