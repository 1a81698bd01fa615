"""Where a token stands in text that its tokenizer's own library encodes: the text is asked about some lines at a time.

What the library changes of a text, such as its letters' case, is known to it alone, so that all text has to be encoded:
only the first `MOST` bytes of a corpus are. Lines are encoded with what stands around them in their document, so that
tokens are those of the whole document, and what a library puts before a text stands at its beginning only.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Work
from tokstudio.core.text.utf8 import is_utf8
from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer

#: Bytes that are looked through at most.
MOST = 33_000_000

_PIECE = 1 << 15
_MARGIN = 1 << 10  # bytes on either side


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Some lines of a document, or a part of a long line.

    Attributes:
        document: Which of the source's documents, from 0.
        first: The byte where it begins.
        last: The byte behind it.
        ends: Whether its document ends there.
        start: The byte where the text begins that is encoded.
        text: That text: the stretch, and some of what stands around it in its document.
    """

    document: int
    first: int
    last: int
    ends: bool
    start: int
    text: bytes


def stretches_of(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> Iterator[list[LineSpan]]:
    """Cuts documents into stretches, and gives as many together as are some 32 KiB."""
    together: list[LineSpan] = []
    start = size = 0
    for document, end in enumerate(ends.tolist()):
        for first, last in lines_of(data, start, end):
            if together and size + last - first > _PIECE:
                yield together
                together, size = [], 0
            before = _text_before(data, start, first)
            text = before + data[first:last].tobytes() + _text_behind(data, last, end)
            together.append(LineSpan(document, first, last, last == end, first - len(before), text))
            size += last - first
        start = end
    if together:
        yield together


def lines_of(data: NDArray[np.uint8], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Cuts a document into stretches of whole lines, each some 32 KiB; a line that is longer, where a character begins.

    What is not UTF-8 is left out: such a stretch is cut into its lines, and those that are text are given.
    """
    while start < stop:
        end = min(start + _PIECE, stop)
        if end < stop:
            raw = data[start:end].tobytes()
            end = start + raw.rfind(b"\n") + 1
            if end == start:
                end = start + len(raw)
                while end > start + 1 and data[end] & 0xC0 == 0x80:
                    end -= 1
        raw, at = data[start:end].tobytes(), start
        for line in [raw] if is_utf8(raw) else raw.splitlines(keepends=True):
            if is_utf8(line):
                yield at, at + len(line)
            at += len(line)
        start = end


def places_work(
    tokenizer: LibraryTokenizer, token: int, stretches: Sequence[LineSpan]
) -> Work[list[tuple[int, int, int]]]:
    """In which document a token stands, where it begins and where it ends, for all places that begin in some stretches.

    Of several tokens within one character all but one stand where it ends; that is within their document.
    """
    texts = [stretch.text for stretch in stretches]
    ids, ends, counts = yield from tokenizer.encode_texts_with_ends_work(texts, "all")
    of = np.repeat(np.arange(len(stretches)), counts)
    begins = np.concatenate([np.zeros(1, np.int64), ends[:-1]])[: len(ends)]
    begins[np.flatnonzero(np.diff(of, prepend=-1))] = 0
    rows = np.flatnonzero(ids == token)
    numbers: list[int] = of[rows].tolist()
    found: list[tuple[int, int, int]] = []
    for number, begins_at, ends_at in zip(numbers, begins[rows].tolist(), ends[rows].tolist(), strict=True):
        stretch = stretches[number]
        begin, end = stretch.start + begins_at, stretch.start + ends_at
        # What begins around it is another stretch's, where more of what is beside it is known.
        if stretch.first <= begin < stretch.last or (stretch.ends and begin == stretch.last):
            found.append((stretch.document, begin, end))
    return found


def _text_before(data: NDArray[np.uint8], start: int, stop: int) -> bytes:
    """The text that ends at `stop`, as far as it is encoded with what follows."""
    raw = data[max(start, stop - _MARGIN) : stop].tobytes()
    while True:
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            raw = raw[error.end :]
        else:
            return raw


def _text_behind(data: NDArray[np.uint8], start: int, stop: int) -> bytes:
    """The text from `start` on, as far as it is encoded with what stands before."""
    raw = data[start : min(stop, start + _MARGIN)].tobytes()
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return raw[: error.start]
    return raw
