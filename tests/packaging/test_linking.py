"""Loops that are linked into libraries give what compiled ones give, in a process without a compiler."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import pickle
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba import types
from numba.core.serialize import dumps

from tokstudio.core.kernels import linked

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"
pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64" or not all(map(shutil.which, ("as", "ld"))),
    reason="loops are linked on Linux and x86-64, with binutils",
)
_PAIRS, _IDS = types.Array(types.int32, 2, "C", readonly=True), types.Array(types.int32, 1, "C", readonly=True)
_SPANS, _FLAGS = types.Array(types.int64, 2, "C"), types.Array(types.boolean, 1, "C")
_GIVEN = types.Array(types.uint32, 1, "C", readonly=True)
SYMBOLS = "tokstudio.core.kernels.symbols"
ENTRIES = [
    (SYMBOLS, "measure_tokens", (_PAIRS, _IDS, types.Array(types.int64, 1, "C"))),
    (SYMBOLS, "spelled_size", (_GIVEN, _SPANS)),
    (SYMBOLS, "all_in_use", (_GIVEN, _FLAGS)),
]
# A process: which folder has the loops, what the processor has, and what is run then.
_BEGUN = """
import json, sys
from pathlib import Path
from tokstudio.core.kernels import cache, linked
cache.folder = lambda: Path(sys.argv[1])
linked._features = lambda: set(json.loads(sys.argv[2]))
import numpy as np
from tokstudio.core.base.arrays import read_only
"""
_RUN = """
from tokstudio.core.kernels.symbols import all_in_use, measure_tokens, spelled_size
lengths = np.ones(4, np.int64)
few = np.array([0, 1, 1], np.uint32)
print(spelled_size(few, np.array([[0, 3], [3, 5]])))  # the larger processor has this, too
# Arrays that can be written, too: the loop was compiled for those that cannot.
for pairs in (np.array([[0, 1], [2, 0]], np.int32), read_only(np.array([[2, 1], [3, 0]], np.int32))):
    measure_tokens(pairs, np.array([2, 3], np.int32), lengths)
    print(lengths.tolist())
ids, spans = read_only(np.array([0, 1, 1], np.uint32)), np.array([[0, 3], [3, 5]])
print(spelled_size(ids, spans), all_in_use(ids, np.array([True, False])), all_in_use(ids, np.array([True, True])))
print([file.stem for file in linked.libraries(cache.folder())], "llvmlite.binding.ffi" in sys.modules)
print(cache.places() == cache.Places(None, cache.folder(), common=True), cache.problem())
"""


def _run(program, folder, features):
    command = [sys.executable, "-c", _BEGUN + program, str(folder), json.dumps(sorted(features))]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def loops(tmp_path_factory):
    """Some loops for three kinds of processor; those of the largest are fewer."""
    folder, listed = tmp_path_factory.mktemp("loops"), tmp_path_factory.mktemp("list") / "entries"
    listed.write_bytes(dumps(ENTRIES))
    script = [sys.executable, str(PACKAGING / "linking.py")]
    subprocess.run([*script, "x86-64-v3", str(listed), str(folder)], check=True)
    some = "import linking; linking.WITH_LANES = {'spelled_size'}; linking.main()"
    path = f"import sys; sys.path.insert(0, {str(PACKAGING)!r}); "
    subprocess.run([sys.executable, "-c", path + some, "x86-64-v4", str(listed), str(folder)], check=True)
    subprocess.run([*script, "note", str(folder)], check=True)
    return folder


def _needed():
    return [linked._LIBRARIES[name] for name in ("x86-64-v4", "x86-64-v3", "x86-64-v2")]


@pytest.mark.parametrize("kinds", [3, 2, 1])
def test_linked_loops_run_without_a_compiler_on_each_kind_of_processor(loops, kinds):
    features = _needed()[3 - kinds]
    if not features <= linked._features():
        pytest.skip("this processor is a smaller one")
    done = _run(_RUN, loops, features)
    names = ["x86-64-v4", "x86-64-v3", "x86-64-v2"][3 - kinds :]
    assert done.stdout.splitlines() == [
        "13",
        "[1, 1, 2, 3]",
        "[1, 1, 3, 4]",
        "13 False True",
        f"{names} False",
        "True None",
    ], done.stderr


def test_each_library_has_code_for_its_kind_of_processor_alone(loops):
    shown = {
        name: subprocess.run(["objdump", "-d", str(loops / f"{name}.so")], capture_output=True, text=True).stdout
        for name in linked._LIBRARIES
    }
    assert "%ymm" in shown["x86-64-v3"] + shown["x86-64-v4"]
    assert "%zmm" not in shown["x86-64-v3"]
    assert "%ymm" not in shown["x86-64-v2"]
    assert "vmov" not in shown["x86-64-v2"]


_MISSING = """
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.kernels.symbols import all_in_use, spell
for call in (
    lambda: spell(np.zeros(1, np.uint32), np.zeros((1, 2), np.int64), np.zeros(1, np.uint8), np.zeros(1, np.uint8), 0),
    lambda: all_in_use(np.zeros(1, np.float64), np.zeros(1, np.bool_)),
):
    try:
        call()
    except TokStudioError as error:
        print(error)
"""


def test_a_loop_that_is_not_there_is_named(loops):
    lines = _run(_MISSING, loops, ()).stdout.splitlines()
    assert len(lines) == 2
    assert all("lacks the loop symbols." in line and line.endswith(": install it again.") for line in lines)


def test_an_installation_of_which_a_part_is_gone_or_damaged_is_not_used(loops, tmp_path):
    for fault in ("gone", "damaged"):
        folder = tmp_path / fault
        shutil.copytree(loops, folder)
        file = next(folder.glob("*all_in_use*"))
        file.unlink() if fault == "gone" else file.write_bytes(file.read_bytes()[:-1])
        done = _run(_MISSING, folder, ())
        assert "lacks the loop symbols.all_in_use" in done.stdout, done.stderr
    (folder / "x86-64-v3.so").unlink()
    assert linked.libraries(folder) == ()


def test_the_files_name_no_path_of_the_sources(loops):
    root = str(PACKAGING.parent).encode()
    assert [file.name for file in loops.iterdir() if root in file.read_bytes()] == []
    assert not any(isinstance(pickle.loads(file.read_bytes()[32:])[1][0][2][1], str) for file in loops.glob("*.nbc"))


def test_what_cannot_be_linked_is_an_error(linking, system, tmp_path, capsys):
    with pytest.raises(system.SetupError, match=r"one\.so could not be linked"):
        linking.link([b"no code"], tmp_path / "one.so")
