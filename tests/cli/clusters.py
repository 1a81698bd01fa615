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

import dask
import pytest
from distributed import LocalCluster, Worker

kills_a_worker = pytest.mark.skipif(sys.platform == "win32", reason="the system has no such signal, and no forks")


def cluster_here(workers: int) -> LocalCluster:
    """A cluster of so many workers with a thread each."""
    options = {"threads_per_worker": 1, "processes": False, "protocol": "tcp", "dashboard_address": ":0"}
    return LocalCluster(n_workers=workers, silence_logs=50, **options)


@contextmanager
def worker_to_kill(cluster: LocalCluster) -> Iterator[Callable[[], None]]:
    """One more worker, a process; gives what kills it once it has tasks or results."""
    others = set(cluster.scheduler.workers)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.cli.loaded_worker"])
    process = context.Process(target=_work, args=(cluster.scheduler_address, dict(os.environ)), daemon=True)
    process.start()
    cluster.wait_for_workers(len(others) + 1)
    (worker,) = (worker for address, worker in cluster.scheduler.workers.items() if address not in others)

    def kill() -> None:
        while not worker.processing and not worker.has_what:
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
