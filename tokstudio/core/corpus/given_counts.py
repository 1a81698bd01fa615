"""Reads word counts that the user has: pre-tokens, and how often each occurs, as lines of text or of JSON."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from numbers import Integral
from pathlib import Path
from reprlib import repr as shortened
from typing import TYPE_CHECKING, cast

import numpy as np

from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.json_depth import TOO_DEEP, is_too_deep
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.open_sources import read_source
from tokstudio.core.corpus.source import Source
from tokstudio.core.text.encodings import WHY_NOT_POINTER, is_lfs_pointer
from tokstudio.core.text.utf8 import Text, is_utf8, to_utf8

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LINES = 1 << 12
_WORDS = 1 << 14
_PIECE = 1 << 18
LARGEST = 1 << 62  # bytes of text in all: counts of pairs are 64-bit numbers
_SMALL_DIGITS = 18  # a count of so many digits fits into 64 bits
_COUNT = re.compile(rb"\s*-?[0-9]{1,30}\s*")
_ESCAPE = re.compile(rb"\\(.?)", re.DOTALL)
_ESCAPED = {b"\\": b"\\", b"t": b"\t", b"n": b"\n", b"r": b"\r"}
_REPLACEMENT = "\ufffd".encode()
_TOKEN_KEYS = ("token", "word", "text")
_COUNT_KEYS = ("count", "frequency")


def counts_of_mapping(counts: Mapping[Text, int]) -> Source:
    """Makes a source of a mapping from pre-token to count; raises CorpusError where it is empty or invalid."""
    counted = _Counts()
    for token, count in counts.items():
        if problem := counted.add_text(token, count):
            raise CorpusError(f"Word counts: {problem}.")
    if not len(counted):
        raise CorpusError("Word counts: the mapping is empty; give at least one pre-token and its count.")
    return finish(counted.source_work("Word counts"))


def read_counts_work(path: Path) -> Work[Source]:
    r"""Reads a file of word counts in bounded pieces.

    A line is a pre-token, a tab and its count (in the pre-token `\t`, `\n`, `\r` and `\\` stand for a tab, a line
    feed, a carriage return and a backslash), or a JSON value: `["the", 12]` or `{"token": "the", "count": 12}`.
    The counts of a repeated pre-token are added.

    Raises:
        CorpusError: The file cannot be read, or a line is invalid; the message names the line.
    """
    raw = yield from read_source(path, encoding="bytes")
    counts, name = _Counts(), raw.name
    if is_lfs_pointer(np.asarray(raw.data[:512]).tobytes()):
        raise CorpusError(f"{name}: {WHY_NOT_POINTER}.")
    before = done = 0
    for piece in _whole_lines(raw.data):
        lines = piece.removeprefix(b"\xef\xbb\xbf" if not done else b"").split(b"\n")
        if not lines[-1]:
            lines.pop()
        for first in range(0, len(lines), _LINES):
            wrong = counts.add_lines(lines[first : first + _LINES])
            if wrong is not None:
                raise CorpusError(f"{name}: line {before + first + wrong[0] + 1:,}: {wrong[1]}.")
            yield Progress("reading", done, len(raw.data))
        before += len(lines)
        done += len(piece)
        yield Progress("reading", done, len(raw.data))
    if not len(counts):
        raise CorpusError(f"{name}: the file has no word counts.")
    return (yield from counts.source_work(name, path, raw.modified, raw.size_on_disk))


def _whole_lines(data: NDArray[np.uint8]) -> Iterator[bytes]:
    """Splits text after line feeds; a piece is empty while a long line goes on."""
    begun: list[bytes] = []
    for at in range(0, len(data), _PIECE):
        piece = np.asarray(data[at : at + _PIECE]).tobytes()
        end = piece.rfind(b"\n") + 1
        if end:
            yield b"".join((*begun, piece[:end]))
            begun = []
        else:
            yield b""
        begun.append(piece[end:])
    yield b"".join(begun)


class _Counts:
    """Pre-tokens and counts during reading."""

    def __init__(self) -> None:
        self._counts: dict[bytes, int] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._counts)

    def add_lines(self, lines: list[bytes]) -> tuple[int, str] | None:
        """Adds lines; returns the number of the first invalid one, from 0, and what is wrong with it."""
        counts, is_text = self._counts, is_utf8(b"\n".join(lines))
        for number, line in enumerate(lines):
            token, _, digits = line.removesuffix(b"\r").rpartition(b"\t")
            # A fast path for most lines; `_add_line` checks the others in detail.
            if is_text and token and b"\\" not in token and digits.isdigit() and len(digits) <= _SMALL_DIGITS:
                count = int(digits)
                self._size += len(token) * count
                if count and self._size <= LARGEST:
                    counts[token] = counts.get(token, 0) + count
                    continue
                self._size -= len(token) * count
            if line and (problem := self._add_line(line.removesuffix(b"\r"))):
                return number, problem
        return None

    def _add_line(self, line: bytes) -> str:
        """Adds a line; returns what is wrong with it, or ""."""
        if not line:
            return ""
        token, tab, count = line.rpartition(b"\t")
        is_count = tab and _COUNT.fullmatch(count)
        if not is_count and line.lstrip()[:1] in (b"[", b"{"):
            return self._add_json(line)
        if not tab:
            return "it must be a pre-token, a tab and a count"
        if not is_count:
            return f"the count {count[:20].decode('utf-8', 'replace')!r} is not a whole number"
        if not is_utf8(token):
            return "the pre-token is not UTF-8"
        wrong = next((match[0] for match in _ESCAPE.finditer(token) if match[1] not in _ESCAPED), None)
        if wrong is not None:
            return f"{wrong.decode('utf-8', 'replace')} is not an escape: write a backslash as \\\\"
        return self._add(_ESCAPE.sub(lambda match: _ESCAPED[match[1]], token), int(count))

    def _add_json(self, line: bytes) -> str:
        try:
            text = line.decode()
            if is_too_deep(text):
                raise ValueError(TOO_DEEP)
            value: object = json.loads(text)
        except UnicodeDecodeError:
            return "it is not UTF-8"
        except ValueError:
            return "it is not JSON" + (", nor a pre-token, a tab and a count" if b"\t" in line else "")
        match value:
            case [str(token), object() as count]:
                return self.add_text(token, count)
            case dict():
                entry = cast("dict[str, object]", value)
                token = next((entry[key] for key in _TOKEN_KEYS if key in entry), None)
                if isinstance(token, str):
                    return self.add_text(token, next((entry[key] for key in _COUNT_KEYS if key in entry), None))
            case _:
                pass
        return 'it must be ["token", count] or {"token": ..., "count": ...}'

    def add_text(self, token: object, count: object) -> str:
        """Adds a count; returns what is wrong with it, or ""."""
        if not isinstance(token, (str, bytes)):
            return f"the pre-token {shortened(token)} is not a string"
        raw = to_utf8(token)
        if isinstance(token, bytes):
            if not is_utf8(token):
                return f"the pre-token {shortened(token)} is not UTF-8"
        elif _REPLACEMENT in raw and raw.count(_REPLACEMENT) != token.count("\ufffd"):
            return f"the pre-token {shortened(token)} is not UTF-8: it contains half a character"
        return self._add(raw, count)

    def _add(self, token: bytes, count: object) -> str:
        if not token:
            return "the pre-token is empty"
        if isinstance(count, bool) or not isinstance(count, Integral):
            return f"the count {shortened(count)} is not a whole number"
        number = int(count)
        if number < 1:
            # Python refuses to print very long numbers.
            return f"the count {number:,} must be at least 1" if number > -LARGEST else "a count must be at least 1"
        if self._size + len(token) * number > LARGEST:
            return "the counts are too large: they add up to more text than can be counted"
        self._size += len(token) * number
        self._counts[token] = self._counts.get(token, 0) + number
        return ""

    def source_work(
        self, name: str, path: Path | None = None, modified: float | None = None, size_on_disk: int | None = None
    ) -> Work[Source]:
        """Makes a source of the counts in bounded pieces."""
        words, parts = len(self._counts), list[bytes]()
        ends, counts = np.empty(words, np.int64), np.empty(words, np.int64)
        entries = iter(self._counts.items())
        size = 0
        for first in range(0, words, _WORDS):
            tokens, numbers = zip(*islice(entries, _WORDS), strict=True)
            here = slice(first, first + len(tokens))
            ends[here] = np.cumsum(np.fromiter(map(len, tokens), np.int64, len(tokens)), dtype=np.int64) + size
            counts[here] = numbers
            size = int(ends[here][-1])
            parts.append(b"".join(tokens))
            yield Progress("reading", first, words)
        data = np.empty(size, np.uint8)
        at = 0
        for part in parts:
            data[at : at + len(part)] = np.frombuffer(part, np.uint8)
            at += len(part)
        yield Progress("reading", words, words)
        return Source(
            name, path, "utf-8", f"counts of {several(words, 'word')}", data, ends, modified, size_on_disk, counts
        )
