"""One source of a corpus: its documents as bytes, with their file and encoding."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.readers.files import Budget, TextStore
from tokstudio.core.hub.kept_texts import TextOrigin
from tokstudio.core.text.utf8 import Text, all_to_utf8, is_utf8

if TYPE_CHECKING:
    from numpy.typing import NDArray

DOCUMENTS = ("file", "line")

# Small, so that no numpy call on a piece holds the interpreter for more than a few milliseconds.
_PIECE = 1 << 18
_TEXTS, _MOST_TEXTS = 1 << 7, 1 << 12  # texts that are converted together, at first and at most
_HELD = 1 << 22  # bytes of texts that are put into the store together
JOINED = 1 << 22  # characters of texts that are encoded together, for whose places there are arrays


def check_documents(documents: str) -> None:
    """Raises ConfigError unless `documents` is one of `DOCUMENTS`."""
    if documents not in DOCUMENTS:
        raise ConfigError(f'Documents must be "file" or "line", not "{documents}".')


def _joined(texts: list[Text]) -> tuple[bytes, NDArray[np.int64], bool]:
    """The UTF-8 of texts one after another, see `to_utf8`; int64 [texts], the bytes of each; whether all are valid."""
    joined = ""
    try:
        joined = "".join(cast("list[str]", texts))
        raw = joined.encode() if len(joined) <= JOINED else None
    except (TypeError, UnicodeEncodeError):  # bytes, or a surrogate
        raw = None
    if raw is None:
        raws = all_to_utf8(texts)
        is_valid = bool(joined) or all(map(is_utf8, raws))  # bytes are not joined
        return b"".join(raws), np.fromiter(map(len, raws), np.int64, len(raws)), is_valid
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    if len(raw) == len(joined):
        return raw, lengths, True
    starts = np.flatnonzero((np.frombuffer(raw + b"\0", np.uint8) & 0xC0) != 0x80)
    return raw, np.diff(starts[np.cumsum(lengths)], prepend=0), True


def document_ends(data: NDArray[np.uint8], documents: str) -> Work[NDArray[np.int64]]:
    r"""The ends of the documents in `data`: its own end ("file"), or the position after every line feed ("line").

    A line includes its line feed: the ends of `b"ab\nc"` are 3 and 4.
    """
    check_documents(documents)
    if documents == "file":
        return np.array([len(data)], dtype=np.int64)
    # Counted first, so that millions of ends are not copied.
    total = int(len(data) > 0 and data[-1] != ord("\n"))
    for start in range(0, len(data), _PIECE):
        total += int(np.count_nonzero(data[start : start + _PIECE] == ord("\n")))
        yield Progress("splitting", start // 2, len(data))
    ends, filled = np.full(total, len(data), dtype=np.int64), 0
    for start in range(0, len(data), _PIECE):
        here = np.flatnonzero(data[start : start + _PIECE] == ord("\n"))
        ends[filled : filled + len(here)] = here + (start + 1)
        filled += len(here)
        yield Progress("splitting", (len(data) + start) // 2, len(data))
    return ends


class Named(Protocol):
    """A source of a corpus or of a project; each property is as of `Source`."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def group(self) -> str: ...  # noqa: D102
    @property
    def reading(self) -> Reading | None: ...  # noqa: D102
    @property
    def value(self) -> str | None: ...  # noqa: D102


def joined_value(source: Named) -> str | None:
    """The value by which a source is one entry with the parts of other data sets; None where it is not joined."""
    return source.value if source.reading is not None and source.reading.join_values else None


class EntryNumbers:
    """Numbers the entries of a corpus from 0, source by source; see `entries`."""

    def __init__(self) -> None:
        self._before: Named | None = None
        self._number, self._last = 0, -1
        self._of_value: dict[str, int] = {}

    def number(self, source: Named) -> int:
        """The number of the entry of the next source."""
        before, self._before = self._before, source
        value, new = joined_value(source), self._last + 1
        if value is not None:
            self._number = self._of_value.setdefault(value, new)
        elif before is None or not source.group or source.group != before.group or joined_value(before) is not None:
            self._number = new
        self._last = max(self._last, self._number)
        return self._number


def entries(sources: Sequence[Named]) -> list[tuple[str, int]]:
    """The entry of each source: its name and number, from 0.

    The parts of data sets that are joined by the value of a column are one entry, named like the value. Neighbours of
    one group are one, named like the group; any other source is an entry of its own.
    """
    numbers = EntryNumbers()
    return [(entry_name(source), numbers.number(source)) for source in sources]


