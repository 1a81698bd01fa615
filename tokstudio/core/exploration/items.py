"""A corpus as a row of items, pre-tokens or tokens, with its documents and pieces; and counting runs of items in it.

The row takes four bytes an item: in memory up to 256 MB, else in a temporary file. Runs are counted in parts by a hash,
one part in each thread at a time, whose tables take at most 256 MB each.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.analysis.baselines import AnyTokenizer
from tokstudio.core.analysis.document_encoder import document_parts
from tokstudio.core.base.arrays import power_of_two, read_only
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.machine import in_threads
from tokstudio.core.base.private_folders import TemporaryFolder
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.exploration.corpus_tokens import CorpusTokens, Ids
from tokstudio.core.exploration.dispersion import DOCUMENT_UNIT, LEAST_DOCUMENTS, PIECE_UNIT, PIECES, Dispersion
from tokstudio.core.pretokenization.patterns import NONE, Splitter, splitter, word_ends
from tokstudio.core.pretokenization.preparation import Preparation, prepare_work
from tokstudio.core.pretokenization.special_tokens import Pieces, SpecialFinders, documents_of
from tokstudio.core.pretokenization.word_table import PADDING, WordTable
from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_IN_MEMORY = 1 << 26  # items
LARGEST_TABLE = 1 << 22  # rows of 64 bytes
OWN_PATTERN = "o200k"  # where there is no tokenizer that splits text here; it keeps marks with their letters
_AT_ONCE = 1 << 21  # items counted by one call
_LOOKED_AT, _GROUP = 1 << 16, 1 << 20
_MOST_THREADS = 4
_PHASE = "counting words"


@dataclass(frozen=True, eq=False)
class Items:
    """All items of a corpus in their order."""

    items: NDArray[np.int32]  # [items], numbers of pre-tokens or ids of tokens
    document_ends: NDArray[np.int64]  # [documents], the end of each document in items
    # [pieces], the end of each piece: about 100 runs of whole documents, or of lines where one is longer, with equal
    # numbers of items
    piece_ends: NDArray[np.int64]
    pattern: str  # that splits the pre-tokens; "" for tokens
    words: WordTable | None  # the pre-tokens by number; None for tokens
    spelling: Callable[[int], bytes]  # of an item
    owner: object = None  # of a temporary file

    @property
    def part_unit(self) -> str:
        """What range counts: "documents" where 20 or more have items, otherwise "pieces"."""
        return unit_of(int(np.count_nonzero(np.diff(self.document_ends, prepend=0))))


def unit_of(filled: int) -> str:
    """The units of range, where so many documents have items."""
    return DOCUMENT_UNIT if filled >= LEAST_DOCUMENTS else PIECE_UNIT


class _Row:
    """Items that are added, in memory or in a file."""

    def __init__(self) -> None:
        self._parts: list[NDArray[np.int32]] = []
        self._folder: TemporaryFolder | None = None
        self.size = self._held = 0

    def add(self, items: NDArray[np.int32]) -> None:
        self._parts.append(items.astype(np.int32))
        self.size, self._held = self.size + len(items), self._held + len(items)
        if self._held > MOST_IN_MEMORY:
            self._write()

    def _write(self) -> None:
        self._folder = self._folder or TemporaryFolder()
        with (self._folder.path / "items").open("ab") as file:
            for part in self._parts:
                part.tofile(file)
        self._parts, self._held = [], 0

    def made(self) -> tuple[NDArray[np.int32], object]:
        """All items, and what must live as long as they do."""
        if self._folder is None:
            return read_only(np.concatenate([np.empty(0, np.int32), *self._parts])), None
        self._write()
        mapped = np.memmap(self._folder.path / "items", np.int32, "r", shape=(self.size,))
        return read_only(np.asarray(mapped).view(np.ndarray)), (self._folder, mapped)


# --- The tokens of a corpus, and its pre-tokens -----------------------------------------------------------------------


def token_items_work(tokenizer: Tokenizer, text: CorpusTokens, measured: Dispersion) -> Work[Items]:
    """The tokens of all documents."""
    row = _Row()

    def take(ids: Ids) -> None:
        row.add(ids.view(np.int32))

    def spelling(token: int) -> bytes:
        special = specials.get(token)
        return special if special is not None else tokenizer.tokens[token] or b""

    specials = {token: spelt.encode() for spelt, token in tokenizer.special_tokens.items()}
    yield from text.walk_work(take, _PHASE)
    items, owner = row.made()
    return Items(items, text.ends, np.cumsum(measured.pieces, dtype=np.int64), "", None, spelling, owner)


def pattern_of(tokenizer: AnyTokenizer | None) -> str:
    """The pattern by which pre-tokens are counted: the tokenizer's own, or `OWN_PATTERN` where it has none here."""
    if not isinstance(tokenizer, Tokenizer) or isinstance(tokenizer, LibraryTokenizer):
        return OWN_PATTERN
    return OWN_PATTERN if splitter(tokenizer.pattern).kind == NONE else tokenizer.pattern


