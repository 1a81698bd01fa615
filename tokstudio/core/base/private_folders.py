"""Folders that only this user can write to, for code that is run, sockets and caches; and the files of a cache.

In a folder that all users share, another user may have created a folder of the name that TokStudio would use. Trusted
are the administrator and the user's private group: the primary group, with the user's name or number. A group that
several users share, such as staff or users, is not trusted. Checked are owner, group and permissions of a folder and of
its parent, but neither access control lists nor the folders above.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import platformdirs

from tokstudio.core.base.leftovers import hidden_name, remove_of_ended

_WORK = "work"  # the folder for `TemporaryFolder`
_BLOCK = bytes(1 << 16)
_DIGEST = hashlib.sha256().digest_size
_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def cache_folder() -> Path:
    """TokStudio's cache folder of this user."""
    return Path(platformdirs.user_cache_dir("tokstudio", appauthor=False))


def runtime_folder() -> Path | None:
    """The user's runtime folder, which lasts until the end of the session; None where there is none."""
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    usable = os.path.isabs(folder) and _is_own(Path(folder)) and os.access(folder, os.W_OK)
    return Path(folder) if usable else None


def temporary_folder() -> Path | None:
    """A folder for this user in the shared folder for temporary files; None where there is none."""
    try:
        return Path(tempfile.gettempdir()) / f"tokstudio-{os.getuid() if hasattr(os, 'getuid') else 'cache'}"
    except OSError:
        return None


def session_folders() -> Iterator[Path]:
    """The folders for files that are not needed after the session, the best one first."""
    if (runtime := runtime_folder()) is not None:
        yield runtime / "tokstudio"
    if (temporary := temporary_folder()) is not None:
        yield temporary


def make_private(folder: Path) -> bool:
    """Creates a folder unless it exists, and returns whether only this user can write to it or replace it.

    An existing folder that the user's private group may write to is closed to the group.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # A separate call: parents get the usual permissions.
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return False
    # The parent is checked first: a folder that can be replaced might be a link by the time it is closed.
    return _keeps_its_place(folder) and (_is_own(folder) or _was_closed(folder))


def private_opener(path: str, flags: int) -> int:
    """Opens a file, as the `opener` of `open`; one that is made is for this user alone from its first moment."""
    return os.open(path, flags, 0o600)


class TemporaryFolder:
    """A private folder that is removed by `close`, with its last reference, at the exit, or after a kill by the next.

    Raises:
        OSError: None can be made.
    """

    def __init__(self) -> None:
        folder = temporary_folder()
        remove_left_folders()
        if folder is not None and make_private(folder) and make_private(folder / _WORK):
            self.path = hidden_name(folder / _WORK)
            self.path.mkdir(mode=0o700)
        else:
            self.path = Path(tempfile.mkdtemp(prefix="tokstudio-"))
        self.close = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()


def remove_left_folders() -> None:
    """Removes the temporary folders that killed processes of this user have left."""
    if (folder := temporary_folder()) is not None:
        remove_of_ended(folder / _WORK)


def read_whole(file: Path) -> bytes | None:
    """The content that `write_whole` has written; None where the file is missing or damaged."""
    try:
        content = file.read_bytes()
    except (OSError, ValueError):
        return None
    digest, rest = content[:_DIGEST], content[_DIGEST:]
    return rest if hashlib.sha256(rest).digest() == digest else None


def write_whole(file: Path, content: bytes) -> None:
    """Writes a file after the digest of its content, so that another process sees all of it or none.

    Raises:
        OSError: It cannot be written.
    """
    beside = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    try:
        beside.write_bytes(hashlib.sha256(content).digest() + content)
        beside.replace(file)
    except OSError:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


def note_use(path: Path) -> None:
    """Notes that a file or folder of a cache is used now: times of access are not reliable."""
    with suppress(OSError):
        os.utime(path)


def check_space(folder: Path, size: int) -> None:
    """Raises OSError unless `size` bytes can be written to a file, which is removed: a full disk takes an empty one."""
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        for start in range(0, size, len(_BLOCK)):
            file.write(_BLOCK[: size - start])


def _is_own(folder: Path) -> bool:
    try:
        status = folder.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        return False
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & _BY_OTHERS)


def _was_closed(folder: Path) -> bool:
    """Closes a folder of this user that the user's private group may write to; False for any other."""
    try:
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or _lets_others_write(status):
            return False
        folder.chmod(0o700)
    except OSError:
        return False
    return _is_own(folder)


def _keeps_its_place(folder: Path) -> bool:
    """Whether no other user can replace a folder."""
    try:
        status = folder.parent.stat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):
        return True
    # In a folder with the sticky bit, such as /tmp, only the owner of an entry may rename it.
    return status.st_uid in (os.getuid(), 0) and (bool(status.st_mode & stat.S_ISVTX) or not _lets_others_write(status))


def _lets_others_write(status: os.stat_result) -> bool:
    # Many systems give each user a private group, and let it write to all that the user creates, such as ~/.cache.
    by_group = bool(status.st_mode & stat.S_IWGRP) and not _is_own_group(status.st_gid)
    return by_group or bool(status.st_mode & stat.S_IWOTH)


def _is_own_group(group: int) -> bool:
    """Whether it is the user's private group, not one that several users share."""
    if group != os.getgid():
        return False
    if group == os.getuid():
        return True
    try:
        import grp
        import pwd

        return grp.getgrgid(group).gr_name == pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError, OSError):
        return False
