"""The rows of `variants` for training by other libraries: they train in a process of their own."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from _common import in_fresh_process, seconds, table

T = TypeVar("T")

_ROUNDS = 3
_ALGORITHMS = ("unigram", "wordpiece", "sentencepiece-bpe", "sentencepiece-unigram")


def one_by_library(texts: Mapping[str, str], parallel: Mapping[str, str], algorithm: Any, size: int) -> dict[str, Any]:
    """Trains once, from the texts in memory to the opened tokenizer, and measures the parallel texts."""
    from tokstudio import Corpus, LibraryConfig
    from tokstudio.core.corpus.source import Source
    from tokstudio.core.library_training.train import train_by_library_work

    corpus = Corpus(tuple(Source.from_texts([text], name) for name, text in texts.items()))
    config = LibraryConfig(algorithm=algorithm, vocabulary_size=size)
    took, (most, made) = seconds(lambda: _watched(train_by_library_work(corpus, config)))
    lengths = [len(made.tokenizer.encode(text)) for text in parallel.values()]
    return {
        "seconds": took,
        "memory": most,
        "lengths": lengths,
        "bytes": sum(len(text.encode()) for text in parallel.values()),
        "library": f"{config.library} {made.version}",
    }


def _watched(work: Generator[object, None, T]) -> tuple[int, T]:
    """The most memory that a child process takes during work, 0 where the system does not say; and its result."""
    most = 0
    while True:
        try:
            next(work)
        except StopIteration as end:
            return most, end.value
        most = max(most, *map(_peak, _children()), 0)


def _children() -> list[str]:
    return [number for task in Path("/proc/self/task").glob("*/children") for number in task.read_text().split()]


def _peak(process: str) -> int:
    place = Path("/proc", process)
    with suppress(OSError):
        # Until it runs its own program, it has the memory of this process.
        if b"core.libraries.server" in (place / "cmdline").read_bytes():
            for line in (place / "status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return 1024 * int(line.split()[1])
    return 0


def by_library(script: str, asked: Mapping[str, Any], gini: Any) -> None:
    """Prints their table, with the memory of the libraries' processes."""
    rows: list[list[str]] = []
    for algorithm in _ALGORITHMS:
        task = {**asked, "who": "library", "variant": algorithm}
        results = [made for _ in range(_ROUNDS) if (made := in_fresh_process(script, task)) is not None]
        if results:
            rows.append(
                [
                    f"{results[0]['library']}, {algorithm}",
                    f"{median(result['seconds'] for result in results):.2f} s",
                    f"{median(result['memory'] for result in results) / 1e6:.0f} MB",
                    f"{results[0]['bytes'] / sum(results[0]['lengths']):.3f}",
                    f"{gini(results[0]['lengths']):.4f}",
                ]
            )
    print(f"By other libraries, median of {_ROUNDS}\n")
    table(["way", "time", "memory of its process", "bytes per token", "Gini"], rows)
