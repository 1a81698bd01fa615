"""The examples in `docs` are what the library answers."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import doctest
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_the_examples_of_the_algorithm_are_true():
    failed, tried = doctest.testfile(str(DOCS / "algorithm.md"), module_relative=False, encoding="utf-8")
    assert tried > 50
    assert failed == 0
