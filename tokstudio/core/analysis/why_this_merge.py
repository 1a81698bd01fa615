"""Explains why a merge was made: the other candidates at that moment, and the choices of the other tie rules.

The engine repeats the run's earlier merges, and all pairs are counted once.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from itertools import chain
from math import isnan
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.algorithms import room_of
from tokstudio.core.algorithms.common.engines import Task
from tokstudio.core.algorithms.common.from_tokenizer import order_of_tokens, start_of
from tokstudio.core.algorithms.common.prepare_corpus import prepare_corpus_work
from tokstudio.core.algorithms.common.symbols import huggingface_order
from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.machine import free_memory
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import count_text, several, size_of_memory
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.algorithms import TIE_BREAKS, ParityAware, Picky, TieBreak
from tokstudio.core.model.picky import REPLACED, share_merged
from tokstudio.core.model.run import Run
from tokstudio.core.text.byte_level import BYTE_ORDER
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.forecast import MOST_OF_FREE, merging_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.algorithms.common.engines import Merger, Pairs

#: The choice of each rule among the pairs with the highest count, as the subject of a sentence.
RULES: Mapping[TieBreak, str] = MappingProxyType(
    {
        "first": "the pair that comes first in the corpus",
        "lowest-id": "the pair with the lowest left id, then the lowest right id",
        "huggingface": "the pair with the lowest ids, base tokens in the order of their characters,",
        "bytes": "the pair with the greatest left bytes, then the greatest right bytes,",
        "mapped-strings": "the pair with the greatest strings, left and then right, in GPT-2's alphabet",
        "smallest-bytes": "the pair with the smallest left bytes, then the smallest right bytes,",
    }
)

_MAPPED = bytes(BYTE_ORDER)  # bytes that sort like the characters of GPT-2's alphabet
_FLOOR_STEP = 4
_MOST_RECOUNTED = 1 << 25  # tokens before the first merge
_COMPARED = 1 << 12  # pairs whose bytes are compared in one piece of work


@dataclass(frozen=True)
class PairCount:
    """A pair of ids and its count: adjacent places, overlapping ones included, times the count of each sequence.

    The count is in units of 1 / `Run.weight_scale`.
    """

    left: int
    right: int
    count: int


@dataclass(frozen=True)
class Choosing:
    """Which language chose a merge of parity-aware BPE, and what decided it."""

    languages: tuple[str, ...]
    number: int  # of the language that chose; -1 where all chose together
    # By language, before the merge: tokens of the parallel texts, else bytes per token divided by the ratio. NaN for a
    # language without parallel text beside others that have one: it never chooses.
    scores: tuple[float, ...]
    is_parallel: bool
    has_ratios: bool = False
    passed_over: tuple[int, ...] = ()  # languages that would have come before it, but chose too often lately

    @property
    def reason(self) -> str:
        """The reason for this language, in one or two sentences."""
        if self.number < 0:
            return "All languages chose together, as in plain BPE."
        name, score = self.languages[self.number], self.scores[self.number]
        if self.is_parallel:
            measured = [score for score in self.scores if not isnan(score)]
            mean = sum(measured) / len(measured)
            share = round(100 * (score / mean - 1)) if mean else 0
            above = f"{abs(share)} % {'longer' if share > 0 else 'shorter'} than" if share else "as long as"
            why = f"{name} chose: its parallel text is {above} the mean"
        else:
            divided = " (divided by its ratio)" if self.has_ratios else ""
            why = f"{name} chose: its {score:.2f} bytes per token{divided} are the fewest"
        if not self.passed_over:
            return f"{why}."
        names = ", ".join(self.languages[number] for number in self.passed_over)
        return f"{why} of those that may choose. {names} chose too often lately."


@dataclass(frozen=True)
class Judged:
    """Whether a part of a merge of Picky BPE was removed after it."""

    token: int
    replaced: int  # places of the merge
    uses: int  # of the part that were left, in the same unit
    threshold: float

    @property
    def share(self) -> float:
        """See `share_merged`."""
        return share_merged(self.replaced, self.uses)

    @property
    def is_removed(self) -> bool:
        """Whether the part was removed."""
        return self.share > self.threshold


@dataclass(frozen=True)
class WhyMerge:
    """The facts at the choice of a merge."""

    number: int  # the merge; merges are numbered from 1, those of the tokenizer at the start included
    chosen: PairCount  # its pair
    # The next candidates, best first, by the run's rule. Pairs below the run's minimum frequency are included, but not
    # pairs whose token would be too long or is forbidden.
    runners_up: tuple[PairCount, ...]
    tied: int  # how many pairs had the highest count, including the chosen one
    rule: TieBreak  # the run's rule
    choices: Mapping[TieBreak, PairCount]  # the choice of each rule
    scale: int = 1  # counts are in units of 1 / this
    # For parity-aware BPE; all counts are then those in the text of the language that chose.
    choosing: Choosing | None = None
    stage: int | None = None  # of SuperBPE, 1 or 2
    # In stage 2: pairs that occur as often or more but were dropped, because their token would have too many words or a
    # colon before a space; most frequent first.
    vetoed: tuple[PairCount, ...] = ()
    # Of Picky BPE: the parts that were removed after the merge, and those that might have been.
    judged: tuple[Judged, ...] = ()
    # Of BoundlessBPE, as in `Run.columns`. The other pairs of a supermerge are supermerges too.
    overtaken: int | None = None

    @property
    def reason(self) -> str:
        """The reason for this pair, in one sentence; before it, that for the language, or what the stage may merge."""
        if self.stage is not None:
            return f"{self._reason_of_stage()} {self._reason()}"
        if self.judged:
            return " ".join([self._reason(), *map(self._reason_of_removal, self.judged)])
        if self.overtaken is not None:
            return f"{self._reason_of_phase()} {self._reason()}"
        if self.choosing is None:
            return self._reason()
        within = "" if self.choosing.number < 0 else " In its text:"
        return f"{self.choosing.reason}{within} {self._reason()}"

    def _reason_of_removal(self, judged: Judged) -> str:
        side = "left" if judged.token == self.chosen.left else "right"
        share, limit = f"{100 * judged.share:.2f} %", f"{100 * judged.threshold:.4g} %"
        rest = count_text(judged.uses, self.scale)
        if judged.is_removed:
            return f"Its {side} part was removed: {share} of it was merged, more than {limit}, and {rest} fell apart."
        return f"Its {side} part stays: {share} of it was merged, at most {limit}, and {rest} are left."

    def _reason_of_stage(self) -> str:
        if self.stage == 1:
            return "Stage 1 chose, within words."
        if not self.vetoed:
            return "Stage 2 chose, across words."
        pairs, most = several(len(self.vetoed), "pair"), count_text(self.vetoed[0].count, self.scale)
        dropped = "was dropped that occurs" if len(self.vetoed) == 1 else "were dropped that occur"
        return (
            f"Stage 2 chose, across words. {pairs} {dropped} as often or more, up to {most} times: "
            "with too many words, or a colon before a space."
        )

    def _reason_of_phase(self) -> str:
        assert self.overtaken is not None
        if self.overtaken < 0:
            return "Phase 1 chose, within words."
        if self.overtaken == 0:
            return "This is a supermerge, across words: no merge within words was left."
        count, beaten = (count_text(each, self.scale) for each in (self.chosen.count, self.overtaken))
        return f"This is a supermerge, across words: it occurs {count} times, and the next merge within words {beaten}."

    def _reason(self) -> str:
        times = "once" if self.chosen.count == self.scale else f"{count_text(self.chosen.count, self.scale)} times"
        if self.tied > 1:
            return f"{self.tied:,} pairs occur {times}; of those, {RULES[self.rule]} is merged."
        if not self.runners_up:
            return f"It occurs {times}, and no other pair is left."
        next_count = count_text(self.runners_up[0].count, self.scale)
        return f"It occurs {times}, more often than any other pair: the next has {next_count}."


def why_work(corpus: Corpus, run: Run, number: int, runners_up: int = 20) -> Work[WhyMerge]:
    """Explains a merge of a run, numbered from 1, with at most so many others; takes as long as training up to it.

    Raises:
        ConfigError: There is no such merge, or too little memory to count the pairs again.
        CorpusError: The corpus is not the one the run was trained on.
    """
    before = run.merges_before
    if not before < number <= before + len(run):
        range_text = f" from {before + 1:,} to {before + len(run):,}" if before else f": this run has {len(run):,}"
        raise ConfigError(f"There is no merge {number:,}{range_text}.")
    own = number - before
    if run.supermerges is not None:
        return (yield from _why_boundless_work(corpus, run, own, runners_up))
    _refuse_too_large(corpus, run, own)
    if (yield from corpus.sha256_work()) != run.corpus.sha256:
        raise CorpusError("The corpus has changed since this run was trained: its pairs can no longer be counted.")
    corpus = replace(corpus, weights=run.corpus.weights)
    engine, base_order, begun = yield from _engine_work(corpus, run, own)
    yield from _repeat_work(engine, run, begun, own - 1)
    choosing = _choosing(engine, run, own - 1)
    later = np.arange(len(base_order), run.base_size + own, dtype=np.int32)
    order, tokenizer = np.concatenate([base_order, later]), Tokenizer.from_run(run)
    # With Picky BPE, tokens that were there before the merge may be gone in the end.
    tokens = (tokenizer if run.removals is None else tokenizer.at(own - 1)).tokens
    why = yield from _among_work(engine, run, own, runners_up, order, tokens)
    return replace(why, number=number, choosing=choosing, stage=run.stage_of(own))


def count_at_end_work(corpus: Corpus, run: Run, left: int, right: int) -> Work[int | None]:
    """How often two tokens stood together after the last merge of a run, in units of 1 / `Run.weight_scale`.

    None where this is not counted: a language or a removal decided beside the counts, words were joined, or the corpus
    has too many tokens to make all merges again for one number. Raises as `why_work`.
    """
    counts_decide = not run.languages and run.removals is None and run.supermerges is None
    if not counts_decide or not len(run) or run.tokens_before > _MOST_RECOUNTED * run.weight_scale:
        return None
    _refuse_too_large(corpus, run, len(run))
    if (yield from corpus.sha256_work()) != run.corpus.sha256:
        raise CorpusError("The corpus has changed since this run was trained: its pairs can no longer be counted.")
    engine, _, begun = yield from _engine_work(replace(corpus, weights=run.corpus.weights), run, len(run))
    yield from _repeat_work(engine, run, begun, len(run))
    for pairs in (yield from engine.recount_work(1)):
        rows = np.flatnonzero((pairs.left == left) & (pairs.right == right))
        if len(rows):
            return int(pairs.count[rows[0]])
    return 0


def _among_work(
    engine: Merger, run: Run, own: int, runners_up: int, order: NDArray[np.int32], tokens: Sequence[bytes | None]
) -> Work[WhyMerge]:
    """A merge of a run, counted from 1, that is the engine's next, among the other pairs."""
    count = int(run.counts[own - 1])
    pairs, refused = yield from _frequent_work(engine, count, runners_up + 1)
    if run.languages:
        count = int(pairs.count.max(initial=0))
    contest = _Contest(pairs, order, tokens, run.config.base == "bytes")
    ranked = yield from contest.best_work(run.config.tie_break, runners_up + 1)
    best = [PairCount(int(pairs.left[row]), int(pairs.right[row]), int(pairs.count[row])) for row in ranked]
    left, right = run.merges[own - 1].tolist()
    if not best or best[0] != PairCount(left, right, count):
        raise _not_repeatable()
    choices: dict[TieBreak, PairCount] = {}
    for rule in TIE_BREAKS:
        row = (yield from contest.best_work(rule, 1))[0]
        choices[rule] = PairCount(int(pairs.left[row]), int(pairs.right[row]), best[0].count)
    tied = int(np.count_nonzero(pairs.count == best[0].count))
    vetoed = _vetoed(refused, run, tokens, count) if run.stage_of(own) == 2 else ()
    return WhyMerge(
        own,
        best[0],
        tuple(best[1:]),
        tied,
        run.config.tie_break,
        MappingProxyType(choices),
        run.weight_scale,
        vetoed=vetoed,
        judged=_judged(run, own - 1),
    )


