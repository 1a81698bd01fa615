"""Reads regular files and pipes whole; each error says in one sentence what is wrong with them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import CorpusError, EmptyError
from tokstudio.core.base.memory import free_memory
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import printable
from tokstudio.core.corpus.readers.large_file import FileText
from tokstudio.core.corpus.readers.text_store import MOST_OF_FREE, Budget

_PIECE = 1 << 20
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
    if not (found := _ADDRESS.match(text)):
        return ""
    # A path has no two slashes together.
    return text if found["hub"] else f"{found['scheme']}://{text[found.end() :]}"


@contextmanager
def plain_errors(path: Path) -> Generator[None]:
    """Turns errors of the system into one sentence."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        if address := network_address(path):
            raise CorpusError(
                f"{printable(address)}: this is an address, which says where data is on a network. TokStudio reads "
                "files and folders of this computer; reading data by address comes with a later version. Until then, "
                "download it, and give its path."
            ) from error
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
