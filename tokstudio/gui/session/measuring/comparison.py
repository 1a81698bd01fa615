"""Compares the tokenizers that are shown, on a set of texts: measures what is missing in the background.

What was measured once is kept by the text and the tokenizer, so that a new column or row leaves the others known.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QObject, QTimer, Signal

from tokstudio.core.analysis.baselines import AnyTokenizer, ByteTokenizer, CharacterTokenizer
from tokstudio.core.analysis.token_store import TokenStore, joined_counts
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.machine import in_threads
from tokstudio.core.base.progress import Work
from tokstudio.core.comparison.comparison import Comparison
from tokstudio.core.comparison.engine_table import EngineTable
from tokstudio.core.comparison.figures import FIGURES, Cell, Compared
from tokstudio.core.comparison.intervals import INTERVALS
from tokstudio.core.comparison.texts import ComparedText, base_of, text_work
from tokstudio.core.project.schema import Json
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.session.common.corpus import CorpusState
from tokstudio.gui.session.common.jobs import Cancelled, Jobs, LatestJob
from tokstudio.gui.session.common.run_list import RunList
from tokstudio.gui.session.common.view_state import ViewState
from tokstudio.gui.session.measuring.compared import (
    ComparedColumn,
    Found,
    Key,
    Measurements,
    TextSet,
    TextSets,
    missing_works,
    with_words_work,
)
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.state.run import SIMPLE, StudioRun

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_RunState: TypeAlias = tuple[object, str, int, int]  # identity and name of a run, its merges in the table, and all


class ComparisonState(QObject):
    """The comparison. Call every method from the GUI thread."""

    changed = Signal()  # rows, columns, figures, or what is chosen
    words_changed = Signal()
    opened_changed = Signal()  # the sets that were opened
    stack_asked = Signal()  # to show the texts in each tokenizer, one below another
    words_asked = Signal()  # to show the words
    vocabularies_asked = Signal(str, str)  # to show the vocabularies of two tokenizers, by their names
    _texts_read = Signal(int, object, object)
    _cell_found = Signal(object, object)

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
        self._jobs, self._corpus, self._runs, self._view, self._store = jobs, corpus, runs, view, store
        self._sets = TextSets(corpus, runs, view)
        self.texts = self._sets.of_corpus  # the chosen set
        self.figure = "bytes_per_token"  # the name of the chosen one
        self.base: str | None = None  # the name of the text that premiums relate to; None for English, or the first
        self.against: str | None = None  # the tokenizer that normalised lengths relate to; None for the first
        self.simple: frozenset[str] = frozenset()  # the simple tokenizers that are compared, names of `SIMPLE`
        self.intervals = False  # whether the figures that have intervals are shown with them
        self.own_words = ""  # words to compare, as the user wrote them
        self.problem = ""  # why the texts could not be read; "" if they could
        self.notes: tuple[str, ...] = ()  # what the user should know of how they were read, a sentence each
        self.engines: EngineTable | None = None  # what other libraries gave last
        self.rows: tuple[ComparedText, ...] | None = None  # of the chosen set; None until they are read
        self._changes = 0  # how often the texts were chosen or changed
        self._measured = Measurements()
        # Kept, as a tokenizer at the playhead is made anew each time.
        self._run_columns: dict[_RunState, ComparedColumn] = {}
        self._texts: dict[tuple[str, int], ComparedText] = {}
        self._job = LatestJob(jobs, self, self._done, self._failed, asked=False)
        self._asked: tuple[object, ...] = ()  # what the job measures
        self._interval_job = LatestJob(jobs, self, self._done, self._without_intervals, asked=False)
        self._intervals_of: tuple[Comparison, str] | None = None  # the comparison and figure of that job
        self._seen = False
        self._closed = False
        self.cancelled = False  # whether the user has cancelled the measuring
        self._later = QTimer(self, singleShot=True, interval=jobs.pauses.changes)
        self._later.timeout.connect(self._look)
        self._tell = QTimer(self, singleShot=True, interval=jobs.pauses.compared)
        self._tell.timeout.connect(self.changed)
        self._texts_read.connect(self._take_texts)
        self._cell_found.connect(self._take_cell)
        runs.changed.connect(self._runs_changed)
        view.playhead_changed.connect(self._again)
        view.text_changed.connect(self._text_changed)
        corpus.sources_changed.connect(self._sources_changed)

    # ---- what is compared

    @property
    def sets(self) -> list[TextSet]:
        """The sets of texts to choose from."""
        return self._sets.all

    @property
    def opened_sets(self) -> list[TextSet]:
        """Those that the user has opened for measuring only."""
        return [each for each in self._sets.opened if each.paths]

    @property
    def parallel(self) -> TextSet:
        """The parallel texts that serve elsewhere: the chosen set, else the one opened last, else our story."""
        parallel = [texts for texts in self.sets if texts.is_parallel]
        return self.texts if self.texts in parallel else parallel[-1]

    @property
    def parallel_languages(self) -> tuple[str, ...]:
        """The codes of the languages of `parallel`; none before these are known."""
        texts, rows = self.parallel, self.rows
        if texts is self.texts and rows is not None:
            return tuple(row.source.name for row in rows)
        return texts.languages

    @property
    def columns(self) -> tuple[ComparedColumn, ...]:
        """The tokenizers of the table: the runs that are shown, then simple ones."""
        of_runs: dict[_RunState, ComparedColumn] = {}
        for run in self._runs.shown:
            is_active = run is self._runs.active
            if run.ended is None or not run.ready or (run.marks.curve_hidden and not is_active):
                continue
            merges = min(self._view.playhead, len(run)) if is_active else len(run)
            state = run.identity, run.name, merges, len(run)
            of_runs[state] = self._run_columns.get(state) or _column_of(run, merges)
        self._run_columns = of_runs
        columns = list(of_runs.values())
        simple: dict[str, AnyTokenizer | None] = {
            "Characters": CharacterTokenizer(), "Bytes": ByteTokenizer(), "Words and marks": None
        }  # fmt: skip
        words = tuple(row.sha256 for row in self.rows or ())
        columns += [
            ComparedColumn(name, (name, words if tokenizer is None else ()), tokenizer)
            for name, tokenizer in simple.items()
            if name in self.simple
        ]
        return tuple(columns)

    @property
    def others(self) -> tuple[ComparedColumn, ...]:
        """The tokenizers beside the active run; the words of the text are always among them."""
        active = self._runs.active
        columns = tuple(each for each in self.columns if active is None or each.name != active.name)
        has_words = any(each.tokenizer is None for each in columns)
        return columns if has_words else (*columns, ComparedColumn("Words and marks", ("Words and marks", ()), None))

    @property
    def compared(self) -> tuple[Compared, ...]:
        """The tokenizers of the table that can encode any text, each with its name."""
        return tuple(
            Compared(each.name, each.tokenizer, each.trained_on) for each in self.columns if each.tokenizer is not None
        )

    @property
    def busy(self) -> bool:
        """Whether something is being measured."""
        return self._job.busy or self._later.isActive()

    @property
    def is_measured(self) -> bool:
        """Whether each text was measured by each tokenizer; some may have failed."""
        comparison = self.comparison
        if comparison is None:
            return False
        cells = ((row, column) for row in range(len(comparison.measured)) for column in range(len(comparison.compared)))
        return all(comparison.result(row, column) is not None for row, column in cells)

    @property
    def comparison(self) -> Comparison | None:
        """What is known so far; None until the texts are read."""
        if (rows := self.rows) is None:
            return None
        base = base_of(rows, self.base, is_parallel=self.texts.is_parallel)
        return self._measured.comparison(rows, self.columns, base, self.against)

    def uses(self, column: ComparedColumn) -> NDArray[np.int64] | None:
        """int64, the uses of a tokenizer's tokens in all texts, by id; None until they are known."""
        comparison, keys = self.comparison, [each.key for each in self.columns]
        if comparison is None or column.key not in keys:
            return None
        cells = [comparison.result(row, keys.index(column.key)) for row in range(len(comparison.texts))]
        counts_of_cells = [cell.counts for cell in cells if isinstance(cell, Cell)]
        if not counts_of_cells or len(counts_of_cells) < len(cells):
            return None
        counts = joined_counts(tuple(counts_of_cells))
        return counts.by_id(int(counts.ids.max(initial=-1)) + 1)

    # ---- choices

    def choose_texts(self, texts: TextSet) -> None:
        """Compares on another set of texts."""
        if texts is not self.texts:
            self.texts = texts
            self._forget_rows()

    def stack_text(self) -> None:
        """Shows the text of the Text pane in each tokenizer, one below another."""
        self.choose_texts(self._sets.of_pane)
        self.stack_asked.emit()

    def add_texts(self, texts: TextSet) -> None:
        """Adds a set that was opened for measuring only, and chooses it."""
        self._sets.add(texts)
        self.choose_texts(texts)
        self.opened_changed.emit()

    @property
    def kept(self) -> tuple[object, ...]:
        """What a project keeps and a user would miss: the sets that were opened, and own words."""
        return *(each.key for each in self._sets.opened), self.own_words

    def to_plain(self) -> dict[str, Json]:
        """What a project keeps of it: the texts and what is shown of them."""
        sets: list[Json] = [each.as_plain for each in self._sets.opened if each.paths]
        simple: list[Json] = [name for name in SIMPLE if name in self.simple]
        return {
            "sets": sets,
            "texts": self.texts.key,
            "figure": self.figure,
            "base": self.base,
            "against": self.against,
            "simple": simple,
            "words": self.own_words,
            "intervals": self.intervals,
        }

    def restore(self, kept: object) -> None:
        """Brings back `to_plain`; what is missing or wrong in it is as at the start."""
        values: dict[str, object] = kept if isinstance(kept, dict) else {}
        self._sets.restore(values.get("sets"))
        texts, figure, words, simple = (values.get(name) for name in ("texts", "figure", "words", "simple"))
        self.texts = next((each for each in self.sets if each.key == texts), self._sets.of_corpus)
        self.figure = figure if isinstance(figure, str) and figure in FIGURES else "bytes_per_token"
        base, against = (values.get(name) for name in ("base", "against"))
        self.base, self.against = (name if isinstance(name, str) else None for name in (base, against))
        self.simple = frozenset(name for name in SIMPLE if isinstance(simple, list) and name in simple)
        self.set_own_words(words if isinstance(words, str) else "")
        self.intervals = values.get("intervals") is True
        self.engines = None
        self._forget_rows()
        self.opened_changed.emit()

    def choose_figure(self, name: str) -> None:
        """Shows another figure."""
        self.figure = name
        self.changed.emit()
        self._again()

    def show_intervals(self, shown: bool) -> None:
        """Shows figures with their intervals, or without."""
        self.intervals = shown
        if not shown:
            self._interval_job.cancel()
        self._intervals_of = None
        self.changed.emit()
        self._find_intervals()

    def choose_base(self, name: str) -> None:
        """Relates premiums to another text."""
        self.base = name
        self.changed.emit()

    def choose_against(self, name: str) -> None:
        """Relates normalised lengths to another tokenizer."""
        self.against = name
        self.changed.emit()

    def keep_engines(self, table: EngineTable) -> None:
        """Keeps what other libraries gave, to be written."""
        self.engines = table
        self.changed.emit()

    def show_words(self, words: str) -> None:
        """Compares other words, and shows them."""
        self.set_own_words(words)
        self.words_asked.emit()

    def show_vocabularies(self, first: StudioRun, second: StudioRun) -> None:
        """Compares two runs, and shows their vocabularies."""
        self._runs.show_curves({first: True, second: True})
        self.vocabularies_asked.emit(first.name, second.name)

    def set_own_words(self, words: str) -> None:
        """Compares other words, separated by white space or commas."""
        if words != self.own_words:
            self.own_words = words
            self.words_changed.emit()

    def show_simple(self, name: str, shown: bool) -> None:
        """Adds or removes a simple tokenizer."""
        self.set_simple(self.simple | {name} if shown else self.simple - {name})

    def set_simple(self, names: Set[str]) -> None:
        """Compares these simple tokenizers and no others."""
        if names != self.simple:
            self.simple = frozenset(names)
            self._again()

    def set_seen(self, seen: bool) -> None:
        """Measures only while somebody looks."""
        if seen != self._seen:
            self._seen = seen
            self._again()

    def measure(self) -> None:
        """Measures what is missing after the user has cancelled it, and tries again what failed."""
        self._measured.forget_failed()
        self.cancelled, self.problem = False, ""
        self._again()
        self.changed.emit()

    def close(self) -> None:
        """Starts no more measurements, at the end of the session."""
        self._closed = True

    # ---- measuring

    def _again(self) -> None:
        if self._seen and not self._closed:
            self._later.start()
        if not self._tell.isActive():
            self._tell.start()

    def _runs_changed(self) -> None:
        """Releases what belongs to deleted runs."""
        kept = {run.identity for run in self._runs.shown} | set(SIMPLE)
        self._measured.keep_only(kept)
        self._run_columns = {state: column for state, column in self._run_columns.items() if state[0] in kept}
        if self.texts is self._sets.held_out and not self._sets.has_held_out:
            self._forget_rows()
        self.changed.emit()
        self._again()

    def _text_changed(self) -> None:
        if self.texts is self._sets.of_pane:
            self._forget_rows()

    def _sources_changed(self) -> None:
        arrays = {id(source.data) for source in self._corpus.remaining}
        self._texts = {key: text for key, text in self._texts.items() if key[1] in arrays}
        if self.texts is self._sets.of_corpus:
            self._forget_rows()

    def _forget_rows(self) -> None:
        self.rows, self.problem, self.notes, self.cancelled, self._asked = None, "", (), False, ()
        self._changes += 1
        self.changed.emit()
        self._again()

    def _look(self) -> None:
        """Measures what is missing; what was under way for something else is cancelled."""
        if not self._seen or self._closed or self.cancelled:
            return
        columns, need = self.columns, FIGURES[self.figure].need
        asked = self.texts, self.rows, tuple(column.key for column in columns), need
        if self._job.busy and asked == self._asked:
            return
        self._job.cancel()
        self._asked, results = asked, dict(self._measured.found)
        if self.rows is None or missing_works(results, self.rows, columns, need, self._store):
            self._job.run(partial(self._work, self._changes, self.texts, self.rows, results, columns, need))
        else:
            self._tell.start()
            self._find_intervals()

    def _work(
        self,
        changes: int,
        texts: TextSet,
        rows: tuple[ComparedText, ...] | None,
        results: dict[Key, Found],
        columns: Sequence[ComparedColumn],
        need: str,
    ) -> Work[None]:
        """Measures what is not known, in the thread of a job; `changes` is how often the texts had changed before."""
        yield from prepare_work()
        if rows is None:
            rows, notes = yield from self._rows_work(texts)
            self._texts_read.emit(changes, rows, notes)
        works = missing_works(results, rows, (yield from with_words_work(columns, rows)), need, self._store)
        keys = list(works)

        def tell(number: int, result: Found) -> None:
            self._cell_found.emit(keys[number], result)

        yield from in_threads("comparing", list(works.values()), tell)

    def _rows_work(self, texts: TextSet) -> Work[tuple[tuple[ComparedText, ...], tuple[str, ...]]]:
        rows: list[ComparedText] = []
        read = yield from texts.read()
        wholes = read.wholes or [""] * len(read.named)
        for (name, source), whole in zip(read.named, wholes, strict=True):
            if source.counts is not None:
                continue
            text = self._texts.get((name, id(source.data)))
            if text is None or text.source.data is not source.data or text.source.ends is not source.ends:
                text = yield from text_work(name, source, texts.is_parallel, whole, read.held_out, at_once=True)
            rows.append(text)
        return tuple(rows), read.notes

    def _take_texts(self, changes: int, rows: tuple[ComparedText, ...], notes: tuple[str, ...]) -> None:
        if changes == self._changes:
            self.rows, self.notes, self.problem = rows, notes, ""
            if notes:
                self._jobs.tell(" ".join(notes))
            self._asked = self.texts, rows, *self._asked[2:]
            self._texts |= {(row.name, id(row.source.data)): row for row in rows}
            self._tell.start()

    def _take_cell(self, key: Key, result: Found) -> None:
        self._measured.take(key, result)
        if not self._tell.isActive():
            self._tell.start()

    def _done(self) -> None:
        self.changed.emit()
        self._find_intervals()

    def _find_intervals(self) -> None:
        """Resamples the chosen figure where its intervals are asked for and not known."""
        comparison, name = self.comparison, self.figure
        if not (self.intervals and self._seen and not self._closed and name in INTERVALS and self.is_measured):
            return
        if comparison is None or (name == "premium" and comparison.base is None):
            return
        if comparison.known_intervals(name) is None and self._intervals_of != (comparison, name):
            self._intervals_of = comparison, name
            self._interval_job.run(partial(comparison.intervals_work, name))

    def _without_intervals(self, error: Exception) -> None:
        if isinstance(error, TokStudioError):
            self._jobs.tell(str(error))
        elif not isinstance(error, Cancelled):
            self._jobs.report(error)
        self.changed.emit()

    def _failed(self, error: Exception) -> None:
        if isinstance(error, Cancelled):
            self.cancelled = True
        elif self._asked:  # else the texts have changed since the job began
            self.problem = problem_of(error).text
        if not isinstance(error, TokStudioError):
            self._jobs.report(error)
        self.changed.emit()


def _column_of(run: StudioRun, merges: int) -> ComparedColumn:
    whole = run.tokenizer
    further = whole if merges < len(run) else None
    trained_on = run.origin.trained_on if run.origin is not None else ()
    return ComparedColumn(run.name, (run.identity, merges), whole.at(merges), further, trained_on)