def _why_boundless_work(corpus: Corpus, run: Run, number: int, runners_up: int) -> Work[WhyMerge]:
    """Explains a merge of BoundlessBPE: of phase 1 as one of plain BPE, a supermerge among supermerges."""
    is_super, base = run.columns["overtaken"] >= 0, run.base_size
    amount, overtaken = int(is_super[:number].sum()), int(run.columns["overtaken"][number - 1])
    in_words = np.flatnonzero(~is_super)
    if overtaken < 0:
        old_ids = np.arange(base + len(run), dtype=np.int32)
        old_ids[base + in_words] = np.arange(base, base + len(in_words), dtype=np.int32)
        after = run.tokens_before - np.cumsum(run.merged[in_words])
        merges, counts = old_ids[run.merges[in_words]], run.counts[in_words].copy()
        config = run.config.as_plain()
        plain = replace(run, config=config, columns={}, merges=merges, counts=counts, tokens_after=after)
        why = yield from why_work(corpus, plain, number - amount, runners_up)
        new_ids = np.concatenate([np.arange(base), base + in_words])
    else:
        from tokstudio.core.algorithms.boundless.engine import supermerging_work

        engine, start = yield from supermerging_work(replace(corpus, weights=run.corpus.weights), run.config)
        first, supermerges = base + len(start.merges), np.flatnonzero(is_super)
        old_ids = np.arange(base + len(run), dtype=np.int32)
        old_ids[base + in_words] = np.arange(base, base + len(in_words), dtype=np.int32)
        old_ids[base + supermerges] = np.arange(first, first + len(supermerges), dtype=np.int32)
        own = replace(run, merges=old_ids[run.merges[supermerges]], counts=run.counts[supermerges].copy())
        yield from _repeat_work(engine, own, 0, amount - 1)
        spelled = Tokenizer.from_run(run).tokens
        tokens = [*start.tokens[:first], *(spelled[token] for token in (base + supermerges).tolist())]
        order = np.arange(len(tokens), dtype=np.int32)
        order[:base] = huggingface_order(run.alphabet, base)
        why = yield from _among_work(engine, own, amount, runners_up, order, tokens)
        new_ids = np.full(len(tokens), -1, np.int64)
        new_ids[old_ids] = np.arange(base + len(run))
    return replace(_renumbered(why, new_ids), number=number, overtaken=overtaken)


