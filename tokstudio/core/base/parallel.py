"""Several works at once, each in a thread."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from typing import TypeVar

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Progress, Work

T = TypeVar("T")

_PATIENCE = 0.02  # seconds between two reports of progress


def processors() -> int:
    """How many processors this process may use."""
    # Not every system can restrict a process to some of them.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(
    phase: str,
    works: Sequence[Callable[[], Work[T]]],
    tell: Callable[[int, T | TokStudioError], None],
    threads: int | None = None,
) -> Work[None]:
    """Does works that spend most time without the interpreter's lock, in at most `threads` threads.

    None is one per processor.
    `tell` receives the number of each work with its result, or the error that ended it, in the caller's thread. Closing
    this work ends all of them between two of their reports.
    """
    stop = threading.Event()

    def drive(make: Callable[[], Work[T]]) -> T | TokStudioError | None:
        if stop.is_set():
            return None
        work = make()
        try:
            while not stop.is_set():
                next(work)
        except StopIteration as end:
            return end.value
        except TokStudioError as error:
            return error
        finally:
            work.close()
        return None

    with ThreadPoolExecutor(max(1, min(len(works), threads or processors()))) as pool:
        try:
            futures = dict(enumerate(pool.submit(drive, work) for work in works))
            while futures:
                done = [number for number, future in futures.items() if future.done()]
                for number in done:
                    result = futures.pop(number).result()
                    assert result is not None
                    tell(number, result)
                yield Progress(phase, len(works) - len(futures), len(works))
                if futures and not done:
                    _wait(next(iter(futures.values())))
        finally:
            stop.set()


def _wait(future: Future[T]) -> None:
    with suppress(NotYet):
        future.result(_PATIENCE)