def by_entry(sources: Sequence[Source]) -> list[tuple[str, tuple[Source, ...]]]:
    """The name and the sources of each entry."""
    entries_by_name: dict[int, tuple[str, list[Source]]] = {}
    for source, (name, number) in zip(sources, entries(sources), strict=True):
        entries_by_name.setdefault(number, (name, []))[1].append(source)
    return [(name, tuple(each)) for name, each in entries_by_name.values()]


def entry_name(source: Named) -> str:
    """The name of the entry of a source: its own, or the value or the folder or archive that joins it with others."""
    if (value := joined_value(source)) is not None:
        return value or "(empty)"
    if not source.group or source.group.endswith(f"/{source.name}"):
        return source.name
    return PurePath(source.group).name or source.group


class TextNumbers:
    """Numbers the texts of a corpus from 0, source by source; neighbours that are parts of a divided text have one."""

    def __init__(self) -> None:
        self._whole: object = None
        self._parts = set[object]()
        self._number = -1

    def number(self, source: Source) -> int:
        """The number of the text of the next source."""
        # The sources of a table of counts are parts of one order.
        member = source.member if source.counts is None else ""
        whole = None if source.places is None else (source.path, member, source.modified, source.size_on_disk)
        part = source.value, source.member, source.name
        if whole is None or whole != self._whole or part in self._parts:
            self._number, self._whole, self._parts = self._number + 1, whole, set[object]()
        self._parts.add(part)
        return self._number


def texts_of(sources: Sequence[Source]) -> list[list[int]]:
    """The indices of the sources of each text: of several if it is divided, whose `places` give the order."""
    numbers, sources_of = TextNumbers(), dict[int, list[int]]()
    for index, source in enumerate(sources):
        sources_of.setdefault(numbers.number(source), []).append(index)
    return list(sources_of.values())


def in_text_order(sources: Sequence[Source]) -> Iterator[tuple[int, int, int]]:
    """Yields the index of a source and two numbers of documents in it, from the first to before the last.

    Together these stretches are all documents in the order of the text, which no division into sources changes.
    """
    for text in texts_of(sources):
        if len(text) == 1:
            yield text[0], 0, sources[text[0]].documents
            continue
        amounts = [sources[part].documents for part in text]
        places = [places for part in text if (places := sources[part].places) is not None]
        order = np.argsort(np.concatenate(places), kind="stable")
        owners = np.repeat(text, amounts)[order]
        numbers = np.concatenate([np.arange(amount) for amount in amounts])[order]
        borders = np.flatnonzero(np.diff(owners, prepend=-1, append=-1))
        for first, last in pairwise(borders.tolist()):
            yield int(owners[first]), int(numbers[first]), int(numbers[last - 1]) + 1


def mixture_of(
    sources: Sequence[Named], sizes: Iterable[int], weights: Sequence[int] | None
) -> tuple[tuple[str, int, int], ...]:
    """The name, the weight in thousandths and the bytes of text of each entry; none where all count once."""
    size_and_weight: dict[tuple[str, int], tuple[int, int]] = {}
    for entry, size, weight in zip(entries(sources), sizes, weights, strict=True) if weights else ():
        size_and_weight[entry] = weight, size_and_weight.get(entry, (weight, 0))[1] + size
    return tuple((name, weight, size) for (name, _), (weight, size) in size_and_weight.items())


def groups(ends: NDArray[np.int64], size: int, most: int = 1 << 40) -> Iterator[tuple[int, int, int, int]]:
    """Groups documents with the given ends: at most `size` bytes and `most` documents, or one longer document.

    Yields:
        The first document and the one after the last; the first byte and the one after the last.
    """
    first = start = 0
    while first < len(ends):
        last = max(first + 1, int(np.searchsorted(ends[: first + most], start + size, side="right")))
        stop = int(ends[last - 1])
        yield first, last, start, stop
        first, start = last, stop


@dataclass(frozen=True)
class CountedWith:
    """The settings that words were counted with: other settings would give other words."""

    pattern: str
    special_tokens: tuple[str, ...] = ()
    documents: str = "file"  # what a document was: "file" or "line"


