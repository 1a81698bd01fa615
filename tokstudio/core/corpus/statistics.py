"""Statistics of a corpus (characters, lines, scripts), and the first lines of a source.

Bytes that are not UTF-8 are counted separately and are not characters. In word counts, each word counts as often as it
occurs.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.arrays import grown
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.text.encodings import code_points, numbers_of_characters
from tokstudio.core.text.languages import scripts_work

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PIECE = 1 << 17
_WORDS_IN_A_PIECE = 1 << 12
PREVIEW_BYTES = 1 << 16
_LOOK, _LOOKED_AT = 1 << 13, 1 << 20  # bytes of a place, and of all, in which a script is looked for
_INVALID = slice(0xDC80, 0xDD00)


@dataclass(frozen=True)
class Statistics:
    """Statistics of a corpus."""

    bytes: int
    documents: int  # documents, without the words of word counts
    words: int  # distinct words with given counts, not counted from text
    characters: int
    lines: int  # lines of text; a document's last line counts with or without a line feed, an empty document has none
    distinct_characters: int
    invalid_bytes: int  # bytes that are part of no UTF-8 character
    # each script with its share of the letters (and of the marks on them), the largest first
    scripts: tuple[tuple[str, float], ...]
    longest_line_bytes: int  # bytes of the longest line, without its line feed


def statistics_work(corpus: Corpus) -> Work[Statistics]:
    """Counts the statistics of a corpus in bounded pieces."""
    counts = np.zeros(0, np.int64)
    lines = longest = done = 0
    total = sum(len(source.data) for source in corpus.sources)
    for source in corpus.sources:
        if source.counts is not None:
            for points, occurrences, size in _weighted_characters(source, source.counts):
                counts = _added(counts, points, occurrences)
                done += size
                yield Progress("counting characters", done, total)
            continue
        more, longest_here = yield from _lines(source)
        lines, longest = lines + more, max(longest, longest_here)
        for points, size in _characters(source):
            counts = _added(counts, points, 1)
            done += size
            yield Progress("counting characters", done, total)
    invalid = int(counts[_INVALID].sum())
    counts[_INVALID] = 0
    scripts = yield from _scripts(counts)
    return Statistics(
        bytes=corpus.bytes,
        documents=sum(source.documents for source in corpus.sources if source.counts is None),
        words=sum(source.documents for source in corpus.sources if source.counts is not None),
        characters=int(counts.sum()),
        lines=lines,
        distinct_characters=int(np.count_nonzero(counts)),
        invalid_bytes=invalid,
        scripts=scripts,
        longest_line_bytes=longest,
    )


def main_script_work(sources: Sequence[Source]) -> Work[str]:
    """The script of most letters, in 1 MiB of text from all parts of the sources; "" where there are no letters."""
    counts = np.zeros(0, np.int64)
    total = sum(len(source.data) for source in sources)
    step = max(1, total // _LOOKED_AT) * _LOOK
    for source in sources:
        for start in range(0, len(source.data), step):
            for points, _ in code_points(source.data[start : start + _LOOK]):
                counts = _added(counts, points, 1)
            yield Progress("counting characters", start, len(source.data))
    counts[_INVALID] = 0
    scripts = yield from _scripts(counts)
    return scripts[0][0] if scripts else ""


def preview(source: Source, lines: int = 200) -> str:
    """The first lines of a source, at most its first 64 KiB."""
    whole = len(source.data) <= PREVIEW_BYTES
    text = codecs.utf_8_decode(source.data[:PREVIEW_BYTES].tobytes(), "replace", whole)[0]
    return "\n".join(text.split("\n", lines)[:lines])


def characters_work(source: Source) -> Work[tuple[int, int]]:
    """How many code points a text has, with one for each byte that is not UTF-8; and how many of ASCII."""
    characters = ascii_bytes = start = 0
    for stop in [*_split_characters(source), len(source.data)]:
        piece = np.asarray(source.data[start:stop])
        for number, size in numbers_of_characters(piece):
            characters += number
            ascii_bytes += int(np.count_nonzero(piece[:size] < 0x80))
            piece, start = piece[size:], start + size
            yield Progress("counting characters", start, len(source.data))
    return characters, ascii_bytes


def is_utf8_work(source: Source) -> Work[bool]:
    """Whether each document of a source is UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    if _split_characters(source):
        return False
    for start in range(0, len(source.data), _PIECE):
        try:
            decoder.decode(source.data[start : start + _PIECE].tobytes(), start + _PIECE >= len(source.data))
        except UnicodeDecodeError:
            return False
        yield Progress("counting characters", start, len(source.data))
    return True


