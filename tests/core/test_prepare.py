"""What is said while the compiled loops are made ready."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import threading

import pytest

from tokstudio.core.kernels import prepare
from tokstudio.core.kernels.prepare import prepare_work
from tokstudio.core.progress import Progress, finish


@pytest.fixture
def first_start(monkeypatch, tmp_path):
    """As on a new installation; what is compiled never comes to an end by itself, and loading takes no time."""

    def compile_for_ever():
        while True:
            yield Progress("compiling")

    monkeypatch.setattr(prepare, "_ready", threading.Event())
    monkeypatch.setattr(prepare, "marker", lambda: tmp_path / "not there")
    monkeypatch.setattr(prepare, "_compile", compile_for_ever)
    monkeypatch.setattr(prepare, "exercise", lambda: None)
    return monkeypatch


def test_whoever_waits_for_another_that_compiles_says_so_too(first_start):
    compiling, waiting = prepare_work(), prepare_work()
    assert [next(compiling).phase, next(waiting).phase, next(compiling).phase, next(waiting).phase] == ["compiling"] * 4
    compiling.close()
    assert next(waiting).phase == "compiling", "what was left off is begun again by whoever waited"
    waiting.close()


def test_whoever_waits_for_another_that_loads_says_so_and_then_has_nothing_to_do(first_start):
    first_start.setattr(prepare, "_compile", lambda: iter(()))
    loading, waiting = prepare_work(), prepare_work()
    assert [next(loading).phase, next(waiting).phase] == ["compiling", "compiling"]
    assert [next(loading).phase, next(waiting).phase] == ["loading", "loading"]
    finish(loading)
    assert list(waiting) == []
