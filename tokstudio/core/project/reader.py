"""Opens an untrusted project: its pages and tables are checked first, then every value as it is read."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import ConfigError, CorpusError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import LARGEST_WEIGHT, ONCE
from tokstudio.core.corpus.open_sources import read_again_work
from tokstudio.core.corpus.source import DOCUMENTS, CountedWith, Source, document_ends, mixture_of
from tokstudio.core.hub.addresses import parse_address
from tokstudio.core.hub.fetching_texts import fetch_work
from tokstudio.core.hub.kept_texts import SCHEME, TextOrigin, kept_for
from tokstudio.core.model.alphabet import LARGEST_ID
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.run import Run
from tokstudio.core.project.database import LARGEST, Row, check_pages, numbered_rows, opened
from tokstudio.core.project.model import (
    MIXTURE,
    TRAINED_ON,
    Project,
    ProjectRun,
    ProjectSource,
    ProjectTokenizer,
    TokenizerFile,
    mixture_in,
    trained_on,
)
from tokstudio.core.project.run_reader import read_run_work
from tokstudio.core.project.schema import ACTIVE, LEAVING_OUT, Json
from tokstudio.core.project.whole_tokenizer import content_hash_work, file_parts, run_parts, steps_of, with_reading

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- Sources in a project: keeping them, and finding their texts again ------------------------------------------------

_PIECE = 1 << 20


@dataclass(frozen=True, eq=False)
class RestoredSource:
    """A source with the current content of its file, and whether its text has changed since the project was saved."""

    source: Source
    changed: bool


def keep_source_work(source: Source) -> Work[ProjectSource]:
    """The source for a project: the absolute path of a file, or any other text itself.

    Reads all of the text once; a source never changes, so the result serves many saves.
    """
    sha256 = yield from text_hash_work(source.data)
    documents: Literal["file", "line"] | None = None
    if source.path is not None and source.counts is None:
        documents = yield from _division_work(source)
    return ProjectSource(
        source.name,
        None if source.path is None else source.path.absolute(),
        source.encoding,
        source.note,
        len(source.data),
        documents,
        source.size_on_disk,
        source.modified,
        sha256,
        source if documents is None else None,
        reading=source.reading,
        member=source.member,
        value=source.value,
        group=source.group,
        is_rows=source.is_rows,
        origin=source.origin,
    )


def reopen_source_work(kept: ProjectSource, fetches: bool = False) -> Work[RestoredSource]:
    """Finds a source's text again: in the project, or in its file, whose path is untrusted.

    A text that came by its address is looked for in the cache; only with `fetches`, as a project of a stranger may name
    any address, it is fetched again.

    Raises:
        CorpusError: Its file cannot be read, or fetched.
    """
    if kept.text is not None:
        return RestoredSource(kept.text, False)
    assert kept.path is not None
    if kept.origin is not None and not kept.path.exists():
        kept = replace(kept, path=(yield from _path_of_origin_work(kept.path, kept.origin, fetches)))
        assert kept.path is not None
    source = None
    # Detection and a chosen encoding treat faults differently: one keeps them, the other replaces them.
    for encoding in (kept.encoding, None):
        try:
            documents = "file" if kept.reading is None else kept.documents or "file"
            again = read_again_work(kept.path, documents, encoding, kept.reading, kept.member, kept.value)
            current = replace((yield from again), group=kept.group)
        except CorpusError:
            if source is None:
                raise
            break
        source = yield from _beginning_work(current, kept)
        if (yield from text_hash_work(source.data)) == kept.sha256:
            return RestoredSource(replace(source, note=kept.note), False)
        if current.size_on_disk != kept.size_on_disk:
            break
    assert source is not None
    return RestoredSource(source, True)


def _path_of_origin_work(path: Path, origin: TextOrigin, fetches: bool) -> Work[Path]:
    """Where a text that came by its address is now; CorpusError where it is not there."""
    name = origin.address
    if origin.scheme != SCHEME:
        raise CorpusError(f"{name}: its sample was chosen in a way that this version of TokStudio does not know.")
    request = replace(origin.request, address=name)
    found = kept_for(request, origin.commit) if origin.commit else kept_for(request)
    if found is None and not fetches:
        raise CorpusError(f"{name}: its text is no longer in the cache; read it again to fetch it.")
    if found is None:
        found, _ = yield from fetch_work(parse_address(name), request)
    return found.folder / path.name if any(path.name in one.files for one in found.sets) else found.folder


def text_hash_work(data: NDArray[np.uint8]) -> Work[str]:
    """The hexadecimal SHA-256 of a text."""
    digest = hashlib.sha256()
    for at in range(0, len(data), _PIECE):
        digest.update(np.ascontiguousarray(data[at : at + _PIECE]).data)
        yield Progress("hashing", at, len(data))
    return digest.hexdigest()


def _division_work(source: Source) -> Work[Literal["file", "line"] | None]:
    """The division of a file's text into documents; None where reading the file would not repeat it."""
    if source.is_rows:
        return "file"
    if source.reading is not None:
        # The filters are applied to the documents again.
        return "file" if source.documents == 1 else "line"
    if np.array_equal(source.ends, [len(source.data)]):
        return "file"
    lines = yield from document_ends(source.data, "line")
    return "line" if np.array_equal(source.ends, lines) else None


