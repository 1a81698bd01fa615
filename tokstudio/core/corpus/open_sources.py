"""Reads files, archives, folders and data sets into sources, and shows what is in them before."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import BinaryError, ConfigError, CorpusError, EmptyError
from tokstudio.core.base.progress import Progress, Work, part_of
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import first_few, several, shown
from tokstudio.core.corpus.readers import folders, kinds
from tokstudio.core.corpus.readers.archives import Member, Skipped, member_name, tar_members, until_cut, zip_members
from tokstudio.core.corpus.readers.collect import Collector, DividedPart, PassOn, first_bytes
from tokstudio.core.corpus.readers.compression import refuse_bomb
from tokstudio.core.corpus.readers.contents import Contents, Reading
from tokstudio.core.corpus.readers.csv_rows import RowTooLongError
from tokstudio.core.corpus.readers.datasets import (
    Look,
    collect_work,
    look,
    refuse_without_text,
    seekable_work,
    unpacked_work,
    with_columns_work,
)
from tokstudio.core.corpus.readers.files import Budget, TextStore, path_of, plain_errors, read_regular_work
from tokstudio.core.corpus.readers.folders import Entry, Fetching, expand_work
from tokstudio.core.corpus.readers.streams import OpenText, encoding_of, opened
from tokstudio.core.corpus.source import Source, check_documents, document_ends, groups
from tokstudio.core.hub.kept_texts import kept_at
from tokstudio.core.text.encodings import SAMPLE, decode, detect, encoding_name, refuse_binary
from tokstudio.core.text.utf8 import AnyPath

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- Reads plain text into a source; also the values that say what to read, and where a source comes from -------------

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
    is_named: bool = False  # whether it was not found in a folder; then a file of JSON without text is refused
    pass_on: PassOn | None = None  # receives the documents, which are not kept then


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
    collect = Collector(place.name, reading, budget, pass_on=wanted.pass_on)
    collect.dropped.truncated = is_cut
    if wanted.pass_on is not None:
        yield from _pass_on_plain_work(decoded.data, wanted.documents, collect)
        [part] = yield from collect.parts_work()
    else:
        part = DividedPart(None, decoded.data, (yield from document_ends(decoded.data, wanted.documents)), None)
        if reading.filters:
            part = yield from _filtered_work(part, collect)
    chosen = " and ".join(shown(name) for name in (reading.field, reading.split_by) if name is not None)
    unused = f"plain text has no column {chosen}; all of it is read" if chosen else ""
    note = "; ".join(filter(None, (remark, unused, decoded.note, collect.dropped.note)))
    is_default = reading == Reading()
    return place.source(place.name, decoded.encoding, note, part, None if is_default else reading, is_rows=False)


def _filtered_work(whole: DividedPart, collect: Collector) -> Work[DividedPart]:
    """The documents of a plain text that a collector keeps."""
    for first, last, start, stop in groups(whole.ends, _PIECE, _DOCUMENTS):
        data, here = np.asarray(whole.data[start:stop]), whole.ends[first:last] - start
        collect.add(data, here, rows=np.arange(first + 1, last + 1))
        yield Progress("reading", start, len(whole.data))
        if collect.is_full:
            break
    parts = [one for one in (yield from collect.parts_work()) if len(one.data)]
    if not parts:
        raise EmptyError(f"{collect.name}: no text is left ({collect.dropped.note}).")
    return parts[0]


def _pass_on_plain_work(data: NDArray[np.uint8], documents: str, collect: Collector) -> Work[None]:
    """Passes on the documents of a plain text, of which only a few are in the memory."""
    start = 0
    while start < len(data) and not collect.is_full:
        piece = np.asarray(data[:]) if documents == "file" else _whole_lines(data, start)
        collect.add(piece, (yield from document_ends(piece, documents)))
        start += len(piece)
        yield Progress("reading", start, len(data))


def _whole_lines(data: NDArray[np.uint8], start: int) -> NDArray[np.uint8]:
    """Some whole lines of a text from a place on; at least one."""
    size = _PIECE
    while True:
        piece = np.asarray(data[start : start + size])
        feeds = np.flatnonzero(piece == ord("\n"))
        if start + size >= len(data):
            return piece
        if len(feeds):
            return piece[: int(feeds[-1]) + 1]
        size *= 2


OF_FILE = "of the file: "  # before the note of one part of it
_MOST_NAMED = 4  # files without text
_LOOKED_AT = 100  # members of a tar archive, which has no list of them; files of a folder


def look_work(
    path: AnyPath, encoding: str | None = None, reading: Reading | None = None, member: str | None = None
) -> Work[Contents]:
    """Looks at the beginning of a file, an archive or a folder, which shows its kind and its columns.

    Args:
        path: The file or the folder.
        encoding: As of `read_work`.
        reading: Likewise.
        member: As of `Source`, to look at this one; None for the first of an archive or a folder.

    Raises:
        ConfigError: `encoding` is unknown.
        CorpusError: It cannot be read.
    """
    chosen = None if encoding is None else encoding_name(encoding)
    wanted = Wanted("file", chosen, reading or Reading(keep_truncated=True), Budget(), member or None)
    path = path_of(path)
    entries = yield from _entries_work(path, member)
    if not entries:
        raise CorpusError(f"{file_name(path)}: {shown(member or '')} is no longer in it.")
    files = sum(max(1, len(entry.shards)) for entry in entries)
    contents = yield from _look_at_work(entries[0], wanted)
    for entry in entries[1:_LOOKED_AT]:
        if contents.is_data:
            break
        contents = yield from _look_at_work(entry, wanted)
    return replace(contents, name=file_name(path), files=files, rows=None) if len(entries) > 1 else contents


def look_at_content_work(raw: bytes, name: str) -> Work[Contents]:
    """Looks at content that is read already, such as standard input; raises CorpusError where it cannot be read."""
    wanted = Wanted("file", None, Reading(keep_truncated=True), Budget())
    file = cast("BinaryIO", io.BytesIO(raw))
    contents = yield from _look_in_work(OpenText(file, name, len(raw), keep_truncated=True), file, wanted)
    return replace(contents, name=name)


def _look_at_work(entry: Entry, wanted: Wanted) -> Work[Contents]:
    file = entry.shards[0] if entry.shards else entry.path
    with plain_errors(file), opened(file) as open_file:
        text = OpenText(open_file.file, file_name(file), open_file.status.st_size, wanted.reading.keep_truncated)
        contents = yield from _look_in_work(text, open_file.file, wanted)
        if entry.shards:
            rows = contents.rows if len(entry.shards) == 1 else None
            return replace(contents, name=file_name(entry.path), files=len(entry.shards), rows=rows)
        return contents


def _look_in_work(text: OpenText, file: BinaryIO, wanted: Wanted) -> Work[Contents]:
    text_look = look(text, wanted.encoding, wanted.reading)
    if text_look.kind in kinds.ARCHIVES:
        return (yield from _look_into_archive_work(text, text_look, file, wanted))
    return (yield from with_columns_work(text, text_look, file, wanted.budget, bool(text_look.compression))).contents(
        text.name
    )


def read_work(
    path: AnyPath | Entry,
    documents: str = "file",
    encoding: str | None = None,
    reading: Reading | None = None,
    budget: Budget | None = None,
) -> Work[tuple[Source, ...]]:
    """Reads a file, an archive, a folder or a data set.

    Args:
        path: Or an entry of `expand_work`.
        documents: What a document of plain text is: "file" or "line". The rows of a data set are its documents.
        encoding: As of `Corpus.from_files`; "bytes" reads any file as it is.
        reading: Which column of a data set is read, and what is kept; None for the default.
        budget: The memory that is shared with other calls; None for a new one.

    Returns:
        A source for each plain text, data set, or value of the column that divides it, in their order.

    Raises:
        ConfigError: `documents` or `encoding` is unknown.
        CorpusError: Something cannot be read, is empty, or changed while it was read; of a folder, files without text
            are skipped, which the note of the first source says.
        NoColumnOfTextError: It is a file of JSON without text that was not found in a folder.
        BinaryError: It is nothing that can be read, and `encoding` is not "bytes".
    """
    wanted = _wanted(documents, encoding, reading, budget)
    if isinstance(path, Entry):
        entries = [path]
    else:
        entries = yield from expand_work([path], fetching=Fetching(wanted.reading, wanted.encoding))
    sources, skipped = list[Source](), SkippedFiles()
    for entry in entries:
        with nullcontext() if isinstance(path, Entry) else skipped.if_without_text(entry):
            sources += yield from _read_given_work(entry, wanted)
    return skipped.noted(sources)


def pass_on_work(
    entry: Entry,
    pass_on: PassOn,
    documents: str = "file",
    encoding: str | None = None,
    reading: Reading | None = None,
    budget: Budget | None = None,
) -> Work[tuple[Source, ...]]:
    """Reads as `read_work` does, and passes on the documents in their order, in groups, between two reports of it.

    A data set is read in pieces. A plain text that is packed, or not in UTF-8, is first unpacked as a whole, on the
    disk where it is larger than the budget.

    Returns:
        The same sources without their text; also one for a data set without documents.

    Raises:
        ConfigError: Also where the reading divides data sets.
        CorpusError: As of `read_work`; some documents may have been passed on before.
    """
    wanted = replace(_wanted(documents, encoding, reading, budget), pass_on=pass_on)
    if wanted.reading.split_by is not None:
        raise ConfigError("Documents that are passed on keep their order: divide them by no column.")
    return tuple((yield from _read_given_work(entry, wanted)))


class SkippedFiles:
    """The files of folders that had no text while others were read."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    @contextmanager
    def if_without_text(self, entry: Entry) -> Generator[None]:
        """Skips a file without text that was found in a folder; of one that was given, the error stays."""
        try:
            yield
        except (EmptyError, BinaryError):
            if not entry.is_found:
                raise
            self._entries.append(entry)

    def noted(self, sources: Sequence[Source]) -> tuple[Source, ...]:
        """The sources that were read, of which the first one's note names the skipped files.

        Raises:
            EmptyError: No source is left.
        """
        if not self._entries:
            return tuple(sources)
        names = first_few([entry.name or file_name(entry.path) for entry in self._entries], _MOST_NAMED, str)
        if not sources:
            raise EmptyError(f"{names}: the {'file has' if len(self._entries) == 1 else 'files have'} no text.")
        note = f"{several(len(self._entries), 'file')} without text skipped ({names})"
        return replace(sources[0], note="; ".join(filter(None, (sources[0].note, note)))), *sources[1:]


