"""Dask clusters whose workers start in little time: threads of the tests' process, or forks of one that is loaded."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
import pytest
from distributed import LocalCluster, Worker

_ROOT = Path(__file__).resolve().parents[2]
kills_a_worker = pytest.mark.skipif(sys.platform == "win32", reason="the system has no such signal, and no forks")


def cluster_here(workers: int) -> LocalCluster:
    """A cluster of so many workers with a thread each."""
    options = {"threads_per_worker": 1, "processes": False, "protocol": "tcp", "dashboard_address": ":0"}
    return LocalCluster(n_workers=workers, silence_logs=50, **options)


@contextmanager
def worker_to_kill(cluster: LocalCluster) -> Iterator[Callable[[], None]]:
    """One more worker, a process; gives what kills it once it has tasks or results, or the others had them all."""
    others = set(cluster.scheduler.workers)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.cli.loaded_worker"])
    process = context.Process(target=_work, args=(cluster.scheduler_address, dict(os.environ)), daemon=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(_ROOT))  # else it loads what is installed, which may be another checkout
        process.start()
    cluster.wait_for_workers(len(others) + 1)
    (worker,) = (worker for address, worker in cluster.scheduler.workers.items() if address not in others)

    def kill() -> None:
        tasks = cluster.scheduler.tasks
        while not worker.processing and not worker.has_what:
            if tasks and all(task.state in ("memory", "released", "erred") for task in list(tasks.values())):
                break
            assert process.is_alive()
            assert worker.address in cluster.scheduler.workers
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)

    try:
        with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):  # which the others seek it for
            yield kill
    finally:
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        process.close()


def _work(address: str, environment: dict[str, str]) -> None:
    async def work() -> None:
        async with Worker(address, nthreads=1) as worker:
            await worker.finished()

    os.environ.update(environment)
    asyncio.run(work())
