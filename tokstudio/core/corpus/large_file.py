"""Large texts that stay in their files: read in pieces on demand, and never mapped."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import CorpusError

_MOST = 1 << 26


class FileText:
    """A text in a file, with slices and single bytes like a read-only uint8 array; safe in several threads.

    The file is kept open. A slice of more than 64 MiB stays in it, a shorter one is read; `numpy.asarray` reads all.

    Raises:
        OSError: It cannot be opened.
        CorpusError: Raised by reads after the file has changed.
    """

    def __init__(self, path: Path) -> None:
        self._file = _OpenFile(path)
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


class _OpenFile:
    """A file that is closed with its last reference."""

    def __init__(self, path: Path) -> None:
        self._name = file_name(path)
        self._number = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        self._lock = threading.Lock()
        self.state = self._state()

    def __del__(self) -> None:
        if "_number" in self.__dict__:
            os.close(self._number)

    def read(self, start: int, size: int) -> NDArray[np.uint8]:
        made = np.empty(size, np.uint8)
        done = 0
        with self._lock:
            if self._state() != self.state:
                raise CorpusError(f"{self._name}: the file has changed since it was opened; open it again.")
            os.lseek(self._number, start, os.SEEK_SET)
            while done < size:
                read = os.read(self._number, min(size - done, _MOST))
                if not read:
                    raise CorpusError(f"{self._name}: the file became shorter while it was being read; try again.")
                made[done : done + len(read)] = np.frombuffer(read, np.uint8)
                done += len(read)
        made.setflags(write=False)
        return made

    def _state(self) -> tuple[int, int]:
        status = os.fstat(self._number)
        return status.st_size, status.st_mtime_ns
