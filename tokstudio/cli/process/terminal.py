"""The process of a command: its terminal, its signals, and a start that fails."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import BinaryIO, TextIO, TypeVar

import platformdirs

from tokstudio.core.base.errors import CorpusError, TokStudioError
from tokstudio.core.base.private_folders import private_opener
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import capitalized, printable

# --- Handles Ctrl-C, the request to terminate, and a closed terminal --------------------------------------------------

# A terminal that is closed; Windows has no such signal.
_HANGUP: int | None = getattr(signal, "SIGHUP", None)


class Signals:
    """Turns signals into KeyboardInterrupt, so that no file is left half-written.

    A closed terminal is one request: the system and the shell both send the signal, so a second one is ignored.
    """

    def __init__(self) -> None:
        self._last = 0
        self._block = ""

    @property
    def received(self) -> bool:
        """Whether a signal was received."""
        return self._last != 0

    @property
    def code(self) -> int:
        """The exit code after an interruption."""
        return 128 + (self._last or signal.SIGINT)

    @contextmanager
    def caught(self) -> Generator[None]:
        """Handles signals during the block."""
        with ExitStack() as before:
            for number in filter(None, (signal.SIGINT, signal.SIGTERM, _HANGUP)):
                # Ignored signals, as of a job in the background or by nohup, stay ignored.
                if signal.getsignal(number) != signal.SIG_IGN:
                    before.callback(signal.signal, number, signal.signal(number, self._receive))
            yield

    @contextmanager
    def held(self) -> Generator[None]:
        """Delays the first signal until the end of the block; a second one interrupts it."""
        with self._within("held"):
            yield
        if self._last:
            raise KeyboardInterrupt

    def finishing(self) -> AbstractContextManager[None]:
        """Lets the block finish after the terminal is closed; other signals interrupt it."""
        return self._within("finishing")

    def saving(self) -> AbstractContextManager[None]:
        """Lets the block finish after any signal, because its work would be lost."""
        return self._within("saving")

    @contextmanager
    def _within(self, block: str) -> Generator[None]:
        self._block = block
        try:
            yield
        finally:
            self._block = ""

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        first = not self._last
        if number == _HANGUP and not first:
            return
        self._last = number
        finishes = self._block == "held" or (self._block == "finishing" and number == _HANGUP)
        if not (self._block == "saving" or (first and finishes)):
            raise KeyboardInterrupt


# --- The standard streams: exact bytes in and out, messages, and a line of progress -----------------------------------

T = TypeVar("T")

DONE, FAILED = 0, 1  # exit codes

_REFRESH = 0.1  # seconds between two states of the progress line
_TIME_LEFT_AFTER = 5.0  # seconds of a phase before the remaining time is shown


class Console:
    """Standard error in a `with` block: messages, and on a terminal one line of progress that is overwritten.

    Only a `chatty` one prints messages other than errors.
    """

    def __init__(self, chatty: bool, signals: Signals | None = None) -> None:
        self.signals = signals or Signals()  # those of the process, or of none
        self._chatty = chatty
        self._live = chatty and sys.stderr is not None and sys.stderr.isatty()
        self._shown, self._ended = 0, ExitStack()
        self._next = self._since = time.monotonic()
        self._next += _REFRESH
        self._last = Progress("")

    def __enter__(self) -> Console:
        if self._chatty:
            self._tell_of_compiling()
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()
        self._ended.close()

    def _tell_of_compiling(self) -> None:
        """Says once that loops are compiled, when the first one is: nothing else tells why nothing happens."""
        import logging

        told: list[object] = []

        def tell(record: logging.LogRecord) -> bool:
            from tokstudio.core.kernels.cache import places

            if not told and places().complete is None:
                told.append(record)
                self.say("Compiling the loops that this needs, once on this computer: it may take half a minute.")
            return False

        logger = logging.getLogger("tokstudio.core.kernels.compiled")
        level = logger.level
        logger.setLevel(logging.INFO)
        logger.addFilter(tell)
        self._ended.callback(logger.setLevel, level)
        self._ended.callback(logger.removeFilter, tell)

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
        line = f"{capitalized(progress.phase)}{share}{progress.detail}{detail}{left}"[
            : shutil.get_terminal_size().columns - 1
        ]
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


def reason(error: Exception) -> str:
    """An error as a sentence; of one of the system, which file it is about and why."""
    if not isinstance(error, OSError) or isinstance(error, TokStudioError) or not error.strerror:
        return str(error)
    place = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
    said = f"{error.strerror[:1].lower()}{error.strerror[1:]}" if place else error.strerror
    return f"{place}{said}."


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


def put(stream: TextIO | None, data: str | bytes) -> bool:
    """Writes all of `data` to a standard stream at once, bytes unchanged, after buffered text.

    Returns whether there is a reader: one that has closed the pipe has enough, and the exit code is told all the same.

    Raises:
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
            return False
        raise TokStudioError(f"{name}: it cannot be written ({error.strerror or error}).") from error
    return True


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


# --- Errors of a start without a terminal: missing libraries, and a file or a box with the error ----------------------

# The libraries that Qt's wheels need on a desktop; listed together, because the loader names only one at a time.
_DEBIAN = (
    "libegl1 libgl1 libxkbcommon0 libfontconfig1 libfreetype6 libdbus-1-3 libglib2.0-0 libx11-6 libzstd1 "
    "libgssapi-krb5-2 libbrotli1"
)
_ERROR_ICON = 0x10


def import_problem(error: ImportError) -> str:
    """The missing library and what to do, on one line."""
    # NumPy wraps the loader's error in a page of advice; macOS appends every path that it has searched.
    while isinstance(error.__cause__, ImportError):
        error = error.__cause__
    first = str(error).strip().partition("\n")[0].rstrip(" \r.!:") or "a library cannot be loaded"
    library = re.match(r"(\S+\.so[\w.]*): cannot open shared object file", first)
    if library is None:
        return f"The window cannot open: {first}. Install what is missing."
    return (
        f"The window cannot open: the library {library[1]} is missing. Install the system package that contains it "
        f"(on Debian and Ubuntu: sudo apt-get install {_DEBIAN})."
    )


def last_failure_file() -> Path:
    """The file with the error of the last start, if it failed without a terminal."""
    return Path(platformdirs.user_log_dir("tokstudio", appauthor=False)) / "failed-start.txt"


def remove_failure() -> None:
    """Removes the error of an earlier start."""
    with suppress(OSError):
        last_failure_file().unlink(missing_ok=True)


def keep_failure(sentence: str, *, lasting: bool = True) -> None:
    """Shows an error in a box, or writes it if it is `lasting`, for a user who sees no standard error.

    Such a user started with a double click.
    """
    with suppress(OSError, ValueError):
        if sys.stderr is not None and sys.stderr.isatty():
            return
        if sys.platform == "win32":
            if sys.stderr is None:
                import ctypes

                ctypes.windll.user32.MessageBoxW(None, sentence, "TokStudio", _ERROR_ICON)
        elif lasting and (sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            file = last_failure_file()
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(file, "w", encoding="utf-8", errors="backslashreplace", opener=private_opener) as opened:
                opened.write(f"{sentence}\n")