def _beginning_work(source: Source, kept: ProjectSource) -> Work[Source]:
    assert kept.documents is not None
    if source.reading is not None:
        if len(source.data) <= kept.bytes:
            return source
        whole = source.ends[source.ends < kept.bytes]
        places = None if source.places is None else source.places[: len(whole) + 1]
        ends = np.concatenate((whole, [kept.bytes]))
        return replace(source, data=source.data[: kept.bytes], ends=ends, places=places)
    if len(source.data) > kept.bytes:
        source = replace(source, data=source.data[: kept.bytes])
    if kept.documents == "line":
        return (yield from source.split_work("line"))
    return replace(source, ends=np.array([len(source.data)], np.int64))


_MOST_KEYS = 1000
_MOST_SOURCES = 1_000_000
_MOST_RUNS = 10_000
_MOST_FILES = 10_000

# Valid as a file name on every system, and never a path out of a folder.
_FILE_NAME = re.compile(r'(?!\.{1,2}$)[^\x00-\x1f/\\:*?"<>|]{1,200}')

_BLOBS = ("text", "ends", "places", "counts")
_SOURCE_COLUMNS = (
    *("number", "name", "path", "encoding", "note", "bytes", "documents", "size_on_disk", "modified", "sha256"),
    *("in_corpus", "weight", "counted_with", *(f"length({column}) AS {column}_bytes" for column in _BLOBS)),
    *(f"typeof({column}) AS {column}" for column in _BLOBS),
    "reading",
)
_RUN_BLOBS = ("parallel", "second_counts")
_RUN_COLUMNS = (
    *("number", "name", "state", "pattern", "config", "sources", "corpus_bytes", "corpus_documents", "corpus_sha256"),
    *("tokens_before", "ended", "versions", "weights", "start", "languages", "left_out", "seconds"),
    "content_sha256",
    *(f"length({column}) AS {column}_bytes" for column in _RUN_BLOBS),
    *(f"typeof({column}) AS {column}" for column in _RUN_BLOBS),
)


