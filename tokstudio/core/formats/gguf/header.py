"""The header of a GGUF file: key-values and descriptions of tensors, read with bounded memory, and written.

The layout is that of `docs/gguf.md` in the ggml repository. Tensors themselves are never read.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import stat
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

import numpy as np

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.text_readers import why_not
from tokstudio.core.text.encodings import WHY_NOT_POINTER, is_lfs_pointer

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAGIC = b"GGUF"
ALIGNMENT = "general.alignment"

#: The types of values, by their numbers in a file.
UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL, STRING, LIST, UINT64, INT64, FLOAT64 = range(13)

_FORMS = {UINT8: "B", INT8: "b", UINT16: "H", INT16: "h", UINT32: "I", INT32: "i", FLOAT32: "f", BOOL: "?",
          UINT64: "Q", INT64: "q", FLOAT64: "d"}  # fmt: skip
_SIZES = {kind: struct.calcsize(f"<{form}") for kind, form in _FORMS.items()}
# Programs before GGUF, among them whisper.cpp until today, begin their files so.
_FORMER = (b"lmgg", b"fmgg", b"tjgg", b"algg")
_VERSIONS = (2, 3)
_USUAL_ALIGNMENT, _LARGEST_ALIGNMENT = 32, 1 << 24
# Least sizes in bytes of a key-value, of a string in a list, and of the description of a tensor.
_LEAST_VALUE, _LEAST_STRING, _LEAST_TENSOR = 13, 8, 24
# The most that is read; real files are far below. Lists that are passed over may be longer.
_MOST_KEYS, _MOST_TENSORS, _MOST_DIMENSIONS, _MOST_ITEMS, _MOST_PASSED = 1 << 16, 1 << 20, 8, 1 << 22, 1 << 24
_LONGEST_KEY, _LONGEST_STRING, _LARGEST_LIST = 1 << 16, 1 << 24, 1 << 28
# Of the texts of tokens and merges, few have fewer than three bytes, and long ones no NUL, as holes in a file have.
_SHORT, MOST_SHORT, _LONG = 3, 1 << 17, 1 << 12
_LONGEST_TEXT = 1 << 28  # of one that is copied
_WINDOW = 1 << 18
_STEP = 1 << 12  # strings in a piece to write


class Value(NamedTuple):
    """A value, or a list of values with one type: strings as bytes, numbers as an array."""

    kind: int
    content: Any
    items: int = -1  # the type of the items of a list


class Tensor(NamedTuple):
    """The name and the dimensions of a tensor, the innermost first."""

    name: str
    dimensions: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Header:
    """What stands before the tensors."""

    name: str  # the name of the file in errors
    order: str  # the order of bytes: "<" for little-endian, ">" for big-endian
    version: int  # the version of the format
    values: Mapping[str, Value]  # the values that were asked for, by key
    places: Mapping[str, tuple[int, int]]  # where each key with its value stands in the file, in their order
    tensors: tuple[Tensor, ...]  # the tensors, if they were asked for
    infos: tuple[int, int]  # where the descriptions of the tensors stand
    alignment: int  # the tensors begin at a multiple of it
    size: int  # the size of the file in bytes

    @property
    def data(self) -> int:
        """Where the tensors begin."""
        return aligned(self.infos[1], self.alignment)

    def text(self, key: str) -> str | None:
        """A string; None where there is none. FormatError, as in the others, where it has another type."""
        content = self._of(key, STRING)
        return None if content is None else self.decoded(key, content)

    def number(self, key: str) -> int | None:
        """A whole number."""
        content = self._of(key, UINT8, INT8, UINT16, INT16, UINT32, INT32, UINT64, INT64)
        return None if content is None else int(content)

    def flag(self, key: str) -> bool | None:
        """Whether something is so."""
        return self._of(key, BOOL)

    def texts(self, key: str) -> list[bytes] | None:
        """A list of strings, which need not be UTF-8."""
        return self._list(key, STRING)

    def numbers(self, key: str, *kinds: int) -> NDArray[Any] | None:
        """A list of numbers of one of the types."""
        return self._list(key, *kinds)

    def decoded(self, key: str, text: bytes) -> str:
        """A string of the file; FormatError where it is not UTF-8."""
        try:
            return text.decode()
        except UnicodeDecodeError:
            raise FormatError(f"{self.name}: the value of {key} is not UTF-8.") from None

    def _of(self, key: str, *kinds: int) -> Any:  # noqa: ANN401
        value = self.values.get(key)
        if value is None:
            return None
        if value.kind not in kinds:
            raise FormatError(f"{self.name}: the value of {key} has the wrong type.")
        return value.content

    def _list(self, key: str, *kinds: int) -> Any:  # noqa: ANN401
        value = self.values.get(key)
        if value is not None and value.items not in kinds:
            raise FormatError(f"{self.name}: the value of {key} has the wrong type.")
        return None if value is None else value.content


def aligned(place: int, alignment: int) -> int:
    """The first multiple of the alignment from a place on."""
    return -(-place // alignment) * alignment


def header_work(path: Path, name: str, wanted: Callable[[str], bool], tensors: bool = False) -> Work[Header]:
    """Reads the header of a file, of any size, with the values of the wanted keys.

    Every count is checked against what is left of the file before memory is taken for it.

    Raises:
        FormatError: It is not a GGUF file, damaged, or of a version that is not read.
    """
    with _Source(path, name) as source:
        version = _begin(source)
        tensor_count = source.count("tensors", _LEAST_TENSOR, _MOST_TENSORS)
        value_count = source.count("values", _LEAST_VALUE, _MOST_KEYS)
        values, places = dict[str, Value](), dict[str, tuple[int, int]]()
        for _ in range(value_count):
            start = source.place
            key = source.key()
            if key in places:
                source.damaged(f"the key {shown(key)} appears twice")
            value = yield from source.value_work(key, key == ALIGNMENT or wanted(key))
            places[key] = start, source.place
            if value is not None:
                values[key] = value
        start, listed = source.place, list[Tensor]()
        for number in range(tensor_count):
            tensor = source.tensor()
            if tensors:
                listed.append(tensor)
            if number % _STEP == 0:
                yield Progress("reading")
        infos, order, size = (start, source.place), source.order, source.size
    alignment = _alignment(name, values)
    header = Header(name, order, version, values, places, tuple(listed), infos, alignment, size)
    if tensor_count and header.data > size:
        raise FormatError(f"{name}: the file ends too early: its tensors are missing.")
    return header


def _begin(source: _Source) -> int:
    """Checks the first bytes, and finds the order of the others; returns the version."""
    magic = source.take(min(source.left, len(MAGIC)))
    if magic in _FORMER:
        raise FormatError(
            f"{source.name}: this is a file of ggml from before GGUF, as whisper.cpp uses: TokStudio reads GGUF."
        )
    if magic != MAGIC:
        raise FormatError(f"{source.name}: this is not a GGUF file.")
    version = source.number(UINT32)
    if version & 0xFFFF == 0:
        source.order = ">"
        version = int.from_bytes(version.to_bytes(4, "little"), "big")
    if version not in _VERSIONS:
        raise FormatError(f"{source.name}: it is GGUF of version {version}, and TokStudio reads the versions 2 and 3.")
    return version


def _alignment(name: str, values: Mapping[str, Value]) -> int:
    if ALIGNMENT not in values:
        return _USUAL_ALIGNMENT
    kind, number, _ = values[ALIGNMENT]
    if kind != UINT32 or not 0 < number <= _LARGEST_ALIGNMENT or number & (number - 1):
        raise FormatError(f"{name}: its alignment is not a power of two.")
    return number


class _Source:
    """A file that is read forward through a window of bounded size."""

    def __init__(self, path: Path, name: str) -> None:
        self.name, self.order = name, "<"
        self._data, self._at, self._base = b"", 0, 0
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                raise FormatError(f"{name}: this is not a file.")
            self._file, self.size = path.open("rb", buffering=0), status.st_size
        except (OSError, ValueError) as error:
            raise FormatError(f"{name}: {why_not(error)}.") from error

    def __enter__(self) -> Self:
        self._fill(min(self.size, _WINDOW))
        if is_lfs_pointer(self._data[:512]):
            raise FormatError(f"{self.name}: {WHY_NOT_POINTER}.")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def place(self) -> int:
        """Where the next byte stands in the file."""
        return self._base + self._at

    @property
    def left(self) -> int:
        """How many bytes of the file are left."""
        return self.size - self.place

    def damaged(self, what: str) -> NoReturn:
        """Raises FormatError, with the place in the file."""
        raise FormatError(f"{self.name}: the file is damaged at byte {self.place:,}: {what}.")

    def take(self, size: int) -> bytes:
        """The next bytes."""
        self._check(size)
        self._fill(size)
        taken = self._data[self._at : self._at + size]
        self._at += size
        return taken

    def numbers(self, kind: int, count: int) -> NDArray[Any]:
        """The next values of a type, in the order of bytes of this computer."""
        numbers = np.empty(count, self.order + _FORMS[kind])
        into, at = numbers.view(np.uint8), 0
        self._check(len(into))
        while at < len(into):
            piece = self.take(min(_WINDOW, len(into) - at))
            into[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
            at += len(piece)
        return numbers.astype(numbers.dtype.newbyteorder("="), copy=False)

    def skip(self, size: int) -> None:
        """Passes over bytes without reading them."""
        self._check(size)
        if size <= len(self._data) - self._at:
            self._at += size
        else:
            self._data, self._at, self._base = b"", 0, self.place + size

    def number(self, kind: int) -> Any:  # noqa: ANN401
        """The next value of a type that is neither a string nor a list."""
        content = self.take(_SIZES[kind])
        if kind == BOOL and content > b"\x01":
            self.damaged("a value is neither true nor false")
        return struct.unpack(self.order + _FORMS[kind], content)[0]

    def count(self, what: str, least: int, most: int) -> int:
        """The next number, of things that take at least so many bytes each."""
        count = self.number(UINT64)
        if count > self.left // least:
            self.damaged(f"it has {count:,} {what}, more than the rest of the file can hold")
        if count > most:
            self.damaged(f"it has {count:,} {what}, and at most {most:,} are read")
        return count

    def length(self, longest: int) -> int:
        """The length of the next string."""
        size = self.number(UINT64)
        if size > self.left:
            self.damaged(f"a string has {size:,} bytes, more than the rest of the file")
        if size > longest:
            self.damaged(f"a string has {size:,} bytes, and at most {longest:,} are read")
        return size

    def key(self) -> str:
        """The next key, or name of a tensor."""
        try:
            return self.take(self.length(_LONGEST_KEY)).decode()
        except UnicodeDecodeError:
            self.damaged("a key is not UTF-8")

    def value_work(self, key: str, wanted: bool) -> Work[Value | None]:
        """The next value, or None where it is not wanted."""
        kind = self.number(UINT32)
        if kind == STRING:
            # Nothing is taken for a long string that is not wanted.
            size = self.length(_LONGEST_STRING if wanted else self.size)
            if wanted:
                return Value(kind, self._long(size) if size > _LONG else self.take(size))
            self.skip(size)
        elif kind == LIST:
            return (yield from self._list_work(key, wanted))
        elif kind in _FORMS:
            content = self.number(kind)
            return Value(kind, content) if wanted else None
        else:
            self.damaged(f"the value of {shown(key)} is of the unknown type {kind}")
        return None

    def _list_work(self, key: str, wanted: bool) -> Work[Value | None]:
        items = self.number(UINT32)
        if items == LIST:
            self.damaged(f"the value of {shown(key)} is a list of lists")
        if items == STRING:
            count = self.count("strings in a list", _LEAST_STRING, _MOST_ITEMS if wanted else _MOST_PASSED)
            strings = yield from self._strings_work(count, wanted)
            return Value(LIST, strings, items) if wanted else None
        if items not in _FORMS:
            self.damaged(f"the list {shown(key)} is of the unknown type {items}")
        size = _SIZES[items]
        count = self.count("numbers in a list", size, _MOST_ITEMS if wanted else self.size)
        if not wanted:
            self.skip(count * size)
            return None
        return Value(LIST, self.numbers(items, count), items)

    def _strings_work(self, count: int, wanted: bool) -> Work[list[bytes]]:
        strings, total, number, short = list[bytes](), 0, 0, 0
        length = struct.Struct(f"{self.order}Q").unpack_from
        while number < count:
            self._fill(min(self.left, _WINDOW))
            data, at, end = self._data, self._at, len(self._data)
            first, start = number, at
            while number < count and at + _LEAST_STRING <= end:
                stop = at + _LEAST_STRING + length(data, at)[0]
                if stop > end:
                    break
                if wanted:
                    string = data[at + _LEAST_STRING : stop]
                    strings.append(string)
                    short += len(string) < _SHORT
                    if len(string) > _LONG:
                        self._check_text(string)
                at = stop
                number += 1
            self._at = at
            total += at - start
            if number == first:
                # It is longer than the window, or damaged.
                size = self.length(_LONGEST_STRING if wanted else self.size)
                total += size
                if wanted:
                    strings.append(self._long(size))
                else:
                    self.skip(size)
                number += 1
            if wanted and total > _LARGEST_LIST:
                self.damaged(f"the strings of a list are longer than {_LARGEST_LIST:,} bytes")
            if short > MOST_SHORT:
                self.damaged(f"more than {MOST_SHORT:,} strings of a list are shorter than {_SHORT} bytes")
            yield Progress("reading")
        return strings

    def _long(self, size: int) -> bytes:
        """A string that is longer than the window, which is checked before all of it is in memory."""
        pieces = list[bytes]()
        while size:
            pieces.append(self.take(min(size, _WINDOW)))
            self._check_text(pieces[-1])
            size -= len(pieces[-1])
        return b"".join(pieces)

    def _check_text(self, string: bytes) -> None:
        if b"\0" in string:
            self.damaged("a long string is not text")

    def tensor(self) -> Tensor:
        """The next description of a tensor."""
        name, dimensions = self.key(), self.number(UINT32)
        if dimensions > _MOST_DIMENSIONS:
            self.damaged(f"the tensor {shown(name)} has {dimensions:,} dimensions")
        shape = tuple(self.number(UINT64) for _ in range(dimensions))
        self.number(UINT32)
        if (offset := self.number(UINT64)) > self.size:
            self.damaged(f"the tensor {shown(name)} begins at {offset:,}, behind the end of the file")
        return Tensor(name, shape)

    def _check(self, size: int) -> None:
        if size > self.left:
            raise FormatError(f"{self.name}: the file ends too early, at byte {self.size:,}.")

    def _fill(self, size: int) -> None:
        """Has at least `size` bytes in the window, which the file is long enough for."""
        missing = size - (len(self._data) - self._at)
        if missing <= 0:
            return
        self._data, self._at, self._base = self._data[self._at :], 0, self.place
        try:
            self._file.seek(self._base + len(self._data))
            pieces, wanted = [self._data], max(missing, _WINDOW)
            while wanted > 0 and (piece := self._file.read(wanted)):
                pieces.append(piece)
                wanted -= len(piece)
        except OSError as error:
            raise FormatError(f"{self.name}: {why_not(error)}.") from error
        self._data = b"".join(pieces)
        if len(self._data) < size:
            raise FormatError(f"{self.name}: the file became shorter while it was read.")


def copy_text_work(path: Path, header: Header, key: str, target: IO[bytes]) -> Work[None]:
    """Copies a string that was not read with its header, and begins as an object of JSON, piece by piece.

    Raises:
        FormatError: It is no such string, or too long.
    """
    with _Source(path, header.name) as source:
        source.order = header.order
        source.skip(header.places[key][0])
        source.key()
        if source.number(UINT32) != STRING:
            raise FormatError(f"{header.name}: the value of {key} has the wrong type.")
        left, begun = source.length(_LONGEST_TEXT), False
        while left:
            piece = source.take(min(left, _WINDOW))
            content = piece if begun else piece.lstrip()
            if not (begun or content.startswith(b"{")) and content:
                raise FormatError(f"{header.name}: the value of {key} is no JSON object.")
            target.write(piece)
            left, begun = left - len(piece), begun or bool(content)
            yield Progress("reading")


# --- Writing ----------------------------------------------------------------------------------------------------------


def beginning(order: str, version: int, tensors: int, values: int) -> bytes:
    """The first bytes of a file."""
    return MAGIC + struct.pack(f"{order}IQQ", version, tensors, values)


def string(order: str, content: bytes) -> bytes:
    """A string as it stands in a file."""
    return struct.pack(f"{order}Q", len(content)) + content


def written(order: str, key: str, value: Value) -> Iterator[bytes]:
    """Yields a key with its value in pieces."""
    kind, content, items = value
    yield string(order, key.encode()) + struct.pack(f"{order}I", kind)
    if kind == STRING:
        yield string(order, content)
    elif kind != LIST:
        yield struct.pack(order + _FORMS[kind], content)
    else:
        yield struct.pack(f"{order}IQ", items, len(content))
        if items == STRING:
            for first in range(0, len(content), _STEP):
                yield b"".join(string(order, text) for text in content[first : first + _STEP])
        else:
            yield np.asarray(content).astype(order + _FORMS[items]).tobytes()


def text_value(text: str) -> Value:
    """A string as a value."""
    return Value(STRING, text.encode())
