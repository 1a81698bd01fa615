"""The corpus of the studio: its sources, their weights and statistics, and their division into documents."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from weakref import WeakKeyDictionary

from PySide6.QtCore import QObject, Signal

from tokstudio.core.base.progress import finish
from tokstudio.core.base.resources import SAMPLES
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.corpus import ONCE, Corpus
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.source import Source, entries, entry_name
from tokstudio.core.corpus.statistics import Statistics, statistics_work
from tokstudio.gui.session.common import source_jobs
from tokstudio.gui.session.common.jobs import Job, Jobs
from tokstudio.gui.session.common.source_jobs import ChangedSources, KeptSources, Read, Replaced, Unread
from tokstudio.gui.state.problems import Problem, is_missing, problem_of, read_together
from tokstudio.gui.state.training_plans import KeptCounts
from tokstudio.gui.state.training_settings import Documents

_LONG_TEXT = 1 << 20  # characters; longer texts become sources in a job


class CorpusState(QObject):
    """The sources. Call every method from the GUI thread."""

    sources_changed = Signal()  # the list of sources, or the text of one
    texts_added = Signal()  # at the user's request, also in place of samples
    weights_changed = Signal()
    weights_settled = Signal()  # after a change, or the last of several
    statistics_changed = Signal()  # counted again, or None while counting
    problem = Signal(object)  # a source could not be read, or not all of a folder: a Problem
    outdated_changed = Signal()
    source_found = Signal(object, object)  # a missing source is available again, unchanged: its placeholder, the source
    division_cancelled = Signal(str)  # the text is still divided by this

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self.sources: tuple[Source, ...] = ()
        self.kept = KeptSources()  # the records of the sources in projects
        self.counts = KeptCounts()
        self.moving = False  # whether the weights follow a slider that has not been released
        self.moves = 0  # how often they began to change
        # Sources that were removed may come back, by Undo, and have their weights then.
        self._weights: WeakKeyDictionary[Source, int] = WeakKeyDictionary()
        self.outdated: dict[Source, str] = {}  # sources whose files have changed, each with `CHANGED` or `GONE`
        self.statistics: Statistics | None = None
        self._documents: Documents = "file"
        self._divided: Documents = "file"  # the last division of the text
        self._before: dict[Source, Source] = {}  # the same text in its earlier division
        self._counting: Job | None = None
        self._splitting: Job | None = None

    @property
    def current(self) -> Corpus:
        """All sources with their weights, in order."""
        return Corpus(self.sources).weighted(self.weights)

    @property
    def weights(self) -> tuple[int, ...]:
        """How much each source counts, in thousandths; sources of one entry count alike."""
        named = zip(self.sources, entries(self.sources), strict=True)
        of_entry: dict[int, int] = {}
        return tuple(of_entry.setdefault(number, self._weights.get(source, ONCE)) for source, (_, number) in named)

    @property
    def splitting(self) -> bool:
        """Whether the text is being divided."""
        return self._splitting is not None

    def open_paths(
        self, paths: list[Path], encoding: str | None = None, readings: Mapping[Path, Reading] | None = None
    ) -> None:
        """Reads files and folders in the background and adds the readable ones; `readings` says how some are read."""
        work = partial(source_jobs.read_all, paths, encoding, self._documents, readings)
        self._jobs.start(work, self._add_read, self._reading_failed)

    def read_as_bytes(self, path: Path) -> None:
        """Reads a file without decoding it: again if it is in the corpus, else as a new source."""
        index_of_source = next((index for index, source in enumerate(self.sources) if source.path == path), None)
        if index_of_source is None:
            self.open_paths([path], "bytes")
        else:
            self.reread(index_of_source, "bytes")

    def open_counts(self, paths: list[Path]) -> None:
        """Reads files of word counts in the background and adds them to the corpus."""
        documents = self._documents
        self._jobs.start(lambda: source_jobs.read_counts(paths, documents), self._add_read, self._reading_failed)

    def add_text(self, text: str, name: str = "Pasted text") -> None:
        """Adds a text to the corpus."""
        documents = self._documents
        if len(text) > _LONG_TEXT:
            self._jobs.start(lambda: source_jobs.read_text(text, name, documents), self._add_read)
        else:
            self._add((finish(Source.from_texts([text], name).split_work(documents)),))

    def add_rows(self, rows: Sequence[str], name: str) -> None:
        """Adds a text of which each row is a document, whatever the setting."""
        self._add((replace(Source.from_texts(rows, name), is_rows=True),))

    def add_texts(self, texts: Sequence[tuple[str, str]]) -> None:
        """Adds short texts, each with its name, as sources."""
        sources = (Source.from_texts([text], name).split_work(self._documents) for name, text in texts)
        self.set_sources((*self.sources, *map(finish, sources)))

    def set_sources(self, sources: tuple[Source, ...]) -> None:
        """Replaces the sources, and counts them again; those that stay keep their weights."""
        self.settle_weights()
        self.sources = sources
        self.counts.use(sources)
        self._before = {source: self._before[source] for source in sources if source in self._before}
        sources_before = set(sources)
        self.outdated = {source: word for source, word in self.outdated.items() if source in sources_before}
        self.statistics = None
        if self._counting is not None:
            self._counting.cancel()
            self._counting = None
        if sources:
            corpus = self.current
            self._counting = self._jobs.start(lambda: statistics_work(corpus), self._set_statistics, quiet=True)
        self.sources_changed.emit()
        self.statistics_changed.emit()

    def set_weights(self, weights: tuple[int, ...], *, moving: bool = False) -> None:
        """Sets the weight of each source, in thousandths; with `moving`, more changes follow until `settle_weights`."""
        if not self.moving:
            self.moves += 1
        changed, settles = weights != self.weights, self.moving and not moving
        self.moving = moving
        if changed:
            self._weights.update(zip(self.sources, weights, strict=True))
            self.weights_changed.emit()
        if settles or (changed and not moving):
            self.weights_settled.emit()

    def settle_weights(self) -> None:
        """Ends a series of changes."""
        if self.moving:
            self.moving = False
            self.weights_settled.emit()

    def set_outdated(self, outdated: dict[Source, str]) -> None:
        """Sets which sources' files have changed; others are ignored."""
        sources_now = set(self.sources)
        outdated = {source: word for source, word in outdated.items() if source in sources_now}
        if outdated != self.outdated:
            self.outdated = outdated
            self.outdated_changed.emit()

    def remove_sources(self, indexes: list[int]) -> None:
        """Removes sources from the corpus."""
        gone = set(indexes)
        self.set_sources(tuple(source for i, source in enumerate(self.sources) if i not in gone))

    def reread(self, index: int, encoding: str | None) -> None:
        """Reads a source's file again, in another encoding or because it has changed; other sources stay."""
        old, documents = self.sources[index], self._documents
        kept = self.kept.of(old)
        if is_missing(old) and kept is not None:
            self._jobs.start(lambda: source_jobs.find_again(old, kept), self._take_reread, self._reading_failed)
        elif old.path is not None:
            work = partial(source_jobs.reread, old, encoding, documents)
            self._jobs.start(work, self._take_reread, self._reading_failed)

    def change_reading(self, source: Source, reading: Reading, encoding: str | None = None) -> None:
        """Reads the data set of a source again, such as another column of it."""
        work = partial(source_jobs.read_otherwise, source, reading, encoding, self._documents)
        self._jobs.start(work, self._take_replaced, self._reading_failed)

    def set_documents(self, documents: Documents) -> None:
        """Sets whether a document is a whole file or a line, and divides the text."""
        if documents == self._documents:
            return
        self._documents = documents
        if self.sources:
            self.split()
        else:
            self._divided = documents

    def split(self) -> None:
        """Divides every source by the last setting."""
        if self._splitting is not None:
            self._splitting.cancel()
        sources, documents, before = self.sources, self._documents, dict(self._before)
        self._splitting = self._jobs.start(lambda: source_jobs.split_all(sources, documents, before), self._take_split)
        self._splitting.cancelled.connect(self._splitting_cancelled)
        self._splitting.ended.connect(self._splitting_ended)

    def report(self, problem: Problem) -> None:
        """Shows an error of a source, also of one that was not added."""
        self.problem.emit(problem)

    def _splitting_cancelled(self) -> None:
        if self.sender() is self._splitting:
            self._documents = self._divided
            self.division_cancelled.emit(self._divided)

    def _splitting_ended(self) -> None:
        if self.sender() is self._splitting:
            self._splitting = None
            self.sources_changed.emit()

    def _add_read(self, read: Read) -> None:
        if read.sources:
            paths = {source.path for source in self.sources if source.path is not None}
            again = [source.name for source in read.sources if source.path in paths]
            if again:
                what = f"{again[0]} was" if len(again) == 1 else f"{len(again):,} of these files were"
                self._jobs.refuse(f"{what} already in the corpus. That text now counts twice.")
            self._add(read.sources)
            if read.documents != self._documents:
                # The setting has changed while they were read.
                self.split()
            self.texts_added.emit()
        for path, remark in read.remarks:
            self.report(Problem(remark, path=path, remark=True))
        for path, error in read.problems:
            self.report(problem_of(error, path))

    def _add(self, added: tuple[Source, ...]) -> None:
        """Adds texts, and says beside which; the user's own texts replace samples. A button does the other."""
        before = self.sources
        own = bool(before) and not any(map(sample_title, added))
        replaces = own and all(map(sample_title, before))
        self.set_sources(added if replaces else (*before, *added))
        if not own:
            return
        what = added[0].name if len(added) == 1 else f"{len(added):,} texts"
        names = list(dict.fromkeys(sample_title(source) or entry_name(source) for source in before))
        kind = "sample" if replaces else "source"
        whom = f"{'the sample ' * replaces}{names[0]}" if len(names) == 1 else several(len(names), kind)
        documents = self._documents
        # By their text, as a division of it makes other sources.
        earlier, later = ({id(source.data): source for source in sources} for sources in (before, added))

        def keep_both() -> None:
            self.set_sources((*before, *self.sources))
            if documents != self._documents:
                self.split()

        def replace_earlier() -> None:
            self.set_sources(tuple(source for source in self.sources if id(source.data) not in earlier))
            self.texts_added.emit()

        def holds() -> bool:
            arrays = {id(source.data) for source in self.sources}
            return not arrays.isdisjoint(later) and replaces == arrays.isdisjoint(earlier)

        if replaces:
            self._jobs.notify(f"{what} replaced {whom}.", "Keep Both", keep_both, holds, asks=True)
        else:
            was = "was" if len(added) == 1 else "were"
            self._jobs.notify(f"{what} {was} added beside {whom}.", "Replace", replace_earlier, holds, asks=True)

    def _take_reread(self, changed: ChangedSources | Unread) -> None:
        if isinstance(changed, Unread):
            self.report(problem_of(changed.error, changed.source.path))
            return
        ((old, new),) = changed.pairs
        # It may have been divided while it was read; then only the file tells which source it is.
        replaced = old if old in self.sources else next((one for one in self.sources if _same_place(one, old)), None)
        if replaced is not None:
            self._weights[new] = self._weights.get(replaced, ONCE)
            self.set_sources(tuple(new if source is replaced else source for source in self.sources))
            if changed.problem:
                self.report(Problem(changed.problem, path=new.path))
            elif is_missing(old):
                self.source_found.emit(old, new)
            if changed.documents != self._documents:
                self.split()

    def _take_replaced(self, changed: Replaced | Unread) -> None:
        if isinstance(changed, Unread):
            self.report(problem_of(changed.error, changed.source.path))
            return
        old = changed.old
        # A file may be in the corpus twice; a part of a divided one is replaced with the other parts.
        is_alone = old.value is None and old in self.sources
        gone = {one for one in self.sources if one is old or (not is_alone and read_together(one, old))}
        if gone:
            first = next(index for index, source in enumerate(self.sources) if source in gone)
            after = (source for source in self.sources[first:] if source not in gone)
            weights = {source.value: self._weights.get(source, ONCE) for source in self.sources if source in gone}
            usual = self._weights.get(old, ONCE)
            self._weights.update({one: weights.get(one.value, usual) for one in changed.made})
            self.set_sources((*self.sources[:first], *changed.made, *after))
            for path, remark in source_jobs.dropped(changed.made):
                self.report(Problem(remark, path=path, remark=True))
            if changed.documents != self._documents:
                self.split()

    def _take_split(self, changed: ChangedSources) -> None:
        if self.sender() is self._splitting:
            self._divided = self._documents
            new_of = dict(changed.pairs)
            self._before |= {new: old for old, new in changed.pairs if new is not old}
            self._weights.update({new: self._weights.get(old, ONCE) for old, new in changed.pairs})
            self.set_sources(tuple(new_of.get(source, source) for source in self.sources))

    def _reading_failed(self, error: Exception) -> None:
        self.report(problem_of(error))

    def _set_statistics(self, statistics: Statistics) -> None:
        # Statistics of replaced sources may still arrive.
        if self.sender() is self._counting:
            self.statistics = statistics
            self.statistics_changed.emit()


def sample_title(source: Source) -> str:
    """The title of the sample that a source is, or is a part of; "" if it is no sample."""
    titles = (sample.title for sample in SAMPLES if source.name in (sample.title, *sample.parts))
    return next(titles, "") if source.path is None else ""


def _same_place(one: Source, other: Source) -> bool:
    """Whether two sources are the same part of the same file."""
    return (one.path, one.member, one.value) == (other.path, other.member, other.value)
