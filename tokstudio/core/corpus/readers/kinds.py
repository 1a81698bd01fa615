"""Recognises what a file holds by its beginning; where that leaves a choice, its name decides."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io
import json
import re
from pathlib import PurePath

import numpy as np

from tokstudio.core.base.json_depth import is_too_deep
from tokstudio.core.base.records import dataclass
from tokstudio.core.text.encodings import binary_kind

# Every kind, by the name that is shown.
TEXT, JSON_LINES, JSON, CSV, TSV = "plain text", "JSON Lines", "JSON", "CSV", "TSV"
PARQUET, ARROW, ARROW_STREAM, ZIP, TAR = "Parquet", "Arrow", "Arrow stream", "ZIP archive", "tar archive"
COLUMNAR = (PARQUET, ARROW, ARROW_STREAM)
ARCHIVES = (ZIP, TAR)
DATA = (JSON_LINES, JSON, CSV, TSV, *COLUMNAR)

_MAGIC = (
    (re.compile(rb"PAR1"), PARQUET),
    (re.compile(rb"ARROW1\0\0"), ARROW),
    # Four bytes of ones, the length of the schema, the offset of its table, which depends on the writer.
    (re.compile(rb"\xff\xff\xff\xff..[\0-\x0f]\0[\x04-\x40]\0\0\0", re.DOTALL), ARROW_STREAM),
    (re.compile(rb"PK(\x03\x04|\x05\x06)"), ZIP),
    (re.compile(rb".{257}ustar[\0 ]", re.DOTALL), TAR),
)
_LINES = 20  # lines to look at
_FEWEST_LINES = 5  # of a table that its name does not tell
_FEWEST_COLUMNS = 3  # of such a table, unless tabs separate them
_NAMED_LINES = frozenset((".jsonl", ".ndjson"))
NAMED_JSON = _NAMED_LINES | {".json"}
_NAMED_TABLES = {".csv": CSV, ".tsv": TSV, ".tab": TSV}
# Files that Dask and Spark write beside the Parquet files of a data set: their descriptions, without the rows.
DESCRIPTIONS = frozenset(("_metadata", "_common_metadata"))
DELIMITERS = ",;\t|"
_MOST_FIT = 0.6  # of the rows of a table
_NAME = re.compile(r"[\w.-]+( [\w.-]+){0,2}")  # of the only column
_COMPRESSIONS = frozenset((".gz", ".zst", ".zstd", ".xz", ".bz2"))
_OBJECT = re.compile(r'\s*\{\s*"([^"\\]|\\.)*"\s*:')
_MOST_DIGITS = 600  # of a whole number; Python may refuse those with more
_LIST_OF_OBJECTS = re.compile(r'\s*\[\s*\{\s*("([^"\\]|\\.)*"\s*:|\})')


def _whole_number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


JSON_DECODER = json.JSONDecoder(parse_int=_whole_number)


@dataclass(frozen=True)
class Kind:
    """What a file holds."""

    name: str  # one of the kinds above, or such as "a PNG image"
    is_binary: bool = False  # whether it is none that can be read


def kind_of(name: str, head: bytes) -> Kind:
    """What a file with this name and this decompressed beginning (at most `SAMPLE` bytes) holds; texts are `TEXT`."""
    for magic, kind in _MAGIC:
        if magic.match(head):
            return Kind(kind)
    binary = binary_kind(np.frombuffer(head, np.uint8))
    return Kind(binary or TEXT, bool(binary))


def suffix_of(name: str) -> str:
    """The end of a name in lower case, without that of a compression: ".jsonl" of "A.JSONL.gz"."""
    return PurePath(without_compression(name.lower())).suffix


def without_compression(name: str) -> str:
    """A name without the suffixes of compressions: "A.JSONL" of "A.JSONL.gz"."""
    path = PurePath(name)
    while path.suffix.lower() in _COMPRESSIONS:
        path = path.with_suffix("")
    return str(path)


def text_kind(name: str, head: str, is_whole: bool, has_delimiter: bool = False) -> str:
    """Which kind of text it is: `JSON_LINES`, `JSON`, `CSV`, `TSV` or `TEXT`.

    With `has_delimiter`, because one is given, the name alone makes a table.

    JSON Lines and lists of objects are recognised by their content. An object may be any file of settings, and commas
    may stand in any prose, so that one object is `JSON`, and a table is one, only with such a name or without any.
    """
    suffix = suffix_of(name)
    lines = [line for line in head.split("\n") if line.strip()]
    # The last line may be cut.
    lines = lines[:_LINES] if is_whole or len(lines) < 2 else lines[:-1][:_LINES]
    if _is_json_lines(suffix, lines, head):
        return JSON_LINES
    if _is_json(suffix, head, is_whole):
        return JSON
    if named := _NAMED_TABLES.get(suffix, ""):
        return named if lines and (has_delimiter or _is_table(lines_of(head), is_whole)) else TEXT
    return (_table(lines) if not suffix else "") or TEXT


def is_named_json(name: str, head: str) -> bool:
    """Whether a text that begins so is JSON of any kind, as its name says."""
    first = next((line for line in head.split("\n") if line.strip()), "").strip()
    return suffix_of(name) in NAMED_JSON and (first[:1] in tuple("[{") or parsed_json(first) is not None)


def lines_of(text: str) -> list[str]:
    """The lines with their line feeds or carriage returns; unlike `splitlines`, no other character ends one."""
    return list(io.StringIO(text, newline=""))


def parsed_json(text: str) -> object:
    """The value of a JSON text; None also where it is broken."""
    try:
        return None if is_too_deep(text) else JSON_DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def _is_json_lines(suffix: str, lines: list[str], head: str) -> bool:
    if suffix in _NAMED_LINES:
        if lines and lines[0].strip() == "{" and _OBJECT.match(head):
            return False  # objects over several lines
        return any(line.lstrip("\ufeff \t")[:1] == "{" for line in lines)
    return len(lines) > 1 and all(isinstance(parsed_json(line), dict) for line in lines)


def _is_json(suffix: str, text: str, is_whole: bool) -> bool:
    if _LIST_OF_OBJECTS.match(text):
        return suffix == ".json" or not is_whole or isinstance(parsed_json(text), list)
    if suffix in NAMED_JSON:
        return _OBJECT.match(text) is not None
    return not suffix and is_whole and _OBJECT.match(text) is not None and isinstance(parsed_json(text), dict)


def _is_table(lines: list[str], is_whole: bool) -> bool:
    """Whether lines whose name says so are a table: most rows are as wide as the first, or it is a name alone."""
    try:
        for delimiter in DELIMITERS:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
            # The last row may be cut.
            widths = widths[:-1] if len(widths) > (2 if is_whole else 1) else widths
            if widths and widths[0] > 1 and widths.count(widths[0]) >= _MOST_FIT * len(widths):
                return True
        rows = [row for row in csv.reader(lines) if row]
    except csv.Error:  # a value is longer than 128 KiB
        return True
    return all(len(row) == 1 for row in rows) and _NAME.fullmatch(rows[0][0].strip()) is not None


def _table(lines: list[str]) -> str:
    """The kind of table, whose name does not say so; "" where the lines are not a table."""
    if len(lines) < _FEWEST_LINES:
        return ""
    for separator, kind, fewest in (("\t", TSV, 2), (",", CSV, _FEWEST_COLUMNS), (";", CSV, _FEWEST_COLUMNS)):
        # In prose, a comma is followed by a space, and a tab stands before a line.
        if any(f"{separator} " in line or line[0] == separator == "\t" for line in lines):
            continue
        try:
            widths = {len(row) for row in csv.reader(lines, delimiter=separator)}
        except csv.Error:
            continue
        if len(widths) == 1 and widths.pop() >= fewest:
            return kind
    return ""
