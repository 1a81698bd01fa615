"""Compiles the loops once an installation, in a process of its own, so that no window ever waits for a compiler.

`python -m tokstudio.core.warm_up` fills Numba's cache; afterwards the loops load in a fraction of a second.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from tokstudio.core import kernels
from tokstudio.core.base.private_folders import try_room
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.subprocesses import is_bundle, own_command, own_folder
from tokstudio.core.kernels.cache import ROOM, are_kept, forget_older, list_kept, note_problem, problem

_lock = threading.Lock()
_ready = threading.Event()  # the loops are loaded in this process
_compiling = threading.Event()  # whoever has the lock waits for the compiler


def prepare_work() -> Work[None]:
    """Makes the loops ready to be called in this process; "compiling" at the first start, "loading" at later ones.

    Safe to be driven in several threads at once: one does the work, the others wait and say what for.
    """
    if _ready.is_set():
        return
    while not _lock.acquire(blocking=False):
        yield Progress("compiling" if _compiling.is_set() else "loading")
        time.sleep(0.01)
    try:
        if not _ready.is_set():
            kept = are_kept()
            if not kept:
                _compiling.set()
                yield Progress("compiling")
                kept = yield from _compile()
            if kept:
                _compiling.clear()
                yield Progress("loading")
            # Those that could not be kept are compiled here.
            exercise()
            _ready.set()
    finally:
        _compiling.clear()
        _lock.release()


def exercise() -> None:
    """Calls every compiled loop once, so that all of them are compiled or loaded."""
    for exercise_part in _PARTS.values():
        exercise_part()


def _exercise_merging() -> None:
    import numpy as np

    from tokstudio.core.corpus.corpus import Corpus
    from tokstudio.core.kernels.merge import squeeze
    from tokstudio.core.kernels.tables import STATE_SIZE
    from tokstudio.core.model.config import TrainingConfig
    from tokstudio.core.training.trainer import train

    # Long enough for a second round, whose symbols are too many for a grid.
    corpus = Corpus.from_texts(["an article, a tail and a tale; " * 40, "", "two"])
    train(corpus, TrainingConfig(vocabulary_size=300, tie_break="bytes"))
    train(corpus, TrainingConfig(min_frequency=900))
    none = np.zeros(1, np.int32)
    squeeze(none, none, np.zeros((1, 4), np.int64), none, np.zeros(STATE_SIZE, np.int64), 1)


def _exercise_text() -> None:
    import numpy as np

    from tokstudio.core.corpus.corpus import Corpus
    from tokstudio.core.formats.common.recover_merges import recover_merges_work
    from tokstudio.core.kernels.encode import take_apart
    from tokstudio.core.kernels.words import gather, spread
    from tokstudio.core.model.config import TrainingConfig
    from tokstudio.core.pretokenization.patterns import cut
    from tokstudio.core.tokenizer.tokenizer import Tokenizer
    from tokstudio.core.training.prepare_corpus import prepare_corpus_work

    corpus = Corpus.from_texts(["an article, <s> a tail and a tale", "", "two"])
    size, specials = 300, ("<s>",)
    for config in (
        TrainingConfig(vocabulary_size=size, special_tokens=specials, pattern="cl100k"),
        TrainingConfig(vocabulary_size=size, special_tokens=specials, base="characters"),
    ):
        finish(prepare_corpus_work(corpus, config))
        tokenizer = Tokenizer(np.array([[97, 98]], np.int32), pattern=config.pattern)
        tokenizer.encode("a tail")
        tokenizer.tokens.length(0)
    take_apart(tokenizer.merges, 0, np.zeros(128, np.int64))
    finish(recover_merges_work([bytes([value]) for value in range(256)]))
    none8, none64, slots = np.zeros(1, np.uint8), np.zeros(1, np.int64), np.zeros(1, np.uint64)
    cut(none8, 0, 1)
    spread(slots, slots)
    gather(none8, none64, none64, none8, none64, 0, 0)


# Compiled side by side: neither calls what the other does, but for a little of the corpus.
_PARTS = {"merging": _exercise_merging, "text": _exercise_text}


def discard_outdated() -> None:
    """Deletes compiled loops older than any source here, but for a bundle's, which are known by all of its sources.

    Numba compares a loop with its own file only: after a change to `heap.py` it would go on to use a `merge` that holds
    the old one.
    """
    folder = None if is_bundle() else _folder()
    newest = max(source.stat().st_mtime for source in Path(kernels.__path__[0]).glob("*.py"))
    for compiled in folder.glob("*.nb[ci]") if folder is not None else ():
        with contextlib.suppress(OSError):
            if compiled.stat().st_mtime < newest:
                compiled.unlink()


def _compile() -> Work[bool]:
    """Runs this module as a program for each part; False where that fails, or nothing can be kept."""
    processes = [
        subprocess.Popen(
            own_command("tokstudio.core.warm_up", part),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=own_folder(),
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        for part in _PARTS
    ]
    try:
        while any(process.poll() is None for process in processes):
            yield Progress("compiling")
            time.sleep(0.02)
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
            assert process.stdin is not None
            process.stdin.close()
    if any(process.returncode != 0 for process in processes):
        return False
    _leave_note()
    return True


def _folder() -> Path | None:
    """Where Numba keeps the loops; None for nowhere."""
    from tokstudio.core.kernels.merge import merge

    return Path(merge.stats.cache_path) if merge.stats.cache_path else None


def _leave_note() -> None:
    folder = _folder()
    # Without a cache folder every start compiles; it is slower and says so, and nothing else is lost.
    with contextlib.suppress(OSError):
        if folder is not None:
            forget_older()
            list_kept(sorted(folder.glob("*.nbc")))


def _can_keep() -> bool:
    """Whether there is a folder for the loops, with room in it."""
    folder = _folder()
    if folder is not None:
        try:
            try_room(folder, ROOM)
        except OSError as error:
            note_problem(error)
    return folder is not None and problem() is None


def _end_with_parent() -> None:
    """Waits for the end of the program that has asked for this, however it ends, and ends this one."""
    # Not by way of a stream, whose lock would be held when the interpreter ends.
    os.read(0, 1)
    os._exit(1)


def main() -> int:
    """Compiles the parts that are named, or all of them; of all it leaves a note. Gives 1 where they are not kept."""
    parts = sys.argv[1:]
    if parts:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    discard_outdated()
    if not _can_keep():
        return 1
    for part in parts or _PARTS:
        _PARTS[part]()
    if problem() is not None:
        return 1
    if not parts:
        _leave_note()
    return 0


if __name__ == "__main__":
    sys.exit(main())
