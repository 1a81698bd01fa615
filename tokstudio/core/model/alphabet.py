"""The base tokens that merging begins with, bytes or characters, and their ids."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.json_depth import TOO_DEEP, is_too_deep
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.readers.files import read_file_work
from tokstudio.core.model.settings import Base

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tokstudio.core.corpus.corpus import Corpus

BYTES = 256
CODE_POINTS = 0x110000
#: Bytes that UTF-8 never has: a tokenizer of bytes needs no tokens for them.
NEVER_IN_TEXT = frozenset({0xC0, 0xC1, *range(0xF5, BYTES)})
LARGEST_ID = 2**31 - 2
_SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True, eq=False)
class Alphabet:
    """The base tokens of a tokenizer, without its special tokens.

    Raises:
        ConfigError: Two base tokens are equal or share an id, or a byte that text can have is missing.
    """

    base: Base
    units: NDArray[np.int32]  # [n], the byte or code point of each; read-only
    ids: NDArray[np.int32]  # [n], the id of each; read-only
    unknown: int | None = None  # the id of the unknown token, which stands for any other character

    def __post_init__(self) -> None:
        object.__setattr__(self, "units", frozen_ids(self.units))
        object.__setattr__(self, "ids", frozen_ids(self.ids))
        n = len(self.ids)
        # Not by `np.unique`, which loads masked arrays.
        if any(np.any(np.diff(np.sort(numbers)) == 0) for numbers in (self.ids, self.units)) or len(self.units) != n:
            raise ConfigError(f"Each of the {self.base} needs an id of its own.")
        if self.base == "bytes" and missing_byte(set[int](self.units.tolist())) is not None:
            raise ConfigError("Each of the 256 bytes needs an id of its own.")

    @classmethod
    def of_bytes(cls, ids: ArrayLike | None = None, first: int = 0) -> Alphabet:
        """The bytes with `ids` by byte, -1 for one of `NEVER_IN_TEXT` without a token; else numbered from `first`."""
        numbers = _numbers(BYTES, first) if ids is None else np.asarray(ids)
        units = np.flatnonzero(numbers != -1).astype(np.int32)
        return cls("bytes", units, numbers[units])

    @classmethod
    def of_characters(cls, characters: str, ids: ArrayLike | None = None) -> Alphabet:
        """Characters with their ids; without `ids`, numbered from 0."""
        units = np.array([ord(character) for character in characters], np.int32)
        numbers = _numbers(len(units)) if ids is None else frozen_ids(np.asarray(ids, np.int64))
        return cls("characters", units, numbers)

    def __len__(self) -> int:
        return len(self.ids)

    def __reduce__(self) -> tuple[Any, ...]:
        return Alphabet, (self.base, self.units, self.ids, self.unknown)

    @cached_property
    def tokens(self) -> Mapping[int, bytes]:
        """The bytes of each base token by id."""
        units: list[int] = self.units.tolist()
        spelled = map(chr_bytes, units) if self.base == "characters" else (bytes([byte]) for byte in units)
        return dict(zip(self.ids.tolist(), spelled, strict=True))

    @cached_property
    def id_of(self) -> NDArray[np.int32]:
        """int32 [256] or [0x110000], the id of each byte or code point; -1 for any other."""
        ids = np.full(BYTES if self.base == "bytes" else CODE_POINTS, -1, np.int32)
        ids[self.units] = self.ids
        ids.setflags(write=False)
        return ids

    def ids_of(self, characters: str) -> NDArray[np.int32]:
        """int32 [n], the ids of characters; raises ConfigError where one has none, and there is no unknown token."""
        return self._known(np.frombuffer(characters.encode("utf-32-le"), "<u4"))

    def ids_of_bytes(self, data: NDArray[np.uint8]) -> NDArray[np.int32]:
        """int32 [n], the ids of bytes; raises ConfigError where one has none."""
        # `take` needs half of the time of an index; no byte is out of range.
        return self.id_of.take(data, mode="clip") if len(self) == BYTES else self._known(data)

    def _known(self, units: NDArray[np.integer]) -> NDArray[np.int32]:
        ids = self.id_of[units]
        strange = np.flatnonzero(ids < 0)
        if len(strange) and self.unknown is None:
            unit = int(units[strange[0]])
            raise ConfigError(
                f"The byte 0x{unit:02X} is not in the vocabulary: text in UTF-8 never has it."
                if self.base == "bytes"
                else f'The character "{chr(unit)}" (U+{unit:04X}) is not in the vocabulary, and there is no unknown '
                "token."
            )
        ids[strange] = self.unknown or 0
        return ids

    def renumbered(self, new_id: NDArray[np.int32]) -> Alphabet:
        """The same alphabet with the ids `new_id[id]`."""
        unknown = None if self.unknown is None else int(new_id[self.unknown])
        return Alphabet(self.base, self.units, new_id[self.ids], unknown)


def missing_byte(characters: Container[int]) -> int | None:
    """The first byte that text can have, but which is not among the known ones; None where all are."""
    return next((byte for byte in range(BYTES) if byte not in characters and byte not in NEVER_IN_TEXT), None)


def chr_bytes(code_point: int) -> bytes:
    """The UTF-8 of a code point; that of U+FFFD for a surrogate, which is not a character."""
    return b"\xef\xbf\xbd" if code_point in _SURROGATES else chr(code_point).encode()


def frozen_ids(ids: ArrayLike) -> NDArray[np.int32]:
    """Read-only ids as int32: copied, unless they are read-only already; raises ConfigError where they are not ids."""
    numbers = np.asarray(ids)
    if numbers.size and (numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() > LARGEST_ID):
        raise ConfigError(f"Ids must be whole numbers from 0 to {LARGEST_ID:,}.")
    array = numbers.astype(np.int32, order="C", copy=numbers.flags.writeable)
    array.setflags(write=False)
    return array


def _numbers(n: int, first: int = 0) -> NDArray[np.int32]:
    return np.arange(first, first + n, dtype=np.int32)


# --- Given base vocabularies: read from a file, or the characters of a corpus -----------------------------------------

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
    from tokstudio.core.text.encodings import code_points

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
