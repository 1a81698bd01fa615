"""Encodes text without special tokens: splits it, and merges each distinct pre-token once."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.errors import ConfigError, TokStudioError
from tokstudio.core.base.machine import in_threads
from tokstudio.core.base.progress import Progress, Work, part_of
from tokstudio.core.base.records import dataclass
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.word_runs import BREAK, Joining
from tokstudio.core.pretokenization.patterns import NONE, cut, splitter, word_ends
from tokstudio.core.pretokenization.special_tokens import Pieces
from tokstudio.core.pretokenization.word_table import MOST_WORDS, PADDING
from tokstudio.core.text.unicode_classes import classes
from tokstudio.core.tokenizer.known_words import LONGEST, SPARE, KnownWords
from tokstudio.core.tokenizer.merge_table import MergeTable, Trie

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUDGET = 50_000  # steps of encoding per call: about 20 ms for a sequence that is too long for the processor's cache
_LONGEST_TEXT = 2**31 - 2
PART = 1 << 21  # bytes of text for a thread
GROUP = 1 << 20  # bytes of short pieces of text to encode together
PIECE = 1 << 18  # bytes looked up at once
MATCHED = 1 << 18  # base tokens of text that is not split, for a thread
_SEAM = 4  # tokens on each side of a place where such text was cut, at first
_ENOUGH = 1 << 15  # bytes of long words encoded between two reports
_PADDING = bytes(PADDING)


@dataclass(frozen=True, eq=False)
class EncodedWords:
    """The tokens of words; those of equal words are held once."""

    numbers: NDArray[np.int32]  # [n], the number of each word
    ids: NDArray[np.uint32]  # the tokens, one word after another; arbitrary after the last
    offsets: NDArray[np.int64]  # the start of the tokens of each word, by number, and the end of the last


class Encoder:
    """Encodes with the first `limit` merges of a table; leaves `whole_words` whole. Safe in several threads.

    With `joining`, tokens of adjacent words are joined afterwards.
    """

    _merges_words = True  # whether the tokens of a word are those of the merges

    def __init__(
        self,
        alphabet: Alphabet,
        merges: MergeTable,
        limit: int,
        pattern: str,
        whole_words: Mapping[bytes, int] | None = None,
        joining: Joining | None = None,
    ) -> None:
        self._alphabet = alphabet
        self._merges = merges
        self.limit = limit
        self.pattern = pattern
        self._splitter = splitter(pattern)
        self._idle: list[KnownWords] = []
        self._whole_words = dict(whole_words or {})
        self._joining = joining
        self._longest_whole = max(map(len, self._whole_words), default=0)

    @property
    def pairs(self) -> NDArray[np.int64]:
        """int64, the hash table of merges; see `kernels.encode`."""
        return self._merges.pairs

    @property
    def base(self) -> str:
        """The base tokens: "bytes" or "characters"."""
        return self._alphabet.base

    @property
    def whole_words(self) -> Mapping[bytes, int]:
        """The ids of words that are left whole."""
        return self._whole_words

    @property
    def joins_words(self) -> bool:
        """Whether tokens of adjacent words are joined."""
        return self._joining is not None

    def short_ids(self, raw: bytes) -> list[int] | None:
        """The ids of a text of at most `LONGEST` bytes without special tokens, without the steps that long ones need.

        None where these steps are needed: for an expression of one's own, words that are joined, and what `encode_work`
        raises an error for.
        """
        if self._short_texts is None:
            return None
        scan, sizes = self._short_texts
        words, data = self._known_words(len(raw)), np.frombuffer(raw + _PADDING, np.uint8)
        stops = sizes[len(raw) : len(raw) + 1]
        n, _, _ = scan(self._splitter.kind, data, 0, 0, stops, classes(), words.few_ends)
        ends, out = words.few_ends_read_only[:n], words.few_ids
        known, written = words.write_words(data, 0, ends, self._own_merging, self._merges_words, out, 0)
        ids = out[:written].tolist()
        self._idle.append(words)
        return ids if known == n else None

    @cached_property
    def _short_texts(self) -> tuple[Callable[..., tuple[int, int, int]], NDArray[np.int64]] | None:
        """The loop that splits short texts, and all lengths that these can have: both once, as each text would wait."""
        if self._splitter.kind <= NONE or self._joining is not None:
            return None
        from tokstudio.core.kernels.documents import scan_documents

        return scan_documents, read_only(np.arange(LONGEST + 1))

    @cached_property
    def _own_merging(self) -> tuple[Any, ...]:
        return self._merging(self.limit)

    def _known_words(self, size: int) -> KnownWords:
        """A cache for a text of so many bytes: one thread at a time uses it, and adds it to `_idle` afterwards."""
        try:
            words = self._idle.pop()
        except IndexError:
            words = KnownWords(self._whole_words)
        words = words.emptied() if words.full else words
        words.expect(size)
        return words

    def encode_work(
        self, data: NDArray[np.uint8], pieces: Pieces, special_ids: NDArray[np.int32], threads: int | None = None
    ) -> Work[list[NDArray[np.uint32]]]:
        """The ids of pieces of text and of the special tokens after them, in parts.

        Args:
            data: uint8, with `words.PADDING` arbitrary bytes after the last piece; valid UTF-8 where tokens are
                characters.
            pieces: The pieces; at least one.
            special_ids: int32, the id of each special token by its number in `pieces`, followed by -1.
            threads: At most so many, for much text that a named pattern splits, or none; None is one per core.

        Raises:
            ConfigError: A piece is too long, or has a character that is not in the vocabulary.
        """
        if self._joining is not None:
            marked = yield from self.marked_work(data, pieces, special_ids)
            return [(yield from self._joining.joined_work(marked, self.limit, self._join_work))]
        size = int(pieces.stops[-1] - pieces.starts[0])
        can_divide = self._splitter.kind > NONE
        if self._splitter.kind == NONE:
            can_divide = int(np.max(pieces.stops - pieces.starts)) <= PART
        if threads != 1 and can_divide and size >= 2 * PART:
            return (yield from self._in_threads_work(data, pieces, special_ids, threads))
        return (yield from self.marked_work(data, pieces, special_ids, threads))

    def marked_work(
        self, data: NDArray[np.uint8], pieces: Pieces, special_ids: NDArray[np.int32], threads: int | None = 1
    ) -> Work[list[NDArray[np.uint32]]]:
        """Does the same as `encode_work` up to the joining: the tokens of runs are marked (see `model.word_runs`).

        With `joining`, `BREAK` stands after each piece without a special token. Only text that is not split is encoded
        in `threads`.
        """
        ids: list[NDArray[np.uint32]] = []
        start, total = int(pieces.starts[0]), int(pieces.stops[-1])
        words = self._known_words(total - start)
        if self._joining is not None:
            special_ids = np.where(special_ids < 0, np.int32(BREAK), special_ids)
        merging, adds = self._own_merging, self._merges_words and self._joining is None
        for first, last in pieces.groups(GROUP):
            # In the form that `emit` expects; 0 for none.
            behind = ~special_ids[pieces.specials[first:last]]
            at, stops = int(pieces.starts[first]), pieces.stops[first:last]
            text, offset = data, 0
            if last - first > 1:
                (text, stops), offset, at = pieces.joined(data, first, last), at, 0
            elif self._splitter.kind == NONE:
                work = self._sequence_work(data[at : stops[0]], threads)
                ids += yield from part_of(work, "encoding", at - start, int(stops[0]) - at, total - start)
                ids += [(~behind).astype(np.uint32)] if behind[0] else []
                continue
            # Each token has a byte of the text at least.
            out = np.empty(int(stops[-1]) - at + last - first + SPARE, np.uint32)
            text, done, written = read_only(text), 0, 0
            for ends, document in word_ends(self._splitter, text, at, stops):
                words = words.emptied() if words.full else words
                if one_pass := not behind[done:document].any():
                    # From a word on that is too long for it, the rest is looked up.
                    known, written = words.write_words(text, at, read_only(ends), merging, adds, out, written)
                    at, ends = int(ends[known - 1]) if known else at, ends[known:]
                if len(ends) or not one_pass:
                    values = words.look_up(text, at, ends)
                    if words.encoded < len(words):
                        for _ in self._encode_new_work(words):
                            yield Progress("encoding", offset + at - start, total - start)
                    if len(special_ids) > 1 or self._joining is not None:
                        values = _with_specials(values, ends, stops[done:document], behind[done:document])
                    written = words.write_tokens(values, out, written)
                    at = int(ends[-1]) if len(ends) else at
                done = document
                yield Progress("encoding", offset + at - start, total - start)
            out.resize(written, refcheck=False)
            ids.append(out)
        self._idle.append(words)
        return ids

    def _in_threads_work(
        self, data: NDArray[np.uint8], pieces: Pieces, special_ids: NDArray[np.int32], threads: int | None
    ) -> Work[list[NDArray[np.uint32]]]:
        works = [partial(self.encode_work, data, part, special_ids, 1) for part in _parts(data, pieces)]
        results: dict[int, list[NDArray[np.uint32]] | TokStudioError] = {}
        size = int(pieces.stops[-1] - pieces.starts[0])
        for progress in in_threads("encoding", works, results.__setitem__, threads):
            yield Progress("encoding", size * progress.done // progress.total, size)
        ids: list[NDArray[np.uint32]] = []
        for number in range(len(works)):
            part = results[number]
            if isinstance(part, TokStudioError):
                raise part
            ids += part
        return ids

    def encode_words_work(self, data: NDArray[np.uint8], start: int, ends: NDArray[np.int64]) -> Work[EncodedWords]:
        """Encodes words, none empty, each without splitting it.

        `data` has the words one after another from `start` on, uint8 with `words.PADDING` arbitrary bytes after the
        last; `ends` is int64 [n].

        Raises:
            ConfigError: A word is too long, or has a character that is not in the vocabulary.
        """
        known_words, numbers = KnownWords(self._whole_words), np.empty(len(ends), np.int32)
        for first in range(0, len(ends), MOST_WORDS):
            here = ends[first : first + MOST_WORDS]
            numbers[first : first + len(here)] = known_words.look_up(data, start, here, numbered=True)
            start = int(here[-1])
            yield from self._encode_new_work(known_words)
            yield Progress("encoding", first, len(ends))
        return EncodedWords(numbers, *known_words.arrays)

    def _encode_new_work(self, known_words: KnownWords) -> Work[None]:
        """Encodes the words that have been added to the table."""
        from tokstudio.core.kernels import short_words as kernel

        offsets, words = known_words.offsets, known_words.words
        known_words.make_room()
        size, first = 0, known_words.encoded
        while known_words.encoded < len(known_words):
            why, known_words.encoded = self._encode_words(known_words)
            if why == kernel.NEED_ROOM:
                known_words.make_room()
            elif why != kernel.DONE:
                word = words[offsets[known_words.encoded] : offsets[known_words.encoded + 1]]
                known_words.add(np.concatenate((yield from self._sequence_work(word))))
                size += len(word)
                if size >= _ENOUGH:
                    size = 0
                    yield Progress("encoding")
        if self._joining is not None:
            ids, starts = known_words.arrays
            self._joining.mark(ids, starts[first : known_words.encoded + 1])

    def _encode_words(self, known_words: KnownWords) -> tuple[int, int]:
        """Encodes short words from the first that is not encoded; why it ends, as in the loop, and the word there."""
        from tokstudio.core.kernels.many_words import encode_words

        return encode_words(*self._arguments(known_words, self.limit))

    def _arguments(self, known_words: KnownWords, limit: int) -> tuple[Any, ...]:
        """The arguments of the loop over words, with the first `limit` merges."""
        words = known_words.words, known_words.offsets, known_words.encoded
        return *words, *self._merging(limit), *known_words.arrays

    def _merging(self, limit: int) -> tuple[Any, ...]:
        """Those from `unit_ids` to `limit`."""
        alphabet, merges = self._alphabet, self._merges
        unknown = -1 if alphabet.unknown is None else alphabet.unknown
        unit_ids, byte_pairs = merges.units_for(alphabet)
        return unit_ids, unknown, byte_pairs, merges.pairs, merges.bits, limit

    def _sequence_work(self, text: NDArray[np.uint8], threads: int | None = 1) -> Work[list[NDArray[np.uint32]]]:
        """Encodes a text as one sequence, without splitting it."""
        if len(text) > _LONGEST_TEXT:
            raise ConfigError(
                f"The text is too long: {len(text):,} bytes, and at most {_LONGEST_TEXT:,} can be encoded at once."
            )
        if len(text) <= self._longest_whole and (whole := self._whole_words.get(text.tobytes())) is not None:
            return [np.array([whole], np.uint32)]
        symbols = yield from self.symbols_work(text)
        return (yield from self._encoded_work(symbols, threads))

    def _encoded_work(self, symbols: NDArray[np.int32], threads: int | None) -> Work[list[NDArray[np.uint32]]]:
        """The tokens of one sequence of base tokens, in parts."""
        trie = self._merges.trie_for(self._alphabet, len(symbols)) if len(symbols) else None
        if trie is not None:
            return (yield from self._matched_work(symbols, trie, threads))
        return (yield from self._merged_work(symbols, self.pairs))

    def _join_work(self, run: NDArray[np.int32]) -> Work[list[NDArray[np.uint32]]]:
        """Joins the tokens of a run of any length."""
        assert self._joining is not None
        return (yield from self._merged_work(run, self._joining.pairs))

    def symbols_work(self, text: NDArray[np.uint8]) -> Work[NDArray[np.int32]]:
        """The base tokens of a text."""
        alphabet, symbols = self._alphabet, np.empty(len(text), np.int32)
        at = n = 0
        while at < len(text):
            end = min(at + PIECE, len(text))
            if alphabet.base == "bytes":
                here = alphabet.ids_of_bytes(text[at:end])
            else:
                # Moves the end back to the start of a character.
                while end < len(text) and text[end] & 0xC0 == 0x80:
                    end -= 1
                here = alphabet.ids_of(text[at:end].tobytes().decode())
            symbols[n : n + len(here)] = here
            n += len(here)
            at = end
            if at < len(text):
                # This takes very little time in comparison with merging.
                yield Progress("encoding", 0, len(text))
        return symbols[:n]

    def _matched_work(
        self, symbols: NDArray[np.int32], trie: Trie, threads: int | None
    ) -> Work[list[NDArray[np.uint32]]]:
        """Does the same as `_merged_work`, for any length in linear time."""
        n = len(symbols)
        if threads == 1 or n < 2 * MATCHED:
            parts = [(yield from self._numbers_work(symbols, trie))]
        else:
            parts = yield from self._matched_in_threads_work(symbols, trie, threads)
        for part in parts:
            for at in range(0, len(part), PIECE):
                here = part[at : at + PIECE]
                trie.ids.take(here, out=here, mode="clip")
                yield Progress("encoding", n, n)
        return parts

    def _numbers_work(self, symbols: NDArray[np.int32], trie: Trie) -> Work[NDArray[np.uint32]]:
        """The tokens of one sequence, by their numbers."""
        from tokstudio.core.kernels import longest_match as kernel

        n = len(symbols)
        tokens, dead = np.empty(n, np.uint32), np.zeros(n // 8 + 1, np.uint8)
        state = np.zeros(kernel.STATE_SIZE, np.int64)
        tables = (trie.pairs, trie.bits, trie.base, self.limit, trie.parts, trie.lengths, trie.shorter)
        rows = (trie.nodes, trie.ends)
        numbers = symbols
        if trie.numbered:
            numbers = np.empty(n, np.int32)
            for at in range(0, n, PIECE):
                numbers[at : at + PIECE] = trie.numbers[symbols[at : at + PIECE]]
                yield Progress("encoding", 0, n)
        while not kernel.encode_by_longest(*tables, *rows, numbers, tokens, dead, state, BUDGET):
            yield Progress("encoding", int(state[kernel.PLACE]), n)
        return tokens[: state[kernel.WRITTEN]]

    def _matched_in_threads_work(
        self, symbols: NDArray[np.int32], trie: Trie, threads: int | None
    ) -> Work[list[NDArray[np.uint32]]]:
        """The tokens of one sequence by their numbers, in parts: cut anywhere, encoded in threads, and joined."""
        starts = range(0, len(symbols), MATCHED)
        works = [partial(self._numbers_work, symbols[start : start + MATCHED], trie) for start in starts]
        results: dict[int, NDArray[np.uint32] | TokStudioError] = {}
        for progress in in_threads("encoding", works, results.__setitem__, threads):
            yield Progress("encoding", len(symbols) * progress.done // progress.total, len(symbols))
        parts: list[NDArray[np.uint32]] = []
        for number, start in enumerate(starts):
            part = results[number]
            if isinstance(part, TokStudioError):
                raise part
            if parts:
                yield from self._join_parts_work(symbols, start, parts, part, trie)
            else:
                parts.append(part)
        return parts

    def _join_parts_work(
        self,
        symbols: NDArray[np.int32],
        start: int,
        parts: list[NDArray[np.uint32]],
        right: NDArray[np.uint32],
        trie: Trie,
    ) -> Work[None]:
        """Adds the tokens of the text from `start` on to those of the text before.

        All are right if each two neighbours are. So the text of some tokens on both sides of `start` is encoded anew,
        until the outermost of them are the same again.
        """
        size, left = _SEAM, parts.pop()
        while True:
            while parts and len(left) < size:
                left = np.concatenate([parts.pop(), left])
            before, behind = left[-size:], right[:size]
            at, end = (int(trie.lengths[tokens].sum(dtype=np.int64)) for tokens in (before, behind))
            middle = yield from self._numbers_work(symbols[start - at : start + end], trie)
            begins = len(before) < size or middle[0] == before[0]
            if begins and (len(behind) < size or middle[-1] == behind[-1]):
                break
            size *= 4
            yield Progress("encoding", len(symbols), len(symbols))
        parts += [tokens for tokens in (left[:-size], middle, right[size:]) if len(tokens)]

    def _merged_work(self, symbols: NDArray[np.int32], pairs: NDArray[np.int64]) -> Work[list[NDArray[np.uint32]]]:
        """Merges one sequence of any length by a table of merges; yields its tokens in parts, at least one."""
        from tokstudio.core.kernels import encode as kernel

        n = len(symbols)
        following, previous, pending = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64)
        heap, state = np.empty(2 * n, np.int64), np.zeros(kernel.STATE_SIZE, np.int64)
        scratch = (symbols, following, previous, pending, heap, state)
        pieces = 0
        while not kernel.encode_sequence(pairs, self.limit, *scratch, BUDGET):
            pieces += 1
            # A text of n bytes takes at most 4 n steps, and mostly half of that.
            yield Progress("encoding", min(n, pieces * BUDGET // 2), n)
        return (yield from self.collected_work(symbols, following))

    def collected_work(
        self, symbols: NDArray[np.int32], following: NDArray[np.int32]
    ) -> Work[list[NDArray[np.uint32]]]:
        """The tokens of an encoded sequence in parts, at least one; `following` links them from 0 on."""
        from tokstudio.core.kernels import encode as kernel

        n = len(symbols)
        parts: list[NDArray[np.uint32]] = []
        part, at = np.empty(min(n, PIECE), np.uint32), 0
        while True:
            collected, at = kernel.collect(symbols, following, at, part)
            parts.append(part[:collected].copy())
            if at >= n:
                return parts
            yield Progress("encoding", n, n)


def _parts(data: NDArray[np.uint8], pieces: Pieces) -> Iterator[Pieces]:
    """The pieces in parts of about `PART` bytes; long ones are cut where no named pattern notices."""
    for first, last in pieces.groups(PART):
        at, stop = int(pieces.starts[first]), int(pieces.stops[first])
        while last - first == 1 and stop - at > PART:
            end = cut(data, at + PART, stop)
            yield Pieces(np.array([at]), np.array([end]), np.array([-1], np.int32))
            at = end
        starts = pieces.starts[first:last].copy()
        starts[0] = at
        yield Pieces(starts, pieces.stops[first:last], pieces.specials[first:last])


def _with_specials(
    values: NDArray[np.int64], ends: NDArray[np.int64], stops: NDArray[np.int64], behind: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Inserts `behind` into the values of words where a piece stops, unless it is 0."""
    marked = behind.nonzero()[0]
    if not len(marked):
        return values
    return np.insert(values, np.searchsorted(ends, stops[marked], side="right"), behind[marked])
