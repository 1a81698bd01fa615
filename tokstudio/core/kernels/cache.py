"""Where compiled loops are cached, and the reason where they cannot be. Does not load Numba.

Each user has a private folder for them in the cache folder of TokStudio. Its name changes with the sources of the
loops, the compiler and the interpreter, so that stale loops are never loaded, but not with the place of the
installation. A process for which that folder is not complete uses the loops that the installation has, for a common
kind of processor. A bundle for Linux has all its loops in libraries (`linked.py`), and compiles and caches none.

A damaged loop is not run, but compiled again; where loops are linked, an error says so.
"""

# SPDX-License-Identifier: MIT
# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false
from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import time
from contextlib import suppress
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from typing import Any

from tokstudio.core.base.private_folders import (
    cache_folder,
    check_space,
    make_private,
    note_use,
    read_whole,
    session_folders,
    write_whole,
)
from tokstudio.core.base.records import dataclass
from tokstudio.core.kernels import linked

# --- The loops that a bundle or a wheel brings with it, compiled for a common kind of processor -----------------------
# They were compiled when it was made (`packaging/bundling.py`, `packaging/build_loops.py`). A process that finds no
# loops of its own computer uses them, if its processor has all that they need. Does not load Numba.

# For each machine: LLVM's name of the processor, a feature that each of them has, and what it needs.
_X86 = (
    "x86-64-v3",
    "+sse2",
    frozenset(("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sahf", "xsave"))
    | {"sse3", "sse4.1", "sse4.2", "ssse3"},
)
_ARM = "generic", "+neon", frozenset[str]()
_TARGETS = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}
_NAME, _FEATURES = "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"


def settings() -> dict[str, str]:
    """The variables of the environment with which Numba compiles for the common kind; {} for an unknown machine."""
    target = _TARGETS.get(platform.machine().lower())
    # Without any feature the variable would be empty, and Windows gives no empty variable to a child process.
    return {} if target is None else {_NAME: target[0], _FEATURES: target[1]}


def are_compiled_here() -> bool:
    """Whether this process compiles for the common kind."""
    chosen_settings = settings()
    return bool(chosen_settings) and all(os.environ.get(name) == value for name, value in chosen_settings.items())


def common_kinds() -> list[tuple[str, ...]]:
    """The settings for which this processor has loops of a common kind, those of the fastest first."""
    return [linked.LARGER] * linked.has_larger(folder()) + [tuple(settings().values())]


def common_keys(key: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """The keys of a loop for common kinds, the fastest first, from Numba's own: signature, target and code."""
    # The target names the version of macOS too, which may be another one than where they were compiled.
    return [(key[0], kind, *key[2:]) for kind in common_kinds()]


def folder() -> Path:
    """The folder of these loops, which may not be there."""
    return Path(__file__).parents[2] / "loops"


def can_run() -> bool:
    """Whether this processor has all that the loops need, and the user has not named another one."""
    target = _TARGETS.get(platform.machine().lower())
    if target is None or _NAME in os.environ or _FEATURES in os.environ:
        return False
    return target[2] <= features()


def features() -> set[str]:
    """The features of this processor, by LLVM's names."""
    # Half of the compiler: it is asked only where no loops of this computer exist.
    from llvmlite import binding

    return {name for name, has in binding.get_host_cpu_features().items() if has}


ROOM = 16 << 20  # bytes: the size of all loops for two processors, and a little more
#: Numba's variable for a folder that the user names.
FOLDER = "NUMBA_CACHE_DIR"
#: Where this variable is set, the loops of the installation are not used.
OWN_ONLY = "TOKSTUDIO_OWN_LOOPS"
_OLD = 30 * 86_400  # seconds; two versions that are used side by side must not delete each other's loops
_problems: list[str] = []


@dataclass(frozen=True)
class Places:
    """The folders of the loops.

    Attributes:
        own: Where this process caches what it compiles; None where it cannot.
        complete: The folder with all loops that is read first; None where not all are cached.
        common: Whether those are for a common kind of processor.
    """

    own: Path | None
    complete: Path | None = None
    common: bool = False


@cache
def places() -> Places:
    """The folders that this process uses to its end, even if loops are compiled meanwhile."""
    return choose_places()


def choose_places() -> Places:
    """Chooses the folders, and updates the time of last use of the own one."""
    if linked.is_linked(folder()):
        return Places(None, folder(), common=True)
    own = _own_folder()
    if own is not None:
        note_use(own)
        if is_complete(own):
            note_use(own / _list_name())
            return Places(own, own)
    if not os.environ.get(OWN_ONLY) and is_complete(folder()) and can_run():
        return Places(own, folder(), common=True)
    return Places(own)


def _own_folder() -> Path | None:
    """The folder that the user names, or else the first that is private and has room."""
    if named := os.environ.get(FOLDER):
        return Path(named).absolute()
    for caches in (cache_folder(), *session_folders()):
        folder = caches / f"compiled-{identity()}"
        # Both, because the owner of the upper folder could replace the lower one.
        if not make_private(caches) or not make_private(folder):
            continue
        if not (folder / _list_name()).exists():
            try:
                check_space(folder, ROOM)
            except OSError:
                continue
        return folder
    note_problem("no folder for it is yours alone and has 16 MB of room")
    return None


@cache
def identity() -> str:
    """16 hexadecimal digits that identify the loops, the compiler, and the kind of interpreter and machine."""
    from importlib.metadata import version
    from importlib.resources import files

    digest = hashlib.sha256()
    sources = (entry for entry in files("tokstudio.core.kernels").iterdir() if entry.name.endswith(".py"))
    for source in sorted(sources, key=lambda entry: entry.name):
        digest.update(source.read_bytes())
    versions = (version(name) for name in ("numba", "llvmlite", "numpy"))
    for part in (*versions, sys.implementation.name, EXTENSION_SUFFIXES[0], MAGIC_NUMBER, platform.machine()):
        digest.update(os.fsencode(part) + b"\0")
    return digest.hexdigest()[:16]


def _list_name() -> str:
    return f"loops-{identity()}"


def is_complete(folder: Path) -> bool:
    """Whether a folder has a list of all loops, and each is there and undamaged."""
    listed = read_whole(folder / _list_name())
    return bool(listed) and all(read_whole(folder / os.fsdecode(name)) for name in listed.split(b"\0"))


def list_all(folder: Path) -> None:
    """Writes the list of all loops, which are in a folder; raises OSError where it cannot be written."""
    names = sorted(file.name for file in folder.glob("*.nbc") if read_whole(file))
    write_whole(folder / _list_name(), b"\0".join(map(os.fsencode, names)))


def remove_older(folder: Path) -> None:
    """Removes files beside a folder or in it that belong to other versions and have not been used for long."""
    own = "[0-9a-f]" * 16
    for old in folder.glob(f"loops-{own}"):
        if old.name != _list_name() and _is_old(old):
            with suppress(OSError):
                old.unlink(missing_ok=True)
    # A folder that the user has chosen may be among other files.
    if folder.name == f"compiled-{identity()}":
        for other in folder.parent.glob(f"compiled-{own}"):
            if other != folder and _is_old(other):
                shutil.rmtree(other, ignore_errors=True)


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
