"""What ARCHITECTURE.md promises of the folders, where the import contracts of `pyproject.toml` cannot say it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Protocol

import tokstudio

ROOT = Path(tokstudio.__file__).parent


def name_of(file: Path) -> str:
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(file): file for file in ROOT.rglob("*.py")}


@dataclass(frozen=True)
class Facts:
    """What is asked of a file, which is parsed once."""

    docstring: str | None
    imports: frozenset[str]  # every module, those within functions and for type checkers included
    ours: frozenset[str]  # the files of ours; of a name in a file only that file, not also its folder
    classes: tuple[str, ...]  # the public ones
    emits: tuple[str, ...]
    writes: tuple[str, ...]


def statements(module: ast.Module) -> list[ast.AST]:
    """All of a file, those within others included; a walk through their expressions would take far longer."""
    found: list[ast.AST] = [module]
    for node in found:  # which grows meanwhile
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            found += getattr(node, part, ())
    return found


@cache
def facts_of(file: Path) -> Facts:
    text = file.read_text(encoding="utf-8")
    module = ast.parse(text)
    nodes, imports, own = statements(module), set[str](), set[str]()
    for node in nodes:
        if isinstance(node, ast.Import):
            imports.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            imports |= {*whole, node.module}
            own |= {name if name in FILES else node.module for name in whole}
    classes = [node.name for node in module.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    return Facts(
        ast.get_docstring(module),
        frozenset(imports),
        frozenset((own & FILES.keys()) - {name_of(file)}),
        tuple(classes),
        tuple(foreign_emits(module)) if "emit" in text else (),
        tuple(foreign_writes(nodes)),
    )


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
    assert circle({name: set(facts_of(file).ours) for name, file in FILES.items()}) == []


def test_no_folders_import_each_other_in_a_circle():
    edges: dict[str, set[str]] = {}
    for name, file in FILES.items():
        here = folder_of(name)
        edges.setdefault(here, set()).update({folder_of(other) for other in facts_of(file).ours} - {here})
    assert circle(edges) == []


def test_a_circle_would_be_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) != []


def test_no_two_public_classes_have_one_name():
    places: dict[str, list[str]] = {}
    for name, file in FILES.items():
        for class_name in facts_of(file).classes:
            places.setdefault(class_name, []).append(name)
    assert {name: here for name, here in places.items() if len(here) > 1} == {}


def undocumented(kind: type) -> list[str]:
    """The public methods and properties of a class that override nothing, and have no docstring."""
    inherited = {name for base in kind.__mro__[1:] for name in vars(base)}
    own = {name: vars(kind)[name] for name in vars(kind).keys() - inherited if not name.startswith("_")}
    # A field may hold a function of another module.
    methods = {name for name, value in own.items() if inspect.isfunction(value) and value.__module__ == kind.__module__}
    methods |= {name for name, value in own.items() if isinstance(value, property)}
    return [f"{kind.__name__}.{name}" for name in methods if not own[name].__doc__]


def test_a_method_of_the_window_that_overrides_nothing_has_a_docstring():
    modules = [importlib.import_module(name) for name in FILES if name.startswith("tokstudio.gui")]
    classes = {kind for module in modules for kind in vars(module).values() if inspect.isclass(kind)}
    ours = [kind for kind in classes if kind.__module__.startswith("tokstudio.gui") and kind.__name__[0] != "_"]
    # A protocol describes what another class does.
    assert [name for kind in ours if Protocol not in kind.__bases__ for name in undocumented(kind)] == []


def test_a_method_without_a_docstring_would_be_found():
    class Base:
        def shown(self) -> None: ...

    class Kind(Base):
        def shown(self) -> None: ...
        def hidden(self) -> None: ...

    assert undocumented(Kind) == ["Kind.hidden"]


def test_a_folder_says_what_it_holds():
    folders = {file.parent for file in FILES.values()}
    assert [folder for folder in folders if not facts_of(folder / "__init__.py").docstring] == []


#: Qt keeps its undo stack, which draws nothing, among what draws.
UNDO = {"PySide6.QtGui", "PySide6.QtGui.QUndoCommand", "PySide6.QtGui.QUndoStack"}


def test_state_and_session_draw_nothing():
    for file in (file for folder in ("state", "session") for file in (ROOT / "gui" / folder).rglob("*.py")):
        drawn = {name for name in facts_of(file).imports if name.startswith(("PySide6.QtWidgets", "PySide6.QtGui"))}
        assert drawn <= (UNDO if file.name == "undo.py" else set()), file.name


#: Where no object may change the fields of another.
CHANGED_BY_METHODS = ("session", "project", "dialogs", "find", "panes", "commands", "window")
#: What may be done all the same, with the reason.
ALLOWED = {
    "asked.emit": "RunsTable chooses among its own signals by the key that was pressed",
    "preferences.folder": "a property with a setter, which writes to the settings file",
    "option.font": "Qt hands a style option to a delegate to be filled in",
    "option.text": "Qt hands a style option to a delegate to be filled in",
}


def is_own(node: ast.expr) -> bool:
    """Whether it is a field of the object whose method this is: `self.name`."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def is_allowed(node: ast.AST) -> bool:
    return ast.unparse(node).removeprefix("self.").removeprefix("_") in ALLOWED


