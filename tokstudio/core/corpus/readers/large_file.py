"""Large texts that stay in their files: read in pieces on demand, and never mapped."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import CorpusError

_MOST = 1 << 26


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
        return part if len(part) > _MOST else np.asarray(part)

    def tobytes(self) -> bytes:
        """The whole text."""
        return np.asarray(self).tobytes()

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NDArray[np.uint8]:
        return self._file.read(self._start, len(self))


class ContentFile(io.RawIOBase):
    """A text as a file in which one can seek."""

    def __init__(self, text: FileText) -> None:
        self._text, self._at = text, 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Moves to a place, and returns it."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: len(self._text)}[whence]
        return self._at

    def tell(self) -> int:
        """The place."""
        return self._at

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes; all that follow where it is negative."""
        made = np.asarray(self._text[self._at : len(self._text) if size < 0 else self._at + size]).tobytes()
        self._at += len(made)
        return made


class _File:
    """A file that must not change."""

    def __init__(self, path: Path, owner: object) -> None:
        self._path, self._owner = path.absolute(), owner
        self.state = _state(path.stat())

    def read(self, start: int, size: int) -> NDArray[np.uint8]:
        made, done = np.empty(size, np.uint8), 0
        name = file_name(self._path)
        try:
            with self._path.open("rb", buffering=0) as file:
                if _state(os.fstat(file.fileno())) != self.state:
                    raise CorpusError(f"{name}: the file has changed since it was opened; open it again.")
                file.seek(start)
                while done < size:
                    read = file.readinto(made[done : done + _MOST].data)
                    if not read:
                        raise CorpusError(f"{name}: the file became shorter while it was being read; try again.")
                    done += read
        except OSError as error:
            why = error.strerror or error
            raise CorpusError(f"{name}: the file can no longer be read ({why}); open it again.") from error
        made.setflags(write=False)
        return made


def _state(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns
