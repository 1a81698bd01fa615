"""What a tokenizer was trained on: the shares of candidate texts, from the order of its merges alone.

The method is data mixture inference (Hayase et al. 2024, arXiv:2407.16607); the intervals are from the jackknife over
tenths of the candidates (Efron and Tibshirani 1993).
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.analysis.infer_mixture.pair_counts import (
    PARTS,
    CandidateCounts,
    CandidateWords,
    candidate_words_work,
    pair_records_work,
)
from tokstudio.core.analysis.infer_mixture.programme import Solution, solve_work
from tokstudio.core.base.arguments import whole_number
from tokstudio.core.base.errors import ConfigError, TokStudioError
from tokstudio.core.base.machine import in_threads, processors
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import first_few, other_name, percent_text, several, shown, size_text
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source, by_entry
from tokstudio.core.formats.common.recover_merges import one_of_each_work
from tokstudio.core.model.tokens import order_of_merges
from tokstudio.core.text.utf8 import Text
from tokstudio.core.tokenizer.tokenizer import Tokenizer

MERGES = 1000  # more are no better in the paper
LEAST_MERGES = 50
_MOST_MERGES = 100_000
_SMALL = 100_000  # bytes of a candidate below which its share is said to be uncertain
_TELLING = 0.01  # of the merges, which no candidate has
# Known mixtures have 0.02 to 0.08, published tokenizers beside a few texts of another kind 0.35.
_UNLIKE = 0.1  # the misfit from which on the candidates are unlike the training text
_WIDTH = 2.262157  # standard errors to each side for 95%, by Student's t with `PARTS` - 1 degrees of freedom
_NAMED, _SPELLED = 6, 100  # texts or tokens that a caution names, and bytes of a token

Candidates = Corpus | Mapping[str, Text | Iterable[Text]]


@dataclass(frozen=True)
class CandidateShare:
    """The share of one candidate in the bytes of the training text, with its 95% interval; None for no interval."""

    name: str
    share: float
    low: float | None
    high: float | None
    bytes: int  # of the candidate, without special tokens


@dataclass(frozen=True)
class InferredMixture:
    """What the order of merges says of the training text.

    Attributes:
        shares: One for each candidate, in their order; their sum is 1.
        merges: How many of the first merges were looked at.
        unknown: The ids of the tokens of those among them that no candidate has, in their order.
        passed_over: How many merges were left out of these, as their place does not follow from counts: an earlier one
            makes the same token, or they join tokens that later ones make.
        misfit: The part of the counts of all merges by which other pairs were more frequent at their time.
        cautions: What is to be known of the result, each a sentence.
    """

    shares: tuple[CandidateShare, ...]
    merges: int
    unknown: tuple[int, ...]
    passed_over: int
    misfit: float
    cautions: tuple[str, ...]

    @property
    def told(self) -> str:
        """What was looked at, in words."""
        over = f"; {several(self.passed_over, 'other')} tell nothing" if self.passed_over else ""
        unknown = f"{len(self.unknown):,}" if self.unknown else "none"
        return f"From the order of {self.merges:,} merges{over}. Merges that no candidate has: {unknown}."

    def to_plain(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self)


def infer_mixture(
    tokenizer: Tokenizer,
    candidates: Candidates,
    merges: int = MERGES,
    *,
    intervals: bool = True,
    threads: int | None = None,
) -> InferredMixture:
    r"""Estimates how much of each candidate text a tokenizer was trained on, from the order of its merges.

    An interval tells how much a share depends on the choice of the candidates' texts: a tenth of each is left out in
    turn. A pair across the borders of tenths is not counted.

    Args:
        tokenizer: A byte pair encoding that TokStudio encodes with.
        candidates: Texts, or lists of documents, by name; or a corpus, whose entries are the candidates. Each stands
            for texts of its kind, such as those in its language; weights of the corpus do not matter.
        merges: How many of the first merges are looked at, at least 50.
        intervals: Whether to find intervals, which takes about five times as long.
        threads: At most so many; None is one per core. The result does not depend on it.

    Raises:
        ConfigError: An argument is out of its range; there are fewer than two candidates, an empty one, two that cannot
            be told apart, or word counts; those that fit best have none of the merges; the tokenizer has no merges,
            fewer than 50, or an order that does not follow from counts.
        CorpusError: The candidates are too large for the memory.

    Example:
        >>> from tokstudio import Corpus, TrainingConfig, infer_mixture, train
        >>> squares, binary = ["\n".join(f(n) for n in range(9_000)) for f in (lambda n: str(n * n), bin)]
        >>> config = TrainingConfig(vocabulary_size=400, pattern="gpt2")
        >>> tokenizer = train(Corpus.from_texts([squares, squares, squares, binary]), config)
        >>> mixture = infer_mixture(tokenizer, {"squares": squares, "binary": binary})
        >>> {share.name: round(share.share, 2) for share in mixture.shares}
        {'squares': 0.63, 'binary': 0.37}
    """
    return finish(infer_mixture_work(tokenizer, candidates, merges, intervals=intervals, threads=threads))


def infer_mixture_work(
    tokenizer: Tokenizer,
    candidates: Candidates,
    merges: int = MERGES,
    *,
    intervals: bool = True,
    threads: int | None = None,
) -> Work[InferredMixture]:
    """Does the same as `infer_mixture` in bounded pieces."""
    merges = whole_number("The number of merges", merges, LEAST_MERGES, _MOST_MERGES)
    limit = check_tokenizer(tokenizer)
    named = _named(candidates)
    _check_candidates(named)
    order = yield from _order_work(tokenizer, limit, merges)
    if np.count_nonzero(order.counted) < LEAST_MERGES:
        raise ConfigError(_too_few(int(np.count_nonzero(order.counted))))
    of_candidates = [sources for _, sources in named]
    words = yield from candidate_words_work(tokenizer.at(limit), of_candidates, len(tokenizer.tokens), threads)
    _check_candidates(named, words)
    threads = processors() if threads is None else max(1, threads)
    records = yield from pair_records_work(words, order.pairs, order.results, 1 + (threads if intervals else 0))
    counts = CandidateCounts(words, records)
    totals, sizes = (yield from counts.totals_work()), counts.bytes()
    _check_different([name for name, _ in named], totals, sizes)
    known = np.zeros(len(order.pairs), np.bool_)
    at = records.of_merges
    known[at >= 0] = (totals[at[at >= 0]] > 0).any(axis=1)
    if not np.any(known & order.counted):
        raise ConfigError("No candidate has any of the tokenizer's merges: choose texts in the languages it is for.")
    solution = yield from solve_work(records, order.counted, totals, sizes)
    del totals
    if not np.isfinite(solution.misfit):
        raise ConfigError(_too_unlike([name for (name, _), share in zip(named, solution.shares, strict=True) if share]))
    single = [name for (name, _), parts in zip(named, words.bytes, strict=True) if not parts.all()]
    errors = None
    if intervals and not single:
        errors = yield from _standard_errors_work(counts, order.counted, solution, threads)
    shares = tuple(
        _share(name, float(share), None if errors is None else float(errors[number]), int(sizes[number]))
        for number, ((name, _), share) in enumerate(zip(named, solution.shares, strict=True))
    )
    unknown = tuple(order.results[order.counted & ~known].tolist())
    looked_at = int(np.count_nonzero(order.counted))
    cautions = [
        *_cautions_of_texts(named, words, single if intervals else []),
        *_cautions(tokenizer, unknown, looked_at, solution.misfit),
    ]
    return InferredMixture(shares, looked_at, unknown, order.passed_over, solution.misfit, tuple(cautions))


# --- What can be asked ------------------------------------------------------------------------------------------------


def check_tokenizer(tokenizer: object) -> int:
    """How many of a tokenizer's first merges are in the order of their counts; ConfigError where that is not known."""
    if not isinstance(tokenizer, Tokenizer):
        raise ConfigError("This tokenizer has no merges, whose order would say what it was trained on.")
    if tokenizer.no_merges is not None:
        raise ConfigError(f"The order of merges says what a tokenizer was trained on. {tokenizer.no_merges}")
    if tokenizer.library is not None or tokenizer.no_playhead is not None:
        reason = tokenizer.no_playhead or f"{tokenizer.library} encodes for it"
        raise ConfigError(f"The merges of this tokenizer cannot be repeated one by one: {reason}.")
    if tokenizer.removals is not None:
        raise ConfigError("This tokenizer removes tokens again (Picky BPE): counts alone do not give its merges.")
    limit, content, run, origin = len(tokenizer.merges), tokenizer.content, tokenizer.run, tokenizer.origin
    if origin is not None and origin.change == "pruned":
        raise ConfigError("Tokens of this tokenizer were removed: choose the one it was made from.")
    before = origin.old if origin is not None else None if run is None else run.start
    if before is not None:
        limit = min(limit, check_tokenizer(before))
    elif run is not None:
        algorithm = run.config.algorithm
        limit = min(limit, algorithm.never_rising(limit))
        if algorithm.keeps_characters or not algorithm.never_rising(LEAST_MERGES):
            raise ConfigError(f"{algorithm.title} merges other pairs than the most frequent: choose another tokenizer.")
    if content.first_stage is not None:
        limit = min(limit, content.first_stage[1])
    if content.supermerges is not None:
        limit = min(limit, int(np.argmax(content.supermerges)))
    if limit < LEAST_MERGES:
        raise ConfigError(_too_few(limit))
    return limit


