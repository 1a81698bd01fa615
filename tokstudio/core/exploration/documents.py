"""What is in each document of a corpus, as a table with a row a document."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source, document_numbers, document_shards, groups
from tokstudio.core.text.languages import SCRIPTS, script_numbers
from tokstudio.core.text.unicode_classes import classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GROUP, _DOCUMENTS, _BUDGET = 1 << 24, 1 << 19, 1 << 21  # bytes of text, documents, bytes in one call
_LARGEST = (1 << 31) - 1

Columns: TypeAlias = "dict[str, NDArray[Any]]"


class DocumentTable(Mapping[str, "NDArray[Any]"]):
    """Columns by name, [documents] each; what follows from others is computed when it is asked for, and not held.

    Args:
        corpus: Tells "source", the index in `corpus.sources`; "shard", that of the file in `Source.shards`, 0 where
            there are none; "number", see `document_numbers`; and "bytes".
        columns: What is held, see `columns_work`.
        tokens: The tokens of each document, for "tokens" and "bytes_per_token"; None without a tokenizer.
    """

    def __init__(self, corpus: Corpus, columns: Columns, tokens: NDArray[np.int32] | None) -> None:
        self._corpus = corpus
        self._columns = columns if tokens is None else columns | {"tokens": tokens}
        self._names = [*_OF_CORPUS, *self._columns, *(() if tokens is None else ("bytes_per_token",))]

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name in _OF_CORPUS:
            return read_only(joined(_told(self._corpus, _OF_CORPUS[name]), self._corpus.documents))
        if name != "bytes_per_token" or name not in self._names:
            return self._columns[name]
        # In pieces, so that a third column is not made for it.
        tokens, at = self._columns["tokens"], 0
        per_token = np.full(len(tokens), np.nan)
        for sizes in _told(self._corpus, _sizes):
            here = slice(at, at := at + len(sizes))
            np.divide(sizes, tokens[here], out=per_token[here], where=tokens[here] > 0)
        return read_only(per_token)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _numbers(_: int, source: Source, first: int, last: int) -> NDArray[np.int64]:
    return document_numbers(source, first, last)


def _shards(_: int, source: Source, first: int, last: int) -> NDArray[np.int64]:
    return document_shards(source, first, last)


def _sizes(_: int, source: Source, first: int, last: int) -> NDArray[np.int64]:
    return np.diff(source.ends[first:last], prepend=source.ends[first - 1] if first else 0)


def _places(number: int, _: Source, first: int, last: int) -> NDArray[np.int64]:
    return np.broadcast_to(np.int64(number), last - first)


#: What the source with a number tells of its documents from one to before another.
_Tell: TypeAlias = "Callable[[int, Source, int, int], NDArray[np.int64]]"
_OF_CORPUS: dict[str, _Tell] = {"source": _places, "shard": _shards, "number": _numbers, "bytes": _sizes}


def _told(corpus: Corpus, tell: _Tell) -> Iterator[NDArray[np.int64]]:
    """What the sources tell of their documents, in the order of the corpus, in bounded pieces."""
    for number, source in enumerate(corpus.sources):
        for first in range(0, source.documents, _DOCUMENTS):
            yield tell(number, source, first, min(first + _DOCUMENTS, source.documents))


def columns_work(corpus: Corpus) -> Work[Columns]:
    """What is in the text of each document of a corpus without word counts.

    Returns:
        Arrays [documents] by name: "characters"; "lines", which end at a line feed or with the document; "not_utf8",
        the bytes that are part of no character; "longest_line" without its line feed and "longest_run" without white
        space, both in bytes; "script", the number in `SCRIPTS` of the script of most letters, the first of equals, -1
        without letters.
    """
    from tokstudio.core.kernels import parts as kernel

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
    return {name: figures[number] for number, name in enumerate(names)} | {"script": most_letters}


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
