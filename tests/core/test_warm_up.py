"""Progress while the compiled loops are made ready."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import platform
import subprocess
import threading
from pathlib import Path

import pytest

from tokstudio.core import warm_up as prepare
from tokstudio.core.base.progress import Progress, finish
from tokstudio.core.base.subprocesses import module_command
from tokstudio.core.kernels import cache
from tokstudio.core.kernels.cache import Places
from tokstudio.core.warm_up import prepare_work

COMPILE = prepare._compile
OWN = Path("own").absolute()


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
    monkeypatch.setattr(prepare, "places", lambda: Places(OWN))
    monkeypatch.setattr(prepare, "_compile", compile_for_ever)
    monkeypatch.setattr(prepare, "exercise", lambda parts: None)
    monkeypatch.setattr(prepare, "_rest", [])
    return monkeypatch


def test_a_thread_waiting_for_a_compiling_one_reports_compiling(first_start):
    compiling, waiting = prepare_work(), prepare_work()
    assert [next(compiling).phase, next(waiting).phase, next(compiling).phase, next(waiting).phase] == ["compiling"] * 4
    compiling.close()
    assert next(waiting).phase == "compiling", "what was left off is begun again by whoever waited"
    waiting.close()


def test_a_thread_waiting_for_a_loading_one_reports_loading_and_ends(first_start):
    first_start.setattr(prepare, "_compile", kept)
    loading, waiting = prepare_work(), prepare_work()
    assert [next(loading).phase, next(waiting).phase] == ["compiling", "compiling"]
    assert [next(loading).phase, next(waiting).phase] == ["loading", "loading"]
    finish(loading)
    assert list(waiting) == []


def test_loops_that_cannot_be_cached_are_compiled_here_once(first_start):
    def nowhere():
        return False
        yield

    made = []
    first_start.setattr(prepare, "_compile", nowhere)
    first_start.setattr(prepare, "exercise", made.append)
    assert [step.phase for step in prepare_work()] == ["compiling"]
    assert made == [("merging", "text")]


def test_a_compiling_process_checks_the_cache_folder_first(monkeypatch, tmp_path):
    def full(folder, size):
        raise OSError(28, "No space left on device")

    made = []
    monkeypatch.setattr(prepare.sys, "argv", ["prepare"])
    monkeypatch.setattr(prepare, "check_space", full)
    monkeypatch.setattr(prepare, "problem", lambda: "full")
    monkeypatch.setattr(prepare, "note_problem", made.append)
    monkeypatch.setattr(prepare, "places", lambda: Places(tmp_path / "loops"))
    monkeypatch.setenv(prepare.OWN_ONLY, "")
    monkeypatch.setattr(prepare, "_PARTS", {"part": lambda: made.append("compiled")})
    assert prepare.main() == 1
    assert [str(one) for one in made] == ["[Errno 28] No space left on device"]


def test_a_compiling_process_ends_with_its_parent(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    command = module_command("tokstudio.core.warm_up", "merging")
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        process.stdin.close()
        assert process.wait(timeout=60) == 1
    assert not list(tmp_path.rglob("merge.merge-*")), "it ended before it was done"


class Process:
    """A process that compiles until it is told to end."""

    returncode = 0

    def __init__(self, command, **how):
        self.parts, self.env, self.ended = command[command.index("tokstudio.core.warm_up") + 1 :], how.get("env"), False

    def poll(self):
        return 0 if self.ended else None

    def kill(self):
        self.ended = True

    def communicate(self):
        pass


def test_a_first_training_waits_only_for_the_loops_that_it_needs(first_start):
    started = []

    def start(command, **how):
        started.append(Process(command, **how))
        return started[-1]

    first_start.setattr(prepare, "_compile", COMPILE)
    first_start.setattr(prepare.subprocess, "Popen", start)
    work = prepare_work()
    assert next(work).phase == "compiling"
    assert next(work).phase == "compiling"
    assert [process.parts for process in started] == [["merging"], ["text"]]
    for process in started:
        process.ended = True
    assert [step.phase for step in work] == ["loading"]
    # The rest goes on in the background, and only what needs it waits.
    assert started[2].parts == ["merging", "text", "algorithms"]
    assert {process.env["NUMBA_CACHE_DIR"] for process in started} == {str(OWN)}
    finish(prepare_work())
    waiting = prepare_work(every=True)
    assert next(waiting).phase == "compiling"
    started[2].ended = True
    assert list(waiting) == []


def test_without_a_folder_for_loops_no_process_compiles(first_start):
    first_start.setattr(prepare, "_compile", COMPILE)
    first_start.setattr(prepare, "places", lambda: Places(None))
    first_start.setattr(prepare.subprocess, "Popen", lambda *command, **how: pytest.fail("started"))
    made = []
    first_start.setattr(prepare, "exercise", made.append)
    assert [step.phase for step in prepare_work()] == ["compiling"]
    assert made == [("merging", "text")]


def test_where_shipped_loops_are_used_those_of_the_processor_are_compiled_in_the_background(first_start):
    started = []
    first_start.setattr(prepare, "places", lambda: Places(OWN, Path("shipped"), common=True))
    first_start.setattr(prepare, "_background", [])
    first_start.setattr(
        prepare.subprocess,
        "Popen",
        lambda command, **how: started.append((command[-4:], how["env"]["NUMBA_CACHE_DIR"], how["stdin"])),
    )
    assert [step.phase for step in prepare_work()] == ["loading"]
    finish(prepare_work())
    # With a pipe that ends it when this process ends.
    assert started == [(["tokstudio.core.warm_up", "merging", "text", "algorithms"], str(OWN), subprocess.PIPE)]


@pytest.mark.parametrize(
    "places", [Places(OWN, OWN), Places(OWN, cache.SYSTEM), Places(None, Path("shipped"), common=True)]
)
def test_otherwise_nothing_is_compiled_in_the_background(first_start, places):
    first_start.setattr(prepare, "places", lambda: places)
    first_start.setattr(prepare.subprocess, "Popen", lambda *command, **how: pytest.fail("started"))
    assert [step.phase for step in prepare_work()] == ["loading"]


@pytest.mark.parametrize(("parts", "noted"), [([], 1), (["one", "other"], 1), (["one"], 0)])
def test_the_list_is_written_when_all_parts_are_compiled(monkeypatch, parts, noted):
    made, niced = [], []
    monkeypatch.setattr(prepare.sys, "argv", ["prepare", *parts])
    monkeypatch.setattr(prepare, "end_with_parent", lambda: None)
    monkeypatch.setattr(prepare.os, "nice", niced.append, raising=False)
    monkeypatch.setattr(prepare, "_can_keep", lambda: True)
    monkeypatch.setenv(prepare.OWN_ONLY, "")
    monkeypatch.setattr(prepare, "problem", lambda: None)
    monkeypatch.setattr(prepare, "_leave_note", lambda: made.append("list"))
    monkeypatch.setattr(prepare, "_PARTS", {"one": lambda: None, "other": lambda: None})
    assert prepare.main() == 0
    assert made == ["list"] * noted
    assert len(niced) == (len(parts) == 2), "only what is compiled in the background stands back"
    assert os.environ[prepare.OWN_ONLY], "loops of the installation would not be compiled"


@pytest.mark.parametrize(("machine", "compiled"), [("x86_64", ["x86-64-v3"]), ("riscv64", [])])
def test_a_package_is_compiled_for_the_common_processor_where_there_is_one(monkeypatch, machine, compiled):
    made = []
    monkeypatch.setattr(prepare.sys, "argv", ["prepare", "common"])
    monkeypatch.setattr(prepare, "_can_keep", lambda: True)
    monkeypatch.setattr(prepare, "_leave_note", lambda: None)
    monkeypatch.setattr(prepare, "problem", lambda: None)
    monkeypatch.setattr(prepare, "_PARTS", {"part": lambda: made.append(os.environ["NUMBA_CPU_NAME"])})
    monkeypatch.setattr(platform, "machine", lambda: machine)
    for name in (prepare.OWN_ONLY, *cache.settings()):
        monkeypatch.setenv(name, "")
    assert prepare.main() == 0
    assert made == compiled
