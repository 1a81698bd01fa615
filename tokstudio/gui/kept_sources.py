"""What a project keeps of each source, found out once; and sources that are listed though their text is not at hand."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tokstudio.core.corpus import Source
from tokstudio.core.messages import printable
from tokstudio.core.progress import Work
from tokstudio.core.project import ProjectSource, keep_source_work


class KeptSources:
    """Remembers by source; may be asked from any thread."""

    def __init__(self) -> None:
        self._kept: dict[Source, ProjectSource] = {}

    def of(self, source: Source) -> ProjectSource | None:
        """What is kept of a source, if that is known."""
        return self._kept.get(source)

    def put(self, source: Source, kept: ProjectSource) -> None:
        """Notes what is kept of a source."""
        self._kept[source] = kept

    def keep_work(self, source: Source) -> Work[ProjectSource]:
        """Finds out what is kept of a source: its text is read once for that."""
        kept = self._kept.get(source)
        if kept is None:
            kept = yield from keep_source_work(source)
            self._kept[source] = kept
        return kept

    def forget_others(self, sources: Iterable[Source]) -> None:
        """Lets go of all sources but these."""
        self._kept = {source: kept for source in sources if (kept := self._kept.get(source)) is not None}


def missing_source(kept: ProjectSource) -> Source:
    """Stands in a list for a source whose text cannot be had; without text, and with what is known of it."""
    nothing = np.empty(0, np.uint8)
    return Source(printable(kept.name), kept.path, kept.encoding, kept.note, nothing, np.zeros(1, np.int64))


def is_missing(source: Source) -> bool:
    """Whether a source only stands for one whose text cannot be had."""
    return source.path is not None and source.modified is None and not len(source.data)


def changed_since(kept: ProjectSource) -> str:
    """Says that a source's file is not what it was."""
    return f"{kept.name} has changed on disk since the project was saved."
