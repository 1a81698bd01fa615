"""What `pipx install .` and `uv tool install .` bring along: the wheel that is built from these sources."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from email import message_from_string
from functools import partial
from gzip import GzipFile
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZipFile

import pytest
from hatchling.builders import sdist
from hatchling.builders.wheel import WheelBuilder

from tokstudio import __version__
from tokstudio.core.kernels import cache

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "https://github.com/tokstudio/tokstudio"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of these sources."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKSTUDIO_WITHOUT_LOOPS", "1")
        archive = build(tmp_path_factory.mktemp("wheel"))
    with archive:
        yield archive


def test_the_wheel_carries_every_module_and_resource_and_no_tests(wheel):
    files = [file for file in (ROOT / "resources").rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    resources = {"tokstudio/" + file.relative_to(ROOT).as_posix() for file in files}
    assert any(name.endswith(".svg") for name in resources)
    modules = {file.relative_to(ROOT).as_posix() for file in (ROOT / "tokstudio").rglob("*.py")}
    assert modules | resources <= set(wheel.namelist())
    assert {name.split("/")[0].split("-")[0] for name in wheel.namelist()} == {"tokstudio"}


def test_the_installed_command_is_tokstudio(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "tokstudio = tokstudio.__main__:main" in wheel.read(name).decode()


def test_the_wheel_says_that_it_is_typed_and_under_which_licence(wheel):
    assert "tokstudio/py.typed" in wheel.namelist()
    (licence,) = (name for name in wheel.namelist() if name.endswith("licenses/LICENSE"))
    assert wheel.read(licence).startswith(b"MIT License")


@pytest.fixture(scope="module")
def metadata(wheel):
    """What the package index reads."""
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return message_from_string(wheel.read(name).decode())


def test_every_link_of_the_long_description_works_without_the_sources(metadata):
    text = metadata.get_payload()
    assert isinstance(text, str)
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert f"{ADDRESS}/raw/v{__version__}/resources/pictures/window.png" in links
    assert f"{ADDRESS}/blob/v{__version__}/packaging/README.md" in links
    assert [link for link in links if not link.startswith("https://")] == []
    prefix = re.compile(rf"{ADDRESS}/(?:raw|blob)/v{__version__}/")
    assert all((ROOT / prefix.sub("", link)).is_file() for link in links if prefix.match(link))


def test_the_package_index_is_told_addresses_versions_and_licence(metadata):
    assert f"Homepage, {ADDRESS}" in metadata.get_all("Project-URL", [])
    classifiers = metadata.get_all("Classifier", [])
    for minor in range(11, 15):
        assert f"Programming Language :: Python :: 3.{minor}" in classifiers
    assert {"Environment :: Console", "Environment :: X11 Applications :: Qt"} <= set(classifiers)
    assert metadata["License-Expression"] == "MIT"
    # The index refuses both.
    assert not any(one.startswith("License ::") for one in classifiers)


def test_the_archive_of_the_sources_has_every_document_and_can_be_built(tmp_path, monkeypatch):
    # Read once, it need not be small.
    monkeypatch.setattr(sdist, "gzip", SimpleNamespace(GzipFile=partial(GzipFile, compresslevel=1)))
    with tarfile.open(next(sdist.SdistBuilder(str(ROOT)).build(directory=str(tmp_path)))) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.4 and later have it
        archive.extractall(tmp_path)
    folder = tmp_path / f"tokstudio-{__version__}"
    documents = {document.name for document in ROOT.glob("*.md")}
    assert "BENCHMARKS.md" in documents
    assert documents <= {document.name for document in folder.iterdir()}
    # The only one that is built as pip does it.
    monkeypatch.setenv("TOKSTUDIO_WITHOUT_LOOPS", "1")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


# --- The compiled loops in a wheel, without compiling any -------------------------------------------------------------


class Compiler:
    """Stands in for the process that compiles; writes files as that does.

    Attributes:
        code: The exit code.
        said: What it prints as an error.
        names: The files that it writes.
    """

    code, said, names = 0, "", ("one.nbc", "other.nbc")

    def __init__(self):
        self.folders: list[Path] = []

    def run(self, command, **how):
        assert command == [sys.executable, "-m", "tokstudio.core.warm_up", "common"]
        folder = Path(how["env"]["NUMBA_CACHE_DIR"])
        self.folders.append(folder)
        for name in self.names:
            cache.write_whole(folder / name, name.encode())
        if self.names:
            cache.list_all(folder)
        return subprocess.CompletedProcess(command, self.code, "", self.said)


@pytest.fixture
def compiler(monkeypatch):
    made = Compiler()
    monkeypatch.delenv("TOKSTUDIO_WITHOUT_LOOPS", raising=False)
    monkeypatch.setattr(subprocess, "run", made.run)
    return made


def build(folder, version="standard"):
    return ZipFile(next(WheelBuilder(str(ROOT)).build(directory=str(folder), versions=[version])))


def tags(wheel):
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/WHEEL"))
    return wheel.read(name).decode()


def test_a_wheel_with_loops_is_for_this_python_and_system(compiler, tmp_path):
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


def test_without_loops_a_wheel_is_for_all_systems_and_the_build_says_why(compiler, build_loops, tmp_path, capsys):
    compiler.code, compiler.names = 1, ()
    for said, reason in (("", "compiling them ended with 1."), ("Traceback\nImportError: no X\n", "ImportError: no X")):
        compiler.said = said
        assert build_loops.compile_loops(ROOT, tmp_path) == reason
    compiler.code, compiler.said = 0, ""
    with build(tmp_path) as wheel:
        assert "Tag: py3-none-any" in tags(wheel)
        assert not any(name.startswith("tokstudio/loops") for name in wheel.namelist())
    reason = "no common kind of this processor is known."
    assert f"The wheel has no compiled loops: {reason}" in "".join(capsys.readouterr())


def test_a_link_to_the_sources_and_a_wheel_that_is_to_have_none_compile_nothing(compiler, monkeypatch, tmp_path):
    with build(tmp_path, "editable") as wheel:
        assert "Tag: py3-none-any" in tags(wheel)
    assert {name.split(">")[0] for name in WheelBuilder(str(ROOT)).config.dependencies} >= {"numba", "numpy"}
    monkeypatch.setenv("TOKSTUDIO_WITHOUT_LOOPS", "1")
    with build(tmp_path) as wheel:
        assert "Tag: py3-none-any" in tags(wheel)
    assert WheelBuilder(str(ROOT)).config.dependencies == []
    assert not compiler.folders
