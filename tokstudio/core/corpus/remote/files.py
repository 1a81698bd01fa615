"""Files on servers and in stores, read in parts, with limits; in the child process that connects."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar, cast

from tokstudio.core.base.errors import ConfigError, CorpusError, FormatError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import printable
from tokstudio.core.corpus.readers.files import SeekableFile
from tokstudio.core.hub.replacements import CUT

PATIENCE = 30  # seconds without any data
_TRIES = 3
_AT_ONCE = 8
LARGEST_PART = 1 << 22  # bytes of one question to a store, which reports nothing while it answers
_FIRST_AHEAD, MOST_AHEAD = 1 << 16, 1 << 20
# In sentences about connections.
_AWAY = ("cannot be reached", "HF_HUB_OFFLINE", "cannot answer", "stalls", "does not answer as", CUT)
_BUSY = (408, 429, 500, 502, 503, 504)
_MODIFIED = "modified "

A = TypeVar("A")


@dataclass(frozen=True)
class RemoteFile:
    """A file at an address."""

    path: str  # below the address, with `/`; what is chosen by a seed depends on it
    size: int  # its bytes
    tag: str  # what tells one version of it from another; "" where nothing does
    place: str  # what the connection calls it

    @property
    def name(self) -> str:
        """Its own name."""
        return printable(self.path.rpartition("/")[2])


class RemoteConnection(Protocol):
    """Reads parts of files."""

    def read(self, file: RemoteFile, start: int, stop: int) -> bytes:
        """The bytes of a part, all of them; CorpusError where they do not come, or the file has changed."""
        ...


class TransferMeter:
    """Counts what arrives, in all threads, and says so."""

    def __init__(self, report: Callable[[], None]) -> None:
        self._report, self._lock = report, threading.Lock()
        self.arrived = 0

    def add(self, size: int) -> None:
        """Counts bytes."""
        with self._lock:
            self.arrived += size
            self._report()


class NoConnectionError(CorpusError):
    """The server or the store does not answer: a text that was kept may do."""


class PlainErrors:
    """Turns errors of libraries into sentences; those of a connection are a `NoConnectionError`."""

    def __init__(self, problem: Callable[[Exception], str | None], name: str) -> None:
        self._problem, self._name = problem, name

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (CorpusError, ConfigError)) or not isinstance(error, Exception):
            return
        if isinstance(error, FormatError):
            raise CorpusError(str(error)) from error
        if (problem := self._problem(error)) is not None:
            is_away = any(words in problem for words in _AWAY)
            raise (NoConnectionError if is_away else CorpusError)(f"{self._name}: {problem}.") from error


class WebConnection:
    """Reads parts of files from servers.

    Args:
        client: The connections, which follow redirects and keep secrets to themselves.
        headers: Gives those of a question to an address.
        host: The server's name, for errors.
        refuse: Raises an error that says why an answer is a refusal.
        errors: Turns errors into sentences.
        sends_parts: Whether the server sends parts of files.
    """

    def __init__(
        self,
        client: Callable[[], Any],
        headers: Callable[[], Mapping[str, str]],
        host: str,
        meter: TransferMeter,
        refuse: Callable[[Any], None],
        errors: PlainErrors,
        sends_parts: bool = True,
    ) -> None:
        self.sends_parts = sends_parts
        self._client, self._headers, self._host = client, headers, host
        self._meter, self._refuse, self._errors = meter, refuse, errors

    def read(self, file: RemoteFile, start: int, stop: int) -> bytes:
        """As of `RemoteConnection`."""
        with self._errors:
            return self._patiently(lambda: self._read(file, start, stop))
        raise AssertionError

    def copy(self, file: RemoteFile, target: BinaryIO) -> None:
        """Writes a whole file, which comes in one stream; errors are those of `read`."""
        with self._errors:
            self._patiently(lambda: self._copy(file, target))

    def _patiently(self, read: Callable[[], A]) -> A:
        """Tries again where the connection breaks."""
        import httpx2

        for number in range(_TRIES):
            try:
                return read()
            except (httpx2.TransportError, _BusyError) as error:
                if number + 1 == _TRIES or isinstance(error, httpx2.UnsupportedProtocol):
                    raise
                time.sleep(1 << number)
        raise AssertionError

    @contextmanager
    def _answer(self, file: RemoteFile, part: Mapping[str, str]) -> Generator[Any]:
        """The answer of the server to a question for a file or a part of it."""
        headers = {**self._headers(), **part, "Accept-Encoding": "identity"}
        with self._client().stream("GET", file.place, headers=headers, timeout=PATIENCE) as response:
            refuse_busy(file.name, self._host, response.status_code)
            self._refuse(response)
            total = response.headers.get("Content-Range", "").rpartition("/")[2]
            if (total.isdecimal() and int(total) != file.size) or not _is_same(file.tag, response):
                raise CorpusError(f"{file.name}: the file changed while it was being read; try again.")
            yield response

    def _read(self, file: RemoteFile, start: int, stop: int) -> bytes:
        content = bytearray()
        with self._answer(file, {"Range": f"bytes={start}-{stop - 1}"}) as response:
            if response.status_code != 206 and start:
                raise CorpusError(
                    f"{file.name}: {self._host} sends files only whole: download it, and give its path, or take all of "
                    "it."
                )
            for piece in response.iter_raw(1 << 16):
                self._meter.add(len(piece))
                content += piece
                if len(content) >= stop - start:
                    break
            if response.status_code == 206 and len(content) > stop - start:
                raise CorpusError(f"{file.name}: {self._host} sends more than it said.")
        if len(content) < stop - start:
            raise CorpusError(f"{file.name}: the file was cut short while it was being read; try again.")
        return bytes(content[: stop - start])

    def _copy(self, file: RemoteFile, target: BinaryIO) -> None:
        size = 0
        target.seek(0)
        target.truncate()
        with self._answer(file, {}) as response:
            for piece in response.iter_raw(1 << 16):
                self._meter.add(len(piece))
                size += len(piece)
                if size > file.size:
                    raise CorpusError(f"{file.name}: {self._host} sends more than it said.")
                target.write(piece)
        if size < file.size:
            raise CorpusError(f"{file.name}: the file was cut short while it was being read; try again.")


class _BusyError(NoConnectionError):
    pass


def refuse_busy(name: str, host: str, status: int) -> None:
    """Raises an error where the status of an answer says that the server cannot send a file now."""
    if status in _BUSY or status > 500:
        raise _BusyError(f"{name}: {host} cannot answer now (status {status}): try again later.")


def tag_of(response: Any) -> str:  # noqa: ANN401 -- the type is that of a dependency's dependency
    """What a server calls this version of a file: its ETag, or the time of its last change; "" where neither tells."""
    # After a redirect, any of several servers may answer, each with a tag of its own.
    if not response.history and (tag := response.headers.get("ETag", "")):
        return tag
    changed = response.headers.get("Last-Modified", "")
    try:
        date = parsedate_to_datetime(response.headers["Date"]) if "Date" in response.headers else datetime.now(UTC)
        # A file may change again within the second of its last change (RFC 9110, 8.8.2.2).
        return _MODIFIED + changed if parsedate_to_datetime(changed) < date else ""
    except (ValueError, TypeError):
        return ""


def _is_same(tag: str, response: Any) -> bool:  # noqa: ANN401
    if tag.startswith(_MODIFIED):
        return response.headers.get("Last-Modified", "") in ("", tag.removeprefix(_MODIFIED))
    now = response.headers.get("ETag", "")
    return not tag or not now or bool(response.history) or now == tag


class _CopiedFiles:
    """Reads parts of files that were copied."""

    def __init__(self, copies: Mapping[RemoteFile, BinaryIO]) -> None:
        self._copies, self._lock = copies, threading.Lock()

    def read(self, file: RemoteFile, start: int, stop: int) -> bytes:
        """As of `RemoteConnection`."""
        with self._lock:
            self._copies[file].seek(start)
            return self._copies[file].read(stop - start)


@contextmanager
def readable_in_parts(
    connection: RemoteConnection, files: Sequence[RemoteFile], folder: Path
) -> Generator[RemoteConnection]:
    """Copies files into a folder for a while, and reads the copies, where their server sends files only whole."""
    if not isinstance(connection, WebConnection) or connection.sends_parts:
        yield connection
        return
    with ExitStack() as stack:
        copies: dict[RemoteFile, BinaryIO] = {}
        for file in files:
            copies[file] = cast("BinaryIO", stack.enter_context(tempfile.TemporaryFile(dir=folder)))
            connection.copy(file, copies[file])
        yield _CopiedFiles(copies)


class StoreConnection:
    """Reads parts of files through a file system of `fsspec`."""

    def __init__(self, system: Any, meter: TransferMeter, errors: PlainErrors) -> None:  # noqa: ANN401
        self._system, self._meter, self._errors = system, meter, errors

    def read(self, file: RemoteFile, start: int, stop: int) -> bytes:
        """As of `RemoteConnection`."""
        parts: list[bytes] = []
        for at in range(start, stop, LARGEST_PART):
            end = min(stop, at + LARGEST_PART)
            with self._errors:
                part: bytes = self._system.cat_file(file.place, start=at, end=end)
            if len(part) > end - at:
                raise CorpusError(f"{file.name}: the store sends more than it was asked for.")
            if len(part) < end - at:
                raise CorpusError(f"{file.name}: the file was cut short while it was being read; try again.")
            self._meter.add(len(part))
            parts.append(part)
        return b"".join(parts)


class RangedFile(SeekableFile):
    """A remote file in which one can seek; parts that were fetched before are not fetched again.

    Args:
        ahead: At most so many bytes are read before they are asked for, by a reader that goes through the file; 0 for
            one that knows which parts it needs.
    """

    def __init__(self, file: RemoteFile, connection: RemoteConnection, ahead: int = 0) -> None:
        super().__init__(file.size)
        self._file, self._connection, self._most = file, connection, ahead
        self._ahead = min(ahead, _FIRST_AHEAD)
        self._parts: list[tuple[int, bytes]] = []

    def put(self, parts: Iterable[tuple[int, bytes]]) -> None:
        """Replaces the parts that are here by others, each with its place."""
        self._parts = list(parts)

    def _part(self, start: int, stop: int) -> bytes:
        """The bytes of a part: of what is here first, then of the file."""
        pieces: list[bytes] = []
        for at, content in self._parts:
            if at <= start < at + len(content):
                pieces.append(content[start - at : stop - at])
                start += len(pieces[-1])
        if start < stop and self._most:
            end = min(self._file.size, max(stop, start + self._ahead))
            self._ahead = min(self._most, 2 * self._ahead)
            content = self._connection.read(self._file, start, end)
            self._parts = [(start, content)]
            pieces.append(content[: stop - start])
        elif start < stop:
            pieces.append(self._connection.read(self._file, start, stop))
        return b"".join(pieces)


def fetched_ahead(
    connection: RemoteConnection, wanted: Sequence[tuple[RemoteFile, Sequence[tuple[int, int]]]]
) -> Iterable[list[tuple[int, bytes]]]:
    """Fetches parts of files in several threads, some before they are needed; yields those of each with their places.

    The memory is that of a few of them.
    """

    def fetch(item: tuple[RemoteFile, Sequence[tuple[int, int]]]) -> list[tuple[int, bytes]]:
        file, parts = item
        return [(start, connection.read(file, start, stop)) for start, stop in parts]

    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        waiting = [pool.submit(fetch, item) for item in wanted[:_AT_ONCE]]
        for number in range(len(wanted)):
            parts = waiting.pop(0).result()
            if number + _AT_ONCE < len(wanted):
                waiting.append(pool.submit(fetch, wanted[number + _AT_ONCE]))
            yield parts
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