def foreign_emits(module: ast.Module) -> list[str]:
    """Where a signal is emitted, or its `emit` handed on, that is no field of `self`."""
    emits = [node for node in ast.walk(module) if isinstance(node, ast.Attribute) and node.attr == "emit"]
    return [f"{node.lineno}: {ast.unparse(node)}" for node in emits if not (is_own(node.value) or is_allowed(node))]


def targets_of(node: ast.AST) -> Iterator[ast.expr]:
    """What an assignment assigns to, one by one."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign | ast.Delete):
        targets = list(node.targets)
    elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For):
        targets = [node.target]
    while targets:
        target = targets.pop()
        if isinstance(target, ast.Tuple | ast.List):
            targets += target.elts
        else:
            yield target.value if isinstance(target, ast.Starred) else target


def foreign_writes(nodes: Iterable[ast.AST]) -> list[str]:
    """Where a field of another object than `self` is assigned."""
    written = [target for node in nodes for target in targets_of(node) if isinstance(target, ast.Attribute)]
    return [f"{node.lineno}: {ast.unparse(node)}" for node in written if not (is_own(node) or is_allowed(node))]


def test_nobody_emits_the_signal_of_another():
    found = {name_of(file): facts_of(file).emits for file in (ROOT / "gui").rglob("*.py")}
    assert {name: emits for name, emits in found.items() if emits} == {}


def test_nobody_changes_the_fields_of_another():
    files = [file for folder in CHANGED_BY_METHODS for file in (ROOT / "gui" / folder).rglob("*.py")]
    found = {name_of(file): facts_of(file).writes for file in files}
    assert {name: writes for name, writes in found.items() if writes} == {}


def test_a_foreign_emit_and_a_foreign_write_would_be_found():
    emits = "session.runs.changed.emit()\nself.runs.changed.emit()\ndone.connect(other.changed.emit)"
    assert len(foreign_emits(ast.parse(emits))) == 3
    assert foreign_emits(ast.parse("self.changed.emit()")) == []
    writes = "run.saved = 1\nself.run.name, self.x = 1, 2\nrun.count += 1\nfor run.key in ():\n with run: del run.name"
    assert len(foreign_writes(statements(ast.parse(writes)))) == 5
    assert foreign_writes(statements(ast.parse("self.run = run\nrun = 1\nself.names[0] = 1"))) == []


def test_frozen_dataclasses_compile_their_methods_late():
    # The sources of the loops name the folder of the compiled ones; the loader imports nothing of ours.
    apart = {"tokstudio.core.base.records", "tokstudio.core.kernels.cache", "tokstudio.core.formats.loader.loader"}
    at_once = {name for name, file in FILES.items() if "dataclasses.dataclass" in facts_of(file).imports} - apart
    frozen = "@dataclass(frozen=True"
    names = {name for name in at_once if frozen in FILES[name].read_text(encoding="utf-8")}
    assert not names, "take the dataclass of core/base/records.py"
