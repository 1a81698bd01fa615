"""What a tokenizer should perhaps not learn from: what the rules of `core.corpus` find, and the tokens that live there.

To these rules comes one that needs a tokenizer, `owners`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.analysis.baselines import ByteTokenizer
from tokstudio.core.analysis.document_encoder import document_groups
from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.marks import Marked
from tokstudio.core.corpus.rules import RULES, marks_work
from tokstudio.core.corpus.source import document_place
from tokstudio.core.exploration.corpus_tokens import CorpusTokens, Ids
from tokstudio.core.exploration.dispersion import DOCUMENT_UNIT, Dispersion
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

OWNERS = "owners"
OWNED = 5  # tokens that a document may own
LIVES = 0.9  # the share of the uses of a token that lie where it lives
EXAMPLES = 3
_SHOWN = 200  # bytes of an example
_PIECE = 1 << 20  # bytes
_PHASE = "counting uses"


@dataclass(frozen=True)
class Example:
    """A document or line that a rule finds."""

    source: int  # the index of the source
    document: int  # the number of the document in it, from 0
    line: int  # the number of the line in this, from 0; -1 for the whole document
    start: int  # the first byte in the data of the source
    place: str  # such as "forum.jsonl, row 311, line 2"
    text: str  # how it begins


@dataclass(frozen=True, eq=False)
class Finding:
    """What a rule finds in a corpus."""

    rule: str  # its name in `RULES`, or "owners": documents with 90 % of the uses of more than 5 tokens, bytes apart
    documents: int  # how many it finds, or has found lines in
    lines: int  # how many it finds; 0 for a rule of documents
    bytes: int
    examples: tuple[Example, ...]  # the first, the largest and the last; where these are fewer, also one in the middle
    tokens: NDArray[np.int64]  # the ids of tokens that live there: 90 % of their uses begin there; most uses first
    marked: Marked  # the documents or lines


def findings_work(
    corpus: Corpus,
    encoded: tuple[CorpusTokens, Dispersion] | None,
    rules: Sequence[str],
    store: TokenStore,
    only: Sequence[int] | None = None,
) -> Work[tuple[Finding, ...]]:
    """What each rule finds by itself, in the order of `RULES`, without those that find nothing.

    With `only`, what they find in these sources, in which they compare with all. Without `encoded`, no tokens live
    anywhere, and there are no owners. The store keeps what a rule finds in a text, which no tokenizer changes.
    """
    marks = list[Marked]()
    for rule in rules:
        work = store.answer_work(("marks", rule), None, corpus.sources, partial(marks_work, corpus, rule))
        found = yield from work
        marks.append(found)
    if encoded is not None:
        marks.append(_owners(corpus, *encoded))
    if only is not None:
        marks = [found[np.isin(found.source, only)] for found in marks]
    marks = [found for found in marks if len(found)]
    alive: list[NDArray[np.int64]] = [np.zeros(0, np.int64)] * len(marks)
    if encoded is not None and marks:
        text, measured = encoded
        for number, uses in enumerate((yield from uses_within_work(text, marks))):
            tokens = np.flatnonzero((measured.uses > 0) & (uses >= LIVES * measured.uses))
            alive[number] = tokens[np.argsort(-measured.uses[tokens], kind="stable")]
    return tuple(_finding(corpus, found, tokens) for found, tokens in zip(marks, alive, strict=True))


def _owners(corpus: Corpus, text: CorpusTokens, measured: Dispersion) -> Marked:
    """The documents that own tokens, where documents are the units.

    Bytes and special tokens belong to nobody: they are in the vocabulary whatever the text is.
    """
    is_owned, tokenizer = measured.top_share >= LIVES, text.tokenizer
    if isinstance(tokenizer, Tokenizer):
        base: list[int] = tokenizer.alphabet.ids.tolist() if tokenizer.alphabet.base == "bytes" else []
        is_owned[[token for token in (*base, *tokenizer.special_tokens.values()) if token < len(is_owned)]] = False
    elif isinstance(tokenizer, ByteTokenizer):
        is_owned[:] = False
    owned = measured.top_part[is_owned]
    documents = np.zeros(0, np.int64)
    if measured.part_unit == DOCUMENT_UNIT:
        documents = np.flatnonzero(np.bincount(owned) > OWNED)
    borders = np.cumsum([0, *(source.documents for source in corpus.sources)])
    source = np.searchsorted(borders, documents, side="right") - 1
    spans = np.array([text.place_of(document)[1:] for document in documents.tolist()], np.int64).reshape(-1, 2)
    numbers = documents - borders[source]
    return Marked(OWNERS, source.astype(np.int32), numbers, np.full(len(documents), -1), spans[:, 0], spans[:, 1])


def _finding(corpus: Corpus, marked: Marked, tokens: NDArray[np.int64]) -> Finding:
    n, of_lines = len(marked), marked.rule in RULES and RULES[marked.rule].of_lines
    different = (np.diff(marked.source, prepend=-1) != 0) | (np.diff(marked.document, prepend=-1) != 0)
    rows = {0, int(np.argmax(marked.bytes)), n - 1}
    rows = rows if len(rows) == EXAMPLES else rows | {n // 2}
    return Finding(
        rule=marked.rule,
        documents=int(np.count_nonzero(different)),
        lines=n if of_lines else 0,
        bytes=int(marked.bytes.sum()),
        examples=tuple(_example(corpus, marked, row) for row in sorted(rows)),
        tokens=tokens,
        marked=marked,
    )


def _example(corpus: Corpus, marked: Marked, row: int) -> Example:
    index, document, line = int(marked.source[row]), int(marked.document[row]), int(marked.line[row])
    source, start, stop = corpus.sources[index], int(marked.start[row]), int(marked.stop[row])
    place = document_place(source, document) or source.name
    # A document that is a line has only one.
    if line >= 0 and (source.is_rows or source.documents == 1 or source.path is None):
        place += f", line {line + 1:,}"
    text = source.data[start : min(stop, start + _SHOWN)].tobytes().decode("utf-8", "replace")
    return Example(index, document, line, start, place, text)


# --- The uses of tokens in documents and lines ------------------------------------------------------------------------


def uses_within_work(text: CorpusTokens, marks: Sequence[Marked]) -> Work[list[NDArray[np.int64]]]:
    """How often tokens begin in marked documents and lines: for each of at most 64 marks, int64 [ids]."""
    corpus, size = text.corpus, len(text.feeds)
    counts = [np.zeros(size, np.int64) for _ in marks]
    borders = np.cumsum([0, *(source.documents for source in corpus.sources)])
    line_feeds = yield from text.line_feeds_work()
    is_plain = yield from _plain_work(corpus, line_feeds, marks, borders)
    # Lines are numbered over all documents, by the line feeds in tokens.
    first_lines = np.cumsum(line_feeds + 1) - line_feeds - 1
    bits = _bits_of(marks, borders, first_lines, line_feeds, is_plain)
    ends, at, feeds = text.ends, 0, 0

    def take(ids: Ids) -> None:
        nonlocal at, feeds
        first, last = map(int, np.searchsorted(ends, [at, at + len(ids) - 1], side="right"))
        spans = np.diff(np.append(ends[first:last] - at, len(ids)), prepend=0)
        behind = np.cumsum(text.feeds[ids], dtype=np.int64) + feeds
        here = bits[behind - text.feeds[ids] + np.repeat(np.arange(first, last + 1), spans)]
        _add(counts, ids, here)
        at, feeds = at + len(ids), int(behind[-1])

    yield from text.walk_work(take, _PHASE)
    if not is_plain.all():
        yield from _others_work(text, marks, borders, ~is_plain, counts)
    return counts


def _add(counts: list[NDArray[np.int64]], ids: Ids, bits: NDArray[np.uint64]) -> None:
    marked = np.flatnonzero(bits)
    ids, bits = ids[marked], bits[marked]
    for number, uses in enumerate(counts):
        uses += np.bincount(ids[bits & np.uint64(1 << number) != 0], minlength=len(uses))


def _plain_work(
    corpus: Corpus, line_feeds: NDArray[np.int64], marks: Sequence[Marked], borders: NDArray[np.int64]
) -> Work[NDArray[np.bool_]]:
    """Bool [documents], of which each line feed is in a token, so that these tell lines; of marked ones only."""
    is_plain = np.ones(corpus.documents, np.bool_)
    is_marked = np.zeros(corpus.documents, np.bool_)
    for marked in marks:
        is_marked[marked.document + borders[marked.source]] = True
    for index, source in enumerate(corpus.sources):
        for first, last, start, stop in document_groups(source):
            here = slice(int(borders[index]) + first, int(borders[index]) + last)
            if is_marked[here].any():
                of_each = np.zeros(last - first, np.int64)
                for at in range(start, stop, _PIECE):
                    feeds = np.flatnonzero(source.data[at : min(stop, at + _PIECE)] == ord("\n")) + at
                    documents = np.searchsorted(source.ends[first:last], feeds, side="right")
                    of_each += np.bincount(documents, minlength=last - first)
                is_plain[here] = ~is_marked[here] | (of_each == line_feeds[here])
            yield Progress(_PHASE)
    return is_plain


def _bits_of(
    marks: Sequence[Marked],
    borders: NDArray[np.int64],
    first_lines: NDArray[np.int64],
    line_feeds: NDArray[np.int64],
    chosen: NDArray[np.bool_],
) -> NDArray[np.uint64]:
    """uint64 [lines], a bit for each of the marks that a line has, in the chosen documents."""
    total = int(line_feeds.sum()) + len(line_feeds)
    bits = np.zeros(total, np.uint64)
    for number, marked in enumerate(marks):
        document = marked.document + borders[marked.source]
        here = chosen[document]
        document, line = document[here], marked.line[here]
        whole = document[line < 0]
        if len(whole):
            # The lines from the first up to the next document's: 1 where they begin, -1 behind.
            steps = np.zeros(total + 1, np.int8)
            np.add.at(steps, first_lines[whole], 1)
            np.add.at(steps, first_lines[whole] + line_feeds[whole] + 1, -1)
            bits[np.cumsum(steps[:-1]) > 0] |= np.uint64(1 << number)
        is_line = line >= 0
        lines = first_lines[document[is_line]] + line[is_line]
        bits[lines] |= np.uint64(1 << number)
    return bits


def _others_work(
    text: CorpusTokens,
    marks: Sequence[Marked],
    borders: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    counts: list[NDArray[np.int64]],
) -> Work[None]:
    """Adds the uses in documents of which the tokens do not tell the lines: they are encoded again, with places."""
    for index, source in enumerate(text.corpus.sources):
        for first, last, start, stop in document_groups(source):
            rows = int(borders[index]) + first + np.flatnonzero(chosen[borders[index] + first : borders[index] + last])
            if not len(rows):
                continue
            data = np.array(source.data[start:stop])
            begins = np.concatenate([[0], source.ends[first:last] - start])
            picked = rows - int(borders[index]) - first
            parts = [data[begins[row] : begins[row + 1]] for row in picked.tolist()]
            ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
            joined = np.concatenate(parts)
            ids, lines, tokens = yield from text.encoder.lines_work(joined, ends)
            feeds = np.diff(np.searchsorted(np.flatnonzero(joined == ord("\n")), ends), prepend=0)
            first_lines = np.cumsum(feeds) + np.arange(len(feeds)) - feeds
            # The same marks, with the chosen documents numbered from 0.
            numbers = np.full(len(chosen) + 1, -1, np.int64)
            numbers[rows] = np.arange(len(rows))
            inner = [_renumbered(marked, borders, numbers) for marked in marks]
            bits = _bits_of(inner, np.zeros(1, np.int64), first_lines, feeds, np.ones(len(rows), np.bool_))
            is_known = ids < len(text.feeds)
            _add(counts, ids[is_known], bits[lines + np.repeat(first_lines, tokens)][is_known])


def _renumbered(marked: Marked, borders: NDArray[np.int64], numbers: NDArray[np.int64]) -> Marked:
    documents = numbers[marked.document + borders[marked.source]]
    here = marked[documents >= 0]
    return Marked(
        marked.rule, np.zeros(len(here), np.int32), documents[documents >= 0], here.line, here.start, here.stop
    )
