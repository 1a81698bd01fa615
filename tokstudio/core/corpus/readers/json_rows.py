"""Reads JSON Lines and JSON: blocks by pyarrow, and what it refuses line by line, so that a broken line is named."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import numpy as np

from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.json_depth import TOO_DEEP, is_too_deep
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.untyped import untyped
from tokstudio.core.base.wording import first_few
from tokstudio.core.corpus.readers.collect import NO_VALUE, Collector
from tokstudio.core.corpus.readers.compression import Stream
from tokstudio.core.corpus.readers.contents import TEXT_FIELDS, Column, text_of_row, texts_of, type_of
from tokstudio.core.corpus.readers.kinds import JSON_DECODER, parsed_json
from tokstudio.core.corpus.readers.streams import OpenText, Utf8Stream
from tokstudio.core.text.utf8 import to_utf8

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 1 << 20  # small, so that no call on a block holds the interpreter for long
ROWS = 1_000  # parsed before they are added together
_NAMED = 5  # columns that are not read
_LONGEST = 1 << 28  # characters of one object in a list
_SPACE = re.compile(r"[ \t\r\n]*")
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Plan:
    """Which columns are read: that of the texts, the one that divides them, if any, and other columns of text."""

    text: Column
    split: Column | None = None
    beside: tuple[Column, ...] = ()  # not divided

    @property
    def texts(self) -> tuple[Column, ...]:
        """All columns of text."""
        return (self.text, *self.beside)


def sample_of_lines(head: str, is_whole: bool) -> Iterator[dict[str, object]]:
    """The objects on the first lines."""
    lines = head.split("\n")
    for line in lines if is_whole or len(lines) < 2 else lines[:-1]:
        row = _parsed(line) if line.strip() else None
        if isinstance(row, dict):
            yield cast("dict[str, object]", row)


def sample_of_json(head: str) -> Iterator[dict[str, object]]:
    """The first objects of a JSON text, as far as they are whole."""
    reader = _Objects(io.BytesIO(to_utf8(head)), "")
    try:
        for row in reader:
            if isinstance(row, dict):
                yield cast("dict[str, object]", row)
    except CorpusError:
        return


def fault_of_lines(head: str) -> str:
    """What is wrong with the first line that is not blank; "" where there is nothing."""
    number, line = next(
        ((number, line) for number, line in enumerate(head.split("\n"), 1) if line.strip()), (0, "null")
    )
    if _parsed(line) is not None:
        return ""
    try:
        JSON_DECODER.decode(line.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        return f"line {number:,} is broken at character {error.pos + 1:,} ({error.msg.removesuffix(' at')})"
    except RecursionError:
        pass
    return f"line {number:,} is {TOO_DEEP}"


def fault_of_json(head: str) -> str:
    """What is wrong with the first value of a JSON text; "" where there is nothing."""
    objects = _Objects(io.BytesIO(to_utf8(head)), "")
    try:
        next(iter(objects), None)
    except CorpusError:
        return f"the JSON {objects.fault}"
    return ""


def read_lines_work(text: OpenText, lines: Utf8Stream, plan: Plan, collect: Collector) -> Work[None]:
    """Reads JSON Lines; lines that are broken, or without text in the column, are dropped and counted."""
    number = 1
    for block, count in _blocks(lines):
        if not _add_block(block, number, plan, collect):
            yield from _add_lines_work(block, number, plan, collect, text)
        number += count
        yield Progress("reading", min(text.done, text.size), text.size)
        if collect.is_full:
            return


def read_json_work(text: OpenText, stream: Utf8Stream, plan: Plan, collect: Collector) -> Work[None]:
    """Reads JSON lists of objects, objects that hold one, or objects, one after another."""
    batch, objects = _Batch(plan, collect), _Objects(stream, text.name)
    for number, row in enumerate(objects, 1):
        batch.add(row, number)
        if len(batch) == ROWS:
            batch.flush()
            if collect.is_full:
                break
            yield Progress("reading", min(text.done, text.size), text.size)
    batch.flush()
    if objects.note and objects.note not in collect.dropped.further:
        collect.dropped.further.append(objects.note)


def _blocks(stream: Stream) -> Iterator[tuple[bytes, int]]:
    """Whole lines, together about 1 MiB, and their number."""
    begun: list[bytes] = []
    size = 0
    while piece := stream.read(BLOCK):
        end = piece.rfind(b"\n") + 1 if size + len(piece) >= BLOCK else 0
        if end:
            block = b"".join((*begun, piece[:end]))
            yield block, block.count(b"\n")
            begun, size = [piece[end:]], len(piece) - end
        else:
            begun.append(piece)
            size += len(piece)
    if size:
        block = b"".join(begun)
        yield block, block.count(b"\n") + 1


def _add_block(block: bytes, first: int, plan: Plan, collect: Collector) -> bool:
    """Parses whole lines at once, from line `first` on; False where one is broken or a column has another type."""
    pyarrow = untyped("pyarrow")
    arrow_json = untyped("pyarrow.json")

    columns = [column for column in (*plan.texts, plan.split) if column is not None]
    types = {column.steps[0]: type_of(column) for column in columns}
    if len(types) < len(columns):
        return False
    schema = pyarrow.schema(list(types.items()))
    numbers = _numbers_of_objects(block, first)
    if numbers is None:
        return False
    try:
        table = arrow_json.read_json(
            io.BytesIO(block),
            arrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
    except pyarrow.ArrowInvalid:
        return False
    if table.num_rows != len(numbers):  # several objects on one line
        return False
    done = 0
    for batch in table.to_batches():
        texts = [texts_of(array, column) for array, column in zip(batch.columns, columns, strict=True)]
        here = numbers[done : done + len(batch)]
        collect.add_columns(texts[: len(plan.texts)], None if plan.split is None else texts[-1], here)
        done += len(batch)
    return True


def _numbers_of_objects(block: bytes, first: int) -> NDArray[np.int64] | None:
    """The numbers of the lines that are not blank; None where one of them does not begin and end as an object does.

    What follows relies on it: pyarrow ends the process where a block begins with null, and ignores line feeds between
    other signs, so that two broken lines can be one object.
    """
    seams = block.count(b"\n") - block.endswith(b"\n")
    if block.startswith(b"{") and block.endswith((b"}", b"}\n")) and block.count(b"}\n{") == seams:
        return np.arange(first, first + seams + 1)
    lines = [line.strip() for line in block.split(b"\n")]
    if any(line[:1] + line[-1:] not in (b"", b"{}") for line in lines):
        return None
    return first + np.flatnonzero([bool(line) for line in lines])


def _add_lines_work(block: bytes, first: int, plan: Plan, collect: Collector, text: OpenText) -> Work[None]:
    batch = _Batch(plan, collect)
    for number, line in enumerate(block.split(b"\n"), first):
        if line and not line.isspace():
            decoded = line.decode("utf-8", "replace")
            row = _parsed(decoded)
            if row is None and (is_too_deep(decoded) or "Inf" in decoded):
                # In a block, pyarrow reads deep nesting, and Inf for Infinity; Python reads neither.
                batch.flush()
                if _add_block(line, number, plan, collect):
                    continue
            if row is None:
                collect.dropped.add_broken(number)
            else:
                batch.add(row, number)
        if len(batch) == ROWS:
            batch.flush()
            yield Progress("reading", min(text.done, text.size), text.size)
    batch.flush()


def _parsed(line: str) -> object:
    """The value of a line; None where it is broken."""
    line = line.removeprefix("\ufeff")
    value = parsed_json(line)
    return [] if value is None and line.strip() == "null" else value


class _Batch:
    """Rows on their way to the collector."""

    def __init__(self, plan: Plan, collect: Collector) -> None:
        self._split = plan.split
        self._columns = [
            (column, one, list[bytes](), list[int]()) for column, one in zip(plan.texts, collect.each, strict=True)
        ]
        self._keys: list[str] = []
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def add(self, row: object, number: int) -> None:
        self._rows += 1
        for column, collect, texts, numbers in self._columns:
            try:
                text = text_of_row(row, column)
            except TypeError:
                collect.dropped.no_text += 1
                continue
            if text is None:
                collect.dropped.missing += 1
                continue
            raw = to_utf8(text)
            if _SURROGATES.search(text):
                collect.dropped.surrogates += raw.decode().count("\ufffd") - text.count("\ufffd")
            texts.append(raw)
            numbers.append(number)
            if self._split is not None:
                self._keys.append(_key(row, self._split))

    def flush(self) -> None:
        pyarrow = untyped("pyarrow")

        keys = pyarrow.array(self._keys, pyarrow.string()) if self._keys else None
        for _, collect, texts, numbers in self._columns:
            collect.add_texts(pyarrow.array(texts, pyarrow.large_binary()), keys, np.array(numbers, np.int64))
            texts.clear()
            numbers.clear()
        self._keys.clear()
        self._rows = 0


def _key(row: object, column: Column) -> str:
    try:
        text = text_of_row(row, column)
    except TypeError:
        value = row
        for step in column.steps:
            value = cast("dict[str, object]", value).get(step) if isinstance(value, dict) else None
        text = json.dumps(value)
    return NO_VALUE if text is None else to_utf8(text).decode()


class _Objects:
    """The objects of JSON texts that follow one another, one at a time; only one of them is held."""

    def __init__(self, stream: Stream, name: str) -> None:
        self._stream, self._name = stream, name
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._text, self._at, self._ended, self._before = "", 0, False, 0
        self._unread: dict[str, None] = {}

    def __iter__(self) -> Iterator[object]:
        opening = self._next()
        while opening:
            if opening not in "[{":
                raise self._broken()
            self._at += 1
            yield from self._list() if opening == "[" else self._object()
            opening = self._peek()

    @property
    def note(self) -> str:
        """What is not read of the objects so far that hold a list of them; "" where that is nothing."""
        names = first_few(list(self._unread), _NAMED)
        return names and f"of each object, only the first list of objects is read, not {names}"

    def _object(self) -> Iterator[object]:
        """The objects of the first list of objects in an object; the object itself where there is none."""
        whole: dict[str, object] = {}
        is_read = False
        while self._next() != "}":
            key = self._value()
            if not isinstance(key, str) or self._next() != ":":
                raise self._broken()
            self._at += 1
            if is_read:
                self._pass_over(key)
            elif self._next() == "[":
                self._at += 1
                if self._next() == "{" and not any(isinstance(whole.get(name), str) for name in TEXT_FIELDS):
                    is_read = True
                    yield from self._list()
                else:
                    whole[key] = list(self._list())
            else:
                whole[key] = self._value()
            if self._next() == ",":
                self._at += 1
            elif self._next() != "}":
                raise self._broken()
        self._at += 1
        if not is_read:
            yield whole

    def _pass_over(self, key: str) -> None:
        """Passes the value of a key, and keeps the key where it is a text or a list of objects."""
        if self._next() == "[":
            self._at += 1
            is_unread = self._next() == "{"
            for _ in self._list():
                pass
        else:
            is_unread = isinstance(self._value(), str) and key in TEXT_FIELDS
        if is_unread:
            self._unread[key] = None

    def _list(self) -> Iterator[object]:
        """The rest of a list after its opening bracket."""
        while self._next() != "]":
            yield self._value()
            sign = self._next()
            if sign == ",":
                self._at += 1
            elif sign != "]":
                raise self._broken()
        self._at += 1

    def _next(self) -> str:
        """The next sign after white space, which is not passed; CorpusError at the end."""
        if sign := self._peek():
            return sign
        raise self._broken()

    def _peek(self) -> str:
        """As `_next`, but "" at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            assert match is not None
            self._at = match.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more(BLOCK):
                return ""

    def _value(self) -> object:
        """The next value, which is passed."""
        size = BLOCK
        while True:
            try:
                value, end = JSON_DECODER.raw_decode(self._text, self._at)
                # A number may go on.
                if end < len(self._text) or self._ended:
                    self._at = end
                    return value
            except ValueError:
                if self._ended or len(self._text) - self._at > _LONGEST:
                    raise self._broken() from None
            except RecursionError:
                raise CorpusError(f"{self._name}: the JSON is nested too deeply.") from None
            self._more(size)
            size *= 2

    def _more(self, size: int) -> bool:
        """Reads on; False at the end."""
        if self._at:
            self._before += self._text.count("\n", 0, self._at)
            self._text, self._at = self._text[self._at :], 0
        if self._ended:
            return False
        pieces, there = [self._text], 0
        while there < size and not self._ended:
            piece = self._stream.read(size)
            self._ended = not piece
            pieces.append(self._decode(piece, self._ended))
            there += len(piece)
        self._text = "".join(pieces)
        return there > 0

    @property
    def fault(self) -> str:
        """What is wrong with the JSON where reading stopped."""
        line = 1 + self._before + self._text.count("\n", 0, self._at)
        return "ends too early" if self._ended and self._at >= len(self._text) else f"is broken at line {line:,}"

    def _broken(self) -> CorpusError:
        return CorpusError(f"{self._name}: the JSON {self.fault}; to read it as it stands, read it as plain text.")
