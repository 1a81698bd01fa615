"""Reads JSON in pieces, so that an untrusted file cannot take too much memory.

Python's own scanner works within a window of the file.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.json_depth import DEEPEST, TOO_DEEP, is_too_deep
from tokstudio.core.formats.common.line_reader import Reader, why_not

_CHUNK = 1 << 16
# A value of so many characters takes some hundred megabytes at worst; a string takes a few times its length.
_LARGEST_VALUE = 1 << 22
_LARGEST_TEXT = 1 << 28
_NEAR = 16
_SPACE = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"[-+.\w]*")
# What is there of a word, a number or an escape whose end is missing.
_CUT_WORD = re.compile(r"\s*|-|[.eE][-+]?|t(ru?)?|f(a(ls?)?)?|n(ul?)?")
_CUT_ESCAPE = re.compile(r"u[0-9A-Fa-f]{0,4}")


class _NoNumber(ValueError):
    """NaN or an infinity, which Python accepts and JSON does not have."""


def _no_number(word: str) -> float:
    raise _NoNumber(word)


_decode = json.JSONDecoder(parse_constant=_no_number).raw_decode


class JsonReader(Reader):
    """A file of JSON."""

    def __init__(self, path: Path | bytes, name: str, largest: int) -> None:
        super().__init__(path, name, largest)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._ended = False
        self._depth = 0  # of objects and arrays whose end is not read
        self._text = ""
        self._at = 0
        self._start = 0
        self._line, self._column = 1, 1

    def peek(self) -> str:
        """The next character that is not white space; "" at the end of the file."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._fill(_CHUNK):
                return ""

    def items(self) -> Iterator[str]:
        """Yields the keys of the next object; the caller reads the value after each."""
        self._expect("{", "an object")
        self._depth += 1
        if not self._take("}"):
            while True:
                key = self.string()
                self._expect(":", "a colon")
                yield key
                if self._take("}"):
                    break
                self._expect(",", "a comma or a closing brace")
        self._depth -= 1

    def elements(self) -> Iterator[int]:
        """Yields the positions of the next array, from 0; the caller reads the value at each."""
        self._expect("[", "an array")
        self._depth += 1
        if not self._take("]"):
            position = 0
            while True:
                yield position
                position += 1
                if self._take("]"):
                    break
                self._expect(",", "a comma or a closing bracket")
        self._depth -= 1

    def value(self) -> object:
        """The next value, unless it is too large."""
        return self._decoded(_LARGEST_VALUE)

    def string(self) -> str:
        """The next value, a string of almost any length."""
        if self.peek() != '"':
            raise self._unexpected("a string")
        return cast("str", self._decoded(_LARGEST_TEXT))

    def short(self) -> object:
        """The next value if it ends within about 64 kB; otherwise None, and nothing is read."""
        self.peek()
        if len(self._text) - self._at < _CHUNK:
            self._fill(_CHUNK)
        try:
            return self._attempt()
        except json.JSONDecodeError as error:
            if self._is_cut(error):
                return None
            raise self._damage(error) from error

    def skip(self) -> None:
        """Skips the next value; of an object or an array, each part may be as large as a value."""
        for _ in self.parts():
            self.value()

    def parts(self) -> Iterator[object]:
        """Yields for each part of the next object or array, whose value the caller reads, or once for another value."""
        opening = self.peek()
        yield from self.items() if opening == "{" else self.elements() if opening == "[" else (None,)

    def end(self) -> None:
        """Checks that nothing follows."""
        if self.peek():
            raise self.fault("something follows the end of the data")

    def fault(self, what: str) -> FormatError:
        """An error at the next position, or that the file ends there too early."""
        return self._fault_or_end(what, self._at)

    def fault_before(self, what: str) -> FormatError:
        """An error at the position of the last value, or that the file ends too early behind it."""
        return self._fault_or_end(what, self._start)

    def _fault_or_end(self, what: str, at: int) -> FormatError:
        # The position is lost where more of the file is read.
        error = self._fault_at(what, at)
        if self._depth and not self.peek():
            return self._fault_at("the file ends too early", len(self._text))
        return error

    def _fault_at(self, what: str, at: int) -> FormatError:
        lines = self._text.count("\n", 0, at)
        column = at - self._text.rfind("\n", 0, at) if lines else self._column + at
        return FormatError(f"{self.name}: {what}, line {self._line + lines:,}, column {column:,}.")

    def _take(self, character: str) -> bool:
        if self.peek() != character:
            return False
        self._at += 1
        return True

    def _expect(self, character: str, what: str) -> None:
        if not self._take(character):
            raise self._unexpected(what)

    def _unexpected(self, what: str) -> FormatError:
        return self.fault(f"{what} is missing" if self.peek() else "the file ends too early")

    def _decoded(self, largest: int) -> object:
        self.peek()
        while True:
            try:
                return self._attempt()
            except json.JSONDecodeError as error:
                if not self._is_cut(error) or self._ended:
                    raise self._damage(error) from error
                waiting = len(self._text) - self._at
                if waiting > largest:
                    raise self.fault("this part is too large to read") from error
                # Twice as much each time, so that repeated attempts cost no more than reading.
                self._fill(max(_CHUNK, waiting))

    def _attempt(self) -> object:
        """Scans the next value; JSONDecodeError where it is damaged, or goes on beyond the window."""
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if is_too_deep(self._text, self._at, error.pos):
                    raise self.fault(f"the data is {TOO_DEEP}") from error
                raise
            except _NoNumber as error:
                raise self.fault(f"this is not JSON ({error} is not a value)") from error
            except ValueError as error:
                raise self.fault("a number is too long") from error
            except RecursionError as error:
                raise self.fault(f"the data is {TOO_DEEP}") from error
            if end - self._at > 2 * DEEPEST and is_too_deep(self._text, self._at, end):
                raise self.fault(f"the data is {TOO_DEEP}")
            word = _WORD.match(self._text, end)
            # A number at the end of the window may continue.
            if word and word.end() == len(self._text):
                if self._fill(_CHUNK):
                    continue
                if self._depth:
                    raise self._fault_at("the file ends too early", len(self._text))
            self._start, self._at = self._at, end
            return value

    def _is_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether the error may be caused by the end of the window."""
        return error.pos + _NEAR >= len(self._text) or error.msg.startswith("Unterminated")

    def _damage(self, error: json.JSONDecodeError) -> FormatError:
        if self._ended and self._is_too_early(error):
            return self._fault_at("the file ends too early", len(self._text))
        return self._fault_at(f"this is not JSON ({error.msg[:1].lower()}{error.msg[1:]})", error.pos)

    def _is_too_early(self, error: json.JSONDecodeError) -> bool:
        """Whether an error in the last window is caused by the end of the file."""
        cut = _CUT_ESCAPE if error.msg.startswith("Invalid \\uXXXX") else _CUT_WORD
        return error.msg.startswith("Unterminated") or cut.fullmatch(self._text, error.pos) is not None

    def _fill(self, size: int) -> bool:
        """Reads more of the file and frees the text before the position; False at its end."""
        if self._ended:
            return False
        used = self._text[: self._at]
        if lines := used.count("\n"):
            self._line, self._column = self._line + lines, 1
        self._column += len(used) - used.rfind("\n") - 1
        rest, self._at, self._start = self._text[self._at :], 0, 0
        # The text is set in two steps, because an error in between needs it for the line number.
        self._text = rest
        self._text = rest + self._more(size)
        return True

    def _more(self, size: int) -> str:
        kept = len(self._decoder.getstate()[0])
        try:
            data = self._file.read(size)
            self._ended = not data
            text = self._decoder.decode(data, final=self._ended)
        except OSError as error:
            raise FormatError(f"{self.name}: {why_not(error)}.") from error
        except UnicodeDecodeError as error:
            if self._ended:
                raise self._fault_at("the file ends too early", len(self._text)) from error
            raise FormatError(f"{self.name}: this is not UTF-8, byte {self._read - kept + error.start:,}.") from error
        self._read += len(data)
        return text
