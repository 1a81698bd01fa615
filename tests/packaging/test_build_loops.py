"""The compiled loops in a wheel, without compiling any."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder

from tokstudio.core.kernels import cache

ROOT = Path(__file__).resolve().parents[2]


class Compiler:
    """Stands in for the process that compiles; writes files as that does.

    Attributes:
        code: The exit code.
        said: What it prints as an error.
        names: The files that it writes.
    """

    code, said, names = 0, "", ("one.nbc", "other.nbc")

    def __init__(self) -> None:
        self.folders: list[Path] = []

    def run(self, command: list[str], **how: Any) -> subprocess.CompletedProcess[str]:
        assert command == [sys.executable, "-m", "tokstudio.core.warm_up", "common"]
        folder = Path(how["env"]["NUMBA_CACHE_DIR"])
        self.folders.append(folder)
        for name in self.names:
            cache.write_whole(folder / name, name.encode())
        if self.names:
            cache.list_all(folder)
        return subprocess.CompletedProcess(command, self.code, "", self.said)


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Compiler:
    made = Compiler()
    monkeypatch.delenv("TOKSTUDIO_WITHOUT_LOOPS", raising=False)
    monkeypatch.setattr(subprocess, "run", made.run)
    return made


def build(folder: Path, version: str = "standard") -> ZipFile:
    return ZipFile(next(WheelBuilder(str(ROOT)).build(directory=str(folder), versions=[version])))


def tags(wheel: ZipFile) -> str:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/WHEEL"))
    return wheel.read(name).decode()


def test_a_wheel_with_loops_is_for_this_python_and_system(compiler: Compiler, tmp_path: Path) -> None:
    with build(tmp_path) as wheel:
        python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        assert f"Tag: {python}-{python}" in tags(wheel)
        assert "-any" not in tags(wheel)
        assert "Root-Is-Purelib: false" in tags(wheel)
        wheel.extractall(tmp_path)
    # Where the program looks for them.
    loops = tmp_path / cache.folder().relative_to(Path(cache.__file__).parents[3])
    assert {file.name for file in loops.iterdir()} == {*compiler.names, f"loops-{cache.identity()}"}
    assert cache.is_complete(loops)
    assert not compiler.folders[0].exists()


@pytest.mark.parametrize(
    ("code", "said", "reason"),
    [
        (1, "Traceback\nImportError: no numba\n", "ImportError: no numba"),
        (1, "", "compiling them ended with 1."),
        (0, "", "no common kind of this processor is known."),
    ],
)
def test_without_loops_a_wheel_is_for_all_systems_and_the_build_says_why(
    compiler: Compiler, tmp_path: Path, capsys: pytest.CaptureFixture[str], code: int, said: str, reason: str
) -> None:
    compiler.code, compiler.said, compiler.names = code, said, ()
    with build(tmp_path) as wheel:
        assert "Tag: py3-none-any" in tags(wheel)
        assert not any(name.startswith("tokstudio/loops") for name in wheel.namelist())
    assert f"The wheel has no compiled loops: {reason}" in "".join(capsys.readouterr())


def test_a_link_to_the_sources_and_a_wheel_that_is_to_have_none_compile_nothing(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with build(tmp_path, "editable") as wheel:
        assert "Tag: py3-none-any" in tags(wheel)
    assert {name.split(">")[0] for name in WheelBuilder(str(ROOT)).config.dependencies} >= {"numba", "numpy"}
    monkeypatch.setenv("TOKSTUDIO_WITHOUT_LOOPS", "1")
    with build(tmp_path) as wheel:
        assert "Tag: py3-none-any" in tags(wheel)
    assert WheelBuilder(str(ROOT)).config.dependencies == []
    assert not compiler.folders
