"""What the Explore pane asks of the corpus of the window and the tokenizer at the playhead, in jobs.

Pages ask through `Inquiry`: of the answers only that to the newest question counts.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal

from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.atomic_files import write_files
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import first_few, size_text
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.session.common.corpus import CorpusState
from tokstudio.gui.session.common.jobs import Cancelled, Jobs, LatestJob
from tokstudio.gui.session.common.run_list import RunList
from tokstudio.gui.session.common.view_state import ViewState
from tokstudio.gui.state.problems import is_missing, problem_of
from tokstudio.gui.state.run import StudioRun

if TYPE_CHECKING:
    from tokstudio.core.exploration.exploration import Exploration

_MOST_NAMED = 3
_ROWS = 1 << 12  # written at once
_NO_TEXT = "Open a text, drop one on the window, or choose a sample."
_ONLY_WORDS = "The corpus has word counts, which have no documents: open the text that they were counted in."
_MISSING = "The text of the corpus is missing: open it again."
_CANCELLED = "Cancelled."
_MOST_OPENED = 1_000_000  # bytes of a document
_CONTINUED = bytes(range(0x80, 0xC0))  # the bytes of UTF-8 after the first of a character


class WrittenTable(NamedTuple):
    """A table that can be written."""

    title: str  # such as "Documents as CSV"
    name: str  # of the file
    write: Callable[[Path], Work[Path]]


def table_work(path: Path, titles: Sequence[str], rows: Iterable[Sequence[object]]) -> Work[Path]:
    """Writes a table as CSV, in UTF-8 and with CRLF (RFC 4180)."""
    yield from write_files({path: _csv(titles, rows)})
    return path


def _csv(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[bytes]:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    lines = chain([titles], rows)
    while some := list(islice(lines, _ROWS)):
        writer.writerows(some)
        yield file.getvalue().encode("utf-8", "replace")
        file.seek(0)
        file.truncate()


class Exploring(QObject):
    """The exploration that all pages share, and the sources to which they are limited.

    It follows the playhead once that has rested; a run in training moves it all the time.
    """

    changed = Signal()  # another exploration; pages ask anew
    limited = Signal()  # to other sources
    tabled = Signal()  # `table` is of another kind

    def __init__(
        self,
        jobs: Jobs,
        corpus: CorpusState,
        runs: RunList,
        view: ViewState,
        store: TokenStore,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.jobs = jobs
        self._corpus, self._runs, self._view, self._store = corpus, runs, view, store
        self.exploration: Exploration | None = None  # None where there is nothing to explore: see `problem`
        self.problem = _NO_TEXT
        self.note = ""  # which sources are not in it; "" for none
        self.limits: frozenset[int] | None = None  # the sources of the exploration that pages show; None for all
        self.table: WrittenTable | None = None  # what the page in sight lists
        self._limited: tuple[object, Exploration] | None = None
        self._wholes = Corpus(())  # of `sources`, with what is left out
        self.place: tuple[StudioRun | None, int] = (None, 0)  # the run of the exploration, and the playhead there
        self._made_of: tuple[object, ...] = ()
        self._rest = QTimer(self, singleShot=True, interval=jobs.pauses.updates)
        self._rest.timeout.connect(self._renew)
        corpus.sources_changed.connect(self._renew)
        for signal in (view.run_changed, view.playhead_changed):
            signal.connect(self._rest.start)
        runs.changed.connect(self._forget_deleted)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of the exploration."""
        return self.exploration.corpus.sources if self.exploration is not None else ()

    @property
    def limit_names(self) -> tuple[str, ...]:
        """The names of the sources to which pages are limited; none where they show all."""
        return tuple(self.sources[number].name for number in sorted(self.limits or ()))

    @property
    def limited_exploration(self) -> Exploration | None:
        """The exploration of the sources to which pages are limited; that of all where they show all."""
        if self.exploration is None or self.limits is None:
            return self.exploration
        key = self.exploration, self.limits
        if self._limited is None or self._limited[0] != key:
            from tokstudio.core.exploration.exploration import Exploration

            chosen = Corpus(tuple(self.sources[number] for number in sorted(self.limits)))
            self._limited = key, Exploration(chosen, self.exploration.tokenizer, self._store)
        return self._limited[1]

    @property
    def token(self) -> int | None:
        """The chosen token, if the tokenizer of the exploration has it."""
        token, tokenizer = self._view.chosen, self.exploration.tokenizer if self.exploration is not None else None
        known = token is not None and isinstance(tokenizer, Tokenizer) and tokenizer.tokens.in_use(token)
        return token if known else None

    def limit(self, sources: Collection[Source]) -> None:
        """Limits the pages to some sources of the corpus; to all where none or all are given."""
        numbers = frozenset(number for number, source in enumerate(self.sources) if source in set(sources))
        limits = numbers if 0 < len(numbers) < len(self.sources) else None
        if limits != self.limits:
            self.limits = limits
            self.limited.emit()

    def offer(self, table: WrittenTable | None) -> None:
        """Sets what can be written: what the page in sight lists."""
        before, self.table = self.table, table
        # Pages offer after each of their changes, and every action looks whether it is available then.
        if (before and before.title) != (table and table.title):
            self.tabled.emit()

    def open(self, number: int, document: int, begin: int | None = None, end: int | None = None) -> None:
        """Shows a document of a source in the Text pane, with the bytes `begin` to `end` of the source selected.

        Without these, the uses of the chosen token are marked. Of a document of more than a megabyte, only the text
        around its place is shown, which a message says.
        """
        source = self.sources[number]
        start, stop = int(source.ends[document - 1]) if document else 0, int(source.ends[document])
        has_place, begin = begin is not None, start if begin is None else begin
        end = begin if end is None else min(end, begin + _MOST_OPENED // 2)
        first, last = start, stop
        if stop - start > _MOST_OPENED:
            first = max(start, min(begin - _MOST_OPENED // 2, stop - _MOST_OPENED))
            last = first + _MOST_OPENED
        raw = np.asarray(source.data[first:last]).tobytes()
        # Characters that are cut at an end are left out.
        before = len(raw) - len(raw.lstrip(_CONTINUED)) if first > start else 0
        text = raw[before:].decode("utf-8", "ignore" if last < stop else "replace")
        places = [len(raw[before : max(before, at - first)].decode("utf-8", "replace").encode()) for at in (begin, end)]
        if not has_place and self.token is not None:
            self._view.set_target(self.token)
        self._view.show_text(text, (places[0], places[1]) if has_place else None)
        if (first, last) != (start, stop):
            shown, size = size_text(last - first), size_text(stop - start)
            self.jobs.tell(f"The document has {size}: {shown} of it are shown.")

    def leave_out(self, number: int, document: int) -> None:
        """Leaves a document of a source out of the corpus."""
        self._corpus.leave_out(self._corpus.with_left_out((), [(self.sources[number], [document])]))

    def look_for_trained(self, run: StudioRun) -> Callable[[], Work[tuple[bool, ...]]]:
        """The work that tells of each of `sources` whether a run was trained on it, or on a part of it."""
        return partial(_trained_work, self._wholes, run.trained_on, run.corpus if run.ended is None else None)

    def _renew(self) -> None:
        """Makes another exploration if the corpus or the tokenizer is another."""
        run = self._runs.active
        run = run if run is not None and run.ready else None
        playhead = min(self._view.playhead, len(run)) if run is not None else 0
        made_of = (self._corpus.remaining, run, playhead)
        if made_of == self._made_of:
            return
        before, whole = self.sources, self._corpus.whole
        chosen = {whole(before[number]) for number in self.limits or ()}
        self._made_of, self.place, self._limited = made_of, (run, playhead), None
        self._explore(run.tokenizer.at(playhead) if run is not None else None)
        if self.sources != before:
            limits = frozenset(number for number, source in enumerate(self.sources) if whole(source) in chosen)
            self.limits = limits or None
            self.limited.emit()
        self.changed.emit()

    def _explore(self, tokenizer: Tokenizer | None) -> None:
        sources = self._corpus.remaining
        texts = tuple(each for each in sources if each.counts is None and not is_missing(each))
        others = [each for each in sources if each not in set(texts)]
        before, self.exploration, self.note, self.problem = self.exploration, None, "", ""
        wholes = tuple(map(self._corpus.whole, texts))
        if wholes != self._wholes.sources:  # else their hashes are known
            self._wholes = Corpus(wholes)
        if texts:
            if before is not None and before.corpus.sources == texts:
                self.exploration = before.at(tokenizer)
            else:
                from tokstudio.core.exploration.exploration import Exploration

                self.exploration = Exploration(Corpus(texts), tokenizer, self._store)
            if others:
                names = first_few([each.name for each in others], _MOST_NAMED, str)
                self.note = f"Not shown: {names}: no documents (word counts, or text that is missing)."
        elif not others:
            self.problem = _NO_TEXT
        else:
            self.problem = _MISSING if any(map(is_missing, others)) else _ONLY_WORDS

    def _forget_deleted(self) -> None:
        # A deleted run is released at once, even while nothing is shown.
        if self.place[0] is not None and self.place[0] not in self._runs.shown:
            self._renew()


def _trained_work(corpus: Corpus, trained_on: frozenset[str], trains_on: Corpus | None) -> Work[tuple[bool, ...]]:
    yield from corpus.sha256_work()
    if trains_on is not None:
        yield from trains_on.sha256_work()
        trained_on = trained_on.union(trains_on.counted_hashes)
    return tuple(text in trained_on for text in corpus.text_hashes)


class Inquiry(QObject):
    """What one page asks: its newest question, and the answer or why there is none."""

    changed = Signal()  # begun, answered, failed or cancelled

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.answer: Any = None  # to the newest question that has one; it stays while the next is asked
        self.problem = ""  # why the newest has none
        self.can_retry = False  # whether asking again can help: not where the question itself is wrong
        self._question: Hashable = None
        self._work: Callable[[], Work[Any]] | None = None
        self._job = LatestJob(jobs, self, self._take, self._fail, asked=False)

    @property
    def busy(self) -> bool:
        """Whether an answer is still to come."""
        return self._job.busy

    @property
    def progress(self) -> Progress:
        """The progress of the current work."""
        return self._job.progress

    def ask(self, question: Hashable, work: Callable[[], Work[Any]]) -> None:
        """Starts work, unless the question is the one that was asked last."""
        if question != self._question:
            self._question, self._work = question, work
            self.again()

    def again(self) -> None:
        """Asks the newest question again."""
        if self._work is not None:
            self.problem, self.can_retry = "", False
            self._job.run(self._work)
            self.changed.emit()

    def cancel(self) -> None:
        """Cancels the work, as a user does."""
        if self.busy:
            self._job.cancel()
            self._end(None, _CANCELLED)

    def forget(self) -> None:
        """Cancels the work, and forgets question and answer."""
        if self._work is not None:
            self._job.cancel()
            self._question = self._work = None
            self._end(None, "")

    def leave(self) -> None:
        """Cancels the work while nobody looks; the same question starts it again."""
        if self.busy:
            self._job.cancel()
            self._question = None

    def _take(self, answer: object) -> None:
        self._end(answer, "")

    def _fail(self, error: Exception) -> None:
        problem = _CANCELLED if isinstance(error, Cancelled) else problem_of(error).text
        self._end(None, problem, can_retry=not isinstance(error, ConfigError))

    def _end(self, answer: object, problem: str, *, can_retry: bool = True) -> None:
        self.answer, self.problem, self.can_retry = answer, problem, bool(problem) and can_retry
        self.changed.emit()
