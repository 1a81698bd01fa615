"""The same line of text in several tokenizers: where each cuts it, and on which lines they differ most."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.analysis.baselines import WORDS, AnyTokenizer, SimpleTokenizer, WordTokenizer
from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.progress import Progress, Work, part_of
from tokstudio.core.base.records import dataclass
from tokstudio.core.comparison.counts import loses_text_work, tokens_of_each_work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source, row_of
from tokstudio.core.tokenizer.counts_by_merge import counts_by_merge_work, why_not_by_merge
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- Text tokens ------------------------------------------------------------------------------------------------------
# Counts the tokens that a tokenizer makes of a text after each of its merges, where these follow from one encoding.

_PHASE = "measuring"


@dataclass(frozen=True, eq=False)
class TextTokens:
    """The bytes and tokens of a text, each part of it as often as it counts."""

    bytes: int
    tokens: int
    by_merge: NDArray[np.int64] | None  # [n + 1], the tokens after 0, 1, ... n merges; None if they are not known
    no_curve: str = ""  # why they are not known, as a sentence
    trained: bool = False  # whether the tokenizer was trained on some of the text, if that was looked for
    loses_text: bool = False  # fewer tokens may then mean less text

    @property
    def bytes_per_token(self) -> float:
        """All bytes by all tokens, after all merges; 0 for a text without tokens."""
        return self.bytes / self.tokens if self.tokens else 0.0

    @cached_property
    def curve(self) -> NDArray[np.float64]:
        """float64 [n + 1], bytes per token after 0, 1, ... n merges; [] where these are not known."""
        if self.by_merge is None:
            return np.zeros(0)
        return np.divide(self.bytes, self.by_merge, out=np.zeros(len(self.by_merge)), where=self.by_merge > 0)


def text_tokens_work(tokenizer: Tokenizer, parts: Sequence[tuple[Corpus, int]], store: TokenStore) -> Work[TextTokens]:
    """Counts the tokens of a text: of parts, each with how often it counts. Special tokens in it are text.

    Raises:
        ConfigError: The text has a character that is not in the vocabulary.
        FormatError: The library that encodes for the tokenizer refuses the text.
    """
    counts, size, done = np.zeros(len(tokenizer.tokens), np.int64), 0, 0
    total = sum(part.bytes for part, times in parts if times)
    loses_text = False
    for part, times in parts:
        if not times:
            continue
        work = store.counts_work(tokenizer, part)
        of_part = yield from part_of(work, _PHASE, done, part.bytes, total)
        counts[of_part.ids] += times * of_part.counts
        loses_text = loses_text or (yield from loses_text_work(tokenizer, part, of_part))
        size, done = size + times * part.bytes, done + part.bytes
    reason = why_not_by_merge(tokenizer)
    by_merge = None if reason else (yield from counts_by_merge_work(tokenizer, counts)).tokens
    return TextTokens(size, int(counts.sum()), by_merge, reason or "", loses_text=loses_text)


_PIECE = 1 << 20
_LINES = 1 << 12


@dataclass(frozen=True, eq=False)
class CutText:
    """The tokens of a text; token i stands for the bytes from `ends[i - 1]` (0 for the first) to `ends[i]`."""

    ids: NDArray[np.uint32]  # [tokens]
    ends: NDArray[np.int64]  # [tokens], never decreasing; the last is the length of the text


def cut_work(tokenizer: AnyTokenizer | None, text: str) -> Work[CutText]:
    """Encodes a text that does not end a line; None stands for the words of the text itself.

    Raises:
        ConfigError: The text has a character that is not in the vocabulary.
        FormatError: The library that encodes for the tokenizer refuses the text.
    """
    if tokenizer is None:
        tokenizer = yield from WordTokenizer.from_text_work(text, WORDS)
    if isinstance(tokenizer, SimpleTokenizer):
        ids = yield from tokenizer.encode_work(text)
        # The tokens of a simple tokenizer, joined, are the text.
        distinct, places = np.unique(ids, return_inverse=True)
        sizes = np.array([len(tokenizer.decode_bytes([token])) for token in distinct.tolist()], np.int64)
        return CutText(ids, np.cumsum(sizes[places]))
    ids, ends = yield from tokenizer.encode_with_ends_work(text)
    if len(ends):
        ends = ends.copy()
        ends[-1] = len(text.encode())  # what a library drops at the end belongs to no token
    return CutText(ids, ends)


def borders(cuts: Sequence[CutText]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places inside a text where some of its encodings have a border of tokens.

    Returns:
        int64 [borders], the bytes before each border, ascending, without the beginning and the end of the text; and
        int64 [borders], how many of the encodings have it.
    """
    inner = [np.unique(cut.ends[:-1]) for cut in cuts]
    places, counts = np.unique(np.concatenate([np.empty(0, np.int64), *inner]), return_counts=True)
    size = max((int(cut.ends[-1]) for cut in cuts if len(cut.ends)), default=0)
    inside = (places > 0) & (places < size)
    return places[inside], counts[inside].astype(np.int64)


