"""Recognizes JSON, JSON Lines and tables by name and content, to remark that they are read as plain text."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import json
import re
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

_HEAD = 1 << 16  # bytes to look at
_END = 16
_LINES = 20  # lines to look at
_FEWEST_LINES = 5  # of a table that its name does not tell
_FEWEST_COLUMNS = 3  # of such a table, unless tabs separate them
_NAMED_LINES = frozenset((".jsonl", ".ndjson"))
_NAMED_TABLES = {".csv": "CSV", ".tsv": "TSV", ".tab": "TSV"}
_OBJECT = re.compile(r'\s*(\[\s*)*\{\s*"([^"\\]|\\.)*"\s*:')


def structure_remark(name: str, data: NDArray[np.uint8]) -> str:
    """The remark that a structured text, UTF-8 in a file, is read as plain text; "" for any other text."""
    suffix, text = PurePath(name).suffix.lower(), data[:_HEAD].tobytes().decode(errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    whole = len(data) <= _HEAD
    # The last line may be cut.
    lines = lines[:_LINES] if whole or len(lines) < 2 else lines[:-1][:_LINES]
    if _is_json_lines(suffix, lines):
        return "JSON Lines read as plain text, field names included"
    if _is_json(suffix, text, data[max(0, len(data) - _END) :].tobytes().rstrip(), whole=whole):
        return "JSON read as plain text, field names included"
    table = _table(suffix, lines)
    return f"{table} read as plain text, separators included" if table else ""


def _is_json_lines(suffix: str, lines: list[str]) -> bool:
    if suffix in _NAMED_LINES:
        return bool(lines) and lines[0].lstrip()[:1] in ("{", "[", '"')
    return len(lines) > 1 and all(isinstance(_parsed(line), dict) for line in lines)


def _is_json(suffix: str, text: str, end: bytes, *, whole: bool) -> bool:
    if suffix == ".json" and text.lstrip()[:1] in ("{", "["):
        return True
    if _OBJECT.match(text) is None:
        return False
    return isinstance(_parsed(text), (dict, list)) if whole else end.endswith((b"}", b"]"))


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _table(suffix: str, lines: list[str]) -> str:
    """The kind of table; "" where the lines are not a table."""
    named = _NAMED_TABLES.get(suffix, "")
    if named and any(separator in lines[0] for separator in ",;\t|" if lines):
        return named
    if len(lines) < _FEWEST_LINES:
        return ""
    for separator, kind, fewest in (("\t", "TSV", 2), (",", "CSV", _FEWEST_COLUMNS), (";", "CSV", _FEWEST_COLUMNS)):
        # In prose, a comma is followed by a space, and a tab stands before a line.
        if any(f"{separator} " in line or line[0] == separator for line in lines):
            continue
        try:
            widths = {len(row) for row in csv.reader(lines, delimiter=separator)}
        except csv.Error:
            continue
        if len(widths) == 1 and widths.pop() >= fewest:
            return kind
    return ""
