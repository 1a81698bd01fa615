"""Files opened and read, and text that is large for the memory: on disk where it does not fit."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import io
import os
import re
import shutil
import stat
import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import CorpusError, EmptyError
from tokstudio.core.base.leftovers import hidden_name, remove_of_ended
from tokstudio.core.base.machine import free_memory
from tokstudio.core.base.private_folders import cache_folder, make_private, temporary_folder
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import printable, size_text
from tokstudio.core.text.utf8 import AnyPath

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- Large texts that stay in their files: read in pieces on demand, and never mapped ---------------------------------

MOST = 1 << 26


class FileText:
    """A text in a file, with slices and single bytes like a read-only uint8 array; safe in several threads.

    The file is open only while it is read. A slice of more than 64 MiB stays in it, a shorter one is read;
    `numpy.asarray` reads all.

    Args:
        path: The file.
        owner: What must live as long as the text, such as a temporary file; None where there is nothing.

    Raises:
        OSError: It cannot be opened.
        CorpusError: Raised by reads after the file has changed.
    """

    def __init__(self, path: Path, owner: object = None) -> None:
        self._file = _File(path, owner)
        self._start, self._stop = 0, self._file.state[0]

    def __len__(self) -> int:
        return self._stop - self._start

    def __getitem__(self, where: slice | int) -> NDArray[np.uint8] | FileText | np.uint8:
        if not isinstance(where, slice):
            return self._file.read(self._start + range(len(self))[where], 1)[0]
        start, stop, _ = where.indices(len(self))
        part = FileText.__new__(FileText)
        part._file = self._file
        part._start, part._stop = self._start + start, self._start + max(start, stop)
        return part if len(part) > MOST else np.asarray(part)

    def tobytes(self) -> bytes:
        """The whole text."""
        return np.asarray(self).tobytes()

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NDArray[np.uint8]:
        return self._file.read(self._start, len(self))


class SeekableFile(io.RawIOBase):
    """A file of known size in which one can seek; heirs read its parts."""

    def __init__(self, size: int) -> None:
        self._size, self._at = size, 0

    def _part(self, start: int, stop: int) -> bytes:
        raise NotImplementedError

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Moves to a place, and returns it."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        """The place."""
        return self._at

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes; all that follow where it is negative."""
        stop = self._size if size < 0 else min(self._size, self._at + size)
        content = self._part(self._at, stop) if stop > self._at else b""
        self._at += len(content)
        return content


class ContentFile(SeekableFile):
    """A text as a file in which one can seek."""

    def __init__(self, text: FileText) -> None:
        super().__init__(len(text))
        self._text = text

    def _part(self, start: int, stop: int) -> bytes:
        return np.asarray(self._text[start:stop]).tobytes()


class _File:
    """A file that must not change."""

    def __init__(self, path: Path, owner: object) -> None:
        self._path, self._owner = path.absolute(), owner
        self.state = _state(path.stat())

    def read(self, start: int, size: int) -> NDArray[np.uint8]:
        content, done = np.empty(size, np.uint8), 0
        name = file_name(self._path)
        try:
            with self._path.open("rb", buffering=0) as file:
                if _state(os.fstat(file.fileno())) != self.state:
                    raise CorpusError(f"{name}: the file has changed since it was opened; open it again.")
                file.seek(start)
                while done < size:
                    read = file.readinto(content[done : done + MOST].data)
                    if not read:
                        raise CorpusError(f"{name}: the file became shorter while it was being read; try again.")
                    done += read
        except OSError as error:
            why = error.strerror or error
            raise CorpusError(f"{name}: the file can no longer be read ({why}); open it again.") from error
        content.setflags(write=False)
        return content


