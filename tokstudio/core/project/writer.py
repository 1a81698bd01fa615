"""Writes a project: a whole new database beside the file, which is moved into place when it is on the disk."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from itertools import chain, count, islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.algorithms.common.from_tokenizer import start_of
from tokstudio.core.base.atomic_files import StagedFiles, file_name
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import COLUMNS
from tokstudio.core.model.run import MergeBatch, Run
from tokstudio.core.project.database import LARGEST_FILE, create, plain_errors
from tokstudio.core.project.model import (
    Project,
    ProjectRun,
    ProjectSource,
    ProjectTokenizer,
    mixture_state,
    trained_on_state,
)
from tokstudio.core.project.schema import ACTIVE, LEAVING_OUT, Json, to_json
from tokstudio.core.project.whole_tokenizer import (
    config_to_json,
    content_hash_work,
    file_parts,
    left_out_to_json,
    parallel_bytes,
    reading_to_json,
    run_parts,
    start_to_json,
)
from tokstudio.core.text.utf8 import to_utf8

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROWS = 4096
_PIECE = 1 << 20
_MERGE_COLUMNS = ("run", "number", "left", "right", "count", "tokens_after")
_LARGEST_BLOB = 1_000_000_000  # SQLite's default limit


def save_work(project: Project, path: Path, private: bool = False, may_replace: bool = True) -> Work[Path]:
    """Saves a project in bounded pieces and returns its path; closing the work, or an error, leaves the old file.

    With `private`, a new file gets permissions for this user only. For `may_replace` see `StagedFiles`.

    Raises:
        FormatError: It cannot be written, or is too large for a project.
    """
    _refuse_too_large(project, path)
    with StagedFiles(private, may_replace) as staged:
        temporary = yield from staged.reserve(path)
        try:
            with plain_errors(path), closing(create(temporary)) as connection:
                connection.execute("BEGIN")
                yield from insert_work(connection, project)
                connection.execute("COMMIT")
        except ValueError as error:
            raise FormatError(f"{file_name(path)}: a setting cannot be saved in a project: {error}.") from error
        yield Progress("writing")
        staged.flush(path)
        staged.commit()
    return path


def insert_work(connection: sqlite3.Connection, project: Project) -> Work[None]:
    """Fills the tables of an empty database, within the caller's transaction."""
    total = sum(len(entry.run) if isinstance(entry, ProjectRun) else 0 for entry in project.runs)
    state: dict[str, Json] = {**project.state, ACTIVE: None if project.active is None else project.active + 1}
    if project.leaving_out:
        state[LEAVING_OUT] = [step.to_json() for step in project.leaving_out]
    connection.executemany("INSERT INTO project VALUES (?, ?)", [(_text(key), to_json(state[key])) for key in state])
    for number, source in enumerate(project.sources, 1):
        yield from _insert_source_work(connection, number, source)
    done = 0
    for number, entry in enumerate(project.runs, 1):
        if isinstance(entry, ProjectTokenizer):
            yield from _insert_tokenizer_work(connection, number, entry)
        else:
            yield from _insert_run_work(connection, number, entry, done, total)
            done += len(entry.run)


def insert_batch(connection: sqlite3.Connection, number: int, batch: MergeBatch) -> None:
    """Adds merges to those of the run with this number."""
    columns, names = [batch.left, batch.right, batch.count, batch.tokens_after], [*_MERGE_COLUMNS]
    for column in COLUMNS:
        if column.numbers and column.name in batch.columns:
            columns.extend(batch.columns[column.name].reshape(-1, len(column.numbers)).T)
            names += column.numbers
    rows = zip(repeat(number), count(batch.first), *(column.tolist() for column in columns), strict=False)
    # Named, because a recording of an earlier version has fewer columns.
    values = ", ".join("?" * len(names))
    connection.executemany(f"INSERT INTO merge ({', '.join(names)}) VALUES ({values})", rows)


def _insert_source_work(connection: sqlite3.Connection, number: int, source: ProjectSource) -> Work[None]:
    connection.execute(
        "INSERT INTO source VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL, NULL)",
        (
            number,
            _text(source.name),
            _path(source.path),
            _text(source.encoding),
            _text(source.note),
            source.weight,
            _settings(source.text),
            source.bytes,
            source.documents,
            source.size_on_disk,
            None if source.modified is None else float(source.modified),
            source.sha256,
            int(source.in_corpus),
            reading_to_json(source),
        ),
    )
    yield Progress("writing")
    if (kept := source.text) is not None:
        for column, array in (("text", kept.data), *_numbers(kept)):
            yield from _fill_work(connection, "source", column, number, array)


def _settings(source: Source | None) -> str | None:
    """The settings of word counts."""
    return None if source is None or source.counted_with is None else to_json(asdict(source.counted_with))


def _numbers(source: Source) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    for column, array in (("ends", source.ends), ("places", source.places), ("counts", source.counts)):
        if array is not None:
            yield column, as_bytes(array)


