"""A job: work in a thread that can be paused and cancelled, with exactly one ending."""

from __future__ import annotations

import threading
import time

import pytest
from PySide6.QtCore import QCoreApplication, QObject, QTimer

from tokstudio.core.base.progress import Progress, Work
from tokstudio.gui.session.common.jobs import Job, Jobs


class Listener(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[str, object]] = []
        self.threads: set[int] = set()

    def finished(self, value: object) -> None:
        self._note("finished", value)

    def failed(self, error: object) -> None:
        self._note("failed", error)

    def cancelled(self) -> None:
        self._note("cancelled", None)

    def ended(self) -> None:
        self._note("ended", None)

    def _note(self, name: str, value: object) -> None:
        self.heard.append((name, value))
        self.threads.add(threading.get_ident())


def listened(work) -> tuple[Job, Listener]:
    job, listener = Job(work), Listener()
    for name in ("finished", "failed", "cancelled", "ended"):
        getattr(job, name).connect(getattr(listener, name))
    return job, listener


def counting(to: int, seen: list[int]) -> Work[int]:
    for number in range(to):
        seen.append(number)
        yield Progress("counting", number, to)
        time.sleep(0.001)
    return to


def test_the_result_arrives_once_and_in_the_window_s_thread(qtbot):
    job, listener = listened(lambda: counting(5, []))
    job.start()
    qtbot.waitUntil(lambda: ("ended", None) in listener.heard)
    assert listener.heard == [("finished", 5), ("ended", None)]
    assert listener.threads == {threading.get_ident()}
    assert not job.running
    assert job.progress == Progress("counting", 4, 5)


@pytest.mark.parametrize(
    ("error", "told"),
    [(ValueError("no"), "no"), (SystemExit("moved or deleted"), "start it again")],
    ids=["any", "the end of a bundle whose files are gone"],
)
def test_an_error_is_a_value(qtbot, error, told):
    def work() -> Work[None]:
        yield Progress("going")
        raise error

    job, listener = listened(work)
    job.start()
    qtbot.waitUntil(lambda: ("ended", None) in listener.heard)
    assert [name for name, _ in listener.heard] == ["failed", "ended"]
    assert told in str(listener.heard[0][1])


@pytest.mark.parametrize("paused", [False, True])
def test_cancelling_ends_it_between_two_steps_and_closes_the_work(qtbot, paused):
    closed = threading.Event()

    def work() -> Work[None]:
        try:
            while True:
                yield Progress("for ever")
                time.sleep(0.001)
        finally:
            closed.set()

    job, listener = listened(work)
    job.start()
    qtbot.waitUntil(lambda: job.progress.phase == "for ever")
    if paused:
        job.pause()
    job.cancel()
    qtbot.waitUntil(lambda: ("ended", None) in listener.heard)
    assert [name for name, _ in listener.heard] == ["cancelled", "ended"]
    assert closed.is_set()


def test_a_paused_job_waits_and_continues_without_loss(qtbot):
    seen: list[int] = []
    job, listener = listened(lambda: counting(50, seen))
    job.start()
    qtbot.waitUntil(lambda: len(seen) > 5)
    job.pause()
    made = len(seen)
    qtbot.wait(50)
    assert len(seen) <= made + 1, "only the step that had begun was made"
    assert job.running
    job.resume()
    qtbot.waitUntil(lambda: ("ended", None) in listener.heard)
    assert seen == list(range(50))
    assert listener.heard[0] == ("finished", 50)


def test_no_job_starts_after_the_end(qtbot):
    keeper, jobs, seen = Jobs(), list[Job](), list[int]()
    timer = QTimer(keeper, singleShot=True, interval=0)
    timer.timeout.connect(lambda: jobs.append(keeper.start(lambda: counting(50, seen))))
    timer.start()
    keeper.end()
    QCoreApplication.processEvents()
    [job] = jobs
    running = job.running
    job.cancel()
    job.wait()
    assert not running
    assert not keeper.running
    assert not seen


def test_a_job_begins_after_the_current_event(qtbot):
    seen, now = list[int](), threading.Event()

    def work() -> Work[None]:
        now.set()
        yield from counting(1, seen)

    job, listener = listened(work)
    job.start()
    begun = now.wait(0.05)
    assert not begun
    assert job.running
    qtbot.waitUntil(lambda: ("ended", None) in listener.heard)
    assert seen == [0]


def test_a_job_that_has_not_begun_when_it_is_cancelled_or_all_end_does_nothing(qtbot):
    seen = list[int]()
    job, listener = listened(lambda: counting(50, seen))
    job.start()
    job.cancel()
    qtbot.waitUntil(lambda: ("ended", None) in listener.heard)
    assert listener.heard == [("cancelled", None), ("ended", None)]
    assert not seen
    keeper, seen = Jobs(), list[int]()
    keeper.start(lambda: counting(50, seen))
    keeper.end()
    qtbot.wait(50)
    assert not seen


def test_jobs_that_are_held_begin_when_they_are_released(qtbot):
    jobs, seen, other, done = Jobs(), [], [], Listener()
    jobs.hold()
    held = [jobs.start(lambda: counting(3, seen), done.finished), jobs.start(lambda: counting(3, other))]
    of_another, _ = listened(lambda: counting(2, other))
    jobs.begin(of_another)
    held[1].cancel()
    qtbot.wait(5)
    assert (seen, other) == ([], [])
    assert [job.running for job in (*held, of_another)] == [True, True, True]
    jobs.release()
    qtbot.waitUntil(lambda: not jobs.running and not of_another.running)
    assert (seen, other) == ([0, 1, 2], [0, 1])
    assert done.heard == [("finished", 3)]
    later = jobs.start(lambda: counting(2, other))
    qtbot.waitUntil(lambda: not later.running)
    assert other == [0, 1, 0, 1]


def test_jobs_that_are_held_never_begin_after_the_end(qtbot):
    jobs, seen = Jobs(), []
    jobs.hold()
    job = jobs.start(lambda: counting(3, seen))
    jobs.end()
    jobs.release()
    qtbot.wait(5)
    # Its thread would be destroyed with the window while it runs.
    assert job.running
    assert seen == []
