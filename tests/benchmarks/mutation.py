"""Changes one operator or constant at a time in a copy of the sources, and counts the changes that the tests notice.

Run as `python tests/benchmarks/mutation.py [--count N] [--seed N]`. The changes are sampled in equal parts from the
engine, the encoder and the file formats. Only Python code is changed: a changed compiled loop would have to be compiled
again for each run. The tests that cover the file run until the first failure; a change that makes them take three times
as long as before counts as noticed.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = "tokstudio/core"
FORMATS = f"{CORE}/formats"
AREAS = {
    "engine": [f"{CORE}/algorithms/bpe/engine.py"],
    "encoder": [f"{CORE}/tokenizer/encoder.py"],
    "formats": [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / FORMATS).rglob("*.py"))],
}
TESTS = {
    f"{CORE}/algorithms/bpe/engine.py": [
        "tests/core/training/test_engine.py",
        "tests/core/training/test_trainer.py",
        "tests/core/training/test_characters.py",
        "tests/core/analysis/test_why_this_merge.py",
    ],
    f"{CORE}/tokenizer/encoder.py": [
        "tests/core/tokenizer/test_encoder.py",
        "tests/core/tokenizer/test_batch.py",
        "tests/core/tokenizer/test_threads.py",
        "tests/core/pretokenization/test_special_tokens.py",
        "tests/core/training/test_characters.py",
    ],
}
SWAPS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.FloorDiv: ("//", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
SLOWER, LONGEST_START = 3, 30  # times the time without a change, and seconds


@dataclass(frozen=True)
class Change:
    """One change of a source file, whose path is below the root: `old` from `start` to `stop` becomes `new`."""

    file: str
    line: int
    start: int
    stop: int
    old: str
    new: str

    def applied(self, source: bytes) -> bytes:
        """The source with the change."""
        return source[: self.start] + self.new.encode() + source[self.stop :]


class _Finder(ast.NodeVisitor):
    """Collects the changes of one file.

    Annotations are left out, and so are constants of modules: most are budgets and sizes, where one more or less
    changes no result.
    """

    def __init__(self, file: str, source: bytes) -> None:
        self._file, self._source = file, source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self.changes: list[Change] = []

    def visit(self, node: ast.AST) -> None:
        """Collects the changes of a node and of those below it."""
        match node:
            case ast.Compare():
                operands = [node.left, *node.comparators]
                for operator, left, right in zip(node.ops, operands, operands[1:], strict=False):
                    self._swap(operator, left, right)
            case ast.BinOp():
                self._swap(node.op, node.left, node.right)
            case ast.BoolOp():
                for left, right in zip(node.values, node.values[1:], strict=False):
                    self._swap(node.op, left, right)
            case ast.Constant(value=bool() | int() as value):
                self._add(node.lineno, *self._span(node), str(not value if isinstance(value, bool) else value + 1))
            case _:
                pass
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "op", "ops"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST) and not (isinstance(node, ast.Module) and _is_constant(child)):
                        self.visit(child)

    def _swap(self, operator: ast.AST, left: ast.expr, right: ast.expr) -> None:
        if type(operator) in SWAPS:
            old, new = SWAPS[type(operator)]
            begin, end = self._span(left)[1], self._span(right)[0]
            at = self._source.find(old.encode(), begin, end)
            if at >= 0:
                line = self._source.count(b"\n", 0, at) + 1
                self._add(line, at, at + len(old), new)

    def _add(self, line: int, start: int, stop: int, new: str) -> None:
        old = self._source[start:stop].decode()
        self.changes.append(Change(self._file, line, start, stop, old, new))

    def _span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._lines[node.lineno - 1] + node.col_offset, self._lines[node.end_lineno - 1] + node.end_col_offset


def _is_constant(statement: ast.AST) -> bool:
    return isinstance(statement, (ast.Assign, ast.AnnAssign))


def changes_of(file: str) -> list[Change]:
    """All changes of one source file."""
    source = (ROOT / file).read_bytes()
    finder = _Finder(file, source)
    finder.visit(ast.parse(source))
    return finder.changes


def tests_of(file: str) -> list[str]:
    """The tests that cover a source file."""
    if file in TESTS:
        return TESTS[file]
    folder = Path("tests") / Path(file).parent.relative_to("tokstudio")
    shared = [f"tests/core/formats/test_{name}.py" for name in ("save_and_load", "ids", "damaged")]
    if folder.name == "formats":
        return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).glob("test_*.py"))
    if folder.name == "common":
        return [folder.as_posix(), "tests/core/formats/gpt2", "tests/core/formats/huggingface", *shared]
    return [folder.as_posix(), *shared]


def sample(count: int, seed: int) -> list[Change]:
    """Changes in equal parts from the areas."""
    chance, chosen = random.Random(seed), list[Change]()
    for number, files in enumerate(AREAS.values()):
        changes = [change for file in files for change in changes_of(file)]
        share = count * (number + 1) // len(AREAS) - count * number // len(AREAS)
        chosen += chance.sample(changes, min(share, len(changes)))
    return chosen


def passes(tree: Path, tests: Sequence[str], limit: float | None) -> bool:
    """Whether the tests pass in a tree within a time limit."""
    options = ["-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
    command = [sys.executable, "-B", "-m", "pytest", *options, *tests]
    try:
        return subprocess.run(command, cwd=tree, capture_output=True, timeout=limit, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def results(tree: Path, changes: Sequence[Change]) -> Iterator[tuple[Change, bool]]:
    """Tries the changes in a copy of the sources; yields each with whether the tests noticed it."""
    shutil.copytree(ROOT / "tokstudio", tree / "tokstudio")
    shutil.copytree(ROOT / "tests", tree / "tests", ignore=shutil.ignore_patterns("__pycache__", "gui"))
    for name in ("resources", "docs", "packaging"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy2(ROOT / name, tree / name)
    limits: dict[tuple[str, ...], float] = {}
    for change in changes:
        tests = tuple(tests_of(change.file))
        if tests not in limits:
            begin = time.perf_counter()
            if not passes(tree, tests, None):
                sys.exit(f"The tests fail without a change: {' '.join(tests)}")
            limits[tests] = LONGEST_START + SLOWER * (time.perf_counter() - begin)
        target = tree / change.file
        source, status = target.read_bytes(), target.stat()
        target.write_bytes(change.applied(source))
        noticed = not passes(tree, tests, limits[tests])
        target.write_bytes(source)
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        yield change, noticed


def main() -> None:
    """Tries a sample of changes, and prints each and the share that the tests noticed."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--count", type=int, default=40, help="how many changes to try (default: 40)")
    arguments.add_argument("--seed", type=int, default=1, help="another seed gives another sample (default: 1)")
    chosen = arguments.parse_args()
    noticed_in: dict[str, list[bool]] = {name: [] for name in AREAS}
    with tempfile.TemporaryDirectory(prefix="tokstudio-mutation-") as folder:
        for change, noticed in results(Path(folder), sample(chosen.count, chosen.seed)):
            area = next(name for name, files in AREAS.items() if change.file in files)
            noticed_in[area].append(noticed)
            verdict = "noticed " if noticed else "SURVIVED"
            print(f"{verdict} {change.file}:{change.line}: {change.old} -> {change.new}", flush=True)
    everything = [one for some in noticed_in.values() for one in some]
    for area, noticed in [*noticed_in.items(), ("all", everything)]:
        if noticed:
            print(f"{area:<8} {sum(noticed):>4} of {len(noticed):>4} noticed: {sum(noticed) / len(noticed):.0%}")


if __name__ == "__main__":
    main()