def empty_source(name: str) -> Source:
    """A source without documents, in place of a file without text."""
    return replace(Source.from_texts([], name), note="it has no text")


def read_again_work(
    path: Path,
    documents: str = "file",
    encoding: str | None = None,
    reading: Reading | None = None,
    member: str = "",
    value: str | None = None,
) -> Work[Source]:
    """Reads one source again; the arguments after `encoding` are the fields of the source.

    Raises:
        CorpusError: It is no longer there, or as of `read_work`.
    """
    # Without a reading, the file was plain text, which it stays.
    wanted = _wanted(documents, encoding, reading or Reading(as_text=True), None)
    wanted = replace(wanted, member=member or None, value=value)
    for entry in (yield from _entries_work(path, member)):
        for source in (yield from _read_entry_work(entry, wanted)):
            return replace(source, reading=None) if reading is None else source
    raise CorpusError(f"{file_name(path)}: {shown(member if value is None else value)} is no longer in it.")


def read_otherwise_work(
    path: Path, documents: str, encoding: str | None, reading: Reading, member: str = ""
) -> Work[tuple[Source, ...]]:
    """Reads all sources of a file, or of one member of an archive or of a folder; arguments as of `read_again_work`.

    Raises:
        CorpusError: It is no longer there, or as of `read_work`.
    """
    wanted = replace(_wanted(documents, encoding, reading, None), member=member or None)
    for entry in (yield from _entries_work(path, member)):
        if sources := (yield from _read_entry_work(entry, wanted)):
            return tuple(sources)
    raise CorpusError(f"{file_name(path)}: {shown(member)} is no longer in it.")


