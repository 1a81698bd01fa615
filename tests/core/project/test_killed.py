"""A process that trains, records and saves is killed at random moments: nothing that it had committed is lost."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.core.project import workers
from tests.core.project.projects import differences, opened, saved
from tests.core.project.workers import CORPUS, KINDS
from tokstudio import Corpus, Trainer, train
from tokstudio.core.base.progress import finish
from tokstudio.core.project import Project, ProjectRun, recoverable_work

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the workers are forks of one process")

KILLS = 12
# What the worker has just said when it is killed: a little later it does the next thing.
MOMENTS = ("begun", "merges", "merges", "saving", "saved", "kept")


class Worker:
    """The process of `workers.py`, and what its present fork has said."""

    def __init__(self, folder):
        command = [sys.executable, "-m", workers.__name__, str(folder)]
        root = Path(__file__).parents[3]
        self.process = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.said: list[list[str]] = []
        assert self.read() == ["ready"]

    def read(self):
        words = self.process.stdout.readline().split()
        assert words, "the process ended"
        assert words[0] != "failed", words
        self.said.append(words)
        return words

    def kill_one(self, kind, moment, times, delay):
        """Starts a fork and kills it a little after it has said something for the nth time."""
        self.said = []
        self.process.stdin.write(kind + "\n")
        self.process.stdin.flush()
        while sum(words[0] == moment for words in self.said) < times:
            self.read()
        while not any(words[0] == "pid" for words in self.said):
            self.read()
        time.sleep(delay)
        os.kill(int(next(words for words in self.said if words[0] == "pid")[1]), signal.SIGKILL)
        while self.read() != ["dead"]:
            pass

    def last(self, word, before=0):
        """The number that came last with a word; `before` where it was never said."""
        return next((int(words[1]) for words in reversed(self.said) if words[0] == word), before)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


@pytest.fixture
def worker(tmp_path):
    (tmp_path / "number").write_text("0")
    made = Worker(tmp_path)
    yield made
    made.close()


def test_a_kill_at_any_moment_loses_nothing_that_was_committed(worker, tmp_path):
    unbroken = {kind: train(CORPUS, config).run for kind, config in KINDS.items()}
    chance = random.Random("kills")
    path = tmp_path / "mine.tokstudio"
    saved(Project(runs=(ProjectRun("Run 0", unbroken["bytes"]),), state={"number": 0}), path)
    number = broken = 0
    for kill in range(KILLS):
        kind, moment = chance.choice(list(KINDS)), MOMENTS[kill % len(MOMENTS)]
        times = chance.randint(1, 30) if moment == "merges" else 1
        worker.kill_one(kind, moment, times, chance.uniform(0, 0.008))
        number = check_project(path, worker, number)
        (tmp_path / "number").write_text(str(number))
        found = finish(recoverable_work(tmp_path / "recovery"))
        assert len(found) <= 1
        recorded = check_recording(found, worker, kind, unbroken[kind])
        broken += 0 < recorded < len(unbroken[kind])
        check_kept(found, worker)
        for lost in found:
            lost.discard()
    # How many depends on the machine; that none would be is out of the question.
    assert broken > 0

    # What the killed left half-written is cleared away by those who write there next.
    saved(opened(path), path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["mine.tokstudio", "number", "recovery"]


def check_project(path, worker, before):
    """The file is the old one or the new one, and whole; gives its number."""
    project = opened(path)
    number = project.state["number"]
    assert number in {worker.last("saved", before), worker.last("saving", before)}
    if number:
        assert project.state["text"] == f"{number} " * 200_000
    return number


def check_recording(found, worker, kind, unbroken):
    """What was recorded of the run is there, and goes on to the same end; gives how many merges it has."""
    committed = merges_since_begun(worker.said)
    if not found or found[0].recording is None:
        assert committed == 0
        return 0
    (entry,) = found[0].recording.runs
    assert len(entry.run) >= committed
    assert entry.run.merges.tolist() == unbroken.merges[: len(entry.run)].tolist()
    corpus = Corpus((found[0].recording.sources[0].text,))
    resumed = Trainer.resume(corpus, entry.run, KINDS[kind])
    list(resumed)
    assert set(differences(resumed.run, unbroken)) <= {"seconds"}
    return len(entry.run)


def check_kept(found, worker):
    """The project that was kept for recovery is the last one, or the one after it."""
    if kept := worker.last("kept"):
        number = found[0].project.state["number"]
        assert number >= kept
        assert found[0].project.state["text"] == f"{number} " * 200_000


def merges_since_begun(said):
    """How many merges the run that was begun last had committed, unless it may have been discarded since."""
    merges = 0
    for words in said:
        if words[0] == "merges":
            merges = int(words[1])
        elif words[0] in ("begun", "kept"):
            merges = 0
    return merges
