"""Reads word counts that were made elsewhere: pre-tokens, and how often each occurs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from numbers import Integral
from pathlib import Path
from typing import cast

import numpy as np

from tokstudio.core.corpus import Source, Text, to_utf8
from tokstudio.core.errors import CorpusError
from tokstudio.core.progress import Progress, Work

_LINES = 1 << 12
_LARGEST = 1 << 62  # bytes of text in all: counts of pairs are 64-bit numbers
_ESCAPE = re.compile(rb"\\(.?)", re.DOTALL)
_ESCAPED = {b"\\": b"\\", b"t": b"\t", b"n": b"\n", b"r": b"\r"}
_TOKEN_KEYS = ("token", "word", "text")
_COUNT_KEYS = ("count", "frequency")


def counts_of_mapping(counts: Mapping[Text, int], name: str = "Word counts") -> Source:
    """Makes a source of a mapping from pre-token to count.

    Raises:
        CorpusError: A pre-token is empty, or a count is not a positive whole number.
    """
    made = _Counts()
    for token, count in counts.items():
        if problem := made.add(to_utf8(token), count):
            raise CorpusError(f"{name}: {problem}.")
    return made.source(name)


def read_counts_work(path: Path) -> Work[Source]:
    r"""Reads a file of word counts, in bounded pieces.

    A line is a pre-token, a tab and its count (in the pre-token `\t`, `\n`, `\r` and `\\` stand for a tab, a line
    feed, a carriage return and a backslash), or a JSON value: `["the", 12]` or `{"token": "the", "count": 12}`.
    A pre-token that stands there twice is counted together.

    Raises:
        CorpusError: The file cannot be read, or a line is wrong; the message names it.
    """
    from tokstudio.core.readers import read_source

    raw = yield from read_source(path, encoding="bytes")
    made, name = _Counts(), raw.name
    lines = raw.data.tobytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for number, line in enumerate(lines, 1):
        line = line.removesuffix(b"\r")
        if line:
            problem = made.add_line(line)
            if problem:
                raise CorpusError(f"{name}: line {number:,}: {problem}.")
        if number % _LINES == 0:
            yield Progress("reading", number, len(lines))
    if not len(made):
        raise CorpusError(f"{name}: the file holds no word counts.")
    return made.source(name, path, raw.modified, raw.size_on_disk)


class _Counts:
    """Pre-tokens and counts while they are being read."""

    def __init__(self) -> None:
        self._counts: dict[bytes, int] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._counts)

    def add_line(self, line: bytes) -> str:
        """Takes a line; returns what is wrong with it, or nothing."""
        if line[:1] in (b"[", b"{") and b"\t" not in line:
            return self._add_json(line)
        token, tab, count = line.rpartition(b"\t")
        if not tab:
            return "it must be a pre-token, a tab and a count"
        if not re.fullmatch(rb"\s*-?[0-9]{1,30}\s*", count):
            return f"the count {count[:20].decode('utf-8', 'replace')!r} is not a whole number"
        try:
            token.decode()
        except UnicodeDecodeError:
            return "the pre-token is not UTF-8"
        wrong = next((found[0] for found in _ESCAPE.finditer(token) if found[1] not in _ESCAPED), None)
        if wrong is not None:
            return f"{wrong.decode('utf-8', 'replace')} means nothing: a backslash is written \\\\"
        return self.add(_ESCAPE.sub(lambda found: _ESCAPED[found[1]], token), int(count))

    def _add_json(self, line: bytes) -> str:
        try:
            value: object = json.loads(line.decode())
        except UnicodeDecodeError:
            return "it is not UTF-8"
        except (ValueError, RecursionError):
            return "it is not JSON"
        match value:
            case [str(token), object() as count]:
                return self.add(to_utf8(token), count)
            case dict():
                entry = cast("dict[str, object]", value)
                token = next((entry[key] for key in _TOKEN_KEYS if key in entry), None)
                if isinstance(token, str):
                    return self.add(to_utf8(token), next((entry[key] for key in _COUNT_KEYS if key in entry), None))
            case _:
                pass
        return 'it must be ["token", count] or {"token": ..., "count": ...}'

    def add(self, token: bytes, count: object) -> str:
        """Adds a count; returns what is wrong with it, or nothing."""
        if not token:
            return "the pre-token is empty"
        if isinstance(count, bool) or not isinstance(count, Integral):
            return f"the count {count!r} is not a whole number"
        number = int(count)
        if number < 1:
            return f"the count {number:,} must be at least 1"
        self._size += len(token) * number
        if self._size > _LARGEST:
            return "the counts are too large: together they stand for more text than can be counted"
        self._counts[token] = self._counts.get(token, 0) + number
        return ""

    def source(
        self, name: str, path: Path | None = None, modified: float | None = None, size_on_disk: int | None = None
    ) -> Source:
        return Source(
            name=name,
            path=path,
            encoding="utf-8",
            note=f"counts of {len(self._counts):,} words",
            data=np.frombuffer(b"".join(self._counts), np.uint8),
            ends=np.cumsum(_lengths(self._counts), dtype=np.int64),
            modified=modified,
            size_on_disk=size_on_disk,
            counts=np.array(list(self._counts.values()), np.int64),
        )


def _lengths(tokens: Iterable[bytes]) -> list[int]:
    return list(map(len, tokens))
