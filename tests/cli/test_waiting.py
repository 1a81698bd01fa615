"""What a cluster does that one waits for: that it does nothing is seen and said, whatever the cause."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import threading
from functools import partial
from importlib import import_module
from types import SimpleNamespace

import distributed.worker
import pytest

from tests.cli.clusters import cluster_here
from tokstudio import CorpusError, __version__
from tokstudio.cli import cluster
from tokstudio.cli.cluster import Cluster, Signs, cores_work, open_cluster, waited_work
from tokstudio.core.base.progress import Progress, finish

AT_ONCE = 1e-9  # minutes


@pytest.fixture(autouse=True)
def looks_at_once(monkeypatch):
    monkeypatch.setattr(cluster, "LOOK", 0)
    monkeypatch.setattr(cluster, "PATIENCE", 0.001)


@pytest.fixture
def never():
    """What gives no result, until the test ends."""
    event = threading.Event()
    yield event.wait
    event.set()


def waiting(result, told, minutes):
    """Waits for a result; `told` is asked what the workers are said to do."""
    client = SimpleNamespace(scheduler_info=lambda n_workers: {"workers": told()})
    given = Cluster(client, "tcp://a:1", minutes), SimpleNamespace(result=result)
    return waited_work(*given, lambda: Progress("counting", 1, 2), "counted")


def worker(seen=0, status="running", **counts):
    return {"status": status, "last_seen": seen, "metrics": {"task_counts": counts}}


def silent():
    raise OSError("nobody answers")


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (dict, "it has no workers"),
        (lambda: {"a": worker(waiting=3), "b": worker(memory=1)}, "its workers wait for one that is gone, or"),
        (lambda: {"a": worker(executing=1)}, "its workers wait for one that is gone, or"),
        (lambda: {"a": worker(status="paused", ready=1)}, "its workers have too little memory to go on"),
        (silent, "the scheduler does not answer"),
    ],
    ids=["none", "idle", "frozen", "paused", "silent"],
)
def test_a_cluster_that_does_nothing_is_an_error_after_some_minutes(never, told, reason):
    with pytest.raises(CorpusError, match=rf"--dask tcp://a:1: nothing was done for 1e-09 minutes, as {reason}.*wait"):
        finish(waiting(never, told, AT_ONCE))


def test_a_scheduler_that_says_nothing_at_all_is_asked_once_and_does_not_stop_the_progress(never, monkeypatch):
    monkeypatch.setattr(cluster, "_SECONDS", 0)
    asked = []
    work = waiting(never, lambda: asked.append(1) or never(), 0)
    remarks = {next(work).detail for _ in range(50)}
    assert len(asked) == 1
    assert ", the scheduler does not answer for 0 s" in remarks
    with pytest.raises(CorpusError, match="the scheduler does not answer"):
        finish(waiting(never, never, AT_ONCE))


@pytest.mark.parametrize(
    ("worker_of", "minutes"),
    [
        (lambda number: worker(number, executing=1), AT_ONCE),
        (lambda number: worker(memory=number), AT_ONCE),
        (lambda number: worker(), 0),
    ],
    ids=["works", "finishes tasks", "without end"],
)
def test_one_that_works_or_may_wait_without_end_is_waited_for(worker_of, minutes):
    looks, seen = [], threading.Event()

    def told():
        looks.append(1)
        if len(looks) == 20:
            seen.set()
        return {"a": worker_of(len(looks))}

    def result():
        seen.wait()
        return "counted"

    assert finish(waiting(result, told, minutes)) == "counted"


def test_signs_of_work_are_tasks_of_workers_that_answer_and_all_that_changes():
    signs = Signs()
    assert signs.changed({"a": worker(1, executing=1)}), "first told"
    assert signs.changed({"a": worker(2, executing=1)}), "still at work"
    assert not signs.changed({"a": worker(2, executing=1)}), "it no longer answers"
    assert signs.changed({"a": worker(3, memory=1)}), "it has finished"
    assert not signs.changed({"a": worker(4, memory=1)}), "it answers, and does nothing"
    assert signs.changed({"a": worker(5, memory=1), "b": {}}), "a worker has come"
    assert signs.changed({}), "all have gone"
    assert not signs.changed({})


def test_workers_that_cannot_fetch_a_result_do_not_let_a_command_wait_without_end(monkeypatch):
    """Such a worker, in `distributed`, tries no more, and tells nobody."""
    fetch = distributed.worker.get_data_from_worker

    async def failing(*given, **named):
        if named.get("who"):  # a worker, and not the scheduler
            raise ValueError("this cannot be unpickled")
        return await fetch(*given, **named)

    monkeypatch.setattr(distributed.worker, "get_data_from_worker", failing)
    with cluster_here(2) as workers, open_cluster(workers.scheduler_address, AT_ONCE) as here:
        first, second = (one.address for one in workers.workers.values())
        one = here.client.submit(str, 1, workers=first, pure=False)
        other = here.client.submit(str, one, workers=second, pure=False)
        assert finish(waited_work(Cluster(here.client, here.address, 0), one, partial(Progress, "counting"), "")) == "1"
        with pytest.raises(CorpusError, match="its workers wait for one that is gone, or for a result"):
            finish(waited_work(here, other, partial(Progress, "counting"), "counted"))


class OfAnother:
    """What other versions of TokStudio have not."""

    def __reduce__(self):
        return import_module, ("tokstudio.other",)


def test_workers_with_another_version_are_one_sentence_before_any_work(monkeypatch):
    with cluster_here(1) as workers, open_cluster(workers.scheduler_address) as here:
        (worker,) = workers.scheduler.workers
        said = f"--dask {here.address}: install TokStudio {__version__} everywhere, as here; the worker {worker} "
        with pytest.raises(CorpusError, match=r"cannot load it: .*No module named 'tokstudio\.other'") as caught:
            finish(cores_work(here, OfAnother()))
        assert str(caught.value).startswith(said)
        assert finish(cores_work(here, str)) == 1, "it stays"
        monkeypatch.setattr(cluster, "_version", lambda task: "0.1")
        with pytest.raises(CorpusError) as caught:
            finish(cores_work(here, str))
        assert str(caught.value) == f"{said}has 0.1"


def test_work_that_the_scheduler_no_longer_has_is_one_sentence():
    with cluster_here(0) as workers, open_cluster(workers.scheduler_address) as here:
        future = here.client.submit(str, 1)
        work = waited_work(here, future, partial(Progress, "counting"), "counted")
        next(work)
        here.client.cancel(future)
        with pytest.raises(CorpusError, match=f"--dask {here.address}: the scheduler ended, or has forgotten the work"):
            finish(work)
