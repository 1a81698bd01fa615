"""Opens untrusted files, and reads them line by line within memory limits."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import stat
from codecs import BOM_UTF8
from collections.abc import Iterator
from io import BufferedReader, BytesIO
from itertools import islice
from pathlib import Path
from typing import Self

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress
from tokstudio.core.text.encodings import WHY_NOT_POINTER, is_lfs_pointer

_LONGEST = 1 << 28
_BEGINNING = 512
_REPORTED = 1 << 15
_MOST_LISTED = 1000


class Reader:
    """A file, read from beginning to end in a `with` block.

    Args:
        path: The file, or its content.
        name: Its name in errors.
        largest: The largest size in bytes.

    Raises:
        FormatError: It does not exist, is not a file, or is too large. All methods raise it where the file is damaged.
    """

    def __init__(self, path: Path | bytes, name: str, largest: int) -> None:
        self.name = name
        self._file, self.size = open_file(path, name, largest)
        self._read = self._file.tell()
        self._reported = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def progress(self) -> Iterator[Progress]:
        """One report where enough of the file has been read since the last one, otherwise none."""
        if self._read - self._reported >= _REPORTED:
            self._reported = self._read
            yield Progress("reading", min(self._read, self.size), self.size)


class LineReader(Reader):
    """A file of lines."""

    _line = 0
    _is_cut = False  # whether the last line has no end

    def __iter__(self) -> Iterator[bytes]:
        """Yields each line without its end, of Unix or Windows."""
        try:
            while line := self._file.readline(_LONGEST):
                self._line += 1
                self._read += len(line)
                if len(line) == _LONGEST:
                    raise self.fault("the line is too long to read")
                self._is_cut = not line.endswith(b"\n")
                yield line.removesuffix(b"\n").removesuffix(b"\r")
        except OSError as error:
            raise FormatError(f"{self.name}: {why_not(error)}.") from error

    def peek(self) -> bytes:
        """The beginning of the file, before anything is read."""
        try:
            return self._file.peek(1)[:_BEGINNING]
        except OSError as error:
            raise FormatError(f"{self.name}: {why_not(error)}.") from error

    def fault(self, what: str) -> FormatError:
        """An error at the last line; without an end, a part of it may be missing."""
        cut = "the file ends too early, or " if self._is_cut else ""
        return FormatError(f"{self.name}: {cut}{what}, line {self._line:,}.")


def open_file(path: Path | bytes, name: str, largest: int) -> tuple[BufferedReader, int]:
    """Opens a file or its content, behind its byte order mark if it has one, and returns its size.

    Raises:
        FormatError: There is none, it has more than `largest` bytes, or it is a Git LFS pointer.
    """
    if isinstance(path, bytes):
        return BufferedReader(BytesIO(path)), len(path)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise FormatError(f"{name}: this is not a file.")
        if status.st_size > largest:
            raise FormatError(
                f"{name}: the file is too large: {status.st_size:,} bytes, and at most {largest:,} are read."
            )
        file = path.open("rb")
        try:
            beginning = file.peek(_BEGINNING)[:_BEGINNING]
            if is_lfs_pointer(beginning):
                raise FormatError(f"{name}: {WHY_NOT_POINTER}.")
            if beginning.startswith(BOM_UTF8):
                file.read(len(BOM_UTF8))
        except BaseException:
            file.close()
            raise
        return file, status.st_size
    except (OSError, ValueError) as error:
        raise FormatError(f"{name}: {why_not(error)}.") from error


def read_whole(path: Path | bytes, name: str, largest: int) -> bytes:
    """The content of a file behind its byte order mark; FormatError as of `open_file`."""
    file, size = open_file(path, name, largest)
    with file:
        try:
            return file.read(size)
        except OSError as error:
            raise FormatError(f"{name}: {why_not(error)}.") from error


def why_not(error: OSError | ValueError) -> str:
    """The reason why a file cannot be read, in a few words."""
    if isinstance(error, FileNotFoundError):
        return "the file does not exist"
    if isinstance(error, PermissionError):
        return "you have no permission to read the file"
    return f"the file cannot be read: {(isinstance(error, OSError) and error.strerror) or error}"


def only_file(folder: Path, ending: str) -> Path | None:
    """The file in a folder whose name ends in `ending`, or None; FormatError where there are several."""
    files = sorted(file for file in islice(folder.glob(f"*{ending}"), _MOST_LISTED) if file.is_file())
    if len(files) > 1:
        names = f"{files[0].name} and {files[1].name}"
        raise FormatError(f"{file_name(folder)}: the folder holds more than one tokenizer, {names}: open one of them.")
    return files[0] if files else None
