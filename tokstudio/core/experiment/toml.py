"""A TOML file whose values know their lines, and values as TOML.

Python's `tomllib` reads; it tells no lines, so a second pass over the text, which is known to be valid, finds them.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import math
import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, cast

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import shown

LARGEST = 1 << 24  # bytes: a list of base tokens is the longest part of a file

#: Where a value is: the names of the tables around it and its own; of a list, the number of the entry from 0.
Place = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_SCALAR = re.compile(r"[^,\]}#\r\n]*+")
_BARE = re.compile(r"[A-Za-z0-9_-]++")
# Before Python 3.11.5, `(...)*+` ends at a wrong place where what is repeated can fail after its first character.
_STRING = re.compile(
    r'"""(?s:[^"\\]++|\\.|"(?!""))*"{3,5}'
    r"|'''(?s:[^']++|'(?!''))*'{3,5}"
    r'|"(?:[^"\\\n]++|\\.)*"'
    r"|'[^'\n]*+'"
)
_COMMENT = re.compile(r"#[^\n]*+")
_WORD = re.compile(r"""[^\s"'<>]++""")
_WHERE = re.compile(r" ?\(at (?:line (\d+), column \d+|end of document)\)$")
_ENDS_LINE = re.compile("\n")


@dataclass(frozen=True, eq=False)
class TomlFile:
    """A TOML text with its values."""

    name: str  # the name of the file, for messages
    text: str  # as it was read
    values: Mapping[str, Any]  # what `tomllib` gives
    lines: Mapping[Place, int] = field(default_factory=dict[Place, int])  # the line, from 1, of each value
    # The first name in the header of each table, and where its lines begin and end.
    headers: Sequence[tuple[str, int, int]] = ()

    def line(self, *place: str | int) -> int:
        """The line of a value, else that of the table that it would be in."""
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def error(self, message: str, *place: str | int) -> ConfigError:
        """An error that names the file and the line of a value."""
        return ConfigError(f"{self.name}, line {self.line(*place):,}: {message}")

    def text_with(self, changed: Callable[[str], str]) -> str:
        """The text with other strings, keys and words of comments, each where `changed` gives another one for it."""

        def of_string(match: re.Match[str]) -> str:
            literal = match[0]
            if literal.startswith("#"):
                return _WORD.sub(lambda word: changed(word[0]), literal)
            value: str = tomllib.loads(f"x = {literal}")["x"]
            now = changed(value)
            return literal if now == value else value_text(now)

        # A valid text: outside comments, each quotation mark begins or ends a string.
        return re.sub(f"{_COMMENT.pattern}|{_STRING.pattern}", of_string, self.text)

    def with_table(self, name: str, table: str) -> str:
        """The text with another table of that name, at its place or at the end; all else stays as it is.

        `table` has the lines of the table, its header included, and those of the tables in it.
        """
        feed = "\r\n" if "\r\n" in self.text else "\n"
        table = table.replace("\n", feed)
        old = [(start, end) for first, start, end in self.headers if first == name]
        if not old:
            kept = self.text.rstrip()
            return f"{kept}{feed * 2 if kept else ''}{table}"
        pieces, after = list[str](), 0
        for start, end in old:
            between = self.text[after:start]
            # The old tables of one place are replaced by one.
            pieces += [between, table] if start == old[0][0] else [between] if between.strip() else []
            after = end
        return "".join([*pieces, self.text[after:]])


def parse_toml(raw: bytes, name: str) -> TomlFile:
    """Reads TOML from bytes that are not trusted; ConfigError, which names the line, where it is none."""
    if len(raw) > LARGEST:
        raise ConfigError(f"{name}: this file is larger than {LARGEST >> 20} MB, and no experiment is.")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{name}, line {line:,}: this is not UTF-8, as TOML is: save it as UTF-8.") from error
    try:
        values = tomllib.loads(text.removeprefix("\ufeff"))
        scan = _Scan(text, 1 if text.startswith("\ufeff") else 0)
    except RecursionError as error:
        raise ConfigError(f"{name}: the lists in this file are nested too deeply.") from error
    except tomllib.TOMLDecodeError as error:
        where = _WHERE.search(str(error))
        line = int(where[1]) if where and where[1] else text.count("\n") + 1
        fault = _WHERE.sub("", str(error))
        raise ConfigError(f"{name}, line {line:,}: this is not TOML: {fault[:1].lower()}{fault[1:]}.") from error
    return TomlFile(name, text, values, scan.lines, tuple(scan.headers))


