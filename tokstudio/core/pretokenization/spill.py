"""Counts that do not fit into memory: on disk, in partitions by a hash of the word, each of which fits."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from itertools import count
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.private_folders import TemporaryFolder, remove_left_folders
from tokstudio.core.base.progress import Work
from tokstudio.core.pretokenization.table_builder import Joined, Rows, TableBuilder, TablePart, sorted_work
from tokstudio.core.pretokenization.word_table import PADDING, WordTable

_PARTITIONS = 32


class Spill:
    """A folder of counts, removed by `close`; several threads may add to it.

    Raises:
        CorpusError: The disk is full or cannot be written to.
    """

    def __init__(self) -> None:
        remove_left_folders()
        self._folder: TemporaryFolder | None = None
        self._making = threading.Lock()
        self._numbers = count()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added."""
        return self._folder is None

    def add(self, table: WordTable, rows: list[Rows]) -> None:
        """Writes the words of a table, and rows that refer to them."""
        from tokstudio.core.kernels.words import gather, partition

        try:
            with self._making:  # two folders would lose the counts in one of them
                if self._folder is None:
                    self._folder = TemporaryFolder()
            number, known = next(self._numbers), len(table)
            part = np.empty(known, np.int32)
            words, offsets = read_only(table.words), read_only(table.offsets)
            partition(words, offsets, _PARTITIONS, part)
            for which in range(_PARTITIONS):
                chosen = np.flatnonzero(part == which)
                numbers = np.full(known, -1, np.int32)
                numbers[chosen] = np.arange(len(chosen), dtype=np.int32)
                ends = np.empty(len(chosen), np.int64)
                data = np.zeros(int(np.diff(table.offsets)[chosen].sum()) + PADDING, np.uint8)
                gather(words, offsets, read_only(chosen), data, ends, 0, len(chosen))
                with (self._folder.path / f"{which}-{number}").open("wb") as file:
                    _write(file, data, np.concatenate([[0], ends]), np.array([len(rows)]))
                    for each in rows:
                        here = np.flatnonzero(part[each.words] == which)
                        row = (numbers[each.words[here]], each.counts[here], each.firsts[here])
                        _write(file, np.array([each.source]), *row)
        except OSError as error:
            what = "there is no space left on the disk" if error.errno == errno.ENOSPC else f"{error.strerror}"
            raise CorpusError(f"The counts do not fit into memory, and {what} for them: free some.") from error

    def joined_work(self) -> Work[Joined]:
        """All rows, joined partition by partition."""
        parts: list[TablePart] = []
        for which in range(_PARTITIONS):
            builder = TableBuilder()
            for part in self._read(which):
                yield from builder.add_work(part)
            parts.append((yield from builder.part_work()))
        self.close()
        return (yield from sorted_work(parts))

    def close(self) -> None:
        """Removes the folder."""
        if self._folder is not None:
            self._folder.close()
            self._folder = None

    def _read(self, which: int) -> Iterator[TablePart]:
        assert self._folder is not None
        for path in sorted(self._folder.path.glob(f"{which}-*")):
            with path.open("rb") as file:
                data, offsets, number = _read(file), _read(file), int(_read(file)[0])
                rows = [Rows(int(_read(file)[0]), _read(file), _read(file), _read(file)) for _ in range(number)]
            yield TablePart(data, offsets, rows)


def _write(file: BinaryIO, *arrays: NDArray[Any]) -> None:
    for array in arrays:
        np.save(file, array, allow_pickle=False)


def _read(file: BinaryIO) -> NDArray[Any]:
    return np.load(file, allow_pickle=False)