def _too_few(merges: int) -> str:
    needed = f"At least {LEAST_MERGES} merges are needed whose order follows from counts"
    return f"{needed}, and this tokenizer has {merges:,}."


def _too_unlike(names: Sequence[str]) -> str:
    return (
        "What fits the order of the merges best among the candidates has none of them: leave out "
        f"{first_few(names, _NAMED)}, or give more text of the kinds that the tokenizer is for."
    )


def _named(candidates: Candidates) -> list[tuple[str, tuple[Source, ...]]]:
    """Each candidate with a name of its own, and its sources."""
    if isinstance(candidates, Corpus):
        named = by_entry(candidates.sources)
    else:
        named = [
            (name, (Source.from_texts([texts] if isinstance(texts, (str, bytes)) else texts, name),))
            for name, texts in candidates.items()
        ]
    different: dict[str, tuple[Source, ...]] = {}
    for name, sources in named:
        different[other_name(name, different)] = sources
    return list(different.items())


def _check_candidates(named: Sequence[tuple[str, Sequence[Source]]], words: CandidateWords | None = None) -> None:
    """Raises ConfigError where candidates cannot be compared; with their words, also where one has none."""
    for number, (name, sources) in enumerate(named):
        if any(source.counts is not None for source in sources):
            raise ConfigError(f"{shown(name)} has word counts: give its text, which is divided into parts.")
        if not (sum(source.bytes for source in sources) if words is None else words.bytes[number].sum()):
            raise ConfigError(f"{shown(name)} is empty: give about 1 MB of text for each candidate.")
    if len(named) < 2:
        given = "none was given" if not named else "one alone would have 100%"
        raise ConfigError(f"At least two candidate texts are needed, of which shares are found: {given}.")


