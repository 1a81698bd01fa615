"""Compiles all loops once per installation, in child processes, so that no window waits for a compiler.

`python -m tokstudio.core.warm_up` fills Numba's cache; at later starts each loop is loaded when it is first called, in
a few milliseconds.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from tokstudio.core import kernels
from tokstudio.core.base.private_folders import check_space
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.subprocesses import end_with_parent, import_folder, is_bundle, module_command
from tokstudio.core.kernels.cache import (
    ROOM,
    are_cached,
    list_cached,
    note_problem,
    own_environment,
    problem,
    remove_older,
)

_BEHIND_OTHERS = 10  # of Unix, where 0 is usual and 19 the lowest priority

_lock = threading.Lock()
_ready = threading.Event()  # no loop needs to be compiled in this process
_background: list[subprocess.Popen[bytes]] = []  # compiles for the next start
_compiling = threading.Event()  # the thread that holds the lock waits for the compiler


def prepare_work() -> Work[None]:
    """Compiles the loops at the first start (phase "compiling"), and loads the compiler's library ("loading").

    Several threads may drive it at once: one does the work, the others wait and report the same phase.
    """
    if _ready.is_set():
        return
    while not _lock.acquire(blocking=False):
        yield Progress("compiling" if _compiling.is_set() else "loading")
        time.sleep(0.01)
    try:
        if not _ready.is_set():
            kept = are_cached()
            if not kept:
                _compiling.set()
                yield Progress("compiling")
                kept = yield from _compile()
            if kept:
                _compiling.clear()
                yield Progress("loading")
                importlib.import_module("tokstudio.core.kernels.compiled")
            else:
                # Loops that could not be cached are compiled here.
                exercise()
            _ready.set()
            _compile_own()
    finally:
        _compiling.clear()
        _lock.release()


def exercise() -> None:
    """Calls every compiled loop once, so that all of them are compiled."""
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
    two = Corpus((*corpus.sources, *Corpus.from_texts(["abab"]).sources))
    train(two, TrainingConfig(vocabulary_size=260, tie_break="first", algorithm="parity", window=2))
    train(corpus, TrainingConfig(vocabulary_size=300, pattern="gpt2", algorithm="boundless")).encode("an article")
    none = np.zeros(1, np.int32)
    squeeze(none, none, np.zeros((1, 4), np.int64), none, np.zeros(STATE_SIZE, np.int64), 1)


def _exercise_text() -> None:
    import numpy as np

    from tokstudio.core.base.arrays import read_only
    from tokstudio.core.corpus.corpus import Corpus
    from tokstudio.core.formats.common.recover_merges import recover_merges_work
    from tokstudio.core.kernels.encode import add_tokens, take_apart
    from tokstudio.core.kernels.words import add_rows, gather, partition, spread, weigh
    from tokstudio.core.model.config import TrainingConfig
    from tokstudio.core.pretokenization.patterns import cut
    from tokstudio.core.tokenizer.tokenizer import Tokenizer
    from tokstudio.core.training.prepare_corpus import prepare_corpus_work
    from tokstudio.core.training.trainer import train

    corpus = Corpus.from_texts(["an article, <s> a tail and a tale", "", "two"])
    size, specials = 300, ("<s>",)
    for config in (
        TrainingConfig(vocabulary_size=size, special_tokens=specials, pattern="cl100k"),
        TrainingConfig(vocabulary_size=size, special_tokens=specials, base="characters"),
    ):
        finish(prepare_corpus_work(corpus, config))
        tokenizer = Tokenizer(np.array([[97, 98], [98, 99], [99, 100]], np.int32), pattern=config.pattern)
        tokenizer.encode("a ")  # by merging
        tokenizer.encode("a tail")  # by longest matches, without a pattern
        tokenizer.encode("a tail " * 40)  # as a longer text
        tokenizer.with_dropout(0.5).encode("a tail")
        tokenizer.tokens.length(0)
    # Longer than a short word, too.
    removing = train(
        Corpus.from_text("abc abd ab " * 9), TrainingConfig(vocabulary_size=260, algorithm="picky", threshold=0.1)
    )
    removing.encode("abc abd ab" * 9)
    take_apart(tokenizer.merges, tokenizer.merge_results, np.zeros(512, np.int64))
    finish(recover_merges_work([bytes([value]) for value in range(256)]))
    none8, none64, slots = np.zeros(1, np.uint8), np.zeros(1, np.int64), np.zeros((1, 2), np.uint64)
    cut(none8, 0, 1)
    spread(slots, slots)
    none32, fixed32, fixed64 = np.zeros(0, np.int32), read_only(np.zeros(0, np.int32)), read_only(np.zeros(0, np.int64))
    gather(read_only(none8), fixed64, fixed64, none8, none64, 0, 0)
    add_rows(fixed32, fixed64, fixed64, none64, none64, none32, 0)
    partition(read_only(none8), fixed64, 1, none32)
    weigh(fixed32, fixed32, fixed64, none64, none64, none64)
    add_tokens(none32, none32, none64, np.zeros(0, np.uint32), none64, np.zeros((1, 1), np.int64))


# The two parts are compiled side by side: they share few loops.
_PARTS = {"merging": _exercise_merging, "text": _exercise_text}


def discard_outdated() -> None:
    """Deletes compiled loops that are older than any source of the kernels; a bundle's are keyed by all sources.

    Numba compares a loop with its own source file only: after a change to `heap.py` it would still use a `merge` that
    was compiled with the old one.
    """
    if is_bundle() or (folder := _folder()) is None:
        return
    newest = max(source.stat().st_mtime for source in Path(kernels.__path__[0]).glob("*.py"))
    for compiled in folder.glob("*.nb[ci]"):
        with contextlib.suppress(OSError):
            if compiled.stat().st_mtime < newest:
                compiled.unlink()


def _compile() -> Work[bool]:
    """Compiles each part in a child process; False where one fails or the cache cannot be written."""
    processes = [
        subprocess.Popen(
            module_command("tokstudio.core.warm_up", part),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=import_folder(),
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
            process.kill()  # does nothing to a process that has ended
            process.communicate()
    if any(process.returncode != 0 for process in processes):
        return False
    _leave_note()
    return True


def _compile_own() -> None:
    """Where shipped loops are used: has those of this processor compiled for the next start, in the background."""
    environment = own_environment()
    if environment is None:
        return
    with contextlib.suppress(OSError):
        # Its standard input closes with this process, and ends it.
        _background.append(
            subprocess.Popen(
                module_command("tokstudio.core.warm_up", *_PARTS),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=import_folder(),
                env=environment,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0)
                | getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0),
            )
        )


def _folder() -> Path | None:
    """Numba's cache folder; None where there is none."""
    from tokstudio.core.kernels.merge import merge

    return Path(merge.stats.cache_path) if merge.stats.cache_path else None


def _leave_note() -> None:
    folder = _folder()
    # Without a cache folder every start compiles.
    with contextlib.suppress(OSError):
        if folder is not None:
            remove_older()
            list_cached(sorted(folder.glob("*.nbc")))


def _can_keep() -> bool:
    """Whether there is a cache folder with enough space."""
    folder = _folder()
    if folder is not None:
        try:
            check_space(folder, ROOM)
        except OSError as error:
            note_problem(error)
    return folder is not None and problem() is None


def main() -> int:
    """Compiles the named parts, or all; records if it was all. Returns 1 where they cannot be cached.

    All by their names are compiled in the background.
    """
    parts = sys.argv[1:]
    if parts:
        threading.Thread(target=end_with_parent, daemon=True).start()
    if len(parts) == len(_PARTS) and hasattr(os, "nice"):
        os.nice(_BEHIND_OTHERS)
    discard_outdated()
    if not _can_keep():
        return 1
    for part in parts or _PARTS:
        _PARTS[part]()
    if problem() is not None:
        return 1
    if len(parts or _PARTS) == len(_PARTS):
        _leave_note()
    return 0


if __name__ == "__main__":
    sys.exit(main())
