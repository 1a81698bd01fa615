"""Child processes import no modules from the folder in which the program was started."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import ending_parent
from tokstudio import Corpus, Tokenizer, TrainingConfig, save, train
from tokstudio.core.base import subprocesses
from tokstudio.core.base.progress import finish
from tokstudio.core.base.subprocesses import MODULES, import_folder, module_command
from tokstudio.core.warm_up import _compile_parts

ROOT = Path(__file__).resolve().parents[3]
_HOSTILE = "import pathlib\npathlib.Path(__file__).with_name('executed').touch()\nraise SystemExit(9)\n"
_NAMES = ("json", "typing", "regex", "numpy", "numba", "runpy", "re", "struct", "sentencepiece", "sitecustomize")


def of_characters() -> Tokenizer:
    return train(Corpus.from_text("banana bandana " * 9), TrainingConfig(vocabulary_size=12, base="characters"))


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """The current folder: modules with the names of those that we need, and a model."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in (*_NAMES, "tokstudio"):
        (folder / f"{name}.py").write_text(_HOSTILE)
    save(of_characters(), folder / "x.model", "sentencepiece")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return folder


def untouched(folder: Path) -> bool:
    """Whether no module of the folder was run; Python writes what it compiles of them beside them."""
    return not (folder / "executed").exists() and not (folder / "__pycache__").exists()


def test_an_export_to_a_relative_path_is_proved_in_a_process_of_its_own(hostile, monkeypatch):
    monkeypatch.setattr("tokstudio.core.libraries.client.SMALL", 0)
    assert save(of_characters(), Path("here.model"), "sentencepiece").proof.startswith("identical")
    assert untouched(hostile)


def test_the_loops_are_compiled_in_a_hostile_folder(hostile):
    assert finish(_compile_parts(["inference"], 1))
    assert untouched(hostile)


@pytest.mark.parametrize("entry", ["", ".", os.pathsep, "another package"])
def test_a_process_runs_the_package_that_starts_it_whatever_the_search_path_says(hostile, tmp_path, monkeypatch, entry):
    other = tmp_path / "other" / "tokstudio"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text(_HOSTILE)
    path = str(other.parent) if entry == "another package" else f"{entry}{os.pathsep}{import_folder()}"
    monkeypatch.setenv("PYTHONPATH", path)
    done = subprocess.run(module_command(MODULES[0]), cwd=import_folder(), input=b"", capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert untouched(hostile)
    assert untouched(other)


def test_the_command_that_is_installed_reads_a_model_in_a_hostile_folder(hostile, tmp_path):
    installed = tmp_path / "installed"
    for folder, place in (("tokstudio", "tokstudio"), ("resources", "tokstudio/resources")):  # as in a wheel
        shutil.copytree(ROOT / folder, installed / place)
    # As `python -P -m tokstudio`, which does not say where it is from.
    start = (
        "import runpy, tokstudio; print(tokstudio.__file__, flush=True); runpy.run_module('tokstudio', {}, '__main__')"
    )
    command = [sys.executable, "-P", "-c", start, "inspect", "x.model"]
    variables = os.environ | {"PYTHONPATH": str(installed)}
    done = subprocess.run(command, env=variables, capture_output=True, timeout=120)
    assert untouched(hostile)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(os.fsencode(installed))
    assert b"sentencepiece" in done.stdout.lower()


@pytest.mark.skipif(sys.platform == "win32", reason="there, the system waits for the process itself")
@pytest.mark.parametrize("is_gone_before", [False, True])
def test_a_process_ends_with_its_parent_while_a_library_keeps_the_lock(monkeypatch, is_gone_before):
    code = (
        "import re, sys\n"
        "from tokstudio.core.base.subprocesses import ended_with_parent\n"
        "print('begun', flush=True)\n"
        + ("sys.stdin.read()\n" if is_gone_before else "")
        + "with ended_with_parent():\n"
        # The system can tell of what comes when it has long been read.
        "    print('heard', sys.stdin.readline(), flush=True)\n"
        "    re.fullmatch('(?:a|a)*b', 'a' * 60)\n"
    )
    monkeypatch.setattr(subprocesses, "module_command", lambda *_: [sys.executable, "-c", code])
    end_parent = ending_parent(monkeypatch)
    process = subprocesses.start_process([], {})
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"begun\n"
        if not is_gone_before:
            process.stdin.write(b"late\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"heard late\n"
        end_parent(process)
        assert process.wait(60) != 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