def _check_different(names: Sequence[str], totals: NDArray[np.float64], sizes: NDArray[np.float64]) -> None:
    """Raises ConfigError where two candidates have equal counts for their sizes."""
    for one in range(len(names)):
        for other in range(one + 1, len(names)):
            if np.array_equal(totals[:, one] * sizes[other], totals[:, other] * sizes[one]):
                raise ConfigError(
                    f"{shown(names[one])} and {shown(names[other])} have the same pairs equally often, so that their "
                    "shares cannot be told apart: leave one out."
                )


# --- The order of merges ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Order:
    """The first merges in the order in which they are applied: int32 [n, 2] and [n], each result once."""

    pairs: NDArray[np.int32]
    results: NDArray[np.int32]
    counted: NDArray[np.bool_]  # [n], whether the place of a merge follows from counts
    passed_over: int


def _order_work(tokenizer: Tokenizer, limit: int, merges: int) -> Work[_Order]:
    """Finds the first merges whose place follows from counts, with those that are applied between them."""
    pairs, results = tokenizer.merges[:limit], tokenizer.merge_results[:limit]
    _, firsts = np.unique(pairs, axis=0, return_index=True)
    rows = np.column_stack([pairs, results])[np.sort(firsts)]
    if len(np.unique(rows[:, 2])) < len(rows):
        # Lists of all two tokens that make a token, of which one is what training merged.
        rows = yield from one_of_each_work(rows, tokenizer.alphabet, tokenizer.bytes_of)
    rows = rows[~np.isin(rows[:, 2], tokenizer.alphabet.ids)]
    pairs, results = np.ascontiguousarray(rows[:, :2]), np.ascontiguousarray(rows[:, 2])
    counted, order = np.ones(len(rows), np.bool_), order_of_merges(pairs, results)
    if order is not None:
        counted = order.complete <= np.arange(1, len(rows) + 1)
        place = np.empty(len(rows), np.int64)
        place[order.rows] = np.arange(len(rows))
        applied = np.lexsort((place, order.complete))
        pairs, results, counted = pairs[applied], results[applied], counted[applied]
    stop = int(np.searchsorted(np.cumsum(counted), merges)) + 1
    pairs, results, counted = pairs[:stop], results[:stop], counted[:stop]
    if not counted.any():
        return _Order(pairs, results, counted, 0)
    last = pairs[np.flatnonzero(counted)[-1]]
    seen = int(np.flatnonzero((tokenizer.merges == last).all(axis=1))[0]) + 1
    return _Order(pairs, results, counted, seen - int(np.count_nonzero(counted)))


