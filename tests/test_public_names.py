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


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_there(name):
    assert getattr(tokstudio, name).__name__ == name
    assert name in tokstudio.__all__
    assert name in dir(tokstudio)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Tokeniser'"):
        _ = tokstudio.Tokeniser


def test_importing_tokstudio_loads_nothing_heavy():
    assert loaded_after("import tokstudio") == set()


def test_errors_load_nothing_heavy():
    assert loaded_after("from tokstudio import ConfigError, FormatError") == set()


@pytest.mark.parametrize(
    "statement",
    [
        *(f"from tokstudio import {names}" for names in ("Corpus", "TrainingConfig", "Trainer, MergeBatch, Run")),
        "from tokstudio import Tokenizer, train, load, WordTokenizer",
        "import tokstudio.core.corpus.open_sources, tokstudio.core.corpus.statistics",
        "import tokstudio.core.base.resources",
    ],
)
def test_the_compiler_waits_for_the_first_loop(statement):
    assert loaded_after(statement) <= {"numpy"}


def test_the_package_says_that_it_is_typed():
    assert files("tokstudio").joinpath("py.typed").is_file()
