"""Reading sources for the window: work for a job, in which one bad file does not keep the others out."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import numpy as np

from tokstudio.core.corpus import Source, to_utf8
from tokstudio.core.errors import TokStudioError
from tokstudio.core.progress import Progress, Work
from tokstudio.core.readers import expand_work, read_source

_PIECE = 1 << 18  # characters


def read_all(paths: list[Path], encoding: str | None) -> Work[tuple[list[Source], list[Exception]]]:
    """Reads what can be read of files and folders; gives the sources, and what was wrong with the others."""
    read: list[Source] = []
    problems: list[Exception] = []
    for path in paths:
        try:
            for file in (yield from expand_work([path])):
                try:
                    read.append((yield from read_source(file, encoding=encoding)))
                except TokStudioError as error:
                    problems.append(error)
        except TokStudioError as error:
            problems.append(error)
        yield Progress("reading")
    return read, problems


def read_text(text: str, name: str) -> Work[tuple[list[Source], list[Exception]]]:
    """Makes a source of a long text at hand, in pieces."""
    pieces: list[bytes] = []
    for start in range(0, len(text), _PIECE):
        pieces.append(to_utf8(text[start : start + _PIECE]))
        yield Progress("reading", start, len(text))
    data = np.frombuffer(b"".join(pieces), np.uint8)
    return [Source(name, None, "utf-8", "", data, np.array([len(data)], np.int64))], []


def reread(old: Source, encoding: str | None) -> Work[tuple[Source, Source]]:
    """Gives a source and what its file holds now: several may be read again at once."""
    assert old.path is not None
    return old, (yield from read_source(old.path, encoding=encoding))
