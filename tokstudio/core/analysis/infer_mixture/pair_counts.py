"""How often each candidate text has each pair before each merge: kept only where a count changes."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.algorithms.common.from_tokenizer import gathered_groups, prepared_sources_work
from tokstudio.core.algorithms.common.prepare_corpus import valid_work
from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.machine import free_memory
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import size_of_memory
from tokstudio.core.corpus.source import CountedWith, Source
from tokstudio.core.kernels.pair_history import (
    CHANGES,
    MOST_IDS,
    STEP_BITS,
    add_counts,
    log_pairs,
    number_keys,
    rank_pairs,
    sum_changes,
)
from tokstudio.core.pretokenization.count_words import count_work
from tokstudio.core.pretokenization.patterns import known_name
from tokstudio.core.pretokenization.special_tokens import Pieces, cut_sources_work
from tokstudio.core.pretokenization.word_counts import Sequences
from tokstudio.core.tokenizer.tokenizer import Tokenizer

PARTS = 10  # of each candidate; each is left out once
GROUP = 1 << 17  # symbols of words whose pairs are logged by one call
_RECORDS = 1 << 16  # summed by one call
_SHARE_OF_FREE = 0.5
_BYTES_OF_A_CHANGE = 9
_CONTINUES, _CONTINUATION = 0xC0, 0x80  # the bits of a byte that tell, and those within a character
_LINE_BEGINS = re.compile(rb"\n(?=\S)")


@dataclass(frozen=True, eq=False)
class CandidateWords:
    """The distinct words of all candidates as base tokens, and how often each part of a candidate has each."""

    # int32, those of all words, one after another: ids, and higher numbers for units without one.
    symbols: NDArray[np.int32]
    starts: NDArray[np.int64]  # int64 [words + 1]
    words: NDArray[np.int32]  # int32 [rows], the word of each row
    # int32 [rows], its part: `PARTS` x the number of its candidate, and that of the part in it.
    parts: NDArray[np.int32]
    counts: NDArray[np.int64]  # int64 [rows], how often the part has the word
    bytes: NDArray[np.int64]  # int64 [candidates, `PARTS`], without special tokens
    replaced: tuple[int, ...]  # for each candidate, how many places became U+FFFD because they were not UTF-8


@dataclass(frozen=True, eq=False)
class PairRecords:
    """The pairs of the candidates, with a record from each step where the count of one changes.

    Step t is before merge t. Records are in the order of pairs, those of a pair in the order of steps.
    """

    pairs: NDArray[np.int32]  # int32 [records], the number of each pair
    begins: NDArray[np.int32]  # int32 [records], the first step
    ends: NDArray[np.int32]  # int32 [records], the step after the last
    # int64 [steps], the record of the pair of each merge at its own step; -1 where no candidate has it.
    of_merges: NDArray[np.int64]
    numbers: NDArray[np.int32]  # int32 [changes], the record of each change of a word
    words: NDArray[np.int32]  # int32 [changes], the word
    changes: NDArray[np.int8]  # int8 [changes], 1 or -1

    def __len__(self) -> int:
        return len(self.pairs)


# --- The words --------------------------------------------------------------------------------------------------------


def candidate_words_work(
    tokenizer: Tokenizer, candidates: Sequence[Sequence[Source]], first: int, threads: int | None
) -> Work[CandidateWords]:
    """Splits each candidate in parts, and these as a tokenizer does.

    Args:
        tokenizer: What it merges does not matter.
        candidates: The sources of each.
        first: An id above all others, from which on what has no base token is numbered: a training on it had made one.
        threads: At most so many; None is one per core.

    Raises:
        CorpusError: There is too little memory.
    """
    _check_memory(sum(source.bytes for sources in candidates for source in sources))
    parts, numbers, replaced = list[Source](), list[int](), list[int]()
    for number, sources in enumerate(candidates):
        places, valid = 0, list[Source]()
        for source in sources:
            part, more = (yield from valid_work(source)) if tokenizer.alphabet.base == "characters" else (source, 0)
            valid.append(part)
            places += more
        replaced.append(places)
        for at, part in _parts(valid):
            parts.append(part)
            numbers.append(number * PARTS + at)
    prepared = yield from prepared_sources_work(parts, tokenizer)
    cut, _ = yield from cut_sources_work(prepared, tokenizer.special_tokens)
    sizes = np.zeros(len(candidates) * PARTS, np.int64)
    for number, part, (source, pieces) in zip(numbers, parts, cut, strict=True):
        sizes[number] = len(part.data) - len(source.data) + int((pieces.stops - pieces.starts).sum())
    if known_name(tokenizer.pattern) == "none":
        spelled, of_parts = _whole_pieces(cut)
        words, counts = np.arange(len(of_parts), dtype=np.int32), np.ones(len(of_parts), np.int64)
    else:
        counted = yield from count_work(cut, CountedWith(tokenizer.pattern), threads)
        starts = np.concatenate([np.zeros(1, np.int64), counted.ends[:-1]])[: len(counted)]
        spelled, of_parts = Sequences(counted.data, starts, counted.ends), counted.sources
        words, counts = counted.words, counted.counts
    of_parts = np.array(numbers, np.int32)[of_parts]
    symbols, starts = yield from _symbols_work(tokenizer, spelled, first)
    return CandidateWords(symbols, starts, words, of_parts, counts, sizes.reshape(-1, PARTS), tuple(replaced))


def _parts(sources: Sequence[Source]) -> Iterator[tuple[int, Source]]:
    """A candidate in parts of about equal size, numbered from 0: empty ones, of few or very long lines, are left out.

    A part ends where a document does, or before a line that begins with text, where patterns divide text anyway.
    """
    data = np.concatenate([np.asarray(source.data[: source.bytes]) for source in sources])
    offsets = np.cumsum([0, *(source.bytes for source in sources)])
    ends = np.concatenate([source.ends + offset for source, offset in zip(sources, offsets, strict=False)])
    begin = 0
    for number in range(PARTS):
        end = aim = len(data) * (number + 1) // PARTS
        if number + 1 < PARTS:
            end = int(ends[np.searchsorted(ends, aim)])
            line = _LINE_BEGINS.search(data.data, aim, end)
            end = end if line is None else line.end()
        if end > begin:
            inside = np.unique(np.append(ends[(ends > begin) & (ends < end)], end))
            yield number, Source(f"{number}", None, "bytes", "", data[begin:end], inside - begin)
            begin = end


def _whole_pieces(cut: Sequence[tuple[Source, Pieces]]) -> tuple[Sequences, NDArray[np.int32]]:
    """Each piece of text as a word of its own, and the number of its source."""
    offsets = np.cumsum([0, *(len(source.data) for source, _ in cut)])
    starts = np.concatenate([pieces.starts + at for (_, pieces), at in zip(cut, offsets, strict=False)])
    stops = np.concatenate([pieces.stops + at for (_, pieces), at in zip(cut, offsets, strict=False)])
    numbers = np.repeat(np.arange(len(cut), dtype=np.int32), [len(pieces.starts) for _, pieces in cut])
    return Sequences(np.concatenate([np.asarray(source.data) for source, _ in cut]), starts, stops), numbers


def _symbols_work(
    tokenizer: Tokenizer, spelled: Sequences, first: int
) -> Work[tuple[NDArray[np.int32], NDArray[np.int64]]]:
    """See `CandidateWords`; `first` is the first number of units without an id."""
    id_of, of_bytes = tokenizer.alphabet.id_of, tokenizer.alphabet.base == "bytes"
    symbols, ends_of_words = [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
    size, done, total = 0, 0, len(spelled.starts)
    for padded, ends, _ in gathered_groups(spelled):
        data = padded[: int(ends[-1])]
        units = data if of_bytes else np.frombuffer(data.tobytes().decode().encode("utf-32-le"), "<u4")
        ids = id_of[units]
        # A word has as many characters as bytes that begin one.
        amounts = ends if of_bytes else np.cumsum((data & _CONTINUES) != _CONTINUATION)[ends - 1]
        symbols.append(np.where(ids < 0, first + units.astype(np.int32), ids))
        ends_of_words.append(size + amounts)
        size, done = size + len(ids), done + len(ends)
        yield Progress("encoding", done, total)
    return np.concatenate(symbols), np.concatenate(ends_of_words)


# --- Their pairs ------------------------------------------------------------------------------------------------------


def pair_records_work(
    words: CandidateWords, merges: NDArray[np.int32], results: NDArray[np.int32], held: int
) -> Work[PairRecords]:
    """Replays merges in the words.

    Args:
        words: The words.
        merges: int32 [n, 2], fewer than 2^`STEP_BITS`.
        results: int32 [n], all different.
        held: How many arrays with a count for each record and candidate there will be at once.

    Raises:
        CorpusError: There is too little memory.
    """
    ids = np.unique(np.concatenate([words.symbols, merges.ravel(), results]))
    if len(ids) > MOST_IDS:
        raise CorpusError(f"The candidates have too many different characters: {len(ids):,} of at most {MOST_IDS:,}.")
    symbols = np.searchsorted(ids, words.symbols).astype(np.int32)
    merges = np.searchsorted(ids, merges).astype(np.int32)
    results = np.searchsorted(ids, results).astype(np.int32)
    _check_memory(CHANGES * len(symbols) * _BYTES_OF_A_CHANGE)
    keys, numbers, of_words, changes = yield from _log_work(words.starts, symbols, merges, results, len(ids))
    _check_memory(held * len(keys) * len(words.bytes) * 8)
    order = np.argsort(keys)
    place = np.empty(len(keys), np.int32)
    place[order] = np.arange(len(keys), dtype=np.int32)
    keys = keys[order]
    yield Progress("counting pairs", len(words.starts) - 1, len(words.starts) - 1)
    begins = (keys & ((1 << STEP_BITS) - 1)).astype(np.int32)
    new = np.diff(keys >> STEP_BITS, prepend=-1) != 0
    is_last = np.append(new[1:], True)[: len(keys)]
    ends = np.where(is_last, len(merges), np.append(begins[1:], 0)[: len(keys)]).astype(np.int32)
    pairs = (np.cumsum(new) - 1).astype(np.int32)
    return PairRecords(pairs, begins, ends, _of_merges(keys, merges, len(ids)), place[numbers], of_words, changes)


def _log_work(
    starts: NDArray[np.int64],
    symbols: NDArray[np.int32],
    merges: NDArray[np.int32],
    results: NDArray[np.int32],
    ids: int,
) -> Work[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int8]]]:
    """The distinct keys of `log_pairs`; then of each change the number of its key, its word, and 1 or -1."""
    table = np.full(2 << (2 * len(merges) + 1).bit_length(), -1, np.int64)
    rank_pairs(read_only(merges), table)
    index, distinct, count = np.full(1 << 16, -1, np.int32), np.empty(1 << 16, np.int64), 0
    log = [(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int8))]
    first, n = 0, len(starts) - 1
    while first < n:
        until = int(starts[first]) + GROUP
        last = max(first + 1, int(np.searchsorted(starts, until, side="right")) - 1)
        most = CHANGES * int(starts[last] - starts[first])
        keys, of_words, changes = np.empty(most, np.int64), np.empty(most, np.int32), np.empty(most, np.int8)
        of_merges = read_only(table), read_only(merges), read_only(results), ids
        found = log_pairs(*of_merges, symbols, read_only(starts), first, last, keys, of_words, changes)
        numbers = np.empty(found, np.int32)
        index, distinct, count = number_keys(keys[:found], numbers, index, distinct, count)
        log.append((numbers, of_words[:found].copy(), changes[:found].copy()))
        first = last
        yield Progress("counting pairs", first, n)
    numbers, of_words, changes = (np.concatenate(column) for column in zip(*log, strict=True))
    return distinct[:count], numbers, of_words, changes


def _of_merges(keys: NDArray[np.int64], merges: NDArray[np.int32], ids: int) -> NDArray[np.int64]:
    """The last record of the pair of each merge that begins at or before its step; -1 for none."""
    wanted = (merges[:, 0].astype(np.int64) * ids + merges[:, 1]) << STEP_BITS | np.arange(len(merges))
    at = np.searchsorted(keys, wanted, side="right") - 1
    same = at >= 0
    same[same] = keys[at[same]] >> STEP_BITS == wanted[same] >> STEP_BITS
    return np.where(same, at, -1)


def _check_memory(size: int) -> None:
    free = free_memory()
    if free is not None and size > _SHARE_OF_FREE * free:
        raise CorpusError(
            f"The candidates are too large: their pairs would take {size_of_memory(size)} of memory, and "
            f"{size_of_memory(free)} are free. 1 MB of each language is enough."
        )


class CandidateCounts:
    """The counts of pairs in the candidates, with or without one part of each."""

    def __init__(self, words: CandidateWords, records: PairRecords) -> None:
        self.records = records
        self._rows, self._bytes, texts = words, words.bytes, len(words.bytes)
        # One entry for each word and candidate, in the order of words; the rows of all parts go into it.
        keys = words.words.astype(np.int64) * texts + words.parts // PARTS
        entries, self._entry_of = np.unique(keys, return_inverse=True)
        self._entry_texts = (entries % texts).astype(np.int32)
        self._starts = np.searchsorted(entries // texts, np.arange(len(words.starts))).astype(np.int64)

    def totals_work(self, without: int | None = None) -> Work[NDArray[np.float64]]:
        """float64 [records, candidates], whole numbers: the counts, without the part of this number."""
        rows, records = self._rows, self.records
        stays = rows.counts if without is None else np.where(rows.parts % PARTS == without, 0, rows.counts)
        counts = np.zeros(len(self._entry_texts), np.int64)
        np.add.at(counts, self._entry_of, stays)
        totals, size, n = np.zeros((len(records), len(self._bytes))), 4 * GROUP, len(records.numbers)
        of_words = read_only(self._starts), read_only(self._entry_texts), read_only(counts)
        for at in range(0, n, size):
            part = slice(at, at + size)
            of = read_only(records.numbers[part]), read_only(records.words[part]), read_only(records.changes[part])
            add_counts(*of, *of_words, totals)
            yield Progress("adding counts", at, n)
        for at in range(0, len(records), _RECORDS):
            sum_changes(read_only(records.pairs), totals, at, min(at + _RECORDS, len(records)))
        return totals

    def bytes(self, without: int | None = None) -> NDArray[np.float64]:
        """float64 [candidates], the bytes of each, without the part of this number."""
        sizes = self._bytes.sum(axis=1)
        return (sizes if without is None else sizes - self._bytes[:, without]).astype(np.float64)
