"""Progress of long work: a generator that yields `Progress` between bounded pieces and returns its result.

The caller may pause, stop or look between two pieces; closing the generator cancels the work.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TypeVar

from tokstudio.core.base.records import dataclass

T = TypeVar("T")


@dataclass(frozen=True)
class Progress:
    """The phase of long work ("reading", "counting"), and its units: done, and in all; 0 where that is unknown."""

    phase: str
    done: int = 0
    total: int = 0
    detail: str = ""  # what is told behind them, such as ", 1,200 tokens/s"


Work = Generator[Progress, None, T]


def part_of(work: Work[T], phase: str, before: int, size: int, total: int) -> Work[T]:
    """Does work that is `size` of `total`, and reports the progress of the whole, which never decreases."""
    done = 0
    while True:
        try:
            progress = next(work)
        except StopIteration as end:
            return end.value
        if progress.total:
            done = max(done, size * progress.done // progress.total)
        yield Progress(phase, before + done, total)


def together(phase: str, works: Iterable[tuple[int, Work[T]]]) -> Work[list[T]]:
    """Does several works, each given with its size, one after another with one progress; returns their results."""
    todo = list(works)
    total, before, results = sum(size for size, _ in todo), 0, list[T]()
    for size, work in todo:
        results.append((yield from part_of(work, phase, before, size, total)))
        before += size
    return results


def finish(work: Work[T]) -> T:
    """Drives `work` to its end and returns its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value
