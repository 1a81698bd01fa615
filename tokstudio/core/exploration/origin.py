"""Where a token comes from: in which sources and documents its uses are, now and when its merge made it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.analysis.baselines import SimpleTokenizer
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import percent_text
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import document_place
from tokstudio.core.exploration.corpus_tokens import CorpusTokens, Ids, token_lengths
from tokstudio.core.exploration.dispersion import DOCUMENT_UNIT, Dispersion, times_within
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIRST_DOCUMENTS = 10
_WHY_NOT = "How often it was made does not follow from the merges of this tokenizer."
_WHY_NOT_IN_PICKY = (
    "Picky BPE removes tokens again, so how often one was made is counted for the whole text, "
    "not for a source or a document."
)
BARS = 1_000  # parts of a corpus that a bar code tells apart


@dataclass(frozen=True)
class DocumentUses:
    """The uses of a token in a document."""

    document: int  # its number over all sources, from 0: a row of `Exploration.documents`
    source: int  # the index of the source in the corpus
    place: str  # where it is, such as "forum.jsonl, row 311"
    uses: int
    share: float  # in all uses of the token
    made: int | None  # see `TokenOrigin.made`


@dataclass(frozen=True, eq=False)
class TokenOrigin:
    """Where the uses of a token are."""

    token: int
    uses: int  # at the playhead
    # How often its pair was merged while the text was encoded: its uses when it was made. None where that does not
    # follow from the merges. With Picky BPE it is known for the whole text alone.
    made: int | None
    why_not_made: str  # a sentence, where it is not known of the text, or of its sources and documents; else ""
    uses_by_source: NDArray[np.int64]  # [sources]
    made_by_source: NDArray[np.int64] | None  # [sources]
    documents: tuple[DocumentUses, ...]  # those with most uses, at most ten, and with `made` where there is no use
    documents_in_all: int  # the documents with tokens
    range: int  # the units with the token
    part_unit: str  # the units: "documents" or "pieces"
    bunched: float
    dp: float
    dp_norm: float
    bars: NDArray[np.int64]  # [BARS], how many uses begin in each of as many equal parts of the corpus

    def sentence(self) -> str:
        """In words, where most of its uses are; how often it is used where there are not several documents."""
        top = self.documents[0] if self.documents else None
        if top is None or not self.uses:
            return "The text has no use of it."
        if self.documents_in_all < 2:
            times = "once" if self.uses == 1 else f"{self.uses:,} times"
            return f"It is used {times} in the one document."
        most = f"Its {self.uses:,} uses are all" if self.uses > 1 else "Its one use is"
        if top.uses < self.uses:
            # A share that is not all is not rounded to all.
            share = percent_text(min(int(100 * top.share + 0.5), 99) / 100)
            most = f"{share} of its {self.uses:,} uses are"
        return f"{most} in one of {self.documents_in_all:,} documents: {top.place}."


def origin_work(text: CorpusTokens, measured: Dispersion, token: int) -> Work[TokenOrigin]:
    """Finds where the uses of a token are."""
    corpus, tokenizer, size = text.corpus, text.tokenizer, len(text.feeds)
    uses, bars = yield from _places_work(text, token)
    within = None if isinstance(tokenizer, SimpleTokenizer) else times_within(tokenizer, token, size)
    made = uses if isinstance(tokenizer, SimpleTokenizer) else None
    if within is not None:
        is_part = np.count_nonzero(within) > 1 or within[token] != 1
        made = (yield from text.sums_work(within, text.ends)) if is_part else uses
    in_all, why_not = None if made is None else int(made.sum()), ""
    if made is None:
        is_picky = isinstance(tokenizer, Tokenizer) and tokenizer.library is None and tokenizer.removals is not None
        why_not = _WHY_NOT_IN_PICKY if is_picky else _WHY_NOT
        in_all = None if isnan(measured.made[token]) else int(measured.made[token])
    by = uses if measured.uses[token] or made is None else made
    total = int(uses.sum())
    borders = np.cumsum([0, *(source.documents for source in corpus.sources)])
    documents = tuple(
        _document_uses(corpus, borders, row, int(uses[row]), total, None if made is None else int(made[row]))
        for row in _first_rows(by)
    )
    range_, unit = int(measured.range[token]), measured.part_unit
    return TokenOrigin(
        token=token,
        uses=total,
        made=in_all,
        why_not_made=why_not,
        uses_by_source=_by_source(uses, borders),
        made_by_source=None if made is None else _by_source(made, borders),
        documents=documents,
        documents_in_all=measured.parts if unit == DOCUMENT_UNIT else int(np.count_nonzero(text.tokens)),
        range=range_,
        part_unit=unit,
        bunched=float(measured.bunched[token]),
        dp=float(measured.dp[token]),
        dp_norm=float(measured.dp_norm[token]),
        bars=bars,
    )


def _document_uses(
    corpus: Corpus, borders: NDArray[np.int64], row: int, uses: int, total: int, made: int | None
) -> DocumentUses:
    source = int(np.searchsorted(borders, row, side="right")) - 1
    text = corpus.sources[source]
    place = document_place(text, row - int(borders[source])) or text.name
    return DocumentUses(row, source, place, uses, uses / total if total else float("nan"), made)


def _by_source(of_documents: NDArray[np.int64], borders: NDArray[np.int64]) -> NDArray[np.int64]:
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(of_documents)])
    return np.diff(before[borders])


def _first_rows(values: NDArray[np.int64]) -> list[int]:
    """The rows with the highest values above 0, at most `FIRST_DOCUMENTS`, the first of equals first."""
    least = 1
    if len(values) > FIRST_DOCUMENTS:
        least = max(1, int(np.partition(values, -FIRST_DOCUMENTS)[-FIRST_DOCUMENTS]))
    rows = np.flatnonzero(values >= least)
    return rows[np.argsort(-values[rows], kind="stable")][:FIRST_DOCUMENTS].tolist()


def _places_work(text: CorpusTokens, token: int) -> Work[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """int64 [documents], the uses of a token in each; int64 [BARS], where in the corpus they begin.

    Where the tokens of a document are not its bytes, because the text is changed or unknown, they are stretched to it.
    """
    lengths, ends = token_lengths(text.tokenizer, len(text.feeds)), text.ends
    widths = np.concatenate([np.zeros(0, np.int64), *(np.diff(each.ends, prepend=0) for each in text.corpus.sources)])
    sizes = yield from text.sizes_work()
    starts, before = np.cumsum(widths) - widths, np.cumsum(sizes) - sizes
    scale, bars, uses = BARS / max(1, int(widths.sum())), np.zeros(BARS, np.int64), np.zeros(len(ends), np.int64)
    at = done = 0

    def take(ids: Ids) -> None:
        nonlocal at, done
        rows = np.flatnonzero(ids == token)
        of_each = lengths[ids]
        if len(rows):
            behind = np.cumsum(of_each)[rows] + done
            document = np.searchsorted(ends, rows + at, side="right")
            np.add.at(uses, document, 1)
            within = (behind - lengths[token] - before[document]) * (widths[document] / np.maximum(sizes[document], 1))
            places = ((starts[document] + within) * scale).astype(np.int64)
            bars[:] += np.bincount(np.minimum(places, BARS - 1), minlength=BARS)
        at, done = at + len(ids), done + int(of_each.sum())

    yield from text.walk_work(take, "counting uses")
    return uses, bars
