"""The merges of a run with their counts, and how often each of its tokens occurs after any number of them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.picky import REPLACED, Falls, falls_of, lost, uses_of_picky
from tokstudio.core.model.run import STOPPED, MergeBatch, Run, SecondStage, merged, special_ids, uses
from tokstudio.core.tokenizer.counts_by_merge import tokens_by_merge
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- The merges of a run, in arrays that grow without a copy for every batch ------------------------------------------


class MergeLog:
    """The merges made so far, with their counts."""

    def __init__(self) -> None:
        self.second_stage: SecondStage | None = None  # see `Run.second_stage`
        self.languages: tuple[str, ...] = ()  # see `Run.languages`
        self.tokens_before = 0  # tokens of the corpus before the first merge; 0 until they are counted
        # After a start from a tokenizer, int64 [base]: how often each id occurs in the text, or is made by its merges.
        self.start_counts: NDArray[np.int64] | None = None
        self._columns: dict[str, NDArray[Any]] = {}  # those with a row for each merge
        self._lost = 0, 0  # the number of merges counted, and how many of them have no token
        self._length = 0
        self._merges = np.empty((1024, 2), np.int32)
        self._count = np.empty(1024, np.int64)
        self._tokens_after = np.empty(1024, np.int64)
        self._merged = np.empty(0, np.int64)

    def __len__(self) -> int:
        """The number of merges so far."""
        return self._length

    @property
    def merges(self) -> NDArray[np.int32]:
        """int32 [n, 2], the ids of left and right."""
        return self._merges[: self._length]

    @property
    def count(self) -> NDArray[np.int64]:
        """int64 [n], the count of each pair when it was chosen; empty for a tokenizer from a file."""
        return self._count[: self._length]

    @property
    def tokens_after(self) -> NDArray[np.int64]:
        """int64 [n], tokens of the corpus after each merge; empty for a tokenizer from a file."""
        return self._tokens_after[: self._length]

    @property
    def merged(self) -> NDArray[np.int64]:
        """int64 [n], the replacements of each merge."""
        if (rows := self.removals) is not None:
            return rows[:, REPLACED]
        if len(self._merged) != self._length:
            self._merged = merged(self.tokens_before, self.tokens_after, self.second_stage)
        return self._merged

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """See `Run.columns`."""
        columns = {name: array[: self._length] for name, array in self._columns.items()}
        return columns if self.second_stage is None else columns | {"second_counts": self.second_stage[1]}

    @property
    def removals(self) -> NDArray[np.int64] | None:
        """See `Run.removals`."""
        rows = self._columns.get("removals")
        return None if rows is None else rows[: self._length]

    def lost(self, base_size: int) -> int:
        """How many merges have no token that is present; see `picky.lost`."""
        if self._lost[0] != self._length:
            self._lost = self._length, lost(self.removals, base_size)
        return self._lost[1]

    def begin(self, tokens: int, begun: Run) -> None:
        """Sets the tokens before the first merge, and what the run before it says of who chooses."""
        self.tokens_before, self.languages = tokens, begun.languages
        if not self._length:  # else it goes on with those of an earlier run
            self._take_columns(begun)

    def append(self, batch: MergeBatch) -> None:
        """Appends merges."""
        n = self._length + len(batch)
        if "second_counts" in batch.columns and self.second_stage is None:
            self.second_stage = self._length, batch.columns["second_counts"]
        if n > len(self._count):
            size = max(n, 2 * len(self._count))
            self._merges = np.resize(self._merges, (size, 2))
            self._count, self._tokens_after = np.resize(self._count, size), np.resize(self._tokens_after, size)
        here = slice(self._length, n)
        self._merges[here, 0], self._merges[here, 1] = batch.left, batch.right
        self._count[here], self._tokens_after[here] = batch.count, batch.tokens_after
        for name, column in self._columns.items():
            if n > len(column):
                column = self._columns[name] = np.resize(column, (len(self._count), *column.shape[1:]))
            column[here] = batch.columns[name]
        self._length = n

    def take(self, run: Run) -> None:
        """Takes the merges of a run. Those of a tokenizer that it started from come first.

        The count of such a merge is how often it is applied to the corpus.
        """
        self._take_columns(run)
        self.tokens_before, self.second_stage, self.languages = run.tokens_before, run.second_stage, run.languages
        if run.start is None:
            self.replace(run.merges, run.counts, run.tokens_after)
            return
        merges, results = run.start.merges, run.start.merge_results
        self.start_counts = counts = run.base_counts.copy()
        tokens = tokens_by_merge(merges, results, counts)
        self.tokens_before = int(tokens[0])
        self.replace(
            np.concatenate([merges, run.merges]),
            np.concatenate([counts[results], run.counts]),
            np.concatenate([tokens[1:], run.tokens_after]),
        )

    def _take_columns(self, run: Run) -> None:
        self._columns = {name: column for name, column in run.columns.items() if name != "second_counts"}

    def take_opened(self, tokenizer: Tokenizer) -> None:
        """Takes the merges of a tokenizer from a file, without counts, and what they remove."""
        nothing = np.empty(0, np.int64)
        self.replace(tokenizer.merges, nothing, nothing)
        if tokenizer.removals is not None:
            self._columns = {"removals": tokenizer.removals}

    def replace(self, merges: NDArray[np.int32], count: NDArray[np.int64], tokens_after: NDArray[np.int64]) -> None:
        """Replaces all merges by others, which may have no counts."""
        self._merges, self._count, self._tokens_after, self._length = merges, count, tokens_after, len(merges)
        self._lost = 0, 0

    def tokens_at(self, merges: int) -> int:
        """Tokens of the corpus after a number of merges."""
        return int(self._tokens_after[merges - 1]) if merges else self.tokens_before

    def run_so_far(self, begun: Run, seconds: float) -> Run:
        """A run as if it were stopped now, given the run before its first merge."""
        own = slice(begun.merges_before, None)
        run = replace(begun, merges=self.merges[own], counts=self.count[own], tokens_after=self.tokens_after[own])
        return replace(run, columns=self.columns, languages=self.languages, seconds=seconds, ended=STOPPED)


# --- How often each token of a run occurs in its corpus, after any number of merges -----------------------------------


@dataclass(frozen=True, eq=False)
class CountedUses:
    """The counts of the tokens of an opened tokenizer in a corpus."""

    merges: int  # of the counted tokenizer
    uses: NDArray[np.int64]  # the counts by id
    text: Corpus
    corpus: str  # the name of the corpus


class RunUses:
    """The counts of the tokens of a run, in units of 1 / its `weight_scale`.

    Attributes:
        base: int64 [base], the count of each base id in the corpus before the first merge; None until they are counted,
            and for a tokenizer opened from a file.
        unknown: The number of characters that became the unknown token.
        written: The occurrences of the text of the unknown token in the corpus.
        counted: The counts of an opened tokenizer in the open corpus; None until they are requested.
    """

    def __init__(self, log: MergeLog, config: TrainingConfig | None, start: Tokenizer | None) -> None:
        self.base: NDArray[np.int64] | None = None
        self.unknown = self.written = 0
        self.counted: CountedUses | None = None
        self._log, self._config, self._start = log, config, start
        self._known_falls: Falls | None = None  # of Picky BPE
        self._last: tuple[int, NDArray[np.int64]] | None = None

    def begin(self, base: NDArray[np.int64], unknown: int, written: int) -> None:
        """Sets what is known before the first merge."""
        self.base, self.unknown, self.written = base, unknown, written

    def take(self, run: Run) -> None:
        """Takes the counts of a run, whose merges are in the log."""
        self.base, self._known_falls = run.base_counts, run.falls

    def take_counted(self, counted: CountedUses | None) -> None:
        """Stores the counts of an opened tokenizer, or that they are not known any more."""
        self.counted = counted

    @property
    def highest(self) -> int | None:
        """The highest count of a token after any number of merges; None if it is not known.

        No token has a higher count than the most frequent one before the first merge.
        """
        if self.base is None:
            return None if self.counted is None else int(self.counted.uses.max(initial=0))
        counts = self.base if self._log.start_counts is None else self._log.start_counts
        return int(counts.max(initial=0))

    def at(self, merges: int) -> NDArray[np.int64] | None:
        """The count of each token after a number of merges, by id; None if that is not known.

        Every pane asks for those at the playhead, so the last answer is cached; do not write to it.
        """
        if self.base is None:
            return self.counted.uses if self.counted is not None and self.counted.merges == merges else None
        if self._last is None or self._last[0] != merges:
            counts = self._count(self.base, merges)
            counts.setflags(write=False)
            self._last = merges, counts
        return self._last[1]

    def of(self, token: int, merges: int) -> int | None:
        """The count of one token as in `at`, if possible without counting the others; None if it is not known."""
        if token in (specials := self.specials):
            return specials[token]
        log = self._log
        if self.base is None or self._start is not None or log.second_stage is not None or log.removals is not None:
            every, absent = self.at(merges), None if self.base is None else 0
            return absent if every is None or token >= len(every) else int(every[token])
        replacements, base = log.merged[:merges], len(self.base)
        count = self.base[token] if token < base else replacements[token - base]
        # Each merge of a token with itself takes two of it.
        taken = sum(replacements[log.merges[:merges, side] == token].sum() for side in (0, 1))
        return int(count - taken)

    def rank_of(self, token: int, merges: int) -> int | None:
        """The rank of a token by count, most frequent first; None if it is not known."""
        every, own = self.at(merges), self.of(token, merges)
        if every is None or own is None:
            return None
        above = int(np.count_nonzero(every > own))
        for number, count in self.specials.items():
            # `every` does not count them, and their ids may lie after those of the merges.
            above += ((count or 0) > own) - (number < len(every) and bool(every[number] > own))
        return above + 1

    @property
    def specials(self) -> dict[int, int | None]:
        """The count of each special token by id; None where it is not known, as for all but the unknown token."""
        if self.base is None or self._config is None:
            return {}
        ids = special_ids(self._config, len(self.base) + len(self._log), self._start)
        special_counts = {self._config.unknown_token: self.unknown + self.written}
        return {number: special_counts.get(text) for text, number in ids.items()}

    def _falls(self, base: NDArray[np.int64], rows: NDArray[np.int64]) -> Falls:
        """Of Picky BPE: what removed tokens fall into."""
        if self._known_falls is None or len(self._known_falls.spans) != len(rows):
            self._known_falls = falls_of(self._log.merges, rows, len(base))
        return self._known_falls

    def _count(self, base: NDArray[np.int64], n: int) -> NDArray[np.int64]:
        merges, rows = self._log.merges[:n], self._log.removals
        if rows is not None:
            return uses_of_picky(base, merges, rows[:n], self._falls(base, rows))
        merged, counts = self._log.merged[:n], self._log.start_counts
        if self._start is None or counts is None:
            return uses(base, merges, merged, second_stage=self._log.second_stage)
        results = self._start.merge_results
        own = np.arange(len(base), len(base) + len(self._log) - len(results), dtype=np.int32)
        counts = np.concatenate([counts, np.zeros(len(own), np.int64)])
        counts[results] = 0
        return uses(counts, merges, merged, np.concatenate([results, own])[:n])
