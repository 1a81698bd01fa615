"""Temporary files and journals beside targets, and the recovery of those that a killed writer has left.

A journal lists the moves of one commit of several files. It is flushed to the disk before the first move, so that a
later process can finish the moves.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import json
import os
import platform
import re
import secrets
import shutil
import stat
import sys
import time
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import cast

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass

#: The ending of projects, and of the hidden files of our own.
SUFFIX = ".tokstudio"
_NAME = re.compile(r"\.[0-9a-f]{16}\.(([0-9a-f]{8})-([0-9]{1,9}))(\.journal)?\.tokstudio")  # machine and process
_LOCK = f".lock{SUFFIX}"
_STALE = 24 * 60 * 60  # seconds: writing a file never takes as long
_MONTH = 30 * _STALE
_ENTRIES = 1000
_LARGEST_JOURNAL = 1 << 20

_State = tuple[int, int]  # size and modification time in nanoseconds; a move changes neither


@dataclass(frozen=True)
class _Left:
    """A hidden file; `writer` is the machine and process in its name, `is_here` whether it is this machine."""

    path: Path
    writer: str
    is_journal: bool
    is_here: bool
    is_gone: bool
    owner: int


@dataclass(frozen=True)
class Move:
    """A move of a temporary file; `old` is the state of the target before, `new` the state of the temporary file."""

    temporary: Path
    target: Path
    old: _State | None
    new: _State | None

    @classmethod
    def planned(cls, temporary: Path, target: Path) -> Move:
        """A move of `temporary` to `target`, with their current states."""
        return cls(temporary, target, _state(target), _state(temporary))

    def is_pending(self) -> bool:
        """Whether the temporary file is still there."""
        return os.path.lexists(self.temporary)

    def is_done(self, owner: int = 0) -> bool:
        """Whether the new file is at the target and belongs to `owner`."""
        return not self.is_pending() and self.new is not None and _state(self.target, owner) == self.new

    def is_possible(self, owner: int) -> bool:
        """Whether it can be made: neither file has changed since, and the new one belongs to `owner`."""
        # On file systems without links, the target is missing for a moment.
        untouched = not os.path.lexists(self.target) or (self.old is not None and _state(self.target) == self.old)
        return untouched and self.new is not None and _state(self.temporary, owner) == self.new


def hidden_name(folder: Path, kind: str = "") -> Path:
    """A new name for a file that may be removed once this process has ended; `kind` is "" or ".journal"."""
    return folder / f".{secrets.token_hex(8)}.{_place()}-{os.getpid()}{kind}{SUFFIX}"


def locked(folder: Path) -> int | None:
    """Locks a folder until the descriptor is closed, or this process ends; None where the file system has no locks.

    Raises:
        BlockingIOError: Another process or thread has locked it.
    """
    if sys.platform == "win32":
        # A file that the system removes when it is closed.
        how = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_TEMPORARY
        try:
            return os.open(folder / _LOCK, how)
        except (FileExistsError, PermissionError) as error:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error
    import fcntl

    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def write_journal(journal: Path, moves: Iterable[Move]) -> None:
    """Writes a journal of moves within its folder, and flushes it to the disk."""
    rows = [(move.temporary.name, move.target.name, move.old, move.new) for move in moves]
    with open(journal, "x", encoding="ascii") as file:
        json.dump(rows, file)
        file.flush()
        os.fsync(file.fileno())
    flush_folder(journal.parent)


def recover_work(folder: Path, phase: str, strangers: bool) -> Work[frozenset[str]]:
    """Finishes the commits of this user's killed processes in a folder, then removes their temporary files.

    Files that cannot be moved or removed stay. With `strangers`, other users' temporary files are removed as well.

    Returns:
        The names of the targets of partial commits: some of them are new and some are old.
    """
    leftovers: list[_Left] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for number, entry in enumerate(entries, 1):
            with suppress(OSError):
                if (left := _left(entry)) is not None:
                    leftovers.append(left)
            if number % _ENTRIES == 0:
                yield Progress(phase)
    waiting, torn = set[str](), set[str]()
    for journal in leftovers:
        moves = _read(journal) if journal.is_journal else ()
        if journal.is_journal and not journal.is_gone:
            # The second name of an old file is as old as that file, and must not be taken for a leftover.
            waiting.add(journal.writer)
        if not all(move.is_done(journal.owner) or move.is_possible(journal.owner) for move in moves):
            continue
        # A journal of another user, for example in a copied folder, moves nothing.
        if journal.is_gone and journal.is_here and journal.owner == _user():
            _finish(moves)
        pending = sum(move.is_pending() for move in moves)
        if pending:
            waiting.add(journal.writer)
        if 0 < pending < len(moves):
            torn.update(move.target.name for move in moves)
    for left in leftovers:
        if left.is_gone and left.writer not in waiting and (strangers or left.owner == _user()):
            with suppress(OSError):
                left.path.unlink()
    return frozenset(torn)


def remove_of_ended(folder: Path) -> None:
    """Removes temporary files and folders of this user's ended processes of this machine from a folder of its own.

    Where the end of a process cannot be known, they are removed after a month.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                left = _left(entry, or_folder=True)
                if left is None or left.owner != _user():
                    continue
                old = time.time() - entry.stat(follow_symlinks=False).st_mtime > _MONTH
                if old or (left.is_here and _is_gone(int(left.writer.partition("-")[2]))):
                    if entry.is_dir(follow_symlinks=False):
                        shutil.rmtree(left.path, ignore_errors=True)
                    else:
                        left.path.unlink()


