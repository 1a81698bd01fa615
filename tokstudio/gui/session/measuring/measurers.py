"""Measures how well runs compress text, in the background: held-out text after each run, and at request their sources.

Any tokenizer is measured on one text that is chosen for all of them.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from PySide6.QtCore import QObject, Signal

from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.comparison.alignment import TextTokens, text_tokens_work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.sampling import hold_out_work
from tokstudio.core.corpus.source import Source, by_entry, entries
from tokstudio.core.model.run import Run
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.curves import HeldOut, SourceCurves, held_out_work, source_curves_work
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.session.common.corpus import CorpusState
from tokstudio.gui.session.common.jobs import Cancelled, Jobs, LatestJob
from tokstudio.gui.session.common.run_list import RunList
from tokstudio.gui.state.problems import Problem, is_missing
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_plans import KeptCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- The texts that compression is measured on: one for all rows of Runs, and one for the sizes of a run --------------

_LONGEST_COMPARED = 1 << 20  # bytes of a text


@dataclass(frozen=True, eq=False)
class ChosenText:
    """A named text of parts, each with how often it counts in units of 1 / the weight scale of `corpus`."""

    name: str
    corpus: Corpus
    parts: tuple[tuple[Corpus, int], ...]

    @classmethod
    def of_corpus(cls, corpus: Corpus) -> ChosenText:
        """The corpus of the window, each entry a part."""
        named_sources = by_entry(corpus.sources)
        name = named_sources[0][0] + (f" and {len(named_sources) - 1:,} more" if len(named_sources) > 1 else "")
        return cls(
            name, corpus, tuple(zip((Corpus(each) for _, each in named_sources), corpus.multipliers, strict=True))
        )

    @classmethod
    def of_sources(cls, name: str, sources: tuple[Source, ...]) -> ChosenText:
        """Some sources as one part that counts once."""
        corpus = Corpus(sources)
        return cls(name, corpus, ((corpus, 1),))

    @property
    def title(self) -> str:
        """Its name; also that its parts have weights, where these are not equal."""
        return f"{self.name}, with weights" if len({times for _, times in self.parts}) > 1 else self.name

    @property
    def bytes(self) -> int:
        """Bytes of the text, in units of 1 / the weight scale of `corpus`."""
        return sum(times * part.bytes for part, times in self.parts)

    @property
    def problem(self) -> str:
        """Why nothing can be measured on it, as a sentence; "" if it can."""
        missing = next((source.name for source in self.corpus.sources if is_missing(source)), None)
        if missing is not None:
            return f"The text of {missing} is missing."
        return "" if self.bytes else "The text is empty."

    def has_text_of(self, run: StudioRun) -> bool:
        """Whether a run was trained on exactly these sources with these weights, or on a share of them."""
        own = run.corpus
        if own is None or len(own.sources) != len(self.corpus.sources):
            return False
        if not all(map(_is_same_source, own.sources, self.corpus.sources)):
            return False
        return own.weighted(own.weights or ()).weights == self.corpus.weights

    def is_of(self, run: StudioRun) -> bool:
        """Whether a run was trained on all of this text and nothing else, so that its training knows the tokens."""
        if not self.has_text_of(run) or not run.log.tokens_before:
            return False
        # The bytes differ if a share was held out, or special tokens were cut out.
        return not run.replaced and run.corpus_bytes == self.bytes


@dataclass(frozen=True, eq=False)
class MeasuredText:
    """The tokens and the bytes of a text that the sizes of a run are judged by, in units of 1 / `scale`."""

    tokens: NDArray[np.int64]  # [n + 1], after 0, 1, ... n merges
    bytes: int
    scale: int
    held_out: bool  # whether it was kept out of training


def measured_text(run: StudioRun) -> MeasuredText | None:
    """The held-out text of a run if it was measured, else the training text; None if there are no tokens."""
    held_out = run.held_out.tokens
    if held_out is not None and held_out[-1]:
        return MeasuredText(held_out, run.held_out.bytes, 1, held_out=True)
    if not run.has_counts or not run.log.tokens_before:
        return None
    tokens = np.concatenate([np.array([run.log.tokens_before], np.int64), run.log.tokens_after])
    return MeasuredText(tokens, run.corpus_bytes, run.weight_scale, held_out=False)


def is_same_text(one: Source, other: Source) -> bool:
    """Whether two sources are the same text; a long one only if it is one object, as comparing would take too long."""
    if one.data is other.data:
        return True
    plain = one.counts is None and other.counts is None
    return plain and len(one.data) == len(other.data) <= _LONGEST_COMPARED and np.array_equal(one.data, other.data)


def _is_same_source(one: Source, other: Source) -> bool:
    """Whether two sources are the same text in the same documents."""
    return one is other or (is_same_text(one, other) and np.array_equal(one.ends, other.ends))


# --- The measurers ----------------------------------------------------------------------------------------------------


class _Measurer(QObject):
    """Measures one run after another, those first that `_waiting` gives first."""

    changed = Signal()  # an attempt has ended
    problems = "it was cancelled.", "an error occurred."

    def __init__(self, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._wanted: dict[str, Sequence[StudioRun]] = {}  # by who asked
        self._measuring: StudioRun | None = None
        self._closed = False
        self._job = LatestJob(jobs, self, self._take, self._fail, quiet=True, asked=False, patience=jobs.pauses.quiet)

    def want(self, runs: Sequence[StudioRun], asker: str) -> None:
        """Measures runs that are shown; those that nobody asks for any more are not measured."""
        self._wanted[asker] = runs
        self._look()

    def close(self) -> None:
        """Starts no more measurements, at the end of the session."""
        self._closed = True

    def _waiting(self) -> list[StudioRun]:
        """The runs that are to be measured."""
        raise NotImplementedError

    def _work(self, run: StudioRun) -> Callable[[], Work[object]]:
        """Measures a run; an error is why it cannot be measured."""
        raise NotImplementedError

    def _note(self, run: StudioRun, result: Any) -> None:  # noqa: ANN401
        """Stores the measurements, or why there are none."""
        raise NotImplementedError

    def _look(self) -> None:
        """Starts with the next run, or cancels the measurement of one that need not be measured any more."""
        waiting = [] if self._closed else self._waiting()
        if self._job.busy and self._measuring in waiting:
            return
        self._drop()
        if waiting:
            self._measuring = waiting[0]
            self._job.run(partial(_measured_work, self._work(waiting[0])))

    def _drop(self) -> None:
        self._job.cancel()
        self._measuring = None

    def _take(self, result: object) -> None:
        run, self._measuring = self._measuring, None
        if run is not None:
            self._note(run, result)
        self.changed.emit()
        self._look()

    def _fail(self, error: Exception) -> None:
        cancelled, failed = self.problems
        self._take(cancelled if isinstance(error, Cancelled) else failed)
        if not isinstance(error, Cancelled):
            self._jobs.report(error)


class HeldOutMeasurer(_Measurer):
    """Measures all runs with held-out text, the active one first. `RunList.changed` tells of it."""

    problems = "it was cancelled. Measure Held-Out Text in the Tokenizer menu starts again.", "an error occurred."

    def __init__(self, jobs: Jobs, runs: RunList, parent: QObject | None = None) -> None:
        super().__init__(jobs, parent)
        self._runs = runs
        self.changed.connect(runs.tell)
        runs.changed.connect(self._look)

    def measure(self) -> None:
        """Measures the held-out text of the active run again, after a cancelled or failed attempt."""
        if self._runs.active is not None:
            self._runs.active.take_held_out(replace(self._runs.active.held_out, problem=""))
            self._runs.tell()

    def _waiting(self) -> list[StudioRun]:
        waiting = filter(_is_to_be_measured, self._runs.all)
        return sorted(waiting, key=lambda run: run is not self._runs.active)

    def _work(self, run: StudioRun) -> Callable[[], Work[HeldOut]]:
        assert run.run is not None
        assert run.corpus is not None
        return partial(_held_out_work, run.run, run.corpus, run.held_out.sources)

    def _note(self, run: StudioRun, result: HeldOut | str) -> None:
        run.take_held_out(result)


class SourceMeasurer(_Measurer):
    """Measures the sources of runs that have ended, at request; text whose count is kept is not counted again."""

    def __init__(self, jobs: Jobs, counts: KeptCounts, parent: QObject | None = None) -> None:
        super().__init__(jobs, parent)
        self._counts = counts

    def _waiting(self) -> list[StudioRun]:
        wanted = (run for runs in self._wanted.values() for run in runs)
        return [run for run in wanted if run.by_source is None and run.run is not None and has_sources(run)]

    def _work(self, run: StudioRun) -> Callable[[], Work[SourceCurves]]:
        assert run.run is not None
        assert run.corpus is not None
        kept = self._counts.find(run.corpus, run.run.config)
        return partial(source_curves_work, run.run, run.corpus if kept is None else kept.counted)

    def _note(self, run: StudioRun, result: SourceCurves | str) -> None:
        run.take_by_source(result)


class TextMeasurer(_Measurer):
    """Measures runs and opened tokenizers on one text, while they are shown.

    A run whose own corpus is the text is not measured: its training knows the tokens.
    """

    problems = "It was cancelled. Choose the text again to measure it.", "An error occurred."

    def __init__(
        self, jobs: Jobs, corpus: CorpusState, runs: RunList, store: TokenStore, parent: QObject | None = None
    ) -> None:
        super().__init__(jobs, parent)
        self._corpus, self._runs, self._store = corpus, runs, store
        self._of_corpus: ChosenText | None = None
        self._chosen: ChosenText | None = None
        self._found: WeakKeyDictionary[StudioRun, TextTokens | str] = WeakKeyDictionary()
        corpus.sources_changed.connect(self._use_corpus)
        corpus.weights_settled.connect(self._use_corpus)
        runs.changed.connect(self._look)

    @property
    def text(self) -> ChosenText | None:
        """The text: the chosen one, or the corpus of the window; None without text."""
        return self._chosen or self._of_corpus

    def choose(self, text: ChosenText | None) -> None:
        """Measures on another text; None for the corpus of the window. What failed is tried again."""
        self._chosen = text
        self._again()

    def choose_read(self, work: Callable[[], Work[ChosenText | Problem]]) -> None:
        """Measures on a text that is first read in a job; the last text stays if that fails."""
        self._jobs.start(work, self._take_text)

    def found(self, run: StudioRun) -> TextTokens | str | None:
        """The tokens of the text, or why there are none, as a sentence; None while they are being measured."""
        text = self.text
        if text is None:
            return "Open a text to measure on."
        if text.is_of(run):
            tokens = run.log.tokens_at(len(run))
            return TextTokens(run.corpus_bytes, tokens, None, trained=True, loses_text=run.uses.unknown > 0)
        if run.ended is None:
            return "It is measured when training has ended."
        return text.problem or self._found.get(run)

    def _use_corpus(self) -> None:
        self._of_corpus = ChosenText.of_corpus(self._corpus.current) if self._corpus.sources else None
        if self._chosen is None:
            self._again()

    def _again(self) -> None:
        self._found.clear()
        self._drop()
        self.changed.emit()
        self._look()

    def _waiting(self) -> list[StudioRun]:
        wanted = (run for runs in self._wanted.values() for run in runs)
        return [run for run in wanted if run in self._runs.shown and self.found(run) is None]

    def _work(self, run: StudioRun) -> Callable[[], Work[TextTokens]]:
        assert self.text is not None
        return partial(_on_text_work, run.tokenizer, run.trained_on, self.text, self._store)

    def _note(self, run: StudioRun, result: TextTokens | str) -> None:
        self._found[run] = result

    def _take_text(self, text: ChosenText | Problem) -> None:
        if isinstance(text, ChosenText):
            self.choose(text)
        else:
            self._jobs.report(text)


def _on_text_work(
    tokenizer: Tokenizer, trained_on: frozenset[str], text: ChosenText, store: TokenStore
) -> Work[TextTokens]:
    tokens = yield from text_tokens_work(tokenizer, text.parts, store)
    yield from text.corpus.sha256_work()
    return replace(tokens, trained=not trained_on.isdisjoint(text.corpus.counted_hashes))


def has_sources(run: StudioRun) -> bool:
    """Whether a run was trained on several sources whose texts are available."""
    if run.corpus is None or run.corpus_problem or any(map(is_missing, run.corpus.sources)):
        return False
    return len(set(entries(run.corpus.sources))) > 1


def _is_to_be_measured(run: StudioRun) -> bool:
    if run.run is None or not run.run.config.held_out or run.held_out.tokens is not None or run.held_out.problem:
        return False
    return run.corpus is not None and not run.corpus_problem and not any(map(is_missing, run.corpus.sources))


def _measured_work(work: Callable[[], Work[object]]) -> Work[object]:
    """The measurements, or why there are none."""
    try:
        yield from prepare_work()
        return (yield from work())
    except TokStudioError as error:
        return str(error)


def _held_out_work(run: Run, corpus: Corpus, held_out: tuple[Source, ...]) -> Work[HeldOut]:
    """Fails where the text has a character that is not in the rest of the corpus, and there is no unknown token."""
    if not held_out:
        # The run was reopened; the held-out text follows from the corpus.
        _, held_out = yield from hold_out_work(corpus.sources, run.config.held_out, corpus.weights)
    return (yield from held_out_work(run, held_out))
