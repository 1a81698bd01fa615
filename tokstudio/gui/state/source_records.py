"""What a project keeps of each source, found out once; and sources that are listed though their text is not at hand."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import printable
from tokstudio.core.corpus.source import Source
from tokstudio.core.project import ProjectSource, keep_source_work


class KeptSources:
    """Remembers by source, for as long as the source is in use anywhere else; may be asked from any thread."""

    def __init__(self) -> None:
        # With each the note whether its text is the source itself. The source is not stored then: it would never be
        # let go of.
        self._kept: WeakKeyDictionary[Source, tuple[ProjectSource, bool]] = WeakKeyDictionary()

    def of(self, source: Source) -> ProjectSource | None:
        """What is kept of a source, if that is known."""
        kept, is_text = self._kept.get(source, (None, False))
        return replace(kept, text=source) if kept is not None and is_text else kept

    def put(self, source: Source, kept: ProjectSource) -> None:
        """Notes what is kept of a source."""
        is_text = kept.text is source
        self._kept[source] = replace(kept, text=None) if is_text else kept, is_text

    def keep_work(self, source: Source) -> Work[ProjectSource]:
        """Finds out what is kept of a source: its text is read once for that."""
        kept = self.of(source)
        if kept is None:
            kept = yield from keep_source_work(source)
            self.put(source, kept)
        return kept


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


CHANGED = "changed"


GONE = "gone"
