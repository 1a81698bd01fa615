"""Tokenizer files read piece by piece: as lines, and as JSON."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
import json
import re
import stat
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from io import BufferedReader, BytesIO
from itertools import islice
from math import isinf
from pathlib import Path
from typing import Any, Self, cast

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.json_depth import DEEPEST, TOO_DEEP, is_too_deep
from tokstudio.core.base.progress import Progress
from tokstudio.core.text.encodings import WHY_NOT_POINTER, is_lfs_pointer, kind_by_signature

# --- Opens untrusted files, and reads them line by line within memory limits ------------------------------------------

LONGEST = 1 << 28
_BEGINNING = 512
_REPORTED = 1 << 15
_MOST_LISTED = 1000


class Reader:
    """A file, read from beginning to end in a `with` block.

    Args:
        path: The file, or its content.
        name: Its name in errors.
        largest: The largest size in bytes.

    Raises:
        FormatError: It does not exist, is not a file, or is too large. All methods raise it where the file is damaged.
    """

    def __init__(self, path: Path | bytes, name: str, largest: int) -> None:
        self.name = name
        self._file, self.size = open_file(path, name, largest)
        self._read = self._file.tell()
        self._reported = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def progress(self) -> Iterator[Progress]:
        """One report where enough of the file has been read since the last one, otherwise none."""
        if self._read - self._reported >= _REPORTED:
            self._reported = self._read
            yield Progress("reading", min(self._read, self.size), self.size)


class LineReader(Reader):
    """A file of lines."""

    _line = 0
    _is_cut = False  # whether the last line has no end

    def __iter__(self) -> Iterator[bytes]:
        """Yields each line without its end, of Unix or Windows."""
        try:
            while line := self._file.readline(LONGEST):
                self._line += 1
                self._read += len(line)
                if len(line) == LONGEST:
                    raise self.fault("the line is too long to read")
                self._is_cut = not line.endswith(b"\n")
                yield line.removesuffix(b"\n").removesuffix(b"\r")
        except OSError as error:
            raise FormatError(f"{self.name}: {why_not(error)}.") from error

    def peek(self) -> bytes:
        """The beginning of the file, before anything is read."""
        try:
            return self._file.peek(1)[:_BEGINNING]
        except OSError as error:
            raise FormatError(f"{self.name}: {why_not(error)}.") from error

    def fault(self, what: str) -> FormatError:
        """An error at the last line; without an end, a part of it may be missing."""
        cut = "the file ends too early, or " if self._is_cut else ""
        return FormatError(f"{self.name}: {cut}{what}, line {self._line:,}.")


def open_file(path: Path | bytes, name: str, largest: int) -> tuple[BufferedReader, int]:
    """Opens a file or its content, behind its byte order mark if it has one, and returns its size.

    Raises:
        FormatError: There is none, it has more than `largest` bytes, or it is a Git LFS pointer.
    """
    if isinstance(path, bytes):
        return BufferedReader(BytesIO(path)), len(path)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise FormatError(f"{name}: this is not a file.")
        if status.st_size > largest:
            raise FormatError(
                f"{name}: the file is too large: {status.st_size:,} bytes, and at most {largest:,} are read."
            )
        file = path.open("rb")
        try:
            beginning = file.peek(_BEGINNING)[:_BEGINNING]
            if is_lfs_pointer(beginning):
                raise FormatError(f"{name}: {WHY_NOT_POINTER}.")
            if beginning.startswith(BOM_UTF8):
                file.read(len(BOM_UTF8))
        except BaseException:
            file.close()
            raise
        return file, status.st_size
    except (OSError, ValueError) as error:
        raise FormatError(f"{name}: {why_not(error)}.") from error


def read_whole(path: Path | bytes, name: str, largest: int) -> bytes:
    """The content of a file behind its byte order mark; FormatError as of `open_file`."""
    file, size = open_file(path, name, largest)
    with file:
        try:
            return file.read(size)
        except OSError as error:
            raise FormatError(f"{name}: {why_not(error)}.") from error


def why_not(error: OSError | ValueError, what: str = "the file") -> str:
    """The reason why a file, or `what` it is, cannot be read, in a few words."""
    if isinstance(error, FileNotFoundError):
        return f"{what} does not exist"
    if isinstance(error, PermissionError):
        return f"you have no permission to read {what}"
    return f"{what} cannot be read: {(isinstance(error, OSError) and error.strerror) or error}"


def only_file(folder: Path, ending: str) -> Path | None:
    """The file in a folder whose name ends in `ending`, or None; FormatError where there are several."""
    files = sorted(file for file in islice(folder.glob(f"*{ending}"), _MOST_LISTED) if file.is_file())
    if len(files) > 1:
        names = f"{files[0].name} and {files[1].name}"
        raise FormatError(f"{file_name(folder)}: the folder holds more than one tokenizer, {names}: open one of them.")
    return files[0] if files else None


# --- Reads JSON in pieces, so that an untrusted file cannot take too much memory --------------------------------------
# Python's own scanner works within a window of the file.

CHUNK = 1 << 16
# A value of so many characters takes some hundred megabytes at worst; a string takes a few times its length.
LARGEST_VALUE = 1 << 22
_LARGEST_TEXT = 1 << 28
_NEAR = 16
_LONGEST_WORD = 40  # characters of a number in an error
_SPACE = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"[-+.\w]*")
# What is there of a word, a number or an escape whose end is missing.
_CUT_WORD = re.compile(r"\s*|-|[.eE][-+]?|t(ru?)?|f(a(ls?)?)?|n(ul?)?")
_CUT_ESCAPE = re.compile(r"u[0-9A-Fa-f]{0,4}")


class _NoNumber(ValueError):
    """What is wrong with NaN or an infinity, which Python accepts and JSON does not have, or reads in a number."""


def _no_number(word: str) -> float:
    raise _NoNumber(f"this is not JSON ({word} is not a value)")


def _finite(word: str) -> float:
    if isinf(value := float(word)):
        raise _NoNumber(f"the number {word[:_LONGEST_WORD]} is too large")
    return value


_NUMBERS: Mapping[str, Any] = {"parse_constant": _no_number, "parse_float": _finite}
_decode = json.JSONDecoder(**_NUMBERS).raw_decode
_decode_entries = json.JSONDecoder(**_NUMBERS, object_pairs_hook=list[Any]).raw_decode
# The last comma of a window often stands within an entry.
_CUTS = 4


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
            if not self._fill(CHUNK):
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

    def entries(self) -> Iterator[str]:
        """Yields the keys of the object that the file must be; the caller reads the value after each."""
        if self.peek() != "{":
            raise self.fault("this is not an object")
        yield from self.items()

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

    def take_several(self, brackets: str, take: Callable[[list[Any]], bool]) -> bool:
        """Reads many entries that follow the last value at once, in a fraction of the time; False where it reads none.

        It does not where they are damaged: read one by one, they show what is wrong, and where.

        Args:
            brackets: "[]" in an array, whose entries are values; "{}" in an object, where they are pairs.
            take: Whether the entries are right, which are read only then.
        """
        if len(self._text) - self._at < CHUNK:
            self._fill(CHUNK)
        if self.peek() != ",":
            return False
        first, end = self._at + 1, self._at + CHUNK
        for _ in range(_CUTS):
            if (end := self._text.rfind(",", first, end)) < 0:
                return False
            part = f"{brackets[0]}{self._text[first:end]}{brackets[1]}"
            try:
                entries, read = _decode_entries(part)
            except (ValueError, RecursionError):
                continue
            if not entries or not take(entries):
                return False
            # Of the last entries, the closing bracket is read next.
            self._at = self._start = end if read == len(part) else first + read - 2
            return True
        return False

    def value(self) -> object:
        """The next value, unless it is too large."""
        return self._decoded(LARGEST_VALUE)

    def string(self) -> str:
        """The next value, a string of almost any length."""
        if self.peek() != '"':
            raise self._unexpected("a string")
        return cast("str", self._decoded(_LARGEST_TEXT))

    def short(self) -> object:
        """The next value if it ends within about 64 kB; otherwise None, and nothing is read."""
        self.peek()
        if len(self._text) - self._at < CHUNK:
            self._fill(CHUNK)
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
                self._fill(max(CHUNK, waiting))

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
                raise self.fault(str(error)) from error
            except ValueError as error:
                raise self.fault("a number is too long") from error
            except RecursionError as error:
                raise self.fault(f"the data is {TOO_DEEP}") from error
            if end - self._at > 2 * DEEPEST and is_too_deep(self._text, self._at, end):
                raise self.fault(f"the data is {TOO_DEEP}")
            word = _WORD.match(self._text, end)
            # A number at the end of the window may continue.
            if word and word.end() == len(self._text):
                if self._fill(CHUNK):
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
        except OSError as error:
            raise FormatError(f"{self.name}: {why_not(error)}.") from error
        self._ended = not data
        try:
            text = self._decoder.decode(data, final=self._ended)
        except UnicodeDecodeError as error:
            if self._ended:
                raise self._fault_at("the file ends too early", len(self._text)) from error
            kind = "" if self._read else kind_by_signature(data)
            what = f"{kind}, not text" if kind else f"not UTF-8, byte {self._read - kept + error.start:,}"
            raise FormatError(f"{self.name}: this is {what}.") from error
        self._read += len(data)
        return text