def _entries_work(path: Path, member: str | None) -> Work[list[Entry]]:
    """What is read of a path; of a folder, the data set with the name `member`, or all where it is None."""
    if not path.is_dir():
        return [Entry(path)]
    entries = yield from expand_work([path])
    return entries if member is None else [entry for entry in entries if entry.shards and entry.name == member]


def read_source(
    path: AnyPath, documents: str = "file", encoding: str | None = None, budget: Budget | None = None
) -> Work[Source]:
    """Reads one regular file as plain text, in bounded pieces; arguments and errors are those of `read_work`."""
    wanted = _wanted(documents, encoding, None, budget)
    path = path_of(path)
    with plain_errors(path):
        return (yield from read_plain_work(Entry(path), wanted))


def content_work(
    raw: NDArray[np.uint8], name: str, documents: str, encoding: str | None, reading: Reading | None = None
) -> Work[tuple[Source, ...]]:
    """Makes sources of content that is read already, such as standard input; they have no path."""
    wanted, place = _wanted(documents, encoding, reading, None), SourcePlace(name, None)
    if not len(raw):
        raise EmptyError(f"{name}: it has no text.")

    def read_work(wanted: Wanted) -> Work[list[Source]]:
        if wanted.encoding == "bytes":
            return [(yield from plain_source_work(raw, wanted, place))]
        file = cast("BinaryIO", io.BytesIO(raw.data))
        text = OpenText(file, name, len(raw), wanted.reading.keep_truncated)
        text_look = look(text, wanted.encoding, wanted.reading)
        return (yield from _read_found_work(text, text_look, file, wanted, place))

    return tuple((yield from _with_long_rows_work(read_work, wanted)))


