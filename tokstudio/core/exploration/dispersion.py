"""How the uses of each token are spread over a corpus: range, top document, bunched, Gries' DP, and what was emitted.

Range and top document are counted over units: the documents where 20 or more have tokens, else the pieces. Dispersion
is always measured over pieces: about 100 runs of whole documents, or of lines where a document is longer, with equal
numbers of tokens.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.algorithms.picky.counts import picky_changes_work
from tokstudio.core.analysis.baselines import AnyTokenizer, SimpleTokenizer
from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.exploration.corpus_tokens import CorpusTokens, Ids, UsesByDocument
from tokstudio.core.model.picky import RESULT, merged_on_in_picky
from tokstudio.core.model.tokens import order_of_merges
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

PIECES = 100
LEAST_DOCUMENTS = 20  # for documents as units
DOCUMENT_UNIT, PIECE_UNIT = "documents", "pieces"

_AT_ONCE = 1 << 22  # terms of the expected ranges
_SMALL, _SIZES = 1 << 16, 1 << 20  # tokens of a part, and parts that are counted together
_PHASE = "measuring dispersion"


@dataclass(frozen=True, eq=False)
class Dispersion:
    """The spread of all tokens over a corpus; arrays by id, NaN where there is nothing to divide."""

    document_tokens: NDArray[np.int32]  # [documents]
    pieces: NDArray[np.int64]  # [pieces], the tokens of each
    part_unit: str  # "documents" or "pieces"
    parts: int  # the units with tokens
    uses: NDArray[np.int64]  # in all of the text, unweighted
    range: NDArray[np.int64]  # the units with the token
    # The unit with most uses, the first of equals, from 0 over all sources; documents without tokens are numbered too.
    # -1 for none.
    top_part: NDArray[np.int64]
    top_share: NDArray[np.float64]  # its share in the uses
    bunched: NDArray[np.float64]  # expected range by observed range: 1 as if strewn at random
    # Gries (2008): half the sum over pieces of |s - v|, for the share s of a piece in all tokens and v in the uses
    dp: NDArray[np.float64]
    dp_norm: NDArray[np.float64]  # Egbert (2020): dp / (1 - least s of the pieces with the token)
    # How often it was made while the text was encoded. NaN for all where the merges do not tell: another library
    # encodes, or text has, or several merges make, what a merge makes; with Picky BPE for tokens removed again.
    made: NDArray[np.float64]
    emitted: NDArray[np.float64]  # uses / times made


def dispersion_work(text: CorpusTokens, found: UsesByDocument) -> Work[Dispersion]:
    """Measures the spread of all tokens over a text, of which `first_work` gave `found`."""
    from tokstudio.core.kernels import parts as kernel

    uses, total = found.uses, int(found.uses.sum())
    ends = yield from _piece_ends_work(text, total)
    rows = np.zeros((len(uses), kernel.COLUMNS), np.int32)
    differences, least = np.zeros(len(uses), np.float64), np.ones(len(uses), np.float64)
    at = piece = 0

    def take(ids: Ids) -> None:
        nonlocal at, piece
        piece = kernel.take_pieces(ids, at, piece, ends, uses, total, rows, differences, least)
        at += len(ids)

    yield from text.walk_work(take, _PHASE)
    kernel.close_pieces(ends, uses, total, rows, differences, least)
    pieces, is_used = np.diff(ends, prepend=0), uses > 0
    with_tokens = int(np.count_nonzero(text.tokens))
    if with_tokens >= LEAST_DOCUMENTS:
        unit, sizes, parts = DOCUMENT_UNIT, text.tokens, with_tokens
        ranges, top_part, top_uses = found.range, found.top_part, found.top_uses
    else:
        unit, sizes, parts = PIECE_UNIT, pieces, len(pieces)
        ranges = rows[:, kernel.RANGE].astype(np.int64)
        is_more = rows[:, kernel.NOW] > rows[:, kernel.TOP]
        top_uses = np.where(is_more, rows[:, kernel.NOW], rows[:, kernel.TOP]).astype(np.int64)
        top_part = np.where(is_more, rows[:, kernel.LAST], rows[:, kernel.TOP_PART]).astype(np.int64) - 1
    expected = yield from _expected_work(uses, sizes, total)
    made = yield from times_made_work(text, uses)
    dp = np.where(is_used & (len(pieces) > 1), np.clip((1 + differences) / 2, 0, 1), np.nan)
    return Dispersion(
        document_tokens=text.tokens,
        pieces=pieces,
        part_unit=unit,
        parts=parts,
        uses=uses,
        range=ranges,
        top_part=top_part,
        top_share=_divided(top_uses, uses),
        bunched=_divided(expected, ranges),
        dp=dp,
        dp_norm=np.minimum(_divided(dp, 1 - least), 1),
        made=made,
        emitted=_divided(uses, made),
    )


def _divided(above: NDArray[np.generic], below: NDArray[np.generic]) -> NDArray[np.float64]:
    """The quotients; NaN where the lower number is 0."""
    quotients = np.full(len(below), np.nan)
    return np.divide(above, below, out=quotients, where=np.asarray(below) != 0)


def _piece_ends_work(text: CorpusTokens, total: int) -> Work[NDArray[np.int64]]:
    """int64 [pieces], the end of each piece in tokens.

    The corpus is made of blocks: documents, or their lines where one is longer than the hundredth part of all tokens. A
    line begins with the first token that begins after its line feed. Piece k begins with the first block that begins
    at k hundredths of all tokens or later.
    """
    if not total:
        return np.zeros(0, np.int64)
    targets = np.unique(-(-np.arange(1, PIECES, dtype=np.int64) * total // PIECES))
    documents, ends = text.reaching(targets)
    borders = ends.copy()
    is_within = (targets < borders) & (PIECES * text.tokens[documents].astype(np.int64) > total)
    within = np.flatnonzero(is_within)
    for document in np.unique(documents[within]).tolist():
        here = within[documents[within] == document]
        start = int(ends[here[0]]) - int(text.tokens[document])
        found = yield from text.line_starts_work(document, targets[here] - start)
        borders[here] = found + start
    borders = np.unique(np.append(borders, total))
    return borders[borders > 0]


def _expected_work(
    uses: NDArray[np.int64], sizes: NDArray[np.int32] | NDArray[np.int64], total: int
) -> Work[NDArray[np.float64]]:
    """float64 [ids], the expected range of each token: the sum over parts of 1 - (1 - s)^uses; 0 for none."""
    from tokstudio.core.kernels.parts import expected_ranges

    distinct, inverse = np.unique(uses, return_inverse=True)
    different, amounts = yield from _different_work(sizes)
    expected = np.zeros(len(distinct), np.float64)
    step = max(1, _AT_ONCE // max(1, len(different)))
    for first in range(int(np.searchsorted(distinct, 1)), len(distinct), step):
        here = slice(first, first + step)
        expected_ranges(distinct[here], different, amounts, total, expected[here])
        yield Progress(_PHASE)
    return expected[inverse]


def _different_work(sizes: NDArray[np.int32] | NDArray[np.int64]) -> Work[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """int64, the different sizes above 0, descending; int64, how many there are of each."""
    small, large = np.zeros(_SMALL, np.int64), list["NDArray[np.int64]"]()
    for first in range(0, len(sizes), _SIZES):
        part = sizes[first : first + _SIZES].astype(np.int64)
        small += np.bincount(part[part < _SMALL], minlength=_SMALL)
        large.append(part[part >= _SMALL])
        yield Progress(_PHASE)
    small[0] = 0
    different, amounts = np.unique(np.concatenate([np.zeros(0, np.int64), *large]), return_counts=True)
    some = np.flatnonzero(small)
    joined = np.concatenate([some, different])[::-1].copy()
    return joined, np.concatenate([small[some], amounts.astype(np.int64)])[::-1].copy()


def merges_in_order(tokenizer: Tokenizer) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
    """The merges that act, int32 [n, 2], and their results, int32 [n], each after those that make its parts.

    A token is always made by the same of these. None where that is not so: another library encodes, tokens are removed
    again (Picky BPE), or text has, or several merges make, what a merge makes.
    """
    merges, results, unknown = tokenizer.merges, tokenizer.merge_results, tokenizer.alphabet.unknown
    unmerged = np.append(tokenizer.alphabet.ids, [] if unknown is None else unknown)
    is_ambiguous = len(np.unique(results)) < len(results) or bool(np.isin(results, unmerged).any())
    if tokenizer.library is not None or tokenizer.removals is not None or is_ambiguous:
        return None
    if (needed := tokenizer.needed_merges) is not None:
        # Those that join tokens which only merges after the playhead make do nothing.
        merges, results = merges[needed <= len(merges)], results[needed <= len(results)]
        if (order := order_of_merges(merges, results)) is not None:
            merges, results = merges[order.rows], results[order.rows]
    return merges, results


def times_made_work(text: CorpusTokens, uses: NDArray[np.int64]) -> Work[NDArray[np.float64]]:
    """float64 [ids], how often each token is made while a text is encoded in which it is used so often.

    That is its uses, and how often it is merged on. These follow from the merges alone, but for Picky BPE, which needs
    the words again; NaN for all where they do not, see `merges_in_order`.
    """
    tokenizer = text.tokenizer
    if isinstance(tokenizer, Tokenizer) and tokenizer.removals is not None and tokenizer.library is None:
        return (yield from _made_by_picky_work(tokenizer, text, uses))
    return _times_made(tokenizer, uses)


def _made_by_picky_work(tokenizer: Tokenizer, text: CorpusTokens, uses: NDArray[np.int64]) -> Work[NDArray[np.float64]]:
    made, rows = uses.astype(np.float64), tokenizer.removals
    assert rows is not None
    if not len(rows):
        return made
    base = int(rows[0, RESULT])
    changes = yield from picky_changes_work(tokenizer, text.corpus.sources)
    merged_on, places = merged_on_in_picky(changes, tokenizer.merges, rows, base)
    ids = tokenizer.tokens.ids()
    own = ids[ids < len(places)]
    made[own] += merged_on[own]
    made[~tokenizer.tokens.are_in_use(np.arange(len(uses)))] = np.nan
    own = own[own >= base]
    # Without a pattern, a long text is encoded in parts, which can give other tokens than the whole.
    return made if np.array_equal(places[own], uses[own]) else np.full(len(uses), np.nan)


def _times_made(tokenizer: AnyTokenizer, uses: NDArray[np.int64]) -> NDArray[np.float64]:
    from tokstudio.core.kernels.encode import take_apart

    if isinstance(tokenizer, SimpleTokenizer):
        return uses.astype(np.float64)
    if (ordered := merges_in_order(tokenizer)) is None:
        return np.full(len(uses), np.nan)
    counts = np.zeros(max(len(uses), *(1 + int(ids.max(initial=0)) for ids in ordered)), np.int64)
    counts[: len(uses)] = uses
    # What merging does not make of its bytes is made in one step.
    whole = np.array(sorted(token for token in tokenizer.whole_words if token < len(uses)), np.int64)
    counts[whole] = 0
    take_apart(read_only(ordered[0]), read_only(ordered[1]), counts)
    counts[whole] += uses[whole]
    return counts[: len(uses)].astype(np.float64)


def times_within(tokenizer: Tokenizer, token: int, size: int) -> NDArray[np.int64] | None:
    """int64 [size], by id how often a token is made when another one is made: itself once; see `merges_in_order`."""
    if (ordered := merges_in_order(tokenizer)) is None:
        return None
    merges, results = ordered
    times = [0] * max(size, *(1 + int(ids.max(initial=0)) for ids in ordered))
    times[token] = 1
    for (left, right), result in zip(merges.tolist(), results.tolist(), strict=True):
        if result != token:
            times[result] = times[left] + times[right]
    within = np.array(times[:size], np.int64)
    within[sorted(whole for whole in tokenizer.whole_words - {token} if whole < size)] = 0
    return within
