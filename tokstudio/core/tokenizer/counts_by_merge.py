"""How often each token occurs in a text after 0, 1, ... n merges, from the counts after all of them, exactly.

No part of a merge is made after it, so merging by rank is merging one rank after another. The text is encoded only
once, with all merges; its tokens are then split again from the last merge to the first.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.pretokenization.word_table import PADDING
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray


def tokens_by_merge(
    merges: NDArray[np.int32], results: NDArray[np.int32], counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """int64 [n + 1], the tokens of a text after 0, 1, ... n merges.

    `merges` and `results` are those of a tokenizer (see there); `counts` has the occurrences of each token after all
    merges, by id, and is overwritten.
    """
    from tokstudio.core.kernels.encode import take_apart

    left = int(counts.sum())
    take_apart(read_only(merges), read_only(results), counts)
    times = counts[results]
    return left + int(times.sum()) - np.concatenate([np.zeros(1, np.int64), np.cumsum(times)])


def stages_of(tokenizer: Tokenizer) -> tuple[Tokenizer, ...]:
    """The tokenizer with all merges; before it the one at the end of stage 1 of SuperBPE, which splits otherwise."""
    stage = tokenizer.content.first_stage
    return (tokenizer,) if stage is None else (tokenizer.at(stage[1]), tokenizer)


def why_not_by_merge(tokenizer: Tokenizer) -> str | None:
    """Why the counts after fewer merges do not follow from those after all, as a sentence; None where they do."""
    if tokenizer.content.first_stage is not None:
        return f"Up to merge {tokenizer.content.first_stage[1]:,} it splits text by another pattern."
    return why_merges_differ(tokenizer)


def why_merges_differ(tokenizer: Tokenizer) -> str | None:
    """The same for text that is split alike after any number of merges."""
    if tokenizer.no_playhead is not None:
        return f"Only all merges can be counted together: {tokenizer.no_playhead}."
    if tokenizer.removals is not None:
        return "The tokenizer removes tokens again (Picky BPE)."
    results, ranks = tokenizer.merge_results, _ranks(tokenizer)
    if np.count_nonzero(ranks >= 0) < len(results):
        return "Several of the tokenizer's merges make the same token."
    unknown = tokenizer.alphabet.unknown
    before = np.append(tokenizer.alphabet.ids, [] if unknown is None else unknown).astype(np.int64)
    if np.any(ranks[before[before < len(ranks)]] >= 0):
        return "One of the tokenizer's merges makes a token that text has before it is merged."
    if np.any(ranks[tokenizer.merges] >= np.arange(len(results))[:, np.newaxis]):
        return "One of the tokenizer's merges joins a token that only a later merge makes."
    words = [tokenizer.tokens[token] for token in tokenizer.whole_words if tokenizer.tokens.in_use(token)]
    return "Two of the tokenizer's whole words have the same bytes." if len(set(words)) < len(words) else None


@dataclass(frozen=True, eq=False)
class _LateWords:
    """The whole words of a text that a merge adds to the vocabulary, but that merging does not make of them.

    Before that merge, such a word is merged like any other pre-token.
    """

    tokens: NDArray[np.int64]  # [words]
    ranks: NDArray[np.int64]  # [words], the rank of the merge
    pieces: NDArray[np.int64]  # what all merges make of the words, one after another
    owners: NDArray[np.int64]  # the number of the word of each piece


@dataclass(frozen=True, eq=False)
class CountsByMerge:
    """The counts of the tokens of a text after any number of merges; made by `counts_by_merge_work`."""

    _tokenizer: Tokenizer
    _counts: NDArray[np.int64]  # [ids], after all merges
    _late: _LateWords

    def at(self, merges: int) -> NDArray[np.int64]:
        """int64 [ids], the occurrences of each token after so many merges, by id: those that `Tokenizer.at` gives.

        Raises:
            ConfigError: There are fewer merges.
        """
        from tokstudio.core.kernels.encode import take_apart

        self._tokenizer.at(merges)
        counts, late = self._counts.copy(), self._late
        is_merged = late.ranks >= merges
        times = np.where(is_merged, counts[late.tokens], 0)
        counts[late.tokens[is_merged]] = 0
        np.add.at(counts, late.pieces, times[late.owners])
        results = self._tokenizer.merge_results[merges:]
        take_apart(read_only(self._tokenizer.merges[merges:]), read_only(results), counts)
        counts[results] = 0
        return counts

    @cached_property
    def tokens(self) -> NDArray[np.int64]:
        """int64 [n + 1], the tokens after 0, 1, ... n merges; read-only."""
        merges, results = self._tokenizer.merges, self._tokenizer.merge_results
        counts, late = self._counts.copy(), self._late
        counts[late.tokens] = 0
        tokens = tokens_by_merge(merges, results, counts) + self._tokens_of_late_words()
        tokens.setflags(write=False)
        return tokens

    def _tokens_of_late_words(self) -> NDArray[np.int64]:
        """int64 [n + 1], the tokens of the late words after 0, 1, ... n merges."""
        merges, late, rank_of = self._tokenizer.merges, self._late, _ranks(self._tokenizer)
        change = np.zeros(len(merges) + 1, np.int64)
        starts = np.searchsorted(late.owners, np.arange(len(late.tokens) + 1))
        for number, (token, rank) in enumerate(zip(late.tokens.tolist(), late.ranks.tolist(), strict=True)):
            waiting: list[int] = late.pieces[starts[number] : starts[number + 1]].tolist()
            times, merges_of_pieces, pieces = int(self._counts[token]), list[int](), 0
            while waiting:
                by = int(rank_of[waiting.pop()])
                if by < 0:
                    pieces += 1
                else:
                    merges_of_pieces.append(by)
                    waiting += self._tokenizer.merges[by].tolist()
            before = [by for by in merges_of_pieces if by < rank]
            np.subtract.at(change, np.array(before, np.int64) + 1, times)
            change[0] += times * pieces
            change[rank + 1] -= times * (pieces - len(before) - 1)
        return np.cumsum(change)


def counts_by_merge_work(tokenizer: Tokenizer, counts: NDArray[np.int64]) -> Work[CountsByMerge]:
    """Makes the counts after any number of merges from those after all: int64 [ids], without special tokens.

    Raises:
        ConfigError: They do not follow from these; see `why_not_by_merge`.
    """
    if (reason := why_not_by_merge(tokenizer)) is not None:
        raise ConfigError(reason)
    rank_of, counts = _ranks(tokenizer), np.asarray(counts, np.int64)
    whole_words = (token for token in sorted(tokenizer.whole_words) if token < len(counts) and rank_of[token] >= 0)
    occurring = [token for token in whole_words if counts[token]]
    words = [tokenizer.tokens[token] or b"" for token in occurring]
    data = np.frombuffer(b"".join(words) + bytes(PADDING), np.uint8)
    ends = np.cumsum([len(word) for word in words], dtype=np.int64)
    encoded = yield from tokenizer.encoder("none", whole_words=False).encode_words_work(data, 0, ends)
    pieces = [encoded.ids[encoded.offsets[n] : encoded.offsets[n + 1]].astype(np.int64) for n in encoded.numbers]
    # A word that merging makes of itself is made of the same parts before all merges are applied.
    late = [(token, each) for token, each in zip(occurring, pieces, strict=True) if each.tolist() != [token]]
    tokens, pieces = np.array([token for token, _ in late], np.int64), [each for _, each in late]
    owners = np.repeat(np.arange(len(late)), [len(each) for each in pieces])
    joined = np.concatenate([np.zeros(0, np.int64), *pieces])
    return CountsByMerge(tokenizer, counts, _LateWords(tokens, rank_of[tokens], joined, owners))


def counts_at(tokenizer: Tokenizer, counts: NDArray[np.int64], merges: int) -> NDArray[np.int64]:
    """The counts after so many merges, from those after all; see `counts_by_merge_work` and `CountsByMerge.at`."""
    return finish(counts_by_merge_work(tokenizer, counts)).at(merges)


def _ranks(tokenizer: Tokenizer) -> NDArray[np.int64]:
    """int64 [ids], the rank of the merge that makes each token; -1 where none does."""
    highest = max(len(tokenizer.tokens) - 1, int(tokenizer.merges.max(initial=0)))
    ranks = np.full(highest + 1, -1, np.int64)
    ranks[tokenizer.merge_results] = np.arange(len(tokenizer.merges))
    return ranks
