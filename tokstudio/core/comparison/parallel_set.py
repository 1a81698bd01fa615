"""A parallel set: the same lines in several languages, read from a folder of texts or from the columns of a table."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, BinaryIO, TypeVar

import numpy as np

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import KEEP_WHOLE, READ_ANYWAY, BinaryError, CorpusError
from tokstudio.core.base.progress import Progress, Work, together
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.resources import resource
from tokstudio.core.base.wording import first_few, several, shown
from tokstudio.core.comparison.texts import how_read
from tokstudio.core.corpus.open_sources import read_work
from tokstudio.core.corpus.readers import kinds
from tokstudio.core.corpus.readers.collect import Collector
from tokstudio.core.corpus.readers.columnar import open_table
from tokstudio.core.corpus.readers.compression import TruncatedError
from tokstudio.core.corpus.readers.contents import TEXT, Column, Reading
from tokstudio.core.corpus.readers.csv_rows import RowTooLongError
from tokstudio.core.corpus.readers.datasets import Look, look, read_rows_work, refuse_unclosed, seekable_work
from tokstudio.core.corpus.readers.files import Budget, path_of, plain_errors
from tokstudio.core.corpus.readers.folders import read_folder_work
from tokstudio.core.corpus.readers.json_rows import Plan
from tokstudio.core.corpus.readers.streams import OpenText, opened
from tokstudio.core.corpus.source import groups
from tokstudio.core.text.languages import is_language
from tokstudio.core.text.utf8 import AnyPath

if TYPE_CHECKING:
    from numpy.typing import NDArray

PARTS = ("dev", "devtest")  # the folders of FLORES-200; the first is read where none is chosen

_PIECE = 1 << 18
_LINES = 1 << 12  # handled at once
_MOST_NAMED = 12
_PREFIX = "sentence_"  # of the columns of FLORES-200 as a table

T = TypeVar("T")


@dataclass(frozen=True)
class ParallelSet:
    """The same lines in several languages.

    Raises:
        CorpusError: There are fewer than two languages, or two have different numbers of lines.
    """

    name: str
    languages: tuple[str, ...]  # codes such as "eng_Latn", or other names, in order; all different
    # Of each language in that order, without line endings; UTF-8, unless a file is in no encoding that is known.
    lines: tuple[tuple[bytes, ...], ...]
    notes: tuple[str, ...] = ()  # what the user should know of how it was read, a sentence each

    def __post_init__(self) -> None:
        _refuse_few(self.languages, self.name)
        numbers = [len(lines) for lines in self.lines]
        usual = Counter(numbers).most_common(1)[0][0]
        for language, number in zip(self.languages, numbers, strict=True):
            if number != usual:
                other = self.languages[numbers.index(usual)]
                raise CorpusError(
                    f"{self.name}: {shown(language)} has {several(number, 'line')}, but {shown(other)} has {usual:,}; "
                    "each needs the same lines."
                )


def story_work() -> Work[ParallelSet]:
    """Reads our own story: 20 sentences, each a line, in many languages and scripts."""
    story = yield from open_parallel_work(resource("corpora/story"))
    return replace(story, name=f"One story in {len(story.languages)} languages")


def parts_of(folder: AnyPath) -> tuple[str, ...]:
    """Those of `PARTS` that a folder has; none for a file, and for a folder that is read as it is."""
    return tuple(part for part in PARTS if os.path.isdir(os.path.join(folder, part)))


def open_parallel_work(
    path: AnyPath, languages: Sequence[str] | None = None, part: str | None = None
) -> Work[ParallelSet]:
    """Reads a folder with a text for each language, or a table with a column for each.

    Of a folder, all texts are read that lie in it directly. They have the names of their files without the last
    suffix, or those suffixes where the rest is the same: `eng_Latn.dev` is `eng_Latn`, and of `news.de` and `news.en`
    the languages are `de` and `en`. Of a table (CSV, TSV, JSON Lines, JSON, Parquet, Arrow), also one alone in a
    folder, the columns of text are read that are named like languages, or all where fewer than two are.

    Args:
        path: The folder or the file, which may be compressed.
        languages: Only these, in this order; None for all, in the order of names or columns.
        part: The folder within the folder to read, such as "devtest"; None for the first of `parts_of`, if any.

    Raises:
        CorpusError: It cannot be read, a language is missing or occurs once only, or the numbers of lines differ.
    """
    path = path_of(path)
    try:
        if not path.is_dir():
            return (yield from _table_work(path, languages))
        return (yield from _folder_work(path, languages, part))
    except TruncatedError as error:
        raise CorpusError(str(error).replace(KEEP_WHOLE, "")) from error  # each language needs all lines


class NoTableError(CorpusError):
    """A file is no table of languages."""


def open_parallel_files_work(files: Sequence[Path]) -> Work[ParallelSet]:
    """Reads a file for each language, with names as in `open_parallel_work`, or one table with a column for each.

    Raises:
        CorpusError: As `open_parallel_work`.
    """
    if len(files) == 1:
        return (yield from open_parallel_work(files[0]))
    name = several(len(files), "file")
    try:
        by_language = _chosen(dict(zip(_languages_of(files), files, strict=True)), None, name)
        return (yield from _files_work(by_language, name, files[0].parent))
    except TruncatedError as error:
        raise CorpusError(str(error).replace(KEEP_WHOLE, "")) from error


def _folder_work(folder: Path, languages: Sequence[str] | None, part: str | None) -> Work[ParallelSet]:
    name = file_name(folder)
    part = next(iter(parts_of(folder)), None) if part is None else part
    if part is not None:
        folder /= part
        if not folder.is_dir():
            raise CorpusError(f"{name}: there is no folder {shown(part)} in it.")
        name = f"{name}/{part}"
    folder_content = yield from read_folder_work(folder)
    if len(folder_content.files) == 1:
        try:
            return (yield from _table_work(folder_content.files[0], languages))
        except NoTableError as error:
            raise NoTableError(
                f"{error} It is the only text in the folder {name}; a parallel set is the same lines in several "
                "languages, such as de.txt and en.txt."
            ) from error
    files = [file for file in folder_content.files if file.parent == folder]
    if not files:
        below = {file.relative_to(folder).parts[0] for file in folder_content.files}
        raise CorpusError(
            f"{name}: no text lies in this folder itself; open {first_few(sorted(below), _MOST_NAMED)} in it."
        )
    by_language = _chosen(dict(zip(_languages_of(files), files, strict=True)), languages, name, folder_content.remark)
    return (yield from _files_work(by_language, name, folder, folder_content.remark))


def _files_work(by_language: Mapping[str, Path], name: str, folder: Path, remark: str = "") -> Work[ParallelSet]:
    budget = Budget()
    with plain_errors(folder):
        works = [(file.stat().st_size, _text_work(file, budget)) for file in by_language.values()]
        read = yield from together("reading", works)
    notes = filter(None, (remark, *(note for _, note in read)))
    return ParallelSet(name, tuple(by_language), tuple(lines for lines, _ in read), tuple(notes))


def _languages_of(files: Iterable[Path]) -> list[str]:
    """The language that the name of each file says."""
    paths = [PurePath(kinds.without_compression(file.name)) for file in files]
    for names in ([path.stem for path in paths], [path.suffix[1:] for path in paths]):
        if len(set(names)) == len(names) and all(names):
            return names
    return [file.name for file in files]


def _text_work(file: Path, budget: Budget) -> Work[tuple[tuple[bytes, ...], str]]:
    """The lines of a text, or the rows of its column of text, and what is to be said of it."""
    sources = yield from read_work(file, "line", budget=budget)
    if len(sources) != 1:
        raise CorpusError(f"{file_name(file)}: this archive holds {len(sources):,} texts, not one of one language.")
    source = sources[0]
    lines = yield from _lines_work(source.data, source.ends)
    if not source.is_rows:
        lines = tuple(line.removesuffix(b"\n").removesuffix(b"\r") for line in lines)
    return lines, how_read(source)


def _table_work(path: Path, languages: Sequence[str] | None) -> Work[ParallelSet]:
    name = file_name(path)
    with plain_errors(path), opened(path) as file:
        text = OpenText(file.file, name, file.status.st_size)
        try:
            table_look = look(text, None, Reading(field=languages[0] if languages else None))
        except BinaryError as error:
            raise BinaryError(str(error).replace(READ_ANYWAY, "")) from error
        if table_look.kind not in kinds.DATA:
            raise NoTableError(
                f"{name}: this is no table with a column for each language ({table_look.kind}); open a table, or a "
                "folder with a file for each language."
            )
        content = yield from seekable_work(text, file.file, Budget(), is_plain=not table_look.compression)
        columns, stored = table_look.columns, file.status.st_size
        if table_look.kind in kinds.COLUMNAR:
            with open_table(name, table_look.kind, content, stored) as table:
                columns = table.columns()
        by_language = _chosen(_language_columns(columns, languages is None), languages, name)
        chosen = tuple(by_language.values())
        try:
            read = yield from _columns_work(content, stored, table_look, chosen, name)
        except RowTooLongError:
            read = yield from _columns_work(content, stored, table_look, chosen, name, is_long=True)
        file.check()
    lines: list[tuple[bytes, ...]] = []
    for collect in read:
        for part in (yield from collect.parts_work()):
            lines.append((yield from _lines_work(part.data, part.ends)))
    notes = dict.fromkeys(f"{name}: {one.dropped.note}." for one in read if one.dropped.note)
    if not lines:
        raise CorpusError(" ".join((f"{name}: the table has no rows.", *notes)))
    notes |= dict.fromkeys(_empty_cells(name, dict(zip(by_language, lines, strict=True))))
    return ParallelSet(name, tuple(by_language), tuple(lines), tuple(notes))


def _empty_cells(name: str, lines: Mapping[str, Sequence[bytes]]) -> list[str]:
    """A sentence about cells that are empty where other languages have text."""
    without_text = sum(not any(row) for row in zip(*lines.values(), strict=False))
    empty = {language: number for language, texts in lines.items() if (number := texts.count(b"") - without_text) > 0}
    if not empty:
        return []
    cells = several(
        sum(empty.values()), "cell is empty and read as an empty line", "cells are empty and read as empty lines"
    )
    return [f"{name}: {cells}, in {first_few(empty, _MOST_NAMED)}."]


def _language_columns(columns: Iterable[Column], must_be_known: bool) -> dict[str, Column]:
    """The columns of text by their languages; with `must_be_known` only known languages, if there are several."""
    texts = [column for column in columns if column.kind == TEXT]
    names = [column.steps[-1].removeprefix(_PREFIX) for column in texts]
    if len(set(names)) < len(names):
        names = [column.name for column in texts]
    texts_by_language = dict(zip(names, texts, strict=True))
    # Numbers of rows are often in a column `id`, which is also the code of Indonesian.
    languages_by_column = {
        name: column
        for name, column in texts_by_language.items()
        if is_language(name) and any(character.isalpha() for character in "".join(column.values))
    }
    return languages_by_column if must_be_known and len(languages_by_column) > 1 else texts_by_language


def _columns_work(
    content: BinaryIO, stored: int, look: Look, columns: Sequence[Column], name: str, is_long: bool = False
) -> Work[tuple[Collector, ...]]:
    """Reads columns of a table together, whose file has `stored` bytes."""
    budget = Budget()
    others = [Collector(name, Reading(), budget) for _ in columns[1:]]
    collect, plan = Collector(name, Reading(), budget, beside=others), Plan(columns[0], beside=tuple(columns[1:]))
    size = content.seek(0, os.SEEK_END)
    content.seek(0)
    if look.kind in kinds.COLUMNAR:
        with open_table(name, look.kind, content, stored) as table:
            yield from table.read_work(plan, collect)
    elif (yield from read_rows_work(OpenText(content, name, size), look, plan, collect, is_long)):
        content.seek(0)
        refuse_unclosed(OpenText(content, name, size), look)
    for column, one in zip(columns, collect.each, strict=True):
        if missing := one.dropped.missing + one.dropped.no_text:
            raise CorpusError(
                f"{name}: the column {shown(column.name)} has no text in {several(missing, 'row')}; each row must have "
                "every language."
            )
    return collect.each


def _lines_work(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> Work[tuple[bytes, ...]]:
    """The documents in `data` with these ends."""
    lines: list[bytes] = []
    for first, last, start, stop in groups(ends, _PIECE, _LINES):
        piece = np.asarray(data[start:stop]).tobytes()
        lines += [piece[before:after] for before, after in pairwise([0, *(ends[first:last] - start).tolist()])]
        yield Progress("reading", stop, len(data))
    return tuple(lines)


def _refuse_few(languages: Sequence[str], name: str) -> None:
    if len(languages) < 2:
        there = f"here is only {shown(languages[0])}" if languages else "here is none"
        raise CorpusError(f"{name}: a parallel set needs at least two languages, but {there}.")


def _chosen(by_language: Mapping[str, T], languages: Sequence[str] | None, name: str, remark: str = "") -> dict[str, T]:
    """What belongs to the chosen languages; CorpusError where one is missing, or fewer than two are left."""
    for language in languages or ():
        if language not in by_language:
            there = first_few(by_language, _MOST_NAMED) or "none"
            message = f"{name}: there is no language {shown(language)}; there are {there}. {remark}"
            raise CorpusError(message.strip())
    chosen = list(by_language) if languages is None else list(dict.fromkeys(languages))
    _refuse_few(chosen, name)
    return {language: by_language[language] for language in chosen}
