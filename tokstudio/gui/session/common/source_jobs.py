"""Reads sources for the window in a job, in which an unreadable file does not affect the others.

Also keeps the record of each source for a project, computed once.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import BinaryError, CorpusError, TokStudioError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import counted_sources_work
from tokstudio.core.corpus.open_sources import read_again_work, read_otherwise_work, read_source, read_work
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.readers.files import Budget
from tokstudio.core.corpus.readers.folders import Entry, Fetching, Folder, expand_work, numbered_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.project import ProjectSource, keep_source_work, reopen_source_work
from tokstudio.core.text.utf8 import to_utf8
from tokstudio.gui.state.problems import changed_since, is_missing

_PIECE = 1 << 18  # characters


@dataclass(frozen=True)
class Read:
    """The readable sources, and what is to be told of the files and folders."""

    sources: tuple[Source, ...]
    problems: tuple[tuple[Path, Exception], ...]  # why others cannot be read
    documents: str  # what one document is: "file" or "line"
    remarks: tuple[tuple[Path, str], ...] = ()  # skipped files, what was dropped of data sets


@dataclass(frozen=True)
class ChangedSources:
    """Sources, each with the one that replaces it."""

    pairs: tuple[tuple[Source, Source], ...]
    documents: str  # what one document of the new ones is
    problem: str = ""  # a message about a source that was missing and has changed


@dataclass(frozen=True)
class Replaced:
    """A source, and what all sources that were read with it from one data set are replaced by."""

    old: Source
    made: tuple[Source, ...]
    documents: str  # what one document of the new ones is


@dataclass(frozen=True)
class Unread:
    """A source whose file could not be read again, and why."""

    source: Source
    error: Exception


def read_all(
    paths: list[Path],
    encoding: str | None,
    documents: str = "file",
    readings: Mapping[Path, Reading] | None = None,
    fetching: Fetching | None = None,
) -> Work[Read]:
    """Reads the readable files and folders; a file named twice, as by its folder, is read once.

    `readings` says how some of them are read, `fetching` how much of those that are given by their address.
    """
    files: list[Entry] = []
    chosen: dict[Entry, Reading] = {}
    problems: list[tuple[Path, Exception]] = []
    folders: list[Folder] = []
    for path in paths:
        try:
            entries = yield from expand_work([path], folders.append, fetching)
            files += entries
            if readings is not None and path in readings:
                chosen |= dict.fromkeys(entries, readings[path])
        except TokStudioError as error:
            problems.append((path, error))
    again: list[Entry] = []
    if len(paths) > 1:
        numbered = yield from numbered_work(files)
        files, again = [[one for one in numbered if (one.times > 1) == later] for later in (False, True)]
    budget, sources = Budget(), list[Source]()
    for file in files:
        try:
            sources += yield from read_work(file, documents, encoding, chosen.get(file), budget)
        except TokStudioError as error:
            problems.append((file.path, error))
        yield Progress("reading")
    remarks = [(folder.path, folder.remark) for folder in folders if folder.remark]
    if again:
        more = f", as are {len(again) - 1:,} more" if len(again) > 1 else ""
        remarks.append((again[0].path, f"{file_name(again[0].path)}: given twice, and read once{more}."))
    return Read(tuple(sources), tuple(problems), documents, (*remarks, *dropped(sources)))


def dropped(sources: Iterable[Source]) -> list[tuple[Path, str]]:
    """One remark about all data sets of which something was dropped."""
    with_notes = [source for source in sources if source.is_rows and source.note]
    more = f" (and of {len(with_notes) - 1:,} more: see their notes)" if len(with_notes) > 1 else ""
    return [(one.path, f"{one.name}: {one.note}{more}.") for one in with_notes[:1] if one.path is not None]


def read_counts(paths: list[Path], documents: str = "file") -> Work[Read]:
    """Reads the readable files of word counts, of which some have several sources."""
    sources: list[Source] = []
    problems: list[tuple[Path, Exception]] = []
    for path in paths:
        try:
            sources += yield from counted_sources_work(path)
        except TokStudioError as error:
            problems.append((path, error))
        yield Progress("reading")
    return Read(tuple(sources), tuple(problems), documents)


def read_text(text: str, name: str, documents: str = "file") -> Work[Read]:
    """Makes a source of a long text, in pieces."""
    pieces: list[bytes] = []
    for start in range(0, len(text), _PIECE):
        pieces.append(to_utf8(text[start : start + _PIECE]))
        yield Progress("reading", start, len(text))
    data = np.frombuffer(b"".join(pieces), np.uint8)
    whole = Source(name, None, "utf-8", "", data, np.array([len(data)], np.int64))
    return Read(((yield from whole.split_work(documents)),), (), documents)


def reread(old: Source, encoding: str | None, documents: str = "file") -> Work[ChangedSources | Unread]:
    """Returns a source and a new one from its file; several jobs may run at once.

    If the encoding is to be detected, a file that was read as bytes is read as bytes again.
    """
    path = old.path
    assert path is not None
    try:
        try:
            if old.counts is not None:
                sources = yield from _counts_again_work(old, path)
            else:
                again = read_again_work(path, documents, encoding, old.reading, old.member, old.value)
                sources = replace((yield from again), group=old.group)
        except BinaryError:
            if old.encoding != "bytes":
                raise
            sources = yield from read_source(path, documents, "bytes")
        return ChangedSources(((old, sources),), documents)
    except TokStudioError as error:
        return Unread(old, error)


def read_otherwise(old: Source, reading: Reading, documents: str = "file") -> Work[Replaced | Unread]:
    """Reads the data set of a source again in another way, which may give another number of sources."""
    assert old.path is not None
    try:
        source = yield from read_otherwise_work(old.path, documents, None, reading, old.member)
    except TokStudioError as error:
        return Unread(old, error)
    return Replaced(old, tuple(replace(one, group=old.group) for one in source), documents)


def find_again(missing: Source, kept: ProjectSource) -> Work[ChangedSources | Unread]:
    """Tries to read the missing file of a source of a project; it is divided as before."""
    try:
        source = yield from reopen_source_work(kept, fetches=True)
    except TokStudioError as error:
        return Unread(missing, error)
    problem = changed_since(kept) if source.changed else ""
    return ChangedSources(((missing, source.source),), kept.documents or "file", problem)


def split_all(sources: Iterable[Source], documents: str, before: Mapping[Source, Source]) -> Work[ChangedSources]:
    """Returns every source with the same text in other documents; placeholders are unchanged.

    `before` has, for some of them, the same text in its earlier division. That source is used again if it fits, as runs
    may have been trained on it.
    """
    pairs: list[tuple[Source, Source]] = []
    for source in sources:
        parts = source if is_missing(source) else (yield from source.split_work(documents))
        candidates = (source, *([before[source]] if source in before else []))
        pairs.append((source, next((one for one in candidates if np.array_equal(one.ends, parts.ends)), parts)))
    return ChangedSources(tuple(pairs), documents)


def _counts_again_work(old: Source, path: Path) -> Work[Source]:
    """The same source of a file of word counts: by its number too where several have its name."""
    sources = yield from counted_sources_work(path)
    named = [source for source in sources if source.name == old.name]
    if not named:
        raise CorpusError(f"{file_name(path)}: the counts of {old.name} are no longer in it.")
    same = named if len(named) == 1 else [source for source in named if source.member == old.member]
    if not same:
        raise CorpusError(f"{file_name(path)}: {len(named):,} of its sources are named {old.name}: open it again.")
    return same[0]


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
