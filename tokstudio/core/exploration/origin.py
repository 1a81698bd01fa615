"""Where a token comes from: in which sources and documents its uses are, now and when its merge made it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.analysis.baselines import AnyTokenizer, ByteTokenizer, SimpleTokenizer
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import percent_text
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import document_place
from tokstudio.core.exploration.corpus_tokens import CorpusTokens, Ids
from tokstudio.core.exploration.dispersion import DOCUMENT_UNIT, Dispersion, times_within

FIRST_DOCUMENTS = 10
BARS = 1_000  # parts of a corpus that a bar code tells apart


@dataclass(frozen=True, slots=True)
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
    # follow from the merges.
    made: int | None
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
    is_token = np.zeros(size, np.int64)
    is_token[token] = 1
    uses = yield from text.sums_work(is_token, text.ends)
    within = is_token if isinstance(tokenizer, SimpleTokenizer) else times_within(tokenizer, token, size)
    made = None if within is None else (yield from text.sums_work(within, text.ends))
    by = uses if measured.uses[token] or made is None else made
    order = np.argsort(-by, kind="stable")[:FIRST_DOCUMENTS]
    total = int(uses.sum())
    borders = np.cumsum([0, *(source.documents for source in corpus.sources)])
    documents = tuple(
        _document_uses(corpus, borders, row, int(uses[row]), total, None if made is None else int(made[row]))
        for row in order[by[order] > 0].tolist()
    )
    bars = yield from _bars_work(text, token)
    range_, unit = int(measured.range[token]), measured.part_unit
    return TokenOrigin(
        token=token,
        uses=total,
        made=None if made is None else int(made.sum()),
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


def _bars_work(text: CorpusTokens, token: int) -> Work[NDArray[np.int64]]:
    """Where in the corpus the uses of a token begin.

    Where the tokens of a document are not its bytes, because the text is changed or unknown, they are stretched to it.
    """
    lengths, ends = _lengths(text.tokenizer, len(text.feeds)), text.ends
    sizes = yield from text.sums_work(lengths, ends)
    before = np.cumsum(sizes) - sizes  # bytes of the tokens of earlier documents
    widths = np.concatenate([np.diff(source.ends, prepend=0) for source in text.corpus.sources] or [sizes])
    starts, stretch = np.cumsum(widths) - widths, widths / np.maximum(sizes, 1)
    total, bars = max(1, int(widths.sum())), np.zeros(BARS, np.int64)
    at = done = 0

    def take(ids: Ids) -> None:
        nonlocal at, done
        behind = np.cumsum(lengths[ids]) + done
        rows = np.flatnonzero(ids == token)
        document = np.searchsorted(ends, rows + at, side="right")
        begins = starts[document] + (behind[rows] - lengths[token] - before[document]) * stretch[document]
        places = np.minimum((begins * (BARS / total)).astype(np.int64), BARS - 1)
        bars[:] += np.bincount(places, minlength=BARS)
        at, done = at + len(ids), int(behind[-1])

    yield from text.walk_work(take, "counting uses")
    return bars


def _lengths(tokenizer: AnyTokenizer, size: int) -> NDArray[np.int64]:
    """int64 [size], the bytes of each token."""
    if isinstance(tokenizer, ByteTokenizer):
        return np.ones(size, np.int64)
    if isinstance(tokenizer, SimpleTokenizer):
        tokens = getattr(tokenizer, "tokens", None)
        if tokens is not None:
            return np.array(list(map(len, tokens)), np.int64)
        return 1 + np.searchsorted([0x80, 0x800, 0x10000], np.arange(size), side="right")
    return np.maximum(np.array(tokenizer.tokens.lengths(), np.int64), 0)
