"""A report of what went wrong inside the program, written as it happens and offered at the next start; nothing is sent.

Each run has a file and a lock of its own. A fault that ends the process is written by `faulthandler`, an exception that
nobody caught by the hooks of Python; a run without either leaves nothing behind.
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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import platformdirs
from PySide6.QtCore import QLockFile, QObject, Signal

from tokstudio.gui.window.versions import start_line

_log = logging.getLogger(__name__)

_MOST_WRITTEN = 1 << 18  # bytes; an error in a timer would fill the disk
_MOST_READ = 1 << 18
_END_OF_HEAD = "\n\n"
_FATAL = ("Fatal Python error", "Windows fatal exception")  # as faulthandler writes them
_LAST = "last-report.txt"  # the one that was read last, so that it can be sent later all the same


@dataclass(frozen=True)
class Report:
    """What an earlier run has left.

    Attributes:
        file: Where it is.
        text: What it says.
        ended: Whether the process was ended by it.
    """

    file: Path
    text: str
    ended: bool

    def dismiss(self) -> None:
        """Offers it no more; its file is kept until the next one."""
        with suppress(OSError):
            self.file.replace(self.file.with_name(_LAST))


def reports_folder() -> Path:
    """Where reports are kept on this system."""
    return Path(platformdirs.user_state_dir("tokstudio", appauthor=False)) / "reports"


def left_reports(folder: Path) -> list[Report]:
    """The reports of runs that have ended, the latest first; what says nothing is removed, the unreadable stays."""
    found: list[tuple[float, Report]] = []
    for file in _files(folder):
        with suppress(OSError):
            if _lock_error(file) != QLockFile.LockError.NoError:
                continue
            with file.open("rb") as opened:
                text = opened.read(_MOST_READ).decode("utf-8", "replace")
            if text.partition(_END_OF_HEAD)[2].strip():
                found.append((file.stat().st_mtime, Report(file, text, any(word in text for word in _FATAL))))
            else:
                file.unlink()
    return [report for _, report in sorted(found, key=lambda one: one[0], reverse=True)]


def is_running(folder: Path) -> bool:
    """Whether a run that writes its report there goes on."""
    # Where nothing can be written no run keeps a report, and Qt cannot tell an old lock from a new one.
    if not os.access(folder, os.W_OK):
        return False
    return any(_lock_error(file) == QLockFile.LockError.LockFailedError for file in _files(folder))


def _files(folder: Path) -> list[Path]:
    """The reports in a folder; none where it cannot be looked into."""
    try:
        return list(folder.glob("run-*.txt"))
    except OSError:
        return []


def _lock_error(file: Path) -> QLockFile.LockError:
    """Why a report cannot be locked: `LockFailedError` while its run goes on."""
    lock = QLockFile(str(file.with_suffix(".lock")))
    lock.setStaleLockTime(0)
    lock.tryLock(0)
    error = lock.error()
    lock.unlock()
    return error


class CrashHook(QObject):
    """Errors that nobody caught, from any thread: logged and written at once, told to the person by the GUI thread.

    Args:
        folder: Where a report is written; None for nowhere.
    """

    caught = Signal(object)

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__()
        self._folder = folder
        self._file: BinaryIO | None = None
        self._path: Path | None = None
        self._written = 0
        self._writing = threading.Lock()

    def install(self) -> None:
        """Takes over the hooks of Python and of its threads, and begins the report."""
        self._before = sys.excepthook, threading.excepthook
        sys.excepthook = self._hook
        threading.excepthook = self._thread_hook
        self._had_faulthandler = faulthandler.is_enabled()
        if self._folder is not None:
            try:
                self._begin(self._folder)
            except OSError as error:
                _log.warning("A crash cannot be reported: %s", error)

    def remove(self) -> None:
        """Gives the hooks back; a report in which nothing stands is removed."""
        sys.excepthook, threading.excepthook = self._before
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
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"run-{secrets.token_hex(8)}.txt"
        self._lock = QLockFile(str(self._path.with_suffix(".lock")))
        self._lock.setStaleLockTime(0)
        self._lock.tryLock(0)
        self._file = self._path.open("ab", buffering=0)
        started = time.strftime("%Y-%m-%d %H:%M:%S %z")
        self._file.write(f"{start_line()}\nStarted {started}{_END_OF_HEAD}".encode("utf-8", "backslashreplace"))
        faulthandler.enable(self._file)

    def _write(self, error: BaseException) -> None:
        with self._writing, suppress(OSError, ValueError):
            if self._file is not None and self._written < _MOST_WRITTEN:
                words = (
                    f"{time.strftime('%H:%M:%S')} Nobody caught this:\n{''.join(traceback.format_exception(error))}\n"
                )
                self._written += self._file.write(words.encode("utf-8", "backslashreplace"))

    def _hook(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not isinstance(error, Exception):
            sys.__excepthook__(kind, error, trace)
            return
        _log.error("Nobody caught this", exc_info=(kind, error, trace))
        self._write(error)
        self.caught.emit(error)

    def _thread_hook(self, arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            self._hook(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)
