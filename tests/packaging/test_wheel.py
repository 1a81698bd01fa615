"""What `pipx install .` and `uv tool install .` bring along: the wheel that is built from these sources."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZipFile]:
    """The wheel of these sources."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (file,) = folder.glob("*.whl")
    with ZipFile(file) as archive:
        yield archive


def test_the_wheel_carries_every_resource_and_no_tests(wheel: ZipFile) -> None:
    files = [file for file in (ROOT / "resources").rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    resources = {"tokstudio/" + file.relative_to(ROOT).as_posix() for file in files}
    assert any(name.endswith(".svg") for name in resources)
    assert resources <= set(wheel.namelist())
    assert {name.split("/")[0].split("-")[0] for name in wheel.namelist()} == {"tokstudio"}


def test_the_installed_command_is_tokstudio(wheel: ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "tokstudio = tokstudio.cli:main" in wheel.read(name).decode()


def test_the_wheel_says_that_it_is_typed_and_under_which_licence(wheel: ZipFile) -> None:
    assert "tokstudio/py.typed" in wheel.namelist()
    (licence,) = (name for name in wheel.namelist() if name.endswith("licenses/LICENSE"))
    assert wheel.read(licence).startswith(b"MIT License")
