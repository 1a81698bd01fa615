"""The tokens of a corpus, document after document: kept while they fit into a budget, else found again."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tokstudio.core.analysis.baselines import AnyTokenizer, ByteTokenizer, CharacterTokenizer, WordTokenizer
from tokstudio.core.analysis.document_encoder import MARK, DocumentEncoder
from tokstudio.core.base.progress import Progress, Work, together
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source, entries
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_KEPT = 5 << 27  # bytes of tokens: those of 1 GB of text in two bytes each
_PIECE = 1 << 20  # tokens at once
_BLOCK = 1 << 25  # kept tokens: as large arrays as these take no memory where nothing was written
_PHASE = "encoding"
_CODE_POINTS = 0x110000
_LONG = 1 << 12  # bytes of a token

Ids: TypeAlias = "NDArray[np.uint32]"


@dataclass(frozen=True, eq=False)
class UsesByDocument:
    """What one encoding of all documents gives, by id."""

    uses: NDArray[np.int64]
    range: NDArray[np.int64]  # the documents with each token
    top_part: NDArray[np.int64]  # the first document with most uses, over all sources; -1 for none
    top_uses: NDArray[np.int64]  # the uses in it


class CorpusTokens:
    """The tokens of all documents of a corpus; see `first_work`."""

    def __init__(self, corpus: Corpus, tokenizer: AnyTokenizer, most_kept: int) -> None:
        self.corpus = corpus
        self.tokenizer = tokenizer
        self.encoder = DocumentEncoder(tokenizer)
        self.tokens = np.zeros(corpus.documents, np.int32)  # of each document
        self.feeds = feeds_of_tokens(tokenizer)
        self._most_kept = most_kept
        self._sizes: NDArray[np.int64] | None = None
        self._kept: list[NDArray[Any]] | None = []  # uint16 or uint32

    @property
    def is_kept(self) -> bool:
        """Whether the tokens are kept, so that another walk takes little time."""
        return self._kept is not None

    @property
    def ends(self) -> NDArray[np.int64]:
        """int64 [documents], the end of each document in tokens."""
        return np.cumsum(self.tokens, dtype=np.int64)

    def first_work(self) -> Work[UsesByDocument]:
        """Encodes all documents; once, before anything else."""
        from tokstudio.core.kernels import parts as kernel

        size = len(self.feeds)
        rows, uses = np.zeros((size, kernel.COLUMNS), np.int32), np.zeros(size, np.int64)
        narrow, kept = (np.uint16 if size <= 1 << 16 else np.uint32), 0
        document = 0

        def take(marked: Ids) -> None:
            nonlocal document, kept
            out = np.empty(len(marked), np.uint32)
            arguments = rows, uses, self.tokens, out
            written, document = kernel.take_documents(marked, MARK, document, *arguments)
            kept += written * narrow().itemsize
            if kept > self._most_kept:
                self._kept = None
            if self._kept is not None and written:
                _append(self._kept, out[:written], narrow)

        yield from self._encode_work(self.corpus.sources, take)
        uses += rows[:, kernel.NOW]
        is_more = rows[:, kernel.NOW] > rows[:, kernel.TOP]
        rows[is_more, kernel.TOP_PART] = rows[is_more, kernel.LAST]
        top_uses = np.maximum(rows[:, kernel.NOW], rows[:, kernel.TOP])
        if isinstance(self.tokenizer, CharacterTokenizer):
            # Most code points are in no text.
            size = int(np.flatnonzero(uses).max(initial=-1)) + 1
            self.feeds, uses, rows, top_uses = self.feeds[:size], uses[:size], rows[:size], top_uses[:size]
        as_long = rows.astype(np.int64)
        return UsesByDocument(
            uses, as_long[:, kernel.RANGE], as_long[:, kernel.TOP_PART] - 1, top_uses.astype(np.int64)
        )

    def reaching(self, targets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first document that ends at each of some tokens or later, and its end; int64, ascending."""
        documents, ends = np.zeros(len(targets), np.int64), np.zeros(len(targets), np.int64)
        at = before = 0
        for first in range(0, len(self.tokens), _PIECE):
            behind = np.cumsum(self.tokens[first : first + _PIECE], dtype=np.int64) + before
            before = int(behind[-1])
            here = slice(at, int(np.searchsorted(targets, before, side="right")))
            within = np.searchsorted(behind, targets[here])
            documents[here], ends[here], at = within + first, behind[within], here.stop
        return documents, ends

    def walk_work(self, take: Callable[[Ids], None], phase: str = _PHASE) -> Work[None]:
        """Gives `take` all tokens in order, in parts of about a million."""
        size = len(self.feeds)

        def take_marked(marked: Ids) -> None:
            ids = marked[marked < size]
            for at in range(0, len(ids), _PIECE):
                take(ids[at : at + _PIECE])

        if self._kept is None:
            yield from self._encode_work(self.corpus.sources, take_marked)
            return
        done, total = 0, int(self.tokens.sum(dtype=np.int64))
        for part in self._kept:
            for at in range(0, len(part), _PIECE):
                ids = part[at : at + _PIECE].astype(np.uint32)
                take(ids)
                done += len(ids)
                yield Progress(phase, done, total)

    def sizes_work(self) -> Work[NDArray[np.int64]]:
        """int64 [documents], the bytes of the tokens of each; found once."""
        if self._sizes is None:
            self._sizes = yield from self.sums_work(token_lengths(self.tokenizer, len(self.feeds)), self.ends)
        return self._sizes

    def line_feeds_work(self) -> Work[NDArray[np.int64]]:
        """int64 [documents], the line feeds in the tokens of each."""
        return (yield from self.sums_work(self.feeds.astype(np.int64), self.ends))

    def sums_work(self, weights: NDArray[np.int64], ends: NDArray[np.int64]) -> Work[NDArray[np.int64]]:
        """int64 [parts], the weights of the tokens of each part, by id: int64 [ids]; `ends` in tokens, ascending."""
        sums, at = np.zeros(len(ends), np.int64), 0

        def take(ids: Ids) -> None:
            nonlocal at
            first, last = np.searchsorted(ends, [at, at + len(ids) - 1], side="right").tolist()
            behind = np.concatenate([np.zeros(1, np.int64), np.cumsum(weights[ids])])
            borders = np.concatenate([[0], ends[first:last] - at, [len(ids)]])
            sums[first : last + 1] += np.diff(behind[borders])
            at += len(ids)

        yield from self.walk_work(take, "counting uses")
        return sums

    def counts_work(self) -> Work[dict[int, NDArray[np.int64]]]:
        """The uses of all tokens by the number of an entry of the corpus, int64 [ids] each; see `entries`."""
        numbers = [number for _, number in entries(self.corpus.sources)]
        counts = {number: np.zeros(len(self.feeds), np.int64) for number in numbers}
        documents = np.cumsum([source.documents for source in self.corpus.sources], dtype=np.int64)
        of_sources = np.split(self.tokens, documents[:-1])
        ends, at = np.cumsum([int(tokens.sum(dtype=np.int64)) for tokens in of_sources], dtype=np.int64), 0

        def take(ids: Ids) -> None:
            nonlocal at
            first, last = map(int, np.searchsorted(ends, [at, at + len(ids) - 1], side="right"))
            for number, part in zip(numbers[first : last + 1], np.split(ids, ends[first:last] - at), strict=True):
                counts[number] += np.bincount(part, minlength=len(self.feeds))
            at += len(ids)

        yield from self.walk_work(take, "counting uses")
        return counts

    def line_starts_work(self, document: int, targets: NDArray[np.int64]) -> Work[NDArray[np.int64]]:
        """How many tokens of a document begin before a line that begins with at least so many; else all of them."""
        source, start, stop = self.place_of(document)
        starts, feeds, at = list["NDArray[np.int64]"](), 0, 0

        def take(ids: Ids) -> None:
            nonlocal feeds, at
            of_each = self.feeds[ids]
            # The next token begins after a line feed.
            starts.append(np.flatnonzero(of_each) + at + 1)
            feeds, at = feeds + int(of_each.sum(dtype=np.int64)), at + len(ids)

        yield from self._document_work(document, take)
        for first in range(start, stop, _PIECE):
            feeds -= int(np.count_nonzero(source.data[first : min(stop, first + _PIECE)] == ord("\n")))
            yield Progress(_PHASE)
        if feeds:
            # Not each line feed is in one token.
            data = np.array(source.data[start:stop])
            _, lines, _ = yield from self.encoder.lines_work(data, np.array([len(data)], np.int64))
            starts = [np.flatnonzero(np.diff(lines) > 0) + 1]
        tokens = int(self.tokens[document])
        borders = np.append(np.minimum(np.concatenate(starts), tokens), tokens)
        return borders[np.searchsorted(borders, targets)]

    def place_of(self, document: int) -> tuple[Source, int, int]:
        """The source of a document, from 0 over all sources, and where it begins and ends there."""
        for source in self.corpus.sources:
            if document < source.documents:
                return source, int(source.ends[document - 1]) if document else 0, int(source.ends[document])
            document -= source.documents
        raise IndexError(document)

    def _document_work(self, document: int, take: Callable[[Ids], None]) -> Work[None]:
        """Gives `take` the tokens of a document in parts, at least one."""
        if self._kept is None:
            source, start, stop = self.place_of(document)
            alone = replace(source, data=source.data[start:stop], ends=np.array([stop - start], np.int64), places=None)
            yield from self._encode_work([alone], lambda marked: take(marked[marked < len(self.feeds)]))
            return
        start = int(self.tokens[:document].sum(dtype=np.int64))
        stop, at = start + int(self.tokens[document]), 0
        take(np.empty(0, np.uint32))
        for kept in self._kept:
            here = kept[max(0, start - at) : max(0, stop - at)]
            for first in range(0, len(here), _PIECE):
                take(here[first : first + _PIECE].astype(np.uint32))
                yield Progress(_PHASE)
            at += len(kept)

    def _encode_work(self, sources: Sequence[Source], take: Callable[[Ids], None]) -> Work[None]:
        works = ((len(source.data), self.encoder.take_work(source, take)) for source in sources)
        yield from together(_PHASE, works)


