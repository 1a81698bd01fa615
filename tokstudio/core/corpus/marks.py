"""What rules find, the lines of a corpus in pieces, and the hashes of texts that were there before."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.arrays import power_of_two, read_only
from tokstudio.core.base.machine import free_memory
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.source import Source, WithSources

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- What is found, and what is gone ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Marked:
    """The documents or lines that a rule finds; arrays of one length, in the order of the corpus."""

    rule: str  # its name
    source: NDArray[np.int32]  # int32, the index of the source of each
    document: NDArray[np.int64]  # int64, the number of the document among those of the source, from 0
    line: NDArray[np.int64]  # int64, the number of the line in it, from 0; -1 for the whole document
    start: NDArray[np.int64]  # int64, the first byte in the data of the source
    stop: NDArray[np.int64]  # int64, the byte after the last, which is a line feed where the line has one

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, chosen: NDArray[np.bool_] | NDArray[np.int64] | slice) -> Marked:
        arrays = (self.source, self.document, self.line, self.start, self.stop)
        return Marked(self.rule, *(array[chosen] for array in arrays))  # pyright: ignore[reportArgumentType]

    @property
    def bytes(self) -> NDArray[np.int64]:
        """int64, the bytes of each."""
        return self.stop - self.start


class Gone:
    """What is left out already, and is not looked at again."""

    documents: list[NDArray[np.bool_] | None]  # by source: bool, which documents are; None where none is
    lines: list[NDArray[np.int64]]  # by source: int64, the starts of lines that are, ascending

    def __init__(self, sources: Sequence[Source]) -> None:
        self.documents = [None] * len(sources)
        self.lines = [np.zeros(0, np.int64)] * len(sources)
        self._sizes = [source.documents for source in sources]

    def add(self, marks: Marked) -> None:
        """Adds what a rule found, in the order of the corpus."""
        borders = np.searchsorted(marks.source, np.arange(len(self._sizes) + 1)).tolist()
        for source, own in enumerate(pairwise(borders)):
            here = marks[slice(*own)]
            if (documents := here.document[here.line < 0]).size:
                before = self.documents[source]
                is_gone = np.zeros(self._sizes[source], np.bool_) if before is None else before
                is_gone[documents] = True
                self.documents[source] = is_gone
            if (starts := here.start[here.line >= 0]).size:
                before = self.lines[source]
                self.lines[source] = np.union1d(before, starts) if len(before) else starts

    def stays(self, lines: SomeLines) -> NDArray[np.bool_] | None:
        """Which of some lines stay; None for all."""
        documents, starts = self.documents[lines.source], self.lines[lines.source]
        stays = None if documents is None else ~documents[lines.documents]
        if len(starts):
            begins = lines.starts + lines.base
            at = np.minimum(np.searchsorted(starts, begins), len(starts) - 1)
            others = starts[at] != begins
            stays = others if stays is None else stays & others
        return stays


# --- The lines of a corpus, in pieces --------------------------------------------------------------------------------

PIECE = 1 << 20
LINES = 1 << 15
_GROWTH = 4  # of a piece in which no line ends


@dataclass(frozen=True, eq=False)
class SomeLines:
    """Some lines of a source; arrays of one length."""

    source: int  # the index of the source
    data: NDArray[np.uint8]  # uint8, the text that they are in
    base: int  # the offset of this text in the source
    starts: NDArray[np.int64]  # int64, the first byte of each line in the text
    stops: NDArray[np.int64]  # int64, the byte after its last
    documents: NDArray[np.int64]  # int64, its document
    lines: NDArray[np.int64]  # int64, its number in the document

    def marked(self, rule: str, marks: NDArray[np.bool_]) -> Marked:
        """The marked lines."""
        place = np.full(int(np.count_nonzero(marks)), self.source, np.int32)
        starts, stops = self.starts[marks] + self.base, self.stops[marks] + self.base
        return Marked(rule, place, self.documents[marks], self.lines[marks], starts, stops)


def lines_of(corpus: WithSources, gone: Gone, only: Sequence[int] | None = None) -> Iterator[tuple[SomeLines, int]]:
    """Yields the lines of a corpus that are not gone, in bounded pieces, and how many bytes of it are done.

    With `only`, those of some sources. A line ends after its line feed or with its document; one that is longer than a
    piece is read whole.
    """
    from tokstudio.core.kernels.lines import split_lines

    before = 0
    for number, source in enumerate(corpus.sources):
        data, ends = source.data, read_only(source.ends)
        base, document, line, size = 0, 0, 0, PIECE
        while base < len(data) and (only is None or number in only):
            piece, at = read_only(np.asarray(data[base : base + size])), 0
            while True:
                written = np.empty((4, LINES), np.int64)
                count, at, document, line = split_lines(piece, at, base, document, line, ends, *written)
                if count:
                    lines = SomeLines(number, piece, base, *written[:, :count])
                    if (stays := gone.stays(lines)) is not None:
                        arrays = (lines.starts, lines.stops, lines.documents, lines.lines)
                        lines = SomeLines(number, piece, base, *(array[stays] for array in arrays))
                    yield lines, before + base + at
                if count < LINES:
                    break
            size = PIECE if at else size * _GROWTH
            base += at
        before += len(data)


def joined_marks(rule: str, found: Sequence[Marked]) -> Marked:
    """What was found, one after another."""
    none = np.zeros(0, np.int64)
    arrays = [(none.astype(np.int32), none, none, none, none)]
    arrays += [(marks.source, marks.document, marks.line, marks.start, marks.stop) for marks in found]
    return Marked(rule, *(np.concatenate(each) for each in zip(*arrays, strict=True)))  # pyright: ignore[reportArgumentType]


class GrowingMarks:
    """What a rule finds, piece after piece, in arrays that grow in place: it is never in the memory twice."""

    def __init__(self, rule: str) -> None:
        self._rule, self._used = rule, 0
        self._columns = [np.zeros(0, np.int32), *(np.zeros(0, np.int64) for _ in range(4))]

    def add(self, marks: Marked) -> None:
        """Adds what was found next."""
        before, self._used = self._used, self._used + len(marks)
        arrays = (marks.source, marks.document, marks.line, marks.start, marks.stop)
        for column, array in zip(self._columns, arrays, strict=True):
            if self._used > len(column):
                column.resize(self._used + (self._used >> _SPARE) + _FIRST_ROOM, refcheck=False)
            column[before : self._used] = array

    def finish(self) -> Marked:
        """All that was found; nothing can be added any more."""
        for column in self._columns:
            column.resize(self._used, refcheck=False)
        return Marked(self._rule, *self._columns)  # pyright: ignore[reportArgumentType]


# --- The hashes of texts that were there before -----------------------------------------------------------------------

_FIRST_ROOM = 1 << 16
_SPARE = 3  # an eighth of an array that grows
_MOST_OF_FREE = 0.3  # for the table of hashes; with more of them, the text is read several times
_BYTES_OF_HASH = 24


class TooManyHashesError(Exception):
    """There are more hashes than fit into the memory."""


class Seen:
    """The hashes that were there before, of one part of all hashes."""

    def __init__(self, part: int, parts: int, sums: NDArray[np.int64], has_owners: bool) -> None:
        self._part, self._parts, self._sums = part, parts, sums
        self._tables = self._tables_of(_FIRST_ROOM, has_owners)
        self._used, self._has_owners = 0, has_owners
        free = free_memory()
        self._most = None if free is None else max(_FIRST_ROOM, int(_MOST_OF_FREE * free) // _BYTES_OF_HASH)

    def look_up(
        self, hashes: NDArray[np.uint64], documents: NDArray[np.int64], sizes: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Says which were there before, and adds the others; `TooManyHashesError` where they do not fit."""
        from tokstudio.core.kernels.lines import find_repeated, move_hashes

        marks, at = np.zeros(len(hashes), np.bool_), 0
        documents, sizes = read_only(documents), read_only(sizes)
        while True:
            keys, owners = self._tables
            at, self._used = find_repeated(
                hashes, at, self._part, self._parts, keys, self._used, documents, sizes, owners, self._sums, marks
            )
            if at == len(hashes):
                return marks
            if self._most is not None and 2 * len(keys) > self._most:
                raise TooManyHashesError
            larger = self._tables_of(2 * len(keys), self._has_owners)
            move_hashes(keys, owners, *larger)
            self._tables = larger

    @staticmethod
    def _tables_of(room: int, has_owners: bool) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        rows = power_of_two(room)
        return np.zeros((rows, 2), np.uint64), np.zeros(rows if has_owners else 0, np.int64)
