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

from tokstudio.core import own_folders, own_process
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
def kept(monkeypatch, tmp_path, problems):
    """Compiles `add` with its cache in a folder, and gives the file it is kept in."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert njit(cache=True)(add)(2, 3) == 5
    [file] = tmp_path.rglob("*.nbc")
    return file


def loads(loop):
    """How often a call was answered by the cache."""
    assert loop(2, 3) == 5
    return sum(loop.stats.cache_hits.values())


def test_what_is_kept_is_loaded(kept):
    assert loads(njit(cache=True)(add)) == 1


@pytest.mark.parametrize("damage", ["cut short", "empty", "another byte", "noise", "gone"])
def test_a_damaged_loop_counts_as_not_there_and_is_kept_anew(kept, problems, damage):
    whole = kept.read_bytes()
    middle = len(whole) // 2
    match damage:
        case "cut short":
            kept.write_bytes(whole[:middle])
        case "empty":
            kept.write_bytes(b"")
        case "another byte":
            kept.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
        case "noise":
            kept.write_bytes(os.urandom(len(whole)))
        case _:
            kept.unlink()
    assert loads(njit(cache=True)(add)) == 0, "what is damaged is never run"
    assert loads(njit(cache=True)(add)) == 1
    assert (list(kept.parent.iterdir()), problems) == ([kept], [])


def test_a_loop_for_other_arguments_has_a_file_of_its_own(kept):
    assert njit(cache=True)(add)(2.0, 3.0) == 5.0
    assert len(list(kept.parent.iterdir())) == 2
    assert loads(njit(cache=True)(add)) == 1


def test_all_loops_are_kept_only_while_each_of_them_is_whole(monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "new")
    assert not cache.are_kept()
    files = [tmp_path / "one.nbc", tmp_path / "an other.nbc"]
    for file in files:
        cache.write_whole(file, b"code")
    cache.list_kept(files)
    assert cache.are_kept()
    for file in (*files, cache.marker()):
        whole = file.read_bytes()
        file.write_bytes(whole[:-1])
        assert not cache.are_kept()
        file.write_bytes(whole)
    assert cache.are_kept()
    files[0].unlink()
    assert not cache.are_kept()


@pytest.fixture
def bundle(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    # Noted as unset, so that it is unset again after the test.
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")


def test_a_bundle_keeps_loops_in_the_caches_of_the_person(bundle, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "tokstudio")
    cache.choose_folder()
    folder = Path(os.environ["NUMBA_CACHE_DIR"])
    assert folder == tmp_path / "tokstudio" / f"compiled-{cache.identity()}"
    assert folder.is_dir()
    assert cache.marker().parent == folder


def test_a_bundle_without_such_a_folder_takes_another(bundle, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "file" / "tokstudio")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(own_folders.tempfile, "gettempdir", lambda: str(tmp_path))
    cache.choose_folder()
    assert Path(os.environ["NUMBA_CACHE_DIR"]).parent.parent == tmp_path


def test_a_bundle_passes_over_a_full_disk_unless_the_loops_are_there(bundle, monkeypatch, tmp_path):
    def full(folder, size):
        if tmp_path / "home" in folder.parents:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache, "try_room", full)
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "home" / "tokstudio")
    monkeypatch.setattr(cache, "passing_folders", lambda: iter([tmp_path / "elsewhere"]))
    cache.choose_folder()
    assert Path(os.environ["NUMBA_CACHE_DIR"]).parent == tmp_path / "elsewhere"
    home = tmp_path / "home" / "tokstudio" / f"compiled-{cache.identity()}"
    (home / cache.marker().name).touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    cache.choose_folder()
    assert Path(os.environ["NUMBA_CACHE_DIR"]) == home


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owners here")
@pytest.mark.parametrize("which", ["above", "itself"])
def test_a_bundle_keeps_nothing_where_another_person_could_change_it(bundle, monkeypatch, tmp_path, which):
    folder = tmp_path / "shared" / f"compiled-{cache.identity()}"
    folder.mkdir(parents=True)
    (folder.parent if which == "above" else folder).chmod(0o777)
    monkeypatch.setattr(cache, "cache_folder", lambda: folder.parent)
    monkeypatch.setattr(cache, "passing_folders", lambda: iter([tmp_path / "own"]))
    cache.choose_folder()
    assert Path(os.environ["NUMBA_CACHE_DIR"]).parent == tmp_path / "own"
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owners here")
def test_a_folder_of_another_person_or_a_link_to_one_is_none_of_ours(monkeypatch, tmp_path):
    assert own_folders.make_own(tmp_path / "new")
    (tmp_path / "link").symlink_to(tmp_path / "new")
    assert not own_folders.make_own(tmp_path / "link")
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert not own_folders.make_own(tmp_path / "new")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
def test_there_is_no_room_on_a_full_disk(monkeypatch):
    with Path("/dev/full").open("wb", buffering=0) as disk:
        monkeypatch.setattr(own_folders.tempfile, "TemporaryFile", lambda **_: disk)
        with pytest.raises(OSError, match="No space left"):
            own_folders.try_room(Path(), 1)


def test_loops_of_other_builds_go_once_new_ones_are_there(bundle, monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path)
    cache.choose_folder()
    (tmp_path / "compiled-0123456789abcdef").mkdir()
    (tmp_path / "compiled-0123456789abcdef" / "merge.nbc").touch()
    cache.forget_older()
    assert [entry.name for entry in tmp_path.iterdir()] == [f"compiled-{cache.identity()}"]


def test_what_stands_beside_a_folder_that_the_person_has_named_stays(bundle, monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    for name in ("numba", "compiled-0123456789abcdef", "compiled-by-hand", "numba/loops-of-mine"):
        (tmp_path / name).mkdir()
    cache.forget_older()
    assert len(list(tmp_path.rglob("*"))) == 4


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
