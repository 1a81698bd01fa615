"""Encodes text without special tokens: splits it, and merges each pre-token once.

Finding special tokens and what ids mean is left to the Tokenizer.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.alphabet import Alphabet
from tokstudio.core.errors import ConfigError
from tokstudio.core.patterns import splitter
from tokstudio.core.progress import Progress, Work
from tokstudio.core.words import MOST_WORDS, WordTable

if TYPE_CHECKING:
    from tokstudio.core.patterns import Splitter

_BUDGET = 200_000  # steps of encoding a call: some 10 ms
_LONGEST_TEXT = 2**31 - 2
_CHARACTERS = 1 << 18  # of a long sequence, looked up at once
_MOST_KNOWN = 1 << 19  # words kept with their tokens
_MOST_BYTES = 1 << 26


class Merges:
    """The merges of a tokenizer, ready to be looked up; shared by the tokenizers `at` each of them.

    Args:
        merges: int32 [n, 2], ids of left and right in rank order.
        results: int32 [n], the id that each makes.
    """

    def __init__(self, merges: NDArray[np.int32], results: NDArray[np.int32]) -> None:
        from tokstudio.core.kernels.encode import fill_pairs

        slots = 1 << max(4, (2 * len(merges)).bit_length())
        self.pairs = np.full(2 * slots, -1, np.int64)
        fill_pairs(merges, results, self.pairs)


class Encoder:
    """Encodes with the first `limit` merges; may be used in several threads at once.

    Args:
        alphabet: The base tokens.
        merges: The merges.
        limit: How many of them count.
        pattern: How text is split.
    """

    def __init__(self, alphabet: Alphabet, merges: Merges, limit: int, pattern: str) -> None:
        self._alphabet = alphabet
        self._pairs = merges.pairs
        self._limit = limit
        self._splitter: Splitter = splitter(pattern)
        self._idle: list[_KnownWords] = []

    def encode_work(self, data: NDArray[np.uint8], start: int, stop: int) -> Work[list[NDArray[np.uint32]]]:
        """Ids of data[start:stop], in parts.

        Args:
            data: uint8, with `words.PADDING` bytes of anything behind `stop`; valid UTF-8 where tokens are characters.
            start: Where the text begins.
            stop: Where it ends.

        Raises:
            ConfigError: The text is too long, or has a character that is not in the vocabulary.
        """
        if stop - start > _LONGEST_TEXT:
            raise ConfigError(
                f"The text is too long: {stop - start:,} bytes, and at most {_LONGEST_TEXT:,} can be encoded at once."
            )
        if self._splitter.kind == 0:
            symbols = yield from self._symbols_work(data[start:stop])
            return [(yield from self._merged_work(symbols))]
        # Words that are known already are taken up by whoever comes next, and never by two at once.
        known = self._idle.pop() if self._idle else _KnownWords()
        ids: list[NDArray[np.uint32]] = []
        at = start
        for ends in self._ends(data, start, stop):
            for first in range(0, len(ends), MOST_WORDS):
                if known.full:
                    known = _KnownWords()
                numbers = known.table.look_up(data, at, ends[first : first + MOST_WORDS])
                yield from self._encode_new_work(known)
                ids.append(known.tokens_of(numbers))
                at = int(ends[min(first + MOST_WORDS, len(ends)) - 1])
            yield Progress("encoding", at - start, stop - start)
        self._idle.append(known)
        return ids

    def _ends(self, data: NDArray[np.uint8], start: int, stop: int) -> Iterator[NDArray[np.int64]]:
        """Where the pre-tokens end, a piece at a time."""
        if self._splitter.kind < 0:
            yield from self._splitter.ends_work(data, start, stop)
            return
        from tokstudio.core.kernels.documents import scan_documents

        ends, stops = np.empty(MOST_WORDS, np.int64), np.array([stop], np.int64)
        while start < stop:
            n, start, _ = scan_documents(self._splitter.kind, data, start, 0, stops, self._splitter.classes, ends)
            yield ends[:n]

    def _encode_new_work(self, known: _KnownWords) -> Work[None]:
        """Finds the tokens of the words that were met for the first time."""
        from tokstudio.core.kernels import encode as kernel

        alphabet, offsets, words = self._alphabet, known.table.offsets, known.table.words
        unknown = -1 if alphabet.unknown is None else alphabet.unknown
        known.make_room()
        while known.encoded < len(known.table):
            why, known.encoded = kernel.encode_words(
                words, offsets, known.encoded, alphabet.id_of, unknown, self._pairs, self._limit, *known.arrays
            )
            if why == kernel.NEED_ROOM:
                known.make_room()
            elif why != kernel.DONE:
                word = words[offsets[known.encoded] : offsets[known.encoded + 1]]
                symbols = yield from self._symbols_work(word)
                known.add((yield from self._merged_work(symbols)))

    def _symbols_work(self, text: NDArray[np.uint8]) -> Work[NDArray[np.int32]]:
        """The base tokens of a text."""
        alphabet = self._alphabet
        if alphabet.base == "bytes":
            return alphabet.id_of[text]
        points = np.frombuffer(text.tobytes().decode().encode("utf-32-le"), "<u4")
        symbols = np.empty(len(points), np.int32)
        for first in range(0, len(points), _CHARACTERS):
            here = alphabet.id_of[points[first : first + _CHARACTERS]]
            strange = np.flatnonzero(here < 0)
            if len(strange) and alphabet.unknown is None:
                point = int(points[first + strange[0]])
                raise ConfigError(
                    f'The character "{chr(point)}" (U+{point:04X}) is not in the vocabulary, '
                    "and there is no unknown token."
                )
            here[strange] = alphabet.unknown or 0
            symbols[first : first + len(here)] = here
            yield Progress("encoding", first, len(points))
        return symbols

    def _merged_work(self, symbols: NDArray[np.int32]) -> Work[NDArray[np.uint32]]:
        """Merges one sequence, however long."""
        from tokstudio.core.kernels import encode as kernel

        n = len(symbols)
        following, previous, pending = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64)
        heap, state = np.empty(2 * n, np.int64), np.zeros(kernel.STATE_SIZE, np.int64)
        scratch = (symbols, following, previous, pending, heap, state)
        pieces = 0
        while not kernel.encode_sequence(self._pairs, self._limit, *scratch, _BUDGET):
            pieces += 1
            # A text of n bytes takes at most 3 n steps, and mostly half of that.
            yield Progress("encoding", min(n, pieces * _BUDGET * 2 // 3), n)
        ids = np.empty(n, np.uint32)
        return ids[: kernel.collect(symbols, following, ids)].copy()


class _KnownWords:
    """Pre-tokens that were met, and their tokens."""

    def __init__(self) -> None:
        self.table = WordTable()
        self.encoded = 0
        self._ids = np.empty(1 << 12, np.uint32)
        self._offsets = np.zeros(self.table.room + 1, np.int64)

    @property
    def arrays(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The tokens of all words, and where those of each word begin."""
        return self._ids, self._offsets

    @property
    def full(self) -> bool:
        """Whether it is time to begin with an empty one."""
        return len(self.table) > _MOST_KNOWN or self.table.offsets[-1] > _MOST_BYTES

    def make_room(self) -> None:
        """Makes room for the tokens of all words that have none yet."""
        if len(self._offsets) <= self.table.room:
            self._offsets = np.concatenate(
                [self._offsets, np.zeros(self.table.room + 1 - len(self._offsets), np.int64)]
            )
        offsets = self.table.offsets
        most = int(self._offsets[self.encoded] + offsets[-1] - offsets[self.encoded])
        if most > len(self._ids):
            grown = np.empty(max(most, 2 * len(self._ids)), np.uint32)
            grown[: len(self._ids)] = self._ids
            self._ids = grown

    def add(self, ids: NDArray[np.uint32]) -> None:
        """Takes the tokens of the next word."""
        start = int(self._offsets[self.encoded])
        self._ids[start : start + len(ids)] = ids
        self.encoded += 1
        self._offsets[self.encoded] = start + len(ids)

    def tokens_of(self, numbers: NDArray[np.int32]) -> NDArray[np.uint32]:
        """The tokens of some words, one after another."""
        from tokstudio.core.kernels.encode import emit

        out = np.empty(4 * len(numbers), np.uint32)
        n = emit(numbers, self._ids, self._offsets, out)
        if n > len(out):
            out = np.empty(n, np.uint32)
            emit(numbers, self._ids, self._offsets, out)
        return out[:n]
