"""Loops that are linked into libraries give what compiled ones give, in a process without a compiler."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ast
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
_BYTES = types.Array(types.uint8, 1, "C", readonly=True)
SYMBOLS = "tokstudio.core.kernels.symbols"
ENTRIES = [
    (SYMBOLS, "measure_tokens", (_PAIRS, _IDS, types.Array(types.int64, 1, "C"))),
    (SYMBOLS, "spelled_size", (_GIVEN, _SPANS)),
    (SYMBOLS, "all_in_use", (_GIVEN, _FLAGS)),
    (SYMBOLS, "spell", (_GIVEN, _SPANS, _BYTES, types.Array(types.uint8, 1, "C"), types.int64)),
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
from tokstudio.core.kernels.symbols import all_in_use, measure_tokens, spell, spelled_size
lengths = np.ones(4, np.int64)
given, places = np.array([0, 1, 1], np.uint32), np.array([[0, 3], [3, 5]])
print(spelled_size(given, places))  # the larger processor has this, too
data, out = read_only(np.frombuffer(b"abcdefgh", np.uint8)), np.zeros(13, np.uint8)
spell(given, places, data, out, np.int32(0))
print(out.tobytes())
try:
    spell(given, places, data, out, 0.5)
except TypeError as error:
    print("spell" in str(error))
# Arrays that can be written, too: the loop was compiled for those that cannot.
for pairs in (np.array([[0, 1], [2, 0]], np.int32), read_only(np.array([[2, 1], [3, 0]], np.int32))):
    measure_tokens(pairs, np.array([2, 3], np.int32), lengths)
    print(lengths.tolist())
ids, spans = read_only(np.array([0, 1, 1], np.uint32)), np.array([[0, 3], [3, 5]])
print(spelled_size(ids, spans), all_in_use(ids, np.array([True, False])), all_in_use(ids, np.array([True, True])))
print([file.stem for file in linked.libraries(cache.folder())], "llvmlite.binding.ffi" in sys.modules)
print(all(helper.value for each in sys.modules["llvmlite.binding"]._helpers.values() for helper in each))
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
    # Of the files of this loop, that for the largest processor is found first.
    for file in folder.glob("*.spelled_size-*"):
        kind = pickle.loads(file.read_bytes()[32:])[0][1]
        file.rename(file.with_name(f"{file.name.rsplit('.', 2)[0]}.{int(kind != linked.LARGER)}.nbc"))
    return folder


def _needed():
    return [linked._LIBRARIES[name] for name in ("x86-64-v4", "x86-64-v3", "x86-64-v2")]


@pytest.mark.parametrize("kinds", [3, 2, 1])
def test_linked_loops_run_without_a_compiler_on_each_kind_of_processor(loops, kinds):
    features = _needed()[3 - kinds]
    if not features <= linked._features():
        pytest.skip("this processor is a smaller one")
    done = _run(_RUN, loops, features)
    names = [["x86-64-v4", "x86-64-v3"], ["x86-64-v3"], ["x86-64-v2"]][3 - kinds]
    assert done.stdout.splitlines() == [
        "13",
        "b'abcdefghdefgh'",
        "True",
        "[1, 1, 2, 3]",
        "[1, 1, 3, 4]",
        "13 False True",
        f"{names} False",
        "True",
        "True None",
    ], done.stderr


def test_each_library_has_code_for_its_kind_of_processor_alone(loops):
    shown = {
        name: subprocess.run(["objdump", "-d", str(loops / f"{name}.so")], capture_output=True, text=True).stdout
        for name in linked._LIBRARIES
    }
    assert "%ymm" in shown["x86-64-v3"]
    assert "%zmm" not in shown["x86-64-v3"]
    assert "%ymm" not in shown["x86-64-v2"]
    assert "vmov" not in shown["x86-64-v2"]


_MISSING = """
from tokstudio.core.base.errors import TokStudioError
try:
    from tokstudio.core.kernels.symbols import all_in_use, lay_out_bytes
    for call in (lambda: all_in_use(np.zeros(1, np.uint32), np.ones(1, np.bool_)), lambda: all_in_use(np.zeros(1), 0)):
        print(call())
except (TokStudioError, TypeError) as error:
    print(error)
"""
_INCOMPLETE = "TokStudio is not complete"


def test_the_loops_that_use_larger_vectors_are_linked_once_more(linking):
    """Those that ask for fast lanes, and those that call such, up to the ones that Python calls."""
    functions = {}
    for file in (PACKAGING.parent / "tokstudio/core/kernels").glob("*.py"):
        for each in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(each, ast.FunctionDef):
                names = {node.id for node in ast.walk(each) if isinstance(node, ast.Name)}
                functions[each.name] = functions.get(each.name, set()) | names
    found = {"has_fast_lanes"}
    while more := {name for name, names in functions.items() if names & found} - found:
        found |= more
    called = {name for name in found if not any(name in names for names in functions.values())}
    assert called == linking.WITH_LANES


def test_types_that_a_loop_was_not_compiled_for_are_an_error_of_ours(loops):
    first, second = _run(_MISSING, loops, ()).stdout.splitlines()
    assert first == "True"
    assert second.startswith("The loop symbols.all_in_use-")
    assert "was not compiled for" in second


@pytest.mark.parametrize("fault", ["gone", "damaged"])
def test_of_a_loop_or_library_that_is_gone_or_damaged_a_sentence_says_so(loops, tmp_path, fault):
    for number, name in enumerate(("*all_in_use*", "x86-64-v2.so")):
        folder = tmp_path / str(number)
        shutil.copytree(loops, folder)
        file = next(folder.glob(name))
        file.unlink() if fault == "gone" else file.write_bytes(file.read_bytes()[:-1])
        lines = _run(_MISSING, folder, ()).stdout.splitlines()
        assert len(lines) == 1
        assert lines[0].startswith(_INCOMPLETE)
        assert lines[0].endswith("install it again.")
        # A processor for which all is there is not harmed.
        has_all = number == 1 and _needed()[1] <= linked._features()
        assert not has_all or _run(_MISSING, folder, _needed()[1]).stdout.startswith("True")


def test_settings_of_a_compiler_change_nothing(loops, monkeypatch):
    for name, value in (
        ("ENABLE_PROFILING", "1"),
        ("LLVM_REFPRUNE_PASS", "0"),
        ("DISABLE_JIT", "1"),
        ("CPU_NAME", "skylake"),
        ("CACHE_DIR", "/nowhere"),
    ):
        monkeypatch.setenv(f"NUMBA_{name}", value)
    assert _run(_RUN, loops, ()).stdout.startswith("13\n")


def test_numba_may_not_be_loaded_before(loops):
    done = _run("import numba\nimport tokstudio.core.kernels.compiled", loops, ())
    assert "RuntimeError: Numba is loaded before its compiler is replaced" in done.stderr


def test_the_files_name_no_path_of_the_sources(loops):
    root = str(PACKAGING.parent).encode()
    assert [file.name for file in loops.iterdir() if root in file.read_bytes()] == []


def test_what_cannot_be_linked_is_an_error(linking, system, tmp_path, capsys):
    with pytest.raises(system.SetupError, match=r"one\.so could not be linked"):
        linking.link([b"no code"], tmp_path / "one.so")
