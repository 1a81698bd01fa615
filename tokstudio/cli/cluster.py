"""A Dask cluster for commands that work on many files: its workers must see the same paths."""

# SPDX-License-Identifier: MIT
# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future as Answer
from concurrent.futures import wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Any, TypeVar

from tokstudio.core.base.errors import ConfigError, CorpusError, TokStudioError
from tokstudio.core.base.machine import processors
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.readers.folders import Entry
from tokstudio.version import __version__

if TYPE_CHECKING:
    from distributed import Client, Future, LocalCluster

# distributed is not installed everywhere, and has no complete types.

T = TypeVar("T")

PATIENCE = 0.1  # seconds between two reports of progress
LOOK = 10.0  # seconds between two looks at what the workers do
MINUTES = 10  # in which a cluster must do something
_SECONDS = 6  # to wait for an answer of a scheduler
_UNTIL_WORKERS = 10  # seconds
_MISSING = ("ModuleNotFoundError", "ImportError", "AttributeError")  # an error of a worker may have it in its text
_TRIM = "MALLOC_TRIM_THRESHOLD_"


@dataclass(frozen=True, eq=False)
class Cluster:
    """A connection with a scheduler, its address, and the minutes in which the workers must do something; 0: never."""

    client: Client
    address: str
    minutes: float = MINUTES


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


def cores_work(cluster: Cluster, task: Callable[..., object]) -> Work[int]:
    """The cores of all workers; waits for the first of them.

    Raises:
        CorpusError: The scheduler does not answer, there are no workers, or one cannot load the task.
    """
    client, address = cluster.client, cluster.address
    for _ in range(round(_UNTIL_WORKERS / PATIENCE)):
        try:
            threads: Any = _in_time(client.nthreads)
        except TimeoutError:
            raise CorpusError(f"--dask {address}: the scheduler no longer answers.") from None
        if threads:
            yield from _checked_work(cluster, task)
            return sum(threads.values())
        yield Progress("waiting for workers")
        time.sleep(PATIENCE)
    raise CorpusError(f"--dask {address}: the scheduler has no workers; start some.")


def _checked_work(cluster: Cluster, task: Callable[..., object]) -> Work[None]:
    """Asks all workers for their version of TokStudio: one that cannot load a task would end, without a word."""
    ask = partial(cluster.client.run, _version, task, on_error="return")
    try:
        versions: dict[str, object] = yield from _answered_work(cluster, ask, lambda: Progress("asking the workers"))
    except OSError:  # the scheduler is gone: that is met later, as what a worker died of
        return
    for worker, version in versions.items():
        if any(name in repr(version) for name in _MISSING):
            reason = f"cannot load it: {version}"
        elif isinstance(version, str) and version != __version__:
            reason = f"has {version}"
        else:
            continue
        raise CorpusError(
            f"--dask {cluster.address}: install TokStudio {__version__} everywhere, as here; "
            f"the worker {worker} {reason}"
        )


def _version(_task: object) -> str:
    return __version__


def waited_work(cluster: Cluster, future: Future, progress: Callable[[], Progress], task: str) -> Work[Any]:
    """The result of a task; an error of TokStudio that it returns is raised.

    Args:
        cluster: Where it runs.
        future: The task.
        progress: What is told while it runs.
        task: What it does with a file, for an error: "counted".

    Raises:
        CorpusError: Its workers died again and again, the cluster does nothing, or the scheduler is gone.
    """
    from distributed import CancelledError, KilledWorker

    try:
        result: Any = yield from _answered_work(cluster, future.result, progress)
    except KilledWorker as error:
        raise CorpusError(
            f"The workers that {task} a file died again and again, probably for lack of memory: give smaller files."
        ) from error
    except CancelledError as error:
        raise CorpusError(f"--dask {cluster.address}: the scheduler ended, or has forgotten the work.") from error
    if isinstance(result, TokStudioError):
        raise result
    return result


