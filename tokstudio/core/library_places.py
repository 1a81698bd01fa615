"""Where a token stands in text that its tokenizer's own library encodes: the text is asked about some lines at a time.

What the library changes of a text, such as its letters' case, is known to it alone, so that all text has to be encoded:
only the first `MOST` bytes of a corpus are.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.progress import Work
from tokstudio.core.tokenizer import Tokenizer

#: Bytes that are looked through at most.
MOST = 1 << 25

_PIECE = 1 << 15


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
        for line in [raw] if _is_text(raw) else raw.splitlines(keepends=True):
            if _is_text(line):
                yield at, at + len(line)
            at += len(line)
        start = end


def places_work(tokenizer: Tokenizer, token: int, raw: bytes) -> Work[list[tuple[int, int]]]:
    """Where a token begins and ends in some text; of several tokens within one character all stand where it ends."""
    ids, ends = yield from tokenizer.encode_with_ends_work(raw, "all")
    here = np.flatnonzero(ids == token)
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
    return list(zip(starts[here].tolist(), ends[here].tolist(), strict=True))


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
