"""A report of an error inside the program, written at once and offered at the next start; nothing is sent.

Each run has its own file and lock. `faulthandler` writes a fault that ends the process. The hooks of Python and a job
that fails log an error, which is written with what the log had before it. A run without either leaves no report.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import faulthandler
import logging
import os
import secrets
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import platformdirs
from PySide6.QtCore import QLockFile, QObject, Signal

from tokstudio.core.base.private_folders import private_opener
from tokstudio.core.base.records import dataclass
from tokstudio.gui.window.about import start_line

_log = logging.getLogger(__name__)

_MOST_WRITTEN = 1 << 18  # bytes; a repeated error, as in a timer, would fill the disk
_MOST_READ = 1 << 18
_KEPT = 60  # records of the log that a report has before an error
_LONGEST_RECORD = 300  # characters
_APPENDED = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
_END_OF_HEAD = "\n\n"
_FATAL = ("Fatal Python error", "Windows fatal exception")  # as faulthandler writes them
_LAST = "last-report.txt"  # the last report that was dismissed, so that it can still be sent


@dataclass(frozen=True)
class Report:
    """The report of an earlier run."""

    file: Path
    text: str
    ended: bool  # whether the error ended the process

    def dismiss(self) -> None:
        """Stops offering it; its file is kept until the next report is dismissed."""
        with suppress(OSError):
            self.file.replace(self.file.with_name(_LAST))


def reports_folder() -> Path:
    """The folder of reports on this system."""
    return Path(platformdirs.user_state_dir("tokstudio", appauthor=False)) / "reports"


def left_reports(folder: Path) -> list[Report]:
    """The reports of ended runs, the latest first; empty ones are removed, unreadable ones stay."""
    reports: list[tuple[float, Report]] = []
    for file in _files(folder):
        with suppress(OSError):
            if _lock_error(file) != QLockFile.LockError.NoError:
                continue
            with file.open("rb") as opened:
                text = opened.read(_MOST_READ).decode("utf-8", "replace")
            if text.partition(_END_OF_HEAD)[2].strip():
                reports.append((file.stat().st_mtime, Report(file, text, any(word in text for word in _FATAL))))
            else:
                file.unlink()
    return [report for _, report in sorted(reports, key=lambda one: one[0], reverse=True)]


def is_running(folder: Path) -> bool:
    """Whether the run that writes this report is still running."""
    # Where no file can be written, no run keeps a report, and Qt cannot tell an old lock from a new one.
    if not os.access(folder, os.W_OK):
        return False
    return any(_lock_error(file) == QLockFile.LockError.LockFailedError for file in _files(folder))


def _files(folder: Path) -> list[Path]:
    """The reports in a folder; none if it cannot be read."""
    try:
        return list(folder.glob("run-*.txt"))
    except OSError:
        return []


def _lock_error(file: Path) -> QLockFile.LockError:
    """The error of locking a report: `LockFailedError` while its run continues."""
    lock = QLockFile(str(file.with_suffix(".lock")))
    lock.setStaleLockTime(0)
    lock.tryLock(0)
    error = lock.error()
    lock.unlock()
    return error


class _LastRecords(logging.Handler):
    """Keeps the last records of the log, and hands on each error with them."""

    def __init__(self, write: Callable[[BaseException, Sequence[str]], None]) -> None:
        super().__init__(logging.INFO)
        self._write = write
        self._last: deque[str] = deque(maxlen=_KEPT)

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and record.levelno >= logging.ERROR:
            self._write(error, list(self._last))
        at = time.strftime("%H:%M:%S", time.localtime(record.created))
        self._last.append(f"{at}.{int(record.msecs):03} {record.getMessage()[:_LONGEST_RECORD]}")


class CrashHook(QObject):
    """Handles uncaught errors of any thread: logs and writes them at once, and shows them in the GUI thread.

    Without a folder, no report is written. Errors that are logged otherwise, as by a job, are written too.
    """

    caught = Signal(object)

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__()
        # gives the state of the program in some words for a report; it may be called in any thread
        self.facts: Callable[[], str] | None = None
        self._records = _LastRecords(self._write)
        self._folder = folder
        self._file: BinaryIO | None = None
        self._path: Path | None = None
        self._written = 0
        self._writing = threading.Lock()

    def install(self) -> None:
        """Installs the hooks of Python and of its threads, and begins the report."""
        self._before = sys.excepthook, threading.excepthook
        sys.excepthook = self._hook
        threading.excepthook = self._thread_hook
        logging.getLogger().addHandler(self._records)
        self._had_faulthandler = faulthandler.is_enabled()
        if self._folder is not None:
            try:
                self._begin(self._folder)
            except OSError as error:
                _log.warning("A crash cannot be reported: %s", error)

    def remove(self) -> None:
        """Restores the hooks; an empty report is removed."""
        sys.excepthook, threading.excepthook = self._before
        logging.getLogger().removeHandler(self._records)
        if self._file is None or self._path is None:
            return
        faulthandler.disable()
        if self._had_faulthandler:
            with suppress(OSError, ValueError, RuntimeError, AttributeError):
                faulthandler.enable()
        self._file.close()
        self._file = None
        if not self._written:
            with suppress(OSError):
                self._path.unlink()
        self._lock.unlock()

    def _begin(self, folder: Path) -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        # An earlier version left it open to others.
        with suppress(OSError):
            folder.chmod(0o700)
        self._path = folder / f"run-{secrets.token_hex(8)}.txt"
        self._lock = QLockFile(str(self._path.with_suffix(".lock")))
        self._lock.setStaleLockTime(0)
        self._lock.tryLock(0)
        self._file = os.fdopen(private_opener(str(self._path), _APPENDED), "ab", buffering=0)
        started = time.strftime("%Y-%m-%d %H:%M:%S %z")
        self._file.write(f"{start_line()}\nStarted {started}{_END_OF_HEAD}".encode("utf-8", "backslashreplace"))
        faulthandler.enable(self._file)

    def _write(self, error: BaseException, before: Sequence[str] = ()) -> None:
        with self._writing, suppress(OSError, ValueError):
            if self._file is not None and self._written < _MOST_WRITTEN:
                trace = "".join(traceback.format_exception(error))
                words = [f"{time.strftime('%H:%M:%S')} Nobody caught this:", trace, *self._state()]
                words += ["What came before:", *before, ""] if before else []
                self._written += self._file.write("\n".join([*words, ""]).encode("utf-8", "backslashreplace"))

    def _state(self) -> list[str]:
        try:
            return [f"State: {self.facts()}", ""] if self.facts is not None else []
        except Exception as error:  # the state may be what is wrong
            return [f"State: {type(error).__name__}: {error}", ""]

    def _hook(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not isinstance(error, Exception):
            sys.__excepthook__(kind, error, trace)
            return
        _log.error("Nobody caught this: %s", type(error).__name__, exc_info=(kind, error, trace))
        self.caught.emit(error)

    def _thread_hook(self, arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            self._hook(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)