def _append(blocks: list[NDArray[Any]], ids: Ids, narrow: type[np.uint16 | np.uint32]) -> None:
    """Adds ids at the end of blocks, of which the last may have room."""
    if not blocks or len(blocks[-1]) + len(ids) > _BLOCK:
        blocks.append(np.empty(max(_BLOCK, len(ids)), narrow)[:0])
    used, whole = len(blocks[-1]), blocks[-1].base
    assert whole is not None
    blocks[-1] = whole[: used + len(ids)]
    blocks[-1][used:] = ids


def feeds_of_tokens(tokenizer: AnyTokenizer) -> NDArray[np.int32]:
    """int32 [ids], the line feeds in each token; 0 for an id that is not in use."""
    if isinstance(tokenizer, CharacterTokenizer):
        feeds = np.zeros(_CODE_POINTS, np.int32)
        feeds[ord("\n")] = 1
        return feeds
    if isinstance(tokenizer, (ByteTokenizer, WordTokenizer)):
        return np.array([token.count(b"\n") for token in tokenizer.tokens], np.int32)
    assert isinstance(tokenizer, Tokenizer)
    lengths, feeds = tokenizer.tokens.lengths(), np.zeros(len(tokenizer.tokens), np.int32)
    order = np.argsort(lengths, kind="stable")
    for token in order[lengths[order] > 0].tolist():
        parts = tokenizer.parts(token) if lengths[token] > _LONG else None
        if parts is None:
            feeds[token] = tokenizer.bytes_of(token).count(b"\n")
        else:
            # The parts are shorter. Of Picky BPE they may be no tokens any more.
            feeds[token] = sum(
                int(feeds[part]) if tokenizer.tokens.in_use(part) else tokenizer.bytes_of(part).count(b"\n")
                for part in parts
            )
    return feeds


def token_lengths(tokenizer: AnyTokenizer, size: int) -> NDArray[np.int64]:
    """int64 [size], the bytes of each token by id; 0 for an id that is not in use."""
    if isinstance(tokenizer, CharacterTokenizer):
        return 1 + np.searchsorted([0x80, 0x800, 0x10000], np.arange(size), side="right")
    if isinstance(tokenizer, (ByteTokenizer, WordTokenizer)):
        return np.array(list(map(len, tokenizer.tokens)), np.int64)
    assert isinstance(tokenizer, Tokenizer)
    return np.maximum(np.array(tokenizer.tokens.lengths(), np.int64), 0)
