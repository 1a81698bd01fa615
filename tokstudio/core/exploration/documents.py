"""What is in each document of a corpus, as a table with a row a document."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source, document_numbers, document_shards, groups
from tokstudio.core.text.languages import SCRIPTS, script_numbers
from tokstudio.core.text.unicode_classes import classes

_GROUP, _DOCUMENTS, _BUDGET = 1 << 24, 1 << 19, 1 << 21  # bytes of text, documents, bytes in one call
_LARGEST = (1 << 31) - 1

Columns = dict[str, NDArray[Any]]


class DocumentTable(Mapping[str, NDArray[Any]]):
    """Columns by name, [documents] each; what follows from two others is computed when it is asked for, and not held.

    Args:
        columns: What is held.
        tokens: The tokens of each document, for "tokens" and "bytes_per_token"; None without a tokenizer.
    """

    def __init__(self, columns: Columns, tokens: NDArray[np.int32] | None) -> None:
        self._columns = columns if tokens is None else columns | {"tokens": tokens}
        self._names = [*self._columns, *(() if tokens is None else ("bytes_per_token",))]

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name != "bytes_per_token" or name not in self._names:
            return self._columns[name]
        tokens = self._columns["tokens"]
        per_token = np.full(len(tokens), np.nan, np.float32)
        return read_only(np.divide(self._columns["bytes"], tokens, out=per_token, where=tokens > 0))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def columns_work(corpus: Corpus) -> Work[Columns]:
    """What is in the text of each document of a corpus without word counts.

    Returns:
        Arrays [documents] by name: "source", the index in `corpus.sources`; "shard", that of the file in
        `Source.shards`, 0 where there are none; "number", see `document_numbers`; "bytes", "characters" and "not_utf8",
        the bytes that are part of no character; "lines", which end at a line feed or with the document; "longest_line"
        without its line feed and "longest_run" without white space, both in bytes; "script", the number in `SCRIPTS` of
        the script of most letters, the first of equals, -1 without letters.
    """
    from tokstudio.core.kernels import parts as kernel

    texts = corpus.sources
    columns: Columns = {
        "source": joined(starmap(_of_all, enumerate(texts)), corpus.documents),
        "shard": joined(map(document_shards, texts), corpus.documents),
        "number": joined(map(document_numbers, texts), corpus.documents),
        "bytes": joined(_sizes(texts), corpus.documents),
    }
    figures, done = np.zeros((kernel.FIGURES, corpus.documents), np.int32), 0
    most_letters = np.zeros(corpus.documents, np.int16)
    first_row, total = 0, sum(len(source.data) for source in corpus.sources)
    for source in corpus.sources:
        for first, last, start, stop in groups(source.ends, _GROUP, _DOCUMENTS):
            data, ends = read_only(np.asarray(source.data[start:stop])), read_only(source.ends[first:last] - start)
            state, letters = np.zeros(kernel.STATE_SIZE, np.int64), np.zeros(len(SCRIPTS), np.int64)
            tables = classes(), script_numbers()
            while state[kernel.DOCUMENT] < len(ends):
                rows = figures, most_letters, first_row
                kernel.describe_documents(data, ends, *tables, *rows, letters, state, _BUDGET)
                yield Progress("reading", done + int(state[kernel.AT]), total)
            first_row, done = first_row + last - first, done + stop - start
    names = ("characters", "lines", "not_utf8", "longest_line", "longest_run")
    columns |= {name: figures[number] for number, name in enumerate(names)} | {"script": most_letters}
    return columns


def joined(parts: Iterable[NDArray[np.int64]], size: int) -> NDArray[np.int32] | NDArray[np.int64]:
    """The numbers of all parts, so many from 0 on, as int32 where all fit."""
    numbers: Any = np.zeros(size, np.int32)
    at = 0
    for part in parts:
        if (largest := int(part.max(initial=0))) > _LARGEST:
            numbers = numbers.astype(np.int64, copy=False)
        if largest:
            # Zeros that nobody writes take no memory.
            numbers[at : at + len(part)] = part
        at += len(part)
    return numbers


def _of_all(number: int, source: Source) -> NDArray[np.int64]:
    """A number for each document."""
    return np.broadcast_to(np.int64(number), source.documents)


def _sizes(sources: Iterable[Source]) -> Iterator[NDArray[np.int64]]:
    """The bytes of all documents, in parts."""
    for source in sources:
        for first in range(0, source.documents, _DOCUMENTS):
            before = int(source.ends[first - 1]) if first else 0
            yield np.diff(source.ends[first : first + _DOCUMENTS], prepend=before)