class _Scan:
    """Goes over a valid text once, and notes where its keys are."""

    def __init__(self, text: str, start: int) -> None:
        self._text, self._at = text, start
        self._ends = [match.start() for match in _ENDS_LINE.finditer(text)]
        self.lines: dict[Place, int] = {}
        self.headers: list[tuple[str, int, int]] = []
        numbers: dict[Place, int] = {}  # how many tables a list of tables has so far
        table: Place = ()
        while self._skip() < len(text):
            begin = self._at
            if text[begin] == "[":
                is_listed = text.startswith("[[", begin)
                self._at += 1 + is_listed
                names = self._key()
                self._skip()
                self._at += 1 + is_listed
                table = _inside(names[:-1], numbers)
                own = (*table, names[-1])
                if is_listed:
                    numbers[own] = numbers.get(own, 0) + 1
                table = (*own, numbers[own] - 1) if own in numbers else own
                self.lines.setdefault(own, self._line(begin))
                self.lines[table] = self._line(begin)
                self.headers.append((names[0], text.rfind("\n", 0, begin) + 1, self._end_of_line()))
            else:
                self._pair(table)
                if self.headers:
                    self.headers[-1] = (*self.headers[-1][:2], self._end_of_line())

    def _end_of_line(self) -> int:
        at = self._text.find("\n", self._at)
        return len(self._text) if at < 0 else at + 1

    def _line(self, at: int) -> int:
        return bisect_right(self._ends, at - 1) + 1

    def _skip(self) -> int:
        """Goes over white space, line feeds and comments."""
        match = _BLANK.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._at

    def _key(self) -> tuple[str, ...]:
        """The names of a key, between dots."""
        names: list[str] = []
        while True:
            self._skip()
            if self._text[self._at] in "\"'":
                raw = self._string()
                names.append(tomllib.loads(f"key = {raw}")["key"])
            else:
                match = _BARE.match(self._text, self._at)
                assert match is not None
                names.append(match[0])
                self._at = match.end()
            self._skip()
            if self._text[self._at] != ".":
                return tuple(names)
            self._at += 1

    def _string(self) -> str:
        match = _STRING.match(self._text, self._at)
        assert match is not None
        self._at = match.end()
        return match[0]

    def _pair(self, table: Place) -> None:
        line = self._line(self._at)
        place = (*table, *self._key())
        for length in range(len(table) + 1, len(place) + 1):
            self.lines.setdefault(place[:length], line)
        self._at += 1  # the sign =
        self._value(place)

    def _value(self, place: Place) -> None:
        self._skip()
        sign = self._text[self._at]
        if sign in "\"'":
            self._string()
        elif sign in "[{":
            self._at += 1
            number = 0
            while self._text[self._skip()] not in "]}":
                if sign == "{":
                    self._pair(place)
                else:
                    self.lines[*place, number] = self._line(self._at)
                    self._value((*place, number))
                    number += 1
                if self._text[self._skip()] == ",":
                    self._at += 1
            self._at += 1
        else:
            match = _SCALAR.match(self._text, self._at)
            assert match is not None
            self._at = match.end()


def _inside(names: Iterable[str], numbers: Mapping[Place, int]) -> Place:
    """The place of a table around another one: of a list of tables, the last one."""
    place: Place = ()
    for name in names:
        place = (*place, name)
        if place in numbers:
            place = (*place, numbers[place] - 1)
    return place


# --- Values as TOML ---------------------------------------------------------------------------------------------------

_WIDE = 100  # characters of a list on one line


def value_text(value: object) -> str:
    """A string, a number, a truth value, a list or a table as TOML; a long list has a line for each entry.

    Raises:
        ConfigError: A text has half of a surrogate pair, which no file can hold.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value) if math.isfinite(value) else str(value)
        case str():
            return _quoted(value)
        case Mapping():
            pairs = cast("Mapping[str, object]", value).items()
            inner = ", ".join(f"{key_text(name)} = {value_text(each)}" for name, each in pairs)
            return f"{{ {inner} }}" if inner else "{}"
        case _:
            texts = [value_text(each) for each in cast("Iterable[object]", value)]
            line = f"[{', '.join(texts)}]"
            return line if len(line) <= _WIDE else "[\n" + "".join(f"  {text},\n" for text in texts) + "]"


def key_text(name: str) -> str:
    """A name as a key."""
    return name if _BARE.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"{shown(text)} is no text that a file can hold.") from error
    # JSON escapes all that TOML wants to have escaped but this.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def comment_text(text: str, width: int = 118) -> str:
    """A text as lines of comment."""
    lines: list[str] = []
    line = "#"
    for word in text.split():
        if len(line) + 1 + len(word) > width and line != "#":
            lines.append(line)
            line = "#"
        line += f" {word}"
    return "".join(f"{each}\n" for each in [*lines, line])