def open_work(path: Path) -> Work[Project]:
    """Opens a project; FormatError where it is not one, is damaged, or was saved by a newer TokStudio."""
    name = file_name(path)
    with opened(path) as connection:
        yield Progress("checking")
        check_pages(connection, name)
        yield Progress("reading")
        state = _read_state(connection, name)
        sources = yield from _read_sources_work(connection, name)
        runs = yield from _read_runs_work(connection, name, sources)
        _check_rows_belong(connection, name, len(runs))
        active = state.pop(ACTIVE, None)
        if active is not None and not (type(active) is int and 1 <= active <= len(runs)):
            raise FormatError(f"{name}: the project is damaged: the active run is missing.")
        steps = state.pop(LEAVING_OUT, [])
        try:
            return Project(sources, runs, None if active is None else active - 1, state, steps_of(steps))
        except ConfigError as error:
            raise FormatError(f"{name}: the project is damaged: {LEAVING_OUT}: {error}") from error


def _read_state(connection: sqlite3.Connection, name: str) -> dict[str, Json]:
    state: dict[str, Json] = {}
    for key, value in connection.execute("SELECT key, value FROM project"):
        row = Row(name, "project", {"key": key, "value": value})
        if len(state) == _MOST_KEYS:
            raise FormatError(f"{name}: the project is too large: more than {_MOST_KEYS:,} rows in the table project.")
        state[row.text("key")] = row.json("value")
    return state


def _read_sources_work(connection: sqlite3.Connection, name: str) -> Work[tuple[ProjectSource, ...]]:
    sources: list[ProjectSource] = []
    for row in numbered_rows(connection, name, "source", _SOURCE_COLUMNS, _MOST_SOURCES):
        for column in _BLOBS:
            row.blob_type(column)
        documents = None if row.is_null("documents") else row.text("documents")
        if documents not in (None, "file", "line"):
            raise row.fault("documents", "it is neither file nor line")
        size, path = row.whole("bytes"), _path(row)
        if documents is not None and (path is None or not row.is_null("text_bytes")):
            raise row.fault("documents", "text in the project must have none, and a file must have its path")
        kept = ProjectSource(
            row.name("name"),
            path,
            row.name("encoding"),
            row.name("note"),
            size,
            documents,
            None if row.is_null("size_on_disk") else row.whole("size_on_disk"),
            None if row.is_null("modified") else row.real("modified"),
            row.sha256("sha256"),
            (yield from _read_text_work(connection, row, path)) if documents is None else None,
            row.whole("in_corpus", 0, 1) == 1,
            weight=ONCE if row.is_null("weight") else row.whole("weight", 0, LARGEST_WEIGHT * ONCE),
        )
        if not row.is_null("reading"):
            try:
                kept = with_reading(kept, row.json_object("reading"))
            except ValueError as error:
                raise row.fault("reading", str(error)) from error
            if kept.text is not None:
                of_text = {"group": kept.group, "member": kept.member, "is_rows": kept.is_rows}
                kept = replace(kept, text=replace(kept.text, **of_text))
        sources.append(kept)
        yield Progress("reading")
    return tuple(sources)


def _path(row: Row) -> Path | None:
    if row.is_null("path"):
        return None
    path = row.raw("path")
    try:
        if not path or b"\0" in os.fsencode(path):
            raise ValueError(path)
        return Path(os.fsdecode(path))
    except ValueError as error:
        raise row.fault("path", "this cannot be the path of a file") from error