def lines_work(source: Source) -> Work[int]:
    """How many lines a text has."""
    return (yield from _lines(source))[0]


def _lines(source: Source) -> Work[tuple[int, int]]:
    """Counts lines and measures the longest: a line ends after a line feed and at the end of its document."""
    data, ends = source.data, source.ends
    lines = longest = line_start = 0
    for start in range(0, len(data), _PIECE):
        piece = data[start : start + _PIECE]
        is_feed = piece == ord("\n")
        is_last = is_feed.copy()
        first, last = np.searchsorted(ends, [start, start + len(piece)], side="right").tolist()
        is_last[ends[first:last] - (start + 1)] = True
        last_bytes = np.flatnonzero(is_last)
        if len(last_bytes):
            lengths = np.diff(last_bytes + (start + 1), prepend=line_start) - is_feed[last_bytes]
            longest = max(longest, int(lengths.max()))
            lines += len(last_bytes)
            line_start = start + int(last_bytes[-1]) + 1
        yield Progress("counting lines", start + len(piece), len(data))
    return lines, longest


def _characters(source: Source) -> Iterator[tuple[NDArray[np.uint32], int]]:
    """Yields code points and how many bytes they took; no character extends over two documents."""
    start = 0
    for stop in [*_split_characters(source), len(source.data)]:
        yield from code_points(source.data[start:stop])
        start = stop


def _weighted_characters(
    source: Source, counts: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.int64], int]]:
    """Yields the code points of word counts, how often each occurs, and how many bytes they took."""
    start = 0
    for first in range(0, len(counts), _WORDS_IN_A_PIECE):
        begin, words = start, list[str]()
        for end in source.ends[first : first + _WORDS_IN_A_PIECE].tolist():
            words.append(source.data[start:end].tobytes().decode("utf-8", "surrogateescape"))
            start = end
        # numpy copies the characters directly; a codec would stop at every surrogate.
        points = np.array(["".join(words)]).view(np.uint32)
        occurrences = counts[first : first + _WORDS_IN_A_PIECE]
        yield points, np.repeat(occurrences, list(map(len, words))), start - begin


def _split_characters(source: Source) -> list[int]:
    """The document borders that are followed by a continuation byte; mostly there are none."""
    borders: list[int] = []
    for start in range(0, len(source.data), _PIECE):
        piece = source.data[start : start + _PIECE]
        first, last = np.searchsorted(source.ends, [start, start + len(piece)]).tolist()
        ends = source.ends[first:last]
        borders += ends[(piece[ends - start] & 0xC0) == 0x80].tolist()
    return borders


def _added(counts: NDArray[np.int64], points: NDArray[np.uint32], times: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Adds how often code points occur to the counts by code point, which grow to the highest."""
    size = int(points.max(initial=0)) + 1
    if size > len(counts):
        counts = grown(counts, size)
    np.add.at(counts, points, times)
    return counts


def _scripts(counts: NDArray[np.int64]) -> Work[tuple[tuple[str, float], ...]]:
    """The share of each script in the letters of `counts`, which is indexed by code point."""
    scripts = yield from scripts_work(np.flatnonzero(counts).astype(np.uint32))
    of_each = [(script, int(counts[points].sum())) for script, points in scripts]
    total = sum(count for _, count in of_each)
    return tuple(sorted(((script, count / total) for script, count in of_each), key=lambda share: -share[1]))
