"""Reads plain text into a source; also the values that say what to read, and where a source comes from."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import CorpusError, EmptyError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import shown
from tokstudio.core.corpus.readers.collect import Collector, DividedPart, first_bytes
from tokstudio.core.corpus.readers.files import read_regular_work
from tokstudio.core.corpus.readers.folders import Entry
from tokstudio.core.corpus.readers.reading import Reading
from tokstudio.core.corpus.readers.streams import encoding_of, opened
from tokstudio.core.corpus.readers.text_store import Budget, TextStore
from tokstudio.core.corpus.source import Source, document_ends, groups
from tokstudio.core.text.encodings import SAMPLE, decode, detect, refuse_binary

_PIECE = 1 << 20
_DOCUMENTS = 1 << 14
_MARK_AND_CHARACTER = 8  # bytes: a byte order mark and a whole character


@dataclass(frozen=True)
class Wanted:
    """What to read, and how: the arguments of `read_work`."""

    documents: str
    encoding: str | None
    reading: Reading
    budget: Budget
    member: str | None = None  # the only one to read; None for all
    value: str | None = None  # likewise
    is_long: bool = False  # whether rows of a table are longer than usual
    is_named: bool = False  # whether a file of JSON without text is refused, as it was not found in a folder


@dataclass(frozen=True)
class SourcePlace:
    """Where a source comes from; see the fields of `Source`."""

    name: str
    path: Path | None
    group: str = ""
    status: os.stat_result | None = None
    member: str = ""
    kind: str = ""

    def source(
        self, name: str, encoding: str, note: str, part: DividedPart, reading: Reading | None, is_rows: bool
    ) -> Source:
        """A source of a part of the place."""
        status = self.status
        return Source(
            name,
            self.path,
            encoding,
            note,
            part.data,
            part.ends,
            None if status is None else status.st_mtime,
            None if status is None else status.st_size,
            places=part.places,
            rows=part.rows,
            group=self.group,
            reading=reading,
            member=self.member,
            value=part.value,
            is_rows=is_rows,
            kind=self.kind,
        )


def read_plain_work(entry: Entry, wanted: Wanted, remark: str = "") -> Work[Source]:
    """Reads a file as plain text; call within `plain_errors`. `remark` is added to the note."""
    path, most = entry.path, wanted.reading.most_bytes
    if most is not None:
        # Of text in UTF-8, no more need be read.
        with opened(path) as file:
            head = file.file.read(SAMPLE)
        is_utf8 = wanted.encoding != "bytes" and encoding_of(head, len(head) < SAMPLE) == "utf-8"
        most = most + _MARK_AND_CHARACTER if is_utf8 else None
    raw, status = yield from read_regular_work(path, wanted.budget, most)
    if len(raw) < status.st_size:
        raw, _ = first_bytes(raw, np.array([len(raw)], np.int64), len(raw) - 1)
    if wanted.encoding is None:
        refuse_binary(raw, file_name(path))
    return (yield from plain_source_work(raw, wanted, SourcePlace(file_name(path), path, entry.group, status), remark))


def plain_source_work(
    raw: NDArray[np.uint8], wanted: Wanted, place: SourcePlace, remark: str = "", is_cut: bool = False
) -> Work[Source]:
    """Decodes the content of a plain text, divides it into documents and filters them."""
    reading, budget = wanted.reading, wanted.budget

    def store() -> TextStore:
        return TextStore(place.name, budget)

    if wanted.encoding is None:
        decoded = yield from detect(raw, store)
    else:
        decoded = yield from decode(raw, wanted.encoding, store)
    if not len(decoded.data):
        raise EmptyError(f"{place.name}: the file has no text.")
    ends = yield from document_ends(decoded.data, wanted.documents)
    part = DividedPart(None, decoded.data, ends, None)
    collect = Collector(place.name, reading, budget)
    collect.dropped.truncated = is_cut
    if reading.filters:
        for first, last, start, stop in groups(ends, _PIECE, _DOCUMENTS):
            data, here = np.asarray(decoded.data[start:stop]), ends[first:last] - start
            collect.add(data, here, rows=np.arange(first + 1, last + 1))
            yield Progress("reading", start, len(decoded.data))
            if collect.is_full:
                break
        parts = [one for one in (yield from collect.parts_work()) if len(one.data)]
        if not parts:
            raise CorpusError(f"{place.name}: no text is left ({collect.dropped.note}).")
        part = parts[0]
    chosen = " and ".join(shown(name) for name in (reading.field, reading.split_by) if name is not None)
    unused = f"plain text has no column {chosen}; all of it is read" if chosen else ""
    note = "; ".join(filter(None, (remark, unused, decoded.note, collect.dropped.note)))
    is_default = reading == Reading()
    return place.source(place.name, decoded.encoding, note, part, None if is_default else reading, is_rows=False)