def _read_text_work(connection: sqlite3.Connection, row: Row, path: Path | None) -> Work[Source]:
    """The text in the project, with the end and the count of each document."""
    number = row.whole("number")
    data = yield from _read_blob_work(connection, "source", "text", number, row.whole("text_bytes"))
    if len(data) != row.whole("bytes") or (yield from text_hash_work(data)) != row.sha256("sha256"):
        raise row.fault("text", "it is not the text that was saved")
    ends = yield from _read_numbers_work(connection, row, "ends")
    rising = np.diff(ends, prepend=0)
    if (len(ends) and int(ends[-1]) != len(data)) or (not len(ends) and len(data)) or np.any(rising < 0):
        raise row.fault("ends", "the documents do not add up to the text")
    counts: NDArray[np.int64] | None = None
    if not row.is_null("counts_bytes"):
        counts = yield from _read_numbers_work(connection, row, "counts")
        if len(counts) != len(ends) or np.any(counts < 1) or np.any(rising < 1):
            raise row.fault("counts", "there must be one of at least 1 for each word")
        # Floating point cannot overflow here.
        if float((rising.astype(np.float64) * counts).sum()) > LARGEST:
            raise row.fault("counts", "they add up to more text than can be counted")
    places: NDArray[np.int64] | None = None
    if not row.is_null("places_bytes"):
        places = yield from _read_numbers_work(connection, row, "places")
        if len(places) != len(ends) or np.any(np.diff(places, prepend=0) < 0) or np.any(places > LARGEST):
            raise row.fault("places", "there must be a place for each document, in order")
    return Source(
        row.name("name"),
        path,
        row.name("encoding"),
        row.name("note"),
        data,
        ends,
        None if row.is_null("modified") else row.real("modified"),
        None if row.is_null("size_on_disk") else row.whole("size_on_disk"),
        counts,
        places,
        None if row.is_null("counted_with") else _counted_with(row),
    )


def _counted_with(row: Row) -> CountedWith:
    values = row.json_object("counted_with")
    pattern, tokens, documents = (values.get(name) for name in ("pattern", "special_tokens", "documents"))
    if len(values) != len(fields(CountedWith)) or not isinstance(tokens, list) or documents not in DOCUMENTS:
        raise row.fault("counted_with", "these are not the settings of word counts")
    texts = [token for token in tokens if isinstance(token, str)]
    try:
        if not isinstance(pattern, str) or len(texts) != len(tokens):
            raise row.fault("counted_with", "a text is missing")
        TrainingConfig(vocabulary_size=LARGEST_ID, pattern=pattern, special_tokens=texts)
    except ConfigError as error:
        raise row.fault("counted_with", "the pattern or a special token is not valid") from error
    return CountedWith(pattern, tuple(texts), str(documents))


def _read_numbers_work(
    connection: sqlite3.Connection, row: Row, column: str, table: str = "source"
) -> Work[NDArray[np.int64]]:
    size = row.whole(f"{column}_bytes")
    if size % 8:
        raise row.fault(column, "its length is not a multiple of 8 bytes")
    raw = yield from _read_blob_work(connection, table, column, row.whole("number"), size)
    return raw.view("<i8").astype(np.int64)


