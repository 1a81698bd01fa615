"""BoundlessBPE in two phases: the supermerges of a corpus, and one list of them and of the merges of phase 1.

Schmidt, Reddy, Tanner and Pinter (2025), "Boundless Byte Pair Encoding", arXiv:2504.00178; in two phases,
arXiv:2604.05192. A supermerge never comes before the merges of its parts: it is not more frequent than the rarest of
them, and it is taken before a merge only if it is more frequent than that one. So what falls out at the end is no part
of a supermerge that was taken.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.algorithms.bpe.engine import PairEngine, PlainRoom
from tokstudio.core.algorithms.common.engines import Allows, ChosenMerges, Merger, Merging, Task, no_merges
from tokstudio.core.algorithms.common.from_tokenizer import gathered_groups
from tokstudio.core.algorithms.common.prepare_corpus import count_text_work, prepare_corpus_work
from tokstudio.core.algorithms.common.symbols import LARGEST_CORPUS, huggingface_order
from tokstudio.core.algorithms.common.units import Units
from tokstudio.core.base.arrays import grown, in_four_bytes
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.progress import Progress, Work, part_of
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.config import Forbidden, TrainingConfig
from tokstudio.core.model.run import max_merges
from tokstudio.core.model.word_runs import ALONE, BREAK, Joining
from tokstudio.core.pretokenization.special_tokens import Pieces
from tokstudio.core.pretokenization.word_counts import Sequences
from tokstudio.core.pretokenization.word_table import MOST_WORDS, PADDING, WordTable
from tokstudio.core.text.byte_level import BYTE_ORDER
from tokstudio.core.tokenizer.encoder import Encoder
from tokstudio.core.tokenizer.merge_table import MergeTable
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BATCH = 4096


@dataclass(frozen=True, eq=False)
class Runs:
    """The distinct runs of a corpus in the order of first occurrence; see `model.word_runs`."""

    tokens: NDArray[np.int32]  # the ids of all runs, one after another, after phase 1
    ends: NDArray[np.int64]  # [runs], the end of each
    counts: NDArray[np.int64]  # [runs], how often each occurs, weighted


class BoundlessEngine:
    """Makes the merges of both phases in the order of the final list.

    Nothing is given before phase 1 is complete, because its last counts decide.
    """

    def __init__(self, task: Task, in_words: Merging) -> None:
        self._corpus, self._config, self._prepared = task.corpus, task.config, task.prepared
        self._limit, self._floor, self._given = task.limit, task.floor, 0
        self._words: list[ChosenMerges] = []  # the merges of phase 1 so far
        self._merging: Merging | None = in_words  # of the phase
        self._finding: Work[Runs] | None = None
        self._list: _FinalList | None = None
        self._start: Tokenizer | None = None
        self._rare = False
        self.progress = Progress("merging words", 0, 1000)

    @property
    def supermerging(self) -> tuple[Merger, Tokenizer] | None:
        """The merger of phase 2, and the tokenizer of phase 1; None before phase 2 merges."""
        if self._finding is not None or self._start is None or self._merging is None:
            return None
        return self._merging.merger, self._start

    @property
    def is_full(self) -> bool:
        """Whether all merges that the limit allows were given."""
        return self._given == self._limit

    def has_eligible_pair(self) -> bool:
        """Whether a pair was left at the end of either phase, because it was too rare."""
        return self._rare

    def advance(self, merges: int) -> ChosenMerges | None:
        """Does one bounded piece of work; returns at most `merges` merges, or None where none is left."""
        if self._list is None:
            self._do_phase_1()
        elif self._finding is not None:
            self._find_runs()
        elif not self._list.waiting and self._merging is None:
            return None
        elif not self._list.waiting:
            self._do_phase_2()
        if self._list is None:
            return no_merges()
        chosen = self._list.next(min(merges, _BATCH, *(() if self._limit is None else (self._limit - self._given,))))
        self._given += len(chosen.left)
        return chosen

    def _do_phase_1(self) -> None:
        assert self._merging is not None
        chosen = self._merging.advance(_BATCH)
        if chosen is not None and len(chosen.left):
            self._words.append(chosen)
        progress = self._merging.progress
        self.progress = replace(progress, phase="merging words") if progress.phase == "merging" else progress
        if chosen is None or self._merging.is_full:
            self._rare = chosen is None and self._merging.has_eligible_pair()
            self._merging = None
            self._begin_phase_2(reached=chosen is not None)

    def _begin_phase_2(self, reached: bool) -> None:
        words, prepared = _joined(self._words), self._prepared
        base_size = len(prepared.base_counts)
        self._list = _FinalList(words, prepared.tokens - prepared.unknown, base_size)
        if reached:
            # A supermerge must be more frequent than one of these merges.
            self._floor = max(self._floor, int(words.count[-1]) + 1)
        pairs = np.stack([words.left, words.right], axis=1)
        self._start = Tokenizer.from_training(pairs, self._config.as_plain(), prepared.alphabet, base_size)
        self._finding = find_runs_work(self._corpus, self._config, self._start)

    def _find_runs(self) -> None:
        assert self._finding is not None
        assert self._start is not None
        try:
            self.progress = next(self._finding)
        except StopIteration as end:
            config, self._finding = self._config, None
            base_size = len(self._prepared.base_counts)
            units = units_of(end.value, config, self._start, base_size)
            scale = self._corpus.weight_scale
            allows = allows_supermerge(config, self._start, base_size)
            merger = PairEngine(units, config.tie_break, self._floor, config.max_token_bytes, scale, allows)
            self._merging = Merging(merger, len(units.symbols), None, self._limit, self._floor)
            assert self._list is not None
            self._list.begin_runs(merger.tokens)

    def _do_phase_2(self) -> None:
        assert self._merging is not None
        assert self._list is not None
        chosen = self._merging.advance(_BATCH)
        self.progress = self._merging.progress
        if chosen is None:
            self._rare = self._rare or self._merging.has_eligible_pair()
            self._merging = None
            self._list.end()
        elif len(chosen.left):
            self._list.add(chosen)


class _FinalList:
    """The merges of phase 1 and the supermerges as one list, whose ids follow its order."""

    def __init__(self, words: ChosenMerges, tokens: int, base_size: int) -> None:
        self._words, self._base_size = words, base_size
        self._falls = _falls(words, tokens)
        self._tokens, self._run_tokens = tokens, 0
        self._at = self._supermerges = 0  # how many of phase 1, and how many supermerges, are in the list
        # [ids of phase 1, then of supermerges], the id in the final list; those of the base stay.
        self._new_ids = np.arange(base_size + len(words.left) + _BATCH, dtype=np.int32)
        self._waiting: list[ChosenMerges] = []

    @property
    def waiting(self) -> bool:
        """Whether merges of the list were not given yet."""
        return len(self._waiting) > 0

    def begin_runs(self, tokens: int) -> None:
        """Sets how many tokens all runs have before the first supermerge."""
        self._run_tokens = tokens

    def add(self, supermerges: ChosenMerges) -> None:
        """Adds supermerges, and the merges of phase 1 that come before the last of them."""
        # Before each supermerge come the merges that are as frequent or more.
        before = np.searchsorted(-self._words.count, -supermerges.count, side="right")
        self._extend(int(before[-1]), before, supermerges)

    def end(self) -> None:
        """Adds the merges of phase 1 that are left."""
        self._extend(len(self._words.left), np.empty(0, np.int64), None)

    def _extend(self, until: int, before: NDArray[np.int64], supermerges: ChosenMerges | None) -> None:
        words, first = self._words, self._base_size + self._at + self._supermerges
        amount = until - self._at + len(before)
        if not amount:
            return
        is_super = np.zeros(amount, np.bool_)
        is_super[before - self._at + np.arange(len(before))] = True
        here, size = slice(self._at, until), len(words.left)
        from_id = self._base_size + size + self._supermerges
        if from_id + len(before) > len(self._new_ids):
            self._new_ids = grown(self._new_ids, from_id + len(before) + size)
        ids = np.arange(first, first + amount, dtype=np.int32)
        self._new_ids[self._base_size + self._at : self._base_size + until] = ids[~is_super]
        self._new_ids[from_id : from_id + len(before)] = ids[is_super]
        rows, table = np.empty((amount, 4), np.int64), (words.left, words.right, words.count, self._falls)
        rows[~is_super] = np.stack([column[here] for column in table], axis=1)
        if supermerges is not None:
            falls = _falls(supermerges, self._run_tokens)
            rows[is_super] = np.stack([supermerges.left, supermerges.right, supermerges.count, falls], axis=1)
            self._run_tokens = int(supermerges.tokens_after[-1])
        overtaken = np.full(amount, -1, np.int64)
        overtaken[is_super] = np.append(words.count, 0)[before]
        left, right, count, fall = rows.T.copy()
        after = self._tokens - np.cumsum(fall)
        merges = ChosenMerges(self._new_ids[left], self._new_ids[right], count, after, {"overtaken": overtaken})
        self._waiting.append(merges)
        self._at, self._supermerges, self._tokens = until, self._supermerges + len(before), int(after[-1])

    def next(self, most: int) -> ChosenMerges:
        """The next merges of the list that are known, at most so many."""
        if not self._waiting:
            return no_merges()
        merges = self._waiting.pop(0)
        if len(merges.left) > most:
            self._waiting.insert(0, _part(merges, slice(most, None)))
            merges = _part(merges, slice(most))
        return merges


def supermerging_work(corpus: Corpus, config: TrainingConfig) -> Work[tuple[Merger, Tokenizer]]:
    """Makes phase 1 again; returns the merger before its first supermerge, and the tokenizer of phase 1."""
    prepared, units = yield from prepare_corpus_work(corpus, config)
    limit, floor = max_merges(config, len(prepared.base_counts)), corpus.weight_scale * (config.min_frequency or 1)
    phases = ROOM.engine(Task(corpus, config, prepared, limit, floor), units)
    while phases.supermerging is None:
        phases.advance(_BATCH)
        yield phases.progress
    return phases.supermerging


def find_runs_work(corpus: Corpus, config: TrainingConfig, start: Tokenizer) -> Work[Runs]:
    """Finds and counts the runs of a corpus, after phase 1; special tokens and ends of documents end them.

    Raises:
        CorpusError: There are more tokens in them than can be merged at once.
    """
    in_documents = replace(config.as_plain(), pattern="none")
    counted = yield from count_text_work(corpus, in_documents, by_source=True)
    table = MergeTable(start.merges, start.merge_results)
    letters = start.words_with_letters()
    joining = Joining(letters, MergeTable(start.merges[:0], start.merge_results[:0]).pairs)
    encoder = Encoder(start.alphabet, table, len(start.merges), config.pattern, joining=joining)
    run_table, parts = _RunTable(), counted.weighted(corpus.multipliers)
    total, done = sum(len(part.starts) for part in parts), 0
    for part in parts:
        yield from part_of(_add_part_work(encoder, part, run_table), "finding runs", done, len(part.starts), total)
        done += len(part.starts)
    return run_table.runs()


def _add_part_work(encoder: Encoder, part: Sequences, run_table: _RunTable) -> Work[None]:
    total, done, nothing = len(part.starts), 0, np.full(1, -1, np.int32)
    for data, stops, times in gathered_groups(part):
        pieces = Pieces(np.concatenate([[0], stops[:-1]]), stops, np.zeros(len(stops), np.int32))
        work = encoder.marked_work(data, pieces, nothing)
        marked = yield from part_of(work, "finding runs", done, len(stops), total)
        run_table.add(np.concatenate([np.empty(0, np.uint32), *marked]), times)
        done += len(stops)
        yield Progress("finding runs", done, total)


class _RunTable:
    """Counts runs; a distinct one is held once."""

    def __init__(self) -> None:
        self._table = WordTable()
        self._counts = np.zeros(0, np.int64)

    def add(self, marked: NDArray[np.uint32], times: NDArray[np.int64]) -> None:
        """Counts the runs of texts, each followed by `BREAK`; `times` has how often each text counts."""
        alone = np.concatenate([[False], marked >= ALONE, [False]])
        edges = np.flatnonzero(alone[1:] != alone[:-1])
        starts, stops = edges[::2], edges[1::2]
        long = stops - starts > 1
        starts, stops = starts[long], stops[long]
        texts = np.searchsorted(np.flatnonzero(marked == BREAK), starts)
        within = np.zeros(len(marked) + 1, np.int64)
        within[starts], within[stops] = 1, -1
        tokens = marked[np.cumsum(within[:-1]) > 0] & (ALONE - 1)
        data = np.concatenate([tokens.view(np.uint8), np.zeros(PADDING, np.uint8)])
        ends, start = 4 * np.cumsum(stops - starts), 0
        for first in range(0, len(ends), MOST_WORDS):
            here = ends[first : first + MOST_WORDS]
            numbers = self._table.look_up(data, start, here)
            if len(self._counts) < len(self._table):
                self._counts = grown(self._counts, self._table.room)
            np.add.at(self._counts, numbers, times[texts[first : first + len(here)]])
            start = int(here[-1])

    def runs(self) -> Runs:
        """The runs so far."""
        ends = self._table.offsets[1:] // 4
        size = int(self._table.offsets[-1])
        return Runs(self._table.words[:size].view(np.int32), ends, self._counts[: len(ends)])


def units_of(runs: Runs, config: TrainingConfig, start: Tokenizer, base_size: int) -> Units:
    """Lays out runs for the engine; its base units are the tokens after phase 1.

    Raises:
        CorpusError: There are too many tokens.
    """
    n, base = len(runs.ends), base_size + len(start.merges)
    if len(runs.tokens) + n + 1 > LARGEST_CORPUS:
        raise CorpusError(
            f"The corpus is too large: more than {LARGEST_CORPUS:,} tokens in runs of words, which is all that can be "
            "merged at once. Train on a part of it."
        )
    symbols = np.insert(runs.tokens, np.concatenate([[0], runs.ends]), np.int32(-1))
    weights, heavy = in_four_bytes(runs.counts)
    weights = np.repeat(weights, np.diff(runs.ends, prepend=0) + 1)
    spelled = [start.tokens[token] or b"" for token in range(base)]
    if config.base == "bytes":
        values = np.frombuffer(b"".join(spelled), np.uint8).astype(np.int32)
        lengths = [len(token) for token in spelled]
        if config.tie_break == "mapped-strings":
            values = np.array(BYTE_ORDER, np.int32)[values]
    else:
        texts = [token.decode() for token in spelled]
        values = np.frombuffer("".join(texts).encode("utf-32-le"), np.int32)
        lengths = [len(text) for text in texts]
    order = np.arange(base, dtype=np.int32)
    if config.tie_break == "huggingface":
        order[:base_size] = huggingface_order(start.alphabet, base_size)
    return Units(
        symbols=symbols,
        weights=np.concatenate([np.ones(1, np.int32), weights]),
        token_bytes=np.array([len(token) for token in spelled], np.int64),
        tie_order=order,
        values=values,
        value_ends=np.cumsum(lengths, dtype=np.int64),
        heavy=heavy,
    )


def allows_supermerge(config: TrainingConfig, start: Tokenizer, base_size: int) -> Allows:
    """Whether a supermerge may be made: not where it is forbidden, or would make the bytes of another token."""
    forbidden = Forbidden(config.forbidden)
    first = base_size + len(start.merges)
    spelled = {token: token_bytes for token, token_bytes in enumerate(start.tokens[:first]) if token_bytes is not None}
    taken = set(spelled.values())

    def allowed(left: int, right: int, result: int) -> bool:
        # A pair may be asked for and not be merged: only ids below the next one are tokens.
        if result > first:
            taken.add(spelled[result - 1])
        joined = spelled[left] + spelled[right]
        if joined in taken or joined in forbidden:
            return False
        spelled[result] = joined
        return True

    return allowed


def _joined(parts: Sequence[ChosenMerges]) -> ChosenMerges:
    """Merges in several parts as one."""
    parts = [no_merges(), *parts]
    return ChosenMerges(
        np.concatenate([part.left for part in parts]),
        np.concatenate([part.right for part in parts]),
        np.concatenate([part.count for part in parts]),
        np.concatenate([part.tokens_after for part in parts]),
    )


def _part(merges: ChosenMerges, rows: slice) -> ChosenMerges:
    columns = {name: column[rows] for name, column in merges.columns.items()}
    return ChosenMerges(merges.left[rows], merges.right[rows], merges.count[rows], merges.tokens_after[rows], columns)


def _falls(merges: ChosenMerges, tokens: int) -> NDArray[np.int64]:
    """int64 [n], by how many tokens each merge shortened a text that had so many before."""
    return -np.diff(merges.tokens_after, prepend=tokens)


class BoundlessRoom(PlainRoom):
    """BoundlessBPE, whose phases are plain BPE of words and of runs of words."""

    def engine(self, task: Task, units: Units) -> BoundlessEngine:
        """See `Room`."""
        in_words = self.new_merger(task, units)
        return BoundlessEngine(task, Merging(in_words, task.prepared.positions, task.limit, task.limit, task.floor))


ROOM = BoundlessRoom()
