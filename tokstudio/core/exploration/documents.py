"""What is in each document of a corpus, as a table with a row a document."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import document_numbers, document_shards, groups
from tokstudio.core.text.languages import SCRIPTS, script_numbers
from tokstudio.core.text.unicode_classes import classes

_GROUP, _DOCUMENTS, _BUDGET = 1 << 24, 1 << 19, 1 << 21  # bytes of text, documents, bytes in one call
_LARGEST = (1 << 31) - 1

Columns = dict[str, NDArray[Any]]


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

    figures, done = np.zeros((kernel.FIGURES, corpus.documents), np.int32), 0
    first_row, total = 0, sum(len(source.data) for source in corpus.sources)
    for source in corpus.sources:
        for first, last, start, stop in groups(source.ends, _GROUP, _DOCUMENTS):
            data, ends = read_only(np.asarray(source.data[start:stop])), read_only(source.ends[first:last] - start)
            state, letters = np.zeros(kernel.STATE_SIZE, np.int64), np.zeros(len(SCRIPTS), np.int64)
            while state[kernel.DOCUMENT] < len(ends):
                kernel.describe_documents(
                    data, ends, classes(), script_numbers(), figures, first_row, letters, state, _BUDGET
                )
                yield Progress("reading", done + int(state[kernel.AT]), total)
            first_row, done = first_row + last - first, done + stop - start
    texts = corpus.sources
    columns: Columns = {
        "source": np.repeat(np.arange(len(texts), dtype=np.int32), [source.documents for source in texts]),
        "shard": narrow(map(document_shards, texts)),
        "number": narrow(map(document_numbers, texts)),
        "bytes": narrow(np.diff(source.ends, prepend=0) for source in texts),
    }
    names = ("characters", "lines", "not_utf8", "longest_line", "longest_run", "script")
    columns |= {name: figures[number] for number, name in enumerate(names)}
    return columns


def narrow(parts: Iterable[NDArray[np.int64]]) -> NDArray[np.int32] | NDArray[np.int64]:
    """The joined parts, as int32 where all numbers fit."""
    every: list[NDArray[Any]] = [part.astype(np.int32) if part.max(initial=0) <= _LARGEST else part for part in parts]
    return every[0] if len(every) == 1 else np.concatenate([np.empty(0, np.int32), *every])
