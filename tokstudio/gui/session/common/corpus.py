"""The corpus of the studio: its sources, their weights and division into documents, and what is left out of them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from weakref import WeakKeyDictionary

from PySide6.QtCore import QObject, Signal

from tokstudio.core.base.progress import Work, finish
from tokstudio.core.base.resources import SAMPLES
from tokstudio.core.base.wording import several, size_text
from tokstudio.core.corpus.corpus import ONCE, Corpus
from tokstudio.core.corpus.leaving_out import LeavingOut, LeftOut
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.rules import RULES
from tokstudio.core.corpus.source import Source, document_numbers, document_shards, entries, entry_name
from tokstudio.core.corpus.statistics import Statistics, statistics_work
from tokstudio.gui.session.common import source_jobs
from tokstudio.gui.session.common.jobs import Job, Jobs, LatestJob
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
    left_out_changed = Signal()  # `left_out`, `is_leaving_out` or `leaving_problem`

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
        self._waits = False  # whether counting waits
        self._splitting: Job | None = None
        self.left_out = LeavingOut()  # what is left out, or is to be once `is_leaving_out` is false
        self.leaving_problem = ""  # why the last wish to leave something out was not carried out; "" if it was
        self._reduced: Corpus | None = None  # the sources without it; None where nothing is left out, or not yet
        self._leaving = LatestJob(jobs, self, self._take_reduced, self._not_left_out)
        self._wish = LeavingOut()  # what that job leaves out
        # Of these sources: the last two, so that Undo gives the same sources, which runs were trained on.
        self._reductions: dict[LeavingOut, Corpus] = {}
        self._wholes: WeakKeyDictionary[Source, Source] = WeakKeyDictionary()

    @property
    def current(self) -> Corpus:
        """All sources with their weights, in order, without what is left out."""
        return (self._reduced or Corpus(self.sources)).weighted(self.weights)

    @property
    def remaining(self) -> tuple[Source, ...]:
        """The sources without what is left out of them."""
        return self.sources if self._reduced is None else self._reduced.sources

    @property
    def left(self) -> LeftOut:
        """The documents and lines that are left out."""
        return (self._reduced and self._reduced.left) or LeftOut()

    @property
    def is_leaving_out(self) -> bool:
        """Whether documents and lines are being left out; until then, `current` still has them."""
        return self._leaving.busy

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
        self._jobs.start(work, self.add_read, self._reading_failed)

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
        self._jobs.start(lambda: source_jobs.read_counts(paths, documents), self.add_read, self._reading_failed)

    def add_text(self, text: str, name: str = "Pasted text") -> None:
        """Adds a text to the corpus."""
        documents = self._documents
        if len(text) > _LONG_TEXT:
            self._jobs.start(lambda: source_jobs.read_text(text, name, documents), self.add_read)
        else:
            self._add((finish(Source.from_texts([text], name).split_work(documents)),))

    def add_rows(self, rows: Sequence[str], name: str) -> None:
        """Adds a text of which each row is a document, whatever the setting."""
        self._add((replace(Source.from_texts(rows, name), is_rows=True),))

    def add_texts(self, texts: Sequence[tuple[str, str]]) -> None:
        """Adds short texts, each with its name, as sources."""
        sources = (Source.from_texts([text], name).split_work(self._documents) for name, text in texts)
        self.set_sources((*self.sources, *map(finish, sources)))

    def set_sources(
        self,
        sources: tuple[Source, ...],
        left_out: LeavingOut | None = None,
        replaced: Mapping[Source, Source] | None = None,
        reduced: Corpus | None = None,
    ) -> None:
        """Replaces the sources, and counts them again; those that stay keep their weights.

        What is left out stays so of those that stay, or that replace others (`replaced` has the new source of each),
        unless `left_out` says what is; its rules hold for new ones as well, but not where all sources are others.
        `reduced` has the sources without it, if that is known. While a text is missing, nothing can be left out.
        """
        self.settle_weights()
        self._leaving.cancel()
        before, self.sources = self.sources, sources
        self.left_out = carried(self.left_out, before, sources, replaced or {}) if left_out is None else left_out
        self._reduced, self._reductions, self.leaving_problem = None, {}, ""
        self._before = {source: self._before[source] for source in sources if source in self._before}
        sources_before = set(sources)
        self.outdated = {source: word for source, word in self.outdated.items() if source in sources_before}
        if self.left_out and reduced is not None:
            self._reduced, self._reductions = reduced, {self.left_out: reduced}
            self.remember_wholes(zip(reduced.sources, sources, strict=True))
        elif self.left_out and not any(map(is_missing, sources)):
            self._begin_leaving(self.left_out)
        self._renew()
        self.left_out_changed.emit()

    def leave_out(self, what: LeavingOut) -> None:
        """Leaves documents and lines out of the sources, and nothing else, in the background.

        Where that is impossible, nothing changes, and the user is told why.
        """
        if self.is_leaving_out and what == self._wish:
            return
        self._leaving.cancel()
        self.leaving_problem = ""
        if what == self.left_out and bool(what) == (self._reduced is not None):
            self.left_out_changed.emit()
        elif not what or what in self._reductions:
            self._take(what, self._reductions.get(what))
        elif (missing := next(filter(is_missing, self.sources), None)) is not None:
            self._refuse(f"{missing.name} is missing: restore and reload it, or remove it from the corpus.")
        else:
            self._begin_leaving(what)
            self.left_out_changed.emit()

    def with_left_out(
        self,
        rules: Iterable[str],
        documents: Iterable[tuple[Source, Iterable[int]]],
        named: LeavingOut = LeavingOut(),  # noqa: B008 -- it is a value
    ) -> LeavingOut:
        """What is left out now, and also by more rules with their usual thresholds, more documents, and what is named.

        Documents are given by sources of `remaining` and their numbers there.
        """
        chosen = dict(self.left_out.rules)
        chosen |= {name: RULES[name].threshold for name in rules if name not in chosen}
        whole = {*self.left_out.documents, *named.documents}
        for source, some in documents:
            index, numbers, shards = self.remaining.index(source), document_numbers(source), document_shards(source)
            whole.update((index, int(shards[one]), int(numbers[one])) for one in some)
        ordered = tuple((name, chosen[name]) for name in RULES if name in chosen)
        lines = {*self.left_out.lines, *named.lines}
        return LeavingOut(ordered, tuple(sorted(whole)), tuple(sorted(lines)))

    @property
    def left_out_text(self) -> str:
        """How much is left out: "12 documents, 312 kB"; "" for nothing."""
        return "" if self._reduced is None else _amounts(*self.left.by_source.sum(axis=0).tolist())

    def left_out_texts(self) -> list[str]:
        """The same for each source."""
        rows = self.left.by_source.tolist() if self._reduced is not None else []
        return [_amounts(*row) for row in rows] or [""] * len(self.sources)

    @property
    def reduced(self) -> Corpus | None:
        """The sources without what is left out, unweighted; None where nothing is."""
        return self._reduced

    def whole(self, source: Source) -> Source:
        """The whole text of a source of which something may be left out."""
        return self._wholes.get(source, source)

    def remember_wholes(self, pairs: Iterable[tuple[Source, Source]]) -> None:
        """Notes sources of which something is left out, each with its whole text."""
        self._wholes.update((part, whole) for part, whole in pairs if part is not whole)

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

    def change_reading(self, source: Source, reading: Reading) -> None:
        """Reads the data set of a source again, such as another column of it."""
        work = partial(source_jobs.read_otherwise, source, reading, self._documents)
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

    def let_statistics_wait(self, waits: bool) -> None:
        """Lets the statistics of the text wait, or go on: while a user waits for something else, that comes first."""
        self._waits = waits
        if self._counting is not None:
            (self._counting.pause if waits else self._counting.resume)()

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

    def add_read(self, read: Read) -> None:
        """Adds sources that were read, and tells of what could not be read."""
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
            too = "; what is left out by rules is left out of it, too" if self.left_out.rules else ""
            self._jobs.notify(f"{what} {was} added beside {whom}{too}.", "Replace", replace_earlier, holds, asks=True)

    def _take_reread(self, changed: ChangedSources | Unread) -> None:
        if isinstance(changed, Unread):
            self.report(problem_of(changed.error, changed.source.path))
            return
        ((old, new),) = changed.pairs
        # It may have been divided while it was read; then only the file tells which source it is.
        replaced = old if old in self.sources else next((one for one in self.sources if _same_place(one, old)), None)
        if replaced is not None:
            self._weights[new] = self._weights.get(replaced, ONCE)
            sources = tuple(new if source is replaced else source for source in self.sources)
            self.set_sources(sources, replaced={replaced: new})
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
            of_value = {one.value: one for one in changed.made}
            replaced = {one: of_value[one.value] for one in self.sources if one in gone and one.value in of_value}
            self.set_sources((*self.sources[:first], *changed.made, *after), replaced=replaced)
            for path, remark in source_jobs.dropped(changed.made):
                self.report(Problem(remark, path=path, remark=True))
            if changed.documents != self._documents:
                self.split()

    def _take_split(self, changed: ChangedSources) -> None:
        if self.sender() is self._splitting:
            before, self._divided = self._divided, self._documents
            new_of = dict(changed.pairs)
            self._before |= {new: old for old, new in changed.pairs if new is not old}
            self._weights.update({new: self._weights.get(old, ONCE) for old, new in changed.pairs})
            sources = tuple(new_of.get(source, source) for source in self.sources)
            left_out = carried(self.left_out, self.sources, sources, new_of)
            if before != self._divided:
                left_out = divided(left_out, sources, self._divided)
            self.set_sources(sources, left_out)

    # ---- leaving out

    def _begin_leaving(self, what: LeavingOut) -> None:
        self._wish, whole = what, Corpus(self.sources)
        self._leaving.run(partial(_without_work, whole, what))

    def _take_reduced(self, reduced: Corpus) -> None:
        self.remember_wholes(zip(reduced.sources, self.sources, strict=True))
        self._take(self._wish, reduced)

    def _take(self, what: LeavingOut, reduced: Corpus | None) -> None:
        self.left_out, self._reduced = what, reduced
        if reduced is not None:
            others = [(each, corpus) for each, corpus in self._reductions.items() if each != what]
            self._reductions = dict([*others[-1:], (what, reduced)])
        # The entry of Undo is made before anything looks at the text.
        self.left_out_changed.emit()
        self._renew()

    def _not_left_out(self, error: Exception) -> None:
        """Says why something is not left out; where other sources made it impossible, nothing is left out any more."""
        self._refuse(problem_of(error).text)

    def _refuse(self, text: str) -> None:
        others = bool(self.left_out) and self._reduced is None
        self.leaving_problem = f"Nothing is left out any more. {text}" if others else text
        if others:
            self.left_out = LeavingOut()
        self.report(Problem(self.leaving_problem))
        self.left_out_changed.emit()
        if others:
            self._renew()

    def _renew(self) -> None:
        """Counts the text that remains, and tells that it is another."""
        self.counts.use(self.remaining)
        self.statistics = None
        if self._counting is not None:
            self._counting.cancel()
            self._counting = None
        if self.sources and not self.is_leaving_out:
            corpus = self.current
            self._counting = self._jobs.start(lambda: statistics_work(corpus), self._set_statistics, quiet=True)
            self.let_statistics_wait(self._waits)
        self.sources_changed.emit()
        self.statistics_changed.emit()

    # ---- answers of jobs

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


def _without_work(corpus: Corpus, what: LeavingOut) -> Work[Corpus]:
    reduced = yield from corpus.without_work(what)
    if reduced.left is not None:
        _ = reduced.left.by_source  # of millions of lines, which the window would wait for
    return reduced


def _amounts(documents: int, lines: int, size: int) -> str:
    amounts = [several(documents, "document")] if documents else []
    amounts += [several(lines, "line")] if lines else []
    return ", ".join([*amounts, size_text(size)]) if amounts else ""


def _same_place(one: Source, other: Source) -> bool:
    """Whether two sources are the same part of the same file."""
    return (one.path, one.member, one.value) == (other.path, other.member, other.value)


# --- What is left out of sources that take the place of others --------------------------------------------------------


def joined_steps(steps: Sequence[LeavingOut]) -> LeavingOut:
    """All that several steps leave out."""
    rules = {name: threshold for step in steps for name, threshold in step.rules}
    documents = sorted({row for step in steps for row in step.documents})
    lines = sorted({row for step in steps for row in step.lines})
    return LeavingOut(tuple((name, rules[name]) for name in RULES if name in rules), tuple(documents), tuple(lines))


def carried(
    what: LeavingOut, before: Sequence[Source], after: Sequence[Source], replaced: Mapping[Source, Source]
) -> LeavingOut:
    """What is left out of the sources that stay, or replace others; nothing where none stays."""
    place_of = {source: place for place, source in enumerate(after)}
    places = {number: place_of[now] for number, old in enumerate(before) if (now := replaced.get(old, old)) in place_of}
    if not places:
        return LeavingOut()
    documents = sorted((places[row[0]], *row[1:]) for row in what.documents if row[0] in places)
    lines = sorted((places[row[0]], *row[1:]) for row in what.lines if row[0] in places)
    return LeavingOut(what.rules, tuple(documents), tuple(lines))


def divided(what: LeavingOut, sources: Sequence[Source], documents: Documents) -> LeavingOut:
    """The same lines, where each became a document of its own or all of a text became one; rows stay as they are."""
    new_documents, new_lines = set[tuple[int, int, int]](), set[tuple[int, int, int, int]]()
    for index, shard, number in what.documents:
        if _has_rows(sources[index]):
            new_documents.add((index, shard, number))
        elif documents == "file":
            new_lines.add((index, shard, 0, number))
        else:
            new_documents.update((index, shard, line) for line in range(sources[index].documents))
    for index, shard, number, line in what.lines:
        if _has_rows(sources[index]):
            new_lines.add((index, shard, number, line))
        elif documents == "file":
            new_lines.add((index, shard, 0, number))
        else:
            new_documents.add((index, shard, line))
    return LeavingOut(what.rules, tuple(sorted(new_documents)), tuple(sorted(new_lines)))


def _has_rows(source: Source) -> bool:
    return source.is_rows or source.counts is not None
