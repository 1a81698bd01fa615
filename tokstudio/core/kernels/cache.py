"""The cache folder of the compiled loops, and the reason where they cannot be cached. Does not load Numba.

From its sources or a wheel Numba caches the loops beside them, or in its own folder of the user's caches. A bundle has
a folder for each build, which all starts share: Numba would identify it by its program, which does not contain the
loops, and by its path, which for an AppImage changes at each start. Where Debian's package has compiled the loops
during installation, each user's folder begins with a copy of them; else with those that the bundle brings (`shipped`).

Each file begins with the digest of its content: damaged code is not run, but compiled again.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from tokstudio.core.base.private_folders import cache_folder, check_space, is_root_only, make_private, session_folders
from tokstudio.core.base.subprocesses import is_bundle
from tokstudio.core.kernels import shipped

ROOM = 16 << 20  # bytes: the size of all loops for two processors, and a little more
_FOLDER = "NUMBA_CACHE_DIR"
_COMMON = "common"  # the folder of shipped loops, beside those of this processor
_OLD = 30 * 86_400  # seconds; two builds that are used side by side must not delete each other's loops
# Created by `packaging/linux/postinst`; only root may write there.
SYSTEM = Path("/var/cache/tokstudio")
_DIGEST = hashlib.sha256().digest_size
_problems: list[str] = []


def identity() -> str:
    """16 hexadecimal digits that identify the loops, compiler and interpreter, and except in a bundle their path."""
    return _identity("" if is_bundle() else str(Path(__file__).parent))


@cache  # each loop of a bundle asks for it
def _identity(place: str) -> str:
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    for part in (version("numba"), version("llvmlite"), version("numpy"), sys.version, place):
        digest.update(os.fsencode(part))
    return digest.hexdigest()[:16]


def marker() -> Path:
    """The file that lists all cached loops."""
    if is_bundle() and (folder := os.environ.get(_FOLDER)):
        return Path(folder) / f"loops-{identity()}"
    return cache_folder() / f"loops-{identity()}"


def are_cached() -> bool:
    """Whether all loops are cached and undamaged; their time of last use is then updated."""
    note = marker()
    listed = read_whole(note)
    kept = bool(listed) and all(read_whole(Path(os.fsdecode(name))) for name in listed.split(b"\0"))
    if kept:
        _note_use(note)
    return kept


def list_cached(files: Iterable[Path]) -> None:
    """Writes the list of all cached loops; raises OSError where it cannot be written."""
    note = marker()
    # A bundle does not use a cache folder that others may write to. An existing folder may be one that the user has
    # chosen, and stays as it is.
    if not note.parent.is_dir():
        make_private(note.parent)
    write_whole(note, b"\0".join(os.fsencode(file) for file in files if read_whole(file)))


def read_whole(file: Path) -> bytes | None:
    """The content that `write_whole` has written; None where the file is missing or damaged."""
    try:
        content = file.read_bytes()
    except (OSError, ValueError):
        return None
    digest, rest = content[:_DIGEST], content[_DIGEST:]
    return rest if hashlib.sha256(rest).digest() == digest else None


def write_whole(file: Path, content: bytes) -> None:
    """Writes a file so that another process sees all of it or none; raises OSError where it cannot be written."""
    beside = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    try:
        beside.write_bytes(hashlib.sha256(content).digest() + content)
        beside.replace(file)
    except OSError:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


def choose_folder() -> None:
    """Sets the folder for Numba's cache of a bundle, before Numba is loaded, unless the user has set one."""
    if named := os.environ.get(_FOLDER):
        # The child processes that compile run in another folder.
        os.environ[_FOLDER] = os.path.abspath(named)
    if named or not is_bundle():
        return
    name = identity()
    for caches in (cache_folder(), *session_folders()):
        folder = caches / f"compiled-{name}"
        # Both, because the owner of the upper folder could replace the lower one.
        if not make_private(caches) or not make_private(folder):
            continue
        used = folder
        if (folder / f"loops-{name}").exists():
            # Windows that were opened before may still load some of these.
            if _is_old(folder / _COMMON):
                shutil.rmtree(folder / _COMMON, ignore_errors=True)
        else:
            try:
                check_space(folder, ROOM)
            except OSError:
                continue
            if is_root_only(SYSTEM):
                _copy_loops(SYSTEM, folder)
            if not (folder / f"loops-{name}").exists() and _can_use_shipped(folder / _COMMON):
                used = folder / _COMMON
                shipped.use()
        os.environ[_FOLDER] = str(used)
        for each in {folder, used}:
            _note_use(each)
        return
    note_problem("no folder for it is yours alone and has 16 MB of room")


def own_environment() -> dict[str, str] | None:
    """The environment of a process that compiles for this processor, where this one uses shipped loops; else None."""
    folder = Path(os.environ.get(_FOLDER, ""))
    if not is_bundle() or folder.name != _COMMON or not shipped.in_use():
        return None
    return shipped.without(os.environ) | {_FOLDER: str(folder.parent)}


def _can_use_shipped(folder: Path) -> bool:
    """Copies the loops of the bundle to a folder, if they are complete and this processor can run them."""
    if not shipped.folder().is_dir() or not shipped.can_run() or not make_private(folder):
        return False
    if not (folder / f"loops-{identity()}").exists():
        _copy_loops(shipped.folder(), folder)
    return (folder / f"loops-{identity()}").exists()


def _copy_loops(source: Path, folder: Path) -> None:
    """Copies loops that were compiled before, if they are complete and of this build."""
    name = f"loops-{identity()}"
    listed = read_whole(source / name)
    if not listed:
        return
    files = [source / Path(os.fsdecode(file)).name for file in listed.split(b"\0")]
    contents = {file.name: content for file in files if (content := read_whole(file))}
    if len(contents) < len(files):
        return
    # Where a file cannot be written, all loops are compiled: the list is written last.
    with suppress(OSError):
        for file, content in contents.items():
            write_whole(folder / file, content)
        write_whole(folder / name, b"\0".join(os.fsencode(folder / file) for file in contents))


def remove_older() -> None:
    """Removes files of other builds and versions that have not been used for long, once this one is cached."""
    note, own = marker(), "[0-9a-f]" * 16
    for old in note.parent.glob(f"loops-{own}"):
        if old != note and _is_old(old):
            with suppress(OSError):
                old.unlink(missing_ok=True)
    # A folder that the user has chosen may be among other files.
    if is_bundle() and note.parent.name == f"compiled-{identity()}":
        for folder in note.parent.parent.glob(f"compiled-{own}"):
            if folder != note.parent and _is_old(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _note_use(path: Path) -> None:
    # Access times of files and folders are not reliable.
    with suppress(OSError):
        os.utime(path)


def _is_old(path: Path) -> bool:
    try:
        return path.stat().st_mtime < time.time() - _OLD
    except OSError:
        return False


def note_problem(reason: object) -> None:
    """Records why a compiled loop could not be cached."""
    _problems.append(" ".join(str(reason).split()))


def problem() -> str | None:
    """The reason why compiled loops could not be cached; None if there is none."""
    return _problems[0] if _problems else None