def flush_folder(folder: Path) -> None:
    """Flushes the names in a folder to the disk, where the system supports it."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _place() -> str:
    """An identifier of the space of process ids: this machine, and on Linux this container."""
    name = platform.node()
    with suppress(OSError):
        name += str(os.stat("/proc/self/ns/pid").st_ino)
    with suppress(OSError):
        # Other users of shared folders cannot know it, so they cannot write a journal for this machine.
        name += Path("/etc/machine-id").read_text(encoding="ascii", errors="replace")
    return f"{zlib.crc32(name.encode('utf-8', 'surrogateescape')):08x}"


def _left(entry: os.DirEntry[str], or_folder: bool = False) -> _Left | None:
    name = _NAME.fullmatch(entry.name)
    if name is None or not (
        entry.is_file(follow_symlinks=False) or (or_folder and entry.is_dir(follow_symlinks=False))
    ):
        return None
    status = entry.stat(follow_symlinks=False)
    is_here = name[2] == _place()
    gone = time.time() - status.st_mtime > _STALE or (is_here and _is_gone(int(name[3])))
    return _Left(Path(entry.path), name[1], name[4] is not None, is_here, gone, status.st_uid)


def _is_gone(process: int) -> bool:
    """Whether there is no such process on this machine; False where this cannot be known."""
    if sys.platform == "win32":
        return False  # `os.kill` would end the process on Windows
    try:
        os.kill(process, 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    return False


def _user() -> int:
    return 0 if sys.platform == "win32" else os.geteuid()


def _state(path: Path, owner: int = 0) -> _State | None:
    """The state of a regular file; None where there is none, or it is not of `owner` (0, the administrator: anyone)."""
    try:
        status = path.lstat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode) or owner not in (0, status.st_uid):
        return None
    return status.st_size, status.st_mtime_ns


def _read(journal: _Left) -> tuple[Move, ...]:
    """The moves of a journal; none where it is truncated or malformed."""
    try:
        handle = os.open(journal.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as file:
            if os.fstat(handle).st_uid != journal.owner:
                return ()
            rows = json.loads(file.read(_LARGEST_JOURNAL))
        return tuple(_move(journal, row) for row in _listed(rows))
    except (OSError, ValueError, RecursionError):
        return ()


def _move(journal: _Left, row: object) -> Move:
    temporary, target, old, new = _listed(row)
    if not (isinstance(temporary, str) and isinstance(target, str)):
        raise ValueError("the name is not a string")
    name = _NAME.fullmatch(temporary)
    if name is None or name[1] != journal.writer or name[4]:
        raise ValueError("the temporary file is another writer's")
    if target in ("", ".", "..") or "\0" in target or os.path.basename(target) != target:
        raise ValueError("the target is in another folder")
    os.fsencode(target)
    folder = journal.path.parent
    return Move(folder / temporary, folder / target, None if old is None else _number_pair(old), _number_pair(new))


def _listed(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError("the value is not a list")
    return cast(list[object], value)


def _number_pair(value: object) -> _State:
    size, changed = _listed(value)
    if not (isinstance(size, int) and isinstance(changed, int)):
        raise ValueError("the values are not numbers")
    return size, changed


def _finish(moves: Iterable[Move]) -> None:
    for move in moves:
        with suppress(OSError):  # another process may have made the move
            os.replace(move.temporary, move.target)
    for folder in {move.target.parent for move in moves}:
        flush_folder(folder)