def _wanted(documents: str, encoding: str | None, reading: Reading | None, budget: Budget | None) -> Wanted:
    check_documents(documents)
    chosen = None if encoding is None else encoding_name(encoding)
    return Wanted(documents, chosen, reading or Reading(), budget or Budget())


def _with_long_rows_work(read: Callable[[Wanted], Work[list[Source]]], wanted: Wanted) -> Work[list[Source]]:
    """Reads; begins again with more memory where a row of a table is very long."""
    try:
        return (yield from read(wanted))
    except RowTooLongError:
        if wanted.pass_on is not None:
            wanted.pass_on.begin_again()
        return (yield from read(replace(wanted, is_long=True)))


def _read_given_work(entry: Entry, wanted: Wanted) -> Work[list[Source]]:
    """Reads an entry that was given by a caller, with its remark."""
    sources = yield from _read_entry_work(entry, replace(wanted, is_named=not entry.is_found))
    if sources and entry.remark:
        sources[0] = replace(sources[0], note="; ".join(filter(None, (entry.remark, sources[0].note))))
    return sources


def _read_entry_work(entry: Entry, wanted: Wanted) -> Work[list[Source]]:
    read = _read_shards_work if entry.shards else _read_file_work
    return _with_origin(entry, (yield from _with_long_rows_work(lambda wanted: read(entry, wanted), wanted)))


def _with_origin(entry: Entry, sources: list[Source]) -> list[Source]:
    """The sources of a text that was fetched by its address, with its name and where it is from; others as they are."""
    if (kept := kept_at(entry.path)) is None:
        return sources
    name = entry.name or kept.name_of(entry.path)
    named = [
        replace(one, name=name if one.value is None else f"{name}: {one.value}", origin=kept.origin)
        for one in sources
        if entry.shards or not one.member
    ]
    of_set = named if len(named) == len(sources) else [replace(one, origin=kept.origin) for one in sources]
    # Of several texts of one address, the first says it.
    if of_set and (entry.shards or (entry.path,))[0].name in kept.sets[0].files:
        of_set[0] = replace(of_set[0], note="; ".join(filter(None, (kept.origin.note, of_set[0].note))))
    return of_set


def _read_file_work(entry: Entry, wanted: Wanted) -> Work[list[Source]]:
    path, name = entry.path, file_name(entry.path)
    remark = ""
    with plain_errors(path):
        if wanted.encoding != "bytes":
            with opened(path) as file:
                text = OpenText(file.file, name, file.status.st_size, wanted.reading.keep_truncated)
                text_look = look(text, wanted.encoding, wanted.reading)
                if wanted.is_named:
                    refuse_without_text(text, text_look)
                remark = _remark(text_look)
                if text_look.kind != kinds.TEXT or text_look.compression:
                    place = SourcePlace(name, path, entry.group, file.status)
                    sources = yield from _read_found_work(text, text_look, file.file, wanted, place)
                    file.check()
                    return sources
        return [(yield from read_plain_work(entry, wanted, remark))]


