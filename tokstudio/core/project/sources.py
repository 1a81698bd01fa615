"""Sources in a project: keeping them, and finding their texts again."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.open_sources import read_again_work
from tokstudio.core.corpus.source import Source, document_ends
from tokstudio.core.project.model import ProjectSource

_PIECE = 1 << 20


@dataclass(frozen=True, eq=False)
class RestoredSource:
    """A source with the current content of its file, and whether its text has changed since the project was saved."""

    source: Source
    changed: bool


def keep_source_work(source: Source) -> Work[ProjectSource]:
    """The source for a project: the absolute path of a file, or any other text itself.

    Reads all of the text once; a source never changes, so the result serves many saves.
    """
    sha256 = yield from text_hash_work(source.data)
    documents: Literal["file", "line"] | None = None
    if source.path is not None and source.counts is None:
        documents = yield from _division_work(source)
    return ProjectSource(
        source.name,
        None if source.path is None else source.path.absolute(),
        source.encoding,
        source.note,
        len(source.data),
        documents,
        source.size_on_disk,
        source.modified,
        sha256,
        source if documents is None else None,
        reading=source.reading,
        member=source.member,
        value=source.value,
        group=source.group,
        is_rows=source.is_rows,
    )


def reopen_source_work(kept: ProjectSource) -> Work[RestoredSource]:
    """Finds a source's text again: in the project, or in its file, whose path is untrusted.

    Raises:
        CorpusError: Its file cannot be read.
    """
    if kept.text is not None:
        return RestoredSource(kept.text, False)
    assert kept.path is not None
    source = None
    # Detection and a chosen encoding treat faults differently: one keeps them, the other replaces them.
    for encoding in (kept.encoding, None):
        try:
            documents = "file" if kept.reading is None else kept.documents or "file"
            again = read_again_work(kept.path, documents, encoding, kept.reading, kept.member, kept.value)
            current = replace((yield from again), group=kept.group)
        except CorpusError:
            if source is None:
                raise
            break
        source = yield from _beginning_work(current, kept)
        if (yield from text_hash_work(source.data)) == kept.sha256:
            return RestoredSource(replace(source, note=kept.note), False)
        if current.size_on_disk != kept.size_on_disk:
            break
    assert source is not None
    return RestoredSource(source, True)


def text_hash_work(data: NDArray[np.uint8]) -> Work[str]:
    """The hexadecimal SHA-256 of a text."""
    digest = hashlib.sha256()
    for at in range(0, len(data), _PIECE):
        digest.update(np.ascontiguousarray(data[at : at + _PIECE]).data)
        yield Progress("hashing", at, len(data))
    return digest.hexdigest()


def _division_work(source: Source) -> Work[Literal["file", "line"] | None]:
    """The division of a file's text into documents; None where reading the file would not repeat it."""
    if source.is_rows:
        return "file"
    if source.reading is not None:
        # The filters are applied to the documents again.
        return "file" if source.documents == 1 else "line"
    if np.array_equal(source.ends, [len(source.data)]):
        return "file"
    lines = yield from document_ends(source.data, "line")
    return "line" if np.array_equal(source.ends, lines) else None


def _beginning_work(source: Source, kept: ProjectSource) -> Work[Source]:
    assert kept.documents is not None
    if source.reading is not None:
        if len(source.data) <= kept.bytes:
            return source
        whole = source.ends[source.ends < kept.bytes]
        places = None if source.places is None else source.places[: len(whole) + 1]
        ends = np.concatenate((whole, [kept.bytes]))
        return replace(source, data=source.data[: kept.bytes], ends=ends, places=places)
    if len(source.data) > kept.bytes:
        source = replace(source, data=source.data[: kept.bytes])
    if kept.documents == "line":
        return (yield from source.split_work("line"))
    return replace(source, ends=np.array([len(source.data)], np.int64))
