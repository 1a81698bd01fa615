"""Finds the occurrences of a token where text is changed before it is split, some lines at a time.

Tokens are then no parts of the text, such as where a library changes the case of letters, so all text must be encoded:
only the first `MOST` bytes of a corpus are. Lines are encoded with the text around them in their document, so that
tokens are those of the whole document, and tokens that are added before a text occur at its beginning only.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Work
from tokstudio.core.text.utf8 import is_utf8
from tokstudio.core.tokenizer.tokenizer import Tokenizer

#: The most bytes to search.
MOST = 33_000_000

_PIECE = 1 << 15
_MARGIN = 1 << 10  # bytes on either side


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Some lines of a document, or a part of a long line."""

    document: int  # the number of the document in its source, from 0
    first: int  # the first byte
    last: int  # the byte after the last
    ends: bool  # whether its document ends there
    start: int  # the first byte of the text to encode
    text: bytes  # the text to encode: the span, and some of the document around it


def spans_of(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> Iterator[list[LineSpan]]:
    """Divides documents into spans, and yields about 32 KiB of them together."""
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
    """Divides a document into spans of whole lines, each about 32 KiB; a longer line is divided between characters.

    Text that is not UTF-8 is left out: such a span is divided into lines, and the valid ones are yielded.
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


def occurrences_work(tokenizer: Tokenizer, token: int, spans: Sequence[LineSpan]) -> Work[list[tuple[int, int, int]]]:
    """The document, start and end of each occurrence of a token that begins in the given spans.

    Of several tokens within one character, all but one are where it ends, within their document.
    """
    texts = [span.text for span in spans]
    ids, ends, counts = yield from tokenizer.encode_texts_with_ends_work(texts, "all")
    of = np.repeat(np.arange(len(spans)), counts)
    begins = np.concatenate([np.zeros(1, np.int64), ends[:-1]])[: len(ends)]
    begins[np.flatnonzero(np.diff(of, prepend=-1))] = 0
    rows = np.flatnonzero(ids == token)
    numbers: list[int] = of[rows].tolist()
    occurrences: list[tuple[int, int, int]] = []
    for number, begins_at, ends_at in zip(numbers, begins[rows].tolist(), ends[rows].tolist(), strict=True):
        span = spans[number]
        begin, end = span.start + begins_at, span.start + ends_at
        # Tokens that begin outside belong to another span, where more of the text around them is known.
        if span.first <= begin < span.last or (span.ends and begin == span.last):
            occurrences.append((span.document, begin, end))
    return occurrences


def _text_before(data: NDArray[np.uint8], start: int, stop: int) -> bytes:
    """The text before `stop` to encode with the text after it."""
    raw = data[max(start, stop - _MARGIN) : stop].tobytes()
    while True:
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            raw = raw[error.end :]
        else:
            return raw


def _text_behind(data: NDArray[np.uint8], start: int, stop: int) -> bytes:
    """The text from `start` on to encode with the text before it."""
    raw = data[start : min(stop, start + _MARGIN)].tobytes()
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return raw[: error.start]
    return raw