def word_items_work(corpus: Corpus, tokenizer: AnyTokenizer | None) -> Work[Items]:
    """The pre-tokens of all documents, prepared as for the tokenizer; a special token is a pre-token of its own.

    Raises:
        ConfigError: A custom pattern leaves text out, or takes too long.
    """
    own = tokenizer if isinstance(tokenizer, Tokenizer) and not isinstance(tokenizer, LibraryTokenizer) else None
    preparation = own.preparation if own is not None else Preparation()
    finders = SpecialFinders(own.special_tokens if own is not None else {})
    pattern = pattern_of(tokenizer)
    row, table, split = _Row(), WordTable(), splitter(pattern)
    cut_before = preparation.cut_before(finders.allowed("all")) if split.kind > NONE else b""
    document_ends, done, total = list["NDArray[np.int64]"](), 0, sum(len(source.data) for source in corpus.sources)
    for source in corpus.sources:
        for part in document_parts(source, cut_before):
            data = np.concatenate([part.data, np.zeros(PADDING, np.uint8)])
            prepared = yield from prepare_work(preparation, finders, data, part.ends, "all" if own is not None else ())
            special_numbers = [_number(table, text) for text in prepared.specials]
            before = row.size
            amounts = yield from _take_work(prepared.data, prepared.pieces, split, table, special_numbers, row)
            of_documents = np.bincount(documents_of(prepared.pieces), amounts, len(part.ends)).astype(np.int64)
            if part.is_end:
                # The first may have begun in earlier parts.
                document_ends.append(before + np.cumsum(of_documents))
            done += len(part.data)
            yield Progress(_PHASE, done, total)
    ends = np.concatenate([np.zeros(0, np.int64), *document_ends])
    items, owner = row.made()
    offsets, arena = table.offsets, table.words

    def spelling(number: int) -> bytes:
        return arena[int(offsets[number]) : int(offsets[number + 1])].tobytes()

    feeds = np.zeros(len(table), np.bool_)
    feeds[np.searchsorted(offsets, np.flatnonzero(arena[: offsets[-1]] == ord("\n")), side="right") - 1] = True
    return Items(items, ends, _piece_ends(items, ends, feeds), pattern, table, spelling, owner)


def _take_work(
    data: NDArray[np.uint8], pieces: Pieces, split: Splitter, table: WordTable, special_numbers: list[int], row: _Row
) -> Work[NDArray[np.int64]]:
    """Adds the pre-tokens of pieces of text, and the special tokens after them; int64 [pieces], how many of each."""
    amounts = np.zeros(len(pieces.starts), np.int64)
    numbers_of = np.array([*special_numbers, -1], np.int32)
    for first, last in pieces.groups(_GROUP):
        text, stops, at = data, pieces.stops[first:last], int(pieces.starts[first])
        if last > first + 1:
            (text, stops), at = pieces.joined(data, first, last), 0
        all_ends, numbers = [np.zeros(1, np.int64) + at], [np.zeros(0, np.int32)]
        for ends, _ in word_ends(split, text, at, stops):
            if len(ends):
                numbers.append(table.look_up(text, at, ends).copy())
                at = int(ends[-1])
                if last > first + 1:
                    all_ends.append(ends.copy())
                else:
                    # Of a long text, all ends would take twice the memory of its pre-tokens.
                    row.add(numbers.pop())
                    amounts[first] += len(ends)
            yield Progress(_PHASE)
        if last > first + 1:
            behind = np.searchsorted(np.concatenate(all_ends)[1:], stops, side="right")
            amounts[first:last] = np.diff(behind, prepend=0)
            specials = numbers_of[pieces.specials[first:last]]
            row.add(np.insert(np.concatenate(numbers), behind[specials >= 0], specials[specials >= 0]))
        elif (special := int(numbers_of[pieces.specials[first]])) >= 0:
            row.add(np.array([special], np.int32))
        amounts[first:last] += numbers_of[pieces.specials[first:last]] >= 0
    return amounts


def _number(table: WordTable, text: bytes) -> int:
    padded = np.frombuffer(text + bytes(PADDING), np.uint8)
    return int(table.look_up(padded, 0, np.array([len(text)], np.int64))[0])


