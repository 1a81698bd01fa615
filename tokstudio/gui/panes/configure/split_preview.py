"""Splits the beginning of a corpus by a pattern, and checks whether other libraries could; work for a job."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.source import Source
from tokstudio.core.formats.common.spelling import written_regex
from tokstudio.core.libraries.client import check_split_work
from tokstudio.core.pretokenization.patterns import NONE, OWN, splitter
from tokstudio.core.warm_up import prepare_work

_MOST = 1200  # bytes in the preview
_EXPORT = "Export to Hugging Face"
_EXAMPLE = "The cat's hat, 1984:\n    it isn't mine — ça va?\n"


@dataclass(frozen=True, eq=False)
class Split:
    """Text in pieces."""

    data: bytes
    ends: NDArray[np.int64]  # int64, the end of each piece
    problem: str = ""  # why it cannot be split, in the core's words; "" if it can


def first_lines(sources: Sequence[Source]) -> tuple[bytes, list[int]]:
    """The beginning of the first source with text, and the ends of its documents; without one, an example."""
    for source in sources:
        if source.counts is None and len(source.data):
            size = min(_MOST, len(source.data))
            if size < len(source.data):
                # Whole lines if possible, as the end of a piece can depend on the text after it.
                feeds = np.flatnonzero(source.data[:size] == ord("\n"))
                size = int(feeds[-1]) + 1 if len(feeds) else size
            while size < len(source.data) and size > 1 and source.data[size] & 0xC0 == 0x80:
                size -= 1
            ends = source.ends[: np.searchsorted(source.ends, size)].tolist()
            return source.data[:size].tobytes(), [*ends, size]
    example = _EXAMPLE.encode()
    return example, [len(example)]


def dialect_work(pattern: str, sources: Sequence[Source]) -> Work[str]:
    """Says why Hugging Face's library, which uses Oniguruma, cannot split text by this expression, or ""."""
    if splitter(pattern).kind != OWN:
        return ""
    raw, _ = first_lines(sources)
    try:
        yield from check_split_work(_EXPORT, pattern, written_regex(pattern), (raw.decode("utf-8", "ignore"),))
    except FormatError as error:
        return str(error)
    return ""


def split_work(pattern: str, sources: Sequence[Source]) -> Work[Split]:
    """Splits the beginning of a corpus, document by document."""
    raw, documents = first_lines(sources)
    data = np.frombuffer(raw, np.uint8)
    found: list[NDArray[np.int64]] = []
    start = 0
    problem = ""
    try:
        chosen = splitter(pattern)
        if chosen.kind not in (NONE, OWN):
            # Only scanners are compiled loops: without them, no compiler is loaded while the window opens.
            yield from prepare_work()
        for stop in documents:
            for ends in chosen.ends_work(data, start, stop):
                found.append(ends)
                yield Progress("splitting", stop, len(raw))
            start = stop
    except ConfigError as error:
        problem = str(error)
    return Split(raw, np.concatenate(found) if found else np.empty(0, np.int64), problem)