def _read_blob_work(
    connection: sqlite3.Connection, table: str, column: str, number: int, size: int
) -> Work[NDArray[np.uint8]]:
    """Reads a large value in pieces; its pages have been checked, so its length is as SQLite says."""
    data = np.empty(size, np.uint8)
    with connection.blobopen(table, column, number, readonly=True) as blob:
        for at in range(0, size, _PIECE):
            piece = blob.read(_PIECE)
            data[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
            yield Progress("reading", at, size)
    return data


def _read_runs_work(
    connection: sqlite3.Connection, name: str, sources: tuple[ProjectSource, ...]
) -> Work[tuple[ProjectRun | ProjectTokenizer, ...]]:
    files = yield from _read_files_work(connection, name)
    runs: list[ProjectRun | ProjectTokenizer] = []
    for row in numbered_rows(connection, name, "run", _RUN_COLUMNS, _MOST_RUNS):
        title, state = row.name("name"), row.json_object("state")
        if row.is_null("config"):
            kept = files.pop(row.whole("number"), ())
            if not kept or len({file.name for file in kept}) < len(kept):
                raise row.fault("name", "an opened tokenizer needs files with different names")
            pattern = None if row.is_null("pattern") else row.text("pattern")
            yield from _check_hash_work(row, file_parts(kept, pattern), "tokenizer")
            runs.append(ProjectTokenizer(title, kept, pattern, state))
        else:
            for column in _RUN_BLOBS:
                row.blob_type(column)
            size = 0 if row.is_null("parallel_bytes") else row.whole("parallel_bytes")
            texts = np.empty(0, np.uint8)
            if size:
                texts = yield from _read_blob_work(connection, "run", "parallel", row.whole("number"), size)
            second: NDArray[np.int64] | None = None
            if not row.is_null("second_counts_bytes"):
                second = yield from _read_numbers_work(connection, row, "second_counts", "run")
            run = yield from read_run_work(connection, row, texts.tobytes(), second)
            start = None if row.is_null("start") else row.text("start")
            yield from _check_hash_work(row, run_parts(run, row.text("config"), start), "run")
            indexes = row.indexes("sources", len(sources))
            if indexes and run.corpus.weights is not None:
                if len(run.corpus.weights) != len(indexes):
                    raise row.fault("weights", "there must be one for each source")
                used = [sources[index].text or sources[index] for index in indexes]
                mixture = mixture_of(used, (source.bytes for source in used), run.corpus.weights)
                run = replace(run, corpus=replace(run.corpus, mixture=mixture))
            # A project of the command line has none of the sources.
            hashes = _texts(run, [sources[index] for index in indexes]) if indexes else trained_on(state)
            if run.corpus.leaving_out:
                # The texts were larger than what is left of them.
                run = replace(run, corpus=replace(run.corpus, mixture=()))
            mixture = run.corpus.mixture or (mixture_in(state) if run.corpus.weights is not None else ())
            for key in (TRAINED_ON, MIXTURE):
                state.pop(key, None)
            run = replace(run, corpus=replace(run.corpus, texts=hashes, mixture=mixture))
            runs.append(ProjectRun(title, run, indexes, state))
        yield Progress("reading")
    if files:
        raise FormatError(f"{name}: the project is damaged: a file does not belong to any opened tokenizer.")
    return tuple(runs)


def _check_hash_work(row: Row, parts: Iterable[bytes | None], what: str) -> Work[None]:
    """Raises FormatError where a run or tokenizer is not what was saved; one that was recovered has no hash."""
    if not row.is_null("content_sha256"):
        digest = yield from content_hash_work(parts)
        if digest != row.sha256("content_sha256"):
            raise row.fault("content_sha256", f"it is not the {what} that was saved")


def _texts(run: Run, sources: Sequence[ProjectSource]) -> tuple[str, ...]:
    """The hashes of the texts that a run was trained on, as of `Corpus.counted_hashes`."""
    weights = run.corpus.weights or (ONCE,) * len(sources)
    counted = (source for source, weight in zip(sources, weights, strict=True) if weight)
    return tuple(source.sha256 for source in counted if source.text is None or source.text.counts is None)


def _read_files_work(connection: sqlite3.Connection, name: str) -> Work[dict[int, tuple[TokenizerFile, ...]]]:
    """The files of each opened tokenizer, by its number."""
    files: dict[int, tuple[TokenizerFile, ...]] = {}
    columns = ("number", "run", "name", "length(content) AS size", "typeof(content) AS content")
    for row in numbered_rows(connection, name, "file", columns, _MOST_FILES):
        if not _FILE_NAME.fullmatch(row.text("name")):
            raise row.fault("name", "this cannot be the name of a file")
        row.blob_type("content")
        content = yield from _read_blob_work(connection, "file", "content", row.whole("number"), row.whole("size"))
        number = row.whole("run")
        files[number] = (*files.get(number, ()), TokenizerFile(row.text("name"), content.tobytes()))
    return files


def _check_rows_belong(connection: sqlite3.Connection, name: str, runs: int) -> None:
    """Raises FormatError where merges or tokens belong to a missing run."""
    for table in ("merge", "token"):
        strays = connection.execute(
            f"SELECT 1 FROM {table} WHERE typeof(run) <> 'integer' OR run < 1 OR run > ? LIMIT 1", (runs,)
        )
        if strays.fetchone() is not None:
            raise FormatError(f"{name}: the project is damaged: a row of the table {table} does not belong to any run.")
