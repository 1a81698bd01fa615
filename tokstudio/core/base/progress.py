"""Progress of long work: a generator that yields `Progress` between bounded pieces and returns its result.

The caller may pause, stop or look between two pieces; closing the generator cancels the work.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of long work.

    Attributes:
        phase: The current activity as a present participle: "reading", "counting", "merging".
        done: Units done; never more than `total`.
        total: Units in all, or 0 where that is unknown.
    """

    phase: str
    done: int = 0
    total: int = 0


Work = Generator[Progress, None, T]


def together(phase: str, works: Iterable[tuple[int, Work[T]]]) -> Work[list[T]]:
    """Does several works one after another, with one progress over all that never decreases.

    Args:
        phase: The phase for the progress.
        works: Each work with its size, such as bytes.

    Returns:
        The result of each work.
    """
    todo = list(works)
    total, before, results = sum(size for size, _ in todo), 0, list[T]()
    for size, work in todo:
        done = 0
        while True:
            try:
                progress = next(work)
            except StopIteration as end:
                results.append(end.value)
                break
            if progress.total:
                done = max(done, size * progress.done // progress.total)
            yield Progress(phase, before + done, total)
        before += size
    return results


def finish(work: Work[T]) -> T:
    """Drives `work` to its end and returns its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value
