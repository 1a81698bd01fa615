"""Keeps text while it is read: in memory as far as the budget goes, else in a private temporary file."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import shutil
import threading
import weakref
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.leftovers import hidden_name, remove_of_ended
from tokstudio.core.base.memory import free_memory
from tokstudio.core.base.private_folders import cache_folder, make_private, temporary_folder
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import size_text
from tokstudio.core.corpus.readers.large_file import FileText

# Text that would take more than this share of the free memory stays on the disk and is read in pieces.
MOST_OF_FREE = 0.4
_LEFT_ON_DISK = 200_000_000  # bytes of the disk that stay free
_CHECKED = 1 << 26  # bytes written between two looks at the free space
_PIECE = 1 << 20
_TEXTS = "texts"  # the folder for them


class Budget:
    """The memory for all texts that are read in one call; safe in several threads."""

    def __init__(self) -> None:
        self._left: float | None = None  # None before the first use
        self._lock = threading.Lock()

    def take(self, size: int) -> bool:
        """Whether `size` further bytes fit; they are then counted as used."""
        with self._lock:
            if self._left is None:
                free = free_memory()
                self._left = inf if free is None else MOST_OF_FREE * free
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
