"""Writes files atomically: each file is written beside its target, then all are moved into place."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.leftovers import Move, flush_folder, hidden_name, recover_work, write_journal
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import printable

_PIECE = 1 << 18
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_MISSING = (errno.ENOENT, errno.ENOTDIR)
_IN_THE_WAY = (errno.EEXIST, errno.ENOTDIR)
_LONGEST_SHOWN = 80  # characters of a name that may itself be the cause of the error


class WriteError(FormatError):
    """A file or a folder cannot be written, whatever was to be in it."""


class FolderError(WriteError):
    """A folder cannot be created."""

    def __init__(self, folder: Path, error: OSError | ValueError) -> None:
        name = file_name(folder)
        shown = name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}…"
        super().__init__(f"{shown}: the folder cannot be created: {_why_no_folder(folder, error)}.")


def write_files(contents: Mapping[Path, Iterable[bytes]], may_replace: bool = True) -> Work[tuple[Path, ...]]:
    """Writes all of the files, given in pieces, or none; returns them in the order given.

    On an error, or when the work is closed, the old files are unchanged. For `may_replace` see `StagedFiles`.

    Raises:
        FormatError: A file cannot be written; the message names it and the cause.
    """
    with StagedFiles(may_replace=may_replace) as staged:
        for path, pieces in contents.items():
            yield from staged.write(path, pieces)
        return staged.commit()


class StagedFiles:
    """A context manager for files written beside their targets; it removes those that `commit` has not moved.

    Files can be read back before `commit` replaces anything. With `private`, new files are for this user only. Without
    `may_replace`, a file that another program has written meanwhile stays: `commit` fails.
    """

    def __init__(self, private: bool = False, may_replace: bool = True) -> None:
        self._mode, self._may_replace = 0o600 if private else 0o666, may_replace
        self._staged: dict[Path, Path] = {}
        self._targets: dict[Path, Path] = {}
        self._folders: list[Path] = []
        self._swept: set[Path] = set()

    def __enter__(self) -> StagedFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for temporary in self._staged.values():
            with suppress(OSError):
                temporary.unlink()
        for folder in reversed(self._folders):
            with suppress(OSError):
                folder.rmdir()

    def __getitem__(self, path: Path) -> Path:
        """The temporary file for `path`."""
        return self._staged[path]

    def make_folder(self, folder: Path) -> None:
        """Creates a folder and its parents, or raises FolderError; they are removed again unless `commit` is called."""
        try:
            missing = [above for above in (folder, *folder.parents) if not above.exists()]
            if not missing and not folder.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            for above in reversed(missing):
                above.mkdir()
                self._folders.append(above)
        except (OSError, ValueError) as error:
            raise FolderError(folder, error) from error

    def write(self, path: Path, pieces: Iterable[bytes], total: int = 0) -> Work[None]:
        """Writes a file beside its target `path`, of which a link is followed, and flushes it to the disk.

        `total` bytes are expected, for the progress. Raises FormatError where it cannot be written.
        """
        try:
            with self._open(path) as file:
                yield from self._sweep(self._targets[path].parent)
                yield from _copy(pieces, file, total)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise write_fault(path, error) from error

    def reserve(self, path: Path) -> Work[Path]:
        """Writes an empty file, for a library that writes to it itself; call `flush` afterwards."""
        yield from self.write(path, ())
        return self._staged[path]

    def flush(self, path: Path) -> None:
        """Flushes a reserved file to the disk; raises FormatError where it cannot be written."""
        try:
            with self._staged[path].open("r+b") as file:
                os.fsync(file.fileno())
        except OSError as error:
            raise write_fault(path, error) from error

    def _open(self, path: Path) -> BinaryIO:
        try:
            target = _target(path)
            temporary = hidden_name(target.parent)
            # `os.open` gives the usual permissions of a new file; `tempfile` would not.
            handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), self._mode)
        except ValueError as error:
            raise write_fault(path, error) from error
        self._staged[path], self._targets[path] = temporary, target
        file = os.fdopen(handle, "wb")
        try:
            _keep_permissions(target, temporary)
        except BaseException:
            file.close()
            raise
        return file

    def _sweep(self, folder: Path) -> Work[None]:
        """Finishes or removes the leftovers of killed writers in a folder, once."""
        if folder not in self._swept:
            self._swept.add(folder)
            yield from recover_work(folder, "writing", strangers=True)

    def commit(self) -> tuple[Path, ...]:
        """Moves all files into place; where one cannot be moved, the files moved before it are put back.

        If the process is killed meanwhile, `recover_work` later moves the rest: all files of a folder, or none.

        Raises:
            FormatError: One of them cannot be moved, or would replace a file and may not.
        """
        moves = {path: Move.planned(temporary, self._targets[path]) for path, temporary in self._staged.items()}
        folders = {move.target.parent for move in moves.values()}
        journals = {folder: hidden_name(folder, ".journal") for folder in folders} if len(moves) > 1 else {}
        seconds = {move.target: hidden_name(move.target.parent) for move in moves.values() if journals and move.old}
        self._staged = {}
        path = next(iter(moves), Path())
        try:
            for folder, journal in journals.items():
                write_journal(journal, [move for move in moves.values() if move.target.parent == folder])
            for path in moves:
                move = moves[path]
                if not self._may_replace and os.path.lexists(move.target):
                    raise FormatError(
                        f"{file_name(path)}: this file has appeared since the work began, so it is not replaced: "
                        "choose another name."
                    )
                if move.target in seconds:
                    _keep(move.target, seconds[move.target])
                os.replace(move.temporary, move.target)
        except BaseException as error:
            # The journals describe every state in between; where the undo fails, a later recovery finishes the moves.
            if _put_back(tuple(moves.values()), seconds):
                _remove((*journals.values(), *seconds.values(), *(move.temporary for move in moves.values())))
            if isinstance(error, OSError):
                raise write_fault(path, error) from error
            raise
        for folder in folders | {new_folder.parent for new_folder in self._folders}:
            flush_folder(folder)
        self._folders = []
        _remove((*journals.values(), *seconds.values()))
        return tuple(moves)


def file_name(path: Path) -> str:
    """The last part of a path, printable, for messages."""
    return printable(path.name or str(path))


def write_fault(path: Path, error: OSError | ValueError) -> WriteError:
    """The error for a `path` that cannot be written."""
    name, folder = file_name(path), path.absolute().parent
    code = error.errno if isinstance(error, OSError) else None
    if code in _NO_SPACE:
        return WriteError(f"{name}: there is no space left on the disk, so it was not written.")
    if code in _FORBIDDEN:
        return WriteError(f"{name}: the folder {folder} cannot be written to: choose another.")
    if code in _MISSING:
        above = next((above for above in (folder, *folder.parents) if os.path.lexists(above)), folder)
        if above.is_file():
            return WriteError(f"{name}: {above} is a file and no folder: choose another folder.")
        return WriteError(f"{name}: the folder {folder} does not exist: create it, or choose another.")
    return WriteError(f"{name}: the file cannot be written: {_reason(error)}.")


def _copy(pieces: Iterable[bytes], file: BinaryIO, total: int) -> Work[None]:
    done = reported = 0
    for piece in pieces:
        file.write(piece)
        done += len(piece)
        if not piece or done - reported >= _PIECE:  # an empty one says that the next is not there yet
            reported = done
            yield Progress("writing", min(done, total), total)


def _target(path: Path) -> Path:
    """The file to be replaced, links followed; raises FormatError where it is not a regular file."""
    target = Path(os.path.realpath(path))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return target
    if stat.S_ISDIR(mode):
        raise FormatError(f"{file_name(path)}: a folder with that name already exists: choose another name.")
    if not stat.S_ISREG(mode):
        raise FormatError(f"{file_name(path)}: this is not a regular file, so it is not replaced: choose another name.")
    if not os.access(target, os.W_OK):
        raise FormatError(f"{file_name(path)}: the file is read-only: allow writing, or choose another name.")
    return target


def _keep_permissions(target: Path, temporary: Path) -> None:
    try:
        old = target.stat()
    except FileNotFoundError:
        return
    if sys.platform != "win32":
        with suppress(OSError):
            os.chown(temporary, old.st_uid, old.st_gid)
    # After the owner, because changing the owner clears some of the bits.
    temporary.chmod(stat.S_IMODE(old.st_mode))


def _keep(target: Path, second: Path) -> None:
    """Gives the existing file a second name, so that it can be put back."""
    try:
        os.link(target, second)
    except OSError:
        # Some file systems have no hard links.
        os.replace(target, second)


def _put_back(moves: Sequence[Move], seconds: Mapping[Path, Path]) -> bool:
    """Undoes the moves that were made, the last one first; returns whether all files are back."""
    try:
        for move in reversed(moves):
            if move.is_done():
                os.replace(move.target, move.temporary)
            if move.target in seconds and not move.target.exists():
                os.replace(seconds[move.target], move.target)
    except OSError:
        return False
    return True


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink()


def _why_no_folder(folder: Path, error: OSError | ValueError) -> str:
    code = error.errno if isinstance(error, OSError) else None
    above = next((above for above in folder.parents if os.path.lexists(above)), folder)
    if code in _FORBIDDEN:
        return f"{above} cannot be written to: choose another"
    if code in _IN_THE_WAY:
        taken = folder if os.path.lexists(folder) else above
        return f"{taken} is a file: choose another name"
    if code == errno.ENAMETOOLONG:
        return "the name is too long: choose a shorter one"
    if code in _NO_SPACE:
        return "there is no space left on the disk"
    return f"{_reason(error)}: choose another"


def _reason(error: OSError | ValueError) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
