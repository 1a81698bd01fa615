"""A search in a corpus: the hits as they are found, how many there are in each source, and where they lie.

What is looked for is found by `finders` or by `token_finder`. Counts are exact; of the hits the first million are kept.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from tokstudio.core.base.arguments import several_of, told, whole_number
from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.atomic_files import write_files
from tokstudio.core.base.errors import ConfigError, TokStudioError
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several, size_text
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.sampling import blocks_work
from tokstudio.core.corpus.source import Source, document_place
from tokstudio.core.exploration.finders import HitBatch, HitFinder, RegexTimeout, foldings
from tokstudio.core.text.utf8 import AnyPath

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_KEPT = 1_000_000
BARS = 1_000  # parts of a source that a bar code tells apart
_PHASE = "searching"
_WINDOW, _ROWS = 1 << 22, 1 << 12
_BESIDE = 1 << 8  # bytes that decide the order of hits by what is beside them

Order = Literal["place", "left", "right", "source"]


@dataclass(frozen=True)
class Hit:
    """One hit."""

    source: int  # the number of the source in the corpus, from 0
    document: int  # the number of the document in the source, from 0
    position: int  # the byte in the source's data where the hit begins
    left: str  # the text before it in its line, cut where it is long
    # The hit itself; of a token that became the unknown token, its character. A character that is only partly in a
    # token becomes U+FFFD here and beside it.
    text: str
    right: str  # the text after it in its line, cut likewise
    count: int = 1  # how often the document occurs: once, except in word counts


class Search:
    """The hits of a search, in the order of the corpus, found as `find_work` goes on.

    Word counts are searched too: each word is a document that occurs so often, and counts as often in `total`.

    Args:
        corpus: What is searched.
        finder: What is looked for.
        sources: The numbers of the sources to search; None for all.
        held_out: The share of the corpus that is not searched; documents are then the blocks of `hold_out_work`.
        width: Characters shown on each side of a hit, at most.
    """

    def __init__(
        self,
        corpus: Corpus,
        finder: HitFinder,
        *,
        sources: Iterable[int] | None = None,
        held_out: float = 0.0,
        width: int = 60,
    ) -> None:
        self.done = False  # whether the whole corpus has been searched
        self.places = 0  # how many hits there are so far; in word counts, a word that occurs often is one
        self.counts = np.zeros(len(corpus.sources), np.int64)  # how often it occurs in each source, so far
        self._corpus, self._finder, self._held_out, self._width = corpus, finder, held_out, width
        self._chosen = range(len(corpus.sources)) if sources is None else sorted(set(sources))
        self._kept = 0
        self._parts: list[tuple[NDArray[np.int64], ...]] = []
        self._bars: dict[int, NDArray[np.int64]] = {}
        self._source = self._before = self._searched = 0
        self._error: TokStudioError | None = None
        self._size = sum(len(corpus.sources[number].data) for number in self._chosen)
        self._search = self._search_work()

    @property
    def total(self) -> int:
        """How often it occurs, so far."""
        return int(self.counts.sum())

    @property
    def by_source(self) -> dict[str, int]:
        """How often it occurs in each source that was searched, by its name; of sources with one name, together."""
        counts: dict[str, int] = {}
        for number in self._chosen:
            name = self._corpus.sources[number].name
            counts[name] = counts.get(name, 0) + int(self.counts[number])
        return counts

    @property
    def is_cut(self) -> bool:
        """Whether there are more hits than are kept."""
        return self.places > self._kept

    @property
    def note(self) -> str:
        """What of the result is not there, a sentence; "" if nothing."""
        if not self.is_cut:
            return ""
        return f"There are {self.places:,} hits; the first {self._kept:,} of them are kept, and all are counted."

    def __len__(self) -> int:
        return self._kept

    def __iter__(self) -> Iterator[Hit]:
        return (self.hit(row) for row in range(self._kept))

    def per_million(self, tokens: NDArray[np.int64]) -> NDArray[np.float64]:
        """Hits per million tokens of each source, float64 [sources], from int64 [sources], its tokens; NaN for none."""
        tokens = np.asarray(tokens)
        if tokens.shape != self.counts.shape or tokens.dtype.kind not in "iuf":
            raise ConfigError(f"The tokens must be a number for each of {several(len(self.counts), 'source')}.")
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(tokens > 0, 1e6 * self.counts / tokens, np.nan)

    def bars(self, source: int) -> NDArray[np.int64]:
        """int64 [BARS], how many hits begin in each part of a source, of equal bytes, for a bar code of all hits."""
        return self._bars.get(self._checked(source), np.zeros(BARS, np.int64))

    def find_work(self, most: int | None = None) -> Work[None]:
        """Goes on until about `most` more hits are found, or the whole corpus is searched.

        Cancelled work keeps what it has found, and can be continued.

        Raises:
            ConfigError: A match of a regular expression takes too long; or a character of the corpus is not in the
                vocabulary.
            FormatError: The library that encodes for the tokenizer refuses the text.
        """
        until = None if most is None else self.places + most
        while not self.done and (until is None or self.places < until):
            if self._error is not None:
                raise self._error
            try:
                # Not `yield from`: a cancelled search can be continued.
                if next(self._search, None) is None:
                    self.done = True
            except (MemoryError, RecursionError):
                self._error = ConfigError("The regular expression needs too much memory: make it simpler.")
                raise self._error from None
            except RegexTimeout as error:
                self._error = self._too_slow(*error.args)
                raise self._error from None
            except TokStudioError as error:
                self._error = error
                raise
            yield Progress(_PHASE, self._before + self._searched, self._size)

    def so_far(self) -> Search:
        """The search as it stands, which other threads may read: it finds nothing more, and what it found stays."""
        other = copy(self)
        other.counts, other._bars = self.counts.copy(), {number: bars.copy() for number, bars in self._bars.items()}
        other._parts, other._search = [self._arrays()], _nothing()
        return other

    def continues_in(self, other: Search) -> bool:
        """Whether another is the same search, which has gone on."""
        return other._finder is self._finder and len(other) >= len(self)

    @property
    def sources(self) -> tuple[int, ...]:
        """The numbers of the sources that are searched."""
        return tuple(self._chosen)

    def span(self, row: int) -> tuple[int, int, int, int]:
        """The source and the document of a kept hit, its first byte in the source and the byte after its last."""
        if not 0 <= whole_number("The row of a hit", row) < self._kept:
            raise ConfigError(f"There is no hit {row}, counted from 0, of {self._kept:,} that are kept.")
        number, begin, end, document = (int(array[row]) for array in self._arrays())
        return number, document, begin, end

    def row_at(self, source: int, position: int) -> int:
        """The first kept hit of a source that begins at a byte or after it; -1 for none."""
        numbers, begins, *_ = self._arrays()
        first, last = _bounds(numbers, self._checked(source), source + 1)
        row = first + int(np.searchsorted(begins[first:last], whole_number("The byte", position)))
        return row if row < last else -1

    def line_numbers_work(self) -> Work[NDArray[np.int64]]:
        """The line of its file that each kept hit begins in, from 1; the row of a data set, the word of word counts."""
        numbers, begins, _, documents = self._arrays()
        found = [np.zeros(0, np.int64)]
        for number in self._chosen:
            source, here = self._corpus.sources[number], slice(*_bounds(numbers, number, number + 1))
            if here.start == here.stop:
                continue
            if source.is_rows or source.counts is not None:
                found.append(_row_numbers(source, documents[here]))
            else:
                found.append((yield from _line_numbers_work(source, begins[here])))
        return np.concatenate(found)

    def hit(self, row: int) -> Hit:
        """The hit of a row, of those that are kept."""
        return self._hit(*self.span(row))

    def hits(self, first: int = 0, last: int | None = None) -> list[Hit]:
        """The hits from row `first` to before `last`."""
        first, last = whole_number("first", first, 0), self._kept if last is None else whole_number("last", last)
        return [self.hit(row) for row in range(first, min(last, self._kept))]

    def order_work(self, by: Order) -> Work[NDArray[np.int64]]:
        """The rows of the kept hits in another order, int64 [hits]; equal ones stay in the order of the corpus.

        "left" and "right" compare the next 15 characters of the line, folded, by code points, those to the left from
        right to left; "source" compares the names of sources, and "place" is the order of the corpus.

        Raises:
            ConfigError: There is no such order.
        """
        if by not in get_args(Order):
            raise ConfigError(f"Hits are ordered by {', '.join(get_args(Order))}, not {told(by)}.")
        numbers, begins, ends, documents = self._arrays()
        rows = np.arange(self._kept)
        if by == "place":
            return rows
        if by == "source":
            names = sorted({source.name for source in self._corpus.sources})
            rank_of = {name: rank for rank, name in enumerate(names)}
            ranks = [rank_of[source.name] for source in self._corpus.sources]
            return np.argsort(np.array(ranks, np.int64).take(numbers), kind="stable")
        from tokstudio.core.kernels.find import KEYS, keys_beside

        keys = np.empty((self._kept, KEYS), np.uint64)
        at = begins if by == "left" else ends
        first = 0
        while first < self._kept:
            source = self._corpus.sources[int(numbers[first])]
            last = int(np.searchsorted(numbers, int(numbers[first]), side="right"))
            last = min(last, first + max(1, int(np.searchsorted(at[first:last], int(at[first]) + _WINDOW))))
            low, high = max(0, int(at[first]) - _BESIDE), int(at[last - 1]) + _BESIDE
            window, here = read_only(np.asarray(source.data[low:high])), slice(first, last)
            places = read_only(source.ends), at[here], documents[here]
            keys_beside(window, low, *places, by == "left", *foldings(), keys[here])
            yield Progress("sorting", last, self._kept)
            first = last
        return np.lexsort(keys.T[::-1])

    def save_csv(self, path: AnyPath, order: NDArray[np.int64] | None = None) -> Path:
        """Writes the kept hits to a CSV file with the columns source, document, place, position, left, hit and right.

        `document` is the row or line of its file, from 1, and `place` says where that is, such as "a.jsonl, row 12";
        `position` is the number of bytes before the hit in the text of the source.
        """
        return finish(self.save_csv_work(path, order))

    def save_csv_work(self, path: AnyPath, order: NDArray[np.int64] | None = None) -> Work[Path]:
        """Does the same as `save_csv` in bounded pieces."""
        rows: Sequence[int] = range(self._kept)
        if order is not None:
            rows = [whole_number("A row of the order", row) for row in several_of("The order", order)]
        if not isinstance(path, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"The name of a file is needed, not {told(path)}.")
        yield from write_files({Path(path): self._csv(rows)})
        return Path(path)

    def _checked(self, source: int) -> int:
        if not 0 <= whole_number("The number of a source", source) < len(self.counts):
            raise ConfigError(f"There is no source {source}: the corpus has {len(self.counts)}, counted from 0.")
        return source

    def _csv(self, rows: Sequence[int]) -> Iterator[bytes]:
        file = io.StringIO()
        write = csv.writer(file, lineterminator="\r\n").writerow
        write(("source", "document", "place", "position", "left", "hit", "right"))
        for first in range(0, len(rows) or 1, _ROWS):
            for row in rows[first : first + _ROWS]:
                hit = self.hit(row)
                source = self._corpus.sources[hit.source]
                place = document_place(source, hit.document)
                (document,) = _row_numbers(source, np.array([hit.document])).tolist()
                write((source.name, document, place, hit.position, hit.left, hit.text, hit.right))
            yield file.getvalue().encode("utf-8", "replace")
            file.seek(0)
            file.truncate()

    def _search_work(self) -> Work[None]:
        sources = self._corpus.sources
        blocks = [(source.ends, None) for source in sources]
        if self._held_out:
            blocks = yield from blocks_work(sources, self._held_out, self._corpus.weights)
        for number in self._chosen:
            self._source = number
            source, (ends, is_held) = sources[number], blocks[number]
            for found in self._finder.found(source, ends):
                self._searched = found.at
                if is_held is not None and len(found.begins):
                    found = _chosen(found, ~is_held[found.documents], source)
                if len(found.begins):
                    self._take(number, source, found)
                yield Progress(_PHASE)
            self._before, self._searched = self._before + len(source.data), 0

    def _take(self, number: int, source: Source, found: HitBatch) -> None:
        n = len(found.begins)
        self.places += n
        self.counts[number] += n if source.counts is None else int(source.counts[found.documents].sum())
        bars = self._bars.setdefault(number, np.zeros(BARS, np.int64))
        # A token without text may be at the end of its source.
        parts = np.minimum(found.begins * BARS // max(1, len(source.data)), BARS - 1)
        bars += np.bincount(parts, minlength=BARS)
        kept = min(n, MOST_KEPT - self._kept)
        if kept:
            arrays = (np.full(n, number, np.int64), found.begins, found.ends, found.documents)
            self._parts.append(tuple(array[:kept] for array in arrays))
            self._kept += kept

    def _arrays(self) -> tuple[NDArray[np.int64], ...]:
        """The number of the source of each kept hit, its first byte, the byte after its last, and its document."""
        if len(self._parts) != 1:
            parts = self._parts or [tuple(np.zeros(0, np.int64) for _ in range(4))]
            self._parts = [tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))]
        return self._parts[0]

    def _hit(self, number: int, document: int, begin: int, end: int) -> Hit:
        source, width = self._corpus.sources[number], self._width
        start, stop = int(source.ends[document - 1]) if document else 0, int(source.ends[document])
        before = max(start, begin - 4 * width)
        left = source.data[before:begin].tobytes()
        # A character that begins farther left is left out.
        left = left[_continued(left) if before > start else 0 :].rpartition(b"\n")[2]
        behind = min(stop, end + 4 * width)
        right, feed, _ = source.data[end:behind].tobytes().partition(b"\n")
        rest = _continued(right)
        shown = codecs.utf_8_decode(right[rest:], "replace", bool(feed) or behind == stop)[0]
        return Hit(
            source=number,
            document=document,
            position=begin,
            left=left.decode("utf-8", "replace")[-width:] if width else "",
            text=source.data[begin:end].tobytes().decode("utf-8", "replace"),
            right=("\ufffd" * (rest > 0) + shown.removesuffix("\r"))[:width],
            count=1 if source.counts is None else int(source.counts[document]),
        )

    def _too_slow(self, document: int, seconds: float) -> ConfigError:
        source = self._corpus.sources[self._source]
        place = document_place(source, document) or source.name
        done, size = size_text(self._before + self._searched), size_text(self._size)
        return ConfigError(
            f"A match of the regular expression takes more than {seconds:.2g} seconds in {place}. So far {done} of "
            f"{size} were searched, with {several(self.places, 'hit')}. Use a simpler one: nested repeats can take "
            "forever.",
            field="regex",
        )


def _bounds(values: NDArray[np.int64], low: int, high: int) -> tuple[int, int]:
    """Where values from `low` to before `high` are in ascending ones."""
    return int(np.searchsorted(values, low)), int(np.searchsorted(values, high))


def _nothing() -> Work[None]:
    yield from ()


def _row_numbers(source: Source, documents: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows or lines of documents in their files, from 1."""
    if source.rows is None:
        return documents + 1
    run = source.rows[np.searchsorted(source.rows[:, 0], documents, side="right") - 1]
    return run[:, 2] + documents - run[:, 0]


