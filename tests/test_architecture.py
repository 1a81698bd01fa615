"""What ARCHITECTURE.md promises of the folders, where the import contracts of `pyproject.toml` cannot say it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import tokstudio

ROOT = Path(tokstudio.__file__).parent
MOST_FILES = 16
FOLDERS = sorted({file.parent for file in ROOT.rglob("*.py")})


def name_of(file: Path) -> str:
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(file): file for file in ROOT.rglob("*.py")}


def imports_of(file: Path) -> Iterator[str]:
    """Every module that a file imports, those within functions and for type checkers included."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield f"{node.module}.{alias.name}"
                yield node.module


def ours(file: Path) -> set[str]:
    """The files of ours that a file imports; of a name in a file only that file, not also its folder."""
    found = set[str]()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in FILES else node.module)
    return (found & FILES.keys()) - {name_of(file)}


def folder_of(name: str) -> str:
    """The folder of a file; the public names and the files beside them count one by one."""
    return name if FILES[name].name == "__init__.py" or name.count(".") == 1 else name.rpartition(".")[0]


def circle(edges: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_files_import_each_other_in_a_circle():
    assert circle({name: ours(file) for name, file in FILES.items()}) == []


def test_no_folders_import_each_other_in_a_circle():
    edges: dict[str, set[str]] = {}
    for name, file in FILES.items():
        here = folder_of(name)
        edges.setdefault(here, set()).update({folder_of(other) for other in ours(file)} - {here})
    assert circle(edges) == []


def test_a_circle_would_be_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) != []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(ROOT.parent).as_posix())
def test_a_folder_says_what_it_holds_and_is_small_enough_to_be_read(folder: Path):
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    assert text
    if folder.name != "kernels":
        assert len(list(folder.glob("*.py"))) - 1 <= MOST_FILES


@pytest.mark.parametrize("folder", ["state", "session"])
def test_state_and_session_draw_nothing(folder: str):
    for file in (ROOT / "gui" / folder).rglob("*.py"):
        drawn = {name for name in imports_of(file) if name.startswith(("PySide6.QtWidgets", "PySide6.QtGui"))}
        assert not drawn, file.name
