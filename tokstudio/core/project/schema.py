"""The tables of a project file, which anyone can query with SQLite's own tools, and its identification.

The tables are not STRICT, because some Pythons are shipped with an SQLite that lacks the word; checks of the types work
in every version.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from math import isinf
from typing import NoReturn, TypeAlias

from tokstudio.core.base.json_depth import TOO_DEEP, is_too_deep

APPLICATION_ID = 0x546F6B53  # "TokS"
VERSION = 7
OLDEST_VERSION = 1  # that can be opened

# The keys of the table `project` that are not the window's: the number of the active run, or null; and what is left out
# of the corpus, since version 6.
ACTIVE = "active_run"
LEAVING_OUT = "leaving_out"

# Numbers count from 1 in the file, ids of tokens from 0.
TABLES = (
    """CREATE TABLE project (
  key TEXT NOT NULL PRIMARY KEY CHECK (typeof(key) = 'text'),
  value TEXT NOT NULL CHECK (typeof(value) = 'text') -- JSON
) WITHOUT ROWID""",
    """CREATE TABLE source (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL CHECK (typeof(name) = 'text'),
  path CHECK (typeof(path) IN ('text', 'blob', 'null')), -- a blob where it is not UTF-8
  encoding TEXT NOT NULL CHECK (typeof(encoding) = 'text'),
  note TEXT NOT NULL CHECK (typeof(note) = 'text'),
  weight INTEGER NOT NULL CHECK (typeof(weight) = 'integer'), -- in thousandths; since version 2
  counted_with TEXT CHECK (typeof(counted_with) IN ('text', 'null')), -- JSON: settings of counts; since version 2
  bytes INTEGER NOT NULL CHECK (typeof(bytes) = 'integer'), -- of its text
  documents TEXT CHECK (documents IN ('file', 'line')), -- null where the text is kept here
  size_on_disk INTEGER CHECK (typeof(size_on_disk) IN ('integer', 'null')),
  modified REAL CHECK (typeof(modified) IN ('real', 'null')),
  sha256 TEXT NOT NULL CHECK (typeof(sha256) = 'text'), -- of its text in UTF-8
  in_corpus INTEGER NOT NULL CHECK (in_corpus IN (0, 1)),
  reading TEXT CHECK (typeof(reading) IN ('text', 'null')), -- JSON: how a file is read; since version 2
  text BLOB CHECK (typeof(text) IN ('blob', 'null')),
  ends BLOB CHECK (typeof(ends) IN ('blob', 'null')), -- where each document ends in text: 8 bytes each, little endian
  places BLOB CHECK (typeof(places) IN ('blob', 'null')), -- where it begins in a whole text, likewise; since version 2
  counts BLOB CHECK (typeof(counts) IN ('blob', 'null')) -- how often each occurs, likewise
)""",
    """CREATE TABLE run (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL CHECK (typeof(name) = 'text'),
  state TEXT NOT NULL CHECK (typeof(state) = 'text'), -- JSON
  pattern TEXT CHECK (typeof(pattern) IN ('text', 'null')), -- of an opened tokenizer, which has nothing of the rest
  config TEXT CHECK (typeof(config) IN ('text', 'null')), -- JSON
  sources TEXT CHECK (typeof(sources) IN ('text', 'null')), -- JSON: numbers
  corpus_bytes INTEGER CHECK (typeof(corpus_bytes) IN ('integer', 'null')),
  corpus_documents INTEGER CHECK (typeof(corpus_documents) IN ('integer', 'null')),
  corpus_sha256 TEXT CHECK (typeof(corpus_sha256) IN ('text', 'null')),
  tokens_before INTEGER CHECK (typeof(tokens_before) IN ('integer', 'null')),
  ended TEXT CHECK (typeof(ended) IN ('text', 'null')),
  versions TEXT CHECK (typeof(versions) IN ('text', 'null')), -- JSON
  weights TEXT CHECK (typeof(weights) IN ('text', 'null')), -- JSON: of the sources, as there; since version 2
  start TEXT CHECK (typeof(start) IN ('text', 'null')), -- JSON: the tokenizer it started from; since version 3
  languages TEXT CHECK (typeof(languages) IN ('text', 'null')), -- JSON: names, for parity-aware BPE; since version 3
  parallel BLOB CHECK (typeof(parallel) IN ('blob', 'null')), -- its texts, one after another; since version 3
  second_counts BLOB CHECK (typeof(second_counts) IN ('blob', 'null')), -- of ids at the transition; since version 4
  left_out TEXT CHECK (typeof(left_out) IN ('text', 'null')), -- JSON: of its sources; since version 6
  content_sha256 TEXT CHECK (typeof(content_sha256) IN ('text', 'null')), -- of what decides ids; since version 7
  seconds REAL CHECK (typeof(seconds) IN ('real', 'null'))
)""",
    """CREATE TABLE merge (
  run INTEGER NOT NULL CHECK (typeof(run) = 'integer'),
  number INTEGER NOT NULL CHECK (typeof(number) = 'integer'),
  left INTEGER NOT NULL CHECK (typeof(left) = 'integer'),
  right INTEGER NOT NULL CHECK (typeof(right) = 'integer'),
  count INTEGER NOT NULL CHECK (typeof(count) = 'integer'),
  tokens_after INTEGER NOT NULL CHECK (typeof(tokens_after) = 'integer'),
  chosen_by INTEGER CHECK (typeof(chosen_by) IN ('integer', 'null')), -- the language, from 0, or -1; since version 3
  result INTEGER CHECK (typeof(result) IN ('integer', 'null')), -- for Picky BPE: the id it made; since version 5
  replaced INTEGER CHECK (typeof(replaced) IN ('integer', 'null')), -- its places; since version 5
  left_gone INTEGER CHECK (typeof(left_gone) IN ('integer', 'null')), -- that fell apart, or -1; since version 5
  right_gone INTEGER CHECK (typeof(right_gone) IN ('integer', 'null')), -- that fell apart, or -1; since version 5
  overtaken INTEGER CHECK (typeof(overtaken) IN ('integer', 'null')), -- for BoundlessBPE; since version 5
  PRIMARY KEY (run, number)
) WITHOUT ROWID""",
    """CREATE TABLE token (
  run INTEGER NOT NULL CHECK (typeof(run) = 'integer'),
  id INTEGER NOT NULL CHECK (typeof(id) = 'integer'),
  bytes BLOB NOT NULL CHECK (typeof(bytes) = 'blob'),
  kind TEXT NOT NULL CHECK (kind IN ('base', 'special')),
  count INTEGER NOT NULL CHECK (typeof(count) = 'integer'), -- in the corpus before the first merge
  PRIMARY KEY (run, id)
) WITHOUT ROWID""",
    """CREATE TABLE file (
  number INTEGER PRIMARY KEY,
  run INTEGER NOT NULL CHECK (typeof(run) = 'integer'),
  name TEXT NOT NULL CHECK (typeof(name) = 'text'),
  content BLOB NOT NULL CHECK (typeof(content) = 'blob')
)""",
)

_ADDED = "since version "


def tables_of(version: int) -> tuple[str, ...]:
    """The tables of a version of projects."""
    kept = ((line for line in table.split("\n") if _since(line) <= version) for table in TABLES)
    return tuple("\n".join(lines) for lines in kept)


def missing_columns(table: str, version: int) -> list[str]:
    """The columns that a table lacks in a version of projects."""
    (ours,) = (statement for statement in TABLES if statement.startswith(f"CREATE TABLE {table} "))
    return [line.split()[0] for line in ours.split("\n") if _since(line) > version]


def _since(line: str) -> int:
    """The version of projects that has first a line."""
    before, _, version = line.rpartition(_ADDED)
    return int(version) if before else OLDEST_VERSION


# --- JSON in the cells of a project: written in ASCII, so that any text is preserved, and read within limits ----------

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

LONGEST = 1 << 26
# A long string takes no more memory than it has characters; a list of short strings takes ten times as much.
LONGEST_STRUCTURE = 1 << 24
LONGEST_BETWEEN_STRINGS = 1 << 20  # of a value that is longer
_MOST_PARTS = 100_000  # each of some 100 bytes
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def to_json(value: object) -> str:
    """Writes a value; ValueError where it cannot be written, or could not be read back."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    _check_size(text)
    return text


def from_json(text: str) -> Json:
    """Reads a value; ValueError where it is not JSON, or too large."""
    _check_size(text)
    if is_too_deep(text):
        raise ValueError(f"it is {TOO_DEEP}")
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except json.JSONDecodeError:
        raise ValueError("it is not JSON") from None


def _check_size(text: str) -> None:
    if len(text) > LONGEST or (len(text) > LONGEST_STRUCTURE and len(_STRING.sub("", text)) > LONGEST_BETWEEN_STRINGS):
        raise ValueError(f"it is too long: {len(text):,} characters")
    if not text.startswith('"') and _brackets(text) > _MOST_PARTS and _brackets(_STRING.sub("", text)) > _MOST_PARTS:
        raise ValueError(f"it has more than {_MOST_PARTS:,} parts")


def _brackets(text: str) -> int:
    return text.count("[") + text.count("{")


def _finite(word: str) -> float:
    if isinf(value := float(word)):
        raise ValueError("a number is too large")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
