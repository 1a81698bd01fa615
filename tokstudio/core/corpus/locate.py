"""Where a character stands in a corpus, for a message that a person can go by."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.source import Source

_PIECE = 1 << 20


def first_place_work(sources: Iterable[Source], character: str) -> Work[str | None]:
    """Where a character stands first, such as "book.txt, line 12, character 7".

    A source that has several documents and no file is told by its document; word counts are not looked at.

    Args:
        sources: In the order of the corpus, all valid UTF-8.
        character: One character.

    Returns:
        The place; None where the character stands nowhere.
    """
    wanted = character.encode()
    for source in sources:
        if source.counts is not None:
            continue
        for start in range(0, len(source.data), _PIECE):
            # No character's UTF-8 stands within another's; one may reach over the end of a piece.
            found = source.data[start : start + _PIECE + len(wanted) - 1].tobytes().find(wanted)
            yield Progress("reading", start, len(source.data))
            if found >= 0:
                return (yield from _told_work(source, start + found))
    return None


def _told_work(source: Source, place: int) -> Work[str]:
    document = int(np.searchsorted(source.ends, place, side="right"))
    if source.path is None and source.documents > 1:
        start = int(source.ends[document - 1]) if document else 0
        column = yield from _characters_work(source, start, place)
        return f"{source.name}, document {document + 1:,}, character {column + 1:,}"
    lines, start = 1, 0
    for at in range(0, place, _PIECE):
        ends = np.flatnonzero(source.data[at : min(place, at + _PIECE)] == ord("\n"))
        if len(ends):
            lines, start = lines + len(ends), at + int(ends[-1]) + 1
        yield Progress("reading", at, place)
    column = yield from _characters_work(source, start, place)
    return f"{source.name}, line {lines:,}, character {column + 1:,}"


def _characters_work(source: Source, start: int, stop: int) -> Work[int]:
    """How many characters begin between two places."""
    number = 0
    for at in range(start, stop, _PIECE):
        number += int(np.count_nonzero((source.data[at : min(stop, at + _PIECE)] & 0xC0) != 0x80))
        yield Progress("reading", at, stop)
    return number
