"""The results of the benchmarks are well-formed, and BENCHMARKS.md shows them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import datetime
import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "benchmarks"


@pytest.fixture(scope="module")
def results():
    """The module beside the benchmarks, which are programs and no package."""
    description = importlib.util.spec_from_file_location("_results", FOLDER / "_results.py")
    module = importlib.util.module_from_spec(description)
    sys.modules["_results"] = module  # its dataclass looks itself up there
    description.loader.exec_module(module)
    yield module
    del sys.modules["_results"]


def test_the_results_are_well_formed_and_name_programs_that_exist(results):
    rows = results.read()
    assert len({row.key for row in rows}) == len(rows) > 20
    for row in rows:
        assert (FOLDER / f"{row.program}.py").is_file(), row
        assert row.work, row
        assert row.input, row
        assert row.unit, row
        assert row.machine, row
        assert row.ours >= 0, row
        assert (row.theirs is None) == (row.rival == ""), row
        assert datetime.date(2026, 1, 1) < datetime.date.fromisoformat(row.date), row


def test_the_page_of_the_benchmarks_shows_the_results(results):
    page = (ROOT / "BENCHMARKS.md").read_text(encoding="utf-8")
    assert page == results.shown(page, results.read()), "python tests/benchmarks/_results.py writes it again"
    assert len(page.encode()) < 15_000


def test_a_result_replaces_the_older_one_of_the_same_work_in_file_and_page(results, tmp_path):
    file, page = tmp_path / "results.json", tmp_path / "BENCHMARKS.md"
    page.write_text("# Benchmarks\n\nHow to measure.\n", encoding="utf-8")
    old = results.Row("encode", "encode", "10 MB", 50.0, "MB/s", "2026-11-24", "a computer", "tiktoken", "1.0", 10.0)
    training = replace(old, program="train_none", work="train", ours=0.5, unit="s", theirs=20.0, bar="40x")
    for row in (old, training, replace(old, input="1 MB"), replace(old, ours=80.0, date="2026-12-01")):
        results.keep(row, file, page)
    rows = results.read(file)
    assert [(row.program, row.input, row.ours) for row in rows] == [
        ("encode", "10 MB", 80.0),
        ("encode", "1 MB", 50.0),
        ("train_none", "10 MB", 0.5),
    ]
    assert [row.ratio for row in rows] == [8.0, 5.0, 40.0], "higher is better for MB/s, lower for seconds"
    written = page.read_text(encoding="utf-8")
    assert written.startswith("# Benchmarks\n\nHow to measure.\n\n| work |")
    assert (
        "| encode (`encode`) | 10 MB | 80 MB/s | tiktoken 1.0: 10 MB/s | 8.0x |  | 2026-12-01, a computer |" in written
    )
    assert "| 0.5 s | tiktoken 1.0: 20 s | 40.0x | 40x |" in written