def lines_work(source: Source) -> Work[NDArray[np.int64]]:
    """int64 [lines, 2], where each line of a source begins and ends, without its line feed.

    A document's last line counts with or without a line feed; an empty document has none.
    """
    token_numbers: list[NDArray[np.int64]] = []
    for first in range(0, len(source.data), _PIECE):
        piece = np.asarray(source.data[first : first + _PIECE])
        token_numbers.append(np.flatnonzero(piece == 0x0A) + first)
        yield Progress("finding lines", first, len(source.data))
    feeds = np.concatenate([np.empty(0, np.int64), *token_numbers])
    ends = np.asarray(source.ends, np.int64)
    stops = np.union1d(feeds + 1, ends[ends > 0])
    starts = np.concatenate([np.zeros(1, np.int64), stops[:-1]])[: len(stops)]
    has_feed = np.isin(stops - 1, feeds)
    return np.stack([starts, stops - has_feed], axis=1)


_LONGEST_WORD = 64  # bytes of the text behind a line
_PLAIN_END, _FIRST_WORD = re.compile(rb"[^\s]\n\Z"), re.compile(rb"\s*[^\s]{1,40}")


@dataclass(frozen=True, eq=False)
class LineUnits:
    """The lines of a source as they are encoded one by one: with their ends, and empty lines with the line before.

    Where white space stands before the end of a line, or empty lines or white space behind it, the first word behind
    these belongs to it as well, because patterns look so far.
    """

    source: Source
    bounds: NDArray[np.int64]  # int64 [lines, 2], where each begins and ends, one where the next begins
    numbers: NDArray[np.int64]  # int64 [lines], the number of each from 1; empty lines count

    def place(self, line: int) -> str:
        """Where a line is, such as "line 3", or in a data set "row 4, line 2"."""
        if not self.source.is_rows:
            return f"line {self.numbers[line]:,}"
        begin, ends = int(self.bounds[line, 0]), np.asarray(self.source.ends, np.int64)
        document = int(np.searchsorted(ends, begin, side="right"))
        start = int(ends[document - 1]) if document else 0
        first = int(np.searchsorted(self.bounds[:, 0], start))
        row = f"row {row_of(self.source, document)[1]:,}"
        has_one = not bytes(self.source.data[start : int(ends[document])]).rstrip(b"\n").count(b"\n")
        return row if has_one else f"{row}, line {self.numbers[line] - self.numbers[first] + 1:,}"

    def texts_work(self, first: int, last: int) -> Work[list[bytes]]:
        """Some of the lines, each with the word behind it that belongs to it."""
        data, ends = self.source.data, np.asarray(self.source.ends, np.int64)
        bounds = self.bounds[first:last]
        stops: list[int] = ends[np.searchsorted(ends, bounds[:, 0], side="right")].tolist()
        texts: list[bytes] = []
        for (begin, end), stop in zip(bounds.tolist(), stops, strict=True):
            line = np.asarray(data[begin:end]).tobytes()
            # One byte more tells whether a character ends where the word has to end.
            following = np.asarray(data[end : min(end + _LONGEST_WORD + 1, stop)]).tobytes()
            texts.append(line + _behind(line, following))
            if len(texts) % _LINES == 0:
                yield Progress("finding lines", first + len(texts), len(self.bounds))
        return texts


def line_units_work(source: Source) -> Work[LineUnits]:
    """The lines of a source for libraries and tokenizers to encode."""
    lines = yield from lines_work(source)
    starts = lines[:, 0]
    is_empty = lines[:, 0] == lines[:, 1]
    short = np.flatnonzero(lines[:, 1] - lines[:, 0] == 1)
    is_empty[short] = np.asarray(source.data)[starts[short]] == ord("\r")
    begins_document = np.isin(starts, np.concatenate([[0], np.asarray(source.ends, np.int64)]))
    kept = np.flatnonzero(~is_empty | begins_document)
    bounds = np.append(starts[kept], len(source.data))
    return LineUnits(source, np.stack([bounds[:-1], bounds[1:]], axis=1), kept + 1)


def _behind(line: bytes, following: bytes) -> bytes:
    """What belongs to a line of the text after it: nothing where a line end stands alone between two words."""
    if _PLAIN_END.search(line) and not following[:1].isspace():
        return b""
    word = _FIRST_WORD.match(following, 0, _LONGEST_WORD)
    cut = word[0] if word else b""
    while cut and len(cut) < len(following) and following[len(cut)] & 0xC0 == 0x80:
        cut = cut[:-1]
    return cut


def line_text(source: Source, line: NDArray[np.int64]) -> str:
    """The text of a line of `lines_work`, without a carriage return at its end; bytes that are not UTF-8 are U+FFFD."""
    raw = np.asarray(source.data[int(line[0]) : int(line[1])]).tobytes()
    return raw.removesuffix(b"\r").decode("utf-8", "replace")


def tokens_of_lines_work(tokenizer: AnyTokenizer, source: Source, lines: NDArray[np.int64]) -> Work[NDArray[np.int64]]:
    """int64 [lines], how many tokens each line becomes; raises as `cut_work`."""
    sizes = [np.empty(0, np.int64)]
    for first in range(0, len(lines), _LINES):
        texts = [line_text(source, line).encode() for line in lines[first : first + _LINES]]
        sizes.append((yield from tokens_of_each_work(tokenizer, texts)))
        yield Progress("counting tokens", first, len(lines))
    return np.concatenate(sizes)


def difference(tokens: NDArray[np.int64]) -> NDArray[np.float64]:
    """How much encodings of the same texts differ.

    Args:
        tokens: int64 [tokenizers, texts], at least one tokenizer.

    Returns:
        float64 [texts], the most tokens of a text by the fewest, at least 1; 1 for a text without tokens.
    """
    return tokens.max(axis=0).clip(1) / tokens.min(axis=0).clip(1)
