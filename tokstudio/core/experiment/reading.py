"""Reads the corpus of an experiment: its sources with their weights, without what is left out."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import shown
from tokstudio.core.corpus.corpus import ONCE, Corpus, counted_sources_work
from tokstudio.core.corpus.counts_file import documents_counted_with
from tokstudio.core.corpus.leaving_out import LeavingOut
from tokstudio.core.corpus.left_out_list import leaving_out_work
from tokstudio.core.corpus.open_sources import SkippedFiles, read_again_work, read_work
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.readers.files import Budget
from tokstudio.core.corpus.readers.folders import (
    Entry,
    Fetching,
    Folder,
    expand_work,
    fetched_files_work,
    numbered_work,
)
from tokstudio.core.corpus.source import Source, entries
from tokstudio.core.experiment.toml import TomlFile
from tokstudio.core.hub.addresses import HUB, is_address, parse_address
from tokstudio.core.hub.kept_texts import kept_at

#: A source of a corpus as a part of the file or folder that it is read from: the file in it, the member, the value.
Key = tuple[str, str, "str | None"]


def shown_path(path: str) -> str:
    """A path as it is; an address without its password and its signature, as it may leave the file."""
    if not is_address(path):
        return path
    try:
        address = parse_address(path)
    except ConfigError:
        # What is no address may have its password anywhere.
        return f"{path.partition(':')[0]}://…"
    # The Hub has no secrets in its addresses, of which there are two forms.
    return path if address.scheme == HUB else str(address)


@dataclass(frozen=True)
class Part:
    """One of the sources that a file or a folder gives, where not all of them are wanted, or not as they are."""

    file: str = ""  # of a folder: the file in it, its path with `/`; "" for a data set of several files
    member: str = ""  # see `Source`
    value: str | None = None  # likewise
    encoding: str | None = None  # that it is read in; None for that of the whole
    field: str | None = None  # of a data set: the column that is the text; None for that of the whole
    delimiter: str | None = None  # likewise what separates the columns
    weight: int | None = None  # how much it counts, in thousandths; None for the weight of the whole

    def read_so(self, source: Source) -> bool:
        """Whether a source was read in this way."""
        reading = source.reading or Reading()
        pairs = (self.encoding, source.encoding), (self.field, reading.field), (self.delimiter, reading.delimiter)
        return all(wanted in (None, own) for wanted, own in pairs)


@dataclass(frozen=True)
class ExperimentSource:
    """What is read as one: a file, an archive, a data set, a folder of them, or a table of counted words."""

    path: str  # as in the file: relative to its folder, or absolute; or an address
    name: str = ""  # what its source is called; "" for the name of the file
    encoding: str | None = None  # None to detect it
    reading: Reading = field(default_factory=Reading)  # how it is read
    # Of an address: how many bytes of text are taken, None for all; and the seed of that choice.
    sample: tuple[int | None, int] = (None, 0)
    counts: bool = False  # whether it is a table of counted words
    weight: int = ONCE  # how much it counts, in thousandths
    parts: tuple[Part, ...] = ()  # those of its sources that are wanted, in this order; none for all


@dataclass(frozen=True)
class LeftOutStep:
    """What is left out together: rules with their thresholds, None for none; and lists, as paths in the file."""

    rules: Mapping[str, float | None]
    lists: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ExperimentTexts:
    """The texts of an experiment, to be read."""

    file: TomlFile  # where they stand
    path: Path  # the path of the file, whose folder paths are relative to
    documents: str | None  # what a document is; None where the file does not say
    sources: tuple[ExperimentSource, ...]  # what the corpus is made of, in order
    leaving_out: tuple[LeftOutStep, ...]  # what is left out of it, one step after another
    own: frozenset[Path] = frozenset()  # the experiment itself and what it writes, which folders of texts may have

    def place(self, path: str) -> Path:
        """The file that a path in the experiment is; an address as it is."""
        return Path(path) if is_address(path) else self.path.absolute().parent / path

    def corpus_work(self, tell: Callable[[Folder], None] | None = None) -> Work[Corpus]:
        """Reads the corpus; passes each folder to `tell`. Raises as `Experiment.corpus`."""
        corpus = yield from self.whole_work(tell)
        for step in self.leaving_out:
            corpus = yield from corpus.without_work((yield from self.step_work(corpus, step)))
        yield from corpus.sha256_work()
        return corpus

    def step_work(self, corpus: Corpus, step: LeftOutStep) -> Work[LeavingOut]:
        """What a step leaves out of a corpus."""
        return (yield from leaving_out_work(corpus, step.rules, [self.place(path) for path in step.lists]))

    def whole_work(self, tell: Callable[[Folder], None] | None = None) -> Work[Corpus]:
        """Reads the sources with their weights, before anything is left out."""
        counted: dict[int, tuple[Path, ...]] = {}
        for number, source in enumerate(self.sources):
            if source.counts:
                address = parse_address(source.path) if is_address(source.path) else None
                files = (self.place(source.path),) if address is None else (yield from fetched_files_work(address))[0]
                counted[number] = files
        documents = documents_counted_with(self.documents, [file for files in counted.values() for file in files])
        reader, sources, weights, numbers = _Reader(documents, tell, counted), list[Source](), list[int](), list[int]()
        yield from reader.expand_work(self)
        for number, wanted in enumerate(self.sources):
            read = yield from reader.read_work(number, wanted)
            try:
                parts = list(_wanted(read, reader.roots.get(number, self.place(wanted.path)), wanted))
            except ConfigError as error:
                raise self.file.error(str(error), "source", number) from error
            for found, part in parts:
                source = found if part.read_so(found) else (yield from _otherwise_work(found, part, documents))
                sources.append(source if not wanted.name else replace(source, name=wanted.name))
                weights.append(wanted.weight if part.weight is None else part.weight)
                numbers.append(number)
        self._check_weights(sources, weights, numbers)
        return Corpus(tuple(sources)).weighted(weights)

    def _check_weights(self, sources: Sequence[Source], weights: Sequence[int], numbers: Sequence[int]) -> None:
        """Refuses several weights of what counts as one."""
        of_entry: dict[int, int] = {}
        for (name, entry), weight, number in zip(entries(sources), weights, numbers, strict=True):
            if of_entry.setdefault(entry, weight) != weight:
                message = f"{shown(name)} counts as one text, so all of its parts must have the same weight."
                raise self.file.error(message, "source", number)


def _otherwise_work(source: Source, part: Part, documents: str) -> Work[Source]:
    """A source read again as its part says."""
    if source.path is None:
        return source
    reading, encoding = source.reading, part.encoding or source.encoding
    if reading is not None:
        reading = replace(reading, field=part.field or reading.field, delimiter=part.delimiter or reading.delimiter)
    again = read_again_work(source.path, documents, encoding, reading, source.member, source.value)
    return replace((yield from again), group=source.group)


class _Reader:
    """Reads files and folders, with one budget of memory."""

    def __init__(
        self, documents: str, tell: Callable[[Folder], None] | None, counted: Mapping[int, tuple[Path, ...]]
    ) -> None:
        self._documents, self._tell, self._budget = documents, tell, Budget()
        self._counted = counted  # the files of counted words, by the number of their source
        # By the number of the source in the experiment.
        self._entries: dict[int, list[Entry]] = {}
        self.roots: dict[int, Path] = {}  # where the texts of addresses are kept

    def expand_work(self, texts: ExperimentTexts) -> Work[None]:
        """Finds what the sources are read from; each folder is looked through once."""
        found: dict[object, list[Entry]] = {}
        listed: list[tuple[int, Entry]] = []
        for number, wanted in enumerate(texts.sources):
            path = texts.place(wanted.path)
            if wanted.counts:
                if (kept := kept_at(self._counted[number][0])) is not None:
                    self.roots[number] = kept.folder
                continue
            asked = (wanted.path, wanted.reading, wanted.encoding, wanted.sample) if is_address(wanted.path) else path
            if asked not in found:
                given = wanted.path if is_address(wanted.path) else path
                fetching = Fetching(wanted.reading, wanted.encoding, *wanted.sample)
                found[asked] = yield from expand_work([given], self._tell, fetching, texts.own)
            if is_address(wanted.path) and (kept := kept_at(found[asked][0].path)) is not None:
                path = self.roots[number] = kept.folder
            keys = {(part.file, "" if part.file else part.member) for part in wanted.parts}
            listed += [
                (number, entry)
                for entry in found[asked]
                # Of a folder, what is not wanted need not be read.
                if not keys or (entry.path == path and not entry.shards) or _key_of_entry(entry, path) in keys
            ]
        numbered = yield from numbered_work([entry for _, entry in listed])
        for (number, _), entry in zip(listed, numbered, strict=True):
            self._entries.setdefault(number, []).append(entry)

    def read_work(self, number: int, wanted: ExperimentSource) -> Work[list[Source]]:
        """All sources of what is to be read as one."""
        sources: list[Source] = []
        if wanted.counts:
            for file in self._counted[number]:
                sources += yield from counted_sources_work(file)
            return sources
        reading = None if wanted.reading == Reading() else wanted.reading
        skipped = SkippedFiles()
        for entry in self._entries.get(number, ()):
            with skipped.if_without_text(entry):
                sources += yield from read_work(entry, self._documents, wanted.encoding, reading, self._budget)
        return [*skipped.noted(sources)]


def _key_of_entry(entry: Entry, path: Path) -> tuple[str, str]:
    return ("", entry.name) if entry.shards else (_inside(entry.path, path), "")


def key_of(source: Source, path: Path) -> Key:
    """Which part of a file or folder a source is."""
    return _inside(source.path, path), source.member, source.value


def _inside(file: Path | None, folder: Path) -> str:
    """The path of a file in a folder, with `/`; "" where it is the folder itself."""
    return "" if file is None or file == folder else Path(os.path.relpath(file, folder)).as_posix()


def _wanted(read: Sequence[Source], path: Path, wanted: ExperimentSource) -> Iterator[tuple[Source, Part]]:
    """The sources that are wanted, each with what the file says of it."""
    if not wanted.parts:
        if wanted.name and len(read) > 1:
            raise ConfigError("name is for one source, and several are read here: leave it out.")
        yield from ((source, Part()) for source in read)
        return
    by_key: dict[Key, list[Source]] = {}
    for source in read:
        by_key.setdefault(key_of(source, path), []).append(source)
    for part in wanted.parts:
        found = by_key.get((part.file, part.member, part.value))
        if not found:
            name = part.file or part.member if part.value is None else part.value
            raise ConfigError(
                f"{shown(name)} is not in {shown(shown_path(wanted.path))} any more, or its text has changed."
            )
        yield found.pop(0), part