def _line_numbers_work(source: Source, begins: NDArray[np.int64]) -> Work[NDArray[np.int64]]:
    """The lines in its file of bytes of a text, ascending, from 1; lines that were left out count."""
    runs = np.zeros((1, 4), np.int64) if source.rows is None else source.rows
    lines, feeds = np.zeros(len(begins), np.int64), 0
    marks = runs[:, 1].astype(np.int64)  # where runs begin
    before = np.zeros(len(marks), np.int64)
    for start in range(0, int(begins[-1]) + 1, _WINDOW):
        here = np.flatnonzero(source.data[start : start + _WINDOW] == ord("\n")) + start
        for places, numbers in ((begins, lines), (marks, before)):
            first, last = _bounds(places, start, start + _WINDOW)
            numbers[first:last] = feeds + np.searchsorted(here, places[first:last])
        feeds += len(here)
        yield Progress(_PHASE, start, int(begins[-1]))
    run = np.searchsorted(marks, begins, side="right") - 1
    return lines - before[run] + (1 if source.rows is None else runs[run, 2])


def _chosen(found: HitBatch, chosen: NDArray[np.bool_], source: Source) -> HitBatch:
    """Some of the hits, in the documents of the source instead of blocks."""
    begins = found.begins[chosen]
    documents = np.searchsorted(source.ends[:-1], begins, side="right")
    return HitBatch(found.at, begins, found.ends[chosen], documents)


def _continued(raw: bytes) -> int:
    """How many of the first bytes continue a character."""
    rest = 0
    while rest < min(3, len(raw)) and raw[rest] & 0xC0 == 0x80:
        rest += 1
    return rest
