"""Opens untrusted files, and reads them line by line within memory limits."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import stat
from collections.abc import Iterator
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Self

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress

_LONGEST = 1 << 28
_BEGINNING = 512
_REPORTED = 1 << 15
_MOST_LISTED = 1000


class Reader:
    """A file, read from beginning to end in a `with` block.

    Args:
        path: The file.
        name: Its name in errors.
        largest: The largest size in bytes.

    Raises:
        FormatError: It does not exist, is not a file, or is too large. All methods raise it where the file is damaged.
    """

    def __init__(self, path: Path, name: str, largest: int) -> None:
        self.name = name
        self._file, self.size = open_file(path, name, largest)
        self._read = 0
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

    def __iter__(self) -> Iterator[bytes]:
        """Yields each line without its end, of Unix or Windows."""
        try:
            while line := self._file.readline(_LONGEST):
                self._line += 1
                self._read += len(line)
                if len(line) == _LONGEST:
                    raise self.fault("the line is too long to read")
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
        """An error at the last line."""
        return FormatError(f"{self.name}: {what}, line {self._line:,}.")


def open_file(path: Path, name: str, largest: int) -> tuple[BufferedReader, int]:
    """Opens a file and returns its size; FormatError where there is none, or it has more than `largest` bytes."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise FormatError(f"{name}: this is not a file.")
        if status.st_size > largest:
            raise FormatError(
                f"{name}: the file is too large: {status.st_size:,} bytes, and at most {largest:,} are read."
            )
        return path.open("rb"), status.st_size
    except (OSError, ValueError) as error:
        raise FormatError(f"{name}: {why_not(error)}.") from error


def read_whole(path: Path, name: str, largest: int) -> bytes:
    """The content of a file; FormatError where there is none, or it has more than `largest` bytes."""
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
