"""What `import tokstudio` offers, and what it does not cost."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import tokstudio

# The page of the documentation promises them; `test_docs` holds it against `__all__`.
PAGE = Path(__file__).resolve().parents[1] / "docs" / "api.md"
NAMES = re.findall(r"^::: tokstudio\.(\w+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
HEAVY = {
    "numpy",
    "numba",
    "PySide6",
    "pyqtgraph",
    "tokenizers",
    "regex",
    "charset_normalizer",
    "pyarrow",
    "zstandard",
    "highspy",
    "jinja2",
    "sqlite3",
}


def loaded_after(statement: str) -> set[str]:
    """The heavy packages that a statement loads, in a Python of its own."""
    script = f"{statement}\nimport sys\nprint(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    return HEAVY & set(output.split())


def test_every_public_name_is_there():
    assert [getattr(tokstudio, name).__name__ for name in NAMES] == NAMES
    assert set(NAMES) <= {*tokstudio.__all__} & {*dir(tokstudio)}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Tokeniser'"):
        _ = tokstudio.Tokeniser


def test_importing_tokstudio_and_its_errors_loads_nothing_heavy():
    assert loaded_after("from tokstudio import ConfigError, FormatError") == set()


def test_the_compiler_waits_for_the_first_loop():
    modules = "base.resources", "corpus.open_sources", "corpus.statistics"
    names = "Corpus, TrainingConfig, Trainer, MergeBatch, Run, Tokenizer, train, load, WordTokenizer"
    imports = [*(f"import tokstudio.core.{module}" for module in modules), f"from tokstudio import {names}"]
    assert loaded_after("\n".join(imports)) <= {"numpy"}


def test_the_package_says_that_it_is_typed():
    assert files("tokstudio").joinpath("py.typed").is_file()
