"""Compiles the loops once an installation, in a process of its own, so that no window ever waits for a compiler.

`python -m tokstudio.core.kernels.prepare` fills Numba's cache; afterwards the loops load in a fraction of a second.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
import hashlib
import subprocess
import sys
import threading
import time
from importlib.metadata import version
from pathlib import Path

import platformdirs

from tokstudio.core.progress import Progress, Work

_lock = threading.Lock()
_ready = threading.Event()  # the loops are loaded in this process


def prepare_work() -> Work[None]:
    """Makes the loops ready to be called in this process; "compiling" at the first start, "loading" at later ones.

    Safe to be driven in several threads at once: one does the work, the others wait.
    """
    if _ready.is_set():
        return
    while not _lock.acquire(blocking=False):
        yield Progress("loading")
        time.sleep(0.01)
    try:
        if not _ready.is_set():
            if not _marker().exists():
                yield Progress("compiling")
                yield from _compile()
            yield Progress("loading")
            exercise()
            _ready.set()
    finally:
        _lock.release()


def exercise() -> None:
    """Calls every compiled loop once, so that all of them are compiled or loaded."""
    from tokstudio.core.corpus import Corpus
    from tokstudio.core.run import TrainingConfig
    from tokstudio.core.trainer import train

    corpus = Corpus.from_texts(["an article, a tail and a tale", "", "two"])
    for rule in ("first", "bytes"):
        tokenizer = train(corpus, TrainingConfig(vocabulary_size=300, tie_break=rule))
        tokenizer.encode("a tail")
        tokenizer.tokens.length(0)
    train(corpus, TrainingConfig(min_frequency=9))


def discard_outdated() -> None:
    """Deletes compiled loops older than any source here.

    Numba compares a loop with its own file only: after a change to `heap.py` it would go on to use a `merge` that holds
    the old one.
    """
    from tokstudio.core.kernels.merge import merge

    cache: str | None = merge.stats.cache_path
    newest = max(source.stat().st_mtime for source in Path(__file__).parent.glob("*.py"))
    for compiled in Path(cache).glob("*.nb[ci]") if cache else ():
        with contextlib.suppress(OSError):
            if compiled.stat().st_mtime < newest:
                compiled.unlink()


def _compile() -> Work[None]:
    """Runs this module as a program and waits for it; where that fails, the loops are compiled in this process."""
    process = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )
    try:
        while process.poll() is None:
            yield Progress("compiling")
            time.sleep(0.02)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _marker() -> Path:
    """The file that says: for these loops, compiler, interpreter and place, the cache is filled."""
    identity = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        identity.update(source.read_bytes())
    for part in (version("numba"), version("numpy"), sys.version, str(Path(__file__).parent)):
        identity.update(part.encode())
    return Path(platformdirs.user_cache_dir("tokstudio", appauthor=False)) / f"loops-{identity.hexdigest()[:16]}"


def main() -> None:
    """Compiles, and leaves a note of it."""
    discard_outdated()
    exercise()
    marker = _marker()
    try:
        marker.parent.mkdir(parents=True, exist_ok=True)
        for old in marker.parent.glob("loops-*"):
            old.unlink(missing_ok=True)
        marker.write_text("Numba's cache holds TokStudio's compiled loops.\n")
    except OSError:
        # Without a cache folder every start compiles; it is slower and says so, and nothing else is lost.
        return


if __name__ == "__main__":
    main()