def _renumbered(why: WhyMerge, new_ids: NDArray[np.int64]) -> WhyMerge:
    """The same with other ids, without pairs of tokens that fell out of the vocabulary."""

    def again(pair: PairCount) -> PairCount:
        return replace(pair, left=int(new_ids[pair.left]), right=int(new_ids[pair.right]))

    kept = tuple(pair for pair in map(again, why.runners_up) if min(pair.left, pair.right) >= 0)
    choices = MappingProxyType({rule: again(pair) for rule, pair in why.choices.items()})
    return replace(why, chosen=again(why.chosen), runners_up=kept, choices=choices)


def _engine_work(corpus: Corpus, run: Run, own: int) -> Work[tuple[Merger, NDArray[np.int32], int]]:
    """The engine that made a merge, counted from 1; the order of its first ids for ties; the merges before it began."""
    count, start, config, begun = int(run.counts[own - 1]), start_of(run), run.config, 0
    if run.second_stage is not None and run.stage_of(own) == 2:
        from tokstudio.core.algorithms.superbpe.engine import start_of_second_stage

        begun, config = run.second_stage[0], config.as_second_stage()
        start = start_of_second_stage(run.merges[:begun], run.alphabet, run.base_size)
    prepared, units = yield from prepare_corpus_work(corpus, config, start=start)
    # A language may have chosen by a lower count than that in all, and removals bring pairs back.
    is_own = not run.languages and run.removals is None
    floor = count if is_own else run.weight_scale * (run.config.min_frequency or 1)
    task = Task(corpus, run.config, prepared, None, floor, start)
    engine = room_of(run.config.algorithm.name).new_merger(task, units)
    order = huggingface_order(prepared.alphabet, run.base_size) if start is None else order_of_tokens(start)
    return engine, order, begun