def _answered_work(cluster: Cluster, ask: Callable[[], Any], progress: Callable[[], Progress]) -> Work[Any]:
    """What a cluster answers, for which `distributed` may wait without end, also once a result is said to be there."""
    answer, watch = _asked(ask), _Watch(cluster)
    while answer not in wait([answer], PATIENCE).done:
        yield replace(progress(), detail=watch.remark())
    return answer.result()


class _Watch:
    """Looks now and then whether a cluster does anything while one waits for it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._signs = cluster, Signs()
        self._since = self._looked = time.monotonic()
        self._look: Answer[Any] | None = None
        self._workers: Mapping[str, Any] | None = {}

    def remark(self) -> str:
        """What is told behind the progress; raises CorpusError once nothing was done for too long."""
        now = time.monotonic()
        if self._look is None:
            if now - self._looked >= LOOK:
                ask = partial(self._cluster.client.scheduler_info, n_workers=-1)
                self._look, self._looked = _asked(ask), now
        elif self._look.done() or now - self._looked >= _SECONDS:
            self._judge(self._look, now)
        quiet = now - self._since
        return f", {_reason(self._workers)} for {quiet:,.0f} s" if quiet >= 3 * LOOK else ""

    def _judge(self, look: Answer[Any], now: float) -> None:
        self._workers = None
        if look.done():
            self._look = None
            with suppress(Exception):  # whatever a scheduler that is gone causes
                self._workers = look.result()["workers"]
        if self._workers is not None and self._signs.changed(self._workers):
            self._since = now
        elif 0 < 60 * self._cluster.minutes <= now - self._since:
            raise CorpusError(
                f"--dask {self._cluster.address}: nothing was done for {several(self._cluster.minutes, 'minute')}, "
                f"as {_reason(self._workers)}. --dask-wait says how long to wait."
            )


class Signs:
    """What the workers of a cluster have told of their tasks, to see whether anything goes on."""

    def __init__(self) -> None:
        self._told: object = None
        self._seen: dict[str, object] = {}

    def changed(self, workers: Mapping[str, Any]) -> bool:
        """Whether one of them is at a task, or anything is different, since the call before.

        Args:
            workers: What the scheduler knows of each, by its address.
        """
        counts = {address: one.get("metrics", {}).get("task_counts", {}) for address, one in workers.items()}
        told = {address: (one.get("status"), counts[address]) for address, one in workers.items()}
        seen = {address: one.get("last_seen") for address, one in workers.items()}
        # One that no longer answers is not at work, whatever it told last.
        works = any(counts[address].get("executing") and seen[address] != self._seen.get(address) for address in seen)
        is_new, self._told, self._seen = told != self._told, told, seen
        return works or is_new


def _reason(workers: Mapping[str, Any] | None) -> str:
    """Why a cluster does nothing."""
    if workers is None:
        return "the scheduler does not answer"
    if not workers:
        return "it has no workers"
    if all(one.get("status") == "paused" for one in workers.values()):
        return "its workers have too little memory to go on"
    return "its workers wait for one that is gone, or for a result that cannot be sent"


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


def _asked(ask: Callable[[], T]) -> Answer[T]:
    """Asks what may say nothing without end, in a thread that ends with the program."""
    answer = Answer[T]()

    def put() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=put, daemon=True).start()
    return answer


def _in_time(ask: Callable[[], T]) -> T:
    """Asks a scheduler; TimeoutError where it says nothing."""
    return _asked(ask).result(_SECONDS)


@contextmanager
def open_cluster(address: str, minutes: float = MINUTES) -> Iterator[Cluster]:
    """Connects with the scheduler at an address; "local" starts workers here, one per core.

    Args:
        address: Such as "tcp://10.0.0.1:8786".
        minutes: As of `Cluster`.

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
                client = distributed.Client(cluster)
            else:
                client = _in_time(lambda: distributed.Client(address, timeout=_SECONDS))
        except Exception as error:  # whatever a server of another protocol causes
            raise CorpusError(f"--dask {address}: no scheduler answered there within {_SECONDS} s.") from error
        try:
            yield Cluster(client, address, minutes)
        finally:
            with suppress(TimeoutError):  # where the scheduler no longer answers
                client.close()