def _remark(text_look: Look) -> str:
    """What is said of a plain text beside what is dropped of it."""
    return f"{text_look.fault or 'no column holds text'}; read as plain text" if text_look.has_no_text else ""


def _read_found_work(
    text: OpenText, text_look: Look, file: BinaryIO, wanted: Wanted, place: SourcePlace, is_member: bool = False
) -> Work[list[Source]]:
    """Reads what a look has found; `file` holds the stored bytes."""
    if text_look.kind in kinds.ARCHIVES:
        if is_member:
            raise BinaryError(f"{text.name}: this is an archive within an archive.")
        return (yield from _read_members_work(text, text_look, file, wanted, place))
    if text_look.kind == kinds.TEXT:
        content = yield from unpacked_work(text, wanted.budget)
        return [(yield from plain_source_work(content, wanted, place, _remark(text_look), text.is_cut))]
    place = replace(place, kind=text_look.shown)
    collect = Collector(text.name, wanted.reading, wanted.budget, wanted.value, pass_on=wanted.pass_on)
    reading = yield from collect_work(
        text, text_look, file, wanted.reading, wanted.budget, collect, is_long=wanted.is_long, is_member=is_member
    )
    return (yield from _sources_work(collect, reading, text_look.encoding or "utf-8", place))


def _look_into_archive_work(text: OpenText, text_look: Look, file: BinaryIO, wanted: Wanted) -> Work[Contents]:
    """Shows the first member of an archive that is a data set, else its kind."""
    files, shown_member = 0, None
    members = _members(text, text_look, (yield from _archive_work(text, text_look, file, wanted)), Skipped())
    with until_cut(lambda: _ends_early(text, text_look)):
        for member in members:
            files += 1
            if shown_member is None and _is_wanted(member, wanted):
                with suppress(BinaryError):
                    inner = OpenText(member.file, member.name, member.size, True, lambda: text.stored)
                    look_inside = look(inner, wanted.encoding, wanted.reading)
                    if look_inside.kind in kinds.DATA:
                        shown_member = yield from with_columns_work(
                            inner, look_inside, member.file, wanted.budget, True
                        )
            if text_look.kind == kinds.TAR and files == _LOOKED_AT:
                break
    contents = (shown_member or Look(kinds.TEXT)).contents(text.name, files)
    return replace(contents, kind=f"{text_look.shown}: {contents.kind}")


def _archive_work(text: OpenText, text_look: Look, file: BinaryIO, wanted: Wanted) -> Work[BinaryIO]:
    """The file of an archive, in which one can seek where its kind needs it."""
    if text_look.kind == kinds.TAR:
        return file
    return (yield from seekable_work(text, file, wanted.budget, not text_look.compression))


def _members(text: OpenText, text_look: Look, file: BinaryIO, skipped: Skipped) -> Iterator[Member]:
    if text_look.kind == kinds.TAR:
        return tar_members(text, text.name, skipped, lambda: text.stored)
    return zip_members(file, text.name, text.size, skipped)


def _is_wanted(member: Member, wanted: Wanted) -> bool:
    return wanted.member is None or member_name(wanted.member) == member.name


def _ends_early(text: OpenText, text_look: Look) -> bool:
    """Whether the compressed data of a tar archive ended too early; the members before that are whole."""
    return text_look.kind == kinds.TAR and text.is_cut


