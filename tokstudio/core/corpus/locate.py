"""Says where in its file a byte of a corpus is, and where a character occurs first, for an error message."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.source import Source

_PIECE = 1 << 20


def first_occurrence_work(sources: Iterable[Source], character: str) -> Work[str | None]:
    """The first occurrence of a character in valid UTF-8, such as "book.txt, line 12, character 7"; None for none.

    Of a data set, the row is named instead of the line, and of several documents without a file the document; word
    counts are skipped.
    """
    wanted = character.encode()
    for source in sources:
        if source.counts is not None:
            continue
        for start in range(0, len(source.data), _PIECE):
            # The UTF-8 of a character never occurs within another's; it may reach over the end of a piece.
            at = source.data[start : start + _PIECE + len(wanted) - 1].tobytes().find(wanted)
            yield Progress("reading", start, len(source.data))
            if at >= 0:
                return (yield from _position_work(source, start + at))
    return None


def row_of(source: Source, position: int) -> tuple[str, int]:
    """The file of a data set, or its source, and the row in it, from 1, that a byte of the source is in."""
    _, _, row, shard = _run_at(source, position)
    return source.shards[shard] if source.shards else source.name, row


def document_place(source: Source, document: int) -> str:
    """Where a document is, such as "a.jsonl, row 12" or "book.txt"; "" for the only one of a text without a file."""
    start = int(source.ends[document - 1]) if document else 0
    if source.is_rows:
        file, row = row_of(source, start)
        return f"{file}, row {row:,}"
    if source.documents == 1:
        return source.name if source.path is not None else ""
    # A document among others is a line of its file.
    unit = "document" if source.path is None else "line"
    return f"{source.name}, {unit} {_run_at(source, start)[2]:,}"


def known_line(source: Source, position: int) -> tuple[int, int]:
    """The last byte up to a position of which the line in the file is known, and that line, from 1."""
    if source.rows is None:
        return 0, 1
    run = source.rows[np.searchsorted(source.rows[:, 1], position, side="right") - 1]
    return int(run[1]), int(run[2])


def rows_of_parts_work(source: Source, parts: Iterable[tuple[int, Source]]) -> Work[NDArray[np.int64]]:
    """`Source.rows` of parts of a source, of which each begins at a byte of it, one after another."""
    runs: list[tuple[int, int, int, int]] = []
    documents = size = 0
    for start, part in parts:
        first, _, row, shard = _run_at(source, start)
        if not source.is_rows:
            at, row = known_line(source, start)
            for here in range(at, start, _PIECE):
                row += int(np.count_nonzero(source.data[here : min(start, here + _PIECE)] == ord("\n")))
                yield Progress("reading")
        runs.append((documents, size, row, shard))
        if source.rows is not None:
            inner = source.rows[(source.rows[:, 0] > first) & (source.rows[:, 1] < start + len(part.data))]
            shift = np.array([documents - first, size - start, 0, 0])
            runs += map(tuple, (inner + shift).tolist())  # pyright: ignore[reportArgumentType]
        documents, size = documents + part.documents, size + len(part.data)
    return np.array(runs, np.int64).reshape(-1, 4)


def _run_at(source: Source, position: int) -> tuple[int, int, int, int]:
    """The document that a byte is in, as a run of `Source.rows` that begins with it."""
    document = int(np.searchsorted(source.ends, position, side="right"))
    start = int(source.ends[document - 1]) if document else 0
    if source.rows is None:
        return document, start, document + 1, 0
    run = source.rows[np.searchsorted(source.rows[:, 0], document, side="right") - 1]
    return document, start, int(run[2]) + document - int(run[0]), int(run[3])


def _position_work(source: Source, offset: int) -> Work[str]:
    document = int(np.searchsorted(source.ends, offset, side="right"))
    start = int(source.ends[document - 1]) if document else 0
    if source.is_rows:
        file, row = row_of(source, offset)
        column = yield from _characters_work(source, start, offset)
        return f"{file}, row {row:,}, character {column + 1:,}"
    if source.path is None and source.documents > 1:
        column = yield from _characters_work(source, start, offset)
        return f"{source.name}, document {document + 1:,}, character {column + 1:,}"
    start, lines = known_line(source, offset)
    for at in range(start, offset, _PIECE):
        ends = np.flatnonzero(source.data[at : min(offset, at + _PIECE)] == ord("\n"))
        if len(ends):
            lines, start = lines + len(ends), at + int(ends[-1]) + 1
        yield Progress("reading", at, offset)
    column = yield from _characters_work(source, start, offset)
    return f"{source.name}, line {lines:,}, character {column + 1:,}"


def _characters_work(source: Source, start: int, stop: int) -> Work[int]:
    """How many characters begin between two offsets."""
    number = 0
    for at in range(start, stop, _PIECE):
        number += int(np.count_nonzero((source.data[at : min(stop, at + _PIECE)] & 0xC0) != 0x80))
        yield Progress("reading", at, stop)
    return number
