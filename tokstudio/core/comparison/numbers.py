"""How tokenizers split numbers: where tokens begin in a run of digits, and how the splits of one length differ."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.analysis.baselines import AnyTokenizer, WordTokenizer
from tokstudio.core.analysis.document_encoder import DocumentEncoder, document_groups
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.comparison.texts import ComparedText

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST = 64  # digits of a number whose split is kept: one bit for each place inside


@dataclass(frozen=True, eq=False)
class NumberSplits:
    """How a tokenizer splits the numbers of a text: runs of the digits 0 to 9, of two digits and more."""

    token_boundaries: int  # places between two digits where a token begins
    threes: int  # places with three, six, nine... digits after them
    both: int
    lengths: NDArray[np.int64]  # [distinct splits], the digits of such a number, from 2 to `LONGEST`
    splits: NDArray[np.uint64]  # [distinct splits], bit i is set where a token begins after i + 1 digits
    counts: NDArray[np.int64]  # [distinct splits], how many numbers are split so
    is_known: bool = True  # False for words, whose tokens have no place in the text

    @classmethod
    def joined(cls, parts: Sequence[NumberSplits]) -> NumberSplits:
        """Those of several texts, at least one, by the same tokenizer."""
        lengths, splits, counts = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("lengths", "splits", "counts")
        )
        order = np.lexsort((splits, lengths))
        lengths, splits, counts = lengths[order], splits[order], counts[order]
        is_new = np.ones(len(order), np.bool_)
        is_new[1:] = (np.diff(lengths) != 0) | (splits[1:] != splits[:-1])
        sums = np.add.reduceat(counts, np.flatnonzero(is_new)) if len(order) else counts
        return cls(
            sum(part.token_boundaries for part in parts),
            sum(part.threes for part in parts),
            sum(part.both for part in parts),
            lengths[is_new],
            splits[is_new],
            sums,
            all(part.is_known for part in parts),
        )

    @property
    def f1(self) -> float:
        """2 both / (token boundaries + threes); NaN where there are none of either."""
        either = self.token_boundaries + self.threes
        return 2 * self.both / either if either and self.is_known else float("nan")

    @property
    def entropy(self) -> float:
        """H(split | digits) = - sum p(digits, split) log2 p(split | digits), in bits; NaN without numbers."""
        if not len(self.counts) or not self.is_known:
            return float("nan")
        of_length = np.bincount(self.lengths, self.counts)[self.lengths]
        bits = -(self.counts * np.log2(self.counts / of_length)).sum() / self.counts.sum()
        return float(bits) + 0.0  # not -0


def numbers_work(tokenizer: AnyTokenizer, text: ComparedText) -> Work[NumberSplits]:
    """Splits the numbers of a text as its documents are encoded; raises as `counts_work`."""
    is_known, none = not isinstance(tokenizer, WordTokenizer), np.zeros(0, np.int64)
    nothing = NumberSplits(0, 0, 0, none, np.zeros(0, np.uint64), none, is_known)
    if not is_known:
        return nothing
    source, encoder, parts = text.source, DocumentEncoder(tokenizer, recognise=False), [nothing]
    for first, last, start, stop in document_groups(source):
        data, ends = np.array(source.data[start:stop]), (source.ends[first:last] - start).astype(np.int64)
        encoded, ends, begins = yield from encoder.begins_work(data, ends)
        parts = [NumberSplits.joined([*parts, number_splits(encoded, ends, begins)])]
        yield Progress("encoding", stop, len(source.data))
    return parts[0]


def number_splits(data: NDArray[np.uint8], ends: NDArray[np.int64], begins: NDArray[np.int64]) -> NumberSplits:
    """The splits of the numbers in documents.

    Args:
        data: The documents, one after another.
        ends: int64 [documents], where each ends; a number does not go on in the next one.
        begins: int64 [tokens], the byte where each token begins.
    """
    is_digit = (data >= ord("0")) & (data <= ord("9"))
    goes_on = np.zeros(len(data) + 1, np.bool_)  # whether a number goes on at a place
    goes_on[1:-1] = is_digit[1:] & is_digit[:-1]
    goes_on[ends] = False
    has_token = np.zeros(len(data) + 1, np.bool_)
    has_token[begins] = True
    inside = np.flatnonzero(goes_on)
    # Each place inside a number: the first one of its number, and the one after its last.
    is_first = np.diff(inside, prepend=-2) != 1
    firsts = inside[is_first]
    sizes = np.diff(np.append(np.flatnonzero(is_first), len(inside)))  # places inside each number: its digits - 1
    numbers = np.repeat(np.arange(len(firsts)), sizes)
    after = firsts[numbers] + sizes[numbers] - inside  # digits after each place
    is_three, is_cut = after % 3 == 0, has_token[inside]
    kept = sizes < LONGEST
    bits = np.where(is_cut, np.uint64(1) << np.minimum(inside - firsts[numbers], 63).astype(np.uint64), np.uint64(0))
    splits = np.bitwise_or.reduceat(bits, np.flatnonzero(is_first)) if len(firsts) else np.zeros(0, np.uint64)
    single = NumberSplits(
        int(is_cut.sum()),
        int(is_three.sum()),
        int((is_three & is_cut).sum()),
        (sizes[kept] + 1).astype(np.int64),
        splits[kept].astype(np.uint64),
        np.ones(int(kept.sum()), np.int64),
    )
    return NumberSplits.joined([single])
