"""A Dask cluster for commands that work on many files: its workers must see the same paths."""

# SPDX-License-Identifier: MIT
# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Any, TypeVar

from tokstudio.core.base.errors import ConfigError, CorpusError, TokStudioError
from tokstudio.core.base.machine import processors
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.readers.folders import Entry

if TYPE_CHECKING:
    from distributed import Client, Future, LocalCluster

# distributed is not installed everywhere, and has no complete types.

T = TypeVar("T")

PATIENCE = 0.1  # seconds between two reports of progress
_SECONDS = 6  # to wait for an answer of a scheduler
_UNTIL_WORKERS = 10  # seconds
_TRIM = "MALLOC_TRIM_THRESHOLD_"


def absolute(entry: Entry) -> Entry:
    """The same files, for workers that run in other folders."""
    if entry.size:  # at an address
        return entry
    return replace(entry, path=entry.path.absolute(), shards=tuple(shard.absolute() for shard in entry.shards))


def neighbours(files: Sequence[T], sizes: Sequence[int], most: int) -> Iterator[list[T]]:
    """Neighbouring files together, in at most so many groups of about the same size."""
    middles = [end - size / 2 for end, size in zip(accumulate(sizes), sizes, strict=True)]
    for _, group in groupby(zip(files, middles, strict=True), lambda each: int(each[1] * most / sum(sizes))):
        yield [file for file, _ in group]


def cores_work(client: Client, address: str) -> Work[int]:
    """The cores of all workers; waits for the first of them."""
    for _ in range(round(_UNTIL_WORKERS / PATIENCE)):
        try:
            threads: Any = _in_time(client.nthreads)
        except TimeoutError:
            raise CorpusError(f"--dask {address}: the scheduler no longer answers.") from None
        if threads:
            return sum(threads.values())
        yield Progress("waiting for workers")
        time.sleep(PATIENCE)
    raise CorpusError(f"--dask {address}: the scheduler has no workers; start some.")


def waited_work(future: Future, progress: Callable[[], Progress], task: str) -> Work[Any]:
    """The result of a task; an error of TokStudio that it returns is raised.

    Args:
        future: The task.
        progress: What is told while it runs.
        task: What it does with a file, for an error: "counted".

    Raises:
        CorpusError: Its workers died again and again.
    """
    from distributed import KilledWorker

    while not future.done():
        yield progress()
        time.sleep(PATIENCE)
    try:
        result: Any = future.result()
    except KilledWorker as error:
        raise CorpusError(
            f"The workers that {task} a file died again and again, probably for lack of memory: give smaller files."
        ) from error
    if isinstance(result, TokStudioError):
        raise result
    return result


def local_cluster(workers: int) -> LocalCluster:
    """Starts workers on this computer, with a thread each."""
    from dask import config
    from distributed import LocalCluster

    environment = "distributed.nanny.pre-spawn-environ"
    # With this variable, whatever its value, the C library maps the text of each file anew: a tenth of the time.
    variables = {name: value for name, value in config.get(environment).items() if name != _TRIM}
    with config.set({environment: variables}):
        options: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": logging.ERROR}
        return LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, **options)


def _in_time(ask: Callable[[], T]) -> T:
    """Asks a scheduler; TimeoutError where it says nothing, which `distributed` would wait for without end."""
    answers: queue.SimpleQueue[T | BaseException] = queue.SimpleQueue()

    def put() -> None:
        try:
            answers.put(ask())
        except BaseException as error:
            answers.put(error)

    threading.Thread(target=put, daemon=True).start()
    try:
        answer = answers.get(timeout=_SECONDS)
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(answer, BaseException):
        raise answer
    return answer


@contextmanager
def open_client(address: str) -> Iterator[Client]:
    """Connects with the scheduler at an address; "local" starts workers here, one per core.

    Raises:
        ConfigError: Dask is not installed.
        CorpusError: No scheduler answers.
    """
    try:
        import distributed
    except ImportError as error:
        raise ConfigError("--dask: Dask is not installed; install tokstudio[dask].") from error
    with ExitStack() as opened:
        try:
            if address == "local":
                cluster = opened.enter_context(local_cluster(processors()))
                client = opened.enter_context(distributed.Client(cluster))
            else:
                client = opened.enter_context(_in_time(lambda: distributed.Client(address, timeout=_SECONDS)))
        except Exception as error:  # whatever a server of another protocol causes
            raise CorpusError(f"--dask {address}: no scheduler answered there within {_SECONDS} s.") from error
        yield client
