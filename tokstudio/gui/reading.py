"""Reading sources for the window: work for a job, in which one bad file does not keep the others out."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

from tokstudio.core.corpus import Source
from tokstudio.core.errors import TokStudioError
from tokstudio.core.progress import Progress, Work
from tokstudio.core.readers import expand_work, read_source


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


def reread(old: Source, encoding: str | None) -> Work[tuple[Source, Source]]:
    """Gives a source and what its file holds now: several may be read again at once."""
    assert old.path is not None
    return old, (yield from read_source(old.path, encoding=encoding))