def _vetoed(refused: Pairs, run: Run, tokens: Sequence[bytes | None], count: int) -> tuple[PairCount, ...]:
    """The pairs that stage 2 of SuperBPE does not merge and that occur at least `count` times."""
    rows = np.flatnonzero(refused.count >= count).tolist()
    pairs = [PairCount(int(refused.left[row]), int(refused.right[row]), int(refused.count[row])) for row in rows]
    spelled = ((tokens[pair.left] or b"") + (tokens[pair.right] or b"") for pair in pairs)
    vetoed = [pair for pair, token in zip(pairs, spelled, strict=True) if run.config.algorithm.is_vetoed(token)]
    return tuple(sorted(vetoed, key=lambda pair: -pair.count))


def _choosing(engine: Merger, run: Run, merge: int) -> Choosing | None:
    """What decided which language made a merge, counted from 0, that is the engine's next."""
    from tokstudio.core.algorithms.parity.engine import ParityEngine

    if not run.languages or not isinstance(engine, ParityEngine):
        return None
    algorithm = run.config.algorithm
    assert isinstance(algorithm, ParityAware)
    turn = engine.turn_of(int(run.columns["chosen_by"][merge]))
    scores: list[float] = turn.scores.tolist()
    has_own = bool(algorithm.parallel), bool(algorithm.ratios)
    return Choosing(run.languages, turn.language, tuple(scores), *has_own, turn.passed_over)


def _judged(run: Run, merge: int) -> tuple[Judged, ...]:
    """The parts of a merge of Picky BPE, counted from 0, that are no base tokens."""
    if run.removals is None:
        return ()
    assert isinstance(run.config.algorithm, Picky)
    row, uses, judged = run.removals[merge], run.uses(merge), list[Judged]()
    replaced = int(row[REPLACED])
    left, right = run.merges[merge].tolist()
    for token in dict.fromkeys((left, right)):
        if token >= run.base_size:
            rest = int(uses[token]) - replaced * (1 + (left == right))
            judged.append(Judged(token, replaced, rest, run.config.algorithm.threshold))
    return tuple(judged)