def _read_members_work(
    text: OpenText, text_look: Look, file: BinaryIO, wanted: Wanted, place: SourcePlace
) -> Work[list[Source]]:
    """Reads each member of an archive as a file of its own."""
    skipped, sources, name = Skipped(), list[Source](), text.name
    members = _members(text, text_look, (yield from _archive_work(text, text_look, file, wanted)), skipped)
    done = whole = 0
    with until_cut(lambda: _ends_early(text, text_look)):
        for member in members:
            done = text.done - member.stored if text_look.kind == kinds.TAR else done
            if _is_wanted(member, wanted):
                here = replace(place, name=member.name, member=member.name)
                work = _read_member_work(member, wanted, here, lambda: text.stored)
                try:
                    passed = 0 if wanted.pass_on is None else wanted.pass_on.bytes
                    read_sources = yield from part_of(work, "reading", done, member.stored, text.size)
                    whole += sum(len(source.data) for source in read_sources)
                    whole += 0 if wanted.pass_on is None else wanted.pass_on.bytes - passed
                    refuse_bomb(name, whole, text.stored)
                    sources += read_sources
                except EmptyError:
                    if wanted.member is not None:
                        raise
                    skipped.add("empty")
                except BinaryError:
                    skipped.add("no text")
                if wanted.member is not None:
                    break
            done += member.stored
    cut = "the compressed data ends too early; what was whole is read" if _ends_early(text, text_look) else ""
    if not sources and wanted.member is None:
        why = f": {skipped}" if skipped else " before its data ends too early" if cut else ""
        raise (CorpusError if wanted.is_named else EmptyError)(f"{name}: no texts in this archive{why}.")
    if (skipped or cut) and sources:
        note = "; ".join(filter(None, (sources[0].note, cut, str(skipped))))
        sources[0] = replace(sources[0], note=note)
    if len(sources) > folders.MOST_APART:
        sources = [replace(source, group=str(place.path or name)) for source in sources]
    return sources


def _read_member_work(
    member: Member, wanted: Wanted, place: SourcePlace, stored: Callable[[], int]
) -> Work[list[Source]]:
    text = OpenText(member.file, member.name, member.size, wanted.reading.keep_truncated, stored)
    text_look = look(text, wanted.encoding, wanted.reading)
    if text_look.kind == kinds.PARQUET and PurePosixPath(member.name).name in kinds.DESCRIPTIONS:
        raise EmptyError(f"{member.name}: it describes a data set, and has no text.")
    return (yield from _read_found_work(text, text_look, member.file, wanted, place, is_member=True))


def _read_shards_work(entry: Entry, wanted: Wanted) -> Work[list[Source]]:
    """Reads the shards of a data set one after another, as if they were one file."""
    folder = file_name(entry.path)
    name = f"{folder}: {entry.name}" if entry.name else folder
    collect = Collector(name, wanted.reading, wanted.budget, wanted.value, pass_on=wanted.pass_on)
    reading, encoding, kind = wanted.reading, "utf-8", ""
    sizes = [path.stat().st_size if path.exists() else 0 for path in entry.shards]
    for number, path in enumerate(entry.shards):
        collect.begin_shard(file_name(path))
        with plain_errors(path), opened(path) as file:
            text = OpenText(file.file, file_name(path), file.status.st_size, reading.keep_truncated)
            text_look = look(text, wanted.encoding, reading)
            if text_look.kind not in kinds.DATA:
                raise CorpusError(f"{file_name(path)}: it is no data set like the other files of {name}.")
            work = collect_work(text, text_look, file.file, reading, wanted.budget, collect, is_long=wanted.is_long)
            reading = yield from part_of(work, "reading", sum(sizes[:number]), sizes[number], sum(sizes))
            encoding, kind = text_look.encoding or encoding, text_look.shown
            file.check()
        if collect.is_full:
            break
    with plain_errors(entry.path):
        place = SourcePlace(name, entry.path, entry.group, entry.path.stat(), entry.name, kind)
    return (yield from _sources_work(collect, replace(reading, delimiter=wanted.reading.delimiter), encoding, place))


def _sources_work(collect: Collector, reading: Reading, encoding: str, place: SourcePlace) -> Work[list[Source]]:
    """Makes a source of each part that was collected."""
    sources: list[Source] = []
    parts = yield from collect.parts_work()
    note = collect.dropped.note
    for part in parts:
        name = place.name if part.value is None else f"{place.name}: {part.value}"
        remark = f"{OF_FILE}{note}" if note and part.value is not None else note
        source = place.source(name, encoding, "" if sources else remark, part, reading, is_rows=True)
        sources.append(replace(source, shards=tuple(collect.shards)))
    if collect.pass_on is None and not any(len(source.data) for source in sources):
        raise EmptyError(f"{place.name}: the file has no text{f' ({note})' if note else ''}.")
    return sources
