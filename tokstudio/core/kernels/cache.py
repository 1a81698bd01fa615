"""Where the compiled loops are kept, and why they cannot be where that fails. Numba is not loaded here.

From its sources or a wheel Numba keeps them beside the loops, or in its own folder of the person's caches. A bundle has
a folder of its own for each build, as Numba knows a bundle by its program alone, and that does not hold the loops.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import platformdirs

from tokstudio.core.own_process import is_bundle

_FOLDER = "NUMBA_CACHE_DIR"
_problems: list[str] = []


def identity() -> str:
    """16 hexadecimal digits that change with the loops, their compiler, the interpreter and the place of all this."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    for part in (version("numba"), version("numpy"), sys.version, str(Path(__file__).parent)):
        digest.update(part.encode())
    return digest.hexdigest()[:16]


def marker() -> Path:
    """The file that says that all loops have been compiled and kept."""
    if is_bundle() and (folder := os.environ.get(_FOLDER)):
        return Path(folder) / f"loops-{identity()}"
    return _own_caches() / f"loops-{identity()}"


def choose_folder() -> None:
    """Tells Numba, before it is loaded, where a bundle keeps its loops, unless the person has said where."""
    if not is_bundle() or os.environ.get(_FOLDER):
        return
    for caches in _candidates():
        folder = caches / f"compiled-{identity()}"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # A cache is code that will be run: one that another person has made is none for us.
            if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
                continue
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        os.environ[_FOLDER] = str(folder)
        return


def forget_older() -> None:
    """Removes what other builds and versions have kept, once this one has kept its own."""
    note = marker()
    for old in note.parent.glob("loops-*"):
        if old != note:
            old.unlink(missing_ok=True)
    if is_bundle():
        for folder in note.parent.parent.glob("compiled-*"):
            if folder != note.parent:
                shutil.rmtree(folder, ignore_errors=True)


def note_problem(reason: object) -> None:
    """Notes why a compiled loop could not be kept."""
    _problems.append(" ".join(str(reason).split()))


def problem() -> str | None:
    """Why compiled loops could not be kept; None while they could."""
    return _problems[0] if _problems else None


def _own_caches() -> Path:
    return Path(platformdirs.user_cache_dir("tokstudio", appauthor=False))


def _candidates() -> Iterator[Path]:
    yield _own_caches()
    if os.environ.get("XDG_RUNTIME_DIR"):
        yield Path(os.environ["XDG_RUNTIME_DIR"]) / "tokstudio"
    person = str(os.getuid()) if hasattr(os, "getuid") else "cache"
    yield Path(tempfile.gettempdir()) / f"tokstudio-{person}"
