"""Opens what is to be read as a stream: decompressed, its beginning looked at, its progress known, in UTF-8."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import CorpusError, EmptyError
from tokstudio.core.base.progress import finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.readers.compression import MAGIC_BYTES, Decompressed, Stream, compression_of
from tokstudio.core.corpus.readers.files import refuse_irregular
from tokstudio.core.text.encodings import MARKS, SAMPLE, detect
from tokstudio.core.text.utf8 import to_utf8

_PIECE = 1 << 18
_MOST_READ = 1 << 20
_MOST_LAYERS = 4


class Peekable:
    """A stream whose beginning can be looked at before it is read."""

    def __init__(self, below: Stream) -> None:
        self._below, self._held = below, b""

    def peek(self, size: int) -> bytes:
        """The first `size` bytes that are not read yet; fewer where there are no more."""
        pieces, there = [self._held], len(self._held)
        while there < size and (piece := self._below.read(min(size - there, _MOST_READ))):
            pieces.append(piece)
            there += len(piece)
        self._held = b"".join(pieces)
        return self._held[:size]

    def read(self, size: int, /) -> bytes:
        """About `size` bytes at most; none at the end."""
        if self._held:
            content, self._held = self._held[:size], self._held[size:]
            return content
        return self._below.read(size)

    def read_whole(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end."""
        self.peek(size)
        return self.read(size)


class _Counted:
    """Counts what is read of a file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.done = file, 0

    def read(self, size: int, /) -> bytes:
        content = self._file.read(size)
        self.done += len(content)
        return content


class OpenText:
    """What is in a file or a member of an archive, decompressed.

    Args:
        file: The bytes as they are stored.
        name: Its name, for errors.
        size: How many bytes are stored; 0 where that is unknown.
        keep_truncated: See `Reading.keep_truncated`.
        stored: Says how many bytes the archive has that this is a member of; None for a file.
    """

    def __init__(
        self,
        file: BinaryIO,
        name: str,
        size: int,
        keep_truncated: bool = False,
        stored: Callable[[], int] | None = None,
    ) -> None:
        self.name, self.size = name, size
        self._counted = counted = _Counted(file)
        self._of_archive = stored
        self._stream = Peekable(counted)
        self._layers: list[Decompressed] = []
        self.compression: tuple[str, ...] = ()
        while kind := compression_of(self._stream.peek(MAGIC_BYTES)):
            if len(self.compression) == _MOST_LAYERS:
                raise CorpusError(f"{name}: it is compressed more than {_MOST_LAYERS} times over; unpack it yourself.")
            layer = Decompressed(self._stream, kind, name, keep_truncated, stored or (lambda: counted.done))
            self._layers.append(layer)
            self._stream = Peekable(layer)
            self.compression += (kind,)

    @property
    def done(self) -> int:
        """How many stored bytes have been read."""
        return self._counted.done

    @property
    def stored(self) -> int:
        """How many bytes the file has that holds this, as far as is known; see `refuse_bomb`."""
        return self._of_archive() if self._of_archive is not None else max(self.size, self.done)

    @property
    def is_cut(self) -> bool:
        """Whether compressed data ended too early, which was allowed."""
        return any(layer.is_cut for layer in self._layers)

    def head(self) -> bytes:
        """The first bytes, at most `SAMPLE`."""
        return self._stream.peek(SAMPLE)

    def peek(self, size: int) -> bytes:
        """The first `size` bytes that are not read yet; fewer where there are no more."""
        return self._stream.peek(size)

    def read(self, size: int, /) -> bytes:
        """About `size` bytes at most; none at the end."""
        return self._stream.read(size)

    def pieces(self) -> Iterator[bytes]:
        """All bytes from here on."""
        while piece := self.read(_PIECE):
            yield piece


@dataclass(frozen=True)
class OpenedFile:
    """An open file and its state when it was opened."""

    file: BinaryIO
    path: Path
    status: os.stat_result

    def check(self) -> None:
        """Raises CorpusError where the file has changed meanwhile."""
        now = os.fstat(self.file.fileno())
        name = file_name(self.path)
        if (now.st_size, now.st_mtime_ns) != (self.status.st_size, self.status.st_mtime_ns):
            raise CorpusError(f"{name}: the file changed while it was being read; try again.")
        if not self.path.exists():
            raise CorpusError(f"{name}: the file disappeared while it was being read.")


@contextmanager
def opened(path: Path) -> Generator[OpenedFile]:
    """Opens a regular file that is not empty; call within `plain_errors`."""
    refuse_irregular(path)
    with path.open("rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        if not status.st_size:
            raise EmptyError(f"{file_name(path)}: the file is empty.")
        yield OpenedFile(file, path, status)


class Utf8Stream:
    """Recodes a stream to UTF-8 while it is read; what is invalid becomes U+FFFD and is counted.

    Args:
        below: The text in its encoding, with its byte order mark.
        encoding: Its name in `core.text.encodings`.
    """

    def __init__(self, below: Stream, encoding: str) -> None:
        self._below, self._encoding = below, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)("strict")
        self._begun = self._ended = False
        self.replaced = 0

    def read(self, size: int, /) -> bytes:
        """About `size` bytes; none at the end."""
        while not self._ended:
            piece = self._below.read(size)
            self._ended = not piece
            if not self._begun:
                self._begun = True
                while piece and len(piece) < 4 and (more := self._below.read(size)):
                    piece += more
                piece = piece.removeprefix(MARKS.get(self._encoding, b""))
            if recoded := self._recoded(piece):
                return recoded
        return b""

    def _recoded(self, piece: bytes) -> bytes:
        state = self._decoder.getstate()
        try:
            text = self._decoder.decode(piece, self._ended)
        except UnicodeDecodeError:
            self._decoder.setstate(state)
            return to_utf8(self._replaced(piece))
        # Whole characters of UTF-8 need not be encoded again.
        is_same = self._encoding == "utf-8" and not state[0] and not self._decoder.getstate()[0]
        return piece if is_same else to_utf8(text)

    def _replaced(self, piece: bytes) -> str:
        state = self._decoder.getstate()
        counting, self._decoder.errors = codecs.getincrementaldecoder(self._encoding)("ignore"), "replace"
        counting.setstate(state)
        text = self._decoder.decode(piece, self._ended)
        # The text itself may contain U+FFFD; the characters that "ignore" drops are the replaced ones.
        self.replaced += len(text) - len(counting.decode(piece, self._ended))
        self._decoder.errors = "strict"
        return text


def encoding_of(head: bytes, is_whole: bool) -> str:
    """The encoding of a text that begins so; "utf-8" where it is none that is known."""
    if not is_whole:
        # A character may be cut; those of UTF-16 and UTF-32 contain zeros.
        head = head[: len(head) // 4 * 4] if b"\0" in head else head[: head.rfind(b"\n") + 1 or len(head)]
    detected = finish(detect(np.frombuffer(head, np.uint8))).encoding if head else "utf-8"
    return "utf-8" if detected == "bytes" else detected
