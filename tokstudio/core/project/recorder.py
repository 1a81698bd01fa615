"""Records what a crash would lose: the run in training, batch by batch, and the latest state of the project.

Every process has its own files, and a lock that the system releases when the process ends in any way. A recording is a
project with one run and a table of batches, whose merges are unpacked during recovery: a row per merge would take too
long during training.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import re
import secrets
import sqlite3
import stat
import threading
import time
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tokstudio.core.base.atomic_files import write_fault
from tokstudio.core.base.errors import FormatError, TokStudioError
from tokstudio.core.base.leftovers import SUFFIX
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.model.algorithms import COLUMNS
from tokstudio.core.model.columns import MergeColumn
from tokstudio.core.model.run import STOPPED, MergeBatch, Run
from tokstudio.core.project.database import connect, is_system_error, plain_errors
from tokstudio.core.project.model import Project, ProjectRun, ProjectSource
from tokstudio.core.project.reader import open_work
from tokstudio.core.project.writer import insert_batch, save_work

_LOCK = ".lock"
_RECORDING = f".run{SUFFIX}"
_PROJECT = f".project{SUFFIX}"
_DAMAGED = ".damaged"
_ENDED = ".ended"  # marks files that were left on purpose
_BESIDE = ("-wal", "-journal", "-shm")
_NAME = re.compile(r"([0-9a-f]{16})(\.run\.tokstudio|\.project\.tokstudio|\.lock)")
_STALE = 24 * 60 * 60  # seconds
_RUN = 1  # the number of the only run of a recording


class Recorder:
    """Keeps the work of a process safe from a crash. No method raises: on an error, recording ends and work goes on.

    A run may be recorded in one thread while the project is saved in another. The folder is created on first use.
    """

    def __init__(self, folder: Path) -> None:
        # Why a crash would lose unsaved work, as the end of a sentence; None while all is recorded.
        self.problem: str | None = None
        self._folder = folder
        self._token = secrets.token_hex(8)
        self._locking = threading.Lock()
        self._lock: sqlite3.Connection | None = None
        self._recording: sqlite3.Connection | None = None
        self._kept: set[str] = set()  # arrays about the run as a whole that it has already

    def begin_work(self, entry: ProjectRun, sources: tuple[ProjectSource, ...]) -> Work[None]:
        """Begins to record a run, instead of any earlier recording.

        A resumed run has the merges so far, with its new configuration.
        """
        self.discard()
        if not self._locked():
            return
        stopped = replace(entry, run=replace(entry.run, ended=STOPPED))
        try:
            yield from save_work(Project(sources, (stopped,)), self._file(_RECORDING), private=True)
            with plain_errors(self._file(_RECORDING)):
                self._open_recording(entry.run.base_size)
                self._kept = {column.name for column in COLUMNS if not column.numbers} & entry.run.columns.keys()
        except TokStudioError as error:
            self._give_up(error)

    def append(self, batch: MergeBatch, seconds: float) -> None:
        """Records the next merges after `seconds` of training; after it returns, a kill no longer loses them."""
        if len(batch):
            rows = np.stack([batch.left, batch.right, batch.count, batch.tokens_after], axis=1).astype("<i8")
            added = {column: batch.columns.get(column.name) for column in COLUMNS if column.name not in self._kept}
            own = {column: array for column, array in added.items() if array is not None}
            names = ", ".join(("first", "merges", *(column.name for column in own)))
            values = (
                batch.first,
                rows.tobytes(),
                *(each.astype(_stored(column)).tobytes() for column, each in own.items()),
            )
            self._change(f"INSERT INTO batch ({names}) VALUES ({', '.join('?' * len(values))})", values, seconds)
            self._kept |= {column.name for column in own if not column.numbers}

    def finish(self, run: Run) -> None:
        """Records the end of the run; the recording is kept until it is discarded, or another run begins."""
        self._change("UPDATE run SET ended = ? WHERE number = ?", (run.ended, _RUN), run.seconds)
        self._close_recording()

    def discard(self) -> None:
        """Removes the recorded run, because it is saved or not wanted."""
        self._close_recording()
        _remove(self._file(_RECORDING))

    def autosave_work(self, project: Project) -> Work[None]:
        """Saves the whole project; the previous state stays until the new one is complete."""
        if self._locked():
            try:
                yield from save_work(project, self._file(_PROJECT), private=True)
            except TokStudioError as error:
                self._report(error)

    def close(self) -> None:
        """Ends the recording and removes all files, at a regular end of the program."""
        self.discard()
        _remove(self._file(_PROJECT))
        if self._lock is not None:
            self._unlock(self._lock)
            _remove(self._file(_LOCK))

    def leave(self) -> None:
        """Ends the recording and leaves the files for recovery, at the end of a session when nobody can be asked."""
        self._close_recording()
        if self._lock is not None:
            with suppress(OSError):
                self._file(_ENDED).touch(mode=0o600)
            self._unlock(self._lock)
            self._token = secrets.token_hex(8)

    def _file(self, ending: str) -> Path:
        return self._folder / (self._token + ending)

    def _unlock(self, lock: sqlite3.Connection) -> None:
        with suppress(sqlite3.Error):
            lock.close()
        self._lock = None

    def _locked(self) -> bool:
        """Takes the lock on first use; returns whether recording is possible."""
        with self._locking:
            if self._lock is None:
                try:
                    _make_private(self._folder)
                    with plain_errors(self._file(_LOCK)):
                        self._lock = _take_lock(self._file(_LOCK))
                except OSError as error:
                    self._report(write_fault(self._file(_LOCK), error))
                except TokStudioError as error:
                    self._report(error)
            return self._lock is not None

    def _open_recording(self, base_size: int) -> None:
        recording = self._recording = connect(self._file(_RECORDING), "mode=rw")
        # In this mode a commit is one write, and nothing waits for the disk; a power failure loses the last seconds.
        for setting in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=NORMAL"):
            recording.execute(f"PRAGMA {setting}")
        # The hash is that of the merges at the beginning.
        recording.execute("UPDATE run SET content_sha256 = NULL WHERE number = ?", (_RUN,))
        # The ids of special tokens after the merges change with every merge.
        recording.execute("DELETE FROM token WHERE run = ? AND id >= ?", (_RUN, base_size))
        added = "".join(f", {column.name} BLOB" for column in COLUMNS)
        recording.execute(f"CREATE TABLE batch (first INTEGER PRIMARY KEY, merges BLOB NOT NULL{added})")

    def _change(self, statement: str, values: tuple[object, ...], seconds: float) -> None:
        recording = self._recording
        if recording is None:
            return
        try:
            with plain_errors(self._file(_RECORDING)):
                recording.execute("BEGIN")
                recording.execute(statement, values)
                recording.execute("UPDATE run SET seconds = ? WHERE number = ?", (float(seconds), _RUN))
                recording.execute("COMMIT")
        except TokStudioError as error:
            self._give_up(error)

    def _give_up(self, error: TokStudioError) -> None:
        self._close_recording()
        self._report(error)

    def _report(self, error: TokStudioError) -> None:
        if self.problem is None:
            words = str(error).partition(": ")[2].removesuffix(".")
            for advice in (", so it was not written", ": choose another"):
                words = words.removesuffix(advice)
            self.problem = words

    def _close_recording(self) -> None:
        if self._recording is not None:
            with suppress(sqlite3.Error):
                self._recording.close()
            self._recording = None


@dataclass(frozen=True, eq=False)
class LeftBehind:
    """The files that a killed process has left."""

    project: Project | None  # the latest saved state of the project; None where there is none
    # A project with the run in training; None where there is none, or it has no merges. The `ended` of a run that had
    # not ended is "stopped".
    recording: Project | None
    modified: float  # the modification time of the later of the two, in seconds since the epoch
    files: tuple[Path, ...]  # the files it was read from
    ended: bool = False  # whether it was left because the session ended, not by a crash

    def discard(self) -> None:
        """Removes the files, because their content is saved or not wanted."""
        for file in self.files:
            _remove(file)


def recoverable_work(folder: Path) -> Work[tuple[LeftBehind, ...]]:
    """Finds the files that killed processes have left in a folder, the latest first; damaged files are renamed."""
    left_behind: list[LeftBehind] = []
    for token in _tokens(folder):
        yield Progress("looking for lost work", len(left_behind))
        # This fails where the process is alive or the disk is full; a later start tries again.
        with suppress(sqlite3.Error), closing(_take_lock(folder / (token + _LOCK))):
            left = yield from _left_behind_work(folder, token)
            if left is not None:
                left_behind.append(left)
    return tuple(sorted(left_behind, key=lambda left: -left.modified))


def _tokens(folder: Path) -> list[str]:
    """The tokens in the names of files that may be recoverable."""
    tokens: set[str] = set()
    with suppress(OSError):
        for file in folder.iterdir():
            name = _NAME.fullmatch(file.name)
            # A lock without other files is just being taken, unless it is old.
            if name and _are_plain(folder, name[1]) and (name[2] != _LOCK or time.time() - _modified(file) > _STALE):
                tokens.add(name[1])
    return sorted(tokens)


def _are_plain(folder: Path, token: str) -> bool:
    """Whether all of its files are files of this folder: neither links, which lead elsewhere, nor folders or pipes."""
    names = [token + ending for ending in (_LOCK, _RECORDING, _PROJECT, _ENDED)]
    places = [folder / (name + beside) for name in names for beside in ("", *_BESIDE)]
    return all(stat.S_ISREG(place.lstat().st_mode) for place in places if os.path.lexists(place))


def _left_behind_work(folder: Path, token: str) -> Work[LeftBehind | None]:
    recording_file, project_file = folder / (token + _RECORDING), folder / (token + _PROJECT)
    written = (recording_file, recording_file.with_name(recording_file.name + "-wal"), project_file)
    modified = max(map(_modified, written))
    yield from _complete_work(recording_file)
    recording = yield from _opened_work(recording_file)
    project = yield from _opened_work(project_file)
    if recording and not any(isinstance(entry, ProjectRun) and len(entry.run) for entry in recording.runs):
        recording = None
    note = folder / (token + _ENDED)
    files = (recording_file, project_file, note, folder / (token + _LOCK))
    left = LeftBehind(project, recording, modified, files, note.exists())
    if project is None and recording is None:
        left.discard()
        return None
    return left


def _opened_work(file: Path) -> Work[Project | None]:
    """A project; None where there is none, or it is damaged and therefore renamed."""
    with suppress(OSError):
        try:
            if file.exists():
                return (yield from open_work(file))
        except FormatError:
            file.replace(file.with_name(file.name + _DAMAGED))
    return None


def _complete_work(file: Path) -> Work[None]:
    """Turns a recording into a project, once; where it is too damaged for that, reading it fails later.

    Raises sqlite3.Error where it cannot be changed now.
    """
    if not file.exists():
        return
    try:
        with closing(connect(file, "mode=rw")) as connection:
            for setting in ("trusted_schema=OFF", "locking_mode=EXCLUSIVE", "journal_mode=DELETE"):
                connection.execute(f"PRAGMA {setting}")
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'batch'").fetchone() is not None:
                yield from _unpack_work(connection)
    except (TypeError, ValueError):
        pass
    except sqlite3.Error as error:
        if is_system_error(error):
            raise


def _unpack_work(connection: sqlite3.Connection) -> Work[None]:
    """Moves the merges of all batches into the table of merges."""
    connection.execute("BEGIN")
    # A recording of an earlier version has fewer columns.
    for first, packed, *more in connection.execute("SELECT * FROM batch ORDER BY first"):
        left, right, counts, after = np.frombuffer(packed, "<i8").reshape(-1, 4).T
        added = [(column, cell) for column, cell in zip(COLUMNS, more, strict=False) if cell is not None]
        columns = {
            column.name: column.shaped(np.frombuffer(cell, _stored(column))) for column, cell in added if column.numbers
        }
        insert_batch(connection, _RUN, MergeBatch(first, left, right, counts, after, columns))
        for column, cell in added:
            if not column.numbers:
                connection.execute(f"UPDATE run SET {column.name} = ?", (cell,))
        yield Progress("looking for lost work")
    connection.execute("DROP TABLE batch")
    connection.execute("COMMIT")


def _stored(column: MergeColumn) -> np.dtype[Any]:
    """The type of a column in recordings: little endian."""
    return np.dtype(column.dtype).newbyteorder("<")


def _take_lock(file: Path) -> sqlite3.Connection:
    """Locks a file until the connection or the process ends; sqlite3.Error where another process has the lock."""
    # SQLite would make it readable for all users.
    with suppress(OSError):
        file.touch(mode=0o600)
    lock = connect(file, "mode=rwc")
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except BaseException:
        lock.close()
        raise
    return lock


def _make_private(folder: Path) -> None:
    """Creates a folder for this user alone, or raises OSError; an existing one and its files are closed to others."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    # Some file systems have no permissions; recording goes on there.
    with suppress(OSError):
        folder.chmod(0o700)
    with suppress(OSError):
        for file in folder.iterdir():
            with suppress(OSError):
                if stat.S_ISREG(file.lstat().st_mode):
                    file.chmod(0o600)


def _modified(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _remove(file: Path) -> None:
    for name in (file.name, *(file.name + end for end in _BESIDE)):
        with suppress(OSError):
            file.with_name(name).unlink(missing_ok=True)