def _state(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


# --- Keeps text while it is read: in memory as far as the budget goes, else in a private temporary file ---------------

# Text that would take more than this share of the free memory stays on the disk and is read in pieces.
MOST_OF_FREE = 0.4
_LEFT_ON_DISK = 200_000_000  # bytes of the disk that stay free
_CHECKED = 1 << 26  # bytes written between two looks at the free space
_PIECE = 1 << 20
_TEXTS = "texts"  # the folder for them


class Budget:
    """The memory for all texts that are read in one call, at most so many bytes; safe in several threads."""

    def __init__(self, most: float = inf) -> None:
        self._most = most
        self._left: float | None = None  # None before the first use
        self._lock = threading.Lock()

    def take(self, size: int) -> bool:
        """Whether `size` further bytes fit; they are then counted as used."""
        with self._lock:
            if self._left is None:
                free = free_memory()
                self._left = self._most if free is None else min(self._most, MOST_OF_FREE * free)
            fits = size <= self._left
            self._left -= size if fits else 0
            return fits

    def give_back(self, size: int) -> None:
        """Counts bytes as no longer used."""
        with self._lock:
            self._left = (self._left or 0) + size


class TextStore:
    """A text that grows at its end; what is in no finished text is gone with the store.

    Args:
        name: The name of the file that is read, for errors.
        budget: The memory that it may take.
    """

    def __init__(self, name: str, budget: Budget) -> None:
        self._name, self._budget = name, budget
        self._pieces: list[NDArray[np.uint8]] = []
        self._file: _TemporaryFile | None = None
        self.size = 0

    def add(self, piece: bytes | NDArray[np.uint8]) -> None:
        """Adds bytes; raises CorpusError where they fit neither into the memory nor on the disk."""
        array = np.frombuffer(piece, np.uint8) if isinstance(piece, bytes) else piece
        if not len(array):
            return
        if self._file is None and not self._budget.take(len(array)):
            self._file = _TemporaryFile(self._name)
            for held in self._pieces:
                self._file.write(held)
            self._pieces.clear()
            self._budget.give_back(self.size)
        if self._file is None:
            self._pieces.append(array)
        else:
            self._file.write(array)
        self.size += len(array)

    def finish_work(self) -> Work[NDArray[np.uint8]]:
        """The whole text, read-only: an array, or a `FileText`, which behaves like one where it is read."""
        if self._file is not None:
            self._file.flush()
            return cast("NDArray[np.uint8]", FileText(self._file.path, self._file))
        pieces, self._pieces = self._pieces, []
        if len(pieces) == 1:
            return pieces[0]
        whole, done = np.empty(self.size, np.uint8), 0
        pieces.reverse()
        while pieces:
            # Each piece is freed at once, so that the text is not held twice.
            piece = pieces.pop()
            whole[done : done + len(piece)] = piece
            done += len(piece)
            yield Progress("reading", done, self.size)
        whole.setflags(write=False)
        return whole


class _TemporaryFile:
    """A private file that is removed with its last reference, at the exit, or by the next use after a kill."""

    def __init__(self, name: str) -> None:
        self._name, self._written = name, 0
        folder = _folder(name)
        self.path = hidden_name(folder)
        self._left = _free(folder)
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        except OSError as error:
            raise self._fault(error) from error
        self._file = os.fdopen(handle, "wb", buffering=_PIECE)
        self._remove = weakref.finalize(self, _remove, self._file, self.path)

    def write(self, piece: NDArray[np.uint8]) -> None:
        self._written += len(piece)
        if self._written > _CHECKED:
            self._left, self._written = _free(self.path.parent), 0
        if self._left - self._written < _LEFT_ON_DISK:
            self._remove()
            raise self._full()
        try:
            self._file.write(np.ascontiguousarray(piece).data)
        except OSError as error:
            raise self._fault(error) from error

    def flush(self) -> None:
        """Closes the file for writing."""
        try:
            self._file.close()
        except OSError as error:
            raise self._fault(error) from error

    def _full(self) -> CorpusError:
        return CorpusError(
            f"{self._name}: its text does not fit into the free memory, and the disk with {self.path.parent} is too "
            f"full for it ({size_text(self._left)} free); free some space, or read less with a limit of bytes."
        )

    def _fault(self, error: OSError) -> CorpusError:
        if "_remove" in self.__dict__:
            self._remove()
        return CorpusError(
            f"{self._name}: its text does not fit into the free memory, and cannot be written to "
            f"{self.path.parent} ({error.strerror or error}); free some space, or read less with a limit of bytes."
        )


def remove_left_texts() -> None:
    """Removes the texts that killed processes of this user have left."""
    for folder in (cache_folder(), temporary_folder()):
        if folder is not None:
            remove_of_ended(folder / _TEXTS)


def _remove(file: object, path: Path) -> None:
    with suppress(OSError):
        file.close()  # type: ignore[attr-defined]
    with suppress(OSError):
        path.unlink()


def _folder(name: str) -> Path:
    """The folder for texts that do not fit into the memory; those of killed processes are removed from it."""
    # The cache is on the disk; the folders for temporary files are often in the memory.
    for folder in (cache_folder(), temporary_folder()):
        if folder is not None and make_private(folder) and make_private(folder / _TEXTS):
            remove_of_ended(folder / _TEXTS)
            return folder / _TEXTS
    raise CorpusError(f"{name}: its text does not fit into the free memory, and there is no folder to keep it in.")


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


# --- Reads regular files and pipes whole; each error says in one sentence what is wrong with them ---------------------

_DESCRIPTORS = ("/dev/fd", "/proc/self/fd")
# One letter would be the drive of a path of Windows.
_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/+|(?P<hub>hf:)")


def read_regular_work(
    path: Path, budget: Budget, most: int | None = None
) -> Work[tuple[NDArray[np.uint8], os.stat_result]]:
    """Reads as many bytes as the file had when it was opened, unless that is too much: then they stay on the disk.

    With `most`, only so many of the first bytes.

    Raises:
        CorpusError: It is empty, no regular file, or became shorter. Call within `plain_errors` for the others.
    """
    refuse_irregular(path)
    with path.open("rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        size = status.st_size if most is None else min(status.st_size, most)
        if not size:
            raise EmptyError(f"{file_name(path)}: the file is empty.")
        if not budget.take(size):
            # A `FileText` behaves like an array where it is read.
            return cast("NDArray[np.uint8]", FileText(path)[:size]), status
        raw = np.empty(size, dtype=np.uint8)
        view, done = raw.data, 0
        while done < size:
            read = file.readinto(view[done : done + _PIECE])
            if not read:
                raise CorpusError(f"{file_name(path)}: the file became shorter while it was being read; try again.")
            done += read
            yield Progress("reading", done, size)
        if not path.exists():
            raise CorpusError(f"{file_name(path)}: the file disappeared while it was being read.")
        if os.fstat(file.fileno()).st_size < size:
            raise CorpusError(f"{file_name(path)}: the file became shorter while it was being read; try again.")
    raw.setflags(write=False)
    return raw, status


def path_of(given: AnyPath) -> Path:
    """A path that was given; raises CorpusError where it is empty, which would be the current folder."""
    if not os.fspath(given):
        raise CorpusError("The name of a file is empty: give the path of a file or a folder.")
    return Path(given)


def refuse_irregular(path: Path) -> None:
    """Raises CorpusError for a folder, a device or a pipe, and OSError where there is nothing."""
    try:
        mode = path.stat().st_mode
    except ValueError as error:  # a NUL in the path
        raise CorpusError(f"{file_name(path)}: this cannot be the name of a file.") from error
    if stat.S_ISDIR(mode):
        raise CorpusError(f"{file_name(path)}: this is a folder, not a file.")
    if not stat.S_ISREG(mode):
        raise CorpusError(f"{file_name(path)}: this is a device or a pipe, not a file of text.")


def network_address(path: Path) -> str:
    """The address that was given as a path, such as "s3://bucket/a.txt" or "hf:datasets/a/b"; "" for any other path."""
    text = path.as_posix()
    if not (match := _ADDRESS.match(text)):
        return ""
    # A path has no two slashes together.
    return text if match["hub"] else f"{match['scheme']}://{text[match.end() :]}"


@contextmanager
def plain_errors(path: Path) -> Generator[None]:
    """Turns errors of the system into one sentence."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        if address := network_address(path):
            raise CorpusError(f"{printable(address)}: an address is not read here; give the path of a file.") from error
        raise CorpusError(f"{file_name(path)}: no such file or folder.") from error
    except PermissionError as error:
        raise CorpusError(f"{file_name(path)}: you have no permission to read it.") from error
    except MemoryError as error:
        raise CorpusError(f"{file_name(path)}: the file is too large for the free memory of this computer.") from error
    except OSError as error:
        raise CorpusError(f"{file_name(path)}: the file cannot be read ({error.strerror or error}).") from error


def read_file_work(path: Path, largest: int | None = None) -> Work[bytes]:
    """Reads a whole file in bounded pieces.

    A pipe that this process was started with is read as well: a shell names `<(...)` by its descriptor.

    Raises:
        CorpusError: It cannot be read, or is larger than `largest` bytes (None: what fits into the free memory).
    """
    with plain_errors(path):
        in_descriptors = os.path.dirname(os.path.abspath(path)) in _DESCRIPTORS
        if not (in_descriptors and stat.S_ISFIFO(path.stat().st_mode)):
            refuse_irregular(path)
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            return (yield from read_stream_work(file, file_name(path), largest, size))


def read_stream_work(file: BinaryIO, name: str, largest: int | None = None, size: int = 0) -> Work[bytes]:
    """Reads a stream of an expected `size` (0: unknown) until its end, in bounded pieces; errors have its `name`.

    Raises:
        CorpusError: It is larger than `largest` bytes (None: what fits into the free memory).
        OSError: It cannot be read.
    """
    free = free_memory()
    # The pieces and the whole are held together for a moment.
    fitting = None if free is None else int(MOST_OF_FREE * free)
    most = min((limit for limit in (largest, fitting) if limit is not None), default=None)
    pieces, done = list[bytes](), 0
    while most is None or max(done, size) <= most:
        piece = file.read(_PIECE)
        if piece is None:  # pyright: ignore[reportUnnecessaryComparison] -- a non-blocking stream
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        done += len(piece)
        yield Progress("reading", min(done, size), size)
    if most == largest:
        raise CorpusError(f"{name}: it is too large: at most {most:,} bytes are read.")
    raise CorpusError(f"{name}: it is too large for the free memory of this computer.")
