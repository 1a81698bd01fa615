"""Encodes the documents of a corpus, many at a time, as a training sees them: special tokens are recognised."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tokstudio.core.analysis.baselines import (
    WORDS,
    AnyTokenizer,
    ByteTokenizer,
    CharacterTokenizer,
    SimpleTokenizer,
    WordTokenizer,
)
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.machine import free_memory
from tokstudio.core.base.progress import Progress, Work, part_of
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import size_of_memory
from tokstudio.core.corpus.source import Source, groups
from tokstudio.core.pretokenization.patterns import NONE, place_to_cut, splitter
from tokstudio.core.pretokenization.preparation import Preparation, PreparedText, prepare_work
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial, SpecialFinders
from tokstudio.core.pretokenization.word_table import PADDING
from tokstudio.core.tokenizer.batch import ends_work
from tokstudio.core.tokenizer.documents import MARK as MARK
from tokstudio.core.tokenizer.documents import as_text_work, marked_work, without_marks
from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST_SEQUENCE = 1 << 23
LAST_LINES = 1 << 16
BESIDE = 1 << 10  # bytes on either side of a cut

_GROUP, _DOCUMENTS = 1 << 24, 1 << 19  # bytes, and documents, to encode together
_LONG = 1 << 26  # bytes of a document from which on it is asked whether it fits
_MEMORY_OF_BYTE = 12  # bytes that encoding takes for each byte of a document
_ASKED = 1 << 16  # bytes of documents in one request to a library
_PHASE = "encoding"

_Bytes: TypeAlias = "NDArray[np.uint8]"
_Ends: TypeAlias = "NDArray[np.int64]"
_Ids: TypeAlias = "NDArray[np.uint32]"


def document_groups(source: Source) -> Iterator[tuple[int, int, int, int]]:
    """The documents of a source in groups to encode together; see `groups`."""
    return groups(source.ends, _GROUP, _DOCUMENTS)


@dataclass(frozen=True, eq=False)
class DocumentPart:
    """Some documents of a source, or a part of a long one."""

    data: _Bytes  # a copy
    ends: _Ends  # [documents], where each ends in `data`
    is_end: bool  # whether the last ends there


def document_parts(source: Source, cut_before: bytes) -> Iterator[DocumentPart]:
    """The documents of a source in groups to encode together; a long one is cut before some bytes.

    It is cut where no named pattern notices, about every 16 MiB if it has more than 32; see `place_to_cut`.
    """
    for first, last, start, stop in document_groups(source):
        at = start
        while cut_before and stop - at > 2 * _GROUP:
            cut = place_to_cut(source.data, at + _GROUP, stop, cut_before)
            if cut == stop:
                break
            yield DocumentPart(np.array(source.data[at:cut]), np.array([cut - at], np.int64), is_end=False)
            at = cut
        yield DocumentPart(np.array(source.data[at:stop]), (source.ends[first:last] - at).astype(np.int64), is_end=True)


def check_fits(ends: _Ends) -> None:
    """Raises CorpusError where a document is too long to be encoded whole in the free memory."""
    size = int(np.max(np.diff(ends, prepend=0), initial=0))
    if size > _LONG and (free := free_memory()) is not None and _MEMORY_OF_BYTE * size > free:
        raise CorpusError(
            f"A document of {size_of_memory(size)} does not fit into the free memory while it is encoded; divide it, "
            "for example into lines."
        )


@dataclass(frozen=True, eq=False)
class _Located:
    """Ids, and where they begin."""

    text: _Bytes  # that was encoded: with U+FFFD for bytes that are not UTF-8 where the tokenizer needs characters
    ids: _Ids
    begins: NDArray[np.int64]  # [ids], the byte of `text` where each begins, never decreasing
    tokens: NDArray[np.int64]  # [documents], how many each has
    ends: _Ends  # [documents], where each ends in `text`


class DocumentEncoder:
    """Encodes documents, uint8 one after another with int64 ends, each by itself and without dropout.

    A single sequence of more than 8 MiB, which is possible only without a pattern, is encoded in parts that end with a
    line. They meet where a token ends in both a part and the text within 1 KiB of its end, which is encoded as well.

    Args:
        tokenizer: Any tokenizer.
        recognise: Whether special tokens are recognised, or those that are.
        are_words: Whether the documents are words, which are neither split nor begun with a space.
        pattern: How TokStudio splits in place of the tokenizer's own pattern.
        preparation: What is done before in place of the tokenizer's own.
    """

    def __init__(
        self,
        tokenizer: AnyTokenizer,
        recognise: bool | Collection[str] = True,
        are_words: bool = False,
        pattern: str | None = None,
        preparation: Preparation | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        self._allowed: AllowedSpecial = recognise if not isinstance(recognise, bool) else "all" if recognise else ()
        self._own, self._is_sequence = None, False
        if isinstance(tokenizer, Tokenizer):
            pattern = "none" if are_words else tokenizer.pattern if pattern is None else pattern
            self._is_sequence = splitter(pattern).kind == NONE and not tokenizer.preparation.prefix_space
            if tokenizer.library is None:
                preparation = tokenizer.preparation if preparation is None else preparation
                self._preparation = replace(preparation, prefix_space=False) if are_words else preparation
                self._own = tokenizer
                # Its own encoder knows the words of texts before.
                is_own = pattern == tokenizer.pattern
                self._encoder = tokenizer.own_encoder if is_own else tokenizer.encoder(pattern)
                self._finders = SpecialFinders(tokenizer.special_tokens)
        self._cut_before = b""
        if self._own is not None and not self._is_sequence and not self._encoder.joins_words:
            if splitter(self._encoder.pattern).kind > NONE:
                self._cut_before = self._preparation.cut_before(tokenizer.special_tokens)
        elif isinstance(tokenizer, SimpleTokenizer):
            is_own = isinstance(tokenizer, WordTokenizer) and tokenizer.pattern not in (None, WORDS)
            self._cut_before = b"" if is_own else b" \n"

    def take_work(self, source: Source, take: Callable[[_Ids], None], marked: bool = True) -> Work[None]:
        """Gives `take` the ids of all documents of a source in parts, with `MARK` after those of each as in `ids_work`.

        A document of more than 32 MiB is encoded in parts where that changes nothing: it takes no more memory than
        short ones where a named pattern splits it and it has spaces. Raises as `ids_work`.
        """
        total, done = len(source.data), 0
        for part in document_parts(source, self._cut_before):
            work = self.ids_work(part.data, part.ends, marked)
            ids = yield from part_of(work, _PHASE, done, len(part.data), total)
            done += len(part.data)
            for number, some in enumerate(ids, 1):
                goes_on = number == len(ids) and not part.is_end and len(some) and some[-1] == MARK
                take(some[:-1] if goes_on else some)
                yield Progress(_PHASE, done, total)

    def tokens_work(self, source: Source) -> Work[int]:
        """How many tokens all documents of a source become; raises as `ids_work`."""
        counts: list[int] = []
        yield from self.take_work(source, lambda ids: counts.append(int(np.count_nonzero(ids != MARK))), marked=False)
        return sum(counts)

    def ids_work(self, data: _Bytes, ends: _Ends, marked: bool = True) -> Work[list[_Ids]]:
        """The ids of documents in parts, with `MARK` after those of each; who does not ask for marks may have none.

        Raises:
            ConfigError: A character is not in the vocabulary.
            CorpusError: A document does not fit into the free memory while it is encoded.
            FormatError: The library that encodes for the tokenizer refuses the text.
        """
        if self._is_sequence and len(ends) == 1 and len(data) > LONGEST_SEQUENCE:
            return (yield from self._parts_work(data))
        check_fits(ends)
        if self._own is not None:
            prepared = yield from self._prepared_work(self._own, data, ends)
            return (yield from self._encoded_work(self._own, prepared, marked))
        if isinstance(self._tokenizer, ByteTokenizer):
            return [np.insert(data.astype(np.uint32), ends, MARK)]
        if isinstance(self._tokenizer, SimpleTokenizer):
            return (yield from _simple_work(self._tokenizer, data, ends))
        parts: list[_Ids] = []
        for first, last, start, stop in groups(ends, _ASKED):
            located = yield from self._asked_work(data[start:stop], ends[first:last] - start)
            parts.append(np.insert(located.ids, np.cumsum(located.tokens), MARK))
            yield Progress(_PHASE, stop, len(data))
        return parts

    def texts_work(self, texts: Sequence[bytes]) -> Work[tuple[_Ids, NDArray[np.int64]]]:
        """The ids of texts one after another, and int64 [texts], how many each has; raises as `ids_work`."""
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
        return without_marks((yield from self.ids_work(np.frombuffer(b"".join(texts), np.uint8), ends)))

    def lines_work(
        self, data: _Bytes, ends: _Ends, of_last_bytes: bool = False
    ) -> Work[tuple[_Ids, NDArray[np.int64], NDArray[np.int64]]]:
        """The ids of documents, and the line that each begins in, or that its last byte is in.

        Text that a library drops belongs to the token after it. The line of a last byte may be that before the first of
        its document where a token has no bytes, or after its last where documents without tokens follow.

        Returns:
            uint32 [tokens]; int64 [tokens], the line feeds before each in its document; int64 [documents], the tokens
            of each. Of a `WordTokenizer`, the words of each line, as its own patterns never match a line feed.
        """
        if isinstance(self._tokenizer, SimpleTokenizer):
            return (yield from _simple_lines_work(self._tokenizer, data, ends))
        located = yield from self._located_work(data, ends)
        feeds = np.flatnonzero(located.text == ord("\n"))
        of_documents = np.diff(np.searchsorted(np.flatnonzero(data == ord("\n")), ends), prepend=0)
        before = np.repeat(np.cumsum(of_documents) - of_documents, located.tokens)
        places = np.append(located.begins[1:], len(located.text)) - 1 if of_last_bytes else located.begins
        return located.ids, np.searchsorted(feeds, places[: len(before)]) - before, located.tokens

    def begins_work(self, data: _Bytes, ends: _Ends) -> Work[tuple[_Bytes, _Ends, NDArray[np.int64]]]:
        """Where the tokens of documents begin; not for a `WordTokenizer`, whose tokens have no place.

        Returns:
            The documents as they are encoded, uint8 one after another with int64 ends, with U+FFFD for bytes that are
            not UTF-8 where the tokenizer needs characters; int64 [tokens], the byte of them where each token begins.
        """
        if isinstance(self._tokenizer, ByteTokenizer):
            return data, ends, np.arange(len(data))
        if isinstance(self._tokenizer, CharacterTokenizer):
            text, ends = yield from as_text_work(data, ends)
            return text, ends, np.flatnonzero((text & 0xC0) != 0x80)
        located = yield from self._located_work(data, ends)
        return located.text, located.ends, located.begins

    def _located_work(self, data: _Bytes, ends: _Ends) -> Work[_Located]:
        check_fits(ends)
        own = self._own
        if own is None:
            asked: list[_Located] = []
            for first, last, start, stop in groups(ends, _ASKED):
                asked.append((yield from self._asked_work(data[start:stop], ends[first:last] - start)))
                yield Progress(_PHASE, stop, len(data))
            return _joined(asked)
        text, ends = (yield from as_text_work(data, ends)) if own.alphabet.base == "characters" else (data, ends)
        prepared = yield from self._prepared_work(own, text, ends)
        marked = np.concatenate((yield from self._encoded_work(own, prepared)))
        is_mark = marked == MARK
        ids, tokens = marked[~is_mark], np.diff(np.flatnonzero(is_mark), prepend=-1) - 1
        raw = prepared.data[: prepared.size].tobytes()
        recognised = self._allowed == "all" or bool(self._preparation.ordinary)
        stops = yield from ends_work(own.tokens, own.alphabet.unknown, raw, ids, recognised)
        stops = np.maximum.accumulate(prepared.original(stops))
        begins = np.concatenate([np.zeros(1, np.int64), stops])[: len(ids)]
        has_tokens = np.flatnonzero(tokens)
        begins[(np.cumsum(tokens) - tokens)[has_tokens]] = np.concatenate([[0], ends[:-1]])[has_tokens]
        return _Located(text, ids, begins, tokens, ends)

    def _asked_work(self, data: _Bytes, ends: _Ends) -> Work[_Located]:
        """Asks the tokenizer's library about several documents together."""
        tokenizer = self._tokenizer
        assert isinstance(tokenizer, LibraryTokenizer)
        texts = [part.tobytes().decode("utf-8", "replace").encode() for part in np.split(data, ends[:-1])]
        ids, stops, tokens = yield from tokenizer.encode_texts_with_ends_work(texts, self._allowed)
        begins = np.concatenate([np.zeros(1, np.int64), stops])[: len(ids)]
        begins[(np.cumsum(tokens) - tokens)[tokens > 0]] = 0
        sizes = np.array(list(map(len, texts)), np.int64)
        begins += np.repeat(np.cumsum(sizes) - sizes, tokens)
        return _Located(np.frombuffer(b"".join(texts), np.uint8), ids, begins, tokens, np.cumsum(sizes))

    def _prepared_work(self, own: Tokenizer, data: _Bytes, ends: _Ends) -> Work[PreparedText]:
        if own.alphabet.base == "characters":
            data, ends = yield from as_text_work(data, ends)
        padded = np.zeros(len(data) + PADDING, np.uint8)
        padded[: len(data)] = data
        return (yield from prepare_work(self._preparation, self._finders, padded, ends, self._allowed))

    def _encoded_work(self, own: Tokenizer, prepared: PreparedText, marked: bool = True) -> Work[list[_Ids]]:
        if marked:
            return (yield from marked_work(self._encoder, own.special_tokens, prepared))
        ids = [*(own.special_tokens[text.decode()] for text in prepared.specials), -1]
        return (yield from self._encoder.encode_work(prepared.data, prepared.pieces, np.array(ids, np.int32)))

    # --- A long sequence in parts -------------------------------------------------------------------------------------

    def _parts_work(self, data: _Bytes) -> Work[list[_Ids]]:
        """The ids of a long sequence, with a mark at their end."""
        if self._own is None or self._own.alphabet.base == "characters":
            data, _ = yield from as_text_work(data, np.array([len(data)], np.int64))
        cuts = _cuts(data)
        parts, first = list[_Ids](), 0  # the first byte that has no token yet
        ids, begins = yield from self._span_work(data, cuts[0], cuts[1])
        for number, cut in enumerate(cuts[1:-1], 1):
            work = self._span_work(data, cut, cuts[number + 1])
            size = cuts[number + 1] - cut
            next_ids, next_begins = yield from part_of(work, _PHASE, cut, size, len(data))
            low, high = _characters_around(data, first, cut, cuts[number + 1])
            near_ids, near_begins = yield from self._span_work(data, low, high)
            left = _meeting(begins, near_begins, low, cut)
            right = _meeting(near_begins, next_begins, cut, high)
            if left is not None and right is not None and left <= right:
                chosen = slice(*np.searchsorted(begins, [first, left]).tolist())
                parts += [ids[chosen], near_ids[slice(*np.searchsorted(near_begins, [left, right]).tolist())]]
                first = right
            else:
                parts.append(ids[np.searchsorted(begins, first) :])
                first = cut
            ids, begins = next_ids, next_begins
        return [*parts, ids[np.searchsorted(begins, first) :], np.array([MARK], np.uint32)]

    def _span_work(self, data: _Bytes, start: int, stop: int) -> Work[tuple[_Ids, NDArray[np.int64]]]:
        """The ids of a part of a sequence, and the bytes of the whole where they begin."""
        part = np.asarray(data[start:stop])
        located = yield from self._located_work(part, np.array([len(part)], np.int64))
        return located.ids, located.begins + start