@dataclass(frozen=True, eq=False)
class Source:
    """One source of text: a file, a sample or pasted text."""

    name: str  # the file's name, "Pasted text", or the title of a sample
    path: Path | None  # the file; None for pasted text and samples
    encoding: str  # the encoding it was read in, such as "utf-8" or "windows-1252"; "bytes" where nothing was decoded
    note: str  # a short remark for the user, such as "byte order mark dropped"; mostly empty
    # All documents, one after another, without separators; UTF-8 where the text could be decoded. Read-only. For a file
    # that is large for the memory, a `FileText`, which supports slices like an array.
    data: NDArray[np.uint8]
    ends: NDArray[np.int64]  # the end of each document in `data`, ascending. Read-only.
    modified: float | None = None  # the file's modification time when it was read, in seconds since the epoch
    size_on_disk: int | None = None  # the file's size when it was read
    # For word counts: int64, how often each document, a pre-token, occurs; none is empty. Otherwise None, and each
    # document occurs once. Read-only.
    counts: NDArray[np.int64] | None = None
    # int64, the place of each document's first byte in the text that this source is a part of, for a part of a divided
    # file; for word counts, where each word occurs first. None where the documents follow one another. Read-only.
    places: NDArray[np.int64] | None = None
    counted_with: CountedWith | None = None  # for words that were counted in a text with a pattern
    # The path of the folder or archive of more than 64 texts that it was opened with: these are one entry of a mixture.
    # "" for other sources.
    group: str = ""
    # How it was read, with the chosen column of a data set; None for plain text that is read whole.
    reading: Reading | None = None
    # Of an archive, or of a folder with several data sets, at `path`; of a table of counted words, the number of the
    # source in it. "" where there is none.
    member: str = ""
    value: str | None = None  # of the column that divides a data set; None where none does
    is_rows: bool = False  # whether documents are the rows of a data set, which lines do not divide
    kind: str = ""  # of a data set, such as "Parquet" or "JSON Lines, zstd"
    # Integers [runs, 4], where rows of a data set or lines of a text were left out: a run of documents that follow one
    # another in their file begins with this document, at this byte, is this row or line (from 1), and its file has this
    # place in `shards`. None where none was left out, and all are of one file. Read-only.
    rows: NDArray[np.int32] | NDArray[np.int64] | None = None
    shards: tuple[str, ...] = ()  # the names of the files of a data set, where there are several
    # int64 [n, 3], where lines were left out of documents: in this document, before this byte, so many. None where none
    # were. Read-only.
    cuts: NDArray[np.int64] | None = None
    origin: TextOrigin | None = None  # where a text is from that was fetched by its address

    def __post_init__(self) -> None:
        for numbers in (self.data, self.ends, self.counts, self.places, self.rows, self.cuts):
            if isinstance(numbers, np.ndarray):
                numbers.setflags(write=False)

    @classmethod
    def from_texts(cls, texts: Iterable[Text], name: str = "Pasted text", budget: Budget | None = None) -> Source:
        """Makes a source of given texts, each a document; CorpusError where they do not even fit on the disk.

        The memory is that of `budget`, or all that is free.
        """
        store, held, sizes, is_text = (
            TextStore(name, budget or Budget()),
            list[bytes](),
            list["NDArray[np.int64]"](),
            True,
        )
        each, number, size = iter([texts] if isinstance(texts, (str, bytes)) else texts), _TEXTS, 0
        while some := list(islice(each, number)):
            raw, of_each, is_valid = _joined(some)
            is_text = is_text and is_valid
            held.append(raw)
            sizes.append(of_each)
            size += len(raw)
            # Long texts are held a few at a time, and millions of short ones need few steps.
            number = min(2 * number, _MOST_TEXTS) if 4 * len(raw) < _HELD else max(1, number // 2)
            if size >= _HELD:
                store.add(np.frombuffer(b"".join(held), np.uint8))
                held, size = list[bytes](), 0
        store.add(np.frombuffer(b"".join(held), np.uint8))
        whole = finish(store.finish_work())
        ends = np.cumsum(np.concatenate([np.zeros(0, np.int64), *sizes]))
        return cls(name, None, "utf-8" if is_text else "bytes", "", whole, ends)

    @cached_property
    def bytes(self) -> int:
        """Bytes of text; for word counts, bytes of the text that was counted."""
        if self.counts is None:
            return len(self.data)
        return int((np.diff(self.ends, prepend=0) * self.counts).sum())

    @property
    def documents(self) -> int:
        """The number of documents."""
        return len(self.ends)

    def places_at(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of bytes of `data`, int64: in the text that this source is a part of, else in its own."""
        if self.places is None:
            return offsets
        document = np.minimum(np.searchsorted(self.ends, offsets, side="right"), self.documents - 1)
        return self.places[document] + offsets - np.where(document > 0, self.ends[document - 1], 0)

    def split_work(self, documents: str) -> Work[Source]:
        """Divides the same text into one document ("file") or one per line ("line").

        Word counts and the rows of data sets stay as they are.
        """
        if self.counts is not None or self.is_rows:
            return self
        return replace(self, ends=(yield from document_ends(self.data, documents)))

    def changed_on_disk(self) -> bool:
        """Whether the file has changed or disappeared since it was read; False where there is no file."""
        if self.path is None:
            return False
        try:
            status = self.path.stat()
        except OSError:
            return True
        return (status.st_mtime, status.st_size) != (self.modified, self.size_on_disk)

    def gone_from_disk(self) -> bool:
        """Whether the file no longer exists; False where this cannot be known."""
        try:
            return self.path is not None and not self.path.exists()
        except OSError:
            return False


class WithSources(Protocol):
    """What has sources: a corpus."""

    @property
    def sources(self) -> tuple[Source, ...]: ...  # noqa: D102


# --- Says where in its file a byte of a corpus is, and where a character occurs first, for an error message -----------

_LOCATED_PIECE = 1 << 20


def first_occurrence_work(sources: Iterable[Source], character: str) -> Work[str | None]:
    """The first occurrence of a character in valid UTF-8, such as "book.txt, line 12, character 7"; None for none.

    Of a data set, the row is named instead of the line, and of several documents without a file the document; word
    counts are skipped.
    """
    wanted = character.encode()
    for source in sources:
        if source.counts is not None:
            continue
        for start in range(0, len(source.data), _LOCATED_PIECE):
            # The UTF-8 of a character never occurs within another's; it may reach over the end of a piece.
            at = source.data[start : start + _LOCATED_PIECE + len(wanted) - 1].tobytes().find(wanted)
            yield Progress("reading", start, len(source.data))
            if at >= 0:
                return (yield from _position_work(source, start + at))
    return None


def row_of(source: Source, document: int) -> tuple[str, int]:
    """The file of a data set, or its source, and the row in it, from 1, that a document of the source is.

    By its number, as an empty document has no byte of its own.
    """
    if source.rows is None:
        return source.name, document + 1
    run = source.rows[np.searchsorted(source.rows[:, 0], document, side="right") - 1]
    return source.shards[int(run[3])] if source.shards else source.name, int(run[2]) + document - int(run[0])


def document_numbers(source: Source, first: int = 0, last: int | None = None) -> NDArray[np.int64]:
    """int64, the row or line of its file that each document is, from 0; of a text without a file, its own.

    Filters, a division by a column and what was left out do not change it. Of all documents, or of those from `first`
    to before `last`.
    """
    numbers = np.arange(first, source.documents if last is None else last, dtype=np.int64)
    if source.rows is not None:
        runs = _runs_of(source.rows, numbers)
        numbers += source.rows[runs, 2].astype(np.int64) - 1 - source.rows[runs, 0]
    return numbers


def document_shards(source: Source, first: int = 0, last: int | None = None) -> NDArray[np.int64]:
    """int64, the number of the file of each document among `shards`; of those that `document_numbers` gives."""
    last = source.documents if last is None else last
    if source.rows is None:
        return np.zeros(last - first, np.int64)
    return source.rows[_runs_of(source.rows, np.arange(first, last)), 3].astype(np.int64)


def _runs_of(rows: NDArray[np.int32] | NDArray[np.int64], documents: NDArray[np.int64]) -> NDArray[np.intp]:
    """The run that each of some documents is in; see `Source.rows`."""
    return np.searchsorted(rows[:, 0], documents, side="right") - 1


def document_place(source: Source, document: int) -> str:
    """Where a document is, such as "a.jsonl, row 12" or "book.txt"; "" for the only one of a text without a file."""
    file, row = row_of(source, document)
    if source.is_rows:
        return f"{file}, row {row:,}"
    if source.documents == 1:
        return source.name if source.path is not None else ""
    # A document among others is a line of its file.
    unit = "document" if source.path is None else "line"
    return f"{source.name}, {unit} {row:,}"


def file_lines(
    source: Source, documents: NDArray[np.int64], starts: NDArray[np.int64], lines: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The numbers of lines in their documents as they are in the file, from 0, int64.

    `documents` are the numbers in the source of the documents that they are in, `starts` their first bytes there, and
    `lines` their numbers without the lines that were left out before.
    """
    if source.cuts is None:
        return lines
    summed = np.concatenate([np.zeros(1, np.int64), np.cumsum(source.cuts[:, 2])])
    before = np.searchsorted(source.cuts[:, 0], documents)
    # What was left out before this byte, in this document and in those before it.
    until = np.searchsorted(source.cuts[:, 1], starts, side="right")
    return lines + summed[np.maximum(until, before)] - summed[before]


def known_line(source: Source, position: int) -> tuple[int, int]:
    """The last byte up to a position of which the line in the file is known, and that line, from 1."""
    if source.rows is None:
        return 0, 1
    run = source.rows[np.searchsorted(source.rows[:, 1], position, side="right") - 1]
    return int(run[1]), int(run[2])


def rows_of_parts_work(source: Source, parts: Iterable[tuple[int, Source]]) -> Work[NDArray[np.int64]]:
    """`Source.rows` of parts of a source, of which each begins at a byte of it, one after another."""
    runs: list[tuple[int, int, int, int]] = []
    documents = size = 0
    for start, part in parts:
        first, row, shard = _run_at(source, start)
        if not source.is_rows:
            at, row = known_line(source, start)
            for here in range(at, start, _LOCATED_PIECE):
                row += int(np.count_nonzero(source.data[here : min(start, here + _LOCATED_PIECE)] == ord("\n")))
                yield Progress("reading")
            # The lines that were left out just here belong to the part.
            row += _cut_lines(source, at, start - 1)
        runs.append((documents, size, row, shard))
        if source.rows is not None:
            inner = source.rows[(source.rows[:, 0] > first) & (source.rows[:, 1] < start + len(part.data))]
            shift = np.array([documents - first, size - start, 0, 0])
            runs += map(tuple, (inner + shift).tolist())  # pyright: ignore[reportArgumentType]
        documents, size = documents + part.documents, size + len(part.data)
    return np.array(runs, np.int64).reshape(-1, 4)


def cuts_of_parts(source: Source, parts: Iterable[tuple[int, Source]]) -> NDArray[np.int64] | None:
    """`Source.cuts` of parts of a source, as of `rows_of_parts_work`."""
    if source.cuts is None:
        return None
    found: list[NDArray[np.int64]] = []
    documents = size = 0
    for start, part in parts:
        inner = source.cuts[(source.cuts[:, 1] >= start) & (source.cuts[:, 1] < start + len(part.data))]
        places = inner[:, 1] - start
        own = np.searchsorted(part.ends, places, side="right")
        found.append(np.stack([own + documents, places + size, inner[:, 2]], axis=1))
        documents, size = documents + part.documents, size + len(part.data)
    cuts = np.concatenate(found) if found else source.cuts[:0]
    return cuts if len(cuts) else None


def _cut_lines(source: Source, start: int, stop: int) -> int:
    """How many lines were left out before the bytes of a text from `start` to `stop`, that one included."""
    if source.cuts is None:
        return 0
    places = source.cuts[:, 1]
    return int(source.cuts[(places >= start) & (places <= stop), 2].sum())


def _run_at(source: Source, position: int) -> tuple[int, int, int]:
    """The document that a byte is in, with its row and the number of its file, as in a run of `Source.rows`."""
    document = int(np.searchsorted(source.ends, position, side="right"))
    if source.rows is None:
        return document, document + 1, 0
    run = source.rows[np.searchsorted(source.rows[:, 0], document, side="right") - 1]
    return document, int(run[2]) + document - int(run[0]), int(run[3])


def _position_work(source: Source, offset: int) -> Work[str]:
    document = int(np.searchsorted(source.ends, offset, side="right"))
    start = int(source.ends[document - 1]) if document else 0
    if (source.is_rows or source.path is None) and _cut_lines(source, start, offset):
        # Where lines were left out before it, its place in the document is not known.
        return document_place(source, document) or source.name
    if source.is_rows:
        file, row = row_of(source, document)
        column = yield from _characters_work(source, start, offset)
        return f"{file}, row {row:,}, character {column + 1:,}"
    if source.path is None and (source.documents > 1 or source.rows is not None):
        column = yield from _characters_work(source, start, offset)
        return f"{source.name}, document {row_of(source, document)[1]:,}, character {column + 1:,}"
    start, lines = known_line(source, offset)
    lines += _cut_lines(source, start, offset)
    for at in range(start, offset, _LOCATED_PIECE):
        ends = np.flatnonzero(source.data[at : min(offset, at + _LOCATED_PIECE)] == ord("\n"))
        if len(ends):
            lines, start = lines + len(ends), at + int(ends[-1]) + 1
        yield Progress("reading", at, offset)
    column = yield from _characters_work(source, start, offset)
    return f"{source.name}, line {lines:,}, character {column + 1:,}"


def _characters_work(source: Source, start: int, stop: int) -> Work[int]:
    """How many characters begin between two offsets."""
    number = 0
    for at in range(start, stop, _LOCATED_PIECE):
        number += int(np.count_nonzero((source.data[at : min(stop, at + _LOCATED_PIECE)] & 0xC0) != 0x80))
        yield Progress("reading", at, stop)
    return number
