"""Reads files and folders into sources; each error says in one sentence what is wrong with them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.memory import free_memory
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.large_file import FileText
from tokstudio.core.corpus.source import Source, check_documents, document_ends
from tokstudio.core.corpus.structured import structure_remark
from tokstudio.core.text.encodings import ENCODINGS as ENCODINGS
from tokstudio.core.text.encodings import SAMPLE, binary_kind, decode, detect, encoding_name, refuse_binary
from tokstudio.core.text.utf8 import AnyPath

_PIECE = 1 << 20
# A file that would take more than this share of the free memory stays on the disk and is read in pieces.
_MOST_OF_FREE = 0.4
_DESCRIPTORS = ("/dev/fd", "/proc/self/fd")
_FOLDER = "folder"
# The reasons to skip an entry of a folder, in the order of the report.
_WHY = ("unreadable", "binary", "empty", "not a file", "hidden")
_MOST_NAMED = 4


def read_source(path: AnyPath, documents: str = "file", encoding: str | None = None) -> Work[Source]:
    """Reads one regular file, in bounded pieces; `documents` and `encoding` are those of `Corpus.from_files`.

    Raises:
        ConfigError: `documents` or `encoding` is unknown.
        CorpusError: The file cannot be read, is empty, or changed while it was read.
        BinaryError: It is not text, and `encoding` is None.
    """
    check_documents(documents)
    chosen = None if encoding is None else encoding_name(encoding)
    path = Path(path)
    with _plain_errors(path):
        raw, status = yield from _read(path)
        if chosen is None:
            refuse_binary(raw, file_name(path))
        decoded = yield from (detect(raw) if chosen is None else decode(raw, chosen))
        if not len(decoded.data):
            raise CorpusError(f"{file_name(path)}: the file has no text.")
        ends = yield from document_ends(decoded.data, documents)
    note = "; ".join(filter(None, (decoded.note, structure_remark(file_name(path), decoded.data))))
    return Source(file_name(path), path, decoded.encoding, note, decoded.data, ends, status.st_mtime, status.st_size)


@dataclass(frozen=True)
class Folder:
    """The text files below a folder."""

    path: Path  # the folder
    files: tuple[Path, ...]  # the text files, sorted by path
    # All other files, each with the reason, such as "binary" or "empty". A hidden folder counts as one.
    skipped: tuple[tuple[Path, str], ...]

    @property
    def remark(self) -> str:
        """One sentence with the number of skipped files and the first of them; "" where none was skipped."""
        order = sorted(self.skipped, key=lambda one: (_WHY.index(one[1]), one[0]))
        names = [f"{file_name(path)} ({why})" for path, why in order[:_MOST_NAMED]]
        more = len(order) - len(names)
        told = ", ".join([*names, *([f"and {more:,} more"] if more else [])])
        return f"{file_name(self.path)}: {several(len(order), 'file')} skipped: {told}." if order else ""


def read_folder_work(path: AnyPath) -> Work[Folder]:
    """Lists the text files below a folder; raises CorpusError where it cannot be read or holds none."""
    root, files, skipped = Path(path), list[Path](), list[tuple[Path, str]]()
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            if folder != root:
                skipped.append((folder, "unreadable"))
                continue
            with _plain_errors(root):
                raise
        for entry in entries:
            # A file that has just been deleted is ignored.
            with suppress(FileNotFoundError):
                what = _folder_or_reason(entry)
                if what == _FOLDER:
                    folders.append(Path(entry.path))
                elif what:
                    skipped.append((Path(entry.path), what))
                else:
                    files.append(Path(entry.path))
            yield Progress("looking for text", len(files))
    made = Folder(root, tuple(sorted(files, key=lambda file: file.relative_to(root).parts)), tuple(skipped))
    if not files:
        raise CorpusError(" ".join(filter(None, (f"{file_name(root)}: no text files in this folder.", made.remark))))
    return made


def expand_work(paths: Iterable[AnyPath], tell: Callable[[Folder], None] | None = None) -> Work[list[Path]]:
    """Replaces each folder by its text files, and passes it to `tell`; files stay as given, whether they exist or not.

    A file that is named twice, for example by its folder as well, is listed once.
    """
    files: list[Path] = []
    several = list(map(Path, paths))
    for path in several:
        if os.path.isdir(path):
            folder = yield from read_folder_work(path)
            files += folder.files
            if tell is not None:
                tell(folder)
        else:
            files.append(path)
    return (yield from unique_work(files)) if len(several) > 1 else files


def unique_work(files: Iterable[Path]) -> Work[list[Path]]:
    """The files without duplicates, also where a file has several names."""
    known: dict[str, Path] = {}
    for file in files:
        place = str(file)
        with suppress(OSError, ValueError):
            place = os.path.realpath(file)
        known.setdefault(place, file)
        yield Progress("looking for text", len(known))
    return list(known.values())


def _read(path: Path) -> Work[tuple[NDArray[np.uint8], os.stat_result]]:
    """Reads as many bytes as the file had when it was opened, unless that is too much: then they stay on the disk."""
    _refuse_irregular(path)
    with path.open("rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        size, free = status.st_size, free_memory()
        if not size:
            raise CorpusError(f"{file_name(path)}: the file is empty.")
        if free is not None and size > _MOST_OF_FREE * free:
            # A `FileText` behaves like an array where it is read.
            return cast("NDArray[np.uint8]", FileText(path)), status
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


def _refuse_irregular(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except ValueError as error:  # a NUL in the path
        raise CorpusError(f"{file_name(path)}: this cannot be the name of a file.") from error
    if stat.S_ISDIR(mode):
        raise CorpusError(f"{file_name(path)}: this is a folder, not a file.")
    if not stat.S_ISREG(mode):
        raise CorpusError(f"{file_name(path)}: this is a device or a pipe, not a file of text.")


@contextmanager
def _plain_errors(path: Path) -> Generator[None]:
    """Turns errors of the system into one sentence."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
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
    with _plain_errors(path):
        in_descriptors = os.path.dirname(os.path.abspath(path)) in _DESCRIPTORS
        if not (in_descriptors and stat.S_ISFIFO(path.stat().st_mode)):
            _refuse_irregular(path)
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
    fitting = None if free is None else int(_MOST_OF_FREE * free)
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


def _is_hidden(entry: os.DirEntry[str]) -> bool:
    attributes = getattr(entry.stat(follow_symlinks=False), "st_file_attributes", 0)
    return entry.name.startswith(".") or bool(attributes & stat.FILE_ATTRIBUTE_HIDDEN)


def _folder_or_reason(entry: os.DirEntry[str]) -> str:
    """`_FOLDER`, or the reason to skip a file; "" for a text file."""
    try:
        if _is_hidden(entry):
            return "hidden"
        if entry.is_dir(follow_symlinks=False):
            return _FOLDER
        if not entry.is_file():
            return "not a file"
        with Path(entry.path).open("rb") as file:
            head = np.frombuffer(file.read(SAMPLE), dtype=np.uint8)
    except FileNotFoundError:
        raise
    except OSError:
        return "unreadable"
    if not len(head):
        return "empty"
    return "binary" if binary_kind(head) else ""
