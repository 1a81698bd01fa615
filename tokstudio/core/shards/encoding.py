"""Encodes a data set into shards: reads documents in a stream, encodes them in threads, and writes them in their order.

What is written follows from the files, the tokenizer and the settings alone: not from the number of threads, and not
from where an earlier call ended.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import field, replace

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.analysis.document_encoder import MARK, DocumentEncoder
from tokstudio.core.base.errors import BinaryError, CorpusError, EmptyError, FormatError, TokStudioError
from tokstudio.core.base.machine import processors
from tokstudio.core.base.progress import Progress, Work, part_of
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.open_sources import pass_on_work
from tokstudio.core.corpus.readers.collect import PassOn
from tokstudio.core.corpus.readers.files import Budget
from tokstudio.core.corpus.source import Source, groups
from tokstudio.core.shards.inputs import EncodingSettings, Unit
from tokstudio.core.shards.manifest import EncodedFile
from tokstudio.core.shards.writing import EncodedDocuments

CHUNK = 1 << 21  # bytes of documents that a thread encodes together
_DOCUMENTS = 1 << 15  # at most of them
MOST_THREADS = 16  # more would wait for what is read
_TEXT_IN_MEMORY = 1 << 28  # bytes of a plain text that has to be unpacked; more are on the disk
_PATIENCE = 0.02  # seconds between two reports of progress

_Bytes, _Ends = NDArray[np.uint8], NDArray[np.int64]


@dataclass
class _Chunk:
    """Documents that are encoded together."""

    pieces: list[tuple[_Bytes, _Ends]] = field(default_factory=list[tuple[_Bytes, _Ends]])
    # the number of its first document here, the name of its file, and its number there
    origins: list[tuple[int, str, int]] = field(default_factory=list[tuple[int, str, int]])
    bytes: int = 0
    documents: int = 0

    def add(self, data: _Bytes, ends: _Ends, name: str, number: int) -> None:
        self.pieces.append((data, ends))
        self.origins.append((self.documents, name, number))
        self.bytes += len(data)
        self.documents += len(ends)

    @property
    def is_full(self) -> bool:
        return self.bytes >= CHUNK or self.documents >= _DOCUMENTS

    def joined(self) -> tuple[_Bytes, _Ends]:
        """The text of all documents, and their ends."""
        if len(self.pieces) == 1:
            return self.pieces[0]
        before, ends = 0, list[_Ends]()
        for data, here in self.pieces:
            ends.append(here + before)
            before += len(data)
        return np.concatenate([data for data, _ in self.pieces]), np.concatenate(ends)

    def place(self, document: int) -> str:
        """Where a document is from."""
        first, name, number = next(origin for origin in reversed(self.origins) if origin[0] <= document)
        return f"{name}, document {number + document - first + 1:,}"


class _Encoding:
    """Encodes chunks in threads, and gives them back in their order."""

    def __init__(self, settings: EncodingSettings, threads: int) -> None:
        self._settings = settings
        self._encoder = DocumentEncoder(settings.tokenizer, settings.recognised)
        self._threads, self._stop = threads, threading.Event()
        self._pool = ThreadPoolExecutor(threads)
        self._busy: deque[Future[EncodedDocuments]] = deque()

    def close(self) -> None:
        """Ends the threads; what they have not begun is dropped."""
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)

    def submit(self, chunk: _Chunk) -> None:
        """Lets a thread encode a chunk."""
        self._busy.append(self._pool.submit(self._encoded, chunk))

    def take_work(self, take: Callable[[EncodedDocuments], Work[None]], all_of_them: bool = False) -> Work[None]:
        """Hands over what is encoded, and waits until few chunks, or none, are left."""
        most = 0 if all_of_them else 2 * self._threads
        while self._busy and (len(self._busy) > most or self._busy[0].done()):
            try:
                documents = self._busy[0].result(_PATIENCE)
            except NotYet:
                yield Progress("encoding")
                continue
            self._busy.popleft()
            yield from take(documents)

    def _encoded(self, chunk: _Chunk) -> EncodedDocuments:
        data, ends = chunk.joined()
        sizes = np.diff(ends, prepend=0)
        try:
            ids, id_ends = self._ids(data, ends)
        except TokStudioError as error:
            raise self._located(error, chunk, data, ends) from error
        return EncodedDocuments(ids, id_ends, sizes)

    def _ids(self, data: _Bytes, ends: _Ends) -> tuple[NDArray[np.uint16] | NDArray[np.uint32], _Ends]:
        work = self._encoder.ids_work(data, ends)
        try:
            while not self._stop.is_set():
                next(work)
        except StopIteration as end:
            marked = end.value[0] if len(end.value) == 1 else np.concatenate(end.value)
        else:
            work.close()
            return np.empty(0, np.uint32), np.zeros(len(ends), np.int64)  # nobody waits for it any more
        end_id, largest = self._settings.end_id, self._settings.largest_id
        is_mark = marked == MARK
        marks = np.flatnonzero(is_mark)
        if end_id is None:
            ids, id_ends = marked[~is_mark], marks - np.arange(len(marks))
        else:
            marked[marks] = end_id
            ids, id_ends = marked, marks + 1
        if len(ids) and int(ids.max()) > largest:
            raise FormatError(f"The tokenizer gave the id {int(ids.max()):,}, but its vocabulary ends at {largest:,}.")
        return ids.astype(self._settings.kind), id_ends

    def _located(self, error: TokStudioError, chunk: _Chunk, data: _Bytes, ends: _Ends) -> TokStudioError:
        """The error with the place of the first document that causes one."""
        starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
        for document, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            try:
                self._ids(data[start:end], np.array([end - start], np.int64))
            except TokStudioError as own:
                kind = FormatError if isinstance(own, FormatError) else CorpusError
                return kind(f"{chunk.place(document)}: {own}")
        return error


def encode_units_work(
    units: Sequence[Unit],
    settings: EncodingSettings,
    take: Callable[[EncodedDocuments], Work[None]],
    files: list[EncodedFile],
    skip: int = 0,
    threads: int | None = None,
) -> Work[None]:
    """Encodes files one after another, and hands over their documents in their order.

    Args:
        units: The files.
        settings: How they are read and encoded.
        take: Receives some documents at a time.
        files: What was read of each is added to it when it was read.
        skip: So many of the first documents are read, but not encoded.
        threads: At most so many; None is one per core.

    Raises:
        CorpusError: A file cannot be read, or a document not be encoded; documents before it were handed over.
        FormatError: A library refuses to encode a document.
    """
    encoding = _Encoding(settings, max(1, min(processors(), MOST_THREADS) if threads is None else threads))
    total, before, chunk = sum(unit.weight for unit in units), 0, _Chunk()
    try:
        for unit in units:
            reader = _UnitReader(unit, settings, skip)
            for progress in _closing(part_of(reader.read_work(), "encoding", before, unit.weight, total)):
                for data, ends, number in reader.taken():
                    chunk.add(data, ends, unit.name, number)
                    if chunk.is_full:
                        encoding.submit(chunk)
                        chunk = _Chunk()
                        for _ in encoding.take_work(take):
                            yield progress
                yield progress
            files.append(reader.file)
            skip, before = max(0, skip - reader.file.documents), before + unit.weight
        if chunk.documents:
            encoding.submit(chunk)
        for _ in encoding.take_work(take, all_of_them=True):
            yield Progress("encoding", total, total)
    finally:
        encoding.close()


def _closing(work: Work[None]) -> Iterable[Progress]:
    """The reports of work, which is closed with them; a last one stands for its end."""
    try:
        progress = Progress("encoding")
        for progress in work:
            yield progress
        yield progress
    finally:
        work.close()


class _UnitReader:
    """Reads a file, and keeps the documents that were not taken yet."""

    def __init__(self, unit: Unit, settings: EncodingSettings, skip: int) -> None:
        self._unit, self._settings, self._skip = unit, settings, skip
        self._waiting: list[tuple[_Bytes, _Ends, int]] = []
        self._replaced = 0
        self._pass_on = PassOn(self._receive)
        self._received = 0
        self.file = EncodedFile(unit.name, unit.stored_bytes, 0, 0)

    def read_work(self) -> Work[None]:
        unit, settings = self._unit, self._settings
        budget = Budget(_TEXT_IN_MEMORY)
        try:
            sources = yield from pass_on_work(
                unit.entry, self._pass_on, settings.documents, settings.encoding, unit.reading, budget
            )
        except (EmptyError, BinaryError) as error:
            if isinstance(error, BinaryError) and not unit.entry.is_found:
                raise
            self.file = replace(self.file, notes=("it has no text",))
        else:
            self.file = self._described(sources)
        unit.check()

    def taken(self) -> Iterable[tuple[_Bytes, _Ends, int]]:
        """The documents that were read since the last call, each group with the number of its first."""
        waiting, self._waiting = self._waiting, []
        for data, ends, number in waiting:
            for first, last, start, stop in groups(ends, CHUNK, _DOCUMENTS):
                yield data[start:stop], ends[first:last] - start, number + first

    def _receive(self, data: _Bytes, ends: _Ends) -> None:
        if self._settings.needs_text:
            self._count_replaced(data, ends)
        number, self._received = self._received, self._received + len(ends)
        first = min(len(ends), max(0, self._skip - number))
        if first < len(ends):
            start = int(ends[first - 1]) if first else 0
            self._waiting.append((data[start:], ends[first:] - start, number + first))

    def _count_replaced(self, data: _Bytes, ends: _Ends) -> None:
        """Counts byte sequences that are not UTF-8, which become U+FFFD."""
        try:
            data.tobytes().decode()
        except UnicodeDecodeError:
            for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
                raw = data[start:end].tobytes()
                self._replaced += raw.decode("utf-8", "replace").count("\ufffd") - raw.count("\ufffd".encode())

    def _described(self, sources: Sequence[Source]) -> EncodedFile:
        notes = list[str]()
        for source in sources:
            if source.note:
                notes.append(f"{source.name}: {source.note}" if source.member else source.note)
        if self._replaced:
            were = several(self._replaced, "byte sequence was", "byte sequences were")
            notes.append(f"{were} not UTF-8 and became U+FFFD")
        first = sources[0] if sources else None
        of_rows = first is not None and first.is_rows and first.reading is not None
        return replace(
            self.file,
            documents=self._pass_on.documents,
            bytes=self._pass_on.bytes,
            kind="" if first is None else first.kind,
            column=(first.reading.field or "") if first is not None and of_rows and first.reading is not None else "",
            encoding="" if first is None else first.encoding,
            notes=tuple(notes),
        )
