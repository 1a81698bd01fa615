"""Where the compiled loops are kept, and why they cannot be where that fails. Numba is not loaded here.

From its sources or a wheel Numba keeps them beside the loops, or in its own folder of the person's caches. A bundle has
a folder for each build, which all starts of it share: Numba would know it by its program, which does not hold the
loops, and by its place, which for an AppImage is another one at each start. Where Debian's package has compiled them
when it was installed, each person's folder begins with a copy of those.

Each file begins with the digest of what follows: code that has been damaged is not run, but counts as not there.
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

from tokstudio.core.base.private_folders import cache_folder, is_roots_alone, make_own, passing_folders, try_room
from tokstudio.core.base.subprocesses import is_bundle

ROOM = 5 << 20  # bytes: twice what all loops take
_FOLDER = "NUMBA_CACHE_DIR"
_OLD = 30 * 86_400  # seconds; two builds that are used side by side are not to delete each other's loops
# Made by `packaging/linux/postinst`; only root may write there.
SYSTEM = Path("/var/cache/tokstudio")
_DIGEST = hashlib.sha256().digest_size
_problems: list[str] = []


def identity() -> str:
    """16 hexadecimal digits that change with the loops, compiler and interpreter, and but for a bundle their place."""
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
    """The file that lists all loops that have been compiled and kept."""
    if is_bundle() and (folder := os.environ.get(_FOLDER)):
        return Path(folder) / f"loops-{identity()}"
    return cache_folder() / f"loops-{identity()}"


def are_kept() -> bool:
    """Whether all loops have been compiled and kept, and nothing has damaged them since; they then count as used."""
    note = marker()
    listed = read_whole(note)
    kept = bool(listed) and all(read_whole(Path(os.fsdecode(name))) for name in listed.split(b"\0"))
    if kept:
        _note_use(note)
    return kept


def list_kept(files: Iterable[Path]) -> None:
    """Notes that these are all the loops.

    Raises:
        OSError: It cannot be written.
    """
    note = marker()
    # A bundle takes no folder of the person's caches that others may write to, as a usual one may be. One that is there
    # may be one that the person has named, and stays as it is.
    if not note.parent.is_dir():
        make_own(note.parent)
    write_whole(note, b"\0".join(os.fsencode(file) for file in files if read_whole(file)))


def read_whole(file: Path) -> bytes | None:
    """What `write_whole` has written; None where it is not there, or damaged."""
    try:
        content = file.read_bytes()
    except (OSError, ValueError):
        return None
    digest, rest = content[:_DIGEST], content[_DIGEST:]
    return rest if hashlib.sha256(rest).digest() == digest else None


def write_whole(file: Path, content: bytes) -> None:
    """Writes a file so that another process sees all of it or none.

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


def choose_folder() -> None:
    """Tells Numba, before it is loaded, where a bundle keeps its loops, unless the person has said where."""
    if named := os.environ.get(_FOLDER):
        # The processes that compile are started in another folder.
        os.environ[_FOLDER] = os.path.abspath(named)
    if named or not is_bundle():
        return
    name = identity()
    for caches in (cache_folder(), *passing_folders()):
        folder = caches / f"compiled-{name}"
        # Both, as whoever owns the upper one could put another in the place of the lower.
        if not make_own(caches) or not make_own(folder):
            continue
        if not (folder / f"loops-{name}").exists():
            try:
                try_room(folder, ROOM)
            except OSError:
                continue
            _copy_system_loops(folder)
        os.environ[_FOLDER] = str(folder)
        _note_use(folder)
        return
    note_problem("no folder for it is yours alone and has 5 MB of room")


def _copy_system_loops(folder: Path) -> None:
    """Copies the loops that were compiled when the program was installed, if they are all there and of this build."""
    name = f"loops-{identity()}"
    listed = read_whole(SYSTEM / name) if is_roots_alone(SYSTEM) else None
    if not listed:
        return
    files = [SYSTEM / Path(os.fsdecode(file)).name for file in listed.split(b"\0")]
    contents = {file.name: content for file in files if (content := read_whole(file))}
    if len(contents) < len(files):
        return
    # One that fails is compiled: the note, which comes last, is not there then.
    with suppress(OSError):
        for file, content in contents.items():
            write_whole(folder / file, content)
        write_whole(folder / name, b"\0".join(os.fsencode(folder / file) for file in contents))


def forget_older() -> None:
    """Removes what other builds and versions have not used for long, once this one has kept its own."""
    note, own = marker(), "[0-9a-f]" * 16
    for old in note.parent.glob(f"loops-{own}"):
        if old != note and _is_old(old):
            with suppress(OSError):
                old.unlink(missing_ok=True)
    # A folder that the person has named may have others of any name beside it.
    if is_bundle() and note.parent.name == f"compiled-{identity()}":
        for folder in note.parent.parent.glob(f"compiled-{own}"):
            if folder != note.parent and _is_old(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _note_use(path: Path) -> None:
    # Reading changes no time of a file or folder that can be relied on.
    with suppress(OSError):
        os.utime(path)


def _is_old(path: Path) -> bool:
    try:
        return path.stat().st_mtime < time.time() - _OLD
    except OSError:
        return False


def note_problem(reason: object) -> None:
    """Notes why a compiled loop could not be kept."""
    _problems.append(" ".join(str(reason).split()))


def problem() -> str | None:
    """Why compiled loops could not be kept; None while they could."""
    return _problems[0] if _problems else None
