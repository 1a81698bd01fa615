"""The list of what is left out, as CSV for use elsewhere: source, file, document, line, reason.

The file is given where a data set has several, the line where lines are left out. Documents and lines are numbered as
in their files, from 1.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from tokstudio.core.base.atomic_files import StagedFiles, file_name, write_fault
from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import printable, shown
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.leaving_out import LeavingOut, NamedDocuments
from tokstudio.core.corpus.readers.files import read_file_work
from tokstudio.core.corpus.rules import NAMED, check_rules
from tokstudio.core.corpus.source import Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

SOURCE, FILE, DOCUMENT, LINE, REASON = COLUMNS = ("source", "file", "document", "line", "reason")
_WRITTEN = (SOURCE, "shard", DOCUMENT, LINE, "rule")
_ROWS = 1 << 12


def write_list_work(corpus: Corpus, path: Path) -> Work[None]:
    """Writes what was left out of a corpus; raises FormatError where the file cannot be written.

    A source is named by its name, that of its file where a column divides it, or its index, from 0, where that is the
    name of several, or cannot be printed.
    """
    with StagedFiles() as staged:
        temporary = yield from staged.reserve(path)
        try:
            with temporary.open("w", encoding="utf-8", newline="") as file:
                yield from _write_rows_work(corpus, corpus.left_out, file)
        except OSError as error:
            raise write_fault(path, error) from error
        staged.flush(path)
        staged.commit()


def named_list_work(corpus: Corpus, step: LeavingOut) -> Work[bytes]:
    """The list of the documents and lines that are named in what is left out of a corpus; see `read_list_work`."""
    rows = [*((*row, -1) for row in step.documents), *step.lines]
    columns = dict(zip((SOURCE, "shard", DOCUMENT, LINE), np.array(rows, np.int64).reshape(-1, 4).T, strict=True))
    with io.StringIO(newline="") as file:
        yield from _write_rows_work(corpus, {**columns, "rule": np.full(len(rows), NAMED)}, file)
        return file.getvalue().encode("utf-8")


def _write_rows_work(corpus: Corpus, columns: Mapping[str, NDArray[Any]], file: TextIO) -> Work[None]:
    """Writes a list with a row for each document or line in columns as of `Corpus.left_out`."""
    has_lines = bool(np.any(columns[LINE] >= 0))
    writer = csv.writer(file, lineterminator="\n")
    has_files = any(source.shards for source in corpus.sources)
    left = {FILE} if not has_files else set[str]()
    left |= {LINE} if not has_lines else set()
    writer.writerow(name for name in COLUMNS if name not in left)
    names = dict(enumerate(_names(corpus)))
    files = {
        (index, shard): file
        for index, source in enumerate(corpus.sources)
        for shard, file in enumerate(source.shards or ("",))
    }
    for first in range(0, len(columns[DOCUMENT]), _ROWS):
        here = (columns[name][first : first + _ROWS].tolist() for name in _WRITTEN)
        for source, shard, document, line, rule in zip(*here, strict=True):
            lines = ((line + 1 if line >= 0 else ""),) if has_lines else ()
            shards = (files[source, shard],) if has_files else ()
            writer.writerow((names[source], *shards, document + 1, *lines, rule))
        yield Progress("writing", first, len(columns[DOCUMENT]))


def leaving_out_work(
    corpus: Corpus, rules: Mapping[str, float | bool | None], lists: Iterable[Path]
) -> Work[LeavingOut]:
    """What rules and lists leave out of a corpus together; rules have a threshold, or True or None for the usual one.

    Raises:
        ConfigError: There is no such rule, or a threshold is not valid.
        CorpusError: As of `read_list_work`.
    """
    documents, lines = set[tuple[int, int, int]](), set[tuple[int, int, int, int]]()
    for path in lists:
        named = yield from read_list_work(path, corpus)
        documents.update(named.documents)
        lines.update(named.lines)
    checked = check_rules((), {name: True if value is None else value for name, value in rules.items()})
    return LeavingOut(tuple(checked.items()), tuple(sorted(documents)), tuple(sorted(lines)))


def _names(corpus: Corpus) -> list[str]:
    """What each source is called in a list: a name that no other has and that can be printed, else its index."""
    names = list(map(_name_of, corpus.sources))
    owners: dict[str, set[object]] = {}
    for index, (source, name) in enumerate(zip(corpus.sources, names, strict=True)):
        # The parts of a divided file are called like the file, whose rows are in one of them.
        file = index if source.value is None or source.shards else (source.path, source.member)
        owners.setdefault(name, set()).add(file)
    return [
        name if len(owners[name]) == 1 and printable(name) == name else str(index) for index, name in enumerate(names)
    ]


def _name_of(source: Source) -> str:
    divided = source.value is not None and source.path is not None and not source.member and not source.shards
    return source.path.name if divided and source.path is not None else source.name


def read_list_work(path: Path, corpus: Corpus) -> Work[LeavingOut]:
    """Reads a list, and finds its documents and lines in a corpus; other columns than its own are ignored.

    Raises:
        CorpusError: It cannot be read, is no such list, or names a source or a document that is not there.
    """
    name = file_name(path)
    raw = yield from read_file_work(path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{name}: this list is not UTF-8.") from error
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    finder = NamedDocuments(corpus)
    documents, lines = set[tuple[int, int, int]](), set[tuple[int, int, int, int]]()
    try:
        header = [cell.strip().lower() for cell in next(rows, list[str]())]
        if SOURCE not in header or DOCUMENT not in header:
            raise CorpusError(
                f'{name}: this is no list of documents: its first line must name the columns "source" and "document".'
            )
        at_source, at_document = header.index(SOURCE), header.index(DOCUMENT)
        at_file, at_line = (header.index(name) if name in header else None for name in (FILE, LINE))
        for cells in rows:
            if rows.line_num % _ROWS == 0:
                yield Progress("reading")
            if not any(cells):
                continue
            try:
                if len(cells) <= max(at_source, at_document):
                    raise ConfigError("a cell is missing.")
                which, number = cells[at_source], _number(cells[at_document])
                file, line = (cells[at] if at is not None and at < len(cells) else "" for at in (at_file, at_line))
                found = finder.document(finder.name_or_index(which), number, file)
                finder.check(*found)
                if line.strip():
                    lines.add((*found, _number(line)))
                else:
                    documents.add(found)
            except ConfigError as error:
                raise CorpusError(f"{name}, line {rows.line_num:,}: {error}") from error
    except csv.Error as error:
        raise CorpusError(f"{name}, line {rows.line_num:,}: this is no CSV ({error}).") from error
    return LeavingOut((), tuple(sorted(documents)), tuple(sorted(lines)))


def _number(cell: str) -> int:
    """A number that counts from 1, from 0."""
    text = cell.strip()
    if not (text.isascii() and text.isdecimal()) or len(text) > 15 or int(text) < 1:
        raise ConfigError(f"{shown(cell)} is not the number of a document or a line, counted from 1.")
    return int(text) - 1