def _cuts(data: _Bytes) -> list[int]:
    """Where a long sequence is cut: after a line if it has lines, else anywhere; with its beginning and end."""
    cuts = [0]
    while cuts[-1] < len(data):
        stop = min(cuts[-1] + LONGEST_SEQUENCE, len(data))
        if stop < len(data):
            feeds = np.flatnonzero(data[stop - LAST_LINES : stop] == ord("\n"))
            stop = stop - LAST_LINES + int(feeds[-1]) + 1 if len(feeds) else stop
            while cuts[-1] < stop - 1 and data[stop] & 0xC0 == 0x80:
                stop -= 1
        cuts.append(stop)
    return cuts


def _characters_around(data: _Bytes, start: int, cut: int, stop: int) -> tuple[int, int]:
    """The text beside a cut, of whole characters where it has any, from `start` to `stop`."""
    low, high = max(start, cut - BESIDE), min(cut + BESIDE, stop)
    while low < cut and data[low] & 0xC0 == 0x80:
        low += 1
    while cut < high < len(data) and data[high] & 0xC0 == 0x80:
        high -= 1
    return low, high


def _meeting(left: NDArray[np.int64], right: NDArray[np.int64], low: int, high: int) -> int | None:
    """The byte nearest to the middle of a stretch where a token begins on both sides; None where there is none."""
    near = left[slice(*np.searchsorted(left, [low, high]).tolist())]
    common = near[np.isin(near, right)]
    return int(common[np.argmin(np.abs(common - (low + high) // 2))]) if len(common) else None


# --- Text for tokenizers that need characters, and simple tokenizers --------------------------------------------------


def _simple_work(tokenizer: SimpleTokenizer, data: _Bytes, ends: _Ends) -> Work[list[_Ids]]:
    if isinstance(tokenizer, CharacterTokenizer):
        text, ends = yield from as_text_work(data, ends)
        ids = yield from tokenizer.encode_work(text.tobytes())
        characters = np.concatenate([np.zeros(1, np.int64), np.cumsum((text & 0xC0) != 0x80)])
        return [np.insert(ids, characters[ends], MARK)]
    parts, start, mark = list[_Ids](), 0, np.array([MARK], np.uint32)
    for end in ends.tolist():
        parts += [(yield from tokenizer.encode_work(data[start:end].tobytes())), mark]
        start = end
    return parts


def _simple_lines_work(
    tokenizer: SimpleTokenizer, data: _Bytes, ends: _Ends
) -> Work[tuple[_Ids, NDArray[np.int64], NDArray[np.int64]]]:
    line_ends = np.union1d(np.flatnonzero(data == ord("\n")) + 1, ends)
    line_ends = line_ends[line_ends > 0]
    marked = np.concatenate([np.empty(0, np.uint32), *(yield from _all_of(tokenizer, data, line_ends))])
    is_mark = marked == MARK
    of_lines = np.diff(np.flatnonzero(is_mark), prepend=-1) - 1
    document = np.searchsorted(ends, line_ends)
    numbers = np.arange(len(line_ends)) - np.searchsorted(document, document)
    tokens = np.bincount(document, of_lines, len(ends)).astype(np.int64)
    return marked[~is_mark], np.repeat(numbers, of_lines), tokens


def _all_of(tokenizer: SimpleTokenizer, data: _Bytes, ends: _Ends) -> Work[list[_Ids]]:
    return (yield from DocumentEncoder(tokenizer).ids_work(data, ends))


def _joined(parts: list[_Located]) -> _Located:
    """Documents that were encoded one group after another."""
    sizes = np.array([len(part.text) for part in parts], np.int64)
    shifts = np.cumsum(sizes) - sizes
    return _Located(
        np.concatenate([np.empty(0, np.uint8), *(part.text for part in parts)]),
        np.concatenate([np.empty(0, np.uint32), *(part.ids for part in parts)]),
        np.concatenate([np.empty(0, np.int64), *(part.begins + at for part, at in zip(parts, shifts, strict=True))]),
        np.concatenate([np.empty(0, np.int64), *(part.tokens for part in parts)]),
        np.concatenate([np.empty(0, np.int64), *(part.ends + at for part, at in zip(parts, shifts, strict=True))]),
    )