def _refuse_too_large(corpus: Corpus, run: Run, number: int) -> None:
    """Refuses corpora that do not fit into memory. With a pattern each word is stored once, which takes little."""
    free, tokens = free_memory(), run.tokens_before if run.config.pattern == "none" else 0
    if run.second_stage is not None and run.stage_of(number) == 2:
        tokens = int(run.second_stage[1].sum())
    if free is None or not tokens:
        return
    counted = any(source.counts is not None for source in corpus.sources)
    positions = min(tokens, sum(len(source.data) for source in corpus.sources))
    needed = merging_memory(positions, number, weighted=counted or run.corpus.weights is not None)
    if needed > MOST_OF_FREE * free:
        problem = f"about {size_of_memory(needed)} of memory, but only {size_of_memory(free)} is free"
        raise ConfigError(
            f"Counting the pairs again would take {problem}. "
            "Close other programs, or train on a sample of the corpus and look at that run."
        )


def _repeat_work(engine: Merger, run: Run, done: int, merges: int) -> Work[None]:
    """Makes the merges of a run again, after those before the engine began, up to so many."""
    while done < merges:
        yield Progress("repeating", done, merges)
        batch = engine.advance(merges - done)
        if batch is None:
            raise _not_repeatable()
        here = slice(done, done + len(batch.left))
        same = np.array_equal(run.merges[here], np.stack([batch.left, batch.right], axis=1))
        if not same or not np.array_equal(run.counts[here], batch.count):
            raise _not_repeatable()
        done += len(batch.left)


def _frequent_work(engine: Merger, floor: int, wanted: int) -> Work[tuple[Pairs, Pairs]]:
    """At least `wanted` of the most frequent pairs: all that reach some count, at most `floor`; and those refused."""
    while True:
        pairs, refused = yield from engine.recount_work(floor)
        if len(pairs) >= wanted or floor == 1:
            return pairs, refused
        floor = max(1, floor // _FLOOR_STEP)


@dataclass(frozen=True, eq=False)
class _Contest:
    """Orders pairs by one rule or another; `order` is int32, by id, for the rule "huggingface"."""

    pairs: Pairs
    order: NDArray[np.int32]
    tokens: Sequence[bytes | None]
    is_of_bytes: bool  # whether base tokens are bytes, which the alphabet of GPT-2 maps

    def best_work(self, rule: TieBreak, most: int) -> Work[list[int]]:
        """The rows of the best pairs, best first."""
        pairs = self.pairs
        if not len(pairs):
            return []
        least = int(np.partition(pairs.count, max(0, len(pairs) - most))[max(0, len(pairs) - most)])
        rows = np.flatnonzero(pairs.count >= least)
        if rule in ("bytes", "mapped-strings"):
            return (yield from self._greatest_work(rows, most, rule == "mapped-strings" and self.is_of_bytes))
        if rule == "smallest-bytes":
            greatest = yield from self._greatest_work(rows, len(rows), False)
            # Ascending by bytes; sorting by count keeps that order.
            return sorted(reversed(greatest), key=lambda row: -int(pairs.count[row]))[:most]
        left, right = pairs.left[rows], pairs.right[rows]
        ties: dict[TieBreak, tuple[NDArray[np.integer], ...]] = {
            "first": (pairs.place[rows],),
            "lowest-id": (right, left),
            "huggingface": (self.order[right], self.order[left]),
        }
        return rows[np.lexsort((*ties[rule], -pairs.count[rows]))[:most]].tolist()

    def _greatest_work(self, rows: NDArray[np.intp], most: int, mapped: bool) -> Work[list[int]]:
        pairs, tokens = self.pairs, self.tokens

        def key(row: int) -> tuple[int, bytes, bytes]:
            left, right = tokens[int(pairs.left[row])], tokens[int(pairs.right[row])]
            assert left is not None
            assert right is not None
            if mapped:
                left, right = left.translate(_MAPPED), right.translate(_MAPPED)
            return int(pairs.count[row]), left, right

        best: list[int] = []
        for first in range(0, len(rows), _COMPARED):
            best = nlargest(most, chain(best, rows[first : first + _COMPARED].tolist()), key)
            yield Progress("comparing", first, len(rows))
        return best


def _not_repeatable() -> CorpusError:
    return CorpusError("The run's merges do not match this corpus and these settings: the pairs differ.")
