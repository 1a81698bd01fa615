"""Given base vocabularies: read from a file, or the characters of a corpus."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import cast

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.json_depth import TOO_DEEP, is_too_deep
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.readers.files import read_file_work
from tokstudio.core.model.alphabet import CODE_POINTS
from tokstudio.core.text.encodings import code_points

_ESCAPE = re.compile(r"\\(.?)", re.DOTALL)
_ESCAPED = {"\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_LARGEST = 10**8  # bytes: there are about a million characters
_LINES = 1 << 12
_REPLACEMENT = 0xFFFD


def read_base_vocabulary_work(path: Path) -> Work[list[str]]:
    r"""The entries of a base vocabulary: one per line, with the escapes `\n`, `\r`, `\t` and `\\`; or a JSON list.

    Raises:
        ConfigError: The file is neither; the message names the place.
        CorpusError: The file cannot be read.
    """
    try:
        text = (yield from read_file_work(path, _LARGEST)).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path.name}: byte {error.start:,} is not UTF-8.") from error
    listed = _json_list(path, text)
    if listed is not None:
        return listed
    lines = text.removesuffix("\n").split("\n")
    entries: list[str] = []
    for first in range(0, len(lines), _LINES):
        here = enumerate(lines[first : first + _LINES], first + 1)
        entries += [_unescaped(path, number, line) for number, line in here]
        yield Progress("reading", first, len(lines))
    return entries


def corpus_characters_work(corpus: Corpus) -> Work[list[str]]:
    """The characters of a corpus in the order of first occurrence; bytes that are not UTF-8 count as U+FFFD."""
    seen = np.zeros(CODE_POINTS, np.bool_)
    characters: list[int] = []
    total, done = sum(len(source.data) for source in corpus.sources), 0
    for source in corpus.sources:
        for points, size in code_points(source.data):
            points = np.where((points >= 0xD800) & (points < 0xE000), _REPLACEMENT, points)
            new = points[~seen[points]]
            distinct, firsts = np.unique(new, return_index=True)
            seen[distinct] = True
            characters += distinct[np.argsort(firsts)].tolist()
            done += size
            yield Progress("counting characters", done, total)
    return [chr(point) for point in characters]


def _json_list(path: Path, text: str) -> list[str] | None:
    """The list of a JSON file; None for a file of lines, which may begin with a bracket as well."""
    must = path.suffix.lower() == ".json"
    if not must and not text.lstrip().startswith("["):
        return None
    try:
        if is_too_deep(text):
            raise ValueError(TOO_DEEP)
        value: object = json.loads(text)
    except ValueError as error:
        if must:
            raise ConfigError(f"{path.name}: this is not JSON ({error}).") from error
        return None
    if isinstance(value, list):
        entries = cast("list[object]", value)
        if entries and all(isinstance(entry, str) for entry in entries):
            return cast("list[str]", entries)
    if must:
        raise ConfigError(f"{path.name}: a base vocabulary must be a JSON list of strings.")
    return None


def _unescaped(path: Path, number: int, line: str) -> str:
    line = line.removesuffix("\r")
    if not line:
        raise ConfigError(f"{path.name}: line {number:,} is empty. Write a line feed as \\n.")
    if line == "\\":
        return line  # not an escape when alone
    for match in _ESCAPE.finditer(line):
        if match[1] not in _ESCAPED:
            raise ConfigError(f"{path.name}: line {number:,}: {match[0]} is not an escape. Write a backslash as \\\\.")
    return _ESCAPE.sub(lambda match: _ESCAPED[match[1]], line)
