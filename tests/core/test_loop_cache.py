"""Compiled loops are kept where that is possible; where it is not, they are compiled, and nothing else is lost."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba.core.caching import FunctionCache

from tokstudio.core import own_process
from tokstudio.core.kernels import cache
from tokstudio.core.kernels.compiled import njit


@pytest.fixture
def problems(monkeypatch):
    found = []
    monkeypatch.setattr(cache, "_problems", found)
    return found


def add(one, other):
    return one + other


def test_a_full_disk_costs_the_cache_and_not_the_call(monkeypatch, problems):
    def full(self, sig, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(FunctionCache, "save_overload", full)
    assert njit(cache=True)(add)(2, 3) == 5
    assert "No space left on device" in cache.problem()


def test_no_folder_at_all_costs_the_cache_and_not_the_call(monkeypatch, problems):
    monkeypatch.setattr(numba.config, "CACHE_LOCATOR_CLASSES", "UserProvidedCacheLocator")
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    assert njit(cache=True)(add)(2, 3) == 5
    assert cache.problem() is not None


@pytest.fixture
def bundle(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    # Noted as unset, so that it is unset again after the test.
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")


def test_a_bundle_keeps_loops_in_the_caches_of_the_person(bundle, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.setattr(cache, "_own_caches", lambda: tmp_path / "tokstudio")
    cache.choose_folder()
    folder = Path(os.environ["NUMBA_CACHE_DIR"])
    assert folder == tmp_path / "tokstudio" / f"compiled-{cache.identity()}"
    assert folder.is_dir()
    assert cache.marker().parent == folder


def test_a_bundle_without_such_a_folder_takes_another(bundle, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setattr(cache, "_own_caches", lambda: tmp_path / "file" / "tokstudio")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path))
    cache.choose_folder()
    assert Path(os.environ["NUMBA_CACHE_DIR"]).parent.parent == tmp_path


def test_loops_of_other_builds_go_once_new_ones_are_there(bundle, monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "_own_caches", lambda: tmp_path)
    cache.choose_folder()
    (tmp_path / "compiled-0123456789abcdef").mkdir()
    (tmp_path / "compiled-0123456789abcdef" / "merge.nbc").touch()
    cache.forget_older()
    assert [entry.name for entry in tmp_path.iterdir()] == [f"compiled-{cache.identity()}"]


def test_the_program_runs_its_own_modules_in_place_of_a_python():
    """As a bundle does, whose program is no Python."""
    assert own_process.own_command(own_process.MODULES[0])[1:] == ["-m", own_process.MODULES[0]]
    command = [sys.executable, "-m", "tokstudio", own_process.PROCESS, own_process.MODULES[0]]
    done = subprocess.run(command, input=b"", capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_program_runs_no_other_module():
    command = [sys.executable, "-m", "tokstudio", own_process.PROCESS, "antigravity"]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert done.returncode == 2
    assert b"usage: tokstudio" in done.stderr
