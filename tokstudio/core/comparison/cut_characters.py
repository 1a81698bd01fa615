"""Where tokens cut characters of a text that is not UTF-8: each byte that is not UTF-8 counts as one character."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.analysis.baselines import AnyTokenizer, ByteTokenizer, SimpleTokenizer
from tokstudio.core.analysis.document_encoder import DocumentEncoder, document_groups
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.comparison.texts import ComparedText

if TYPE_CHECKING:
    from numpy.typing import NDArray


def parts_of_characters_work(tokenizer: AnyTokenizer, text: ComparedText) -> Work[tuple[int, int]]:
    """How many characters are in several tokens, and how many tokens have a part of one and bytes of another.

    Raises as `counts_work`.
    """
    cut = crossing = 0
    if isinstance(tokenizer, SimpleTokenizer) and not isinstance(tokenizer, ByteTokenizer):
        return cut, crossing
    source, encoder = text.source, DocumentEncoder(tokenizer, recognise=False)
    for first, last, start, stop in document_groups(source):
        data, ends = np.array(source.data[start:stop]), (source.ends[first:last] - start).astype(np.int64)
        encoded, ends, begins = yield from encoder.begins_work(data, ends)
        numbers, inside = _characters(encoded, ends)
        has_token = np.zeros(len(inside), np.bool_)
        has_token[begins] = True
        cut += len(np.unique(numbers[has_token[:-1] & inside[:-1]]))
        stops = np.append(begins[1:], [len(encoded)])[: len(begins)]
        begins, stops = begins[begins < stops], stops[begins < stops]
        is_part = inside[begins] | inside[stops]
        crossing += int(np.count_nonzero(is_part & (numbers[begins] != numbers[stops - 1])))
        yield Progress("encoding", stop, len(source.data))
    return cut, crossing


def _characters(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Of documents, one after another with their ends, the characters.

    Returns:
        int64 [bytes], the number of the character of each byte; bool [bytes + 1], whether a place is inside one.
    """
    decoded = data.tobytes().decode("utf-8", "surrogateescape")
    points = np.frombuffer(decoded.encode("utf-32-le", "surrogatepass"), "<u4")
    sizes = 1 + (points >= 0x80).astype(np.int64) + (points >= 0x800) + (points >= 0x10000)
    sizes[(points >= 0xDC80) & (points <= 0xDCFF)] = 1
    stops = np.cumsum(sizes)
    starts = stops - sizes
    is_first = np.zeros(len(data) + 1, np.bool_)
    is_first[starts] = True
    # No character extends over two documents.
    extends = np.searchsorted(ends, stops, "left") > np.searchsorted(ends, starts, "right")
    for at in np.flatnonzero(extends).tolist():
        is_first[starts[at] : stops[at]] = True
    is_first[-1] = True
    return np.cumsum(is_first[:-1], dtype=np.int64), ~is_first
