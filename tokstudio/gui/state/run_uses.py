"""How often each token of a run occurs in its corpus, after any number of merges."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.picky import Falls, falls_of, uses_of_picky
from tokstudio.core.model.run import Run, special_ids, uses
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.state.merge_log import MergeLog


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
            found = self._count(self.base, merges)
            found.setflags(write=False)
            self._last = merges, found
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
        made = self.base[token] if token < base else replacements[token - base]
        # Each merge of a token with itself takes two of it.
        taken = sum(replacements[log.merges[:merges, side] == token].sum() for side in (0, 1))
        return int(made - taken)

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
        known = {self._config.unknown_token: self.unknown + self.written}
        return {number: known.get(text) for text, number in ids.items()}

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
