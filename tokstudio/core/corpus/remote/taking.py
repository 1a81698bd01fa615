"""Takes texts from remote files, all or a sample, and writes them into a folder as files that the readers read.

Rows become Parquet with the chosen column; plain text stays as it is. In the child process that connects.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from itertools import count, groupby
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.progress import finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.untyped import untyped
from tokstudio.core.base.wording import safe_name, several
from tokstudio.core.corpus.readers import kinds
from tokstudio.core.corpus.readers.collect import Collector, Dropped, arrays_of
from tokstudio.core.corpus.readers.columnar import Table, open_table
from tokstudio.core.corpus.readers.contents import TEXT, TEXT_FIELDS, Column, Contents, Reading
from tokstudio.core.corpus.readers.csv_rows import RowTooLongError
from tokstudio.core.corpus.readers.datasets import Look, look, plan_of, read_rows_work
from tokstudio.core.corpus.readers.files import Budget
from tokstudio.core.corpus.readers.folders import MOST_APART, by_numbers, without_numbers
from tokstudio.core.corpus.readers.json_rows import Plan, read_lines_work
from tokstudio.core.corpus.readers.streams import OpenText, Utf8Stream
from tokstudio.core.corpus.remote.choosing import FileBlock, RowGroup, chosen_blocks, chosen_files, chosen_groups
from tokstudio.core.corpus.remote.files import MOST_AHEAD, RangedFile, RemoteFile, fetched_ahead, readable_in_parts
from tokstudio.core.corpus.remote.listing import RemoteListing
from tokstudio.core.hub.addresses import HUB, Address
from tokstudio.core.hub.kept_texts import FilePiece, KeptSet, TextRequest
from tokstudio.core.text.utf8 import bytes_of_character

_WRITTEN = 1 << 23  # bytes of text in a group of rows that is written
COPIED = 1 << 23
_AT_ONCE = 1 << 20  # bytes of a column of which not all rows are needed
_HEAD = 1 << 20
_OPENED_AT_ONCE = 8
_LINES_SHOWN, _SHOWN = 10, 200
_MARGIN = 1.05  # more bytes than estimated are asked for, as what is not needed is not taken


@dataclass(frozen=True)
class Taken:
    """What was written: its files, what was read for them, and what is to be said of it."""

    sets: tuple[KeptSet, ...]
    pieces: tuple[FilePiece, ...]
    notes: tuple[str, ...]
    sha256: str


class Taking:
    """Takes the texts of a listing; CorpusError where they cannot be read.

    Args:
        listing: The files.
        address: Theirs.
        request: What is taken of them.
        folder: Where it is written.
        report: Called with the bytes of text so far.
    """

    def __init__(
        self,
        listing: RemoteListing,
        address: Address,
        request: TextRequest,
        folder: Path,
        report: Callable[[int], None],
    ) -> None:
        self._files, self._connection = listing.files, listing.connection
        self._address, self._request, self._folder, self._report = address, request, folder, report
        self.reading = Reading(
            field=request.field,
            split_by=request.split_by,
            delimiter=request.delimiter,
            as_text=request.as_text,
            keep_truncated=request.keep_truncated or request.sample_bytes is not None,
        )
        self._most: float = math.inf if request.sample_bytes is None else request.sample_bytes
        self.allowed: float = self._most  # bytes of text that may have been taken by now
        self.taken = 0
        self.is_last = False  # whether what is taken now is all that remains
        self.digest = hashlib.sha256()
        self._sets, self._pieces = list[KeptSet](), list[FilePiece]()
        self._names = set[str]()
        self._notes: dict[str, int] = {}
        self._dropped = Dropped()

    @property
    def is_sample(self) -> bool:
        """Whether not all is taken."""
        return self._request.sample_bytes is not None

    def take(self) -> Taken:
        """Takes the texts."""
        if self.is_sample:
            return self._take()
        with readable_in_parts(self._connection, self._files, self._folder) as self._connection:
            return self._take()

    def _take(self) -> Taken:
        files = chosen_files(self._files, self._request.seed) if self.is_sample else list(self._files)
        groups = list(by_numbers(files, _path_of).values())
        total, done = sum(file.size for file in files), 0
        for number, shards in enumerate(groups, 1):
            first, done = done, done + sum(file.size for file in shards)
            self.is_last = number == len(groups)
            if self.is_sample:
                share = int(self._most * done / total) - int(self._most * first / total)
                self._take_group(shards, share, len(groups) == 1)
            else:
                self._take_group(shards, 0, len(groups) == 1)
        if not self.taken:
            why = f" ({self._dropped.note})" if self._dropped.note else ""
            raise CorpusError(f"{self._address}: there is no text in what was read{why}.")
        notes = [text.format(several(number, "file")) for text, number in self._notes.items()]
        return Taken(
            self._grouped(),
            tuple(self._pieces),
            tuple(filter(None, (*notes, self._dropped.note))),
            self.digest.hexdigest(),
        )

    def texts(self) -> dict[RemoteFile, tuple[str, str]]:
        """The name of the text that each file is with others, and that of the group of its text; "" for none.

        Taking all of it gives the same texts and groups.
        """
        groups, number, names = list(by_numbers(self._files, _path_of).values()), 0, dict[RemoteFile, str]()
        for shards in groups:
            # A single file is a text, whatever it is.
            is_set = len(shards) > 1 and self._look(shards[0])[0].kind in kinds.DATA
            number += 1 if is_set else len(shards)
            names |= dict.fromkeys(shards, self._name_of_rows(shards, len(groups) == 1) if is_set else "")
        group = str(self._address) if number > MOST_APART else ""
        return {file: (name, group) for file, name in names.items()}

    def _grouped(self) -> tuple[KeptSet, ...]:
        """The sets; many texts are one source."""
        if len(self._sets) <= MOST_APART:
            return tuple(self._sets)
        return tuple(replace(one, group=one.group or str(self._address)) for one in self._sets)

    def _take_group(self, shards: Sequence[RemoteFile], share: int, is_only: bool) -> None:
        """Takes the texts of files whose names differ in their numbers only."""
        first = shards[0]
        text_look, ratio = self._look(first)
        if text_look.kind in kinds.ARCHIVES:
            if self.is_sample:
                raise CorpusError(f"{first.name}: an archive cannot be entered for a sample: take all of it.")
            self._copy(shards)
        elif text_look.kind == kinds.TEXT:
            if not self.is_sample:
                self._copy(shards)
            elif text_look.compression or text_look.encoding.startswith("utf-16"):
                self._begin_texts(shards, share)
            else:
                self._take_text_blocks(shards, share)
        else:
            name = self._name_of_rows(shards, is_only)
            if text_look.kind == kinds.PARQUET and not text_look.compression:
                names = self._take_parquet(shards, share)
            elif self._is_entered(text_look):
                names = self._take_line_blocks(shards, share, text_look, ratio)
            else:
                names = self._stream_rows(shards, share)
            if names:
                self._sets.append(KeptSet(name, tuple(names), True))

    def _is_entered(self, text_look: Look) -> bool:
        is_lines = text_look.kind == kinds.JSON_LINES and text_look.encoding in ("utf-8", "ascii")
        return self.is_sample and is_lines and not text_look.compression

    def _look(self, file: RemoteFile) -> tuple[Look, float]:
        """What a file holds, and which share of its bytes is text."""
        text = self._opened(file)
        found = look(text, self._request.encoding, self.reading)
        if not self._is_entered(found):
            return found, 1.0
        head = text.peek(_HEAD)
        head = head[: head.rfind(b"\n") + 1] or head
        counted = _Counting(file.name, self.reading, Budget())
        plan, stream = plan_of(found, self.reading, file.name), _raw(head)
        finish(read_lines_work(OpenText(stream, file.name, 0), Utf8Stream(_raw(head), "utf-8"), plan, counted))
        return found, max(0.01, counted.bytes / max(1, len(head)))

    def _opened(self, file: RemoteFile) -> OpenText:
        content = cast("BinaryIO", RangedFile(file, self._connection, MOST_AHEAD))
        return OpenText(content, file.name, file.size, self.reading.keep_truncated)

    # ---- names and notes

    def _name_of_rows(self, shards: Sequence[RemoteFile], is_only: bool) -> str:
        if self._address.scheme == HUB and is_only:
            return str(replace(self._address, revision=""))
        if len(shards) == 1:
            return shards[0].name
        return str(self._address) if is_only else "/".join(filter(None, without_numbers(_path_of(shards[0]))))

    def _new(self, name: str, ending: str = "") -> Path:
        """A new file in the folder; endings of names stay."""
        stem, dot, suffix = name.partition(".")
        base = safe_name(stem, "text")
        end = f"{dot}{safe_name(suffix, 'text')}" if dot else ""
        end += "" if end.endswith(ending) and end else ending
        numbered = (f"{base} ({number}){end}" if number > 1 else base + end for number in count(1))
        name = next(each for each in numbered if each.lower() not in self._names)
        self._names.add(name.lower())
        return self._folder / name

    def _say(self, text: str) -> None:
        """Adds one to the number of files of which a note is."""
        self._notes[text] = self._notes.get(text, 0) + 1

    def count(self, size: int) -> None:
        """Counts bytes of text that were taken."""
        self.taken += size
        self._report(self.taken)

    # ---- plain text

    def _copy(self, files: Sequence[RemoteFile]) -> None:
        """Copies files as they are; several are fetched at once, as a store takes its time for each."""
        path = self._folder
        wanted = [(file, [(at, min(file.size, at + COPIED))]) for file in files for at in range(0, file.size, COPIED)]
        for (file, [(start, _)]), [(_, content)] in zip(wanted, fetched_ahead(self._connection, wanted), strict=True):
            if start == 0:
                path = self._new(file.name)
                self._sets.append(KeptSet(file.name, (path.name,), False))
                self._pieces.append(FilePiece(file.path, file.size, file.tag))
            with path.open("ab") as target:
                target.write(content)
            self.digest.update(content)
            self.count(len(content))

    def _take_text_blocks(self, files: Sequence[RemoteFile], share: int) -> None:
        """Takes blocks of whole lines; each is a text of its own."""
        blocks = chosen_blocks(files, share, self._request.seed)
        wanted = [(files[one.file], [(max(0, one.start - 1), one.start + one.size)]) for one in blocks]
        number_in = [sum(one.file == number for one in blocks) for number in range(len(files))]
        for block, [(at, raw)] in zip(blocks, fetched_ahead(self._connection, wanted), strict=True):
            file = files[block.file]
            content = _whole_lines(raw, at > 0 or block.start > 0, block.start + block.size < file.size)
            if not content:
                continue
            name, group = file.name, ""
            if number_in[block.file] > 1:
                stem, dot, suffix = file.name.partition(".")
                name, group = f"{stem} at {block.start}{dot}{suffix}", f"{self._address}/{file.path}"
            path = self._new(name)
            path.write_bytes(content)
            self.digest.update(content)
            self.count(len(content))
            self._sets.append(KeptSet(name, (path.name,), False, group))
        self._add_blocks(files, blocks)

    def _begin_texts(self, files: Sequence[RemoteFile], share: int) -> None:
        """Takes the beginnings of texts that cannot be entered."""
        for file, allowed in self._shares(files, share):
            text, pieces, size = self._opened(file), list[bytes](), 0
            while size <= allowed - self.taken and (piece := text.read(1 << 16)):
                pieces.append(piece)
                size += len(piece)
            raw = b"".join(pieces)
            most = int(allowed) - self.taken
            content = raw if len(raw) <= most else _whole_lines(raw[: max(1, most)], False, True)
            if content:
                path = self._new(kinds.without_compression(file.name))
                path.write_bytes(content)
                self.digest.update(content)
                self.count(len(content))
                self._sets.append(KeptSet(file.name, (path.name,), False))
                self._add_beginning(file, text, len(raw) > most)

    def _shares(self, files: Sequence[RemoteFile], share: int) -> Iterator[tuple[RemoteFile, float]]:
        """Each file with how much may have been taken after it; what one does not have is taken of the next ones."""
        base, total, done = self.taken, sum(file.size for file in files), 0
        for number, file in enumerate(files, 1):
            done += file.size
            self.allowed = min(self._most, base + share * done // total) if self.is_sample else math.inf
            self.is_last = self.is_last and number == len(files)
            yield file, self.allowed

    def _add_beginning(self, file: RemoteFile, text: OpenText, is_part: bool) -> None:
        if is_part:
            self._say("of {} only the beginning is read, as they cannot be entered midway")
        part = (0, min(text.done, file.size)) if is_part else ()
        self._pieces.append(FilePiece(file.path, file.size, file.tag, "bytes" if is_part else "", part, is_part))

    def _add_blocks(self, files: Sequence[RemoteFile], blocks: Sequence[FileBlock]) -> None:
        for number, file in enumerate(files):
            here = [one for one in blocks if one.file == number]
            parts = tuple(at for one in here for at in (one.start, one.start + one.size))
            if here:
                self._pieces.append(FilePiece(file.path, file.size, file.tag, "bytes", parts))

    # ---- rows

    def _sink(self, file: RemoteFile, plan: Plan) -> RowsFile:
        return RowsFile(self, self._new(file.name, ".parquet"), file.name, plan)

    def _end(self, sink: RowsFile, names: list[str]) -> None:
        """Closes a written file, and keeps it if it has rows."""
        if sink.close():
            names.append(sink.path.name)
        self._dropped.add(sink.dropped)

    def _sinks(
        self,
        files: Sequence[RemoteFile],
        plans: Sequence[Plan],
        parts: Sequence[tuple[int, int]],
        share: int,
        names: list[str],
    ) -> Iterator[RowsFile]:
        """For each part, of which file it is and how many bytes it has: where its rows go, of which so many may."""
        base, total, done, was_last = self.taken, sum(size for _, size in parts), 0, self.is_last
        for number, of_file in groupby(parts, lambda part: part[0]):
            sink = self._sink(files[number], plans[number])
            for _, size in of_file:
                done += size
                self.allowed = min(self._most, base + share * done // max(1, total)) if self.is_sample else math.inf
                self.is_last = was_last and done == total
                sink.is_full = False
                yield sink
            self._end(sink, names)

    def _take_parquet(self, files: Sequence[RemoteFile], share: int) -> list[str]:
        names: list[str] = []
        step = len(files) if self.is_sample else _OPENED_AT_ONCE
        for at in range(0, len(files), step):
            with ExitStack() as stack:
                self._take_tables(files[at : at + step], share, stack, names)
        return names

    def _take_tables(self, files: Sequence[RemoteFile], share: int, stack: ExitStack, names: list[str]) -> None:
        """Takes groups of rows of Parquet files, of which first the descriptions are read."""
        contents = [RangedFile(file, self._connection) for file in files]

        def open_one(number: int) -> Table:
            file, content = files[number], cast("BinaryIO", contents[number])
            return stack.enter_context(open_table(file.name, kinds.PARQUET, content, file.size, _AT_ONCE))

        with ThreadPoolExecutor(_OPENED_AT_ONCE) as pool:
            tables = list(pool.map(open_one, range(len(files))))
        self._choose_field(files[0], tables[0])
        plans = [self._plan(file, table) for file, table in zip(files, tables, strict=True)]
        columns = [_steps(plan) for plan in plans]
        all_groups = [
            RowGroup(file, number, _text_size(table, number, plans[file]))
            for file, table in enumerate(tables)
            for number in range(table.source.metadata.num_row_groups)
        ]
        chosen = [(group, group.size) for group in all_groups]
        if self.is_sample:
            chosen = chosen_groups(all_groups, [file.path for file in files], share, self._request.seed)
        wanted = [
            (files[group.file], _ranges(tables[group.file], group, size, columns[group.file])) for group, size in chosen
        ]
        cut = set[int]()
        sinks = self._sinks(files, plans, [(group.file, size) for group, size in chosen], share, names)
        ahead = fetched_ahead(self._connection, wanted)
        for (group, size), parts, sink in zip(chosen, ahead, sinks, strict=True):
            contents[group.file].put(parts)
            finish(tables[group.file].read_work(plans[group.file], sink, [group.number]))
            if sink.is_full and size < group.size:
                cut.add(group.file)
        for number, file in enumerate(files):
            here = tuple(group.number for group, _ in chosen if group.file == number)
            if number in cut:
                self._say("of {} groups of rows are read only at their beginnings, as they are large")
            if here:
                self._pieces.append(FilePiece(file.path, file.size, file.tag, "row groups", here, number in cut))

    def _choose_field(self, file: RemoteFile, table: Table) -> None:
        """Chooses the column by its name, else by the texts of the first rows."""
        if self.reading.field is not None:
            return
        texts = {column.name for column in table.schema_columns() if column.kind == TEXT}
        name = next((name for name in TEXT_FIELDS if name in texts), None)
        if name is None:
            plan = plan_of(Look(kinds.PARQUET, columns=table.columns(in_first_group=True)), self.reading, file.name)
            name = plan.text.name
        self.reading = replace(self.reading, field=name)

    def _plan(self, file: RemoteFile, table: Table) -> Plan:
        return plan_of(Look(kinds.PARQUET, columns=table.schema_columns()), self.reading, file.name)

    def _take_line_blocks(self, files: Sequence[RemoteFile], share: int, text_look: Look, ratio: float) -> list[str]:
        """Takes the rows of JSON Lines that begin in blocks of the files."""
        names: list[str] = []
        plan = plan_of(text_look, self.reading, files[0].name)
        blocks = chosen_blocks(files, int(share / ratio * _MARGIN), self._request.seed)
        wanted = [(files[one.file], [(max(0, one.start - 1), one.start + one.size)]) for one in blocks]
        sinks = self._sinks(files, [plan] * len(files), [(one.file, one.size) for one in blocks], share, names)
        ahead = fetched_ahead(self._connection, wanted)
        for block, [(at, raw)], sink in zip(blocks, ahead, sinks, strict=True):
            file = files[block.file]
            content = self._lines_from(file, block, at, raw)
            stream = Utf8Stream(_raw(content), "utf-8")
            finish(read_lines_work(OpenText(_raw(content), file.name, 0), stream, plan, sink))
        self._add_blocks(files, blocks)
        return names

    def _lines_from(self, file: RemoteFile, block: FileBlock, at: int, raw: bytes) -> bytes:
        """The lines that begin in a block, the last one with what follows the block."""
        if block.start:
            begin = raw.find(b"\n") + 1
            if not begin or begin == len(raw):
                return b""
            raw = raw[begin:]
        rest, end = RangedFile(file, self._connection, MOST_AHEAD), block.start + block.size
        rest.seek(end)
        pieces = [raw]
        while not pieces[-1].endswith(b"\n") and (piece := rest.read(1 << 14)):
            feed = piece.find(b"\n") + 1
            pieces.append(piece[:feed] if feed else piece)
        return b"".join(pieces)

    def _stream_rows(self, files: Sequence[RemoteFile], share: int) -> list[str]:
        """Takes rows from the beginning of files on."""
        names: list[str] = []
        for file, _ in self._shares(files, share):
            try:
                text, sink = self._stream_file(file, is_long=False)
            except RowTooLongError:
                text, sink = self._stream_file(file, is_long=True)
            self._end(sink, names)
            self._add_beginning(file, text, sink.is_full)
        return names

    def _stream_file(self, file: RemoteFile, is_long: bool) -> tuple[OpenText, RowsFile]:
        text = self._opened(file)
        found = look(text, self._request.encoding, self.reading)
        if found.kind not in kinds.DATA:
            raise CorpusError(f"{file.name}: it is no data set like the other files.")
        if found.kind in kinds.COLUMNAR:
            return text, self._stream_columns(file, text, found)
        plan = plan_of(found, self.reading, file.name)
        self.reading = replace(self.reading, field=plan.text.name)
        sink = self._sink(file, plan)
        if finish(read_rows_work(text, found, plan, sink, is_long)) and not self.is_sample:
            raise CorpusError(f"{file.name}: a quote is never closed; read the file as plain text (--as-text).")
        return text, sink

    def _stream_columns(self, file: RemoteFile, text: OpenText, found: Look) -> RowsFile:
        """Takes the rows of Arrow, or of columns that are compressed as a whole."""
        if found.compression:
            raise CorpusError(f"{file.name}: a {found.kind} file that is compressed again is not read by its address.")
        content = cast("BinaryIO", RangedFile(file, self._connection, MOST_AHEAD))
        with open_table(file.name, found.kind, content, file.size) as table:
            columns = table.columns()
        plan = plan_of(replace(found, columns=columns), self.reading, file.name)
        self.reading = replace(self.reading, field=plan.text.name)
        sink = self._sink(file, plan)
        content.seek(0)
        with open_table(file.name, found.kind, content, file.size) as table:
            finish(table.read_work(plan, sink))
        return sink


class _Counting(Collector):
    """Counts the bytes of texts."""

    bytes = 0

    def add_texts(self, texts: Any, keys: Any = None, rows: NDArray[np.int64] | None = None) -> None:  # noqa: ANN401
        compute = untyped("pyarrow.compute")
        self.bytes += compute.sum(compute.binary_length(texts)).as_py() or 0


class RowsFile(Collector):
    """Writes the rows that it is given into a Parquet file, until as many bytes were taken as are allowed."""

    def __init__(self, taking: Taking, path: Path, name: str, plan: Plan) -> None:
        super().__init__(name, taking.reading, Budget())
        self.path, self._taking = path, taking
        self._columns = [column.name for column in (plan.text, plan.split) if column is not None]
        self._waiting: list[list[Any]] = []
        self._size = 0
        self._writer: Any = None

    def add_texts(self, texts: Any, keys: Any = None, rows: NDArray[np.int64] | None = None) -> None:  # noqa: ANN401
        """As of `Collector`; keeps whole texts only."""
        pyarrow, compute = untyped("pyarrow"), untyped("pyarrow.compute")
        if self.is_full or not len(texts):
            return
        valid = compute.is_valid(texts)
        texts = texts.filter(valid).cast(pyarrow.large_string())
        columns = [texts] if keys is None else [texts, keys.filter(valid).cast(pyarrow.large_string())]
        data, ends = arrays_of(texts)
        room = self._taking.allowed - self._taking.taken
        number = len(ends) if room == math.inf else int(np.searchsorted(ends, room, side="right"))
        if number < len(ends):
            self.is_full = True
            if not number and not self._taking.taken and self._taking.is_last and room >= 1:
                # One text is longer than the whole sample.
                cut = data[: int(room)].tobytes().decode("utf-8", "ignore")
                columns = [pyarrow.array([cut], pyarrow.large_string()), *(one.slice(0, 1) for one in columns[1:])]
                data, ends, number = np.frombuffer(cut.encode(), np.uint8), np.array([len(cut.encode())]), 1
                self.dropped.cut += 1
        if number:
            size = int(ends[number - 1])
            self._taking.digest.update(np.ascontiguousarray(data[:size]).data)
            self._waiting.append([one.slice(0, number) for one in columns])
            self._size += size
            self._taking.count(size)
            if self._size >= _WRITTEN:
                self._flush()

    def _flush(self) -> None:
        pyarrow, parquet = untyped("pyarrow"), untyped("pyarrow.parquet")
        columns = [pyarrow.chunked_array(chunks) for chunks in zip(*self._waiting, strict=True)]
        table = pyarrow.table(columns, names=self._columns[: len(columns)])
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self.path, table.schema, compression="zstd")
        self._writer.write_table(table)
        self._waiting.clear()
        self._size = 0

    def close(self) -> bool:
        """Ends the file; returns whether it has rows."""
        if self._waiting:
            self._flush()
        if self._writer is not None:
            self._writer.close()
        return self._writer is not None


def _path_of(file: RemoteFile) -> PurePosixPath:
    return PurePosixPath(file.path)


def _raw(content: bytes) -> BinaryIO:
    return cast("BinaryIO", io.BytesIO(content))


def _whole_lines(raw: bytes, is_entered: bool, is_left: bool) -> bytes:
    """A part of a text without the lines that are cut at its ends; of very long lines, without cut characters.

    `is_entered` says that its first byte is the last one before it, `is_left` that more follows.
    """
    begin, end = 0, len(raw)
    if is_entered:
        feed = raw.find(b"\n", 0, end // 2 + 1) + 1
        begin = feed or 1
        while not feed and begin < min(5, end) and raw[begin] & 0xC0 == 0x80:
            begin += 1
    if is_left:
        feed = raw.rfind(b"\n", end // 2) + 1
        if feed > begin:
            end = feed
        else:
            last = next((at for at in range(end - 1, max(begin, end - 5), -1) if raw[at] & 0xC0 != 0x80), end)
            is_cut = last < end and end - last < bytes_of_character(raw[last])
            end = last if is_cut else end
    return raw[begin:end]


def _steps(plan: Plan) -> list[str]:
    return list(dict.fromkeys(one.steps[0] for one in (plan.text, plan.split) if one is not None))


def _text_size(table: Table, group: int, plan: Plan) -> int:
    """About how many bytes of text a group of rows has: its column without the lengths of the values."""
    chunks = table.chunks(group, [plan.text.steps[0]])
    return max(1, sum(chunk.unpacked - 4 * chunk.values for chunk in chunks)) if chunks else 0


def _ranges(table: Table, group: RowGroup, size: int, columns: Sequence[str]) -> list[tuple[int, int]]:
    """Where the needed bytes of a group of rows are: whole columns, or the beginnings of them."""
    ranges: list[tuple[int, int]] = []
    for chunk in table.chunks(group.number, columns):
        stored = chunk.stored
        if size < group.size:
            stored = min(stored, int(stored * size / group.size * _MARGIN) + (1 << 16))
        ranges.append((chunk.start, chunk.start + stored))
    return ranges


def contents_of(listing: RemoteListing, name: str) -> Contents:
    """What the first file of a listing holds, with its first rows; of plain text the first lines as one column."""
    file = listing.files[0]
    text = OpenText(
        cast("BinaryIO", RangedFile(file, listing.connection, MOST_AHEAD)), file.name, file.size, keep_truncated=True
    )
    found = look(text, None, Reading(keep_truncated=True))
    if found.kind in kinds.COLUMNAR and not found.compression:
        ahead = 0 if found.kind == kinds.PARQUET else MOST_AHEAD
        content = cast("BinaryIO", RangedFile(file, listing.connection, ahead))
        with open_table(file.name, found.kind, content, file.size, _AT_ONCE) as table:
            found = replace(found, columns=table.columns(in_first_group=True), rows=table.rows)
    if found.kind == kinds.TEXT:
        lines = tuple(line[:_SHOWN] for line in text.head().decode("utf-8", "replace").split("\n")[:_LINES_SHOWN])
        return Contents(name, found.shown, (Column("(lines)", TEXT, lines, ("(lines)",), (0,)),), None, None)
    return found.contents(name, len(listing.files))