def _piece_ends(items: NDArray[np.int32], ends: NDArray[np.int64], feeds: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The ends of pieces by the rule of `dispersion`; `feeds` says which items have a line feed."""
    total = len(items)
    if not total:
        return np.zeros(0, np.int64)
    borders = list[int]()
    targets: list[int] = np.unique(-(-np.arange(1, PIECES, dtype=np.int64) * total // PIECES)).tolist()
    for target in targets:
        document = int(np.searchsorted(ends, target))
        stop = int(ends[document])
        size = stop - (int(ends[document - 1]) if document else 0)
        if target < stop and PIECES * size > total:
            for first in range(target, stop, _LOOKED_AT):
                here = feeds[items[first - 1 : min(stop, first + _LOOKED_AT) - 1]]
                if here.any():
                    stop = first + int(np.argmax(here))
                    break
        borders.append(stop)
    return np.unique([*borders, total])


# --- Counting runs of items -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RunCounts:
    """Runs of items, most frequent first, of equals the one that occurs first; [rows, 2] for each of two sides."""

    firsts: NDArray[np.int64]  # [rows], where each occurs first
    counts: NDArray[np.int64]  # [rows, 2]
    documents: NDArray[np.int32]  # [rows, 2], the documents with it
    pieces: NDArray[np.int32]  # [rows, 2], the pieces with it
    totals: tuple[int, int]  # the runs of each side, also those that are left out
    distinct: int  # the different runs, also those that are left out


def count_runs_work(items: Items, n: int, least: int = 1, sides: NDArray[np.int8] | None = None) -> Work[RunCounts]:
    """Counts the runs of `n` items within documents that occur at least `least` times in all.

    `sides` is int8 [documents], 0 or 1 for the side of each, below 0 for none; all are on side 0 without it.
    """
    sides = np.zeros(len(items.document_ends), np.int8) if sides is None else sides
    parts: dict[int, tuple[NDArray[np.int64], int] | TokStudioError] = {}
    works = [partial(_part_work, items, n, sides, part, 0, None, least) for part in range(1 << _bits(items, n))]
    yield from in_threads(_PHASE, works, parts.__setitem__, _MOST_THREADS)
    rows, distinct = [np.zeros((0, 8), np.int64)], 0
    for number in range(len(works)):
        part = parts.pop(number)
        if isinstance(part, TokStudioError):
            raise part
        rows.append(part[0])
        distinct += part[1]
    table = np.concatenate(rows)
    del rows
    yield Progress(_PHASE)
    table = table[np.lexsort((table[:, 1], -(table[:, 2] + table[:, 3])))]
    starts = np.maximum(0, np.diff(items.document_ends, prepend=0) - n + 1)
    totals = int(starts[sides == 0].sum()), int(starts[sides == 1].sum())
    return RunCounts(
        table[:, 1].copy(), table[:, 2:4].copy(), _halves(table[:, 4]), _halves(table[:, 5]), totals, distinct
    )


def mark_runs_work(items: Items, n: int, documents: int) -> Work[NDArray[np.uint8]]:
    """uint8 [items], 1 where a run of `n` items begins that stands in at least so many documents."""
    marks = np.zeros(len(items.items), np.uint8)
    if len(marks):
        sides, results = np.zeros(len(items.document_ends), np.int8), dict[int, object]()
        parts = range(1 << _bits(items, n))
        works = [partial(_part_work, items, n, sides, part, documents, marks, 1) for part in parts]
        yield from in_threads(_PHASE, works, results.__setitem__, _MOST_THREADS)
    return marks


def _bits(items: Items, n: int) -> int:
    """How many bits of the hash tell parts apart, so that the table of each is small enough."""
    return max(0, (_rows(items, n) // LARGEST_TABLE).bit_length() - 1)


def _rows(items: Items, n: int) -> int:
    """The rows of a table of all runs: a power of two."""
    runs = len(items.items)
    if n == 1 and items.words is not None:
        runs = min(runs, len(items.words))
    return power_of_two(2 * runs + 16)


def _part_work(
    items: Items,
    n: int,
    sides: NDArray[np.int8],
    part: int,
    documents: int,
    marks: NDArray[np.uint8] | None,
    least: int,
) -> Work[tuple[NDArray[np.int64], int]]:
    """The rows of the table of a part with runs that occur at least so often, and how many rows there are in all."""
    from tokstudio.core.kernels.runs import COLUMNS, take_runs

    no_marks, size, bits = np.zeros(0, np.uint8), len(items.items), _bits(items, n)
    arrays = read_only(items.document_ends), read_only(sides), read_only(items.piece_ends)
    rows = max(16, _rows(items, n) >> bits)
    while True:
        table, used = np.zeros((rows, COLUMNS), np.int64), 0
        for first in range(0, size, _AT_ONCE):
            place = items.items, first, min(size, first + _AT_ONCE), n
            used = int(take_runs(*place, *arrays, part, bits, table, used, 0, no_marks))
            if used < 0:
                break
            yield Progress(_PHASE, first, size)
        if used >= 0:
            break
        rows *= 2
    if marks is not None:
        for first in range(0, size, _AT_ONCE):
            take_runs(
                items.items, first, min(size, first + _AT_ONCE), n, *arrays, part, bits, table, used, documents, marks
            )
            yield Progress(_PHASE, first, size)
        return np.zeros((0, COLUMNS), np.int64), used
    return table[table[:, 2] + table[:, 3] >= max(1, least)], used


def _halves(packed: NDArray[np.int64]) -> NDArray[np.int32]:
    """The lower and the upper half of numbers, int32 [n, 2]."""
    return np.stack([packed & 0xFFFFFFFF, packed >> 32], axis=1).astype(np.int32)
