"""What is said while the compiled loops are made ready."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import subprocess
import threading

import pytest

from tokstudio.core import warm_up as prepare
from tokstudio.core.base.progress import Progress, finish
from tokstudio.core.base.subprocesses import own_command
from tokstudio.core.warm_up import prepare_work


def kept():
    """What was compiled was kept."""
    return True
    yield


@pytest.fixture
def first_start(monkeypatch):
    """As on a new installation; what is compiled never comes to an end by itself, and loading takes no time."""

    def compile_for_ever():
        while True:
            yield Progress("compiling")

    monkeypatch.setattr(prepare, "_ready", threading.Event())
    monkeypatch.setattr(prepare, "are_kept", lambda: False)
    monkeypatch.setattr(prepare, "_compile", compile_for_ever)
    monkeypatch.setattr(prepare, "exercise", lambda: None)
    return monkeypatch


def test_whoever_waits_for_another_that_compiles_says_so_too(first_start):
    compiling, waiting = prepare_work(), prepare_work()
    assert [next(compiling).phase, next(waiting).phase, next(compiling).phase, next(waiting).phase] == ["compiling"] * 4
    compiling.close()
    assert next(waiting).phase == "compiling", "what was left off is begun again by whoever waited"
    waiting.close()


def test_whoever_waits_for_another_that_loads_says_so_and_then_has_nothing_to_do(first_start):
    first_start.setattr(prepare, "_compile", kept)
    loading, waiting = prepare_work(), prepare_work()
    assert [next(loading).phase, next(waiting).phase] == ["compiling", "compiling"]
    assert [next(loading).phase, next(waiting).phase] == ["loading", "loading"]
    finish(loading)
    assert list(waiting) == []


def test_what_cannot_be_kept_is_compiled_here_and_once(first_start):
    def nowhere():
        return False
        yield

    made = []
    first_start.setattr(prepare, "_compile", nowhere)
    first_start.setattr(prepare, "exercise", lambda: made.append(1))
    assert [step.phase for step in prepare_work()] == ["compiling"]
    assert made == [1]


def test_a_process_that_compiles_begins_nothing_where_it_could_not_be_kept(monkeypatch):
    def full(folder, size):
        raise OSError(28, "No space left on device")

    made = []
    monkeypatch.setattr(prepare.sys, "argv", ["prepare"])
    monkeypatch.setattr(prepare, "try_room", full)
    monkeypatch.setattr(prepare, "problem", lambda: "full")
    monkeypatch.setattr(prepare, "note_problem", made.append)
    monkeypatch.setattr(prepare, "discard_outdated", lambda: None)
    monkeypatch.setattr(prepare, "_PARTS", {"part": lambda: made.append("compiled")})
    assert prepare.main() == 1
    assert [str(one) for one in made] == ["[Errno 28] No space left on device"]


def test_a_process_that_compiles_ends_with_the_program_that_asked_for_it(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    command = own_command("tokstudio.core.warm_up", "merging")
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        process.stdin.close()
        assert process.wait(timeout=60) == 1
    assert not list(tmp_path.rglob("merge.merge-*")), "it ended before it was done"
