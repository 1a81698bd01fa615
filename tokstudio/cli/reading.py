"""What `train` reads: the corpus from files, standard input and word counts, and a base vocabulary."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import numpy as np

from tokstudio.cli.terminal import Console, standard_input
from tokstudio.core.corpus import Corpus, Source, document_ends
from tokstudio.core.decoding import decode, detect, encoding_name
from tokstudio.core.errors import ConfigError, CorpusError
from tokstudio.core.progress import Work
from tokstudio.core.word_counts import read_counts_work

_ESCAPE = re.compile(r"\\(.?)", re.DOTALL)
_ESCAPED = {"\\": "\\", "n": "\n", "r": "\r", "t": "\t"}


def read_corpus_work(
    files: Iterable[str], counts: Iterable[Path], documents: str, encoding: str | None
) -> Work[Corpus]:
    """Reads texts in the order given, then word counts."""
    sources: list[Source] = []
    for file in files:
        if file == "-":
            sources.append((yield from _read_standard_input(documents, encoding)))
        else:
            sources += (yield from Corpus.from_files_work([file], documents, encoding)).sources
    for path in counts:
        if str(path) == "-":
            raise CorpusError("--counts: word counts are read from a file; standard input is for text.")
        sources.append((yield from read_counts_work(path)))
    return Corpus(tuple(sources))


def tell_of(source: Source, console: Console) -> None:
    """Says how a source was read, where that is not a matter of course."""
    remarks = [] if source.encoding in ("utf-8", "bytes") else [f"read as {source.encoding}"]
    remarks += [source.note] if source.note else []
    if remarks:
        console.say(f"{source.name}: {'; '.join(remarks)}.")


def read_file(path: Path) -> bytes:
    """All of a file.

    Raises:
        CorpusError: It cannot be read; the message says why.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise CorpusError(f"{path.name}: there is no such file.") from error
    except IsADirectoryError as error:
        raise CorpusError(f"{path.name}: this is a folder, not a file.") from error
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise CorpusError(f"{path.name}: it cannot be read ({reason}).") from error


def read_base_vocabulary(path: Path) -> list[str]:
    r"""The entries of a base vocabulary: one a line, with `\n`, `\r`, `\t` and `\\` as in word counts; or a JSON list.

    Raises:
        ConfigError: The file is neither; the message says where.
        CorpusError: It cannot be read.
    """
    try:
        text = read_file(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path.name}: byte {error.start:,} is not UTF-8.") from error
    listed = _json_list(path, text)
    if listed is not None:
        return listed
    return [_unescaped(path, number, line) for number, line in enumerate(text.removesuffix("\n").split("\n"), 1)]


def _json_list(path: Path, text: str) -> list[str] | None:
    """The list in a JSON file; None for a file of lines, which may begin with a bracket as well."""
    must = path.suffix.lower() == ".json"
    if not must and not text.lstrip().startswith("["):
        return None
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        if must:
            raise ConfigError(f"{path.name}: this is not JSON ({error}).") from error
        return None
    if isinstance(value, list):
        entries = cast("list[object]", value)
        if entries and all(isinstance(entry, str) for entry in entries):
            return cast("list[str]", entries)
    if must:
        raise ConfigError(f"{path.name}: a base vocabulary must be a JSON list of texts.")
    return None


def _unescaped(path: Path, number: int, line: str) -> str:
    line = line.removesuffix("\r")
    if not line:
        raise ConfigError(f"{path.name}: line {number:,} is empty. A line feed is written \\n.")
    if line == "\\":
        return line  # alone it can mean nothing else
    for found in _ESCAPE.finditer(line):
        if found[1] not in _ESCAPED:
            raise ConfigError(f"{path.name}: line {number:,}: {found[0]} means nothing: a backslash is written \\\\.")
    return _ESCAPE.sub(lambda found: _ESCAPED[found[1]], line)


def _read_standard_input(documents: str, encoding: str | None) -> Work[Source]:
    chosen = None if encoding is None else encoding_name(encoding)
    raw = np.frombuffer(standard_input(), np.uint8)
    decoded = yield from (detect(raw) if chosen is None else decode(raw, chosen))
    if not len(decoded.data):
        raise CorpusError("standard input: it holds no text.")
    ends = yield from document_ends(decoded.data, documents)
    return Source("standard input", None, decoded.encoding, decoded.note, decoded.data, ends)
