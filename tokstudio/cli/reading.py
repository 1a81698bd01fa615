"""Reads the corpus of `train` from files, standard input and word counts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tokstudio.cli.terminal import Console, standard_input_work
from tokstudio.core.base.errors import BinaryError, CorpusError
from tokstudio.core.base.progress import Work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.readers import Folder, expand_work
from tokstudio.core.corpus.source import Source, document_ends
from tokstudio.core.corpus.structured import structure_remark
from tokstudio.core.corpus.word_counts import read_counts_work
from tokstudio.core.text.encodings import decode, detect, encoding_name, refuse_binary


def read_corpus_work(
    files: Iterable[str], counts: Iterable[Path], documents: str, encoding: str | None, console: Console
) -> Work[Corpus]:
    """Reads texts in the order given, then word counts; reports skipped files of folders."""

    def tell(folder: Folder) -> None:
        if folder.remark:
            console.say(folder.remark)

    sources: list[Source] = []
    for file in files:
        if file == "-":
            sources.append((yield from _read_standard_input(documents, encoding)))
        else:
            texts = yield from expand_work([file], tell)
            try:
                sources += (yield from Corpus.from_files_work(texts, documents, encoding)).sources
            except BinaryError as error:
                raise CorpusError(f"{error} On the command line: --encoding bytes.") from error
    for path in counts:
        if str(path) == "-":
            raise CorpusError("--counts: word counts are read from a file; standard input is for text.")
        sources.append((yield from read_counts_work(path)))
    return Corpus(tuple(sources))


def report_source(source: Source, console: Console) -> None:
    """Reports how a source was read, where that is unusual."""
    remarks = [] if source.encoding in ("utf-8", "bytes") else [f"read as {source.encoding}"]
    remarks += [source.note] if source.note else []
    if remarks:
        console.say(f"{source.name}: {'; '.join(remarks)}.")


def _read_standard_input(documents: str, encoding: str | None) -> Work[Source]:
    chosen = None if encoding is None else encoding_name(encoding)
    raw = np.frombuffer((yield from standard_input_work()), np.uint8)
    if chosen is None:
        refuse_binary(raw, "standard input")
    decoded = yield from (detect(raw) if chosen is None else decode(raw, chosen))
    if not len(decoded.data):
        raise CorpusError("standard input: it has no text.")
    ends = yield from document_ends(decoded.data, documents)
    note = "; ".join(filter(None, (decoded.note, structure_remark("", decoded.data))))
    return Source("standard input", None, decoded.encoding, note, decoded.data, ends)
