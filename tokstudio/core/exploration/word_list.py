"""The words of a corpus: pre-tokens or tokens, and runs of them, with how often and in how many parts they stand.

Also the boilerplate of a corpus: stretches all of whose runs of eight pre-tokens stand in many documents.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.arguments import whole_number
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.exploration.items import Items, RunCounts, count_runs_work, mark_runs_work
from tokstudio.core.pretokenization.word_table import MOST_WORDS
from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST = 5  # items of a row of a word list
LEAST_RUN = 8  # pre-tokens of boilerplate
_MOST = (1 << 31) - 1
_ROWS = 1 << 14
_PHASE = "counting words"


class ItemRuns:
    """Runs of items as rows: pre-tokens as texts, or tokens as ids."""

    def __init__(self, items: Items, n: int, found: RunCounts) -> None:
        self.n = n  # items of each row
        self.part_unit = items.part_unit  # what range counts: "documents" where 20 or more have items, else "pieces"
        self.pattern = items.pattern  # that splits the pre-tokens; "" for tokens
        self._items, self._found = items, found

    def __len__(self) -> int:
        return len(self._found.firsts)

    def ids(self, first: int = 0, last: int | None = None) -> NDArray[np.int32]:
        """int32 [rows, n], the items of rows: ids of tokens, or numbers of pre-tokens."""
        firsts = self._found.firsts[first:last]
        return self._items.items[firsts[:, np.newaxis] + np.arange(self.n)]

    def raw(self, row: int) -> bytes:
        """The bytes of a row."""
        at = int(self._found.firsts[row])
        return b"".join(map(self._items.spelling, self._items.items[at : at + self.n].tolist()))

    def text(self, row: int) -> str:
        """The text of a row; bytes that are not UTF-8 become U+FFFD."""
        return self.raw(row).decode("utf-8", "replace")

    def texts(self, first: int = 0, last: int | None = None) -> list[str]:
        """The texts of rows."""
        return [self.text(row) for row in range(*slice(first, last).indices(len(self)))]

    def _range(self, side: int) -> NDArray[np.int64]:
        found = self._found
        return (found.documents if self.part_unit == "documents" else found.pieces)[:, side].astype(np.int64)

    def _items_column(self, column: str, others: str) -> NDArray[np.int32] | list[str]:
        """The texts or the ids of all rows; raises ConfigError for another column, of which there are also others."""
        name = "text" if self.pattern else "ids"
        if column != name:
            raise ConfigError(f"There is no column {column}: choose {name}, {others}.")
        return self.texts() if self.pattern else self.ids()


class WordList(ItemRuns):
    """The words of a corpus, most frequent first, of equals the one that occurs first.

    `words[name]` is a column: "count", "range" (the units of `part_unit` with it), "documents" and "pieces" (of about
    100 of equal numbers of items), all int64; "ids" int32 [rows, n] of tokens; "text" of pre-tokens, a list.
    """

    def __init__(self, items: Items, n: int, found: RunCounts, least: int, tokenizer: Tokenizer | None) -> None:
        super().__init__(items, n, found)
        self.total = found.totals[0]  # the runs of n items in the corpus
        self.distinct = found.distinct  # the different ones, also those that are not listed
        self.least = least  # how often a run must occur to be listed
        self._tokenizer = tokenizer

    @property
    def note(self) -> str:
        """What is not listed, a sentence; "" if nothing."""
        missing = self.distinct - len(self)
        if not missing:
            return ""
        often = "once" if self.least == 2 else f"fewer than {self.least:,} times"
        return f"{missing:,} of {self.distinct:,} that occur {often} are counted and not listed."

    def __getitem__(self, column: str) -> NDArray[np.int64] | NDArray[np.int32] | list[str]:
        found = self._found
        if column == "count":
            return found.counts[:, 0]
        if column == "range":
            return self._range(0)
        if column in ("documents", "pieces"):
            return getattr(found, column)[:, 0].astype(np.int64)
        return self._items_column(column, "count, range, documents or pieces")

    def tokens_work(self) -> Work[NDArray[np.int64]]:
        """How many tokens each pre-token becomes by itself, int64 [rows]: more than one where it is split.

        Raises:
            ConfigError: The rows are not single pre-tokens, there is no tokenizer with a vocabulary, or a character is
                not in it.
            FormatError: The library that encodes for the tokenizer refuses a word.
        """
        tokenizer, table = self._tokenizer, self._items.words
        if self.n != 1 or table is None:
            raise ConfigError("Only single pre-tokens are split into tokens: choose n=1 of pre-tokens.")
        if tokenizer is None:
            raise ConfigError("There is no tokenizer with a vocabulary, which splits words into tokens.")
        numbers, amounts = self.ids()[:, 0], np.zeros(len(table), np.int64)
        special = {text.encode() for text in tokenizer.special_tokens}
        if isinstance(tokenizer, LibraryTokenizer):
            for first in range(0, len(table), _ROWS):
                texts = [self._items.spelling(number) for number in range(first, min(len(table), first + _ROWS))]
                _, _, counts = yield from tokenizer.encode_texts_with_ends_work(texts, "all")
                amounts[first : first + len(texts)] = counts
            return amounts[numbers]
        encoder, ends = tokenizer.encoder("none"), table.offsets[1:]
        for first in range(0, len(table), MOST_WORDS):
            last = min(len(table), first + MOST_WORDS)
            words = yield from encoder.encode_words_work(table.words, int(table.offsets[first]), ends[first:last])
            amounts[first:last] = np.diff(words.offsets)[words.numbers]
            yield Progress("encoding", last, len(table))
        for number in range(len(table)) if special else ():
            if int(table.offsets[number + 1] - table.offsets[number]) <= max(map(len, special)):
                amounts[number] = 1 if self._items.spelling(number) in special else amounts[number]
        return amounts[numbers]


def word_list_work(items: Items, n: int, least: int | None, tokenizer: Tokenizer | None) -> Work[WordList]:
    """Counts the runs of `n` items that occur at least `least` times; None is 1 for single items and 2 for runs."""
    if not 1 <= whole_number("n", n) <= LONGEST:
        raise ConfigError(f"Words are runs of 1 to {LONGEST}, not {n}; longer ones are boilerplate.", field="n")
    least = whole_number("least", least) if least is not None else 1 + (n > 1)
    if least < 1:
        raise ConfigError(f"What is listed occurs at least once, not {least} times.", field="least")
    return WordList(items, n, (yield from count_runs_work(items, n, least)), least, tokenizer)


# --- Boilerplate ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Boilerplate:
    """A stretch of pre-tokens, as long as all of its runs of n pre-tokens stand in many documents."""

    text: str
    pre_tokens: int
    count: int  # how often exactly this stretch occurs
    documents: int  # in how many documents
    first_document: int  # the number of the first, from 0 over all sources


def boilerplate_work(items: Items, n: int, documents: int) -> Work[tuple[Boilerplate, ...]]:
    """Finds the stretches whose runs of `n` pre-tokens each stand in at least so many documents.

    They do not overlap; those that cover most pre-tokens come first, of equals the first.
    """
    n, documents = whole_number("n", n, most=_MOST), whole_number("documents", documents, most=_MOST)
    if n < LEAST_RUN:
        raise ConfigError(f"Boilerplate has runs of at least {LEAST_RUN} pre-tokens, not {n}.", field="n")
    if documents < 2:
        raise ConfigError(f"Boilerplate stands in at least 2 documents, not {documents}.", field="documents")
    marks = yield from mark_runs_work(items, n, documents)
    # Between the last run of a document and the first of the next there are places where none begins.
    steps = np.diff(np.concatenate([np.zeros(1, np.int8), marks.view(np.int8), np.zeros(1, np.int8)]))
    begins, ends = np.flatnonzero(steps > 0), np.flatnonzero(steps < 0) + n - 1
    owners = np.searchsorted(items.document_ends, begins, side="right")
    rows: dict[bytes, list[int]] = {}  # where it begins and ends, how often, in how many documents, the first, the last
    for number, (begin, end, owner) in enumerate(_rows(begins, ends, owners)):
        key = hashlib.blake2b(items.items[begin:end].tobytes(), digest_size=16).digest()
        row = rows.setdefault(key, [begin, end, 0, 0, owner, -1])
        row[2] += 1
        row[3] += row[5] != owner
        row[5] = owner
        if number % _ROWS == 0:
            yield Progress(_PHASE, number, len(begins))
    ordered = sorted(rows.values(), key=lambda row: (-(row[1] - row[0]) * row[2], row[0]))
    return tuple(
        Boilerplate(
            b"".join(map(items.spelling, items.items[begin:end].tolist())).decode("utf-8", "replace"),
            end - begin,
            count,
            in_documents,
            first,
        )
        for begin, end, count, in_documents, first, _ in ordered
    )


def _rows(*arrays: NDArray[np.int64]) -> Iterator[tuple[int, ...]]:
    """Rows of arrays as numbers, a few at a time."""
    for first in range(0, len(arrays[0]), _ROWS):
        yield from zip(*(array[first : first + _ROWS].tolist() for array in arrays), strict=True)
