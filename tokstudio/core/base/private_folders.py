"""Folders that belong to this person alone, for what nobody else may put something into: code that is run, sockets.

In a folder that all people of a computer share, anyone may have made a folder of the name that we would take.

Trusted are the administrator and the person's own group: the primary one, of the person's name or number, with whoever
has been added to it. A group that people share, such as staff or users, is not trusted. Looked at are owner, group and
permissions of a folder and of the one it is in, neither lists of access nor what is above.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import platformdirs

_BLOCK = bytes(1 << 16)


def cache_folder() -> Path:
    """Where this person's caches of ours are."""
    return Path(platformdirs.user_cache_dir("tokstudio", appauthor=False))


def runtime_folder() -> Path | None:
    """The folder that the system gives this person until the end of the session; None where there is none."""
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    usable = os.path.isabs(folder) and _is_own(Path(folder)) and os.access(folder, os.W_OK)
    return Path(folder) if usable else None


def temporary_folder() -> Path | None:
    """A name for a folder among the temporary files of all people; None where there can be none."""
    try:
        return Path(tempfile.gettempdir()) / f"tokstudio-{os.getuid() if hasattr(os, 'getuid') else 'cache'}"
    except OSError:
        return None


def passing_folders() -> Iterator[Path]:
    """Where a thing can be kept that is needed no longer than the session."""
    if (runtime := runtime_folder()) is not None:
        yield runtime / "tokstudio"
    if (temporary := temporary_folder()) is not None:
        yield temporary


def make_own(folder: Path) -> bool:
    """Makes a folder unless it is there, and says whether nobody else can put something into it, or in its place.

    One of this person's that only the person's own group may write to as well is closed to everybody else.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Not with its parents: they would get the usual permissions.
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return False
    # First its place: a folder that can be exchanged might be a link to another one by the time it is closed.
    return _keeps_its_place(folder) and (_is_own(folder) or _was_closed(folder))


def is_roots_alone(folder: Path) -> bool:
    """Whether only the administrator can put something into a folder, or another one in its place."""
    try:
        found = [folder.lstat(), folder.parent.lstat()]
    except OSError:
        return False
    others = stat.S_IWGRP | stat.S_IWOTH
    # Elsewhere every owner has the number 0.
    return hasattr(os, "getuid") and all(
        stat.S_ISDIR(one.st_mode) and one.st_uid == 0 and not one.st_mode & others for one in found
    )


def try_room(folder: Path, size: int) -> None:
    """Writes so many bytes to a file that vanishes again: a full disk takes an empty one.

    Raises:
        OSError: There is no room, or no writing.
    """
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
    others = stat.S_IWGRP | stat.S_IWOTH
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & others)


def _was_closed(folder: Path) -> bool:
    """Closes a folder of this person's that the person's own group may write to; False for any other."""
    try:
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or _lets_others_write(status):
            return False
        folder.chmod(0o700)
    except OSError:
        return False
    return _is_own(folder)


def _keeps_its_place(folder: Path) -> bool:
    """Whether nobody else can rename a folder of ours and put one of theirs there."""
    try:
        status = folder.parent.stat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):
        return True
    # With the t bit, as /tmp has it, only its owner renames what is in it.
    return status.st_uid in (os.getuid(), 0) and (bool(status.st_mode & stat.S_ISVTX) or not _lets_others_write(status))


def _lets_others_write(status: os.stat_result) -> bool:
    # Many systems give each person a group of their own, and let it write to all that they make, as to ~/.cache.
    by_group = bool(status.st_mode & stat.S_IWGRP) and not _is_own_group(status.st_gid)
    return by_group or bool(status.st_mode & stat.S_IWOTH)


def _is_own_group(group: int) -> bool:
    """Whether it is the group that the system has made for this person, and not one that all people share."""
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
