"""Finds the first occurrence of a character in a corpus, for an error message."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.source import Source

_PIECE = 1 << 20


def first_occurrence_work(sources: Iterable[Source], character: str) -> Work[str | None]:
    """The first occurrence of a character in valid UTF-8, such as "book.txt, line 12, character 7"; None for none.

    In a source with several documents and no file, the document is named instead of the line; word counts are skipped.
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


def _position_work(source: Source, offset: int) -> Work[str]:
    document = int(np.searchsorted(source.ends, offset, side="right"))
    if source.path is None and source.documents > 1:
        start = int(source.ends[document - 1]) if document else 0
        column = yield from _characters_work(source, start, offset)
        return f"{source.name}, document {document + 1:,}, character {column + 1:,}"
    lines, start = 1, 0
    for at in range(0, offset, _PIECE):
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
