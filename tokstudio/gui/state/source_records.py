"""Records of sources in a project, each computed once, and placeholders for sources whose text is missing."""

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
    """Caches the record of each source while the source is in use elsewhere; thread-safe."""

    def __init__(self) -> None:
        # Each with the note whether its text is the source itself. The source is not stored then, as it would never be
        # released.
        self._kept: WeakKeyDictionary[Source, tuple[ProjectSource, bool]] = WeakKeyDictionary()

    def of(self, source: Source) -> ProjectSource | None:
        """The record of a source, if known."""
        kept, is_text = self._kept.get(source, (None, False))
        return replace(kept, text=source) if kept is not None and is_text else kept

    def put(self, source: Source, kept: ProjectSource) -> None:
        """Stores the record of a source."""
        is_text = kept.text is source
        self._kept[source] = replace(kept, text=None) if is_text else kept, is_text

    def keep_work(self, source: Source) -> Work[ProjectSource]:
        """Computes the record of a source; this reads its text once."""
        kept = self.of(source)
        if kept is None:
            kept = yield from keep_source_work(source)
            self.put(source, kept)
        return kept


def missing_source(kept: ProjectSource) -> Source:
    """A placeholder for a source whose text is not available, with what is known of it."""
    nothing = np.empty(0, np.uint8)
    return Source(printable(kept.name), kept.path, kept.encoding, kept.note, nothing, np.zeros(1, np.int64))


def is_missing(source: Source) -> bool:
    """Whether a source is a placeholder."""
    return source.path is not None and source.modified is None and not len(source.data)


def is_data_set(source: Source) -> bool:
    """Whether a source is of a data set, of which another column can be read."""
    reading = source.reading
    has_columns = reading is not None and (reading.field is not None or reading.as_text)
    return source.path is not None and has_columns and not is_missing(source)


def read_together(one: Source, other: Source) -> bool:
    """Whether two sources are of the same data set, read in the same way."""
    return (one.path, one.member, one.reading) == (other.path, other.member, other.reading)


def changed_since(kept: ProjectSource) -> str:
    """Says that the file of a source has changed."""
    return f"{kept.name} has changed on disk since the project was saved."


CHANGED, GONE = "changed", "gone"
