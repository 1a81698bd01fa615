"""Progress while the compiled loops are made ready."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ast
import importlib.util
import os
import platform
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest
from numba.core.dispatcher import Dispatcher

import tokstudio
from tokstudio.core import kernels
from tokstudio.core.base.progress import finish
from tokstudio.core.base.subprocesses import module_command
from tokstudio.core.kernels import cache
from tokstudio.core.kernels.cache import Places

OWN = Path("own").absolute()
EVERY = ["merging", "text", "algorithms", "rules", "exploration", "inference"]


class Process:
    """A process that compiles until it is told to end."""

    returncode = 0

    def __init__(self, command, **how):
        self.parts, self.how, self.ended = command[command.index("tokstudio.core.warm_up") + 1 :], how, False

    def poll(self):
        return 0 if self.ended else None

    def kill(self):
        self.ended = True

    def communicate(self):
        pass


@pytest.fixture
def prepare(monkeypatch):
    """The module as it is at the beginning of a process."""
    description = importlib.util.find_spec("tokstudio.core.warm_up")
    module = importlib.util.module_from_spec(description)
    description.loader.exec_module(module)
    return module


@pytest.fixture
def start(prepare, monkeypatch):
    """Sets where loops may be kept; the processes that compile, and the parts that are compiled here."""
    started, here = [], []

    def popen(command, **how):
        started.append(Process(command, **how))
        return started[-1]

    def begin(places=None):
        monkeypatch.setattr(prepare, "places", lambda: places or Places(OWN))
        return started, here

    monkeypatch.setattr(prepare.subprocess, "Popen", popen)
    monkeypatch.setattr(prepare, "exercise", here.append)
    return begin


def phases(work):
    return [step.phase for step in work]


def test_a_thread_waiting_for_a_compiling_one_reports_compiling(prepare, start):
    start()
    compiling, waiting = prepare.prepare_work(), prepare.prepare_work()
    assert [next(compiling).phase, next(waiting).phase, next(compiling).phase, next(waiting).phase] == ["compiling"] * 4
    compiling.close()
    assert next(waiting).phase == "compiling", "what was left off is begun again by whoever waited"
    waiting.close()


def test_a_thread_waiting_for_a_loading_one_reports_loading_and_ends(prepare, start):
    started, _ = start()
    loading, waiting = prepare.prepare_work(), prepare.prepare_work()
    assert [next(loading).phase, next(waiting).phase, next(loading).phase] == ["compiling"] * 3
    for process in started:
        process.ended = True
    assert [next(loading).phase, next(waiting).phase] == ["loading", "loading"]
    finish(loading)
    assert list(waiting) == []


def test_a_compiling_process_ends_with_its_parent(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    command = module_command("tokstudio.core.warm_up", "merging")
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        process.stdin.close()
        assert process.wait(timeout=60) == 1
    assert not list(tmp_path.rglob("merge.merge-*")), "it ended before it was done"


def test_a_killed_compilation_leaves_whole_loops_and_no_list(tmp_path, prepare):
    variables = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), prepare.OWN_ONLY: "1"}
    command = module_command("tokstudio.core.warm_up", "merging")
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=variables) as process:
        while not list(tmp_path.rglob("*.nbc")) and process.poll() is None:
            time.sleep(0.01)
        process.kill()
    loops = list(tmp_path.rglob("*.nbc"))
    assert 1 <= len(loops) < prepare.FIRST_LOOPS < prepare.ALL_LOOPS
    assert all(cache.read_whole(loop) for loop in loops), "each is written in one step"
    assert not cache.is_complete(tmp_path), "the next start compiles the others"


def _called_loops():
    """The loops of `core/kernels` that Python calls, by module and name: from outside, and in plain functions there."""
    loops, here = set(), kernels.__name__
    for file in Path(tokstudio.__file__).parent.rglob("*.py"):
        tree, modules = ast.parse(file.read_text(encoding="utf-8")), {}
        if file.parent.name == "kernels":
            plain = [each for each in tree.body if isinstance(each, ast.FunctionDef) and not each.decorator_list]
            names = [node.id for each in plain for node in ast.walk(each) if isinstance(node, ast.Name)]
            loops |= {(f"{here}.{file.stem}", name) for name in names if file.stem != "__init__"}
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == here:
                modules |= {each.asname or each.name: each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(here):
                loops |= {(node.module, each.name) for each in node.names}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
                loops.add((f"{here}.{modules[node.value.id]}", node.attr))
    found = (vars(import_module(module)).get(name) for module, name in loops)
    return {f"{loop.__module__}.{loop.__name__}" for loop in found if isinstance(loop, Dispatcher)}


def test_all_loops_that_are_called_are_compiled_before(prepare):
    """A bundle without a compiler has these loops alone; with one, a person would wait for others."""
    told = "; ".join(
        (
            "import sys, tokstudio.core.warm_up as warm_up, tokstudio.core.kernels.compiled",
            "from numba.core.dispatcher import Dispatcher",
            "warm_up.exercise()",
            "named = [name for name in sys.modules if name.startswith('tokstudio.core.kernels.')]",
            "found = [vars(sys.modules[name]) for name in named]",
            "loops = {loop for names in found for loop in names.values() if isinstance(loop, Dispatcher)}",
            "print(*(f'{loop.__module__}.{loop.__name__}' for loop in loops if loop.overloads))",
        )
    )
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    called = _called_loops()
    assert len(called) > 90
    assert called - set(done.stdout.split()) == set()


def test_the_bar_counts_no_more_loops_than_there_are(prepare):
    complete = cache.places().complete
    if complete is not None:
        assert len(list(complete.glob("*.nbc"))) >= prepare.ALL_LOOPS


@pytest.mark.parametrize("fails", [False, True])
def test_a_terminal_shows_how_many_loops_are_compiled(prepare, start, monkeypatch, tmp_path, capsys, fails):
    started, _ = start(Places(tmp_path))
    monkeypatch.setattr(prepare.sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(Process, "returncode", int(fails))
    polls = []

    def poll(process):
        polls.append(process)
        (tmp_path / f"{len(polls)}.nbc").touch()
        return 0 if len(polls) > 3 else None

    monkeypatch.setattr(Process, "poll", poll)
    assert prepare._compile_all() is not fails
    assert [each.parts for each in started] == [[part] for part in EVERY]
    assert all(each.ended for each in started)
    shown = capsys.readouterr().err
    assert f"[{'.' * 40}] 1 of {prepare.ALL_LOOPS} loops" in shown
    assert shown.endswith(f" of {prepare.ALL_LOOPS} loops\n")


def test_a_first_training_waits_only_for_the_loops_that_it_needs(prepare, start):
    started, _ = start()
    work = prepare.prepare_work()
    assert [next(work).phase, next(work).phase] == ["compiling", "compiling"]
    assert [process.parts for process in started] == [["merging"], ["text"]]
    for process in started:
        process.ended = True
    assert phases(work) == ["loading"]
    # The rest goes on in the background, and only what needs it waits.
    assert started[2].parts == EVERY
    assert {process.how["env"]["NUMBA_CACHE_DIR"] for process in started} == {str(OWN)}
    finish(prepare.prepare_work())
    waiting = prepare.prepare_work(every=True)
    assert next(waiting).phase == "compiling"
    started[2].ended = True
    assert list(waiting) == []


@pytest.mark.parametrize("fails", [False, True])
def test_loops_that_cannot_be_cached_are_compiled_here_once(prepare, start, monkeypatch, fails):
    started, here = start(None if fails else Places(None))
    if fails:
        monkeypatch.setattr(Process, "returncode", 1)
        monkeypatch.setattr(Process, "poll", lambda process: 1)
    assert phases(prepare.prepare_work()) == ["compiling"]
    assert here == [("merging", "text")]
    assert len(started) == 2 * fails
    finish(prepare.prepare_work())
    assert len(here) == 1


@pytest.mark.parametrize(
    ("places", "is_compiled"),
    [
        # Shipped loops are used, and those of the processor are compiled for the next start.
        (Places(OWN, Path("shipped"), common=True), True),
        (Places(OWN, OWN), False),
        (Places(None, Path("shipped"), common=True), False),
    ],
)
def test_in_the_background_only_what_is_missing_is_compiled(prepare, start, places, is_compiled):
    started, _ = start(places)
    assert phases(prepare.prepare_work()) == ["loading"]
    finish(prepare.prepare_work())
    # With a pipe that ends it when this process ends.
    made = [(each.parts, each.how["env"]["NUMBA_CACHE_DIR"], each.how["stdin"]) for each in started]
    assert made == [(EVERY, str(OWN), subprocess.PIPE)] * is_compiled


@pytest.fixture
def run(prepare, monkeypatch, tmp_path):
    """Runs the program with some arguments; what it compiled and listed."""
    made = []

    def ended():
        process = Process(["tokstudio.core.warm_up"])
        process.kill()
        return process

    def begin(*arguments, parts=("one", "other"), check_space=lambda folder, size: None):
        monkeypatch.setattr(prepare.sys, "argv", ["prepare", *arguments])
        monkeypatch.setattr(prepare, "check_space", check_space)
        compiled = {part: lambda part=part: made.append((part, os.environ.get("NUMBA_CPU_NAME"))) for part in parts}
        monkeypatch.setattr(prepare, "_PARTS", compiled)
        monkeypatch.setattr(prepare, "_start", lambda part: compiled[part]() or ended())
        return prepare.main(), made

    for name in (prepare.OWN_ONLY, *cache.settings()):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(prepare, "places", lambda: Places(tmp_path / "loops"))
    monkeypatch.setattr(prepare, "problem", lambda: made[0] if made and isinstance(made[0], OSError) else None)
    monkeypatch.setattr(prepare, "note_problem", made.append)
    monkeypatch.setattr(prepare, "remove_older", lambda folder: None)
    monkeypatch.setattr(prepare, "list_all", lambda folder: made.append("list"))
    monkeypatch.setattr(prepare, "end_with_parent", lambda: None)
    return begin


def test_a_compiling_process_checks_the_cache_folder_first(run):
    def full(folder, size):
        raise OSError(28, "No space left on device")

    code, made = run(check_space=full)
    assert (code, [str(one) for one in made]) == (1, ["[Errno 28] No space left on device"])


@pytest.mark.parametrize(("parts", "noted"), [([], 1), (["one", "other"], 1), (["one"], 0)])
def test_the_list_is_written_when_all_parts_are_compiled(prepare, run, monkeypatch, parts, noted):
    niced = []
    monkeypatch.setattr(prepare.os, "nice", niced.append, raising=False)
    code, made = run(*parts)
    assert (code, made.count("list"), made.index("list") if noted else 0) == (0, noted, 2 * noted)
    assert [part for part, _ in made[:2]][: len(parts)] == parts
    assert len(niced) == (len(parts) == 2), "only what is compiled in the background stands back"
    assert os.environ[prepare.OWN_ONLY], "loops of the installation would not be compiled"


def test_nothing_is_compiled_again_where_all_loops_are(run, monkeypatch):
    monkeypatch.setattr(cache, "is_complete", lambda folder: True)
    assert run() == (0, [])
    assert run("one") != (0, []), "a named part is compiled"


@pytest.mark.parametrize(("machine", "compiled"), [("x86_64", [("part", "x86-64-v3"), "list"]), ("riscv64", [])])
def test_a_package_is_compiled_for_the_common_processor_where_there_is_one(run, monkeypatch, machine, compiled):
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert run("common", parts=["part"]) == (0, compiled)
