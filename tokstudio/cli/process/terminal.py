"""The standard streams: exact bytes in and out, messages, and a line of progress."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import os
import shutil
import sys
import time
from contextlib import closing, suppress
from typing import BinaryIO, TextIO, TypeVar

from tokstudio.core.base.errors import CorpusError, TokStudioError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import printable

T = TypeVar("T")

DONE, FAILED = 0, 1  # exit codes

_REFRESH = 0.1  # seconds between two states of the progress line
_TIME_LEFT_AFTER = 5.0  # seconds of a phase before the remaining time is shown


class Console:
    """Standard error in a `with` block: messages, and on a terminal one line of progress that is overwritten.

    Only a `chatty` one prints messages other than errors.
    """

    def __init__(self, chatty: bool) -> None:
        self._chatty = chatty
        self._live = chatty and sys.stderr is not None and sys.stderr.isatty()
        self._shown = 0
        self._next = self._since = time.monotonic()
        self._next += _REFRESH
        self._last = Progress("")

    def __enter__(self) -> Console:
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()

    def finish(self, work: Work[T], detail: str = "") -> T:
        """Drives `work` to its end, shows its progress and returns its result."""
        with closing(work):
            while True:
                try:
                    progress = next(work)
                except StopIteration as end:
                    return end.value
                self.show(progress, detail)

    def show(self, progress: Progress, detail: str = "") -> None:
        """Shows the progress, at most every tenth of a second."""
        if not self._live:
            return
        now = time.monotonic()
        if progress.phase != self._last.phase or progress.done < self._last.done:
            self._since = now  # the next phase, or the same phase of the next file
        self._last = progress
        if now < self._next:
            return
        self._next = now + _REFRESH
        share = f" {100 * progress.done // progress.total} %" if progress.total else ""
        left = _time_left(progress, now - self._since)
        line = f"{progress.phase.capitalize()}{share}{detail}{left}"[: shutil.get_terminal_size().columns - 1]
        _say("\r" + line.ljust(self._shown), end="")
        self._shown = len(line)

    def say(self, sentence: str) -> None:
        """Prints a message on a line of its own, unless only errors are wanted."""
        if self._chatty:
            self._clear()
            _say(printable(sentence))

    def note(self, sentence: str) -> None:
        """Prints a message about progress, where no line of progress is shown."""
        if not self._live:
            self.say(sentence)

    def complain(self, sentence: str) -> None:
        """Prints an error."""
        self._clear()
        complain(sentence)

    def _clear(self) -> None:
        """Removes the line of progress."""
        if self._shown:
            _say("\r" + " " * self._shown + "\r", end="")
            self._shown = 0


def _time_left(progress: Progress, elapsed: float) -> str:
    # An early estimate is unreliable, and short work needs none.
    if elapsed < _TIME_LEFT_AFTER or not progress.total or progress.done * 50 < progress.total:
        return ""
    left = elapsed * (progress.total - progress.done) / progress.done
    return f", about {left:.0f} s left" if left < 90 else f", about {left / 60:.0f} min left"


def complain(sentence: str) -> None:
    """Prints an error where there is no `Console`."""
    _say(printable(f"tokstudio: {sentence}"))


def _say(text: str, end: str = "\n") -> None:
    # Standard error may be gone, as after a terminal was closed.
    try:
        print(text, end=end, file=sys.stderr, flush=True)  # noqa: T201
    except (OSError, ValueError):
        _abandon(sys.stderr)


def standard_input_work() -> Work[bytes]:
    """All of standard input; raises CorpusError where it cannot be read or is too large."""
    from tokstudio.core.corpus.readers.files import read_stream_work

    if sys.stdin is None:
        raise CorpusError("standard input: it is closed.")
    try:
        return (yield from read_stream_work(sys.stdin.buffer, "standard input"))
    except OSError as error:
        raise CorpusError(f"standard input: it cannot be read ({error.strerror or error}).") from error


def put(stream: TextIO | None, data: str | bytes) -> None:
    """Writes all of `data` to a standard stream at once, bytes unchanged, after buffered text.

    Raises:
        BrokenPipeError: The reader has closed the pipe.
        TokStudioError: It cannot be written.
    """
    name = "standard error" if stream is sys.stderr else "standard output"
    if stream is None:
        raise TokStudioError(f"{name}: it is closed.")
    try:
        stream.flush()
        _write_all(stream.buffer, data.encode() if isinstance(data, str) else data)
        stream.buffer.flush()
    except OSError as error:
        _abandon(stream)
        if isinstance(error, BrokenPipeError):
            raise
        raise TokStudioError(f"{name}: it cannot be written ({error.strerror or error}).") from error


def _write_all(stream: BinaryIO, data: bytes) -> None:
    """Writes until all is written: an unbuffered stream may take only a part at a time."""
    left = memoryview(data)
    while left:
        taken = stream.write(left)
        if not taken:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        left = left[taken:]


def _abandon(stream: TextIO) -> None:
    """Redirects a stream to the null device, so that Python's last flush does not fail again."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
