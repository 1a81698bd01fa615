"""The set-up programs as modules; they stand outside of the package and are found by their place."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "packaging"


@pytest.fixture
def own_modules():
    """Modules of the folder are gone again after the test: another one's errors would be of other classes."""
    before = {*sys.modules}
    yield
    for loaded in {*sys.modules} - before:
        if Path(getattr(sys.modules[loaded], "__file__", None) or "").parent == FOLDER:
            del sys.modules[loaded]


def fresh(name):
    """A fixture: a module of the folder, and what it imports there."""

    @pytest.fixture
    def module(monkeypatch, own_modules):
        monkeypatch.syspath_prepend(str(FOLDER))
        return import_module(name)

    return module


@pytest.fixture(autouse=True)
def real_environment():
    """Fails a test that marks the environment of these sources as unfinished: the next start would make it anew."""
    marker = FOLDER.parent / ".venv" / "tokstudio-unfinished"
    before = marker.exists()
    yield
    assert marker.exists() == before


names = ("build_loops", "debian", "dev", "docs", "icons", "linking", "shrinking", "smoke", "system")
build_loops, debian, dev, docs, icons, linking, shrinking, smoke, system = map(fresh, names)