def as_bytes(numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Numbers as a project stores them: 8 bytes each, little endian."""
    return np.ascontiguousarray(numbers, "<i8").view(np.uint8)


def _fill_work(
    connection: sqlite3.Connection, table: str, column: str, number: int, data: NDArray[np.uint8]
) -> Work[None]:
    """Writes a large value in pieces, so that it is never held twice."""
    size = len(data)
    connection.execute(f"UPDATE {table} SET {column} = zeroblob(?) WHERE number = ?", (size, number))
    with connection.blobopen(table, column, number) as blob:
        for at in range(0, size, _PIECE):
            blob.write(np.ascontiguousarray(data[at : at + _PIECE]).data)
            yield Progress("writing", at, size)


def _insert_tokenizer_work(connection: sqlite3.Connection, number: int, entry: ProjectTokenizer) -> Work[None]:
    digest = yield from content_hash_work(file_parts(entry.files, entry.pattern))
    values = (number, _text(entry.name), to_json(dict(entry.state)), entry.pattern, digest)
    connection.execute("INSERT INTO run (number, name, state, pattern, content_sha256) VALUES (?, ?, ?, ?, ?)", values)
    for file in entry.files:
        inserted = connection.execute("INSERT INTO file VALUES (NULL, ?, ?, x'')", (number, _text(file.name)))
        assert inserted.lastrowid is not None
        yield from _fill_work(connection, "file", "content", inserted.lastrowid, np.frombuffer(file.content, np.uint8))


def _insert_run_work(
    connection: sqlite3.Connection, number: int, entry: ProjectRun, done: int, total: int
) -> Work[None]:
    run = entry.run
    # Sources have the hashes and the names themselves.
    texts = {} if entry.sources else trained_on_state(run.corpus.texts)
    if not entry.sources or run.corpus.leaving_out:
        texts |= mixture_state(run.corpus.mixture)
    config, start = config_to_json(run.config), start_to_json(run)
    digest = yield from content_hash_work(run_parts(run, config, start))
    connection.execute(
        "INSERT INTO run VALUES (?, ?, ?, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, ?, ?, ?)",
        (
            number,
            _text(entry.name),
            to_json({**entry.state, **texts}),
            config,
            to_json([source + 1 for source in entry.sources]),
            run.corpus.bytes,
            run.corpus.documents,
            run.corpus.sha256,
            run.tokens_before,
            run.ended,
            to_json(dict(run.versions)),
            None if run.corpus.weights is None else to_json(run.corpus.weights),
            start,
            to_json(run.languages) if run.languages else None,
            left_out_to_json(run.corpus),
            digest,
            float(run.seconds),
        ),
    )
    if len(parallel := parallel_bytes(run.config)):
        yield from _fill_work(connection, "run", "parallel", number, parallel)
    for column in COLUMNS:
        if not column.numbers and column.name in run.columns:
            yield from _fill_work(connection, "run", column.name, number, as_bytes(run.columns[column.name]))
    tokens = chain(_base_rows(number, run), _trailing_rows(number, run))
    while rows := list(islice(tokens, _ROWS)):
        connection.executemany("INSERT INTO token VALUES (?, ?, ?, ?, ?)", rows)
        yield Progress("writing", done, total)
    for first in range(0, len(run), _ROWS):
        here = slice(first, first + _ROWS)
        left, right = run.merges[here].T
        columns = {name: column[here] for name, column in run.columns.items()}
        begin = run.merges_before + first + 1
        batch = MergeBatch(begin, left, right, run.counts[here], run.tokens_after[here], columns)
        insert_batch(connection, number, batch)
        yield Progress("writing", done + first, total)


def _base_rows(number: int, run: Run) -> Iterator[tuple[int, int, bytes, str, int]]:
    """The rows of ids before those of the merges; after a start from a tokenizer, of those that occur."""
    specials = {token: text.encode() for text, token in run.special_tokens.items()}
    if (start := start_of(run)) is not None:
        for token in np.flatnonzero(run.base_counts).tolist():
            yield number, token, start.tokens[token] or b"", "base", int(run.base_counts[token])
        return
    for token, times in enumerate(run.base_counts.tolist()):
        if token in specials:
            yield number, token, specials[token], "special", times
        else:
            yield number, token, run.alphabet.tokens[token], "base", times


def _trailing_rows(number: int, run: Run) -> Iterator[tuple[int, int, bytes, str, int]]:
    """The rows of special tokens after the merges; only the unknown token can occur in the corpus."""
    unknown = run.tokens_before - int(run.base_counts.sum())
    for token in () if run.start is not None else run.config.trailing_specials:
        times = unknown if token == run.config.unknown_token else 0
        yield number, run.special_tokens[token], token.encode(), "special", times


def _refuse_too_large(project: Project, path: Path) -> None:
    name = file_name(path)
    sizes: list[tuple[str, int]] = []
    for source in project.sources:
        if source.text is not None:
            sizes.append((source.name, len(source.text.data)))
            sizes += [(source.name, len(array)) for _, array in _numbers(source.text)]
    for entry in project.runs:
        if isinstance(entry, ProjectTokenizer):
            sizes += [(file.name, len(file.content)) for file in entry.files]
    for of, size in sizes:
        if size > _LARGEST_BLOB:
            raise FormatError(f"{name}: {of} is too large to save in a project: {size:,} bytes.")
    if sum(size for _, size in sizes) > LARGEST_FILE // 2:
        raise FormatError(f"{name}: the pasted texts and opened tokenizers are too large to save in one project.")


def _text(text: str) -> str:
    """The text for SQLite, with U+FFFD for lone surrogates."""
    return to_utf8(text).decode()


def _path(path: Path | None) -> str | bytes | None:
    """A path as text, or as bytes where it is not valid text."""
    if path is None:
        return None
    raw = os.fsencode(path)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw
