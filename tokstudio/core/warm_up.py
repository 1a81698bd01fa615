"""Compiles all loops once for each user, in child processes, so that no window waits for a compiler.

At a first start with the loops of a bundle or a wheel, those for this processor are compiled in the background. Without
them, the loops that every training needs are compiled first, and those of other algorithms follow in the background.
`python -m tokstudio.core.warm_up` compiles all of them, with a bar in a terminal, and with `common` those for a common
kind of processor. At later starts each loop is loaded when it is first called, in a few milliseconds.
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
from collections.abc import Iterable

from tokstudio.core.base.private_folders import cache_folder, check_space
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.subprocesses import end_with_parent, start_process
from tokstudio.core.kernels import cache, linked
from tokstudio.core.kernels.cache import FOLDER, OWN_ONLY, ROOM, list_all, note_problem, places, problem, remove_older

COMMON = "common"
#: The compiled loops of what every training needs, and of all parts.
FIRST_LOOPS, ALL_LOOPS = 88, 190
_PATIENCE = 0.02  # seconds between two reports of progress
_BAR = 40  # characters
_BEHIND_OTHERS = 10  # of Unix, where 0 is usual and 19 the lowest priority

_lock = threading.Lock()
_ready = threading.Event()  # no loop needs to be compiled in this process
_rest: list[subprocess.Popen[bytes]] = []  # compiles the loops of other algorithms
_background: list[subprocess.Popen[bytes]] = []  # compiles for the next start
_compiling = threading.Event()  # the thread that holds the lock waits for the compiler


def prepare_work(every: bool = False) -> Work[None]:
    """Compiles the loops at the first start (phase "compiling", in loops), and loads the compiler ("loading").

    Several threads may drive it at once: one does the work, the others wait and report the same phase. With `every`, it
    waits for the loops of all algorithms, not just for those of plain BPE.
    """
    if not _ready.is_set():
        yield from _ready_work()
    while every and any(process.poll() is None for process in _rest):
        yield _compiled(ALL_LOOPS)
        time.sleep(_PATIENCE)


def _compiled(total: int) -> Progress:
    """How many of some loops are cached."""
    own = places().own
    done = len(list(own.glob("*.nbc"))) if own is not None else 0
    return Progress("compiling", min(done, total), total)


def _ready_work() -> Work[None]:
    while not _lock.acquire(blocking=False):
        yield _compiled(FIRST_LOOPS) if _compiling.is_set() else Progress("loading")
        time.sleep(0.01)
    try:
        if not _ready.is_set():
            here = places()
            kept = here.complete is not None
            if not kept:
                _compiling.set()
                yield _compiled(FIRST_LOOPS)
                kept = yield from _compile()
            if kept:
                _compiling.clear()
                yield Progress("loading")
                importlib.import_module("tokstudio.core.kernels.compiled")
            else:
                # Loops that could not be cached are compiled here.
                exercise(_FIRST)
            _ready.set()
            if here.common and here.own is not None:
                _background.extend(_compiling_all())
            elif linked.is_linked(cache.folder()):
                # Those of an earlier version, which had a compiler.
                remove_older(cache_folder() / f"compiled-{cache.identity()}")
    finally:
        _compiling.clear()
        _lock.release()


def exercise(parts: Iterable[str] | None = None) -> None:
    """Calls the compiled loops of some parts once, or of all, so that they are compiled."""
    for part in _PARTS if parts is None else parts:
        _PARTS[part]()


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

    from tokstudio.core.algorithms.common.prepare_corpus import prepare_corpus_work
    from tokstudio.core.base.arrays import read_only
    from tokstudio.core.comparison.texts import word_types_work
    from tokstudio.core.corpus.corpus import Corpus
    from tokstudio.core.formats.common.recover_merges import recover_merges_work
    from tokstudio.core.kernels.encode import add_tokens, count_tokens, take_apart
    from tokstudio.core.kernels.known_words import spread_slots
    from tokstudio.core.kernels.words import enter, gather, join_rows, partition, spread, take_rows, weigh
    from tokstudio.core.model.config import TrainingConfig
    from tokstudio.core.pretokenization.patterns import cut, splitter
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

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
        tokenizer.tokens.length(0)
        tokenizer.decode([97] * 1000)  # by a loop
    take_apart(tokenizer.merges, tokenizer.merge_results, np.zeros(512, np.int64))
    # Merges of which the first joins what the others make.
    finish(recover_merges_work([*(bytes([value]) for value in range(256)), b"abcd", b"ab", b"cd"]))
    Tokenizer(np.array([[257, 258], [97, 98], [99, 100]], np.int32), checked=True)
    finish(word_types_work(corpus.sources[0]))
    splitter("gpt2").split("a tail")
    none8, none64, slots = np.zeros(1, np.uint8), np.zeros(1, np.int64), np.zeros((1, 2), np.uint64)
    cut(none8, 0, 1)
    spread(slots, slots)
    spread_slots(np.zeros((1, 4), np.uint64), np.zeros((1, 4), np.uint64))
    none32, fixed32, fixed64 = np.zeros(0, np.int32), read_only(np.zeros(0, np.int32)), read_only(np.zeros(0, np.int64))
    gather(read_only(none8), fixed64, fixed64, none8, none64, 0, 0)
    enter(none8, none64, slots, 0, 0)
    join_rows(fixed32, none64, fixed64, fixed32, none64, fixed64, none32, none32, none64, none64)
    take_rows(none32, none64, none64, none64, none64)
    partition(read_only(none8), fixed64, 1, none32)
    weigh(fixed32, fixed32, fixed64, none64, none64, none64)
    none_unsigned = np.zeros(0, np.uint32)
    add_tokens(none32, none32, none64, none_unsigned, none64, np.zeros((1, 1), np.int64))
    count_tokens(none_unsigned, 1, none64)


def _exercise_algorithms() -> None:
    import numpy as np

    from tokstudio.core.algorithms.picky.counts import picky_changes_work
    from tokstudio.core.analysis.why_this_merge import why_work
    from tokstudio.core.corpus.corpus import Corpus
    from tokstudio.core.kernels.picky_tables import index_pairs, index_tokens
    from tokstudio.core.model.algorithms import Boundless, ParityAware, Picky, WholeCharacters
    from tokstudio.core.model.config import TrainingConfig
    from tokstudio.core.model.picky import falls_of
    from tokstudio.core.training.trainer import train

    corpus = Corpus.from_text("an article, a tail and a tale; " * 40)
    two = Corpus((*corpus.sources, *Corpus.from_text("abab").sources))
    parity = train(two, TrainingConfig(vocabulary_size=260, algorithm=ParityAware(window=2)))
    joining = train(corpus, TrainingConfig(vocabulary_size=300, pattern="gpt2", algorithm=Boundless()))
    joining.encode("an article")
    train(corpus, TrainingConfig(vocabulary_size=260)).with_dropout(0.5).encode("a tail")
    # Words, and a text that is longer than a short word.
    some = Corpus.from_text("abc abd ab " * 9)
    for pattern in ("none", "gpt2"):
        config = TrainingConfig(vocabulary_size=260, pattern=pattern, algorithm=Picky(threshold=0.1))
        picky = train(some, config)
        picky.encode("abc abd ab" * 9)
        finish(picky_changes_work(picky, some.sources))
    whole_text = Corpus.from_text("äöäö" * 9)
    whole = train(whole_text, TrainingConfig(vocabulary_size=260, algorithm=WholeCharacters()))
    for corpus, run in ((two, parity.run), (some, picky.run), (whole_text, whole.run)):
        assert run is not None
        finish(why_work(corpus, run, 1))
    none32, none = np.zeros(1, np.int32), np.zeros((1, 12), np.int64)
    index_tokens(none, none32, 0, 0)
    index_pairs(none, none32, 0)
    for base in (1 << 8, 1 << 16, 1 << 20):
        falls_of(np.zeros((0, 2), np.int32), np.zeros((0, 4), np.int64), base)


def _exercise_rules() -> None:
    from tokstudio.core.corpus.corpus import Corpus
    from tokstudio.core.corpus.rules import RULES, marks_work

    # Enough lines for a larger table of hashes, a document in several parts, and one that is nearly the same.
    lines = "".join(f"a line of text with the number {number}\n" for number in range(50_000))
    corpus = Corpus.from_texts(["<p>", lines, lines + "and another"])
    for rule in RULES:
        finish(marks_work(corpus, rule))


def _exercise_exploration() -> None:
    import numpy as np

    from tokstudio.core.corpus.corpus import Corpus
    from tokstudio.core.exploration.exploration import explore
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

    tokenizer = Tokenizer(np.array([[97, 98]], np.int32), pattern="cl100k")
    here = explore(Corpus.from_texts(["an article, a tail and a tale", "", "two"]), tokenizer)
    _ = here.tokens, here.documents, here.search(token=97), here.search(regex="tail", whole_words=True)
    finish(here.search(text="TAIL", case=False).order_work("left"))
    here.boilerplate()


def _exercise_inference() -> None:
    import numpy as np

    from tokstudio.core.analysis.infer_mixture.pair_counts import (
        CandidateCounts,
        candidate_words_work,
        pair_records_work,
    )
    from tokstudio.core.base.arrays import read_only
    from tokstudio.core.corpus.corpus import Corpus
    from tokstudio.core.kernels.pair_history import find_violations
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

    tokenizer = Tokenizer(np.array([[97, 98]], np.int32))
    words = finish(candidate_words_work(tokenizer, [Corpus.from_text("ab").sources], 257, 1))
    counts = CandidateCounts(words, finish(pair_records_work(words, tokenizer.merges, tokenizer.merge_results, 1)))
    totals = read_only(finish(counts.totals_work()))
    ids, number, none = read_only(np.zeros(1, np.int32)), np.zeros(1, np.int32), read_only(np.zeros(1))
    places = read_only(np.zeros((1, 1), np.int32))
    find_violations(totals, none, ids, none, ids, ids, none, places, 0.0, 0, 0, number, number, np.zeros(1))


_PARTS = {
    "merging": _exercise_merging,
    "text": _exercise_text,
    "algorithms": _exercise_algorithms,
    "rules": _exercise_rules,
    "exploration": _exercise_exploration,
    "inference": _exercise_inference,
}
# What every training needs; compiled side by side, as they share few loops.
_FIRST = "merging", "text"


def _compile() -> Work[bool]:
    """Compiles what every training needs in child processes, and has the rest compiled in the background.

    False where one fails or the loops cannot be cached.
    """
    if places().own is None:
        return False
    if not (yield from _compile_parts(_FIRST, FIRST_LOOPS)):
        return False
    _rest.extend(_compiling_all())
    return True


def _compile_parts(parts: Iterable[str], loops: int) -> Work[bool]:
    """Compiles parts in a process each; returns whether all loops could be cached."""
    processes = [_start(part) for part in parts]
    try:
        while any(process.poll() is None for process in processes):
            yield _compiled(loops)
            time.sleep(_PATIENCE)
    finally:
        for process in processes:
            process.kill()  # does nothing to a process that has ended
            process.communicate()
    return all(process.returncode == 0 for process in processes)


def _compiling_all() -> list[subprocess.Popen[bytes]]:
    """A process of low priority that compiles what is not cached yet, and lists all; none where it cannot start."""
    with contextlib.suppress(OSError):
        return [_start(*_PARTS, priority=getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0))]
    return []


def _start(*parts: str, priority: int = 0) -> subprocess.Popen[bytes]:
    """A process that compiles parts into the own folder; it ends when this one ends, which closes its input."""
    command, variables = ("tokstudio.core.warm_up", *parts), {FOLDER: str(places().own)}
    return start_process(command, variables, False, priority)


def _leave_note() -> None:
    # Without a list, the next start compiles again what it does not find.
    with contextlib.suppress(OSError):
        if (folder := places().own) is not None:
            remove_older(folder)
            list_all(folder)


def _can_keep() -> bool:
    """Whether there is a folder for the loops with enough space."""
    folder = places().own
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            check_space(folder, ROOM)
        except OSError as error:
            note_problem(error)
    return folder is not None and problem() is None


def main() -> int:
    """Compiles the named parts, or all; lists them if it was all. Returns 1 where they cannot be cached.

    All by their names are compiled in the background. The name `common` stands for all, for a common kind of processor;
    where that is not known, or the loops are linked, nothing is compiled.
    """
    if linked.is_linked(cache.folder()):
        return 0
    os.environ[OWN_ONLY] = "1"
    parts = sys.argv[1:]
    if parts == [COMMON]:
        if not cache.settings():
            return 0
        os.environ.update(cache.settings())
        parts = []
    if not parts and (own := places().own) is not None and cache.is_complete(own):
        return 0
    if parts:
        threading.Thread(target=end_with_parent, daemon=True).start()
    if len(parts) == len(_PARTS) and hasattr(os, "nice"):
        os.nice(_BEHIND_OTHERS)
    if not _can_keep():
        return 1
    for part in parts:
        _PARTS[part]()
    if problem() is not None or (not parts and not _compile_all()):
        return 1
    if len(parts or _PARTS) == len(_PARTS):
        _leave_note()
    return 0


def _compile_all() -> bool:
    """Compiles all parts, with a bar in a terminal; returns whether all loops could be cached."""
    work = _compile_parts(_PARTS, ALL_LOOPS)
    # A program without a console has no such stream.
    terminal = sys.stderr if sys.stderr and sys.stderr.isatty() else None  # pyright: ignore[reportUnnecessaryComparison]
    while True:
        try:
            progress = next(work)
        except StopIteration as end:
            if terminal is not None:
                terminal.write("\n")
            return end.value
        if terminal is not None:
            filled = _BAR * progress.done // progress.total
            bar = "#" * filled + "." * (_BAR - filled)
            terminal.write(f"\r[{bar}] {progress.done} of {progress.total} loops")
            terminal.flush()


if __name__ == "__main__":
    sys.exit(main())
