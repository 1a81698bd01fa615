"""The set-up programs as modules; they stand outside of the package and are found by their place."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def dev(monkeypatch):
    """`dev.py` as a module, gone again after the test."""
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    yield import_module("dev")
    del sys.modules["dev"], sys.modules["system"], sys.modules["bundling"]


@pytest.fixture
def system(dev):
    """The `system.py` that `dev` uses."""
    return sys.modules["system"]


@pytest.fixture
def docs(monkeypatch):
    """`docs.py` as a module, gone again after the test."""
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    yield import_module("docs")
    del sys.modules["docs"]