# --- Intervals, and what is said --------------------------------------------------------------------------------------


def _standard_errors_work(
    counts: CandidateCounts, counted: NDArray[np.bool_], solution: Solution, threads: int
) -> Work[NDArray[np.float64]]:
    """float64 [candidates], the standard errors of the shares by the jackknife."""
    shares = np.zeros((PARTS, len(solution.shares)))

    def tell(number: int, result: Solution | TokStudioError) -> None:
        if isinstance(result, TokStudioError):
            raise result
        shares[number] = result.shares

    def without_work(part: int) -> Work[Solution]:
        totals = yield from counts.totals_work(part)
        return (yield from solve_work(counts.records, counted, totals, counts.bytes(part), solution))

    works = [lambda part=part: without_work(part) for part in range(PARTS)]
    yield from in_threads("leaving tenths out", works, tell, threads)
    return np.sqrt((PARTS - 1) * shares.var(axis=0))


def _share(name: str, share: float, error: float | None, size: int) -> CandidateShare:
    if error is None:
        return CandidateShare(name, share, None, None, size)
    return CandidateShare(name, share, max(0.0, share - _WIDTH * error), min(1.0, share + _WIDTH * error), size)


def _cautions_of_texts(
    named: Sequence[tuple[str, Sequence[Source]]], words: CandidateWords, single: Sequence[str]
) -> Iterator[str]:
    small = [name for (name, _), size in zip(named, words.bytes.sum(axis=1), strict=True) if size < _SMALL]
    if small:
        yield (
            f"{first_few(small, _NAMED)} {'has' if len(small) == 1 else 'have'} less than {size_text(_SMALL)} of text: "
            "the shares are uncertain; give about 1 MB of each."
        )
    for (name, sources), replaced in zip(named, words.replaced, strict=True):
        if replaced:
            yield f"{shown(name)} is not UTF-8: {several(replaced, 'place')} became U+FFFD."
        elif any(source.encoding == "bytes" for source in sources):
            yield f"{shown(name)} is not UTF-8: its bytes were counted as they are."
    if single:
        yield (
            f"There are no intervals: {first_few(single, _NAMED)} cannot be divided into {PARTS} parts at documents or "
            "lines."
        )


def _cautions(tokenizer: Tokenizer, unknown: Sequence[int], merges: int, misfit: float) -> Iterator[str]:
    yield (
        "The shares are of the candidates alone, and say nothing of text that is like none of them. Intervals tell "
        "only how much the choice of each candidate's text matters."
    )
    if len(unknown) > _TELLING * merges:
        starts = [tokenizer.tokens.prefix(token, _SPELLED) for token in unknown[:_NAMED]]
        some = ", ".join(shown(start.decode("utf-8", "backslashreplace")).replace(" ", "·") for start in starts)
        yield (
            f"A language or kind of text is probably missing: no candidate has {len(unknown):,} of {merges:,} merges, "
            f"such as {some}."
        )
    if misfit > _UNLIKE:
        yield (
            f"The candidates are unlike the training text, so the shares are rough: by {percent_text(misfit)} of the "
            "counts of the merges, other pairs come before them. Give more text, of the kinds that it may have had."
        )
