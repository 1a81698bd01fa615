"""Decompresses streams of gzip, Zstandard, xz and bzip2, of one part or of several, in bounded pieces."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import bz2
import lzma
import re
import zlib
from collections.abc import Callable
from typing import Protocol

from tokstudio.core.base.errors import KEEP_WHOLE, CorpusError

_MAGIC = (
    (re.compile(rb"\x1f\x8b\x08"), "gzip"),
    (re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"), "zstd"),
    (re.compile(rb"\xfd7zXZ\0"), "xz"),
    (re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), "bzip2"),
)
MAGIC_BYTES = 10
_IN = 1 << 17
_IN_OF_ZSTD = 1 << 12  # a byte can unpack to tens of thousands, and all of them come at once
_OUT = 1 << 20
PLAUSIBLE = 100_000_000  # bytes that anything may unpack to
_MOST_TIMES = 1_000


class Stream(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""
        ...


class _Decompressor(Protocol):
    """One part of compressed data, in the interface of `lzma.LZMADecompressor`."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes: ...


class TruncatedError(CorpusError):
    """Compressed data ends too early; `Reading.keep_truncated` reads what was whole."""


def compression_of(head: bytes) -> str:
    """The name of the compression, of the first `MAGIC_BYTES` bytes; "" where they are not compressed."""
    return next((name for magic, name in _MAGIC if magic.match(head)), "")


def refuse_bomb(name: str, size: int, stored: int, advice: str = "unpack it yourself") -> None:
    """Raises CorpusError where `stored` bytes of a file become so many that it must be a bomb."""
    if size > max(PLAUSIBLE, _MOST_TIMES * stored):
        raise CorpusError(
            f"{name}: it unpacks to more than {_MOST_TIMES:,} times its size, as only a bomb does; if it is none, "
            f"{advice}."
        )


class Decompressed:
    """The decompressed bytes of a stream.

    Args:
        below: The compressed bytes.
        kind: A name of `compression_of`.
        name: The name of the file, for errors.
        keep_truncated: Whether to end quietly where the compressed data ends too early; `is_cut` then says so.
        stored: Says how many bytes the file itself has, as far as it was read, by which a bomb is recognised.
    """

    def __init__(self, below: Stream, kind: str, name: str, keep_truncated: bool, stored: Callable[[], int]) -> None:
        self._below, self._kind, self._name, self._keep = below, kind, name, keep_truncated
        self._stored = stored
        self._part: _Decompressor | None = None
        self._waiting, self._made, self._ended = b"", 0, False
        self._has_part = False  # whether a part is whole, perhaps of nothing
        self.is_cut = False

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes, or a few more; none at the end.

        Raises:
            TruncatedError: The compressed data ends too early, after something that is whole.
            CorpusError: Nothing is whole, it is damaged, or unpacks to so much that it must be a bomb.
        """
        while not self._ended:
            if self._part is None and not self._next_part():
                break
            try:
                if output := self._decompress(min(size, _OUT)):
                    self._made += len(output)
                    refuse_bomb(self._name, self._made, self._stored())
                    return output
            except (zlib.error, lzma.LZMAError, OSError, EOFError, _zstd_error()) as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                raise CorpusError(
                    f"{self._name}: the {self._kind} data is damaged after {self._made:,} bytes of text."
                ) from error
        return b""

    def _decompress(self, most: int) -> bytes:
        assert self._part is not None
        more_input = b""
        if self._part.needs_input:
            more_input = self._waiting or self._below.read(_IN_OF_ZSTD if self._kind == "zstd" else _IN)
            self._waiting = b""
            if self._kind == "zstd" and len(more_input) > _IN_OF_ZSTD:
                more_input, self._waiting = more_input[:_IN_OF_ZSTD], more_input[_IN_OF_ZSTD:]
            if not more_input:
                self._end_early()
                return b""
        output = self._part.decompress(more_input, most)
        if self._part.eof:
            self._waiting = self._part.unused_data + self._waiting
            self._part, self._has_part = None, True
        return output

    def _next_part(self) -> bool:
        """Begins the next part; False at the end. Zeros may follow the last one."""
        while True:
            if len(self._waiting) < MAGIC_BYTES:
                more = self._below.read(_IN)
                self._waiting += more
                if more and len(self._waiting) < MAGIC_BYTES:
                    continue
            if self._has_part and not self._waiting.strip(b"\0"):
                if not self._waiting:
                    self._ended = True
                    return False
                self._waiting = b""
                continue
            break
        if compression_of(self._waiting[:MAGIC_BYTES]) != self._kind:
            raise CorpusError(
                f"{self._name}: after {self._made:,} bytes of text, something follows that is not {self._kind} data."
            )
        self._part = _MAKERS[self._kind]()
        return True

    def _end_early(self) -> None:
        self._ended = True
        if not self._made:
            raise CorpusError(f"{self._name}: the {self._kind} data ends too early; nothing before that is whole.")
        if not self._keep:
            raise TruncatedError(
                f"{self._name}: the {self._kind} data ends too early; {self._made:,} bytes before that are "
                f"whole{KEEP_WHOLE}."
            )
        self.is_cut = True


class _Gzip:
    """Gives zlib's decompressor the interface of the others."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(16 + zlib.MAX_WBITS)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)


class _Zstandard:
    """Gives Zstandard's decompressor the interface of the others."""

    needs_input = True

    def __init__(self) -> None:
        import zstandard

        self._frame = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()

    @property
    def eof(self) -> bool:
        return self._frame.eof

    @property
    def unused_data(self) -> bytes:
        return self._frame.unused_data

    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes:
        return self._frame.decompress(data)


def _zstd_error() -> type[Exception]:
    import zstandard

    return zstandard.ZstdError


_MAKERS: dict[str, Callable[[], _Decompressor]] = {
    "gzip": _Gzip,
    "zstd": _Zstandard,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ),
    "bzip2": bz2.BZ2Decompressor,
}
